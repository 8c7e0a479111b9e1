"""Learning curves on annotators whose quality is known."""

import math
from typing import ClassVar

import numpy as np
import pytest

from topicture.annotations.choice import quality_curves
from topicture.annotations.choice.quality_curves import (
    Curve,
    CurvePoint,
    Gain,
    gain_of_last_step,
    learning_curve,
    quality_by_topics,
)
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.registry import make_annotator


def clear_corpus(n=48, n_untagged=6):
    """Photos of four kinds, each with its word: whoever has seen a word once can find it."""
    kind = np.arange(n + n_untagged) % 4
    captions = np.eye(4)[kind]
    captions[n:] = 0
    noise = np.random.default_rng(0).normal(0, 0.01, (len(kind), 4))
    return Corpus.from_arrays(captions=captions, descriptor=np.eye(4)[kind] + noise)


class Oracle:
    """Says the truth about the words that it has seen; counts what it was shown."""

    shown: ClassVar[list[int]] = []

    def __init__(self, n_topics=4):
        self.n_topics = n_topics

    def fit(self, corpus):
        Oracle.shown.append(int(corpus.tagged.sum()))
        seen = np.asarray(corpus.captions.sum(axis=0)).ravel() > 0
        self.words = seen & (np.arange(4) < self.n_topics)
        return self

    def annotate(self, corpus):
        assert not corpus.tagged.any()
        p = np.where(self.words, np.maximum(corpus.descriptor, 0), 0) + 1e-3
        return p / p.sum(axis=1, keepdims=True)


def test_shares_are_nested_and_the_test_part_stays_hidden():
    Oracle.shown = []
    curve = learning_curve(Oracle, clear_corpus(), shares=(0.25, 0.5, 1.0), n_draws=3)
    assert Oracle.shown == [8, 16, 32] * 3  # of 48 tagged photos a third is judged on
    assert [point.x for point in curve.points] == [8, 16, 32]
    assert [point.n for point in curve.points] == [3, 3, 3]
    assert curve.complete
    assert curve.points[-1].accuracy == 1.0
    assert curve.points[-1].map_error == 0.0


def test_quality_rises_with_the_words_seen():
    curve = learning_curve(Oracle, clear_corpus(), shares=(1 / 32, 1.0), n_draws=2)
    first, last = curve.points
    assert first.x == 1
    assert first.accuracy < 0.6 < last.accuracy
    gain = gain_of_last_step(curve)
    assert gain.gain == pytest.approx(last.mean_average_precision - first.mean_average_precision)


def test_the_same_seed_gives_the_same_curve():
    corpus = clear_corpus()
    first, second = (learning_curve(lambda: make_annotator("knn"), corpus, n_draws=2) for _ in range(2))
    assert first == second


def test_time_bounds_the_fits(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(quality_curves, "perf_counter", lambda: now[0])

    class Slow(Oracle):
        def fit(self, corpus):
            now[0] += 10
            return super().fit(corpus)

    told = []
    curve = learning_curve(
        Slow,
        clear_corpus(),
        shares=(0.5, 1.0),
        n_draws=4,
        seconds=50,
        on_fit=lambda *done: told.append(done),
    )
    assert not curve.complete
    assert told == [(n, 8) for n in range(1, 6)]  # a sixth fit would end after 60 seconds
    assert [point.n for point in curve.points] == [2, 2]  # the third draw was not whole


def test_without_time_there_is_one_point():
    curve = learning_curve(Oracle, clear_corpus(), seconds=0.0)
    assert [point.n for point in curve.points] == [1]
    assert math.isnan(curve.points[0].map_error)
    assert gain_of_last_step(curve) is None


def test_quality_by_topics_finds_the_right_number():
    curve = quality_by_topics(Oracle, clear_corpus(), [1, 2, 4])
    assert [point.x for point in curve.points] == [1, 2, 4]
    accuracies = [point.accuracy for point in curve.points]
    assert accuracies == sorted(accuracies)
    assert accuracies[-1] == 1.0
    assert [point.n for point in curve.points] == [3, 3, 3]


def test_gains_are_paired_by_draw():
    points = tuple(CurvePoint(x, 0.0, 0.0, 0.0, 0.0, 2) for x in (5, 10))
    assert gain_of_last_step(Curve(points, {5: (0.1, 0.5), 10: (0.2, 0.6)}, True)) == Gain(
        5, 10, pytest.approx(0.1), pytest.approx(0.0, abs=1e-12)
    )


def test_too_few_tagged_photos_are_told():
    corpus = clear_corpus(n=4)
    with pytest.raises(CorpusError, match="4 tagged photos are too few"):
        learning_curve(Oracle, corpus)
    with pytest.raises(CorpusError, match="too few for 5 folds"):
        quality_by_topics(Oracle, corpus, [2], n_folds=5)
