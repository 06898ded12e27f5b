"""What every tool that is found must keep; a new tool needs its entry in ``data/contract`` and nothing here."""

import ast
import json
import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from matplotlib.figure import Figure

import glusterlab
from glusterlab.analysis.select import select, summarise
from glusterlab.errors import ParseError, SpecError
from glusterlab.hosts import script
from glusterlab.hosts.pool import Pool
from glusterlab.parse import parse
from glusterlab.plots import marks
from glusterlab.reasons import status_of
from glusterlab.run.measured import measured
from glusterlab.run.plan import build_plan, check_campaign, estimate
from glusterlab.run.validity import judge
from glusterlab.spec import Campaign, Cell, load_campaign, load_cluster
from glusterlab.spec.cell import Layout
from glusterlab.tables import build
from glusterlab.tables.schema import SCHEMAS
from glusterlab.tools import directions, host_tools, readers, runnable, tools, volume_tools
from glusterlab.tools.base import Measurement, PoolRates
from glusterlab.tools.records import METRICS, Operation, WorkloadRecord
from tests.fake_pool import FakeTransport
from tests.pools import campaign_data
from tests.store import conftest as store
from tests.tools.jobs import contract, make_cell, make_job

DATA = Path(__file__).parents[1] / "data"
TOOLS, VOLUME_TOOLS = sorted(runnable()), sorted(volume_tools())
HOSTILE = "a b;$(touch x)'\"`&|*"


def case(tool: str, name: str) -> tuple[Cell, dict[str, Path]]:
    """Cell and workload files of a tool's ``valid`` or ``failed`` run."""
    entry = contract(tool)[name]
    options = tuple(sorted(entry.get("volume_options", {}).items()))
    mirror = Layout(name="mirror", type="replicate", subvolumes=1, replica=2, backing="raid6", options=options)
    disks = Layout(name="disks", type="other", subvolumes=1, backing="raid6")
    place = {"layout": mirror} if tool in VOLUME_TOOLS else {"layout": disks, "access": "none"}
    cell = make_cell(tool, **place, **entry["cell"])
    if "folder" in entry:
        folder = DATA / entry["folder"]
        return cell, {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.*")}
    return cell, {name: DATA / path for name, path in entry["files"].items()}


def measure(tmp_path: Path, tool: str, name: str) -> Measurement:
    cell, files = case(tool, name)
    for file, path in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(path.read_bytes())
    return runnable()[tool].parse(tmp_path, cell)


def campaign_of(cell: Cell, **changed: Any) -> dict[str, Any]:
    workload = {
        "tool": cell.tool,
        "operations": cell.operation,
        "file_size": f"{cell.file_size_bytes} B",
        "files_per_worker": cell.files_per_worker,
        **({} if cell.record_size_bytes is None else {"record_size": f"{cell.record_size_bytes} B"}),
        **({} if cell.runtime_s is None else {"runtime": f"{cell.runtime_s:g} s"}),
        **({} if cell.rate_bytes_per_s is None else {"rate": cell.rate_bytes_per_s}),
        "options": cell.options,
    }
    layout = {"name": "mirror", "type": "replicate", "geometry": "1x2", "backing": "raid6"}
    layout |= {"options": dict(cell.layout.options)}
    return campaign_data(layouts=[layout], workers=cell.workers, workloads=[workload | changed])


@pytest.mark.parametrize("name", readers())
def test_a_tool_knows_its_own_files_and_no_other_tools(name: str) -> None:
    read = 0
    for path in sorted(DATA.glob(f"{name}/**/*")):
        if path.is_file():
            try:
                read += any(record.tool == name for record in parse(path))
            except ParseError:
                continue
    assert read or name == "specsfs", "no file of data/ is read as this tool's"


NAMED = {
    # what a baseline is made of
    "run/baseline.py": {"fio-local", "iozone-local", "iperf3"},
    # a column, of iperf3's streams
    "plots/baseline.py": {"streams"},
    # a quantity and its unit
    "spec/claims.py": {"streams"},
    # a unit, and an element of HTML
    "site/data.py": {"streams"},
    "site/notebooks.py": {"dd"},
    # rows of the guide's own table
    "analysis/efficiency.py": {"iozone", "smallfile"},
    # a section of the cluster file has the tool's name
    **dict.fromkeys(
        ("run/resume.py", "publishing/copy.py", "analysis/compare/conditions.py"), frozenset({"smallfile"})
    ),
}


def test_no_list_of_tools_is_kept_outside_of_tools() -> None:
    found = {}
    for path in Path(glusterlab.__file__).parent.rglob("*.py"):
        name = path.relative_to(Path(glusterlab.__file__).parent).as_posix()
        constants = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        if not name.startswith("tools/") and (named := {*constants} & {*TOOLS}):
            found[name] = named
    assert found == NAMED, "derive it from what a tool declares, or say in NAMED why not"


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_says_what_the_rest_derives(tool: str) -> None:
    found = runnable()[tool]
    assert found.options
    assert found.programs
    assert found.maker is None or not found.needs_files(found.maker)
    for operation in (*found.operations, *found.other_operations):
        home = f"is no word of glusterlab/tools/records.py: use one that there is, or add it to {{}} there ({tool})"
        assert operation.name in get_args(Operation), f"operation {operation.name!r} {home.format('Operation')}"
        names = METRICS.keys() & {place.name for place in fields(WorkloadRecord)} & SCHEMAS["samples"].keys()
        assert operation.metric in names, (
            f"metric {operation.metric!r} {home.format('METRICS, a field to WorkloadRecord')}, "
            "and a column to the samples of glusterlab/tables/schema.py"
        )
        if operation.name in directions() and not operation.random:
            assert operation.direction == directions()[operation.name], f"{operation.name} has another direction"
    assert all(re.compile(part) for pair in found.processes.items() for part in pair)
    assert all(program.example_version for program in found.programs)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_valid_run_has_the_metric_of_its_operation(tmp_path: Path, tool: str) -> None:
    result = measure(tmp_path, tool, "valid")
    cell, _ = case(tool, "valid")
    assert (result.problems, result.record.valid) == ((), True)
    assert [worker.worker for worker in result.workers] == list(range(1, cell.workers + 1))
    found = measured(result)
    assert found is not None
    assert found.quantity == runnable()[tool].by_operation[cell.operation].metric
    assert found.value > 0


@pytest.mark.parametrize("tool", TOOLS)
def test_a_failed_run_is_never_valid(tmp_path: Path, tool: str) -> None:
    try:
        result = measure(tmp_path, tool, "failed")
    except ParseError:
        return
    assert status_of(result.problems) != "valid"


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "options",
    [
        *(["-f/dev/sda"], ["-f", "/dev/sda"], ["-If"], ["-VD"], ["/dev/sda"], ["--filename=/dev/sda"], ["--top=/"]),
        *(["--output-json", "x"], ["-+m", "x"], ["--logfile=x"], ["--ioengine=external:x.so"], ["--name", "x"], [""]),
        ["--to", "x"],
    ],
)
def test_an_option_that_is_not_declared_is_refused(tmp_path: Path, tool: str, options: list[str]) -> None:
    found = runnable()[tool]
    assert found.refused(options) is not None
    for option in found.options:
        # nor does one that is declared take what follows it, or a value that names a file
        assert found.refused([option, *options]) is not None
        assert found.refused([f"{option}=/dev/sda"]) is not None
        # nor are short ones clustered, or glued to a value
        assert found.refused([f"{option}f"]) is not None
        assert found.refused([f"{option}1"]) is not None
    if tool in volume_tools() and "" not in options:
        path = tmp_path / "campaign.yaml"
        path.write_text(json.dumps(campaign_of(case(tool, "valid")[0], options=options)))
        with pytest.raises(SpecError, match="options"):
            load_campaign(path, check_campaign)
        # nor when the file was not checked
        assert build_plan(load_campaign(path), None, ready=tools()).cells == ()


@pytest.mark.parametrize("tool", VOLUME_TOOLS)
def test_a_tool_says_what_one_run_takes(tool: str) -> None:
    found, pool = volume_tools()[tool], PoolRates(1e9, 1e3, 1e3)
    for operation in found.by_operation:
        cell = make_cell(tool, operation, runtime_s=None)
        assert found.startup_s(cell.workers) >= 0
        assert 0 < found.work_s(cell, pool) < found.work_s(cell, PoolRates(1e6, 1, 1))
        if found.takes_runtime:
            assert found.work_s(make_cell(tool, operation, runtime_s=900.0), pool) >= 900


@pytest.mark.parametrize("tool", sorted(host_tools()))
def test_a_tool_of_a_baseline_says_what_one_run_takes(tool: str) -> None:
    found, cell = host_tools()[tool], case(tool, "valid")[0]
    one, other = found.work_s(cell, 4, 1e6), found.work_s(cell, 4 * (1 + found.of_links), 1e6 / 2)
    assert 0 < one <= other  # requests end by time


@pytest.mark.parametrize("tool", VOLUME_TOOLS)
def test_hostile_names_stay_words(tool: str) -> None:
    found, (cell, _) = volume_tools()[tool], case(tool, "valid")
    job = make_job(cell, dataset_dir=f"/mnt/gl/vol/{HOSTILE}")
    scripts = [command.script for command in (*found.prepare(job), found.command(job)) if command.script]
    for text in scripts:
        shlex.split(text)
        assert "$(touch" not in re.sub(r"'[^']*'", "", text.replace("'\"'\"'", ""))


@pytest.mark.parametrize("tool", VOLUME_TOOLS)
def test_from_the_plan_to_the_figure(tmp_path: Path, tool: str) -> None:
    cell, files = case(tool, "valid")
    (tmp_path / "cluster.yaml").write_text(store.CLUSTER_YAML.replace("client01}", "client01}, {name: client02}"))
    cluster = load_cluster(tmp_path / "cluster.yaml")
    plan = build_plan(Campaign.model_validate(campaign_of(cell)), cluster, ready=tools())
    assert [planned.id for planned in plan.cells] == [cell.id]
    assert estimate(plan, cluster).seconds >= (cell.runtime_s or 0)
    fake = FakeTransport(cluster)
    pool = Pool(cluster.hosts, fake)
    for command in volume_tools()[tool].prepare(make_job(cell)):
        pool.run({command.host: script.command([command.script])}).or_raise()
    raw = store.make_store(tmp_path / "raw" / "small")
    with raw.begin_sample(cell, repeat=1, round=1, order=1, attempt=1) as writer:
        store.fill_around(writer, cell, {name: path.read_bytes() for name, path in files.items()})
        assert judge(writer.folder, cell, store.SERVERS, store.CLIENTS).reasons == ()
        store.finish(writer, cell)
    table = build.load(tmp_path / "raw" / "small", tmp_path / "tables").samples
    assert table["status"].tolist() == ["valid"]
    metric = volume_tools()[tool].by_operation[cell.operation].metric
    summary = summarise(select(table, tool=tool, operations=(cell.operation,)), metric)
    (drawn,) = marks.line(Figure().subplots(), summary, METRICS[metric].factor).get_ydata()
    assert drawn == table[metric].iloc[0] * METRICS[metric].factor > 0
