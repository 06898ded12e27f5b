"""Names and units of telemetry in tables: for every column of sysstat an SI metric whose name ends in its unit."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from glusterlab.telemetry.blocks import Block

KB = 1024.0
MB = 1024.0 * 1024.0
PERCENT = 0.01

SAME_TOTAL = 0.005  # memory used and free are all memory up to this relative difference

_PRESSURE = {
    f"%{share[0]}{what}{column}": (f"{what_name}_{share}{name}_fraction", PERCENT)
    for what, what_name in (("cpu", "cpu"), ("io", "io"), ("mem", "memory"))
    for share in ("some", "full")
    for column, name in (("-10", "_10s"), ("-60", "_60s"), ("-300", "_300s"), ("", ""))
}

_KINDS = {
    "rates": (1.0, "/s", "_per_s"),
    "fractions": (PERCENT, "", "_fraction"),
    "kilobytes": (KB, "", "_bytes"),
    "megabytes": (MB, "", "_bytes"),
    "counts": (1.0, "", "_count"),
    "plain": (1.0, "", ""),
    "of-KB": (KB, "", ""),
    "of-sectors": (512.0, "", ""),
    "of-ms": (1e-3, "", ""),
    "of-MHz": (1e6, "", ""),
    "of-minutes": (1 / 60, "", ""),
    "of-words": (4.0, "", ""),
    "of-percent-a-minute": (PERCENT / 60, "", ""),
}
"""How a column is counted: the factor to the metric's unit, and what ends the names of the column and of the metric."""

_COLUMNS = """
cpu fractions: %user=user %usr=user %nice=nice %system=system %sys=system %iowait=iowait %steal=steal %irq=irq
  %soft=softirq %guest=guest %gnice=guest_nice %idle=idle
processes rates: proc=created_processes cswch=context_switches
process rates: minflt=minor_faults majflt=major_faults cminflt=children_minor_faults cmajflt=children_major_faults
  nswap=swapped_pages fractions: %user=user %system=system %cuser=children_user %csystem=children_system
interrupts rates: intr=interrupts plain: all=interrupts_per_s
swapping rates: pswpin=swapped_in_pages pswpout=swapped_out_pages
paging of-KB: pgpgin/s=paged_in_bytes_per_s pgpgout/s=paged_out_bytes_per_s fractions: %vmeff=reclaim_efficiency
  rates: fault=faults majflt=major_faults pgfree=freed_pages pgscank=kswapd_scanned_pages pgscand=scanned_pages
  pgsteal=reclaimed_pages pgprom=promoted_pages pgdem=demoted_pages counts: activepg=active_pages
  inadtypg=inactive_dirty_pages inaclnpg=inactive_clean_pages inatarpg=inactive_target_pages
io plain: tps=transfers_per_s rtps=read_transfers_per_s wtps=write_transfers_per_s dtps=discard_transfers_per_s
  of-sectors: bread/s=read_bytes_per_s bwrtn/s=write_bytes_per_s bdscd/s=discard_bytes_per_s
memory kilobytes: kbmemfree=free kbavail=available kbmemused=used kbbuffers=buffers kbcached=cached kbcommit=committed
  kbactive=active kbinact=inactive kbdirty=dirty kbshmem=shared kbanonpg=anonymous kbslab=slab kbkstack=kernel_stack
  kbpgtbl=page_tables kbvmused=vmalloc kbmemshrd=shared kbswpfree=swap_free kbswpused=swap_used kbswpcad=swap_cached
  fractions: %memused=used %commit=committed %swpused=swap_used %swpcad=swap_cached rates: frmpg=freed_pages
  shmpg=shared_pages bufpg=buffer_pages campg=cached_pages
swap kilobytes: kbswpfree=free kbswpused=used kbswpcad=cached fractions: %swpused=used %swpcad=cached
hugepages kilobytes: kbhugfree=free kbhugused=used kbhugrsvd=reserved kbhugsurp=surplus fractions: %hugused=used
kernel-tables counts: dentunusd=unused_dentries file-nr=files inode-nr=inodes pty-nr=terminals file-sz=files
  inode-sz=inodes super-sz=superblocks dquot-sz=quotas rtsig-sz=signals fractions: %file-sz=files
  %super-sz=superblocks %dquot-sz=quotas %rtsig-sz=signals
queue plain: runq-sz=runnable counts: plist-sz=processes plain: ldavg-1=load_1min ldavg-5=load_5min
  ldavg-15=load_15min blocked=blocked_processes
tty rates: rcvin=receive_interrupts xmtin=transmit_interrupts txmtin=transmit_interrupts framerr=frame_errors
  prtyerr=parity_errors brk=breaks ovrun=overruns
disk plain: tps=transfers_per_s aqu-sz=queue_length avgqu-sz=queue_length of-KB: rkB/s=read_bytes_per_s
  wkB/s=write_bytes_per_s dkB/s=discard_bytes_per_s kilobytes: areq-sz=request of-sectors: rd_sec/s=read_bytes_per_s
  wr_sec/s=write_bytes_per_s dc_sec/s=discard_bytes_per_s sect/s=transfer_bytes_per_s avgrq-sz=request_bytes of-ms:
  await=await_s svctm=service_time_s fractions: %util=utilisation
network of-KB: rxkB/s=receive_bytes_per_s txkB/s=transmit_bytes_per_s rates: rxbyt=receive_bytes txbyt=transmit_bytes
  fractions: %ifutil=utilisation rates: rxpck=receive_packets txpck=transmit_packets rxcmp=receive_compressed_packets
  txcmp=transmit_compressed_packets rxmcst=receive_multicast_packets
network-errors rates: rxerr=receive_errors txerr=transmit_errors coll=collisions rxdrop=receive_drops
  txdrop=transmit_drops txcarr=carrier_errors rxfram=frame_errors rxfifo=receive_fifo_errors
  txfifo=transmit_fifo_errors
nfs rates: call=calls retrans=retransmissions read=reads write=writes access=accesses getatt=getattrs
nfsd rates: scall=calls badcall=bad_calls packet=packets udp=udp_packets tcp=tcp_packets hit=cache_hits
  miss=cache_misses sread=reads swrite=writes saccess=accesses sgetatt=getattrs
sockets counts: totsck=sockets tcpsck=tcp_sockets udpsck=udp_sockets rawsck=raw_sockets ip-frag=ip_fragments
  tcp-tw=tcp_time_wait_sockets
sockets6 counts: tcp6sck=tcp_sockets udp6sck=udp_sockets raw6sck=raw_sockets ip6-frag=ip_fragments
ip rates: irec=received_datagrams fwddgm=forwarded_datagrams idel=delivered_datagrams orq=sent_datagrams
  asmrq=reassembly_fragments asmok=reassembled_datagrams fragok=fragmented_datagrams fragcrt=created_fragments
ip-errors rates: ihdrerr=header_errors iadrerr=address_errors iukwnpr=unknown_protocols idisc=receive_discards
  odisc=send_discards onort=no_routes asmf=reassembly_failures fragf=fragmentation_failures
ip6 rates: irec6=received_datagrams fwddgm6=forwarded_datagrams idel6=delivered_datagrams orq6=sent_datagrams
  asmrq6=reassembly_fragments asmok6=reassembled_datagrams imcpck6=received_multicasts omcpck6=sent_multicasts
  fragok6=fragmented_datagrams fragcr6=created_fragments
ip6-errors rates: ihdrer6=header_errors iadrer6=address_errors iukwnp6=unknown_protocols i2big6=too_big_errors
  idisc6=receive_discards odisc6=send_discards inort6=receive_no_routes onort6=no_routes asmf6=reassembly_failures
  fragf6=fragmentation_failures itrpck6=truncated_packets
icmp rates: imsg=received_messages omsg=sent_messages iech=received_echos iechr=received_echo_replies oech=sent_echos
  oechr=sent_echo_replies itm=received_timestamps itmr=received_timestamp_replies otm=sent_timestamps
  otmr=sent_timestamp_replies iadrmk=received_mask_requests iadrmkr=received_mask_replies oadrmk=sent_mask_requests
  oadrmkr=sent_mask_replies
icmp-errors rates: ierr=receive_errors oerr=send_errors idstunr=received_unreachables odstunr=sent_unreachables
  itmex=received_time_exceeded otmex=sent_time_exceeded iparmpb=received_parameter_problems
  oparmpb=sent_parameter_problems isrcq=received_source_quenches osrcq=sent_source_quenches iredir=received_redirects
  oredir=sent_redirects
icmp6 rates: imsg6=received_messages omsg6=sent_messages iech6=received_echos iechr6=received_echo_replies
  oech6=sent_echos oechr6=sent_echo_replies igmbq6=received_group_queries igmbr6=received_group_reports
  ogmbr6=sent_group_reports igmbrd6=received_group_reductions ogmbrd6=sent_group_reductions
  irtsol6=received_router_solicits ortsol6=sent_router_solicits irtad6=received_router_advertisements
  inbsol6=received_neighbour_solicits onbsol6=sent_neighbour_solicits inbad6=received_neighbour_advertisements
  onbad6=sent_neighbour_advertisements
icmp6-errors rates: ierr6=receive_errors idtunr6=received_unreachables odtunr6=sent_unreachables
  itmex6=received_time_exceeded otmex6=sent_time_exceeded iprmpb6=received_parameter_problems
  oprmpb6=sent_parameter_problems iredir6=received_redirects oredir6=sent_redirects ipck2b6=received_too_bigs
  opck2b6=sent_too_bigs
tcp rates: active=active_opens passive=passive_opens iseg=received_segments oseg=sent_segments
tcp-errors rates: atmptf=failed_attempts estres=resets retrseg=retransmitted_segments retrans=retransmitted_segments
  isegerr=receive_errors orsts=sent_resets
udp rates: idgm=received_datagrams odgm=sent_datagrams noport=no_port_datagrams idgmerr=receive_errors
udp6 rates: idgm6=received_datagrams odgm6=sent_datagrams noport6=no_port_datagrams idgmer6=receive_errors
fc rates: fch_rxf=receive_frames fch_txf=transmit_frames of-words: fch_rxw/s=receive_bytes_per_s
  fch_txw/s=transmit_bytes_per_s
softnet rates: total=frames dropd=dropped_frames squeezd=squeezes rx_rps=steered_packets flw_lim=flow_limits counts:
  blg_len=backlog_packets
cpu-frequency of-MHz: MHz=frequency_hz wghMHz=weighted_frequency_hz fractions: %MHz=frequency
fan of-minutes: rpm=speed_per_s drpm=speed_over_minimum_per_s
temperature plain: degC=temperature_celsius fractions: %temp=temperature
voltage plain: inV=input_volts fractions: %in=input
usb of-ms: maxpower=maximum_amperes
battery fractions: %cap=capacity of-percent-a-minute: cap/min=capacity_change_fraction_per_s
filesystem megabytes: MBfsfree=free MBfsused=used fractions: %fsused=used %ufsused=user_used %Iused=inodes_used
  counts: Ifree=free_inodes Iused=used_inodes
"""
"""By activity the columns with their metrics, in the kind that stands before them."""


def _tables() -> dict[str, dict[str, tuple[str, float]]]:
    found: dict[str, dict[str, tuple[str, float]]] = {}
    activity = kind = ""
    for word in _COLUMNS.split():
        column, equals, name = word.partition("=")
        if equals:
            factor, suffix, unit = _KINDS[kind]
            found[activity][column + suffix] = name + unit, factor
        elif word.endswith(":"):
            kind = word[:-1]
        else:
            activity = word
            found[activity] = {}
    return found


METRICS: Mapping[str, Mapping[str, tuple[str, float]]] = {**_tables(), "psi": _PRESSURE}
"""By activity and column: metric, and the factor from sysstat's unit to the metric's."""

_ANY = (-np.inf, np.inf)
LIMITS: Mapping[str, tuple[float, float]] = {
    # sar divides what a device was busy by its own seconds: 454 % was seen after a stall
    "* utilisation_fraction": (0.0, 100.0), "memory committed_fraction": (0.0, 1e4), "paging *_fraction": (0.0, 100.0),
    "cpu-frequency *_fraction": (0.0, 100.0), "process *_fraction": (0.0, 1e5), "temperature *_fraction": _ANY,
    "voltage *": _ANY, "battery *_per_s": _ANY, "fan *": _ANY, "memory *_per_s": _ANY, "other *": _ANY,
    "* *_celsius": (-273.15, 1e4), "* *_fraction": (0.0, 1.01), "* *_bytes_per_s": (0.0, 1e14),
    "* *_per_s": (0.0, 1e12), "* *_bytes": (0.0, 1e18), "* *_s": (0.0, 1e6), "*": (0.0, 1e15),
}  # fmt: skip
"""What a value can be, in SI units, by activity and metric, whose end is the unit; the first pattern counts."""

# what the shares of a CPU add up to, in percent: old versions count an iowait that went back as 0 in the sum only
CPU_SUM = (80.0, 120.0)
_ALL_SHARES = (("%user", "%usr"), ("%system", "%sys"), ("%nice",), ("%iowait",), ("%idle",))

TABLE_ACTIVITIES: Mapping[str, str] = {"queue": "load"}  # activities whose name in tables is another than in records
_INTERRUPTS = re.compile(r"CPU(\d{1,6})|i(\d{3})/s")


@lru_cache(maxsize=8192)
def metric_of(activity: str, column: str) -> tuple[str, float]:
    """The metric of a column, and the factor to its unit; columns that no version has get a name by their form.

    >>> metric_of("network", "rxkB/s"), metric_of("other", "%new")
    (('receive_bytes_per_s', 1024.0), ('new_fraction', 0.01))
    """
    if (known := METRICS.get(activity, {}).get(column)) is not None:
        return known
    if (found := _INTERRUPTS.fullmatch(column)) is not None:
        return f"{'cpu' if found[1] else 'irq'}{int(found[1] or found[2])}_interrupts_per_s", 1.0
    name = re.sub(r"\W+", "_", column.removesuffix("/s")).strip("_").lower() or "column"
    if column.endswith("/s"):
        return f"{name}_per_s", 1.0
    return (f"{name}_fraction", PERCENT) if column.startswith("%") else (f"{name}_value", 1.0)


SUFFIXED = re.compile(r"(\d{1,15}(?:[.,]\d{1,9})?)([%BkMGTP])")  # a number with a unit, as ``sar --human`` prints it
_BYTES = {letter: 1024.0**power for power, letter in enumerate("BkMGTP")}


def scaled(activity: str, column: str, found: re.Match[str]) -> float | None:
    """What `SUFFIXED` has found in the column's own unit; None where that is not clear."""
    value, (name, factor) = float(found[1].replace(",", ".")), metric_of(activity, column)
    if found[2] == "%":
        return value if factor == PERCENT else None
    return value * _BYTES[found[2]] / factor if name.endswith(("_bytes", "_bytes_per_s")) else None


@lru_cache(maxsize=8192)
def activities_of(column: str) -> tuple[str, ...]:
    """The activities that have a column."""
    if _INTERRUPTS.fullmatch(column):
        return ("interrupts",)
    return tuple(activity for activity, columns in METRICS.items() if column in columns)


_MEMORY = {"kbmemfree", "kbmemused", "%memused", "kbbuffers", "kbcached"}  # they show how memory in use is counted


def normalise(block: Block, older: bool = False) -> dict[str, NDArray[np.float64]]:
    """The block's values in SI units, by metric; `older`: the host counts caches as memory in use."""
    found = {}
    for column, values in block.metrics.items():
        name, factor = metric_of(block.activity, column)
        # the same array where nothing is to be changed
        found[name] = values if factor == 1.0 else values * factor
    if older and block.activity == "memory" and block.metrics.keys() >= _MEMORY:
        used = block.metrics["kbmemused"] - (block.metrics["kbbuffers"] + block.metrics["kbcached"])
        found["used_bytes"] = used * KB
    return found


@lru_cache(maxsize=8192)
def limits_of(activity: str, column: str) -> tuple[float, float]:
    """The `LIMITS` of a column, in sysstat's unit.

    >>> limits_of("cpu", "%idle"), limits_of("memory", "frmpg/s")
    ((0.0, 101.0), (-inf, inf))
    """
    name, factor = metric_of(activity, column)
    low, high = next(limits for pattern, limits in LIMITS.items() if fnmatchcase(f"{activity} {name}", pattern))
    return low / factor, high / factor


def impossible(block: Block) -> tuple[NDArray[np.bool_], str] | None:
    """The rows of a block that no host can have had, and what is wrong with the first; None where there are none."""
    found = np.zeros(len(block), dtype=np.bool_)
    what = ""
    checks = [(column, values, limits_of(block.activity, column)) for column, values in block.metrics.items()]
    if block.activity == "cpu" and "%idle" in block.metrics:
        total = np.sum(list(block.metrics.values()), axis=0)
        whole = all(not block.metrics.keys().isdisjoint(names) for names in _ALL_SHARES)
        # a CPU that is off has no share of anything
        total = np.where(total == 0, 100.0, total)
        checks.append(("the shares of a CPU", total, CPU_SUM if whole else (0, CPU_SUM[1])))
    for column, values, (low, high) in checks:
        wrong = (values < low) | (values > high)
        if wrong.any() and (not what or wrong.argmax() < found.argmax()):
            what = f"expected {low:g} to {high:g} in {column}, found {values[wrong.argmax()]:g}"
        found |= wrong
    return (found, what) if what else None


def counts_caches(block: Block) -> bool:
    """Whether the block shows that buffers and page cache count as memory in use: sysstat before 11.7.4 did that."""
    if block.activity != "memory" or not block.metrics.keys() >= _MEMORY:
        return False
    free, used, buffers, cached = (block.metrics[name] for name in ("kbmemfree", "kbmemused", "kbbuffers", "kbcached"))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(block.metrics["%memused"] > 0, block.metrics["%memused"], np.nan)
        # the percentage is rounded: caches must be larger than what that leaves open of the total
        total = used / (share * PERCENT)
        caches = buffers + cached
        is_all = np.abs(used + free - total) <= SAME_TOTAL * total
        return bool((is_all & (caches > (2 * SAME_TOTAL + 0.005 / share) * total)).any())
