"""The simple annotator that descriptors are compared by: the nearest neighbours vote with their words.

A neighbour's words weigh exp(sharpness * cosine). Nothing is learned but the rule, the number of neighbours and the
sharpness, which is chosen on training rows that are asked while their fold is hidden. Rows are images, or regions.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.models.neighbours import Neighbours, nearest

__all__ = ["RULES", "Rule", "choose_rule", "random_folds", "vote"]


class Rule(NamedTuple):
    """How the neighbours vote."""

    n_neighbours: int
    sharpness: float


# Cosines of deep features spread over most of [0, 1], those of coarse histograms crowd near 1: hence the wide range.
RULES = tuple(Rule(k, s) for k in (5, 10, 20, 40) for s in (5.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0))


def vote(near: Neighbours, words: sparse.csr_array, rule: Rule) -> np.ndarray:
    """Shares of the vote, (D, V), of the words (N, V) of each query's neighbours.

    Rows sum to 1, or are 0 where no neighbour has a word. `near` holds at least `rule.n_neighbours`, or all rows.
    """
    rows, cosines = near.rows[:, : rule.n_neighbours], near.cosines[:, : rule.n_neighbours]
    weights = np.exp(rule.sharpness * (cosines - cosines[:, :1]))  # the nearest weighs 1: no overflow
    D, Z = rows.shape
    links = sparse.csr_array(
        (weights.ravel(), rows.ravel(), np.arange(0, D * Z + 1, Z)), shape=(D, words.shape[0])
    )
    mass = (links @ words).toarray()
    totals = mass.sum(axis=1, keepdims=True)
    return mass / np.where(totals > 0, totals, 1.0)


def choose_rule(
    features: np.ndarray,
    words: sparse.csr_array,
    fold_of: np.ndarray,
    measure: Callable[[np.ndarray, np.ndarray], float],
    rules: Sequence[Rule] = RULES,
) -> Rule:
    """The rule under which training rows are best annotated by the training rows of the other folds.

    Parameters
    ----------
    features : (n, L)
    words : (n, V) sparse counts
    fold_of : (n,) int
        Rows that must not answer for one another, such as the regions of one image, share a fold.
    measure : callable
        Scores (m, V) of the m rows of a fold, and which rows (m,) they are, to a number of which more is better. The
        rule with the best mean over the folds is taken; ties go to the earlier one.
    rules : candidates
    """
    most = max(rule.n_neighbours for rule in rules)
    folds = []
    for fold in np.unique(fold_of):
        asked, others = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        folds.append((asked, nearest(features[asked], features[others], most), words[others]))

    def quality(rule: Rule) -> float:
        return float(np.mean([measure(vote(near, known, rule), asked) for asked, near, known in folds]))

    return max(rules, key=quality)


def random_folds(n: int, n_folds: int = 5, seed: int = 0) -> np.ndarray:
    """A fold for each of n images, (n,) int; sizes differ by at most one."""
    return np.random.default_rng(seed).permutation(np.arange(n) % n_folds)
