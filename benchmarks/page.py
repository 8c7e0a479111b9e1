"""The page at 100,000 and 1,000,000 photos: how long the server takes for each thing that a page asks, and its memory.

    python -m benchmarks page          20,000 photos
    python -m benchmarks --full page   100,000 and 1,000,000

Catalogs are made by SQL through the store's own schema: 500 words of uneven frequency, a third of the photos with three
tags, the others with four suggestions each, sizes and dates for all, a search index of 100 words. `first ms` is a first
call in a new process, `ms` the median of the next ones, both with JSON made (`cpu ms` are the ones to compare on a busy
machine); `memory` the peak of a process that did nothing else.
"""

import gzip
import json
import multiprocessing
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from topicture.corpus import Vocabulary
from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.shards import write_shards

N_WORDS, N_INDEXED = 500, 100
N_CALLS = 7
LONG_MS = 5e3  # what takes so long together is not asked again
N_DESCRIPTOR = 1280  # numbers per photo that Teach learns from
MOST_TAUGHT = 100_000
TARGETS = {"photos, first page": 100.0, "review, next page": 50.0, "teach, ranking": 1000.0}
MOST_MB, MOST_JAVASCRIPT_KB = 1024.0, 60.0


def run(quick: bool = True) -> list[dict]:
    rows = []
    for n in (20_000,) if quick else (100_000, 1_000_000):
        with tempfile.TemporaryDirectory(prefix="topicture-bench-") as folder:
            start = time.perf_counter()
            root = Path(folder) / "photos"
            root.mkdir()
            make_catalog(root, n)
            print(f"{n} photos: catalog made in {time.perf_counter() - start:.0f} s", file=sys.stderr)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                rows += pool.apply(_measure_all, (root, n))
    return [*rows, {"what": "JavaScript, gzip kB", "value": _javascript_kb(), "target": MOST_JAVASCRIPT_KB}]


# --- Catalogs -----------------------------------------------------------------------------------------------------


def make_catalog(root: Path, n: int, n_words: int = N_WORDS) -> Path:
    """A catalog of n photos that do not exist, as scan, learn, annotate and review would leave it; its folder."""
    with Catalog.create(root, settings={"scanned": 1.6e9, "recipe": {}}) as catalog:
        database = catalog.database
        database.execute("PRAGMA synchronous = OFF")
        with database.transaction():
            for statement in _STATEMENTS:
                database.execute(statement, {"n": n, "words": n_words} if ":" in statement else ())
        _sizes(catalog)
        _index(catalog, n)
        return catalog.folder


_SERIES = "WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < :n) "
# Pseudo-random numbers that SQLite can make by itself: multiples of large primes.
_COMMON = (
    "(1 + (:words - 1) * ((i * 7919 + k * 104729) % 10007) / 10007 "
    "* ((i * 15485863 + k * 32452843) % 1009) / 1009)"
)
_STATEMENTS = (
    _SERIES + "INSERT INTO images SELECT i, randomblob(32), 1.6e9 + i, NULL FROM series",
    _SERIES
    + "INSERT INTO places SELECT CAST(printf('%04d/%02d/photo-%07d.jpg', 1990 + i % 35, i % 12 + 1, i) AS BLOB), i, "
    "4000000 + i % 1000000, (1600000000 + i * 60) * 1000000000, '', NULL FROM series",
    "WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < :words) "
    "INSERT INTO words (id, word) SELECT i, 'word' || i FROM series",
    "INSERT INTO batches VALUES (1, 'file', 1.6e9, NULL)",
    _SERIES + "INSERT INTO decisions (image, word, verdict, source, at, batch) "
    f"SELECT DISTINCT i, CAST({_COMMON} AS INTEGER), 'present', 'file', 1.6e9, 1 FROM series, "
    "(SELECT 0 AS k UNION SELECT 1 UNION SELECT 2) WHERE i % 3 = 0",
    "INSERT INTO tags SELECT image, word, verdict, source, id FROM decisions",
    "INSERT INTO models (folder, name, version, learned, facts, annotated) "
    "VALUES ('0001', 'auto', 1, 1.6e9, '{}', 1.6e9)",
    _SERIES + f"INSERT OR IGNORE INTO suggestions SELECT 1, i, CAST({_COMMON} AS INTEGER), "
    "0.25 + 0.74 * ((i * 49979687 + k * 86028121) % 99991) / 99991.0 FROM series, "
    "(SELECT 3 AS k UNION SELECT 4 UNION SELECT 5 UNION SELECT 6) WHERE i % 3 != 0",
)


def _sizes(catalog: Catalog) -> None:
    """The cache of pictures, as looking at every photo once would leave it."""
    catalog.cache.mkdir(exist_ok=True)
    connection = sqlite3.connect(catalog.cache / "thumbnails.sqlite", isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(
        "CREATE TABLE pictures (content BLOB PRIMARY KEY, width INTEGER, height INTEGER, taken TEXT, reason TEXT) "
        "WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX pictures_by_date ON pictures (taken)")
    connection.execute("ATTACH ? AS catalog", (str(catalog.folder / "catalog.sqlite"),))
    connection.execute(
        "INSERT INTO pictures SELECT content, CASE id % 4 WHEN 0 THEN 3000 ELSE 4000 END, "
        "CASE id % 4 WHEN 0 THEN 4000 ELSE 3000 END, "
        "strftime('%Y-%m-%dT%H:%M:%S', 1000000000 + id * 600, 'unixepoch'), NULL FROM catalog.images ORDER BY content"
    )
    connection.close()


def _index(catalog: Catalog, n: int) -> None:
    rng = np.random.default_rng(0)
    words = Vocabulary([f"word{i}" for i in range(1, N_INDEXED + 1)])
    with catalog.new_folder("index") as (name, folder):
        blocks = (
            rng.random((min(8192, n - start), N_INDEXED), np.float32) ** 8 for start in range(0, n, 8192)
        )
        WordIndex.build(folder, words, [str(i) for i in range(1, n + 1)], blocks)
        np.save(folder / "images.npy", np.arange(1, n + 1, dtype=np.int64))
        if n <= MOST_TAUGHT:
            write_shards(
                folder / "features", rng.standard_normal((n, N_DESCRIPTOR), np.float32).astype(np.float16)
            )
    catalog.set("index", name)


# --- Measuring ----------------------------------------------------------------------------------------------------


def _measure_all(root: Path, n: int) -> list[dict]:
    """Rows of one catalog, measured in a process of its own."""
    from topicture.app.verbs.library import Library
    from topicture.app.verbs.plain import as_plain
    from topicture.app.web.answers import Question
    from topicture.app.web.routes import photos, search
    from topicture.app.web.site import Site

    library = Library.find(catalog=root)
    site = Site(None, library)

    def asked(
        handler: Callable, path: dict | None = None, body: dict | None = None, **query: Any
    ) -> Callable[[], Any]:
        question = Question(
            path or {}, {name.rstrip("_"): str(value) for name, value in query.items()}, body or {}
        )
        return lambda: json.dumps(as_plain(handler(site, question)))

    questions = {
        "photos, first page": asked(photos.photos),
        "photos, in the middle": asked(photos.photos, offset=n // 2),
        "photos, last page": asked(photos.photos, offset=n - 100),
        "photos, by path": asked(photos.photos, order="path", offset=n // 2),
        "photos, by date, last first": asked(photos.photos, order="taken", descending=1),
        "photos, of a word": asked(photos.photos, word="word1"),
        "photos, of a folder": asked(photos.photos, folder="2001/05"),
        "photos, of a year": asked(photos.photos, from_="2004-01-01", to="2004-12-31"),
        "photos, untagged": asked(photos.photos, tagged="no", offset=n // 3),
        "photos, suggested": asked(photos.photos, suggested="yes", offset=n // 3),
        "folders": asked(photos.folders),
        "one photo": asked(photos.one_photo, {"id": n // 2}),
        "complete": asked(photos.complete, q="word1"),
        "search": asked(search.search, q="word7 word11 -word3"),
        "search, further down": asked(search.search, q="word7 word11 -word3", offset=500),
        **_of_others(asked, n),
        "counts": asked(photos.counts),
        "status": lambda: json.dumps(as_plain(library.status())),
    }
    rows = [_timed(what, ask, n) for what, ask in questions.items()]
    untagged = asked(photos.photos, tagged="no")
    rows.append(_timed("photos, untagged, after a decision", untagged, n, _decisions(library)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [*rows, {"photos": n, "what": "memory, MB", "value": peak, "target": MOST_MB}]


def _timed(what: str, ask: Callable[[], Any], n: int, before: Callable[[], Any] = lambda: None) -> dict:
    """Milliseconds of the first call and of later ones, by the clock and of the processor."""
    wall, cpu = [], []
    for _ in range(1 + N_CALLS):
        before()
        start, cpu_start = time.perf_counter(), time.process_time()
        ask()
        wall.append(1e3 * (time.perf_counter() - start))
        cpu.append(1e3 * (time.process_time() - cpu_start))
        if len(wall) > 1 and sum(wall) > LONG_MS:
            break
    times = {"first ms": wall[0], "first cpu ms": cpu[0], "ms": median(wall[1:]), "cpu ms": median(cpu[1:])}
    return {"photos": n, "what": what, **times, "target": TARGETS.get(what)}


def _of_others(asked: Callable, n: int) -> dict[str, Callable]:
    """What Review and Teach ask, where the page has them."""
    from topicture.app.web.routes import review, teach

    found = {}
    if hasattr(review, "review_tag"):
        found["review, next page"] = asked(review.review_tag, word="word3", limit=48)
        found["review, questions"] = asked(review.review_questions, order="uncertain", limit=30)
        found["review, overview"] = asked(review.review)
    if hasattr(teach, "teach") and n <= MOST_TAUGHT:
        clicks = {"word": "new", "yes": [3, 5, 8, 13, 21], "no": [4, 9], "limit": 48}
        found["teach, ranking"] = asked(teach.teach, body=clicks)
    return found


def _decisions(library: Any) -> Callable[[], Any]:
    """One decision at a time, each on another word."""
    words = (f"word{i % N_WORDS + 1}" for i in count())
    return lambda: library.decide(1, [next(words)], "present")


def _javascript_kb() -> float:
    from topicture.app.web import application

    files = sorted(application.STATIC.rglob("*.js"))
    return sum(len(gzip.compress(path.read_bytes())) for path in files) / 1024


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for row in run(quick="--full" not in sys.argv):
        print(row)
