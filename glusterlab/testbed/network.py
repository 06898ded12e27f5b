"""The testbed's network: one namespace per host, each with a veth pair into one bridge."""

import hashlib
import json
from pathlib import Path

from glusterlab.errors import TestbedError
from glusterlab.testbed.local import end_all, run
from glusterlab.testbed.options import TestbedOptions

INTERFACE = "eth0"
TAP = "tap0"
_KILL_DEADLINE_S = 60.0


def _tag(testbed: str) -> str:
    # Linux takes 15 characters for an interface's name, so that the testbed's own name may not fit
    return "gl" + hashlib.sha256(testbed.encode()).hexdigest()[:4]


def port(testbed: str, host: str) -> str:
    """Name of the bridge's end of a host's link."""
    return f"{_tag(testbed)}{host[0]}{host[6:]}"


def namespace(testbed: str, host: str) -> str:
    """Name of a host's network namespace."""
    return f"glusterlab-{testbed}-{host}"


def subnet_problems(subnet: str) -> list[str]:
    """Why a subnet cannot be a testbed's: this machine has a route into it."""
    found = json.loads(run(["ip", "-json", "route", "show", "root", subnet]) or "[]")
    advice = "give another with --subnet, or take the other testbed down"
    return [f"the subnet {subnet} is in use on this machine (by {route.get('dev')}): {advice}" for route in found[:1]]


def make(options: TestbedOptions) -> None:
    """Make the bridge, the namespaces and the links of all hosts."""
    # to make the hosts' system may have taken minutes
    if found := subnet_problems(options.subnet):
        raise TestbedError(found[0])
    prefix = options.subnet.split("/")[1]
    hosts, bridge = options.host_names, f"{_tag(options.name)}br"
    gateway = f"addr add {options.gateway}/{prefix} dev {bridge}"
    outside = [f"link add {bridge} type bridge", gateway, f"link set {bridge} up"]
    for host in hosts:
        space, near = namespace(options.name, host), port(options.name, host)
        outside += [
            f"netns add {space}",
            f"link add {near} type veth peer name {INTERFACE} netns {space}",
            f"link set {near} master {bridge}",
            f"link set {near} up",
        ]
    run(["ip", "-batch", "-"], stdin="\n".join(outside) + "\n")
    for host in hosts:
        address = f"addr add {options.address(host)}/{prefix} dev {INTERFACE}"
        if host in options.guest_names:
            # the guest has the address; its link stays what it is for other hosts, so that it is limited as theirs
            address = (
                f"tuntap add dev {TAP} mode tap\nlink add guest type bridge\nlink set {INTERFACE} master guest\n"
                f"link set {TAP} master guest\nlink set {TAP} up\nlink set guest up"
            )
        inside = ["link set lo up", address, f"link set {INTERFACE} up"]
        run(["ip", "-n", namespace(options.name, host), "-batch", "-"], stdin="\n".join(inside) + "\n")


def namespaces(testbed: str) -> list[str]:
    """Network namespaces of a testbed that exist now."""
    start = f"glusterlab-{testbed}-"
    folder = Path("/run/netns")
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    # a testbed named "a" must not claim the hosts of one named "a-b"
    return sorted(name for name in names if name.startswith(start) and "-" not in name[len(start) :])


def pids(space: str) -> list[int]:
    """Processes that run in a network namespace."""
    return [int(line) for line in run(["ip", "netns", "pids", space], check=False).split()]


def kill_all(testbed: str, host: str | None = None) -> None:
    """End every process in the namespaces of a testbed, or of one host of it, and wait until all have ended."""
    spaces = namespaces(testbed) if host is None else [namespace(testbed, host)]
    what = f"the testbed '{testbed}'"
    end_all(lambda: [pid for space in spaces for pid in pids(space)], what, deadline_s=_KILL_DEADLINE_S)


def remove(testbed: str) -> None:
    """Remove namespaces, links and the bridge of a testbed, whatever of them exists."""
    for space in namespaces(testbed):
        run(["ip", "netns", "delete", space])
    for name in interfaces(testbed):
        run(["ip", "link", "delete", name], check=False)


def interfaces(testbed: str) -> list[str]:
    """Interfaces of a testbed on this machine: the bridge and its ports."""
    found = json.loads(run(["ip", "-json", "link", "show"]) or "[]")
    return [link["ifname"] for link in found if link["ifname"].startswith(_tag(testbed))]
