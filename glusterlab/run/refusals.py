"""What a pool refuses of a plan, asked of its first server before anything runs there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glusterlab.errors import GlusterlabError
from glusterlab.hosts import gluster
from glusterlab.hosts.pool import Pool
from glusterlab.spec.cell import release_problem

if TYPE_CHECKING:
    from glusterlab.run.plan import Plan
    from glusterlab.spec import Cluster, Layout


def refusals(plan: Plan, cluster: Cluster, *, pool: Pool | None = None) -> tuple[dict[Layout, str], str | None]:
    """Why GlusterFS refuses layouts, and what kept it from being asked; layouts without anything special are not.

    It tells which options it has by a volume that is there; of their values it tells nothing before a run sets them.
    """
    layouts = {cell.layout for cell in plan.cells if cell.layout.options or cell.layout.hot or cell.layout.features}
    if not layouts:
        return {}, None
    server = cluster.servers[0]
    connections = pool or Pool.of(cluster)
    connections.hosts = {server.name: server}
    try:
        if failed := connections.connect():
            raise failed[server.name]
        options = sorted({name for layout in layouts for name, _ in layout.options})
        unknown = set(gluster.unknown_options(connections, server.name, options))
        release = gluster.release(connections, server.name)
    except GlusterlabError as error:
        return {}, f"options and tiers of volumes were not asked about: {error}"
    finally:
        connections.close()
    found = {}
    for layout in layouts:
        why = release_problem(layout, release)
        if why is None and (names := [name for name, _ in layout.options if name in unknown]):
            why = f"GlusterFS {release} has no option {' and no '.join(names)}"
        if why is not None:
            found[layout] = f"layout {layout.name}: {why}"
    return found, None
