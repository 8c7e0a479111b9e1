"""The report on Liu & Tang 2005: verdicts follow from the numbers, the page holds them, a stopped run goes on."""

import json

import numpy as np
import pytest
from claims_check import checked_claims
from topicture_experiments.liu2005 import report as report
from topicture_experiments.liu2005.models import BASELINE
from topicture_experiments.liu2005.page import claims, tables, write_figure, write_page
from topicture_experiments.shared import running
from topicture_experiments.shared.summary import summary_table

# The paper's own order, and LSA1's score at a list of two words, which is what LSA2 predicts.
SCORES = {BASELINE: 0.4, "PLSA": 0.45, "LSA2": 0.51, "NLSA": 0.57, "NLSA+IWE": 0.6}
CHOSEN = {
    "LSA2": {"Z": 3, "word_weight": 1.0},
    "NLSA": {"Z": 3, "word_weight": 1.0},
    "NLSA+IWE": {"n_dims": 2, "images": 1.0, "words": 0.5},
}


def cell(task, **better):
    """A cell of the paper's order, a little better in later parts."""
    if task.setting == report.REACH:
        row = {"Z": 3, "reached": 0.41, "from_map": 1.5, "from_frequencies": 2.8}
        return {"scores": {}, "reach": [row], "seconds": 1.0, "images": [100, 40]}
    own = ("LSA2", "NLSA", "NLSA+IWE") if task.setting in report.SETTINGS else (BASELINE, "PLSA")
    shift = 0.01 * report.DATA[task.data].index(task.part)
    found = {
        "scores": {title: SCORES[title] + shift + better.get(title, 0) for title in own},
        "seconds": 1.0,
        "images": [100, 40],
    }
    if task.setting in report.SETTINGS:
        found |= {"list_scores": [0.0, 0.2, 0.5 + shift], "soft_words": [2.0, 2.0], "chosen": CHOSEN}
    return found


def evidence(**better):
    return {
        "date": "2026-01-01",
        "plan": [task.key for task in report.tasks(quick=True)],
        "found": {task.key: cell(task, **better) for task in report.tasks(quick=True)},
    }


def test_the_papers_own_order_holds_throughout():
    found = tables(evidence())
    assert len(found) == 4
    for table in found.values():
        assert table.components == (20, 60)
        assert {verdict for _, _, verdict in claims(table)} == {"holds"}


def test_a_contrary_order_is_told():
    (_, table), *_ = tables(evidence(PLSA=0.3)).items()
    verdicts = {finding: verdict for finding, _, verdict in claims(table)}
    assert verdicts["LSA2 > PLSA"] == verdicts["NLSA+IWE is the best of all"] == "does not hold"
    assert verdicts["NLSA > LSA2"] == "holds"


def test_an_order_at_some_components_holds_partly():
    contrary = evidence()
    for key, found in contrary["found"].items():
        if key.endswith("/published/20"):
            found["scores"]["NLSA"] = 0.3
    (_, table), *_ = tables(contrary).items()
    verdicts = {finding: (difference, verdict) for finding, difference, verdict in claims(table)}
    assert verdicts["NLSA > LSA2"][1] == "holds partly"
    assert verdicts["LSA2 > PLSA"][0].startswith("+0.060 ± 0.000")


def test_a_column_that_lacks_a_part_is_left_out(tmp_path):
    partial = evidence()
    del partial["found"]["blobs/subset 2/validated/20"]
    found = tables(partial)
    assert [table.components for table in found.values()] == [(20, 60), (20, 60), (20, 60), (60,)]
    page = write_page(partial, tmp_path).read_text(encoding="utf-8")
    assert page.count("left out: K = 40, 80, 100.") == 3
    assert page.count("left out: K = 20, 40, 80, 100.") == 1
    assert "Z of LSA2: 3 (2)." in page


def test_page_and_figure(tmp_path):
    write_figure(evidence(), tmp_path)
    page = write_page(evidence(), tmp_path).read_text(encoding="utf-8")
    assert "| NLSA | 0.575 ± 0.005 | 0.575 ± 0.005 |" in page
    assert "| NLSA+IWE | 0.548 | 0.583 | 0.608 | 0.624 | 0.615 |" in page
    assert "100 to 100 tagged" in page
    assert "| 3 | 0.41 | 1.50 | 2.80 |" in page
    assert "(liu2005.png)" in page
    assert (tmp_path / "liu2005.png").stat().st_size > 1000


@pytest.fixture
def no_pictures(monkeypatch):
    monkeypatch.setattr(report, "_histograms", lambda data, cache: None)


@pytest.mark.usefixtures("no_pictures")
def test_a_stopped_run_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(report, "measure", lambda task, data, cache: asked.append(task) or cell(task))
    half = evidence()
    for key in list(half["found"])[5:]:
        del half["found"][key]
    (tmp_path / "liu2005.json").write_text(json.dumps(half))
    report.main(["--out", str(tmp_path), "--quick"])
    assert asked == report.tasks(quick=True)[5:]
    assert "liu2005.md" in capsys.readouterr().out
    report.main(["--out", str(tmp_path), "--quick", "--redo"])
    assert len(asked) == 2 * len(report.tasks(quick=True)) - 5


@pytest.mark.usefixtures("no_pictures")
def test_a_time_limit_leaves_what_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "measure", lambda task, data, cache: cell(task))
    clock = iter(np.arange(100.0))
    monkeypatch.setattr(running, "monotonic", lambda: next(clock))
    with pytest.raises(SystemExit) as stop:
        report.main(["--out", str(tmp_path), "--quick", "--limit-seconds", "3.5"])
    assert "23 of 26 cells" in str(stop.value)
    assert len(json.loads((tmp_path / "liu2005.json").read_text())["found"]) == 3


def test_missing_data_is_one_line(tmp_path):
    with pytest.raises(SystemExit) as stop:
        report.main(["--out", str(tmp_path), "--data", str(tmp_path / "nowhere")])
    assert "\n" not in str(stop.value)
    assert "nowhere" in str(stop.value)


def test_a_claim_that_holds_in_some_tables_holds_partly():
    contrary = evidence()
    for key, found in contrary["found"].items():
        if key.startswith("blobs") and "baselines" in key:
            found["scores"]["PLSA"] = 0.9
    claims = checked_claims("liu2005", contrary)
    assert claims["LSA2 > PLSA"].verdict == "holds partly"
    assert "blobs, published -0.385 ± 0.005" in claims["LSA2 > PLSA"].here
    assert claims["NLSA > LSA2"].verdict == "holds"


def test_the_summary_links_to_the_report(tmp_path):
    (tmp_path / "liu2005.json").write_text(json.dumps(evidence()))
    table = summary_table(tmp_path, "results/")
    assert (
        "| [Liu and Tang 2005](results/liu2005.md) | NLSA > LSA2 | +0.042 to +0.067 | colour, published"
        in table
    )
    assert "blei2003" not in table
