"""Words are written always; where they are, if it is known: neither a photo nor a model is opened for it."""

import json
import subprocess
import sys
import textwrap

import pytest
from photo_folder import make_library, make_photos, put, words_of

from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.regions import Box

RECIPE = {
    "views": ["colour-layout", "regions:blobs"],
    "max_side": 32,
    "min_regions": 2,
    "max_regions": 4,
}
UNREADABLE = "broken.jpg"
EVERY = {"regions": True, "certainty": 0.0}  # whether the model has proved itself or not


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    root = make_photos(tmp_path_factory.mktemp("photos"), n=40, tagged=24)
    put(root / UNREADABLE, b"\xff\xd8\xff\xe0 no picture")
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    library.learn("lsa", workers=0)
    library.annotate(workers=0)
    return library


@pytest.fixture
def damaged_model(library):
    path = library.folder / "models" / library.models()[0].folder / "regions.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    yield path
    path.write_bytes(content)


def name(number):
    return ("trip/" if number % 2 else "") + f"photo-{number:03d}.jpg"


def sidecar(library, photo):
    return (library.folder.parent / f"{photo}.xmp").read_text(encoding="utf-8")


def boxes(library, photo):
    with Catalog.open(library.folder) as catalog:
        return catalog.regions.of(catalog.files.at(photo).image)


def box_word(library, photo):
    """A word that has a place in the photo, and not the whole of it."""
    return next(box.word for box in boxes(library, photo) if box.w * box.h < 0.9)


def fresh(library):
    """A photo without a sidecar, of which a word has such a place."""
    return next(
        photo
        for photo in map(name, range(24, 40))
        if any(box.w * box.h < 0.9 for box in boxes(library, photo))
        and not (library.folder.parent / f"{photo}.xmp").exists()
    )


def test_annotate_finds_where_the_suggestions_are(library):
    found = [boxes(library, name(number)) for number in range(24, 40)]
    assert sum(bool(of_photo) for of_photo in found) >= 12
    for box in (box for of_photo in found for box in of_photo):
        assert 0 <= box.x < box.x + box.w <= 1 + 1e-9
        assert 0 <= box.y < box.y + box.h <= 1 + 1e-9
        assert 0 <= box.probability <= 1
    assert boxes(library, name(0)) == []  # its owner has said all its words


def test_a_damaged_region_model_holds_no_word_back(library, damaged_model):
    photo = fresh(library)
    word = box_word(library, photo)
    library.decide(photo, [word], "present")
    report = library.write(**EVERY)
    assert (report.written, report.pending, report.without_regions) == (1, (), ())
    assert "ImageRegion" in sidecar(library, photo)  # it was found before the damage


def test_words_of_a_photo_that_cant_be_read_are_written(library):
    library.decide(UNREADABLE, ["rose"], "present")
    report = library.write(**EVERY)
    assert (report.written, report.pending) == (1, ())
    assert photo_keywords(library.folder.parent / UNREADABLE).words == ("rose",)
    (line,) = report.without_regions
    assert line.startswith("1 photo: ")
    assert "regions" not in line  # the photo's own trouble
    assert library.status().pending_writes == 0


def test_a_dry_run_tells_the_same(library):
    photos = [fresh(library), name(1), name(3)]
    for photo in photos:
        library.decide(photo, ["holiday"], "present")
    (library.folder.parent / f"{name(3)}.xmp").symlink_to("elsewhere")
    told = library.write(dry_run=True, **EVERY)
    done = library.write(**EVERY)
    assert [change.sidecar for change in told.changes] == [
        f"{photo}.xmp" for photo in sorted([photos[0], name(1)])
    ]
    assert told.changes == done.changes
    assert (
        told.pending
        == done.pending
        == (f"{name(3)}: photo-003.jpg.xmp: sidecar is a symbolic link, not followed; left as it is",)
    )
    assert told.without_regions == done.without_regions
    (library.folder.parent / f"{name(3)}.xmp").unlink()
    assert library.write(**EVERY).written == 1


def test_places_found_later_are_added_by_the_next_write(library):
    put(
        library.folder.parent / "new.jpg",
        (library.folder.parent / name(38)).read_bytes() + b"another picture",
    )
    library.scan()
    words = sorted(set(words_of(38)))
    library.decide("new.jpg", words, "present")
    report = library.write(**EVERY)
    assert report.written == 1
    assert report.without_regions == (
        "1 photo: not analysed yet; run 'topicture annotate', and the next write adds regions",
    )
    assert "ImageRegion" not in sidecar(library, "new.jpg")
    assert library.write(**EVERY).files == 0
    library.annotate(workers=0)
    assert {box.word for box in boxes(library, "new.jpg")} & set(words)
    report = library.write(**EVERY)
    assert [change.path for change in report.changes] == ["new.jpg"]
    assert "ImageRegion" in sidecar(library, "new.jpg")
    assert library.write(**EVERY).files == 0


def test_without_regions_none_are_written_and_none_are_owed(library):
    photo = fresh(library)
    library.decide(photo, [box_word(library, photo)], "present")
    report = library.write(regions=False)
    assert (report.written, report.without_regions) == (1, ())
    assert "ImageRegion" not in sidecar(library, photo)
    assert library.write(certainty=0.0).files == 0
    assert library.write(**EVERY).written == 1  # but whoever asks for them gets them
    assert "ImageRegion" in sidecar(library, photo)
    assert library.write(**EVERY).files == 0


def test_regions_found_after_the_words_were_written_are_refused_too(tmp_path):
    library = make_library(tmp_path / "photos", n=1, tagged=0)
    library.decide(1, ["cat"], "present")
    library.write()
    with Catalog.open(library.folder, write=True) as catalog:
        facts = {"labels_regions": True, "regions_proven": True}
        model = catalog.suggestions.add_model("0001", "lda", 1, facts)
        catalog.regions.replace(model, {1: [Box("cat", 0.1, 0.1, 0.3, 0.3, 0.9)]})
    assert library.write(dry_run=True, regions=False).files == 0
    assert library.write(dry_run=True).files == 1  # nothing was refused yet
    library.write(regions=False)
    assert library.write().files == 0
    assert library.write(regions=True).written == 1
    assert "ImageRegion" in sidecar(library, name(0))


def test_a_damaged_region_model_stops_no_suggestion_and_is_told_once(library, damaged_model):
    put(library.folder.parent / "late.jpg", (library.folder.parent / name(37)).read_bytes() + b"later")
    library.scan()
    report = library.annotate(workers=0)
    assert report.suggestions > 0
    assert [line for line in report.skipped if line.startswith("regions: ")] == [report.skipped[-1]]
    assert "regions.safetensors" in report.skipped[-1]
    library.decide("late.jpg", ["rose"], "present")
    told = library.write(**EVERY)
    assert told.written == 1
    assert told.without_regions == (f"1 photo: {report.skipped[-1]}",)


# Fails where a picture is decoded; prints which of the large libraries were loaded.
WRITE = textwrap.dedent(
    """
    import sys
    from PIL import ImageFile
    def refuse(*arguments):
        raise AssertionError("a picture was decoded")
    ImageFile.ImageFile.load = refuse
    from topicture.app.verbs.library import Library
    report = Library.find(sys.argv[1]).write(regions=True, certainty=0.0)
    assert (report.written, report.pending) == (1, ()), report
    print(sorted({"jax", "onnxruntime", "cv2", "skimage", "topicture.vision"} & set(sys.modules)))
    """
)


def test_no_picture_is_decoded_and_no_model_is_loaded(library):
    photo = fresh(library)
    library.decide(photo, [box_word(library, photo)], "present")
    result = subprocess.run(
        [sys.executable, "-c", WRITE, library.folder.parent], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
    assert "ImageRegion" in sidecar(library, photo)


def test_a_model_that_has_not_proved_itself_writes_no_regions_unasked(library):
    with Catalog.open(library.folder, write=True) as catalog:
        model = catalog.suggestions.newest()
        facts = json.dumps({**model.facts, "regions_proven": False})
        catalog.database.execute("UPDATE models SET facts = ? WHERE id = ?", (facts, model.id))
    photo = fresh(library)
    library.decide(photo, [box_word(library, photo)], "present")
    report = library.write(certainty=0.0)
    assert report.written == 1
    (line,) = report.without_regions
    assert line.startswith("1 photo: the model does not explain tags by regions better than by whole photos")
    assert "ImageRegion" not in sidecar(library, photo)
    assert library.write(certainty=0.0).files == 0
    library.write(**EVERY)  # as that line advises
    assert "ImageRegion" in sidecar(library, photo)


def test_no_region_below_the_least_certainty(library):
    with Catalog.open(library.folder, write=True) as catalog:
        model = catalog.suggestions.newest()
        facts = json.dumps({**model.facts, "regions_proven": True})
        catalog.database.execute("UPDATE models SET facts = ? WHERE id = ?", (facts, model.id))
        catalog.database.execute("UPDATE regions SET probability = 0.69")
    first = fresh(library)
    library.decide(first, [box_word(library, first)], "present")
    assert library.write().written == 1
    assert "ImageRegion" not in sidecar(library, first)
    library.write(certainty=0.6)
    assert "ImageRegion" in sidecar(library, first)
    with Catalog.open(library.folder, write=True) as catalog:
        catalog.database.execute("UPDATE regions SET probability = 0.71")
    second = fresh(library)
    library.decide(second, [box_word(library, second)], "present")
    assert library.write().written == 1
    assert "ImageRegion" in sidecar(library, second)
    with pytest.raises(TopictureError, match="between 0 and 1"):
        library.write(certainty=1.5)
