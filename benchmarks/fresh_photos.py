"""Fifty new photos in a large collection: what `scan` and `annotate` cost, with features to compute and without.

    python -m benchmarks fresh_photos          20,000 photos
    python -m benchmarks --full fresh_photos   100,000 photos

The collection is a small rendered one with a model of its own (`knn`, all default views), and as many files more as are
wanted, empty ones of the size and time that the catalog says, with random answers in the index. `all` is `annotate`
without what is kept of the last time; it is measured on the small collection and multiplied by the number of photos,
since most of these files hold no picture. CPU seconds of this process and its workers, so that a busy machine tells the
same; `s` is the clock's.
"""

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from topicture.app.learning.annotated.up_to_date import note_annotated, settings_of, this_moment
from topicture.app.learning.learning import look_at
from topicture.app.learning.model_folder import load_learned
from topicture.app.progress import silent
from topicture.app.verbs.library import Library
from topicture.demo.scenes import write_collection
from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.shards import write_shards

N_REAL, N_NEW = 120, 50
MOST_SECONDS = {"features to compute": 20.0, "features known": 5.0}


def run(quick: bool = True) -> list[dict]:
    n = 20_000 if quick else 100_000
    with tempfile.TemporaryDirectory(prefix="topicture-bench-") as folder:
        parent = Path(folder)
        root = parent / "photos"
        write_collection(root, N_REAL, seed=0)
        new = write_collection(parent / "new", 2 * N_NEW, seed=1, keywords=False)
        library = Library.create(root)
        library.scan()
        library.learn("knn", regions=False, workers=2)
        whole = _cost(lambda: library.annotate(workers=2))
        _enlarge(library, n)
        library.scan()
        rows = []
        for title, some in (("features to compute", new[:N_NEW]), ("features known", new[N_NEW : 2 * N_NEW])):
            (root / title).mkdir()
            for path in some:
                shutil.copy(path, root / title / path.name)
            known = title == "features known"
            if known:
                library.scan()
                _look(library)
            scan = _cost(library.scan)  # once features are known nothing is new to it, but it has to look
            annotate = _cost(lambda: library.annotate(workers=2))
            with Catalog.open(library.folder) as catalog:
                assert len(catalog.index_images()) == n + N_REAL + (2 if known else 1) * N_NEW
            rows.append(
                {
                    "photos": n,
                    "new": f"{N_NEW}, {title}",
                    "scan cpu s": scan[0],
                    "annotate cpu s": annotate[0],
                    "cpu s": scan[0] + annotate[0],
                    "s": scan[1] + annotate[1],
                    "at most": MOST_SECONDS[title],
                    "all, cpu s": whole[0] / N_REAL * n,
                }
            )
        return rows


def _cost(work: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds, of children as well, and those of the clock."""
    before, start = _cpu(), time.perf_counter()
    work()
    return _cpu() - before, time.perf_counter() - start


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _look(library: Library) -> None:
    """Fill the cache of features."""
    with Catalog.open(library.folder) as catalog:
        known = set(catalog.index_images().tolist())
        images = [image for image in catalog.files.living() if image.image not in known]
        learned = load_learned(catalog.model_folder(catalog.suggestions.newest()))
        look_at(catalog, images, learned.features, 2, silent, vocabulary=learned.vocabulary)


def _enlarge(library: Library, n: int) -> None:
    """Many more photos, as scan and annotate would have left them."""
    rng = np.random.default_rng(0)
    with Catalog.open(library.folder, write=True, command="bench") as catalog:
        database = catalog.database
        first = database.execute("SELECT max(id) FROM images").fetchone()[0] + 1
        modified = 1_600_000_000
        names = [f"many/{i % 100:02d}/photo-{i:07d}.jpg" for i in range(n)]
        for folder in {os.path.dirname(name) for name in names}:
            (catalog.root / folder).mkdir(parents=True, exist_ok=True)
        for name in names:
            path = catalog.root / name
            path.touch()
            os.truncate(path, 1000)
            os.utime(path, (modified, modified))
        with database.transaction():
            database.execute_many(
                "INSERT INTO images (id, content, first_seen) VALUES (?, ?, 1.6e9)",
                [(first + i, rng.bytes(32)) for i in range(n)],
            )
            database.execute_many(
                "INSERT INTO places (path, image, size, modified) VALUES (CAST(? AS BLOB), ?, 1000, ?)",
                [(name, first + i, modified * 10**9) for i, name in enumerate(names)],
            )
        index, old = WordIndex.open(catalog.index_folder()), catalog.index_images()
        features = catalog.features()
        vocabulary, n_old = index.vocabulary, len(old)
        numbers = np.concatenate([old, np.arange(first, first + n)])
        with catalog.new_folder("index") as (name, folder):
            many = (
                rng.random((min(8192, n - start), len(vocabulary)), np.float32) ** 8
                for start in range(0, n, 8192)
            )
            blocks = (block for part in ([index.probabilities(0, n_old)], many) for block in part)
            WordIndex.build(folder, vocabulary, [str(i) for i in numbers], blocks)
            np.save(folder / "images.npy", numbers)
            if features is not None:
                rows = rng.standard_normal((len(numbers), features.shape[1]), np.float32).astype(np.float16)
                write_shards(folder / "features", rows)
        catalog.set("index", name)
        model = catalog.suggestions.newest()
        word_ids = [catalog.decisions.word_id(word) for word in vocabulary]
        catalog.suggestions.add(
            model.id, [(first + i, word_ids[i % len(word_ids)], 0.5) for i in range(n) if i % 3]
        )
        settings = settings_of(catalog, model, None, None, everything=False, rejected_too=False)
        note_annotated(catalog, settings, this_moment(catalog))
    print(f"{n} photos made", file=sys.stderr)
