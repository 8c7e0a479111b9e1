"""From what photos look like to places on a plane, near where their likes are; bounded for any number of photos.

A sample is laid out by t-SNE, which keeps neighbours together where a projection can't; every other photo goes where
its likes of the sample are.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from topicture.app.progress import Report

__all__ = ["lay_out", "place_of_word", "to_square"]

SAMPLE = 3000  # photos that are laid out by their neighbours
MEASURED = 4000  # photos that the directions are found on
DIRECTIONS = 50
NEIGHBOURS = 3  # of the sample, between which a photo goes
SHARPNESS = 24.0  # how much nearer the most alike of them counts
BLOCK = 8192
PERPLEXITY = 30.0
ITERATIONS = 500
FEWEST = 8  # photos that t-SNE can tell apart

Floats = np.ndarray  # of single precision


def lay_out(rows: Any, report: Report, seed: int = 0) -> Floats:
    """Places (D, 2) of photos with such rows (D, L), read block by block."""
    with threadpool_limits(1):  # threads that wait for each other take many times as long on a busy machine
        return _lay_out(rows, report, seed)


def _lay_out(rows: Any, report: Report, seed: int) -> Floats:
    n = rows.shape[0]
    random = np.random.default_rng(seed)
    sample = np.sort(random.permutation(n)[:SAMPLE])
    measured = np.sort(random.permutation(n)[:MEASURED])
    report("Making the map", 0, n)
    if n < FEWEST:
        return np.pad(np.asarray(rows[:], np.float32), ((0, 0), (0, 2)))[:, :2]
    centre, directions = _directions(np.asarray(rows[measured], np.float32))
    known = (np.asarray(rows[sample], np.float32) - centre) @ directions
    laid_out = _neighbour_map(known, seed)
    if n <= SAMPLE:
        report("Making the map", n, n)
        return laid_out
    unit = _unit(known)
    places = np.empty((n, 2), np.float32)
    for block in _blocks(n):
        likeness = _unit((np.asarray(rows[block], np.float32) - centre) @ directions) @ unit.T
        places[block] = _between(likeness, laid_out)
        report("Making the map", min(block.stop, n), n)
    places[sample] = laid_out
    return places


def _directions(rows: Floats) -> tuple[Floats, Floats]:
    """The mean, and the directions (L, d) in which rows differ most."""
    centre = rows.mean(axis=0)
    if not np.ptp(rows, axis=0).any():  # all alike: any will do
        return centre, np.eye(rows.shape[1], DIRECTIONS, dtype=np.float32)
    n = min(DIRECTIONS, *rows.shape)
    found = PCA(n, svd_solver="randomized", random_state=0).fit(rows)
    return centre, found.components_.T.astype(np.float32)


def _neighbour_map(rows: Floats, seed: int) -> Floats:
    if not np.ptp(rows, axis=0).any():
        return np.zeros((len(rows), 2), np.float32)
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    # Photos that are alike to the last bit would start at one point and never part.
    start = rows[:, :2] if rows.shape[1] > 1 else np.pad(rows, ((0, 0), (0, 1)))
    scale = 1e-4 / max(float(np.std(start[:, 0])), 1e-12)
    start = start * scale + np.random.default_rng(seed).normal(0, 1e-6, start.shape)
    tsne = TSNE(
        2, init=start.astype(np.float32), perplexity=perplexity, max_iter=ITERATIONS, random_state=seed
    )
    return tsne.fit_transform(rows).astype(np.float32)


def _between(likeness: Floats, laid_out: Floats) -> Floats:
    """A place between those of the most alike, the nearer to the more alike."""
    nearest = np.argpartition(-likeness, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    found = np.take_along_axis(likeness, nearest, axis=1)
    weights = np.exp(SHARPNESS * (found - found.max(axis=1, keepdims=True)))
    return np.einsum("nk,nkd->nd", weights / weights.sum(axis=1, keepdims=True), laid_out[nearest])


def _unit(rows: Floats) -> Floats:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))


def place_of_word(places: Floats) -> Floats:
    """Where most of a word's photos (n, 2) are: the middle of the nearer half of them."""
    middle = np.median(places, axis=0)
    distance = np.linalg.norm(places - middle, axis=1)
    near = places[distance <= np.median(distance)]
    return near.mean(axis=0)


def to_square(*groups: Floats) -> Sequence[Floats]:
    """Groups of places moved and scaled together, so that the first fills the square from -1 to 1."""
    low, high = groups[0].min(axis=0), groups[0].max(axis=0)
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-9)
    return [((group - middle) / half).astype(np.float32) for group in groups]
