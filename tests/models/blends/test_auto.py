"""auto: what it tries, what it keeps, what it tells, and that hidden captions stay hidden."""

import zlib

import numpy as np
import pytest
from corpora import make_tiny_corpus
from jax.errors import JaxRuntimeError
from scipy import sparse

from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.models.base import Annotator
from topicture.models.baselines.logistic import Logistic
from topicture.models.baselines.one_view import Step
from topicture.models.blends import auto as auto_module
from topicture.models.blends import kept_trials, trials
from topicture.models.blends.auto import Auto
from topicture.models.blends.blend import nats_by_word
from topicture.models.blends.limits import time_limit
from topicture.models.blends.limits.time_limit import OutOfTime
from topicture.models.blends.members import MEMBERS, Member, members_for
from topicture.models.blends.trials import Trials
from topicture.models.empirical import word_frequencies
from topicture.models.registry import load_annotator

CHEAP = ["naive-bayes", "knn", "logistic"]


def collection(rng, n_images=150, n_tagged=120, informative=True):
    """Five kinds of images; visual words and descriptor tell the kind, or nothing."""
    kind = rng.integers(0, 5, n_images)
    seen = kind if informative else rng.permutation(kind)
    bags = rng.poisson(0.3 + 1.0 * (seen[:, None] == np.arange(20) // 4))
    captions = np.eye(6)[kind] + (rng.random((n_images, 6)) < 0.1)
    truth = captions.copy()
    captions[n_tagged:] = 0
    descriptor = np.eye(5)[seen] + 0.7 * rng.normal(size=(n_images, 5))
    corpus = Corpus.from_arrays(
        captions=captions, vocabulary=list("abcdef"), visual_words=bags, descriptor=descriptor
    )
    return corpus, sparse.csr_array(truth)


def test_is_not_worse_than_its_members_on_new_images(rng):
    corpus, truth = collection(rng, n_images=600)
    new = np.arange(120, 600)
    auto = Auto(CHEAP).fit(corpus)
    own = nats_by_word(auto.annotate(corpus[new]), truth[new])
    for member in members_for(corpus, CHEAP):
        row = next(row for row in auto.report_ if row.member == member.title)
        p = member.make(row.settings, 0).fit(corpus).annotate(corpus[new])
        assert own < nats_by_word(p, truth[new]) + 0.01


def test_tells_what_it_tried_and_why(rng):
    corpus, _ = collection(rng)
    auto = Auto(CHEAP).fit(corpus)
    assert {row.member for row in auto.report_} == {member.title for member in members_for(corpus, CHEAP)}
    tried = [row for row in auto.report_ if row.perplexity is not None]
    assert {row.note for row in tried} <= {"used", "does not help the others"}
    assert all(row.note.startswith("dropped after ") for row in auto.report_ if row not in tried)
    assert sum(row.note == "used" for row in auto.report_) == len(auto.members_)
    for row in auto.report_:
        assert (row.weight > 0) == (row.note == "used")
        assert row.member in auto.table()
    assert auto.result_ in auto.table()


def test_a_member_that_would_overrun_is_stopped_and_named(rng, monkeypatch):
    """The networks would take days, at a second for each of their steps: few steps tell that."""
    corpus, _ = collection(rng)
    monkeypatch.setattr("topicture.models.blends.members._fixed", lambda model, n: _days_of_work(model))
    steps = []
    for module in (auto_module, kept_trials, time_limit, trials):
        monkeypatch.setattr(module, "perf_counter", lambda: float(len(steps)))
    auto = Auto(["knn", "network"], budget_seconds=3600.0).fit(
        corpus, callback=lambda progress: steps.append(progress) if isinstance(progress, Step) else None
    )
    assert 2 <= len(steps) <= 40
    assert {member.name for member in auto.members_} == {"knn"}
    notes = {row.member: row.note for row in auto.report_}
    assert "too long" in notes["network on descriptor"]
    assert "too long" in notes["network on visual_words"]


def _days_of_work(model):
    return {"n_updates": 10_000_000} if model == "network" else {}


def test_a_large_collection_is_tried_on_a_sample(rng, monkeypatch):
    corpus, truth = collection(rng, n_images=300, n_tagged=200)
    monkeypatch.setattr("topicture.models.blends.samples._MOST_TRIED", 120)
    monkeypatch.setattr("topicture.models.blends.samples._MOST_TAGGED", 90)
    auto = Auto(CHEAP).fit(corpus)
    assert (auto.fold_of_ >= 0).sum() == 90
    assert auto.held_out_.shape == (90, corpus.n_words)  # of the sample, however large the collection
    knn = [member for member in auto.members_ if member.name == "knn"]
    assert all(len(member.rows_) == 200 for member in knn)  # learned from all
    new = np.arange(200, 300)
    frequencies = np.tile(auto.p_w_, (100, 1))
    assert nats_by_word(auto.annotate(corpus[new]), truth[new]) < nats_by_word(frequencies, truth[new]) - 0.3


def test_what_all_images_take_too_long_for_is_learned_from_the_sample(rng, monkeypatch):
    corpus, _ = collection(rng, n_images=300, n_tagged=200)
    monkeypatch.setattr("topicture.models.blends.samples._MOST_TRIED", 120)
    monkeypatch.setattr("topicture.models.blends.samples._MOST_TAGGED", 90)
    fit = Logistic.fit

    def slow_for_many(self, corpus, *, callback=None):
        if len(corpus) > 120:
            raise OutOfTime(99.0)
        return fit(self, corpus, callback=callback)

    monkeypatch.setattr(Logistic, "fit", slow_for_many)
    auto = Auto(["logistic"]).fit(corpus)
    assert auto.members_
    assert all("120 images" in row.note for row in auto.report_ if row.weight > 0)


FAILURES = {
    "memory": (MemoryError(), "the memory did not suffice"),
    "accelerator": (JaxRuntimeError("RESOURCE_EXHAUSTED: 9 GB\nmore"), "the memory did not suffice"),
    "numbers": (FloatingPointError("overflow"), "it failed numerically (overflow)"),
    "matrix": (np.linalg.LinAlgError("Singular matrix\nmore"), "it failed numerically (Singular matrix)"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_member_that_fails_is_left_out_with_the_reason(rng, monkeypatch, failure):
    corpus, _ = collection(rng)
    error, reason = FAILURES[failure]
    monkeypatch.setattr(Logistic, "_learn", _failing(Logistic._learn, error, lambda corpus: True))
    auto = Auto(CHEAP).fit(corpus)
    assert "logistic" not in {member.name for member in auto.members_}
    notes = [row.note for row in auto.report_ if row.member.startswith("logistic")]
    assert notes == [f"left out: {reason}"] * 2
    assert reason in auto.table()


def test_answers_that_are_no_numbers_are_a_failure(rng, monkeypatch):
    corpus, _ = collection(rng)
    monkeypatch.setattr(
        Logistic,
        "_scores_and_taken",
        lambda self, corpus: (np.full((len(corpus), corpus.n_words), np.inf), None),
    )
    with np.errstate(invalid="ignore"):
        auto = Auto(CHEAP).fit(corpus)
    assert np.isfinite(auto.annotate(corpus)).all()
    notes = {row.note for row in auto.report_ if row.member.startswith("logistic")}
    assert notes == {"left out: it failed numerically (its answers are not finite numbers)"}


def test_a_member_that_fails_on_everything_is_left_out_of_the_blend(rng, monkeypatch):
    """It was tried with captions hidden, chosen, and then could not learn from all of them."""
    corpus, _ = collection(rng)
    assert "logistic" in {member.name for member in Auto(CHEAP).fit(corpus).members_}
    whole = int(corpus.tagged.sum())
    fails = _failing(Logistic._learn, MemoryError(), lambda corpus: corpus.tagged.sum() == whole)
    monkeypatch.setattr(Logistic, "_learn", fails)
    auto = Auto(CHEAP).fit(corpus)
    assert auto.members_
    assert len(auto.members_) == len(auto.blend_.weights)
    assert "logistic" not in {member.name for member in auto.members_}
    notes = {row.member: row.note for row in auto.report_}
    assert "left out: the memory did not suffice" in notes.values()
    assert len(notes) == len(auto.report_)


def test_what_all_images_need_too_much_memory_for_is_learned_from_the_sample(rng, monkeypatch):
    corpus, _ = collection(rng, n_images=300, n_tagged=200)
    monkeypatch.setattr("topicture.models.blends.samples._MOST_TRIED", 120)
    monkeypatch.setattr("topicture.models.blends.samples._MOST_TAGGED", 90)
    fails = _failing(Logistic._learn, MemoryError(), lambda corpus: len(corpus) > 120)
    monkeypatch.setattr(Logistic, "_learn", fails)
    auto = Auto(["logistic"]).fit(corpus)
    notes = {row.note for row in auto.report_ if row.weight > 0}
    assert notes == {"used; learned from 120 images, for all the memory did not suffice"}


def test_when_all_fail_the_reasons_are_told(rng, monkeypatch):
    corpus, _ = collection(rng)
    monkeypatch.setattr(Logistic, "_learn", _failing(Logistic._learn, MemoryError(), lambda corpus: True))
    with pytest.raises(CorpusError, match="memory did not suffice"):
        Auto(["logistic"]).fit(corpus)


def _failing(learn, error, fails):
    def learn_or_fail(self, corpus, tell):
        if fails(corpus):
            raise error
        return learn(self, corpus, tell)

    return learn_or_fail


def test_time_that_does_not_suffice_is_told(rng):
    corpus, _ = collection(rng)
    auto = Auto(["naive-bayes", "network"], budget_seconds=1e-3).fit(corpus)
    assert [member.name for member in auto.members_] == ["naive-bayes"]
    assert "time" in next(row for row in auto.report_ if row.member.startswith("network")).note


def test_with_nothing_to_see_the_answers_are_the_word_frequencies(rng):
    corpus, _ = collection(rng, n_images=400, n_tagged=300, informative=False)
    p = Auto(CHEAP).fit(corpus).annotate(corpus)
    frequencies = np.asarray(corpus.captions.sum(axis=0)).ravel() / corpus.captions.sum()
    assert np.abs(p - frequencies).mean() < 0.02


def test_held_out_answers_are_honest(rng):
    """Captions without any relation to the images can't be foretold, however well they can be learned by heart."""
    corpus, _ = collection(rng, informative=False)
    auto = Auto(CHEAP).fit(corpus)
    captions = sparse.csr_array(corpus.captions[corpus.tagged])
    frequencies = np.tile(auto.p_w_, (captions.shape[0], 1))
    honest = nats_by_word(auto.held_out_, captions)
    assert honest > nats_by_word(frequencies, captions) - 0.02
    assert (auto.fold_of_ >= 0).sum() == corpus.tagged.sum()
    np.testing.assert_allclose(auto.held_out_.sum(axis=1), 1)


class Guess(Annotator):
    """Answers that have nothing to do with the image; another `luck`, other answers."""

    name = "guess"

    def __init__(self, luck=0):
        self.luck = luck

    def _fit(self, corpus, callback):
        self.result_ = ""

    def _annotate(self, corpus):
        numbers = [zlib.crc32(name.encode()) for name in corpus.image_ids]
        return np.stack([np.random.default_rng((self.luck, n)).dirichlet(np.ones(6)) for n in numbers])


def guessing(monkeypatch, n_members, n_settings):
    """Let members be such that guess."""
    members = [
        Member(f"guess {m}", None, tuple({"luck": m * n_settings + luck} for luck in range(n_settings)))
        for m in range(n_members)
    ]
    monkeypatch.setattr(Member, "make", lambda self, settings, seed: Guess(**settings))
    monkeypatch.setattr("topicture.models.blends.auto.members_for", lambda *_: members)


def test_members_are_not_judged_on_what_they_were_chosen_by(rng, monkeypatch):
    """Of ten members that guess some seem to help; what is told about the blend must not count that."""
    guessing(monkeypatch, n_members=10, n_settings=1)
    gains = []
    for _ in range(4):
        corpus, _ = collection(rng, n_images=60, n_tagged=60)
        auto = Auto().fit(corpus)
        captions = sparse.csr_array(corpus.captions)
        others = [word_frequencies(corpus.without_captions(auto.fold_of_ == fold), 0.5) for fold in range(3)]
        chance = nats_by_word(np.array(others)[auto.fold_of_], captions)
        gains.append(chance - nats_by_word(auto.held_out_, captions))
    assert np.mean(gains) < 0.03, gains


def test_settings_are_not_judged_on_what_they_were_chosen_by(rng, monkeypatch):
    """The best of thirty settings that guess is two standard deviations better on the captions it was chosen by."""
    guessing(monkeypatch, n_members=1, n_settings=30)
    found = []
    run = Trials.run
    monkeypatch.setattr(
        Trials, "run", lambda *a: (found.append((a[0], run(*a)[0][0])), ([found[-1][1]], {}))[1]
    )
    above = []
    for seed in range(5):
        corpus, _ = collection(rng, n_images=60, n_tagged=60)
        Auto(seed=seed).fit(corpus)
        trials, tried = found[-1]
        first = trials.fold_of == 0
        captions = sparse.csr_array(corpus.captions[first])
        luck = [nats_by_word(Guess(n).fit(corpus).annotate(corpus[first]), captions) for n in range(30)]
        above.append((nats_by_word(tried.p[first], captions) - np.mean(luck)) / np.std(luck))
    assert np.mean(above) > -1  # 0 on average, with a standard error of 0.45


def test_near_copies_do_not_tell_each_others_captions(rng):
    """Captions without any relation to the images: whoever foretells some has seen them on a copy."""
    descriptor = np.repeat(rng.normal(size=(60, 64)), 3, axis=0) + 0.1 * rng.normal(size=(180, 64))
    captions = np.repeat(np.eye(6)[rng.integers(0, 6, 60)], 3, axis=0)
    corpus = Corpus.from_arrays(captions=captions, vocabulary=list("abcdef"), descriptor=descriptor)
    auto = Auto(["knn", "logistic"]).fit(corpus)
    hidden = sparse.csr_array(captions)
    chance = nats_by_word(np.tile(auto.p_w_, (180, 1)), hidden)
    assert nats_by_word(auto.held_out_, hidden) > chance - 0.02
    apart = Auto(["knn", "logistic"]).fit(corpus, groups=np.arange(180))
    assert nats_by_word(apart.held_out_, hidden) < chance - 1


def test_groups_follow_their_images(rng):
    corpus, _ = collection(rng)
    groups = rng.integers(0, 30, len(corpus))
    fold_of = Auto(["knn"]).fit(corpus, groups=groups).fold_of_
    shuffled = rng.permutation(len(corpus))
    again = Auto(["knn"]).fit(corpus[shuffled], groups=groups[shuffled])
    np.testing.assert_array_equal(again.fold_of_, fold_of)
    for group in range(30):
        assert len(np.unique(fold_of[(groups == group) & corpus.tagged])) <= 1


def test_learns_again_from_another_collection(rng):
    corpus, _ = collection(rng)
    auto = Auto(CHEAP).fit(corpus)
    bare = Corpus.from_arrays(
        captions=corpus.captions, vocabulary=corpus.vocabulary, descriptor=corpus.descriptor
    )
    assert auto.fit(bare).annotate(bare).shape == (150, 6)
    with pytest.raises(CorpusError, match="descriptor"):
        auto.annotate(Corpus.from_arrays(captions=corpus.captions, vocabulary=corpus.vocabulary))


def test_every_default_member_can_be_made(tiny_corpus):
    found = members_for(tiny_corpus)
    assert {member.model for member in found} == set(MEMBERS)
    for member in found:
        assert member.make(member.settings[0], seed=1).name == member.model


@pytest.mark.slow  # much work, all of it real
def test_blends_what_every_default_member_answers_by_itself(tiny_corpus, monkeypatch):
    """Members were judged by `annotate`, so that is what must be blended: the graph and the temperature included."""
    small = {
        model: {"n_topics": 3, "n_init": 1, "max_iter": 5}
        for model in ("mix-unigram", "lap-var1", "corr-lda")
    }
    small |= {model: {"n_updates": 20} for model in ("network", "matching")}
    monkeypatch.setattr("topicture.models.blends.members._fixed", lambda model, n: small.get(model, {}))
    monkeypatch.setattr("topicture.models.blends.members._GRIDS", {})
    monkeypatch.setattr(
        "topicture.models.blends.choice.pruned", lambda members, *_: list(range(len(members)))
    )
    monkeypatch.setattr("topicture.models.blends.choice.nats_by_word", _blends_win())
    auto = Auto(n_folds=2, budget_seconds=1e6).fit(tiny_corpus)
    assert {member.name for member in auto.members_} == set(MEMBERS)
    auto.blend_ = auto.blend_._replace(weights=np.full(len(auto.members_), 0.1))
    rng = np.random.default_rng(5)
    new = make_tiny_corpus(rng)
    for corpus in (tiny_corpus, new):
        own = [member.annotate(corpus) for member in auto.members_]
        np.testing.assert_array_equal(auto.annotate(corpus), auto.blend_(own, auto.p_w_))


def _blends_win():
    """Nats that fall with every call: the last to be asked, the blend, is the best."""
    falling = iter(np.arange(1000.0, 0.0, -1.0))
    return lambda p, captions: float(np.log(next(falling)))


def test_a_corpus_without_views_is_refused(rng):
    bare = Corpus.from_arrays(captions=np.eye(4), vocabulary=list("abcd"))
    with pytest.raises(CorpusError, match="view"):
        Auto().fit(bare)


@pytest.mark.parametrize("params", [{"n_folds": 1}, {"budget_seconds": 0}, {"members": ["no such model"]}])
def test_parameters_are_checked(params, rng):
    with pytest.raises(TopictureError):
        Auto(**params).fit(collection(rng)[0])


def test_the_table_is_kept_in_the_file(rng, tmp_path):
    corpus, _ = collection(rng)
    auto = Auto(CHEAP).fit(corpus)
    auto.save(tmp_path / "model")
    loaded = load_annotator(tmp_path / "model")
    assert loaded.table() == auto.table()
    np.testing.assert_array_equal(loaded.annotate(corpus), auto.annotate(corpus))
