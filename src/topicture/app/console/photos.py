"""Photos in the terminal, one per line."""

from typing import TYPE_CHECKING

from topicture.app.counting import counted
from topicture.collection.words import printable

if TYPE_CHECKING:
    from topicture.app.verbs.browsing.listing import PhotoPage
    from topicture.app.verbs.browsing.suggesting import SuggestedFor

__all__ = ["print_photos", "print_suggested"]


def print_photos(page: "PhotoPage") -> None:
    if not page.photos:
        print("No photos found.")
    for photo in page.photos:
        notes = [counted(photo.tags, "tag") if photo.tags else "no tag"]
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
        has = f"  (has {', '.join(each.tags)})" if each.tags else ""
        nothing = "nothing that is probable enough; --top 5 shows more"
        print(printable(f"{each.path}: {words or nothing}{has}"))
