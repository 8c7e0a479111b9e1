"""`learn` as people wait for it: all members on all folds as before, the race, and again after 200 decisions.

    python -m benchmarks learning          rendered photos
    TOPICTURE_DATA=FOLDER python -m benchmarks --full learning   2,500 photos of Corel-5k, a quarter of them tagged

Each line is a process of its own: CPU seconds after the photos were looked at, peak memory, mean average precision on
hidden tags with its standard error over the folds, and on the photos whose tags the model never saw. `again` learns
from the same, with trials that were kept; `after 200 decisions` from 200 tags more (of rendered photos 48), going on
from the race; `the same with trials` tries what helped before on hidden tags once more, as `learn` does where more has
changed.
Set OMP_NUM_THREADS=1 where others use the machine.
"""

import csv
import multiprocessing
import resource
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from posixpath import dirname as folder_of
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse

from topicture.annotations.choice.learning import learn_auto
from topicture.annotations.measures.metrics import summary
from topicture.app.learning.recipes import DEFAULT_RECIPE
from topicture.corpus import Corpus
from topicture.corpus.archives import data_folder
from topicture.demo.scenes import write_collection
from topicture.models.blends.again import Again
from topicture.models.blends.auto import Auto
from topicture.models.blends.hidden_answers import known_of, read_known, write_known
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.blends.members import FormerRow
from topicture.models.look_alikes import look_alikes
from topicture.vision.pipeline import Photo, describe

N_PHOTOS, N_RENDERED, SHARE = 2500, 600, 0.25
N_DECISIONS = 200
FEWEST = 3  # photos that must have a word
WITH_TRIALS = "the same with trials"


def run(quick: bool = True) -> list[dict]:
    with tempfile.TemporaryDirectory(prefix="topicture-bench-") as folder:
        parent = Path(folder)
        words = _rendered(parent) if quick else _corel(parent)
        made = _described(parent / "photos", words)
        made.save(parent / "corpus")
        rows: list[dict] = []
        n_decisions = N_DECISIONS * N_RENDERED // N_PHOTOS if quick else N_DECISIONS
        for title in ("before", "race", "again", f"after {n_decisions} decisions", WITH_TRIALS):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                row = pool.apply(_measure, (title, parent, n_decisions))
            rows.append({**row, "of before": row["cpu s"] / rows[0]["cpu s"] if rows else 1.0})
        return rows


def _measure(title: str, parent: Path, n_decisions: int = N_DECISIONS) -> dict:
    everything = Corpus.load(parent / "corpus")
    tagged = np.random.default_rng(0).permutation(len(everything)) < SHARE * len(everything)
    corpus = everything.without_captions(~tagged)
    kept = KeptTrials(None if title == "before" else parent / "trials")
    former, again = None, None
    if title not in ("before", "race", "again"):
        corpus = _more_tags(everything, tagged, n_decisions)
        raced = Auto.load(parent / "race.safetensors")
        former = [FormerRow(row.member, row.settings, row.weight, row.note) for row in raced.report_]
        if title != WITH_TRIALS:
            again = Again(raced.used(), read_known(parent / "known.safetensors"))
    groups = look_alikes(corpus, [folder_of(name) for name in corpus.image_ids])
    fewest = 10**9 if title == "before" else 60  # captions from which on members are dropped
    start = time.process_time()
    with patch("topicture.models.blends.trials._FEWEST_JUDGES", fewest):
        learned = learn_auto(corpus, groups=groups, budget_seconds=1e6, kept=kept, former=former, again=again)
    seconds = time.process_time() - start
    if title == "race":
        known = known_of(corpus, learned.annotator.hidden_, None, None)
        assert known is not None
        write_known(parent / "known.safetensors", known)
        learned.annotator.save(parent / "race.safetensors")
    unseen = everything[~corpus.tagged]
    answers = summary(learned.annotator.annotate(unseen.without_captions()), unseen.captions)
    return {
        "learn": title,
        "photos": len(corpus),
        "tagged": int(corpus.tagged.sum()),
        "cpu s": seconds,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "went on": learned.annotator.went_on_,
        "members": sum(member.weight > 0 for member in learned.members),
        "map": learned.trial.mean,
        "± map": learned.trial.standard_error,
        "map, unseen": answers.mean_average_precision,
    }


def _more_tags(everything: Corpus, tagged: np.ndarray, n_decisions: int) -> Corpus:
    """Tags of some more photos."""
    others = np.flatnonzero(~tagged & everything.tagged)
    enough = np.cumsum(everything.captions[others].sum(axis=1)) <= n_decisions
    shown = tagged.copy()
    shown[others[enough]] = True
    return everything.without_captions(~shown)


# --- Photos ---------------------------------------------------------------------------------------------------------


def _described(root: Path, words: dict[str, list[str]]) -> Corpus:
    """All photos with all their words, as far as enough tagged ones have them; identified by their paths."""
    paths = sorted(words)
    photos = [Photo(path, root / path) for path in paths]
    found = describe(photos, DEFAULT_RECIPE, captions=[words[path] for path in paths], workers=2)
    corpus = found.corpus
    tagged = np.random.default_rng(0).permutation(len(corpus)) < SHARE * len(corpus)
    counts = np.asarray((corpus.captions[tagged] > 0).sum(axis=0)).ravel()
    kept = np.flatnonzero(counts >= FEWEST)
    return replace(
        corpus,
        vocabulary=type(corpus.vocabulary)([corpus.vocabulary[w] for w in kept]),
        captions=sparse.csr_array(corpus.captions[:, kept]),
    )


def _rendered(parent: Path) -> dict[str, list[str]]:
    write_collection(parent / "photos", N_RENDERED, seed=0, keywords=False)
    with open(parent / "photos" / "captions.csv", encoding="utf-8", newline="") as table:
        return {row["file"]: row["words"].split(";") for row in csv.DictReader(table) if row["words"]}


def _corel(parent: Path) -> dict[str, list[str]]:
    folder = data_folder() / "corel5k"
    with open(folder / "labels.csv", encoding="utf-8", newline="") as table:
        rows = [row for row in csv.DictReader(table) if row["image"]]
    order = np.random.default_rng(0).permutation(len(rows))[:N_PHOTOS]
    found = {f"{rows[i]['image']}.jpeg": rows[i]["words"].split() for i in order}
    with zipfile.ZipFile(folder / "corel5k_images.zip") as pictures:
        for name, content in _members(pictures, found):
            (parent / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
            (parent / "photos" / name).write_bytes(content)
    return found


def _members(pictures: zipfile.ZipFile, wanted: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    for name in pictures.namelist():
        if name in wanted:
            yield name, pictures.read(name)
