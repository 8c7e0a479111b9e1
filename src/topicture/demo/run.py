"""The demonstration: render the sample collection, hide most captions, learn, annotate, compare, show.

It does the main job on a real, if small, scale: a collection of which a quarter is tagged, whose other photos get
suggestions with probabilities. Every model is learned from the same corpus and measured on the hidden captions, and,
where it labels regions, on the regions that the renderer knows to be true.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topicture.annotations.measures import metrics
from topicture.annotations.predict import Suggestion, region_labels, top_words
from topicture.corpus import Corpus
from topicture.demo.scenes import VOCABULARY, Scene, render_scenes
from topicture.errors import TopictureError
from topicture.models.base import Annotator
from topicture.models.blends.work import AutoStep
from topicture.models.interrupts import all_or_nothing
from topicture.models.registry import make_annotator
from topicture.vision.measure import photo_regions
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import Recipe

__all__ = [
    "DEMO_MODELS",
    "NO_CHANCE",
    "SHOWN",
    "TITLES",
    "DemoReport",
    "Example",
    "LabelledRegions",
    "Score",
    "run_demo",
]

RECIPE = Recipe(("deep", "regions:deep", "visual_words:deep"), network="lite0", n_words=100)
DEMO_MODELS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("empirical", {"pseudo_count": 0.1}),
    ("mix-unigram", {"n_topics": 20, "n_init": 2}),
    ("lap-var1", {"n_topics": 20, "n_init": 2}),
    ("corr-lda", {"n_topics": 40, "n_init": 1, "max_iter": 40}),
    ("nlsa", {}),
    ("auto", {}),
)
SHOWN = ("accuracy", "complete_length", "f1", "normalised_score", "perplexity", "region_accuracy")
TITLES = {
    "accuracy": ("Accuracy", "share of the M true words among the top M", True),
    "complete_length": ("Complete length", "words to read until all true ones are seen", False),
    "f1": ("F1 of top 5", "micro-averaged", True),
    "normalised_score": ("Normalised score", "best over all thresholds", True),
    "perplexity": ("Perplexity", "of the hidden words", False),
    "region_accuracy": ("Regions", "whose true word is the first or second", True),
}
"""Measure -> title, what it is, whether more is better."""

NO_CHANCE = "∞: the model gives some of the hidden words no chance at all; one such word is enough."
"""Why a perplexity may be infinite."""

Report = Callable[[str, int, int | None], None]
"""Told the name of a stage, how much of it is done, and how much there is in all (None: not known)."""


@dataclass(frozen=True)
class Score:
    """How one model did on the hidden captions; NaN where a measure does not apply."""

    model: str
    seconds: float
    result: str
    measures: dict[str, float]


@dataclass(frozen=True, eq=False)
class LabelledRegions:
    """The regions of a photo, and the word that a model gives each."""

    labels: np.ndarray  # (H, W)
    words: tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Example:
    """One untagged photo, the words a person gave it, and what the best model suggests."""

    image_id: str
    true_words: tuple[str, ...]
    suggestions: tuple[Suggestion, ...]
    pixels: np.ndarray
    regions: LabelledRegions | None = None


@dataclass(frozen=True)
class DemoReport:
    """What the demonstration found; `scores` in the order of the models, `best` the one behind the suggestions."""

    n_images: int
    n_tagged: int
    n_words: int
    seed: int
    seconds: float
    scores: tuple[Score, ...]
    best: str
    region_model: str | None
    examples: tuple[Example, ...]

    @property
    def has_infinite(self) -> bool:
        """Whether `NO_CHANCE` needs to be told."""
        return any(np.isinf(value) for score in self.scores for value in score.measures.values())

    def as_dict(self) -> dict[str, Any]:
        """Everything but the pictures, as JSON values; a measure that does not apply, or is infinite, is null."""
        scores = [asdict(score) for score in self.scores]
        for score in scores:
            score["measures"] = {
                k: float(v) if np.isfinite(v) else None for k, v in score["measures"].items()
            }
        examples = [
            {
                "image_id": example.image_id,
                "true_words": list(example.true_words),
                "suggestions": [suggestion._asdict() for suggestion in example.suggestions],
            }
            for example in self.examples
        ]
        plain = ("n_images", "n_tagged", "n_words", "seed", "seconds", "best", "region_model")
        return {**{name: getattr(self, name) for name in plain}, "scores": scores, "examples": examples}


def run_demo(
    n_images: int = 600,
    *,
    seed: int = 0,
    tagged_fraction: float = 0.25,
    n_examples: int = 24,
    workers: int = 2,
    models: Sequence[tuple[str, dict[str, Any]]] = DEMO_MODELS,
    report: Report = lambda stage, done, total: None,
) -> DemoReport:
    """Run the demonstration; the same seed gives the same numbers, apart from the times."""
    if n_images < 40:
        raise TopictureError(f"demo: {n_images} images are too few to learn from; take at least 40")
    if not 0 < tagged_fraction < 1:
        raise TopictureError(f"demo: the tagged part must lie between 0 and 1, not {tagged_fraction:g}")
    start = time.perf_counter()
    scenes = list(_told(render_scenes(n_images, seed, workers=workers), "Rendering photos", n_images, report))
    corpus = _describe(scenes, workers, report)
    hidden = np.random.default_rng(seed).permutation(n_images) >= max(1, round(tagged_fraction * n_images))
    partly_tagged = corpus.without_captions(hidden)

    scores, fitted, answers = [], {}, {}
    for name, settings in models:
        score, fitted[name], answers[name] = _learn(name, settings, partly_tagged, corpus, hidden, report)
        scores.append(score)
    best = max(scores, key=lambda score: score.measures["accuracy"]).model
    region_model = next((name for name in fitted if fitted[name].labels_regions), None)
    if region_model is not None:
        region_words = fitted[region_model].label_regions(partly_tagged[hidden])
        true_scenes = [scene for scene, is_hidden in zip(scenes, hidden, strict=True) if is_hidden]
        scores = [_with_regions(score, region_model, region_words, true_scenes, report) for score in scores]
    return DemoReport(
        n_images=n_images,
        n_tagged=int((~hidden).sum()),
        n_words=corpus.n_words,
        seed=seed,
        seconds=time.perf_counter() - start,
        scores=tuple(scores),
        best=best,
        region_model=region_model,
        examples=tuple(
            _example(scenes[i], row, corpus, region_words[j] if region_model else None)
            for j, (i, row) in enumerate(
                zip(np.flatnonzero(hidden)[:n_examples], answers[best], strict=False)
            )
        ),
    )


def _told(items: Iterator[Any], stage: str, total: int, report: Report) -> Iterator[Any]:
    for done, item in enumerate(items, start=1):
        report(stage, done, total)
        yield item


def _describe(scenes: Sequence[Scene], workers: int, report: Report) -> Corpus:
    description = describe(
        [Photo(scene.image_id, scene.pixels) for scene in scenes],
        RECIPE,
        captions=[scene.words for scene in scenes],
        vocabulary=VOCABULARY,
        workers=workers,
        progress=lambda done, total: report("Looking at photos", done, total),
    )
    return description.corpus


@all_or_nothing()
def _learn(
    name: str,
    settings: dict[str, Any],
    partly_tagged: Corpus,
    corpus: Corpus,
    hidden: np.ndarray,
    report: Report,
) -> tuple[Score, Annotator, np.ndarray]:
    start = time.perf_counter()
    stage = f"Learning {name}"
    report(stage, 0, None)
    annotator = make_annotator(name, **settings)
    annotator.fit(partly_tagged, callback=lambda progress: _tell(progress, stage, name, report))
    probabilities = annotator.annotate(partly_tagged[hidden])
    seconds = time.perf_counter() - start
    report(stage, 1, 1)
    summary = metrics.summary(probabilities, corpus[hidden].captions)
    measures = {measure: getattr(summary, measure, float("nan")) for measure in SHOWN}
    return Score(name, seconds, annotator.result_, measures), annotator, probabilities


def _tell(progress: Any, stage: str, model: str, report: Report) -> None:
    """Iterations done and at most to do, over all restarts; of a blend, its members."""
    if isinstance(progress, AutoStep):
        report(stage, progress.done, progress.total or None)
    elif model != "auto":  # the steps of its members would make the bar jump
        done = progress.restart * (progress.max_iter + 1) + progress.iteration + 1
        report(stage, done, progress.n_restarts * (progress.max_iter + 1))


def _with_regions(
    score: Score,
    region_model: str,
    region_words: Sequence[np.ndarray],
    scenes: Sequence[Scene],
    report: Report,
) -> Score:
    """Adds how often a region's true word is among the first two, for the model that labels regions."""
    if score.model != region_model:
        return score
    truth = []
    for scene in _told(iter(scenes), "Checking regions", len(scenes), report):
        truth.extend(_true_words_of_regions(scene))
    accuracy = metrics.region_accuracy(np.concatenate(region_words), np.array(truth), k=2)
    return Score(score.model, score.seconds, score.result, {**score.measures, "region_accuracy": accuracy})


def _true_words_of_regions(scene: Scene) -> list[int]:
    """For each region the word that most of its pixels belong to, -1 where most have none."""
    _, labels = photo_regions(scene.pixels, RECIPE)
    return [
        int(np.bincount(scene.labels[labels == region].astype(np.int64) + 1).argmax()) - 1
        for region in range(labels.max() + 1)
    ]


def _example(scene: Scene, row: np.ndarray, corpus: Corpus, region_words: np.ndarray | None) -> Example:
    regions = None
    if region_words is not None:
        _, labels = photo_regions(scene.pixels, RECIPE)
        best = region_labels(region_words, corpus.vocabulary)
        regions = LabelledRegions(labels, tuple(None if word is None else word.word for word in best))
    suggestions = tuple(top_words(row, corpus.vocabulary, 5))
    return Example(scene.image_id, scene.words, suggestions, scene.pixels, regions)
