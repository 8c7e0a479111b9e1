"""The part of `Library` that is about samples of questions."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from topicture.store import Catalog

if TYPE_CHECKING:
    from topicture.app.verbs.asking.drawing_lots import Audit
    from topicture.app.verbs.asking.question import Question

__all__ = ["AskingVerbs"]


class AskingVerbs(ABC):
    """What a library can do about questions that are drawn at random."""

    @abstractmethod
    def _read(self) -> Catalog: ...

    @abstractmethod
    def _write(self, command: str, root: Path | None = None) -> Catalog: ...

    def mixed(self, questions: "list[Question]") -> "list[Question]":
        """The questions with some drawn at random about words that tagged photos lack; see `asking.with_missing`."""
        from topicture.app.verbs.asking.drawing_lots import with_missing

        with self._write("review") as catalog:
            return with_missing(catalog, questions)

    def tag_in_use(self, tag: str) -> str:
        """The clean form of a tag; raises DataNotFound where it is not in use."""
        from topicture.app.verbs.words.editing import tag_in_use

        with self._read() as catalog:
            return tag_in_use(catalog, tag)

    def why_nothing(self, order: str, *, tag: str | None = None) -> str:
        """Why `queue` has no question, and where there are some."""
        from topicture.app.verbs.asking.nothing_to_ask import why_nothing

        with self._read() as catalog:
            return why_nothing(catalog, order, tag)

    def audit_sample(self, precision: float, *, tag: str | None = None) -> "list[Question]":
        """Some of what `accept_above` would accept, drawn at random; see `auditing`."""
        from topicture.app.verbs.asking.auditing import audit_sample

        with self._read() as catalog:
            return audit_sample(catalog, precision, tag=tag)

    def audit(self, sample: "list[Question]") -> "Audit":
        """How such a sample was answered."""
        from topicture.app.verbs.asking.auditing import audit_of

        with self._read() as catalog:
            return audit_of(catalog, sample)

    def machine_words(self) -> dict[str, int]:
        """Word -> photos that have it by a bulk acceptance alone."""
        with self._read() as catalog:
            return catalog.decisions.machine_counts()
