"""Sidecars with many keywords of others: time to add a word, to read all, to take the word back; and `write` of many.

    python -m benchmarks --full sidecars

The first word that is added to a list makes copies of all that are there into the lists it begins, so it is the dearest
step; `us a keyword` stays the same where the work grows with the keywords and no faster. Processor time, since disks
and machines are shared; the wall clock stands beside it.
"""

import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.sidecar.write import Tag, write_sidecar

SIZES = (500, 1_000, 2_000, 4_000, 8_000)
KEYWORDS = 2_000


def run(quick: bool = True) -> list[dict]:
    with tempfile.TemporaryDirectory(prefix="topicture-bench-") as folder:
        rows = [row for n in SIZES for row in _one_sidecar(Path(folder), n)]
        return rows + _write(Path(folder) / "photos", 100 if quick else 1_000)


def _one_sidecar(folder: Path, n: int) -> list[dict]:
    photo = folder / f"{n}.jpg"
    photo.write_bytes(_jpeg(0))
    (folder / f"{n}.jpg.xmp").write_bytes(_foreign(n))
    steps: dict[str, Callable[[], object]] = {
        "add the first word": lambda: write_sidecar(photo, add=[Tag("ours")]),
        "add another": lambda: write_sidecar(photo, add=[Tag("more")]),
        "read": lambda: photo_keywords(photo),
        "take both back": lambda: write_sidecar(photo, remove=["ours", "more"]),
    }
    return [_measure(name, step, 1, n) for name, step in steps.items()]


def _write(root: Path, photos: int) -> list[dict]:
    """`write` of a word for every photo, each of which has a sidecar of another program."""
    root.mkdir()
    for number in range(photos):
        (root / f"{number:04d}.jpg").write_bytes(_jpeg(number))
    library = Library.create(root, recipe={"views": ["colour-layout"]})
    library.scan()
    for number in range(photos):
        library.decide(root / f"{number:04d}.jpg", ["ours"], "present")
        (root / f"{number:04d}.jpg.xmp").write_bytes(_foreign(KEYWORDS))
    row = _measure("write", library.write, photos, KEYWORDS)
    assert library.status().pending_writes == 0
    for number in range(0, photos, 50):
        assert len(photo_keywords(root / f"{number:04d}.jpg").words) == KEYWORDS + 1
    return [row]


def _measure(name: str, step: Callable[[], object], sidecars: int, keywords: int) -> dict:
    start, cpu_start = time.perf_counter(), time.process_time()
    step()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return {
        "step": name,
        "sidecars": sidecars,
        "keywords each": keywords,
        "seconds": seconds,
        "cpu s": cpu,
        "ms a sidecar": 1e3 * cpu / sidecars,
        "us a keyword": 1e6 * cpu / sidecars / keywords,
    }


def _jpeg(number: int) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.full((16, 16, 3), 120, np.uint8)).save(stream, "JPEG")
    return stream.getvalue() + b"%d" % number  # behind the picture: another identity, the same pixels


def _foreign(n: int) -> bytes:
    """A sidecar of another program with n keywords."""
    items = "".join(f"<rdf:li>foreign keyword {number}</rdf:li>\n" for number in range(n))
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


if __name__ == "__main__":
    for row in run():
        print(row)
