"""A calibration and its judged pairs as the arrays of a model file, and whether they fit a model.

Files of earlier versions hold one world, no answers and no weights; they are read as that.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from topicture.annotations.choice.presence import JudgedPairs, Presence
from topicture.annotations.shift.answered import Answered
from topicture.annotations.shift.calibration import Calibration
from topicture.annotations.shift.denials import Denials
from topicture.annotations.shift.marks import Marks
from topicture.annotations.shift.worlds import N_BINS, Worlds

__all__ = ["calibration_arrays", "calibration_of", "misfits"]

Arrays = Mapping[str, Any]


def calibration_arrays(calibration: Calibration, pairs: JudgedPairs) -> dict[str, np.ndarray]:
    """Name -> array."""
    parts: dict[str, Any] = {"": calibration.near, "denials/": calibration.denials}
    if calibration.far is not None and calibration.worlds is not None:
        parts |= {"far/": calibration.far, "worlds/": calibration.worlds}
    if calibration.marks is not None:
        parts["marks/"] = calibration.marks
    parts |= {"answered/": calibration.answered, "pairs/": pairs}
    found = {f"{prefix}{name}": a for prefix, part in parts.items() for name, a in part._asdict().items()}
    return {name: a for name, a in found.items() if a is not None} | {"centre": calibration.centre}


def calibration_of(arrays: Arrays) -> tuple[Calibration, JudgedPairs]:
    """What `calibration_arrays` gave; raises KeyError where something is missing."""
    near = Presence(**_floats(arrays, "", Presence._fields))
    pairs = JudgedPairs(
        word=arrays["pairs/word"],
        presence=arrays["pairs/presence"],
        truth=arrays["pairs/truth"],
        weight=arrays.get("pairs/weight"),
        group=arrays.get("pairs/group"),
    )
    n_words = len(near.offsets)
    if "answered/words" not in arrays:
        nothing = Denials(np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros(0))
        return Calibration(near, None, None, np.zeros(0), nothing, Answered.nothing(n_words)), pairs
    far = worlds = None
    if "worlds/edges" in arrays:
        far = Presence(**_floats(arrays, "far/", Presence._fields))
        worlds = Worlds(**{name: arrays[f"worlds/{name}"] for name in Worlds._fields})
    denials = Denials(**{name: arrays[f"denials/{name}"] for name in Denials._fields})
    answered = Answered(**_floats(arrays, "answered/", Answered._fields))
    marks = None
    if "marks/scores" in arrays:
        marks = Marks(**_floats(arrays, "marks/", Marks._fields))
    return Calibration(near, far, worlds, arrays["centre"], denials, answered, marks), pairs


def _floats(arrays: Arrays, prefix: str, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    return {name: np.asarray(arrays[f"{prefix}{name}"], np.float64) for name in names}


def misfits(calibration: Calibration, pairs: JudgedPairs, n_words: int) -> Iterator[str]:
    """What does not fit a vocabulary of `n_words` words, or itself."""
    for presence in (calibration.near, calibration.far):
        yield from [] if presence is None else _misfits_of_presence(presence, n_words)
    yield from _misfits_of_looks(calibration, n_words)
    if calibration.marks is not None:
        yield from _misfits_of_marks(calibration.marks, len(calibration.centre), n_words)
    for name, array in pairs._asdict().items():
        if array is not None and array.shape != (len(pairs.word),):
            yield f"list of judged pairs '{name}'"
    if pairs.word.dtype.kind not in "iu" or not _within(pairs.word, n_words):
        yield "list of judged words"


def _misfits_of_presence(presence: Presence, n_words: int) -> Iterator[str]:
    shapes = {
        "coefficients": (4,),
        **dict.fromkeys(("frequency", "share", "offsets"), (n_words,)),
        **dict.fromkeys(("knots", "values"), (len(presence.knots),)),
    }
    for name, shape in shapes.items():
        if getattr(presence, name).shape != shape:
            yield f"calibration '{name}'"
    if not presence.knots.size or not (np.diff(presence.knots) >= 0).all():
        yield "calibration 'knots'"


def _misfits_of_looks(calibration: Calibration, n_words: int) -> Iterator[str]:
    worlds, denials, answered = calibration.worlds, calibration.denials, calibration.answered
    nothing = Answered.nothing(n_words)
    if answered.words.shape != nothing.words.shape or answered.shift.shape != nothing.shift.shape:
        yield "calibration by answers"
    k = len(denials.words)
    shape = (len(calibration.centre), k) if k else denials.weights.shape
    if denials.weights.shape != shape or denials.offset.shape != (k,) or not _within(denials.words, n_words):
        yield "calibration by rejections"
    if worlds is not None and not (
        worlds.rows.ndim == 2
        and worlds.centre.shape == worlds.rows.shape[1:]
        and worlds.edges.shape == (N_BINS - 1,)
        and worlds.far.shape == (2 * N_BINS,)
        and len(worlds.rows) > 0
        and worlds.places.ndim == 1
    ):
        yield "calibration of photos far from tagged ones"


def _misfits_of_marks(marks: Marks, n_columns: int, n_words: int) -> Iterator[str]:
    if marks.scores.ndim != 2 or marks.axes.ndim != 2:
        yield "calibration of marks"
        return
    n_axes, n_knots = marks.axes.shape[1], marks.scores.shape[1]
    of_words = (n_words, n_knots)
    shapes = [(n_columns,), (n_columns, n_axes), (n_axes, n_words), (n_words,), of_words, of_words]
    if [array.shape for array in marks] != shapes or not n_knots:
        yield "calibration of marks"
    elif not (np.diff(marks.scores, axis=1) >= 0).all():
        yield "calibration of marks 'scores'"


def _within(numbers: np.ndarray, n: int) -> bool:
    return bool(((numbers >= 0) & (numbers < n)).all())
