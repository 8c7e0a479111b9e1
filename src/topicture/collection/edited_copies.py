"""Which photos are edited copies of others beside them, by the names that programs give to edited copies."""

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["NamedPhoto", "edited_copies", "original_stems"]

# Google Photos (in some languages), Lightroom ("-Edit-2"), Apple ("IMG_E1234" of "IMG_1234"), Android ("~2").
_EDITED = "edited|edit|bearbeitet|modifié|modificato|editado|editada|bewerkt"
_AT_END = re.compile(rf"(.+?)(?:[-_ ]?\((?:{_EDITED})\)|[-_ ](?:{_EDITED})(?:[-_ ]?\d{{1,2}})?|~\d{{1,2}})")
_APPLE = re.compile(r"(img_)e(\d{4,})")
_HINT = re.compile(
    r"edit|bearb|modifi|bewerkt|~[0-9]|img_e[0-9]", re.IGNORECASE
)  # few names have one of these
_DAY = 86_400  # editors may change the time zone of a date, not the day before yesterday


class NamedPhoto(NamedTuple):
    """A file: its path, the number of its picture, and the seconds when it was taken, where that is known."""

    path: str
    image: int
    taken: int | None


def original_stems(stem: str) -> Iterator[str]:
    """Names, without their ends and in lower case, that the original of an edited copy may have; nearest first."""
    stem = unicodedata.normalize("NFC", stem).casefold()
    while True:
        if match := _APPLE.fullmatch(stem):
            stem = match[1] + match[2]
        elif match := _AT_END.fullmatch(stem):
            stem = match[1].rstrip()
        else:
            return
        yield stem


def edited_copies(photos: Sequence[NamedPhoto]) -> dict[int, int]:
    """Picture -> its original: the unedited photo of that name in the same folder, if there is one.

    Photos whose cameras name different days are not taken for one. All names are gone through, few are kept.
    """
    edited: list[tuple[NamedPhoto, list[tuple[str, str]]]] = []
    for photo in photos:
        if not _HINT.search(photo.path):
            continue
        folder, stem, _ = _parts(photo.path)
        if names := [(folder, name) for name in original_stems(stem)]:
            edited.append((photo, names))
    wanted = {name for _, names in edited for name in names}
    folders = {folder for folder, _ in wanted}
    by_name: dict[tuple[str, str], list[NamedPhoto]] = {}
    for photo in photos if wanted else ():
        if photo.path.rpartition("/")[0] not in folders:
            continue
        folder, stem, _ = _parts(photo.path)
        if (key := (folder, unicodedata.normalize("NFC", stem).casefold())) in wanted:
            by_name.setdefault(key, []).append(photo)
    found: dict[int, int] = {}
    for photo, names in edited:
        for name in reversed(names):  # the copy of a copy belongs to the first of them
            others = [other for other in by_name.get(name, ()) if _may_be_one(photo, other)]
            if others:
                end = _parts(photo.path)[2]
                original = min(others, key=lambda other: (_parts(other.path)[2] != end, other.path))
                found.setdefault(photo.image, original.image)
                break
    return found


def _parts(path: str) -> tuple[str, str, str]:
    """Folder, name without its end, and the end in lower case."""
    folder, _, name = path.rpartition("/")
    stem, end = os.path.splitext(name)
    return folder, stem, end.lower()


def _may_be_one(photo: NamedPhoto, other: NamedPhoto) -> bool:
    if photo.image == other.image:
        return False
    return photo.taken is None or other.taken is None or abs(photo.taken - other.taken) <= _DAY
