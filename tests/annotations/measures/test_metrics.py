"""Measures: the worked examples of their definitions, properties, and a naive loop for each vectorised form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from topicture.annotations.measures import metrics
from topicture.errors import CorpusError

# Words a..e. Rankings: a c e b d, and a b c d e (a and b tie).
SCORES = np.array([[0.40, 0.10, 0.25, 0.05, 0.20], [0.30, 0.30, 0.20, 0.15, 0.05]])
TRUTH = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 1, 0]])

# The same examples on every run, however slow the machine.
steady = settings(derandomize=True, deadline=None)

RANKING_MEASURES = [
    metrics.accuracy,
    metrics.complete_length,
    lambda s, t: metrics.hit_rate(s, t, 2),
    lambda s, t: metrics.top_k_f1(s, t, 2),
    lambda s, t: metrics.per_word(s, t, 2),
    lambda s, t: metrics.threshold_sweep(s, t).best,
    lambda s, t: metrics.threshold_sweep(s, t).scores,
    lambda s, t: metrics.threshold_sweep(s, t).n_words,
]
# Measures that read the values themselves, or rank images.
PROBABILITY_MEASURES = [metrics.caption_perplexity, metrics.mean_average_precision]
MEASURES = RANKING_MEASURES + PROBABILITY_MEASURES


@st.composite
def cases(draw, min_true=0, ties=True):
    """Scores of 1..6 images and 1..6 words (many ties) and counts; some images may have no true word."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    # Sixteenths are exact, so sums of them tie exactly.
    elements = st.integers(0, 16).map(lambda n: n / 16) if ties else st.floats(0, 1, width=32)
    scores = draw(hnp.arrays(np.float64, shape, elements=elements))
    truth = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 2)))
    if min_true:
        truth[:, draw(st.integers(0, shape[1] - 1))] = 1
    return scores, truth


# --- Worked examples ----------------------------------------------------------------------------------------


def test_rank_breaks_ties_by_index_and_puts_nan_with_minus_infinity():
    assert metrics.rank([0.2, 0.5, 0.5, np.nan, 0.1, 0.5, -np.inf]).tolist() == [1, 2, 5, 0, 4, 3, 6]
    assert metrics.rank(SCORES).tolist() == [[0, 2, 4, 1, 3], [0, 1, 2, 3, 4]]


def test_accuracy_example():
    assert metrics.accuracy(SCORES, TRUTH) == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_complete_length_example():
    assert metrics.complete_length(SCORES, TRUTH) == 4


def test_hit_rate_example():
    assert metrics.hit_rate(SCORES, TRUTH, 1) == 0.5
    assert metrics.hit_rate(SCORES, TRUTH, 2) == 1.0


def test_normalised_score_example():
    predicted = np.array([[1, 0, 1, 0, 0], [1, 1, 1, 0, 0]])
    assert metrics.normalised_score(predicted, TRUTH) == pytest.approx(1 / 6)
    assert metrics.normalised_score(sparse.csr_array(predicted), TRUTH) == pytest.approx(1 / 6)


def test_threshold_sweep_example():
    sweep = metrics.threshold_sweep(SCORES, TRUTH)
    assert sweep.best == pytest.approx(0.416667, abs=1e-6)
    assert sweep.threshold == 0.05
    assert sweep.thresholds.tolist() == [-np.inf, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4]
    assert sweep.n_words.tolist() == [5.0, 4.0, 3.5, 3.0, 2.0, 1.5, 0.5, 0.0]


def test_a_fractional_number_of_words_rounds_half_up():
    lists = np.array([[0, 2, 4, 1, 3], [0, 1, 2, 3, 4]])
    three_words = np.array([[1, 0, 1, 0, 1], [1, 1, 1, 0, 0]])
    expected = metrics.normalised_score(three_words, TRUTH)
    assert metrics.normalised_score_of_lists(lists, TRUTH, 2.5) == pytest.approx(expected)


def test_a_short_list_stays_short():
    lists = np.array([[1, -1, -1], [3, 2, -1]])
    predicted = np.array([[0, 1, 0, 0, 0], [0, 0, 1, 1, 0]])
    values = metrics.normalised_score_of_lists(lists, TRUTH, [0.0, 3.0, 5.0])
    assert values == pytest.approx([0.0] + 2 * [metrics.normalised_score(predicted, TRUTH)])


def test_top_k_f1_example():
    assert metrics.top_k_f1(SCORES, TRUTH, 2) == pytest.approx(4 / 9)


def test_perplexity_example():
    assert metrics.caption_perplexity(SCORES, TRUTH) == pytest.approx(4.883593, abs=1e-6)


def test_perplexity_counts_tokens_and_is_infinite_at_zero_probability():
    assert metrics.caption_perplexity([[0.5, 0.25, 0.25]], [[2, 1, 0]]) == pytest.approx(2 ** (4 / 3))
    assert metrics.caption_perplexity([[1.0, 0.0]], [[1, 1]]) == math.inf
    assert metrics.caption_perplexity([[1.0, 0.0]], [[1, 0]]) == 1.0


def test_held_out_nll_leaves_out_images_without_caption_when_told():
    assert metrics.held_out_nll([-2.0, -4.0, -9.0]) == 5.0
    assert metrics.held_out_nll([-2.0, -4.0, -9.0], [[1, 0], [0, 1], [0, 0]]) == 3.0


def test_retrieval_example():
    assert metrics.retrieval_scores([[0.4, 0.6]], [0, 1]) == pytest.approx([math.log(0.24)])
    assert metrics.relevance([[1, 1, 0], [1, 0, 1], [2, 3, 0]], [0, 1]).tolist() == [True, False, True]
    curve = metrics.precision_recall([0.4, 0.3, 0.3, 0.1], [False, True, False, True])
    assert curve.order.tolist() == [0, 1, 2, 3]
    assert curve.precision == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    assert curve.recall == pytest.approx([0, 1 / 2, 1 / 2, 1])
    assert metrics.average_precision([0.4, 0.3, 0.3, 0.1], [False, True, False, True]) == pytest.approx(1 / 2)


def test_queries_without_a_relevant_image_do_not_count():
    truth = np.array([[1, 0, 0], [1, 1, 0]])
    scores = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1]])
    assert metrics.average_precisions(scores, truth) == pytest.approx([1.0, 1.0, np.nan], nan_ok=True)
    assert metrics.mean_average_precision(scores, truth) == 1.0
    assert math.isnan(metrics.mean_average_precision(scores, truth, [[2]]))
    assert math.isnan(metrics.average_precision([0.1, 0.2], [0, 0]))
    assert np.isnan(metrics.precision_recall([0.1, 0.2], [0, 0]).recall).all()


def test_single_and_several_word_queries_are_reported_separately():
    truth = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]])
    scores = np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    queries = [(0,), (1,), (0, 1), (1, 2)]
    by_length = metrics.mean_average_precision_by_length(scores, truth, queries)
    assert by_length == {
        1: pytest.approx(metrics.mean_average_precision(scores, truth, [(0,), (1,)])),
        2: pytest.approx(metrics.mean_average_precision(scores, truth, [(0, 1), (1, 2)])),
    }


def test_caption_queries_are_the_word_sets_of_captions():
    truth = np.array([[1, 0, 1, 0], [0, 1, 1, 1], [0, 0, 0, 0]])
    assert metrics.caption_queries(truth, 1) == [(0,), (1,), (2,), (3,)]
    assert metrics.caption_queries(truth, 2) == [(0, 2), (1, 2), (1, 3), (2, 3)]
    assert metrics.caption_queries(truth, 3) == [(1, 2, 3)]


def test_regions_with_unknown_label_do_not_count():
    scores = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.4, 0.5, 0.1]])
    labels = [0, 2, -1, 2]
    assert metrics.region_accuracy(scores, labels, 1) == pytest.approx(1 / 3)
    assert metrics.region_accuracy(scores, labels, 2) == pytest.approx(2 / 3)
    assert metrics.region_f1(scores, labels, 1) == metrics.region_accuracy(scores, labels, 1)
    assert metrics.region_f1(scores, labels, 2) == pytest.approx(2 * (2 / 3) / 3)
    assert math.isnan(metrics.region_accuracy(scores, [-1] * 4))


def test_per_word_counts_words_of_the_truth_only():
    # Predicted: a c for image 1, a b for image 2. True: a b, and b c d.
    result = metrics.per_word(SCORES, TRUTH, 2)
    assert result.precision == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)  # a b c d; e is in no caption
    assert result.recall == pytest.approx((1 + 1 / 2 + 0 + 0) / 4)
    assert result.f1 == pytest.approx(3 / 8)
    assert (result.n_plus, result.n_words) == (2, 4)


def test_per_word_f1_is_zero_when_nothing_is_right():
    assert metrics.per_word([[0.9, 0.1]], [[0, 1]], 1) == (0.0, 0.0, 0.0, 0, 1)


# --- Edges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_no_image_with_truth_gives_nan(measure):
    assert np.isnan(measure(SCORES, np.zeros_like(TRUTH))).any()


def test_lists_and_sets_without_truth_give_nan():
    assert math.isnan(metrics.normalised_score(TRUTH, np.zeros_like(TRUTH)))
    assert np.isnan(metrics.normalised_score_of_lists([[0], [1]], np.zeros_like(TRUTH), [1, 2])).all()
    assert math.isnan(metrics.held_out_nll([-1.0, -2.0], np.zeros_like(TRUTH)))


def test_every_word_true_has_no_second_term():
    assert metrics.normalised_score([[1, 0]], [[1, 1]]) == 0.5
    assert metrics.threshold_sweep([[0.7, 0.3]], [[1, 1]]).best == 1.0


def test_no_threshold_lets_nan_or_minus_infinity_through():
    sweep = metrics.threshold_sweep([[np.nan, 0.5, -np.inf]], [[1, 1, 0]])
    assert sweep.thresholds.tolist() == [-np.inf, 0.5]
    assert sweep.n_words.tolist() == [1.0, 0.0]
    assert sweep.scores.tolist() == [0.5, 0.0]
    assert metrics.threshold_sweep([[np.nan, np.nan]], [[1, 0]]).thresholds.tolist() == [-np.inf]


def test_equal_normalised_scores_choose_the_smallest_threshold():
    # t = .1 predicts {a, b, c}, t = .3 predicts {a}: both score 1/2.
    sweep = metrics.threshold_sweep([[0.4, 0.3, 0.2, 0.1]], [[1, 0, 1, 0]])
    assert (sweep.best, sweep.threshold) == (0.5, 0.1)


@pytest.mark.parametrize("measure", MEASURES)
def test_shapes_must_agree(measure):
    with pytest.raises(CorpusError, match="shape"):
        measure(SCORES, TRUTH[:, :4])


def test_lists_and_labels_must_fit_the_vocabulary():
    with pytest.raises(CorpusError, match="lists"):
        metrics.normalised_score_of_lists([[0, 5], [1, 2]], TRUTH, 1)
    with pytest.raises(CorpusError, match="labels"):
        metrics.region_accuracy(SCORES, [0, 5])


@pytest.mark.parametrize("measure", [metrics.hit_rate, metrics.top_k_f1, metrics.per_word])
def test_k_is_at_least_one(measure):
    with pytest.raises(ValueError, match="at least 1"):
        measure(SCORES, TRUTH, 0)


def test_retrieval_refuses_negative_scores_and_empty_queries():
    with pytest.raises(CorpusError, match="negative"):
        metrics.mean_average_precision(-SCORES, TRUTH)
    with pytest.raises(CorpusError, match="at least one word"):
        metrics.retrieval_scores(SCORES, [])
    with pytest.raises(CorpusError, match="at least one word"):
        metrics.mean_average_precision(SCORES, TRUTH, [[]])


# --- Properties ---------------------------------------------------------------------------------------------


@steady
@given(cases(min_true=1))
def test_perfect_scores_give_perfect_measures(case):
    _, truth = case
    perfect = (truth > 0).astype(float)
    assert metrics.accuracy(perfect, truth) == 1
    assert metrics.hit_rate(perfect, truth, 1) == 1
    assert metrics.complete_length(perfect, truth) == pytest.approx((truth > 0).sum(axis=1).mean())
    assert metrics.threshold_sweep(perfect, truth).best == pytest.approx(1)
    assert metrics.normalised_score(truth, truth) == pytest.approx(1)
    assert metrics.mean_average_precision(perfect, truth) == 1


@steady
@given(cases())
def test_predicting_nothing_or_everything_scores_zero(case):
    scores, truth = case
    truth[:, -1] = 0  # at least one word is false
    if not truth.any():
        return
    assert metrics.normalised_score(np.zeros_like(scores), truth) == 0
    assert metrics.normalised_score(np.ones_like(scores), truth) == pytest.approx(0, abs=1e-12)
    assert metrics.threshold_sweep(scores, truth).scores[[0, -1]] == pytest.approx([0, 0], abs=1e-12)


@steady
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_images_changes_nothing(case, random):
    scores, truth = case
    order = random.sample(range(len(scores)), len(scores))
    for measure in [*RANKING_MEASURES, metrics.caption_perplexity]:
        expected, got = measure(scores, truth), measure(scores[order], truth[order])
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_the_order_of_images_changes_no_mean_average_precision():
    rng = np.random.default_rng(0)
    scores, truth = rng.dirichlet(np.ones(6), size=20), rng.integers(0, 2, (20, 6))
    order = rng.permutation(20)
    expected = metrics.mean_average_precision(scores, truth)
    assert metrics.mean_average_precision(scores[order], truth[order]) == pytest.approx(expected, rel=1e-12)


@steady
@given(cases())
def test_ranking_measures_ignore_monotone_transforms(case):
    scores, truth = case
    for measure in RANKING_MEASURES:
        np.testing.assert_array_equal(measure(scores, truth), measure(np.exp(3 * scores) - 2, truth))


@steady
@given(cases())
def test_sparse_truth_equals_dense_truth(case):
    scores, truth = case
    for measure in MEASURES:
        np.testing.assert_array_equal(measure(scores, truth), measure(scores, sparse.csr_array(truth)))


@steady
@given(cases())
def test_images_without_truth_change_no_measure_of_words(case):
    scores, truth = case
    more = np.vstack([scores, np.ones((2, scores.shape[1]))])
    unjudged = np.vstack([truth, np.zeros((2, truth.shape[1]), dtype=int)])
    for measure in [*RANKING_MEASURES, metrics.caption_perplexity]:
        np.testing.assert_array_equal(measure(scores, truth), measure(more, unjudged))


# --- The slow twins -----------------------------------------------------------------------------------------


def naive_order(scores):
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def naive_normalised_score(predicted, true, n_words):
    wrong = len(predicted - true) / (n_words - len(true)) if n_words > len(true) else 0
    return len(predicted & true) / len(true) - wrong


def naive(scores, truth, k):
    """Every ranking measure by the letter of its definition, one image at a time."""
    n_words = scores.shape[1]
    images = [(row, set(np.flatnonzero(t).tolist())) for row, t in zip(scores, truth, strict=True) if t.any()]
    orders = [naive_order(row) for row, _ in images]
    truths = [true for _, true in images]
    tops = [set(order[:k]) for order in orders]
    sweep = []
    for t in [-np.inf, *sorted({value for row, _ in images for value in row})]:
        sets = [{w for w in range(n_words) if row[w] > t} for row, _ in images]
        sweep.append(
            np.mean([naive_normalised_score(s, y, n_words) for s, y in zip(sets, truths, strict=True)])
        )
    pairs = list(zip(orders, truths, strict=True))
    found = [len(top & true) for top, true in zip(tops, truths, strict=True)]
    return {
        "accuracy": np.mean([len(set(order[: len(true)]) & true) / len(true) for order, true in pairs]),
        "complete_length": np.mean([1 + max(order.index(w) for w in true) for order, true in pairs]),
        "hit_rate": np.mean([n > 0 for n in found]),
        "f1": 2 * sum(found) / (sum(map(len, tops)) + sum(map(len, truths))),
        "sweep": sweep,
        "per_word": naive_per_word(tops, truths, n_words),
    }


def naive_per_word(tops, truths, n_words):
    precision, recall = [], []
    for word in range(n_words):
        true = sum(word in y for y in truths)
        predicted = sum(word in top for top in tops)
        right = sum(word in top and word in y for top, y in zip(tops, truths, strict=True))
        if true:
            precision.append(right / predicted if predicted else 0)
            recall.append(right / true)
    return np.mean(precision), np.mean(recall), sum(r > 0 for r in recall)


def naive_average_precision(scores, relevant):
    order = naive_order(scores)
    found, precisions = 0, []
    for position, image in enumerate(order, start=1):
        if relevant[image]:
            found += 1
            precisions.append(found / position)
    return np.mean(precisions) if precisions else np.nan


@steady
@given(cases(), st.integers(1, 7))
def test_vectorised_measures_equal_a_naive_loop(case, k):
    scores, truth = case
    if not truth.any():
        return
    expected = naive(scores, truth, k)
    sweep, words = metrics.threshold_sweep(scores, truth), metrics.per_word(scores, truth, k)
    assert metrics.accuracy(scores, truth) == pytest.approx(expected["accuracy"])
    assert metrics.complete_length(scores, truth) == pytest.approx(expected["complete_length"])
    assert metrics.hit_rate(scores, truth, k) == pytest.approx(expected["hit_rate"])
    assert metrics.top_k_f1(scores, truth, k) == pytest.approx(expected["f1"])
    assert sweep.scores == pytest.approx(expected["sweep"], abs=1e-12)
    assert sweep.best == pytest.approx(max(expected["sweep"]), abs=1e-12)
    assert (words.precision, words.recall, words.n_plus) == pytest.approx(expected["per_word"])


def test_the_sweep_orders_scores_of_any_size_and_sign():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 40)) * 10.0 ** rng.integers(-320, 300, size=(30, 40))
    scores[0, :6] = [0.0, -0.0, np.inf, -np.inf, np.nan, np.copysign(np.nan, -1)]
    truth = rng.random((30, 40)) < 0.2
    sweep = metrics.threshold_sweep(scores, truth)
    finite = scores[~np.isnan(scores)]
    np.testing.assert_array_equal(sweep.thresholds, np.unique(finite))
    some = rng.choice(len(sweep.thresholds), 50)
    expected = [metrics.normalised_score(scores > t, truth) for t in sweep.thresholds[some]]
    assert sweep.scores[some] == pytest.approx(expected, abs=1e-12)
    assert sweep.n_words[some] == pytest.approx([(scores > t).sum() / 30 for t in sweep.thresholds[some]])


@steady
@given(cases(), st.data())
def test_average_precision_equals_a_naive_loop(case, data):
    scores, truth = case
    n_words = scores.shape[1]
    query = st.lists(st.integers(0, n_words - 1), min_size=1, max_size=3, unique=True)
    queries = data.draw(st.lists(query, min_size=1, max_size=4))
    expected = [
        naive_average_precision(metrics.retrieval_scores(scores, q), (truth[:, q] > 0).all(axis=1))
        for q in queries
    ]
    assert metrics.average_precisions(scores, truth, queries) == pytest.approx(expected, nan_ok=True)


@steady
@given(cases())
def test_single_words_are_the_default_queries(case):
    scores, truth = case
    one_word = [[w] for w in range(scores.shape[1])]
    np.testing.assert_array_equal(
        metrics.average_precisions(scores, truth), metrics.average_precisions(scores, truth, one_word)
    )


def test_many_queries_are_worked_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    scores, truth = rng.random((7, 5)), rng.integers(0, 2, (7, 5))
    queries = metrics.caption_queries(truth, 2)
    at_once = metrics.average_precisions(scores, truth, queries)
    monkeypatch.setattr("topicture.annotations.measures.retrieval.BLOCK_SCORES", 7 * 3)
    np.testing.assert_array_equal(metrics.average_precisions(scores, truth, queries), at_once)


@steady
@given(cases(ties=False))
def test_rank_equals_a_stable_sort(case):
    scores, _ = case
    expected = [naive_order(row.tolist()) for row in scores]
    assert metrics.rank(scores).tolist() == expected


# --- Summary ------------------------------------------------------------------------------------------------


@steady
@given(cases(), st.integers(1, 4))
def test_summary_equals_the_single_measures(case, k):
    scores, truth = case
    result = metrics.summary(scores, truth, k)
    words, sweep = metrics.per_word(scores, truth, k), metrics.threshold_sweep(scores, truth)
    judged = int((truth > 0).any(axis=1).sum())
    expected = {
        "accuracy": metrics.accuracy(scores, truth),
        "complete_length": metrics.complete_length(scores, truth),
        "hit_rate": metrics.hit_rate(scores, truth, k),
        "normalised_score": sweep.best,
        "threshold": sweep.threshold,
        "f1": metrics.top_k_f1(scores, truth, k),
        "perplexity": metrics.caption_perplexity(scores, truth),
        "mean_average_precision": metrics.mean_average_precision(scores, truth),
        "word_precision": words.precision,
        "word_recall": words.recall,
        "word_f1": words.f1,
        "n_plus": words.n_plus,
        "top_k": k,
        "n_images": judged,
        "n_skipped": len(truth) - judged,
    }
    assert result.as_dict() == pytest.approx(expected, nan_ok=True)
