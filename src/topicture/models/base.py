"""What every annotator can do, and what the EM-fitted ones share."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from sklearn.base import BaseEstimator

from topicture.corpus import Corpus, Vocabulary
from topicture.corpus.batches import missing_view
from topicture.devices import on_chosen_device
from topicture.errors import CorpusError, ModelFileError, NotFitted, TopictureError
from topicture.models.array_shapes import check_arrays
from topicture.models.checks import ParameterChecks
from topicture.models.completion import completed
from topicture.models.files import read_model, write_model
from topicture.models.leading_words import leading_words

__all__ = ["Annotator", "AnswerBlock", "columns_of"]

# Images of a block: what a model holds per image and word while it answers is some 64 bytes, in all about this much. A
# single table is then below 32 MB: more comes fresh from the system each time, which takes longer than to fill it.
_BLOCK_BYTES = 128 << 20
_BYTES_PER_WORD = 64
_BLOCK_IMAGES = (64, 8192)


class AnswerBlock(NamedTuple):
    """Answers for some images that stand side by side in a corpus."""

    rows: slice
    p: Any  # (B, V) float32, or sparse where only the most probable words were asked for


def columns_of(corpus: Corpus, view: str) -> int | None:
    """Number of columns of a view, None if the corpus lacks it."""
    values = getattr(corpus, view)
    return None if values is None else int(values.shape[1])


class Annotator(ParameterChecks, BaseEstimator):
    """Learns from a partly captioned corpus and gives every image a distribution over the vocabulary.

    Hyper-parameters are fields of a dataclass; those that a family shares are declared once, in its abstract base.
    What `fit` finds ends in an underscore. A subclass sets `name` (its registry name), `needs` (views of the corpus),
    `uses_answers` (whether it learns from single answers; if not, a yes is a caption to it and a no is nothing),
    `least_part` (where the corpus says how complete captions are, it learns from what they probably lack, as parts of
    words from this size on; None: absent means no), and implements `_fit`, `_annotate`, `_state` and `_restore`. A
    class is abstract or final: no annotator that can be made is the base of another.

    Attributes
    ----------
    vocabulary_ : the words it learned
    objective_trace_ : (n_iter_ + 1,) objective before the first and after every step; empty without iterations
    n_iter_ : number of iterations
    result_ : why the fit ended, in words
    """

    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    labels_regions: ClassVar[bool] = False
    uses_answers: ClassVar[bool] = False
    least_part: ClassVar[float | None] = None

    vocabulary_: Vocabulary
    columns_: dict[str, int]
    objective_trace_: np.ndarray
    n_iter_: int
    result_: str

    # --- Learn -------------------------------------------------------------------------------------------

    def fit(self, corpus: Corpus, *, callback: Callable[[Any], None] | None = None) -> Self:
        """Learn from the images, tagged and untagged; the result does not depend on their order.

        `callback` is told about progress (topicture.models.em.loop.Progress for EM models). Raises CorpusError if the
        corpus lacks a view that the model needs.
        """
        columns = self._columns(corpus)
        self._check_params()
        learned_from = self._completed(_in_canonical_order(corpus))
        if not self.uses_answers:
            learned_from = learned_from.answers_as_captions()
        with on_chosen_device():
            self._fit(learned_from, callback)
        self.vocabulary_ = corpus.vocabulary
        self.columns_ = columns
        return self

    def _completed(self, corpus: Corpus) -> Corpus:
        """What is learned from, where captions may lack words."""
        if corpus.completeness is None:
            return corpus
        return corpus.with_omissions(None) if self.least_part is None else completed(corpus, self.least_part)

    def _check_params(self) -> None:
        """Nothing to check, unless a model has parameters."""

    @abstractmethod
    def _fit(self, corpus: Corpus, callback: Callable[[Any], None] | None) -> None: ...

    # --- Use ---------------------------------------------------------------------------------------------

    @final
    def annotate(self, corpus: Corpus, **options: Any) -> np.ndarray:
        """p(word | image) for every image, (D, V), rows sum to 1. Captions of the corpus are not looked at.

        `options` are those of the model's `_annotate`; most have none. Nothing overrides this method, so whoever asks,
        a user or a blend, gets the same answer.
        """
        self._check_usable(corpus)
        blocks = self._blocks(corpus, options)
        first = next(blocks)
        if len(first.p) == len(corpus):
            return first.p
        p = np.empty((len(corpus), len(self.vocabulary_)))
        p[first.rows] = first.p
        for rows, part in blocks:
            p[rows] = part
        return p

    @final
    def annotate_blocks(
        self, corpus: Corpus, top: int | None = None, **options: Any
    ) -> Iterator[AnswerBlock]:
        """What `annotate` says, in float32 and block by block: nothing of size images x words is ever held.

        With `top`, only the so many most probable words of each image, as a sparse matrix. An image's answer is the
        same whatever block it is in.
        """
        self._check_usable(corpus)
        if top is not None and top < 1:
            raise TopictureError(f"{self.name}: top is a number of words, at least 1; got {top}")
        blocks = ((rows, p.astype(np.float32)) for rows, p in self._blocks(corpus, options))
        return (AnswerBlock(rows, p if top is None else leading_words(p, top)) for rows, p in blocks)

    def _blocks(self, corpus: Corpus, options: dict[str, Any]) -> Iterator[AnswerBlock]:
        size = int(np.clip(_BLOCK_BYTES // (_BYTES_PER_WORD * len(self.vocabulary_)), *_BLOCK_IMAGES))
        for start in range(0, len(corpus), size):
            rows = slice(start, min(start + size, len(corpus)))
            whole = rows == slice(0, len(corpus))
            # An option with a row per image is cut as the images are.
            own = {
                name: value[rows]
                if not whole and getattr(value, "shape", ())[:1] == (len(corpus),)
                else value
                for name, value in options.items()
            }
            with on_chosen_device():
                p = self._finite(self._annotate(corpus if whole else corpus[rows], **own))
            yield AnswerBlock(rows, p)

    def _finite(self, p: np.ndarray) -> np.ndarray:
        """An answer, unless it is none: a model file may hold numbers that overflow on the way."""
        if not np.isfinite(p).all():
            raise ModelFileError(
                f"{self.name}: its answers are not numbers; the model is damaged: learn again"
            )
        return p

    @abstractmethod
    def _annotate(self, corpus: Corpus) -> np.ndarray: ...

    def label_regions(self, corpus: Corpus) -> list[np.ndarray]:
        """p(word | region), one (N_d, V) array per image."""
        if not self.labels_regions:
            raise TopictureError(f"{self.name}: the model has no word distribution for regions")
        self._check_usable(corpus)
        return self._label_regions(corpus)

    def _label_regions(self, corpus: Corpus) -> list[np.ndarray]:
        raise NotImplementedError

    # --- Files -------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one safetensors file, atomically."""
        self._check_fitted()
        write_model(path, *self._file_content())

    def _file_content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model file; a model that holds another one nests the other's."""
        arrays, facts = self._state()
        header = {
            "model": self.name,
            "version": self.version,
            "params": self._header_params(),
            "vocabulary": list(self.vocabulary_.words),
            "columns": self.columns_,
            "n_iter": int(self.n_iter_),
            "result": self.result_,
            "facts": facts,
        }
        return header, {**arrays, "objective_trace": np.asarray(self.objective_trace_, np.float64)}

    def _header_params(self) -> dict[str, Any]:
        """Hyper-parameters as JSON values."""
        return self.get_params(deep=False)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model of this class; `topicture.load_annotator` reads any."""
        header, arrays = read_model(path)
        if header.get("model") != cls.name:
            raise ModelFileError(f"{path}: holds a {header.get('model')!r} model, not {cls.name!r}")
        return cls.from_state(header, arrays, source=str(path))

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray], *, source: str) -> Self:
        """A fitted annotator from what a model file holds."""
        if header.get("version") != cls.version:
            raise ModelFileError(
                f"{source}: holds version {header.get('version')!r} of {cls.name}, this Topicture has {cls.version}; "
                "learn again"
            )
        try:
            annotator = cls(**header["params"])
            annotator.vocabulary_ = Vocabulary(header["vocabulary"])
            annotator.columns_ = {str(view): int(n) for view, n in header["columns"].items()}
            annotator.n_iter_ = int(header["n_iter"])
            annotator.result_ = str(header["result"])
            annotator._check_params()
            facts = header["facts"]
            check_arrays(annotator.name, arrays, len(annotator.vocabulary_), annotator.columns_, facts)
            arrays = dict(arrays)
            annotator.objective_trace_ = arrays.pop("objective_trace")
            annotator._restore(arrays, facts)
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            IndexError,
            TopictureError,
        ) as error:
            why = " ".join(str(error).split())  # it may quote what the file says
            raise ModelFileError(f"{source}: the model is damaged or incomplete ({why})") from None
        return annotator

    def _state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Fitted arrays, and whatever else is JSON; not needed for an annotator that is never saved."""
        raise NotImplementedError

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        raise NotImplementedError

    # --- Checks ------------------------------------------------------------------------------------------

    def _columns(self, corpus: Corpus) -> dict[str, int]:
        columns = {}
        for view in self.needs:
            n = columns_of(corpus, view)
            if n is None:
                raise CorpusError(f"{self.name}: {missing_view(view)}")
            columns[view] = n
        return columns

    def _check_fitted(self) -> None:
        if not hasattr(self, "vocabulary_"):
            raise NotFitted(f"{self.name}: not fitted yet; call fit(corpus) first")

    def _check_usable(self, corpus: Corpus) -> None:
        """The corpus has the vocabulary and the feature sizes that the model was fitted on."""
        self._check_fitted()
        if corpus.vocabulary != self.vocabulary_:
            raise CorpusError(
                f"{self.name}: the corpus has another vocabulary ({len(corpus.vocabulary)} words) than the model "
                f"({len(self.vocabulary_)} words)"
            )
        for view, n in self._columns(corpus).items():
            if n != self.columns_.get(view):
                raise CorpusError(
                    f"{self.name}: '{view}' has {n} columns, but the model was fitted on {self.columns_.get(view)}"
                )


def _in_canonical_order(corpus: Corpus) -> Corpus:
    """Images sorted by id, so that a fit does not depend on the order in which they were given."""
    if np.all(corpus.image_ids[:-1] < corpus.image_ids[1:]):
        return corpus
    return corpus[np.argsort(corpus.image_ids, kind="stable")]
