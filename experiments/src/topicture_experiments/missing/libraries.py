"""Libraries as owners have them, made of the 4,999 Corel-5k photos: who tagged what, and what is true."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans

from topicture.app.learning.training_tags import TrainingTags
from topicture.corpus import Corpus
from topicture.corpus.datasets import corel5k
from topicture.models.neighbours import unit_rows
from topicture_experiments.descriptors.images import COREL, described

__all__ = ["Library", "Photos", "library", "photos", "said_of", "without_tags"]

Bools = NDArray[np.bool_]

N_COLUMNS = 256
N_TAGGED, N_FOLDERS = 1200, 12
N_LOOKS, N_PERSONAL, N_POSITIVES = 40, 10, 40
FEWEST = 3  # photos that must have a word, as `learn` wants it


class Photos(NamedTuple):
    """All photos: what they look like in few columns (D, 256), their folders and true words."""

    ids: NDArray[np.str_]
    rows: NDArray[np.float64]
    looks: NDArray[np.float64]  # of another network: personal tags follow these
    places: NDArray[np.str_]
    words: tuple[str, ...]
    truth: Bools  # (D, V)
    n_train: int


class Library(NamedTuple):
    """Photos of which some are tagged. `corpus` has what the owner gave; `truth` (D, V) is what is so."""

    corpus: Corpus
    truth: Bools
    places: list[str]


def photos(data: str | None, cache: str) -> Photos:
    """Measured once; kept as an archive of arrays in the cache's folder."""
    path = Path(cache) / "corel5k-looks.npz"
    pictures = corel5k("evaluation", data)
    if not path.exists():
        parts = [described(pictures, COREL[name], cache=cache) for name in ("deep, lite2", "deep, lite0")]
        both = [np.vstack([np.asarray(images.descriptor) for images in part]) for part in parts]
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, x0=_fewer(both[0]).astype(np.float32), x1=_fewer(both[1]).astype(np.float32))
    with np.load(path) as arrays:
        rows, looks = arrays["x0"].astype(np.float64), arrays["x1"].astype(np.float64)
    ids = np.concatenate([pictures.train.image_ids, pictures.test.image_ids])
    captions = sparse.vstack([pictures.train.captions, pictures.test.captions])
    return Photos(
        ids,
        rows,
        looks,
        np.array([name.split("/")[0] for name in ids.tolist()]),
        pictures.train.vocabulary.words,
        captions.toarray() > 0,
        len(pictures.train),
    )


def _fewer(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=0)
    axes = np.linalg.svd(centred[::2], full_matrices=False)[2][:N_COLUMNS]
    return centred @ axes.T


def library(kind: str, seed: int, source: Photos) -> Library:
    """A draw of one of the libraries: "random", "folders", "personal" or "one tag"."""
    rng = np.random.default_rng(seed)
    tagged = np.zeros(len(source.ids), bool)
    if kind == "random":
        tagged[rng.permutation(len(tagged))[:N_TAGGED]] = True
        return _made(source, source.truth, np.where(tagged[:, None], source.truth, False))
    if kind == "folders":
        tagged = np.isin(source.places, rng.permutation(np.unique(source.places))[:N_FOLDERS])
        return _made(source, source.truth, np.where(tagged[:, None], source.truth, False))
    truth = _looks(source, seed)[:, : 1 if kind == "one tag" else N_PERSONAL]
    given = np.zeros_like(truth)
    for tag in range(truth.shape[1]):
        given[rng.permutation(np.flatnonzero(truth[:, tag]))[:N_POSITIVES], tag] = True
    return _made(source, truth, given, [f"look {tag}" for tag in range(truth.shape[1])])


def _looks(source: Photos, seed: int) -> Bools:
    """Photos (D, 10) that look alike to another network than the one that is learned from."""
    clusters = KMeans(N_LOOKS, n_init=1, random_state=seed).fit_predict(unit_rows(source.looks)[:, :64])
    sizes = np.bincount(clusters)
    fit = np.flatnonzero((sizes >= 2 * N_POSITIVES) & (sizes <= 6 * N_POSITIVES))
    chosen = np.random.default_rng(seed).permutation(fit)[:N_PERSONAL]
    return clusters[:, None] == chosen


def _made(source: Photos, truth: Bools, given: Bools, names: list[str] | None = None) -> Library:
    kept = given.sum(axis=0) >= FEWEST
    words = np.array(source.words if names is None else names)[kept].tolist()
    corpus = Corpus.from_arrays(
        sparse.csr_array(given[:, kept].astype(float)),
        words,
        image_ids=source.ids.tolist(),
        descriptor=source.rows,
    )
    return Library(corpus, truth[:, kept], source.places.tolist())


def without_tags(kind: str, kept: float, seed: int, source: Photos) -> tuple[Library, Bools]:
    """The training photos with tags removed, and all others as test photos; and which photos are training photos.

    `kind` "random": every tag alike. "biased": frequent words are forgotten more often, and photos with many tags are
    more complete; the share that is kept is the same.
    """
    rng = np.random.default_rng(seed)
    train = np.arange(len(source.ids)) < source.n_train
    truth = np.where(train[:, None], source.truth, False)
    chance = np.full(truth.shape, kept)
    if kind == "biased":
        frequent, many = (_standard(x) for x in (np.log(source.truth.mean(axis=0) + 1e-4), truth.sum(axis=1)))
        score = -0.7 * frequent + 0.5 * many[:, None]
        for _ in range(50):
            chance = 1 / (1 + np.exp(-score))
            score = (
                score + np.log(kept / (1 - kept)) - np.log(chance[truth].mean() / (1 - chance[truth].mean()))
            )
    given = truth & (rng.random(truth.shape) < chance)
    return _made(source, source.truth, given), train


def said_of(made: Library, answers: Any, drawn: Any) -> TrainingTags:
    """What was said: captions, and answers about untagged and tagged photos."""
    corpus, given = made.corpus, made.corpus.captions.toarray() > 0
    none = np.zeros_like(given)
    asked = none if drawn is None else drawn > 0
    answered = asked | (none if answers is None else answers)
    truth = given | (answered & made.truth)
    known = np.repeat(corpus.tagged[:, None], given.shape[1], axis=1) | answered
    rejected = answered & ~made.truth
    return TrainingTags(
        [],
        corpus.vocabulary,
        [],
        truth,
        known,
        rejected,
        corpus.tagged,
        given,
        asked,
        (),
        lots=None if drawn is None else sparse.csr_array(drawn),
    )


def _standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / x.std()
