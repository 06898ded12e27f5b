"""testbed up, down, status: a real pool on this machine."""

from pathlib import Path

import typer

from glusterlab.cli.console import emit_json, show, steps, talk
from glusterlab.cli.options import JSON, commands, examples, flag, option, path_option
from glusterlab.errors import UsageError

app, command = commands(
    name="testbed",
    help="A real GlusterFS pool on this machine, slowed to a scale model (root, Linux).",
    epilog=examples("glusterlab testbed up", "glusterlab testbed status", "glusterlab testbed down"),
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _running() -> list[str]:
    from glusterlab.testbed.state import running

    return running()


NAME = option("NAME", "Which testbed.", "--name", default="default", autocompletion=_running)


@command(
    "glusterlab testbed up",
    "glusterlab testbed up --name small --servers 6 --clients 4 --disks 2 --subnet 10.78.0.0/24",
    "glusterlab testbed up --name next --release trixie --subnet 10.79.0.0/24",
    "glusterlab testbed up --name old --tree /srv/trees/gluster-3.8.4 --subnet 10.80.0.0/24",
)
def up(
    name: str = NAME,
    servers: int = typer.Option(6, help="Servers of the pool."),
    clients: int = typer.Option(12, help="Clients, which make the load."),
    disks: int = typer.Option(12, help="Single disks (JBOD) of each server; 24 for a dense server."),
    arrays: int = typer.Option(1, help="RAID 6 arrays of each server, each modelled as one device."),
    nvme: int = typer.Option(0, help="NVMe drives of each server, for hot tiers; the guide's have one."),
    scale: float = typer.Option(200.0, help="How much slower disks and links are for large files; 200 means 1:200."),
    small_file_scale: float = typer.Option(
        20.0, help="The same for small files, where operations/s are scaled as well."
    ),
    medium_file_scale: float = typer.Option(
        240.0, help="The same for files of a few MB, which keep their size; operations/s are not limited."
    ),
    model: list[str] | None = option(
        "NAME=SCALE",
        "A further scale model, such as large-slow=400; with ',operations' behind it operations/s are "
        "scaled, too. May be given again.",
    ),
    hardware: Path | None = path_option(
        "FILE", "A cluster file whose disks, arrays and links the testbed stands for, in place of the guide's."
    ),
    slow_disk: list[str] | None = option(
        "SERVER:DISK=TIMES",
        "A disk that is so many times slower than its like, such as server04:d07=6, to see what a bad one "
        "does. May be given again.",
    ),
    heads: list[str] | None = option(
        "MODEL",
        "A scale model whose disks have heads that seek (FUSE), such as medium-file; large files need none. Where "
        "--hardware states disk_latency, each request takes that long in their place. May be given again.",
    ),
    kernel_clients: int = option(
        "N",
        "So many of the clients have a kernel of their own (User-Mode Linux), which mounts NFS and SMB; the hosts' "
        "system then has the servers of both.",
        default=0,
    ),
    disk_cache: list[str] | None = option(
        "MODE",
        "As many disks again on each server, each behind a block cache on NVMe (dm-cache, as lvmcache makes it): "
        "write-through or write-back. Servers then have a kernel of their own (User-Mode Linux). May be given again.",
    ),
    release: str | None = typer.Option(
        None, help="Debian release of the hosts: bullseye (GlusterFS 9.2), bookworm (10.3, the default), trixie (11.1)."
    ),
    tree: Path | None = path_option(
        "DIR", "A host's whole file system with any GlusterFS, made by you, in place of --release."
    ),
    subnet: str = option("CIDR", "A private network that this machine does not use.", default="10.77.0.0/24"),
    disk_size: str = option("SIZE", "Size of a disk; its file is sparse.", default="4 GiB"),
    memory: bool = flag("--memory", "Keep the disks' files in memory, where this machine's disk is slow."),
    mirror: str | None = option("URL", "Debian mirror; default: the one that apt uses here."),
    json: bool = JSON,
) -> None:
    """Start a pool and write its cluster.yaml, ssh_config and keys. The first start makes the hosts' system."""
    from glusterlab.spec import load_cluster
    from glusterlab.testbed.lifecycle import instructions
    from glusterlab.testbed.lifecycle import up as start
    from glusterlab.testbed.options import TestbedOptions, parse_model, parse_slow_disk
    from glusterlab.units import parse_size

    try:
        disk_size_bytes = parse_size(disk_size)
    except ValueError as error:
        raise UsageError(f"--disk-size: {error}") from error
    if release is not None and tree is not None:
        raise UsageError("--release and --tree: expected one of them, both say what the hosts run")
    options = TestbedOptions(
        name=name,
        servers=servers,
        clients=clients,
        disks=disks,
        arrays=arrays,
        nvme=nvme,
        scale=scale,
        small_file_scale=small_file_scale,
        medium_file_scale=medium_file_scale,
        more_models=tuple(parse_model(text) for text in model or ()),
        slow_disks=tuple(parse_slow_disk(text) for text in slow_disk or ()),
        heads=tuple(heads or ()),
        kernel_clients=kernel_clients,
        disk_caches=tuple(disk_cache or ()),
        release=release or "bookworm",
        tree=None if tree is None else str(tree.resolve()),
        subnet=subnet,
        disk_size_bytes=disk_size_bytes,
        memory_backed=memory,
        mirror=mirror,
        hardware=None if hardware is None else load_cluster(hardware).hardware.model_dump(mode="json"),
    )
    state = start(options, steps())
    if json:
        emit_json({"name": name, "cluster": state.folder / "cluster.yaml", "state": state.folder}, version=None)
    else:
        typer.echo(instructions(state))


@command("glusterlab testbed down", "glusterlab testbed down --name small")
def down(name: str = NAME) -> None:
    """Remove everything that 'up' made, after a crash too; exit 2 when there is no such testbed."""
    from glusterlab.testbed.lifecycle import down as stop
    from glusterlab.testbed.options import TestbedOptions

    TestbedOptions(name=name)  # refuses what can be no name before anything is looked for by it
    stop(name, steps())
    talk(f"the testbed '{name}' is down")


@command("glusterlab testbed status", "glusterlab testbed status --json")
def status(name: str = NAME, json: bool = JSON) -> None:
    """Which hosts run their services; exit 1 when there is no such testbed or a host of it is down."""
    from glusterlab.testbed.lifecycle import status as examine
    from glusterlab.testbed.options import TestbedOptions
    from glusterlab.testbed.state import State, state_folder

    TestbedOptions(name=name)
    hosts, folder = examine(name), state_folder(name)
    state = State.load(folder)
    cluster = folder / "cluster.yaml"
    rows = [
        {
            "host": host.name,
            "address": host.address,
            "state": "up" if host.running else f"no {' and no '.join(host.lacks)}" if host.processes else "down",
            "processes": host.processes,
        }
        for host in hosts
    ]
    facts = {"name": name, "state": folder, "cluster": cluster, "gluster": state.gluster, "tree": state.options.tree}
    notes = [f"runs {state.runs}" + (f" ({state.options.tree})" if state.options.tree else "")]
    notes.append(f"cluster file: {cluster}")
    show(rows, json, {**facts, "hosts": hosts}, right=("processes",), notes=notes)
    if not all(host.running for host in hosts):
        raise typer.Exit(1)
