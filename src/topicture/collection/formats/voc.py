"""Pascal VOC: an XML file for each photo.

Corners are taken as they stand, in pixels from the upper left. Files in a folder `Annotations` speak of the photos in
`JPEGImages` beside it, as in the challenge's own data. The format has no words for a whole photo; ours stand in an
element `words`, which other readers pass over.
"""

import posixpath
from collections.abc import Sequence
from pathlib import Path

from lxml import etree

from topicture.collection.formats.files import files_below, load_xml, per_photo_names
from topicture.collection.formats.items import Box, Collector, FormatError, Item, number
from topicture.moved import moved

__all__ = ["encode", "problem", "read"]

__getattr__ = moved(__name__)  # names of earlier versions

_LABELS, _PHOTOS = "Annotations", "JPEGImages"


def read(path: Path, collect: Collector) -> None:
    """Read a file, or all of a folder."""
    for source, folder in files_below(path, ".xml"):
        file = posixpath.join(folder, source.name)
        with collect.entry(file, ""):
            root = load_xml(source)
            if root.tag != "annotation":
                raise FormatError("not a Pascal VOC file: it is no annotation")
            name = root.findtext("filename")
            if not name:
                raise FormatError("it names no photo (filename)")
            size = (root.findtext(f"size/{side}") for side in ("width", "height"))
            photo = collect.photo(
                file, _line(root), posixpath.join(_renamed(folder, _LABELS, _PHOTOS), name), *size
            )
            for element in root.iterfind("words/word"):
                with collect.entry(file, _line(element)):
                    photo.add_word((element.text or "").strip())
            for element in root.iterfind("object"):
                with collect.entry(file, _line(element)):
                    photo.add_box(_box(element))


def _box(element: etree._Element) -> Box:
    corners = [element.findtext(f"bndbox/{name}") for name in ("xmin", "ymin", "xmax", "ymax")]
    if None in corners:
        raise FormatError("object without a box")
    left, top, right, bottom = map(number, corners)
    return Box((element.findtext("name") or "").strip(), left, top, right - left, bottom - top)


def _line(element: etree._Element) -> str:
    return f"line {element.sourceline}"


def _renamed(folder: str, old: str, new: str) -> str:
    """A folder with its last part changed, where that is `old`."""
    parent, last = posixpath.split(folder)
    return posixpath.join(parent, new) if last == old else folder


def problem(item: Item) -> str | None:
    """Why the format can't hold an item."""
    if posixpath.basename(posixpath.dirname(item.path)) == _LABELS:
        return f"photos in a folder '{_LABELS}' would be looked for in '{_PHOTOS}'"
    return None


def encode(path: Path, items: Sequence[Item]) -> dict[str, bytes]:
    """A file for each photo, in a tree of folders like that of the photos."""
    files = {}
    for item, name in zip(items, per_photo_names(items, ".xml"), strict=True):
        folder, base = posixpath.split(name)
        root = etree.Element("annotation")
        _text(root, "folder", posixpath.basename(posixpath.dirname(item.path)))
        _text(root, "filename", posixpath.basename(item.path))
        if item.size:
            size = etree.SubElement(root, "size")
            for side, length in zip(("width", "height", "depth"), (*item.size, 3), strict=True):
                _text(size, side, str(length))
        if item.plain_words:
            words = etree.SubElement(root, "words")
            for word in item.plain_words:
                _text(words, "word", word)
        for box in item.boxes:
            _write_object(root, box)
        name = posixpath.join(_renamed(folder, _PHOTOS, _LABELS), base)
        files[name] = etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8")
    return files


def _write_object(root: etree._Element, box: Box) -> None:
    element = etree.SubElement(root, "object")
    _text(element, "name", box.word)
    for name in ("truncated", "difficult"):
        _text(element, name, "0")
    corners = etree.SubElement(element, "bndbox")
    right, bottom = round(box.x + box.w, 3), round(box.y + box.h, 3)
    for name, value in zip(("xmin", "ymin", "xmax", "ymax"), (box.x, box.y, right, bottom), strict=True):
        _text(corners, name, f"{value:.12g}")


def _text(parent: etree._Element, name: str, text: str) -> None:
    etree.SubElement(parent, name).text = text
