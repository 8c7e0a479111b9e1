"""JSON lines as in a Hugging Face image folder (`metadata.jsonl`): an object for each photo.

`file_name` names the photo, `words` lists its words, `objects` has parallel lists `bbox` ([x, y, width, height] in
pixels) and `categories` (words), `width` and `height` are those of the picture. `probabilities` has those of the
words that are only suggested, with how probable they are.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topicture.collection.formats.files import json_bytes, json_value, load_bytes
from topicture.collection.formats.items import Box, Collector, Draft, FormatError, Item
from topicture.moved import moved

__all__ = ["encode", "read"]

__getattr__ = moved(__name__)  # names of earlier versions

_LISTS = ("words", "tags", "keywords", "labels", "label")  # where other writers put them


def read(path: Path, collect: Collector) -> None:
    """Read a file, or the `metadata.jsonl` of a folder."""
    source = path / "metadata.jsonl" if path.is_dir() else path
    file = source.name
    with collect.entry(file, ""):
        for n, line in enumerate(load_bytes(source).split(b"\n"), 1):
            if not line.strip():
                continue
            with collect.entry(file, f"line {n}"):
                record = json_value(line)
                if not isinstance(record, dict):
                    raise FormatError("not a JSON object")
                size = record.get("width"), record.get("height")
                photo = collect.photo(file, f"line {n}", record.get("file_name"), *size)
                _take(record, photo, file, f"line {n}", collect)


def _take(record: dict[str, Any], photo: Draft, file: str, where: str, collect: Collector) -> None:
    chances = record.get("probabilities")
    suggested = chances if isinstance(chances, dict) else {}
    for word, chance in suggested.items():
        with collect.entry(file, f"{where}, probabilities"):
            photo.add_suggestion(word, chance)
    for name in _LISTS:
        values = record.get(name)
        for value in values if isinstance(values, list) else [] if values is None else [values]:
            if isinstance(value, str) and value in suggested:
                continue
            with collect.entry(file, f"{where}, {name}"):
                photo.add_word(value)
    objects = record.get("objects")
    if objects is None:
        return
    with collect.entry(file, f"{where}, objects"):
        if not isinstance(objects, dict):
            raise FormatError("objects must have lists 'bbox' and 'categories'")
        boxes, words = objects.get("bbox"), objects.get("categories", objects.get("category"))
        if not isinstance(boxes, list) or not isinstance(words, list) or len(boxes) != len(words):
            raise FormatError("objects must have lists 'bbox' and 'categories' of the same length")
        for n, (box, word) in enumerate(zip(boxes, words, strict=True)):
            with collect.entry(file, f"{where}, objects[{n}]"):
                if not isinstance(word, str):
                    raise FormatError(f"category {word} has no name")
                if not isinstance(box, list) or len(box) != 4:
                    raise FormatError("a box must be a list of four numbers")
                photo.add_box(Box(word, *box))


def encode(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A line for each photo; all lines have the same fields, as loaders of such files expect."""
    with_sizes, with_boxes = any(item.size for item in items), any(item.boxes for item in items)
    with_suggestions = any(item.suggested for item in items)
    lines = []
    for item in items:
        record: dict[str, Any] = {"file_name": item.path, "words": item.words}
        if with_suggestions:
            record["probabilities"] = dict(item.suggested)
        if with_sizes:
            record["width"], record["height"] = item.size or (None, None)
        if with_boxes:
            record["objects"] = {
                "bbox": [[box.x, box.y, box.w, box.h] for box in item.boxes],
                "categories": [box.word for box in item.boxes],
            }
        lines.append(json_bytes(record) + b"\n")
    return {path.name: b"".join(lines)}
