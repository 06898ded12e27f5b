"""One report for all tests that look at pages."""

from pathlib import Path
from unittest.mock import patch

import pytest

from glusterlab.site.build import build
from tests.site.projects import make_project


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two campaigns with the same cells, and the report over them in ``figures/site``."""
    root = make_project(tmp_path_factory.mktemp("project"), ("first-light", "second-light"))
    raws = [root / "raw" / name for name in ("first-light", "second-light")]
    with patch("os.cpu_count", return_value=1):  # here: two processes take longer to start than two such campaigns
        built = build(raws, project=root, folder=root / "figures" / "site")
    assert not built.failed
    return root
