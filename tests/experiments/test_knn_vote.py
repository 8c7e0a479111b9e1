"""The vote of nearest neighbours: against a plain double loop, its limits, and the choice of its rule."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from topicture_experiments.shared.knn_vote import Rule, choose_rule, random_folds, vote

from topicture.models.neighbours import nearest


def plain_vote(queries, features, words, rule):
    """The definition, query by query."""
    answers = []
    for query in queries:
        cosine = features @ query / np.linalg.norm(features, axis=1) / np.linalg.norm(query)
        best = np.argsort(-cosine, kind="stable")[: rule.n_neighbours]
        mass = sum(np.exp(rule.sharpness * cosine[n]) * words[n] for n in best)
        answers.append(mass / mass.sum() if mass.sum() else mass)
    return np.array(answers)


@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from([0.0, 5.0, 40.0]))
def test_vote_is_the_definition(seed, n_neighbours, sharpness):
    rng = np.random.default_rng(seed)
    queries, features = rng.normal(size=(4, 3)), rng.normal(size=(9, 3))
    words = rng.poisson(0.7, (9, 5)).astype(float)
    rule = Rule(n_neighbours, sharpness)
    answer = vote(nearest(queries, features, n_neighbours), sparse.csr_array(words), rule)
    np.testing.assert_allclose(answer, plain_vote(queries, features, words, rule), atol=1e-12)


def test_sharp_votes_do_not_overflow_and_go_to_the_nearest(rng):
    features = rng.normal(size=(6, 4))
    words = sparse.csr_array(np.eye(6))
    answer = vote(nearest(features, features, 6), words, Rule(6, 1e6))
    np.testing.assert_allclose(answer, np.eye(6), atol=1e-12)


def test_neighbours_without_words_give_zeros(rng):
    features = rng.normal(size=(5, 2))
    answer = vote(nearest(features, features, 3), sparse.csr_array((5, 4)), Rule(3, 5.0))
    assert not answer.any()


def test_choice_takes_the_rule_that_is_right_on_hidden_folds(rng):
    # Pairs of near twins share a word that no other row has: the nearest is right, and an equal vote of five is not.
    twins = np.repeat(rng.normal(size=(20, 8)), 2, axis=0) + 0.01 * rng.normal(size=(40, 8))
    words = np.repeat(np.eye(20), 2, axis=0)
    words[:, 0] += 0.9  # a frequent word that wins every equal vote
    fold_of = np.tile([0, 1], 20)
    truth = np.repeat(np.arange(20), 2)

    def right(scores, rows):
        return float((scores.argmax(axis=1) == truth[rows]).mean())

    rules = (Rule(5, 0.0), Rule(1, 0.0), Rule(2, 0.0))
    assert choose_rule(twins, sparse.csr_array(words), fold_of, right, rules) == Rule(1, 0.0)
    # Equally good candidates: the first stays.
    assert choose_rule(twins, sparse.csr_array(words), truth, lambda scores, rows: 0.0, rules) == rules[0]


def test_rows_of_one_fold_do_not_answer_for_one_another(rng):
    features = rng.normal(size=(12, 3))
    words = sparse.csr_array(np.eye(12))
    fold_of = np.arange(12) % 3
    scores = np.zeros((12, 12))

    def note(answers, rows):
        scores[rows] = answers
        return 0.0

    choose_rule(features, words, fold_of, note, [Rule(12, 1.0)])
    same_fold = fold_of[:, None] == fold_of
    assert not scores[same_fold].any()
    assert (scores[~same_fold] > 0).all()


def test_folds_are_even_and_seeded():
    folds = random_folds(23, 5, seed=3)
    assert sorted(np.bincount(folds)) == [4, 4, 5, 5, 5]
    np.testing.assert_array_equal(folds, random_folds(23, 5, seed=3))
    assert (folds != random_folds(23, 5, seed=4)).any()
