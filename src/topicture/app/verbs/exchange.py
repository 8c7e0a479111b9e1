"""Export and import: decisions as the files of other tools, and back."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from topicture.app.counting import counted
from topicture.app.protecting import never_written
from topicture.collection.formats import FORMATS, FormatError, Item, read_annotations, write_annotations
from topicture.collection.sidecar.marked import stored_picture
from topicture.collection.sidecar.values import ObjectRegion
from topicture.collection.words import clean_word, printable
from topicture.errors import BadWord, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.regions import Box as Mark

__all__ = ["ExportReport", "ImportReport", "export_tags", "import_tags"]


WITH_PROBABILITIES = ("csv-long", "jsonl", "coco")
BY_SUFFIX = {".csv": "csv-long", ".json": "coco", ".jsonl": "jsonl", ".arff": "arff", ".xml": "cvat"}


@dataclass(frozen=True)
class ExportReport:
    """What was exported; `refused` are lines about what the format can't hold."""

    path: str
    photos: int
    tags: int
    suggestions: int
    refused: tuple[str, ...]


@dataclass(frozen=True)
class ImportReport:
    """What was imported; `refused` are lines: the file, the place in it, and the reason.

    `boxes` are kept as marks of people, `boxes_left_out` belong to a picture of another shape than the photo's.
    Suggestions, which have a probability in the file, are nobody's decisions: `suggestions_left_out`.
    """

    photos: int
    decisions: int
    boxes: int
    boxes_left_out: int
    suggestions_left_out: int
    refused: tuple[str, ...]


def export_tags(
    catalog: Catalog,
    path: Path,
    format: str | None = None,
    *,
    suggestions: float | None = None,
    force: bool = False,
) -> ExportReport:
    """Write the tags of every photo that has some; with `suggestions`, also undecided ones from that probability
    on, each with its own where the format can hold it.

    Files that Topicture did not write are replaced only with `force`, photos never. Raises FormatError, OutputError.
    """
    if suggestions is not None and not 0 <= suggestions <= 1:
        raise TopictureError(f"suggestions are chosen by a probability between 0 and 1, not {suggestions:g}")
    items, chosen = list(_items(catalog, suggestions)), format or _format_by_name(path)
    refused = [
        str(line)
        for line in write_annotations(path, items, chosen, force=force, never=never_written(catalog))
    ]
    n_suggested = sum(len(item.suggested) for item in items)
    if n_suggested and chosen not in WITH_PROBABILITIES:
        refused.append(
            f"probabilities of {counted(n_suggested, 'suggestion')}: {chosen} has no place for them; "
            f"{', '.join(WITH_PROBABILITIES)} have"
        )
    return ExportReport(
        os.fspath(path),
        len(items),
        sum(len(item.words) for item in items) - n_suggested,
        n_suggested,
        tuple(refused),
    )


def _format_by_name(path: Path) -> str:
    try:
        return BY_SUFFIX[path.suffix.lower()]
    except KeyError:
        raise FormatError(
            f"{printable(path.name)}: the name does not tell the format; choose with --format: {', '.join(FORMATS)}"
        ) from None


def _items(catalog: Catalog, suggestions: float | None) -> Iterator[Item]:
    """Photos with their tags; with what is suggested from a probability on."""
    words: dict[int, set[str]] = {}
    for image, word, verdict, _ in catalog.decisions.all_tags():
        if verdict == "present":
            words.setdefault(image, set()).add(word)
    models = catalog.suggestions.models()
    suggested: dict[int, dict[str, float]] = {}
    if suggestions is not None and models:
        for each in catalog.suggestions.open(models[0].id):
            if each.probability >= suggestions:
                suggested.setdefault(each.image, {})[each.word] = each.probability
    for living in catalog.files.living():
        own, chance = words.get(living.image, set()), suggested.get(living.image, {})
        if own or chance:
            for path in catalog.files.paths_of(living.image):
                yield Item(path, tuple(sorted(own)), suggested=tuple(chance.items()))


def import_tags(catalog: Catalog, path: Path, format: str | None = None) -> ImportReport:
    """Take the words of an annotation file for decisions; items whose photo is not in the catalog are refused.

    One undo takes the whole import back. Boxes are kept beside the decisions; `learn` compares models by them.
    """
    imported = read_annotations(path, format, root=catalog.root)
    refused = [str(line) for line in imported.refused]
    decisions: list[Decision] = []
    photos, n_boxes, n_suggested = set(), 0, 0
    marks: dict[int, list[Mark]] = {}
    for item in imported.items:
        file = catalog.files.at(os.path.normpath(item.path))
        if file is None or file.gone is not None:
            refused.append(f"{printable(item.path)}: not a photo of the catalog; run 'topicture scan' first")
            continue
        if item.boxes:
            n_boxes += len(item.boxes)
            marks.setdefault(file.image, []).extend(_marks(item, catalog.root / item.path))
        suggested = dict(item.suggested)
        n_suggested += len(suggested)
        for word in item.words:
            if word in suggested:
                continue
            try:
                decisions.append(Decision(file.image, clean_word(word), "present"))
            except BadWord as reason:
                refused.append(f"{printable(item.path)}: {reason}")
        photos.add(file.image)
    with catalog.database.transaction():
        n = catalog.decisions.decide(decisions, "import")
        if marks:
            catalog.regions.mark(marks)
    kept = sum(map(len, marks.values()))
    return ImportReport(len(photos), n, kept, n_boxes - kept, n_suggested, tuple(refused))


def _marks(item: Item, photo: Path) -> Iterator[Mark]:
    """The boxes of an item in shares of the upright picture; none where they were drawn on one of another shape."""
    picture = stored_picture(photo)
    upright = picture.upright_size
    if upright is None or picture.size is None:
        return
    width, height = item.size or upright
    for box in item.boxes:
        left, top = max(box.x / width, 0.0), max(box.y / height, 0.0)
        right, bottom = min((box.x + box.w) / width, 1.0), min((box.y + box.h) / height, 1.0)
        if left >= right or top >= bottom:
            continue
        region = ObjectRegion(box.word, left, top, right - left, bottom - top)
        if not _alike((width, height), upright):  # drawn on the pixels as stored, or on another picture
            if not _alike((width, height), picture.size):
                continue
            region = picture.upright(region)
        yield Mark(region.word, region.x, region.y, region.w, region.h, 1.0)


def _alike(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether pictures of these sizes have the same shape, but for rounding where one was reduced."""
    return abs(first[0] * second[1] / (first[1] * second[0]) - 1) < 0.02
