"""Digests of what is learned from: the same images, captions and answers have the same."""

import hashlib
import json
from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

from topicture.corpus.corpus import Corpus

__all__ = ["corpus_digest", "digest_of", "said_in", "views_digest"]


def digest_of(*parts: Any) -> str:
    """A digest of numbers, texts, arrays and sparse matrices; arrays count with their types and shapes."""
    found = hashlib.sha256()
    for part in parts:
        if sparse.issparse(part):
            pieces = [
                np.array(part.shape),
                part.indptr.astype(np.int64),
                part.indices.astype(np.int64),
                part.data,
            ]
        else:
            pieces = [part]
        for piece in pieces:
            if isinstance(piece, np.ndarray):
                found.update(f"{piece.dtype} {piece.shape};".encode())
                found.update(np.ascontiguousarray(piece).tobytes())
            else:
                text = str(piece).encode()
                found.update(f"{len(text)};".encode() + text)
    return found.hexdigest()


def corpus_digest(corpus: Corpus) -> str:
    """Of everything that can be learned from."""
    return digest_of(views_digest(corpus), *said_in(corpus))


def said_in(corpus: Corpus) -> list[Any]:
    """What people said, for a digest: captions, and answers and how complete captions are, where that is known."""
    found = [corpus.captions] if corpus.answers is None else [corpus.captions, "answers", corpus.answers]
    if corpus.completeness is None:
        return found
    return [*found, "completeness", corpus.completeness, "places", corpus.places]


def views_digest(corpus: Corpus) -> str:
    """Of all but what people said."""
    said = ("captions", "answers", "vocabulary", "completeness", "places")
    others = [field.name for field in fields(corpus) if field.name not in said]
    if corpus.word_vectors is None:  # as before there were any: what was tried then is not tried again
        others.remove("word_vectors")
    words = json.dumps(list(corpus.vocabulary.words))
    return digest_of(words, *(part for name in others for part in (name, getattr(corpus, name))))
