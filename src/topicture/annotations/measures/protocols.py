"""Experiments: hide captions, learn, annotate, measure; repeated over parts of the data and over seeds.

Two protocols. *train-test*: the annotator learns from the tagged images and annotates the hidden ones, which it has
never seen. *semi-supervised*, that of Shao et al. 2009 and 2010: tagged and hidden images form ONE corpus in which
the hidden captions are empty; the annotator learns from all of it and annotates the hidden images.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from topicture.annotations.measures.experiment import Experiment, Run, comparison
from topicture.annotations.measures.metrics import summary
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError
from topicture.models.base import Annotator
from topicture.models.interrupts import all_or_nothing

__all__ = [
    "PROTOCOLS",
    "Experiment",
    "Part",
    "Run",
    "comparison",
    "folds",
    "random_splits",
    "run_experiment",
    "with_training_words",
]


# --- Data -------------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """One division of the data. Both corpora carry captions; those of `hidden` are only used to judge."""

    name: str
    tagged: Corpus
    hidden: Corpus


def random_splits(corpus: Corpus, tagged_fraction: float, seeds: Iterable[int] = (0,)) -> Iterator[Part]:
    """For every seed a random division into a tagged share and the hidden rest; the same seed, the same parts."""
    for seed in seeds:
        tagged, hidden = corpus.split([tagged_fraction, 1 - tagged_fraction], seed=seed)
        yield Part(f"split {seed}", tagged, hidden)


def folds(corpus: Corpus, n_folds: int = 5, seed: int = 0) -> Iterator[Part]:
    """Cross-validation: each of the folds is hidden once while the others are tagged.

    Not `models.folds`, which keeps bursts and folders together: this is the protocol of published figures, and the same
    seed must go on giving the same parts.
    """
    if not 2 <= n_folds <= len(corpus):
        raise ValueError(f"n_folds must lie between 2 and the number of images, {len(corpus)}; got {n_folds}")
    fold_of = np.random.default_rng(seed).permutation(np.arange(len(corpus)) % n_folds)
    for fold in range(n_folds):
        yield Part(f"fold {fold + 1}", corpus[fold_of != fold], corpus[fold_of == fold])


def with_training_words(part: Part) -> Part:
    """The part with the vocabulary cut to the words that occur in its tagged captions.

    A word that no tagged image carries can't be learned; by convention it is dropped before evaluation.
    """
    if part.tagged.vocabulary != part.hidden.vocabulary:
        raise CorpusError(f"{part.name}: the tagged and the hidden images have different vocabularies")
    seen = np.flatnonzero(np.asarray(part.tagged.captions.sum(axis=0)).ravel() > 0)
    if len(seen) == part.tagged.n_words:
        return part
    if len(seen) == 0:
        raise CorpusError(f"{part.name}: none of the {len(part.tagged)} tagged images carries a word")
    words = Vocabulary(part.tagged.vocabulary[int(w)] for w in seen)
    tagged, hidden = (
        replace(
            corpus.with_omissions(None).without_answers(),
            vocabulary=words,
            captions=corpus.captions[:, seen],
            word_vectors=None if corpus.word_vectors is None else corpus.word_vectors[seen],
            completeness=None if corpus.completeness is None else corpus.completeness[seen],
            places=corpus.places,
        )
        for corpus in (part.tagged, part.hidden)
    )
    return Part(part.name, tagged, hidden)


# --- Protocols --------------------------------------------------------------------------------------------------


def _joint(part: Part) -> Corpus:
    return Corpus.concat([part.tagged, part.hidden.without_captions()])


# Protocol -> the corpus that the annotator learns from.
PROTOCOLS: dict[str, Callable[[Part], Corpus]] = {
    "train-test": lambda part: part.tagged,
    "semi-supervised": _joint,
}


def run_experiment(
    make: Callable[[], Annotator],
    parts: Iterable[Part],
    *,
    protocol: str = "semi-supervised",
    seeds: Sequence[int] = (0,),
    k: int = 5,
    name: str | None = None,
    on_run: Callable[[Run], None] | None = None,
) -> Experiment:
    """Learn from each part under a protocol, annotate its hidden images, measure.

    Parameters
    ----------
    make : callable
        Makes a fresh annotator; its `seed`, if it takes one, is then set to each of `seeds`.
    parts : iterable of Part
        Consumed one at a time, so a generator keeps only one part in memory. The vocabulary of each is cut to the
        words of its tagged images (`with_training_words`).
    protocol : {"semi-supervised", "train-test"}
    seeds : sequence of int
        An annotator without a `seed` parameter runs once a part.
    k : int
        Words per image for the measures cut at k.
    name : str, optional
        Title of the experiment; the annotator's registry name if not given.
    on_run : callable, optional
        Told of each finished run.

    Raises
    ------
    CorpusError
        If there is no part, or a part has no tagged image or two vocabularies.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"there is no protocol {protocol!r}; choose from {', '.join(PROTOCOLS)}")
    sample = make()
    run_seeds = seeds if "seed" in sample.get_params(deep=False) else [None]
    runs = []
    for part in map(with_training_words, parts):
        corpus, questions = PROTOCOLS[protocol](part), part.hidden.without_captions()
        for seed in run_seeds:
            annotator = make() if seed is None else make().set_params(seed=seed)
            runs.append(_run(annotator, part, corpus, questions, seed, k))
            if on_run is not None:
                on_run(runs[-1])
    title = name or sample.name
    if not runs:
        raise CorpusError(f"{title}: an experiment needs at least one part and one seed")
    return Experiment(title, protocol, tuple(runs))


def _run(
    annotator: Annotator, part: Part, corpus: Corpus, questions: Corpus, seed: int | None, k: int
) -> Run:
    start = perf_counter()
    with all_or_nothing():
        annotator.fit(corpus)
    fitted = perf_counter()
    probabilities = annotator.annotate(questions)
    annotated = perf_counter()
    return Run(
        part=part.name,
        seed=seed,
        n_tagged=int(part.tagged.tagged.sum()),
        n_hidden=len(part.hidden),
        n_words=part.tagged.n_words,
        fit_seconds=fitted - start,
        annotate_seconds=annotated - fitted,
        stopped=str(annotator.result_),
        measures=summary(probabilities, part.hidden.captions, k),
    )
