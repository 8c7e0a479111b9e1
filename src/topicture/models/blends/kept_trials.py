"""Trials that were finished, kept in a folder: what was interrupted goes on where it was, and nothing is fitted twice.

A trial is known by a digest of all that its answers depend on: model, settings and seed, images, captions and answers
that were shown, images that were asked about. Files are plain arrays; a damaged one counts as none.
"""

import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus
from topicture.corpus.digests import digest_of, said_in, views_digest
from topicture.errors import TopictureError
from topicture.models.base import Annotator
from topicture.models.files import read_model, write_model

__all__ = ["Answered", "KeptTrials"]

# Belongs to every digest: raised where the same settings give other answers than before.
_VERSION = 1


class Answered(NamedTuple):
    """Answers (n, V) in float32, and how long it took to find them: now, or when they were found."""

    p: np.ndarray
    seconds: float


class KeptTrials:
    """Finished trials in a folder, or nowhere where there is none."""

    def __init__(self, folder: Path | None = None):
        self.folder = folder
        self._used: set[str] = set()
        self._views: tuple[Corpus, str] | None = None

    def answers(
        self, annotator: Annotator, corpus: Corpus, hidden: np.ndarray, find: Callable[[], np.ndarray]
    ) -> Answered:
        """What the annotator, without the captions of hidden images (D,) bool, says of these: found now, or before."""
        begin = perf_counter()
        if self.folder is None:
            return Answered(np.asarray(find(), np.float32), perf_counter() - begin)
        path = self._path(annotator, corpus, hidden)
        known = _read(path, (int(hidden.sum()), corpus.n_words))
        if known is not None:
            return known
        found = Answered(np.asarray(find(), np.float32), perf_counter() - begin)
        try:
            write_model(path, {"seconds": found.seconds}, {"p": found.p})
        except OSError:  # a full or locked disk: the answers are there, and that is what counts
            self.folder = None
        return found

    def forget_others(self) -> None:
        """Delete what was not asked for since this was made: it belongs to images or captions of the past."""
        if self.folder is None:
            return
        for path in self.folder.glob("*.safetensors"):
            if path.name not in self._used:
                path.unlink(missing_ok=True)

    def _path(self, annotator: Annotator, corpus: Corpus, hidden: np.ndarray) -> Path:
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._views is None or self._views[0] is not corpus:
            self._views = corpus, views_digest(corpus)
        settings = json.dumps(
            annotator.get_params(deep=False), sort_keys=True, default=lambda v: digest_of(np.asarray(v))
        )
        shown = [
            sparse.csr_array(part[~hidden]) if sparse.issparse(part) else part for part in said_in(corpus)
        ]
        name = digest_of(
            _VERSION,
            annotator.name,
            annotator.version,
            settings,
            self._views[1],
            *shown,
            np.flatnonzero(hidden),
        )
        self._used.add(f"{name}.safetensors")
        return self.folder / f"{name}.safetensors"


def _read(path: Path, shape: tuple[int, int]) -> Answered | None:
    if not path.exists():
        return None
    try:
        header, arrays = read_model(path)
        p, seconds = arrays["p"], float(header["seconds"])
    except (TopictureError, KeyError, TypeError, ValueError):
        return None
    return Answered(p, seconds) if p.shape == shape and p.dtype == np.float32 and seconds >= 0 else None
