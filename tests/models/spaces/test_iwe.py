"""IWE: gradients by finite differences, the convex half against a general solver, recovery, any base, files."""

from dataclasses import replace

import numpy as np
import pytest
from corpora import make_tiny_corpus
from helpers import assert_never_falls
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from sklearn.base import clone

import topicture as tp
from topicture.corpus import Corpus
from topicture.errors import ModelFileError, TopictureError, UnknownModel
from topicture.models.files import read_model, write_model
from topicture.models.spaces import embedding, iwe
from topicture.models.spaces.embedding import (
    Ridge,
    Words,
    embed,
    energy,
    image_gradient,
    posterior,
    word_gradient,
)
from topicture.models.spaces.iwe import IWE
from topicture.models.spaces.lsa import LSA

RIDGE = Ridge(0.1, 0.05)


def make_problem(rng, n_images=6, n_words=5, n_dims=2):
    """Captions with a one-word image, words with one never seen."""
    P = rng.dirichlet(np.ones(n_words - 1), n_images)
    P[0] = np.eye(n_words - 1)[1]
    P = np.column_stack([P, np.zeros(n_images)])
    with np.errstate(divide="ignore"):
        words = Words(rng.normal(size=(n_words, n_dims)), np.log(P.mean(axis=0)))
    return P, rng.normal(size=(n_images, n_dims)), words


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_gradients_by_finite_differences(rng, n_dims):
    P, r, words = make_problem(rng, n_dims=n_dims)
    by_images = approx_fprime(r.ravel(), lambda x: energy(P, x.reshape(r.shape), words, RIDGE), 1e-7)
    by_words = approx_fprime(
        words.phi.ravel(),
        lambda x: energy(P, r, Words(x.reshape(words.phi.shape), words.log_q), RIDGE),
        1e-7,
    )
    np.testing.assert_allclose(image_gradient(P, r, words, RIDGE).ravel(), by_images, atol=2e-6)
    np.testing.assert_allclose(word_gradient(P, r, words, RIDGE).ravel(), by_words, atol=2e-6)


def test_energy_is_the_formula(rng):
    P, r, words = make_problem(rng)
    Q = posterior(r, words)
    distance = ((r[:, None, :] - words.phi) ** 2).sum(axis=2)
    scores = np.exp(words.log_q - distance / 2)
    np.testing.assert_allclose(Q, scores / scores.sum(axis=1, keepdims=True), rtol=1e-12)
    cross_entropy = -np.sum(P[P > 0] * np.log(Q[P > 0]))
    ridge = RIDGE.images / 2 * (r**2).sum() + RIDGE.words / 2 * (words.phi**2).sum()
    assert energy(P, r, words, RIDGE) == pytest.approx(cross_entropy + ridge, rel=1e-12)


def test_images_are_placed_exactly(rng):
    P, _, words = make_problem(rng, n_images=20)
    r = embed(P, words, RIDGE.images, tol=1e-12)
    assert np.abs(image_gradient(P, r, words, RIDGE)).max() <= 1e-12
    general = minimize(
        lambda x: energy(P[:1], x[None, :], words, RIDGE),
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 1e-7},
    )
    np.testing.assert_allclose(r[0], general.x, atol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_places_do_not_depend_on_the_start(rng, scale):
    """Far-off words and starts make full Newton steps overshoot: the halving must catch them."""
    P, r, words = make_problem(rng)
    words = Words(scale * words.phi, words.log_q)
    from_origin, from_afar = (embed(P, words, 0.1, start, tol=1e-11) for start in (None, 50 * r))
    np.testing.assert_allclose(from_afar, from_origin, atol=1e-8)


def test_small_blocks_and_sparse_captions_change_nothing(rng, monkeypatch):
    P, r, words = make_problem(rng, n_images=30)
    whole = embed(P, words, 0.1), energy(P, r, words, RIDGE), word_gradient(P, r, words, RIDGE)
    monkeypatch.setattr(embedding, "_BLOCK_BYTES", 8 * 5 * 7)
    P = sparse.csr_array(P)
    np.testing.assert_allclose(embed(P, words, 0.1), whole[0], atol=1e-10)
    assert energy(P, r, words, RIDGE) == pytest.approx(whole[1], rel=1e-12)
    np.testing.assert_allclose(word_gradient(P, r, words, RIDGE), whole[2], atol=1e-12)


def test_the_reduced_problem_has_the_gradient_of_the_energy_at_the_best_places(rng):
    P, r, words = make_problem(rng)
    best, value, gradient = embedding._embed_and_differentiate(P, words, RIDGE, r)
    assert value == pytest.approx(energy(P, best, words, RIDGE), rel=1e-12)
    np.testing.assert_allclose(gradient, word_gradient(P, best, words, RIDGE), atol=1e-10)
    reduced = approx_fprime(
        words.phi.ravel(),
        lambda x: embedding._embed_and_differentiate(
            P, Words(x.reshape(words.phi.shape), words.log_q), RIDGE, best
        )[1],
        1e-6,
    )
    np.testing.assert_allclose(gradient.ravel(), reduced, atol=2e-5)


def make_groups(rng, n_images=120):
    """Three groups of three words; captions stay within a group."""
    group = rng.integers(3, size=n_images)
    captions = np.zeros((n_images, 9))
    for d, g in enumerate(group):
        captions[d, 3 * g + rng.choice(3, 2, replace=False)] = 1
    return group, Corpus.from_arrays(captions=captions)


@pytest.mark.parametrize("optimiser", ["lbfgs", "descent"])
def test_words_that_belong_together_lie_together(rng, optimiser):
    group, corpus = make_groups(rng)
    step = 0.5 if optimiser == "lbfgs" else 0.05
    model = IWE("empirical", optimiser=optimiser, step=step, n_init=3).fit(corpus)
    assert_never_falls(model.objective_trace_)
    assert len(model.restarts_) == 3
    assert model.objective_trace_[-1] == pytest.approx(model.restarts_.max())
    centres = model.word_coordinates_.reshape(3, 3, 2).mean(axis=1)
    for points, groups in [(model.word_coordinates_, np.arange(9) // 3), (model.image_coordinates_, group)]:
        distances = np.linalg.norm(points[:, None] - centres, axis=2)
        assert (distances.argmin(axis=1) == groups).all()


def test_starts_of_a_large_collection_are_compared_on_a_sample(rng, monkeypatch):
    monkeypatch.setattr(iwe, "_STARTING_IMAGES", 40)
    _, corpus = make_groups(rng)
    model = IWE("empirical", n_init=2).fit(corpus)
    assert model.image_coordinates_.shape == (120, 2)
    assert_never_falls(model.objective_trace_)
    # A third of the images has about a third of the energy.
    assert model.restarts_.max() / model.objective_trace_[-1] == pytest.approx(1 / 3, rel=0.2)


def test_untagged_images_have_no_part_in_the_map(rng):
    corpus = make_tiny_corpus(rng)
    model = IWE("empirical", n_init=1).fit(corpus)
    assert model.image_ids_.tolist() == corpus.image_ids[corpus.tagged].tolist()
    np.testing.assert_allclose(posterior(model.transform(corpus), model._words()), model.annotate(corpus))


def test_a_word_never_seen_has_probability_zero(rng):
    corpus = make_tiny_corpus(rng)
    captions = corpus.captions.toarray()
    captions[:, 3] = 0
    corpus = Corpus.from_arrays(captions=captions, descriptor=corpus.descriptor)
    # This base gives every word a probability, also the one never seen.
    base = tp.make_annotator("empirical", pseudo_count=1.0)
    p = IWE(base, n_init=1).fit(corpus).annotate(corpus)
    assert (p[:, 3] == 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("base", ["mix-unigram", "lsa"])
def test_an_annotator_as_base_is_saved_with_the_model(rng, base, tmp_path):
    corpus = make_tiny_corpus(rng)
    settings = {"n_topics": 3, "n_init": 2, "max_iter": 30} if base == "mix-unigram" else {"n_components": 2}
    annotator = tp.make_annotator(base, **settings)
    model = IWE(annotator, n_init=1, max_iter=10).fit(corpus)
    assert not hasattr(annotator, "vocabulary_"), "the base given must not be fitted itself"
    model.save(tmp_path / "model")
    loaded = tp.load_annotator(tmp_path / "model")
    np.testing.assert_array_equal(loaded.annotate(corpus), model.annotate(corpus))
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert loaded.image_ids_.tolist() == model.image_ids_.tolist()
    assert repr(clone(loaded)) == repr(clone(model))


def test_needs_are_those_of_the_base():
    assert IWE.needs == ("descriptor",)
    assert IWE("mix-unigram").needs == ("visual_words",)
    assert IWE(tp.make_annotator("lsa", view="visual_words")).needs == ("visual_words",)
    assert IWE("empirical").needs == ()


@pytest.mark.parametrize(
    "params",
    [{"n_dims": 0}, {"ridge_images": 0.0}, {"ridge_words": -1.0}, {"optimiser": "newton"}, {"step": 0}],
)
def test_settings_that_cannot_work_are_refused(rng, params):
    (name,) = params
    with pytest.raises(TopictureError, match=name):
        IWE("empirical", **params).fit(make_tiny_corpus(rng))


def test_an_unknown_base_is_named(rng):
    with pytest.raises(UnknownModel, match="svm"):
        IWE("svm").fit(make_tiny_corpus(rng))


def make_visible_groups(rng):
    """The groups of `make_groups`, which a descriptor tells apart."""
    group, corpus = make_groups(rng)
    return replace(corpus, descriptor=np.eye(3)[group] + 0.1 * rng.random((len(group), 3)))


def test_dimensions_and_ridges_are_chosen_by_held_out_captions(rng, monkeypatch):
    """Of ridges that leave no map and ridges that leave one, validation takes the latter."""
    monkeypatch.setattr(
        iwe, "_CANDIDATES", {"n_dims": (1, 2), "ridge_images": (1e4, 0.3), "ridge_words": (1e4, 0.3)}
    )
    corpus = make_visible_groups(rng)
    base = LSA(3, n_neighbours=5)
    model = IWE(base, n_dims="auto", ridge_images="auto", ridge_words="auto", n_init=1).fit(corpus)
    assert model.plan_.ridge == Ridge(0.3, 0.3)
    assert model.word_coordinates_.shape[1] == model.plan_.n_dims
    given = IWE(base, n_dims=1, ridge_images="auto", ridge_words=0.5, n_init=1).fit(corpus)
    assert given.plan_ == (1, Ridge(0.3, 0.5))


def test_a_chosen_ridge_is_part_of_the_file(rng, tmp_path):
    corpus = make_visible_groups(rng)
    model = IWE(LSA(3, n_neighbours=5), ridge_images="auto", ridge_words="auto", n_init=1).fit(corpus)
    model.save(tmp_path / "model")
    again = tp.load_annotator(tmp_path / "model")
    assert again.plan_ == model.plan_
    np.testing.assert_array_equal(again.annotate(corpus), model.annotate(corpus))


def test_too_few_images_for_a_validation_take_the_first_of_the_candidates(rng):
    corpus = make_visible_groups(rng)[:12]
    model = IWE("empirical", ridge_images="auto", n_init=1).fit(corpus)
    assert model.plan_ == (2, Ridge(0.1, 0.5))


@pytest.mark.parametrize("base", [255, None, "knn", ["nlsa"]])
def test_a_file_whose_base_is_another_is_refused(base, tiny_corpus, tmp_path):
    path = tmp_path / "model"
    tp.make_annotator("iwe", base="empirical", n_init=1, max_iter=1).fit(tiny_corpus).save(path)
    header, arrays = read_model(path)
    write_model(path, {**header, "params": {**header["params"], "base": base}}, arrays)
    with pytest.raises(ModelFileError, match="the base is called"):
        tp.load_annotator(path)


@pytest.mark.parametrize(
    "ridges", [["x", 0.5], [0.1, None], [0, 0.5], [0.1, float("inf")], [-1.0, 0.5], [0.1]]
)
def test_a_file_whose_ridges_are_none_is_refused(ridges, tiny_corpus, tmp_path):
    path = tmp_path / "model"
    tp.make_annotator("iwe", base="empirical", n_init=1, max_iter=1).fit(tiny_corpus).save(path)
    header, arrays = read_model(path)
    write_model(path, {**header, "facts": {**header["facts"], "ridges": ridges}}, arrays)
    with pytest.raises(ModelFileError):
        tp.load_annotator(path)
