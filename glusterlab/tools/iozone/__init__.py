"""IOzone: its command lines and its reports."""

from glusterlab.tools.iozone.command import IOZONE, IOZONE_LOCAL

__all__ = ["IOZONE", "IOZONE_LOCAL"]
