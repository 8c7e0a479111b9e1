"""What the model says about photos, found here or by the workers of an engine: the same numbers."""

import shutil
import uuid
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topicture.app.learning.model_folder import Learned, load_learned
from topicture.corpus import Corpus
from topicture.elsewhere import engine_elsewhere
from topicture.models.base import AnswerBlock

__all__ = ["presence_blocks"]

BLOCK_IMAGES = 1024


def presence_blocks(
    learned: Learned, folder: Path, corpus: Corpus, places: Sequence[str]
) -> Iterator[AnswerBlock]:
    """`learned.presence_blocks`; `folder` is where the model is kept, which the workers must see."""
    engine = engine_elsewhere()
    if engine is None:
        yield from learned.presence_blocks(corpus, places)
        return
    # A name of its own: workers remember what they have read by it.
    shared = engine.folder / f"to-annotate-{uuid.uuid4().hex}"
    blocks = [
        slice(start, min(start + BLOCK_IMAGES, len(corpus))) for start in range(0, len(corpus), BLOCK_IMAGES)
    ]
    model = _Model(str(folder), _stamps(folder))
    calls = ((model, str(shared), rows.start, rows.stop, list(places[rows])) for rows in blocks)
    try:
        corpus.save(shared)
        for rows, presence in zip(blocks, engine.in_order(_presence, calls), strict=True):
            yield AnswerBlock(rows, presence)
    finally:
        shutil.rmtree(shared, ignore_errors=True)


class _Model(NamedTuple):
    """Where a model is, and which: another one may come to lie in its place while a worker remembers it."""

    folder: str
    stamps: tuple[tuple[str, int, int, int], ...]


def _stamps(folder: Path) -> tuple[tuple[str, int, int, int], ...]:
    found = ((path.name, path.stat()) for path in sorted(folder.iterdir()))
    return tuple((name, status.st_ino, status.st_size, status.st_mtime_ns) for name, status in found)


def _presence(model: _Model, corpus: str, start: int, stop: int, places: list[str]) -> np.ndarray:
    """On a worker: the presences of some photos, (B, V)."""
    learned, photos = _learned(model), _photos(corpus)[start:stop]
    return np.concatenate([block.p for block in learned.presence_blocks(photos, places)])


@lru_cache(maxsize=1)
def _learned(model: _Model) -> Learned:
    return load_learned(Path(model.folder), regions=False)


@lru_cache(maxsize=1)
def _photos(folder: str) -> Corpus:
    return Corpus.load(Path(folder), mmap=True)
