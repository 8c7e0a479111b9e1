"""Every format: what is written comes back, and what can't be used is refused alone, with its place."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicture.collection.formats import (
    FORMATS,
    Box,
    FormatError,
    Item,
    guess_format,
    read_annotations,
    write_annotations,
)
from topicture.collection.words import clean_word
from topicture.errors import BadWord, DataNotFound

WORDS_ONLY = ("csv-wide", "arff", "arff-dense")
TARGETS = {"coco": "a.json", "labelme": "a", "voc": "a", "cvat": "a.xml", "jsonl": "a.jsonl"} | {
    "csv-long": "a.csv",
    "csv-wide": "a.csv",
    "arff": "a.arff",
    "arff-dense": "a.arff",
}
ITEMS = (
    Item("b/two.jpg", ("sea", "sky"), (Box("boat", 1.5, 2, 30.25, 4),), (64, 48)),
    Item("one.jpg"),
    Item(
        "a/three.png",
        ("=1+1", "-x", "@me", "+", "'tis", "''", "a;b", "New York", 'say "hi"', "file", "words", "🐅"),
    ),
    Item(
        "a/three.jpg",
        (),
        (Box("boat", 0, 0, 10, 10), Box("boat", 5, 5, 10.001, 10), Box("sea", 0, 0, 64, 48)),
        (64, 48),
    ),
)


def words_of(items):
    return [Item(item.path, item.words) for item in items]


def check_round_trip(folder, items, format):
    target = Path(folder) / TARGETS[format]
    assert write_annotations(target, items, format) == ()
    found = read_annotations(target, format)
    assert found.refused == ()
    key = {
        item.path: n for n, item in enumerate(items)
    }  # formats of a file a photo come back in the order of names
    back = sorted(found.items, key=lambda item: key[item.path])
    assert back == (words_of(items) if format in WORDS_ONLY else list(items))


# --- Round trips ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_written_comes_back(tmp_path, format):
    check_round_trip(tmp_path, ITEMS, format)
    assert read_annotations(tmp_path / TARGETS[format]).refused == ()  # and the format is seen


@pytest.mark.parametrize("format", FORMATS)
def test_writing_again_gives_the_same_bytes(tmp_path, format):
    contents = []
    for _ in range(2):
        write_annotations(tmp_path / "out" / TARGETS[format], ITEMS, format)
        contents.append({path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()})
    assert contents[0] == contents[1]


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_comes_back_as_nothing(tmp_path, format):
    target = tmp_path / TARGETS[format]
    if format in ("labelme", "voc"):
        target.mkdir()
    write_annotations(target, [], format)
    found = read_annotations(target, format)
    assert found.items == found.refused == ()


def _clean(text):
    try:
        return clean_word(text)
    except BadWord:
        return "word"


names = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="/\\:\ufffe\uffff"),
    min_size=1,
    max_size=8,
)
# Hidden folders are passed over; two names have a meaning in Pascal VOC.
parts = names.filter(lambda name: not name.startswith(".") and name not in ("Annotations", "JPEGImages"))
paths = st.lists(parts, min_size=1, max_size=3)
coordinates = st.floats(0, 400, allow_nan=False)


@st.composite
def annotated(draw):
    size = draw(st.none() | st.tuples(st.integers(500, 900), st.integers(500, 900)))
    words = draw(st.lists(st.text(max_size=12).map(_clean), max_size=4))
    boxes = draw(
        st.lists(
            st.builds(
                Box,
                st.sampled_from(words or ["boat"]),
                coordinates,
                coordinates,
                st.floats(0.01, 90),
                st.floats(0.01, 90),
            ),
            max_size=3,
        )
    )
    # The number keeps names apart that a file system or a change of suffix would make one.
    return "/".join(draw(paths)) + f"-{draw(st.integers(0, 10**9))}.jpg", tuple(words), tuple(boxes), size


@settings(derandomize=True, max_examples=25, deadline=None)
@pytest.mark.parametrize("format", FORMATS)
@given(drafts=st.lists(annotated(), min_size=1, max_size=4, unique_by=lambda draft: draft[0]))
def test_any_items_come_back(format, drafts):
    items = [Item(*draft) for draft in drafts]
    with tempfile.TemporaryDirectory() as folder:
        check_round_trip(folder, items, format)


ODD_NAMES = [
    "new\nline.jpg",
    "-rf.jpg",
    'quote".jpg',
    "it's 100%.jpg",
    "a,b;c.jpg",
    "=cmd.jpg",
    "\udce9.jpg",
    "tab\tx.jpg",
    "r\rx.jpg",
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_file_names_come_back_or_are_refused(tmp_path, format, name):
    target = tmp_path / TARGETS[format]
    items = [Item("plain.jpg", ("sea",)), Item(name, ("sea",))]
    refused = write_annotations(target, items, format)
    found = read_annotations(target, format)
    assert found.refused == ()
    kept = {item.path for item in found.items}
    if refused:
        assert format in ("voc", "cvat")
        assert "\udce9" in name
        assert kept == {"plain.jpg"}
        assert str(refused[0]).isprintable()
    else:
        assert kept == {"plain.jpg", name}


def test_two_photos_that_differ_in_the_suffix_only(tmp_path):
    for format in ("labelme", "voc"):
        check_round_trip(tmp_path / format, [Item("a.jpg", ("sea",)), Item("a.png", ("sky",))], format)


@pytest.mark.parametrize("format", FORMATS)
def test_a_photo_is_written_once(tmp_path, format):
    (refused,) = write_annotations(
        tmp_path / TARGETS[format], [Item("a.jpg", ("sea",)), Item("a.jpg", ("sky",))], format
    )
    assert refused.where == "a.jpg"
    (item,) = read_annotations(tmp_path / TARGETS[format], format).items
    assert item.words == ("sea",)


# --- Items ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["../a.jpg", "a/../../b.jpg", "/etc/passwd", "C:\\a.jpg", "\\\\host\\a", "", ".", "a\0", "a\\..\\b"],
)
def test_paths_stay_inside(path):
    with pytest.raises(FormatError):
        Item(path)


def test_an_item_has_one_form():
    box = Box(" boat ", 0.12345, -0.0, 1, 2)
    item = Item("./a//b.jpg", ("sky", "cafe\u0301", "sky"), [box], (10.0, "20"))
    assert item == Item("a/b.jpg", ("boat", "caf\u00e9", "sky"), (Box("boat", 0.123, 0, 1, 2),), (10, 20))


@pytest.mark.parametrize(
    "box", [(float("nan"), 0, 1, 1), (0, 0, float("inf"), 1), (0, 0, 0, 1), (0, 0, 1, -1), ("x", 0, 1, 1)]
)
def test_boxes_are_checked(box):
    with pytest.raises(FormatError):
        Box("boat", *box)


@pytest.mark.parametrize("box", [(-2, 0, 5, 5), (0, 0, 12, 5), (8, 0, 5, 5), (0, 18, 5, 5)])
def test_boxes_lie_in_the_picture(box):
    with pytest.raises(FormatError, match="outside the picture"):
        Item("a.jpg", boxes=(Box("boat", *box),), size=(10, 20))


# --- Choosing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.csv", "file,word\n", "csv-long"),
        ("a.csv", "path;label\n", "csv-long"),
        ("a.csv", "file,sea,sky\n", "csv-wide"),
        ("a.tsv", "file\twords\n", "csv-wide"),
        ("a.json", '{"images": []}', "coco"),
        ("a.json", '{"shapes": []}', "labelme"),
        ("a.xml", "<annotation/>", "voc"),
        ("a.xml", "<annotations/>", "cvat"),
        ("A.JSONL", "", "jsonl"),
        ("d/metadata.jsonl", "", "jsonl"),
        ("d/x/a.xml", "", "voc"),
        ("d/a.json", "", "labelme"),
    ],
)
def test_the_format_is_seen(tmp_path, name, content, format):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    assert guess_format(tmp_path / "d" if name.startswith("d/") else path) == format


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (('"sea, sky"', "boat"), [("sea", "sky"), ("boat",)]),
        (('"Paris, France;sky"', '"Rome, Italy"'), [("Paris, France", "sky"), ("Rome, Italy",)]),
    ],
)
def test_lists_have_commas_where_the_table_has_no_semicolon(tmp_path, cells, words):
    path = tmp_path / "a.csv"
    path.write_text("image,tags\na.jpg," + cells[0] + "\nb.jpg," + cells[1] + "\n")
    assert [item.words for item in read_annotations(path).items] == words


def test_a_format_that_is_not_known_is_told(tmp_path):
    (tmp_path / "a.bin").touch()
    with pytest.raises(FormatError, match="can't be seen; name one of coco"):
        read_annotations(tmp_path / "a.bin")
    for call in (
        lambda: read_annotations(tmp_path / "a.bin", "yolo"),
        lambda: write_annotations(tmp_path / "a", [], "yolo"),
    ):
        with pytest.raises(FormatError, match="not known"):
            call()
    with pytest.raises(DataNotFound):
        read_annotations(tmp_path / "gone.json")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\0",
        b"<",
        b"{",
        b"[1",
        b'{"images": 3}',
        b"@data",
        b'"',
        b"<!DOCTYPE a []><a/>",
        b"[" * 100_000,
    ],
)
def test_a_file_that_is_something_else_is_a_reason(tmp_path, format, content):
    path = tmp_path / ("metadata.jsonl" if format == "jsonl" else TARGETS[format])
    path.write_bytes(content)
    found = read_annotations(path, format)
    assert found.items == ()
    assert found.refused or not content.strip(b"\0") or content == b"@data"
    assert all(str(line).startswith(path.name) and str(line).isprintable() for line in found.refused)


@settings(derandomize=True, max_examples=20, deadline=None)
@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_a_damaged_file_never_raises(format, data):
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / TARGETS[format]
        write_annotations(target, ITEMS, format)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            content = bytearray(path.read_bytes())
            for _ in range(data.draw(st.integers(0, 6))):
                at = data.draw(st.integers(0, len(content) - 1))
                content[at] = data.draw(st.sampled_from(b"0919\0\xff\n{}[]<>&'\",;.-eE@%/\\nul"))
            path.write_bytes(content)
        found = read_annotations(target, format)
        assert all(str(line).isprintable() for line in found.refused)


@pytest.mark.parametrize(("name", "format"), [("a.json", "coco"), ("a.xml", "cvat"), ("a.csv", "csv-long")])
def test_a_huge_file_is_a_reason(tmp_path, name, format):
    path = tmp_path / name
    with open(path, "wb") as file:
        file.truncate(3 << 30)  # a hole: it takes no room
    (line,) = read_annotations(path, format).refused
    assert "over the limit" in str(line)


def test_a_photo_that_is_not_in_the_collection_is_refused(tmp_path):
    root = tmp_path / "root"
    (root / "b").mkdir(parents=True)
    (root / "b" / "two.jpg").touch()
    (tmp_path / "secret.jpg").touch()
    (root / "one.jpg").symlink_to(tmp_path / "secret.jpg")
    write_annotations(tmp_path / "a.json", ITEMS, "coco")
    found = read_annotations(tmp_path / "a.json", root=root)
    assert [item.path for item in found.items] == ["b/two.jpg"]
    assert [line.where for line in found.refused] == ["images[1]", "images[2]", "images[3]"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "a.json"
    write_annotations(target, ITEMS[:1], "coco")
    before = target.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_annotations(target, ITEMS, "coco")
    assert target.read_bytes() == before
    assert json.loads(before)["images"]
