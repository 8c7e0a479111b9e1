r"""Words that captions probably lack, as parts of words: what models of looks learn from (docs/models.md 9).

y: the word is true of the image, t: its caption has it, c_w = P(t = 1 | y = 1), m = P(t = 1 | all else that is known of
the image): what it looks like, where it is from, and the other words of its caption. Then P(y = 1 | all else) = m / c,
and the targets are

    r_iw = t_iw + (1 - t_iw) a_iw,     p = min(m / c_w, most),     a = p (1 - C^3) / (1 - p C^3),

C the share of all true tags that captions hold; 0 where somebody said no. With c_w in place of C^3 that is rho, the
posterior given that the word is absent, on which word frequencies, the weights of a blend and the probabilities that
are told rest. As a target of models it is worse, for this reason: the target's mean given all else is m + (1 - m) a,
and of its variance m (1 - m) (1 - a)^2 is chance alone. The larger a, the less of chance, and the mean still rises with
p, so that it ranks the images of a word as p does. That holds for a word that is hardly ever left out as well, so one
C serves for all: rare words, which chance troubles most, gain by it. Complete captions, C = 1, stay as they are.

m is told by ridge regression of each caption word on all else, of each image by all others. With z_i the centred row of
looks, folders (0 or 1) and caption words, penalties Lambda, P = (Z'Z + Lambda)^-1 and U = ZP, regressing word w on all
columns but its own leaves the residual U_iw / P_ww with the leverage h_i - U_iw^2 / P_ww, h_i = U_i'z_i. So what all
other images tell of an image is

    s_iw = t_iw - (U_iw / P_ww) / (1 - h_i + U_iw^2 / P_ww - 1/N)

and for a word that is no column t_iw - e_iw / (1 - h_i - 1/N), e = T - mean - ZB the residual of plain regression. m is
the calibrated s (`presence`), calibrated on the other half of the images.

Folders are known of what is learned from only: models annotate by looks alone.

Symbol -> code, shape:  Z -> z N d | Lambda -> penalties d | P -> inverse d d | B -> coefficients d V | s -> scores N V
"""

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.checks import canonical
from topicture.corpus.digests import corpus_digest
from topicture.errors import CorpusError
from topicture.models.neighbours import blocks, unit_rows
from topicture.models.presence import Presence, fit_presence
from topicture.models.view_rows import even_axes

__all__ = ["AllElse", "all_else", "completed", "expected"]

# Penalties of looks, folders and words, chosen on draws 0 to 5 of Corel-5k with tags left out: half or twice as much is
# much the same.
_LOOKS, _FOLDERS, _WORDS = 10.0, 1.0, 20.0
_MOST_LOOKS = 256  # columns
_MOST_FOLDERS = _MOST_WORDS = 400  # columns: the largest folders, the commonest words
_MOST_COLUMNS = _MOST_LOOKS + _MOST_FOLDERS + _MOST_WORDS
_SAMPLE = 5000  # images that the axes of looks are found from
_SHARPNESS = 3.0  # the power of C
_MOST = 0.98  # of p: nothing is certain that nobody has said
_LEAST = 0.002  # parts of words below this are dropped
_LEAST_OF_MANY = 0.02  # where tables are large
_MANY = 1 << 25  # numbers in a table of images and words
_CALIBRATED_ON = 1 << 21  # numbers in a table that a calibration is fitted to
_LEAST_SCORE, _LEAST_LEFT = 1e-5, 1e-3
_KEPT, _KEPT_NUMBERS = 8, 1 << 23  # completions, and parts of words in all


class AllElse(NamedTuple):
    """The regression of every caption word on all else; `scores` tells block by block what others say of an image."""

    z: np.ndarray  # (N, d)
    inverse: np.ndarray  # (d, d) P
    coefficients: np.ndarray  # (d, V) of plain regression
    mean: np.ndarray  # (V,)
    words: np.ndarray  # (C,) those that are the last columns of z
    given: sparse.csr_array  # (N, V)

    def scores(self, rows: Any) -> np.ndarray:
        """s (n, V) of some of the images."""
        z, given = np.asarray(self.z[rows], np.float64), self.given[rows].toarray()
        reach, first = z @ self.inverse, z.shape[1] - len(self.words)
        left = (1 - np.einsum("nd,nd->n", reach, z) - 1 / len(self.z))[:, None]
        scores: np.ndarray = given - (given - self.mean - z @ self.coefficients) / np.maximum(
            left, _LEAST_LEFT
        )
        own, part = np.diag(self.inverse)[first:], reach[:, first:]
        scores[:, self.words] = given[:, self.words] - part / own / np.maximum(
            left + part**2 / own, _LEAST_LEFT
        )
        return scores


def completed(corpus: Corpus, least: float = 0.0) -> Corpus:
    """The corpus with what captions probably lack as parts of words, from `least` on: what models learn from.

    The same where captions are complete.
    """
    return _with_parts(corpus, least, sharp=True)


def expected(corpus: Corpus) -> Corpus:
    """The corpus with words as far as they are true, rho: what is counted, and what blends are weighed on."""
    return _with_parts(corpus, 0.0, sharp=False)


def _with_parts(corpus: Corpus, least: float, *, sharp: bool) -> Corpus:
    """Members of a blend are asked about the same folds: the last presences are kept."""
    if corpus.completeness is None:
        return corpus
    if not corpus.tagged.any():
        return corpus.with_omissions(None)
    key = corpus_digest(corpus)
    found = _kept.get(key)
    if found is None:
        found = _presences(corpus)
        _keep(key, found)
    p: np.ndarray = found.data
    c = _overall(corpus) ** _SHARPNESS if sharp else corpus.completeness[found.indices]
    parts = p * (1 - c) / (1 - p * c)
    parts[parts < max(least, _LEAST)] = 0
    probable = sparse.csr_array((parts, found.indices, found.indptr), shape=found.shape)
    return corpus.with_omissions(None).with_captions(canonical(corpus.captions + probable))


def _overall(corpus: Corpus) -> float:
    """C."""
    given = np.asarray(corpus.captions.sum(axis=0)).ravel()
    return float(given.sum() / (given / corpus.completeness).sum())


def all_else(corpus: Corpus) -> AllElse:
    """Learned from images that are all tagged."""
    given = sparse.csr_array(corpus.captions.minimum(1.0))
    words = _commonest(np.asarray(given.sum(axis=0)).ravel(), _MOST_WORDS)
    dtype = np.float32 if len(corpus) * _MOST_COLUMNS > _MANY else np.float64
    parts = [_looks(corpus, dtype), _folders(corpus, dtype), given[:, words].toarray().astype(dtype)]
    penalties = np.repeat([_LOOKS, _FOLDERS, _WORDS], [part.shape[1] for part in parts])
    z: np.ndarray = np.hstack(parts)
    z -= z.mean(axis=0, dtype=np.float64).astype(dtype)
    inverse = np.linalg.inv(np.asarray(z.T @ z, np.float64) + np.diag(penalties))
    mean = np.asarray(given.mean(axis=0)).ravel()
    product = np.asarray((given.T @ z).T, np.float64) - z.sum(axis=0, dtype=np.float64)[:, None] * mean
    return AllElse(z, inverse, inverse @ product, mean, words, given)


# --- Columns ------------------------------------------------------------------------------------------------------


def _looks(corpus: Corpus, dtype: Any) -> np.ndarray:
    """Rows of length 1 in not too many columns; no column where images have no view of their own."""
    view: Any = corpus.descriptor if corpus.descriptor is not None else corpus.visual_words
    if view is None:
        return np.zeros((len(corpus), 0), dtype)
    centre = np.asarray(view.mean(axis=0, dtype=np.float64)).ravel()

    def rows(part: Any) -> np.ndarray:
        some = view[part]
        return unit_rows((some.toarray() if sparse.issparse(some) else np.asarray(some, np.float64)) - centre)

    axes = np.eye(len(centre))
    if (
        len(centre) > _MOST_LOOKS
    ):  # of a sample, and then block by block: all columns of all images may be many
        sample = np.arange(0, len(corpus), max(len(corpus) // _SAMPLE, 1))
        axes = even_axes(rows(sample), _MOST_LOOKS, np.random.default_rng(0))
    found = np.empty((len(corpus), axes.shape[1]), dtype)
    for block in blocks(len(corpus), 16 * len(centre)):
        found[block] = rows(block) @ axes
    return found


def _folders(corpus: Corpus, dtype: Any) -> np.ndarray:
    """A column of 0 and 1 for each of the largest folders with more than one image."""
    if corpus.places is None:
        return np.zeros((len(corpus), 0), dtype)
    number = np.unique(corpus.places, return_inverse=True)[1]
    sizes = np.bincount(number)
    chosen = [one for one in _commonest(sizes, _MOST_FOLDERS).tolist() if sizes[one] > 1]
    return (number[:, None] == np.array(chosen, np.int64)).astype(dtype)


def _commonest(counts: np.ndarray, most: int) -> np.ndarray:
    return np.sort(np.argsort(-counts, kind="stable")[:most])


# --- From scores to parts of words --------------------------------------------------------------------------------


def _presences(corpus: Corpus) -> sparse.csr_array:
    """p (D, V) of words that captions lack; nothing of images without a caption."""
    rows = np.flatnonzero(corpus.tagged)
    rows = rows[np.argsort(corpus.image_ids[rows], kind="stable")]  # whatever the order of the corpus
    tagged = corpus[rows]
    told = all_else(tagged)
    try:
        presences = [_fitted(told, half) for half in (0, 1)]
    except CorpusError:  # of every word all captions say the same
        return sparse.csr_array(corpus.captions.shape)
    assert corpus.completeness is not None
    least = _LEAST if len(rows) * corpus.n_words <= _MANY else _LEAST_OF_MANY
    parts = []
    for block in blocks(len(rows), 64 * corpus.n_words):
        scores = np.maximum(told.scores(block), _LEAST_SCORE)
        odd = (np.arange(block.start, block.start + len(scores)) % 2 == 1)[:, None]
        m = np.where(odd, presences[0](scores), presences[1](scores))  # by the other half
        p = np.minimum(m / corpus.completeness, _MOST)
        p[(p < least) | (told.given[block].toarray() > 0)] = 0
        if tagged.answers is not None:
            p[tagged.answers[block].toarray() < 0] = 0
        parts.append(sparse.csr_array(p))
    where = sparse.csr_array(
        (np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(len(corpus), len(rows))
    )
    return canonical(where @ sparse.vstack(parts, format="csr"))


def _fitted(told: AllElse, half: int) -> Presence:
    """From scores to m, by every other image."""
    N, V = told.given.shape
    rows = np.arange(half, N, 2)
    some = rows[:: max(-(-len(rows) * V // _CALIBRATED_ON), 1)]
    given = told.given[some].toarray() > 0
    return fit_presence(np.maximum(told.scores(some), _LEAST_SCORE), given, np.ones(given.shape, bool))


# --- Kept ---------------------------------------------------------------------------------------------------------

_kept: OrderedDict[str, sparse.csr_array] = OrderedDict()


def _keep(key: str, captions: sparse.csr_array) -> None:
    _kept[key] = captions
    while len(_kept) > _KEPT or sum(one.nnz for one in _kept.values()) > _KEPT_NUMBERS:
        _kept.popitem(last=False)
