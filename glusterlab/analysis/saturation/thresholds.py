"""From where on a subsystem counts as full, a device as an outlier, a disk as slow; none is fitted to a result.

Sources: Gregg, Thinking Methodically about Performance, ACM Queue 10 (2012) 12, with his Linux checklist (Systems
Performance, 2nd ed. (2020), appendix A); the manual pages sar(1) and iostat(1) of sysstat; Iglewicz and Hoaglin, How to
Detect and Handle Outliers (1993). A choice of this project says that it is one.
"""

import math
from dataclasses import dataclass, field, fields
from typing import Any

import pandas as pd

from glusterlab.errors import UsageError
from glusterlab.spec.fields import suggest

_GREGG = (
    "Gregg, USE method: 100 % is usually the sign of a bottleneck; an average over seconds that is above 70 % can hide "
    "bursts of 100 %"
)
_TEXTS = ("compared with", "source")


def _threshold(default: float, what: str, source: str) -> Any:
    """A threshold: what it is compared with, and where its number comes from; below 1 it is a share."""
    return field(default=default, metadata={"compared with": what, "source": source, "share": default < 1})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Numbers from which on a statement is made."""

    network: float = _threshold(
        0.90,
        "bytes of one direction in one record, share of the rate of the host's link",
        f"{_GREGG}; with the headers of Ethernet, IP and TCP a link is full at 94 % of its rate in payload "
        "(1,448 of 1,538 bytes)",
    )
    disks: float = _threshold(
        0.90,
        "bytes or operations of one disk, share of what it can do, over as long as it needs for 10 MB or 10 "
        "operations, from one record to 10 s; or those of all disks of its server",
        f"{_GREGG}; below 100 % because the limit is a baseline's, or for operations the scale model's assumption, "
        "and because so short a time holds few requests of a slow disk",
    )
    disk_busy: float = _threshold(
        0.90,
        "%util of a disk, over as long as its bytes; only where each brick is one disk",
        "iostat(1): a device that serves requests serially is saturated close to 100 %; of RAID arrays and modern "
        "SSDs %util does not show the limit",
    )
    cpu: float = _threshold(0.90, "CPU time of one record that is neither idle, waiting for I/O nor stolen", _GREGG)
    core: float = _threshold(
        0.95, "the same of the busiest CPU alone, where telemetry has each CPU", f"{_GREGG}; one thread fills one CPU"
    )
    memory: float = _threshold(
        0.95,
        "memory that is not available to new work, share of all",
        "Gregg's checklist looks at free memory and then at scanning and swapping; 95 % is a choice of this "
        "project, for a page cache that has next to nothing left",
    )
    passed: float = _threshold(
        1.25,
        "mean use of a subsystem over the measured part from which on its limit is not believed",
        "a choice of this project: what does a quarter more than it can do all along is held by something else, or "
        "its limit is wrong; bursts and the scatter of baselines stay below",
    )
    window: float = _threshold(
        0.50,
        "share of the measured part in which a subsystem must be full to be the one that binds",
        "a choice of this project: most of the time",
    )
    phase: float = _threshold(
        0.15,
        "share of the measured part from which a subsystem counts as one of several that bind one after the other, "
        "binds in part, or was full at times",
        "a choice of this project: one record of seven",
    )
    records: float = _threshold(
        5.0,
        "fewest telemetry records in the measured part for a verdict",
        "a choice of this project: a record at either end may lie half outside, and one burst decides over few",
    )
    outlier: float = _threshold(
        3.5,
        "modified z-score of a host among its peers: 0.6745 times its distance from their median over their MAD",
        "Iglewicz and Hoaglin (1993): 3.5",
    )
    skew: float = _threshold(
        1.5,
        "what a host carries over the median of its peers, or the inverse, for an outlier to matter",
        "a choice of this project: half as much again",
    )
    slow_rate: float = _threshold(
        0.6,
        "bytes per second of a slow disk's time at work, share of that of peers that moved as much",
        "a choice of this project, with slow_seconds and outlier: no healthy disk passes all three in 632 samples "
        "of one campaign",
    )
    slow_seconds: float = _threshold(
        4.0,
        "how many seconds longer a slow disk works than its peers for as much, and after half of all have done",
        "a choice of this project: two records of 2 s, to which time at work is resolved; so a disk is judged "
        "where its peers take 6 s",
    )
    slow_samples: float = _threshold(
        2.0,
        "in how many samples a disk must be slow to be named, or in all that judge it where they are fewer",
        "a choice of this project: one sample may be an accident of placement",
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value, share = float(getattr(self, each.name)), each.metadata["share"]
            if not 0 < value <= (1.0 if share else math.inf) or not math.isfinite(value):
                wanted = "a share above 0 and up to 100 %" if share else "a finite number above 0"
                raise UsageError(f"threshold {each.name}: expected {wanted}, found {value:g}")


USUAL = Thresholds()


def parse_thresholds(text: str) -> Thresholds:
    """Thresholds from comma-separated pairs of name and value, a share also in per cent; the others as they are.

    >>> chosen = parse_thresholds("network 80%, window=0.6")
    >>> chosen.network, chosen.window, chosen.disks
    (0.8, 0.6, 0.9)
    """
    shares = {each.name: each.metadata["share"] for each in fields(Thresholds)}
    found: dict[str, float] = {}
    for pair in filter(None, map(str.strip, text.split(","))):
        name, _, word = (part.strip() for part in pair.replace("=", " ", 1).partition(" "))
        if name not in shares:
            near = suggest(name, list(shares), listed=False)
            raise UsageError(f"expected thresholds among {', '.join(shares)}, found {name!r}{near}")
        if name in found:
            raise UsageError(f"threshold {name}: expected once, found twice")
        number = word.removesuffix("%") if shares[name] else word
        try:
            found[name] = float(number) / (1 if number == word else 100)
        except ValueError:
            wanted = "a number such as 0.9 or 90%" if shares[name] else "a plain number"
            raise UsageError(f"threshold {name}: expected {wanted}, found {word!r}") from None
    return Thresholds(**found)


def thresholds_table(thresholds: Thresholds) -> pd.DataFrame:
    """The thresholds in force, what each is compared with, and its source."""
    rows = [
        (each.name, float(getattr(thresholds, each.name)), each.default, *map(each.metadata.get, _TEXTS))
        for each in fields(Thresholds)
    ]
    return pd.DataFrame(rows, columns=["threshold", "value", "default", *_TEXTS])
