"""The data of the report on Yang et al. 2010: Corel-5k and MSRC v2 from pixels, in small files that travel.

The paper's Alipr and LabelMe pictures are not available. As in the paper a region is a bag of SIFT words of 1,000
patches per image; a second form has one word of deep features per region. The same regions carry real-valued features,
which Corr-LDA needs. Codebooks are k-means on all pictures of a set: they see no caption.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus import Corpus, Vocabulary
from topicture.corpus.datasets import corel5k, msrc_v2
from topicture.errors import CorpusError
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import Recipe
from topicture_experiments.shared.region_truth import RegionTruth, msrc_label_maps, region_truth

__all__ = ["PREPARED", "PROBLEMS", "Problem", "load_problem", "prepare", "save_problem"]

COREL_IMAGES = 2_500  # drawn from 4,999; the paper's Alipr set has 2,359
BORDER = 5  # pixels of slide mount on every side of a Corel picture
MIN_IMAGES = 4  # the paper keeps tags that occur more than three times

# Visual words -> the real-valued features of the same regions, and the size of the codebook for Corel and for MSRC.
_FORMS = {
    "sift": ("visual_words:sift", "regions:blobs", 1_000, 1_000),
    "deep": ("visual_words:deep", "regions:deep", 500, 200),
}
PROBLEMS = tuple(f"{pictures}-{form}" for pictures in ("corel", "msrc") for form in _FORMS)


PREPARED = "yang2010-data"
"""Folder of the prepared problems, among what is kept of the pictures."""


class Problem(NamedTuple):
    corpus: Corpus  # captions, region_words and regions
    region_labels: (
        np.ndarray | None
    )  # (R,) true word of every region, -1 where unknown; None: no truth at all


def prepare(
    folder: Path,
    data: str | None = None,
    cache: str | None = None,
    *,
    names: Sequence[str] = PROBLEMS,
    workers: int = 2,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Path]:
    """Problem -> its file in `folder`; those that are missing are made from the pictures under `data`."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.npz" for name in names}
    for name, path in files.items():
        if not path.exists():
            say(f"measuring the pictures of {name}")
            pictures, form = name.split("-")
            make = _corel if pictures == "corel" else _msrc
            save_problem(path, make(form, data, cache, workers))
    return files


def _corel(form: str, data: str | None, cache: str | None, workers: int) -> Problem:
    words, regions, n_words, _ = _FORMS[form]
    pictures = corel5k("original", data)
    ids = np.concatenate([pictures.train.image_ids, pictures.test.image_ids])
    captions = sparse.csr_array(sparse.vstack([pictures.train.captions, pictures.test.captions]))
    chosen = np.sort(np.random.default_rng(0).permutation(len(ids))[:COREL_IMAGES])
    photos = [Photo(image, jpeg) for image, jpeg in pictures.images(ids[chosen])]
    recipe = Recipe((words, regions), n_words=n_words, border=BORDER)
    corpus = _described(photos, recipe, captions[chosen], pictures.train.vocabulary, cache, workers)
    return Problem(_with_common_words(corpus), None)


def _msrc(form: str, data: str | None, cache: str | None, workers: int) -> Problem:
    words, regions, _, n_words = _FORMS[form]
    pictures = msrc_v2(data)
    recipe = Recipe((words, regions), n_words=n_words)
    maps = msrc_label_maps(pictures, pictures.train.image_ids, recipe, cache)
    maps |= msrc_label_maps(pictures, pictures.test.image_ids, recipe, cache)
    photos = [Photo(image, jpeg, maps[image]) for image, jpeg in pictures.images()]
    captions = sparse.csr_array(sparse.vstack([pictures.train.captions, pictures.test.captions]))
    corpus = _described(photos, recipe, captions, pictures.train.vocabulary, cache, workers)
    V = corpus.n_words
    counts = [region_truth(pictures.class_map(image), maps[image], V) for image in corpus.image_ids.tolist()]
    return Problem(corpus, RegionTruth(np.concatenate(counts)).words)


def _described(photos, recipe, captions, vocabulary, cache, workers) -> Corpus:
    found = describe(photos, recipe, captions=captions, vocabulary=vocabulary, workers=workers, cache=cache)
    if found.unreadable:
        raise CorpusError(f"a picture can't be read: {found.unreadable[0]}")
    return found.corpus


def _with_common_words(corpus: Corpus) -> Corpus:
    """Without the words of fewer than MIN_IMAGES images."""
    kept = np.flatnonzero(np.asarray((corpus.captions > 0).sum(axis=0)).ravel() >= MIN_IMAGES)
    words = Vocabulary(corpus.vocabulary[int(w)] for w in kept)
    return replace(corpus, vocabulary=words, captions=corpus.captions[:, kept])


# --- Files -------------------------------------------------------------------------------------------------------


def save_problem(path: Path, problem: Problem) -> None:
    """One compressed .npz with narrow types: counts as small integers, features as float16 (they are standardised)."""
    corpus = problem.corpus
    assert corpus.regions is not None
    assert corpus.region_offsets is not None
    assert corpus.region_words is not None
    arrays: dict[str, Any] = {
        "image_ids": corpus.image_ids,
        "vocabulary": np.array(corpus.vocabulary.words),
        "region_offsets": corpus.region_offsets,
        "regions": corpus.regions.astype(np.float16),
        **_narrow("captions", corpus.captions),
        **_narrow("region_words", corpus.region_words),
    }
    if problem.region_labels is not None:
        arrays["region_labels"] = problem.region_labels.astype(np.int16)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp.npz")
    np.savez_compressed(unfinished, **arrays)
    os.replace(unfinished, path)


def load_problem(path: Path) -> Problem:
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    corpus = Corpus.from_arrays(
        captions=_wide("captions", arrays),
        vocabulary=arrays["vocabulary"].tolist(),
        image_ids=arrays["image_ids"],
        regions=arrays["regions"].astype(np.float64),
        region_words=_wide("region_words", arrays),
        region_offsets=arrays["region_offsets"],
    )
    labels = arrays.get("region_labels")
    return Problem(corpus, None if labels is None else labels.astype(np.int64))


def _narrow(name: str, matrix: sparse.csr_array) -> dict[str, np.ndarray]:
    return {
        f"{name}_counts": matrix.data.astype(np.uint16),
        f"{name}_columns": matrix.indices.astype(np.uint16),
        f"{name}_lengths": np.diff(matrix.indptr).astype(np.uint16),
        f"{name}_width": np.array(matrix.shape[1]),
    }


def _wide(name: str, arrays: dict[str, np.ndarray]) -> sparse.csr_array:
    lengths = arrays[f"{name}_lengths"].astype(np.int64)
    parts = (
        arrays[f"{name}_counts"].astype(np.float64),
        arrays[f"{name}_columns"].astype(np.int32),
        np.concatenate([[0], np.cumsum(lengths)]),
    )
    return sparse.csr_array(parts, shape=(len(lengths), int(arrays[f"{name}_width"])))
