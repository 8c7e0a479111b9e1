"""The report on Shao et al.: work is planned, kept and resumed, verdicts follow from numbers, the page holds them."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from claims_check import checked_claims
from topicture_experiments.shao import report as shao_report
from topicture_experiments.shao import work as shao_work
from topicture_experiments.shao.choice import GRIDS, choose_settings
from topicture_experiments.shao.models import FIGURES, MODELS
from topicture_experiments.shao.page import claims, curves_of, finished_topics, write_figures, write_page
from topicture_experiments.shao.work import FULL, OPTIMA, Plan, choices, fits, key, n_fits, runs

from topicture.annotations.measures.experiment import Run
from topicture.annotations.measures.metrics import summary
from topicture.annotations.measures.protocols import Part
from topicture.models.counts import mix_unigram

PLAN = Plan((1, 2), (10, 50), 1, 50)
# The papers' own order, by K: accuracy, and complete length.
ACCURACY = {
    "Empirical": (0.18, 0.18),
    "pLSA-Words": (0.15, 0.20),
    "pLSA-Words, tempered": (0.16, 0.205),
    "Mixture of unigrams": (0.17, 0.19),
    "Link-LDA": (0.16, 0.181),
    "LapEM": (0.21, 0.22),
    "LapVar1": (0.22, 0.23),
    "LapVar2 (LapMixUnigram)": (0.22, 0.23),
}


def run_of(accuracy: float, subset: int) -> dict:
    values = asdict(summary(np.eye(3), np.eye(3)))
    length = 100 * (1 - accuracy) - (3.5 if accuracy == ACCURACY["Link-LDA"][1] else 0)
    values |= {"accuracy": accuracy + 0.002 * subset, "complete_length": length}
    return asdict(
        Run(f"subset {subset}", 0, 10, 30, 5, 1.0, 1.0, "converged", summary(np.eye(3), np.eye(3)))
    ) | {"measures": values}


def choice_of(title: str) -> dict:
    """The first value of every grid is the default; the second one of the first grid is better."""
    defaults = {name: values[0] for grid in GRIDS[title] for name, values in grid.items()}
    name, values = next(iter(GRIDS[title][0].items()))
    tried = [
        {"params": {name: values[1]}, "mean": 0.25, "standard_error": 0.0},
        {"params": {name: values[0]}, "mean": 0.2, "standard_error": 0.0},
    ]
    params = {**defaults, name: values[1]}
    return {
        "params": params,
        "defaults": defaults,
        "accuracy": 0.25,
        "standard_error": 0.0,
        "tried": tried,
        "cpu_seconds": 1.0,
    }


def evidence() -> dict:
    found = {}
    for s in PLAN.subsets:
        for title in MODELS:
            if GRIDS.get(title):
                found[key("choice", title, s, 50)] = choice_of(title)
            for i, K in enumerate(PLAN.topics if title != "Empirical" else (0,)):
                found[key("run", title, s, K)] = {
                    "run": run_of(ACCURACY[title][i], s),
                    "accuracy": ACCURACY[title][i],
                    "cpu_seconds": 2.0,
                }
        for i, title in enumerate(OPTIMA):
            found[key("optimum", title, s, 50)] = {
                "objective": -1000.0 + 10 * i + s,
                "accuracy": 0.2 + 0.01 * i,
                "complete_length": 50.0,
                "fit_cpu_seconds": 3.0,
            }
    return {"date": "2026-01-01", "plan": PLAN.as_dict(), "found": found}


def test_the_papers_own_order_holds_throughout():
    verdicts = {finding: verdict for finding, _, verdict in claims(curves_of(evidence()))}
    assert set(verdicts.values()) == {"holds"}


def test_an_order_that_turns_holds_partly_or_not():
    other = evidence()
    for s in PLAN.subsets:
        for K in PLAN.topics:
            other["found"][key("run", "LapEM", s, K)]["run"] = run_of(0.12 if K == 10 else 0.25, s)
            other["found"][key("run", "LapVar1", s, K)]["run"] = run_of(0.1, s)
    verdicts = {finding: verdict for finding, _, verdict in claims(curves_of(other))}
    assert verdicts["2009: LapEM beats pLSA-Words"] == "holds partly"
    assert verdicts["2010: LapVar1 beats pLSA-Words"] == "does not hold"


def test_page_and_figures(tmp_path):
    text = write_page(evidence(), tmp_path).read_text(encoding="utf-8")
    assert "| LapEM | 0.213 ± 0.001 | 0.223 ± 0.001 |" in text
    assert "| 5 restarts | +10 ± 0 | 0.2100 ± 0.0000 | +0.0100 ± 0.0000 |" in text
    assert "the graph adds -0.0100 ± 0.0000 to the accuracy" in text
    assert "| LapVar1 | lam | 0.1: 0.2000 ± 0.0000, 0.3: 0.2500 ± 0.0000 | 0.3 (2) |" in text
    # What is searched next starts from the best value before it.
    assert "|  | graph | as published: 0.2500 ± 0.0000 | as published (2) |" in text
    written = write_figures(evidence(), tmp_path)
    assert {path.stem for path in written} == set(FIGURES)
    assert all(f"]({path.name})" in text for path in written)


def test_a_page_of_what_is_finished_says_what_is_missing(tmp_path, monkeypatch, capsys):
    part = evidence()
    del part["found"][key("run", "LapEM", 2, 10)]
    assert finished_topics(part) == curves_of(part).topics == (50,)
    monkeypatch.setattr(shao_report, "FULL", PLAN)
    (tmp_path / "shao.json").write_text(json.dumps(part))
    with pytest.raises(SystemExit, match="time was up"):
        shao_report.main(["--out", str(tmp_path), "--limit-seconds", "-1"])
    assert "Not yet run: K = 10**" in (tmp_path / "shao.md").read_text(encoding="utf-8")
    del part["found"][key("optimum", "one start", 2, 50)]
    (tmp_path / "shao.json").write_text(json.dumps(part))
    (tmp_path / "shao.md").unlink()
    with pytest.raises(SystemExit, match="time was up"):
        shao_report.main(["--out", str(tmp_path), "--limit-seconds", "-1"])
    assert not (tmp_path / "shao.md").exists()


def test_every_model_has_its_place_in_the_plan():
    found = evidence()["found"]
    done = {k for phase in (choices, fits) for unit in phase(PLAN, found) for k in unit.result_keys()}
    assert done == found.keys()
    assert len(fits(PLAN, found)) == n_fits(PLAN)
    # With the whole plan: one choice a searched model and subset, and a run for every number of topics.
    assert len(choices(FULL, {})) == len(FULL.subsets) * sum(bool(grids) for grids in GRIDS.values())


def test_settings_are_those_of_the_choice():
    unit = next(unit for unit in runs(PLAN, evidence()["found"]) if "pLSA-Words" in unit.titles)
    assert unit.titles["pLSA-Words"] == {"power": 1.0, "fold_steps": 100, "eps": 0.5, "n_init": 1}


def test_a_stopped_run_goes_on(tmp_path, monkeypatch, capsys):
    """Nothing is done twice, and what is done is on disk before more is."""
    whole, asked = evidence()["found"], []

    def do(unit, data):
        asked.extend(unit.result_keys())
        if len(asked) == 5:
            raise KeyboardInterrupt
        return {k: whole[k] for k in unit.result_keys()}

    monkeypatch.setattr(shao_report, "do", do)
    monkeypatch.setattr(shao_report, "FULL", PLAN)
    arguments = ["--out", str(tmp_path)]
    with pytest.raises(KeyboardInterrupt):
        shao_report.main(arguments)
    assert len(json.loads((tmp_path / "shao.json").read_text())["found"]) == 4
    with pytest.raises(SystemExit, match="time was up"):
        shao_report.main([*arguments, "--limit-seconds", "-1"])
    shao_report.main(arguments)
    assert (tmp_path / "shao.md").exists()
    assert len(asked) == len(whole) + 1
    assert "choice on subset 1" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="another plan"):
        shao_report.main([*arguments, "--quick"])


def test_work_is_done_on_a_small_part(monkeypatch):
    rng = np.random.default_rng(5)
    truth = mix_unigram.PointParams(
        np.full(3, 1 / 3), rng.dirichlet(np.full(15, 0.3), 3), rng.dirichlet(np.full(6, 0.3), 3)
    )
    corpus = mix_unigram.sample(rng, truth, 60, n_visual=6, n_words=3)
    part = Part("subset 1", corpus[:20], corpus[20:])
    monkeypatch.setattr(shao_work, "corel_parts", lambda subsets, data: iter([part]))
    unit = shao_work.Unit("run", 1, 3, {"Mixture of unigrams": {"n_init": 1, "max_iter": 5}})
    (result,) = shao_work.do(unit, None).values()
    assert result["accuracy"] == result["run"]["measures"]["accuracy"] > 0
    unit = shao_work.Unit("optimum", 1, 3, {"one start": {**OPTIMA["one start"], "max_iter": 5}})
    (result,) = shao_work.do(unit, None).values()
    assert np.isfinite(result["objective"])
    unit = shao_work.Unit("choice", 1, 2, {"pLSA-Words": {"n_grids": 1}})
    (result,) = shao_work.do(unit, None).values()
    assert result["params"].keys() == result["defaults"].keys() == {"eps"}
    assert len(result["tried"]) == len(GRIDS["pLSA-Words"][0]["eps"])
    # Hidden captions do not matter to the choice.
    other = Part("subset 1", part.tagged, part.hidden.without_captions())
    chosen = [choose_settings("pLSA-Words", "plsa-words", p, n_topics=2) for p in (part, other)]
    assert chosen[0] == chosen[1]
    assert choose_settings("Empirical", "empirical", part) is None


def test_every_claim_is_in_the_summary():
    assert checked_claims("shao", evidence())["2009: LapEM beats pLSA-Words"].verdict == "holds"
