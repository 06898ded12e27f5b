"""IOzone: its command lines and its reports."""

from glusterlab.tools.iozone.command import IOZONE as IOZONE
from glusterlab.tools.iozone.command import IOZONE_LOCAL as IOZONE_LOCAL
