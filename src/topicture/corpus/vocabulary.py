"""Words and their ids."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from topicture.errors import CorpusError

__all__ = ["Vocabulary"]


class Vocabulary:
    """An immutable, ordered set of distinct words; a word's id is its position."""

    def __init__(self, words: Iterable[str]):
        if isinstance(words, str):
            raise CorpusError(f"vocabulary: expected a list of words, got the one string {words!r}")
        self._words = tuple(str(word) for word in words)
        if not self._words:
            raise CorpusError("vocabulary: it holds no word; at least one is needed")
        if len(self._ids) < len(self._words):
            twice = next(word for i, word in enumerate(self._words) if self._ids[word] != i)
            raise CorpusError(f"vocabulary: the word {twice!r} occurs twice")

    @property
    def words(self) -> tuple[str, ...]:
        return self._words

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self._words)}

    def index(self, word: str) -> int:
        """The id of a word; raises CorpusError if the vocabulary does not hold it."""
        try:
            return self._ids[word]
        except KeyError:
            raise CorpusError(f"vocabulary: there is no word {word!r} among its {len(self)}") from None

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __getitem__(self, i: int) -> str:
        return self._words[i]

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __len__(self) -> int:
        return len(self._words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._words == other._words

    def __hash__(self) -> int:
        return hash(self._words)

    def __repr__(self) -> str:
        shown = ", ".join(self._words[:5]) + (", ..." if len(self) > 5 else "")
        return f"Vocabulary({len(self)} words: {shown})"
