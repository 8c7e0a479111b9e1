"""Targets: what photos and their sidecars say."""

import collections
import random
from pathlib import Path

from lxml import etree

from fuzz.harness import Target
from fuzz.mutate import mutate_bytes, mutate_xml, tokens
from topicture.collection.identity import picture_id, seen_id
from topicture.collection.metadata.iptc import iptc_keywords
from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.metadata.xmp import BadXmp, parse_xmp
from topicture.collection.sidecar.write import ObjectRegion, Tag, write_sidecar
from topicture.collection.words import clean_word
from topicture.vision.read import Picture, try_read

__all__ = ["targets"]

XML_TOKENS = (*tokens("xml"), b"<a>" * 300)
BLOCK_TOKENS = tokens("blocks")
OURS = (
    Tag("of ours"),
    Tag("leaf", hierarchy=("tree", "leaf")),
    Tag("guess", probability=0.75, by_machine=True),
)
KNOWN = ("w3.org", "purl.org", "lightroom", "digikam", "topicture", "iptc.org", "xap/1.0", "adobe:ns")


def targets(corpus: Path, scratch: Path) -> dict[str, Target]:
    """Name -> target; files are put into the folder `scratch`."""
    packets = seeds(corpus / "xmp")

    def packet(rng: random.Random) -> bytes:
        return (
            mutate_xml(rng.choice(packets), rng)
            if rng.random() < 0.6
            else mutate_bytes(packets, XML_TOKENS, rng)
        )

    def mutator(*kinds: str, pieces: tuple[bytes, ...]):
        mine = [seed for kind in kinds for seed in seeds(corpus / kind)]
        return lambda rng: mutate_bytes(mine, pieces, rng)

    photo = scratch / "photo.jpg"

    def keywords(content: bytes) -> None:
        photo.write_bytes(content)
        check_words(photo_keywords(photo))
        assert len(picture_id(photo)) == 32
        assert seen_id(photo) == seen_id(content)

    def sidecar(content: bytes) -> None:
        photo.write_bytes(b"")
        (scratch / "photo.jpg.xmp").write_bytes(content)
        check_words(photo_keywords(photo))

    def merge(content: bytes) -> None:
        photo.write_bytes(b"")
        path = scratch / "photo.jpg.xmp"
        path.write_bytes(content)
        check_merge(photo, path, content)

    def picture(content: bytes) -> None:
        outcome = try_read(content, 64)
        assert isinstance(outcome, Picture) or "\n" not in str(outcome)

    return {
        "xmp": Target(packet, parse_xmp, (BadXmp,)),
        "sidecar": Target(packet, sidecar),
        "merge": Target(packet, merge),
        "iptc": Target(mutator("iptc", pieces=BLOCK_TOKENS), check_iptc),
        **{
            kind: Target(mutator(kind, pieces=BLOCK_TOKENS + XML_TOKENS), keywords)
            for kind in ("jpeg", "png", "tiff", "webp", "gif", "avif")
        },
        "picture": Target(
            mutator("jpeg", "png", "tiff", "webp", "gif", "avif", pieces=BLOCK_TOKENS), picture
        ),
    }


def seeds(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def check_words(keywords) -> None:
    assert all(clean_word(word) == word for word in keywords.words + keywords.by_machine)
    assert all("\n" not in line for line in keywords.refused)


def check_iptc(content: bytes) -> None:
    words, problems = iptc_keywords(content)
    assert all(isinstance(word, str) for word in words)
    assert all(isinstance(line, str) for line in problems)


def check_merge(photo: Path, path: Path, content: bytes) -> None:
    """What others wrote stays, ours is there, the second time nothing changes; or all stays as it was."""
    before = photo_keywords(photo)
    region = ObjectRegion("of ours", 0.1, 0.2, 0.3, 0.4)
    try:
        write_sidecar(photo, add=OURS, regions=[region])
    except Exception:
        assert path.read_bytes() == content
        raise
    merged = path.read_bytes()
    assert {"of ours", "leaf"} <= set(photo_keywords(photo).words)
    assert not write_sidecar(photo, add=OURS, regions=[region]).changed
    assert path.read_bytes() == merged
    if b"topicture" in content.replace(b"\0", b""):
        return  # a record of ours that is not true may say that a word of others is ours
    assert set(before.words) <= set(photo_keywords(photo).words)
    assert not foreign(content) - foreign(merged)
    write_sidecar(photo, remove=[tag.word for tag in OURS])
    assert set(before.words) <= set(photo_keywords(photo).words)
    assert not foreign(content) - (foreign(path.read_bytes()) if path.exists() else collections.Counter())


def foreign(content: bytes) -> collections.Counter:
    """Elements and attributes in name spaces that we never write, with their text."""
    found: collections.Counter = collections.Counter()
    for element in parse_xmp(content).iter(etree.Element):
        if not any(name in element.tag for name in KNOWN):
            found[element.tag, (element.text or "").strip()] += 1
        found.update(item for item in element.attrib.items() if not any(name in item[0] for name in KNOWN))
    return found
