"""The report on Blei & Jordan 2003: verdicts follow from the numbers, the page holds them, a damaged start is told."""

import json

import numpy as np
import pytest
from claims_check import checked_claims
from topicture_experiments.blei2003.page import claims, write_figures, write_page
from topicture_experiments.blei2003.report import main
from topicture_experiments.blei2003.work import (
    QUICK,
    RECIPE,
    SETTINGS,
    Plan,
    assembled,
    do,
    facts,
    hide_series,
    units,
)
from topicture_experiments.descriptors.images import COREL
from topicture_experiments.descriptors.regions import MSRC_REGIONS
from topicture_experiments.shared import summary

from topicture.corpus import Corpus

TOPICS = (10, 50)
# Perplexity and held-out cost of each model and estimate, by K: the paper's own order.
PERPLEXITY = {"corr-lda": (60, 50), "gm-mixture": (70, 65), "gm-lda": (90, 95)}
NLL = {"corr-lda": (101, 91), "gm-lda": (100, 90), "gm-mixture": (150, 140)}


def evidence():
    rows = [{"model": "independent", "smoothing": "ml", "n_topics": 1, "perplexity": 100.0, "nll": 200.0}]
    for model, values in PERPLEXITY.items():
        for smoothing in ("ml", "eb"):
            for i, (K, value) in enumerate(zip(TOPICS, values, strict=True)):
                overfits = 20 * (i + 1) if smoothing == "ml" else 1
                rows.append(
                    {
                        "model": model,
                        "smoothing": smoothing,
                        "n_topics": K,
                        "perplexity": float(value * overfits),
                        "nll": float(NLL[model][i]),
                    }
                )
    regions = [
        {
            "model": model,
            "smoothing": "eb",
            "n_topics": 25,
            "region_accuracy_at_1": a,
            "region_accuracy_at_3": 2 * a,
        }
        for model, a in (("gm-lda", 0.2), ("corr-lda", 0.3))
    ]
    curve = [[0, 1, 2], [1.0, 0.5, 2 / 3], [0.5, 0.5, 1.0]]
    scores = {"gm-mixture": 0.1, "gm-lda": 0.05, "corr-lda": 0.2, "empirical": 0.01}
    series = [
        {"model": model, "smoothing": smoothing, "n_topics": K, "perplexity": value}
        for model, smoothing, K, value in (
            ("independent", "ml", 1, 100.0),
            ("gm-mixture", "eb", 50, 90.0),
            ("corr-lda", "eb", 50, 70.0),
        )
    ]
    return {
        "series": {"hidden": 0.1, "rows": series},
        "date": "2026-01-01",
        "settings": {"topics": [10, 50], "seeds": [0], "max_iter": 3, "tol": 1e-4, "precision": "float32"},
        "corel": {"train": 30, "test": 10, "rows": rows},
        "msrc": {"train": 8, "test": 4, "regions": 20, "most_frequent": 0.1, "rows": regions},
        "retrieval": [
            {
                "n_topics": 10,
                "scores": {name: {"1": value, "2": value} for name, value in scores.items()},
                "curves": {"sky": dict.fromkeys(("gm-mixture", "gm-lda", "corr-lda"), curve)},
            }
        ],
    }


def test_the_papers_own_order_holds_throughout():
    assert {verdict for _, _, verdict in claims(evidence())} == {"holds"}


def test_a_contrary_order_is_told():
    contrary = evidence()
    for row in contrary["corel"]["rows"]:
        if row["model"] == "corr-lda":
            row["perplexity"] *= 1.25 if row["n_topics"] == 10 else 1
    contrary["msrc"]["rows"][0]["region_accuracy_at_1"] = 0.9
    verdicts = {finding: verdict for finding, _, verdict in claims(contrary)}
    assert verdicts["Smoothed perplexity: Corr-LDA < GM-Mixture"] == "holds partly"
    assert verdicts["Corr-LDA names regions better than GM-LDA"] == "does not hold"


def test_page_and_figures(tmp_path):
    write_figures(evidence(), tmp_path)
    page = write_page(evidence(), tmp_path).read_text(encoding="utf-8")
    assert "| corr-lda | smoothed | 60.0 | 50.0 |" in page
    assert "| Corr-LDA's lead | 20.0 |" in page
    assert "| its lead with near copies | 15.0 |" in page
    for name in ("likelihood", "perplexity", "retrieval"):
        assert (tmp_path / f"blei2003-{name}.png").stat().st_size > 1000
        assert f"(blei2003-{name}.png)" in page


# --- Work ---------------------------------------------------------------------------------------------------------

SMALL = Plan((2,), (2,), (2,), (0, 1), 2, {**SETTINGS, "max_iter": 2})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Sixty images of two series and two words, as `prepare` leaves them."""
    folder = tmp_path_factory.mktemp("blei")
    rng = np.random.default_rng(0)
    for name in ("corel", "msrc"):
        for part, n in (("train", 40), ("test", 20)):
            words = rng.integers(2, size=n)
            Corpus.from_arrays(
                image_ids=[f"{i % 4}000/{part}{i}" for i in range(n)],
                captions=np.eye(3)[words] + [0, 0, 1],
                vocabulary=["sea", "sand", "sky"],
                regions=[rng.normal(size=(2, 2)) * 0.1 + 3 * w for w in words],
            ).save(folder / f"{name}-{part}")
    np.save(folder / "words.npy", rng.integers(-1, 3, size=40))
    return folder


@pytest.mark.slow  # much work, all of it real
@pytest.mark.filterwarnings("ignore::topicture.errors.FitWarning")
def test_every_fit_has_its_place_on_the_page(place, tmp_path):
    every = units(SMALL)
    assert len({unit.key for unit in every}) == len(every) == 2 * (6 + 4 + 2 + 2 + 2)
    found = {unit.key: do(place, SMALL.settings, unit) for unit in every if unit.seed == 0}
    found |= {unit.key: found[unit._replace(seed=0).key] for unit in every if unit.seed == 1}
    values = {"plan": SMALL._asdict(), "date": "2026-01-01", "facts": facts(place), "found": found}
    whole = assembled(json.loads(json.dumps(values)))
    assert len(whole["corel"]["rows"]) == 2 * 7
    assert len(whole["msrc"]["rows"]) == 2 * 2
    assert len(whole["series"]["rows"]) == 2 * 3
    assert all(0 < row["region_accuracy_at_1"] <= 1 for row in whole["msrc"]["rows"])
    assert list(whole["retrieval"][1]["scores"]) == ["gm-mixture", "gm-lda", "corr-lda", "empirical"]
    assert "± 0.0" in write_page(whole, tmp_path).read_text(encoding="utf-8")


def test_what_was_measured_is_used_again(tmp_path, capsys):
    rows = evidence()
    row = {**rows["corel"]["rows"][1], **rows["msrc"]["rows"][0], "curves": {}}
    row |= {"scores": {"1": 0.1}, "curves": {"sky": [[0, 1], [1.0, 0.5], [0.5, 1.0]]}}
    named = {
        unit.key: {**row, "model": unit.model, "smoothing": unit.smoothing, "n_topics": unit.n_topics}
        for unit in units(QUICK)
    }
    facts = {name: {k: v for k, v in rows[name].items() if k != "rows"} for name in ("corel", "msrc")}
    values = {"plan": QUICK._asdict(), "date": "2026-01-01", "facts": facts, "found": named}
    (tmp_path / "blei2003.json").write_text(json.dumps(values))
    main(["--out", str(tmp_path), "--quick"])
    assert "blei2003.md" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="another plan"):
        main(["--out", str(tmp_path)])


def test_missing_data_is_one_line(tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(["--out", str(tmp_path), "--data", str(tmp_path / "nowhere")])
    assert "\n" not in str(stop.value)
    assert "nowhere" in str(stop.value)


def test_a_series_lies_on_one_side():
    ids = [f"{1000 * disc}/{1000 * disc + i}" for disc in range(20) for i in range(5)]
    captions = np.tile([1, 0], (100, 1))
    corpus = Corpus.from_arrays(image_ids=ids, captions=captions, regions=[np.zeros((1, 2))] * 100)
    train, test = hide_series(corpus, seed=0)
    discs = [{image.partition("/")[0] for image in part.image_ids.tolist()} for part in (train, test)]
    assert len(discs[1]) == 2
    assert not discs[0] & discs[1]
    assert len(train) + len(test) == 100


def test_the_descriptors_exist():
    assert RECIPE in COREL
    assert RECIPE in MSRC_REGIONS


def test_every_claim_is_in_the_summary(monkeypatch):
    monkeypatch.setattr(summary, "assembled", lambda found: found)
    assert checked_claims("blei2003", evidence())["Corr-LDA retrieves best"].verdict == "holds"
