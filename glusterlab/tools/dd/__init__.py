"""dd: its command lines and its output."""

from glusterlab.tools.dd.command import DD

__all__ = ["DD"]
