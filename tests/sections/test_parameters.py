"""A parameter that a notebook does not have is refused, however papermill writes it into the notebook."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from glusterlab.errors import UsageError
from glusterlab.sections.section import open_section

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "10-large-files.ipynb"


def cells_with(parameters: dict[str, str]) -> list[str]:
    given = parameterize_notebook(load_notebook_node(str(NOTEBOOK)), parameters)
    return ["", *(cell.source for cell in given.cells if cell.cell_type == "code")][:4]


def test_a_misspelt_parameter_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(user_ns={"In": cells_with({"campain": "raw/first-light"})})
    with patch("IPython.get_ipython", return_value=shell), pytest.raises(UsageError) as found:
        open_section("raw/reference")
    assert str(found.value) == "this notebook has no parameter 'campain': did you mean 'campaign'?"
    assert found.value._render_traceback_() == [str(found.value)]


def test_its_own_parameters_are_taken() -> None:
    shell = SimpleNamespace(user_ns={"In": cells_with({"campaign": "raw/none", "reads": "iozone"})})
    with patch("IPython.get_ipython", return_value=shell), pytest.raises(Exception, match="expected a campaign in"):
        open_section("raw/none")
