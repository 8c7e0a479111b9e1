"""Where the words of a photo stand, and whether all of what stands there could be read."""

from typing import NamedTuple

__all__ = ["PHOTO", "WordSource"]

PHOTO = "photo"
"""The name of the metadata inside the photo file; a sidecar goes by its file name."""


class WordSource(NamedTuple):
    """What one place says. Only where it was read whole does a word that is not there count as not there."""

    name: str
    words: frozenset[str] = frozenset()
    by_machine: frozenset[str] = frozenset()  # there as a model's choice only
    whole: bool = True
    paths: frozenset[tuple[str, ...]] = frozenset()  # places in trees of tags, the word last
    own_paths: frozenset[tuple[str, ...]] = frozenset()  # those that Topicture wrote
    own: frozenset[str] = frozenset()  # in the sidecar that we write: words that its record says are ours
