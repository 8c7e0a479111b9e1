"""Dates of cameras and edited copies: known from the scan on, without a thumbnail."""

import os

import numpy as np
import pytest
from photo_folder import LONG_AGO, RECIPE, jpeg, put, xmp
from PIL import Image

from topicture.app.learning.training_tags import hidden_together, moments
from topicture.app.verbs.browsing.listing import PhotoFilter
from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.sidecar.write import Tag, write_sidecar
from topicture.corpus import Corpus

DAYS = {"a.jpg": 1, "a-edited.jpg": 1, "b.jpg": 2, "c.jpg": 3}


def dated(number, day, keywords=("sea",)):
    exif = Image.Exif()
    exif.get_ifd(0x8769)[36867] = f"2019:07:{day:02d} 12:00:00"
    block, content = exif.tobytes(), jpeg(number, keywords)
    return content[:2] + b"\xff\xe1" + (len(block) + 2).to_bytes(2, "big") + block + content[2:]


@pytest.fixture
def library(tmp_path):
    for number, (name, day) in enumerate(DAYS.items()):
        put(tmp_path / "photos" / name, dated(number, day))
    put(tmp_path / "photos" / "plain.jpg", jpeg(9))
    library = Library.create(tmp_path / "photos", recipe=RECIPE)
    library.scan()
    return library


def names(library, order="taken", **wanted):
    return [photo.name for photo in library.photos(PhotoFilter(**wanted), order).photos]


def test_photos_are_found_by_the_day_they_were_taken_right_after_the_scan(library):
    assert names(library, first_day="2019-07-02", last_day="2019-07-02") == ["b.jpg"]
    assert names(library)[2:] == ["b.jpg", "c.jpg", "plain.jpg"]
    assert not (library.folder / "cache" / "thumbnails.sqlite").exists()
    taken = {photo.name: photo.taken for photo in library.photos().photos}
    assert (taken["c.jpg"], taken["plain.jpg"]) == ("2019-07-03T12:00:00", None)


def test_another_date_in_the_sidecar_is_followed(library):
    root = library.folder.parent
    said = xmp(["sea"]).replace(
        b"<dc:subject>",
        b'<photoshop:DateCreated xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/">2021-03-04'
        b"</photoshop:DateCreated><dc:subject>",
    )
    put(root / "b.jpg.xmp", said)
    library.scan()
    assert names(library, first_day="2021-03-04", last_day="2021-03-04") == ["b.jpg"]


def test_a_catalog_of_an_earlier_version_is_filled_at_the_next_scan(library):
    with library.writing("test") as catalog:
        catalog.database.execute("UPDATE places SET taken = NULL")
        catalog.database.execute("UPDATE images SET edit_of = NULL")
        catalog.set("reading", 2)
    assert names(library, last_day="2019-12-31") == []
    report = library.scan()
    assert (report.new, report.changed, report.decisions) == (0, 0, 0)
    assert sorted(names(library, last_day="2019-12-31")) == sorted(DAYS)
    assert edits(library) == {"a-edited.jpg": "a.jpg"}


def edits(library):
    return {photo.path: photo.edit_of for photo in library.photos().photos if photo.edit_of}


def test_an_edited_copy_is_shown_as_such_and_shares_no_decision(library, capsys):
    from topicture.app.console.photos import print_photos

    assert edits(library) == {"a-edited.jpg": "a.jpg"}
    print_photos(library.photos(order="path"))
    assert "a-edited.jpg  (1 tag, edited copy of a.jpg)\n" in capsys.readouterr().out
    library.decide("a.jpg", ["night"], "present")
    assert {tag.word for tag in library.tags("a-edited.jpg")} == {"sea"}
    root = library.folder.parent
    (root / "a.jpg").rename(root / "d.jpg")
    library.scan()
    assert edits(library) == {}
    (root / "d.jpg").rename(root / "a.jpg")
    os.utime(root / "a.jpg", (LONG_AGO, LONG_AGO))
    library.scan()
    assert edits(library) == {"a-edited.jpg": "a.jpg"}


def test_learning_hides_an_edited_copy_with_its_original(library):
    with library.reading() as catalog:
        images = catalog.files.living()
    rows = np.random.default_rng(0).normal(size=(len(images), 64))
    corpus = Corpus.from_arrays(captions=np.ones((len(images), 1)), vocabulary=["sea"], descriptor=rows)
    group = dict(zip((image.path for image in images), hidden_together(corpus, images), strict=True))
    assert group["a.jpg"] == group["a-edited.jpg"]
    assert len(set(group.values())) == 4
    assert np.isnan(moments(images)).sum() == 1


def test_the_sidecars_of_a_raw_file_are_those_of_the_photo_made_of_it(tmp_path):
    """Read by either name, noticed when they change, and left as they are when tags are written."""
    root = tmp_path / "photos"
    for name, content in {
        "img_1.jpg": jpeg(0, ["rose"]),
        "IMG_1.CR2": b"II*\0 raw",
        "IMG_1.CR2.xmp": xmp(["tiger"]),  # as darktable and digiKam name it
        "IMG_2.jpg": jpeg(1),
        "IMG_2.NEF": b"MM\0* raw",
        "IMG_2.xmp": xmp(["lion"]),  # as Lightroom names it
        "IMG_2.jpg.xmp": xmp(["cat"]),
        "IMG_3.jpg": jpeg(2),
        "IMG_3.jpg.xmp": xmp(["own"]),
        "IMG_3.xmp": xmp(["nobody's"]),  # there is no RAW file: only one of them counts
    }.items():
        put(root / name, content)
    library = Library.create(root, recipe=RECIPE)
    assert library.scan().files == 3

    def words(name):
        return {tag.word for tag in library.tags(name)}

    assert (words("img_1.jpg"), words("IMG_2.jpg")) == ({"rose", "tiger"}, {"lion", "cat"})
    assert words("IMG_3.jpg") == {"own"}
    assert library.scan().unchanged == 3
    put(root / "IMG_1.CR2.xmp", xmp(["tiger", "night"]))
    os.utime(root / "IMG_1.CR2.xmp", (LONG_AGO + 50, LONG_AGO + 50))
    assert library.scan().decisions == 1
    assert words("img_1.jpg") == {"rose", "tiger", "night"}
    before = {path: path.read_bytes() for path in root.glob("*.xmp") if path.name != "IMG_2.jpg.xmp"}
    for name in ("img_1.jpg", "IMG_2.jpg"):
        library.decide(name, ["ours"], "present")
    assert library.write(regions=False).pending == ()
    assert {path: path.read_bytes() for path in before} == before
    assert b"ours" in (root / "img_1.jpg.xmp").read_bytes()
    assert b"ours" in (root / "IMG_2.jpg.xmp").read_bytes()
    assert library.scan().decisions == 0


def test_a_raw_file_alone_has_the_sidecar_of_either_name(tmp_path):
    raw = tmp_path / "IMG_1.CR2"
    raw.write_bytes(b"II*\0 raw")
    for name, word in (("IMG_1.xmp", "shared"), ("IMG_1.CR2.xmp", "own")):
        (tmp_path / name).write_bytes(xmp([word]))
        assert "ours" not in photo_keywords(raw).words
        write_sidecar(raw, add=[Tag("ours")])
        assert set(photo_keywords(raw).words) == {word, "ours"}
        assert b"ours" in (tmp_path / name).read_bytes()
