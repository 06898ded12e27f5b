"""The interactive page: one file that loads nothing, is safe with any name, and works with keys alone."""

import base64
import json
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glusterlab.analysis.saturation.drilldown import pack
from glusterlab.figures.drilldown import page_facts, sample_page
from tests.figures.page import Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
EVIL = "</script><img src=x onerror=alert(1)>"


def sample(number: int, values: np.ndarray) -> dict[str, Any]:
    data, most = pack(values)
    text = base64.b64encode(zlib.compress(data)).decode()
    told = {"number": number, "verdict": f"disks of sample {number}", "layers": [[0, 0, most, 0.9]], "data": text}
    return {**told, "start": 1000.0, "end": 2.0, "step": 2.0, "steps": values.shape[1], "part": [2.0, 8.0]}


@pytest.fixture
def data() -> dict[str, Any]:
    """Two samples of two disks; the second has one that is not recorded at first."""
    one = np.array([[0.1, 0.2, 0.4, 0.2], [1.0, 1.0, 0.5, 1.0]])
    two = np.array([[np.nan, 0.5, 0.5, 0.5], [0.25, 0.25, 0.25, 0.25]])
    return {
        "measures": [["share of what it can do", "server disks", "%", 100.0]],
        "resources": [["server", "server01", "sdb"], ["server", EVIL, "sdc"]],
        "groups": [[0, 1]],
        "cells": [{"id": "cell-1", "label": "write, 48 workers", "samples": [sample(1, one), sample(2, two)]}],
        "first": ["cell-1", 1],
        "left_out": 0,
    }


def page_of(data: dict[str, Any]) -> str:
    return sample_page(data, title=f"night {EVIL}", facts=f"Facts & {EVIL}", footer="night · manifest 0123")


def test_the_page_is_one_file_that_loads_nothing(data: dict[str, Any]) -> None:
    text = page_of(data)
    page = Page(text)
    assert page.links == []
    assert not {"img", "link", "iframe"} & set(page.tags)
    assert "default-src 'none'" in text
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert re.search(r"%[A-Z]+%", text) is None
    assert {"cell", "sample", "measure", "host", "chart", "rows"} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "<noscript>" in text


def test_names_are_data_and_never_markup(data: dict[str, Any]) -> None:
    text = page_of(data)
    assert text.count("<script") == text.count("</script>") == 2
    assert EVIL not in text
    packed = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert packed is not None
    assert json.loads(packed[1]) == data
    assert "innerHTML" not in text


def test_no_samples_make_no_page(data: dict[str, Any]) -> None:
    assert sample_page(data | {"cells": []}, title="", facts="", footer="") == ""
    assert page_facts(data) == "2 samples of 1 cell."


DRIVE = """
<script>
addEventListener("load", () => setTimeout(async () => {
  const at = (id) => document.getElementById(id), told = [];
  const wait = () => new Promise((done) => setTimeout(done, 50));
  const press = (key) => at("chart").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const tell = () => told.push(at("readout").textContent);
  tell();
  press("ArrowRight"); press("ArrowRight"); tell();
  press("ArrowDown"); tell();
  press("Escape"); press("End"); tell();
  told.push(at("verdict").textContent, String(document.querySelectorAll("#svg path.each").length));
  told.push([...at("rows").querySelectorAll("tr")].map((row) => row.textContent).join(" | "));
  at("sample").value = "2"; at("sample").dispatchEvent(new Event("change")); await wait();
  press("Home"); press("ArrowDown"); tell();
  at("host").value = "server01"; at("host").dispatchEvent(new Event("change")); await wait();
  told.push(String(document.querySelectorAll("#svg path.each").length), location.hash, String(document.images.length));
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(told);
  document.body.append(result);
}, 200));
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_keys_and_choices_change_what_is_shown(data: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(page_of(data).replace("</body>", f"{DRIVE}</body>"))
    command = [str(BROWSER), "--headless", "--disable-gpu", "--virtual-time-budget=5000"]
    command.append(f"--user-data-dir={tmp_path}/profile")
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:] + done.stdout[-2000:]
    told = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    means = ["mean of 2, 2 s: 55 %", "mean of 2, 6 s: 45 %", "server01 sdb, 6 s: 40 %", "mean of 2, 8 s: 60 %"]
    assert told[:4] == means
    assert told[4:6] == ["Verdict on this sample: disks of sample 1.", "2"]
    # the most first, over the measured part alone: the first step ends where it begins
    assert told[6] == f"server{EVIL}sdc83.3 %50 %100 % | serverserver01sdb26.7 %20 %40 %"
    assert told[7] == "server01 sdb, 2 s: no record"
    assert told[8] == "1"
    assert told[9].startswith("#cell=cell-1&sample=2&measure=share+of+what+it+can+do")
    assert told[9].endswith("&host=server01")
    assert told[10] == "0"
