"""The race of `auto`: who is dropped, what is kept of trials, and that neither changes what comes out."""

import numpy as np
import pytest
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.digests import digest_of
from topicture.models.baselines.knn import KNN
from topicture.models.baselines.logistic import Logistic
from topicture.models.blends.auto import Auto
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.blends.members import FormerRow, members_again, members_for
from topicture.models.blends.race import alone, gain_needed, heat_gain, of_use
from topicture.models.blends.work import AutoStep

CHEAP = ["naive-bayes", "knn", "ridge"]


@pytest.fixture
def corpus(rng):
    """Descriptors tell the kind of an image, visual words tell nothing."""
    n = 240
    kind = rng.integers(0, 5, n)
    captions = np.eye(6)[kind] + (rng.random((n, 6)) < 0.1)
    captions[200:] = 0
    descriptor = np.eye(5)[kind] + 0.7 * rng.normal(size=(n, 5))
    return Corpus.from_arrays(
        captions=captions,
        vocabulary=list("abcdef"),
        visual_words=rng.poisson(0.5, (n, 12)),
        descriptor=descriptor,
    )


def test_members_that_see_nothing_are_dropped_after_a_fold(corpus):
    auto = Auto(CHEAP).fit(corpus)
    notes = {row.member: row.note for row in auto.report_}
    for blind in ("naive-bayes", "knn on visual_words", "ridge on visual_words"):
        assert notes[blind].startswith("dropped after the first fold: adds too little (perplexity ")
    assert all(member.view == "descriptor" for member in auto.members_)
    everyone = Auto(CHEAP, race=False).fit(corpus)
    assert all(row.perplexity is not None for row in everyone.report_)  # as far as all folds, nobody dropped


def test_a_member_that_takes_long_must_add_more(rng):
    n = 120
    captions = sparse.csr_array(np.eye(4)[rng.integers(0, 4, n)])
    p_w = np.full(4, 0.25)
    strong = alone(np.where(captions.toarray() > 0, 0.55, 0.15), p_w, captions)
    weak = [
        alone(rng.dirichlet(np.ones(4), n) * 0.9 + 0.1 * captions.toarray(), p_w, captions) for _ in range(3)
    ]
    halves = np.arange(n) % 2
    everyone = [strong, *weak]
    free = of_use(everyone, [0.0] * 4, p_w, captions, halves)
    assert len(free) > 2
    assert of_use(everyone, [1.0] * 4, p_w, captions, halves) == sorted(
        np.argsort([one.nats for one in everyone])[:2].tolist()
    )
    assert gain_needed(2000, 2500) == pytest.approx(
        0.02
    )  # 20 s; `matching` adds more than that where it helps
    assert gain_needed(3000, 2500) > gain_needed(100, 2500) >= gain_needed(100, 10)


def test_where_many_images_are_tagged_less_will_do():
    assert gain_needed(2000, 5000, 2000) == heat_gain(2000, 5000, 2000) == gain_needed(2000, 5000)
    assert gain_needed(2000, 5000, 4000) == pytest.approx(0.01)
    assert gain_needed(2000, 5000, 10**9) == heat_gain(2000, 5000, 4000) == pytest.approx(0.001)


def test_dear_members_run_a_heat_first(corpus, monkeypatch):
    monkeypatch.setattr("topicture.models.blends.trials._FEWEST_OF_HEAT", 100)
    monkeypatch.setattr("topicture.models.blends.work._HUNDREDTHS", {"ridge": 2000, "knn": 1})
    monkeypatch.setattr("topicture.models.blends.work._OF_WORDS", {})
    monkeypatch.setattr("topicture.models.blends.race._USUAL_IMAGES", 100)
    monkeypatch.setattr("topicture.models.blends.race._FAR_BEHIND", 100.0)  # else its view would be told poor
    auto = Auto(["knn", "ridge"]).fit(corpus)
    notes = {row.member: row.note for row in auto.report_}
    assert "dropped after a heat on" in notes["ridge on visual_words"]


# --- What is kept ---------------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


def test_what_was_interrupted_goes_on_and_ends_at_the_same(corpus, tmp_path, monkeypatch):
    fits = []
    for model in (KNN, Logistic):
        _count_fits(monkeypatch, model, fits)
    members = ["knn", "logistic"]
    whole = Auto(members).fit(corpus)
    n_fits = len(fits)
    fits.clear()

    def interrupt(step):
        if isinstance(step, AutoStep) and step.member.startswith("logistic"):
            raise Stop

    with pytest.raises(Stop):
        Auto(members).fit(corpus, kept=KeptTrials(tmp_path), callback=interrupt)
    before = len(fits)
    assert 0 < before < n_fits
    again = Auto(members).fit(corpus, kept=KeptTrials(tmp_path))
    assert len(fits) == n_fits
    np.testing.assert_array_equal(again.held_out_, whole.held_out_)
    np.testing.assert_array_equal(again.annotate(corpus), whole.annotate(corpus))
    fits.clear()
    Auto(members).fit(corpus, kept=KeptTrials(tmp_path))
    assert len(fits) == len(whole.members_)  # only what is used is learned


def _count_fits(monkeypatch, model, fits):
    fit = model.fit
    monkeypatch.setattr(model, "fit", lambda self, *a, **k: (fits.append(self.name), fit(self, *a, **k))[1])


def test_damaged_and_foreign_files_count_as_none(corpus, tmp_path):
    whole = Auto(["knn"]).fit(corpus, kept=KeptTrials(tmp_path))
    files = sorted(tmp_path.iterdir())
    files[0].write_bytes(b"\x80\x04 no arrays")
    files[1].write_bytes(files[1].read_bytes()[:-9])
    files[2].write_bytes(files[3].read_bytes() if files[3].stat().st_size != files[2].stat().st_size else b"")
    again = Auto(["knn"]).fit(corpus, kept=KeptTrials(tmp_path))
    np.testing.assert_array_equal(again.held_out_, whole.held_out_)


def test_other_captions_images_and_settings_are_other_trials(corpus, tmp_path):
    hidden = np.arange(len(corpus)) < 40
    asked = []

    def ask(annotator, images, mask=hidden):
        kept = KeptTrials(tmp_path)
        kept.answers(annotator, images, mask, lambda: (asked.append(1), np.zeros((mask.sum(), 6)))[1])
        return kept

    ask(KNN(), corpus)
    ask(KNN(), corpus)
    assert len(asked) == 1
    changed = corpus.captions.toarray()
    changed[:40] = 1 - np.minimum(changed[:40], 1)  # what is hidden takes no part
    arrays = {
        "vocabulary": list("abcdef"),
        "descriptor": corpus.descriptor,
        "visual_words": corpus.visual_words,
    }
    ask(KNN(), Corpus.from_arrays(captions=changed, **arrays))
    assert len(asked) == 1
    changed[100] = 1
    ask(KNN(), Corpus.from_arrays(captions=changed, **arrays))
    ask(KNN(5), corpus)
    ask(KNN(), corpus, np.arange(len(corpus)) < 41)
    last = ask(KNN(), corpus[np.arange(200)], hidden[:200])
    assert len(asked) == 5
    last.forget_others()
    assert len(list(tmp_path.iterdir())) == 1


def test_digests_tell_types_shapes_and_borders_apart():
    parts = [("ab", "c"), ("a", "bc"), (np.zeros(4),), (np.zeros((2, 2)),), (np.zeros(4, np.float32),)]
    assert len({digest_of(*each) for each in parts}) == len(parts)


def test_only_what_helped_is_tried_again(corpus):
    first = Auto(CHEAP).fit(corpus)
    rows = [FormerRow(row.member, row.settings, row.weight, row.note) for row in first.report_]
    again = Auto(CHEAP).fit(corpus, former=rows)
    assert [(m.name, m.get_params()) for m in again.members_] == [
        (m.name, m.get_params()) for m in first.members_
    ]
    notes = {row.member: row.note for row in again.report_}
    assert notes["naive-bayes"].startswith("not tried again: dropped after the first fold")
    third = [FormerRow(row.member, row.settings, row.weight, row.note) for row in again.report_]
    assert members_again(members_for(corpus, CHEAP), third)[1]["naive-bayes"] == notes["naive-bayes"]


def test_what_was_not_judged_is_tried_again(corpus):
    rows = [
        FormerRow("knn on descriptor", {"n_neighbours": 30, "power": 2.0}, 1.0, "used"),
        FormerRow("naive-bayes", {}, 0.0, "not tried: the time was up"),
    ]
    members, others = members_again(members_for(corpus, CHEAP), rows)
    assert "naive-bayes" in {member.title for member in members}
    assert not others
    assert next(m for m in members if m.title == "knn on descriptor").settings == (rows[0].settings,)


@pytest.mark.parametrize("settings", [{"gone": 1}, {"n_neighbours": -3, "power": 2.0}, {}])
def test_settings_that_are_no_longer_compared_are_forgotten(corpus, settings):
    members = members_for(corpus, ["knn"])
    again, others = members_again(members, [FormerRow("knn on descriptor", settings, 1.0, "used")])
    assert again == members
    assert not others


def test_dear_members_on_a_view_without_anything_to_see_are_not_tried(corpus, monkeypatch):
    monkeypatch.setattr("topicture.models.blends.work._HUNDREDTHS", {"knn": 1, "ridge": 600})
    monkeypatch.setattr("topicture.models.blends.work._OF_WORDS", {})
    auto = Auto(["knn", "ridge"]).fit(corpus)
    notes = {row.member: row.note for row in auto.report_}
    assert notes["ridge on visual_words"].startswith("not worth trying: quick models on visual_words")
    assert not notes["ridge on descriptor"].startswith("not worth trying")
