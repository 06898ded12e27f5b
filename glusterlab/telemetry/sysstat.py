"""The tables of sysstat: known by columns whose names, unlike their order and number, no version changed."""

import re
from dataclasses import dataclass
from functools import lru_cache

DEVICES = frozenset({  # columns that name the CPU, interface, ... of a row
    "CPU", "INTR", "DEV", "IFACE", "TTY", "FCHOST", "FILESYSTEM", "MOUNTPOINT", "FAN", "TEMP", "IN", "BAT", "BUS",
    "PID",
})  # fmt: skip

# columns of text, or of numbers that count nothing; a row's text may hold blanks
TEXTS = frozenset({"DEVICE", "status", "manufact", "product", "idvendor", "idprod"})
MARKS = {  # a column that only one table has, and the table's activity; the first that is found counts
    mark: activity
    for activity, marks in {
        "cpu-frequency": "MHz %MHz wghMHz", "softnet": "total/s", "interrupts": "intr/s INTR", "fan": "rpm",
        "temperature": "degC", "voltage": "inV", "usb": "maxpower", "battery": "%cap", "process": "minflt/s cminflt/s",
        "cpu": "%idle", "processes": "proc/s cswch/s", "swapping": "pswpin/s", "paging": "pgpgin/s",
        "memory": "kbmemfree frmpg/s", "swap": "kbswpfree", "hugepages": "kbhugfree",
        "kernel-tables": "dentunusd inode-sz file-nr file-sz", "queue": "runq-sz ldavg-1", "tty": "rcvin/s",
        "network": "rxpck/s", "network-errors": "rxerr/s", "disk": "DEV", "io": "bread/s", "nfsd": "scall/s",
        "nfs": "call/s", "sockets": "totsck", "ip": "irec/s", "ip-errors": "ihdrerr/s", "icmp": "imsg/s",
        "icmp-errors": "ierr/s", "tcp": "active/s", "tcp-errors": "atmptf/s", "udp": "idgm/s", "sockets6": "tcp6sck",
        "ip6": "irec6/s", "ip6-errors": "ihdrer6/s", "icmp6": "imsg6/s", "icmp6-errors": "ierr6/s", "udp6": "idgm6/s",
        "fc": "fch_rxf/s", "filesystem": "MBfsfree", "psi": "%scpu-10 %sio-10 %smem-10",
    }.items()
    for mark in marks.split()
}  # fmt: skip

_IRQ = re.compile(r"i\d{3}/s")
_NAME = re.compile(r"[%A-Za-z][\w%./*-]*")
_LOOKS_LIKE_A_COLUMN = re.compile(r"%[A-Za-z][\w-]*|[A-Za-z][\w-]*/s|CPU\d*\*?")


@dataclass(frozen=True)
class Header:
    """The columns of a table, after the time, with the places of the device and of other texts."""

    columns: tuple[str, ...]
    activity: str
    mark: str  # names the table, as an activity may have several
    device: int | None
    texts: frozenset[int]

    @property
    def metrics(self) -> dict[str, int]:
        """Place of every column of numbers, by its name."""
        others = {self.device, *self.texts}
        return {name: place for place, name in enumerate(self.columns) if place not in others}


def is_column(word: str) -> bool:
    """Whether a word can only be the name of a column."""
    return word in MARKS or word in DEVICES or _LOOKS_LIKE_A_COLUMN.fullmatch(word) is not None


@lru_cache(maxsize=4096)
def header_of(columns: tuple[str, ...]) -> Header | None:
    """The table that has these columns, or None when they are no header."""
    # pidstat has some of the same columns
    if len(set(columns)) != len(columns) or "Command" in columns or not all(_NAME.fullmatch(name) for name in columns):
        return None
    found = set(columns)
    mark = next((mark for mark in MARKS if mark in found), None)
    if mark is None and any(_IRQ.fullmatch(name) for name in columns):
        mark = "INTR"
    if mark is None and not all(is_column(name) for name in columns):
        return None
    activity = MARKS.get(mark or "", "other")
    # old process tables have a CPU column that counts, beside the PID
    device = next((place for place, name in enumerate(columns) if name in DEVICES), None)
    texts = frozenset(place for place, name in enumerate(columns) if name in TEXTS)
    if len(columns) - (device is not None) - len(texts) < 1:
        return None
    return Header(columns, activity, mark or " ".join(columns), device, texts)


def device_name(header: Header, fields: tuple[str, ...] | list[str]) -> str | None:
    """How a row's device is called; USB devices of one bus differ by their ids."""
    if header.device is None:
        return None
    name = fields[header.device]
    if header.activity == "usb":
        parts = [fields[header.columns.index(part)] for part in ("idvendor", "idprod") if part in header.columns]
        return ":".join([name, *parts])
    if name == "-1" and (header.activity == "cpu" or header.columns[header.device] == "CPU"):
        return "all"
    return "sum" if name == "-1" and header.columns[header.device] == "INTR" else name
