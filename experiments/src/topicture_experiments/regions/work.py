"""What is measured of a region model on MSRC v2, which it has seen with captions alone.

A model labels the regions of test images, without their captions and with them: then words are restricted to an image's
tags (p times their indicator, normalised), and a model that can takes the caption into its posterior. Boxes are made as
the tool makes them, where other words keep a little weight. Truth is looked at only to measure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.choice.region_evidence import OTHER, region_evidence, region_posterior
from topicture.annotations.measures.metrics import region_accuracy
from topicture.app.learning.word_boxes import box_overlap, word_boxes
from topicture.corpus import Corpus
from topicture.corpus.archives import read_members
from topicture.corpus.datasets import MSRC, msrc_v2
from topicture.models.registry import annotator_class, make_annotator
from topicture.vision.measure import photo_regions
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import Recipe
from topicture.vision.region_parts import region_parts
from topicture_experiments.shared.region_truth import RegionTruth, region_truth

__all__ = ["MODELS", "OURS", "RECIPES", "SEED", "Task", "do", "true_boxes"]

SEED = 0
OURS = "region-logistic"
_DEEP: dict[str, Any] = {"views": ("regions:deep", "visual_words:deep"), "n_words": 500}
_FINE = {**_DEEP, "segmentation": "deep", "components": 100}
RECIPES = {
    "SLIC, 6 to 10 regions, 40 columns, lite2": Recipe(**_DEEP),
    "SLIC, 6 to 10 regions, 100 columns, lite2": Recipe(**_DEEP, components=100),
    "merged by colour and map, 10 regions, lite2": Recipe(**_FINE),
    "20 regions, lite2": Recipe(**_FINE, max_regions=20),
    "20 regions, lite0 (the tool's)": Recipe(**_FINE, max_regions=20, network="lite0"),
    "20 regions, lite2, map of 384 pixels": Recipe(**_FINE, max_regions=20, map_side=384),
    "40 regions, lite2, map of 384 pixels": Recipe(**_FINE, max_regions=40, map_side=384),
}
"""Ways to regions and their features, from what there was to the finest."""
COMPARED = ("SLIC, 6 to 10 regions, 40 columns, lite2", "20 regions, lite2, map of 384 pixels")
"""Where all models are compared: on the regions that there were, and on the best."""

MODELS: dict[str, dict[str, Any]] = {
    "random": {},
    "most frequent": {},
    "gm-lda": {"n_topics": 50, "max_iter": 60, "n_init": 1},
    "corr-lda": {"n_topics": 50, "max_iter": 60, "n_init": 1},
    "dba": {},
    "emm-ml": {},
    "emm-margin": {},
    OURS: {},
}
GAUSSIAN_COLUMNS = 40  # Gaussians of more columns do worse: they are too sure of a single topic


class Task(NamedTuple):
    """One model on one way to regions."""

    recipe: str
    model: str

    @property
    def key(self) -> str:
        return f"{self.model} | {self.recipe}"


def tasks() -> list[Task]:
    """All models where they are compared, the best regions first; ours everywhere."""
    compared = [Task(recipe, model) for recipe in COMPARED[::-1] for model in (OURS, *MODELS)]
    return list(dict.fromkeys([*compared, *(Task(recipe, OURS) for recipe in RECIPES)]))


def do(data: str | None, cache: str, quick: bool, task: Task) -> dict[str, Any]:
    """Learn and measure, as JSON values."""
    msrc, recipe = msrc_v2(data), RECIPES[task.recipe]
    every = 6 if quick else 1
    train, test = _described(msrc, recipe, msrc.train[::every], msrc.test[::every], cache)
    measures = _measures(msrc, recipe, test, *_labellings(task.model, train, test, quick))
    if task.model == OURS:
        found = region_evidence(partial(make_annotator, OURS), train, seed=SEED)
        sure, right = np.array(measures["certainty"]).T
        measures["certainty"] = [
            list(p) for p in zip(found.calibration(sure).round(4).tolist(), right.tolist(), strict=True)
        ]
        measures["evidence"] = {
            name: getattr(found, name) for name in ("right", "chance", "gain", "gain_error")
        }
    else:
        del measures["certainty"]  # it is told of ours alone
    return measures


def _described(msrc: MSRC, recipe: Recipe, *parts_of: Any) -> tuple[Corpus, Corpus]:
    train, test, cache = parts_of
    both = Corpus.concat([train, test])
    ids = both.image_ids.tolist()
    found = describe(
        [Photo(image, partial(msrc.image_bytes, image)) for image in ids],
        recipe,
        captions=both.captions,
        vocabulary=both.vocabulary,
        train=np.arange(len(train)),
        workers=1,
        cache=cache,
    ).corpus
    return found[: len(train)], found[len(train) :]


def _labellings(model: str, train: Corpus, test: Corpus, quick: bool) -> tuple[np.ndarray, np.ndarray]:
    """p(word | region) (R, V) of the test regions, without captions and with them."""
    shape = int(test.n_regions.sum()), test.n_words
    if model in ("random", "most frequent"):
        rng = np.random.default_rng(SEED)
        p = rng.dirichlet(np.ones(shape[1]), shape[0])
        if model == "most frequent":
            p = np.tile(np.asarray(train.captions.sum(axis=0)).ravel(), (shape[0], 1))
            p /= p.sum(axis=1, keepdims=True)
        return p, p
    if annotator_class(model).needs == ("regions",) and model != OURS:
        train, test = _with_columns(train, GAUSSIAN_COLUMNS), _with_columns(test, GAUSSIAN_COLUMNS)
    settings = dict(MODELS[model])
    if quick and "max_iter" in settings:
        settings["max_iter"] = 5
    annotator = make_annotator(model, seed=SEED, **settings).fit(train)
    untold = np.concatenate(annotator.label_regions(test))
    if model == OURS:  # captions only restrict it
        return untold, untold
    return untold, np.concatenate(annotator.label_regions(test, use_captions=True))  # type: ignore[call-arg]


def _with_columns(corpus: Corpus, n: int) -> Corpus:
    assert corpus.regions is not None
    return replace(corpus, regions=np.ascontiguousarray(corpus.regions[:, :n]))


def _restricted(p: np.ndarray, tags: np.ndarray) -> np.ndarray:
    kept = np.where(tags, np.maximum(p, 1e-12), 0.0)
    return kept / kept.sum(axis=1, keepdims=True)


def _with_others(p: np.ndarray, tags: np.ndarray) -> np.ndarray:
    return region_posterior(np.maximum(p, 1e-12), np.where(tags, 1.0, OTHER))


# --- Measures ------------------------------------------------------------------------------------------------------


def _measures(
    msrc: MSRC, recipe: Recipe, test: Corpus, untold: np.ndarray, given_captions: np.ndarray
) -> dict[str, Any]:
    """Of p(word | region) (R, V) without captions and, where the model can look at them, with captions."""
    tags = np.repeat((test.captions > 0).toarray(), test.n_regions, axis=0)
    told, placing = _restricted(given_captions, tags), _with_others(given_captions, tags)
    maps = _label_maps(msrc.image_archive, recipe, tuple(test.image_ids.tolist()))
    truth = RegionTruth(
        np.concatenate([region_truth(msrc.class_map(image), maps[image], test.n_words) for image in maps])
    )
    offsets = test.region_offsets
    assert offsets is not None
    overlaps: dict[str, list[float]] = {"whole": [], "told": [], "untold": []}
    got: list[bool] = []
    right: list[bool] = []
    sure: list[tuple[float, int]] = []
    for row, image in enumerate(test.image_ids.tolist()):
        inside = slice(int(offsets[row]), int(offsets[row + 1]))
        shape = region_parts(maps[image])
        boxes = true_boxes(msrc, image)
        words = [word for word in boxes if test.captions[row, msrc.vocabulary.index(word)]]
        columns = [msrc.vocabulary.index(word) for word in words]
        placed = {"whole": dict.fromkeys(words, (0.0, 0.0, 1.0, 1.0))}
        for name, p in (("told", placing), ("untold", untold)):
            placed[name] = {box.word: box[1:5] for box in word_boxes(shape, p[inside][:, columns], words)}
        for name, where in placed.items():
            overlaps[name] += [
                max(box_overlap(where[word], true) for true in boxes[word]) if word in where else 0.0
                for word in words
            ]
        best, pixels = told[inside].argmax(axis=1), truth.pixels[inside]
        for column in columns:
            mine = best == column
            got.append(bool(mine.any()))
            if mine.any():
                labelled = pixels[mine].sum(axis=0)
                right.append(bool(labelled.sum()) and labelled[column] >= labelled.sum() / 2)
        sure += _certainties(best, placing[inside], pixels)
    return {
        "regions": len(untold) / len(test),
        "ceiling": truth.ceiling,
        "top1_untold": region_accuracy(untold, truth.words, 1),
        "top1_told": region_accuracy(told, truth.words, 1),
        "pixels_untold": truth.pixel_accuracy(untold),
        "pixels_told": truth.pixel_accuracy(told),
        **{f"iou_{name}": float(np.mean(values)) for name, values in overlaps.items()},
        "half_told": float(np.mean(np.array(overlaps["told"]) >= 0.5)),
        "words": len(got),
        "with_region": float(np.mean(got)),
        "right": float(np.mean(right)) if right else 0.0,
        "certainty": [list(pair) for pair in sure],
    }


@lru_cache(maxsize=2)  # the models of one way to regions come one after the other
def _label_maps(archive: Path, recipe: Recipe, ids: tuple[str, ...]) -> dict[str, np.ndarray]:
    pictures = read_members(archive, {image: f"{image}.jpg" for image in ids})
    return {image: photo_regions(jpeg, recipe)[1] for image, jpeg in pictures}


def _certainties(best: np.ndarray, p: np.ndarray, pixels: np.ndarray) -> Iterable[tuple[float, int]]:
    """How sure the best word of each region is, and whether it is right."""
    for n in np.flatnonzero(pixels.any(axis=1)):
        yield round(float(p[n, best[n]]), 4), int(pixels[n].argmax() == best[n])


def true_boxes(msrc: MSRC, image: str) -> Mapping[str, list[tuple[float, ...]]]:
    """Word -> rectangles (x, y, w, h) around its labelled segments, in shares of the picture."""
    segments = msrc.segment_map(image)
    height, width = segments.shape
    found: dict[str, list[tuple[float, ...]]] = {}
    for number, word in msrc.segments[image].items():
        rows, columns = np.nonzero(segments == number)
        if len(rows):
            left, top = columns.min() / width, rows.min() / height
            box = (left, top, (columns.max() + 1) / width - left, (rows.max() + 1) / height - top)
            found.setdefault(word, []).append(box)
    return found
