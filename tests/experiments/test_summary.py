"""One table of all claims: every claim of a report has what the paper says, and the reverse."""

import json

import pytest

from tests.experiments import (
    test_blei2003_report,
    test_liu2005_report,
    test_shao_report,
    test_yang2010_report,
)
from topicture.experiments import summary
from topicture.experiments.summary import REPORTS, claims_of, summary_table

EVIDENCE = {
    "liu2005": test_liu2005_report.evidence,
    "shao": test_shao_report.evidence,
    "yang2010": test_yang2010_report.evidence,
}


@pytest.mark.parametrize("report", EVIDENCE)
def test_every_claim_has_its_size_in_the_paper(report):
    claims = claims_of(report, EVIDENCE[report]())
    assert {claim.claim for claim in claims} == set(REPORTS[report].said)
    assert all(claim.published for claim in claims)
    assert all(claim.why for claim in claims if claim.verdict != "holds")


def test_blei(monkeypatch):
    monkeypatch.setattr(summary, "assembled", lambda evidence: evidence)
    claims = claims_of("blei2003", test_blei2003_report.evidence())
    assert {claim.claim for claim in claims} == set(REPORTS["blei2003"].said)


def test_a_claim_that_holds_in_some_tables_holds_partly():
    evidence = test_liu2005_report.evidence()
    for key, cell in evidence["found"].items():
        if key.startswith("blobs") and "baselines" in key:
            cell["scores"]["PLSA"] = 0.9
    verdicts = {claim.claim: claim for claim in claims_of("liu2005", evidence)}
    assert verdicts["LSA2 > PLSA"].verdict == "holds partly"
    assert "blobs, published -0.385 ± 0.005" in verdicts["LSA2 > PLSA"].here
    assert verdicts["NLSA > LSA2"].verdict == "holds"


def test_the_table_links_to_the_reports(tmp_path):
    (tmp_path / "liu2005.json").write_text(json.dumps(test_liu2005_report.evidence()))
    table = summary_table(tmp_path, "results/")
    assert (
        "| [Liu and Tang 2005](results/liu2005.md) | NLSA > LSA2 | +0.042 to +0.067 | colour, published"
        in table
    )
    assert "blei2003" not in table
