"""The table of Liu & Tang 2005 on real data, in one report.

    python -m topicture_experiments.liu2005.report --data DIR --out docs/results

Two kinds of data. *colour*: the paper's colour histograms, from the pixels of Corel-5k; the official division, and
three random divisions of its training images. *blobs*: which blobs occur in the images of the Corel subsets 1 to 7. Two
settings: *published* (Z = 3 neighbours, a map of 2 dimensions) and *validated* (chosen on held-out tagged images). What
the paper leaves open (weight of the words, ridges of the map) is chosen on held-out tagged images in both; no choice
looks at the images that are measured. What was measured is kept beside the report as liu2005.json; a run goes on where
another stopped, unless --redo is given.

The quick form has two parts of each kind of data, and K = 20 and 60.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicture.annotations.measures.protocols import Part, random_splits
from topicture.corpus.datasets import corel5k, corel16k
from topicture.errors import TopictureError
from topicture_experiments.descriptors.images import COREL, described, image_rows
from topicture_experiments.liu2005.models import Setting, measure_baselines, measure_reach, measure_spaces
from topicture_experiments.liu2005.page import tables, write_figure, write_page
from topicture_experiments.shared.running import Evidence, Options, Tell, command, spread

__all__ = ["DATA", "SETTINGS", "Task", "main", "measure", "run", "tasks"]

SUBSETS = range(1, 8)
SPLITS, TAGGED_SHARE = range(3), 0.8
DATA = {
    "colour": ("official", *(f"split {seed}" for seed in SPLITS)),
    "blobs": tuple(f"subset {number}" for number in SUBSETS),
}
VIEWS = {"colour": "descriptor", "blobs": "visual_words"}
OPEN: dict[str, Any] = {"ridge_images": "auto", "ridge_words": "auto"}
SETTINGS = {
    "published": Setting(word_weight="auto", iwe={"n_dims": 2, "n_init": 3, **OPEN}),
    # Centred coordinates did better than the printed ones on held-out tagged images of all three parts tried.
    "validated": Setting(
        n_neighbours="auto",
        word_weight="auto",
        nlsa={"centre": True},
        iwe={"n_dims": "auto", "n_init": 1, **OPEN},
    ),
}
BASELINES, REACH = "baselines", "reach"
REACH_NEIGHBOURS = (3, 100)
ORDER = (60, 20, 100, 40, 80)  # the columns that say most come first
# PLSA counts occurrences: a dominant colour counts once for every tenth of its part of the picture, begun or whole.
TENTHS = 10
HISTOGRAMS = "corel5k-colour-layout.npz"


class Task(NamedTuple):
    """One cell of the tables, or of the rows that all settings share."""

    data: str
    part: str
    setting: str
    n_components: int

    @property
    def key(self) -> str:
        return "/".join(map(str, self))


def tasks(quick: bool = False) -> list[Task]:
    """All cells, column by column: what a stopped run has measured makes whole columns."""
    n_parts = 2 if quick else None
    reach = [Task(data, parts[0], REACH, ORDER[0]) for data, parts in DATA.items()]
    return reach + [
        Task(data, part, setting, K)
        for K in ORDER[: 2 if quick else None]
        for setting in (BASELINES, *SETTINGS)
        for data, parts in DATA.items()
        for part in parts[:n_parts]
    ]


# --- Data -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def find_part(kind: str, name: str, data: str | None, cache: str | None) -> Part:
    """A division of the data by its name."""
    if kind == "blobs":
        corel = corel16k(int(name.removeprefix("subset ")), data)
        return Part(name, corel.train, corel.test)
    pictures = corel5k("evaluation", data)
    histograms = _histograms(data, cache)
    train, test = (
        replace(part, descriptor=rows, visual_words=sparse.csr_array(np.ceil(TENTHS * rows)))
        for part, rows in (
            (pictures.train, histograms[: len(pictures.train)]),
            (pictures.test, histograms[len(pictures.train) :]),
        )
    )
    if name == "official":
        return Part(name, train, test)
    seed = int(name.removeprefix("split "))
    (part,) = random_splits(train, TAGGED_SHARE, seeds=(seed,))
    return part


def _histograms(data: str | None, cache: str | None) -> np.ndarray:
    """Colour layouts (4999, 648) of the training and test pictures; kept in the cache once they are known."""
    kept = Path(cache) / HISTOGRAMS if cache else None
    if kept is not None and kept.exists():
        return np.load(kept)["histograms"]
    division = described(corel5k("evaluation", data), COREL["colour layout"], cache=cache)
    rows = np.vstack([image_rows(division.train), image_rows(division.test)])
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(kept, histograms=rows)
    return rows


# --- Measuring --------------------------------------------------------------------------------------------------


def measure(task: Task, data: str | None, cache: str | None) -> dict[str, Any]:
    """One cell, as JSON values."""
    start = monotonic()
    part = find_part(task.data, task.part, data, cache)
    if task.setting == BASELINES:
        cell = measure_baselines(part, task.n_components)
    elif task.setting == REACH:
        cell = measure_reach(part, task.n_components, VIEWS[task.data], REACH_NEIGHBOURS)
    else:
        setting = SETTINGS[task.setting]._replace(view=VIEWS[task.data])
        cell = measure_spaces(part, task.n_components, setting)
    return {
        **cell,
        "seconds": round(monotonic() - start, 1),
        "images": [len(part.tagged), len(part.hidden)],
    }


def _named(data: str | None, cache: str | None, task: Task) -> dict[str, Any]:
    return measure(task, data, cache)


def run(options: Options, tell: Tell) -> None:
    """Measure the cells that are missing and write the page; see `running`."""
    wanted = tasks(options.quick)
    plan = [task.key for task in wanted]
    evidence = Evidence.open(
        "liu2005", options, {"plan": plan, "date": "", "found": {}}, ("corel16k", "corel5k")
    )
    missing = [task for task in wanted if task.key not in evidence.found]
    cache = str(options.kept)
    if any(task.data == "colour" for task in missing):
        _histograms(options.data, cache)  # once, before the workers want them
    n_done = len(wanted) - len(missing)
    for task, cell in spread(
        partial(_named, options.data, cache), missing, options.jobs, options.limit_seconds
    ):
        evidence.values["date"] = date.today().isoformat()
        evidence.keep({task.key: cell})
        n_done += 1
        scores = ", ".join(f"{title} {score:.3f}" for title, score in cell["scores"].items())
        tell(f"{task.key}: {scores} ({cell['seconds']:.0f} s)", n_done, len(wanted))
    if tables(evidence.values):
        write_figure(evidence.values, options.out)
        write_page(evidence.values, options.out)
    if n_done < len(wanted):
        raise TopictureError(
            f"{len(wanted) - n_done} of {len(wanted)} cells are not measured yet; the same command goes on from here"
        )


def main(arguments: Iterable[str] | None = None) -> None:
    """The command."""
    command("liu2005", __doc__, run, arguments)


if __name__ == "__main__":
    main()
