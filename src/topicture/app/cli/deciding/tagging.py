"""The command `tag`."""

from pathlib import PurePath
from typing import Annotated

import typer

from topicture.app.cli.common import CatalogOption, JsonOption, find_for, print_json
from topicture.app.counting import counted
from topicture.app.verbs.library import Library
from topicture.app.verbs.photos import find_photo
from topicture.collection.kinds import PHOTOS, RAW, VIDEOS
from topicture.collection.words import printable
from topicture.errors import DataNotFound

__all__ = ["register", "tag"]

# Where an answer comes from, in the words of who reads it.
FROM = {
    "review": "you said so",
    "bulk": "accepted with many others",
    "import": "imported",
    "file": "keyword of the file",
    "scan": "keyword of the file",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tag)


def tag(
    photos_and_words: Annotated[
        list[str],
        typer.Argument(
            metavar="PHOTO... [WORD]",
            help="Photos, then tags; without any, those of the photos are printed.",
        ),
    ],
    of_tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag", "-t", help="A tag; may be repeated. All arguments are photos then, as from xargs."
        ),
    ] = None,
    reject: Annotated[
        bool, typer.Option("--reject", "-r", help="Say that these tags are wrong for the photos.")
    ] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Take back whatever was decided about these tags.")
    ] = False,
    catalog: CatalogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give photos tags, or reject them; one undo takes it back. (Words that begin with a dash go after `--`.)"""
    if reject and clear:
        raise typer.BadParameter("choose one of --reject and --clear")
    library = find_for(catalog, photos_and_words)
    photos, words = _told_apart(library, photos_and_words, of_tag or [])
    changed, step = 0, None
    if words:
        verdict = "rejected" if reject else "cleared" if clear else "present"
        changed, step = library.decide_many(photos, words, verdict)
    known = {photo: library.tags(photo) for photo in photos}
    if as_json:
        one = len(photos) == 1
        print_json(known[photos[0]] if one else {"changed": changed, "step": step, "photos": known})
        return
    if words and len(photos) > 1:
        print(
            f"{counted(len(photos), 'photo')}: {counted(changed, 'decision')} changed"
            + ("; 'topicture undo' takes them back." if changed else ".")
        )
        return
    for photo, tags in known.items():
        if len(photos) > 1:
            print(f"{printable(photo)}:")
        if not tags:
            print("no tags")
        for item in tags:
            answer = {"present": "yes", "rejected": "no"}.get(item.verdict, item.verdict)
            print(printable(f"{answer!s:3}  {item.word}  ({FROM.get(item.source, item.source)})"))


def _told_apart(library: Library, given: list[str], words: list[str]) -> tuple[list[str], list[str]]:
    """The photos and the tags: arguments are photos for as long as they name some; raises DataNotFound."""
    with library.reading() as catalog:
        photos: list[str] = []
        for number, each in enumerate(given):
            try:
                find_photo(catalog, each)
            except DataNotFound:
                if not photos or words or _looks_like_a_photo(each):
                    raise
                return photos, given[number:]
            photos.append(each)
    return photos, words


def _looks_like_a_photo(text: str) -> bool:
    """A mistyped name must not become a tag."""
    return PurePath(text).suffix.lower() in PHOTOS | RAW | VIDEOS
