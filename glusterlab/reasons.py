"""Why a sample is not valid: a small vocabulary that the runner, the parsers and the raw store share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

from glusterlab.errors import CommandError, HostError, VolumeError
from glusterlab.secrets import redact

ReasonCode = Literal[
    "tool-failed", "tool-timeout", "tool-incomplete", "peer-disconnected", "brick-offline", "heal-pending",
    "rebalance-running", "tier-stopped", "feature-off", "event-not-started", "event-ended-early", "event-failed",
    "clock-skew", "stray-process", "cache-not-dropped", "telemetry-missing", "telemetry-short", "host-unreachable",
    "controller-error", "disk-full", "link-lost", "mount-hung", "mount-changed", "access-lost", "pool-unhealthy",
]  # fmt: skip
"""What can be wrong with a sample, in the words that sample.json and the tables use."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A reason's code in words, and what to do about it."""

    sentence: str
    advice: str


MEANINGS: Mapping[ReasonCode, Meaning] = {
    "tool-failed": Meaning(
        "The tool ended with an error, or its output is no result.",
        "Read workload/stdout.txt and stderr.txt of the sample; run the command of workload/command.json by hand.",
    ),
    "tool-timeout": Meaning(
        "The tool was not done at the deadline, and was ended on every host.",
        "Look for a hung mount or a dead brick at that time; else raise the campaign's deadline or take smaller files.",
    ),
    "tool-incomplete": Meaning(
        "The tool reports success, but some of its workers did not do all of their work.",
        "Look at clients' mounts and the volume's room; a worker was killed, met an error, or by NFS began late (-x).",
    ),
    "peer-disconnected": Meaning(
        "A server was not connected to the pool.",
        "Run 'gluster peer status' on another server; see that glusterd runs there and that its port 24007 is open.",
    ),
    "brick-offline": Meaning(
        "A brick of the volume was offline before, during or after the measurement.",
        "Read the brick's log below /var/log/glusterfs/bricks on its server; look at its disk.",
    ),
    "heal-pending": Meaning(
        "Files of the volume waited for self-heal, which would have taken part of what was measured.",
        "Run 'gluster volume heal VOLUME info'; when it does not settle, look for a brick that comes and goes.",
    ),
    "rebalance-running": Meaning(
        "A rebalance moved files while the volume was measured.",
        "Wait until 'gluster volume rebalance VOLUME status' says completed, or stop it.",
    ),
    "tier-stopped": Meaning(
        "A server's daemon that moves files between the hot and the cold tier did not run, or was started again.",
        "Read 'gluster volume tier VOLUME status', and the daemon's log in /var/log/glusterfs of that server.",
    ),
    "feature-off": Meaning(
        "Bit-rot detection or quota was not on, or a daemon of it did not run, or was started again.",
        "Read 'gluster volume info' and 'volume status'; logs are bitd.log, scrub.log and quotad.log below"
        " /var/log/glusterfs of that server.",
    ),
    "event-not-started": Meaning(
        "What was to happen to the pool during the workload did not begin, or not at its time.",
        "Read event/commands.jsonl of the sample for what gluster said; where the workload was over by then, state an"
        " earlier 'at', or let it run for longer.",
    ),
    "event-ended-early": Meaning(
        "What was to happen to the pool for all of the workload was not seen to last until its end.",
        "Take more files, a shorter workload or a gentler throttle, or state by 'at' when it is to begin.",
    ),
    "event-failed": Meaning(
        "What happened to the pool during the workload failed, or did not end before the deadline.",
        "Read event/status.jsonl of the sample, and VOLUME-rebalance.log or glustershd.log below /var/log/glusterfs of"
        " servers; raise the campaign's deadline where it was not done.",
    ),
    "clock-skew": Meaning(
        "A host's clock differs from the controller's by more than a second, or was set during the measurement.",
        "Start chronyd or ntpd on the host, and on the controller.",
    ),
    "stray-process": Meaning(
        "A workload tool that is not the sample's own ran on a host.",
        "Find out who started it ('glusterlab check' names it); nobody else may measure on these hosts meanwhile.",
    ),
    "cache-not-dropped": Meaning(
        "A host's page cache was not seen to be dropped before the measurement.",
        "See that the suite may write /proc/sys/vm/drop_caches there, as root or by sudo.",
    ),
    "telemetry-missing": Meaning(
        "A host has no readable sar records of the sample.",
        "See that sysstat is installed there and that its work directory has room.",
    ),
    "telemetry-short": Meaning(
        "A host's sar records do not cover the whole measurement.",
        "The host was too busy, stopped or restarted: look at its load and its log at that time.",
    ),
    "host-unreachable": Meaning(
        "A host could not be reached by SSH.",
        "See that it is up and that its link and sshd work; the run waits five minutes for it, then stops.",
    ),
    "controller-error": Meaning(
        "A step of the suite itself failed on a host or on the controller.",
        "Read the sample's log.txt and the campaign's log; if no host is to blame, report it with both.",
    ),
    "disk-full": Meaning(
        "A file system on a host, or the volume, had no room left.",
        "Make room there, or take smaller files; 'glusterlab plan' says how much the campaign needs.",
    ),
    "link-lost": Meaning(
        "A host's link went down and up again during the measurement, or a client lost its connection to a brick.",
        "Look at the cable, the switch port, firewalls and the kernel's log of that host.",
    ),
    "mount-hung": Meaning(
        "The mounted volume did not answer on a client.",
        "Read the mount's log below /var/log/glusterfs on the client; the suite mounts it again by itself.",
    ),
    "mount-changed": Meaning(
        "What is mounted on a client is not what was asked for, or not what it was before the measurement.",
        "Look at the client's mounts: who mounts there, an automounter for one, must not do so while a campaign runs.",
    ),
    "access-lost": Meaning(
        "A server of NFS or SMB by which clients reach the volume had ended, or was started again.",
        "Read the logs of Ganesha, samba or gNFS on that server; the suite starts its own again by itself.",
    ),
    "pool-unhealthy": Meaning(
        "The pool, or its volume, could not be brought in order before the measurement.",
        "Run 'glusterlab check' and 'gluster volume status' on a server, and mend what they name.",
    ),
}
"""Each code in words, and what to do about it; `Reason.message` has what was found in the one case."""

Status = Literal["valid", "invalid", "failed"]
"""valid: counts; invalid: a result exists, the conditions were not kept; failed: there is no usable result."""

FAILED_CODES: frozenset[ReasonCode] = frozenset(
    {"tool-failed", "tool-timeout", "host-unreachable", "controller-error", "disk-full", "pool-unhealthy"}
)
"""The codes that leave no usable result."""

NO_SPACE = "no space left on device"
"""What the kernel says of a full file system, in lower case, as tools and hosts pass it on."""


def code_of(error: HostError) -> ReasonCode:
    """The code of what went wrong on a host outside the measured command.

    >>> from glusterlab.errors import CommandError, HostError
    >>> code_of(HostError("not reachable")), code_of(CommandError("mkdir: a: No space left on device"))
    ('host-unreachable', 'disk-full')
    """
    if NO_SPACE in error.message.lower():
        return "disk-full"
    if isinstance(error, VolumeError):
        return "pool-unhealthy"
    return "controller-error" if isinstance(error, CommandError) else "host-unreachable"


class Reason(BaseModel):
    """One reason why a sample is not valid; its message is stored, so secrets in it are taken out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: ReasonCode
    message: Annotated[str, AfterValidator(redact)]
    host: str | None = None

    def __str__(self) -> str:
        place = "" if self.host is None else f" on {self.host}"
        return f"{self.code}{place}: {self.message}"


def status_of(reasons: Iterable[Reason]) -> Status:
    """The status that these reasons give a sample."""
    codes = {reason.code for reason in reasons}
    return "failed" if codes & FAILED_CODES else "invalid" if codes else "valid"
