"""All claims of the five papers in one table: what the paper says, what was measured here, the verdict, and why."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from topicture_experiments.blei2003 import page as blei2003_page
from topicture_experiments.blei2003.work import assembled
from topicture_experiments.liu2005 import page as liu2005_page
from topicture_experiments.shao import page as shao_page
from topicture_experiments.shared.published import BLEI2003, LIU2005, SHAO, YANG2010, Said
from topicture_experiments.shared.tables import markdown_table
from topicture_experiments.yang2010 import claims as yang2010_claims

__all__ = ["REPORTS", "Claim", "claims_of", "summary_table"]

Judged = tuple[str, str, str]  # claim, what was found here, verdict


class Claim(NamedTuple):
    """One line of the table."""

    claim: str
    published: str
    here: str
    verdict: str
    why: str


class _Report(NamedTuple):
    paper: str
    judge: Callable[[dict[str, Any]], list[Judged]]
    said: Mapping[str, Said]


def _liu2005(evidence: dict[str, Any]) -> list[Judged]:
    """A claim holds where it does in all four tables, partly where it does in one."""
    tables = liu2005_page.tables(evidence)
    kinds = [f"{kind.data}, {kind.setting}" for kind in tables]
    found = []
    for cases in zip(*(liu2005_page.claims(table) for table in tables.values()), strict=True):
        claim, verdicts = cases[0][0], {verdict for _, _, verdict in cases}
        here = "; ".join(f"{kind} {case[1]}" for kind, case in zip(kinds, cases, strict=True))
        found.append((claim, here, verdicts.pop() if len(verdicts) == 1 else "holds partly"))
    return found


REPORTS: dict[str, _Report] = {
    "blei2003": _Report(
        "Blei and Jordan 2003", lambda evidence: blei2003_page.claims(assembled(evidence)), BLEI2003
    ),
    "liu2005": _Report("Liu and Tang 2005", _liu2005, LIU2005),
    "shao": _Report(
        "Shao et al. 2009, 2010", lambda evidence: shao_page.claims(shao_page.curves_of(evidence)), SHAO
    ),
    "yang2010": _Report("Yang et al. 2010", yang2010_claims.claims, YANG2010),
}


def claims_of(report: str, evidence: dict[str, Any]) -> list[Claim]:
    """The claims of a report's papers; why is said where a claim does not simply hold."""
    own = REPORTS[report]
    found = []
    for claim, here, verdict in own.judge(evidence):
        said = own.said[claim]
        found.append(Claim(claim, said.size, here, verdict, "" if verdict == "holds" else said.why))
    return found


def summary_table(folder: Path, links: str = "") -> str:
    """The claims of every report whose evidence lies in `folder`, as Markdown; `links` goes before a report's name."""
    rows = []
    for report, (paper, *_) in REPORTS.items():
        path = folder / f"{report}.json"
        if path.exists():
            evidence = json.loads(path.read_text(encoding="utf-8"))
            link = f"[{paper}]({links}{report}.md)"
            rows += [(link, *claim) for claim in claims_of(report, evidence)]
    return markdown_table(("Paper", "Claim", "Published", "Here", "Verdict", "Why"), rows)
