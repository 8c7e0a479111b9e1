"""Single answers in a corpus: somebody said of one word that it is true of an image, or that it is not.

Of the image's other words nothing is known. That is less than a caption, which says of every word whether it is there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from topicture.corpus import checks
from topicture.errors import CorpusError

if TYPE_CHECKING:
    from topicture.corpus.corpus import Corpus

__all__ = ["answers_of", "as_captions", "check_answers", "some_answers", "stacked"]


def answers_of(values: Any) -> sparse.csr_array | None:
    """Anything matrix-like as sparse answers in canonical form; None where there is no answer."""
    return some_answers(checks.counts(values, "answers"))


def some_answers(answers: sparse.csr_array | None) -> sparse.csr_array | None:
    """The answers, or None where there is none: that nobody was asked looks the same everywhere."""
    return answers if answers is not None and answers.nnz else None


def check_answers(corpus: "Corpus") -> None:
    """Raise CorpusError where answers do not fit the images and words, or are neither yes nor no."""
    if corpus.answers is None:
        return
    if corpus.answers.shape != corpus.captions.shape:
        raise CorpusError(
            f"answers: {corpus.answers.shape}, but there are {corpus.captions.shape[0]} images and "
            f"{corpus.captions.shape[1]} words"
        )
    bad = np.flatnonzero(np.abs(corpus.answers.data) != 1)  # also refuses NaN
    if bad.size:
        row = int(np.searchsorted(corpus.answers.indptr, bad[0], side="right")) - 1
        word = corpus.vocabulary.words[int(corpus.answers.indices[bad[0]])]
        raise CorpusError(
            f"answers: image {str(corpus.image_ids[row])!r}, {word!r}: an answer is 1 (yes) or -1 (no), "
            f"not {corpus.answers.data[bad[0]]:g}"
        )


def stacked(parts: Sequence["Corpus"]) -> sparse.csr_array | None:
    """The answers of several corpora one after the other."""
    if all(part.answers is None for part in parts):
        return None
    tables = [
        sparse.csr_array(part.captions.shape) if part.answers is None else part.answers for part in parts
    ]
    return checks.canonical(sparse.vstack(tables))


def as_captions(corpus: "Corpus") -> sparse.csr_array:
    """Captions (D, V), those of images that have none being the words that were said to be true of them."""
    assert corpus.answers is not None
    rows = np.flatnonzero(corpus.answered)
    said = sparse.csr_array((np.ones(len(rows)), (rows, rows)), shape=(len(corpus), len(corpus)))
    return checks.canonical(corpus.captions + said @ corpus.answers.maximum(0))
