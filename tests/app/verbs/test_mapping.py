"""The map: neighbours stay neighbours, words lie among their photos, a damaged file is told, nothing is made twice."""

import numpy as np
import pytest
from photo_folder import N, copy_library, learn, make_library, words_of

from topicture.app.progress import silent
from topicture.app.verbs.library import Library
from topicture.app.verbs.mapping import plane
from topicture.app.verbs.mapping.making import make_map
from topicture.app.verbs.mapping.map_file import MapFileError, read_map
from topicture.app.verbs.mapping.showing import GONE, SUGGESTED, TAGGED, map_points, map_summary
from topicture.app.verbs.words.editing import delete_word, merge_words
from topicture.errors import DataNotFound


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"))
    learn(library)
    with library.reading() as catalog:
        make_map(catalog)
    return library


@pytest.fixture
def library(learned, tmp_path):
    return Library.find(copy_library(learned.folder.parent, tmp_path / "photos"))


@pytest.fixture
def catalog(library):
    with library.writing("test") as catalog:
        yield catalog


def columns(catalog):
    summary = map_summary(catalog)
    content, n = map_points(catalog, summary.version), summary.points
    assert len(content) == 13 * n
    return (
        np.frombuffer(content, "<i4", n),
        np.frombuffer(content, "<f4", n, 4 * n),
        np.frombuffer(content, "<f4", n, 8 * n),
        np.frombuffer(content, np.uint8, n, 12 * n),
    )


# --- Laying out -----------------------------------------------------------------------------------------------


def clusters(n, seed=0):
    random = np.random.default_rng(seed)
    group = random.integers(12, size=n)
    return random.normal(0, 4, (12, 40))[group] + random.normal(0, 1, (n, 40)), group


@pytest.mark.parametrize("n", [300, 900])
def test_photos_that_are_alike_are_near_each_other(monkeypatch, n):
    """With 900 photos and a sample of 400, most go where their likes of the sample are."""
    monkeypatch.setattr(plane, "SAMPLE", 400)
    monkeypatch.setattr(plane, "BLOCK", 128)
    rows, group = clusters(n)
    places = plane.lay_out(rows.astype(np.float32), silent)
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :10]
    assert (group[nearest] == group[:, None]).mean() > 0.9
    assert np.isfinite(places).all()
    np.testing.assert_array_equal(places, plane.lay_out(rows.astype(np.float32), silent))


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_few_photos_and_photos_that_are_the_same_have_places(n):
    for rows in (np.ones((n, 6), np.float32), clusters(n)[0].astype(np.float32)):
        assert plane.lay_out(rows, silent).shape == (n, 2)
        assert np.isfinite(plane.lay_out(rows, silent)).all()


def test_the_square_is_filled():
    places, words = plane.to_square(np.array([[0, 5], [10, 7]], np.float32), np.array([[5, 6]], np.float32))
    assert (places.min(), places.max()) == (-1, 1)
    np.testing.assert_allclose(words, 0, atol=1e-6)


# --- The map of a collection ----------------------------------------------------------------------------------


def test_every_photo_has_a_place_and_its_flags(library, catalog):
    images, x, y, flags = columns(catalog)
    assert sorted(images) == catalog.index_images().tolist()
    assert not (np.diff(images) > 0).all()  # in no order
    assert max(np.abs(x).max(), np.abs(y).max()) <= 1
    by_image = dict(zip(images.tolist(), flags.tolist(), strict=True))
    tagged, untagged = library.image("photo-000.jpg"), library.image("photo-060.jpg")
    assert by_image[tagged] & TAGGED
    assert by_image[untagged] == SUGGESTED
    catalog.files.mark_gone(["photo-000.jpg"])
    assert dict(zip(images.tolist(), columns(catalog)[3].tolist(), strict=True))[tagged] & GONE


def test_words_lie_among_their_photos(library, catalog):
    images, x, y, _ = columns(catalog)
    at = {image: np.array([a, b]) for image, a, b in zip(images.tolist(), x, y, strict=True)}
    for word in map_summary(catalog).words:
        place = np.array([word.x, word.y])
        mine = catalog.decisions.images_with([word.word], "present")
        others = [image for image in at if image not in mine]
        far = lambda group, place=place: np.median([np.linalg.norm(at[i] - place) for i in group])  # noqa: E731
        assert far(mine) < far(others)


def test_words_are_called_as_today(catalog):
    merge_words(catalog, ["rose", "grass"], "plant")
    delete_word(catalog, "sea")
    words = {word.word: word.photos for word in map_summary(catalog).words}
    assert set(words) == {"plant", "sand"}
    assert words["plant"] == sum(bool({"rose", "grass"} & set(words_of(n))) for n in range(48))


def test_a_map_of_an_older_index_is_stale_and_one_made_anew_is_another(library):
    with library.reading() as catalog:
        before = map_summary(catalog)
    assert before.status == "ready"
    library.annotate(workers=0, again=True)
    with library.reading() as catalog:
        assert map_summary(catalog).status == "stale"
        make_map(catalog)
        assert map_summary(catalog).status == "ready"
        with pytest.raises(DataNotFound, match="made anew"):
            map_points(catalog, before.version)


def test_without_a_map_there_is_none(catalog):
    (catalog.cache / "map.bin").unlink()
    assert map_summary(catalog).status == "none"


def test_photos_that_nobody_looked_at_have_no_map(tmp_path):
    library = make_library(tmp_path / "photos", n=4, tagged=2)
    with library.reading() as catalog, pytest.raises(DataNotFound, match="topicture annotate"):
        make_map(catalog)


@pytest.mark.parametrize("damage", ["cut", "mark", "header", "length", "places"])
def test_a_damaged_map_is_told(catalog, damage):
    path = catalog.cache / "map.bin"
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "mark":
        content[0] ^= 1
    elif damage == "header":
        content[25] ^= 0xFF
    elif damage == "length":
        content += b"\0"
    else:
        content[-4:] = np.array([np.nan], "<f4").tobytes()
    path.write_bytes(content)
    with pytest.raises(MapFileError, match="make it again"):
        map_summary(catalog)
    make_map(catalog)
    assert map_summary(catalog).status == "ready"


def test_a_learned_embedding_is_the_map(tmp_path):
    library = make_library(tmp_path / "photos")
    library.learn("iwe", regions=False, workers=0)
    library.annotate(workers=0)
    with library.reading() as catalog:
        report = make_map(catalog, workers=0)
        assert (report.source, report.photos) == ("iwe", N)
        found = read_map(catalog.cache)
        assert [word for word, _, _ in found.words] == ["grass", "rose", "sand", "sea"]
        images, x, y, _ = columns(catalog)
        at = dict(zip(images.tolist(), zip(x, y, strict=True), strict=True))
        place = {word: (a, b) for word, a, b in found.words}
        right = 0
        for number in range(0, N, 2):
            here = np.array(at[catalog.files.at(f"photo-{number:03d}.jpg").image])
            nearest = min(place, key=lambda word: np.linalg.norm(here - place[word]))
            right += nearest in words_of(number)
        assert right > 0.7 * N / 2
