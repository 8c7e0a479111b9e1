"""Options that say among which photos to look; the same for `search` and `list`."""

from typing import Annotated

import typer

from topicture.app.verbs.browsing.listing import PhotoFilter
from topicture.app.verbs.library import Library
from topicture.app.verbs.photos import find_folder
from topicture.app.verbs.words.editing import tag_in_use
from topicture.collection.words import clean_word

__all__ = ["FolderOption", "FromOption", "LimitOption", "PathsOption", "ToOption", "UntaggedOption", "only"]

UntaggedOption = Annotated[bool, typer.Option("--untagged", help="Only photos without any tag.")]
FolderOption = Annotated[
    str | None, typer.Option("--folder", help="Only photos in this folder, or in one below it.")
]
FromOption = Annotated[
    str | None, typer.Option("--from", metavar="DATE", help="Only photos of this day (2024-05-31) or later.")
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="DATE", help="Only photos of this day or earlier.")
]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many photos to show.")]
PathsOption = Annotated[
    bool, typer.Option("--paths", help="Print only paths, each followed by a NUL, for xargs -0.")
]


def only(
    library: Library,
    *,
    untagged: bool = False,
    folder: str | None = None,
    first_day: str | None = None,
    last_day: str | None = None,
    word: str | None = None,
    suggested: bool = False,
) -> PhotoFilter | None:
    """The filter that options ask for; None where they ask for all photos. Raises DataNotFound for a folder or tag."""
    if untagged and word is not None and not suggested:
        raise typer.BadParameter("choose one of --untagged and --tag; with --suggested, both")
    if folder is not None or word is not None:
        with library.reading() as catalog:
            folder = None if folder is None else find_folder(catalog, folder)
            if word is not None:
                word = clean_word(word)
                # As `search` finds it by a former name.
                word = tag_in_use(catalog, catalog.decisions.merged_words().get(word, word))
    wanted = PhotoFilter(
        tagged=False if untagged else None,
        suggested=suggested or None,
        word=word,
        folder=folder,
        first_day=first_day,
        last_day=last_day,
    )
    return None if wanted == PhotoFilter() else wanted
