"""Link-LDA by CVB0: a plain twin, the mode by brute force, distance to the enumerated posterior, recovery."""

from itertools import product

import numpy as np
import pytest
from helpers import assert_never_falls, match_topics
from scipy.special import gammaln

import topicture as tp
from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import TopictureError
from topicture.models.counts import cvb0, link_lda
from topicture.models.counts.link_lda import LinkLDA, Params
from topicture.models.counts.link_tokens import tokens_per_image
from topicture.models.em import loop as em

K, U, V = 2, 4, 3


def random_params(seed, **changes):
    rng = np.random.default_rng(seed)
    r = {
        "alpha": rng.gamma(2.0, 0.4, K),
        "rB": rng.gamma(2.0, size=(K, U)),
        "rPhi": rng.gamma(2.0, size=(K, V)),
    }
    return Params(**{**r, "eta_b": 0.7, "eta_phi": 0.4, **changes})


def means(r):
    r = np.asarray(r)
    return r / r.sum(axis=1, keepdims=True)


def twin(params, F, W, n_sweeps):
    """Token by token, as the formula has it: gamma of every image, and the next rB and rPhi."""
    tables = [means(params.rB), means(params.rPhi)]
    counts = [np.zeros_like(table) for table in tables]
    gammas, objective = [], 0.0
    for image in zip(F, W, strict=True):
        tokens = [(kind, w) for kind, row in enumerate(image) for w in np.repeat(np.arange(len(row)), row)]
        gamma = params.alpha + len(tokens) / K
        for _ in range(n_sweeps):
            new, phis = np.array(params.alpha), []
            for kind, w in tokens:
                weights = [tables[kind][k, w] * gamma[k] for k in range(K)]
                phis.append(np.array(weights) / sum(weights))
                new = new + phis[-1]
            gamma = new
        for (kind, w), phi in zip(tokens, phis, strict=True):
            counts[kind][:, w] += phi
        theta = gamma / gamma.sum()
        objective += sum(np.log(theta @ tables[kind][:, w]) for kind, w in tokens)
        objective += params.alpha @ np.log(theta)
        gammas.append(gamma)
    etas = params.eta_b, params.eta_phi
    objective += sum(eta * np.log(table).sum() for eta, table in zip(etas, tables, strict=True))
    return np.array(gammas), [eta + c for eta, c in zip(etas, counts, strict=True)], objective


@pytest.mark.parametrize("seed", [0, 1])
def test_an_iteration_equals_its_plain_twin(seed):
    F = np.array([[1, 0, 2, 0], [0, 1, 0, 1], [0, 0, 0, 0], [3, 0, 0, 1]])
    W = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 2, 0]])
    corpus, params, model = Corpus.from_arrays(captions=W, visual_words=F), random_params(seed), cvb0.model(3)
    batches = Batches(corpus, model.views)
    (chunk,) = batches
    (q,), stats, bound = em.e_step(model, batches, params, [None])
    updated = em.m_step(model, params, stats, None)
    gammas, (rB, rPhi), objective = twin(params, F, W, n_sweeps=3)
    np.testing.assert_allclose(em.unstack(q.gamma, len(corpus)), gammas[chunk.rows], rtol=1e-12)
    np.testing.assert_allclose(updated.rB, rB, rtol=1e-12)
    np.testing.assert_allclose(updated.rPhi, rPhi, rtol=1e-12)
    np.testing.assert_allclose(bound + em.log_prior(model, params, None), objective, rtol=1e-12)
    np.testing.assert_array_equal(updated.alpha, params.alpha)


def infer(params, F, model, fn):
    corpus = Corpus.from_arrays(captions=np.zeros((len(F), V)), visual_words=F)
    tables = em.tables(model, params), means(params.rPhi)
    found = np.zeros((len(F), K))
    for rows, values in em.map_images(fn, tables, Batches(corpus, model.views)):
        found[rows] = values
    return found


def few_tokens(rng, n_images=60):
    return rng.multinomial(1, np.full(U, 1 / U), (n_images, 4)).sum(axis=1)


def test_proportions_are_the_mode_that_a_grid_finds(rng):
    params, F = random_params(3), few_tokens(rng, 6)
    theta = infer(params, F, cvb0.model(3), cvb0.proportions)
    first = np.linspace(0, 1, 4001)[1:-1]
    grid = np.stack([first, 1 - first])
    density = F @ np.log(means(params.rB).T @ grid) + params.alpha @ np.log(grid)
    np.testing.assert_allclose(theta[:, 0], first[density.argmax(axis=1)], atol=5e-4)


def enumerated_proportions(params, F):
    """E[theta] of every image given its visual words and the topics' means: all assignments of its tokens."""
    B, alpha = means(params.rB), np.asarray(params.alpha)
    found = []
    for row in F:
        tokens = np.repeat(np.arange(U), row)
        total, mean = 0.0, np.zeros(K)
        for z in product(range(K), repeat=len(tokens)):
            n = np.bincount(z, minlength=K)
            p = np.exp(np.sum(gammaln(alpha + n) - gammaln(alpha))) * np.prod(B[list(z), tokens])
            total, mean = total + p, mean + p * (alpha + n)
        found.append(mean / total / (alpha.sum() + len(tokens)))
    return np.array(found)


def test_closer_to_the_enumerated_posterior_than_the_mean_field():
    """On images of four tokens, small alpha, over topics of many kinds; neither is exact."""
    errors = {"cvb0": [], "mean field": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        B = rng.dirichlet(np.full(U, 0.7), K)
        # Many pseudo-counts: the mean field's topics are then their means, too.
        params = random_params(seed, rB=1e5 * B + 1, alpha=np.full(K, 0.2))
        F = few_tokens(rng)
        exact = enumerated_proportions(params, F)
        for name, model, fn in (
            ("cvb0", cvb0.model(3), cvb0.proportions),
            ("mean field", link_lda.model(link_lda.COLD), link_lda.proportions),
        ):
            errors[name].append(np.abs(infer(params, F, model, fn) - exact).mean())
    assert np.mean(errors["cvb0"]) < 0.9 * np.mean(errors["mean field"]), errors
    assert 0.001 < np.mean(errors["cvb0"]) < 0.15, errors


def sampled(alpha=0.3, n_images=300, n_visual=12):
    rng = np.random.default_rng(6)
    B, Phi = (0.97 * np.kron(np.eye(3), rng.dirichlet(np.full(n, 3.0))) + 0.03 / (3 * n) for n in (4, 2))
    return B, Phi, link_lda.sample(rng, np.full(3, alpha), B, Phi, n_images, n_visual, n_words=3)


def test_the_objective_never_falls_and_passes_end_at_a_fixed_point():
    _, _, corpus = sampled()
    fitted = LinkLDA(3, algorithm="cvb0", n_init=1, tol=1e-9, max_iter=400, n_sweeps=4).fit(corpus)
    assert fitted.result_.startswith("converged")
    assert_never_falls(fitted.objective_trace_)
    model, batches = cvb0.model(200), fitted._batches(corpus)
    _, stats, _ = em.e_step(model, batches, fitted.params_, [None] * len(batches))
    again = em.m_step(model, fitted.params_, stats, None)
    np.testing.assert_allclose(means(again.rB), means(fitted.params_.rB), atol=2e-3)


def test_topics_are_recovered_from_sampled_images():
    """A mode: a few tokens per image pull it, so the bound is a distance, not error bars."""
    B, Phi, corpus = sampled(n_images=1500)
    fitted = LinkLDA(3, algorithm="cvb0", alpha=0.3, eta_words=0.05, n_init=2).fit(corpus)
    order = match_topics(means(fitted.params_.rB), B)
    for found, true in ((fitted.params_.rB, B), (fitted.params_.rPhi, Phi)):
        assert np.abs(means(found)[order] - true).sum(axis=1).max() < 0.1


def test_files_answers_and_checks(tmp_path):
    _, _, corpus = sampled(n_images=60)
    fitted = LinkLDA(3, algorithm="cvb0", n_init=1, n_epochs=1, max_iter=2).fit(corpus)
    fitted.save(tmp_path / "m")
    loaded = tp.load_annotator(tmp_path / "m")
    assert loaded.algorithm == "cvb0"
    np.testing.assert_array_equal(loaded.annotate(corpus), fitted.annotate(corpus))
    np.testing.assert_allclose(fitted.annotate(corpus).sum(axis=1), 1)
    theta = fitted.transform(corpus)
    np.testing.assert_allclose(fitted.annotate(corpus), theta @ means(fitted.params_.rPhi), rtol=1e-9)
    assert (fitted.log_likelihood(corpus) < 0).all()
    np.testing.assert_array_equal(fitted.params_.alpha, np.full(3, 0.05))
    with pytest.raises(TopictureError, match="algorithm"):
        LinkLDA(3, algorithm="gibbs").fit(corpus)


# --- Which algorithm -----------------------------------------------------------------------------------------------


def images_of(lengths):
    """Images with so many visual words each, and a word for every one that has any."""
    rng = np.random.default_rng(8)
    F = np.stack([rng.multinomial(n, np.full(U, 1 / U)) for n in lengths])
    return Corpus.from_arrays(
        captions=np.eye(V, dtype=int)[[0] * len(F)] * (F.any(axis=1))[:, None], visual_words=F
    )


@pytest.mark.parametrize(
    ("lengths", "tokens"),
    [([9, 9], 10.0), ([9, 0, 0, 9], 10.0), ([4, 14], 10.0), ([0, 0], 0.0)],
    ids=["all alike", "empty images are none", "an average", "no tokens at all"],
)
def test_the_length_of_images_counts_all_their_tokens(lengths, tokens):
    assert tokens_per_image(images_of(lengths)) == tokens


STEPS_ONLY = {"n_init": 1, "n_epochs": 1, "max_iter": 0}


@pytest.mark.parametrize(
    ("tokens", "changes", "expected"),
    [
        (8, {}, "cvb0"),
        (98, {}, "cvb0"),
        (99, {}, "variational"),  # with the word a hundred tokens
        (200, {}, "variational"),
        (8, {"max_iter": 2, "tol": 0.0}, "variational"),
        (8, {"learning": "batch"}, "variational"),
    ],
)
def test_auto_is_the_algorithm_that_suits_the_images_and_the_fit(tokens, changes, expected):
    corpus = images_of([tokens] * 6)
    auto, chosen = (
        LinkLDA(2, algorithm=name, **{**STEPS_ONLY, **changes}).fit(corpus) for name in ("auto", expected)
    )
    assert auto.algorithm_ == chosen.algorithm_ == expected
    for name, found, same in zip(Params._fields, auto.params_, chosen.params_, strict=True):
        np.testing.assert_array_equal(found, same, err_msg=name)
    np.testing.assert_array_equal(auto.objective_trace_, chosen.objective_trace_)
    np.testing.assert_array_equal(auto.annotate(corpus), chosen.annotate(corpus))
    np.testing.assert_array_equal(auto.transform(corpus), chosen.transform(corpus))


def test_what_auto_chose_holds_for_other_images_and_from_a_file(tmp_path):
    """A model of short images answers for long ones as it learned; a second fit chooses anew."""
    short, long = images_of([8] * 6), images_of([200] * 6)
    fitted = LinkLDA(2, algorithm="auto", **STEPS_ONLY).fit(short)
    fitted.save(tmp_path / "m")
    loaded = tp.load_annotator(tmp_path / "m")
    assert (loaded.algorithm, loaded.algorithm_) == ("auto", "cvb0")
    np.testing.assert_array_equal(loaded.transform(long), fitted.transform(long))
    F = long.visual_words.toarray()
    mean_field = infer(fitted.params_, F, link_lda.model(link_lda.COLD), link_lda.proportions)
    assert np.abs(mean_field - loaded.transform(long)).max() > 1e-6
    assert fitted.fit(long).algorithm_ == "variational"


def test_a_file_from_before_auto_has_the_algorithm_of_its_parameters_and_no_other_is_taken():
    fitted = LinkLDA(2, algorithm="cvb0", **STEPS_ONLY).fit(images_of([8] * 6))
    arrays, facts = fitted._state()
    del facts["algorithm"]
    again = LinkLDA(2, algorithm="cvb0")
    again._restore(arrays, facts)
    assert again.algorithm_ == "cvb0"
    with pytest.raises(TopictureError, match="algorithm_"):
        again._restore(arrays, {**facts, "algorithm": "gibbs"})


def cross_entropy(topics, seen, p):
    """Nats per visual word of distributions p (n, U), by what the topics make of some words seen of each image."""
    B = 0.999 * topics + 0.001 / topics.shape[1]
    theta = np.full((len(seen), len(B)), 1 / len(B))
    for _ in range(60):
        theta = 1 / len(B) + theta * ((seen / (theta @ B)) @ B.T)
        theta /= theta.sum(axis=1, keepdims=True)
    return -np.sum(p * np.log(theta @ B)) / len(p)


@pytest.mark.slow
@pytest.mark.parametrize("max_iter", [0, 40], ids=["steps only", "with passes"])
@pytest.mark.parametrize("seed", [1, 2])
def test_of_short_images_auto_learns_topics_that_predict_better_than_the_other_algorithm(seed, max_iter):
    rng = np.random.default_rng(seed)
    alpha, B = np.full(15, 0.04), rng.dirichlet(np.full(300, 0.03), 15)
    Phi = rng.dirichlet(np.full(20, 0.02), 15)
    corpus = link_lda.sample(rng, alpha, B, Phi, n_images=1500, n_visual=8)
    p = rng.dirichlet(alpha, 300) @ B
    seen = np.stack([rng.multinomial(4, row) for row in p])
    steps = {"batch_size": 64, "tau0": 2.0, "alpha": 0.1} if max_iter == 0 else {}
    settings = {"n_init": 1, "max_iter": max_iter, "precision": "float32", "seed": seed, **steps}
    found = {
        name: cross_entropy(means(LinkLDA(40, algorithm=name, **settings).fit(corpus).params_.rB), seen, p)
        for name in ("auto", "variational", "cvb0")
    }
    better, worse = ("cvb0", "variational") if max_iter == 0 else ("variational", "cvb0")
    assert found["auto"] == found[better] < found[worse] - 0.1, found
