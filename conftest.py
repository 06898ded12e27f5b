"""Notebooks that cannot be run here are skipped by nbval, too."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cells of notebooks that wait, with the reason."""
    cells = [item for item in items if item.path.suffix == ".ipynb"]
    if cells:
        from tests.waiting import waiting

        reasons = {path.resolve(): why for path, why in waiting().items()}
        for item in cells:
            if why := reasons.get(item.path.resolve()):
                item.add_marker(pytest.mark.skip(reason=why))
