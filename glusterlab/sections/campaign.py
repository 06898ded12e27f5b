"""A campaign opened for exploring: its tables, its specification and the facts of its hosts."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from glusterlab.spec import Campaign, Cluster, load_campaign, load_cluster
from glusterlab.store.campaign import RawStore
from glusterlab.tables import build
from glusterlab.tables.read import Tables


@dataclass(frozen=True)
class OpenCampaign:
    """A campaign of raw/, as it was run; tables are in SI base units, `glusterlab.tables.schema` has their columns."""

    name: str
    path: Path
    specification: Campaign
    cluster: Cluster | None  # None where an import has none
    environment: dict[str, Any]  # the facts of every host
    tables: Tables

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row per sample, whatever its status: what was measured, its metrics, its validity."""
        return self.tables.samples

    @cached_property
    def workers(self) -> pd.DataFrame:
        """One row per worker of every sample that has a result."""
        return self.tables.workers

    def telemetry(self, **chosen: Any) -> pd.DataFrame:
        """Its rows with the values named for columns, ``telemetry(activity=["cpu"])``; all may be too much."""
        return self.tables.telemetry_of(**chosen)


def open_campaign(path: str | Path) -> OpenCampaign:
    """Open a campaign folder below raw/; its tables are made, or brought up to date, on the way.

    Raises RawStoreError where there is no campaign, SpecError or ParseError where a file of it is damaged.

    >>> campaign = open_campaign("raw/first-light")
    >>> valid = campaign.samples.query("status == 'valid'")
    >>> valid.groupby("operation", observed=True)["workers"].count().to_dict()
    {'create': 30, 'read': 60, 'write': 30}
    """
    store = RawStore.open(Path(path))
    tables = build.load(store.path)
    cluster = store.path / "cluster.yaml"
    return OpenCampaign(
        name=store.name,
        path=store.path,
        specification=load_campaign(store.path / "campaign.yaml"),
        cluster=load_cluster(cluster) if cluster.is_file() else None,
        environment=store.environment(),
        tables=tables,
    )
