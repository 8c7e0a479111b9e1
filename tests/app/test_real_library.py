"""A library of 300 photos in every format and every style of keywords, as exiftool writes them.

Every keyword is read; after `write`, exiftool reads what it read before, plus our words in their places in the tree;
what other programs wrote stands byte for byte; the photos themselves are untouched; and all can be taken back.
"""

import hashlib
import io
import json
import shutil
import subprocess
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from photo_folder import RECIPE
from PIL import Image

from topicture.app.verbs.library import Library
from topicture.collection.kinds import reads_raw

EXIFTOOL = shutil.which("exiftool")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        EXIFTOOL is None, reason="exiftool, which makes the library and judges it, is not installed"
    ),
]

HEIC = Path(__file__).parents[1] / "vision" / "data" / "upright.heic"
FORMATS = ("jpg", "png", "webp", "tif", "gif", "avif", "heic", "dng", "bmp")
WITHOUT_XMP = ("bmp",)
WITH_IPTC = ("jpg", "tif")
N = 300

# The tree of this library, and words without a place.
TREE = {
    "tiger": ("Animals", "Cats", "tiger"),
    "lynx": ("Animals", "Cats", "lynx"),
    "heron": ("Animals", "heron"),
    "Zürich": ("Places", "Europe", "Zürich"),
    "東京": ("Places", "東京"),
    "person": ("People", "person"),
}
PLAIN = ("café", "night sky", "b&w")
OURS = {"sunset": ("sunset",), "lion": ("Animals", "Cats", "lion")}
FOREIGN = b"""<crs:History xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/" note='it&apos;s "odd"'   ><rdf:Seq>
   <rdf:li>one  <!-- a comment --> two</rdf:li></rdf:Seq></crs:History>"""


def joined(words, separator):
    return [separator.join(TREE.get(word, (word,))) for word in words]


STYLES = {
    "dc:subject": lambda words: [f"-XMP-dc:Subject={word}" for word in words],
    "Lightroom": lambda words: [
        *(f"-XMP-lr:HierarchicalSubject={path}" for path in joined(words, "|")),
        *(f"-XMP-dc:Subject={word}" for word in words),
    ],
    "Lightroom, tree alone": lambda words: [
        f"-XMP-lr:HierarchicalSubject={path}" for path in joined(words, "|")
    ],
    "digiKam": lambda words: [f"-XMP-digiKam:TagsList={path}" for path in joined(words, "/")],
    "Windows": lambda words: [f"-XMP-microsoft:LastKeywordXMP={path}" for path in joined(words, "/")],
    "people": lambda words: [
        *(f"-XMP-dc:Subject={word}" for word in words),
        "-RegionInfo={AppliedToDimensions={W=40,H=30,Unit=pixel},RegionList=[{Area={X=0.5,Y=0.5,W=0.2,H=0.2,"
        "Unit=normalized},Name=Ada Lovelace,Type=Face}]}",
        "-XMP-MP:RegionInfoMP={Regions=[{PersonDisplayName=Grace Hopper,Rectangle=0.1\\, 0.1\\, 0.2\\, 0.2}]}",
        "-XMP-iptcExt:PersonInImage=Emmy Noether",
    ],
    "everything": lambda words: [
        *(f"-XMP-dc:Subject={word}" for word in words),
        *(f"-XMP-lr:HierarchicalSubject={path}" for path in joined(words, "|")),
        *(f"-XMP-digiKam:TagsList={path}" for path in joined(words, "/")),
        *(f"-XMP-microsoft:LastKeywordXMP={path}" for path in joined(words, "/")),
        *(
            "-XMP-xmp:Rating=4",
            "-XMP-dc:Title=A title",
            "-XMP-dc:Description=Said of it",
            "-XMP-xmp:Label=Red",
        ),
    ],
    "IPTC, UTF-8": lambda words: ["-CodedCharacterSet=UTF8", *(f"-IPTC:Keywords={word}" for word in words)],
    "IPTC, Latin": lambda words: [
        "-charset",
        "iptc=Latin",
        *(f"-IPTC:Keywords={word}" for word in words if word.isascii() or "東" not in word),
    ],
}
PEOPLE = {"Ada Lovelace", "Grace Hopper", "Emmy Noether"}


def picture(kind, number):
    """A file of a format, of a picture that no other file has."""
    rng = np.random.default_rng(number)
    pixels = rng.integers(0, 256, (30, 40, 3), np.uint8)
    if (
        kind == "heic"
    ):  # cannot be made here: bytes behind the boxes are no part of the picture, but of the file
        free = b"\0\0\0\x0cfree" + number.to_bytes(4, "big")
        return HEIC.read_bytes() + free
    stream = io.BytesIO()
    if kind == "dng":
        tifffile = pytest.importorskip("tifffile")
        tags = [
            (50706, 1, 4, bytes([1, 4, 0, 0]), True),
            (271, 2, 0, "Maker", True),
            (272, 2, 0, "Camera", True),
        ]
        sensor = [(33421, 3, 2, (2, 2), True), (33422, 1, 4, bytes([0, 1, 1, 2]), True)]
        with tifffile.TiffWriter(stream) as file:
            file.write(pixels, photometric="rgb", subfiletype=1, subifds=1, extratags=tags)
            file.write(pixels[..., 0].astype(np.uint16), photometric=32803, planarconfig=1, extratags=sensor)
        return stream.getvalue()
    names = {"jpg": "JPEG", "tif": "TIFF"}
    Image.fromarray(pixels).save(stream, names.get(kind, kind.upper()))
    return stream.getvalue()


def exiftool(*groups):
    """Run exiftool once for many groups of arguments."""
    lines = "\n-execute\n".join("\n".join(group) for group in groups)
    done = subprocess.run(
        [EXIFTOOL, "-@", "-", "-common_args", "-charset", "utf8", "-charset", "filename=utf8", "-q"],
        input=lines.encode(),
        capture_output=True,
        timeout=600,
    )
    assert not [line for line in done.stderr.decode().splitlines() if line.startswith("Error")], done.stderr
    return done.stdout


def described(paths):
    """What exiftool reads of files, but for what depends on the file system; by path."""
    out = subprocess.run(
        [EXIFTOOL, "-j", "-struct", "-G1", "-a", "-XMP:all", "-@", "-"],
        input="\n".join(map(str, paths)).encode(),
        capture_output=True,
        timeout=600,
    ).stdout
    return {Path(found.pop("SourceFile")): found for found in json.loads(out or b"[]")}


class Made:
    """A photo of the library: where it lies, what it says, and its sidecar, if another program made one."""

    def __init__(self, root, number, kind, style, words, beside):
        self.path = root / style.replace(":", " ") / f"{number:03d}.{kind}"
        self.words = set(words) | (PEOPLE if style == "people" else set())
        self.style, self.beside = style, None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(picture(kind, number))
        if beside:
            own = number % 2  # the name with and without the photo's suffix
            self.beside = (
                self.path.with_name(self.path.name + ".xmp") if own else self.path.with_suffix(".xmp")
            )
        self.said = STYLES[style](words)

    def arguments(self):
        target = self.path if self.beside is None else self.beside
        return ["-overwrite_original", *self.said, str(target)]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("library")
    words = cycle([*TREE, *PLAIN])
    cases = []
    kinds = [kind for kind in FORMATS if kind != "dng" or reads_raw()]
    for style in STYLES:
        for kind in kinds:
            if style.startswith("IPTC") and kind not in WITH_IPTC:
                continue
            cases += [(kind, style, True)] * (not style.startswith("IPTC"))
            cases += [(kind, style, False)] * (kind not in WITHOUT_XMP)
    made = []
    for number, (kind, style, beside) in zip(range(N), cycle(cases), strict=False):
        said = {next(words) for _ in range(1 + number % 3)}
        said = {word for word in said if style != "IPTC, Latin" or word != "東京"} or {"café"}
        made.append(Made(root, number, kind, style, sorted(said), beside))
    exiftool(*(photo.arguments() for photo in made))
    for photo in made:
        if photo.beside is not None and photo.style == "everything":
            content = photo.beside.read_bytes()
            photo.beside.write_bytes(
                content.replace(b"</rdf:Description>", FOREIGN + b"</rdf:Description>", 1)
            )
    return root, made


@pytest.fixture(scope="module")
def library(photos):
    library = Library.create(photos[0], recipe=RECIPE)
    report = library.scan()
    assert report.skipped == ()
    assert report.files == N
    return library


def hashes(made):
    return {photo.path: hashlib.sha256(photo.path.read_bytes()).digest() for photo in made}


def test_every_keyword_is_read(library, photos):
    root, made = photos
    assert {photo.path.suffix for photo in made} >= {f".{kind}" for kind in FORMATS if kind != "dng"}
    with library.reading() as catalog:
        for photo in made:
            image = catalog.files.at(str(photo.path.relative_to(root))).image
            found = {tag.word for tag in catalog.decisions.tags_of(image)}
            assert found == photo.words, (photo.style, photo.path)
        paths = catalog.tree.paths()
    assert {word: paths[word] for word in TREE} == TREE
    assert not paths.keys() & set(PLAIN)


def test_trees_and_foreign_fields_stand_after_write_and_it_can_be_taken_back(library, photos):
    _, made = photos
    originals = hashes(made)
    before = described([photo.beside or photo.path for photo in made])
    contents = {photo.beside: photo.beside.read_bytes() for photo in made if photo.beside}
    with library.writing("tags") as catalog:
        catalog.words.set_parent("lion", "Cats")
    for photo in made:
        library.decide(photo.path, OURS, "present")
    report = library.write(regions=False)
    assert (report.written, report.pending) == (N, ())
    assert hashes(made) == originals
    sidecars = {photo.path: photo.beside or photo.path.with_name(photo.path.name + ".xmp") for photo in made}
    after = described(sidecars.values())
    for photo in made:
        check(photo, before[photo.beside or photo.path], after[sidecars[photo.path]])
        if photo.beside is not None and photo.style == "everything":
            assert FOREIGN in photo.beside.read_bytes()
    assert library.scan().decisions == 0  # our own words are no news
    assert library.write().files == 0

    for photo in made:
        library.decide(photo.path, OURS, "cleared")
    assert library.write(regions=False).pending == ()
    restored = described(contents)
    for photo in made:
        if photo.beside is None:
            assert not sidecars[photo.path].exists(), photo.path
        else:
            assert without_toolkit(restored[photo.beside]) == without_toolkit(before[photo.beside])
    assert hashes(made) == originals


LISTS = {"XMP-dc:Subject": None, "XMP-lr:HierarchicalSubject": "|", "XMP-digiKam:TagsList": "/"}
WINDOWS = "XMP-microsoft:LastKeywordXMP"


def check(photo, before, after):
    """What stood there stands, our words came, and no word has a second place."""
    where = (photo.style, photo.path)
    if photo.beside is not None:
        theirs = {
            name: value for name, value in without_toolkit(before).items() if name not in (*LISTS, WINDOWS)
        }
        assert {name: after.get(name) for name in theirs} == theirs, where
    used = (
        {WINDOWS: "/"} if photo.beside is not None and WINDOWS in before else {}
    )  # written where it is in use
    assert (WINDOWS in after) == bool(used), where
    for name, separator in {**LISTS, **used}.items():
        old, new = listed(before, name), listed(after, name)
        assert old == [value for value in new if value in old], where
        ours = {path[-1] if separator is None else separator.join(path) for path in OURS.values()}
        assert ours <= set(new), where
        if separator is None:
            assert set(new) >= photo.words - (set() if photo.beside is None else PEOPLE), where
            continue
        for value in set(new) - ours - set(old):  # copies: each where it belongs
            word = value.split(separator)[-1]
            assert value == separator.join(TREE.get(word, (word,))), where


def listed(found, name):
    values = found.get(name, [])
    return [str(value) for value in (values if isinstance(values, list) else [values])]


def without_toolkit(found):
    return {name: value for name, value in found.items() if not name.endswith("XMPToolkit")}
