"""A campaign that runs as an operator starts it, and what must hold of its folder whatever happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.e2e.suite import complete, digests, glusterlab, start, wait_until
from tests.faults.machine import Room
from tests.pools import campaign_data

CAMPAIGN = campaign_data(
    {"file_size": "4 MiB", "stands_for": "1 GiB", "model": "large-file"},
    attempts=8,
    layouts=[{"name": "disperse-2-1", "type": "disperse", "geometry": "1x(2+1)", "backing": "jbod"}],
    deadline="30 s",
)
SAMPLE_WITHIN_S = 300.0
REPORT = "GLUSTERLAB_FAULTS_REPORT"
"""Names the file that keeps the table of faults."""


@dataclass
class Fault:
    """One injection of one fault, as the table of faults counts it; taken into it at the end of a ``with``."""

    fault: str
    lost: int = 0
    doubled: int = 0
    let_through: int = 0
    recovery_s: float | None = None

    def record(self) -> None:
        with Path(os.environ[REPORT]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self), sort_keys=True) + "\n")

    def __enter__(self) -> Fault:
        return self

    def __exit__(self, *_: object) -> None:
        self.record()


class Night:
    """One campaign of a project folder, and the process that runs it."""

    def __init__(self, project: Path, room: Room, name: str, *, raw: Path | None = None, **keys: Any) -> None:
        self.room = room
        self.project = project
        self.raw_root = raw or project / "raw"
        self.raw = self.raw_root / name
        self.file = project / f"{name}.yaml"
        self.log = project / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.keys: dict[str, Any] = {}
        self.edit(**{**CAMPAIGN, "name": name, **keys})

    def edit(self, **keys: Any) -> None:
        """Change keys of the campaign's file."""
        self.keys |= keys
        self.file.write_text(json.dumps(self.keys), encoding="utf-8")

    @property
    def repeats(self) -> int:
        return int(self.keys["repeats"])

    @property
    def stored(self) -> int:
        """How many samples are complete."""
        return len(complete(self.raw))

    @property
    def words(self) -> tuple[str | Path, ...]:
        return "run", self.file, "--cluster", self.room.cluster, "--raw", self.raw_root

    def start(self) -> None:
        self.process = start(*self.words, cwd=self.project, log=self.log)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def send(self, number: signal.Signals) -> int:
        """Signal the controller and wait for its end; returns its exit code."""
        assert self.process is not None
        os.kill(self.process.pid, number)
        return self.process.wait(timeout=60)

    def end(self, deadline_s: float = 900.0) -> int:
        assert self.process is not None
        try:
            return self.process.wait(timeout=deadline_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run did not end within {deadline_s:.0f} s:\n{self.said[-3000:]}") from None

    def stop(self) -> None:
        """End it, however a test ended."""
        if self.running and self.process is not None:
            self.process.kill()
            self.process.wait()

    def samples(self) -> list[dict[str, Any]]:
        """What sample.json of each complete sample holds, in the order of their time."""
        found = []
        for path in self.raw.glob("cells/*/sample-*/sample.json"):
            data = json.loads(path.read_text())
            data["name"] = f"{data['cell_id']}/{path.parent.name}"
            data["stored"] = path.stat().st_mtime
            found.append(data)
        return sorted(found, key=lambda sample: sample["stored"])

    def digests(self) -> dict[str, str]:
        return digests(self.raw)

    def at_work(self) -> str | None:
        """The sample whose tool works right now on all clients, as ``cell/sample-nn``."""
        for partial in self.raw.glob("cells/*/.sample-*.partial"):
            begun = (partial / "workload/throttle.json").exists() and not (partial / "workload/command.json").exists()
            if begun and all(self.room.runs(client, "iozone") for client in self.room.clients):
                return f"{partial.parent.name}/{partial.name[1:].removesuffix('.partial')}"
        return None

    def scene(self) -> str:
        """What the run said last, and the suite's processes on each host, such as a command that does not end."""
        return f"{self.said[-3000:]}\nat work: {self.room.at_work()}"

    def wait_for_workload(self, operation: str = "") -> str:
        """Wait until a sample's tool is in the middle of its work."""

        def found() -> str | None:
            assert self.running, f"the run ended:\n{self.said[-3000:]}"
            name = self.at_work()
            if name is None or operation not in name:
                return None
            time.sleep(0.7)  # all workers have passed IOzone's starting line
            return name if self.at_work() == name else None

        return wait_until(found, SAMPLE_WITHIN_S, lambda: f"no workload came to work:\n{self.scene()}")

    def _wait_for_samples(self, wanted: Callable[[dict[str, Any]], bool], what: str) -> list[dict[str, Any]]:
        def found() -> list[dict[str, Any]]:
            running = self.running  # before its samples are looked at, which its end may follow
            samples = list(filter(wanted, self.samples()))
            assert samples or running, f"the run ended without {what}:\n{self.said[-3000:]}"
            return samples

        return wait_until(found, SAMPLE_WITHIN_S, lambda: f"no {what}:\n{self.scene()}")

    def wait_for_sample(self, name: str) -> dict[str, Any]:
        return self._wait_for_samples(lambda sample: sample["name"] == name, name)[0]

    def wait_for_valid(self, since: float) -> dict[str, Any]:
        """Wait for the next valid sample that began after a moment."""
        valid = self._wait_for_samples(lambda each: each["status"] == "valid" and began(each) > since, "valid sample")
        return min(valid, key=began)

    def account(self, fault: Fault, before: dict[str, str], window: tuple[float, float] | None) -> None:
        """Count what a fault did to the samples, and require that it did nothing.

        Parameters
        ----------
        fault : Fault
            Its counts are filled in.
        before : dict of str to str
            `digests` before it.
        window : tuple of float, optional
            Epoch seconds in which it was in effect: no measurement that overlaps it may count.
        """
        after = self.digests()
        changed = {name for name, digest in before.items() if after.get(name) != digest}
        samples = self.samples()
        valid = Counter(key(sample) for sample in samples if sample["status"] == "valid")
        fault.lost = len({"/".join(name.split("/")[:2]) for name in changed})
        fault.doubled = sum(number - 1 for number in valid.values())
        wrong = [sample["name"] for sample in samples if window is not None and overlaps(sample, window)]
        fault.let_through = len(wrong)
        assert not changed, f"samples that were complete changed or are gone: {sorted(changed)[:5]}"
        assert not fault.doubled, f"repeats that count twice: {[name for name, n in valid.items() if n > 1]}"
        assert not wrong, f"valid samples overlap the fault: {wrong}"
        attempts: dict[tuple[Any, ...], list[int]] = {}
        for sample in samples:
            attempts.setdefault(key(sample), []).append(sample["attempt"])
        for repeat, numbers in attempts.items():
            assert sorted(numbers) == list(range(1, len(numbers) + 1)), f"attempts of {repeat}: {sorted(numbers)}"
            assert len(numbers) <= CAMPAIGN["attempts"], f"{repeat} was tried {len(numbers)} times"

    def finish(self, repeats: int) -> None:
        """Require that everything came out valid, and that the folder is intact."""
        samples = [sample for sample in self.samples() if sample["status"] == "valid"]
        assert Counter(sample["cell_id"] for sample in samples) == dict.fromkeys(
            {sample["cell_id"] for sample in samples}, repeats
        )
        assert len({sample["cell_id"] for sample in samples}) == 2
        assert not list(self.raw.glob("cells/*/.sample-*"))
        self.verify()

    def verify(self) -> None:
        glusterlab("verify", self.raw, cwd=self.project)


def key(sample: dict[str, Any]) -> tuple[Any, ...]:
    return sample["cell_id"], sample["repeat"], sample.get("warmup", False)


def began(sample: dict[str, Any]) -> float:
    """When work on a sample began, in epoch seconds; a sample without a window began never."""
    if sample["window"] is None:
        return 0.0
    before = sum(sample["phases"].get(phase, 0.0) for phase in ("prepare", "before", "throttle"))
    return float(sample["window"]["start"]) - before


def overlaps(sample: dict[str, Any], window: tuple[float, float]) -> bool:
    if sample["status"] != "valid" or sample["window"] is None:
        return False
    return bool(sample["window"]["start"] <= window[1] and sample["window"]["end"] >= window[0])
