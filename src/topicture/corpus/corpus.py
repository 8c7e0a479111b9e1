"""Corpus: D images as numbers, the one input of every model.

D images, N_d regions of image d (R in all), F real features, U visual words, L descriptor columns, V words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from topicture.corpus import answers as single_answers
from topicture.corpus import checks, files, omissions
from topicture.corpus.rows import take_rows
from topicture.corpus.vocabulary import Vocabulary
from topicture.errors import CorpusError

__all__ = ["Corpus"]


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """A frozen collection of images, their visual views and their captions.

    Build one with `Corpus.from_arrays`. Arrays are read-only; a missing view is None.

    Attributes
    ----------
    image_ids : (D,) str, distinct
    vocabulary : Vocabulary of V words
    captions : (D, V) sparse counts; an all-zero row means "not tagged"
    regions : (R, F) float64 or float32, all regions stacked, or None
    region_offsets : (D+1,) int; the regions of image d are rows region_offsets[d]:region_offsets[d+1]
    region_words : (R, U) sparse counts of visual words in each region, or None
    visual_words : (D, U) sparse counts of visual words in each image, or None
    descriptor : (D, L) float64 or float32, or None; dense views may be mapped from disk
    word_vectors : (V, L) what a text encoder says of the words, in the descriptor's space, or None; a row of zeros says
        nothing
    answers : (D, V) sparse, 1 where somebody said that the word is true of the image, -1 that it is not, or None; of
        the image's other words nothing is known. Where an image has a caption, that counts, whatever was answered; a
        no keeps the word from being thought left out
    completeness : (V,) share of each word's true tags that captions hold, or None: captions are complete
    places : (D,) int, the same for images from one place, such as a folder, or None
    """

    image_ids: np.ndarray
    vocabulary: Vocabulary
    captions: sparse.csr_array
    regions: np.ndarray | None = None
    region_offsets: np.ndarray | None = None
    region_words: sparse.csr_array | None = None
    visual_words: sparse.csr_array | None = None
    descriptor: np.ndarray | None = None
    word_vectors: np.ndarray | None = None
    answers: sparse.csr_array | None = None
    completeness: np.ndarray | None = None
    places: np.ndarray | None = None

    def __post_init__(self) -> None:
        checks.check_corpus(self)
        single_answers.check_answers(self)
        omissions.check_omissions(self)
        for field in fields(self):
            checks.freeze(getattr(self, field.name))

    # --- Making one --------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        captions: Any = None,
        vocabulary: Vocabulary | Sequence[str] | None = None,
        *,
        image_ids: Sequence[str] | None = None,
        regions: Any = None,
        region_offsets: Any = None,
        region_words: Any = None,
        visual_words: Any = None,
        descriptor: Any = None,
        word_vectors: Any = None,
        answers: Any = None,
        completeness: Any = None,
        places: Any = None,
    ) -> "Corpus":
        """A corpus from plain arrays, lists or scipy.sparse matrices; validated, copied where needed.

        `regions` and `region_words` are a list of one (N_d, .) array per image, or stacked rows with
        `region_offsets`. Without `captions` every image is untagged; without `vocabulary` the words are
        called word0, word1, ...; without `image_ids` images are numbered. `visual_words` defaults to the
        per-image sum of `region_words`. `answers` are 1 for yes, -1 for no and 0 where nobody was asked;
        `places` may be names of folders.
        """
        if regions is not None and region_offsets is None:
            regions, region_offsets = checks.stack_regions(regions, "regions")
            if region_words is not None:
                region_words, word_offsets = checks.stack_regions(region_words, "region_words")
                checks.check_same_regions(region_offsets, word_offsets, image_ids)
        elif region_words is not None and region_offsets is None:
            region_words, region_offsets = checks.stack_regions(region_words, "region_words")

        region_offsets = checks.positions(region_offsets, "region_offsets")
        region_words = checks.counts(region_words, "region_words")
        visual_words = checks.counts(visual_words, "visual_words")
        captions = checks.counts(captions, "captions")
        regions = checks.reals(regions, "regions")
        descriptor = checks.reals(descriptor, "descriptor")

        n_images = checks.number_of_images(image_ids, captions, visual_words, descriptor, region_offsets)
        if captions is None:
            if vocabulary is None:
                raise CorpusError("captions: give captions, or a vocabulary for a corpus without any")
            captions = sparse.csr_array((n_images, len(tuple(vocabulary))), dtype=np.float64)
        if vocabulary is None:
            vocabulary = [f"word{i}" for i in range(captions.shape[1])]
        if image_ids is None:
            image_ids = [f"image{i:06d}" for i in range(n_images)]
        ids = np.array(image_ids, dtype=np.str_)
        if visual_words is None and region_words is not None and region_offsets is not None:
            checks.check_offsets(region_offsets, ids, {"region_words": region_words})
            visual_words = checks.sum_by_image(region_words, region_offsets)
        return cls(
            image_ids=ids,
            vocabulary=vocabulary if isinstance(vocabulary, Vocabulary) else Vocabulary(vocabulary),
            captions=captions,
            regions=regions,
            region_offsets=region_offsets,
            region_words=region_words,
            visual_words=visual_words,
            descriptor=descriptor,
            word_vectors=checks.reals(word_vectors, "word_vectors"),
            answers=single_answers.answers_of(answers),
            completeness=omissions.shares_of(completeness),
            places=omissions.places_of(places),
        )

    @classmethod
    def concat(cls, parts: Sequence["Corpus"]) -> "Corpus":
        """The images of several corpora one after the other; vocabularies and views must agree."""
        if not parts:
            raise CorpusError("concat: no corpus given")
        first = parts[0]
        for i, part in enumerate(parts[1:], start=1):
            checks.check_compatible(first, part, f"concat: part {i}")
            if not checks.same(first.completeness, part.completeness):
                raise CorpusError(f"concat: part {i}: its completeness differs")
        views: dict[str, Any] = {}
        for name in ("regions", "descriptor"):
            arrays = [getattr(part, name) for part in parts]
            views[name] = None if arrays[0] is None else np.concatenate(arrays)
        for name in ("region_words", "visual_words"):
            arrays = [getattr(part, name) for part in parts]
            views[name] = None if arrays[0] is None else checks.canonical(sparse.vstack(arrays))
        if first.region_offsets is not None:
            sizes = np.concatenate([part.n_regions for part in parts])
            views["region_offsets"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(
            image_ids=np.concatenate([part.image_ids for part in parts]),
            vocabulary=first.vocabulary,
            captions=checks.canonical(sparse.vstack([part.captions for part in parts])),
            word_vectors=first.word_vectors,
            answers=single_answers.stacked(parts),
            completeness=first.completeness,
            places=omissions.stacked_places(parts),
            **views,
        )

    # --- Sizes -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.image_ids)

    @property
    def n_words(self) -> int:
        return len(self.vocabulary)

    @property
    def n_features(self) -> int | None:
        return None if self.regions is None else self.regions.shape[1]

    @property
    def n_visual_words(self) -> int | None:
        bags = self.visual_words if self.visual_words is not None else self.region_words
        return None if bags is None else bags.shape[1]

    @property
    def n_regions(self) -> np.ndarray:
        """Number of regions of each image, (D,)."""
        if self.region_offsets is None:
            return np.zeros(len(self), np.int64)
        return np.diff(self.region_offsets)

    @cached_property
    def tagged(self) -> np.ndarray:
        """Which images carry at least one word, (D,) bool."""
        return np.asarray(self.captions.sum(axis=1)).ravel() > 0

    @cached_property
    def answered(self) -> np.ndarray:
        """Which images carry no word, but an answer about one, (D,) bool."""
        if self.answers is None:
            return np.zeros(len(self), bool)
        return (np.diff(self.answers.indptr) > 0) & ~self.tagged

    @property
    def n_with_words(self) -> int:
        """How many images carry a word, given in a caption or by an answer."""
        return int(self.answers_as_captions().tagged.sum())

    @property
    def taught(self) -> np.ndarray:
        """Which images anything was said about, (D,) bool: tagged, or answered."""
        return self.tagged | self.answered

    # --- Parts -------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> "Corpus":
        """The images at a slice, an array of positions or a boolean mask, in that order."""
        rows = np.arange(len(self))[index]
        rows = np.atleast_1d(rows)
        if rows.size == 0:
            raise CorpusError(f"corpus: the selection of its {len(self)} images is empty")
        times = np.bincount(rows)
        if times.max() > 1:
            twice = str(self.image_ids[int(np.argmax(times > 1))])
            raise CorpusError(f"image_ids: {twice!r} occurs {times.max()} times")
        views: dict[str, Any] = {}
        if self.region_offsets is not None:
            sizes = self.n_regions[rows]
            region_rows = checks.ranges(self.region_offsets[rows], sizes)
            views["region_offsets"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            views["regions"] = take_rows(self.regions, region_rows)
            views["region_words"] = take_rows(self.region_words, region_rows)
        return self._with(
            image_ids=self.image_ids[rows],
            captions=self.captions[rows],
            visual_words=take_rows(self.visual_words, rows),
            descriptor=take_rows(self.descriptor, rows),
            answers=single_answers.some_answers(take_rows(self.answers, rows)),
            places=None if self.places is None else self.places[rows],
            **views,
        )

    def _with(self, **changes: Any) -> "Corpus":
        """A corpus made of parts of this one: they were checked when this one was made, and may be large."""
        made = object.__new__(Corpus)
        for field in fields(self):
            value = changes.get(field.name, getattr(self, field.name))
            checks.freeze(value)
            object.__setattr__(made, field.name, value)
        return made

    def without_captions(self, mask: Any = None) -> "Corpus":
        """The same images untagged: all of them, or those where the boolean mask (D,) is true; answers go, too."""
        hidden = np.ones(len(self), bool) if mask is None else np.asarray(mask, bool)
        if hidden.shape != (len(self),):
            raise CorpusError(f"without_captions: the mask has shape {hidden.shape}, not ({len(self)},)")
        keep = sparse.dia_array((np.where(hidden, 0.0, 1.0)[None, :], [0]), shape=(len(self), len(self)))
        captions = checks.canonical(keep @ self.captions)
        if self.answers is None:
            return self._with(captions=captions)
        return self._with(
            captions=captions, answers=single_answers.some_answers(checks.canonical(keep @ self.answers))
        )

    def with_captions(self, captions: Any) -> "Corpus":
        """The same images with other captions, (D, V)."""
        checked = Corpus(self.image_ids, self.vocabulary, checks.counts(captions, "captions"))
        return self._with(captions=checked.captions)

    def without_answers(self) -> "Corpus":
        """The same images with captions only; where these may lack words, with what they were said not to lack."""
        if self.answers is None or self.completeness is None:
            return self._with(answers=None)
        tagged = sparse.dia_array((self.tagged[None, :].astype(float), [0]), shape=(len(self), len(self)))
        return self._with(answers=single_answers.some_answers(checks.canonical(tagged @ self.answers)))

    def with_answers(self, answers: Any) -> "Corpus":
        """The same images with other answers, (D, V)."""
        made = self._with(answers=single_answers.answers_of(answers))
        single_answers.check_answers(made)
        return made

    def with_omissions(self, completeness: Any, places: Any = None) -> "Corpus":
        """The same images whose captions may lack words: shares (V,) of true tags that they hold, and folders (D,).

        None for the shares: captions are complete.
        """
        shares = omissions.shares_of(completeness)
        made = self._with(completeness=shares, places=None if shares is None else omissions.places_of(places))
        omissions.check_omissions(made)
        return made

    def answers_as_captions(self) -> "Corpus":
        """For models that know captions only: a word that was said to be true is a caption, a no is nothing."""
        if self.answers is None:
            return self
        return self._with(captions=single_answers.as_captions(self), answers=None)

    def split(self, parts: Sequence[float] | Sequence[int], *, seed: int) -> tuple["Corpus", ...]:
        """Random disjoint parts: fractions that sum to at most 1, or numbers of images.

        Images of a part keep their order in the corpus. The same seed gives the same parts.
        """
        sizes = checks.part_sizes(parts, len(self))
        order = np.random.default_rng(seed).permutation(len(self))
        ends = np.cumsum(sizes)
        return tuple(self[np.sort(order[end - size : end])] for end, size in zip(ends, sizes, strict=True))

    # --- Files -------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write a folder of .npy files and a JSON header; the folder appears whole or not at all."""
        files.save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, *, mmap: bool = True) -> "Corpus":
        """Read what `save` wrote; with `mmap` large arrays stay on disk until they are touched."""
        return cls(**files.load(Path(folder), mmap=mmap))

    # --- Habits ------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Corpus):
            return NotImplemented
        return all(checks.same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        views = [
            f"{self.regions.shape[0]} regions x {self.regions.shape[1]}" if self.regions is not None else "",
            f"bags per region over {self.region_words.shape[1]}" if self.region_words is not None else "",
            f"{self.visual_words.shape[1]} visual words" if self.visual_words is not None else "",
            f"descriptor of {self.descriptor.shape[1]}" if self.descriptor is not None else "",
        ]
        tagged, answered = int(self.tagged.sum()), int(self.answered.sum())
        others = f", {answered} answered" if answered else ""
        return (
            f"Corpus({len(self)} images, {tagged} tagged{others}, {self.n_words} words; "
            + "; ".join(filter(None, views))
            + ")"
        )
