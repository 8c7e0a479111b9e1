"""A picture is known by its picture data: metadata may change, pixels may not."""

import hashlib
import io
import os
import struct
import time
import tracemalloc
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from topicture.collection.identity import picture_id


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def picture(seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (24, 32, 3), dtype=np.uint8))


def encoded(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def test_keywords_written_into_a_jpeg_leave_it_the_same_picture(write):
    plain = write("a.jpg", encoded(picture(), "JPEG"))
    tagged = write("b.jpg", encoded(picture(), "JPEG", xmp=b"<x:xmpmeta/>", comment=b"hello"))
    other = write("c.jpg", encoded(picture(1), "JPEG"))
    assert plain.read_bytes() != tagged.read_bytes()
    assert picture_id(plain) == picture_id(tagged)
    assert picture_id(plain) != picture_id(other)


def test_text_in_a_png_leaves_it_the_same_picture(write):
    text = PngImagePlugin.PngInfo()
    text.add_text("Title", "tiger")
    plain, titled = encoded(picture(), "PNG"), encoded(picture(), "PNG", pnginfo=text)
    assert plain != titled
    assert picture_id(write("a.png", plain)) == picture_id(write("b.png", titled))


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("cut", [1, 3, 9, 40, 200])
def test_cut_files_have_an_identity_of_their_own(write, kind, cut):
    content = encoded(picture(), kind)
    assert picture_id(write("whole", content)) != picture_id(write("cut", content[:cut]))


def test_empty_and_foreign_files_have_one_too(write):
    assert picture_id(write("empty.jpg", b"")) != picture_id(write("text.jpg", b"no photo"))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(OSError, match="not a regular file"):
        picture_id(tmp_path)


# --- Bounded: whatever a file claims --------------------------------------------------------------------------------

# Made by the implementation that read whole files; identities are kept in catalogs for ever.
KEPT = {
    "jpeg": "940a5ae3d94b6454b9b3b268b98db8dd522d2017f1f0f02f6dc42abcecb27d0d",
    "jpeg-metadata": "476e763e8b0bf53e501a5469656ee5acb30a0bba145dcb900929f903946e534c",
    "jpeg-filled": "8b828cec040a6dc307aec41096586e596600cf36b5e91ea22850a282340a7fe0",
    "jpeg-cut": "ff92888492d0da14655a0541b75316e3682feac6e51737464c10cc094c48295b",
    "png": "a8f47b52193359e653053d40844fdeb1650e5d213a2061a6663559b98c1e7637",
    "png-text": "a8f47b52193359e653053d40844fdeb1650e5d213a2061a6663559b98c1e7637",
    "png-cut": "4c8d25bed4e5504cb8f05722b965d73dff2c993a1e3e5dd360f8b4a6bb24586f",
    "tiff": "d33b243dbc542c048478d66de2b303cf1c02392942472b118354929bd5bef182",
    "empty": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
}


def example(name):
    """Files made by hand, byte for byte the same with every version of every library."""

    def segment(marker, content):
        return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    table, scan = (
        segment(0xDB, bytes(range(65))),
        segment(0xDA, b"\1\1\0\0\x3f\0") + b"pixels\xff\x00\xff\xd9",
    )
    metadata = segment(0xE1, b"Exif\0\0" + bytes(300)) + segment(0xFE, b"a comment") + segment(0xED, b"8BIM")
    png, pixels = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)), chunk(b"IDAT", bytes(1000))
    return {
        "jpeg": b"\xff\xd8" + table + scan,
        "jpeg-metadata": b"\xff\xd8" + metadata + table + segment(0xEE, b"Adobe") + scan + b"behind the end",
        "jpeg-filled": b"\xff\xd8\xff\xff" + table + b"\xff\xff\xff\xd0\xff\x01" + scan,
        "jpeg-cut": b"\xff\xd8" + metadata + table[:20],
        "png": png + pixels + chunk(b"IEND", b""),
        "png-text": png
        + chunk(b"tEXt", b"Title\0tiger")
        + pixels
        + chunk(b"eXIf", bytes(9))
        + chunk(b"IEND", b""),
        "png-cut": png + pixels[:500],
        "tiff": b"II*\0" + bytes(5000),
        "empty": b"",
    }[name]


@pytest.mark.parametrize("name", KEPT)
def test_identities_are_those_of_earlier_versions(write, name):
    assert picture_id(write("file", example(name))).hex() == KEPT[name]


HEAVY = {
    "markers": lambda: b"\xff\xd8" + b"\xff\xd0" * 12_500_000,
    "fill bytes": lambda: b"\xff\xd8" + b"\xff" * 25_000_000,
    "segments": lambda: b"\xff\xd8" + (b"\xff\xdb\0\x28" + bytes(38)) * 500_000 + b"\xff\xda",
    "chunks": lambda: b"\x89PNG\r\n\x1a\n" + (struct.pack(">I4sI", 0, b"IDAT", 0)) * 500_000,
}


@pytest.mark.parametrize("kind", HEAVY)
def test_millions_of_segments_take_little_memory_and_time(write, kind):
    path = write("file.jpg", HEAVY[kind]())
    start = time.process_time()
    tracemalloc.start()
    picture_id(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert time.process_time() - start < 10


def test_a_huge_file_is_refused_without_being_read(tmp_path):
    path = tmp_path / "scan.tif"
    with path.open("wb") as file:
        file.write(b"II*\0")
        file.truncate(40 << 30)  # sparse: takes no room
    start = time.monotonic()
    with pytest.raises(OSError, match=r"42\.9 GB is over the limit of 4\.3 GB"):
        picture_id(path)
    assert time.monotonic() - start < 5


def test_a_file_that_is_cut_while_it_is_read_has_an_identity(write, monkeypatch):
    """The size is that of the moment of opening; a file that has shrunk since ends early, and nothing waits for it."""
    path = write("file.tif", b"II*\0" + bytes(1000))
    plain = os.fstat
    monkeypatch.setattr(os, "fstat", lambda n: SimpleNamespace(st_size=plain(n).st_size + 5000))
    assert picture_id(path) == hashlib.sha256(path.read_bytes()).digest()
