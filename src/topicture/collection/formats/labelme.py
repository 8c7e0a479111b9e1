"""LabelMe: a JSON file for each photo, beside it or in a folder of its own.

`imagePath` is relative to the JSON file. Rectangles are boxes; of polygons, circles and masks the box around them is
taken; points and lines give their word only. Words for the whole photo are flags that are set.
"""

import math
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topicture.collection.formats.files import (
    files_below,
    json_bytes,
    json_value,
    load_bytes,
    per_photo_names,
)
from topicture.collection.formats.items import Box, Collector, Draft, FormatError, Item, is_absolute, number
from topicture.moved import moved

__all__ = ["encode", "read"]

__getattr__ = moved(__name__)  # names of earlier versions

_WITHOUT_AREA = ("point", "points", "line", "linestrip")


def read(path: Path, collect: Collector) -> None:
    """Read a file, or all of a folder."""
    for source, folder in files_below(path, ".json"):
        file = posixpath.join(folder, source.name)
        with collect.entry(file, ""):
            content = json_value(load_bytes(source))
            if not isinstance(content, dict) or not isinstance(content.get("shapes"), list):
                raise FormatError("not a LabelMe file: it has no list of shapes")
            photo = _photo(content, file, folder, collect)
            _add_shapes(content, photo, file, collect)


def _photo(content: dict, file: str, folder: str, collect: Collector) -> Draft:
    name = content.get("imagePath")
    if not isinstance(name, str) or not name:
        raise FormatError("it names no photo (imagePath)")
    name = name.replace("\\", "/")  # files made under Windows
    if not is_absolute(name):
        # A folder of labels beside a folder of photos is usual; what leaves the collection keeps its dots.
        name = posixpath.normpath(posixpath.join(folder, name))
    return collect.photo(file, "", name, content.get("imageWidth"), content.get("imageHeight"))


def _add_shapes(content: dict, photo: Draft, file: str, collect: Collector) -> None:
    flags = content.get("flags")
    for word, is_set in flags.items() if isinstance(flags, dict) else ():
        with collect.entry(file, f"flags '{word}'"):
            if is_set:
                photo.add_word(word)
    for n, shape in enumerate(content["shapes"]):
        with collect.entry(file, f"shapes[{n}]"):
            if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
                raise FormatError("shape without a label")
            if shape.get("shape_type") in _WITHOUT_AREA:
                photo.add_word(shape["label"])
            else:
                photo.add_box(Box(shape["label"], *_bounds(shape)))


def _bounds(shape: dict[str, Any]) -> tuple[float, float, float, float]:
    """The box around the points of a shape."""
    points = shape.get("points")
    if not isinstance(points, list) or len(points) < 2:
        raise FormatError("shape with fewer than two points")
    if not all(isinstance(point, list) and len(point) == 2 for point in points):
        raise FormatError("a point must be a list of two numbers")
    xs, ys = ([number(point[axis]) for point in points] for axis in (0, 1))
    if shape.get("shape_type") == "circle":  # its centre, and a point on its edge
        radius = math.hypot(xs[1] - xs[0], ys[1] - ys[0])
        return xs[0] - radius, ys[0] - radius, 2 * radius, 2 * radius
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def encode(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A file for each photo, in a tree of folders like that of the photos."""
    files = {}
    for item, name in zip(items, per_photo_names(items, ".json"), strict=True):
        width, height = item.size or (None, None)
        shapes: list[dict[str, Any]] = [
            {
                "label": box.word,
                "points": [[box.x, box.y], [round(box.x + box.w, 3), round(box.y + box.h, 3)]],
                "group_id": None,
                "shape_type": "rectangle",
                "flags": {},
            }
            for box in item.boxes
        ]
        content = {
            "version": "5.0.0",
            "flags": dict.fromkeys(item.plain_words, True),
            "shapes": shapes,
            "imagePath": posixpath.basename(item.path),
            "imageData": None,
            "imageHeight": height,
            "imageWidth": width,
        }
        files[name] = json_bytes(content, indent=2) + b"\n"
    return files
