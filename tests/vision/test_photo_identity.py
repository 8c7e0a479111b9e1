"""A photo is measured once for what is seen on it, whatever other programs write into the file around the picture."""

import hashlib
import io
import os
import shutil
import struct
import subprocess
import time
import zlib
from itertools import combinations

import numpy as np
import pytest
from photo_files import iptc, keywords, photoshop, subject
from pictures import noise
from PIL import Image, ImageCms

from topicture.collection.identity import picture_id, seen_id
from topicture.vision import pipeline
from topicture.vision.cache import FeatureCache
from topicture.vision.pipeline import describe
from topicture.vision.read import try_read
from topicture.vision.recipe import Recipe

RECIPE = Recipe(("colour-layout",))


def encoded(kind, **options):
    stream = io.BytesIO()
    Image.fromarray(noise(40, 60)).save(stream, kind, **options)
    return stream.getvalue()


def segment(marker, content):
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def jpeg(*segments):
    content = encoded("JPEG")
    return content[:2] + b"".join(segments) + content[2:]


def tiff(orientation, order="<", kind=3, others=()):
    """An EXIF block; `others` are (tag, number) entries besides the orientation."""
    entries = sorted([(0x0112, orientation), *others] if orientation is not None else others)
    packed = [
        struct.pack(order + "HHI", tag, kind, 1) + struct.pack(order + ("HH" if kind == 3 else "I"), *value)
        for tag, number in entries
        for value in [(number, 0) if kind == 3 else (number,)]
    ]
    start = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    return start + struct.pack(order + "H", len(packed)) + b"".join(packed) + bytes(4)


def exif(*arguments, **options):
    return segment(0xE1, b"Exif\0\0" + tiff(*arguments, **options))


def xmp(packet):
    return segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + packet)


def turned(digit):
    return f'<x:xmpmeta><rdf:Description tiff:Orientation="{digit}"/></x:xmpmeta>'.encode()


def icc(seed):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB" if seed else "sRGB")).tobytes()
    return segment(0xE2, b"ICC_PROFILE\0\1\1" + profile)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*chunks, behind=()):
    content = encoded("PNG")
    return content[:33] + b"".join(chunks) + content[33:-12] + b"".join(behind) + content[-12:]


def itxt(packet, compressed=False):
    text = zlib.compress(packet) if compressed else packet
    return chunk(b"iTXt", b"XML:com.adobe.xmp\0" + bytes([compressed]) + b"\0\0\0" + text)


def old_exif(orientation):
    block = (b"Exif\0\0" + tiff(orientation)).hex()
    return chunk(b"tEXt", f"Raw profile type exif\0\nexif\n{len(block) // 2}\n{block}\n".encode())


PLAIN = {
    "plain": jpeg(),
    "XMP keyword": jpeg(xmp(subject("tiger"))),
    "IPTC keyword": jpeg(photoshop(iptc(*keywords(b"tiger")))),
    "comment": jpeg(segment(0xFE, b"tiger")),
    "EXIF date": jpeg(exif(None, others=[(0x0103, 6)])),
    "EXIF upright": jpeg(exif(1), xmp(subject("tiger"))),
    "EXIF upright, big-endian": jpeg(exif(1, ">")),
    "XMP upright": jpeg(xmp(turned(1))),
    "several pictures": jpeg(segment(0xE2, b"MPF\0" + bytes(40))),
}
TURNED = {
    "EXIF": jpeg(exif(6)),
    "EXIF, big-endian": jpeg(exif(6, ">", others=[(0x0103, 1)])),
    "EXIF before XMP": jpeg(exif(6), xmp(turned(3))),
    "XMP": jpeg(xmp(turned(6))),
    "EXIF without it, XMP": jpeg(exif(None), xmp(turned(6))),
}
OTHERS = {
    "turned by half": jpeg(exif(3)),
    "XMP turned by half": jpeg(xmp(turned(3))),
    "EXIF as a long number": jpeg(exif(8, kind=4)),
    "two EXIF": jpeg(exif(5), exif(7)),
    "EXIF cut short, XMP": jpeg(segment(0xE1, b"Exif\0\0" + tiff(6)[:12]), xmp(turned(8))),
    "EXIF cut short": jpeg(segment(0xE1, b"Exif\0\0" + tiff(6)[:12])),
    "EXIF with an entry beyond its end": jpeg(
        segment(0xE1, b"Exif\0\0" + tiff(6, others=[(0x0103, 1)]).replace(b"\3\1\3\0\1", b"\3\1\3\0\xff"))
    ),
    "two XMP": jpeg(xmp(turned(6)), xmp(turned(8))),
    "two XMP, the last without it": jpeg(xmp(turned(6)), xmp(subject("tiger"))),
    "two XMP, the last upright": jpeg(xmp(turned(6)), xmp(turned(1))),
    "profile": jpeg(icc(0)),
    "another profile": jpeg(icc(1)),
    "no JFIF": encoded("JPEG")[:2] + encoded("JPEG")[20:],
    "a segment without a length": jpeg(b"\xff\xe1\0\0"),
    "PNG": png(),
    "PNG with text": png(chunk(b"tEXt", b"Title\0tiger"), itxt(subject("tiger"))),
    "PNG turned": png(chunk(b"eXIf", tiff(6))),
    "PNG turned, behind": png(behind=[chunk(b"eXIf", tiff(6))]),
    "PNG turned behind its end": png() + chunk(b"eXIf", tiff(6)),
    "PNG turned twice": png(chunk(b"eXIf", tiff(6)), chunk(b"eXIf", tiff(3))),
    "PNG turned by XMP": png(itxt(turned(8))),
    "PNG turned by compressed XMP": png(itxt(turned(8), compressed=True)),
    "PNG turned in the old way": png(old_exif(3)),
    "PNG turned in the old way, otherwise": png(old_exif(5)),
}


@pytest.mark.parametrize("contents", [PLAIN, TURNED], ids=["upright", "turned"])
def test_what_is_written_around_a_picture_leaves_it_the_same(contents):
    assert {
        name for name, content in contents.items() if seen_id(content) != seen_id(contents[min(contents)])
    } == set()
    assert len({try_read(content).pixels.tobytes() for content in contents.values()}) == 1


def test_what_a_decoder_shows_otherwise_is_another_photo():
    everything = [
        (name, seen_id(content), try_read(content).pixels)
        for name, content in (PLAIN | TURNED | OTHERS).items()
    ]
    wrong = [
        (a, b)
        for (a, id_a, pixels_a), (b, id_b, pixels_b) in combinations(everything, 2)
        if id_a == id_b and not np.array_equal(pixels_a, pixels_b)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_and_its_content_have_the_same_identity(name, tmp_path):
    (tmp_path / "photo").write_bytes(OTHERS[name])
    assert seen_id(tmp_path / "photo") == seen_id(OTHERS[name])


def test_settings_beyond_all_measure_are_not_unpacked():
    """Small chunks that unpack to gigabytes: the file stands for itself."""
    bomb = png(*[itxt(bytes(15 << 20), compressed=True)] * 20)
    start = time.process_time()
    assert seen_id(bomb) == hashlib.sha256(bomb).digest()
    assert time.process_time() - start < 5


# --- Measured once ----------------------------------------------------------------------------------------------------


@pytest.fixture
def measured(monkeypatch):
    """The sources of all tasks."""
    done = []
    plain = pipeline.run_isolated

    def watched(job, tasks, *arguments, **options):
        def noted():
            for task in tasks:
                done.append(task.source)
                yield task

        return plain(job, noted(), *arguments, **options)

    monkeypatch.setattr(pipeline, "run_isolated", watched)
    return done


@pytest.fixture
def look(tmp_path):
    """Describe one photo, with a cache that lasts."""

    def look(path, touched=True):
        if touched:
            os.utime(path, (time.time() - 100,) * 2)
        return describe(
            [path], RECIPE, vocabulary=["a"], workers=0, cache=tmp_path / "cache"
        ).corpus.descriptor

    return look


def test_keywords_of_other_programs_measure_nothing_again(tmp_path, look, measured):
    path = tmp_path / "a.jpg"
    rows = []
    for content in PLAIN.values():
        path.write_bytes(content)
        rows.append(look(path))
    assert len(measured) == 1
    assert all(np.array_equal(row, rows[0]) for row in rows)


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="needs exiftool")
@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_keywords_of_exiftool_measure_nothing_again_and_a_turn_does(suffix, tmp_path, look, measured):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(jpeg(exif(1)) if suffix == "jpg" else png())
    first = look(path)

    def change(*arguments):
        before = path.read_bytes()
        subprocess.run(["exiftool", "-q", "-overwrite_original", *arguments, path], check=True, timeout=60)
        assert path.read_bytes() != before
        return look(path)

    known = picture_id(path)
    for arguments in (["-XMP:Subject=tiger", "-IPTC:Keywords=tiger"], ["-XMP:Rating=5"], ["-EXIF:Artist=me"]):
        assert np.array_equal(change(*arguments), first)
    assert len(measured) == 1
    turned = change("-n", "-EXIF:Orientation=6")
    assert len(measured) == 2
    assert not np.array_equal(turned, first)
    assert picture_id(path) == known


@pytest.mark.parametrize(
    ("change", "before"),
    [(exif(6), exif(1)), (xmp(turned(6)), b""), (icc(0), b"")],
    ids=["EXIF", "XMP", "profile"],
)
def test_a_turn_or_another_profile_measures_again(change, before, tmp_path, look, measured):
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg(before))
    look(path)
    path.write_bytes(jpeg(change))
    again = look(path)
    assert len(measured) == 2
    alone = describe([path], RECIPE, vocabulary=["a"], workers=0).corpus.descriptor
    assert np.array_equal(again, alone)


def test_a_photo_whose_metadata_were_damaged_is_tried_again(tmp_path, look, measured):
    """A text chunk with a wrong checksum keeps a PNG from being read, though the picture is whole."""
    path = tmp_path / "a.png"
    text = chunk(b"tEXt", b"Title\0tiger")
    path.write_bytes(png(text[:-1] + bytes([text[-1] ^ 1])))
    for _ in range(2):
        with pytest.raises(pipeline.CorpusError, match="its header is damaged"):
            look(path)
    assert len(measured) == 1
    path.write_bytes(png(text))
    look(path)
    assert len(measured) == 2


def test_twins_around_different_metadata_do_not_share_a_failure(tmp_path):
    text = chunk(b"tEXt", b"Title\0tiger")
    items = [("broken", png(text[:-1] + bytes([text[-1] ^ 1]))), ("whole", png(text))]
    found = describe(items, RECIPE, vocabulary=["a"], workers=0)
    assert found.positions.tolist() == [1]


def test_measurements_of_earlier_versions_are_found(tmp_path, look, measured):
    """They were kept by the hash of the whole file."""
    path = tmp_path / "a.jpg"
    path.write_bytes(PLAIN["EXIF upright"])
    first = look(path)
    with FeatureCache(tmp_path / "cache") as cache:
        former = hashlib.sha256(path.read_bytes()).digest()
        cache._database.execute("UPDATE arrays SET content = ?", (former,))
        cache._database.execute("INSERT INTO files SELECT path, size, modified, ? FROM seen", (former,))
        cache._database.execute("DROP TABLE seen")
    assert np.array_equal(look(path, touched=False), first)
    path.write_bytes(PLAIN["XMP keyword"])
    assert np.array_equal(look(path), first)
    assert len(measured) == 1
