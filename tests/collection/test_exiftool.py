"""A second opinion on our metadata: what exiftool reads of it, and what we make of its files."""

import json
import shutil
import subprocess

import pytest
from photo_files import photo, subject

from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.sidecar.write import ObjectRegion, Tag, sidecar_path, write_sidecar

EXIFTOOL = shutil.which("exiftool")
pytestmark = pytest.mark.skipif(EXIFTOOL is None, reason="exiftool is not installed")

REGION = ObjectRegion("tiger", 0.125, 0.25, 0.5, 0.375, 0.9)


def run(*arguments):
    return subprocess.run([EXIFTOOL, *arguments], capture_output=True, check=True).stdout


def read(path):
    return json.loads(run("-j", "-struct", "-XMP:all", path))[0]


@pytest.mark.parametrize("start", [None, subject("theirs")], ids=["new", "merged"])
def test_exiftool_reads_words_and_regions(tmp_path, start):
    picture = photo(tmp_path / "a.jpg")
    if start:
        sidecar_path(picture).write_bytes(start)
    tags = [Tag("tiger", True, 0.93, ("Animals", "tiger")), Tag("café 🐅")]
    write_sidecar(picture, add=tags, regions=[REGION])
    found = read(sidecar_path(picture))
    before = ["theirs"] if start else []
    assert found["Subject"] == [*before, "tiger", "café 🐅"]
    assert found["HierarchicalSubject"] == [*before, "Animals|tiger", "café 🐅"]
    assert found["TagsList"] == [*before, "Animals/tiger", "café 🐅"]
    (region,) = found["ImageRegion"]
    assert region["RegionBoundary"] == {
        "RbShape": "Rectangle",
        "RbUnit": "Relative",
        "RbX": 0.125,
        "RbY": 0.25,
        "RbW": 0.5,
        "RbH": 0.375,
    }
    assert region["Name"] == "tiger"
    # The same by the Metadata Working Group, whose rectangles go by their centre.
    assert found["RegionInfo"]["AppliedToDimensions"] == {"W": 40, "H": 30, "Unit": "pixel"}
    (other,) = found["RegionInfo"]["RegionList"]
    assert other["Area"] == {"X": 0.375, "Y": 0.4375, "W": 0.5, "H": 0.375, "Unit": "normalized"}
    assert other["Name"] == "tiger"
    assert region["RRole"] == [
        {"Identifier": ["http://cv.iptc.org/newscodes/imageregionrole/subjectArea"], "Name": "subject area"}
    ]
    chosen = {record["Word"]: record["By"] for record in found["Written"]}
    assert chosen == {**dict.fromkeys(before, "copy"), "tiger": "machine", "café 🐅": "person"}
    assert run("-validate", "-warning", "-error", "-a", sidecar_path(picture)).count(b"Warning") == 0


def test_what_exiftool_wrote_is_read(tmp_path):
    picture = photo(tmp_path / "a.jpg")
    run(
        "-overwrite_original",
        "-codedcharacterset=utf8",
        "-IPTC:Keywords=café",
        "-XMP-dc:Subject=sea",
        picture,
    )
    run(
        "-overwrite_original",
        "-XMP-lr:HierarchicalSubject=Animals|tiger",
        "-XMP-digiKam:TagsList=Places/Rome",
        picture,
    )
    found = photo_keywords(picture)
    assert set(found.words) == {"café", "sea", "tiger", "Rome"}
    assert found.refused == ()


@pytest.mark.parametrize("suffix", [".png", ".tif", ".webp"])
def test_other_kinds_that_exiftool_wrote(tmp_path, suffix):
    picture = photo(tmp_path / f"a{suffix}")
    try:
        run("-overwrite_original", "-XMP-dc:Subject=sea", "-XMP-dc:Subject=sky", picture)
    except subprocess.CalledProcessError:
        pytest.skip(f"this exiftool does not write {suffix}")
    assert photo_keywords(picture).words == ("sea", "sky")


def test_our_record_survives_another_program(tmp_path):
    """exiftool lays the sidecar out anew; what was ours is still ours."""
    picture = photo(tmp_path / "a.jpg")
    write_sidecar(picture, add=[Tag("tiger", True, 0.5), Tag("grass")], regions=[REGION])
    run("-overwrite_original", "-XMP-dc:Subject+=sea", sidecar_path(picture))
    found = photo_keywords(picture)
    assert (set(found.words), found.by_machine) == ({"grass", "sea"}, ("tiger",))
    assert not write_sidecar(picture, add=[Tag("tiger", True, 0.5), Tag("sea")], regions=[REGION]).changed
    assert write_sidecar(picture, remove=["tiger", "sea", "grass"]).removed == ("tiger", "grass")
    found = read(sidecar_path(picture))
    assert found["Subject"] == ["sea"]
    assert not found.keys() & {"ImageRegion", "RegionInfo", "Written", "TagsList", "HierarchicalSubject"}


def test_two_boxes_beside_the_regions_of_another_program(tmp_path):
    """Both notations hold ours and theirs; ours go again, theirs stay as they were."""
    picture = photo(tmp_path / "a.jpg")
    face = "{Area={X=0.5,Y=0.5,W=0.2,H=0.2,Unit=normalized},Name=Bob,Type=Face}"
    run(
        f"-XMP-mwg-rs:RegionInfo={{AppliedToDimensions={{W=40,H=30,Unit=pixel}},RegionList=[{face}]}}",
        "-XMP-iptcExt:ImageRegion={Name=Bob,RId=theirs}",
        "-o",
        sidecar_path(picture),
        picture,
    )
    before = read(sidecar_path(picture))
    boxes = [REGION, ObjectRegion("grass", 0, 0.5, 1, 0.5, 0.8)]
    write_sidecar(picture, add=[Tag("tiger"), Tag("grass")], regions=boxes)
    found = read(sidecar_path(picture))
    assert [region["Name"] for region in found["RegionInfo"]["RegionList"]] == ["Bob", "tiger", "grass"]
    assert found["RegionInfo"]["RegionList"][0] == before["RegionInfo"]["RegionList"][0]
    assert found["RegionInfo"]["RegionList"][2]["Area"]["Y"] == 0.75
    assert [region["Name"] for region in found["ImageRegion"]] == ["Bob", "tiger", "grass"]
    assert found["ImageRegion"][0] == before["ImageRegion"][0]
    assert not write_sidecar(picture, add=[Tag("tiger"), Tag("grass")], regions=boxes).changed
    write_sidecar(picture, remove=["tiger", "grass"])
    after = read(sidecar_path(picture))
    assert after["RegionInfo"] == before["RegionInfo"]
    assert after["ImageRegion"] == before["ImageRegion"]


def test_microsofts_list_is_written_where_a_sidecar_uses_it(tmp_path):
    """exiftool reads our words there with their places, and theirs as before when ours are taken back."""
    picture, plain = photo(tmp_path / "a.jpg"), photo(tmp_path / "b.jpg")
    run(
        "-XMP-microsoft:LastKeywordXMP=Places/Rome",
        "-XMP-dc:Subject=Rome",
        "-o",
        sidecar_path(picture),
        picture,
    )
    before = read(sidecar_path(picture))
    tags = [
        Tag("tiger", True, 0.93, ("Animals", "tiger")),
        Tag("Rome", hierarchy=("Places", "Rome")),
        Tag("a/b"),
    ]
    for path in (picture, plain):
        write_sidecar(path, add=tags)
    found = read(sidecar_path(picture))
    assert found["LastKeywordXMP"] == ["Places/Rome", "Animals/tiger"]
    assert "LastKeywordXMP" not in read(sidecar_path(plain))
    words = photo_keywords(picture)
    assert (set(words.words), words.by_machine) == ({"Rome", "a/b"}, ("tiger",))  # a machine's word stays one
    assert not write_sidecar(picture, add=tags).changed
    assert run("-validate", "-warning", "-error", "-a", sidecar_path(picture)).count(b"Warning") == 0
    write_sidecar(picture, remove=["tiger", "a/b"])
    after = read(sidecar_path(picture))
    assert after["LastKeywordXMP"] == before["LastKeywordXMP"]
    assert photo_keywords(picture).by_machine == ()
