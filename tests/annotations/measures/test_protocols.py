"""Experiments: what the annotator sees, seeds, and how runs become mean and standard error."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from topicture.annotations.measures import metrics
from topicture.annotations.measures.protocols import (
    Experiment,
    Part,
    comparison,
    folds,
    random_splits,
    run_experiment,
    with_training_words,
)
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator

N_IMAGES, N_WORDS = 40, 5


def make_corpus(seed=0, prefix="image"):
    """Every visual word v stands for the caption word v; images carry two of them."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((N_IMAGES, N_WORDS))
    for row in counts:
        row[rng.choice(N_WORDS, 2, replace=False)] = 1
    return Corpus.from_arrays(
        captions=counts,
        vocabulary=["sky", "sea", "tree", "cat", "car"],
        visual_words=counts,
        image_ids=[f"{prefix}{i:02d}" for i in range(N_IMAGES)],
    )


class CountingAnnotator(Annotator):
    """p(w | image) from word and visual word counts seen together; remembers what it was given."""

    name = "counting"

    def __init__(self, log=None):
        self.log = log

    def _fit(self, corpus, callback):
        if self.log is not None:
            self.log.append(corpus)
        self.p_ = (corpus.visual_words.T @ corpus.captions).toarray() + 1e-3
        self.result_ = "counted"

    def _annotate(self, corpus):
        assert not corpus.tagged.any(), "the truth must stay hidden"
        scores = corpus.visual_words @ self.p_
        return scores / scores.sum(axis=1, keepdims=True)


class SeededAnnotator(CountingAnnotator):
    """Annotates at random, by its seed."""

    name = "seeded"

    def __init__(self, log=None, seed=99):
        self.log, self.seed = log, seed

    def _annotate(self, corpus):
        return np.random.default_rng(self.seed).dirichlet(np.ones(corpus.n_words), size=len(corpus))


@pytest.fixture
def parts():
    return list(random_splits(make_corpus(), 0.25, seeds=[0, 1, 2]))


def test_semi_supervised_learns_from_one_joint_corpus_with_hidden_captions(parts):
    log = []
    result = run_experiment(lambda: CountingAnnotator(log), parts[:1], protocol="semi-supervised")
    (joint,) = log
    tagged, hidden = parts[0].tagged, parts[0].hidden
    assert joint.image_ids.tolist() == sorted(tagged.image_ids.tolist() + hidden.image_ids.tolist())
    assert joint.image_ids[joint.tagged].tolist() == sorted(tagged.image_ids.tolist())
    assert (result.runs[0].n_tagged, result.runs[0].n_hidden) == (10, 30)


def test_train_test_learns_from_the_tagged_images_alone(parts):
    log = []
    run_experiment(lambda: CountingAnnotator(log), parts[:1], protocol="train-test")
    assert log == [parts[0].tagged]


def test_measures_are_those_of_the_hidden_captions(parts):
    result = run_experiment(CountingAnnotator, parts[:1], protocol="train-test", k=2)
    annotator = CountingAnnotator().fit(parts[0].tagged)
    expected = metrics.summary(
        annotator.annotate(parts[0].hidden.without_captions()), parts[0].hidden.captions, 2
    )
    assert result.runs[0].measures == expected
    assert expected.accuracy > 0.7  # the fake is a fair annotator, so this test can tell right from wrong


def test_every_seed_is_set_and_repeats(parts):
    runs = run_experiment(SeededAnnotator, parts[:2], seeds=[3, 4]).runs
    assert [(run.part, run.seed) for run in runs] == [
        ("split 0", 3),
        ("split 0", 4),
        ("split 1", 3),
        ("split 1", 4),
    ]
    assert runs[0].measures != runs[1].measures
    again = run_experiment(SeededAnnotator, parts[:2], seeds=[3, 4]).runs
    assert [run.measures for run in again] == [run.measures for run in runs]


def test_an_annotator_without_seed_runs_once_a_part(parts):
    told = []
    result = run_experiment(CountingAnnotator, iter(parts), seeds=[1, 2, 3], on_run=told.append)
    assert [run.seed for run in result.runs] == [None] * 3
    assert tuple(told) == result.runs


def with_accuracies(values):
    """An experiment with given (part, accuracy) pairs."""
    run = run_experiment(CountingAnnotator, random_splits(make_corpus(), 0.5)).runs[0]
    return Experiment(
        "fake",
        "train-test",
        tuple(
            replace(run, part=part, seed=seed, measures=replace(run.measures, accuracy=accuracy))
            for seed, (part, accuracy) in enumerate(values)
        ),
    )


def test_standard_error_over_parts_averages_seeds_first():
    result = with_accuracies([("a", 0.1), ("a", 0.3), ("b", 0.4), ("b", 0.6), ("c", 0.5), ("c", 0.7)])
    parts = np.array([0.2, 0.5, 0.6])
    assert result.mean()["accuracy"] == pytest.approx(parts.mean())
    assert result.standard_error()["accuracy"] == pytest.approx(parts.std(ddof=1) / math.sqrt(3))


def test_standard_error_over_seeds_of_one_part():
    result = with_accuracies([("a", 0.1), ("a", 0.3)])
    assert result.mean()["accuracy"] == pytest.approx(0.2)
    assert result.standard_error()["accuracy"] == pytest.approx(0.1)


def test_one_run_has_no_standard_error():
    result = with_accuracies([("a", 0.25)])
    assert math.isnan(result.standard_error()["accuracy"])
    last = result.table().splitlines()[-1]
    assert last.startswith("mean ± s.e.")
    assert "0.250" in last
    assert "± 0" not in last


def test_table_shows_runs_and_mean_with_standard_error():
    lines = str(with_accuracies([("a", 0.1), ("b", 0.3)])).splitlines()
    assert lines[0] == "fake, train-test"
    assert lines[1].split()[:2] == ["run", "accuracy"]
    assert "F1@5" in lines[1]
    assert lines[3].startswith("a, seed 0 ")
    assert lines[-1].startswith("mean ± s.e.  0.200 ± 0.100")
    assert len({len(line) for line in lines[1:]}) == 1


def test_comparison_has_a_line_per_experiment(parts):
    experiments = [run_experiment(make, parts[:2]) for make in (CountingAnnotator, SeededAnnotator)]
    lines = comparison(experiments).splitlines()
    assert [line.split()[0] for line in lines if "--" not in line] == ["annotator", "counting", "seeded"]


def test_skipped_images_are_reported():
    corpus = make_corpus()
    untagged = np.arange(N_IMAGES) % 8 == 0
    corpus = corpus.without_captions(untagged)
    result = run_experiment(CountingAnnotator, random_splits(corpus, 0.5))
    skipped = result.runs[0].measures.n_skipped
    assert 0 < skipped < untagged.sum()
    assert f"{skipped} hidden images without a true word" in result.table()


def test_json_is_strict_and_complete():
    result = with_accuracies([("a", 0.1), ("a", math.inf)])
    read = json.loads(result.to_json(), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert read["mean"]["accuracy"] == "inf"
    assert read["standard_error"]["accuracy"] is None
    assert [run["part"] for run in read["runs"]] == ["a", "a"]
    assert read["runs"][0]["measures"]["accuracy"] == 0.1
    assert read["runs"][0]["stopped"] == "counted"


def test_words_that_no_tagged_image_carries_are_dropped():
    corpus = make_corpus()
    has_cat = corpus.captions[:, [3]].toarray().ravel() > 0
    part = with_training_words(Part("no cats", corpus[~has_cat], corpus[has_cat]))
    assert part.tagged.vocabulary.words == part.hidden.vocabulary.words == ("sky", "sea", "tree", "car")
    np.testing.assert_array_equal(
        part.hidden.captions.toarray(), corpus[has_cat].captions.toarray()[:, [0, 1, 2, 4]]
    )
    assert (
        run_experiment(CountingAnnotator, [Part("no cats", corpus[~has_cat], corpus[has_cat])])
        .runs[0]
        .n_words
        == 4
    )


def test_parts_that_can_not_be_learned_are_refused():
    corpus, other = make_corpus(), make_corpus(prefix="other")
    with pytest.raises(CorpusError, match="none of the 40 tagged images carries a word"):
        run_experiment(CountingAnnotator, [Part("empty", corpus.without_captions(), other)])
    foreign = Corpus.from_arrays(captions=other.captions, visual_words=other.visual_words)
    with pytest.raises(CorpusError, match="different vocabularies"):
        run_experiment(CountingAnnotator, [Part("foreign", corpus, foreign)])
    with pytest.raises(CorpusError, match="at least one part"):
        run_experiment(CountingAnnotator, [])
    with pytest.raises(ValueError, match="train-test"):
        run_experiment(CountingAnnotator, [], protocol="guess")


def test_random_splits_are_disjoint_and_repeat_with_the_seed():
    corpus = make_corpus()
    first, again, other = (next(random_splits(corpus, 0.25, [seed])) for seed in (7, 7, 8))
    assert sorted([*first.tagged.image_ids, *first.hidden.image_ids]) == corpus.image_ids.tolist()
    assert first.tagged == again.tagged
    assert first.tagged != other.tagged


def test_every_image_is_hidden_in_exactly_one_fold():
    corpus = make_corpus()
    parts = list(folds(corpus, 3, seed=1))
    hidden = [image for part in parts for image in part.hidden.image_ids]
    assert sorted(hidden) == corpus.image_ids.tolist()
    assert sorted(len(part.hidden) for part in parts) == [13, 13, 14]
    for part in parts:
        assert not set(part.tagged.image_ids) & set(part.hidden.image_ids)
    with pytest.raises(ValueError, match="n_folds"):
        next(folds(corpus, 1))


def test_how_complete_captions_are_is_cut_with_the_words():
    corpus = Corpus.from_arrays([[1, 0, 0], [0, 0, 1], [0, 1, 0]], answers=[[0, -1, 0], [0, 0, 0], [0, 0, 0]])
    corpus = corpus.with_omissions([0.2, 0.4, 0.6], ["a", "b", "a"])
    part = with_training_words(Part("without the middle", corpus[:2], corpus[2:]))
    assert part.tagged.completeness.tolist() == [0.2, 0.6]
    assert part.tagged.places.tolist() == [0, 1]
    assert part.tagged.answers is None


def test_vectors_of_words_are_cut_with_the_words():
    corpus = Corpus.from_arrays([[1, 0, 0], [0, 0, 1], [0, 1, 0]], word_vectors=[[1.0], [2.0], [3.0]])
    part = with_training_words(Part("without the middle", corpus[:2], corpus[2:]))
    assert part.tagged.word_vectors.tolist() == part.hidden.word_vectors.tolist() == [[1.0], [3.0]]
