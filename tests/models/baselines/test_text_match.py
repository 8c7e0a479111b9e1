"""Text match: exact on tiny problems, at the maximum of its objective, weights found again; nothing without vectors."""

from dataclasses import replace
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corpora import make_tiny_corpus
from helpers import assert_never_falls
from scipy import sparse
from scipy.special import expit

import topicture as tp
from topicture.annotations.measures.retrieval import average_precisions
from topicture.corpus import Corpus
from topicture.corpus.digests import corpus_digest
from topicture.errors import CorpusError
from topicture.models import neighbours
from topicture.models.baselines.text_match import (
    WEIGHTS,
    TextMatch,
    e_step,
    evidence,
    m_step,
    objective,
    sample,
    texts_of,
)
from topicture.models.blends.auto import Auto
from topicture.models.blends.members import members_for


@pytest.fixture
def tiny(rng):
    """Five images of two words, a third of which nothing is known."""
    captions = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0.0]])
    vectors = rng.normal(size=(3, 4))
    vectors[2] = 0
    return Corpus.from_arrays(captions, descriptor=rng.normal(size=(5, 4)), word_vectors=vectors)


def likeness(corpus):
    """s (D, V), written as the specification has it."""
    images = corpus.descriptor / np.linalg.norm(corpus.descriptor, axis=1, keepdims=True)
    images = images - images.mean(axis=0)
    known = corpus.word_vectors.any(axis=1)
    texts = np.zeros_like(corpus.word_vectors)
    texts[known] = corpus.word_vectors[known] / np.linalg.norm(
        corpus.word_vectors[known], axis=1, keepdims=True
    )
    texts[known] -= texts.sum(axis=0) / (known.sum() + 1)
    texts[known] /= np.linalg.norm(texts[known], axis=1, keepdims=True)
    s = images @ texts.T
    return s / np.where(known, np.sqrt((s**2).mean(axis=0)), 1)


def evidence_of(corpus):
    tagged = corpus[corpus.tagged]
    texts = texts_of(corpus.descriptor, corpus.word_vectors)
    return evidence(texts, texts.rows(tagged.descriptor), tagged.captions)


def log_chances(corpus, a, w):
    """ln of the chance of each tagged image under word w with weight a."""
    s = a * likeness(corpus)[corpus.tagged, w]
    return s - np.log(np.exp(s).sum())


# --- Exactness ---------------------------------------------------------------------------------------------------


def test_likeness_is_as_specified(tiny):
    texts = texts_of(tiny.descriptor, tiny.word_vectors)
    rows = texts.rows(tiny.descriptor)
    np.testing.assert_allclose(texts.likeness(rows), likeness(tiny), atol=1e-12)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.var(axis=0).mean(), 1)


def test_evidence_is_the_chance_of_the_tagged_images(tiny):
    found, tagged = evidence_of(tiny), tiny[tiny.tagged]
    y = tagged.captions.toarray()
    for w, (g, a) in product(range(3), enumerate(WEIGHTS)):
        uniform = y[:, w].sum() * np.log(len(tagged))
        np.testing.assert_allclose(
            found.log_lik[w, g], y[:, w] @ log_chances(tiny, a, w) + uniform, atol=1e-9
        )


def test_objective_is_the_sum_over_all_weights_of_all_words(tiny):
    """Every pair of weights, each with its chance: what the words' images have together."""
    found = evidence_of(tiny)
    pi, counts = np.random.default_rng(3).dirichlet(np.ones(len(WEIGHTS))), np.linspace(0.1, 2, len(WEIGHTS))
    total = sum(
        pi[g] * pi[h] * np.exp(found.log_lik[0, g] + found.log_lik[1, h])
        for g, h in product(range(len(WEIGHTS)), repeat=2)
    )
    expected = np.log(total) + counts @ np.log(pi)
    np.testing.assert_allclose(objective(pi, found.log_lik[:2], counts), expected, rtol=1e-12)


def test_what_texts_say_is_bayes_rule_summed_over_weights(tiny):
    model = TextMatch().fit(tiny)
    s, y = likeness(tiny), tiny.captions[tiny.tagged].toarray()
    ratios = np.ones((5, 3))
    for w in range(2):
        likelihood = np.array([np.exp(y[:, w] @ log_chances(tiny, a, w)) for a in WEIGHTS])
        r = model.pi_ * likelihood / (model.pi_ @ likelihood)
        np.testing.assert_allclose(model.weights_[w], r @ WEIGHTS, rtol=1e-9)
        tilts = [np.exp(a * s[:, w]) / np.exp(a * s[tiny.tagged, w]).mean() for a in WEIGHTS]
        ratios[:, w] = r @ np.array(tilts)
    # Image 4 is not tagged, and may be more like a text than all that are: it counts as so much more at most.
    said = model._said(model.texts_.rows(tiny.descriptor))
    np.testing.assert_allclose(said[:4], np.log(ratios)[:4], atol=1e-9)
    presence = expit(said + model.linear_(model.texts_.rows(tiny.descriptor)))
    expected = 0.95 * presence / presence.sum(axis=1, keepdims=True) + 0.05 * model.p_w_
    np.testing.assert_allclose(model.annotate(tiny), expected, rtol=1e-9)


def test_what_images_add_is_the_minimum_of_the_loss(rng):
    """Of the log-loss and the ridge, by automatic differentiation, what texts say being given."""
    corpus = sample(rng, np.full(4, 1.5), 60, 8, L=6)
    model = TextMatch(ridge=2.0, tol=1e-15, max_iter=2000).fit(corpus)
    tagged = corpus[corpus.tagged]
    rows, y = model.texts_.rows(tagged.descriptor), tagged.captions.toarray()
    said = model._said(rows)
    assert np.abs(said).max() > 0.5
    with jax.enable_x64(True):

        def loss(weights, offset):
            scores = rows @ weights + offset + said
            fit = jnp.sum(jnp.logaddexp(0, scores) - y * scores)
            return fit + jnp.sum(weights**2) + 0.0005 * jnp.sum(offset**2)

        for slope in jax.grad(loss, (0, 1))(*map(jnp.asarray, model.linear_)):
            np.testing.assert_allclose(slope, 0, atol=2e-4)


def test_where_texts_say_nothing_it_is_logistic_regression(rng):
    corpus = sample(rng, np.full(4, 1.5), 60, 60, L=6)
    directions = corpus.descriptor / np.linalg.norm(corpus.descriptor, axis=1, keepdims=True)
    captions = (rng.random((60, 4)) < 0.4).astype(float)
    captions[:, 0] = 1  # all are tagged, so that both centre alike
    corpus = replace(corpus, descriptor=directions, captions=sparse.csr_array(captions))
    sure = TextMatch(3.0, private=1e9).fit(corpus)
    assert sure.weights_.max() < 1e-6
    plain = tp.make_annotator("logistic", ridge=3.0).fit(corpus)
    np.testing.assert_allclose(sure.annotate(corpus), plain.annotate(corpus), atol=1e-5)


def test_blocks_change_nothing(rng, monkeypatch):
    corpus = make_tiny_corpus(rng, n_images=40)
    whole = TextMatch().fit(corpus)
    monkeypatch.setattr(neighbours.blocks, "__defaults__", (7 * 6 * 8 * 6,))
    parts = TextMatch().fit(corpus)
    np.testing.assert_allclose(parts.annotate(corpus), whole.annotate(corpus), rtol=1e-6)
    np.testing.assert_allclose(parts.ratio_, whole.ratio_, rtol=1e-9)
    np.testing.assert_allclose(parts.texts_.vectors, whole.texts_.vectors, rtol=1e-9)


# --- The objective -----------------------------------------------------------------------------------------------


def test_slope_of_the_evidence_is_what_is_seen_less_what_is_expected(tiny):
    """d/da ln L_w(a) = sum_i y_iw (s_iw - E_a[s]), by automatic differentiation."""
    with jax.enable_x64(True):
        s, y = likeness(tiny)[:4, 0], tiny.captions.toarray()[:4, 0]

        def log_lik(a):
            return jnp.sum(y * (a * s - jnp.log(jnp.mean(jnp.exp(a * s)))))

        for a in (0.0, 0.7, 3.0):
            tilted = np.exp(a * s) / np.exp(a * s).sum()
            np.testing.assert_allclose(jax.grad(log_lik)(a), y @ (s - tilted @ s), rtol=1e-9)


def test_the_end_is_a_maximum(rng):
    """Along the simplex nothing rises; the objective is concave, so another start ends there, too."""
    corpus = sample(rng, np.repeat([0.0, 1.5], 8), 200, 8)
    found, counts = evidence_of(corpus), np.full(len(WEIGHTS), 3.0)
    ends = []
    for start in (np.full(len(WEIGHTS), 1 / len(WEIGHTS)), rng.dirichlet(np.ones(len(WEIGHTS)))):
        pi, trace = start, []
        for _ in range(400):
            trace.append(objective(pi, found.log_lik, counts))
            pi = m_step(e_step(pi, found.log_lik), counts)
        assert_never_falls(np.array(trace))
        ends.append(pi)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)
    with jax.enable_x64(True):

        def of_logits(logits):
            log_pi = jax.nn.log_softmax(logits)
            words = jax.nn.logsumexp(log_pi + found.log_lik, axis=1)
            return words.sum() + counts @ log_pi

        logits = jnp.log(ends[0])
        np.testing.assert_allclose(of_logits(logits), objective(ends[0], found.log_lik, counts), rtol=1e-12)
        np.testing.assert_allclose(jax.grad(of_logits)(logits), 0, atol=1e-4)
        assert np.abs(jax.grad(of_logits)(jnp.log(rng.dirichlet(np.ones(len(WEIGHTS)))))).max() > 1e-2


def test_a_fit_never_falls_and_says_why_it_ended(rng):
    corpus = sample(rng, np.repeat([0.0, 2.0], 10), 150, 5)
    model = TextMatch(max_iter=50, tol=1e-300).fit(corpus)
    assert len(model.objective_trace_) == model.n_iter_ + 1 == 51
    assert "stopped at" in model.result_
    assert_never_falls(model.objective_trace_)
    assert "converged" in TextMatch().fit(corpus).result_


# --- What it is for ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [11, 12])
def test_weights_are_found_again(seed):
    """Thirty words of six images each whose texts say nothing, thirty whose texts tell: which are which is found.

    Six images tell a weight to 1 / sqrt(6) = 0.4, by themselves.
    """
    weights = np.repeat([0.0, 1.5], 30)
    model = TextMatch().fit(sample(np.random.default_rng(seed), weights, 800, 6))
    private, telling = model.weights_[:30], model.weights_[30:]
    assert np.median(private) < 0.2
    assert np.median(telling) > 1.2
    assert np.sqrt(((model.weights_ - weights) ** 2).mean()) < 0.4
    assert (telling[:, None] > private).mean() > 0.95
    assert abs(model.pi_[WEIGHTS < 0.75].sum() - 0.5) < 0.15


def test_a_word_with_few_images_has_the_weights_of_the_others(rng):
    weights = np.full(41, 1.5)
    corpus = sample(rng, weights, 800, 10)
    captions = corpus.captions.toarray()
    captions[:, 40] = 0  # it came up just now
    model = TextMatch().fit(replace(corpus, captions=sparse.csr_array(captions)))
    assert abs(model.weights_[40] - 1.5) < 0.4
    p = model.annotate(corpus)
    assert np.corrcoef(p[:, 40], corpus.captions.toarray()[:, 40])[0, 1] > 0.1


def test_texts_that_say_nothing_are_not_heard(rng):
    corpus = sample(rng, np.zeros(30), 600, 20)
    model = TextMatch().fit(corpus)
    assert model.weights_.max() < 0.35
    assert np.abs(model._said(model.texts_.rows(corpus.descriptor))).mean() < 0.1


def test_a_word_without_a_vector_has_no_weight(tiny):
    model = TextMatch().fit(tiny)
    assert model.weights_[2] == 0
    assert model.weights_[:2].all()
    np.testing.assert_allclose(model._said(model.texts_.rows(tiny.descriptor))[:, 2], 0, atol=1e-12)


@pytest.mark.parametrize("vectors", [None, np.zeros((3, 4))])
def test_without_any_vector_it_refuses(tiny, vectors):
    with pytest.raises(CorpusError, match="no word has a vector"):
        TextMatch().fit(replace(tiny, word_vectors=vectors))


def test_lengths_and_axes_of_the_vectors_do_not_matter(rng):
    """Encoders may scale what they say, and any rotation of both sides is the same space."""
    corpus = make_tiny_corpus(rng, n_images=40)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    lengths = rng.uniform(0.1, 50, size=(6, 1))
    turned = replace(
        corpus, descriptor=3 * corpus.descriptor @ turn, word_vectors=lengths * corpus.word_vectors @ turn
    )
    np.testing.assert_allclose(
        TextMatch().fit(turned).annotate(turned), TextMatch().fit(corpus).annotate(corpus), rtol=1e-8
    )


def test_an_image_unlike_all_others_has_an_answer(rng):
    corpus = sample(rng, np.full(5, 2.0), 100, 5)
    model = TextMatch().fit(corpus)
    model.texts_ = model.texts_._replace(
        vectors=1e6 * model.texts_.vectors
    )  # likenesses a million times as large
    p = model.annotate(corpus)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


# --- In a blend --------------------------------------------------------------------------------------------------


def noisy(rng, n_images=240, n_tags=9):
    """Images of ten words whose directions they contain; texts tell the directions of the first seven."""
    directions = rng.normal(size=(10, 24))
    truth = (rng.random((n_images, 10)) < 0.15).astype(float)
    truth[:10] = np.maximum(truth[:10], np.eye(10))
    descriptor = truth @ directions + 1.2 * rng.normal(size=(n_images, 24)) + 2
    vectors = directions + 0.5 * rng.normal(size=directions.shape) - 2
    vectors[7:] = rng.normal(size=(3, 24)) - 2
    captions = truth.copy()
    captions[60:] = 0
    return Corpus.from_arrays(captions, descriptor=descriptor, word_vectors=vectors), truth


def test_auto_takes_it_where_words_have_vectors_and_gains(rng):
    corpus, truth = noisy(rng)
    bare = replace(corpus, word_vectors=None)
    members = ["knn", "ridge", "text-match"]
    auto = {name: Auto(members).fit(one) for name, one in (("with", corpus), ("without", bare))}
    weights = {row.member: row.weight for row in auto["with"].report_}
    assert weights["text-match"] > 0.1
    assert not any(row.member == "text-match" for row in auto["without"].report_)
    mean = {
        name: average_precisions(model.annotate(corpus)[60:, :7], truth[60:, :7]).mean()
        for name, model in auto.items()
    }
    assert mean["with"] > mean["without"] + 0.03


def test_without_vectors_nothing_changes(rng):
    bare = replace(make_tiny_corpus(rng), word_vectors=None)
    assert "text-match" not in {member.model for member in members_for(bare)}
    assert "text-match" in {member.model for member in members_for(make_tiny_corpus(rng))}
    small = Corpus.from_arrays(np.eye(3), ["a", "b", "c"], descriptor=np.arange(6.0).reshape(3, 2))
    # As it was before there were vectors: trials that were kept are found.
    assert corpus_digest(small) == "3aa52dd433b177df154a5ba401821bc18071cee99ece447de1ecc2293a28747f"
    assert corpus_digest(replace(small, word_vectors=np.ones((3, 2)))) != corpus_digest(small)


def test_a_blend_with_it_is_saved_and_annotates_without_vectors(rng, tmp_path):
    corpus, _ = noisy(rng)
    auto = Auto(["text-match", "knn"]).fit(corpus)
    auto.save(tmp_path / "model")
    bare = replace(corpus, word_vectors=None)
    np.testing.assert_array_equal(tp.load_annotator(tmp_path / "model").annotate(bare), auto.annotate(corpus))
