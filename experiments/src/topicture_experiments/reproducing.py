"""Reproduce: the experiments of the five papers on real data, one report each, and all their verdicts on one page."""

import json
from collections.abc import Callable, Sequence
from datetime import date
from importlib import import_module, metadata
from pathlib import Path
from typing import NamedTuple

from topicture.app.pages.reports import write_html
from topicture.atomic import make_folder, write_atomically
from topicture.collection.outputs import Outputs
from topicture.errors import TopictureError
from topicture_experiments.shared.running import Options, Tell
from topicture_experiments.shared.summary import summary_table

__all__ = ["PAPERS", "Options", "Reproduced", "reports_of", "reproduce", "write_summary"]

PAPERS = {
    "blei2003": ("blei2003",),
    "liu2005": ("liu2005",),
    "shao2009": ("shao",),
    "shao2010": ("shao",),
    "yang2010": ("yang2010",),
    "all": ("blei2003", "liu2005", "shao", "yang2010"),
    "auto": ("auto",),
    "missing": ("missing",),
    "regions": ("regions",),
}
"""What can be asked for -> the reports it takes. The two papers of Shao et al. share data, models and report; `auto` is
the default model beside its competitors, `missing` is about promises where tags are no random sample, or incomplete,
`regions` about the models of regions on pictures whose pixels are labelled."""

_MADE_BY = "Put together by `topicture reproduce`"
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
    options: Options,
    tell: Callable[[str], Tell],
    summary: Path | None = None,
    *,
    force: bool = False,
) -> list[Reproduced]:
    """Run the experiments and write <report>.md, .json, .html and figures, and a summary (results.md) over all there.

    What an earlier run has measured with the same plan on the same data is kept unless `options.redo`; an interrupted
    run goes on. `tell` gives, for the name of a report that begins, what is to be told of its progress. Files that are
    not from such a run are replaced only with `force`, photos never; raises OutputError before anything is measured.
    """
    reports = reports_of(papers)
    _check_outputs(options.out, reports, summary or options.out / "results.md", force)
    make_folder(options.out)
    done = []
    for report in reports:
        module = import_module(f"topicture_experiments.{report}.report")
        module.run(options, tell(report))
        markdown = options.out / f"{report}.md"
        done.append(Reproduced(report, markdown, write_html(markdown)))
    write_summary(options.out, summary)
    return done


def _check_outputs(folder: Path, reports: Sequence[str], summary: Path, force: bool) -> None:
    for report in reports:
        names = [f"{report}.md", f"{report}.json", f"{report}.html"]
        if _is_evidence(folder / f"{report}.json"):  # an earlier run: its files are ours, in whatever state
            Outputs(folder, force=True).check(names)
        else:
            Outputs(folder, force=force).check(names)
            figures = [path.name for path in folder.glob(f"{report}*.png")]
            Outputs(folder, pictures=True).check(figures)
    is_ours = summary.is_file() and _MADE_BY.encode() in summary.read_bytes()[:400]
    Outputs(summary.parent, force=force or is_ours).check([summary.name])


def _is_evidence(path: Path) -> bool:
    try:
        return {"plan", "found"} <= set(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return False


def write_summary(folder: Path, path: Path | None = None) -> Path:
    """Write all claims of the reports in `folder` with their verdicts, and what `auto` reaches; by default results.md.

    Another `path` must lie in the folder itself or beside it.
    """
    path = folder / "results.md" if path is None else path
    links = "" if path.parent.resolve() == folder.resolve() else f"{folder.name}/"
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in _VERSIONS)
    parts = [
        "# Results",
        f"{_MADE_BY} on {date.today().isoformat()} with {versions}; not edited by hand. "
        "When and how each figure was measured, with which seeds and settings, stands in the report that the first "
        "column links to.",
        "## The papers' claims",
        "A claim that was tested in several places (numbers of topics, data sets) *holds* where it does in all of "
        "them, *holds partly* where it does in some. Reasons are those of the full reports.",
        summary_table(folder, links),
    ]
    auto = folder / "auto.md"
    if auto.exists():
        parts += ["## [`auto` beside its competitors](" + links + "auto.md)", *_tables(auto)]
    write_atomically(path, ("\n\n".join(parts) + "\n").encode())
    return path


def _tables(page: Path) -> list[str]:
    """The tables of a page, each under its heading, one level deeper; first, what of it is older than the code."""
    before, *sections = page.read_text(encoding="utf-8").split("\n## ")
    found = [line for line in before.splitlines() if line.startswith("**Older than the code:**")]
    for section in sections:
        heading, *lines = section.splitlines()
        rows = [line for line in lines if line.startswith("|")]
        if rows:
            found += [f"### {heading}", "\n".join(rows)]
    return found
