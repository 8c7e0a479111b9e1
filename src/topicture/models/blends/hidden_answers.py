"""Answers that members gave while captions were hidden, kept for the next fit: most photos are as they were.

M members, n images, V words. They are kept in half precision: what a blend makes of them does not depend on more.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicture.corpus import Corpus
from topicture.errors import ModelFileError
from topicture.models.files import read_model, write_model
from topicture.models.id_arrays import ids_from, ids_state

__all__ = [
    "GIVEN",
    "NO",
    "YES",
    "HiddenAnswers",
    "KnownAnswers",
    "Said",
    "by_image",
    "known_of",
    "read_known",
    "said_in",
    "told_in_words",
    "write_known",
]

# More is not kept: the next fit makes its trials anew.
MOST_BYTES = 64 << 20


class HiddenAnswers(NamedTuple):
    """p(word | image) by members that had seen neither the image's caption nor one of its group.

    Attributes
    ----------
    members : M titles
    words : V words, the vocabulary of the trials
    image_ids : (n,)
    fold_of : (n,) the fold that an image was hidden with
    p : (M, n, V) float16 once kept, float32 where just found
    """

    members: tuple[str, ...]
    words: tuple[str, ...]
    image_ids: NDArray[np.str_]
    fold_of: NDArray[np.int64]
    p: NDArray[Any]

    def kept(self) -> "HiddenAnswers":
        """The same in half precision."""
        return self._replace(p=self.p.astype(np.float16))

    def rows_of(self, image_ids: NDArray[np.str_]) -> NDArray[np.int64]:
        """The row of each image, (D,), -1 where there is none."""
        row = {name: i for i, name in enumerate(self.image_ids.tolist())}
        return np.array([row.get(name, -1) for name in image_ids.tolist()], np.int64)

    def in_words(self, member: str, words: Sequence[str], p_w: np.ndarray) -> NDArray[np.float32]:
        """What a member says in other words, (n, W): those it was not asked about are as frequent as `p_w` (n, W)."""
        said = self.p[self.members.index(member)]
        if tuple(words) == self.words:
            return said.astype(np.float32)
        found = _columns(said.astype(np.float64), self.words, words)
        new = ~np.isin(words, self.words)
        rest = 1.0 - p_w[:, new].sum(axis=1, keepdims=True)
        found = _normalised(found, np.where(new, 0.0, p_w)) * rest
        found[:, new] = p_w[:, new]
        return found.astype(np.float32)


def told_in_words(p: np.ndarray, own: Sequence[str], words: Sequence[str]) -> NDArray[np.float16]:
    """Answers (n, V) of a model of its `own` words in those of earlier trials."""
    return _normalised(_columns(p, own, words), np.ones((len(p), len(words)))).astype(np.float16)


class KnownAnswers(NamedTuple):
    """What a fit leaves to the next one.

    Attributes
    ----------
    near : answers that the blend was chosen by
    far : the same of its members with whole groups hidden; None where that was not asked
    learned_from : (t,) images about which the blend has seen a caption or an answer
    tried_ids, tried : images that anything was said about when trials were made, and what, (n, V) in the words of
        `near`: GIVEN, YES or NO
    """

    near: HiddenAnswers
    far: HiddenAnswers | None
    learned_from: NDArray[np.str_]
    tried_ids: NDArray[np.str_]
    tried: sparse.csr_array

    def change(self, said: "Said") -> float:
        """How many words were given, taken or answered since the trials, for each that there was.

        Words that the trials did not know do not count.
        """
        known = set(self.near.words)
        now = {(image, *one) for image, words in said.items() for one in words.items() if one[0] in known}
        row, column = self.tried.nonzero()
        images, words = self.tried_ids[row].tolist(), np.array(self.near.words)[column].tolist()
        then = set(zip(images, words, self.tried[row, column].tolist(), strict=True))
        return len(now ^ then) / max(len(then), 1)


Said = Mapping[str, Mapping[str, int]]
"""What people said, by the ids of images and by words: GIVEN in a caption, or answered YES or NO."""

GIVEN, YES, NO = 1, 2, -1


def said_in(corpus: Corpus) -> sparse.csr_array:
    """What people said of images and words, (D, V)."""
    captions = sparse.csr_array(corpus.captions > 0, dtype=np.int8)
    if corpus.answers is None:
        return captions
    alone = sparse.csr_array(corpus.answers.multiply(corpus.answered[:, None]))
    yes, no = (sparse.csr_array(one, dtype=np.int8) for one in (alone > 0, alone < 0))
    return sparse.csr_array(GIVEN * captions + YES * yes + NO * no)


def by_image(
    image_ids: Sequence[str], words: Sequence[str], said: sparse.csr_array
) -> dict[str, dict[str, int]]:
    """The same by ids and words."""
    found: dict[str, dict[str, int]] = {}
    table = said.tocoo()
    for row, column, verdict in zip(table.row.tolist(), table.col.tolist(), table.data.tolist(), strict=True):
        found.setdefault(image_ids[row], {})[words[column]] = verdict
    return found


def known_of(
    corpus: Corpus, near: HiddenAnswers, far: HiddenAnswers | None, earlier: KnownAnswers | None
) -> KnownAnswers | None:
    """What a fit on a corpus leaves; `earlier` is what it went on from. None where that is too much to keep."""
    near, far = near.kept(), None if far is None else far.kept()
    ids = corpus.image_ids[corpus.taught]
    others = 2 * int(np.strings.str_len(ids).sum()) + 5 * corpus.captions.nnz
    if near.p.nbytes + (0 if far is None else far.p.nbytes) + others > MOST_BYTES:
        return None
    if earlier is not None:
        return earlier._replace(near=near, far=far, learned_from=ids)
    return KnownAnswers(near, far, ids, ids, said_in(corpus)[corpus.taught])


# --- Files --------------------------------------------------------------------------------------------------------


def write_known(path: Any, known: KnownAnswers) -> None:
    """Write a file for `read_known`."""
    arrays = {
        **_prefixed("learned_from", ids_state(known.learned_from)),
        **_prefixed("tried", ids_state(known.tried_ids)),
        "tried.starts": known.tried.indptr,
        "tried.words": known.tried.indices,
        "tried.said": known.tried.data,
    }
    header: dict[str, Any] = {}
    for name in ("near", "far"):
        part: HiddenAnswers | None = getattr(known, name)
        if part is not None:
            header[name] = {"members": list(part.members), "words": list(part.words)}
            arrays |= _prefixed(
                name, {**ids_state(part.image_ids), "fold_of": part.fold_of.astype(np.int32), "p": part.p}
            )
    write_model(path, header, arrays)


def read_known(path: Any) -> KnownAnswers:
    """What `write_known` wrote; raises ModelFileError where it is not that, DataNotFound where there is none."""
    header, arrays = read_model(path)
    try:
        near = _read_part("near", header, arrays)
        far = _read_part("far", header, arrays) if "far" in header else None
        tried_ids = ids_from(_below("tried", arrays), {})
        starts, words = arrays["tried.starts"], arrays["tried.words"]
        tried = sparse.csr_array(
            (arrays["tried.said"], words, starts), shape=(len(tried_ids), len(near.words))
        )
        tried.check_format(full_check=True)
        return KnownAnswers(near, far, ids_from(_below("learned_from", arrays), {}), tried_ids, tried)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFileError(f"{path}: the answers are incomplete ({error}); learn again") from None


def _read_part(name: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> HiddenAnswers:
    own = _below(name, arrays)
    members, words = (tuple(str(one) for one in header[name][key]) for key in ("members", "words"))
    ids, fold_of, p = ids_from(own, {}), own["fold_of"].astype(np.int64), own["p"]
    if (
        p.shape != (len(members), len(ids), len(words))
        or fold_of.shape != (len(ids),)
        or p.dtype != np.float16
    ):
        raise ValueError("of other sizes than they should be")
    if not ((p >= 0) & (p <= 1)).all():  # also refuses NaN
        raise ValueError("no probabilities")
    folds = np.unique(fold_of)
    if len(folds) < 2 or not np.array_equal(folds, np.arange(len(folds))):
        raise ValueError("no folds")
    return HiddenAnswers(members, words, ids, fold_of, p)


def _prefixed(name: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{name}.{key}": array for key, array in arrays.items()}


def _below(name: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    prefix = f"{name}."
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


# --- Words --------------------------------------------------------------------------------------------------------


def _columns(p: np.ndarray, own: Sequence[str], words: Sequence[str]) -> np.ndarray:
    """The columns of some words, (n, W), zeros for those that are not among its own."""
    column = {word: i for i, word in enumerate(own)}
    found = np.zeros((len(p), len(words)))
    pairs = [(i, column[word]) for i, word in enumerate(words) if word in column]
    there, here = np.array(pairs, np.int64).reshape(-1, 2).T
    found[:, there] = p[:, here]
    return found


def _normalised(p: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Rows that sum to 1; a row of zeros becomes that of `otherwise`."""
    p = np.where(p.sum(axis=1, keepdims=True) > 0, p, otherwise)
    return p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)
