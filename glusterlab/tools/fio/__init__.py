"""fio: its command lines and its reports."""

from glusterlab.tools.fio.command import FIO as FIO
from glusterlab.tools.fio.command import FIO_LOCAL as FIO_LOCAL
