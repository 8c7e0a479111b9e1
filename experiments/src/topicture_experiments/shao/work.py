"""The pieces of work that the report on Shao et al. 2009 and 2010 consists of, each done in a process of its own."""

import warnings
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from time import process_time
from typing import Any, NamedTuple

from topicture.annotations.measures.metrics import summary
from topicture.annotations.measures.protocols import PROTOCOLS, Part, run_experiment, with_training_words
from topicture.errors import FitWarning
from topicture.models.registry import make_annotator
from topicture_experiments.shao.choice import FIXED, GRIDS, N_TOPICS, SHARED, choose_settings
from topicture_experiments.shao.models import MODELS, SUBSETS, TOPICS, corel_parts

__all__ = [
    "FULL",
    "OPTIMA",
    "QUICK",
    "Plan",
    "Unit",
    "choices",
    "do",
    "fits",
    "key",
    "n_fits",
    "optima",
    "runs",
]

# Models whose compiled programs are the same share a process.
FAMILIES = (
    ("LapVar1", "LapVar2 (LapMixUnigram)", "LapEM", "Mixture of unigrams"),
    ("Link-LDA",),
    ("pLSA-Words", "pLSA-Words, tempered"),
)
EMPIRICAL = "Empirical"
REGULARISED = "LapVar1"

_PLAIN = {"temperature": 1.0, "annealing": 1.0, "continuation": 0, "n_init": 1}
# Ways out of poor local optima for LapVar1 with the papers' objective (temperature 1), and two controls: all that the
# cross-validation chose, and the same without the graph.
OPTIMA: Mapping[str, Mapping[str, Any]] = {
    "one start": _PLAIN,
    "5 restarts": {**_PLAIN, "n_init": 5},
    "continuation in lam (3 stages)": {**_PLAIN, "continuation": 3},
    "annealing from 4": {**_PLAIN, "annealing": 4.0},
    "annealing from 16": {**_PLAIN, "annealing": 16.0},
    "annealing from 4, 3 restarts": {**_PLAIN, "annealing": 4.0, "n_init": 3},
    "as chosen": {"n_init": 1},
    "as chosen, without the graph": {"n_init": 1, "lam": 0.0},
}


class Plan(NamedTuple):
    subsets: tuple[int, ...]
    topics: tuple[int, ...]
    n_init: int  # starts of every fit
    n_topics: int  # with which settings are chosen and optima compared
    n_grids: int | None = None  # of every model's grids only the first are searched

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in self._asdict().items()}


FULL = Plan(SUBSETS, TOPICS, 1, N_TOPICS)
QUICK = Plan(SUBSETS[:1], (10, 50), 1, 20, n_grids=1)


class Unit(NamedTuple):
    """Something to do on one subset with one number of topics: a kind of work and title -> parameters."""

    kind: str
    subset: int
    n_topics: int
    titles: Mapping[str, Mapping[str, Any]]

    def result_keys(self) -> set[str]:
        """Under which its results are kept."""
        return {key(self.kind, title, self.subset, self.n_topics) for title in self.titles}

    def __str__(self) -> str:
        return f"{self.kind} on subset {self.subset}, K = {self.n_topics}"


def key(kind: str, title: str, subset: int, n_topics: int) -> str:
    """Under which a result is kept; a model without topics has n_topics 0."""
    return f"{title}/{kind}/{subset}/{n_topics}"


# --- What there is to do ----------------------------------------------------------------------


def choices(plan: Plan, found: Mapping[str, Any]) -> list[Unit]:
    """One choice of settings a model and subset."""
    titles = [title for family in FAMILIES for title in family if title not in SHARED]
    given = {"n_grids": plan.n_grids}
    return [Unit("choice", s, plan.n_topics, {title: given}) for title in titles for s in plan.subsets]


def fits(plan: Plan, found: Mapping[str, Any]) -> list[Unit]:
    """Everything that needs the choices; what says most comes first: few, some and many topics, then the others."""
    first = {plan.n_topics, plan.topics[len(plan.topics) // 10], plan.topics[-1]}
    units = runs(plan, found)
    early = [unit for unit in units if unit.n_topics in first]
    return [*early, *optima(plan, found), *(unit for unit in units if unit not in early)]


def n_fits(plan: Plan) -> int:
    """How many units `fits` has, which is known before the choices are made."""
    return len(plan.subsets) * (1 + len(plan.topics) * len(FAMILIES) + 1)


def runs(plan: Plan, found: Mapping[str, Any]) -> list[Unit]:
    """Fits with the chosen settings, a family of models at a time."""
    units = [
        Unit(
            "run",
            s,
            K,
            {title: {**_chosen(plan, found, title, s), "n_init": plan.n_init} for title in family},
        )
        for K in sorted(plan.topics, reverse=True)
        for family in FAMILIES
        for s in plan.subsets
    ]
    return [Unit("run", s, 0, {EMPIRICAL: {}}) for s in plan.subsets] + units


def optima(plan: Plan, found: Mapping[str, Any]) -> list[Unit]:
    """The ways out of poor local optima, one subset at a time."""
    return [
        Unit(
            "optimum",
            s,
            plan.n_topics,
            {title: {**_chosen(plan, found, REGULARISED, s), **given} for title, given in OPTIMA.items()},
        )
        for s in plan.subsets
    ]


def _chosen(plan: Plan, found: Mapping[str, Any], title: str, subset: int) -> dict[str, Any]:
    chosen = found[key("choice", SHARED.get(title, title), subset, plan.n_topics)]["params"]
    return {**FIXED.get(title, {}), **chosen}


# --- Doing it ----------------------------------------------------------------------------------------------------


def do(unit: Unit, data: str | None) -> dict[str, Any]:
    """Key -> result as JSON values."""
    part = next(corel_parts([unit.subset], data))
    one = {"choice": _choose, "run": _run, "optimum": _optimum}[unit.kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # why a fit ended is part of its result
        return {
            key(unit.kind, title, unit.subset, unit.n_topics): one(title, dict(params), part, unit.n_topics)
            for title, params in unit.titles.items()
        }


def _choose(title: str, params: dict[str, Any], part: Part, n_topics: int) -> dict[str, Any]:
    start = process_time()
    choice = choose_settings(title, MODELS[title], part, n_topics=n_topics, **params)
    assert choice is not None, title
    best, names = choice.candidates[0], [name for grid in GRIDS[title] for name in grid]
    # Candidates name what was searched when they were tried; the rest had the defaults of that day.
    given = make_annotator(MODELS[title], **FIXED.get(title, {})).get_params(deep=False)
    defaults = {name: given[name] for name in names}
    return {
        "params": {**defaults, **best.params},
        "defaults": defaults,
        "accuracy": best.mean,
        "standard_error": best.standard_error,
        "tried": [candidate._asdict() for candidate in choice.candidates],
        "cpu_seconds": process_time() - start,
    }


def _run(title: str, params: dict[str, Any], part: Part, n_topics: int) -> dict[str, Any]:
    start = process_time()
    if n_topics:
        params["n_topics"] = n_topics
    experiment = run_experiment(partial(make_annotator, MODELS[title], **params), [part], name=title)
    (run,) = experiment.runs
    return {
        "accuracy": run.measures.accuracy,
        "run": asdict(run),
        "params": params,
        "cpu_seconds": process_time() - start,
    }


def _optimum(title: str, params: dict[str, Any], part: Part, n_topics: int) -> dict[str, Any]:
    part = with_training_words(part)
    corpus = PROTOCOLS["semi-supervised"](part)
    annotator = make_annotator(MODELS[REGULARISED], n_topics=n_topics, **params)
    # A short fit compiles everything, so that the seconds below are those of learning.
    make_annotator(MODELS[REGULARISED], n_topics=n_topics, **{**params, **_PLAIN, "max_iter": 1}).fit(corpus)
    start = process_time()
    annotator.fit(corpus)
    fitted = process_time()
    measures = summary(annotator.annotate(part.hidden.without_captions()), part.hidden.captions)
    return {
        "objective": float(annotator.objective_trace_[-1]),
        "accuracy": measures.accuracy,
        "complete_length": measures.complete_length,
        "fit_cpu_seconds": fitted - start,
        "params": params,
    }
