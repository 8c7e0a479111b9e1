"""What calibration learns from: verdicts of people, and what models said that had not seen them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.trials import HeldOut
from topicture.annotations.shift.worlds import FarWorld
from topicture.corpus import Corpus

__all__ = ["Evidence", "Untagged"]


class Untagged(NamedTuple):
    """Word distributions (n, V) of photos that nobody tagged, and their folders (n,); `Evidence` may lack them."""

    corpus: Corpus
    p: NDArray[np.float64]
    places: Sequence[str] | None


class Evidence(NamedTuple):
    """What is known about D photos and V words, and what models said that had not seen it.

    Attributes
    ----------
    corpus : the photos
    truth, known : (D, V) as for `fit_presence`
    captioned : (D,) photos with a caption of their owner's; the verdicts on others are answers to questions
    near, far : answers with near copies hidden together, and with whole groups hidden
    rejected : (D, V) verdicts of people that the word is not true
    places : (D,) the photos' folders
    untagged : what is told of a sample of the photos that nobody tagged
    shown : (D, V) what captions gave, and what was accepted of photos without one, less what other words imply; None:
        what is true
    answered : (D, V) verdicts that are a sample of what is promised; None: all on photos without a caption
    groups : (D,) photos that tell each other's tags, such as bursts; None: each by itself
    whole : the corpus holds all photos; of a large collection those that people judged, and few others
    """

    corpus: Corpus
    truth: Any
    known: NDArray[np.bool_]
    captioned: NDArray[np.bool_]
    near: HeldOut
    far: HeldOut | None = None
    world: FarWorld | None = None
    rejected: NDArray[np.bool_] | None = None
    places: Sequence[str] | None = None
    untagged: Untagged | None = None
    shown: Any = None
    answered: Any = None
    groups: Any = None
    whole: bool = True
