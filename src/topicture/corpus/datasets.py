"""Readers of the benchmark data, with their official divisions: Corel subsets, Corel-5k, MSRC v2.

The data is not part of Topicture. Pass its folder as `data=`, or name it in the environment variable
TOPICTURE_DATA; it holds corel16k/, corel5k/ and msrc_v2/. Photographs are handed out as the bytes that are stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from topicture.corpus.archives import DAMAGED, data_folder, one_line, read_members, read_npz
from topicture.corpus.corpus import Corpus
from topicture.corpus.msrc import MSRC, msrc_v2
from topicture.errors import CorpusError

__all__ = [
    "MSRC",
    "Corel5k",
    "Corel16k",
    "RegionFeatures",
    "corel5k",
    "corel5k_test_regions",
    "corel16k",
    "data_folder",
    "msrc_v2",
]

# Arrays of the sparse patterns, by the prefix of their names: which words, and what the words are called.
CAPTIONS = {"word": "words", "lear": "lear_words"}

WordSet = Literal["original", "evaluation"]


# --- Values -----------------------------------------------------------------------------------------------------


class Corel16k(NamedTuple):
    """One of the Corel subsets of Barnard et al. 2003; the parts share vocabulary and visual words."""

    train: Corpus  # about 5,200 images, the "big set" of the papers
    test: Corpus  # about 1,750 images of the same CDs, the "small set"
    novel: Corpus  # about 6,800 images of CDs that the subset holds out: the harder test set


@dataclass(frozen=True)
class Corel5k:
    """Corel-5k of Duygulu et al. 2002. An image id is the picture's name in the archive, such as 1000/1000."""

    train: Corpus  # 4,500 images
    test: Corpus  # 499 images
    archive: Path

    def image_bytes(self, image_id: str) -> bytes:
        """The JPEG of one image; `images` is quicker for many."""
        ((_, jpeg),) = self.images([image_id])
        return jpeg

    def images(self, image_ids: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
        """(image id, JPEG) of the given images, or of all, train first."""
        if image_ids is None:
            image_ids = [*self.train.image_ids, *self.test.image_ids]
        return read_members(self.archive, {str(image): f"{image}.jpeg" for image in image_ids})


class RegionFeatures(NamedTuple):
    """A corpus whose `regions` are real features, and the names of their columns."""

    corpus: Corpus
    feature_names: tuple[str, ...]


# --- Readers ----------------------------------------------------------------------------------------------------


def corel16k(subset: int, data: str | Path | None = None) -> Corel16k:
    """A Corel subset, by its number from 1; visual words are blobs, present or absent.

    Raises
    ------
    DataNotFound
        If the folder or the subset is not there.
    CorpusError
        If the file is damaged.
    """
    path = data_folder(data) / "corel16k" / f"corel16k_{subset:03d}.npz"
    arrays = read_npz(path, [*_blob_names("word"), "mulan_row"])
    ids = [f"{subset:03d}-{row:05d}" for row in arrays["mulan_row"].ravel().tolist()]
    corpus = _blob_corpus(arrays, "word", ids, path)
    return Corel16k(*(corpus[_part(arrays, name, path)] for name in ("train", "test", "novel")))


def corel5k(vocabulary: WordSet = "original", data: str | Path | None = None) -> Corel5k:
    """Corel-5k with its original 374 words, or with the 260 of the usual evaluation: those in both parts.

    One test row repeats its neighbour and has no picture; without it there are the usual 499 test images. Seven
    train images have no word of the 260. Raises as `corel16k` does; pictures are looked for when asked for.
    """
    if vocabulary not in ("original", "evaluation"):
        raise ValueError(f"vocabulary is 'original' or 'evaluation', not {vocabulary!r}")
    folder = data_folder(data) / "corel5k"
    path = folder / "corel5k.npz"
    prefix = "word" if vocabulary == "original" else "lear"
    arrays = read_npz(path, [*_blob_names(prefix), "image"])
    pictures = arrays["image"].ravel().astype(str)
    corpus = _blob_corpus(arrays, prefix, [name or "no picture" for name in pictures.tolist()], path)
    train, test = (corpus[_part(arrays, name, path) & (pictures != "")] for name in ("train", "test"))
    return Corel5k(train, test, folder / "corel5k_images.zip")


def corel5k_test_regions(vocabulary: WordSet = "original", data: str | Path | None = None) -> RegionFeatures:
    """The 499 test images of `corel5k` with the original features of their regions, 30 columns.

    Regions are ordered by decreasing size. Six columns of the file repeat others and are dropped.
    """
    test = corel5k(vocabulary, data).test
    path = data_folder(data) / "corel5k" / "corel5k_test_regions.npz"
    arrays = read_npz(path, ["X", "indptr", "image", "feature_names"])
    names = arrays["feature_names"].ravel().astype(str)
    distinct = ~np.char.endswith(names, "_dup")
    try:
        start_of = dict(zip(arrays["image"].ravel().tolist(), arrays["indptr"][:-1].tolist(), strict=True))
        end_of = dict(zip(arrays["image"].ravel().tolist(), arrays["indptr"][1:].tolist(), strict=True))
        features = arrays["X"][:, distinct].astype(np.float64)
        rows = [np.arange(start_of[image], end_of[image]) for image in test.image_ids.tolist()]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in rows])]).astype(np.int64)
        corpus = replace(test, regions=features[np.concatenate(rows)], region_offsets=offsets)
    except (IndexError, *DAMAGED) as error:
        raise CorpusError(
            f"{path}: does not fit the test images of corel5k.npz ({one_line(error)})"
        ) from None
    return RegionFeatures(corpus, tuple(names[distinct].tolist()))


# --- Parts ------------------------------------------------------------------------------------------------------


def _blob_names(prefix: str) -> list[str]:
    """The arrays that make a corpus of blobs and captions, and its division."""
    sparse_parts = [f"{rows}_{part}" for rows in ("blob", prefix) for part in ("indptr", "indices")]
    return [*sparse_parts, CAPTIONS[prefix], "n_blobs", "split", "split_names"]


def _blob_corpus(arrays: dict[str, np.ndarray], prefix: str, image_ids: Sequence[str], path: Path) -> Corpus:
    words = arrays[CAPTIONS[prefix]].ravel().tolist()
    try:
        return Corpus.from_arrays(
            captions=_presence(arrays, prefix, len(image_ids), len(words)),
            vocabulary=words,
            image_ids=image_ids,
            visual_words=_presence(arrays, "blob", len(image_ids), int(arrays["n_blobs"].item())),
        )
    except DAMAGED as error:
        raise CorpusError(f"{path}: {one_line(error)}") from None


def _presence(arrays: dict[str, np.ndarray], prefix: str, n_rows: int, n_columns: int) -> sparse.csr_array:
    """A 0/1 matrix from the stored pattern of its ones."""
    indptr, indices = (arrays[f"{prefix}_{part}"].astype(np.int64) for part in ("indptr", "indices"))
    matrix = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(n_rows, n_columns))
    matrix.check_format(full_check=True)
    return matrix


def _part(arrays: dict[str, np.ndarray], name: str, path: Path) -> np.ndarray:
    """Which images belong to the named part, (D,) bool."""
    names = arrays["split_names"].ravel().tolist()
    if name not in names:
        raise CorpusError(f"{path}: it has no part called {name!r}, only {names}")
    chosen = arrays["split"].ravel() == names.index(name)
    n_images = len(arrays["blob_indptr"]) - 1
    if len(chosen) != n_images or not chosen.any():
        raise CorpusError(f"{path}: 'split' does not divide its {n_images} images")
    return chosen
