"""The walk through a photo's segments ends soon, whatever the file is made of."""

import struct
import time
import tracemalloc

import pytest
from photo_files import gif_with

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


def box(kind, content):
    return struct.pack(">I4s", 8 + len(content), kind) + content


def heif(*inside):
    return box(b"ftyp", b"avif") + box(b"meta", bytes(4) + b"".join(inside))


def infe(item=1):
    """An item that is an XMP packet."""
    return box(b"infe", b"\2\0\0\0" + struct.pack(">HH4s", item, 0, b"mime") + b"XMP\0application/rdf+xml\0")


HEAVY = {
    "markers": lambda: b"\xff\xd8" + b"\xff\xd0" * 12_500_000,
    "fill bytes": lambda: b"\xff\xd8" + b"\xff" * 25_000_000,
    "packets": lambda: b"\xff\xd8" + segment(XMP) * 500_000,
    "pieces": lambda: b"\xff\xd8" + extended_pieces(60_000),
    "resources": lambda: b"\xff\xd8" + segment(PHOTOSHOP + b"8BIM\4\4\0\0\0\0\0\1xx", 0xED) * 100_000,
    "chunks": lambda: b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sI", 0, b"IDAT", 0) * 500_000,
    "webp": lambda: b"RIFF\0\0\0\0WEBP" + struct.pack("<4sI", b"JUNK", 0) * 500_000,
    "sub-blocks": lambda: b"GIF89a" + bytes(7) + b"\x21\xfe" + b"\1x" * 5_000_000,
    "extensions": lambda: b"GIF89a" + bytes(7) + b"\x21\xfe\0" * 1_000_000,
    "boxes": lambda: b"\0\0\0\x0cftypavif" + struct.pack(">I4s", 8, b"free") * 500_000,
    "boxes in boxes": lambda: heif(struct.pack(">I4s", 8, b"free") * 500_000),
    "places": lambda: heif(box(b"iinf", infe() * 1), box(b"iloc", bytes(6) + b"\xff\xff" + bytes(600_000))),
    "extents": lambda: heif(
        box(b"iinf", bytes(6) + infe()), box(b"iloc", bytes(4) + b"\0\0\0\1\0\1\0\0\xff\xff" + bytes(9))
    ),
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


def heif_with(packet, *, in_idat=False, version=1):
    """A file of an item that is an XMP packet, in pieces: behind the boxes, or in one of them."""
    pieces = [packet[:7], packet[7:]]

    def built(start):
        extents = b""
        for n, piece in enumerate(pieces):
            extents += struct.pack(">II", start + n * 7, len(piece))
        wide = ">IH" if version == 2 else ">HH"
        head = struct.pack(">I" if version == 2 else ">H", 1)
        place = struct.pack(wide, 1, int(in_idat)) if version else struct.pack(">H", 1)
        content = bytes([version, 0, 0, 0]) + b"\x44\x00" + head + place + struct.pack(">HH", 0, 2) + extents
        inside = [box(b"iinf", bytes(4) + struct.pack(">H", 1) + infe()), box(b"iloc", content)]
        return heif(*inside, *([box(b"idat", packet)] * in_idat))

    front = built(0)
    return built(0) if in_idat else built(len(front) + 8) + box(b"mdat", packet)


@pytest.mark.parametrize(("in_idat", "version"), [(False, 0), (False, 1), (False, 2), (True, 1), (True, 2)])
def test_the_packet_of_a_heif_file_is_found(tmp_path, in_idat, version):
    path = tmp_path / "photo"
    path.write_bytes(heif_with(b"<a packet of XMP>", in_idat=in_idat, version=version))
    blocks = read_blocks(path)
    assert (blocks.xmp, blocks.problems) == ([b"<a packet of XMP>"], [])


def test_a_heif_file_cut_off_anywhere_is_no_more_than_a_line(tmp_path):
    path = tmp_path / "photo"
    whole = heif_with(b"<a packet of XMP>")
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        assert read_blocks(path).xmp == []


@pytest.mark.parametrize("size", [0, 1, 64, 255, 256, 3000])
def test_the_packet_of_a_gif_is_found(tmp_path, size):
    path = tmp_path / "photo"
    packet = b"<x>" + b"abc>" * size + b"</x>"
    path.write_bytes(gif_with(packet))
    blocks = read_blocks(path)
    assert (blocks.xmp, blocks.problems) == ([packet], [])
    path.write_bytes(gif_with(packet)[:-100])
    read_blocks(path)
