"""The words of IOzone: the lines of its reports and its banner, and what it says when something fails."""

from __future__ import annotations

import re

_VALUE = r"(\S{1,60}?)"
_UNIT = r"([kK]B(?:ytes)?/sec|ops/sec)"
SECTION = re.compile(
    rf"(Children|Parent) sees? throughput for ([0-9]{{1,9}}) ([a-z][a-z -]{{2,40}}?) ?= ?{_VALUE} ?{_UNIT}"
)
EXTREME = re.compile(rf"(Min|Max|Avg) throughput per (process|thread) ?= ?{_VALUE} ?{_UNIT}")
MIN_XFER = re.compile(rf"Min xfer ?= ?{_VALUE} ?([kK]B|ops)\b")
CHILD = re.compile(
    rf"Child\[([0-9]{{1,9}})\] xfer count ?= ?{_VALUE} ?([kK]B|ops), ?Throughput ?= ?{_VALUE} ?{_UNIT}"
    r"(?:, wall= ?(\S{1,60}), cpu= ?(\S{1,60}), %=)?"
)
CPU = re.compile(
    r"CPU [Uu]tilization: Wall time (\S{1,60}) CPU time (\S{1,60}) CPU utilization (\S{1,60}?) ?%", re.ASCII
)
"""Lines of the report of a test in throughput mode; blanks are single."""

BEGINNING = re.compile(
    r"(?:Children|Parent) sees? throughput(?: for)?(?: [0-9]|$)|(?:Min|Max|Avg) throughput(?: per)?$"
    r"|(?:Min|Max|Avg) throughput per (?:process|thread) ?(?:=|$)|Min xfer ?(?:=|$)"
    r"|Child\[[0-9]+\] xfer(?: count ?(?:=|$)|$)"
)
"""How such a line begins, whether or not it goes on as one."""

_STRERROR = (
    r"(?:No space left on device|Input/output error|No such file or directory|Permission denied|Disk quota exceeded"
    r"|Stale (?:NFS )?file handle|Transport endpoint is not connected|Read-only file system|Cannot allocate memory"
    r"|Invalid argument|Connection (?:refused|timed out|reset by peer)|File too large|Too many open files"
    r"|Operation not (?:permitted|supported)|No route to host|Is a directory|Not a directory|Bad file descriptor)"
)
ERROR = re.compile(
    rf"No space left on device|Input/output error|Disk quota exceeded|Transport endpoint is not connected"
    rf"|^[^:]{{1,200}}: {_STRERROR}$|^Can not (?:open|create|fdopen|mix|run)\b|^Unable to (?:open|get|write)\b"
    r"|Error (?:[fp]?writing|[fp]?reading) block|^Error (?:in|reading)\b|^Error: |I/O error during read"
    r"|^Client # \S+ reporting an error|not running the same version of Iozone|Unknown Iozone children"
    r"|^(?:Master|Child): .{0,60}(?:failed|error)|^(?:Memory allocation|Malloc|Fork|Mapping|Sanity check) failed"
    r"|^(?:Thread create|Read|Read unlock|Write unlock|Unlock) failed|^Can not do both|not supported in"
)
"""What IOzone and the C library say when something fails."""
LOOSE_ERROR = re.compile(r"\b[Ee]rror\b|\b[Ff]ailed\b|Segmentation fault|core dumped|^Killed$|^Terminated$|^Aborted$")
"""What any program says when something fails: IOzone's own word only between its banner and its end."""

TEXTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("version", re.compile(r"Version \$Revision: ([0-9][0-9.]{0,20}) ?\$")),
    ("began", re.compile(r"Run began: (.{1,60})")),
    ("command_line", re.compile(r"Command line used: (.{1,10000})")),
    ("warning", re.compile(r"(Performance measurements (?:are|may be) invalid in this.{0,40})")),
)
"""Lines of the banner that say a text, by the attribute of a run that keeps it."""
COUNTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("file_size_kb", re.compile(r"File size set to ([0-9]{1,15}) [kK]B")),
    ("record_size_kb", re.compile(r"Record Size ([0-9]{1,15}) [kK]B")),
    ("processes", re.compile(r"Throughput test with ([0-9]{1,9}) (?:process|thread)")),
    ("processes_min", re.compile(r"Min (?:process|thread) ?= ?([0-9]{1,9})$")),
    ("processes_max", re.compile(r"Max (?:process|thread) ?= ?([0-9]{1,9})$")),
    (
        "poor_below_kb",
        re.compile(r"reported inaccurate results\. Sizes ([0-9]{1,15}) [kK]bytes and below", re.IGNORECASE),
    ),
)
"""Lines that say a number, by the attribute of a run that keeps it."""
EACH = re.compile(
    r"Each (?:process|thread) writes an? ([0-9]{1,15}) [kK]bytes? file in ([0-9]{1,15}) [kK]bytes? records",
    re.IGNORECASE,
)
"""The line that announces a block of sections of throughput mode, with its sizes."""

UNITS = (
    *(("ops mode.", "ops/s"), ("output is in operations", "ops/s"), ("output is in ops", "ops/s")),
    *(("microseconds/op mode.", "us/op"), ("output is in microseconds", "us/op"), ("output is in kbytes/sec", "kB/s")),
)
"""How lines that say the unit of all results begin, in small letters, and the unit."""
