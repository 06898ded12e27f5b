import pandas as pd
import pytest

from glusterlab.analysis import select
from glusterlab.spec.claims import Claims, load_claims
from glusterlab.spec.prices import PriceList, load_prices
from tests.guide_pools import GUIDE, RUNBOOK


@pytest.fixture(scope="session")
def prices() -> PriceList:
    return load_prices(RUNBOOK / "prices.yaml")


@pytest.fixture(scope="session")
def claims() -> Claims:
    return load_claims(GUIDE / "claims.yaml")


@pytest.fixture
def large_rows(large_samples: pd.DataFrame) -> pd.DataFrame:
    """`large_samples` with their series."""
    return select(large_samples, tool="iozone")
