"""What telemetry says of the guide's statements: yes and no only where the repeats tell it."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from glusterlab.analysis.claims.judge import TelemetryVerdict
from glusterlab.analysis.claims.telemetry import Evidence, most_decided, telemetry_statements, telemetry_verdicts
from glusterlab.analysis.saturation.studies import Chosen, Measured
from glusterlab.spec.claims import Claims
from tests.guide_pools import STUDIES

OPERATIONS = {
    "large-replicate": ("write", "read"),
    "large-disperse": ("write", "read"),
    "small-replicate": ("create", "read"),
}
COUNTS = (1, 12, 96)


def cell(slug: str, operation: str, workers: int) -> str:
    return f"{slug}-{operation}-{workers}"


def evidence(
    full: dict[str, Any] | None = None,
    cpu: dict[tuple[str, str], list[float]] | None = None,
    *,
    testbed: bool = False,
    n: int = 3,
    agree: int = 3,
    whole: str = "binds",
    blocked: float = 0.2,
) -> Evidence:
    """Verdicts of "none" but where `full` says what binds (by cell), and CPU use by study and operation.

    `whole` is the state of what binds, and `blocked` how many processes wait for I/O on a server.
    """
    studies, bindings, subsystems = {}, [], []
    for study in STUDIES:
        throughput, means = [], []
        for operation, (place, workers) in itertools.product(OPERATIONS[study.slug], enumerate(COUNTS)):
            name = cell(study.slug, operation, workers)
            binding = (full or {}).get(name, "none of them: look at the software")
            common = {
                "cell_id": name,
                "operation": operation,
                "workers": workers,
                "series": study.layout,
                "type": study.type,
                "geometry": study.geometry,
                "kind": study.kind,
                "nominal_file_size_bytes": study.nominal_file_size_bytes,
                "n": n,
            }
            verdict = {
                "state": {"none": "none", "unknown": "unknown"}.get(binding.split()[0], whole),
                "binding": binding,
                "agree": agree,
                "mean": 0.8,
                "hosts": "all 6 servers",
                "evidence": "2 records are too few",
                "not_judged": "",
            }
            bindings.append(common | verdict)
            throughput.append(common)
            subsystems += [
                {"cell_id": name, "family": family, "subsystem": f"server {family}", "mean": 0.1}
                for family in ("network", "disks", "CPU", "memory")
            ]
            level = (cpu or {}).get((study.slug, operation), [0.2, 0.2, 0.2])[place]
            values = ";".join(str(level * part) for part in (0.99, 1.0, 1.01)[:n])
            for role, quantity, mean, each in (
                ("server", "cpu_busy_fraction", level, values),
                ("machine", "machine_cpu_busy_fraction", level, values),
                ("server", "blocked_processes", blocked, ""),
            ):
                ends = {"low": 0.97 * mean if n >= 3 else math.nan, "high": 1.03 * mean}
                means.append(common | {"role": role, "quantity": quantity, "mean": mean, "values": each} | ends)
        chosen = Chosen(study, pd.DataFrame(throughput), "", "")
        studies[study.slug] = Measured(chosen, pd.DataFrame(throughput), pd.DataFrame(), {}, pd.DataFrame(means), {})
    return Evidence(studies, pd.DataFrame(bindings), pd.DataFrame(subsystems), testbed)


def answers(claims: Claims, found: Evidence) -> dict[str, str]:
    table = telemetry_statements(claims, found)
    assert list(table) == ["figure", "the guide", "measured", "as the guide says", "n", "claim"]
    return dict(zip(table["claim"].str.removeprefix("saturation-"), table["as the guide says"], strict=True))


def test_a_pool_that_does_as_the_guide_says_agrees_with_it(claims: Claims) -> None:
    full = {
        cell("large-replicate", "read", 96): "disks",
        cell("large-disperse", "write", 96): "network, then disks",
        cell("large-disperse", "read", 96): "disks",
    }
    cpu = {
        ("large-replicate", "write"): [0.245, 0.25, 0.255],
        ("large-replicate", "read"): [0.24, 0.25, 0.25],
        ("large-disperse", "write"): [0.5, 0.5, 0.5],
        ("large-disperse", "read"): [0.1, 0.1, 0.1],
    }
    found = answers(claims, evidence(full, cpu))
    assert {name for name, answer in found.items() if answer == "yes"} == set(found) - {"small-disks"}
    assert found["small-disks"] == "no"


def test_a_pool_that_does_otherwise_contradicts(claims: Claims) -> None:
    full = {
        cell("large-replicate", "read", 96): "network",
        cell("small-replicate", "read", 96): "disks",
        cell("small-replicate", "create", 12): "network",
    }
    cpu = {
        ("large-replicate", "write"): [0.01, 0.02, 0.05],
        ("large-replicate", "read"): [0.01, 0.03, 0.06],
        ("large-disperse", "write"): [0.01, 0.01, 0.02],
        ("large-disperse", "read"): [0.1, 0.1, 0.1],
    }
    found = answers(claims, evidence(full, cpu))
    assert len(found) == len([claim for claim in claims.claims if claim.telemetry])
    assert {name for name, answer in found.items() if answer == "yes"} == {"small-cpu", "small-memory", "small-disks"}
    assert set(found.values()) == {"yes", "no"}


@pytest.mark.parametrize("few", [{"n": 2, "agree": 2}, {"n": 4, "agree": 2}])
def test_few_or_divided_repeats_tell_nothing(claims: Claims, few: dict[str, int]) -> None:
    found = answers(claims, evidence(**few))
    verdicts = {name: answer for name, answer in found.items() if "cpu" not in name or name == "small-cpu"}
    assert set(verdicts.values()) == {"inconclusive"}
    if few["n"] < 3:
        assert set(found.values()) == {"inconclusive"}


def test_the_cpus_of_a_testbed_are_no_servers(claims: Claims) -> None:
    busy = {cell("small-replicate", "create", 96): "CPU"}
    here = evidence(busy, testbed=True)
    table = telemetry_statements(claims, here).set_index("claim")
    names = ["saturation-replicate-cpu", "saturation-small-cpu", "saturation-small-no-limit", "files-writes-software"]
    assert set(table.loc[names, "as the guide says"]) == {"inconclusive"}
    large, small = table.loc[names[:2], "measured"]
    assert large.startswith("not comparable: all hosts share one machine, 20 %")
    assert "CPU full in create at 96 workers, which is that of one machine" in small
    assert answers(claims, evidence(busy))["small-cpu"] == "no"
    # what disks do is told all the same
    both = evidence(busy | {cell("small-replicate", "read", 96): "disks"}, testbed=True)
    assert answers(claims, both)["small-no-limit"] == "no"


@pytest.mark.parametrize("operations", [True, False])
def test_what_a_model_cannot_tell_it_neither_confirms_nor_denies(claims: Claims, operations: bool) -> None:
    full = {cell("large-replicate", "read", 96): "disks", cell("small-replicate", "read", 96): "disks"}
    found = evidence(full, testbed=True)
    common = {"scale": 200, "disks": 36, "files_per_worker": 1}
    for slug, one in found.studies.items():
        small = {"operations_limited": operations, "heads": False}
        large = {"operations_limited": False, "heads": False}
        rows = one.throughput.assign(**common, file_size_bytes=10 << 20, **(small if "small" in slug else large))
        object.__setattr__(one.chosen, "rows", rows)
    verdicts = {name.removeprefix("saturation-"): of for name, of in telemetry_verdicts(claims, found).items()}
    assert verdicts["replicate-disks"].verdict == "reproduced"
    assert verdicts["disperse-disks"].verdict == "contradicted"
    cannot = {name for name, of in verdicts.items() if of.verdict == "model cannot tell"}
    assert {
        "small-disks",
        "small-no-limit",
        "small-network",
        "small-cpu",
        "disperse-cpu-write",
        "replicate-cpu",
    } <= cannot
    assert verdicts["disperse-cpu-write"].why.startswith("CPUs and memory are those of one machine, and not scaled: ")
    assert verdicts["replicate-disks"].evidence == "telemetry large-replicate read"


def test_cells_that_are_not_told_do_not_hide_how_curves_end(claims: Claims) -> None:
    early = {cell("small-replicate", operation, 1): "unknown" for operation in ("create", "read")}
    table = telemetry_statements(claims, evidence(early)).set_index("claim")
    row = table.loc["saturation-small-network"]
    assert row["as the guide says"] == "yes"
    assert row["measured"] == (
        "not full in 4 of 6 cells, the others inconclusive; the fullest on average: server network at 10 %"
    )
    late = {cell("small-replicate", "read", 96): "unknown"}
    assert answers(claims, evidence(late))["small-network"] == "inconclusive"


def test_a_family_without_a_limit_is_not_judged(claims: Claims) -> None:
    found = evidence()
    known = found.subsystems[found.subsystems["family"] != "memory"]
    lacking = Evidence(found.studies, found.binding, known, testbed=False)
    row = telemetry_statements(claims, lacking).set_index("claim").loc["saturation-small-memory"]
    assert row["as the guide says"] == "inconclusive"
    assert row["measured"].startswith("no limit of memory is known; processes that wait for I/O, per server: 0.2 in")


def test_fewer_workers_than_are_spoken_of_do_not_contradict(claims: Claims) -> None:
    full = {cell("large-replicate", "read", 12): "disks"}
    found = evidence(full)
    short = Evidence(found.studies, found.binding[found.binding["workers"] < 96], found.subsystems, testbed=False)
    verdicts = telemetry_verdicts(claims, short)
    assert verdicts["saturation-replicate-disks"].verdict == "reproduced"
    small = verdicts["saturation-small-disks"]
    assert (small.verdict, small.reason) == ("not measured", "what is said is of 96 workers")
    assert telemetry_verdicts(claims, found)["saturation-small-disks"].verdict == "contradicted"


@pytest.mark.parametrize("whole", ["partly", "at times"])
def test_what_is_full_in_part_is_neither_full_nor_free(claims: Claims, whole: str) -> None:
    full = {cell("large-disperse", "read", 96): "disks", cell("small-replicate", "create", 12): "network"}
    found = evidence(full, whole=whole)
    told = answers(claims, found)
    assert (told["disperse-disks"], told["small-network"], told["small-no-limit"]) == ("inconclusive",) * 3
    # another subsystem in part is none of these in full
    assert told["disperse-network"] == "no"
    one = telemetry_verdicts(claims, found)["saturation-disperse-disks"]
    assert (one.verdict, one.reason) == ("not measured", "it was full in part, or for less than most of the time")


@pytest.mark.parametrize(
    ("blocked", "testbed", "answer"),
    [
        (0.2, False, "yes"),
        (0.2, True, "yes"),
        (5.0, False, "no"),
        (1.0, False, "inconclusive"),
        (65.0, True, "inconclusive"),
    ],
)
def test_little_memory_is_half_of_a_statement(claims: Claims, blocked: float, testbed: bool, answer: str) -> None:
    found = evidence(blocked=blocked, testbed=testbed)
    row = telemetry_statements(claims, found).set_index("claim").loc["saturation-small-memory"]
    assert row["as the guide says"] == answer
    assert f"{blocked:.3g} in create at 96 workers, {blocked:.3g} in read at 96 workers" in row["measured"]


def test_studies_that_were_not_measured_say_so(claims: Claims) -> None:
    found = evidence()
    empty = {
        slug: replace(one, throughput=one.throughput.iloc[:0], subsystems=one.subsystems.iloc[:0])
        for slug, one in found.studies.items()
    }
    nothing = Evidence(empty, found.binding.iloc[:0], found.subsystems.iloc[:0], testbed=False)
    table = telemetry_statements(claims, nothing)
    assert set(zip(table["measured"], table["as the guide says"], strict=True)) == {("not measured", "inconclusive")}


def test_another_size_in_a_figure_says_nothing_of_a_statement(claims: Claims) -> None:
    found = evidence()
    one = found.studies["small-replicate"]
    rows = one.chosen.rows.assign(nominal_file_size_bytes=4 << 20)
    other = {**found.studies, "small-replicate": replace(one, chosen=replace(one.chosen, rows=rows))}
    verdicts = telemetry_verdicts(claims, replace(found, studies=other))
    small = verdicts["saturation-small-disks"]
    assert (small.verdict, small.n) == ("not measured", 0)
    assert small.reason == (
        "the campaign has 4 MiB files, replicate 6x2, RAID 6, and not 32 KB files on replicate 6x2, RAID 6"
    )
    assert verdicts["saturation-replicate-disks"].verdict == "contradicted"


def test_cpus_at_two_scales_are_not_compared(claims: Claims) -> None:
    found = evidence()
    one = found.studies["large-replicate"]
    twice = replace(one, subsystems=pd.concat([one.subsystems, one.subsystems.assign(series="1:34")]))
    both = replace(found, studies={**found.studies, "large-replicate": twice})
    assert answers(claims, both)["disperse-cpu-write"] == "inconclusive"


def test_answers_become_verdicts(claims: Claims) -> None:
    full = {cell("large-replicate", "read", 96): "disks", cell("small-replicate", "create", 96): "CPU"}
    found = telemetry_verdicts(claims, evidence(full, testbed=True))
    assert set(found) == {claim.id for claim in claims.claims if claim.telemetry}
    yes, no = found["saturation-replicate-disks"], found["saturation-disperse-network"]
    assert (yes.verdict, yes.n, yes.reason) == ("reproduced", 3, "")
    assert yes.why == "at 96 workers disks full, for 80 % of the measured part: all 6 servers (3 of 3 repeats)"
    assert no.verdict == "contradicted"
    # more repeats would not tell what the CPUs of a testbed cannot
    other = found["saturation-small-cpu"]
    assert (other.verdict, other.reason) == ("not measured", "the hosts' limits do not compare with the study's")
    divided = telemetry_verdicts(claims, evidence(full, n=4, agree=2))
    assert divided["saturation-replicate-disks"].verdict == "insufficient n"


def test_of_several_campaigns_the_one_that_tells_counts() -> None:
    def told(verdict: Any, n: int = 3) -> TelemetryVerdict:
        return TelemetryVerdict(verdict, f"by {n}", n)

    first = {"a": told("not measured"), "b": told("insufficient n"), "c": told("contradicted", 4)}
    second = {"a": told("insufficient n"), "b": told("reproduced", 5), "c": told("reproduced"), "d": told("reproduced")}
    assert most_decided([first, second]) == second | {"c": first["c"]}
    assert most_decided([]) == {}
