"""What `auto` may blend: members for a corpus, the cheap ones first, with the settings that are compared."""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from topicture.corpus import Corpus
from topicture.models.base import Annotator, columns_of
from topicture.models.baselines.one_view import VIEWS
from topicture.models.registry import make_annotator

__all__ = ["MEMBERS", "FormerRow", "Member", "members_again", "members_for", "out_of_time"]

# Parameter -> values to compare. A model without an entry has one setting: its defaults, or those of `_fixed`.
_GRIDS: dict[str, dict[str, Sequence[Any]]] = {
    "naive-bayes": {"power": (0.15, 0.3, 0.5), "pseudo_count": (0.1, 0.3)},
    "knn": {"n_neighbours": (30, 300), "power": (2.0, 5.0)},
    "tagprop": {"weights": ("rank", "cosine")},
    "logistic": {"ridge": (3.0, 10.0, 100.0)},
    "companions": {"ridge": (10.0, 30.0, 100.0)},
    # More would suit words that texts tell, who are many, and cost those that they don't.
    "text-match": {"ridge": (3.0, 10.0)},
    "ridge": {"power": (1.0, 1.5, 2.0)},
}
_BOTH_VIEWS = (
    "knn",
    "tagprop",
    "logistic",
    "companions",
    "ridge",
    "lsa",
    "label-spreading",
    "network",
    "matching",
)
# By cost. The last ones compile and iterate for long, and are tried only where the time allows.
MEMBERS = (
    "naive-bayes",
    "knn",
    "tagprop",
    "logistic",
    "companions",
    "text-match",
    "ridge",
    "lsa",
    "label-spreading",
    "network",
    "matching",
    "mix-unigram",
    "lap-var1",
    "corr-lda",
)


class Member(NamedTuple):
    """A model with a view, and the settings to compare."""

    model: str
    view: str | None  # None: the model has only one
    settings: tuple[dict[str, Any], ...]

    @property
    def title(self) -> str:
        """For tables."""
        return self.model if self.view is None else f"{self.model} on {self.view}"

    @property
    def looks_at(self) -> str:
        """The view that it learns from; what is counted in regions and their own numbers are one."""
        view = self.view or (make_annotator(self.model).needs or ("",))[0]
        return "visual_words" if view in ("regions", "region_words") else view

    def takes(self, settings: dict[str, Any]) -> bool:
        """Whether the model has such settings: another version's may have had others."""
        return settings.keys() <= make_annotator(self.model).get_params(deep=False).keys()

    def make(self, settings: dict[str, Any], seed: int) -> Annotator:
        """A fresh annotator."""
        return make_annotator(self.model, seed=seed, **settings, **({"view": self.view} if self.view else {}))


class FormerRow(NamedTuple):
    """What became of a member in an earlier fit."""

    member: str  # its title
    settings: dict[str, Any]
    weight: float
    note: str

    @property
    def again(self) -> str:
        """Why a member that did not help is not tried again."""
        return _AGAIN + self.note.removeprefix(_AGAIN)


# Reasons to try a member again that did not help: the time, the memory or the photos may suffice now.
_NOT_JUDGED = ("left out", "not tried:", "can't learn")
_LATE = ("not tried: the time was up", "left out: a fold takes")
_AGAIN = "not tried again: "


def members_again(
    members: Sequence[Member], former: Sequence[FormerRow] | None
) -> tuple[list[Member], dict[str, str]]:
    """Members to try after an earlier fit, with the settings they had then; and why others are not, by title."""
    rows = {} if former is None else {row.member: row for row in former}
    helped = [row for row in rows.values() if row.weight > 0]
    if not helped:
        return list(members), {}
    again, others = [], {}
    for member in members:
        row = rows.get(member.title)
        if row is None or row.note.startswith(_NOT_JUDGED):
            again.append(member)
        elif row.weight > 0 and row.settings in member.settings:
            again.append(member._replace(settings=(row.settings,)))
        elif row.weight > 0:  # another version compared other settings, or there were fewer photos
            again.append(member)
        else:
            others[member.title] = row.again
    return again, others


def out_of_time(row: FormerRow) -> bool:
    """Whether a member was not judged because it would have taken too long."""
    return row.note.removeprefix(_AGAIN).startswith(_LATE)


def members_for(corpus: Corpus, models: Sequence[str] | None = None) -> list[Member]:
    """Members for the views that the corpus has, of the given models or of all in MEMBERS, in their order."""
    found = []
    for model in MEMBERS if models is None else models:
        if model == "text-match" and corpus.word_vectors is None:
            continue
        settings = tuple(_settings(model, corpus))
        if model in _BOTH_VIEWS:
            views = [view for view in VIEWS if columns_of(corpus, view) is not None]
            found += [Member(model, view, settings) for view in views]
        elif all(columns_of(corpus, view) is not None for view in make_annotator(model).needs):
            found.append(Member(model, None, settings))
    return found


def _settings(model: str, corpus: Corpus):
    """Combinations of the model's grid."""
    grid = _GRIDS.get(model, {})
    fixed = _fixed(model, int(corpus.tagged.sum()))
    for values in product(*grid.values()):
        yield {**fixed, **dict(zip(grid, values, strict=True))}


def _fixed(model: str, n_tagged: int) -> dict[str, Any]:
    n_topics = int(np.clip(n_tagged // 8, 8, 60))
    settings: dict[str, dict[str, Any]] = {
        "lsa": {"n_components": 30},
        "mix-unigram": {"n_topics": n_topics, "n_init": 1, "max_iter": 40, "tol": 1e-4},
        "lap-var1": {"n_topics": n_topics, "n_init": 1, "max_iter": 30, "tol": 1e-4},
        "corr-lda": {"n_topics": n_topics, "n_init": 1, "max_iter": 40},
    }
    return settings.get(model, {})
