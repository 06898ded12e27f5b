"""The parameters that papermill gave a notebook, against those that it has."""

import ast
import sys

from glusterlab.errors import UsageError
from glusterlab.spec.fields import suggest

INJECTED = "# Parameters\n"  # how the cell begins that papermill puts after the one tagged ``parameters``


class UnknownParameterError(UsageError):
    """A notebook was given what it does not have; shown without the way through the library that found it."""

    def _render_traceback_(self) -> list[str]:  # IPython's name
        return [str(self)]


def refuse_unknown_parameters() -> None:
    """Refuse a parameter that this notebook does not have: papermill logs a warning, and runs on the defaults."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cells: list[str] = [] if shell is None else shell.user_ns.get("In", [])
    for number, cell in enumerate(cells):
        if cell.startswith(INJECTED):
            there = [name for before in cells[:number] for name in _assigned(before)]
            for name in _assigned(cell):
                if name not in there:
                    raise UnknownParameterError(f"this notebook has no parameter {name!r}{suggest(name, there)}")


def _assigned(source: str) -> list[str]:
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError:
        return []
    return [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
