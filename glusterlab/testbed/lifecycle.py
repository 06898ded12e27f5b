"""Starting a testbed, taking it down, and looking at it."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from filelock import FileLock, Timeout
from ruamel.yaml import YAML

from glusterlab.errors import TestbedError, UsageError
from glusterlab.testbed import cgroups, disks, guests, headserver, local, network, own_tree, throttle
from glusterlab.testbed.local import run, unmount_below
from glusterlab.testbed.options import JOURNAL_BYTES, TestbedOptions
from glusterlab.testbed.state import (
    MARKER,
    SHARED_FOLDER,
    State,
    cluster_specification,
    local_specification,
    running,
    state_folder,
    state_home,
)
from glusterlab.testbed.tree import TREE_BYTES, ensure_tree, tree_path, tree_problems

Progress = Callable[[str], None]
_HOST_KEY = "ssh_host_ed25519_key"
_SHIM = "xsave.so"
_BOOT_DEADLINE_S = 240.0  # six guests, who make six file systems each, take a minute
_PEER_DEADLINE_S = 60.0


@dataclass(frozen=True)
class HostStatus:
    """One host of a testbed: whether all its services run, which do not, and how many processes it has."""

    name: str
    address: str
    running: bool
    processes: int
    lacks: tuple[str, ...] = ()


def up(options: TestbedOptions, progress: Progress) -> State:
    """Start a testbed: hosts, disks, links, GlusterFS peers, and the files to reach them in the state's folder."""
    local.require()
    with _lock(options.name):
        own = None if options.tree is None else Path(options.tree)
        problems, gluster = ([], "") if own is None else own_tree.examine(own, guests=bool(options.guest_names))
        if found := [*problems, *_problems(options)]:
            raise TestbedError("; ".join(found))
        folder = state_folder(options.name)
        tree = ensure_trees(options, progress)
        folder.mkdir(parents=True, mode=0o700)
        (folder / MARKER).touch()
        state = State(folder, options, gluster=gluster)
        try:
            _start(state, tree, progress)
        except BaseException:
            progress("the start failed; removing what was made")
            _remove(options.name, progress)
            raise
    return state


def ensure_trees(options: TestbedOptions, progress: Progress) -> Path:
    """The tree of a testbed's hosts; made first where missing and not the user's, as is that of its guests' kernel."""
    made = [ensure_tree(release, options.mirror, progress, names) for release, names in guests.trees(options)]
    return made[0] if options.tree is None else Path(options.tree)


def _problems(options: TestbedOptions) -> list[str]:
    """What is in the way of a start, all of it, before anything is made: that may take minutes."""
    trees = guests.trees(options)
    found = [
        *(headserver.problems() if options.heads else []),
        *(guests.problems(options) if options.guest_names else []),
        *dict.fromkeys(problem for tree in trees for problem in tree_problems(*tree)),
    ]
    if _remains(options.name):
        advice = f"'glusterlab testbed down --name {options.name}' removes it"
        found.append(f"the testbed '{options.name}' is there already (or left over from a crash): {advice}")
    found += network.subnet_problems(options.subnet)
    advice = "the testbed's counters need it"
    found += [f"this kernel has no control group at {folder}: {advice}" for folder in cgroups.missing()]
    bricks = 0 if options.memory_backed else options.servers * (options.all_disks + options.arrays + options.nvme)
    needed: dict[int, tuple[Path, int]] = {}
    of_trees = [(path, 0 if path.is_dir() else TREE_BYTES) for path in (tree_path(*tree) for tree in trees)]
    for path, size in ((state_home(), bricks * JOURNAL_BYTES), *of_trees):
        place = next(folder for folder in (path, *path.parents) if folder.exists())
        first, others = needed.get(place.stat().st_dev, (place, 0))
        needed[place.stat().st_dev] = first, others + size
    for place, size in needed.values():
        if (free := shutil.disk_usage(place).free) < size:
            what = "for the hosts' system and the journals of empty bricks, before anything is measured"
            found.append(f"{place} has {free >> 20} MB free, and {size >> 20} MB are needed {what}: make room")
    return found


def _remains(name: str) -> bool:
    """Whether there is anything of a testbed, whole or left over."""
    groups = any(path.is_dir() for path in cgroups.folders(name))
    return state_folder(name).exists() or bool(network.namespaces(name) or network.interfaces(name)) or groups


def down(name: str, progress: Progress) -> None:
    """Remove everything that `up` made, after a crash too; UsageError where there is nothing."""
    local.require()
    if not _remains(name):
        known = ", ".join(running())
        raise UsageError(f"there is no testbed '{name}': " + (f"expected one of: {known}" if known else "none is up"))
    if not state_folder(name).exists() and (other := _elsewhere(name)) is not None:
        advice = f"'GLUSTERLAB_TESTBED_HOME={other.parent} glusterlab testbed down --name {name}' removes it"
        raise UsageError(f"the testbed '{name}' is one of {other.parent}, and none of {state_home()}: {advice}")
    with _lock(name):
        _remove(name, progress)


def _elsewhere(name: str) -> Path | None:
    """Where a testbed of this name has its state in another home; None where no loop device tells."""
    folders = (folder for file in disks.backing_files().values() for folder in Path(file).parents)
    return next((folder for folder in folders if folder.name == name and (folder / MARKER).is_file()), None)


def status(name: str) -> list[HostStatus]:
    """Look at the hosts of a testbed."""
    state = State.load(state_folder(name))
    found = []
    for host in state.options.host_names:
        space, address = network.namespace(name, host), state.options.address(host)
        pids = network.pids(space) if space in network.namespaces(name) else []
        needed = ("sshd", "glusterd") if host in state.options.server_names else ("sshd",)
        live = guests.services(address) if pids and host in state.options.guest_names else services(pids)
        lacks = tuple(service for service in needed if service not in live)
        found.append(HostStatus(host, address, not lacks, len(pids), lacks))
    return found


def services(pids: Iterable[int], proc: Path = Path("/proc")) -> set[str]:
    """Names of the programs of processes; sshd only where it listens: a session outlives it."""
    found = set()
    for pid in pids:
        with suppress(OSError):
            command = (proc / str(pid) / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
            name = Path(command.split(" ")[0]).name.removesuffix(":")
            if name != "sshd" or "[listener]" in command:
                found.add(name)
    return found


def _lock(name: str) -> FileLock:
    state_home().mkdir(parents=True, exist_ok=True)
    lock = FileLock(state_home() / f"{name}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise TestbedError(f"another 'glusterlab testbed' works on '{name}' right now: wait until it ends") from error
    return lock


def _start(state: State, tree: Path, progress: Progress) -> None:
    options = state.options
    hosts = options.host_names
    state.save()
    if options.memory_backed:
        images = state.folder / "disks"
        images.mkdir()
        run(["mount", "-t", "tmpfs", "-o", "size=60%", "glusterlab-disks", images])
    drives = f", {options.nvme} NVMe drives" if options.nvme else ""
    progress(f"disks: {options.servers} servers with {options.all_disks} disks, {options.arrays} arrays{drives} each")
    state.disks = disks.make(options, state.folder / "disks")
    state.save()
    progress(f"network: {len(hosts)} hosts on {options.subnet}")
    network.make(options)
    cgroups.make(options.name, hosts)
    cgroups.start_lxcfs(state.folder / "lxcfs")
    (state.folder / "shared").mkdir()
    if options.guest_names:
        guests.make_shim(state.folder / _SHIM)
    for host in hosts:
        _make_root(state, host)
    _make_keys(state)
    progress("booting the hosts")
    processes = {host: _boot(state, tree, host) for host in hosts}
    _wait_ready(state, processes)
    progress("joining the servers to one pool")
    _join_pool(state)
    # cluster.yaml last: where it is, the testbed is whole
    for name, content in (("local.yaml", local_specification(state)), ("cluster.yaml", cluster_specification(state))):
        partial = state.folder / f"{name}.partial"
        with partial.open("w", encoding="utf-8") as stream:
            YAML().dump(content, stream)
        partial.rename(state.folder / name)


def _make_root(state: State, host: str) -> None:
    folder = state.host_folder(host)
    upper = folder / "upper"
    for path in (upper / "etc", upper / "usr/local/sbin", folder / "work", folder / "root"):
        path.mkdir(parents=True)
    options = state.options
    names = options.host_names
    lines = ["127.0.0.1 localhost", *(f"{options.address(name)} {name}" for name in names)]
    (upper / "etc/hosts").write_text("\n".join(lines) + "\n", encoding="ascii")
    (upper / "etc/hostname").write_text(f"{host}\n", encoding="ascii")
    sizes = disks.file_system_bytes(state.options)
    mine = state.disks_of(host)
    devices = {disk.mount_point: disk.device for disk in mine}
    if mine and host in options.guest_names:
        devices = {point: f"/dev/{name}" for point, name in guests.bricks(mine).items()}
        lines = [f"{line}\n" for line in guests.caches(mine, options.cache_bytes)]
        (upper / "etc/glusterlab-caches").write_text("".join(lines), encoding="ascii")
    kinds = {disk.mount_point: disk.kind for disk in mine}
    bricks = "".join(f"{device} {point} {sizes[kinds[point]]}\n" for point, device in devices.items())
    (upper / "etc/glusterlab-bricks").write_text(bricks, encoding="ascii")
    scripts = {"host-init.sh": upper / "usr/local/sbin/host-init", "host-boot.sh": folder / "host-boot"}
    if host in options.guest_names:
        scripts |= {"guest-init.sh": upper / "usr/local/sbin/guest-init", "guest-boot.sh": folder / "guest-boot"}
    for script, place in scripts.items():
        place.write_text(resources.files(__package__).joinpath(script).read_text(encoding="ascii"), encoding="ascii")
        place.chmod(0o755)


def _make_keys(state: State) -> None:
    # one key pair for the operator and the hosts, and one host key for all
    folder, options = state.folder, state.options
    for name, comment in (("id_ed25519", "operator"), (_HOST_KEY, "hosts")):
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"glusterlab testbed {comment}", "-f", folder / name])
    public = " ".join((folder / f"{_HOST_KEY}.pub").read_text(encoding="ascii").split()[:2])
    addresses = {host: options.address(host) for host in options.host_names}
    known = "".join(f"{host},{address} {public}\n" for host, address in addresses.items())
    (folder / "known_hosts").write_text(known, encoding="ascii")
    blocks = [f"Host {host}\n    HostName {address}\n" for host, address in addresses.items()]
    common = (
        f"Host {' '.join(addresses)}\n    User root\n    IdentityFile {folder}/id_ed25519\n    IdentitiesOnly yes\n"
        f"    UserKnownHostsFile {folder}/known_hosts\n    StrictHostKeyChecking yes\n"
    )
    (folder / "ssh_config").write_text("\n".join([*blocks, common]), encoding="utf-8")
    for host in addresses:
        _install_keys(state, host)


def _install_keys(state: State, host: str) -> None:
    etc = state.host_folder(host) / "upper/etc/ssh"
    home = state.host_folder(host) / "upper/root/.ssh"
    etc.mkdir(parents=True)
    home.mkdir(parents=True, mode=0o700)
    home.parent.chmod(0o700)
    for name in (_HOST_KEY, f"{_HOST_KEY}.pub"):
        shutil.copy(state.folder / name, etc / name)
    (etc / "sshd_config").write_text(
        f"HostKey /etc/ssh/{_HOST_KEY}\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n"
        "UsePAM no\nUseDNS no\nPrintMotd no\nMaxSessions 64\nMaxStartups 128:30:256\n"
        "Subsystem sftp internal-sftp\n",
        encoding="ascii",
    )
    for name in ("id_ed25519", "known_hosts"):
        shutil.copy(state.folder / name, home / name)
    shutil.copy(state.folder / "id_ed25519.pub", home / "authorized_keys")
    for path in home.iterdir():
        path.chmod(0o600)


def _boot(state: State, tree: Path, host: str) -> subprocess.Popen[bytes]:
    options, folder, mine = state.options, state.host_folder(host), state.disks_of(host)
    role = "server" if host in options.server_names else "client"
    namespaces = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child"]
    arguments = [folder / "host-boot", host, role, tree, folder, state.folder / "lxcfs/mount", state.folder / "shared"]
    groups = cgroups.folders(options.name, host)
    guest_with_disks = host in options.guest_names and bool(mine)
    cpus = sorted(os.sched_getaffinity(0))

    def enter_groups() -> None:
        for group in groups:
            (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        if guest_with_disks:  # on one CPU with what serves its disks, see `guests.serve_disks`
            os.sched_setaffinity(0, {cpus[options.server_names.index(host) % len(cpus)]})

    space = network.namespace(options.name, host)
    if host in options.guest_names:
        kernel_tree = tree_path(*guests.trees(options)[-1])
        places = [kernel_tree, tree, folder, state.folder / "shared", state.folder / _SHIM]
        arguments = [folder / "guest-boot", *places, *guests.arguments(options, host, mine)]
        if guest_with_disks:
            guests.serve_disks(space, folder / "disks", mine, preexec_fn=enter_groups)
    command = ["nsenter", f"--net=/run/netns/{space}", *(guests.YIELDING if guest_with_disks else []), *namespaces]
    with (folder / "boot.log").open("wb") as log:
        return local.start([*command, *map(str, arguments)], log, preexec_fn=enter_groups)


def _wait_ready(state: State, processes: dict[str, subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + _BOOT_DEADLINE_S
    waiting = dict(processes)
    while waiting:
        for host, process in list(waiting.items()):
            if (state.host_folder(host) / "upper/var/lib/glusterlab-ready").exists():
                del waiting[host]
            elif process.poll() is not None or time.monotonic() > deadline:
                log = (state.host_folder(host) / "boot.log").read_text(errors="replace").strip().splitlines()
                what = f"did not boot within {_BOOT_DEADLINE_S:.0f} s" if process.poll() is None else "failed to boot"
                raise TestbedError(f"the host {host} {what}: {' / '.join(log[-3:]) or 'its log is empty'}")
        time.sleep(0.05)


def _gluster(state: State, host: str, *arguments: str) -> str:
    # its errors go to stdout with 2>&1, so that a failed start can say why
    command = " ".join(["gluster", "--mode=script", *arguments, "2>&1"])
    return run(["ssh", "-F", state.folder / "ssh_config", host, command], deadline_s=30, check=False)


def _join_pool(state: State) -> None:
    first, *others = state.options.server_names
    deadline = time.monotonic() + _PEER_DEADLINE_S
    for host in others:
        # glusterd answers some time after its process is there
        while "success" not in (answer := _gluster(state, first, "peer", "probe", host)):
            if time.monotonic() > deadline:
                raise TestbedError(f"{first} could not take {host} into the pool: {answer.strip() or 'no answer'}")
            time.sleep(0.3)
    while _gluster(state, first, "pool", "list").count("Connected") < state.options.servers:
        if time.monotonic() > deadline:
            raise TestbedError("the servers did not all connect to the pool in time")
        time.sleep(0.3)


def _remove(name: str, progress: Progress) -> None:
    folder = state_folder(name)
    if folder.exists() and not (folder / MARKER).exists():
        raise TestbedError(f"{folder} is not a testbed's state folder (it has no {MARKER}): it is left alone")
    images = folder / "disks"
    progress(f"taking the testbed '{name}' down")
    # a killed brick process cannot end while its dirty pages are written at a limited speed
    throttle.lift(name, disks.attached(images))
    headserver.lift(images)
    with suppress(TestbedError):
        throttle.thaw(State.load(folder))
    network.kill_all(name)
    network.remove(name)
    disks.remove(images)
    headserver.end(images)
    cgroups.stop_lxcfs(folder / "lxcfs")
    cgroups.remove(name)
    unmount_below(images)
    if folder.exists():
        local.delete(folder)


def instructions(state: State) -> str:
    """What a person can do with a testbed that has just been started."""
    folder = state.folder
    return (
        f"The testbed '{state.options.name}' is up: {state.runs}.\n"
        f"  cluster file  {folder}/cluster.yaml\n"
        f"  log in        ssh -F {folder}/ssh_config server01\n"
        f"  examine it    glusterlab check {folder}/cluster.yaml\n"
        f"  measure       glusterlab run runbooks/testbed/campaign.yaml --cluster {folder}/cluster.yaml\n"
        f"  take it down  glusterlab testbed down --name {state.options.name}\n"
        f"All hosts share {SHARED_FOLDER}."
    )
