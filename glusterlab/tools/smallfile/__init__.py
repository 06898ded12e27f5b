"""smallfile: its command lines and its reports."""

from glusterlab.tools.smallfile.command import SMALLFILE as SMALLFILE
