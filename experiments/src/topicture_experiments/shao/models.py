"""The experiment of Shao et al. 2009 and 2010: accuracy and complete length against the number of topics.

The data are the Corel subsets: in each the small official part (about 1,750 images) is tagged and the large one (about
5,200) is annotated, learning from both (the semi-supervised protocol). Curves are means and standard errors over the
subsets, for the graph-regularised mixtures and for the models that the papers compare them with.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from topicture.annotations.figures.style import legend, level, line_looks, panels
from topicture.annotations.measures.protocols import Experiment, Part, Run, run_experiment
from topicture.corpus.datasets import corel16k
from topicture.errors import TopictureError
from topicture.models.registry import annotator_class, make_annotator

__all__ = [
    "FIGURES",
    "MEASURES",
    "MODELS",
    "SETTINGS",
    "SUBSETS",
    "TOPICS",
    "Curves",
    "corel_parts",
    "figures",
    "run",
]

SUBSETS = tuple(range(1, 8))
TOPICS = tuple(range(10, 101, 10))
# Those of the papers' figures that this library has: title -> registry name.
MODELS = {
    "Empirical": "empirical",
    "pLSA-Words": "plsa-words",
    "pLSA-Words, tempered": "plsa-words",
    "Mixture of unigrams": "mix-unigram",
    "Link-LDA": "link-lda",
    "LapEM": "lap-em",
    "LapVar1": "lap-var1",
    "LapVar2 (LapMixUnigram)": "lap-var2",
}
# Settings that differ from the models' defaults: pLSA-Words as published is not tempered.
SETTINGS: Mapping[str, Mapping[str, Any]] = {"pLSA-Words": {"power": 1.0}}
MEASURES = {"accuracy": "Accuracy", "complete_length": "Complete length"}
PANEL = (4.2, 3.2)  # inches
# File name -> what it shows and the curves of that figure.
FIGURES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "shao2009-figure2": (
        "LapEM and pLSA-Words, as Figure 2 of 2009",
        ("LapEM", "pLSA-Words", "pLSA-Words, tempered"),
    ),
    "shao2010-figure3": (
        "The mixture of unigrams with and without the graph, as Figure 3 of 2010",
        ("LapVar1", "LapVar2 (LapMixUnigram)", "Mixture of unigrams", "Empirical"),
    ),
    "shao2010-figure4": (
        "Comparison with other topic models, as Figure 4 of 2010",
        ("LapVar1", "LapVar2 (LapMixUnigram)", "pLSA-Words", "pLSA-Words, tempered", "Link-LDA"),
    ),
}


class Curves(NamedTuple):
    """One experiment for each title and number of topics; a model without topics has the same one everywhere."""

    topics: tuple[int, ...]
    experiments: dict[str, tuple[Experiment, ...]]

    def table(self) -> str:
        """Plain text: a line for every model and number of topics, mean ± standard error over the subsets."""
        lines = [f"{'model':24} {'K':>4}  {'accuracy':>15}  {'compl. length':>13}"]
        for title, experiments in self.experiments.items():
            for K, experiment in zip(self.topics, experiments, strict=True):
                mean, error = experiment.mean(), experiment.standard_error()
                lines.append(
                    f"{title:24} {K:4}  {mean['accuracy']:.4f} ± {error['accuracy']:.4f}"
                    f"  {mean['complete_length']:6.2f} ± {error['complete_length']:.2f}"
                )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "topics": list(self.topics),
            "curves": {
                title: [experiment.as_dict() for experiment in experiments]
                for title, experiments in self.experiments.items()
            },
        }


def corel_parts(subsets: Sequence[int] = SUBSETS, data: str | Path | None = None) -> Iterator[Part]:
    """The Corel subsets, the small part tagged and the large one hidden. Raises DataNotFound where they are not."""
    for subset in subsets:
        corel = corel16k(subset, data)
        yield Part(f"subset {subset}", corel.test, corel.train)


def run(
    parts: Callable[[], Iterator[Part]] = corel_parts,
    *,
    topics: Sequence[int] = TOPICS,
    models: Mapping[str, str] = MODELS,
    settings: Mapping[str, Mapping[str, Any]] = SETTINGS,
    seeds: Sequence[int] = (0,),
    on_run: Callable[[Run], None] | None = None,
) -> Curves:
    """Fit every model with every number of topics to every part.

    Parameters
    ----------
    parts : callable
        Gives the divisions of the data anew, one at a time.
    topics : numbers of topics K
    models : title -> registry name
    settings : title -> parameters other than the number of topics
    seeds : each model runs once per part with each
    on_run : told of each finished run
    """
    if not topics or not models:
        raise TopictureError("the experiment needs at least one model and one number of topics")
    experiments = {}
    for title, name in models.items():
        given = dict(settings.get(title, {}))
        has_topics = "n_topics" in annotator_class(name)().get_params(deep=False)

        def experiment(K: int, title=title, name=name, given=given, has_topics=has_topics) -> Experiment:
            params = {**given, "n_topics": K} if has_topics else given
            return run_experiment(
                partial(make_annotator, name, **params), parts(), seeds=seeds, name=title, on_run=on_run
            )

        experiments[title] = (
            tuple(experiment(K) for K in topics) if has_topics else (experiment(0),) * len(topics)
        )
    return Curves(tuple(topics), experiments)


def figures(curves: Curves) -> dict[str, Figure]:
    """The papers' figures, both measures against the number of topics: file name -> matplotlib Figure."""
    return {
        name: _figure(curves, [title for title in titles if title in curves.experiments])
        for name, (_, titles) in FIGURES.items()
    }


def _figure(curves: Curves, titles: Sequence[str]) -> Figure:
    """One panel per measure; a model without topics is a level."""
    figure, axes = panels(list(MEASURES.values()), PANEL)
    for panel, measure in zip(axes, MEASURES, strict=True):
        looks = line_looks(title for title in titles if not _is_level(curves.experiments[title]))
        for title in titles:
            experiments = curves.experiments[title]
            means = [experiment.mean()[measure] for experiment in experiments]
            if title not in looks:
                level(panel, means[0], title)
                continue
            errors = [experiment.standard_error()[measure] for experiment in experiments]
            panel.errorbar(
                curves.topics, means, errors, label=title, capsize=2.5, elinewidth=1, **looks[title]
            )
        panel.set_xlabel("Number of topics")
    legend(figure, axes)
    return figure


def _is_level(experiments: Sequence[Experiment]) -> bool:
    return len(experiments) > 1 and all(experiment is experiments[0] for experiment in experiments)
