"""The discriminative region model: objective against enumeration and autodiff, steps up only, recovery, background."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_never_falls

from topicture.corpus import Corpus
from topicture.errors import CorpusError, FitWarning, ModelFileError
from topicture.models.files import read_model, write_model
from topicture.models.regions import region_logistic
from topicture.models.regions.region_logistic import (
    Params,
    Posterior,
    RegionLogistic,
    Seen,
    bound,
    e_step,
    m_step,
    objective,
    sample,
)

TAU, RIDGE = 0.3, 0.2


def problem(rng, sizes=(2, 3), n_words=3, n_features=2, background=TAU):
    C = n_words + (background > 0)
    tags = np.zeros((len(sizes), C))
    tags[:, :2] = 1
    tags[-1, 0] = 0
    sizes = np.array(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rows = rng.normal(size=(sizes.sum(), n_features))
    return Seen(rows, starts, tags, sizes), Params(rng.normal(size=(n_features, C)), rng.normal(size=C))


def probabilities(params, rows):
    scores = np.exp(rows @ params.weights + params.offset)
    return scores / scores.sum(axis=1, keepdims=True)


def enumerated(params, seen, image):
    """ln p of what is known of one image, and the marginals of z and y, by listing them; kappa N = 1."""
    n, tags = seen.sizes[image], np.flatnonzero(seen.tags[image])
    p = probabilities(params, seen.rows[seen.starts[image] : seen.starts[image] + n])
    background = p.shape[1] - 1
    total, q, lam = 0.0, np.zeros_like(p), np.zeros_like(p)
    for z in product([*tags, background], repeat=n):
        for y in product(range(n), repeat=len(tags)):
            weight = np.prod([p[i, w] * (TAU if w == background else 1) for i, w in enumerate(z)])
            weight *= np.prod([p[i, w] / n for w, i in zip(tags, y, strict=True)])
            total += weight
            q[np.arange(n), z] += weight
            lam[y, tags] += weight
    return np.log(total), q / total, lam / total


@pytest.mark.parametrize("seed", range(3))
def test_objective_and_posteriors_are_those_of_all_configurations(seed):
    seen, params = problem(np.random.default_rng(seed), sizes=(3, 3))
    listed = [enumerated(params, seen, image) for image in range(2)]
    penalty = RIDGE * 6 / 2 * (params.weights**2).sum() + 1e-3 / 2 * (params.offset**2).sum()
    value = objective(params, seen, 1 / 3, RIDGE, TAU)
    np.testing.assert_allclose(value, sum(log_p for log_p, *_ in listed) - penalty, rtol=1e-12)
    q, lam = e_step(params, seen, TAU)
    np.testing.assert_allclose(q, np.concatenate([part for _, part, _ in listed]), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(lam, np.concatenate([part for *_, part in listed]), rtol=1e-12, atol=1e-15)


def test_a_case_by_hand():
    """Two regions of probabilities (3/4, 1/4), the tag is the first word, kappa N = 1: three times ln 3/4."""
    seen = Seen(np.zeros((2, 1)), np.array([0]), np.array([[1.0, 0.0]]), np.array([2]))
    params = Params(np.zeros((1, 2)), np.array([np.log(3), 0.0]))
    value = objective(params, seen, 0.5, 0.0, 0.0)
    np.testing.assert_allclose(value, 3 * np.log(0.75) - 1e-3 / 2 * np.log(3) ** 2, rtol=1e-12)
    q, lam = e_step(params, seen, 0.0)
    np.testing.assert_array_equal(q, [[1, 0], [1, 0]])
    np.testing.assert_allclose(lam, [[0.5, 0], [0.5, 0]])


@pytest.mark.parametrize("background", [0.0, TAU])
def test_bound_touches_the_objective_at_its_posteriors_and_nowhere_else(rng, background):
    seen, params = problem(rng, background=background)
    value = objective(params, seen, 0.4, RIDGE, background)
    best = e_step(params, seen, background)
    np.testing.assert_allclose(bound(params, seen, best, 0.4, RIDGE, background), value, rtol=1e-10)
    other = e_step(
        Params(params.weights + 0.5, params.offset - rng.normal(size=params.offset.shape)), seen, background
    )
    assert bound(params, seen, other, 0.4, RIDGE, background) < value - 1e-3


def test_slope_of_the_bound_is_that_of_the_objective(rng):
    """Fisher's identity, by autodiff against finite differences; so a fixed point of EM is one of the objective."""
    seen, params = problem(rng)
    q = e_step(params, seen, TAU)
    with jax.enable_x64(True):
        slope = jax.grad(
            lambda theta: bound(theta, seen, Posterior(*map(jnp.asarray, q)), 0.4, RIDGE, TAU, jnp)
        )(Params(*map(jnp.asarray, params)))
    for name in Params._fields:
        found, step = np.asarray(getattr(slope, name)), 1e-6
        for at in np.ndindex(found.shape):
            moved = [params._replace(**{name: getattr(params, name).copy()}) for _ in range(2)]
            for sign, one in zip((1, -1), moved, strict=True):
                getattr(one, name)[at] += sign * step
            ends = [objective(one, seen, 0.4, RIDGE, TAU) for one in moved]
            np.testing.assert_allclose(found[at], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6)


def test_m_step_ends_where_the_bound_is_flat(rng):
    seen, params = problem(rng, sizes=(4, 5, 3))
    q = e_step(params, seen, TAU)
    new = m_step(params, seen, q, 0.4, RIDGE, 1000)
    with jax.enable_x64(True):
        slope = jax.grad(
            lambda theta: bound(theta, seen, Posterior(*map(jnp.asarray, q)), 0.4, RIDGE, TAU, jnp)
        )(Params(*map(jnp.asarray, new)))
    for part in slope:
        np.testing.assert_allclose(part, 0, atol=1e-3)


def separate(n_words=8):
    """A direction for each word."""
    return Params(6 * np.eye(n_words), np.zeros(n_words))


@pytest.mark.parametrize("background", [0.0, 0.1])
def test_labels_are_found_again_from_captions_alone(rng, background):
    params = separate()
    train, test = sample(rng, params, 400, 2), sample(rng, params, 60, 2)
    model = RegionLogistic(ridge=1e-4, background=background).fit(train)
    assert_never_falls(model.objective_trace_)
    assert len(model.objective_trace_) > 2
    truth = probabilities(params, test.regions).argmax(axis=1)
    untold = np.concatenate(model.label_regions(test)).argmax(axis=1)
    told = np.concatenate(model.label_regions(test, use_captions=True))
    assert (untold == truth).mean() > 0.85
    # Told an image's tags, no region has another word.
    tags = np.repeat(test.captions.toarray(), test.n_regions, axis=0)
    assert told[tags == 0].max() == 0


def test_a_step_down_is_noticed(rng, monkeypatch):
    corpus = sample(rng, separate(), 40)
    first = []

    def wrong(params, *args):
        first.append(params)
        return first[0] if len(first) == 4 else m_step(params, *args)

    monkeypatch.setattr(region_logistic, "m_step", wrong)
    with pytest.warns(FitWarning, match="fell"):
        model = RegionLogistic(tol=1e-12).fit(corpus)
    assert model.result_.startswith("the objective fell")
    assert_never_falls(model.objective_trace_)


def test_what_no_caption_explains_becomes_background(rng):
    """Half of the regions lie far from all that tell the words apart, alike on all images."""
    means = np.array([[4.0, 0.0], [0.0, 4.0], [-4.0, -4.0]])
    regions, captions = [], np.zeros((200, 2))
    for caption in captions:
        word = rng.integers(2)
        caption[word] = 1
        regions.append(rng.normal(means[[word, 2]], 0.5))
    model = RegionLogistic(ridge=1e-4, pull=0.2, background=0.9).fit(
        Corpus.from_arrays(captions=captions, regions=regions)
    )
    no_word = 1 - np.array(
        [
            rows.sum(axis=1)
            for rows in model.label_regions(Corpus.from_arrays(captions=captions, regions=regions))
        ]
    )
    assert no_word[:, 0].mean() < 0.3
    assert no_word[:, 1].mean() > 0.7


def test_images_without_regions_or_tags(rng):
    corpus = sample(rng, separate(), 30)
    bare = Corpus.from_arrays(captions=np.zeros((1, 8)), regions=[np.zeros((0, 8))], image_ids=["bare"])
    model = RegionLogistic().fit(Corpus.concat([corpus, bare]))
    np.testing.assert_array_equal(model.objective_trace_, RegionLogistic().fit(corpus).objective_trace_)
    np.testing.assert_allclose(model.annotate(bare)[0], model.p_w_)
    assert model.label_regions(bare)[0].shape == (0, 8)
    with pytest.raises(CorpusError, match="no image with regions is tagged"):
        RegionLogistic().fit(corpus.without_captions())


def test_a_large_collection_is_sampled_evenly(rng):
    corpus = sample(rng, separate(), 200)
    few = RegionLogistic(max_regions=200).fit(corpus)
    assert few.label_regions(corpus)[0].shape[1] == 8
    every = RegionLogistic().fit(corpus)
    assert not np.allclose(few.params_.weights, every.params_.weights)


def test_a_file_of_other_classes_is_refused(rng, tmp_path):
    model = RegionLogistic(background=0.1).fit(sample(rng, separate(), 30))
    model.save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    header["params"]["background"] = 0.0
    write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="classes"):
        RegionLogistic.load(tmp_path / "model")
