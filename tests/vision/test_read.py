"""Bad files are made here, byte by byte: the suite ships none."""

import io
import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, features

from topicture.errors import ImageError
from topicture.vision import convert
from topicture.vision.read import MAX_PIXELS, Picture, Unreadable, printable, read, shrink, try_read

NEEDS_AVIF = pytest.mark.skipif(not features.check("avif"), reason="this Pillow has no AVIF decoder")

RED, BLUE = (200, 30, 40), (20, 60, 190)


def two_colours(height=40, width=60):
    """Left half red, right half blue: turns and mirrors show."""
    pixels = np.empty((height, width, 3), dtype=np.uint8)
    pixels[:, : width // 2], pixels[:, width // 2 :] = RED, BLUE
    return pixels


def encode(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, format=kind, **options)
    return stream.getvalue()


def picture(pixels=None):
    return Image.fromarray(two_colours() if pixels is None else pixels)


def png_chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_with_header(width, height, data=b""):
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [png_chunk(b"IHDR", header), png_chunk(b"IDAT", data), png_chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


# --- Good files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "tolerance"),
    [
        ("PNG", {}, 0),
        ("BMP", {}, 0),
        ("TIFF", {}, 0),
        ("TIFF", {"compression": "tiff_lzw"}, 0),
        ("WEBP", {"lossless": True}, 0),
        ("JPEG", {"quality": 95, "subsampling": 0}, 6),
        ("JPEG", {"quality": 95, "subsampling": 0, "progressive": True}, 6),
        ("GIF", {}, 6),
        pytest.param("AVIF", {"quality": 100, "subsampling": "4:4:4"}, 6, marks=NEEDS_AVIF),
    ],
)
def test_formats_give_their_pixels(kind, options, tolerance):
    pixels = read(encode(picture(), kind, **options))
    assert pixels.dtype == np.uint8
    assert np.abs(pixels.astype(int) - two_colours()).max() <= tolerance


def test_a_path_and_its_bytes_are_one_photo(tmp_path):
    content = encode(picture(), "PNG")
    path = tmp_path / "a.png"
    path.write_bytes(content)
    assert np.array_equal(read(path), read(content))
    assert np.array_equal(read(str(path)), read(content))


def test_format_is_told_by_content_not_by_name(tmp_path):
    path = tmp_path / "photo.jpg"
    path.write_bytes(encode(picture(), "PNG"))
    outcome = try_read(path)
    assert isinstance(outcome, Picture)
    assert outcome.format == "PNG"


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation):
    """A camera stores the turned picture and the tag that undoes the turn."""
    turns = {1: [], 2: ["h"], 3: ["h", "v"], 4: ["v"], 5: ["t"], 6: ["r"], 7: ["t", "h", "v"], 8: ["l"]}
    stored = two_colours()
    stored[:10] = 255
    upright = stored.copy()
    actions = {
        "h": lambda a: a[:, ::-1],
        "v": lambda a: a[::-1],
        "t": lambda a: a.transpose(1, 0, 2),
        "r": lambda a: np.rot90(a, -1),
        "l": lambda a: np.rot90(a, 1),
    }
    for turn in turns[orientation]:
        upright = actions[turn](upright)
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert np.array_equal(read(encode(picture(stored), "PNG", exif=exif)), upright)


def test_damaged_exif_does_not_lose_the_photo():
    content = encode(picture(), "JPEG", exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff" + b"\xff" * 40)
    assert read(content).shape == (40, 60, 3)


def test_reduced_size_keeps_the_shape_and_the_colours():
    content = encode(picture(two_colours(800, 1200)), "JPEG", quality=95)
    pixels = read(content, max_side=120)
    assert pixels.shape == (80, 120, 3)
    assert np.abs(pixels[40, 20].astype(int) - RED).max() < 8
    assert np.abs(pixels[40, 100].astype(int) - BLUE).max() < 8


def test_reduced_decoding_agrees_with_full_decoding(rng):
    smooth = np.kron(rng.integers(0, 255, (10, 15, 3)), np.ones((80, 80, 1))).astype(np.uint8)
    content = encode(picture(smooth), "JPEG", quality=95)
    full = np.asarray(Image.fromarray(read(content)).resize((120, 80), Image.Resampling.BICUBIC), dtype=int)
    assert np.abs(read(content, max_side=120) - full).mean() < 3


def test_small_photos_are_not_enlarged():
    assert read(encode(picture(), "PNG"), max_side=500).shape == (40, 60, 3)


def test_shrink_treats_pixels_as_read_treats_files():
    large = two_colours(300, 500)
    assert np.array_equal(shrink(large, 100), read(encode(picture(large), "PNG"), max_side=100))
    with pytest.raises(ImageError, match="uint8"):
        shrink(large.astype(float), 100)


@pytest.mark.parametrize("mode", ["L", "1", "P", "LA", "RGBA", "CMYK", "I;16", "YCbCr"])
def test_every_mode_becomes_rgb(mode):
    grey = Image.fromarray(np.repeat(np.repeat([[0, 255]], 20, axis=0), 20, axis=1).astype(np.uint8))
    sixteen_bits = np.asarray(grey).astype(np.uint16) * 257
    image = Image.fromarray(sixteen_bits) if mode == "I;16" else grey.convert(mode)
    kind = {"CMYK": "TIFF", "YCbCr": "JPEG"}.get(mode, "PNG")
    pixels = read(encode(image, kind)).astype(int)
    assert pixels.shape == (20, 40, 3)
    assert pixels[:, :18].max() <= 3
    assert pixels[:, 22:].min() >= 252


def test_sixteen_bits_are_scaled_not_clipped():
    ramp = np.arange(0, 65536, 256, dtype=np.uint16)[None].repeat(4, axis=0)
    pixels = read(encode(Image.fromarray(ramp), "PNG"))
    assert np.abs(pixels[0, :, 0].astype(float) - ramp[0] / 257).max() <= 0.51
    assert np.array_equal(pixels, read(encode(Image.fromarray(ramp), "TIFF")))


def test_transparency_is_laid_over_white():
    image = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    image.paste((0, 0, 255, 255), (0, 0, 4, 8))
    pixels = read(encode(image, "PNG"))
    assert tuple(pixels[0, 0]) == (0, 0, 255)
    assert tuple(pixels[0, 7]) == (255, 255, 255)


def test_transparent_palette_colour_is_laid_over_white():
    image = Image.fromarray(np.array([[0, 1]], dtype=np.uint8))
    image.putpalette([255, 0, 0, 0, 255, 0])
    assert read(encode(image, "PNG", transparency=0)).tolist() == [[[255, 255, 255], [0, 255, 0]]]


def test_animation_gives_its_first_frame():
    frames = [Image.new("RGB", (10, 10), colour) for colour in (RED, BLUE)]
    for kind in ("GIF", "WEBP", "PNG", "MPO"):
        pixels = read(encode(frames[0], kind, save_all=True, append_images=frames[1:], duration=50))
        assert np.abs(pixels.astype(int) - RED).max() < 10, kind


def test_embedded_profile_is_applied():
    """With a gamma-1 profile, half the light is level 188 in sRGB."""
    linear = _linear_profile()
    image = Image.new("RGB", (4, 4), (128, 128, 128))
    plain = read(encode(image, "PNG"))
    managed = read(encode(image, "PNG", icc_profile=linear))
    assert tuple(plain[0, 0]) == (128, 128, 128)
    assert np.abs(managed[0, 0].astype(int) - 188).max() <= 2


def _linear_profile():
    """sRGB's own profile with its three tone curves replaced by the identity."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    (n_tags,) = struct.unpack_from(">I", profile, 128)
    for tag in range(n_tags):
        name, offset, _ = struct.unpack_from(">4sII", profile, 132 + 12 * tag)
        if name in (b"rTRC", b"gTRC", b"bTRC"):
            profile[offset : offset + 12] = b"curv" + bytes(8)  # a curve of no points: identity
            struct.pack_into(">I", profile, 132 + 12 * tag + 8, 12)
    return bytes(profile)


@pytest.mark.parametrize("profile", [b"", b"nonsense", b"\x00" * 200])
def test_damaged_profile_is_ignored(profile):
    content = encode(picture(), "PNG", icc_profile=profile) if profile else encode(picture(), "PNG")
    assert np.array_equal(read(content), two_colours())


def test_profile_of_another_kind_of_pixels_is_ignored():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    grey = Image.new("L", (4, 4), 90)
    assert read(encode(grey, "PNG", icc_profile=profile))[0, 0].tolist() == [90, 90, 90]


@pytest.mark.parametrize("shape", [(1, 1), (1, 60_000), (60_000, 1)])
def test_extreme_shapes_are_read(shape):
    content = encode(Image.fromarray(np.full((*shape, 3), 77, dtype=np.uint8)), "PNG")
    assert read(content).shape == (*shape, 3)
    assert max(read(content, max_side=256).shape) <= 256
    assert read(content, max_side=256).min() == 77


# --- Bad files ---------------------------------------------------------------------------------------------------

JPEG = encode(picture(two_colours(200, 300)), "JPEG")

BAD = {
    "empty": (b"", "empty"),
    "text": (b"not a photo at all\n" * 50, "not a photo format"),
    "html": (b"<!DOCTYPE html><img src=x onerror=alert(1)>", "HTML"),
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"></svg>', "SVG"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PDF"),
    "eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "PostScript"),
    "fits": (b"SIMPLE  =                    T" + b" " * 2880, "FITS"),
    "psd": (b"8BPS\x00\x01" + bytes(6) + struct.pack(">HIIHH", 3, 10, 10, 8, 3) + bytes(400), "Photoshop"),
    "header only": (JPEG[:20], "header is damaged|can't be decoded"),
    "truncated": (JPEG[: len(JPEG) // 2], "truncated"),
    "bomb": (png_with_header(20_000, 20_000, zlib.compress(bytes(10_000))), "too large|over the limit"),
    "smaller bomb": (png_with_header(12_000, 12_000), "12000 x 12000 pixels is over the limit"),
    "no data": (png_with_header(50, 50), "can't be decoded"),
    "float": (encode(Image.fromarray(np.ones((4, 4), np.float32)), "TIFF"), "floating-point"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_gives_a_reason(name, tmp_path):
    content, reason = BAD[name]
    path = tmp_path / "photo.jpg"
    path.write_bytes(content)
    outcome = try_read(path)
    assert isinstance(outcome, Unreadable)
    assert outcome.source == str(path)
    assert "\n" not in str(outcome)
    with pytest.raises(ImageError, match=reason):
        read(path)
    with pytest.raises(ImageError, match="<bytes>"):
        read(content)


def test_the_bomb_of_the_test_is_within_pillows_own_limits():
    """Otherwise Pillow, not our limit, would be what is tested."""
    assert MAX_PIXELS < 12_000 * 12_000 < 2 * Image.MAX_IMAGE_PIXELS


def test_jpeg_followed_by_html_is_its_pixels():
    assert np.array_equal(read(JPEG + b"<html><script>alert(1)</script></html>"), read(JPEG))


def test_missing_file_folder_and_pipe_give_reasons(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
    for name, reason in [
        ("none.jpg", "No such file"),
        ("", "regular"),
        ("pipe", "regular"),
        ("a\0b", "null"),
    ]:
        with pytest.raises(ImageError, match=reason):
            read(f"{tmp_path}/{name}" if name else tmp_path)


@pytest.mark.parametrize(
    "name",
    [b"a\nb.png", b"-rf.png", b"quote'\".png", b"\xff\xfe.png", b"x" * 251 + b".png", "né☃.png".encode()],
)
def test_odd_file_names_are_read_and_shown_on_one_line(name, tmp_path):
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), name))
    with open(path, "wb") as file:
        file.write(encode(picture(), "PNG"))
    outcome = try_read(path)
    assert isinstance(outcome, Picture)
    assert outcome.source.isprintable()
    outcome.source.encode("utf-8")


def test_printable_keeps_what_can_be_printed():
    assert printable("né ☃") == "né ☃"
    assert printable("a\nb\x1b[31m") == r"a\nb\x1b[31m"
    assert printable(b"\xff.jpg") == r"\udcff.jpg"


FLIPPABLE = {
    kind: encode(picture(two_colours(24, 32)), kind) for kind in ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")
}


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(sorted(FLIPPABLE)),
    flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 255)), min_size=1, max_size=8),
    cut=st.integers(0, 400),
)
def test_damage_gives_pixels_or_a_reason(kind, flips, cut):
    content = bytearray(FLIPPABLE[kind])
    for place, mask in flips:
        content[place % len(content)] ^= mask
    outcome = try_read(bytes(content[: len(content) - cut]), max_side=64)
    if isinstance(outcome, Picture):
        assert outcome.pixels.dtype == np.uint8
        assert outcome.pixels.ndim == 3
        assert max(outcome.pixels.shape) <= 64
    else:
        assert outcome.reason
        assert outcome.reason.isprintable()


# --- Large pictures, strip by strip ---------------------------------------------------------------------------------


def _picture_in(mode, size):
    rng = np.random.default_rng(7)
    if mode == "I;16":
        return Image.fromarray(rng.integers(0, 65536, size[::-1], dtype=np.uint16))
    image = Image.fromarray(rng.integers(0, 256, (size[1], size[0], 4), dtype=np.uint8), "RGBA")
    return image if mode == "RGBA" else image.convert("RGB").convert(mode)


@pytest.mark.parametrize("size", [(640, 480), (301, 1013), (1000, 77), (97, 98)])
@pytest.mark.parametrize(
    ("mode", "transparency"),
    [
        ("RGBA", None),
        ("P", None),
        ("P", 3),
        ("1", None),
        ("1", 0),
        ("L", 9),
        ("RGB", (1, 2, 3)),
        ("LA", None),
        ("I;16", None),
    ],
)
def test_strips_give_the_pixels_of_the_whole(mode, transparency, size, monkeypatch):
    stream = io.BytesIO()
    extra = {} if transparency is None else {"transparency": transparency}
    _picture_in(mode, size).save(stream, "PNG", **extra)
    whole = read(stream.getvalue(), 96)
    monkeypatch.setattr(convert, "STRIPS_FROM", 0)
    monkeypatch.setattr(convert, "_STRIP_PIXELS", 30_000)
    np.testing.assert_array_equal(read(stream.getvalue(), 96), whole)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.parametrize(("bits", "kind"), [(1, 0), (8, 3)])
def test_a_small_file_takes_little_memory(tmp_path, bits, kind):
    """64 million pixels with transparency in some kilobytes: 0.6 GB when converted whole."""
    side = 8000
    rows = zlib.compress((b"\0" + bytes(side * bits // 8)) * side, 9)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, bits, kind, 0, 0, 0)),
        (b"PLTE", bytes(6)) if kind == 3 else (b"gAMA", struct.pack(">I", 45455)),
        (b"tRNS", b"\0\1"),
        (b"IDAT", rows),
        (b"IEND", b""),
    ]
    chunks = [struct.pack(">I", len(c)) + k + c + struct.pack(">I", zlib.crc32(k + c)) for k, c in parts]
    path = tmp_path / "bomb.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    assert path.stat().st_size < 100_000
    code = (
        "import re, sys; from topicture.vision.read import read\n"
        "assert read(sys.argv[1], 512).shape == (512, 512, 3)\n"
        "print(int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]) // 1024)"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 300  # MB
