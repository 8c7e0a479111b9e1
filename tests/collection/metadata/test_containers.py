"""The walk through a photo's segments ends soon, whatever the file is made of."""

import struct
import time
import tracemalloc

import pytest

from topicture.collection.metadata.containers import MAX_BLOCK, MAX_BLOCKS, MAX_SEGMENTS, read_blocks

XMP, EXTENDED, PHOTOSHOP = (
    b"http://ns.adobe.com/xap/1.0/\0",
    b"http://ns.adobe.com/xmp/extension/\0",
    b"Photoshop 3.0\0",
)


def segment(content, marker=0xE1):
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def extended_pieces(n):
    """An extended packet in pieces of one byte."""
    return b"".join(segment(EXTENDED + bytes(36) + struct.pack(">I", k) + b"x") for k in range(n))


def big_tiff(tag, n_entries):
    """Entries that all point to the same megabytes."""
    size = 8 << 20
    entries = struct.pack("<HHQQ", tag, 1, size, 16 + 8 + 20 * n_entries) * n_entries
    return b"II+\0" + struct.pack("<HHQQ", 8, 0, 16, n_entries) + entries + b"8BIM" + bytes(size)


HEAVY = {
    "markers": lambda: b"\xff\xd8" + b"\xff\xd0" * 12_500_000,
    "fill bytes": lambda: b"\xff\xd8" + b"\xff" * 25_000_000,
    "packets": lambda: b"\xff\xd8" + segment(XMP) * 500_000,
    "pieces": lambda: b"\xff\xd8" + extended_pieces(60_000),
    "resources": lambda: b"\xff\xd8" + segment(PHOTOSHOP + b"8BIM\4\4\0\0\0\0\0\1xx", 0xED) * 100_000,
    "chunks": lambda: b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sI", 0, b"IDAT", 0) * 500_000,
    "webp": lambda: b"RIFF\0\0\0\0WEBP" + struct.pack("<4sI", b"JUNK", 0) * 500_000,
    "entries": lambda: big_tiff(34377, 100_000),
}


@pytest.mark.parametrize("kind", HEAVY)
def test_a_walk_ends_soon_and_in_little_memory(tmp_path, kind):
    path = tmp_path / "photo"
    path.write_bytes(HEAVY[kind]())
    start = time.process_time()
    read_blocks(path)
    assert time.process_time() - start < 5
    tracemalloc.start()
    blocks = read_blocks(path)
    assert tracemalloc.get_traced_memory()[1] < 6 * MAX_BLOCK
    tracemalloc.stop()
    assert len(blocks.problems) <= 1
    assert max(len(blocks.xmp), len(blocks.iptc)) <= MAX_BLOCKS


def test_what_ends_the_walk_is_told(tmp_path):
    path = tmp_path / "photo.jpg"
    path.write_bytes(b"\xff\xd8" + segment(XMP + b"<x/>") + b"\xff\xd0" * MAX_SEGMENTS)
    blocks = read_blocks(path)
    assert blocks.problems == [f"metadata is damaged (more than {MAX_SEGMENTS} segments)"]
    assert blocks.xmp == [b"<x/>"]  # what was found before stays


def test_fill_bytes_between_segments_are_passed_over(tmp_path):
    path = tmp_path / "photo.jpg"
    path.write_bytes(b"\xff\xd8" + b"\xff" * 9 + segment(XMP + b"<x/>") + b"\xff\xff\xff\xda")
    assert read_blocks(path).xmp == [b"<x/>"]
    assert read_blocks(path).problems == []
