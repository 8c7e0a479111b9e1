"""An explanation as a value: everything that its page shows, and that `explain --json` prints."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from topicture.annotations.choice.quality_curves import Curve, Gain
from topicture.annotations.diagnostics import CalibrationPoint
from topicture.store.decisions.promises import Promises

__all__ = [
    "ExplainedTopic",
    "ExplainedTopics",
    "ExplainedWord",
    "Explanation",
    "NamedConfusion",
    "PhotoExamples",
    "TypicalPhoto",
]


class TypicalPhoto(NamedTuple):
    """A photo, or a region of it, and how much it belongs to a topic."""

    path: str
    region: int | None
    score: float


class ExplainedTopic(NamedTuple):
    number: int
    weight: float | None
    words: tuple[tuple[str, float], ...]
    typical: tuple[TypicalPhoto, ...]
    opposite_words: tuple[tuple[str, float], ...]
    opposite: tuple[TypicalPhoto, ...]


class ExplainedTopics(NamedTuple):
    """As `topics.TopicModel`, with paths; `role` is "words" for the annotator and "regions" for that of regions."""

    model: str
    role: str
    kind: str
    of: str
    n_topics: int
    topics: tuple[ExplainedTopic, ...]


class ExplainedWord(NamedTuple):
    """As `diagnostics.WordQuality`, by its name of today; None or NaN where nothing was measured."""

    word: str
    photos: int
    suggested: int | None
    right: int | None
    precision: float
    recall: float
    average_precision: float


class NamedConfusion(NamedTuple):
    meant: str
    suggested: str
    photos: int
    of: int


class PhotoExamples(NamedTuple):
    """Paths of photos that show what a word means to the model."""

    word: str
    typical: tuple[TypicalPhoto, ...]
    untypical: tuple[TypicalPhoto, ...]
    missing: tuple[TypicalPhoto, ...]
    carried: tuple[TypicalPhoto, ...] = ()  # regions of tagged photos that most surely show the word


@dataclass(frozen=True)
class Explanation:
    """Everything that the page shows; paths are relative to the root of the collection."""

    model: str
    folder: str
    learned: float
    result: str
    photos: int
    tagged: int  # that have a word of the model's now
    learned_tagged: int  # that it was learned from
    judged: int  # photos with tags that were hidden and asked for, or with answers of a review
    n_words: int
    versions: dict[str, str]
    trials: tuple[dict[str, Any], ...]  # models that were compared when it was learned
    tried: tuple[dict[str, Any], ...]  # what a blend was made from
    members: tuple[tuple[str, float | None], ...]
    topic_models: tuple[ExplainedTopics, ...]
    traces: dict[str, list[float]]
    threshold: float
    calibration: tuple[CalibrationPoint, ...]
    calibration_error: float
    word_table: tuple[ExplainedWord, ...]
    examples: tuple[PhotoExamples, ...]
    confusions: tuple[NamedConfusion, ...]
    map_words: tuple[str, ...]
    map_shares: tuple[tuple[float, ...], ...]
    curve_minutes: float | None
    learning: Curve | None
    gain: Gain | None
    by_topics: dict[str, Curve]
    skipped: tuple[str, ...]
    warning: str = ""  # where tagged and untagged photos differ
    completeness: tuple[
        tuple[str, float, float], ...
    ] = ()  # word, share given of the true ones, standard deviation
    completeness_overall: float | None = None
    measured: bool = True  # else nothing tells what is not true of a photo, and no figure of trust is given
    promises: Promises | None = None  # what people have answered to suggestions
    page: str = ""  # file of the page, once it is written
