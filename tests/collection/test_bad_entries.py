"""Files of other tools with faults in them: each fault is refused with its place, the rest is imported."""

import csv
import json

import pytest

from topicture.collection.formats import Box, Item, read_annotations, write_annotations
from topicture.demo.scenes import write_collection


def read(path, content, format=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_annotations(path, format)


def places(found):
    return {line.where: line.reason for line in found.refused}


def assert_refused(found, expected):
    """Each place of `expected` is refused for a reason that has the text in it, and nothing else is."""
    assert places(found).keys() == expected.keys()
    for where, text in expected.items():
        assert text in places(found)[where], (where, places(found)[where])


def test_coco(tmp_path):
    box = [1, 1, 5, 5]
    content = {
        "images": [
            {"id": 1, "file_name": "a.jpg", "width": 20, "height": 10},
            {"id": 1, "file_name": "b.jpg"},
            {"id": 2, "file_name": "../c.jpg"},
            {"id": 3},
            "not an image",
            {"id": 4, "file_name": "a.jpg"},
            {"id": 5, "file_name": "d.jpg", "width": -1, "height": 10},
        ],
        "categories": [
            {"id": 1, "name": "boat"},
            {"id": 1, "name": "ship"},
            {"id": 2, "name": "a\nb"},
            {"id": 3},
        ],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "bbox": box},
            {"id": 1, "image_id": 1, "category_id": 1, "bbox": box},
            {"id": 2, "image_id": 99, "category_id": 1, "bbox": box},
            {"id": 3, "image_id": 1, "category_id": 99, "bbox": box},
            {"id": 4, "image_id": 1, "category_id": 2, "bbox": box},
            {"id": 5, "image_id": 1, "category_id": 1, "bbox": [float("nan"), 0, 1, 1]},
            {"id": 6, "image_id": 1, "category_id": 1, "bbox": [18, 0, 5, 5]},
            {"id": 7, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5]},
            {"id": 8, "image_id": 1, "category_id": 1, "bbox": [0, 0, 0, 5]},
            {"id": 9, "image_id": [], "category_id": 1},
            7,
            {"id": 10, "image_id": 5, "category_id": 1},
        ],
    }
    found = read(tmp_path / "a.json", content)
    assert found.items == (Item("a.jpg", (), (Box("boat", *box),), (20, 10)), Item("d.jpg", ("boat",)))
    expected = {
        "categories[1]": "was there before",
        "categories[2]": "control character",
        "categories[3]": "without a name",
        "images[1]": "id 1 was there before",
        "images[2]": "leads out of the collection",
        "images[3]": "not a path",
        "images[4]": "no id",
        "images[5]": "'a.jpg' was there before",
        "images[6]": "not possible",
        "annotations[1]": "id 1 was there before",
        "annotations[2]": "image 99",
        "annotations[3]": "category 99",
        "annotations[4]": "category 2",
        "annotations[5]": "not a finite number",
        "annotations[6]": "outside the picture",
        "annotations[7]": "four numbers",
        "annotations[8]": "empty",
        "annotations[9]": "no image_id",
        "annotations[10]": "no image_id",
    }
    assert_refused(found, expected)
    assert str(found.refused[0]).startswith("a.json: categories[1]: ")


def test_labelme(tmp_path):
    shapes = [
        {"label": "boat", "points": [[5, 6], [1, 2]], "shape_type": "rectangle"},
        {"label": "sail", "points": [[1, 1], [4, 2], [2, 5]], "shape_type": "polygon"},
        {"label": "sun", "points": [[5, 5], [8, 9]], "shape_type": "circle"},
        {"label": "gull", "points": [[5, 5]], "shape_type": "point"},
        {"label": "boat", "points": [[1, 1], [1, float("nan")]], "shape_type": "rectangle"},
        {"label": "boat", "points": [[1, 1], [50, 5]], "shape_type": "rectangle"},
        {"label": "boat", "points": [[1, 1]]},
        {"label": "boat", "points": [[1], [2]]},
        {"points": []},
        None,
    ]
    content = {"imagePath": "..\\photos\\a.jpg", "imageWidth": 20, "imageHeight": 20, "shapes": shapes}
    content["flags"] = {"sea": True, "sky": False, "a\tb": True}
    found = read(tmp_path / "labels" / "a.json", content)
    assert found.items == ()  # alone, the file may not speak of a folder outside its own
    for name, other in {
        "b": {},
        "c": {"imagePath": "../../x.jpg"},
        "d": {"imagePath": None},
        "e": {"imagePath": "/x.jpg"},
    }.items():
        (tmp_path / "labels" / f"{name}.json").write_text(
            json.dumps({**content, "shapes": [], "flags": {}, **other})
        )
    (tmp_path / "labels" / "f.json").write_text("[]")
    found = read_annotations(tmp_path, "labelme")
    boxes = (Box("boat", 1, 2, 4, 4), Box("sail", 1, 1, 3, 4), Box("sun", 0, 0, 10, 10))
    assert found.items == (Item("photos/a.jpg", ("gull", "sea"), boxes, (20, 20)),)
    in_shapes = {line.where: line.reason for line in found.refused if line.where}
    assert list(in_shapes) == ["flags 'a\tb'", *(f"shapes[{n}]" for n in range(4, 10))]
    assert "finite" in in_shapes["shapes[4]"]
    assert "outside" in in_shapes["shapes[5]"]
    whole = {line.file: line.reason for line in found.refused if not line.where}
    assert list(whole) == [f"labels/{name}.json" for name in "bcdef"]
    assert "was there before (labels/a.json)" in whole["labels/b.json"]
    assert "leads out" in whole["labels/c.json"]


def test_voc(tmp_path):
    def box(name, *corners):
        sides = zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True)
        return (
            f"<object><name>{name}</name><bndbox>"
            + "".join(f"<{s}>{c}</{s}>" for s, c in sides)
            + "</bndbox></object>\n"
        )

    size = "<size><width>20</width><height>10</height></size>\n"
    good = f"<annotation>\n<filename>a.jpg</filename>{size}{box('boat', 1, 2, 5, 6)}"
    bad = (
        box("boat", "nan", 2, 5, 6) + box("boat", 1, 2, 50, 6) + box("", 1, 2, 5, 6) + box("boat", 5, 2, 1, 6)
    )
    content = good + bad + "<object><name>mast</name></object>\n</annotation>"
    found = read(tmp_path / "VOC" / "Annotations" / "a.xml", content, "voc")
    assert found.items == (Item("a.jpg", (), (Box("boat", 1, 2, 4, 4),), (20, 10)),)
    expected = {
        "line 4": "finite",
        "line 5": "outside the picture of 20 x 10",
        "line 6": "no visible",
        "line 7": "empty",
        "line 8": "without a box",
    }
    assert_refused(found, expected)
    others = tmp_path / "VOC" / "Annotations"
    (others / "b.xml").write_text("<annotation/>")
    (others / "c.xml").write_text("<annotation><filename>../c.jpg</filename></annotation>")
    (others / "d.xml").write_text(
        '<!DOCTYPE a [<!ENTITY e "x">]><annotation><filename>&e;</filename></annotation>'
    )
    (others / "e.xml").write_text("<annotation><filename>")
    found = read_annotations(tmp_path / "VOC", "voc")
    assert [item.path for item in found.items] == ["JPEGImages/a.jpg"]
    whole = {line.file: line.reason for line in found.refused if line.file != "Annotations/a.xml"}
    assert list(whole) == [f"Annotations/{name}.xml" for name in "bcde"]
    assert "DTD" in whole["Annotations/d.xml"]


def test_cvat(tmp_path):
    lines = [
        "<annotations>",
        '<image id="0" name="a.jpg" width="20" height="10"><tag label="sea"/>',
        '<box label="boat" xtl="1" ytl="2" xbr="5" ybr="6"/>',
        '<polygon label="sail" points="1,1;4,2;2,5"/><mask label="sun" left="3" top="4" width="5" height="6" rle="1"/>',
        '<polyline label="mast" points="1,1;2,2"/>',
        '<box label="boat" xtl="nan" ytl="2" xbr="5" ybr="6"/>',
        '<box label="boat" xtl="1" ytl="2" xbr="500" ybr="6"/>',
        '<box label="boat" xtl="1" ytl="2" xbr="5"/>',
        '<box label="boat" xtl="1" ytl="2" xbr="5" ybr="6" rotation="30"/>',
        '<polygon label="sail" points="1;2"/>',
        "<tag/>",
        '<skeleton label="man"/>',
        "</image>",
        '<image id="1" name="../b.jpg"/>',
        '<image id="2" name="a.jpg"/>',
        "<image/>",
        "</annotations>",
    ]
    found = read(tmp_path / "a.xml", "\n".join(lines))
    boxes = (Box("boat", 1, 2, 4, 4), Box("sail", 1, 1, 3, 4), Box("sun", 3, 4, 5, 6))
    assert found.items == (Item("a.jpg", ("mast", "sea"), boxes, (20, 10)),)
    assert list(places(found)) == [f"line {n}" for n in (*range(6, 13), *range(14, 17))]


def test_csv_long(tmp_path):
    rows = [
        "file,word,x,y,w,h,width,height,author",
        "a.jpg,sea,,,,,20,10,Ann",
        "a.jpg,boat,1,2,3,4",
        "a.jpg,boat,nan,2,3,4",
        "a.jpg,boat,1,2,300,4",
        "a.jpg,boat,1,2,3",
        "../b.jpg,sea",
        ",sea",
        'c.jpg,"two\nlines"',
        "c.jpg,'=SUM(A1)",
        "d.jpg,sea,,,,,x,10",
        "d.jpg," + "," * 20,
        "e.jpg,",
        'f.jpg,"open',
    ]
    found = read(tmp_path / "a.csv", "\ufeff" + "\r\n".join(rows))
    assert found.items == (
        Item("a.jpg", ("sea",), (Box("boat", 1, 2, 3, 4),), (20, 10)),
        Item("c.jpg", ("=SUM(A1)",)),
        Item("d.jpg", ("sea",)),
        Item("e.jpg"),
    )
    assert list(places(found)) == [f"line {n}" for n in (4, 5, 6, 7, 8, 9, 12, 13, 15)]


def test_csv_wide(tmp_path):
    rows = [
        "file;sea;sky;sea;",
        "a.jpg;1;0",
        "b.jpg;yes;perhaps",
        "a.jpg;1;1",
        "/c.jpg;1;1",
        "d.jpg;0;1;1;1;1",
        "e.jpg;X;true;1;1",
    ]
    found = read(tmp_path / "a.csv", "\n".join(rows))
    assert found.items == (Item("a.jpg", ("sea",)), Item("b.jpg", ("sea",)), Item("e.jpg", ("sea", "sky")))
    assert [line.where for line in found.refused] == [
        "line 1",
        "line 1",
        "line 3",
        "line 4",
        "line 5",
        "line 6",
    ]


@pytest.mark.parametrize(
    "rows", [["trip/a.jpg,sea"], ["a.JPG,sea;sky", "b.jpg,sky"], ["a.nef;1;0", "b.nef;0;1"]]
)
def test_a_table_without_a_header(tmp_path, rows):
    """Its first photo must not be lost as the name of a column."""
    found = read(tmp_path / "a.csv", "\n".join(rows))
    assert found.items == ()
    assert [line.reason for line in found.refused] == [
        "line 1 is about a photo, and should be a header such as: file,words"
    ]


def test_a_column_of_lists(tmp_path):
    found = read(tmp_path / "captions.csv", 'file,words\na.jpg,sea; sky;\nb.jpg,\nc.jpg,"new\nline;boat"\n')
    assert found.items == (Item("a.jpg", ("sea", "sky")), Item("b.jpg"), Item("c.jpg", ("boat",)))
    assert list(places(found)) == ["line 4"]


def test_the_table_of_the_sample_collection(tmp_path):
    write_collection(tmp_path, 3, width=48, height=32)
    found = read_annotations(tmp_path / "captions.csv")
    assert len(found.items) == 3
    assert all(item.words for item in found.items)
    assert found.refused == ()


def test_jsonl(tmp_path):
    records = [
        {"file_name": "a.jpg", "words": ["sea", 3, "a\nb"], "width": 20, "height": 10},
        {
            "file_name": "b.jpg",
            "tags": "sky",
            "objects": {"bbox": [[1, 2, 3, 4], [1, 2], [1, 2, None, 4]], "categories": ["boat"] * 3},
        },
        {"file_name": "c.jpg", "objects": {"bbox": [[1, 2, 3, 4]], "categories": [0]}},
        {"file_name": "d.jpg", "objects": {"bbox": [[1, 2, 3, 4]], "categories": []}},
        {"file_name": "a.jpg"},
        {"file_name": "../x.jpg"},
        {"words": ["sea"]},
        ["a.jpg"],
    ]
    lines = "\n".join(map(json.dumps, records)) + "\n\n{broken\n"
    found = read(tmp_path / "d" / "metadata.jsonl", lines)
    assert read_annotations(tmp_path / "d") == found
    assert found.items == (
        Item("a.jpg", ("sea",), (), (20, 10)),
        Item("b.jpg", ("sky",), (Box("boat", 1, 2, 3, 4),)),
        Item("c.jpg"),
        Item("d.jpg"),
    )
    expected = [
        "line 1, words",
        "line 1, words",
        "line 2, objects[1]",
        "line 2, objects[2]",
        "line 3, objects[0]",
        "line 4, objects",
        *(f"line {n}" for n in (5, 6, 7, 8, 10)),
    ]
    assert [line.where for line in found.refused] == expected


LABELS = """<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="sea"><label name="New York"/></label>
{}</labels>"""


@pytest.mark.parametrize("sparse", [False, True])
def test_arff(tmp_path, sparse):
    (tmp_path / "a.xml").write_text(LABELS.format('<label name="gone"/>'))
    dense_rows = [
        "0.5,'a b.jpg',1,0",
        '0.5,"c\\\'s.jpg",?,1',
        "1,2,3",
        "0,d.jpg,2,1",
        "0,'../e.jpg',1,1",
        "0,'open,1,1",
        "0,'f' 1,1",
    ]
    sparse_rows = [
        "{1 'a b.jpg', 2 1}",
        '{0 3,1 "c\\\'s.jpg",3 1}',
        "{1 x",
        "{1 d.jpg,2 2,3 1}",
        "{1 '../e.jpg'}",
        "{9 1}",
        "{2 1,2 1}",
    ]
    head = [
        "% comment",
        "@RELATION photos",
        "@attribute f1 numeric",
        "@Attribute file STRING",
        "@attribute sea {0,1}",
    ]
    head += ["@attribute 'New York' {0,1}", "", "@DATA"]
    found = read(tmp_path / "a.arff", "\r\n".join(head + (sparse_rows if sparse else dense_rows)))
    assert found.items == (
        Item("a b.jpg", ("sea",)),
        Item("c's.jpg", ("New York",)),
        Item("d.jpg", ("New York",)),
    )
    assert [line.where for line in found.refused] == [
        "line 3",
        "line 11",
        "line 12",
        "line 13",
        "line 14",
        "line 15",
    ]
    assert found.refused[0].file == "a.xml"


def test_arff_without_names_of_photos_and_without_its_labels(tmp_path):
    table = "@relation x\n@attribute f numeric\n@attribute sea {0,1}\n@attribute 'New York' {0,1}\n@data\n{}\n{1 1}\n"
    found = read(tmp_path / "a.arff", table)
    assert "a.xml" in found.refused[0].reason
    (tmp_path / "a.xml").write_text(LABELS.format(""))
    found = read_annotations(tmp_path / "a.arff")
    assert found.items == (Item("instance-000001"), Item("instance-000002", ("sea",)))


def test_a_spreadsheet_finds_no_formula_in_a_table(tmp_path):
    """Every cell of ours that a spreadsheet might compute begins with an apostrophe."""
    words = ("=1+1", "+x", "-x", "@x", "'=x", "plain")
    for format in ("csv-long", "csv-wide"):
        path = tmp_path / f"{format}.csv"
        write_annotations(path, [Item("=cmd|' /C calc'!A0.jpg", words), Item("-a.jpg", words)], format)
        with open(path, newline="", encoding="utf-8") as file:
            cells = {cell for row in csv.reader(file) for cell in row}
        assert {"'=1+1", "'+x", "'-x", "'@x", "''=x", "plain"} <= cells
        assert not any(cell.startswith(tuple("=+-@\t\r")) for cell in cells)
        assert [item.words for item in read_annotations(path).items] == [tuple(sorted(words))] * 2
