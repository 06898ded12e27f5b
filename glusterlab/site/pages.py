"""Files of the report: one campaign's data, pictures and sections, and the pages over all campaigns."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from glusterlab import __version__
from glusterlab.analysis.claims.judge import EVIDENCE
from glusterlab.analysis.claims.scorecard import published_text
from glusterlab.analysis.claims.verdicts import VERDICTS, decides
from glusterlab.errors import GlusterlabError
from glusterlab.figures.explorer import PAGE
from glusterlab.reasons import MEANINGS
from glusterlab.site.alone import alone
from glusterlab.site.data import QUANTITIES, Report, plain
from glusterlab.site.notebooks import SectionBody
from glusterlab.site.printing import PRINTED, as_one
from glusterlab.spec.across import FILE as ACROSS
from glusterlab.spec.across import load_across
from glusterlab.spec.claims import FILE as CLAIMS
from glusterlab.spec.claims import load_claims
from glusterlab.spec.models import model_limits
from glusterlab.spec.studies import studies
from glusterlab.spec.yaml import load_yaml
from glusterlab.store.files import write_atomically
from glusterlab.tables.schema import SCHEMAS
from glusterlab.tools import vocabulary

_HERE = Path(__file__).parent

PAGES = {
    "index": "Findings", "explore": "Explore", "compare": "Compare", "claims": "Claims", "sections": "Sections",
    "studies": "Studies", "across": "Across studies", "methods": "Methods and limits", "glossary": "Glossary",
    "cell": "Cell",
}  # fmt: skip
"""The pages by name, in the order of the menu; a cell's is reached from others."""


@dataclass(frozen=True, slots=True)
class Job:
    """A campaign whose files are to be made."""

    raw: Path
    figures: Path
    folder: Path


def script(name: str, data: Any) -> str:
    r"""A file of data as pages load it: they cannot read other files where they were opened from a folder.

    >>> script("site", {"a": "</script>", "b": float("nan")})
    'glusterlab.put("site",{"a":"\\u003c/script>","b":null});\n'
    """
    text = json.dumps(plain(data), separators=(",", ":"), allow_nan=False)
    return f"glusterlab.put({json.dumps(name)},{text});\n".replace("<", "\\u003c")


def make(job: Job) -> tuple[tuple[str, dict[str, Any], str], Sequence[Job]]:
    """Make the files of one campaign: its name and what the pages of all need of it, or why that failed."""
    name, partial = job.raw.name, job.folder / f".{job.raw.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        report = Report.open(job.raw, job.figures)
        _write_data(report, partial / "data")
        _write_files(report, partial / "files")
        bodies = _sections(report)
        for place in ("data", "files"):
            (job.folder / place).mkdir(exist_ok=True)
            shutil.rmtree(job.folder / place / name, ignore_errors=True)
            (partial / place).rename(job.folder / place / name)
        entry = {
            "entry": plain(report.entry()),
            "study": plain(report.study_data()),
            "looks": report.looks(),
            "quantities": list(report.summaries()),
            "prices": plain(report.costs()),
            "verdicts": report.verdicts(),
            "sections": bodies,
        }
    except (GlusterlabError, OSError) as error:
        return (name, {}, str(error)), ()
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return (name, entry, ""), ()


def _write_data(report: Report, folder: Path) -> None:
    (folder / "cell").mkdir(parents=True)
    binds = {}
    for cell, data in report.each_cell():
        path = folder / "cell" / f"{cell}.js"
        path.write_text(script(f"cell/{report.name}/{cell}", data), encoding="utf-8")
        binds[cell] = data["binds"]
    loaded: dict[str, Any] = {"cells": report.cells_data(binds), "claims": report.claims_data()}
    loaded |= {"comparisons": report.comparisons_data(), "search": report.search()}
    for kind, data in loaded.items():
        (folder / f"{kind}.js").write_text(script(f"{kind}/{report.name}", data), encoding="utf-8")


def _write_files(report: Report, folder: Path) -> None:
    """Pictures and numbers of the figures, beside the pages, so that the report can be taken elsewhere whole."""
    folder.mkdir(parents=True)
    for chapter in report.chapters:
        for figure in chapter.figures:
            for file in filter(None, (*figure.files, figure.narrow)):
                (folder / file).parent.mkdir(exist_ok=True)
                shutil.copyfile(report.figures / file, folder / file)


def _sections(report: Report) -> list[dict[str, Any]]:
    found = []
    for chapter in report.chapters:
        notebook = report.figures / "notebooks" / f"{chapter.name}.ipynb"
        if not chapter.name or not notebook.is_file():
            continue
        body = SectionBody(chapter, f"../../files/{quote(report.name)}").html(notebook)
        missing = [{"label": each.label, "title": each.title, "reason": each.reason} for each in chapter.missing]
        section = {"name": chapter.name, "title": chapter.title, "body": body, "missing": missing}
        found.append(section | {"failed": chapter.name in report.failed})
    return found


def most_decided(campaigns: Mapping[str, Mapping[str, Any]], study: str) -> dict[str, dict[str, Any]]:
    """Of each claim of a study what the ``campaign`` says that decides most; of several the one with the most cells."""
    found: dict[str, dict[str, Any]] = {}
    for each in sorted(campaigns.values(), key=lambda each: -int(each["entry"]["cells"])):
        own = each["entry"]["study"] == study
        for claim, one in each["verdicts"].get(study, {}).items():
            if claim not in found or decides(one["verdict"]) > decides(found[claim]["verdict"]):
                found[claim] = one | {"campaign": each["entry"]["name"], "own": own}
    return found


def by_campaign(campaigns: Mapping[str, Mapping[str, Any]], study: str) -> list[dict[str, Any]]:
    """By campaign the claims that one can tell, and the ratios behind them, of each verdict; all together last."""
    cards = {name: each["verdicts"][study] for name, each in campaigns.items() if study in each["verdicts"]}
    rows = []
    for name, card in [*cards.items(), ("all together", most_decided(campaigns, study))]:
        told = [one for one in card.values() if one["class"] in EVIDENCE]
        claims = Counter(one["verdict"] for one in told)
        ratios = {(one["verdict"], one.get("campaign"), one["evidence"]) for one in told if one["evidence"]}
        counts = {each: (claims[each], sum(each == verdict for verdict, *_ in ratios)) for each in VERDICTS}
        rows.append({"campaign": name, "counts": counts, "all": len(told)})
    return rows


def _questions(published: Path, campaigns: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What several studies say to one question, each with what was measured of it."""
    files = {folder.name: folder / CLAIMS for folder in studies(published) if (folder / CLAIMS).is_file()}
    if not (published / ACROSS).is_file():
        return []
    names = vocabulary()
    stated = {study: {claim.id: claim for claim in load_claims(file, names).claims} for study, file in files.items()}
    told = {study: most_decided(campaigns, study) for study in files}

    def row(study: str, claim: str) -> dict[str, Any]:
        of = stated[study][claim]
        found = {"study": study, "id": claim, "says": of.paraphrase, "published": published_text(of)}
        return found | told[study].get(claim, {"verdict": "not measured"})

    return [
        {"id": question.id, "question": question.question}
        | {
            "topics": [
                {"about": topic.about, "note": topic.note, "studies": topic.studies}
                | {"claims": [row(*reference) for reference in topic.claims]}
                for topic in question.topics
            ]
        }
        for question in load_across(published / ACROSS, stated).questions
    ]


def write_pages(
    campaigns: Mapping[str, Mapping[str, Any]], compared: Mapping[str, Any], folder: Path, raw: str, published: Path
) -> None:
    """Write the pages over all campaigns, of what `make` returned of each and `pairs` of all.

    `raw` is where they find raw files.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["url"] = quote
    entries = [each["entry"] for each in campaigns.values()]
    measured = {each["entry"]["study"]: each["study"] for each in campaigns.values()}
    found = {quantity for each in campaigns.values() for quantity in each["quantities"]}
    site = {
        "version": __version__,
        "raw": raw,
        "campaigns": entries,
        "verdicts": VERDICTS,
        "quantities": [
            {"key": name, "label": label, "unit": unit, "factor": factor, "rate": rate}
            for name, (label, unit, factor, rate) in QUANTITIES.items()
            if name in found
        ],
        "looks": {series: look for each in campaigns.values() for series, look in each["looks"].items()},
        "prices": next((each["prices"] for each in campaigns.values() if each["prices"]), None),
    }
    shared: dict[str, Any] = {"menu": PAGES, "site": site, "studies": measured, "version": __version__}
    for path in (_HERE / "assets").rglob("*"):
        if path.is_file():
            _put(folder / "assets" / path.relative_to(_HERE / "assets"), path.read_bytes())
    _put(folder / "data" / "site.js", script("site", site))
    _put(folder / "data" / "pairs.js", script("pairs", compared))
    for study, data in measured.items():
        _put(folder / "data" / f"study-{study}.js", script(f"study-{study}", data))
    terms, _ = load_yaml(_HERE / "glossary.yaml")
    columns = {name: meaning for name, (_, meaning) in SCHEMAS["samples"].items()}
    own = {
        "index": {"pairs": compared["pairs"]},
        "methods": {"limits": model_limits()},
        "glossary": {"terms": terms["terms"], "reasons": MEANINGS, "columns": columns},
        "sections": {"campaigns": campaigns},
        "studies": {"fared": {study: by_campaign(campaigns, study) for study in measured}},
        "across": {"questions": _questions(published, campaigns)},
    }
    for name, title in PAGES.items():
        page = environment.get_template(f"{name}.html.j2")
        _put(folder / f"{name}.html", page.render(page=name, title=title, root="", **shared, **own.get(name, {})))
    data = ["data/site.js", *(f"data/{name}/cells.js" for name in campaigns)]
    _put(folder / PAGE, alone((folder / "explore.html").read_text(encoding="utf-8"), folder, data))
    page = environment.get_template("section.html.j2")
    for campaign, each in campaigns.items():
        for section in each["sections"]:
            text = page.render(
                page="sections",
                title=section["title"],
                root="../../",
                campaign=each["entry"],
                section=section,
                **shared,
            )
            _put(folder / "sections" / campaign / f"{section['name']}.html", text)
        whole = environment.get_template("print.html.j2").render(
            campaign=each["entry"], sections=as_one(each["sections"]), version=__version__
        )
        _put(folder / "sections" / campaign / PRINTED, whole)


def _put(path: Path, data: str | bytes) -> None:
    """Write a file unless it is there with these bytes."""
    content = data.encode() if isinstance(data, str) else data
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content, durable=False)
