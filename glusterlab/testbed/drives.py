"""What the heads of a testbed's disks stand for: every figure of the drive and the array, with its source.

Figures come from documents about the hardware, never from a result that a testbed is to reproduce. They were stated
before any pool was measured with them, and a change of one is a change of the model: say so where results are compared.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

Basis = Literal["guide", "drive", "sister drive", "vendor", "assumed"]
"""Whose figure it is: the guide's, the drive's own, that of a drive of the same maker, a vendor's guide's, nobody's."""


def _of(value: float, basis: Basis, source: str) -> Any:
    """One figure, SI units, with the basis that it stands on and the document that states it."""
    return field(default=value, metadata={"basis": basis, "source": source})


_GUIDE = "Red Hat Gluster Storage on Supermicro (2017)"
_SEEKS = (
    "Seagate Constellation.2 SAS Product Manual 100620418 Rev. H, 5.2.1, without controller overhead: a 2.5-inch drive "
    "of 7,200 rpm. The drive's own manual (Enterprise Capacity 3.5 HDD v4 SAS, 100726011) was not to be had in full"
)


@dataclass(frozen=True)
class Drive:
    """One disk, as the model of its head takes it: Seagate ST6000NM0034, Enterprise Capacity 3.5 HDD v4, 6 TB, SAS."""

    rotations_per_s: float = _of(7200 / 60, "guide", f"{_GUIDE}, Tested architectures: ST6000NM0034, 7200 RPM")
    capacity_bytes: float = _of(6_001_175_126_016, "drive", "size that an ST6000NM0034 reports to its host")
    heads: float = _of(12, "drive", "AnandTech, 6 TB Face-Off (2014): six platters, two sides each")
    outer_bytes_per_s: float = _of(226e6, "guide", f"{_GUIDE}, appendix A: the manufacturer's maximum sustained rate")
    inner_bytes_per_s: float = _of(
        226e6 * 83 / 175,
        "sister drive",
        "Seagate Constellation ES.3 SAS Product Manual 100671510 Rev. B, 4.1.2: sustained 83 to 175 MB/s; its ratio",
    )
    read_seek_track_s: float = _of(0.23e-3, "sister drive", _SEEKS)
    read_seek_average_s: float = _of(7.5e-3, "sister drive", _SEEKS)
    read_seek_full_s: float = _of(17.06e-3, "sister drive", _SEEKS)
    write_seek_track_s: float = _of(0.44e-3, "sister drive", _SEEKS)
    write_seek_average_s: float = _of(8.5e-3, "sister drive", _SEEKS)
    write_seek_full_s: float = _of(18.08e-3, "sister drive", _SEEKS)
    command_s: float = _of(0.2e-3, "sister drive", "the same table: access time with controller overhead less without")
    interface_bytes_per_s: float = _of(1200e6, "guide", f"{_GUIDE}, Tested architectures: SAS, 12 Gb/s, 8b/10b coded")
    cache_bytes: float = _of(
        128e6 * 30_000 / 64_000,
        "assumed",
        "128 MB in the drive; the part of it that holds data is that of Constellation.2 SAS, manual 100620418 Rev. H, "
        "5.5: about 30,000 kbytes of 64 MB",
    )
    segments: float = _of(32, "assumed", "Seagate's manuals: the drive makes and removes segments with the workload")
    queue: float = _of(128, "assumed", "requests that Linux keeps for a disk by default (nr_requests)")
    write_cache: float = _of(
        1, "assumed", "write cache enabled, as such drives are delivered; a flush waits for the medium"
    )


_BRICKS = "Red Hat Gluster Storage 3.1 Administration Guide, 13.2 Brick Configuration"


@dataclass(frozen=True)
class Array:
    """One RAID array, as the model takes it: twelve such disks behind an LSI SAS3 3108."""

    disks: float = _of(12, "guide", f"{_GUIDE}, appendix A: a RAID 6 array with 12 disks")
    parity: float = _of(2, "guide", "RAID 6")
    unit_bytes: float = _of(128 << 10, "vendor", f"{_BRICKS}: 12 disks in RAID 6, stripe unit 128 KiB")
    read_bytes_per_s: float = _of(1107e6, "guide", f"{_GUIDE}, appendix A: measured maximum of a RAID 6 array")
    write_bytes_per_s: float = _of(1224e6, "guide", f"{_GUIDE}, appendix A: measured maximum of a RAID 6 array")
    cache_bytes: float = _of(
        2 << 30,
        "assumed",
        "memory of the LSI SAS3 3108 on these boards. The bill of materials (tables 3 and 4) has a CacheVault kit, so "
        "it writes back. The guide's laboratory had none when it measured streams (its note on write-through)",
    )
    read_ahead: float = _of(
        0,
        "vendor",
        "Avago MegaRAID SAS Device Driver Installation Guide (June 2015): read policy Normal is the default",
    )
    write_cache: float = _of(
        0, "assumed", "of its disks: off, because the controller's cache outlives a power cut and theirs do not"
    )


@dataclass(frozen=True)
class Host:
    """What the servers' system adds."""

    read_ahead_bytes: float = _of(
        4096 << 10, "vendor", "tuned: readahead>=4096 of throughput-performance, which the rhgs profiles include"
    )


ST6000NM0034, RAID6, HOST = Drive(), Array(), Host()
