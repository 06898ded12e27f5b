"""fio: its command lines and its reports."""

from glusterlab.tools.fio.command import FIO
from glusterlab.tools.fio.local import FIO_LOCAL

__all__ = ["FIO", "FIO_LOCAL"]
