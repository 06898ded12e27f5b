"""The report in a real browser, opened from the folder: Debian's Chromium and its driver."""

import functools
import json
import os
import re
import shutil
import threading
import unicodedata
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pypdf import PdfReader
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from glusterlab.analysis.claims.verdicts import VERDICTS
from glusterlab.figures.explorer import PAGE
from glusterlab.site.pages import PAGES
from glusterlab.site.printing import PRINTED, print_pdf
from tests.site.projects import CELLS, FIGURE, HOSTILE

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
AXE = Path(__file__).parent / "vendor" / "axe.min.js"

pytestmark = pytest.mark.skipif(
    not (DRIVER and BROWSER) and os.environ.get("GLUSTERLAB_REQUIRE_TESTBED") != "1",
    reason="needs Debian's packages chromium and chromium-driver",
)


class Browser:
    """A headless Chromium, and the report that it looks at."""

    def __init__(self, driver: webdriver.Chrome, site: Path) -> None:
        self.driver, self.site = driver, site
        self.base = site.as_uri()

    def open(self, page: str, ready: str = "return document.readyState === 'complete'") -> None:
        # a page of the same address but for its hash would not be loaded anew
        self.driver.get("about:blank")
        self.driver.get(f"{self.base}/{page}")
        self.until(ready)

    def until(self, script: str) -> Any:
        return WebDriverWait(self.driver, 30, poll_frequency=0.05).until(lambda driver: driver.execute_script(script))

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def find(self, css: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def complaints(self) -> list[str]:
        """What the console has said since the last call."""
        return [entry["message"] for entry in self.log("browser")]

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What the browser has logged since the last call."""
        found: list[dict[str, Any]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return found


DRAWN = "return document.documentElement.dataset.drawn"


@pytest.fixture(scope="module")
def browser(project: Path) -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield Browser(driver, project / "figures" / "site")
    finally:
        driver.quit()


def cell_of(browser: Browser, slug: str) -> str:
    """The address of a cell's page."""
    path = next((browser.site / "data" / "first-light" / "cell").glob(f"{slug}-*.js"))
    return f"cell.html#campaign=first-light&cell={path.stem.replace('+', '%2B')}"


@pytest.fixture(scope="module")
def views(browser: Browser) -> dict[str, tuple[str, str]]:
    """Every page with what tells that it is there."""
    still = {name: (f"{name}.html", "return document.readyState === 'complete'") for name in PAGES}
    drawn = {name: (f"{name}.html", DRAWN) for name in ("explore", "compare", "claims")}
    cell = {"cell": (cell_of(browser, CELLS[0]), DRAWN)}
    return still | drawn | cell | {"section": ("sections/first-light/10-large-files.html", still["index"][1])}


def test_no_page_complains_or_asks_for_anything_else(browser: Browser, views: dict[str, tuple[str, str]]) -> None:
    browser.log("performance")
    for name, (page, ready) in views.items():
        browser.open(page, ready)
        assert browser.complaints() == [], name
    events = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    sent = [each["params"] for each in events if each["method"] == "Network.requestWillBeSent"]
    addresses = {each["request"]["url"] for each in sent}
    assert any(address.endswith("explore.js") for address in addresses)
    assert all(address.startswith((browser.base, "about:", "data:")) for address in addresses), addresses


def test_it_is_the_same_from_a_web_server(browser: Browser) -> None:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(browser.site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        browser.driver.get(f"http://127.0.0.1:{server.server_port}/explore.html")
        assert browser.until(DRAWN) == str(len(CELLS))
        assert browser.complaints() == []
    finally:
        server.shutdown()
        server.server_close()


def test_it_is_drawn_in_a_frame_that_may_load_nothing(browser: Browser, tmp_path: Path) -> None:
    # as JupyterLab serves it: without an origin, so without cookies for whatever else it would load
    view = "campaign=second-light&amp;per=disks&amp;only-operation=read"
    frame = f'<iframe sandbox="allow-scripts" src="{browser.base}/{PAGE}" name="{view}" width="1000" height="700">'
    (tmp_path / "frame.html").write_text(f"<!DOCTYPE html>{frame}</iframe>")
    browser.driver.get((tmp_path / "frame.html").as_uri())
    browser.driver.switch_to.frame(0)
    assert browser.until(DRAWN) == str(sum("-read-" in slug for slug in CELLS))
    assert "per disk" in browser.run("return document.getElementById('what').textContent")
    # nothing leads to a page that could not load
    assert browser.find("a[href]:not([href^='#']):not([download])") == []
    assert browser.complaints() == []
    browser.driver.switch_to.default_content()


MARKS = """
const view = document.getElementById("chart").view, found = new Set();
(function walk(item) {
  const datum = item.datum || {};
  if (item.mark?.marktype === "symbol" && ["mean", "group"].includes(datum.kind)) found.add(datum.at);
  for (const each of item.items || []) walk(each);
})(view.scenegraph().root);
return found.size;
"""


@pytest.mark.parametrize(
    "state",
    [
        "",
        "#campaign=first-light|second-light",
        "#campaign=first-light&per=disks&full=yes",
        "#campaign=first-light&x=series&only-workers=48",
    ],
)
def test_each_row_of_the_numbers_is_a_mark(browser: Browser, state: str) -> None:
    browser.open(f"explore.html{state}", DRAWN)
    rows = browser.run("return document.querySelectorAll('#numbers tbody tr').length")
    assert rows == browser.run(MARKS) == int(browser.run(DRAWN)) > 0
    points = browser.run("return document.querySelector('#numbers a[download]').href")
    assert points.startswith("blob:")


def test_compare_has_a_mark_and_a_verdict_for_each_cell(browser: Browser) -> None:
    browser.open("compare.html#one=second-light&other=first-light|gone", DRAWN)
    assert browser.run("return location.hash") == "#one=second-light&other=first-light"
    assert browser.find("#what")[0].text.startswith("first-light against second-light")
    marks = browser.run(MARKS.replace('["mean", "group"].includes(datum.kind)', "datum.verdict"))
    browser.find("#numbers summary")[0].click()
    verdicts = [cell.text for cell in browser.find("#numbers tbody td:nth-child(8)")]
    assert verdicts == ["insufficient n"] * len(CELLS)
    assert marks == len(CELLS)


PLACES = """
const view = document.getElementById("chart").view, found = [];
(function walk(item, dx) {
  const datum = item.datum || {}, kind = item.mark?.marktype;
  if (datum.kind === "mean" && (kind === "symbol" || kind === "rule")) found.push([kind, datum.at, dx + item.x]);
  for (const each of item.items || []) walk(each, dx + (item.mark?.marktype === "group" ? item.x || 0 : 0));
})(view.scenegraph().root, 0);
return found;
"""


def test_cells_at_one_place_stand_beside_each_other_with_their_intervals(browser: Browser) -> None:
    browser.open("explore.html#campaign=first-light|second-light", DRAWN)
    marks = browser.run(PLACES)
    points = {at: round(x, 1) for kind, at, x in marks if kind == "symbol"}
    assert len(points) == len(set(points.values())) == 2 * len(CELLS)
    assert {at: round(x, 1) for kind, at, x in marks if kind == "rule"}.items() <= points.items()
    assert any(kind == "rule" for kind, *_ in marks)
    assert "one colour differ by campaign as well" in browser.find("#note")[0].text
    browser.open("explore.html#campaign=first-light", DRAWN)
    assert "one colour" not in browser.find("#note")[0].text


def test_panels_share_an_axis_unless_asked_otherwise(browser: Browser) -> None:
    def axes() -> int:
        return int(browser.run("return document.querySelectorAll('#chart .role-axis-title').length"))

    browser.open("explore.html#campaign=first-light", DRAWN)
    shared = axes()
    assert "own axis" not in browser.find("#note")[0].text
    box = next(label for label in browser.find("#choice label.check") if label.text == "each panel has its own axis")
    box.click()
    browser.until("return location.hash.includes('axes=own')")
    browser.until(f"return document.querySelectorAll('#chart .role-axis-title').length > {shared}")
    assert "Each panel has its own axis" in browser.find("#note")[0].text
    browser.open(browser.driver.current_url.removeprefix(f"{browser.base}/"), DRAWN)
    assert axes() > shared


@pytest.fixture
def scheme(browser: Browser) -> Iterator[Callable[[str], None]]:
    def prefer(name: str) -> None:
        features = {"features": [{"name": "prefers-color-scheme", "value": name}]}
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", features)

    yield prefer
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


CONTRAST = """
const light = (text) => {
  const parts = text.match(/[0-9.]+/g).slice(0, 3).map((each) => Number(each) / (text.startsWith("color(") ? 1 : 255));
  const [r, g, b] = parts.map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
"""


@pytest.mark.parametrize("name", ["light", "dark"])
def test_charts_can_be_read_on_light_and_dark_paper(browser: Browser, scheme: Callable[[str], None], name: str) -> None:
    scheme("dark" if name == "light" else "light")
    browser.open("explore.html#campaign=first-light", DRAWN)
    scheme(name)  # a chart that is there follows
    found = browser.run(
        CONTRAST
        + """
        const paper = getComputedStyle(document.querySelector(".chart")).backgroundColor;
        const fill = (each) => getComputedStyle(each).fill;
        const of = (css) => [...document.querySelectorAll(`#chart ${css}`)].map((each) => contrast(fill(each), paper));
        return [light(paper), of(".role-axis text"), of(".role-legend text"), of(".mark-symbol path")];
        """
    )
    paper, axes, legend, marks = found
    assert (paper > 0.5) == (name == "light")
    assert axes
    assert legend
    assert min(axes + legend) > 4.5
    if name == "dark":  # on light paper the colours are the figures'
        assert min(marks) > 3


def test_a_view_comes_back_from_its_address(browser: Browser) -> None:
    browser.open("explore.html#campaign=first-light&per=price&x=series&price-disks=0.5&view=whole", DRAWN)
    address = browser.driver.current_url
    heads, rows = (
        browser.run(f"return document.querySelector('#numbers {part}').textContent") for part in ("thead", "tbody")
    )
    browser.open(address.removeprefix(f"{browser.base}/"), DRAWN)
    assert browser.driver.current_url == address
    assert "price-disks=0.5" in address
    assert (heads, rows) == tuple(
        browser.run(f"return document.querySelector('#numbers {part}').textContent") for part in ("thead", "tbody")
    )
    assert "per 1,000 USD" in heads


@pytest.mark.parametrize(
    "address",
    [
        "explore.html#begin=yes&x=gone&colour=toString&facet=gone&per=gone&only-workers=7",
        "explore.html#begin=yes&price-disks=much",
        "claims.html#verdict=gone&class=gone&chapter=gone",
        "claims.html#claim=gone",
    ],
)
def test_an_address_of_what_is_not_there_shows_what_is_usual(browser: Browser, address: str) -> None:
    browser.open(address.partition("#")[0], DRAWN)
    usual = browser.run(DRAWN)
    browser.open(address, DRAWN)
    assert browser.run(DRAWN) == usual
    assert browser.complaints() == []


def test_a_cell_that_is_not_there_leads_to_those_that_are(browser: Browser) -> None:
    browser.open("cell.html#campaign=first-light&cell=gone", "return document.querySelector('#facts a')")
    assert "No such cell" in browser.find("main")[0].text
    assert browser.find("main h2") == []


def test_prices_rank_anew(browser: Browser) -> None:
    def ranked(state: str) -> list[float]:
        browser.open(f"explore.html#campaign=first-light&per=price&x=series&only-workers=48{state}", DRAWN)
        return [float(cell.get_attribute("textContent")) for cell in browser.find("#numbers tbody td:nth-child(9)")]

    before, cheaper = ranked(""), ranked("&price-disks=0")
    assert len(before) == len(cheaper) == 4
    assert all(one < other for one, other in zip(before, cheaper, strict=True))


def test_from_a_finding_to_a_raw_file_in_four_clicks(browser: Browser, project: Path) -> None:
    browser.open("index.html")
    browser.find(".findings a")[0].click()
    browser.until(DRAWN)
    # the claim of the finding is open, with the cells behind it
    browser.until("return document.querySelector('details.claim[open] li a') !== null")
    browser.find("details.claim[open] li a")[0].click()
    browser.until(DRAWN)
    files = [link for link in browser.find("#files a") if link.text == "workload/stdout.txt"]
    address = files[0].get_attribute("href")
    assert Path(unquote(address.removeprefix("file://"))).is_relative_to(project / "raw")
    files[0].click()
    browser.until("return document.body && document.body.textContent.includes('Iozone')")
    browser.driver.back()
    browser.until(DRAWN)
    browser.driver.back()
    assert browser.until("return document.querySelector('details.claim[open]') !== null")


@pytest.mark.parametrize("name", ["light", "dark"])
def test_each_verdict_has_a_colour_and_a_sign_of_its_own(
    browser: Browser, scheme: Callable[[str], None], name: str
) -> None:
    scheme(name)
    browser.open("claims.html", DRAWN)
    found = browser.run(
        CONTRAST
        + """
        const behind = [document.body, document.querySelector(".claim")];
        const papers = behind.map((each) => getComputedStyle(each).backgroundColor);
        return VERDICTS.map((text) => {
          const badge = glusterlab.verdict(text);
          document.querySelector("main").append(badge);
          const style = getComputedStyle(badge), sign = getComputedStyle(badge, "::before").content;
          return [style.color, sign, Math.min(...papers.map((paper) => contrast(style.color, paper)))];
        });
        """.replace("VERDICTS", json.dumps(VERDICTS))
    )
    colours, signs, contrasts = zip(*found, strict=True)
    assert len(set(colours)) == len(set(signs)) == len(VERDICTS)
    assert min(contrasts) >= 4.5


def test_a_closed_claim_shows_its_ratio_interval_and_n(browser: Browser) -> None:
    browser.open("claims.html#campaign=first-light", DRAWN)
    rows = browser.find("details.claim:not([open]) > summary")
    measured = [row for row in rows if row.find_elements(By.CSS_SELECTOR, "svg.interval .bar")]
    assert measured
    assert all(re.search(r"Measured: [\d.]+.* \([\d.]+ to [\d.]+\), n = \d", row.text) for row in measured)


def test_a_studys_own_arithmetic_is_not_among_what_was_measured(browser: Browser) -> None:
    browser.open("claims.html#campaign=first-light&verdict=reproduced", DRAWN)
    shown = {box.get_attribute("id") for box in browser.find("details.claim")}
    browser.open("claims.html#campaign=first-light&verdict=reproduced&class=arithmetic", DRAWN)
    arithmetic = {box.get_attribute("id") for box in browser.find("details.claim")}
    browser.open("claims.html#campaign=first-light&verdict=reproduced&class=all", DRAWN)
    assert arithmetic
    assert not arithmetic & shown
    assert {box.get_attribute("id") for box in browser.find("details.claim")} == shown | arithmetic


def test_a_cell_shows_what_each_disk_did_and_who_uses_it(browser: Browser) -> None:
    browser.open(cell_of(browser, CELLS[3]), DRAWN)
    assert int(browser.run(DRAWN)) > 1
    measures = [option.text for option in browser.find("#choice label:nth-child(2) option")]
    assert any("CPU, busy" in each for each in measures)
    assert any("disks, written" in each for each in measures)
    assert f"{FIGURE}.csv" in browser.find("#used")[0].text
    uses = {link.text: str(link.get_attribute("href")) for link in browser.find("#used li > a")}
    title = next(text for text in uses if text.startswith("Figure 5: "))
    assert uses[title].endswith(f"sections/first-light/10-large-files.html#{FIGURE}")
    assert "glusterlab trace figures/first-light/" in browser.find("#used")[0].text
    assert browser.run("return document.querySelectorAll('#samples tbody tr').length") == 3


def test_charts_are_walked_by_keys_and_tables_are_sorted(browser: Browser) -> None:
    browser.open("explore.html#campaign=first-light", DRAWN)
    chart = browser.find("#chart .chart")[0]
    chart.send_keys(Keys.ARROW_RIGHT)
    assert browser.until("return document.querySelector('#chart [role=status]').textContent").startswith(
        ("write", "read")
    )
    browser.find("#numbers summary")[0].click()
    heads = browser.find("#numbers th button")
    heads[8].send_keys(Keys.ENTER)
    values = [float(cell.text) for cell in browser.find("#numbers tbody td:nth-child(9)")]
    assert values == sorted(values)
    assert browser.find("#numbers th")[8].get_attribute("aria-sort") == "ascending"


def test_home_leads_to_answers(browser: Browser) -> None:
    answers = {
        "Which layout yields the most for its price?": "return document.querySelector('#numbers th:nth-child(9)')",
        "What binds which cells?": "return document.querySelector('#numbers tbody td:nth-child(12)')",
        "Is one campaign slower than another?": "return document.querySelector('#note')",
        "Which statements do measurements contradict, and why?": "return document.querySelector('#note')",
    }
    texts = []
    for question, answer in answers.items():
        browser.open("index.html")
        next(link for link in browser.find("main a") if link.text == question).click()
        browser.until(DRAWN)
        texts.append(browser.run(f"{answer}.textContent"))
    price, binds, slower, contradicted = texts
    assert "per 1,000 USD" in price
    assert "disks" in binds
    assert slower.startswith(f"second-light against first-light: {len(CELLS)} cells, 5 insufficient n; margin ± 5 %, ")
    assert re.match(r"\d+ of \d+ claims", contradicted)


@pytest.mark.parametrize(
    ("asked", "kind"), [("writes 4 GB 12x", "cell"), ("slower 10.3", "comparison"), ("zzz 12x", "These have some")]
)
def test_search_takes_other_words_for_the_same(browser: Browser, asked: str, kind: str) -> None:
    browser.open("methods.html")
    browser.find("#search")[0].send_keys(asked)
    browser.until("return document.querySelectorAll('#found a').length")
    assert kind in browser.find("#found")[0].text


def test_search_finds_claims_figures_and_cells(browser: Browser) -> None:
    browser.open("methods.html")
    browser.find("#search")[0].send_keys("write 4 gib disperse")
    assert browser.until("return document.querySelectorAll('#found a').length") > 0
    browser.find("#search")[0].send_keys(Keys.ARROW_DOWN)
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.until("return location.pathname.endsWith('cell.html')")


def test_search_is_left_by_escape_and_by_tab(browser: Browser) -> None:
    browser.open("methods.html")
    for leave in ([Keys.ARROW_DOWN, Keys.ESCAPE], [Keys.TAB] * 25):
        browser.find("#search")[0].send_keys("read ")
        browser.until("return document.querySelectorAll('#found a').length")
        for key in leave:
            browser.driver.switch_to.active_element.send_keys(key)
        assert browser.run("return document.getElementById('found').hidden")
        assert browser.run("return document.activeElement.id === 'search'") == (Keys.ESCAPE in leave)


def test_hostile_titles_stay_text(browser: Browser) -> None:
    browser.open("index.html")
    assert HOSTILE in browser.find("#campaigns + div")[0].get_attribute("textContent")
    # words beside a title that turns the direction of writing do not turn with it
    assert HOSTILE in [each.get_attribute("textContent") for each in browser.find("bdi")]
    links = "return [...document.querySelectorAll('a')].map((each) => getComputedStyle(each).unicodeBidi)"
    assert set(browser.run(links)) == {"isolate"}
    browser.open("claims.html", DRAWN)
    assert HOSTILE in browser.find("#choice option")[0].get_attribute("textContent")
    assert browser.run("return [...document.scripts].filter((each) => !each.src).length") == 0


def test_every_page_passes_axe(browser: Browser, views: dict[str, tuple[str, str]]) -> None:
    script = AXE.read_text()
    for name, (page, ready) in views.items():
        browser.open(page, ready)
        browser.run("document.querySelectorAll('details').forEach((each, n) => { if (n < 20) each.open = true; })")
        browser.run(script)
        found = browser.driver.execute_async_script("axe.run(document).then(arguments[0])")
        told = [(each["id"], each["help"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
        assert told == [], name


def letters(text: str) -> str:
    """A text without blanks, its ligatures taken apart."""
    return "".join(unicodedata.normalize("NFKC", text).split())


def test_the_printed_report_loses_no_row_and_numbers_its_pages(browser: Browser, tmp_path: Path) -> None:
    page = browser.site / "sections" / "first-light" / PRINTED
    print_pdf(page, tmp_path / "report.pdf")
    pages = [each.extract_text() for each in PdfReader(tmp_path / "report.pdf").pages]
    assert len(pages) > 2
    for number, text in enumerate(pages, 1):
        assert letters(text).startswith(f"{number}/{len(pages)}")
        assert len(letters(text)) > 40, f"page {number} is empty"
    browser.open(str(page.relative_to(browser.site)))
    rows = [letters(row.get_attribute("textContent")) for row in browser.find("tr")]
    whole = letters("".join(text.partition("\n")[2] for text in pages))
    assert len(rows) > 20
    assert [row for row in rows if row not in whole] == []
    links = [str(link.get_attribute("href")) for link in browser.find("a[href*='#']")]
    targets = browser.run("return [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(targets) == len(set(targets))
    assert {unquote(link.partition("#")[2]) for link in links} <= set(targets)


@pytest.fixture
def narrow(browser: Browser) -> Iterator[Callable[[int], None]]:
    def resize(width: int) -> None:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    yield resize
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_tab_key_goes_down_a_phone(browser: Browser, narrow: Callable[[int], None]) -> None:
    narrow(400)
    for page in ("explore.html", "compare.html"):
        browser.open(page, DRAWN)
        for folded in (True, False):
            if not folded:
                browser.find("#choices > summary")[0].click()
            tops = browser.run(
                """
                const list = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")];
                const seen = list.filter((each) => each.checkVisibility() && !each.closest(".skip, .chart svg"));
                return seen.map((each) => Math.round(each.getBoundingClientRect().bottom / 8));
                """
            )
            assert tops == sorted(tops), (page, folded)
            assert browser.run("return document.getElementById('choices').open") != folded


def test_pages_fit_a_phone(browser: Browser, views: dict[str, tuple[str, str]], narrow: Callable[[int], None]) -> None:
    narrow(400)
    pictures = 0
    for name, (page, ready) in views.items():
        browser.open(page, ready)
        wide = browser.run(
            "return [...document.querySelectorAll('main *')].filter((each) => each.getBoundingClientRect().right > 401)"
            ".map((each) => each.outerHTML.slice(0, 200)).slice(0, 5)"
        )
        assert browser.run("return document.documentElement.scrollWidth") <= 400, (name, wide)
        shown = browser.run("return [...document.querySelectorAll('picture img')].map((each) => each.currentSrc)")
        assert all("/narrow/" in each for each in shown)
        pictures += len(shown)
    assert pictures
