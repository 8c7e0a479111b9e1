"""Rectangles that people, or other programs for them, have marked on a photo: regions of the IPTC and of the MWG.

They are read, never changed. Those that Topicture wrote are left out, and so are faces, points of focus and bar codes:
a face is not all of whom it belongs to.
"""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree
from PIL import Image

from topicture.collection.metadata.containers import read_blocks
from topicture.collection.metadata.keywords import read_sidecar, sidecar_path
from topicture.collection.metadata.record import BY
from topicture.collection.metadata.xmp import (
    AREA,
    IPTC_EXT,
    MWG_REGIONS,
    RDF,
    BadXmp,
    containers,
    descriptions,
    item_text,
    list_items,
    lists_of,
    parse_xmp,
    struct_field,
)
from topicture.collection.sidecar.values import ObjectRegion, SidecarError
from topicture.errors import BadWord

__all__ = ["StoredPicture", "marked_regions", "stored_picture"]

_ORIENTATION_TAG = 0x0112  # EXIF
_OF_OBJECTS = ("", "Pet")


class StoredPicture(NamedTuple):
    """Width and height of the pixels as a file has them, None where they can't be read; and the EXIF orientation."""

    size: tuple[int, int] | None
    orientation: int

    @property
    def upright_size(self) -> tuple[int, int] | None:
        """Width and height as one sees the picture."""
        return self.size[::-1] if self.size and 5 <= self.orientation <= 8 else self.size

    def upright(self, region: ObjectRegion) -> ObjectRegion:
        """A rectangle on the stored pixels, as one sees it: quarter turns are undone by the opposite ones."""
        return region.as_stored({6: 8, 8: 6}.get(self.orientation, self.orientation))


def stored_picture(photo: str | os.PathLike) -> StoredPicture:
    """What the header alone says: a PNG's own `getexif` would decode the picture."""
    size: tuple[int, int] | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's, of odd metadata
            with Image.open(photo) as image:
                size = image.size
                return StoredPicture(size, Image.Image.getexif(image).get(_ORIENTATION_TAG, 1))
    except Exception:
        # Damaged metadata, of which a decoder may raise nearly anything: then nobody turns the picture.
        return StoredPicture(size, 1)


def marked_regions(photo: str | os.PathLike) -> list[ObjectRegion]:
    """The named rectangles of a photo's sidecar and of the file itself, upright; none where nothing can be read."""
    trees = list(_documents(Path(photo)))
    stored = [region for tree in trees for region in (*_iptc(tree, photo), *_mwg(tree))]
    if not stored:
        return []
    picture = stored_picture(photo)
    return list(dict.fromkeys(picture.upright(region) for region in stored))


def _documents(photo: Path) -> Iterator[etree._ElementTree]:
    contents: list[bytes] = []
    try:
        contents += read_blocks(photo).xmp
        sidecar = sidecar_path(photo)
        if os.path.lexists(sidecar):
            contents.append(read_sidecar(sidecar))
    except (OSError, BadXmp):
        pass  # a scan has told why
    for content in contents:
        if b"Region" in content:
            try:
                yield parse_xmp(content)
            except BadXmp:
                continue


def _mwg(tree: etree._ElementTree) -> Iterator[ObjectRegion]:
    for item in _items_of(_nodes(descriptions(tree), MWG_REGIONS + "Regions"), MWG_REGIONS + "RegionList"):
        if struct_field(item, MWG_REGIONS + "Type") not in _OF_OBJECTS:
            continue
        for area in _nodes([item], MWG_REGIONS + "Area"):
            if struct_field(area, AREA + "unit") in ("", "normalized"):
                x, y, w, h = _numbers(area, AREA, "xywh")
                yield from _region(struct_field(item, MWG_REGIONS + "Name"), x - w / 2, y - h / 2, w, h)


def _iptc(tree: etree._ElementTree, photo: str | os.PathLike) -> Iterator[ObjectRegion]:
    regions = (
        item for container in containers(tree, IPTC_EXT + "ImageRegion") for item in list_items(container)
    )
    for item in regions:
        if struct_field(item, BY):
            continue
        names = _items_of([item, *item.iterchildren(RDF + "Description")], IPTC_EXT + "Name")
        name = next(map(item_text, names), "")
        for boundary in _nodes([item], IPTC_EXT + "RegionBoundary"):
            if struct_field(boundary, IPTC_EXT + "rbShape") != "rectangle":
                continue
            x, y, w, h = _numbers(boundary, IPTC_EXT, ("rbX", "rbY", "rbW", "rbH"))
            if struct_field(boundary, IPTC_EXT + "rbUnit") == "pixel":
                width, height = stored_picture(photo).size or (0, 0)
                if not width or not height:
                    continue
                x, y, w, h = x / width, y / height, w / width, h / height
            yield from _region(name, x, y, w, h)


def _region(name: str, x: float, y: float, w: float, h: float) -> Iterator[ObjectRegion]:
    """The part of a rectangle that lies in the picture, if it has a name and a size."""
    left, top, right, bottom = max(x, 0.0), max(y, 0.0), min(x + w, 1.0), min(y + h, 1.0)
    try:
        yield ObjectRegion(name, left, top, right - left, bottom - top)
    except (BadWord, SidecarError):
        return


def _numbers(node: etree._Element, space: str, names) -> Iterator[float]:
    for name in names:
        try:
            yield float(struct_field(node, space + name))
        except ValueError:
            yield float("nan")


def _nodes(parents: list[etree._Element], name: str) -> list[etree._Element]:
    """Structures of that name below others, however these are written."""
    inside = [node for parent in parents for node in (parent, *parent.iterchildren(RDF + "Description"))]
    return [node for parent in inside for node in parent.iterchildren(name)]


def _items_of(nodes: list[etree._Element], name: str) -> Iterator[etree._Element]:
    """Items of a list inside structures, without ours."""
    both = [each for node in nodes for each in (node, *node.iterchildren(RDF + "Description"))]
    for container in lists_of(both, name):
        yield from (item for item in list_items(container) if not struct_field(item, BY))
