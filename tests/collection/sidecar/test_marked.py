"""Rectangles that other programs have marked: read in both notations, upright, without what is no object."""

import numpy as np
import pytest
from PIL import Image

from topicture.collection.sidecar.marked import marked_regions, stored_picture
from topicture.collection.sidecar.values import ObjectRegion
from topicture.collection.sidecar.write import Tag, write_sidecar

HEAD = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:mwg="http://www.metadataworkinggroup.com/schemas/regions/" xmlns:a="http://ns.adobe.com/xmp/sType/Area#" '
    'xmlns:i="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"><rdf:Description rdf:about="">'
)
TAIL = "</rdf:Description></rdf:RDF></x:xmpmeta>"
MWG = '<mwg:Regions rdf:parseType="Resource"><mwg:RegionList><rdf:Bag>{}</rdf:Bag></mwg:RegionList></mwg:Regions>'


def area(name, x, y, w, h, kind="", unit="normalized"):
    kind = f"<mwg:Type>{kind}</mwg:Type>" if kind else ""
    return (
        f'<rdf:li rdf:parseType="Resource"><mwg:Name>{name}</mwg:Name>{kind}'
        f'<mwg:Area a:x="{x}" a:y="{y}" a:w="{w}" a:h="{h}" a:unit="{unit}"/></rdf:li>'
    )


def iptc(name, x, y, w, h, unit="relative", shape="rectangle"):
    sides = "".join(
        f"<i:rb{key}>{value}</i:rb{key}>" for key, value in zip("XYWH", (x, y, w, h), strict=True)
    )
    return (
        '<i:ImageRegion><rdf:Bag><rdf:li rdf:parseType="Resource"><i:RegionBoundary rdf:parseType="Resource">'
        f"<i:rbShape>{shape}</i:rbShape><i:rbUnit>{unit}</i:rbUnit>{sides}</i:RegionBoundary><i:Name><rdf:Alt>"
        f'<rdf:li xml:lang="x-default">{name}</rdf:li></rdf:Alt></i:Name></rdf:li></rdf:Bag></i:ImageRegion>'
    )


@pytest.fixture
def photo(tmp_path):
    def make(xmp, orientation=1):
        path = tmp_path / "photo.jpg"
        exif = Image.Exif()
        exif[0x0112] = orientation
        Image.fromarray(np.zeros((20, 40, 3), np.uint8)).save(path, exif=exif)
        (tmp_path / "photo.jpg.xmp").write_text(HEAD + xmp + TAIL, encoding="utf-8")
        return path

    return make


def sides(region):
    return pytest.approx((region.x, region.y, region.w, region.h))


def test_both_notations_are_read(photo):
    marks = marked_regions(
        photo(MWG.format(area("dog", 0.5, 0.5, 0.2, 0.4)) + iptc("cat", 4, 5, 20, 10, "pixel"))
    )
    assert {mark.word: (mark.x, mark.y, mark.w, mark.h) for mark in marks} == {
        "dog": pytest.approx((0.4, 0.3, 0.2, 0.4)),
        "cat": pytest.approx((0.1, 0.25, 0.5, 0.5)),
    }


def test_what_is_no_marked_object_is_left_out(photo):
    faces = area("Anna", 0.5, 0.5, 0.2, 0.2, "Face") + area("point", 0.5, 0.5, 0.1, 0.1, "Focus")
    broken = area("", 0.5, 0.5, 0.2, 0.2) + area("flat", 0.5, 0.5, 0, 0.2) + area("odd", "x", 0.5, 0.1, 0.2)
    pixels = area("pixels", 10, 5, 4, 4, unit="pixel")
    path = photo(
        MWG.format(faces + broken + pixels + area("Rex", 0.9, 0.5, 0.4, 0.2, "Pet"))
        + iptc("o", 0, 0, 1, 1, shape="circle")
    )
    (mark,) = marked_regions(path)
    assert mark.word == "Rex"
    assert (mark.x, mark.w) == pytest.approx((0.7, 0.3))  # the part inside the picture


def test_our_own_regions_are_no_marks_of_people(photo):
    path = photo(MWG.format(area("dog", 0.5, 0.5, 0.2, 0.4)))
    write_sidecar(path, add=[Tag("cat")], regions=[ObjectRegion("cat", 0.1, 0.1, 0.3, 0.3, 0.9)])
    assert [mark.word for mark in marked_regions(path)] == ["dog"]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_marks_on_a_turned_photo_are_upright(photo, orientation):
    """What is written for the stored pixels, and read from there, is what one saw."""
    seen = ObjectRegion("dog", 0.1, 0.2, 0.3, 0.6)
    stored = seen.as_stored(orientation)
    centre = stored.x + stored.w / 2, stored.y + stored.h / 2
    path = photo(MWG.format(area("dog", *centre, stored.w, stored.h)), orientation)
    (mark,) = marked_regions(path)
    assert (mark.x, mark.y, mark.w, mark.h) == sides(seen)
    assert stored_picture(path).upright_size == ((20, 40) if orientation > 4 else (40, 20))


def test_damaged_metadata_and_missing_files_have_no_marks(photo, tmp_path):
    path = photo("<mwg:Regions>")
    assert marked_regions(path) == []
    assert marked_regions(tmp_path / "gone.jpg") == []
