"""The topics of any annotator in one form: weight, words, typical images or regions.

A topic model has words with probabilities, and images (or, where a topic belongs to a region, regions) that are most
its own. The components of a latent space are axes: each has two ends. Where topics are the words themselves (DBA, EMM),
each stands for its word. An annotator on top of others has the topics of those.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from topicture.annotations.measures.ranking import rank
from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.blends.auto import Auto
from topicture.models.classes.estimator import ClassAnnotator
from topicture.models.em.estimator import EMAnnotator
from topicture.models.spaces.iwe import IWE
from topicture.models.spaces.latent_space import LatentSpace

__all__ = ["Member", "Topic", "TopicModel", "Typical", "members_of", "topics_of"]

Floats = NDArray[np.float64]

LEAST_SHARE = 0.005  # of the weights of a blend
MAX_IMAGES = 5000  # of a larger collection a sample stands for all
# Posteriors that agree to this many decimals are alike; the image nearer to the topic's middle is then more typical.
ALIKE = 2


class Typical(NamedTuple):
    """An image, or one region of it, and how much it belongs to a topic."""

    image: int  # position in the corpus
    region: int | None  # number of the region, None for the whole image
    score: float  # p(topic | image or region), or the coordinate in standard deviations


class Topic(NamedTuple):
    """One topic. A component has a second end: `opposite_words` and `opposite`."""

    number: int
    weight: float | None  # share of images or regions; None for a component
    words: tuple[tuple[str, float], ...]  # best first; for a component the correlation of word and coordinate
    typical: tuple[Typical, ...]
    opposite_words: tuple[tuple[str, float], ...] = ()
    opposite: tuple[Typical, ...] = ()


class TopicModel(NamedTuple):
    """The topics of one model, the weightiest first (components in their own order)."""

    model: str
    kind: str  # "topics", "words" (every topic is a word) or "components"
    of: str  # "regions" or "images": what a topic belongs to
    n_topics: int
    topics: tuple[Topic, ...]


class Member(NamedTuple):
    """An annotator that does the work of another."""

    title: str  # its name; in a blend with the view that it looks at, which tells twins apart
    annotator: Annotator
    share: float | None  # of the weights of a blend; None where there is no blend


def members_of(annotator: Annotator) -> list[Member]:
    """The annotators that do the work: the members of a blend, what a map was made on top of, or the annotator.

    The weightiest first; members of a blend that have next to nothing to say are left out.
    """
    if isinstance(annotator, IWE):
        return members_of(annotator.base_)
    if not isinstance(annotator, Auto):
        return [Member(annotator.name, annotator, None)]
    shares = annotator.blend_.weights / (annotator.blend_.weights.sum() or 1.0)
    return [
        Member(_with_view(inner.annotator), inner.annotator, float(shares[m]))
        for m in rank(shares).tolist()
        if shares[m] >= LEAST_SHARE
        for inner in members_of(annotator.members_[m])
    ]


def _with_view(annotator: Annotator) -> str:
    view = annotator.get_params(deep=False).get("view")
    return f"{annotator.name} on {view}" if view else annotator.name


def topics_of(
    annotator: Annotator,
    corpus: Corpus,
    *,
    n_words: int = 8,
    n_typical: int = 6,
    max_topics: int = 12,
    seed: int = 0,
) -> list[TopicModel]:
    """The topics of an annotator, or of those that it is made of; empty where none of them has any.

    Parameters
    ----------
    annotator : fitted
    corpus : images to find typical ones among; of more than 5,000 a sample
    n_words, n_typical : shown of each topic
    max_topics : the weightiest topics, or leading components, of each model
    """
    rows = np.arange(len(corpus))
    if len(rows) > MAX_IMAGES:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MAX_IMAGES, replace=False))
    view = _View(corpus[rows], rows, n_words, n_typical, max_topics)
    return [
        model._replace(model=member.title)
        for member in members_of(annotator)
        if (model := _topics(member.annotator, view)) is not None
    ]


class _View(NamedTuple):
    corpus: Corpus
    rows: NDArray[np.int64]  # position of each image in the corpus of the caller
    n_words: int
    n_typical: int
    max_topics: int


def _topics(annotator: Annotator, view: _View) -> TopicModel | None:
    if isinstance(annotator, LatentSpace):
        return _components(annotator, view)
    if isinstance(annotator, ClassAnnotator):
        return _class_topics(annotator, view)
    if isinstance(annotator, EMAnnotator) and (p_w_given_z := word_table(annotator.params_)) is not None:
        return _mixed_topics(annotator, p_w_given_z, view)
    return None


def word_table(params: Any) -> Floats | None:
    """p(w | z) or its posterior mean, (K, V), from a model's parameters; None where they have no words."""
    for name in ("beta", "rho", "Phi", "rPhi", "phiW"):
        if hasattr(params, name):
            rows = np.asarray(getattr(params, name), np.float64)
            totals = rows.sum(axis=1, keepdims=True)
            return rows / np.where(totals > 0, totals, 1)
    return None


# --- Topics ---------------------------------------------------------------------------------------------------------


def _mixed_topics(annotator: EMAnnotator, p_w_given_z: Floats, view: _View) -> TopicModel:
    theta = np.asarray(annotator.transform(view.corpus), np.float64)  # type: ignore[attr-defined]
    of_regions = annotator.labels_regions
    if of_regions:
        image, density = _region_density(annotator.params_, view.corpus)
        shares = softmax(np.log(np.maximum(theta[image], 1e-300)) + density, axis=1)
        near = density
    else:
        image, shares, near = np.arange(len(theta)), theta, _closeness(annotator.params_, view.corpus)
    weight = shares.mean(axis=0) if len(shares) else np.zeros(len(p_w_given_z))
    topics = [
        Topic(
            int(z),
            float(weight[z]),
            _best_words(p_w_given_z[z], annotator.vocabulary_.words, view.n_words),
            _typical(shares[:, z], near[:, z], image, view, of_regions),
        )
        for z in rank(weight)[: view.max_topics]
    ]
    of = "regions" if of_regions else "images"
    return TopicModel(annotator.name, "topics", of, len(p_w_given_z), tuple(topics))


def _class_topics(annotator: ClassAnnotator, view: _View) -> TopicModel:
    shares = np.concatenate(annotator.label_regions(view.corpus))
    image = np.repeat(np.arange(len(view.corpus)), view.corpus.n_regions)
    weight = shares.mean(axis=0) if len(shares) else np.zeros(view.corpus.n_words)
    words = annotator.vocabulary_.words
    topics = [
        Topic(
            int(z),
            float(weight[z]),
            ((words[z], 1.0),),
            _typical(shares[:, z], shares[:, z], image, view, True),
        )
        for z in rank(weight)[: view.max_topics]
    ]
    return TopicModel(annotator.name, "words", "regions", len(words), tuple(topics))


def _typical(share: Floats, near: Floats, image: NDArray, view: _View, regions: bool) -> tuple[Typical, ...]:
    """The images, or regions of different images, that belong to a topic most."""
    order = np.lexsort((-near, -np.round(share, ALIKE)))
    # The regions of an image are numbered from its first row on.
    first = np.searchsorted(image, np.arange(len(view.rows)))
    chosen: dict[int, Typical] = {}
    for row in order.tolist():
        if len(chosen) == view.n_typical or share[row] <= 0:
            break
        d = int(image[row])
        region = int(row - first[d]) if regions else None
        chosen.setdefault(d, Typical(int(view.rows[d]), region, float(share[row])))
    return tuple(chosen.values())


def _region_density(params: Any, corpus: Corpus) -> tuple[NDArray, Floats]:
    """Image of every region, (R,), and ln N(r; mu_k, s2_k), (R, K)."""
    assert corpus.regions is not None
    mu, s2 = np.asarray(params.mu, np.float64), np.asarray(params.s2, np.float64)
    r = np.asarray(corpus.regions, np.float64)
    centre = mu.mean(axis=0)
    r, mu = r - centre, mu - centre  # a small square does not drown in a large one
    square = (r * r) @ (1 / s2).T - 2 * r @ (mu / s2).T + (mu * mu / s2).sum(axis=1)
    density = -0.5 * (square + np.log(2 * np.pi * s2).sum(axis=1))
    return np.repeat(np.arange(len(corpus)), corpus.n_regions), density


def _closeness(params: Any, corpus: Corpus) -> Floats:
    """How near every image is to each topic's middle, (D, K): mean log-density of its regions or visual words."""
    if hasattr(params, "s2"):
        image, density = _region_density(params, corpus)
        sums = np.zeros((len(corpus), density.shape[1]))
        np.add.at(sums, image, density)
        return sums / np.maximum(corpus.n_regions, 1)[:, None]
    name = next(name for name in ("B", "rB", "phiF") if hasattr(params, name))
    rows = np.asarray(getattr(params, name), np.float64)
    log_p = np.log(np.maximum(rows / rows.sum(axis=1, keepdims=True), 1e-300))
    counts = corpus.visual_words
    assert counts is not None
    return (counts @ log_p.T) / np.maximum(np.asarray(counts.sum(axis=1)).reshape(-1, 1), 1)


def _best_words(values: Floats, words: Sequence[str], n: int) -> tuple[tuple[str, float], ...]:
    return tuple((words[w], float(values[w])) for w in rank(values)[:n].tolist() if values[w] > 0)


# --- Components -----------------------------------------------------------------------------------------------------


def _components(annotator: LatentSpace, view: _View) -> TopicModel:
    """The axes of a latent space: words that go along with a coordinate, images at either end."""
    place = np.asarray(annotator.transform(view.corpus), np.float64)
    place = (place - place.mean(axis=0)) / np.maximum(place.std(axis=0), 1e-12)
    has = np.minimum(annotator.captions_.toarray(), 1)
    correlation = _correlation(has, annotator.features_)
    words = annotator.vocabulary_.words
    topics = [
        Topic(
            k,
            None,
            _best_words(correlation[:, k], words, view.n_words),
            _ends(place[:, k], view),
            tuple((word, -value) for word, value in _best_words(-correlation[:, k], words, view.n_words)),
            _ends(-place[:, k], view, sign=-1.0),
        )
        for k in range(min(view.max_topics, place.shape[1]))
    ]
    return TopicModel(annotator.name, "components", "images", place.shape[1], tuple(topics))


def _ends(coordinate: Floats, view: _View, sign: float = 1.0) -> tuple[Typical, ...]:
    # Half of the images at most, so that none is at both ends.
    n = min(view.n_typical, len(coordinate) // 2)
    return tuple(
        Typical(int(view.rows[d]), None, float(sign * coordinate[d])) for d in rank(coordinate)[:n].tolist()
    )


def _correlation(a: Floats, b: Floats) -> Floats:
    """Pearson correlation of the columns of (N, V) and (N, K), (V, K); 0 where a column does not vary."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    return np.divide(a.T @ b, scale, out=np.zeros_like(scale), where=scale > 1e-12)
