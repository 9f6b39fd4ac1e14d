"""Search for J, R, B and H against a quadratic χ² whose minimum is known."""

import numpy as np
import pytest

from leastaction.ports import structure_search
from leastaction.ports.coefficient_fit import Quadratic
from leastaction.ports.port_structure import (
    COUPLED_LOSS,
    CROSS,
    Candidates,
    PortStructure,
)
from leastaction.ports.structure_search import (
    Fit,
    FreeCoefficients,
    alternating,
    best_of,
    classes,
    condensed,
    convex,
    cost,
    dropped,
    dropping_costs,
    eliminated,
    fitted,
    gap_to_rival,
    grown,
    penalty,
    scaled,
    searched,
    unpruned,
)

POINTS = np.random.default_rng(0).normal(size=(40, 2))
TERMS = ["a**2", "b**2", "a*b", "a**4"]


def law(**known) -> PortStructure:
    return PortStructure.of(Candidates.of(["a", "b"], TERMS), 1, **known)


def theta_of(law: PortStructure, **values) -> np.ndarray:
    assert set(values) <= {
        name.replace("**", "").replace("*", "") for name in law.names
    }
    return np.array(
        [values.get(name.replace("**", "").replace("*", ""), 0.0) for name in law.names]
    )


TRUTH = {"J_12": -1.0, "R_22": 0.3, "B_21": 1.0, "a2": 0.5, "b2": 1.0}


def data_of(law, theta, size=1e3, seed=1) -> Quadratic:
    """χ² with its minimum, zero, at the coefficients of θ."""
    q = law.coefficients(theta)
    matrix = size * np.random.default_rng(seed).normal(size=(q.size, q.size))
    return Quadratic(matrix, matrix @ q, 50.0, 50, 300)


def test_free_coefficients_are_those_of_least_squares():
    rng = np.random.default_rng(2)
    X, t = rng.normal(size=(6, 4)), rng.normal(size=6)
    data = Quadratic(X, t, 40.0, 10, 20)  # errors inflated by four
    free = np.array([True, False, True, True])
    fit = fitted(FreeCoefficients(4), data, np.ones(4), free)
    c = np.linalg.lstsq(X[:, free], t)[0]
    assert fit.theta[free] == pytest.approx(c) and fit.theta[1] == 0
    assert fit.chi_square == pytest.approx(((X[:, free] @ c - t) ** 2).sum() / 4)
    none = fitted(FreeCoefficients(4), data, np.ones(4), np.zeros(4, dtype=bool))
    assert none.chi_square == pytest.approx(t @ t / 4) and not none.theta.any()
    assert cost(FreeCoefficients(4), data, fit) == pytest.approx(
        fit.chi_square + 3 * penalty(FreeCoefficients(4), data)
    )


def test_the_rise_of_a_dropped_coefficient_is_that_of_a_fit_without():
    rng = np.random.default_rng(3)
    X, t = rng.normal(size=(9, 4)) * [1, 10, 0.1, 1], rng.normal(size=9)
    one, data = FreeCoefficients(4), Quadratic(X, t, 20.0, 10, 20)
    free = np.array([True, True, False, True])
    fit = fitted(one, data, np.zeros(4), free)
    rises, starts = dropping_costs(one, data, fit)
    assert np.isinf(rises[2])
    for k in (0, 1, 3):
        less = free.copy()
        less[k] = False
        without = fitted(one, data, np.zeros(4), less)
        assert without.chi_square - fit.chi_square == pytest.approx(rises[k], rel=1e-6)
        assert starts[k] == pytest.approx(without.theta, abs=1e-6)


def test_scales_of_h_are_factors_of_coefficients():
    """x → factors in H_j and 1/factors in column j; of diagonal laws exactly."""
    one = law()
    theta = theta_of(one, **TRUTH)
    theta[one.names.index("R_22")] = 0.0
    theta[one.names.index("J_12")] = 0.0
    moved = scaled(one, theta, np.array([2.0, 3.0]))
    changed = dict(zip(one.names, moved / np.where(theta, theta, 1), strict=True))
    assert changed["a**2"] == pytest.approx(2.0)
    assert changed["b**2"] == pytest.approx(3.0)
    ones = scaled(one, np.ones(theta.size), np.array([2.0, 3.0]))
    known = dict(zip(one.names, ones, strict=True))
    assert known["a*b"] == pytest.approx(np.sqrt(6)) and known["a**4"] == 2.0
    assert known["J_12"] == known["R_12"] == pytest.approx(1 / np.sqrt(6))
    assert known["R_11"] == pytest.approx(1 / 2) and known["B_11"] == 1.0


def test_classes_go_from_separable_to_all():
    one = law()
    cross, loss = one.kinds == CROSS, one.kinds == COUPLED_LOSS
    expected = [~(cross | loss), ~cross, ~loss, np.ones(cross.size, dtype=bool)]
    assert [free.tolist() for free in classes(one)] == [e.tolist() for e in expected]
    assert len(list(classes(law(dissipation="diagonal")))) == 2


@pytest.mark.parametrize("b2, is_convex", [(1.0, True), (-1.0, False)])
def test_an_energy_without_a_minimum_is_not_convex(b2, is_convex):
    one = law()
    theta = theta_of(one, **TRUTH | {"b2": b2})
    assert convex(one, theta, POINTS) == is_convex
    assert convex(FreeCoefficients(3), theta, POINTS)


def test_what_is_not_in_the_law_is_dropped_and_what_is_stays():
    one = law(structure=[[0, -1], [1, 0]], port=[[0], [1]])
    truth = {k: v for k, v in TRUTH.items() if k[0] not in "JB"}
    theta = theta_of(one, **truth)
    data = data_of(one, theta)
    start = fitted(one, data, theta + 1e-3, np.ones(theta.size, dtype=bool))
    assert start.chi_square < 1e-6
    result = eliminated(one, data, start, POINTS)
    assert result.theta == pytest.approx(theta, abs=1e-6)
    assert (result.free == (theta != 0)).all()
    assert cost(one, data, result) < cost(one, data, start)
    up = grown(one, data, np.ones(theta.size, dtype=bool))
    assert (up.theta != 0)[theta != 0].all() and up.chi_square < penalty(one, data)
    necessary = one.names.index("R_22")
    assert dropped(one, data, result, POINTS, [(necessary, theta)]) is None
    small = Quadratic(1e-6 * data.matrix, 1e-6 * data.target, 50.0, 50, 300)
    less = dropped(one, small, result, POINTS, [(necessary, theta)])
    assert not less.free[necessary]


def test_the_search_of_a_ladder_ends_in_the_sparse_law():
    one = law(structure=[[0, -1], [1, 0]], port=[[0], [1]], dissipation="diagonal")
    truth = {k: v for k, v in TRUTH.items() if k[0] not in "JB"}
    theta = theta_of(one, **truth)
    data, random = data_of(one, theta), np.random.default_rng(6)
    full = unpruned(one, POINTS, random, data, [])
    assert len(full) == 2 and max(fit.chi_square for fit in full) < 1e-6
    result = searched(one, POINTS, random, data, full)
    assert result[0].theta == pytest.approx(theta, abs=1e-6)
    costs = [cost(one, data, fit) for fit in result]
    assert costs == sorted(costs)
    assert gap_to_rival(one, data, result[:1], POINTS) > 0
    assert gap_to_rival(FreeCoefficients(2), data, result, POINTS) == np.inf


def test_several_terms_of_a_state_become_the_one_that_is_true():
    """H = a²/2 seen as a mixture with a⁴ that costs a term more."""
    one = law(structure=[[0, -1], [1, 0]], port=[[0], [1]])
    theta = theta_of(one, R_22=0.3, a2=0.5, b2=1.0)
    data, names = data_of(one, theta), list(one.names)
    mixed = theta.copy()
    mixed[names.index("a**4")] = 1e-9
    fit = Fit(mixed, mixed != 0, 0.0)
    result = condensed(one, data, fit, POINTS)
    assert result.theta == pytest.approx(theta, abs=1e-6)
    assert result.free.sum() == fit.free.sum() - 1


def test_the_best_of_several_starts_is_convex():
    one = law(structure=[[0, -1], [1, 0]], port=[[0], [1]], dissipation="diagonal")
    theta = theta_of(one, R_22=0.3, a2=0.5, b2=1.0)
    data, free = data_of(one, theta), theta != 0
    fit = best_of(one, data, free, POINTS, [], np.random.default_rng(0))
    assert fit.theta == pytest.approx(theta, abs=1e-6) and fit.chi_square < 1e-6


def test_a_start_takes_the_structure_of_its_energy_first(monkeypatch):
    """R of H = |x|²/2, which is the truth, is exact after one alternation."""
    monkeypatch.setattr("leastaction.ports.structure_search.ALTERNATIONS", 1)
    one = law(structure=[[0, -1], [1, 0]], port=[[0], [1]])
    theta = one.start()
    theta[one.names.index("R_22")] = 0.3
    free = np.ones(theta.size, dtype=bool)
    found = alternating(one, data_of(one, theta), free)
    assert found == pytest.approx(theta, abs=1e-9)


@pytest.mark.parametrize("stiffness", [(1.0, 1.0), (1.0, 9.0)])
def test_an_energy_without_measured_outputs_has_the_size_of_its_start(stiffness):
    """Which no motion knows: the stiffest square is typical, whatever the units."""
    one = law(outputs=False, stiffness=np.array(stiffness))
    data = data_of(one, theta_of(one, **TRUTH | {"a2": 3.0, "b2": 40.0}))
    free = np.ones(len(one.names), dtype=bool)
    squares = alternating(one, data, free)[[one.names.index(k) for k in TERMS[:2]]]
    assert np.abs(squares / (np.array(stiffness) / 2)).max() == pytest.approx(1.0)
    known = law(structure=[[0, -1], [1, 0]], port=[[0], [1]])
    truth = theta_of(known, R_22=0.3, a2=3.0, b2=40.0)
    found = alternating(known, data_of(known, truth), truth != 0)
    assert found == pytest.approx(truth, rel=1e-2)


@pytest.mark.parametrize(
    ("chi_squares", "convex_ones", "tried", "best"),
    [
        ([9.0], [0], 1, 0),  # below two for each of six numbers
        ([13.0, 11.0], [0, 1], 2, 1),
        ([13.0, 14.0, 15.0, 16.0], [0, 1, 2, 3], 4, 0),  # after those that are given
        ([9.0, 14.0, 9.5], [1, 2], 3, 2),
        ([9.0, 8.0, 7.0, 6.0, 20.0, 5.0], [4], 5, 4),
        ([9.0, 8.0, 7.0, 6.0], [], None, None),
    ],
)
def test_starts_are_tried_until_one_is_convex_and_good(
    monkeypatch, chi_squares, convex_ones, tried, best
):
    """Two are given, two are made of the data, and others are random."""
    one = law(structure=[[0, -1], [1, 0]], port=[[0], [1]], dissipation="diagonal")
    data = Quadratic(np.eye(6), np.ones(6), 3.0, 10, 14)
    seen = []

    def fit(law, of, start, free):
        if of is data:
            seen.append(start)
            more = chi_squares[len(seen) - 1 :] or [99.0]
            return Fit(np.full(9, len(seen) - 1.0), free, more[0])
        return Fit(start, free, 0.0)

    monkeypatch.setattr(structure_search, "fitted", fit)
    monkeypatch.setattr(structure_search, "convex", lambda _, t, p: t[0] in convex_ones)
    monkeypatch.setattr(structure_search, "alternating", lambda *given: np.ones(9))
    starts = [np.zeros(9), np.zeros(9)]
    found = best_of(one, data, None, POINTS, starts, np.random.default_rng(0))
    every = 4 + structure_search.RANDOM_STARTS
    assert len(seen) == (every if tried is None else tried)
    assert found.chi_square == (min(chi_squares) if best is None else chi_squares[best])
