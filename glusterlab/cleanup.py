"""The end of a run, however it came: hosts are left as the next run wants them, within seconds."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from glusterlab.errors import GlusterlabError
from glusterlab.hosts import lock

if TYPE_CHECKING:
    from glusterlab.hosts.lock import Owner
    from glusterlab.sample import Site

LEAVE_WITHIN_S = 5.0
"""A host that does not answer within so long is left to the next run; with the rest a stop takes below 10 s."""

CLOSE_WITHIN_S = 2.0


def clean_up(site: Site, owner: Owner | None, warn: Callable[[str], None]) -> None:
    """Lift the throttle, end what is at work on the hosts, give them back, and close all connections.

    Parameters
    ----------
    site : Site
    owner : Owner or None
        Who has the hosts; None when this run has none, and so leaves them alone.
    warn : callable
        Receives a sentence that names the hosts which are not known to be clear.
    """
    pool = site.pool
    pool.sink = None
    with pool.cleaning():
        left: Collection[str] = () if owner is None else pool.hosts
        try:
            if owner is not None:
                if site.throttle is not None:
                    with suppress(GlusterlabError):
                        site.throttle(None)
                left = lock.leave(pool, site.cluster, owner, within_s=LEAVE_WITHIN_S)
        finally:
            pool.close(within_s=CLOSE_WITHIN_S)
            if left:
                warn(
                    f"not known to be clear: {', '.join(sorted(left))}; what is at work there ends at its deadline, or"
                    " is ended by the next run"
                )
