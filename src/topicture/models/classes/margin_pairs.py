r"""Pairs of a relevant and an irrelevant class that violate the margin: the oracle of margin.py (docs/models.md, 4).

A pair (i in Y_n, j not in Y_n) is violated at w if s_j > s_i - 1, strictly, with s_c = w_c zb_nc. `violated_pairs` says
how often each class of each image stands in such a pair. `Oracle` answers the same question at many w of one problem
with no more than the plane d - g.w that touches H at w.

Symbol -> code, shape:  u_n -> unit n 1 | s_i - 1 -> own n A, A the most relevant classes that an image has
"""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

__all__ = ["MarginProblem", "Oracle", "violated_pairs"]

FEW = 16  # relevant classes of an image up to which comparing beats sorting
_BLOCK = 32_768  # scores of a block of images: they should stay in the cache


class MarginProblem(NamedTuple):
    """The images that have a margin term: at least one region, one relevant and one irrelevant class."""

    zbar: np.ndarray  # (n, L) mean responsibilities
    relevant: np.ndarray  # (n, L) bool
    classes: np.ndarray | None  # (n, L) which classes the columns are; None: column c is class c
    n_classes: int  # C
    n_labelled: int  # N_lab: all labelled images, with or without a margin term

    @property
    def unit(self) -> np.ndarray:
        """u_n = 1 / (N_lab |Y_n| |Y_n^c|), (n, 1)."""
        n_relevant = self.relevant.sum(axis=1, keepdims=True)
        return 1 / (max(self.n_labelled, 1) * n_relevant * (self.n_classes - n_relevant))

    @property
    def most_relevant(self) -> int:
        return int(self.relevant.sum(axis=1).max(initial=0))


# --- All pairs at one w ------------------------------------------------------------------------------------------


def violated_pairs(problem: MarginProblem, w: np.ndarray) -> np.ndarray:
    """In how many violated pairs each class of each image stands, (n, L) int32; at most O(L log L) an image.

    Where images have few relevant classes, each of these is compared with all others; else one sort answers for all
    pairs.
    """
    relevant, most = problem.relevant, problem.most_relevant
    s = problem.zbar * (w if problem.classes is None else w[problem.classes])
    keys = np.where(relevant, s - 1, s)
    counts = _by_comparison(keys, relevant, most) if most <= FEW else _by_sorting(keys, relevant)
    n_unlisted = problem.n_classes - relevant.shape[1]  # irrelevant classes with s = 0
    counts[relevant & (keys < 0)] += n_unlisted
    return counts


def _by_comparison(keys: np.ndarray, relevant: np.ndarray, most: int) -> np.ndarray:
    """Violated pairs of the classes listed, by comparing all irrelevant keys with each of the `most` relevant ones."""
    n, L = keys.shape
    rows, columns, place = _places(relevant)
    own = np.full((n, most), np.inf)
    own[rows, place] = keys[rows, columns]
    others = np.where(relevant, -np.inf, keys)
    counts, of_own = np.zeros((n, L), np.int32), np.zeros((n, most), np.int32)
    for i in range(most):
        violated = others > own[:, i, None]
        counts += violated
        of_own[:, i] = np.count_nonzero(violated, axis=1)
    counts[rows, columns] = of_own[rows, place]
    return counts


def _by_sorting(keys: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """The same from one sort: where keys tie irrelevant classes stand first, so pairs on the margin do not count."""
    n, L = keys.shape
    order = np.lexsort((relevant, keys), axis=-1)
    is_relevant = np.take_along_axis(relevant, order, axis=1)
    irrelevant_up_to = np.cumsum(~is_relevant, axis=1)
    irrelevant_above = (L - relevant.sum(axis=1))[:, None] - irrelevant_up_to
    relevant_below = np.cumsum(is_relevant, axis=1)
    counts = np.empty((n, L), np.int32)
    np.put_along_axis(counts, order, np.where(is_relevant, irrelevant_above, relevant_below), axis=1)
    return counts


def _places(relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns of the relevant classes, and which of its image's relevant classes each is."""
    rows, columns = np.nonzero(relevant)
    return rows, columns, np.arange(len(rows)) - np.searchsorted(rows, rows)


# --- Planes at many w ----------------------------------------------------------------------------------------------


class Oracle:
    """Planes that touch H of one problem; images are worked on in blocks, those with few relevant classes first."""

    def __init__(self, problem: MarginProblem):
        self.problem = problem
        if self.by_sorting:
            return
        self._order = order = np.argsort(problem.relevant.sum(axis=1), kind="stable")
        relevant, zbar = problem.relevant[order], problem.zbar[order]
        self._classes = None if problem.classes is None else problem.classes[order]
        # Comparisons with NaN are false, so that a relevant class is never taken for an irrelevant one.
        self._irrelevant = np.where(relevant, np.nan, zbar)
        self._unit = problem.unit[order, 0]
        self._weighted = self._unit[:, None] * zbar
        self._own_places = rows, columns, place = _places(relevant)
        shape = len(order), problem.most_relevant
        self._own_real, self._own_zbar, self._own_class = (
            np.zeros(shape, bool),
            np.zeros(shape),
            np.zeros(shape, np.intp),
        )
        self._own_real[rows, place] = True
        self._own_zbar[rows, place] = zbar[rows, columns]
        self._own_class[rows, place] = columns if self._classes is None else self._classes[rows, columns]

    @cached_property
    def by_sorting(self) -> bool:
        return self.problem.most_relevant > FEW

    def plane(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """d and g (C,) of the plane d - g.w that touches H at w."""
        if self.by_sorting:
            return self._plane_of(self._signed(violated_pairs(self.problem, w)))
        own = self._own(w)
        of_own, g = np.zeros(own.shape), np.zeros(len(w))
        for block in self._blocks():
            counts = self._count(block, w, own, of_own)
            g -= self._by_class(block, counts)
        of_own += self._n_unlisted * (own < 0)
        terms = self._unit[:, None] * of_own
        own_g = np.bincount(self._own_class.ravel(), (terms * self._own_zbar).ravel(), len(g))
        return float(terms.sum()), g + own_g

    def multipliers(self, planes: Iterable[tuple[float, np.ndarray]]) -> np.ndarray:
        """delta (n, L) of planes given by their multipliers tau and the w where they touch H.

        delta = u sum_t tau_t pairs_t, with the violated pairs of every class at w_t, negative for irrelevant classes.
        """
        total = np.zeros(self.problem.zbar.shape)
        if self.by_sorting:
            for tau, w in planes:
                total += tau * violated_pairs(self.problem, w)
        else:
            for tau, w in planes:
                self._add_pairs(total, tau, w)
            total[self._order] = total.copy()
        return self.problem.unit * self._signed(total)

    def _add_pairs(self, total: np.ndarray, tau: float, w: np.ndarray) -> None:
        """Add tau times the violated pairs of every class to `total`, (n, L), images in the order of the blocks."""
        own = self._own(w)
        of_own = np.zeros(own.shape)
        for block in self._blocks():
            total[block] += tau * self._count(block, w, own, of_own)
        of_own += self._n_unlisted * (own < 0)
        rows, columns, place = self._own_places
        total[rows, columns] += tau * of_own[rows, place]

    def switches(self, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where on the line from begin (0) to end (1) pairs begin or cease to be violated, and by how much H bends.

        A pair's slack is linear on the line, so only pairs that differ at its ends change between them.
        """
        own = self._own(begin), self._own(end)
        found = [self._unlisted_switches(*own)]
        for block in self._blocks():
            at_begin, at_end = self._scores(block, begin), self._scores(block, end)
            for i in range(self._most(block)):
                own_begin, own_end = own[0][block, i, None], own[1][block, i, None]
                changed = np.flatnonzero((at_begin > own_begin) != (at_end > own_end))
                rows = changed // at_begin.shape[1]
                before = at_begin.ravel()[changed] - own_begin[rows, 0]
                after = at_end.ravel()[changed] - own_end[rows, 0]
                found.append((before, after, self._unit[block][rows]))
        before, after, unit = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return before / (before - after), unit * np.abs(after - before)

    # --- Pieces --------------------------------------------------------------------------------------------

    def _blocks(self):
        n, L = self._irrelevant.shape
        size = max(1, _BLOCK // max(L, 1))
        return (slice(start, min(start + size, n)) for start in range(0, n, size))

    def _most(self, block: slice) -> int:
        return int(self._own_real[block.stop - 1].sum())  # images are in the order of this number

    def _own(self, w: np.ndarray) -> np.ndarray:
        return np.where(self._own_real, self._own_zbar * w[self._own_class] - 1, np.inf)

    def _scores(self, block: slice, w: np.ndarray) -> np.ndarray:
        return self._irrelevant[block] * (w if self._classes is None else w[self._classes[block]])

    def _count(self, block: slice, w: np.ndarray, own: np.ndarray, of_own: np.ndarray) -> np.ndarray:
        """Violated pairs of the irrelevant classes, (block, L); those of the relevant ones are put into of_own."""
        scores = self._scores(block, w)
        counts = np.zeros(scores.shape, np.uint8)
        for i in range(self._most(block)):
            violated = scores > own[block, i, None]
            of_own[block, i] = _row_sums(violated)
            counts += violated.view(np.uint8)
        return counts

    def _by_class(self, block: slice, counts: np.ndarray) -> np.ndarray:
        """sum_n u_n counts_nj zb_nj of the irrelevant classes, (C,)."""
        if self._classes is None:
            return np.einsum("nl,nl->l", self._weighted[block], counts)
        terms = self._weighted[block] * counts
        return np.bincount(self._classes[block].ravel(), terms.ravel(), self.problem.n_classes)

    def _signed(self, counts: np.ndarray) -> np.ndarray:
        return np.where(self.problem.relevant, counts, -counts)

    def _plane_of(self, pairs: np.ndarray) -> tuple[float, np.ndarray]:
        """d = sum_n u_n sum_{i in Y_n} n_i and g_c = sum_n T_nc zb_nc, T = u pairs (n, L)."""
        zbar, relevant, classes, n_classes, _ = self.problem
        T = self.problem.unit * pairs
        columns = np.broadcast_to(np.arange(n_classes), zbar.shape) if classes is None else classes
        return float(T[relevant].sum()), np.bincount(columns.ravel(), (T * zbar).ravel(), n_classes)

    @property
    def _n_unlisted(self) -> int:
        """Irrelevant classes of an image that are not listed: their score is 0."""
        return self.problem.n_classes - self.problem.relevant.shape[1]

    def _unlisted_switches(self, begin: np.ndarray, end: np.ndarray):
        rows, columns = np.nonzero(((begin < 0) != (end < 0)) & (self._n_unlisted > 0))
        return -begin[rows, columns], -end[rows, columns], self._n_unlisted * self._unit[rows]


def _row_sums(mask: np.ndarray) -> np.ndarray:
    # A product is many times faster than counting along an axis; sums of ones are exact in float32. Vector kernels
    # work on whole registers: what lies in their unused lanes may raise a flag that says nothing of the sums.
    with np.errstate(invalid="ignore"):
        return mask.astype(np.float32) @ np.ones(mask.shape[1], np.float32)
