"""A learned model on disk: the annotator, the way from photos to its numbers, the calibration, and what was found.

model.safetensors      the annotator
regions.safetensors    an annotator for regions, where the first has none
features.safetensors   recipe, scalings, projections and codebooks
presence.safetensors   the calibration, and the held-out pairs that thresholds are read from
answers.safetensors    answers for the tagged photos while their tags were hidden; models of old have none
known.safetensors      what members of a blend answered then, for the next `learn`; only where it is not large
report.json            choice of the model, reliability, precision of each tag
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import JudgedPairs
from topicture.annotations.shift.calibration import Calibration
from topicture.annotations.shift.calibration_files import calibration_arrays, calibration_of, misfits
from topicture.app.learning.region_choice import trust_told
from topicture.app.learning.reports import load_report
from topicture.app.learning.unseen_answers import UnseenAnswers
from topicture.atomic import new_folder
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import ModelFileError, TopictureError
from topicture.models.base import Annotator, AnswerBlock
from topicture.models.blends.again import MOST_CHANGE
from topicture.models.blends.auto import Auto
from topicture.models.blends.hidden_answers import KnownAnswers, Said, read_known, write_known
from topicture.models.files import read_model, write_model
from topicture.models.registry import load_annotator
from topicture.store import Catalog
from topicture.vision.features.transform import Features
from topicture.vision.recipe import Recipe

__all__ = [
    "Earlier",
    "Learned",
    "earlier_model",
    "incomplete_models",
    "load_learned",
    "load_region_annotator",
    "save_learned",
]


@dataclass(frozen=True, eq=False)
class Learned:
    """Everything that `annotate`, `regions` and `review` need."""

    annotator: Annotator
    region_annotator: Annotator | None
    features: Features
    calibration: Calibration
    pairs: JudgedPairs
    report: dict[str, Any] = field(repr=False)
    answers: UnseenAnswers | None = field(default=None, repr=False)
    known: KnownAnswers | None = field(default=None, repr=False)  # written, but read by `earlier_model` alone

    @property
    def vocabulary(self) -> Vocabulary:
        return self.annotator.vocabulary_

    def presence(self, corpus: Corpus, places: Sequence[str]) -> NDArray[np.float64]:
        """How probably each word is true of each photo, (D, V), photo by photo; `places` (D,) are their folders.

        Photos that the model has learned from get what was said while their tags were hidden.
        """
        return np.concatenate([block.p for block in self.presence_blocks(corpus, places)])

    def presence_blocks(self, corpus: Corpus, places: Sequence[str]) -> Iterator[AnswerBlock]:
        """The same block by block, which is all that is held of it."""
        answered = None if self.answers is None else self.answers.rows_of(corpus.image_ids)
        for rows, p in self.annotator.annotate_blocks(corpus):
            if self.answers is not None and answered is not None:
                p = self.answers.replaced(p, answered[rows])
            presence = self.calibration(p.astype(np.float64), corpus[rows], places[rows])
            yield AnswerBlock(rows, presence)


def save_learned(folder: Path, learned: Learned) -> None:
    """Write all files; the folder appears whole or not at all."""
    with new_folder(folder) as new:
        learned.annotator.save(new / "model.safetensors")
        if learned.region_annotator is not None:
            learned.region_annotator.save(new / "regions.safetensors")
        write_model(
            new / "features.safetensors", {"features": learned.features.spec()}, learned.features.to_arrays()
        )
        arrays = calibration_arrays(learned.calibration, learned.pairs)
        write_model(new / "presence.safetensors", {}, arrays)
        if learned.answers is not None:
            write_model(new / "answers.safetensors", {}, learned.answers.to_arrays())
        if learned.known is not None:
            write_known(new / "known.safetensors", learned.known)
        (new / "report.json").write_text(json.dumps(learned.report, indent=1), encoding="utf-8")


def load_learned(folder: Path, *, regions: bool = True) -> Learned:
    """Read what `save_learned` wrote; without the annotator for regions where it is not wanted.

    Raises
    ------
    ModelFileError, DataNotFound
        A file is missing, damaged, foreign, or the parts do not fit each other.
    """
    annotator = load_annotator(folder / "model.safetensors")
    features = _load_features(folder)
    calibration, pairs = load_judged(folder, len(annotator.vocabulary_))
    return Learned(
        annotator,
        load_region_annotator(folder) if regions else None,
        features,
        calibration,
        pairs,
        load_report(folder),
        load_answers(folder, len(annotator.vocabulary_)),
    )


def _load_features(folder: Path) -> Features:
    header, arrays = read_model(folder / "features.safetensors")
    try:
        return Features.from_arrays(arrays, header["features"])
    except (KeyError, TypeError) as missing:
        raise ModelFileError(f"{folder}: the model is incomplete ({missing}); learn again") from None


class Earlier(NamedTuple):
    """The newest blend, where the next one can go on from it: a few photos and decisions have come since."""

    annotator: Auto
    features: Features
    known: KnownAnswers
    photos: int  # that the features were learned from
    region_annotator: Annotator | None  # with what is told of it
    regions: dict[str, Any] | None


def earlier_model(catalog: Catalog, recipe: Recipe, said: Said, n_photos: int) -> Earlier | None:
    """The newest model, if it is a blend and photos and captions are nearly those of its trials.

    `said` is what was said, by the contents of photos; `n_photos` there are in all.
    """
    try:
        folder = catalog.model_folder(catalog.suggestions.newest())
        known, told = read_known(folder / "known.safetensors"), load_report(folder)
        photos, regions = int(told["race"]["photos"]), told["regions"]
        if abs(n_photos - photos) > MOST_CHANGE * photos or known.change(said) > MOST_CHANGE:
            return None
        features, annotator = _load_features(folder), load_annotator(folder / "model.safetensors")
        features.check_current()
        region_annotator = load_region_annotator(folder)
    except (TopictureError, KeyError, TypeError, ValueError, OverflowError):
        return None  # there is none, it is of another kind or version, or damaged: `check` tells that
    if not isinstance(annotator, Auto) or features.recipe != recipe:
        return None
    if trust_told(told) is None or region_annotator is None or regions["model"] != region_annotator.name:
        region_annotator, regions = None, None
    return Earlier(annotator, features, known, photos, region_annotator, regions)


def load_judged(folder: Path, n_words: int) -> tuple[Calibration, JudgedPairs]:
    """The calibration of a model of `n_words` words, and what it was judged by; raises ModelFileError."""
    _, arrays = read_model(folder / "presence.safetensors")
    try:
        calibration, pairs = calibration_of(arrays)
    except (KeyError, TypeError) as missing:
        raise ModelFileError(f"{folder}: the model is incomplete ({missing}); learn again") from None
    for what in misfits(calibration, pairs, n_words):
        raise ModelFileError(f"{folder}: the {what} does not fit the model; learn again")
    return calibration, pairs


def load_answers(folder: Path, n_words: int) -> UnseenAnswers | None:
    """What a model of `n_words` words answered while tags were hidden, where that was kept; raises ModelFileError."""
    path = folder / "answers.safetensors"
    return UnseenAnswers.from_arrays(read_model(path)[1], n_words, str(path)) if path.exists() else None


def incomplete_models(catalog: Catalog) -> list[str]:
    """Models that can't be used although each of their files is whole, one line each."""
    found = []
    for model in catalog.suggestions.models():
        try:
            load_learned(catalog.model_folder(model))
        except TopictureError as error:
            found.append(f"{error} (topicture learn makes a new one)")
    return found


def load_region_annotator(folder: Path) -> Annotator | None:
    """The annotator for regions, where there is one of its own; raises ModelFileError."""
    path = folder / "regions.safetensors"
    return load_annotator(path) if path.exists() else None
