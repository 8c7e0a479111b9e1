"""What people have said about the photos, in the form that learning needs.

A photo that its owner tagged has a caption: it says of every word whether it is there (`store.decisions.captions`: of
files, or of what was typed here where files have few). Words that were accepted or rejected for another photo are
answers: each says something of its word alone. Where captions are few, photos with accepted words stand in for them.

What was accepted in bulk is the model's own opinion: it is no caption, teaches nothing and counts as not judged, until
a person confirms it.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicture.annotations.choice.trials import N_FOLDS
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError
from topicture.models.blends.hidden_answers import GIVEN, NO, YES, by_image
from topicture.models.look_alikes import look_alikes
from topicture.store import Catalog
from topicture.store.decisions.captions import CAPTIONING
from topicture.store.decisions.decisions import BY_MACHINE
from topicture.store.files import LivingImage

__all__ = ["LEAST_TEACHING", "MOST_PAIRS", "TrainingTags", "gather", "hidden_together", "moments"]

# Tables of more photos and words than this are sparse.
MOST_PAIRS = 1 << 25
LEAST_TEACHING = 0.5  # answers for each word of captions, from which on models learn from them
# Owners' captions that suffice, however many other photos there are with accepted words.
ENOUGH_CAPTIONS = 200
_PRESENT, _REJECTED, _GIVEN, _ASKED, _SUGGESTED, _IMPLIED = 1, 2, 4, 8, 16, 32


@dataclass(frozen=True, eq=False)
class TrainingTags:
    """D photos in the order of their content, V words, and the verdicts on them; large tables are sparse.

    Attributes
    ----------
    images : the photos
    vocabulary : words that enough photos carry
    captions : the words of each photo that has a caption, those outside the vocabulary left out
    truth : (D, V) bool, the photo has the word
    known : (D, V) bool, a person has judged the pair; where sparse, without the other words of a captioned photo
    rejected : (D, V) bool
    captioned : (D,) bool, the photo has a caption of its owner's
    given : (D, V) bool, the word is in that caption, rather than an answer to a question
    asked : (D, V) bool, an answer to a question that was drawn at random ("did you leave this out?")
    too_rare : words that too few photos carry
    suggested : (D, V) bool, a verdict on what a model had suggested; None where there is no catalog that would tell
    taken_back : how many words of owners' captions a person rejected later
    lots : (D, V) sparse, how many pairs each question that was drawn stands for, up to a factor; None: all alike
    implied : (D, V) bool, a word below it says as much of the photo; None: no word is below another
    """

    images: list[LivingImage]
    vocabulary: Vocabulary
    captions: list[list[str]]
    truth: Any
    known: Any
    rejected: Any
    captioned: NDArray[np.bool_]
    given: Any
    asked: Any
    too_rare: tuple[str, ...]
    suggested: Any = None
    taken_back: int = 0
    lots: sparse.csr_array | None = None
    implied: Any = None

    @property
    def answers(self) -> sparse.csr_array:
        """(D, V) what was answered about photos without a caption: 1 yes, -1 no."""
        alone = np.array([not words for words in self.captions], np.int8) * ~self.captioned
        said = sparse.csr_array(self.truth, dtype=np.int8) - sparse.csr_array(self.rejected, dtype=np.int8)
        found = sparse.csr_array(said.multiply(alone[:, None]))
        found.eliminate_zeros()
        return found

    @property
    def teaching(self) -> sparse.csr_array:
        """The same where models learn from it: where answers are few beside captions, what nobody had suggested.

        Questions were chosen by what the last model told. Where the next one has learned from the answers, it tells
        something else of these photos, and the choice is no longer fair: few answers correct promises better than they
        teach models (docs/models.md 13).
        """
        answers = self.answers
        n_given = sum(len(words) for words in self.captions)
        if self.suggested is None or answers.nnz >= LEAST_TEACHING * n_given:
            return answers
        found = answers - answers.multiply(sparse.csr_array(self.suggested, dtype=np.int8))
        found.eliminate_zeros()
        return sparse.csr_array(found)

    def taught(self, corpus: Corpus, kept: Any) -> Corpus:
        """A corpus of captions with the answers about the photos `kept` in it that models learn from."""
        return corpus.with_answers(self.teaching[kept])

    def with_all_answers(self, corpus: Corpus, kept: Any) -> Corpus:
        """The same with all of them."""
        return corpus.with_answers(self.answers[kept])

    def denying(self, corpus: Corpus, kept: Any) -> Corpus:
        """The corpus with what people rejected on photos that have a caption in it: that was not left out."""
        said = sparse.csr_array(self.rejected, dtype=np.int8)[kept]
        no = sparse.csr_array(said.multiply(corpus.tagged.astype(np.int8)[:, None]))
        if not no.nnz:
            return corpus
        return corpus.with_answers(-no if corpus.answers is None else corpus.answers - no)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """(D,) photos that people said anything about."""
        return (np.asarray(self.known.sum(axis=1)).ravel() > 0) | self.captioned

    @property
    def shown(self) -> Any:
        """(D, V) bool, what captions gave of photos that have one, and what was accepted of others.

        Without what words below imply: two kinds of tags are not on a photo of a tiger because tigers are animals.
        """
        others = sparse.csr_array(self.truth).multiply(~self.captioned[:, None])
        found = sparse.csr_array(others, dtype=bool) + sparse.csr_array(self.given)
        if self.implied is not None:
            found = sparse.csr_array(found > found.multiply(sparse.csr_array(self.implied)))
        return found if sparse.issparse(self.truth) else found.toarray()

    @property
    def answered(self) -> Any:
        """(D, V) bool, verdicts on photos without a caption that say how often promises come true.

        A word that somebody typed for some photos, and never denied, was chosen because it is true there: it teaches,
        and is no sample of anything.
        """
        known = sparse.csr_array(self.known, dtype=np.int8)
        open_ = sparse.csr_array(known.multiply(~self.captioned[:, None]))
        if self.suggested is not None:
            typed = open_ - open_.multiply(sparse.csr_array(self.suggested, dtype=np.int8))
            denied = np.asarray(
                typed.multiply(sparse.csr_array(self.rejected, dtype=np.int8)).sum(axis=0)
            ).ravel()
            open_ = open_ - sparse.csr_array(typed.multiply((denied == 0)[None, :]))
        open_.eliminate_zeros()
        found = sparse.csr_array(open_, dtype=bool)
        return found if sparse.issparse(self.known) else found.toarray()

    def n_answers(self, rows: Any) -> int:
        """How many such verdicts there are on words of some photos."""
        return int(self.answered[rows].sum())

    @property
    def by_content(self) -> dict[str, dict[str, int]]:
        """What was said, by the contents of photos in hexadecimal and by words; see `hidden_answers.Said`."""
        answered = sparse.csr_array(self.teaching)
        yes_and_no = sparse.csr_array(
            YES * (answered > 0).astype(np.int8) + NO * (answered < 0).astype(np.int8)
        )
        found = by_image([image.content.hex() for image in self.images], self.vocabulary.words, yes_and_no)
        for image, words in zip(self.images, self.captions, strict=True):
            if words:
                found[image.content.hex()] = dict.fromkeys(words, GIVEN)
        return found

    @property
    def _tables(self) -> tuple[str, ...]:
        names = ("truth", "known", "rejected", "given", "asked", "suggested", "implied")
        return tuple(name for name in names if getattr(self, name) is not None)

    def at(self, rows: Any) -> "TrainingTags":
        """What is said of some photos, in dense tables; the lists of photos and captions stay whole."""
        tables = {
            name: table.toarray() if sparse.issparse(table := getattr(self, name)[rows]) else table
            for name in self._tables
        }
        captioned = self.captioned[rows]
        tables["known"] = tables["known"] | captioned[:, None]
        lots = None if self.lots is None else self.lots[rows]
        return replace(self, **tables, captioned=captioned, lots=lots)

    def in_words(self, vocabulary: Vocabulary) -> "TrainingTags":
        """The same in the words of a model: words that are new are left out, words gone are on no photo."""
        pairs = [
            (self.vocabulary.index(w), column) for column, w in enumerate(vocabulary) if w in self.vocabulary
        ]
        old, new = np.array(pairs, np.int64).reshape(-1, 2).T
        columns = sparse.csr_array(
            (np.ones(len(old), np.int8), (old, new)), shape=(len(self.vocabulary), len(vocabulary))
        )
        tables = {
            name: sparse.csr_array(sparse.csr_array(getattr(self, name), dtype=np.int8) @ columns, dtype=bool)
            for name in self._tables
        }
        captions = [[word for word in words if word in vocabulary] for words in self.captions]
        lots = None if self.lots is None else sparse.csr_array(self.lots @ columns)
        return replace(self, **tables, vocabulary=vocabulary, captions=captions, lots=lots)


def moments(images: Sequence[LivingImage]) -> NDArray[np.float64]:
    """The seconds (D,) when photos were taken, NaN where their files do not say."""
    return np.array([np.nan if image.taken is None else image.taken for image in images], float)


def hidden_together(corpus: Corpus, images: Sequence[LivingImage]) -> NDArray[np.int64]:
    """Groups (D,) of photos that tell each other's tags: bursts, near copies, a photo and its edited copies."""
    return look_alikes(
        corpus,
        [dirname(image.path) for image in images],
        seconds=moments(images),
        photos=[image.image if image.edit_of is None else image.edit_of for image in images],
    )


def gather(catalog: Catalog, min_count: int, words: Iterable[str] | None = None) -> TrainingTags:
    """Everything that stands in the catalog about the photos that have a file.

    In `words`, where these are given, and else in those that are on `min_count` photos. Raises CorpusError where there
    is nothing to learn from.
    """
    images = catalog.files.living()
    position = {image.image: i for i, image in enumerate(images)}
    tags = [
        (position[image], word, verdict, source)
        for image, word, verdict, source in catalog.tree.with_implied(catalog.decisions.all_tags())
        if image in position and source not in BY_MACHINE
    ]
    counts = Counter(word for _, word, verdict, _ in tags if verdict == "present")
    if not counts:
        raise CorpusError(
            "no photo carries a tag yet: tag some with any photo manager, 'topicture import' or 'topicture tag'"
        )
    frequent = sorted((word for word, n in counts.items() if n >= min_count) if words is None else words)
    if not frequent:
        raise CorpusError(f"no tag is on at least {min_count} photos; tag more, or lower --min-count")
    column = {word: i for i, word in enumerate(frequent)}
    drawn, suggested = catalog.questions.weights(), catalog.decisions.answered_suggestions()
    typed = catalog.decisions.captions.typed_images()
    implied = _implied(
        catalog, [(row, word) for row, word, verdict, _ in tags if verdict == "present" and word in column]
    )
    captioned = np.zeros(len(images), bool)
    captions: list[list[str]] = [[] for _ in images]
    at, said = array("q"), array("b")
    for row, word, verdict, source in tags:
        present, pair = verdict == "present", (images[row].image, word)
        of_owner = source in CAPTIONING or (pair[0] in typed and pair not in suggested and pair not in drawn)
        captioned[row] |= present and of_owner
        if word not in column:
            continue
        at.append(row * len(frequent) + column[word])
        said.append(
            present * _PRESENT
            | (verdict == "rejected" and source != "delete") * _REJECTED
            | (present and of_owner) * _GIVEN
            | (source == "review" and pair in drawn) * _ASKED
            | (pair in suggested) * _SUGGESTED
            | ((row, word) in implied) * _IMPLIED
        )
        if present:
            captions[row].append(word)
    if _captions_suffice(captions, captioned):
        captions = [words if of_owner else [] for words, of_owner in zip(captions, captioned, strict=True)]
    tables = _tables(np.frombuffer(at, np.int64), np.frombuffer(said, np.int8), captioned, len(frequent))
    lots = [
        (position[image], column[word], weight)
        for (image, word), weight in drawn.items()
        if image in position and word in column
    ]
    rare = tuple(sorted(counts.keys() - column.keys()))
    taken_back = catalog.decisions.n_taken_back()
    return TrainingTags(
        images,
        Vocabulary(frequent),
        captions,
        captioned=captioned,
        too_rare=rare,
        taken_back=taken_back,
        lots=_sparse(lots, (len(images), len(frequent))),
        **tables,
    )


def _sparse(values: list[tuple[int, int, float]], shape: tuple[int, int]) -> sparse.csr_array:
    rows, words, weights = (np.array(part) for part in zip(*values, strict=True)) if values else ([], [], [])
    return sparse.csr_array((np.asarray(weights, float), (rows, words)), shape=shape)


def _implied(catalog: Catalog, present: list[tuple[int, str]]) -> set[tuple[int, str]]:
    """Of photos and words that they have, in pairs: words that stand above another of the photo's."""
    above = {word: path[:-1] for word, path in catalog.tree.paths().items()}
    return {(row, ancestor) for row, word in present for ancestor in above.get(word, ())}


def _captions_suffice(captions: list[list[str]], captioned: NDArray[np.bool_]) -> bool:
    """Whether models can learn from, and be judged by, owners' captions; else accepted words are captions as well."""
    has_words = np.array([bool(words) for words in captions])
    n_captions, n_accepted = int((has_words & captioned).sum()), int((has_words & ~captioned).sum())
    return n_captions >= max(N_FOLDS, min(n_accepted, ENOUGH_CAPTIONS))


def _tables(
    at: NDArray[np.int64], said: NDArray[np.int8], captioned: NDArray[np.bool_], n_words: int
) -> dict[str, Any]:
    """The tables of verdicts `said` on pairs `at` (row x words + column), of which the last on a pair counts."""
    pair, last = np.unique(at[::-1], return_index=True)
    row, verdict, shape = pair // n_words, said[::-1][last], (len(captioned), n_words)
    few = shape[0] * shape[1] <= MOST_PAIRS

    def table(is_so: NDArray[np.bool_]) -> Any:
        found = sparse.csr_array(
            (np.ones(is_so.sum(), bool), (row[is_so], pair[is_so] % n_words)), shape=shape
        )
        return found.toarray() if few else found

    tables = {
        "truth": table((verdict & _PRESENT) > 0),
        "rejected": table((verdict & _REJECTED) > 0),
        "given": table((verdict & _GIVEN) > 0),
        "asked": table(((verdict & _ASKED) > 0) & captioned[row]),
        "suggested": table((verdict & _SUGGESTED) > 0),
        "implied": table((verdict & _IMPLIED) > 0) if (verdict & _IMPLIED).any() else None,
        "known": table(np.ones(len(pair), bool)),
    }
    if few:
        tables["known"][captioned] = True
    return tables
