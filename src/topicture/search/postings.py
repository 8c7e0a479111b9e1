"""Probabilities of many images and words, of which only each image's likeliest words are kept, by word.

posting_starts.npy   int64 (V + 1,): the images that list word w are at posting_starts[w]:posting_starts[w + 1]
posting_images.npy   int32: positions of images, ascending for each word
posting_log_p.npy    ln p(word | image) of these
posting_rest.npy     float32 (V,): ln of the word's mean probability in the images that do not list it

A dense table of a million images and ten thousand words takes 40 GB; this one 0.8 GB. Images that do not list a word
are all alike for it, so a query ranks them by its other words, then as they stand in the collection.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse

from topicture.atomic.mapped import new_array
from topicture.errors import CorpusError
from topicture.models.leading_words import leading_words

__all__ = ["KEPT_WORDS", "Postings", "write_postings"]

KEPT_WORDS = 128
# Entries that are put in order at a time.
_ENTRIES = 1 << 22


class Postings:
    """Rows by word, like those of a dense table (V, D) of ln p: `postings[w]` is one, made when asked for."""

    def __init__(
        self, starts: np.ndarray, images: np.ndarray, log_p: np.ndarray, rest: np.ndarray, n_images: int
    ):
        self.starts, self.images, self.values, self.rest = starts, images, log_p, rest
        self.shape = (len(rest), n_images)

    def __getitem__(self, word: int) -> np.ndarray:
        """ln p of the word in every image, (D,) float32; raises ValueError where the files are damaged."""
        start, stop = int(self.starts[word]), int(self.starts[word + 1])
        images, values = self.images[start:stop], self.values[start:stop]
        if len(images) and not (images.min() >= 0 and images.max() < self.shape[1]):
            raise ValueError("an image that there is not")
        row = np.full(self.shape[1], self.rest[word], np.float32)
        row[images] = values
        return row

    def columns(self, start: int, stop: int) -> np.ndarray:
        """ln p of every word in the images from one position to another, (V, B) float32."""
        found = np.repeat(np.asarray(self.rest, np.float32)[:, None], stop - start, axis=1)
        for word in range(self.shape[0]):
            first, last = int(self.starts[word]), int(self.starts[word + 1])
            images = self.images[first:last]
            here = slice(*np.searchsorted(images, (start, stop)).tolist())
            found[word, images[here] - start] = self.values[first:last][here]
        return found


def write_postings(
    folder: Path, shape: tuple[int, int], dtype: np.dtype, log_blocks: Iterable[np.ndarray], scratch: Path
) -> None:
    """Write the files from blocks (B, V) of ln p, image by image; `scratch` is a file that is removed at the end."""
    n_words, n_images = shape
    kept = min(KEPT_WORDS, n_words)
    pair = np.dtype([("word", np.int32), ("log_p", dtype)])
    counts, listed, total = (np.zeros(n_words) for _ in range(3))
    done = 0
    with open(scratch, "wb") as file:
        for block in log_blocks:
            best: sparse.csr_array = leading_words(block, kept)
            pairs = np.empty(best.nnz, pair)
            pairs["word"], pairs["log_p"] = best.indices, best.data
            file.write(pairs.data)
            counts += np.bincount(best.indices, minlength=n_words)
            listed += np.bincount(best.indices, np.exp(best.data.astype(np.float64)), minlength=n_words)
            total += np.exp(block).sum(axis=0, dtype=np.float64)
            done += len(block)
    if done != n_images:
        raise CorpusError(f"there are {n_images} image ids, and probabilities of {done} images")
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.log(np.maximum(total - listed, 0) / (n_images - counts))
    np.save(folder / "posting_starts.npy", starts, allow_pickle=False)
    rest = np.where(counts < n_images, np.minimum(rest, 0), -np.inf).astype(np.float32)
    np.save(folder / "posting_rest.npy", rest, allow_pickle=False)
    if n_images * kept:
        _by_word(folder, np.memmap(scratch, pair, "r", shape=(n_images, kept)), starts)
    else:
        np.save(folder / "posting_images.npy", np.zeros(0, np.int32), allow_pickle=False)
        np.save(folder / "posting_log_p.npy", np.zeros(0, dtype), allow_pickle=False)
    scratch.unlink()


def _by_word(folder: Path, pairs: np.ndarray, starts: np.ndarray) -> None:
    """Pairs by image (D, K) into the files by word, a part at a time."""
    (D, kept), size = pairs.shape, (pairs.size,)
    images = new_array(folder / "posting_images.npy", np.int32, size)
    log_p = new_array(folder / "posting_log_p.npy", pairs.dtype["log_p"], size)
    free = starts[:-1].copy()
    step = max(1, _ENTRIES // kept)
    for first in range(0, D, step):
        part = pairs[first : first + step]
        word = part["word"].ravel()
        order = np.argsort(word, kind="stable")
        words, begins, times = np.unique(word[order], return_index=True, return_counts=True)
        place = np.repeat(free[words] - begins, times) + np.arange(len(order))
        images[place] = first + order // kept
        log_p[place] = part["log_p"].ravel()[order]
        free[words] += times
    images.flush()
    log_p.flush()
