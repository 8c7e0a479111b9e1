"""Reproduce: the experiments of the five papers on real data, one report each, and all their verdicts on one page."""

from collections.abc import Callable, Sequence
from datetime import date
from importlib import import_module, metadata
from pathlib import Path
from typing import NamedTuple

from topicture.app.report_pages import findings, title_of, write_html
from topicture.atomic import write_atomically
from topicture.errors import TopictureError

__all__ = ["PAPERS", "Reproduced", "reports_of", "reproduce", "write_summary"]

PAPERS = {
    "blei2003": ("blei2003",),
    "liu2005": ("liu2005",),
    "shao2009": ("shao",),
    "shao2010": ("shao",),
    "yang2010": ("yang2010",),
    "all": ("blei2003", "liu2005", "shao", "yang2010"),
}
"""What can be asked for -> the reports it takes; the two papers of Shao et al. share data, models and report."""

_VERSIONS = ("topicture", "jax", "numpy", "scipy", "scikit-learn")


class Reproduced(NamedTuple):
    """Where a report lies."""

    name: str
    markdown: Path
    html: Path


def reports_of(papers: Sequence[str]) -> list[str]:
    """The reports that the papers take, each once. Raises TopictureError for a paper that is none of PAPERS."""
    unknown = [paper for paper in papers if paper not in PAPERS]
    if unknown:
        raise TopictureError(f"there is no paper {unknown[0]!r}; there are: {', '.join(PAPERS)}")
    return list(dict.fromkeys(report for paper in papers for report in PAPERS[paper]))


def reproduce(
    papers: Sequence[str],
    out: Path,
    *,
    data: Path | None = None,
    quick: bool = False,
    jobs: int = 1,
    cache: Path | None = None,
    redo: bool = False,
    begin: Callable[[str], None] = lambda report: None,
) -> list[Reproduced]:
    """Run the experiments and write <report>.md, .json, .html and figures into `out`, and results.md over all there.

    What an earlier run has measured with the same plan is kept unless `redo`; an interrupted run goes on.

    Parameters
    ----------
    papers : names in PAPERS
    data : folder of the benchmark sets, or None for the one that TOPICTURE_DATA names
    quick : fewer topics, parts and starts
    jobs : processes, where an experiment can use several
    cache : folder that keeps what was measured on the pictures
    begin : told of each report before its work
    """
    reports = reports_of(papers)
    out.mkdir(parents=True, exist_ok=True)
    done = []
    for report in reports:
        begin(report)
        arguments = ["--out", str(out), *_given("--data", data)]
        arguments += ["--quick"] if quick else []
        arguments += ["--redo"] if redo else []
        module = import_module(f"topicture.experiments.{report}_report")
        if report != "shao":
            arguments += _given("--cache", cache)
        if report != "blei2003":
            arguments += ["--jobs", str(jobs)]
        try:
            module.main(arguments)
        except SystemExit as stop:  # the reports are commands of their own, and end like that
            raise TopictureError(str(stop.code)) from None
        markdown = out / f"{report}.md"
        done.append(Reproduced(report, markdown, write_html(markdown)))
    write_summary(out)
    return done


def _given(option: str, value: Path | None) -> list[str]:
    return [] if value is None else [option, str(value)]


def write_summary(folder: Path) -> Path:
    """Write results.md: the findings of every report in the folder, with versions."""
    pages = [folder / f"{report}.md" for report in PAPERS["all"]]
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in _VERSIONS)
    parts = [
        "# Results",
        f"Put together by `topicture reproduce` on {date.today().isoformat()} with {versions}; not edited by hand. "
        "Each published claim beside what was measured here, and whether it holds. When and how stands in "
        "the report.",
    ]
    for page in pages:
        if page.exists():
            text = page.read_text(encoding="utf-8")
            parts += [f"## [{title_of(text)}]({page.name})", findings(text)]
    path = folder / "results.md"
    write_atomically(path, ("\n\n".join(parts) + "\n").encode())
    return path
