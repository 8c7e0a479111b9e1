"""A learned model on disk: the annotator, the way from photos to its numbers, the calibration, and what was found.

model.safetensors      the annotator
regions.safetensors    an annotator for regions, where the first has none
features.safetensors   recipe, scalings, projections and codebooks
presence.safetensors   the calibration, and the held-out pairs that thresholds are read from
answers.safetensors    answers for the tagged photos while their tags were hidden; models of old have none
report.json            choice of the model, reliability, precision of each tag
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from topicture.annotations.choice.presence import JudgedPairs, Presence
from topicture.app.learning.reports import load_report
from topicture.app.learning.unseen_answers import UnseenAnswers
from topicture.atomic import new_folder
from topicture.corpus import Vocabulary
from topicture.errors import ModelFileError, TopictureError
from topicture.models.base import Annotator
from topicture.models.files import read_model, write_model
from topicture.models.registry import load_annotator
from topicture.store import Catalog
from topicture.vision.features.transform import Features

__all__ = ["Learned", "incomplete_models", "load_learned", "load_region_annotator", "save_learned"]


@dataclass(frozen=True, eq=False)
class Learned:
    """Everything that `annotate`, `regions` and `review` need."""

    annotator: Annotator
    region_annotator: Annotator | None
    features: Features
    presence: Presence
    pairs: JudgedPairs
    report: dict[str, Any] = field(repr=False)
    answers: UnseenAnswers | None = field(default=None, repr=False)

    @property
    def vocabulary(self) -> Vocabulary:
        return self.annotator.vocabulary_


def save_learned(folder: Path, learned: Learned) -> None:
    """Write all files; the folder appears whole or not at all."""
    with new_folder(folder) as new:
        learned.annotator.save(new / "model.safetensors")
        if learned.region_annotator is not None:
            learned.region_annotator.save(new / "regions.safetensors")
        write_model(
            new / "features.safetensors", {"features": learned.features.spec()}, learned.features.to_arrays()
        )
        parts = learned.pairs._asdict()
        pairs = {f"pairs/{name}": value for name, value in parts.items() if value is not None}
        write_model(new / "presence.safetensors", {}, {**learned.presence.to_arrays(), **pairs})
        if learned.answers is not None:
            write_model(new / "answers.safetensors", {}, learned.answers.to_arrays())
        (new / "report.json").write_text(json.dumps(learned.report, indent=1), encoding="utf-8")


def load_learned(folder: Path, *, regions: bool = True) -> Learned:
    """Read what `save_learned` wrote; without the annotator for regions where it is not wanted.

    Raises
    ------
    ModelFileError, DataNotFound
        A file is missing, damaged, foreign, or the parts do not fit each other.
    """
    annotator = load_annotator(folder / "model.safetensors")
    header, arrays = read_model(folder / "features.safetensors")
    try:
        features = Features.from_arrays(arrays, header["features"])
    except KeyError as missing:
        raise ModelFileError(f"{folder}: the model is incomplete ({missing}); learn again") from None
    presence, pairs = load_judged(folder, len(annotator.vocabulary_))
    return Learned(
        annotator,
        load_region_annotator(folder) if regions else None,
        features,
        presence,
        pairs,
        load_report(folder),
        load_answers(folder, len(annotator.vocabulary_)),
    )


def load_judged(folder: Path, n_words: int) -> tuple[Presence, JudgedPairs]:
    """The calibration of a model of `n_words` words, and what it was judged by; raises ModelFileError."""
    _, arrays = read_model(folder / "presence.safetensors")
    try:
        presence = Presence(**{name: arrays[name] for name in Presence._fields})
        needed = {name: arrays[f"pairs/{name}"] for name in ("word", "presence", "truth")}
        pairs = JudgedPairs(**needed, weight=arrays.get("pairs/weight"), group=arrays.get("pairs/group"))
    except KeyError as missing:
        raise ModelFileError(f"{folder}: the model is incomplete ({missing}); learn again") from None
    for what, is_right in _fits(presence, pairs, n_words):
        if not is_right:
            raise ModelFileError(f"{folder}: the {what} does not fit the model; learn again")
    return Presence(*(np.asarray(array, np.float64) for array in presence)), pairs


def load_answers(folder: Path, n_words: int) -> UnseenAnswers | None:
    """What a model of `n_words` words answered while tags were hidden, where that was kept; raises ModelFileError."""
    path = folder / "answers.safetensors"
    return UnseenAnswers.from_arrays(read_model(path)[1], n_words, str(path)) if path.exists() else None


def _fits(presence: Presence, pairs: JudgedPairs, n_words: int) -> Iterator[tuple[str, bool]]:
    """What the calibration must be like for a vocabulary of `n_words` words."""
    shapes = {
        "coefficients": (4,),
        **dict.fromkeys(("frequency", "share", "offsets"), (n_words,)),
        **dict.fromkeys(("knots", "values"), (len(presence.knots),)),
    }
    for name, shape in shapes.items():
        array = getattr(presence, name)
        yield f"calibration '{name}'", array.shape == shape and array.dtype.kind == "f"
    yield "calibration 'knots'", presence.knots.size > 0 and bool((np.diff(presence.knots) >= 0).all())
    for name, array in pairs._asdict().items():
        yield f"list of judged pairs '{name}'", array is None or array.shape == (len(pairs.word),)
    words = pairs.word
    yield (
        "list of judged words",
        words.dtype.kind in "iu" and bool(((words >= 0) & (words < n_words)).all()),
    )


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
