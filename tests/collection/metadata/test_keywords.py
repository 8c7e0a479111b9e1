"""Words out of photos and sidecars, in every form in which they are written, and out of damaged ones."""

import re
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from photo_files import DC, UTF8_MARK, bag, description, iptc, keywords, photo, photoshop, subject, xmp

from topicture.collection.metadata.keywords import Keywords, embedded_words, photo_keywords, sidecar_path
from topicture.collection.sidecar.write import ObjectRegion, Tag, write_sidecar

KINDS = ["a.jpg", "a.png", "a.webp", "a.tif"]


def words(path):
    return photo_keywords(path).words


# --- Where words stand ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_embedded_xmp_of_every_kind_of_file(tmp_path, name):
    path = photo(tmp_path / name, subject("tiger", "grass"))
    assert photo_keywords(path) == Keywords(words=("tiger", "grass"))


def test_the_kind_of_file_comes_from_its_content(tmp_path):
    path = photo(tmp_path / "a.png", subject("tiger"))
    assert words(path.rename(tmp_path / "a.jpg")) == ("tiger",)


@pytest.mark.parametrize(
    "packet",
    [
        xmp(description(f"<dc:subject>{bag(['tiger', 'grass'], 'Seq')}</dc:subject>")),
        xmp(description(f"<dc:subject>{bag(['tiger', 'grass'], 'Alt')}</dc:subject>")),
        xmp(
            description(attributes='dc:subject="tiger"'),
            description(f"<dc:subject>{bag(['grass'])}</dc:subject>"),
        ),
        xmp(description("<dc:subject>tiger</dc:subject>"), description(attributes='dc:subject="grass"')),
        xmp(
            description(f"<dc:subject>{bag(['tiger'])}</dc:subject>"),
            description(f"<dc:subject>{bag(['grass'])}</dc:subject>"),
        ),
        xmp(
            description(
                "<dc:subject><rdf:Bag><rdf:_1>tiger</rdf:_1><rdf:_2>grass</rdf:_2></rdf:Bag></dc:subject>"
            )
        ),
        xmp(
            description(f"<dc:subject>{bag(['<!-- x -->tiger', '&#10;   gr<![CDATA[ass]]>  '])}</dc:subject>")
        ),
        xmp(
            description(
                '<dc:subject><rdf:Bag><rdf:li rdf:parseType="Resource"><rdf:value>tiger</rdf:value>'
                "<dc:source>x</dc:source></rdf:li>"
                '<rdf:li><rdf:Description rdf:value="grass" dc:source="y"/></rdf:li></rdf:Bag></dc:subject>'
            )
        ),
        subject("tiger", "grass")
        .split(b"?>", 1)[1]
        .replace(b"<x:xmpmeta", b'<?xml version="1.0"?><x:xmpmeta', 1),
        subject("tiger", "grass") + b"\0\0\0",
    ],
    ids=[
        "seq",
        "alt",
        "attribute",
        "text",
        "descriptions",
        "numbered",
        "layout",
        "qualified",
        "declared",
        "padded",
    ],
)
def test_every_form_of_a_list(tmp_path, packet):
    assert words(photo(tmp_path / "a.jpg", packet)) == ("tiger", "grass")


def test_the_last_part_of_a_hierarchical_tag_is_the_word(tmp_path):
    packet = xmp(
        description(
            f"<lr:hierarchicalSubject>{bag(['Animals|Cats|tiger', 'plain', 'a/b'])}</lr:hierarchicalSubject>"
            f"<digiKam:TagsList>{bag(['Animals/Cats/tiger', 'Places/sea', 'x|y'], 'Seq')}</digiKam:TagsList>"
        )
    )
    assert words(photo(tmp_path / "a.jpg", packet)) == ("tiger", "plain", "a/b", "sea", "x|y")


def test_places_that_we_wrote_are_told_apart(tmp_path):
    path = photo(tmp_path / "a.jpg")
    theirs = f"<lr:hierarchicalSubject>{bag(['Toys|bear'])}</lr:hierarchicalSubject>"
    Path(f"{path}.xmp").write_bytes(xmp(description(theirs)))
    write_sidecar(path, add=[Tag("tiger", hierarchy=("Animals", "tiger"))])
    sidecar = photo_keywords(path).sources[1]
    assert (sidecar.paths, sidecar.own_paths) == ({("Toys", "bear")}, {("Animals", "tiger")})


def test_bad_upper_parts_of_a_tag_do_not_lose_its_word(tmp_path):
    tags = bag(["two&#10;lines|tiger", "Animals| |lion", "|Places|", "Animals|tw&#10;o"])
    packet = xmp(description(f"<lr:hierarchicalSubject>{tags}</lr:hierarchicalSubject>"))
    found = photo_keywords(photo(tmp_path / "a.jpg", packet))
    assert found.words == ("tiger", "lion", "Places")
    assert len(found.refused) == 1


def test_an_rdf_root_without_its_wrapper(tmp_path):
    (tmp_path / "a.jpg.xmp").write_bytes(
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        + description("<dc:subject>sea</dc:subject>").encode()
        + b"</rdf:RDF>"
    )
    assert words(photo(tmp_path / "a.jpg")) == ("sea",)


# --- IPTC -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.jpg", "a.tif"])
@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (iptc(UTF8_MARK, *keywords("café".encode(), "山".encode())), ("café", "山")),
        (iptc(*keywords("café".encode("latin-1"), b"plain")), ("café", "plain")),
        (iptc(*keywords(b"it\x92s")), ("it’s",)),
        (iptc((2, 0, b"\0\4"), *keywords(b"sea\0"), (2, 120, b"a caption")), ("sea",)),
        (b"\x1c\x02\x19\x80\x04\0\0\0\x03sea", ("sea",)),
    ],
    ids=["utf-8", "latin-1", "windows-1252", "among others", "long form"],
)
def test_iptc_keywords(tmp_path, name, record, expected):
    assert photo_keywords(photo(tmp_path / name, record=record)) == Keywords(words=expected)


def test_iptc_of_a_little_endian_tiff_stored_as_numbers(tmp_path):
    record = iptc(*keywords(b"sea", b"sky"))
    record += b"\0" * (-len(record) % 4)
    swapped = b"".join(record[at : at + 4][::-1] for at in range(0, len(record), 4))
    head = b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", 1)
    entry = struct.pack("<HHII", 33723, 4, len(record) // 4, 26)
    path = tmp_path / "a.tif"
    path.write_bytes(head + entry + struct.pack("<I", 0) + swapped)
    assert words(path) == ("sea", "sky")


def test_a_keyword_cut_off_by_the_limit_of_iptc_is_not_a_word_of_its_own(tmp_path):
    long = "Verwaltungsgebäude der Donaudampfschifffahrtsgesellschaft in Wien"
    record = iptc(UTF8_MARK, *keywords(long.encode()[:64], b"Wien"))
    assert words(photo(tmp_path / "a.jpg", subject(long), record)) == (long, "Wien")


def test_utf8_that_is_none_is_refused_and_the_rest_kept(tmp_path):
    found = photo_keywords(photo(tmp_path / "a.jpg", record=iptc(UTF8_MARK, *keywords(b"caf\xe9", b"sea"))))
    assert found.words == ("sea",)
    assert "a.jpg" in found.refused[0]
    assert "UTF-8" in found.refused[0]


def test_all_fields_together_give_each_word_once(tmp_path):
    composed, apart = "caf\u00e9", "cafe\u0301"
    flat, tree = bag([apart, "tiger"]), bag(["Animals/tiger", "Places/" + composed])
    packet = xmp(description(f"<dc:subject>{flat}</dc:subject><digiKam:TagsList>{tree}</digiKam:TagsList>"))
    record = iptc(UTF8_MARK, *keywords(composed.encode(), b"sea"))
    assert words(photo(tmp_path / "a.jpg", packet, record)) == (composed, "tiger", "sea")


# --- Sidecars -------------------------------------------------------------------------------------------------------


def test_the_sidecar_of_the_full_name_comes_before_the_shared_one(tmp_path):
    path = photo(tmp_path / "a.jpg", subject("embedded"))
    assert sidecar_path(path) == tmp_path / "a.jpg.xmp"
    (tmp_path / "a.xmp").write_bytes(subject("shared", "both"))
    assert words(path) == ("embedded", "shared", "both")
    (tmp_path / "a.jpg.xmp").write_bytes(subject("own", "both"))
    assert words(path) == ("embedded", "own", "both")


def test_two_files_may_share_a_sidecar(tmp_path):
    (tmp_path / "IMG.xmp").write_bytes(subject("sea"))
    assert words(photo(tmp_path / "IMG.jpg")) == ("sea",)
    (tmp_path / "IMG.cr2").write_bytes(b"raw")
    assert words(tmp_path / "IMG.cr2") == ("sea",)


def test_capitals_in_a_sidecars_name(tmp_path):
    (tmp_path / "A.XMP").write_bytes(subject("sea"))
    assert words(photo(tmp_path / "A.JPG")) == ("sea",)


BOMB = (
    b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]>"
)
XXE = b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not well-formed"),
        (b"not xml", "not well-formed"),
        (subject("sea")[:-200], "not well-formed"),
        (b"<html><body/></html>", "not XMP"),
        (XXE + subject("&a;").split(b"?>", 1)[1], "DTD"),
        (BOMB + subject("&j;").split(b"?>", 1)[1], "DTD|well-formed"),
        (b'<!DOCTYPE x SYSTEM "http://localhost:1/x.dtd">' + subject("sea").split(b"?>", 1)[1], "DTD"),
        (b" " * (50 << 20), "over the limit"),
        (subject("s" * 20).replace(b"ssss", b"\xff\xfe\xff"), "not well-formed"),
        (b"<a>" * 5000, "not well-formed"),
    ],
    ids=["empty", "text", "cut off", "html", "entity", "bomb", "external", "50 MB", "not UTF-8", "deep"],
)
def test_a_bad_sidecar_is_a_reason_and_the_photo_keeps_its_words(tmp_path, content, reason):
    path = photo(tmp_path / "a.jpg", subject("embedded"))
    (tmp_path / "a.jpg.xmp").write_bytes(content)
    found = photo_keywords(path)
    assert found.words == ("embedded",)
    (refused,) = found.refused
    assert refused.startswith("a.jpg.xmp: ")
    assert re.search(reason, refused)
    assert refused.isprintable()


def test_a_bomb_in_an_attribute_is_refused(tmp_path):
    (tmp_path / "a.jpg.xmp").write_bytes(
        BOMB + xmp(description(attributes='dc:subject="&j;"')).split(b"?>", 1)[1]
    )
    found = photo_keywords(photo(tmp_path / "a.jpg"))
    assert found.words == ()
    assert len(found.refused) == 1


def test_a_sidecar_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere.xml").write_bytes(subject("secret"))
    (tmp_path / "a.jpg.xmp").symlink_to(tmp_path / "elsewhere.xml")
    found = photo_keywords(photo(tmp_path / "a.jpg"))
    assert found == Keywords(refused=("a.jpg.xmp: sidecar is a symbolic link, not followed",))


def test_bad_words_are_refused_one_by_one(tmp_path):
    path = photo(tmp_path / "a.jpg", subject("good", "two&#10;lines", "x" * 20_000, "-rf"))
    found = photo_keywords(path)
    assert found.words == ("good", "-rf")
    assert len(found.refused) == 2
    assert all(line.isprintable() and len(line) < 200 for line in found.refused)


# --- Damaged photos -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xd8",
        b"\xff\xd8\xff\xe1",
        b"\xff\xd8\xff\xe1\0\0" * 50,
        b"\xff\xd8\xff\xed\0\x16Photoshop 3.0\0" + b"8BIM\x04",
        b"\xff\xd8\xff\xe1\0\x30http://ns.adobe.com/xmp/extension/\0abc",
        b"II*\0\xff\xff\xff\xff",
        b"II+\0\x08\0\0\0" + b"\xff" * 8,
        b"MM\0*\0\0\0\x08\xff\xff" + b"\x02\xbc\0\x01\xff\xff\xff\xff\0\0\0\0",
        b"\x89PNG\r\n\x1a\n\xff\xff\xff\xffiTXt",
        b"\x89PNG\r\n\x1a\n\0\0\0\x16iTXtXML:com.adobe.xmp\0\1\0\0\0xx....",
        b"RIFF\0\0\0\0WEBPXMP \xff\xff\xff\xff",
    ],
)
def test_damaged_files_never_raise(tmp_path, content):
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    found = photo_keywords(path)
    assert found.words == ()
    assert all(line.isprintable() for line in found.refused)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_flipped_bytes_never_raise(data, kind):
    with tempfile.TemporaryDirectory() as folder:
        check_flipped(Path(folder), data, kind)


def check_flipped(folder, data, kind):
    path = photo(
        folder / kind,
        subject("tiger"),
        iptc(UTF8_MARK, *keywords(b"sea")) if kind in ("a.jpg", "a.tif") else None,
    )
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    assert isinstance(photo_keywords(path), Keywords)


def test_a_photo_that_is_not_there_is_a_reason(tmp_path):
    assert "can't be opened" in photo_keywords(tmp_path / "a.jpg").refused[0]
    assert photo_keywords(tmp_path).refused[0].endswith("not a regular file")


def test_extended_xmp_of_a_jpeg_is_joined(tmp_path):
    """A packet beyond 64 kB lies in several segments, in any order; two parts suffice to show it."""
    packet = subject("far").split(b"?>", 1)[1]
    packet = packet[: packet.index(b"<?xpacket")]
    half = len(packet) // 2
    parts = [(half, packet[half:]), (0, packet[:half])]
    header = b"http://ns.adobe.com/xmp/extension/\0" + b"0" * 32 + struct.pack(">I", len(packet))
    segments = b""
    for offset, part in parts:
        content = header + struct.pack(">I", offset) + part
        segments += b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
    path = photo(tmp_path / "a.jpg", subject("near"), extra=segments)
    assert words(path) == ("near", "far")


def test_iptc_that_runs_over_two_segments(tmp_path):
    whole = photoshop(iptc(*keywords(b"sea", b"sky")))[4 + len(b"Photoshop 3.0\0") :]
    segments = b""
    for part in (whole[:30], whole[30:]):
        content = b"Photoshop 3.0\0" + part
        segments += b"\xff\xed" + struct.pack(">H", len(content) + 2) + content
    assert words(photo(tmp_path / "a.jpg", extra=segments)) == ("sea", "sky")


def test_embedded_words_leave_the_sidecar_out(tmp_path):
    (tmp_path / "a.jpg.xmp").write_bytes(subject("beside"))
    assert embedded_words(photo(tmp_path / "a.jpg", subject("inside"))) == {"inside": ("inside",)}


def test_the_namespace_counts_not_the_prefix(tmp_path):
    packet = (
        xmp(description(f"<dc:subject>{bag(['sea'])}</dc:subject>"))
        .replace(b"dc:", b"q:")
        .replace(DC.encode(), b"")
    )
    packet = packet.replace(b"xmlns:q:", b"xmlns:q").replace(
        b"<q:subject>", b'<q:subject xmlns:q="http://purl.org/dc/elements/1.1/">'
    )
    assert words(photo(tmp_path / "a.jpg", packet)) == ("sea",)


# --- People -----------------------------------------------------------------------------------------------------------

MWG = """<mwg-rs:Regions xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/" rdf:parseType="Resource">
<mwg-rs:RegionList><rdf:Bag>
<rdf:li><rdf:Description mwg-rs:Name="Ada" mwg-rs:Type="Face"><mwg-rs:Area/></rdf:Description></rdf:li>
<rdf:li rdf:parseType="Resource"><mwg-rs:Name>Rex</mwg-rs:Name><mwg-rs:Type>Pet</mwg-rs:Type></rdf:li>
<rdf:li rdf:parseType="Resource"><mwg-rs:Type>Face</mwg-rs:Type></rdf:li>
<rdf:li rdf:parseType="Resource"><mwg-rs:Name>0123</mwg-rs:Name><mwg-rs:Type>BarCode</mwg-rs:Type></rdf:li>
</rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions>"""
MICROSOFT = """<MP:RegionInfo xmlns:MP="http://ns.microsoft.com/photo/1.2/"
 xmlns:MPRI="http://ns.microsoft.com/photo/1.2/t/RegionInfo#" xmlns:MPReg="http://ns.microsoft.com/photo/1.2/t/Region#"
 rdf:parseType="Resource"><MPRI:Regions><rdf:Bag>
<rdf:li MPReg:PersonDisplayName="Grace" MPReg:Rectangle="0.1, 0.1, 0.2, 0.2"/>
</rdf:Bag></MPRI:Regions></MP:RegionInfo>"""
IN_IMAGE = """<Iptc4xmpExt:PersonInImage xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"><rdf:Bag>
<rdf:li>Emmy</rdf:li></rdf:Bag></Iptc4xmpExt:PersonInImage>"""


def test_names_of_people_are_words_and_their_regions_are_never_lost(tmp_path):
    picture = photo(tmp_path / "a.jpg", xmp(description(MWG)))
    beside = sidecar_path(picture)
    beside.write_bytes(xmp(description(MWG + MICROSOFT + IN_IMAGE)))
    people = {"Ada", "Rex", "Grace", "Emmy"}
    assert set(photo_keywords(picture).words) == people
    write_sidecar(picture, add=[Tag("tiger")], regions=[ObjectRegion("tiger", 0.1, 0.1, 0.5, 0.5)])
    assert set(photo_keywords(picture).words) == people | {"tiger"}
    write_sidecar(picture, remove=["tiger"])
    assert set(photo_keywords(picture).words) == people
    for line in (MWG + MICROSOFT + IN_IMAGE).splitlines():
        assert ("xmlns" in line) or line.encode() in beside.read_bytes()
