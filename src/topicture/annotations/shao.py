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

from topicture.annotations.plots import curve_with_errors
from topicture.annotations.protocols import Experiment, Part, Run, run_experiment
from topicture.corpus.datasets import corel16k
from topicture.errors import TopictureError
from topicture.models.registry import annotator_class, make_annotator

__all__ = ["MODELS", "SETTINGS", "SUBSETS", "TOPICS", "Curves", "corel_parts", "figures", "run"]

SUBSETS = tuple(range(1, 8))
TOPICS = tuple(range(10, 101, 10))
# Those of the papers' figures that this library has: title -> registry name.
MODELS = {
    "Empirical": "empirical",
    "pLSA-Words": "plsa-words",
    "pLSA-Words, tempered": "plsa-words",
    "Mixture of unigrams": "mix-unigram",
    "LapEM": "lap-em",
    "LapVar1": "lap-var1",
    "LapVar2 (LapMixUnigram)": "lap-var2",
}
# Settings that differ from the models' defaults: pLSA-Words as published is not tempered, and the mixture of unigrams
# gets the smoothing of its regularised kin, with which it does better than with its own.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "pLSA-Words": {"power": 1.0},
    "Mixture of unigrams": {"eta_visual": 1.0, "eta_words": 0.3},
}
MEASURES = {"accuracy": "Accuracy", "complete_length": "Complete length"}


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
    seeds : each model runs once a part with each
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
    """Both measures against the number of topics, as in the papers' figures: measure -> matplotlib Figure."""

    def drawn(measure: str, label: str) -> Figure:
        means, errors, levels = {}, {}, {}
        for title, experiments in curves.experiments.items():
            values = [experiment.mean()[measure] for experiment in experiments]
            if all(experiment is experiments[0] for experiment in experiments[1:]) and len(experiments) > 1:
                levels[title] = values[0]
            else:
                means[title] = values
                errors[title] = [experiment.standard_error()[measure] for experiment in experiments]
        return curve_with_errors(
            curves.topics, means, errors, x_label="Number of topics", y_label=label, levels=levels
        )

    return {measure: drawn(measure, label) for measure, label in MEASURES.items()}
