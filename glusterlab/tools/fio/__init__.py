"""fio: its command lines and its reports."""

from glusterlab.tools.fio.command import FIO

__all__ = ["FIO"]
