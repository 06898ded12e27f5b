"""A whole report of every tool, and what people and programs do to one without changing what it says."""

import json
from collections.abc import Callable
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
DD = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 9.5 s, 113 MB/s\n"

# after the format of version 3.1, from smallfile's history
SMALLFILE = """\
                                 version : 3.1
                           hosts in test : None
                               operation : create
                            files/thread : 100
                                 threads : 2
           record size (KB, 0 = maximum) : 0
                          file size (KB) : 64
host = pod-1,thr = 00,elapsed = 0.020000,files = 100,records = 100,status = ok
host = pod-1,thr = 01,elapsed = 0.025000,files = 100,records = 100,status = ok
total threads = 2
total files = 200
total IOPS = 200
total data =     0.012 GiB
100.00% of requested files processed, minimum is  70.00
elapsed time =     0.025
files/sec = 8000.000000
IOPS = 8000.000000
MiB/sec = 500.000000
"""

SECTION = """\
	Children see throughput for  4 {test} 	= {sum} kB/sec
	Parent sees throughput for  4 {test} 	=  390.00 kB/sec
	Min throughput per process 			=   90.00 kB/sec
	Max throughput per process 			=  110.00 kB/sec
	Avg throughput per process 			=  100.00 kB/sec
	Min xfer 					=    64.00 kB
"""
IOZONE = SECTION.format(test="initial writers", sum="  400.00")

# hand-made after the header of IOzone 3.3xx and 3.4xx; its rows end where that release ends them
IOZONE_TABLE = (
    "\tOutput is in Kbytes/sec\n"
    "                                                            random  random    bkwd   record   stride\n"
    "              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read"
    "   fwrite frewrite   fread  freread\n"
    "          409600      64   31782   22524                    816017   10411                  3779260\n"
)

# hand-made after what SPEC's manager writes
SPECSFS_HEADER = (
    "  Business    Requested     Achieved     Avg Lat       Total          Read        Write   Run    #    Cl   Avg"
    " File      Cl Data   Start Data    Init File     Max File   Workload       Valid\n"
    "    Metric      Op Rate      Op Rate        (ms)        KBps          KBps         KBps   Sec   Cl  Proc    Size"
    " KB      Set MiB      Set MiB      Set MiB    Space MiB       Name         Run\n"
)


def specsfs_row(metric: int, requested: float, achieved: float | str, name: str = "VDA", valid: str = " " * 11) -> str:
    numbers = f"{metric:10d} {requested:12.2f} {achieved:>12} {6.08:11.3f} {460360.5:12.3f} {36000.25:12.3f}"
    sizes = (
        f"{424360.25:12.3f} {300:5d} {2:4d} {100:5d} {1048576:10d} {120000:12d} {240000:12d} {240000:12d} {264000:12d}"
    )
    return f"{numbers} {sizes} {name:>10} {valid}\n"


SPECSFS = SPECSFS_HEADER + specsfs_row(100, 1000, 1000.563) + specsfs_row(200, 2000, 1803.001, valid="INVALID_RUN")


def _data(name: str) -> str:
    return (DATA / name).read_text()


REPORTS = {
    "dd": DD,
    "fio": _data("fio/group-jsonplus.json"),
    **{f"gluster {name}": _data(f"gluster/{name}") for name in ("info.txt", "status.txt", "detail.txt", "info.xml")},
    "gluster profile.txt": _data("gluster/profile.txt"),
    "iozone": _data("iozone/two-tests.txt"),
    "iperf3": _data("iperf3/tcp-two-streams.json"),
    "smallfile": SMALLFILE,
    "specsfs": SPECSFS,
}

Change = Callable[[str], str | bytes]


def _each_line(change: Callable[[str], str]) -> Change:
    return lambda text: "".join(f"{change(line)}\n" for line in text.splitlines())


OF_ALL: dict[str, Change] = {
    "quoted": _each_line(lambda line: f">> {line}"),
    "indented": _each_line(lambda line: f"    {line}"),
    "host": _each_line(lambda line: f"node-1.example: {line}"),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "utf-16": lambda text: text.encode("utf-16"),
    "bom": lambda text: "\ufeff" + text,
    "fenced": lambda text: f"Here is what I see:\n\n```\n{text}```\nAny idea?\n",
    "prompts": lambda text: f"\x1b[01;32m[root@c1 ~]#\x1b[0m ./run.sh\n{text}[root@c1 ~]# exit\n",
}
SQUEEZED = _each_line(lambda line: " ".join(line.split()))
OF_ONE: list[tuple[str, Change]] = [
    ("dd", lambda text: text.replace(" ", "  ")),
    ("fio", lambda text: text.replace("  ", "\t")),
    ("fio", lambda text: json.dumps(json.loads(text), sort_keys=True)),
    *(
        (f"gluster {name}.txt", lambda text: text.replace("  ", " "))
        for name in ("info", "status", "detail", "profile")
    ),
    ("iozone", SQUEEZED),
    ("iozone", lambda text: text.replace("\t", " ")),
    ("iozone", lambda text: text.replace("kB/sec", "KB/sec").replace("kByte", "Kbyte")),
    ("iozone", lambda text: "<pre>" + text.replace("\n", "<br>\n") + "</pre>\n"),
    ("iozone", lambda text: "".join(f"10:12:07 {line}\n" for line in text.splitlines() if line.strip())),
    ("smallfile", lambda text: text.replace(" = ", "=").replace(" : ", ":")),
    ("smallfile", lambda text: text.replace(" = ", "\t=  ").replace(" : ", "\t: ")),
    ("smallfile", lambda text: f"top: /mnt/x\nthreads: 5\nfile-size: 64\nfiles: 100\n{text}"),
    ("specsfs", SQUEEZED),
    ("specsfs", lambda text: text.replace("  ", "\t")),
    ("specsfs", lambda text: "".join(text.splitlines(keepends=True)[2:])),
]
