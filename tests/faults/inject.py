"""Puts a fault into a campaign at work, in the middle of a sample, and holds it to what must be so after that."""

import random
import time
from collections.abc import Callable

from glusterlab.reasons import ReasonCode
from tests.faults.night import Fault, Night, began

Act = Callable[[], None]


def nothing() -> None:
    """The fault does not end by a hand of ours."""


class Injector:
    """Injects a fault into the campaign at work, and holds it to what must be so after each."""

    def __init__(self, night: Night, chance: random.Random) -> None:
        self.night = night
        self.chance = chance

    def __call__(
        self,
        name: str,
        codes: set[ReasonCode],
        start: Act,
        end: Act = nothing,
        *,
        lasts_s: float | None = None,
        operation: str = "",
    ) -> None:
        """Begin a fault in the middle of a sample, and end it after a time, or else when the sample is stored."""
        night = self.night
        with Fault(name) as fault:
            before = night.digests()
            sample = night.wait_for_workload(operation)
            time.sleep(self.chance.uniform(0.0, 1.0))
            begins = ends = time.time()
            try:
                start()
                if lasts_s is not None:
                    time.sleep(lasts_s)
                else:
                    night.wait_for_sample(sample)
            finally:
                end()
                if end is not nothing:
                    ends = time.time()
            faulty = night.wait_for_sample(sample)
            valid = night.wait_for_valid(since=ends)
            fault.recovery_s = round(began(valid) - ends, 1)
            found = {reason["code"] for reason in faulty["reasons"]}
            assert found & codes, f"expected one of {codes}, found {faulty['reasons']}"
            assert faulty["status"] != "valid", faulty
            night.account(fault, before, (begins, ends))
