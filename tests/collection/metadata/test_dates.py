"""When photos were taken, as their files and sidecars say."""

import io
import struct

import pytest
from photo_files import description, photo, xmp
from PIL import Image, features

from topicture.collection.metadata.dates import ExifDates, camera_date, dates_in_block
from topicture.collection.metadata.keywords import photo_keywords

EXIF_NS = 'xmlns:exif="http://ns.adobe.com/exif/1.0/"'
STAMP, DATE = "2019:07:21 18:03:59", "2019-07-21T18:03:59"


def exif(original=STAMP, changed="2022:01:01 00:00:00"):
    found = Image.Exif()
    if changed:
        found[306] = changed
    if original:
        found.get_ifd(0x8769)[36867] = original
    return found.tobytes()


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2019:07:21 18:03:59", DATE),
        ("2019-07-21T18:03:59.25+02:00", DATE),
        ("2019-07-21T18:03Z", "2019-07-21T18:03:00"),
        ("2019-07-21", "2019-07-21T00:00:00"),
        ("2019:07:21 18:03:59\0", DATE),
        ("2019", None),
        ("2019-02-31T00:00:00", None),
        ("0000:00:00 00:00:00", None),
        ("    :  :     :  :  ", None),
        ("2019:07:21 99:99:99", None),
    ],
)
def test_a_date_as_cameras_and_programs_write_it(text, date):
    assert camera_date(text) == date


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif", ".avif"])
def test_the_date_of_the_camera_is_read_in_every_format(tmp_path, suffix):
    if suffix == ".avif" and not features.check("avif"):
        pytest.skip("this Pillow writes no AVIF")
    stream = io.BytesIO()
    Image.new("RGB", (40, 30)).save(
        stream, {".jpg": "JPEG", ".tif": "TIFF"}.get(suffix, suffix[1:]), exif=exif()
    )
    path = tmp_path / f"a{suffix}"
    path.write_bytes(stream.getvalue())
    assert photo_keywords(path).taken == DATE
    cut = tmp_path / f"cut{suffix}"
    for n in range(0, len(stream.getvalue()), 37):  # whatever is cut off, nothing is raised
        cut.write_bytes(stream.getvalue()[:n])
        assert photo_keywords(cut).taken in (DATE, "2022-01-01T00:00:00", None)


def said(tag):
    return xmp(description(attributes=f'{EXIF_NS} exif:DateTimeOriginal="{tag}"'))


def test_the_sidecar_says_it_first_then_exif_then_xmp_then_the_last_change(tmp_path):
    embedded, beside = said("2018-01-01T01:01:01"), said("2017-05-05T05:05:05")
    path = photo(tmp_path / "a.jpg", embedded, exif=exif())
    assert photo_keywords(path).taken == DATE
    (tmp_path / "a.xmp").write_bytes(beside)
    assert photo_keywords(path).taken == "2017-05-05T05:05:05"
    assert photo_keywords(photo(tmp_path / "b.jpg", embedded, exif=exif(None))).taken == "2018-01-01T01:01:01"
    assert photo_keywords(photo(tmp_path / "c.jpg", exif=exif(None))).taken == "2022-01-01T00:00:00"
    assert photo_keywords(photo(tmp_path / "d.jpg")).taken is None


@pytest.mark.parametrize("at", [4, 8])
def test_damaged_exif_says_nothing_and_costs_no_word(tmp_path, at):
    block = exif().removeprefix(b"Exif\0\0")
    damaged = block[:at] + b"\xff\xff\xff\xff" + block[at + 4 :]
    assert dates_in_block(damaged).taken is None
    found = photo_keywords(photo(tmp_path / "a.jpg", exif=b"Exif\0\0" + damaged))
    assert found.refused == ()
    assert all(source.whole for source in found.sources)


def test_a_directory_that_points_to_itself_ends():
    block = b"II*\0" + struct.pack("<IHHHII", 8, 1, 0x8769, 4, 1, 8)
    assert dates_in_block(block) == ExifDates()
