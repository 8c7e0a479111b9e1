"""Formats beyond the common ones: each is turned upright once, and a missing package is named.

The HEIC files are 64 x 48 pixels, red above blue, made for this test; `turned.heic` is stored on its side.
"""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from topicture.vision import read as reading
from topicture.vision.read import Unreadable, try_read
from topicture.vision.thumbnails.making import Wanted, make_thumbnails

RED, BLUE = (200, 40, 50), (40, 70, 190)
DATA = Path(__file__).parent / "data"
# How a picture is stored that the orientation (EXIF) puts upright.
STORED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def two_colours():
    pixels = np.empty((48, 64, 3), np.uint8)
    pixels[:24], pixels[24:] = RED, BLUE
    pixels[:8, :8] = 255  # so that no turn looks like another
    return Image.fromarray(pixels)


def stored(number):
    return two_colours().transpose(STORED[number]) if number > 1 else two_colours()


def saved(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def is_upright(pixels):
    return (
        pixels.shape == (48, 64, 3)
        and np.abs(pixels[4, 4].astype(int) - 255).max() < 30
        and np.abs(pixels[16, 50].astype(int) - RED).max() < 30
        and np.abs(pixels[40, 50].astype(int) - BLUE).max() < 30
    )


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize("options", [{}, {"compression": "tiff_deflate"}], ids=["plain", "deflate"])
def test_a_tiff_is_turned_once(number, options):
    content = saved(stored(number), "TIFF", tiffinfo={0x0112: number}, **options)
    assert is_upright(try_read(content).pixels)
    assert max(try_read(content, 32).pixels.shape) == 32


@pytest.mark.parametrize("number", range(1, 9))
def test_an_avif_is_turned_once(number):
    exif = Image.Exif()
    exif[0x0112] = number
    picture = try_read(saved(stored(number), "AVIF", quality=95, exif=exif))
    assert picture.format == "AVIF"
    assert is_upright(picture.pixels)


def test_a_small_picture_of_a_turned_tiff_has_its_upright_size(tmp_path):
    path = tmp_path / "a.tif"
    path.write_bytes(saved(stored(6), "TIFF", tiffinfo={0x0112: 6}))
    made = make_thumbnails(Wanted(str(path), ("small",)))
    assert (made.width, made.height) == (64, 48)


# --- HEIC -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["upright", "turned"])
def test_a_heic_photo_is_read_and_turned_once(name):
    pytest.importorskip("pi_heif", reason="the extra 'heic' is not installed")
    picture = try_read(DATA / f"{name}.heic")
    assert (picture.format, picture.pixels.shape) == ("HEIF", (48, 64, 3))
    assert np.abs(picture.pixels[4, 4].astype(int) - RED).max() < 10
    assert np.abs(picture.pixels[40, 50].astype(int) - BLUE).max() < 10


def test_a_heic_photo_without_the_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(reading, "_has_decoder", lambda name: name in ("JPEG", "AVIF"))
    refusal = try_read(DATA / "upright.heic")
    assert isinstance(refusal, Unreadable)
    assert refusal.reason.endswith("pip install 'topicture[heic]'")


def test_what_could_not_be_read_is_tried_again_once_a_package_is_there(monkeypatch):
    monkeypatch.setattr(reading, "reads_heic", lambda: True)
    monkeypatch.setattr(reading, "reads_raw", lambda: False)
    before = reading.optional_decoders()
    monkeypatch.setattr(reading, "reads_raw", lambda: True)
    assert reading.optional_decoders() != before


# --- RAW --------------------------------------------------------------------------------------------------------------


def dng(preview, orientation=1):
    """A RAW file as cameras write it: a small picture first, the sensor's pixels in a directory below."""
    tifffile = pytest.importorskip("tifffile")
    stream = io.BytesIO()
    identity = (1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1)
    front = [
        *((50706, 1, 4, bytes([1, 4, 0, 0]), True), (50707, 1, 4, bytes([1, 1, 0, 0]), True)),
        *((271, 2, 0, "Maker", True), (272, 2, 0, "Camera", True), (50708, 2, 0, "Maker Camera", True)),
        *((274, 3, 1, orientation, True), (50721, 10, 9, identity, True), (50778, 3, 1, 21, True)),
    ]
    sensor = [
        (33421, 3, 2, (2, 2), True),
        (33422, 1, 4, bytes([0, 1, 1, 2]), True),
        (50717, 4, 1, 4095, True),
    ]
    with tifffile.TiffWriter(stream) as file:
        file.write(np.asarray(preview), photometric="rgb", subfiletype=1, subifds=1, extratags=front)
        mosaic = np.random.default_rng(0).integers(0, 4000, (96, 128), np.uint16)
        file.write(mosaic, photometric=32803, subfiletype=0, planarconfig=1, extratags=sensor)
    return stream.getvalue()


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_a_raw_file_is_read_by_its_preview_and_turned_once(tmp_path, orientation):
    pytest.importorskip("rawpy", reason="the extra 'raw' is not installed")
    path = tmp_path / "a.dng"
    path.write_bytes(dng(stored(orientation), orientation))
    picture = try_read(path)
    assert picture.format == "RAW"
    assert is_upright(picture.pixels)
    made = make_thumbnails(Wanted(str(path), ("small",)))
    assert (made.width, made.height) == (64, 48)


def test_a_raw_file_without_the_package_says_what_to_install(monkeypatch):
    content = dng(two_colours())
    monkeypatch.setitem(sys.modules, "rawpy", None)
    assert try_read(content).reason.endswith("pip install 'topicture[raw]'")


@pytest.mark.parametrize("end", [12, 40, 200, 2000])
def test_a_raw_file_cut_off_is_a_reason(end):
    content = dng(two_colours())[:end]
    assert isinstance(try_read(content), Unreadable)


def test_a_scan_with_pictures_below_the_first_is_still_a_tiff():
    tifffile = pytest.importorskip("tifffile")
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream) as file:
        file.write(
            np.asarray(two_colours()), photometric="rgb", subifds=1, extratags=[(271, 2, 0, "Scanner", True)]
        )
        file.write(np.asarray(two_colours())[::2, ::2], photometric="rgb", subfiletype=1)
    picture = try_read(stream.getvalue())
    assert picture.format == "TIFF"
    assert is_upright(picture.pixels)
