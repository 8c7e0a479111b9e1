"""Words for any picture file, in the catalog or not, by the newest model of a collection."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname as folder_of
from typing import NamedTuple

import numpy as np

from topicture.app.learning.annotated.suggesting import chosen_words
from topicture.app.learning.model_folder import Learned, load_learned
from topicture.app.progress import Report, silent
from topicture.app.verbs.browsing.photo import SuggestedWord
from topicture.app.verbs.photos import AnyPath, find_photo
from topicture.collection.identity import picture_id
from topicture.errors import CorpusError, DataNotFound
from topicture.store import Catalog
from topicture.store.decisions.decisions import BY_MACHINE
from topicture.vision.pipeline import Photo, describe

__all__ = ["SuggestedFor", "suggest_for"]


@dataclass(frozen=True)
class SuggestedFor:
    """What a model suggests for a file.

    Attributes
    ----------
    path : as it was named
    image : its number in the catalog; None where it is no photo of it
    tags : what people or files say already, or was accepted
    by_machine : those of the tags that were accepted in bulk
    suggestions : words that nobody has decided on, the most probable first
    reason : why the file could not be looked at
    """

    path: str
    image: int | None
    tags: tuple[str, ...]
    suggestions: tuple[SuggestedWord, ...]
    reason: str | None = None
    by_machine: tuple[str, ...] = ()


class _Named(NamedTuple):
    path: str
    file: Path
    image: int | None
    place: str  # folder inside the collection
    content: str


def suggest_for(
    catalog: Catalog,
    names: Iterable[AnyPath],
    *,
    threshold: float | None = None,
    top: int | None = None,
    workers: int = 0,
    report: Report = silent,
) -> list[SuggestedFor]:
    """Ask the newest model about files, in the order named; nothing is stored.

    `threshold` and `top` as in `annotate`. Raises DataNotFound for a name that is no file, NotFitted where nothing was
    learned.
    """
    named = [_find(catalog, name) for name in names]
    learned = load_learned(catalog.model_folder(catalog.suggestions.newest()), regions=False)
    presence, reasons = _ask(catalog, learned, named, workers, report)
    found = []
    for each in named:
        said = [] if each.image is None else catalog.decisions.tags_of(each.image)
        words: tuple[SuggestedWord, ...] = ()
        if each.content in presence:
            decided = {tag.word for tag in said}
            words = _words(catalog, learned, presence[each.content], decided, threshold, top)
        tags = tuple(tag.word for tag in said if tag.verdict == "present")
        by_machine = tuple(tag.word for tag in said if tag.verdict == "present" and tag.source in BY_MACHINE)
        reason = reasons.get(each.content)
        found.append(SuggestedFor(each.path, each.image, tags, words, reason, by_machine))
    return found


def _find(catalog: Catalog, name: AnyPath) -> _Named:
    path = str(name)
    try:
        image = find_photo(catalog, name)
    except DataNotFound:
        file = Path(path)
        if file.is_dir():
            raise DataNotFound(f"{path}: a folder; name the photos in it, as in {path}/*.jpg") from None
        if not file.is_file():
            raise DataNotFound(
                f"{path}: no such file, nor a photo of the catalog at {catalog.root}"
            ) from None
        return _Named(path, file.resolve(), None, "", picture_id(file).hex())
    inside = catalog.files.first_paths([image])[image]
    content = catalog.files.content_of(image).hex()
    return _Named(path, catalog.file_of(inside), image, folder_of(inside), content)


def _ask(
    catalog: Catalog, learned: Learned, named: list[_Named], workers: int, report: Report
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """What the model thinks of each picture, (V,), and why of some it does not; by their content."""
    presence: dict[str, np.ndarray] = {}
    reasons: dict[str, str] = {}
    # Only what belongs to the collection is kept in its cache.
    for known in (True, False):
        some = list({each.content: each for each in named if (each.image is not None) == known}.values())
        if not some:
            continue
        try:
            description = describe(
                [Photo(each.content, each.file) for each in some],
                learned.features,
                vocabulary=learned.vocabulary,
                workers=workers,
                cache=catalog.cache if known else None,
                progress=lambda done, total: report("Looking at photos", done, total),
            )
        except CorpusError as error:  # none of them can be read
            reasons |= {each.content: str(error).rpartition(": ")[2] for each in some}
            continue
        reasons |= {bad.source: bad.reason for bad in description.unreadable}
        places = [some[i].place for i in description.positions]
        rows = learned.presence(description.corpus, places)
        presence |= dict(zip(description.corpus.image_ids, rows, strict=True))
    return presence, reasons


def _words(
    catalog: Catalog,
    learned: Learned,
    presence: np.ndarray,
    decided: set[str],
    threshold: float | None,
    top: int | None,
) -> tuple[SuggestedWord, ...]:
    """The words of one picture by the names of today, without those that are decided or not to be suggested."""
    means = catalog.decisions.merged_words()
    unwanted = decided | catalog.decisions.unwanted_words()
    names = [means.get(word, word) for word in learned.vocabulary]
    best: dict[str, int] = {}
    for column in np.argsort(-presence, kind="stable").tolist():
        if names[column] not in unwanted:
            best.setdefault(names[column], column)
    masked = np.full((1, len(names)), -1.0)
    masked[0, list(best.values())] = presence[list(best.values())]
    rows = chosen_words(learned.vocabulary, np.zeros(1, np.int64), masked, threshold, top)
    words = [SuggestedWord(means.get(word, word), p) for _, word, p in rows]
    return tuple(sorted(words, key=lambda each: (-each.probability, each.word)))
