"""Writes the seeds of the corpus: small files with every form of metadata and annotation that we read.

    python -m fuzz.make_corpus      (in tests/)

What fuzzing has found lies beside them, in corpus/found, and is kept.
"""

import shutil
import tempfile
from pathlib import Path

from photo_files import UTF8_MARK, bag, description, gif_with, iptc, keywords, photo, subject, xmp

from topicture.collection.formats import Box, Item, write_annotations
from topicture.collection.formats.dispatch import FORMATS
from topicture.collection.sidecar.write import ObjectRegion, Tag, write_sidecar

CORPUS = Path(__file__).parent / "corpus"
RECORD = iptc(UTF8_MARK, *keywords(b"chat", "été".encode(), b"x" * 64), (2, 120, b"caption"))
PACKET = xmp(
    description(
        f"<dc:subject>{bag(['tiger', 'golden gate', 'día'])}</dc:subject>"
        f"<lr:hierarchicalSubject>{bag(['Animals|Cats|tiger'])}</lr:hierarchicalSubject>"
        f"<digiKam:TagsList>{bag(['Animals/Cats/tiger'], 'Seq')}</digiKam:TagsList>",
    ),
    description("", 'dc:subject="attribute" lr:note="foreign"'),
)
ITEMS = [
    Item("a.jpg", ("tiger", "grass"), (Box("tiger", 1, 2, 30, 20),), (40, 30)),
    Item("trip/b c.jpg", ("golden gate",), (), (40, 30)),
    Item("d.jpg", (), (), None),
]


def main() -> None:
    for folder in CORPUS.glob("*"):
        if folder.name != "found":
            shutil.rmtree(folder)
    with tempfile.TemporaryDirectory() as scratch:
        _photos(Path(scratch))
        _sidecars(Path(scratch))
        _annotations(Path(scratch))


def put(kind: str, name: str, content: bytes) -> None:
    (CORPUS / kind).mkdir(parents=True, exist_ok=True)
    (CORPUS / kind / name).write_bytes(content)


def _photos(scratch: Path) -> None:
    for kind, suffix in (("jpeg", ".jpg"), ("png", ".png"), ("tiff", ".tif"), ("webp", ".webp")):
        record = RECORD if kind in ("jpeg", "tiff") else None
        put(kind, "both", photo(scratch / f"p{suffix}", PACKET, record).read_bytes())
        put(kind, "plain", photo(scratch / f"q{suffix}").read_bytes())
    put("avif", "both", photo(scratch / "p.avif", PACKET).read_bytes())
    put("gif", "both", gif_with(PACKET))
    put("iptc", "utf8", RECORD)
    put("iptc", "latin", iptc(*keywords("é".encode("cp1252"), b"long " * 20)))


def _sidecars(scratch: Path) -> None:
    put("xmp", "lists", PACKET)
    put("xmp", "subject", subject("one", "two"))
    picture = photo(scratch / "s.jpg", PACKET)
    tags = [Tag("of ours"), Tag("leaf", hierarchy=("tree", "leaf")), Tag("guess", True, 0.5)]
    write_sidecar(picture, add=tags, regions=[ObjectRegion("leaf", 0.1, 0.1, 0.5, 0.5, probability=0.5)])
    put("xmp", "ours", (scratch / "s.jpg.xmp").read_bytes())


def _annotations(scratch: Path) -> None:
    for format in FORMATS:
        path = scratch / f"{format}.{format.partition('-')[0]}"
        write_annotations(path, ITEMS, format)
        if path.is_dir():
            for number, file in enumerate(sorted(p for p in path.rglob("*") if p.is_file())):
                put(format, str(number), file.read_bytes())
        else:
            put(format, "file", path.read_bytes())
        if (labels := path.with_suffix(".xml")).exists():
            put(format, "labels", labels.read_bytes())


if __name__ == "__main__":
    main()
