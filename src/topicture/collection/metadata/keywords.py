"""The words that a photo carries: in the file itself, and in the sidecar beside it.

Everything found is put together. A photo manager that knows only one of the fields has still written its words, and a
word is never lost because another field lacks it.
"""

import os
import stat
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from topicture.collection.folder import sidecar_names
from topicture.collection.metadata.containers import read_blocks
from topicture.collection.metadata.dates import xmp_date
from topicture.collection.metadata.iptc import MAX_KEYWORD, iptc_keywords
from topicture.collection.metadata.people import people_named
from topicture.collection.metadata.record import COPY, MACHINE, choosers
from topicture.collection.metadata.tag_lists import SUBJECT, clean_path, listed_tags
from topicture.collection.metadata.word_sources import PHOTO, WordSource
from topicture.collection.metadata.xmp import MAX_XMP, BadXmp, parse_xmp
from topicture.collection.words import clean_word, printable
from topicture.errors import BadWord

__all__ = ["Keywords", "embedded_paths", "embedded_words", "photo_keywords", "read_sidecar", "sidecar_path"]


@dataclass(frozen=True)
class Keywords:
    """What a photo's metadata says.

    Attributes
    ----------
    words : tuple of str
        Clean words (see `clean_word`), each once, in the order in which they were found.
    by_machine : tuple of str
        Words that stand there only because Topicture wrote them as a model's choice. They are not among `words`: a
        suggestion must not come back as if a person had made it.
    refused : tuple of str
        A line for each word or block of metadata that was not taken: where it stands, and why.
    sources : tuple of WordSource
        The same words by the place where they stand: the photo, and its sidecar if there is one. A place that could
        not be read whole says so, and what is missing from it means nothing.
    taken : str or None
        When the camera took the photo ("2024-05-01T12:30:00"): as the sidecar says, where dates are put right; or else
        EXIF, or else XMP in the photo. Where only the date of the last change is noted, that.
    """

    words: tuple[str, ...] = ()
    by_machine: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    sources: tuple[WordSource, ...] = field(default=(), compare=False)
    taken: str | None = None


def photo_keywords(path: str | os.PathLike, raw_sidecars: Sequence[str] = ()) -> Keywords:
    """The words of a photo, from its own metadata, from its sidecar, and from those of its RAW file in the same folder.

    Read are XMP `dc:subject`, `lr:hierarchicalSubject`, `digiKam:TagsList`, `MicrosoftPhoto:LastKeywordXMP`, names of
    people (see `people`), and IPTC keywords. Of a hierarchical tag the last part is the word: "Animals|Cats|tiger"
    gives "tiger", and the tree stands in the `paths` of its source. Metadata that can't be read, however it is damaged,
    gives a line in `refused`, never an exception.
    """
    photo = _Gathered()
    _gather_embedded(Path(path), photo)
    found = {PHOTO: photo}
    for sidecar in (*(Path(path).with_name(name) for name in raw_sidecars), sidecar_path(path)):
        if not os.path.lexists(sidecar):
            continue
        beside = found[printable(sidecar.name)] = _Gathered()
        try:
            beside.take_xmp(read_sidecar(sidecar), sidecar.name)
        except BadXmp as reason:
            beside.miss(sidecar.name, str(reason))
    return _together(found, printable(sidecar_path(path).name))


def embedded_words(path: str | os.PathLike) -> dict[str, tuple[str, ...]]:
    """The words inside the photo file alone, each with its path in a tree of tags: outermost first, the word last."""
    gathered = _Gathered()
    _gather_embedded(Path(path), gathered)
    return gathered.words


def embedded_paths(path: str | os.PathLike) -> dict[str, tuple[tuple[str, ...], ...]]:
    """The same words with every place in a tree that the photo file names; none for plain words."""
    gathered = _Gathered()
    _gather_embedded(Path(path), gathered)
    found: dict[str, tuple[tuple[str, ...], ...]] = dict.fromkeys(gathered.words, ())
    for tree_path in gathered.paths | gathered.own_paths:
        found[tree_path[-1]] += (tree_path,)
    return found


def sidecar_path(photo: str | os.PathLike) -> Path:
    """The one sidecar of a photo, which is read and written: `photo.jpg.xmp`, or `photo.xmp` where only that exists.

    The second may belong to several files, such as `photo.jpg` and `photo.cr2`. Capitals in the suffix are seen.
    """
    folder, name = os.path.split(photo)
    paths = [Path(folder, candidate) for candidate in sidecar_names(name)]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def read_sidecar(path: Path) -> bytes:
    """The content of a sidecar that is a regular file of bearable size; raises BadXmp with the reason."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            raise BadXmp("sidecar is a symbolic link, not followed")
        if not stat.S_ISREG(status.st_mode):
            raise BadXmp("sidecar is not a regular file")
        if status.st_size > MAX_XMP:
            raise BadXmp(f"sidecar of {status.st_size} bytes is over the limit of {MAX_XMP}")
        return path.read_bytes()
    except OSError as error:
        raise BadXmp(f"sidecar can't be read ({error.strerror})") from None


# --- Gathering ------------------------------------------------------------------------------------------------------


@dataclass
class _Gathered:
    """Words with their paths and refusals found in one place; dictionaries keep the order and drop repetitions."""

    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    paths: dict[tuple[str, ...], None] = field(
        default_factory=dict
    )  # of lists that know trees; words without, too
    own_paths: dict[tuple[str, ...], None] = field(default_factory=dict)  # those that Topicture wrote
    own: dict[str, None] = field(default_factory=dict)  # words that Topicture wrote
    by_machine: dict[str, None] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)
    whole: bool = True
    taken: str | None = None

    def miss(self, where: str, reason: str) -> None:
        """Something could not be read, and nobody knows which words it would have said."""
        self.whole = False
        self.refuse(where, reason)

    def refuse(self, where: str, reason: str) -> None:
        self.refused[f"{printable(where)}: {reason}"] = None

    def take(self, path: Sequence[str], where: str, by: str | None = None, *, in_tree: bool = False) -> None:
        """Keep the word at the end of a path; `by` says who chose it, if Topicture wrote it.

        `in_tree` is the path of a list that knows trees: there a word without others above it stands at the top.
        """
        try:
            word = clean_word(path[-1])
        except BadWord as reason:
            self.refuse(where, str(reason))
            return
        if by not in (None, COPY) and not in_tree:
            self.own[word] = None
        if by == MACHINE:
            self.by_machine[word] = None
        elif by != COPY:  # a copy says nothing that is not, or was, said elsewhere
            cleaned = clean_path(path)
            self.words[word] = max(cleaned, self.words.get(word, ()), key=len)
            if in_tree:
                (self.paths if by is None else self.own_paths)[cleaned] = None

    def take_xmp(self, content: bytes, where: str) -> None:
        tree = parse_xmp(content)
        self.taken = self.taken or xmp_date(tree)
        by = choosers(tree)
        for tag in listed_tags(tree):
            chooser = by.get((tag.property, tag.value))
            self.take(tag.path, where, chooser, in_tree=tag.property != SUBJECT)
        for name in people_named(tree):
            self.take((name,), where)


def _together(found: dict[str, _Gathered], written: str) -> Keywords:
    words = {word: None for part in found.values() for word in part.words}
    by_machine = {word: None for part in found.values() for word in part.by_machine if word not in words}
    refused = {line: None for part in found.values() for line in part.refused}
    sources = tuple(
        WordSource(
            name,
            frozenset(part.words),
            frozenset(part.by_machine),
            part.whole,
            frozenset(part.paths),
            frozenset(part.own_paths),
            frozenset(part.own if name == written else ()),
        )
        for name, part in found.items()
    )
    taken = next((part.taken for part in reversed(found.values()) if part.taken), None)
    return Keywords(tuple(words), tuple(by_machine), tuple(refused), sources, taken)


def _gather_embedded(path: Path, gathered: _Gathered) -> None:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or device could block for ever
            gathered.miss(path.name, "not a regular file")
            return
        blocks = read_blocks(path)
    except OSError as error:
        gathered.miss(path.name, f"can't be opened ({error.strerror})")
        return
    gathered.taken = blocks.dates.taken
    for problem in blocks.problems:
        gathered.miss(path.name, problem)
    for packet in blocks.xmp:
        try:
            gathered.take_xmp(packet, path.name)
        except BadXmp as reason:
            gathered.miss(path.name, f"embedded XMP: {reason}")
    gathered.taken = gathered.taken or blocks.dates.changed
    for record in blocks.iptc:
        keywords, problems = iptc_keywords(record)
        whole = sorted(gathered.words)
        for word in keywords:
            if not _cut_off(word, whole):
                gathered.take((word,), path.name)
        for problem in problems:
            gathered.miss(path.name, problem)


def _cut_off(word: str, whole: Sequence[str]) -> bool:
    """Whether an IPTC keyword is what the standard's limit left of one of the (sorted) words that XMP has whole."""
    if len(word.encode()) <= MAX_KEYWORD - 4:  # a character may take four bytes
        return False
    following = bisect_right(whole, word)
    return following < len(whole) and whole[following].startswith(word)
