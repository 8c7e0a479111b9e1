"""COCO: one JSON file with images, categories, and annotations that tie them together.

A box is [x, y, width, height] in pixels. A word for a whole photo is an annotation without a box, as in the variant of
the format for labels (`coco_labels`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topicture.collection.formats.files import json_bytes, json_value, load_bytes
from topicture.collection.formats.items import Box, Collector, Draft, FormatError, Item
from topicture.collection.words import clean_word
from topicture.moved import moved

__all__ = ["encode", "read"]

__getattr__ = moved(__name__)  # names of earlier versions


def read(path: Path, collect: Collector) -> None:
    """Read a file of instances."""
    file = path.name
    with collect.entry(file, ""):
        content = json_value(load_bytes(path))
        if not isinstance(content, dict) or not isinstance(content.get("images"), list):
            raise FormatError("not a COCO file: it has no list of images")
        words = _categories(content, file, collect)
        photos = _images(content, file, collect)
        _annotations(content, file, collect, photos, words)


def _categories(content: dict, file: str, collect: Collector) -> dict[Any, str]:
    words: dict[Any, str] = {}
    for where, record in _records(content, "categories"):
        with collect.entry(file, where):
            identifier = _identifier(record, "id", words)
            name = record.get("name")
            if not isinstance(name, str):
                raise FormatError("category without a name")
            words[identifier] = clean_word(name)
    return words


def _images(content: dict, file: str, collect: Collector) -> dict[Any, Draft]:
    photos: dict[Any, Draft] = {}
    for where, record in _records(content, "images"):
        with collect.entry(file, where):
            identifier = _identifier(record, "id", photos)
            size = record.get("width"), record.get("height")
            photos[identifier] = collect.photo(file, where, record.get("file_name"), *size)
    return photos


def _annotations(content: dict, file: str, collect: Collector, photos: dict, words: dict) -> None:
    seen: dict[Any, None] = {}
    for where, record in _records(content, "annotations"):
        with collect.entry(file, where):
            photo = photos.get(_key(record, "image_id"))
            if "id" in record:
                seen[_identifier(record, "id", seen)] = None
            if photo is None:
                raise FormatError(f"image {record['image_id']} is not in the file, or was refused")
            word = words.get(_key(record, "category_id"))
            if word is None:
                raise FormatError(f"category {record['category_id']} is not in the file, or was refused")
            box = record.get("bbox")
            if record.get("suggested") is True and "score" in record:  # as we write them
                photo.add_suggestion(word, record["score"])
            elif not box:
                photo.add_word(word)
            elif not isinstance(box, list) or len(box) != 4:
                raise FormatError("a box must be a list of four numbers")
            else:
                photo.add_box(Box(word, *box))


def _records(content: dict, name: str) -> list[tuple[str, Any]]:
    entries = content.get(name)
    return [(f"{name}[{n}]", entry) for n, entry in enumerate(entries)] if isinstance(entries, list) else []


def _key(record: Any, name: str) -> Any:
    if not isinstance(record, dict) or not isinstance(record.get(name), int | str):
        raise FormatError(f"no {name}")
    return record[name]


def _identifier(record: Any, name: str, taken: dict) -> Any:
    """The identifier of an entry, which no other may have."""
    identifier = _key(record, name)
    if identifier in taken:
        raise FormatError(f"{name} {identifier} was there before")
    return identifier


def encode(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A file of instances; categories are numbered in the order of the words."""
    words = sorted({word for item in items for word in item.words})
    numbers = {word: n for n, word in enumerate(words, 1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for n, item in enumerate(items, 1):
        image = {"id": n, "file_name": item.path}
        if item.size:
            image |= {"width": item.size[0], "height": item.size[1]}
        images.append(image)
        chance = dict(item.suggested)
        for word in item.plain_words:
            more = {"score": chance[word], "suggested": True} if word in chance else {}
            annotations.append({"image_id": n, "category_id": numbers[word], **more})
        for box in item.boxes:
            place = {"bbox": [box.x, box.y, box.w, box.h], "area": round(box.w * box.h, 3), "iscrowd": 0}
            annotations.append({"image_id": n, "category_id": numbers[box.word], **place})
    content = {
        "info": {"description": "written by Topicture"},
        "images": images,
        "annotations": [{"id": n, **annotation} for n, annotation in enumerate(annotations, 1)],
        "categories": [{"id": n, "name": word} for word, n in numbers.items()],
    }
    return {path.name: json_bytes(content) + b"\n"}
