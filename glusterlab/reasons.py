"""Why a sample is not valid: a small vocabulary that the runner, the parsers and the raw store share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from glusterlab.errors import CommandError, HostError, VolumeError

ReasonCode = Literal[
    "tool-failed",
    "tool-timeout",
    "tool-incomplete",
    "peer-disconnected",
    "brick-offline",
    "heal-pending",
    "rebalance-running",
    "clock-skew",
    "stray-process",
    "cache-not-dropped",
    "telemetry-missing",
    "telemetry-short",
    "host-unreachable",
    "controller-error",
    "disk-full",
    "link-lost",
    "mount-hung",
    "pool-unhealthy",
]
"""What can be wrong with a sample, in the words that sample.json and the tables use."""

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

    Examples
    --------
    >>> from glusterlab.errors import CommandError, HostError, VolumeError
    >>> code_of(HostError("not reachable")), code_of(CommandError("'mkdir a' ended with code 1: Stale file handle"))
    ('host-unreachable', 'controller-error')
    >>> code_of(CommandError("'mkdir a' ended with code 1: mkdir: a: No space left on device"))
    'disk-full'
    """
    if NO_SPACE in error.message.lower():
        return "disk-full"
    if isinstance(error, VolumeError):
        return "pool-unhealthy"
    return "controller-error" if isinstance(error, CommandError) else "host-unreachable"


class Reason(BaseModel):
    """One reason why a sample is not valid.

    Attributes
    ----------
    code : ReasonCode
    message : str
        What was expected and what was found, in one sentence.
    host : str or None
        The host that it concerns, where there is one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: ReasonCode
    message: str
    host: str | None = None

    def __str__(self) -> str:
        place = "" if self.host is None else f" on {self.host}"
        return f"{self.code}{place}: {self.message}"


def status_of(reasons: Iterable[Reason]) -> Status:
    """The status that these reasons give a sample.

    Examples
    --------
    >>> status_of([])
    'valid'
    >>> status_of([Reason(code="heal-pending", message="3 entries")])
    'invalid'
    >>> status_of([Reason(code="heal-pending", message="3"), Reason(code="tool-timeout", message="600 s")])
    'failed'
    """
    codes = {reason.code for reason in reasons}
    if not codes:
        return "valid"
    return "failed" if codes & FAILED_CODES else "invalid"
