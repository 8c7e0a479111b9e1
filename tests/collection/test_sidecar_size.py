"""Sidecars with very many keywords: reading, merging and taking back take time in proportion to them."""

import time

import pytest
from photo_files import UTF8_MARK, description, iptc, keywords, photo, subject, xmp

from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.metadata.xmp import MAX_XMP
from topicture.collection.sidecar.write import ObjectRegion, SidecarError, Tag, write_sidecar

FEW, FACTOR = 250, 8


def foreign(n):
    return [f"foreign {number}" for number in range(n)]


def add(picture):
    write_sidecar(picture, add=[Tag("ours"), Tag("sea")], regions=[ObjectRegion("sea", 0, 0, 0.5, 0.5)])


def take_back(picture):
    assert write_sidecar(picture, remove=["ours", "sea"]).removed == ("ours", "sea")


def seconds(tmp_path, n):
    """Processor time of adding two words to n of others, of reading them all, and of taking the two back."""
    picture = photo(tmp_path / f"{n}.jpg")
    (tmp_path / f"{n}.jpg.xmp").write_bytes(subject(*foreign(n)))
    taken = []
    for step in (add, photo_keywords, take_back):
        start = time.process_time()
        step(picture)
        taken.append(time.process_time() - start)
    assert photo_keywords(picture).words == tuple(foreign(n))
    return taken


def test_the_time_grows_with_the_keywords_and_no_faster(tmp_path):
    seconds(tmp_path, 50)  # imports, first calls
    # The least of three: what a collection of garbage adds to one of them says nothing of the others.
    few, many = (
        [min(times) for times in zip(*(seconds(tmp_path, n) for _ in range(3)), strict=True)]
        for n in (FEW, FEW * FACTOR)
    )
    for short, long in zip(few, many, strict=True):
        assert long < 3 * FACTOR * max(short, 0.005)  # FACTOR squared is what quadratic work would take


def test_ten_thousand_keywords_survive(tmp_path):
    picture = photo(tmp_path / "a.jpg")
    (tmp_path / "a.jpg.xmp").write_bytes(subject(*foreign(10_000)))
    add(picture)
    assert photo_keywords(picture).words == (*foreign(10_000), "ours", "sea")
    assert not write_sidecar(picture, add=[Tag("ours"), Tag("sea")]).changed
    take_back(picture)
    assert photo_keywords(picture).words == tuple(foreign(10_000))


def test_long_iptc_keywords_are_matched_in_proportion(tmp_path):
    """A keyword at the limit of IPTC is compared with the words of XMP, of which it may be the start."""
    n = 8_000
    words = [f"{number:05d} " + "x" * 70 for number in range(n)]
    packet = xmp(
        description(
            f"<dc:subject><rdf:Bag>{''.join(f'<rdf:li>{w}</rdf:li>' for w in words)}</rdf:Bag></dc:subject>"
        )
    )
    record = iptc(UTF8_MARK, *keywords(*(word[:64].encode() for word in words), b"y" * 64))
    picture = photo(tmp_path / "a.tif", packet, record)
    start = time.process_time()
    assert photo_keywords(picture).words == (*words, "y" * 64)
    assert time.process_time() - start < 5


def test_a_sidecar_that_would_grow_too_large_to_be_read_again_is_left_as_it_is(tmp_path):
    picture, beside = photo(tmp_path / "a.jpg"), tmp_path / "a.jpg.xmp"
    beside.write_bytes(subject(*(f"{number:04d}" + "x" * 16_000 for number in range(MAX_XMP // 20_000))))
    before = beside.read_bytes()
    with pytest.raises(SidecarError, match="over the limit"):
        write_sidecar(picture, add=[Tag("ours")])
    assert beside.read_bytes() == before
