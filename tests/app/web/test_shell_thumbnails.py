"""Small pictures: ours, never the original bytes; made by workers, kept by picture, and a bad photo costs itself."""

import io

import pytest
from bad_decoder import crash_or_hang
from event_loops import run
from photo_folder import RECIPE, put
from PIL import Image
from serving import serving

from topicture.app.progress import silent
from topicture.app.verbs.library import Library
from topicture.app.web.pictures import studio as studio_module
from topicture.app.web.pictures.preparing import prepare
from topicture.app.web.pictures.studio import NoPicture, Studio
from topicture.app.web.site import Site
from topicture.vision.thumbnails import Made, ThumbnailCache

HTML = b"<script>alert(1)</script>"


def photo(width, height, *, turned=1, taken=None, after=b""):
    image = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = turned
    if taken:
        exif.get_ifd(0x8769)[36867] = taken
    stream = io.BytesIO()
    image.save(stream, "JPEG", exif=exif, comment=b"a secret comment")
    return stream.getvalue() + after


@pytest.fixture
def library(tmp_path):
    root = tmp_path / "photos"
    put(root / "wide.jpg", photo(2000, 1000, taken="2019:07:21 18:03:59", after=HTML))
    put(root / "turned.jpg", photo(1200, 800, turned=6))
    put(root / "panorama.jpg", photo(9000, 300))
    put(root / "page.jpg", HTML + b" " * 200)
    put(root / "cut.jpg", photo(800, 600)[:700])
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    return library


@pytest.fixture
def studio(library):
    studio = Studio(library)
    yield studio
    studio.close()


def image(library, name):
    return library.image(library.folder.parent / name)


def show(studio, number, size="small"):
    return run(studio.show(number, size))


@pytest.mark.parametrize(
    ("name", "size", "expected"),
    [
        ("wide.jpg", "small", (640, 320)),
        ("wide.jpg", "large", (1600, 800)),
        ("turned.jpg", "small", (213, 320)),
        ("panorama.jpg", "small", (1280, 43)),
        ("panorama.jpg", "large", (1600, 53)),
    ],
)
def test_a_picture_is_encoded_anew_upright_and_small(library, studio, name, size, expected):
    shown = show(studio, image(library, name), size)
    with Image.open(io.BytesIO(shown.jpeg)) as made:
        assert made.format == "JPEG"
        assert made.size == expected
        assert not made.getexif()
    assert HTML not in shown.jpeg
    assert b"secret" not in shown.jpeg


def test_a_picture_is_made_once(library, studio, monkeypatch):
    number = image(library, "wide.jpg")
    first = show(studio, number)
    monkeypatch.setattr(Studio, "_ask", lambda *_: pytest.fail("made again"))
    assert show(studio, number) == first
    assert show(studio, number).tag != studio.tag(image(library, "turned.jpg"), "small")


@pytest.mark.parametrize("name", ["page.jpg", "cut.jpg"])
def test_what_is_no_picture_has_a_reason(served_of, library, name):
    code, answer = served_of.get(f"thumbnails/{image(library, name)}")
    assert (code, answer["error"]["code"]) == (404, "not-found")
    assert answer["error"]["message"]
    assert served_of.get("thumbnails/999")[0] == 404
    assert served_of.get(f"thumbnails/{image(library, name)}", size="huge")[0] == 400


@pytest.fixture
def served_of(library):
    with serving(Site(None, library)) as served:
        yield served


@pytest.mark.parametrize(
    ("name", "reason", "seconds"),
    [("wide.jpg", "crashed", 60.0), ("panorama.jpg", "took over", 3.0)],  # writing a core takes its time
)
def test_a_crash_or_a_hang_costs_one_picture(library, studio, monkeypatch, name, reason, seconds):
    monkeypatch.setattr(studio_module, "make_thumbnails", crash_or_hang)
    monkeypatch.setattr(studio_module, "TIMEOUT_SECONDS", seconds)
    with pytest.raises(NoPicture, match=reason):
        show(studio, image(library, name))
    assert show(studio, image(library, "turned.jpg")).jpeg == b"\xff\xd8\xff"


def test_the_server_itself_decodes_nothing(library, studio, monkeypatch):
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("decoded here"))
    assert show(studio, image(library, "wide.jpg")).jpeg


def test_prepare_looks_at_all_and_tells_sizes_and_dates(library, studio):
    assert studio.missing() == 5
    report = prepare(library, silent)
    assert (report.made, report.unreadable) == (3, 2)
    assert studio.missing() == 0
    with library.reading() as catalog, ThumbnailCache(catalog.cache) as cache:
        contents = {living.path: living.content for living in catalog.files.living()}
        sizes = cache.sizes(list(contents.values()))
        assert sizes[contents["wide.jpg"]] == (2000, 1000, "2019-07-21T18:03:59")
        assert sizes[contents["turned.jpg"]] == (800, 1200, None)
        assert contents["page.jpg"] not in sizes
    assert prepare(library, silent).made == 0


def test_a_file_that_changed_since_the_scan_is_shown_but_not_kept(library, studio):
    number = image(library, "wide.jpg")
    put(library.folder.parent / "wide.jpg", photo(300, 300))
    with Image.open(io.BytesIO(show(studio, number).jpeg)) as made:
        assert made.size == (300, 300)
    assert studio._cache.get(studio._content(number), "small") is None


def test_large_pictures_give_way_to_newer_ones(tmp_path):
    jpeg = b"\xff\xd8\xff" + bytes(1000)
    with ThumbnailCache(tmp_path, large_bytes=3500) as cache:
        for number in range(5):
            made = Made(bytes([number]) * 32, 9, 9, None, {"small": jpeg, "large": jpeg})
            cache.put(made.content, made)
            cache.get(bytes(32), "large")  # looked at again and again, so it stays
        kept = [n for n in range(5) if cache.get(bytes([n]) * 32, "large")]
        assert kept == [0, 3, 4]
        assert all(cache.get(bytes([n]) * 32, "small") for n in range(5))


@pytest.mark.parametrize(
    "values",
    [
        (b"short", 3, 2, None, {}),
        (b"\1" * 32, 0, 2, None, {}),
        (b"\1" * 32, 3, True, None, {}),
        (b"\1" * 32, 3, 2, "yesterday", {}),
        (b"\1" * 32, 3, 2, None, {"small": b"<html>"}),
        (b"\1" * 32, 3, 2, None, {"../x": b"\xff\xd8\xff"}),
    ],
)
def test_what_a_worker_says_is_checked(values):
    with pytest.raises(ValueError, match=r"."):
        Made(*values)


def test_a_reason_is_remembered_where_it_lasts(library, studio, monkeypatch):
    number = image(library, "cut.jpg")
    with pytest.raises(NoPicture):
        show(studio, number)
    monkeypatch.setattr(studio._pool, "ask", lambda *_: pytest.fail("tried again"))
    with pytest.raises(NoPicture):
        show(studio, number)
