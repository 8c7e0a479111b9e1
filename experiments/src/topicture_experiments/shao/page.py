"""The report on Shao et al. 2009 and 2010 as a page with figures, from what `report.py` measured."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from topicture.annotations.figures.plots import save_figure
from topicture.annotations.measures.experiment import Experiment, Run
from topicture.annotations.measures.metrics import Summary
from topicture_experiments.shao.choice import GRIDS
from topicture_experiments.shao.models import FIGURES, MEASURES, MODELS, Curves, figures
from topicture_experiments.shao.work import OPTIMA, key
from topicture_experiments.shared.running import measured
from topicture_experiments.shared.tables import (
    columns_of_topics,
    markdown_table,
    verdict,
    with_error,
    write_parts,
)

__all__ = ["claims", "curves_of", "finished_topics", "write_figures", "write_page"]

PLAIN, TEMPERED, MIXTURE, LINK, EMPIRICAL = (
    "pLSA-Words",
    "pLSA-Words, tempered",
    "Mixture of unigrams",
    "Link-LDA",
    "Empirical",
)
REGULARISED = ("LapEM", "LapVar1", "LapVar2 (LapMixUnigram)")
# Measures for which less is better.
SMALLER = ("complete_length",)


# --- Numbers ----------------------------------------------------------------------------------------------------


def finished_topics(evidence: Mapping[str, Any]) -> tuple[int, ...]:
    """Numbers of topics with which every model has been run on every subset."""
    plan, found = evidence["plan"], evidence["found"]
    return tuple(
        K
        for K in plan["topics"]
        if all(
            key("run", title, s, 0 if title == EMPIRICAL else K) in found
            for title in MODELS
            for s in plan["subsets"]
        )
    )


def curves_of(evidence: Mapping[str, Any]) -> Curves:
    """The measured runs as experiments, one for each model and finished number of topics."""
    plan, found, topics = evidence["plan"], evidence["found"], finished_topics(evidence)

    def experiment(title: str, K: int) -> Experiment:
        results = [found[key("run", title, s, K)]["run"] for s in plan["subsets"]]
        runs = [Run(**{**run, "measures": Summary(**run["measures"])}) for run in results]
        return Experiment(title, "semi-supervised", tuple(runs))

    experiments = {}
    for title in MODELS:
        if title == EMPIRICAL:
            experiments[title] = (experiment(title, 0),) * len(topics)
        else:
            experiments[title] = tuple(experiment(title, K) for K in topics)
    return Curves(topics, experiments)


def _values(curves: Curves, title: str, measure: str) -> np.ndarray:
    """(K, subsets)."""
    return np.array(
        [[getattr(run.measures, measure) for run in e.runs] for e in curves.experiments[title]], np.float64
    )


def _better(curves: Curves, title: str, other: str, measure: str) -> np.ndarray:
    """By how much a model is better than another, (K, subsets); positive is better in every measure."""
    difference = _values(curves, title, measure) - _values(curves, other, measure)
    return -difference if measure in SMALLER else difference


def claims(curves: Curves) -> list[tuple[str, str, str]]:
    """The papers' findings, what was found here, and whether that agrees."""
    topics = np.array(curves.topics)
    many = topics > 30

    def beats(finding: str, title: str, other: str) -> tuple[str, str, str]:
        """In both measures, with every number of topics."""
        gains = {measure: _better(curves, title, other, measure) for measure in MEASURES}
        won = {measure: gain.mean(axis=1) > 0 for measure, gain in gains.items()}
        here = "; ".join(
            f"{label.lower()} better at {int(won[m].sum())} of {len(topics)} K, by "
            f"{with_error(gains[m].mean(axis=0), 4 if m == 'accuracy' else 1)} on average"
            for m, label in MEASURES.items()
        )
        return finding, here, verdict(np.concatenate(list(won.values())))

    def against_k(title: str) -> np.ndarray:
        return _values(curves, title, "accuracy").mean(axis=1)

    first_last = {title: against_k(title)[[0, -1]] for title in ("LapEM", PLAIN)}
    empirical = against_k(EMPIRICAL)[0]
    below = against_k(MIXTURE) < empirical
    spreads = {title: np.ptp(against_k(title)) for title in (*REGULARISED, PLAIN, MIXTURE)}
    link = {m: _better(curves, LINK, PLAIN, m).mean(axis=1)[many] for m in MEASURES}
    return [
        beats("2009: LapEM beats pLSA-Words", "LapEM", PLAIN),
        beats("(ours) LapEM beats tempered pLSA-Words", "LapEM", TEMPERED),
        (
            "2009: LapEM and pLSA-Words get better with more topics",
            "; ".join(
                f"{title} accuracy {a:.3f} at K = {topics[0]}, {b:.3f} at K = {topics[-1]}"
                for title, (a, b) in first_last.items()
            ),
            verdict([b > a for a, b in first_last.values()]),
        ),
        *(
            beats(f"2010: the graph improves the mixture of unigrams ({title})", title, MIXTURE)
            for title in REGULARISED
        ),
        (
            "2010: the mixture of unigrams alone is sometimes below the empirical ranking",
            f"accuracy below at {int(below.sum())} of {len(topics)} K (empirical {empirical:.3f}, mixture "
            f"{against_k(MIXTURE).min():.3f} to {against_k(MIXTURE).max():.3f})",
            "holds" if below.any() else "does not hold",
        ),
        *(beats(f"2010: {title} beats pLSA-Words", title, PLAIN) for title in REGULARISED[1:]),
        *(beats(f"(ours) {title} beats tempered pLSA-Words", title, TEMPERED) for title in REGULARISED[1:]),
        *(beats(f"2010: {title} beats Link-LDA", title, LINK) for title in REGULARISED[1:]),
        (
            "2010: beyond 30 topics Link-LDA has lower accuracy than pLSA-Words, but better complete length",
            f"accuracy lower at {int((link['accuracy'] < 0).sum())}, complete length better at "
            f"{int((link['complete_length'] > 0).sum())} of {int(many.sum())} K",
            verdict([*(link["accuracy"] < 0), *(link["complete_length"] > 0)]),
        ),
        (
            "2010: the regularised mixture depends little on the number of topics",
            "accuracy varies over K by " + ", ".join(f"{s:.3f} ({title})" for title, s in spreads.items()),
            verdict([spreads[title] < min(spreads[PLAIN], spreads[MIXTURE]) for title in REGULARISED]),
        ),
    ]


# --- Page and figures -------------------------------------------------------------------------------------------


def write_figures(evidence: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the figures as PNG."""
    drawn = figures(curves_of(evidence))
    return [save_figure(figure, folder / f"{name}.png") for name, figure in drawn.items()]


def write_page(evidence: Mapping[str, Any], folder: Path) -> Path:
    """Write shao.md."""
    curves, plan, found = curves_of(evidence), evidence["plan"], evidence["found"]
    runs = curves.experiments[EMPIRICAL][0].runs
    sizes = [f"{np.mean([getattr(run, n) for run in runs]):.0f}" for n in ("n_tagged", "n_hidden", "n_words")]
    seconds = sum(r.get("cpu_seconds", 0) + r.get("fit_cpu_seconds", 0) for r in found.values())
    parts = [
        "# Graph-regularised image annotation (Shao et al., ACM Multimedia 2009 and ACM TIST 2010): our figures",
        "Written by `python -m topicture_experiments.shao.report`; "
        f"{measured(evidence)} in {seconds / 3600:.1f} CPU hours.{_missing(plan['topics'], curves.topics)}",
        f"**Data.** {len(plan['subsets'])} of the ten Corel subsets of Barnard et al. 2003, as in the papers: the "
        f"small part of each (on average {sizes[0]} images) is tagged, the large one ({sizes[1]} images) is annotated, "
        f"and everything is learned from both ({sizes[2]} words). Two things differ: blobs are the original clustering "
        "into 500 (the papers made 600 of their own), and only tell whether a blob occurs. Figures are means ± "
        "standard errors over subsets. Subsets overlap, so the errors are somewhat too small.",
        "**Settings.** Every model gets its hyper-parameters in the same way, separately on each subset, by threefold "
        f"cross-validation within the tagged images ({plan['n_topics']} topics, one start, accuracy decides; the "
        "search is in `topicture_experiments/shao/choice.py`). Captions of the images to annotate are never looked at. "
        "What was chosen holds for all numbers of topics; LapVar2 takes what was chosen for LapVar1, whose objective "
        f"it has. Fits have {_starts(plan['n_init'])} and end, for the regularised mixtures, at a relative change of "
        "1e-4 of the objective. Corrected equations: docs/models.md, section 5. "
        + " ".join(evidence.get("notes", [])),
        "## The papers' findings",
        "The papers print curves without numbers, so findings are compared. A finding about two models holds if it "
        "does in both measures with every number of topics, on average over the subsets.",
        markdown_table(("Finding", "Here", "Verdict"), claims(curves)),
        _reading(curves),
        "Why some findings differ. Our mixture of unigrams and pLSA-Words have pseudo-counts that were chosen like "
        "everything else, which lifts them above the empirical ranking; the papers name none. Tempering makes "
        "pLSA-Words a far stronger rival than the published one, but its exponent was chosen with "
        f"{plan['n_topics']} topics, and an exponent that suits these can merge a larger number of topics into one, "
        "which leaves only the empirical ranking. A temperature above 1 is part of what makes LapVar1 better than the "
        "mixture; what the graph adds to that stands below the table of optima.",
        "## Accuracy (higher is better) and complete length (lower is better)",
        *(f"![{caption}]({name}.png)" for name, (caption, _) in FIGURES.items()),
        *(part for measure, label in MEASURES.items() for part in (f"{label}:", _by_topics(curves, measure))),
        "## Ways out of poor local optima",
        "LapVar1 with the settings that were chosen on each subset, but the papers' objective (temperature 1), with "
        f"{plan['n_topics']} topics. *Objective*: by how much Q ends above that of one start, in nats. The last two "
        "lines have another temperature, where Q is not comparable.",
        _optima(evidence),
        _what_the_graph_adds(evidence),
        "## What was chosen",
        "Every parameter in the order of the search: accuracy of its values in the cross-validation (tagged images "
        "only, the best values of the parameters above it, mean ± standard error over subsets), and on how many "
        "subsets each was chosen. The library's defaults are the values with the best mean, unless that gains less "
        "than its standard error.",
        _choices(evidence),
    ]
    return write_parts(folder / "shao.md", parts)


def _missing(wanted: Sequence[int], finished: Sequence[int]) -> str:
    left = [str(K) for K in wanted if K not in finished]
    if not left:
        return ""
    return f" **Not yet run: K = {', '.join(left)}**; the same command goes on with them."


def _starts(n: int) -> str:
    return "one start" if n == 1 else f"{n} starts, of which the best objective is kept,"


def _reading(curves: Curves) -> str:
    """The order of the models in one sentence per measure."""
    sentences = []
    for measure, label in MEASURES.items():
        means = {title: _values(curves, title, measure).mean(axis=0) for title in curves.experiments}
        ranked = sorted(means, key=lambda t: means[t].mean() * (1 if measure in SMALLER else -1))
        digits = 3 if measure == "accuracy" else 1
        listed = ", ".join(f"{title} {with_error(means[title], digits)}" for title in ranked)
        sentences.append(f"{label} averaged over all K, the best first: {listed}.")
    return " ".join(sentences)


def _by_topics(curves: Curves, measure: str) -> str:
    digits = 3 if measure == "accuracy" else 1
    rows = [
        (title, *(with_error(values, digits) for values in _values(curves, title, measure)))
        for title in curves.experiments
    ]
    return markdown_table(("", *columns_of_topics(curves.topics)), rows)


def _optimum(evidence: Mapping[str, Any], title: str, name: str) -> np.ndarray:
    """One value per subset."""
    plan, found = evidence["plan"], evidence["found"]
    return np.array([found[key("optimum", title, s, plan["n_topics"])][name] for s in plan["subsets"]])


def _what_the_graph_adds(evidence: Mapping[str, Any]) -> str:
    with_graph, without = "as chosen", "as chosen, without the graph"
    accuracy, length = (
        _optimum(evidence, with_graph, name) - _optimum(evidence, without, name)
        for name in ("accuracy", "complete_length")
    )
    return (
        f"With everything else as chosen the graph adds {with_error(accuracy, 4, '+')} to the accuracy and "
        f"{with_error(length, 1, '+')} to the complete length (less is better)."
    )


def _optima(evidence: Mapping[str, Any]) -> str:
    column, start = partial(_optimum, evidence), next(iter(OPTIMA))
    rows = []
    for title, given in OPTIMA.items():
        gain = column(title, "objective") - column(start, "objective")
        rows.append(
            (
                title,
                with_error(gain, 0, "+") if "temperature" in given and title != start else "",
                with_error(column(title, "accuracy"), 4),
                with_error(column(title, "accuracy") - column(start, "accuracy"), 4, "+"),
                with_error(column(title, "complete_length"), 1),
                f"{column(title, 'fit_cpu_seconds').mean():.0f}",
            )
        )
    return markdown_table(("", "objective", "accuracy", "its gain", "complete length", "CPU s per fit"), rows)


def _choices(evidence: Mapping[str, Any]) -> str:
    """A line for every parameter that was searched."""
    plan, found = evidence["plan"], evidence["found"]
    rows = []
    for title, grids in GRIDS.items():
        chosen = [found[key("choice", title, s, plan["n_topics"])] for s in plan["subsets"] if grids]
        for i, name in enumerate(name for grid in grids[: plan["n_grids"]] for name in grid):
            counted = Counter(_shown(choice["params"][name]) for choice in chosen)
            reached = {value: with_error(np.array(a), 4) for value, a in _by_value(chosen, grids, i).items()}
            listed = ", ".join(f"{value}: {accuracy}" for value, accuracy in reached.items())
            often = ", ".join(f"{value} ({n})" for value, n in counted.most_common())
            rows.append((title if i == 0 else "", name, listed, often))
    return markdown_table(("", "", "accuracy in cross-validation", "chosen (subsets)"), rows)


def _by_value(
    chosen: Sequence[Mapping[str, Any]], grids: Sequence[Mapping[str, Sequence[Any]]], i: int
) -> dict[str, list[float]]:
    """Value of the i-th parameter -> accuracies, one per subset, with the best of the parameters searched before."""
    names = [name for grid in grids for name in grid]
    reached: dict[str, list[float]] = {}
    for choice in chosen:
        tried = {_values_of(choice, candidate): candidate["mean"] for candidate in choice["tried"]}
        before = [c for c in choice["tried"] if set(c["params"]) <= set(names[:i])] if i else []
        best = max(before, key=lambda c: c["mean"])["params"] if before else {}
        for value in dict(pair for grid in grids for pair in grid.items())[names[i]]:
            mean = tried.get(_values_of(choice, {"params": {**best, names[i]: value}}))
            if mean is not None:
                reached.setdefault(_shown(value), []).append(mean)
    return reached


def _values_of(choice: Mapping[str, Any], candidate: Mapping[str, Any]) -> str:
    return repr(sorted({**choice["defaults"], **candidate["params"]}.items()))


def _shown(value: Any) -> str:
    if value is None:
        return "as published"
    return " ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
