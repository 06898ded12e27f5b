"""dd: its command lines and its output."""

from glusterlab.tools.dd.command import DD as DD
