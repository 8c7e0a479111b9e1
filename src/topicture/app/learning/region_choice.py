"""Which model `learn` takes for regions, and how far it can be trusted: see `choice.region_evidence`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from topicture.annotations.choice.region_evidence import (
    Calibration,
    Overlaps,
    RegionEvidence,
    clearly_more,
    region_evidence,
)
from topicture.annotations.choice.trials import N_FOLDS, settings_for
from topicture.app.learning.choosing import fit
from topicture.app.progress import Report
from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.em.estimator import EMAnnotator
from topicture.models.interrupts import all_or_nothing
from topicture.models.registry import make_annotator

__all__ = [
    "REGION_MODELS",
    "RegionTrust",
    "choose_region_model",
    "region_model_again",
    "told_of",
    "trust_told",
]

REGION_MODELS = ("region-logistic", "corr-lda")
NOISE = 0.02  # regions of one photo are right or wrong together: a smaller lead over an earlier model says nothing
MOST_TRIED = 3000  # tagged photos that models are tried on: more tell no more, and take longer


AskAboutMarks = Callable[[Annotator], Overlaps] | None
"""How far a model's rectangles overlap with those that people marked; None where there are none."""


class RegionTrust(NamedTuple):
    """What the report of a model says about its regions."""

    beats_whole_photo: bool
    calibration: Calibration


def choose_region_model(
    corpus: Corpus,
    names: Sequence[str],
    groups: ArrayLike,
    seed: int,
    report: Report,
    overlaps: AskAboutMarks = None,
) -> tuple[Annotator, dict[str, Any]]:
    """The model that is shown to be best, learned from everything; and what is told about it.

    Models whose rectangles fit those that people marked clearly worse than another's are out. Of the others the one is
    taken that finds a region's own photo best.
    """
    found: dict[str, RegionEvidence] = {}
    for done, name in enumerate(names):
        report("Trying region models", done, len(names))
        make = partial(make_annotator, name, **settings_for(name, int(corpus.tagged.sum())))
        if (one := _evidence(make, corpus, groups, seed, overlaps)) is not None:
            found[name] = one
    report("Trying region models", len(names), len(names))
    best = _best(names, found)
    return fit(best, corpus, "Learning regions", report), _told(best, found)


def region_model_again(
    earlier: Annotator, told: dict[str, Any], corpus: Corpus, same: bool, report: Report
) -> tuple[Annotator, dict[str, Any]]:
    """The model that was shown to be best, learned from what has come since; what was told about it still holds.

    Where nothing has come (`same`), it is taken as it is.
    """
    if same:
        return earlier, told
    report("Learning regions", 0, None)
    with all_or_nothing():
        annotator = clone(earlier)
        if isinstance(annotator, EMAnnotator) and isinstance(earlier, EMAnnotator):
            annotator.fit(corpus, earlier=earlier)
        else:
            annotator.fit(corpus)
    report("Learning regions", 1, 1)
    return annotator, told


def _best(names: Sequence[str], found: dict[str, RegionEvidence]) -> str:
    """The first of the names that no other is clearly better than."""
    marked = {name: one.overlaps for name, one in found.items() if one.overlaps and one.overlaps.enough}
    fits = {name: of.placed for name, of in marked.items()}
    left = [name for name in names if name in found and not _beaten(name, fits)]
    leading = max((found[name].right for name in left), default=0.0)
    return next((name for name in left if found[name].right >= leading - NOISE), names[0])


def _beaten(name: str, fits: dict[str, np.ndarray]) -> bool:
    return name in fits and any(clearly_more(other, fits[name]) for other in fits.values())


def told_of(
    annotator: Annotator, corpus: Corpus, groups: ArrayLike, seed: int, overlaps: AskAboutMarks = None
) -> dict[str, Any]:
    """What is told about a model that labels regions itself."""
    one = _evidence(partial(clone, annotator), corpus, groups, seed, overlaps)
    return _told(annotator.name, {} if one is None else {annotator.name: one})


def _evidence(
    make: Callable[[], Annotator], corpus: Corpus, groups: ArrayLike, seed: int, overlaps: AskAboutMarks
) -> RegionEvidence | None:
    """None where too few photos are tagged to hide any."""
    usable = np.flatnonzero(corpus.tagged & (corpus.n_regions > 0))
    if len(usable) < 2 * N_FOLDS:
        return None
    chosen = np.sort(np.random.default_rng(seed).permutation(usable)[:MOST_TRIED])
    return region_evidence(
        make, corpus[chosen], groups=np.asarray(groups)[chosen], seed=seed, overlaps=overlaps
    )


def _told(best: str, found: dict[str, RegionEvidence]) -> dict[str, Any]:
    """The part of a model's report that is about regions, as JSON values."""
    figures = ("right", "chance", "gain", "gain_error")
    trials = [
        {"model": name, **{key: getattr(one, key) for key in figures}, **_overlaps_told(one.overlaps)}
        for name, one in found.items()
    ]
    part = {"model": best, "trials": trials}
    if best not in found:
        return {**part, "beats_whole_photo": False, "knots": [0.0], "values": [0.0]}
    one = found[best]
    return {
        **part,
        "beats_whole_photo": bool(one.beats_whole_photo),
        "knots": one.calibration.knots.tolist(),
        "values": one.calibration.values.tolist(),
    }


def _overlaps_told(of: Overlaps | None) -> dict[str, Any]:
    if of is None:
        return {}
    return {
        "marked": len(of.placed),
        "overlap": float(of.placed.mean()),
        "overlap_whole": float(of.whole.mean()),
    }


def trust_told(report: dict[str, Any]) -> RegionTrust | None:
    """What a model's report says; None of a model that was learned before there was any evidence."""
    part = report.get("regions")
    try:
        knots, values = (np.asarray(part[name], np.float64) for name in ("knots", "values"))  # type: ignore[index]
        if knots.shape != values.shape or knots.ndim != 1 or not len(knots) or (np.diff(knots) < 0).any():
            return None
        return RegionTrust(part["beats_whole_photo"] is True, Calibration(knots, np.clip(values, 0, 1)))  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return None
