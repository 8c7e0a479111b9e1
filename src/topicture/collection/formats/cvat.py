"""CVAT XML 1.1 for images: one file with an element for each image, tags for the whole and boxes.

Of polygons and masks the box around them is taken; points and lines give their word only.
"""

from collections.abc import Sequence
from pathlib import Path

from lxml import etree

from topicture.collection.formats.files import load_xml
from topicture.collection.formats.items import Box, Collector, Draft, FormatError, Item, number
from topicture.moved import moved

__all__ = ["encode", "read"]

__getattr__ = moved(__name__)  # names of earlier versions


def read(path: Path, collect: Collector) -> None:
    """Read a file of images."""
    file = path.name
    with collect.entry(file, ""):
        root = load_xml(path)
        if root.tag != "annotations":
            raise FormatError("not a CVAT file: it has no annotations")
        if root.find("track") is not None:
            collect.refuse(file, f"line {root.find('track').sourceline}", "tracks of a video are not read")
        for image in root.iterfind("image"):
            where = f"line {image.sourceline}"
            with collect.entry(file, where):
                size = image.get("width"), image.get("height")
                photo = collect.photo(file, where, image.get("name"), *size)
                for element in image.iterchildren(tag=etree.Element):
                    with collect.entry(file, f"line {element.sourceline}"):
                        _take(element, photo)


def _take(element: etree._Element, photo: Draft) -> None:
    word = element.get("label")
    if word is None:
        raise FormatError(f"{element.tag} without a label")
    if element.tag in ("tag", "points", "polyline"):
        photo.add_word(word)
    elif element.tag == "box":
        if number(element.get("rotation", "0")) != 0:
            raise FormatError("turned boxes are not read")
        left, top, right, bottom = (number(element.get(name)) for name in ("xtl", "ytl", "xbr", "ybr"))
        photo.add_box(Box(word, left, top, right - left, bottom - top))
    elif element.tag == "mask":
        photo.add_box(Box(word, *(number(element.get(name)) for name in ("left", "top", "width", "height"))))
    elif element.tag == "polygon":
        photo.add_box(Box(word, *_bounds(element.get("points", ""))))
    else:
        raise FormatError(f"shapes of the kind '{element.tag}' are not read")


def _bounds(points: str) -> tuple[float, float, float, float]:
    """The box around points written as "x,y;x,y;..."."""
    pairs = [point.split(",") for point in points.split(";")]
    if any(len(pair) != 2 for pair in pairs):
        raise FormatError("points must be written as x,y;x,y;...")
    xs, ys = ([number(pair[axis]) for pair in pairs] for axis in (0, 1))
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


def encode(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A file of images; its labels are listed where CVAT looks for them."""
    root = etree.Element("annotations")
    etree.SubElement(root, "version").text = "1.1"
    labels = etree.SubElement(etree.SubElement(etree.SubElement(root, "meta"), "task"), "labels")
    for word in sorted({word for item in items for word in item.words}):
        etree.SubElement(etree.SubElement(labels, "label"), "name").text = word
    for n, item in enumerate(items):
        image = etree.SubElement(root, "image", {"id": str(n), "name": item.path})
        for side, length in zip(("width", "height"), item.size or (), strict=False):
            image.set(side, str(length))
        for word in item.plain_words:
            etree.SubElement(image, "tag", {"label": word, "source": "manual"})
        for box in item.boxes:
            right, bottom = round(box.x + box.w, 3), round(box.y + box.h, 3)
            corners = zip(("xtl", "ytl", "xbr", "ybr"), (box.x, box.y, right, bottom), strict=True)
            place = {name: f"{value:.12g}" for name, value in corners}
            etree.SubElement(
                image,
                "box",
                {"label": box.word, "source": "manual", "occluded": "0", **place, "z_order": "0"},
            )
    return {path.name: etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8")}
