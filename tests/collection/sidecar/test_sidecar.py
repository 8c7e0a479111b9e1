"""Sidecars: merged, never replaced; what is ours can be taken back, what is not is never touched."""

import os
import re
import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from photo_files import bag, description, photo, subject, xmp
from PIL import Image, ImageOps

from topicture.collection.metadata.keywords import Keywords, photo_keywords
from topicture.collection.sidecar import write as module
from topicture.collection.sidecar.write import ObjectRegion, SidecarError, SidecarReport, Tag, write_sidecar
from topicture.errors import BadWord, DataNotFound

FOREIGN = b"""<?xml version="1.0" encoding="UTF-8"?>
<!-- kept by hand -->
<?note keep?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Other 1.0">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:darktable="http://darktable.sf.net/" xmlns:dc="http://purl.org/dc/elements/1.1/"
    darktable:xmp_version="5" darktable:odd="a&#10;b &lt; c">
   <dc:creator><rdf:Seq><rdf:li>Ann</rdf:li></rdf:Seq></dc:creator>
   <darktable:history><rdf:Seq><!-- first --><rdf:li darktable:num="0" darktable:params="00ff"/></rdf:Seq>
   </darktable:history>
   <dc:subject><rdf:Seq><rdf:li>theirs</rdf:li></rdf:Seq></dc:subject>
  </rdf:Description>
  <rdf:Description rdf:about="" xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/"
    xmlns:u="urn:unknown#" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">
   <mwg-rs:Regions rdf:parseType="Resource"><u:face>Bob</u:face></mwg-rs:Regions>
   <u:note><![CDATA[<b>bold</b>]]></u:note>
   <Iptc4xmpExt:ImageRegion><rdf:Bag><rdf:li rdf:parseType="Resource"><Iptc4xmpExt:rId>theirs</Iptc4xmpExt:rId>
   </rdf:li></rdf:Bag></Iptc4xmpExt:ImageRegion>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""


def essence(content):
    """A document in canonical form, without the blanks between elements."""
    return re.sub(rb">\s+<", b"><", etree.tostring(etree.fromstring(content), method="c14n"))


def values(content, name):
    text = content.decode()
    found = re.search(rf"<{name}[ >].*?</{name}>", text, flags=re.DOTALL)
    return re.findall(r"<rdf:li>(.*?)</rdf:li>", found.group()) if found else []


@pytest.fixture
def picture(tmp_path):
    return photo(tmp_path / "a.jpg")


@pytest.fixture
def beside(tmp_path):
    return tmp_path / "a.jpg.xmp"


# --- A new sidecar --------------------------------------------------------------------------------------------------


def test_words_are_written_where_photo_managers_look(picture, beside):
    original = picture.read_bytes()
    report = write_sidecar(picture, add=[Tag("tiger", hierarchy=("Animals", "tiger")), Tag("sea")])
    assert report == SidecarReport(beside, True, added=("tiger", "sea"))
    content = beside.read_bytes()
    assert values(content, "dc:subject") == ["tiger", "sea"]
    assert values(content, "lr:hierarchicalSubject") == ["Animals|tiger", "sea"]
    assert values(content, "digiKam:TagsList") == ["Animals/tiger", "sea"]
    assert photo_keywords(picture) == Keywords(words=("tiger", "sea"))
    assert picture.read_bytes() == original


@pytest.mark.parametrize(
    "word", ["-rf", "a|b", "a/b", "a|b/c", "a, b", "x" * 10_000, "שלום", "🐅", "<b>&amp;", "]]>", "'\""]
)
def test_odd_words_round_trip(picture, word):
    write_sidecar(picture, add=[Tag(word)])
    assert photo_keywords(picture) == Keywords(words=(word,))
    write_sidecar(picture, remove=[word])
    assert photo_keywords(picture) == Keywords()


@pytest.mark.parametrize(
    "name",
    [
        b"new\nline.jpg",
        b'quote".jpg',
        b"-rf.jpg",
        b"caf\xe9.jpg",
        b"x" * 251 + b".jpg",
        b"no suffix",
        b"$(id).jpg",
    ],
)
def test_odd_file_names(tmp_path, name):
    path = photo(tmp_path / "plain.jpg").rename(tmp_path / os.fsdecode(name))
    report = write_sidecar(path, add=[Tag("sea")])
    assert report.path.parent == tmp_path
    assert photo_keywords(path) == Keywords(words=("sea",))
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, report.path.name])


def test_control_characters_are_refused():
    for text in ("a\nb", "a\0", "\r"):
        with pytest.raises(BadWord):
            Tag(text)
        with pytest.raises(BadWord):
            ObjectRegion(text, 0, 0, 1, 1)


def test_twins_are_written_once(picture, beside):
    beside.write_bytes(subject("cafe\u0301"))
    before = beside.read_bytes()
    assert not write_sidecar(picture, add=[Tag("caf\u00e9")]).changed
    assert beside.read_bytes() == before


def test_machine_words_are_told_apart(picture, beside):
    write_sidecar(picture, add=[Tag("tiger", by_machine=True, probability=0.93), Tag("sea")])
    assert photo_keywords(picture) == Keywords(words=("sea",), by_machine=("tiger",))
    assert b"<topicture:by>machine</topicture:by>" in beside.read_bytes()
    assert b"<topicture:probability>0.93</topicture:probability>" in beside.read_bytes()
    write_sidecar(picture, add=[Tag("tiger")])  # a person agrees
    assert photo_keywords(picture) == Keywords(words=("sea", "tiger"))


def test_a_dry_run_writes_nothing(picture, beside):
    assert write_sidecar(picture, add=[Tag("sea")], dry_run=True) == SidecarReport(
        beside, True, added=("sea",)
    )
    assert not beside.exists()


def test_nothing_to_do_makes_no_file(picture, beside):
    assert write_sidecar(picture, remove=["sea"]) == SidecarReport(beside, False)
    assert not beside.exists()


# --- Copies, for programs that read one list alone ------------------------------------------------------------------


def test_the_photos_own_words_are_copied_and_taken_away_again(tmp_path, beside):
    tree = f"<lr:hierarchicalSubject>{bag(['Plants|grass'])}</lr:hierarchicalSubject>"
    packet = xmp(description(f"<dc:subject>{bag(['grass', 'sky'])}</dc:subject>{tree}"))
    picture = photo(tmp_path / "a.jpg", packet)
    report = write_sidecar(picture, add=[Tag("tiger")])
    assert report.added == ("tiger",)
    content = beside.read_bytes()
    assert values(content, "dc:subject") == ["grass", "sky", "tiger"]
    assert values(content, "lr:hierarchicalSubject") == ["Plants|grass", "sky", "tiger"]
    assert values(content, "digiKam:TagsList") == ["Plants/grass", "sky", "tiger"]
    photo(picture, subject("grass"))  # "sky" is taken out of the photo: the copy alone is nobody's word
    assert photo_keywords(picture).words == ("grass", "tiger")
    assert write_sidecar(picture, remove=["tiger"]).removed == ("tiger",)
    assert not beside.exists()  # with our last word the copies went, and nothing is left to say


@pytest.mark.parametrize(
    ("theirs", "stays"),
    [
        ("", False),
        ("<!-- a note -->", True),
        ('<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4"/>', True),
        ('<rdf:Description rdf:about=""/>', False),
    ],
)
def test_a_sidecar_of_ours_goes_once_it_says_nothing(picture, beside, theirs, stays):
    write_sidecar(picture, add=[Tag("tiger")])
    beside.write_text(beside.read_text().replace("</rdf:RDF>", theirs + "</rdf:RDF>"))
    assert write_sidecar(picture, remove=["tiger"], dry_run=True).changed
    assert beside.exists()
    report = write_sidecar(picture, remove=["tiger"])
    assert (report.changed, report.removed, beside.exists()) == (True, ("tiger",), stays)
    assert not write_sidecar(picture, remove=["tiger"]).changed
    assert stays or report.sidecars == ()


def test_an_empty_sidecar_of_another_program_stays(picture, beside):
    beside.write_bytes(xmp(description()))
    write_sidecar(picture, add=[Tag("tiger")])
    write_sidecar(picture, remove=["tiger"])
    assert beside.exists()


def test_lists_that_we_begin_repeat_what_the_sidecar_says(picture, beside):
    beside.write_bytes(subject("theirs"))
    write_sidecar(picture, add=[Tag("tiger", hierarchy=("Animals", "tiger"))])
    assert values(beside.read_bytes(), "digiKam:TagsList") == ["theirs", "Animals/tiger"]
    assert write_sidecar(picture, remove=["theirs"]) == SidecarReport(beside, False, kept=("theirs",))
    assert not write_sidecar(picture, add=[Tag("theirs")]).changed
    beside.write_bytes(
        beside.read_bytes().replace(b"<rdf:li>theirs</rdf:li>", b"", 1)
    )  # out of dc:subject alone
    assert photo_keywords(picture).words == ("tiger",)


def test_a_copied_word_that_is_chosen_becomes_ours(tmp_path, beside):
    picture = photo(tmp_path / "a.jpg", subject("grass"))
    write_sidecar(picture, add=[Tag("tiger")])
    assert write_sidecar(picture, add=[Tag("grass")]) == SidecarReport(beside, True)
    photo(picture)
    assert set(photo_keywords(picture).words) == {"tiger", "grass"}
    assert write_sidecar(picture, remove=["tiger"]).removed == ("tiger",)
    assert photo_keywords(picture).words == ("grass",)


def test_a_word_to_be_removed_is_not_copied(tmp_path, beside):
    picture = photo(tmp_path / "a.jpg", subject("grass", "sky"))
    write_sidecar(picture, add=[Tag("tiger")], remove=["grass"])
    assert values(beside.read_bytes(), "dc:subject") == ["sky", "tiger"]


def test_bad_words_of_others_are_neither_copied_nor_lost(picture, beside):
    beside.write_bytes(subject("good", "two&#10;lines"))
    write_sidecar(picture, add=[Tag("tiger")])
    content = beside.read_bytes()
    assert content.count(b"two\nlines") == 1
    assert values(content, "digiKam:TagsList") == ["good", "tiger"]


# --- Merging --------------------------------------------------------------------------------------------------------


def test_everything_foreign_survives_and_comes_back_alone(picture, beside):
    beside.write_bytes(FOREIGN)
    tags = [Tag("tiger", True, 0.5, ("Animals", "tiger")), Tag("theirs"), Tag("sea")]
    report = write_sidecar(picture, add=tags, regions=[ObjectRegion("tiger", 0.1, 0.2, 0.3, 0.4, 0.5)])
    assert report.added == ("tiger", "sea")
    merged = beside.read_bytes()
    assert values(merged, "dc:subject") == ["theirs", "tiger", "sea"]
    for kept in (
        b"<!-- kept by hand -->",
        b"<?note keep?>",
        b"<![CDATA[<b>bold</b>]]>",
        b"<!-- first -->",
        b"&#10;",
        b"Other 1.0",
    ):
        assert kept in merged
    report = write_sidecar(picture, remove=["tiger", "theirs", "sea"])
    assert report.removed == ("tiger", "sea")
    assert essence(beside.read_bytes()) == essence(FOREIGN)


@pytest.mark.parametrize(
    "inside",
    [
        description(attributes='dc:subject="theirs"'),
        description("<dc:subject>theirs</dc:subject>"),
        description(f"<dc:subject>{bag(['theirs'], 'Seq')}</dc:subject>"),
        description() + description(f"<dc:subject>{bag(['theirs'])}</dc:subject>"),
        description() + description(attributes='dc:subject="theirs"'),
        description("<dc:subject/>") + description("<dc:subject>theirs</dc:subject>"),
    ],
    ids=["attribute", "text", "seq", "second", "second attribute", "empty first"],
)
def test_every_form_of_a_list_is_added_to(picture, beside, inside):
    beside.write_bytes(xmp(inside))
    assert write_sidecar(picture, add=[Tag("ours"), Tag("theirs")]).added == ("ours",)
    assert photo_keywords(picture).words == ("theirs", "ours")
    assert write_sidecar(picture, remove=["ours", "theirs"]).removed == ("ours",)
    assert photo_keywords(picture).words == ("theirs",)


def test_a_document_without_a_description(picture, beside):
    beside.write_bytes(xmp())
    write_sidecar(picture, add=[Tag("sea")])
    assert photo_keywords(picture).words == ("sea",)


def test_prefixes_bound_to_something_else_do_no_harm(picture, beside):
    odd = '<rdf:Description rdf:about="" xmlns:dc="urn:other#" xmlns:lr="urn:x#" dc:subject="not ours"/>'
    beside.write_bytes(xmp(odd))
    write_sidecar(picture, add=[Tag("sea")])
    assert photo_keywords(picture).words == ("sea",)
    assert b'dc:subject="not ours"' in beside.read_bytes()


def test_byte_order_mark_and_packet_wrapper_are_kept(picture, beside):
    beside.write_bytes(b"\xef\xbb\xbf" + subject("theirs"))
    write_sidecar(picture, add=[Tag("sea")])
    content = beside.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf<?xpacket begin")
    assert content.endswith(b'<?xpacket end="w"?>')


def test_utf16_is_read_and_written_as_utf8(picture, beside):
    text = subject("thé").decode().split("?>", 1)[1]
    beside.write_bytes(('<?xml version="1.0" encoding="UTF-16"?>' + text).encode("utf-16"))
    write_sidecar(picture, add=[Tag("sea")])
    assert photo_keywords(picture).words == ("thé", "sea")
    assert "<rdf:li>thé</rdf:li>" in beside.read_bytes().decode("utf-8")


def test_the_shared_sidecar_is_the_one_that_is_written(picture, tmp_path):
    (tmp_path / "a.xmp").write_bytes(FOREIGN)
    assert write_sidecar(picture, add=[Tag("sea")]).path == tmp_path / "a.xmp"
    assert not (tmp_path / "a.jpg.xmp").exists()


# --- The same again -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [None, FOREIGN, subject("theirs")], ids=["new", "foreign", "packet"])
def test_the_same_call_again_changes_nothing(picture, beside, start):
    if start:
        beside.write_bytes(start)
    call = {
        "add": [Tag("tiger", True, 1 / 3, ("Animals", "tiger")), Tag("sea")],
        "remove": ["never there"],
        "regions": [ObjectRegion("tiger", 1 / 7, 0, 1 / 3, 1, 2 / 3), ObjectRegion("sea", 0, 0.5, 1, 0.5)],
    }
    assert write_sidecar(picture, **call).changed
    content, status = beside.read_bytes(), beside.stat()
    assert write_sidecar(picture, **call) == SidecarReport(beside, False)
    assert beside.read_bytes() == content
    assert (beside.stat().st_ino, beside.stat().st_mtime_ns) == (status.st_ino, status.st_mtime_ns)


@pytest.mark.parametrize(
    "tag", [Tag("tiger", True, 0.6), Tag("tiger", False, 0.5), Tag("tiger", True, 0.5, ("Cats", "tiger"))]
)
def test_another_probability_chooser_or_hierarchy_is_written(picture, beside, tag):
    write_sidecar(picture, add=[Tag("tiger", True, 0.5)])
    report = write_sidecar(picture, add=[tag])
    assert report == SidecarReport(beside, True)
    content = beside.read_bytes()
    assert values(content, "dc:subject") == ["tiger"]
    assert values(content, "digiKam:TagsList") == ["/".join(tag.hierarchy) or "tiger"]
    assert content.count(b"<topicture:word>") == 1


def test_a_word_that_another_program_took_out_is_written_again_when_asked(picture, beside):
    write_sidecar(picture, add=[Tag("sea"), Tag("sky")])
    beside.write_bytes(beside.read_bytes().replace(b"<rdf:li>sea</rdf:li>", b""))
    assert photo_keywords(picture).words == ("sky",)
    assert write_sidecar(picture, add=[Tag("sea")]).added == ("sea",)
    assert set(photo_keywords(picture).words) == {"sky", "sea"}


@pytest.mark.parametrize(
    "form",
    [' dc:subject="ours"/>', "><dc:subject>ours</dc:subject></rdf:Description>"],
    ids=["attribute", "text"],
)
def test_our_word_is_found_in_whichever_form_another_program_left_it(picture, beside, form):
    write_sidecar(picture, add=[Tag("ours")])
    content = beside.read_text()
    moved = re.sub(r"<dc:subject>.*?</dc:subject>", "", content, flags=re.DOTALL)
    other = '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"' + form
    beside.write_text(moved.replace("</rdf:RDF>", other + "</rdf:RDF>"))
    assert photo_keywords(picture).words == ("ours",)
    assert write_sidecar(picture, remove=["ours"]).removed == ("ours",)
    assert photo_keywords(picture) == Keywords()


words = st.sampled_from(["tiger", "sea", "theirs", "a|b", "c/d"])
steps = st.lists(
    st.tuples(st.sampled_from(["add", "machine", "remove", "region"]), words), min_size=1, max_size=8
)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(steps=steps)
def test_any_steps_taken_back_leave_what_was_there(steps):
    with tempfile.TemporaryDirectory() as folder:
        check_steps(Path(folder), steps)


def check_steps(folder, steps):
    picture, beside = photo(folder / "a.jpg", subject("inside")), folder / "a.jpg.xmp"
    beside.write_bytes(FOREIGN)
    ours = set()
    for kind, word in steps:
        if kind == "remove":
            write_sidecar(picture, remove=[word])
            ours.discard(word)
        elif kind == "region":
            write_sidecar(picture, regions=[ObjectRegion(word, 0, 0, 0.5, 0.5)])
        else:
            write_sidecar(picture, add=[Tag(word, by_machine=kind == "machine")])
            ours.add(word)
        found = photo_keywords(picture)
        assert set(found.words + found.by_machine) == ours | {"theirs", "inside"}
        assert found.refused == ()
    write_sidecar(picture, remove=["tiger", "sea", "theirs", "a|b", "c/d"])
    assert essence(beside.read_bytes()) == essence(FOREIGN)


# --- Regions --------------------------------------------------------------------------------------------------------


def test_new_regions_take_the_place_of_ours_of_the_same_word(picture, beside):
    beside.write_bytes(FOREIGN)
    write_sidecar(
        picture, regions=[ObjectRegion("tiger", 0, 0, 0.5, 0.5), ObjectRegion("sea", 0, 0.5, 1, 0.5)]
    )
    write_sidecar(
        picture, regions=[ObjectRegion("tiger", 0.25, 0, 0.5, 0.5), ObjectRegion("tiger", 0, 0, 0.1, 0.1)]
    )
    content = beside.read_bytes()
    # Two regions in two notations.
    assert len(re.findall(rb"<topicture:word[^>]*>tiger", content)) == 2 * 2
    assert len(re.findall(rb"<topicture:word[^>]*>sea", content)) == 2
    assert b"rId>theirs<" in content
    assert b"<u:face>Bob</u:face>" in content
    assert b"<Iptc4xmpExt:rbX>0.25<" in content
    assert write_sidecar(picture, remove=["tiger"]).removed == ("tiger",)
    assert b"tiger" not in beside.read_bytes()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_regions_are_those_of_the_stored_pixels(tmp_path, orientation):
    """A red rectangle in the stored pixels: its place in the upright picture is written as its place in the file."""
    stored = np.zeros((32, 64, 3), np.uint8)
    stored[4:12, 16:48] = 255
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "a.png"
    Image.fromarray(stored).save(path, exif=exif)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(path)))
    rows, columns = (np.flatnonzero(upright[..., 0].any(axis=axis)) for axis in (1, 0))
    height, width = upright.shape[:2]
    box = columns[0] / width, rows[0] / height, len(columns) / width, len(rows) / height
    write_sidecar(path, regions=[ObjectRegion("red", *box)])
    content = (tmp_path / "a.png.xmp").read_text()
    sides = [float(re.search(rf"<Iptc4xmpExt:rb{side}>(.*?)<", content).group(1)) for side in "XYWH"]
    assert sides == [0.25, 0.125, 0.5, 0.25]


@pytest.mark.parametrize(
    "box",
    [
        (-0.1, 0, 0.5, 0.5),
        (0, 0, 0, 1),
        (0.6, 0, 0.5, 1),
        (0, 0, 1, 1.1),
        (float("nan"), 0, 1, 1),
        (0, 0, float("inf"), 1),
    ],
)
def test_regions_outside_the_picture_are_refused(box):
    with pytest.raises(SidecarError, match="must lie in the picture"):
        ObjectRegion("sea", *box)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_probabilities_are_checked(probability):
    with pytest.raises(SidecarError, match="not between"):
        Tag("sea", True, probability)


def test_a_hierarchy_ends_in_its_word():
    with pytest.raises(SidecarError, match="must end"):
        Tag("sea", hierarchy=("sea", "Baltic"))


# --- Faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<x:xmpmeta", "not well-formed"),
        (b"", "not well-formed"),
        (b"<html/>", "not XMP"),
        (b'<!DOCTYPE x [<!ENTITY e "v">]>' + subject("sea").split(b"?>", 1)[1], "DTD"),
        (b" " * (50 << 20), "over the limit"),
    ],
    ids=["malformed", "empty", "html", "dtd", "50 MB"],
)
def test_a_bad_sidecar_is_left_as_it_is(picture, beside, content, reason):
    beside.write_bytes(content)
    with pytest.raises(SidecarError, match=reason) as caught:
        write_sidecar(picture, add=[Tag("sea")])
    assert str(caught.value).startswith("a.jpg.xmp: ")
    assert beside.read_bytes() == content


def test_a_sidecar_that_is_a_link_is_left_as_it_is(picture, beside, tmp_path):
    target = tmp_path / "elsewhere"
    target.write_bytes(subject("theirs"))
    beside.symlink_to(target)
    with pytest.raises(SidecarError, match="symbolic link"):
        write_sidecar(picture, add=[Tag("sea")])
    assert beside.is_symlink()
    assert target.read_bytes() == subject("theirs")


@pytest.mark.parametrize("start", [None, subject("theirs")], ids=["new", "there"])
def test_a_change_by_another_program_is_merged(picture, beside, monkeypatch, start):
    """It comes after we have read the sidecar and before we write ours."""
    if start:
        beside.write_bytes(start)
    merge = module.merge
    changed = []

    def slow_merge(*arguments):
        result = merge(*arguments)
        if not changed:
            changed.append(True)
            beside.write_bytes(subject("theirs", "newer"))
        return result

    monkeypatch.setattr(module, "merge", slow_merge)
    assert write_sidecar(picture, add=[Tag("ours")]).added == ("ours",)
    assert photo_keywords(picture).words == ("theirs", "newer", "ours")


@pytest.mark.parametrize("start", [None, subject("theirs")], ids=["new", "there"])
def test_a_change_while_ours_is_being_written_is_merged(picture, beside, monkeypatch, start):
    """It comes after the last look at the sidecar that we can take before the new one is on the disk."""
    if start:
        beside.write_bytes(start)
    fsync = os.fsync
    changed = []

    def slow_fsync(descriptor):
        fsync(descriptor)
        if not changed:
            changed.append(True)
            beside.write_bytes(subject("theirs", "newer"))

    monkeypatch.setattr(os, "fsync", slow_fsync)
    assert write_sidecar(picture, add=[Tag("ours")]).added == ("ours",)
    assert photo_keywords(picture).words == ("theirs", "newer", "ours")


def test_a_sidecar_that_never_rests_is_given_up(picture, beside, monkeypatch):
    merge = module.merge
    turn = []

    def restless_merge(*arguments):
        turn.append(True)
        beside.write_bytes(subject("theirs", f"turn{len(turn)}"))
        return merge(*arguments)

    monkeypatch.setattr(module, "merge", restless_merge)
    with pytest.raises(SidecarError, match="keeps changing"):
        write_sidecar(picture, add=[Tag("ours")])
    assert b"ours" not in beside.read_bytes()


def test_the_mode_is_kept(picture, beside):
    beside.write_bytes(FOREIGN)
    beside.chmod(0o640)
    write_sidecar(picture, add=[Tag("sea")])
    assert stat.S_IMODE(beside.stat().st_mode) == 0o640


def test_a_word_both_wanted_and_not_is_an_error(picture):
    with pytest.raises(SidecarError, match="both"):
        write_sidecar(picture, add=[Tag("sea")], remove=["sea"])


def test_a_photo_that_is_not_there_gets_no_sidecar(tmp_path):
    with pytest.raises(DataNotFound, match="no such photo"):
        write_sidecar(tmp_path / "gone.jpg", add=[Tag("sea")])
    assert list(tmp_path.iterdir()) == []


def test_a_tag_deleted_in_bulk_leaves_our_sidecars_and_only_those(tmp_path):
    pictures = [photo(tmp_path / f"{number}.jpg") for number in range(6)]
    for picture in pictures[:4]:
        write_sidecar(picture, add=[Tag("sea", by_machine=picture.stem < "2"), Tag("sky")])
    (tmp_path / "4.jpg.xmp").write_bytes(subject("sea"))
    removed = [write_sidecar(picture, remove=["sea"]).removed for picture in pictures]
    assert removed == [("sea",)] * 4 + [()] * 2
    found = [photo_keywords(picture).words for picture in pictures]
    assert found == [("sky",)] * 4 + [("sea",), ()]
    assert not any(write_sidecar(picture, remove=["sea"]).changed for picture in pictures)
