"""The catalog at 100,000 photos: scan of an unchanged tree, search, status; time and memory.

    python -m benchmarks --full catalog

The tree holds small JPEG files, each another picture; a third of them are tagged, the others have four suggestions
each, and a search index of 300 words covers all. Every verb is measured as a function (`seconds`; `cpu s` are
the ones to compare on a busy machine) and as a command of its own (`command s`, with the start of Python and its
imports), whose peak memory is given: an upper bound, since the system starts its count at the parent's.
"""

import io
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from topicture.app.verbs.library import Library
from topicture.corpus import Vocabulary
from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

N_WORDS = 300
TARGETS = {"scan, unchanged": (10.0, "s"), "search": (0.1, "s"), "status": (1.0, "s")}
LONG_AGO = 1_600_000_000


def run(quick: bool = True) -> list[dict]:
    n = 5_000 if quick else 100_000
    with tempfile.TemporaryDirectory(prefix="topicture-bench-") as folder:
        root = Path(folder) / "photos"
        _make_tree(root, n)
        library = Library.create(root, recipe={"views": ["colour-layout"]})
        rows = [_measure("scan, new", library.scan, n)]
        _populate(library, n)
        verbs = {
            "scan, unchanged": (library.scan, ["scan", "--json"]),
            "search": (
                lambda: library.search("word7 word11 -word3"),
                ["search", "word7 word11 -word3", "--json"],
            ),
            "status": (library.status, ["status", "--json"]),
            "review queue": (
                lambda: library.queue("uncertain", tag="word7"),
                ["review", "--list", "--tag", "word7"],
            ),
        }
        for name, (function, arguments) in verbs.items():
            function()  # the first call pays for imports and a cold page cache
            row = _measure(name, function, n)
            seconds, peak = _command(root, arguments)
            row |= {"target": TARGETS.get(name, (None,))[0], "command s": seconds, "peak MB": peak}
            rows.append(row)
    return rows


def _measure(name: str, function, n: int) -> dict:
    start, cpu_start = time.perf_counter(), time.process_time()
    function()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return {"photos": n, "verb": name, "seconds": seconds, "cpu s": cpu}


def _command(root: Path, arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in MB of a command in a process of its own."""
    code = "from topicture.app.cli.main import main; main()"
    start = time.perf_counter()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", code, *arguments],
        {**os.environ, "TOPICTURE_CATALOG": str(root)},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, _, usage = os.wait4(pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def _make_tree(root: Path, n: int) -> None:
    stream = io.BytesIO()
    Image.fromarray(np.full((16, 16, 3), 120, np.uint8)).save(stream, "JPEG")
    content = stream.getvalue()
    for number in range(n):
        path = root / f"{number // 1000:03d}" / f"photo-{number:06d}.jpg"
        if number % 1000 == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(content + b"%d" % number)  # behind the picture: another identity, the same pixels
        os.utime(path, (LONG_AGO, LONG_AGO))


def _populate(library: Library, n: int) -> None:
    """Tags, suggestions and an index, as `learn`, `annotate` and `review` would leave them."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(N_WORDS)]
    with Catalog.open(library.folder, write=True, command="benchmark") as catalog:
        images = np.array([image.image for image in catalog.files.living()])
        images.sort()
        tagged = images[: n // 3]
        chosen = rng.integers(0, N_WORDS, (len(tagged), 3))
        catalog.decisions.decide(
            (
                Decision(int(i), words[w], "present")
                for i, row in zip(tagged, chosen, strict=True)
                for w in set(row)
            ),
            "file",
        )
        some = images[n // 3 : n // 3 + n // 50]
        catalog.decisions.decide((Decision(int(i), words[7], "present") for i in some), "review")
        with catalog.database.transaction():
            ids = [catalog.decisions.word_id(word) for word in words]
            model = catalog.suggestions.add_model("0001", "lsa", 1, {"tagged": len(tagged)})
        untagged = images[n // 3 :]
        suggested = rng.integers(0, N_WORDS, (len(untagged), 4))
        probability = rng.random((len(untagged), 4))
        catalog.suggestions.replace(
            model,
            {
                (int(i), ids[w]): (int(i), ids[w], float(p))
                for i, ws, ps in zip(untagged, suggested, probability, strict=True)
                for w, p in zip(ws, ps, strict=True)
            }.values(),
        )
        with catalog.new_folder("index") as (name, folder):
            blocks = (rng.random((min(4096, n - start), N_WORDS)) ** 8 for start in range(0, n, 4096))
            WordIndex.build(folder, Vocabulary(words), [str(i) for i in images], blocks)
            np.save(folder / "images.npy", np.asarray(images, np.int64))
        catalog.set("index", name)


if __name__ == "__main__":
    for row in run(quick="--full" not in sys.argv):
        print(row)
