"""The demonstration: render the sample collection, hide most captions, learn, annotate, compare, show.

It does the main job on a real, if small, scale: a collection of which a quarter is tagged, whose other photos get
suggestions with probabilities. Every model is learned from the same corpus and measured on the hidden captions.
"""

import base64
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from topicture.annotations import metrics
from topicture.annotations.predict import Suggestion, top_words
from topicture.collection.scenes import VOCABULARY, Scene, render_scenes
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.base import Annotator
from topicture.models.registry import make_annotator
from topicture.vision.pipeline import Photo, describe

__all__ = ["DEMO_MODELS", "DemoReport", "Example", "Score", "run_demo"]

VIEWS = ("visual_words:blobs",)
DEMO_MODELS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("empirical", {}),
    ("mix-unigram", {"n_topics": 40, "n_init": 2}),
)
SHOWN = ("accuracy", "complete_length", "f1", "normalised_score", "perplexity")

Report = Callable[[str, int, int | None], None]
"""Told the name of a stage, how much of it is done, and how much there is in all (None: not known)."""


@dataclass(frozen=True)
class Score:
    """How one model did on the hidden captions."""

    model: str
    seconds: float
    result: str
    measures: dict[str, float]


@dataclass(frozen=True)
class Example:
    """One untagged photo, the words a person gave it, and what the best model suggests."""

    image_id: str
    true_words: tuple[str, ...]
    suggestions: tuple[Suggestion, ...]
    thumbnail: str  # data URI

    @property
    def n_right(self) -> int:
        return sum(suggestion.word in self.true_words for suggestion in self.suggestions)


@dataclass(frozen=True)
class DemoReport:
    """What the demonstration found; `scores` in the order of DEMO_MODELS, `best` the model behind the examples."""

    n_images: int
    n_tagged: int
    n_words: int
    seed: int
    seconds: float
    scores: tuple[Score, ...]
    best: str
    examples: tuple[Example, ...]

    def as_dict(self) -> dict[str, Any]:
        """Everything but the pictures, as JSON values."""
        values = asdict(self)
        values["examples"] = [
            {
                "image_id": e.image_id,
                "true_words": list(e.true_words),
                "suggestions": [{"word": s.word, "probability": s.probability} for s in e.suggestions],
            }
            for e in self.examples
        ]
        return values


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
    scenes = []
    for scene in render_scenes(n_images, seed, workers=workers):
        scenes.append(scene)
        report("Rendering photos", len(scenes), n_images)
    corpus = _describe(scenes, workers, report)
    hidden = np.random.default_rng(seed).permutation(n_images) >= max(1, round(tagged_fraction * n_images))
    partly_tagged = corpus.without_captions(hidden)

    scores, answers = [], {}
    for name, settings in models:
        score, answers[name] = _learn(make_annotator(name, **settings), partly_tagged, corpus, hidden, report)
        scores.append(score)
    best = max(scores, key=lambda score: score.measures["accuracy"]).model
    return DemoReport(
        n_images=n_images,
        n_tagged=int((~hidden).sum()),
        n_words=corpus.n_words,
        seed=seed,
        seconds=time.perf_counter() - start,
        scores=tuple(scores),
        best=best,
        examples=_examples(scenes, answers[best], hidden, n_examples),
    )


def _describe(scenes: Sequence[Scene], workers: int, report: Report) -> Corpus:
    description = describe(
        [Photo(scene.image_id, scene.pixels) for scene in scenes],
        VIEWS,
        captions=[scene.words for scene in scenes],
        vocabulary=VOCABULARY,
        workers=workers,
        progress=lambda done, total: report("Looking at photos", done, total),
    )
    return description.corpus


def _learn(
    annotator: Annotator, partly_tagged: Corpus, corpus: Corpus, hidden: np.ndarray, report: Report
) -> tuple[Score, np.ndarray]:
    start = time.perf_counter()
    stage = f"Learning {annotator.name}"
    report(stage, 0, None)
    annotator.fit(partly_tagged, callback=lambda progress: report(stage, *_share(progress)))
    probabilities = annotator.annotate(partly_tagged[hidden])
    seconds = time.perf_counter() - start
    report(stage, 1, 1)
    summary = metrics.summary(probabilities, corpus[hidden].captions)
    measures = {name: getattr(summary, name) for name in SHOWN}
    return Score(annotator.name, seconds, annotator.result_, measures), probabilities


def _share(progress: Any) -> tuple[int, int | None]:
    """Iterations done and at most to do, over all restarts."""
    done = progress.restart * (progress.max_iter + 1) + progress.iteration + 1
    return done, progress.n_restarts * (progress.max_iter + 1)


def _examples(
    scenes: Sequence[Scene], probabilities: np.ndarray, hidden: np.ndarray, n_examples: int
) -> tuple[Example, ...]:
    """The first untagged photos, five words each: not a selection."""
    from topicture.corpus import Vocabulary

    vocabulary = Vocabulary(VOCABULARY)
    return tuple(
        Example(
            image_id=scenes[i].image_id,
            true_words=scenes[i].words,
            suggestions=tuple(top_words(row, vocabulary, 5)),
            thumbnail=_thumbnail(scenes[i].pixels),
        )
        for i, row in zip(np.flatnonzero(hidden)[:n_examples], probabilities[:n_examples], strict=True)
    )


def _thumbnail(pixels: np.ndarray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def write_page(report: DemoReport, folder: Path) -> Path:
    """Write the report as one self-contained page, index.html."""
    from topicture.app.pages import render
    from topicture.atomic import write_atomically

    path = folder / "index.html"
    write_atomically(path, render("demo.html", report=report, shown=SHOWN, titles=TITLES).encode("utf-8"))
    return path


TITLES = {
    "accuracy": ("Accuracy", "share of the M true words among the top M", True),
    "complete_length": ("Complete length", "words to read until all true ones are seen", False),
    "f1": ("F1 of top 5", "micro-averaged", True),
    "normalised_score": ("Normalised score", "best over all thresholds", True),
    "perplexity": ("Perplexity", "of the hidden words", False),
}
"""Measure -> title, what it is, whether more is better."""
