"""Export and import: decisions as the files of other tools, and back."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from topicture.app.protecting import never_written
from topicture.collection.formats import FORMATS, Box, FormatError, Item, read_annotations, write_annotations
from topicture.collection.words import clean_word, printable
from topicture.errors import BadWord
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

__all__ = ["ExportReport", "ImportReport", "export_tags", "import_tags"]


BY_SUFFIX = {".csv": "csv-long", ".json": "coco", ".jsonl": "jsonl", ".arff": "arff", ".xml": "cvat"}


@dataclass(frozen=True)
class ExportReport:
    """What was exported; `refused` are lines about what the format can't hold."""

    path: str
    photos: int
    tags: int
    refused: tuple[str, ...]


@dataclass(frozen=True)
class ImportReport:
    """What was imported; `refused` are lines: the file, the place in it, and the reason."""

    photos: int
    decisions: int
    boxes_left_out: int
    refused: tuple[str, ...]


def export_tags(
    catalog: Catalog,
    path: Path,
    format: str | None = None,
    *,
    suggestions: float | None = None,
    force: bool = False,
) -> ExportReport:
    """Write the tags of every photo that has some; with `suggestions`, also undecided ones of that probability.

    Files that Topicture did not write are replaced only with `force`, photos never. Raises FormatError, OutputError.
    """
    items = list(_items(catalog, suggestions))
    refused = write_annotations(
        path, items, format or _format_by_name(path), force=force, never=never_written(catalog)
    )
    return ExportReport(
        os.fspath(path),
        len(items),
        sum(len(item.words) for item in items),
        tuple(str(line) for line in refused),
    )


def _format_by_name(path: Path) -> str:
    try:
        return BY_SUFFIX[path.suffix.lower()]
    except KeyError:
        raise FormatError(
            f"{printable(path.name)}: the name does not tell the format; choose with --format: {', '.join(FORMATS)}"
        ) from None


def _items(catalog: Catalog, suggestions: float | None) -> Iterator[Item]:
    words: dict[int, set[str]] = {}
    for image, word, verdict, _ in catalog.decisions.all_tags():
        if verdict == "present":
            words.setdefault(image, set()).add(word)
    models = catalog.suggestions.models()
    if suggestions is not None and models:
        for suggestion in catalog.suggestions.open(models[0].id):
            if suggestion.probability >= suggestions:
                words.setdefault(suggestion.image, set()).add(suggestion.word)
    for living in catalog.files.living():
        if living.image in words:
            for path in catalog.files.paths_of(living.image):
                yield Item(path, tuple(sorted(words[living.image])))


def import_tags(catalog: Catalog, path: Path, format: str | None = None) -> ImportReport:
    """Take the words of an annotation file for decisions; items whose photo is not in the catalog are refused.

    One undo takes the whole import back. Boxes are read, and their words taken; the boxes themselves are not kept.
    """
    imported = read_annotations(path, format, root=catalog.root)
    refused = [str(line) for line in imported.refused]
    decisions: list[Decision] = []
    photos, n_boxes = set(), 0
    for item in imported.items:
        file = catalog.files.at(os.path.normpath(item.path))
        if file is None or file.gone is not None:
            refused.append(f"{printable(item.path)}: not a photo of the catalog; run 'topicture scan' first")
            continue
        boxes: tuple[Box, ...] = item.boxes
        n_boxes += len(boxes)
        for word in item.words:
            try:
                decisions.append(Decision(file.image, clean_word(word), "present"))
            except BadWord as reason:
                refused.append(f"{printable(item.path)}: {reason}")
        photos.add(file.image)
    n = catalog.decisions.decide(decisions, "import")
    return ImportReport(len(photos), n, n_boxes, tuple(refused))
