"""Photos in the terminal, one per line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from topicture.app.counting import counted
from topicture.collection.words import printable

if TYPE_CHECKING:
    from topicture.app.learning.labelling import RegionLabel
    from topicture.app.verbs.browsing.listing import PhotoPage
    from topicture.app.verbs.browsing.suggesting import SuggestedFor

__all__ = ["print_photos", "print_regions", "print_suggested"]


def print_photos(page: "PhotoPage") -> None:
    if not page.photos:
        print("No photos found.")
    for photo in page.photos:
        notes = [counted(photo.tags, "tag") if photo.tags else "no tag"]
        if photo.by_machine:
            notes.append(f"{photo.by_machine} by machine")
        if photo.suggestions:
            notes.append(counted(photo.suggestions, "suggestion"))
        if photo.edit_of:
            notes.append(f"edited copy of {photo.edit_of}")
        print(printable(f"{photo.path}  ({', '.join(notes)})"))
    if len(page.photos) < page.total:
        print(f"{len(page.photos)} of {counted(page.total, 'photo')}; --all shows the rest.")


def print_suggested(found: "list[SuggestedFor]") -> None:
    for each in found:
        if each.reason:
            continue
        words = ", ".join(f"{word.word} {word.probability:.0%}" for word in each.suggestions)
        tags = [f"{tag} by machine" if tag in each.by_machine else tag for tag in each.tags]
        has = f"  (has {', '.join(tags)})" if tags else ""
        nothing = "nothing that is probable enough; --top 5 shows more"
        print(printable(f"{each.path}: {words or nothing}{has}"))


def print_regions(regions: "Sequence[RegionLabel]") -> None:
    """One line per word, that of the largest part of the photo first; '--json' has every region."""
    by_word: dict[str, list[RegionLabel]] = {}
    for region in regions:
        by_word.setdefault(region.word, []).append(region)
    areas = {word: sum(region.area for region in found) for word, found in by_word.items()}
    for word, found in sorted(by_word.items(), key=lambda entry: -areas[entry[0]]):
        notes = [] if not word else [f"{max(region.probability for region in found):.0%}"]
        if len(found) > 1:
            notes = [f"up to {note}" for note in notes] + [f"{len(found)} regions"]
        print(
            f"{areas[word]:5.0%} of the photo  {printable(word) or 'no word'}"
            + (f"  ({', '.join(notes)})" if notes else "")
        )
