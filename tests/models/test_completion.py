"""Words that captions probably lack: by the closed form and by hand, found again, and what models make of them."""

from itertools import pairwise

import numpy as np
import pytest

from topicture.annotations.measures.metrics import summary
from topicture.corpus import Corpus
from topicture.models import completion
from topicture.models.baselines.ridge import Ridge
from topicture.models.completion import all_else, completed, expected
from topicture.models.registry import annotator_class, make_annotator

N, V, L, FOLDERS = 40, 5, 3, 4


@pytest.fixture
def small(rng):
    captions = (rng.random((N, V)) < 0.4).astype(float)
    captions[captions.sum(axis=1) == 0, 0] = 1
    return Corpus.from_arrays(
        captions, image_ids=[f"{i:02d}" for i in range(N)], descriptor=rng.normal(size=(N, L))
    ).with_omissions(np.full(V, 0.5), np.arange(N) % FOLDERS)


def scattered(rng, n=1500, n_words=12, kept=0.4):
    """Shoots of one subject each: what they look like and their words go together; words are given by chance."""
    folder = rng.integers(0, 30, n)
    looks = rng.normal(size=(30, 60))[folder] + 2.5 * rng.normal(size=(n, 60))
    often = np.where(rng.random((30, n_words)) < 0.2, 0.8, 0.02)
    true = rng.random((n, n_words)) < often[folder]
    given = true & (rng.random(true.shape) < kept)
    corpus = Corpus.from_arrays(
        given.astype(float), image_ids=[f"{i:04d}" for i in range(n)], descriptor=looks
    )
    tagged = given.any(axis=1)
    share = given.sum(axis=0) / np.maximum(true[tagged].sum(axis=0), 1)  # of images with a caption
    return corpus.with_omissions(np.clip(share, 0.05, 1), folder), true


@pytest.mark.parametrize("most_words", [400, 2])
def test_every_image_is_told_of_by_all_others(small, monkeypatch, most_words):
    """The closed form is the regression on all columns but the word's own, fitted without the image itself.

    The regression has an intercept, which centred columns stand for: hence the 1/N of the leverage.
    """
    monkeypatch.setattr(completion, "_MOST_WORDS", most_words)
    found = all_else(small)
    given = small.captions.toarray()
    scores = found.scores(slice(None))
    first = found.z.shape[1] - len(found.words)
    penalties = np.repeat(
        [completion._LOOKS, completion._FOLDERS, completion._WORDS], [L, FOLDERS, len(found.words)]
    )
    for image in (0, 7):
        others = np.arange(N) != image
        for word in range(V):
            own = first + np.flatnonzero(found.words == word)
            columns = np.setdiff1d(np.arange(found.z.shape[1]), own)
            x = np.column_stack([found.z[:, columns], np.ones(N)])
            shrink = np.diag(np.append(penalties[columns], 0.0))
            theta = np.linalg.solve(x[others].T @ x[others] + shrink, x[others].T @ given[others, word])
            assert scores[image, word] == pytest.approx(x[image] @ theta, abs=1e-9)


def test_an_image_tells_nothing_of_itself(small):
    """Its own word does not move what is told of that word: else a given word would vouch for itself."""
    before = all_else(small).scores(slice(None))
    captions = small.captions.toarray()
    captions[3, 2] = 1 - captions[3, 2]
    captions[3, 0] = 1
    after = all_else(small.with_captions(captions)).scores(slice(None))
    base = small.captions.toarray()
    base[3, 0] = 1
    with_zero = all_else(small.with_captions(base)).scores(slice(None))
    assert after[3, 2] == pytest.approx(with_zero[3, 2], abs=1e-9)
    assert not np.allclose(before, after)


def test_images_are_told_of_by_what_the_other_half_has_shown(small, monkeypatch):
    """Every second image in the order of ids: no caption has a say in the calibration that it gets."""
    given = small.captions.toarray() > 0

    def by_half(scores, truth, known):
        assert known.all()
        half = next(half for half in (0, 1) if np.array_equal(truth, given[half::2]))
        return lambda scores: np.full(scores.shape, (0.1, 0.2)[half])

    monkeypatch.setattr(completion, "fit_presence", by_half)
    turned = np.arange(N)[::-1]  # whatever the order of the corpus
    found = completion._presences(small[turned]).toarray()[turned]
    wanted = np.where((np.arange(N) % 2 == 0)[:, None], 0.2, 0.1) / 0.5
    np.testing.assert_allclose(found, np.where(given, 0, wanted))


def test_parts_of_all_words_are_sharpened_by_what_captions_hold_of_all_true_tags(small):
    """C = sum n / sum n / c: not the mean over words, nor that over given tags."""
    c = np.array([0.95, 0.2, 0.6, 0.35, 0.8])
    corpus = small.with_omissions(c, np.arange(N) % FOLDERS)
    given = corpus.captions.toarray()
    rho, target = (one.captions.toarray() for one in (expected(corpus), completed(corpus)))
    told = (given == 0) & (rho > 0.01)
    assert told.any(axis=0).all()
    p = rho / (1 - c + rho * c)  # rho = p (1 - c) / (1 - p c)
    C = given.sum() / (given.sum(axis=0) / c).sum()
    np.testing.assert_allclose(target[told], (p * (1 - C**3) / (1 - p * C**3))[told], rtol=1e-9)


def test_what_is_given_stays_and_what_was_rejected_is_not_thought_left_out(rng):
    corpus, _ = scattered(rng, n=300)
    rejected = (rng.random(corpus.captions.shape) < 0.1) & (corpus.captions.toarray() == 0)
    corpus = corpus.with_answers(-rejected.astype(float))
    found = completed(corpus)
    parts = found.captions.toarray()
    given = corpus.captions.toarray() > 0
    assert found.completeness is None
    assert found.places is None
    assert (parts[given] == 1).all()
    assert (parts[rejected & corpus.tagged[:, None]] == 0).all()
    assert not parts[~corpus.tagged].any()
    others = parts[~given & ~rejected & corpus.tagged[:, None]]
    assert 0 < others.max() <= 0.98
    assert others[others > 0].min() >= 0.002


def test_complete_captions_stay_as_they_are(small):
    plain = small.with_omissions(None)
    assert completed(plain) is plain
    np.testing.assert_array_equal(
        Ridge().fit(plain).annotate(plain), Ridge().fit(small.with_omissions(None)).annotate(plain)
    )
    nobody = small.without_captions()
    assert completed(nobody) == nobody.with_omissions(None)
    everything = small.with_captions(np.ones((N, V)))
    assert completed(everything) == everything.with_omissions(None)


def test_images_without_views_or_folders_are_told_of_by_their_words(rng):
    pair = rng.random(400) < 0.5
    captions = np.column_stack([pair, pair & (rng.random(400) < 0.5), np.ones(400)]).astype(float)
    corpus = Corpus.from_arrays(captions).with_omissions(np.array([1.0, 0.5, 1.0]))
    found = completed(corpus).captions.toarray()
    absent = captions[:, 1] == 0
    assert found[absent & pair, 1].mean() > 0.6
    assert found[~pair, 1].mean() < 0.1


def test_what_was_left_out_is_found_again(rng):
    """Of sampled images: parts of words are as many as were left out, and nearer the truth than nothing is."""
    corpus, true = scattered(rng)
    rows = corpus.tagged
    absent = corpus.captions.toarray()[rows] == 0
    rho, target = (one.captions.toarray()[rows][absent] for one in (expected(corpus), completed(corpus)))
    left_out = true[rows][absent]
    # Parts are at most 0.98, the smallest are dropped, and images with few words lack more than others.
    assert rho.sum() == pytest.approx(left_out.sum(), rel=0.2)
    assert ((rho - left_out) ** 2).mean() < 0.8 * left_out.mean()
    assert rho[left_out].mean() > 2 * rho[~left_out].mean()
    assert (target >= rho).all()


def test_words_of_which_nothing_is_left_out_stay_absent(rng):
    """The nearer captions are to complete, the less is added, down to nothing: absent means no."""
    corpus, _ = scattered(rng, n=300)
    added = [
        completed(corpus.with_omissions(np.full(12, c), corpus.places)).captions.sum() - corpus.captions.sum()
        for c in (0.5, 0.8, 0.95, 0.999, 1.0)
    ]
    assert all(more > less for more, less in pairwise(added))
    assert added[-1] == 0


@pytest.mark.parametrize("name", ["ridge", "logistic", "knn"])
def test_models_tell_more_of_other_images(rng, name):
    """Judged on images with complete tags."""
    corpus, true = scattered(rng, n=2500, kept=0.25)
    learned, asked = corpus[:1500], corpus[1500:].without_captions()
    truth = corpus[1500:].with_captions(true[1500:].astype(float)).captions
    plain = make_annotator(name).fit(learned.with_omissions(None)).annotate(asked)
    found = make_annotator(name).fit(learned).annotate(asked)
    assert summary(found, truth).mean_average_precision > summary(plain, truth).mean_average_precision


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("plsa", {"n_topics": 10}),
        ("plsa-words", {"n_topics": 10}),
        ("mix-unigram", {"n_topics": 10}),
        ("link-lda", {"n_topics": 10}),
        ("link-lda", {"n_topics": 10, "algorithm": "cvb0"}),
        ("naive-bayes", {}),
    ],
)
def test_models_of_counts_take_parts_of_words_as_counts(rng, name, settings):
    corpus, _ = scattered(rng, n=200, n_words=8)
    corpus = Corpus.from_arrays(
        corpus.captions, image_ids=corpus.image_ids.tolist(), visual_words=rng.poisson(1.0, (200, 10))
    ).with_omissions(corpus.completeness, corpus.places)
    rejected = (rng.random((200, 8)) < 0.1) & (corpus.captions.toarray() == 0) & corpus.tagged[:, None]
    corpus = corpus.with_answers(-rejected.astype(float))  # nor do these learn what people said no to
    parts = completed(corpus).captions.toarray()
    assert not parts[rejected].any()
    by_hand = corpus.with_omissions(None).with_captions(np.where(parts >= 0.05, parts, 0.0)).without_answers()
    found, wanted, plain = (
        make_annotator(name, seed=0, **settings).fit(one).annotate(corpus)
        for one in (corpus, by_hand, corpus.with_omissions(None))
    )
    np.testing.assert_array_equal(found, wanted)
    assert not np.allclose(found, plain)


def test_others_take_absent_for_no(rng):
    corpus, _ = scattered(rng, n=200)
    assert annotator_class("tagprop").least_part is None
    plain = make_annotator("tagprop").fit(corpus.with_omissions(None)).annotate(corpus)
    np.testing.assert_array_equal(make_annotator("tagprop").fit(corpus).annotate(corpus), plain)


def test_a_blend_is_chosen_for_what_is_true(rng):
    corpus, true = scattered(rng, n=900, kept=0.3)
    learned, asked = corpus[:500], corpus[500:].without_captions()
    truth = corpus[500:].with_captions(true[500:].astype(float)).captions
    plain, found = (
        make_annotator("auto", members=["knn", "ridge"], seed=0).fit(one).annotate(asked)
        for one in (learned.with_omissions(None), learned)
    )
    assert summary(found, truth).perplexity < summary(plain, truth).perplexity


def test_the_order_of_images_does_not_matter(rng):
    corpus, _ = scattered(rng, n=200)
    order = np.random.default_rng(1).permutation(200)
    turned = corpus[order]
    np.testing.assert_allclose(
        completed(turned).captions.toarray(), completed(corpus).captions.toarray()[order], atol=1e-9
    )
    asked = corpus.without_captions()
    np.testing.assert_array_equal(Ridge().fit(corpus).annotate(asked), Ridge().fit(turned).annotate(asked))


def test_many_pairs_are_completed_in_blocks_and_fewer_parts(rng, monkeypatch):
    corpus, _ = scattered(rng, n=300)
    whole = completed(corpus).captions.toarray()
    completion._kept.clear()
    monkeypatch.setattr(completion, "_MANY", 0)  # rows in float32, small parts dropped
    few = completed(corpus).captions.toarray()
    completion._kept.clear()
    np.testing.assert_allclose(few[few > 0], whole[few > 0], rtol=0.02, atol=1e-3)
    assert 0 < (few > 0).sum() < (whole > 0).sum()


def test_the_last_completions_are_kept(rng, monkeypatch):
    corpus, _ = scattered(rng, n=100)
    completion._kept.clear()
    first = completed(corpus)
    monkeypatch.setattr(completion, "_presences", lambda corpus: pytest.fail("not kept"))
    assert completed(corpus) == first
    monkeypatch.undo()
    for number in range(10):
        completed(corpus[number:])
    assert len(completion._kept) <= 8
