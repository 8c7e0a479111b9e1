"""Which images of a large collection members are tried on, and which of these they are judged by."""

import numpy as np

from topicture.corpus import Corpus

__all__ = ["sample_to_try", "thinned"]

# A collection of more images is tried on a sample of it, in which no more tagged images are than this if untagged ones
# can be had. The choice among members does not get better by more, only slower.
_MOST_TRIED = 8000
_MOST_TAGGED = 6000


def thinned(fold_of: np.ndarray, groups: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Folds of about `most` images; the captions of others are never hidden. Images of one group stay together.

    Groups are taken in random order. One that does not fit is passed over; the smallest of a fold that would be empty
    is taken even so.
    """
    inside = np.flatnonzero(fold_of >= 0)
    if len(inside) <= most:
        return fold_of
    group = np.unique(np.asarray(groups)[inside], return_inverse=True)[1]
    if group.max() == 0:  # dealt out one by one
        group = np.arange(len(inside))
    sizes = np.bincount(group)
    chosen = np.zeros(len(sizes), bool)
    room = most
    for one in np.random.default_rng((seed, most)).permutation(len(sizes)):
        if sizes[one] <= room:
            chosen[one] = True
            room -= sizes[one]
    for fold in np.setdiff1d(fold_of[inside], fold_of[inside][chosen[group]]):
        its_own = np.unique(group[fold_of[inside] == fold])
        chosen[its_own[np.argmin(sizes[its_own])]] = True
    kept = inside[chosen[group]]
    found = np.full_like(fold_of, -1)
    found[kept] = fold_of[kept]
    return found


def sample_to_try(corpus: Corpus, rng: np.random.Generator) -> np.ndarray:
    """Images to try members on: all, or a part of a large collection; tagged ones come first, then answered ones."""
    if len(corpus) <= _MOST_TRIED:
        return np.arange(len(corpus))
    tagged, others = (rng.permutation(np.flatnonzero(mask)) for mask in (corpus.tagged, ~corpus.tagged))
    others = others[np.argsort(~corpus.answered[others], kind="stable")]
    n_tagged = min(len(tagged), max(_MOST_TAGGED, _MOST_TRIED - len(others)))
    return np.sort(np.concatenate([tagged[:n_tagged], others[: _MOST_TRIED - n_tagged]]))
