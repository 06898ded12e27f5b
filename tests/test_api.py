"""The public API: what `import glusterlab` gives, locked; each name has its example in the module's docstring."""

import subprocess
import sys

import pytest

import glusterlab

PUBLIC = [
    "Estimate",
    "GlusterlabError",
    "__version__",
    "compare_campaigns",
    "errors",
    "load_tables",
    "mean_interval",
    "open_campaign",
    "open_section",
    "parse_file",
    "ratio_interval",
]


def test_public_names_are_these() -> None:
    assert glusterlab.__all__ == PUBLIC
    assert dir(glusterlab) == PUBLIC
    for name in PUBLIC:
        assert getattr(glusterlab, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        glusterlab.nonsense  # noqa: B018


def test_importing_is_light() -> None:
    script = (
        "import sys, glusterlab; print([name for name in ('pandas', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"
