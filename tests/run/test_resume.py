"""What of the hosts has to be as it was when a campaign was begun."""

from typing import Any

import pytest

from glusterlab.errors import SpecError
from glusterlab.hosts.facts import SHARED_DIRTY_LIMITS
from glusterlab.run.resume import agree_on_environment


def facts(shared: tuple[str, ...] = (), **sysctls: str) -> dict[str, Any]:
    host = {"memory_bytes": 1 << 34, "sysctls": {f"vm.{name}": value for name, value in sysctls.items()}}
    return {"controller": {}, "hosts": {"client01": host}, "shared_counters": list(shared)}


def test_limits_of_unwritten_data_are_the_hosts_own_unless_a_machine_holds_them_all() -> None:
    old, new = {"dirty_bytes": "161061274"}, {"dirty_bytes": "0"}
    with pytest.raises(SpecError, match=r"client01: vm\.dirty_bytes 161061274 before, 0 now; give the campaign"):
        agree_on_environment(facts(**old), facts(**new), ())
    shared = (SHARED_DIRTY_LIMITS,)
    agree_on_environment(facts(shared, **old), facts(shared, **new), ())
    with pytest.raises(SpecError, match=r"vm\.swappiness 60 before, 10 now"):
        agree_on_environment(facts(shared, swappiness="60"), facts(shared, swappiness="10"), ())
