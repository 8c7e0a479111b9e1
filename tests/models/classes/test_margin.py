"""The max-margin problem: oracle against enumeration, cutting planes against the full problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from topicture.models.classes import margin, margin_pairs
from topicture.models.classes.margin import MarginProblem, cut_at, hinge, solve, violated_pairs
from topicture.models.classes.margin_pairs import Oracle


def make_problem(seed, n=5, C=4, n_labelled=None, ties=False):
    rng = np.random.default_rng(seed)
    relevant = rng.random((n, C)) < 0.4
    relevant[np.arange(n), rng.integers(C, size=n)] = True
    relevant[relevant.all(axis=1), 0] = False
    zbar = rng.dirichlet(np.full(C, 0.7), n)
    if ties:
        zbar = np.round(4 * zbar) / 4
    return MarginProblem(zbar, relevant, None, C, n_labelled or n)


def pairs_by_enumeration(problem, w):
    """Counts and hinge, pair by pair."""
    s = problem.zbar * w
    counts, total = np.zeros(s.shape, int), 0.0
    for n, y in enumerate(problem.relevant):
        pairs = [(i, j) for i in np.flatnonzero(y) for j in np.flatnonzero(~y)]
        for i, j in pairs:
            if s[n, j] > s[n, i] - 1:
                counts[n, [i, j]] += 1
            total += max(0, 1 - (s[n, i] - s[n, j])) / len(pairs)
    return counts, total / problem.n_labelled


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_oracle_is_enumeration(seed, ties):
    problem = make_problem(seed, C=6, n_labelled=7, ties=ties)
    w = np.random.default_rng(seed + 1).exponential(2, 6)
    if ties:
        w = np.ceil(w) * 2  # scores meet the margin exactly
    counts, value = pairs_by_enumeration(problem, w)
    np.testing.assert_array_equal(violated_pairs(problem, w), counts)
    assert hinge(problem, w) == pytest.approx(value, abs=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_sorting_and_comparing_agree(seed, ties):
    problem = make_problem(seed, C=6, ties=ties)
    w = np.ceil(np.random.default_rng(seed + 1).exponential(2, 6)) * 2
    keys = np.where(problem.relevant, problem.zbar * w - 1, problem.zbar * w)
    most = int(problem.relevant.sum(axis=1).max())
    np.testing.assert_array_equal(
        margin_pairs._by_comparison(keys, problem.relevant, most),
        margin_pairs._by_sorting(keys, problem.relevant),
    )


def test_a_pair_exactly_on_the_margin_is_not_violated():
    problem = MarginProblem(np.array([[0.5, 0.5]]), np.array([[True, False]]), None, 2, 1)
    assert violated_pairs(problem, np.array([2.0, 0.0])).sum() == 0
    assert violated_pairs(problem, np.array([np.nextafter(2, 0), 0.0])).sum() == 2


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_cut_lies_below_the_hinge_and_touches_it(seed):
    rng = np.random.default_rng(seed)
    problem, at = make_problem(seed), rng.exponential(2, 4)
    cut = cut_at(problem, at)
    assert cut.d - cut.g @ at == pytest.approx(pairs_by_enumeration(problem, at)[1], abs=1e-12)
    for w in rng.exponential(3, (20, 4)):
        assert cut.d - cut.g @ w <= pairs_by_enumeration(problem, w)[1] + 1e-12


def test_candidates_are_the_dense_problem():
    """Classes that are not listed count as classes with zbar = 0."""
    dense = make_problem(3, n=6, C=9)
    zbar = np.where(dense.relevant | (np.random.default_rng(0).random((6, 9)) < 0.3), dense.zbar, 0)
    width = int((zbar > 0).sum(axis=1).max())
    classes = np.sort(np.argsort(-zbar, axis=1)[:, :width], axis=1)
    listed = MarginProblem(
        np.take_along_axis(zbar, classes, 1), np.take_along_axis(dense.relevant, classes, 1), classes, 9, 6
    )
    dense = dense._replace(zbar=zbar)
    assert (listed.relevant.sum(axis=1) == dense.relevant.sum(axis=1)).all()
    b, w = np.random.default_rng(1).random(9), np.random.default_rng(2).exponential(2, 9)
    assert hinge(listed, w) == pytest.approx(hinge(dense, w), rel=1e-12)
    np.testing.assert_allclose(
        solve(listed, b, 1.0, 30.0, tol=1e-10).w, solve(dense, b, 1.0, 30.0, tol=1e-10).w, atol=1e-6
    )


def full_problem(problem, b, nu1, nu2):
    """min over w and one slack a pair, all constraints at once, by a general solver."""
    C, rows, costs = len(b), [], []
    for zbar, y in zip(problem.zbar, problem.relevant, strict=True):
        pairs = [(i, j) for i in np.flatnonzero(y) for j in np.flatnonzero(~y)]
        for i, j in pairs:
            row = np.zeros(C)
            row[i], row[j] = zbar[i], -zbar[j]
            rows.append(row)
            costs.append(nu2 / (problem.n_labelled * len(pairs)))
    n, costs = len(rows), np.array(costs)
    margins = LinearConstraint(np.hstack([np.array(rows), np.eye(n)]), lb=1)
    found = minimize(
        lambda x: nu1 / 2 * x[:C] @ x[:C] - b @ x[:C] + costs @ x[C:],
        np.append(np.ones(C), np.full(n, 2.0)),
        jac=lambda x: np.append(nu1 * x[:C] - b, costs),
        bounds=[(0, None)] * (C + n),
        constraints=[margins],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    # 8: no step improves on it any more, which at this accuracy is as good as the other stops.
    assert found.success or found.status == 8, found.message
    return found.fun, found.x[:C]


@pytest.mark.parametrize("seed", range(6))
def test_cutting_planes_solve_the_full_problem(seed):
    rng = np.random.default_rng(100 + seed)
    problem, b = make_problem(seed, n_labelled=6), rng.random(4) * (seed % 2)
    nu1, nu2 = 1.0, float(rng.choice([0.5, 5, 50]))
    value, w = full_problem(problem, b, nu1, nu2)
    solution = solve(problem, b, nu1, nu2, tol=1e-10)
    assert solution.primal == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(solution.w, w, atol=2e-4)


@pytest.mark.parametrize("nu2", [0.0, 3.0, 300.0])
def test_the_multipliers_explain_the_weights(nu2):
    problem, b = make_problem(11, n=8, C=6), np.random.default_rng(0).random(6)
    solution = solve(problem, b, 2.0, nu2, tol=1e-10)
    np.testing.assert_allclose(solution.delta.sum(axis=1), 0, atol=1e-10)
    np.testing.assert_allclose(
        2.0 * solution.w, np.maximum(b + (solution.delta * problem.zbar).sum(axis=0), 0), atol=1e-5
    )
    bound = nu2 * problem.unit * (problem.n_classes - problem.relevant.sum(axis=1, keepdims=True))
    assert (np.where(problem.relevant, solution.delta, 0) <= bound + 1e-9).all()
    assert (np.where(problem.relevant, solution.delta, 0) >= -1e-12).all()


def test_the_gap_bounds_the_error_of_any_tolerance():
    problem, b = make_problem(5, n=30, C=8), np.zeros(8)
    exact = solve(problem, b, 1.0, 200.0, tol=1e-11)
    for tol in (1e-1, 1e-2, 1e-4):
        rough = solve(problem, b, 1.0, 200.0, tol=tol)
        assert rough.converged
        assert -1e-7 <= rough.primal - exact.primal <= rough.gap + 1e-9


def make_costly(n=300, C=40, most=3):
    """A problem whose slack costs so much that many planes matter."""
    rng = np.random.default_rng(3)
    relevant = np.argsort(rng.random((n, C)), axis=1) < most
    zbar = rng.dirichlet(np.full(C, 0.1), n) * 0.7 + 0.3 * relevant / most
    return MarginProblem(zbar, relevant, None, C, n), 100.0 * n


def test_warm_start_needs_fewer_cuts_and_never_worsens_the_start():
    (problem, nu2), b = make_costly(), np.zeros(40)
    cold = solve(problem, b, 1.0, nu2)
    moved = problem._replace(zbar=0.99 * problem.zbar + 0.01 / 40)
    again = solve(moved, b, 1.0, nu2, start=cold.w, warm=cold.touching)
    fresh = solve(moved, b, 1.0, nu2)
    assert again.n_cuts - len(cold.touching) < fresh.n_cuts
    at_start = 0.5 * cold.w @ cold.w + nu2 * hinge(moved, cold.w)
    assert again.primal <= at_start
    assert again.primal == pytest.approx(fresh.primal, rel=1e-3)


def test_too_few_cuts_are_reported():
    problem = make_problem(5, n=30, C=8)
    solution = solve(problem, np.zeros(8), 1.0, 200.0, max_cuts=1)
    assert not solution.converged
    assert solution.gap > 0


@pytest.mark.parametrize("most", [3, 18])
def test_a_high_price_of_slack_needs_few_cuts(most):
    """Without a search between them, cuts of such a problem number in the hundreds; with many labels it bisects."""
    problem, nu2 = make_costly(most=most)
    solution = solve(problem, np.zeros(40), 1.0, nu2)
    assert solution.converged
    assert solution.n_cuts < 150


def make_listed(seed):
    """The same problem with all classes listed, and with those that have zbar > 0 (or are relevant) only."""
    dense = make_problem(seed, n=6, C=9)
    zbar = np.where(dense.relevant | (np.random.default_rng(seed).random((6, 9)) < 0.3), dense.zbar, 0)
    width = max(int(((zbar > 0) | dense.relevant).sum(axis=1).max()), 1)
    classes = np.sort(np.argsort(-zbar - dense.relevant, axis=1)[:, :width], axis=1)
    listed = [np.take_along_axis(table, classes, 1) for table in (zbar, dense.relevant)]
    return dense._replace(zbar=zbar), MarginProblem(*listed, classes, 9, 6)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_planes_are_those_of_all_pairs(seed, listed):
    """By blocks and by sorting, with and without classes that are not listed."""
    problem = make_listed(seed)[int(listed)]
    fast, slow = Oracle(problem), Oracle(problem)
    slow.by_sorting = True
    for w in np.random.default_rng(seed).exponential(3, (5, 9)):
        (d, g), (d_slow, g_slow) = fast.plane(w), slow.plane(w)
        assert d == pytest.approx(d_slow, abs=1e-12)
        np.testing.assert_allclose(g, g_slow, atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_line_search_finds_the_least_loss(seed, listed):
    problem = make_listed(seed)[int(listed)]
    rng = np.random.default_rng(seed)
    loss = margin._Loss(Oracle(problem), np.zeros(9), 1.0, 20.0)
    begin, end = (loss.at(w) for w in rng.exponential(3, (2, 9)))
    found = loss.least_between(begin, end).primal
    grid = [loss.at((1 - t) * begin.w + t * end.w).primal for t in np.linspace(0, 1, 201)]
    assert found <= min(grid) + 1e-9


def test_no_image_with_a_margin_term():
    problem = MarginProblem(np.zeros((0, 3)), np.zeros((0, 3), bool), None, 3, 2)
    solution = solve(problem, np.array([1.0, 0.0, -1.0]), 2.0, 10.0)
    np.testing.assert_allclose(solution.w, [0.5, 0, 0])
    assert solution.converged
