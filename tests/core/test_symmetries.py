"""Affine symmetries of laws of written terms, and their Noether quantities."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
import xarray as xr
from scipy.stats import chi2

from leastaction.core.model import simulate
from leastaction.core.symmetries import (
    PROBABILITY,
    Invariance,
    Symmetry,
    _nearest,
    change_along,
    most_symmetries,
    polynomials,
    simplest,
    sizes_along,
    sum_of_squares_quantile,
    symmetries_of,
    symmetries_of_terms,
    total_rates,
)
from leastaction.core.system import System
from leastaction.recordings.conserved import noether_quantity

PLANE = "x y xdot ydot"
CASES = {
    "central force": ("(xdot**2+ydot**2)/2 - (x**2+y**2)**2/4", PLANE, ["rotation"]),
    "skew": ("(xdot**2+4*ydot**2)/2 - (x**2+4*y**2)**2/4", PLANE, ["skew rotation"]),
    "magnetic field": (
        "(xdot**2+ydot**2)/2 + 0.4*(x*ydot-y*xdot) - (x**2+y**2)/2",
        PLANE,
        ["rotation"],
    ),
    "cart": ("xdot**2 + ydot**2/2 + xdot*ydot*cos(y) + cos(y)", PLANE, ["translation"]),
    "Toda": (
        "(xdot**2+ydot**2+zdot**2)/2 - exp(x-y) - exp(y-z)",
        "x y z xdot ydot zdot",
        ["translation"],
    ),
    "anisotropy": ("(xdot**2+ydot**2)/2 - x**2/2 - 1.05*y**2/2 - x**2*y**2", PLANE, []),
    "Hénon–Heiles": (
        "(xdot**2+ydot**2)/2 - (x**2+y**2)/2 - x**2*y + y**3/3",
        PLANE,
        [],
    ),
}


def found(text, names, error=0.0, scale=1.0):
    """Law, states, symmetries."""
    state = sp.symbols(names)
    law = sp.expand(sp.sympify(text, {str(s): s for s in state}))
    parts = [term.as_coeff_Mul() for term in sp.Add.make_args(law)]
    c = np.array([float(value) for value, _ in parts])
    q, qdot = scale * np.random.default_rng(2).standard_normal(
        (2, 300, len(state) // 2)
    )
    terms = [term for _, term in parts]
    every = symmetries_of_terms(terms, c, error * np.abs(c), q, qdot, state)
    return law, (q, qdot, state), every


@pytest.mark.parametrize("name", CASES)
def test_symmetries_are_those_of_the_law(name):
    text, names, kinds = CASES[name]
    _, _, every = found(text, names, 1e-4)
    assert [one.kind for one in every if one.verdict == "found"] == kinds
    assert all(one.verdict != "undecided" for one in every)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][2]])
def test_noether_quantity_is_constant_along_the_motion(name):
    text, names, _ = CASES[name]
    law, states, every = found(text, names)
    quantity = noether_quantity(law, every[0], *states)
    n = len(names.split()) // 2
    system = System(text.replace(" ", ""))
    time = np.linspace(0, 5, 200)
    q, qdot = simulate(system, 0.3 + 0.2 * np.arange(n), 0.4 - 0.3 * np.arange(n), time)
    order = [system.coordinates.index(name) for name in names.split()[:n]]
    values = sp.lambdify(states[2], quantity, "numpy")(
        *np.hstack([q, qdot])[:, [*order, *(n + i for i in order)]].T
    )
    assert np.ptp(values) < 1e-4 * np.abs(values).max()
    assert np.ptp(q) > 0.1


def test_a_constant_force_is_no_part_of_a_momentum():
    x, xdot = state = sp.symbols("x xdot")
    q, qdot = np.random.default_rng(0).standard_normal((2, 200, 1))
    move = Symmetry(np.ones(1), np.zeros((1, 1)), 0, 0, True)
    assert noether_quantity(xdot**2 - 3 * x, move, q, qdot, state) == 2 * xdot


def test_large_errors_decide_nothing():
    text = "(xdot**2+ydot**2)/2 - x**2/2 - 1.05*y**2/2"
    assert found(text, PLANE, error=1e-3)[2][0].verdict == "not found"
    assert {one.verdict for one in found(text, PLANE, error=0.1)[2]} == {"undecided"}


@pytest.mark.parametrize("eigenvalues", [[1.0], [1.0, 0.1], np.geomspace(1, 1e-3, 30)])
def test_the_bound_holds_for_as_many_draws_as_it_says(eigenvalues):
    rng = np.random.default_rng(6)
    draws = rng.standard_normal((100_000, len(eigenvalues))) ** 2 @ eigenvalues
    kept = np.mean(draws < sum_of_squares_quantile(np.diag(eigenvalues)))
    assert kept == pytest.approx(PROBABILITY, abs=2e-3)


def test_units_do_not_matter():
    """Metres or millimetres: the same violation."""
    text, names, _ = CASES["anisotropy"]
    *_, here = found(text, names)
    small = text.replace("x**2*y**2", "1e6*x**2*y**2")
    *_, there = found(small, names, scale=1e-3)
    assert there[0].violation == pytest.approx(here[0].violation, rel=1e-6)


def test_too_few_samples_are_refused():
    state = sp.symbols(PLANE)
    law = [state[2] ** 2 / 2 + state[3] ** 2 / 2]
    q = np.random.default_rng(0).standard_normal((5, 2))
    with pytest.raises(ValueError, match="record more"):
        symmetries_of_terms(law, np.ones(1), np.zeros(1), q, q, state)


@pytest.mark.parametrize(
    ("errors", "judged"),
    [((0.002, 0.3, 0.4), 1 + 3), ((0.002, 0.6, 0.7), 1)],
    ids=["three momenta hardly change", "two change by their rms in a period"],
)
def test_maps_whose_momenta_change_are_not_mixed_with_symmetries(errors, judged):
    rng, samples, known = np.random.default_rng(0), 400, len(errors)
    rest = np.full(6 - known, 0.1)
    sizes = np.array([(*np.array(errors) / 3, *rest * 20), (*errors, *rest)]).T
    change = sizes * rng.standard_normal((samples, 6, 2))
    problem = Invariance(
        np.ones(2),
        change,
        np.ones((samples, 1)),
        rng.standard_normal((samples, 6)),
        np.array([1.0, 0.0]),
        np.array([[0.0, 1.0]]),
    )
    assert len(problem.readings(0.01)) == judged


def affine(offset, matrix, **more):
    usual = {"violation": 1e-3, "bound": 2e-3, "decided": True}
    b, a = (np.array(x, dtype=float) for x in (offset, matrix))
    return Symmetry(b, a, **usual | more)


TURN = [[0, -1], [1, 0]]


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        ({}, "found"),
        ({"decided": False}, "undecided"),
        ({"violation": 2e-3}, "not found"),
        ({"violation": 1.99e-3}, "found"),
        ({"log_odds": 4.7}, "found"),
        ({"log_odds": 4.7, "violation": 1.0}, "found"),
        ({"log_odds": 4.7, "decided": False}, "undecided"),
        ({"log_odds": 4.5}, "undecided"),
        ({"log_odds": -4.5, "violation": 1.0}, "undecided"),
        ({"log_odds": -4.7, "violation": 1.0}, "not found"),
        ({"log_odds": -4.7}, "undecided"),
    ],
)
def test_a_symmetry_is_found_denied_or_undecided(numbers, verdict):
    """By the bound, and where L was learned with it by odds of 100, log 4.605."""
    assert affine([1, 0], np.zeros((2, 2)), **numbers).verdict == verdict


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        ([[0, 0], [0, 0]], "translation"),
        (TURN, "rotation"),
        ([[0, -1], [0.25, 0]], "skew rotation"),
        ([[0, -1], [0.25, 1e-9]], "skew rotation"),
        ([[0, -1], [0.25, 2e-6]], "affine map"),
        ([[0, 1], [1, 0]], "affine map"),
        ([[1, 0], [0, 1]], "affine map"),
    ],
)
def test_a_generator_has_a_kind(matrix, kind):
    assert affine([0.5, 0], matrix).kind == kind


def test_a_generator_is_put_into_words():
    one = affine([0.5, -1], [[0, -1], [0.25, 0]])
    assert one.entries == (0.5, -1.0, 0.0, -1.0, 0.25, 0.0)
    q = np.array([[2.0, 3.0], [1.0, 0.0]])
    np.testing.assert_allclose(one.field(q), [[-2.5, -0.5], [0.5, -0.75]])
    assert one.noether("xy") == "0.5*p_x + 0.25*x*p_y - p_y - y*p_x"
    assert one.noether("xy", ["u", "v"]) == "0.5*u + 0.25*x*v - v - y*u"
    assert affine([0, 0], [[0, 0], [0, 0]]).noether("xy") == "0"
    assert affine([-1, 0], np.zeros((2, 2))).noether("xy") == "-p_x"
    assert one.change == pytest.approx(2 * np.pi * 3e-3)
    assert one.described("xy") == (
        "conserved: 0.5*p_x + 0.25*x*p_y - p_y - y*p_x (skew rotation), changes by at "
        "most 1.9 % of its rms per period, violation 0.001 where 0.002 is allowed"
    )
    odds = affine([1, 0], TURN, log_odds=5.4321)
    assert odds.described("xy").endswith("0.002 is allowed, log odds 5.43")
    open_one = affine([1, 0], np.zeros((2, 2)), decided=False)
    assert open_one.described("xy") == (
        "undecided: p_x (translation), changes by at most 1.9 % of its rms per period"
    )
    assert not open_one.is_open and not replace(odds, bound=9.0).is_open
    below, above = (
        replace(open_one, bound=share / (2 * np.pi) - open_one.violation)
        for share in (0.999, 1.001)
    )
    assert not below.is_open and above.is_open
    assert above.described("xy") == (
        "undecided: p_x (translation), of which nothing is known: it may change by its "
        "rms in a period"
    )
    denied = affine([1, 0], np.zeros((2, 2)), violation=0.5)
    assert denied.described("xy") == (
        "no affine symmetry: the nearest has a violation 0.5 where 0.002 is allowed"
    )


def test_monomials_have_their_gradients(rng):
    q, scale = rng.standard_normal((4, 2)), np.array([0.5, 3.0])
    values, gradients = polynomials(q, scale, 3)
    assert values.shape == (4, 9) and gradients.shape == (4, 9, 2)
    x, y = q.T / scale[:, None]
    expected = [x, y, x**2, x * y, y**2, x**3, x**2 * y, x * y**2, y**3]
    np.testing.assert_allclose(values.T, expected)
    for i in (0, 1):
        step = 1e-6 * np.eye(2)[i]
        near = [polynomials(q + s * step, scale, 3)[0] for s in (1, -1)]
        np.testing.assert_allclose(
            gradients[..., i], (near[0] - near[1]) / 2e-6, atol=1e-7
        )
    qdot = rng.standard_normal((4, 2))
    rates = total_rates(q, qdot, scale)
    assert rates.shape == (4, 15)  # 14 monomials of degree 4, and t
    step = polynomials(q + 1e-6 * qdot, scale, 4)[0]
    step = (step - polynomials(q - 1e-6 * qdot, scale, 4)[0]) / 2e-6
    np.testing.assert_allclose(rates[:, :-1], step, rtol=1e-5, atol=1e-6)
    assert (rates[:, -1] == 1).all()


def test_changes_along_generators_are_derivatives_along_their_flow(rng):
    """φ(q + ε ξ, q̇ + ε A q̇) by differences, ξ = e_i s_i and e_i s_i q_j/s_j."""
    q, v = rng.standard_normal((2, 5, 2))
    scale = np.array([0.5, 3.0])

    def values(q, v):
        return np.array([q[:, 0] * v[:, 1] ** 2, q[:, 1] * v[:, 0] + q[:, 0] ** 3]).T

    def slope(dq, dv):
        e = 1e-6
        return (values(q + e * dq, v + e * dv) - values(q - e * dq, v - e * dv)) / 2e-6

    eye = np.eye(2)
    none = np.zeros_like(q)
    gradient = np.array(
        [slope(none + e, none) for e in eye] + [slope(none, none + e) for e in eye]
    )
    found = change_along(q, v, gradient, scale)
    assert found.shape == (5, 6, 2)
    for i in (0, 1):
        expected = slope(none + scale[i] * eye[i], none)
        np.testing.assert_allclose(found[:, i], expected, atol=1e-8)
        for j in (0, 1):
            a = scale[i] / scale[j] * np.outer(eye[i], eye[j])
            expected = slope(q @ a.T, v @ a.T)
            np.testing.assert_allclose(found[:, 2 + 2 * i + j], expected, atol=1e-8)


def test_sizes_are_those_of_the_least_momenta(rng):
    """p + ∇F of any F has the same; of p = 0 none is left."""
    q, p = rng.standard_normal((2, 60, 2))
    scale = np.array([0.5, 3.0])
    sizes = sizes_along(q, p, scale, 2.0, 2)
    _, gradients = polynomials(q, scale, 2)
    moved = p + gradients.swapaxes(1, 2) @ np.arange(5.0)
    np.testing.assert_allclose(sizes_along(q, moved, scale, 2.0, 2), sizes, atol=1e-9)
    least = sizes[:, :2] / 2 / scale
    columns = gradients.swapaxes(1, 2).reshape(-1, 5)
    np.testing.assert_allclose(columns.T @ least.ravel(), 0, atol=1e-9)
    for i in (0, 1):
        for j in (0, 1):
            turned = 2.0 * least[:, i] * scale[i] * q[:, j] / scale[j]
            np.testing.assert_allclose(sizes[:, 2 + 2 * i + j], turned, atol=1e-12)


def test_the_quantile_is_that_of_the_scaled_chi_square():
    values = np.array([3.0, 1.0, 0.2])
    g = (values**2).sum() / values.sum()
    k = values.sum() ** 2 / (values**2).sum()
    root = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    found = sum_of_squares_quantile(root @ np.diag(values) @ root.T)
    assert found == pytest.approx(g * chi2.ppf(0.9973, k))
    assert sum_of_squares_quantile(np.zeros((2, 2))) == 0.0


def problem(truncation=0.0, errors=1e-4):
    """A central force in the plane with a weak anisotropy, on 200 states."""
    rng = np.random.default_rng(4)
    q, v = rng.standard_normal((2, 200, 2)) * np.array([2.0, 3.0])
    x, y, u, w = [*q.T, *v.T]
    zero = np.zeros_like(x)
    gradient = np.array(
        [
            np.array([zero, -x, zero]).T,
            np.array([zero, -y, -y]).T,
            np.array([u, zero, zero]).T,
            np.array([w, zero, zero]).T,
        ]
    )
    scale, c = q.std(axis=0), np.array([1.0, 1.0, 1e-3])
    change = change_along(q, v, gradient, scale)
    total = total_rates(q, v, scale)
    size = sizes_along(q, (gradient[2:] @ c).T, scale, 1.7, 4)
    factor = errors * np.eye(3)[1:]
    return Invariance(scale, change, total, size, c, factor, truncation), (
        *(scale, change, total, size, c, factor),
    )


def test_violation_and_bound_are_quotients_on_the_samples():
    made, (scale, change, total, size, c, factor) = problem(np.array([0, 0, 2e-3]))
    turn = affine([0, 0], TURN)
    theta = np.array([0, 0, 0, -scale[1] / scale[0], scale[0] / scale[1], 0])
    projector = np.eye(200) - total @ np.linalg.pinv(total)
    along = projector @ np.einsum("sgf,g->sf", change, theta)
    norm = np.sqrt(np.mean((size @ theta) ** 2))
    found = made.measured(turn)
    assert found.violation == pytest.approx(
        np.sqrt(np.mean((along @ c) ** 2)) / norm, rel=1e-6
    )
    spread = along @ factor.T
    noise = sum_of_squares_quantile(spread.T @ spread / 200)
    cut = np.mean((along @ [0, 0, 2e-3]) ** 2)
    bound = np.sqrt((noise + cut) / norm**2 + 1e-12)
    assert found.bound == pytest.approx(bound, rel=1e-6)
    np.testing.assert_allclose(made.along(turn), spread, atol=1e-9)
    exact, _ = problem(errors=0.0)
    assert exact.measured(turn).bound == pytest.approx(1e-6, rel=1e-3)


def test_as_many_samples_as_unknowns_are_too_few():
    _, parts = problem()
    scale, change, total, size, c, factor = parts
    least = total.shape[1] + 6
    for count in (least, least + 1):
        few = scale, change[:count], total[:count], size[:count], c, factor
        if count == least:
            words = f"more than {least} samples of the motion, got {least}"
            with pytest.raises(ValueError, match=words):
                Invariance(*few)
        else:
            Invariance(*few)


def test_a_rotation_that_is_nearly_one_is_read_as_one():
    made, _ = problem(errors=1e-2)
    every = made.readings(5e-3)
    nearest = simplest(every[-1])
    np.testing.assert_array_equal(nearest.matrix, TURN)
    assert not nearest.offset.any() and nearest.violation < nearest.bound
    for some in every:
        assert len({one.entries for one in some}) == len(some)
        assert all(one.decided == (one.bound < 5e-3) for one in some)
    plain, centred, exact = every[0]
    assert not plain.offset.any() and centred.offset.any()
    np.testing.assert_array_equal(centred.matrix, TURN)
    assert exact.violation < centred.violation < plain.violation
    for step in np.vstack([np.eye(2), -np.eye(2)]) * 1e-4:  # that of the least
        moved = affine(centred.offset + step, TURN)
        assert made.measured(moved).violation > centred.violation
    loose = [one for some in made.readings(1.0) for one in some]
    assert all(one.decided for one in loose if one.bound < 1)
    (only,) = made.isometries(5e-3)
    np.testing.assert_array_equal(simplest(only).matrix, TURN)
    strict, _ = problem(errors=1e-6)
    assert strict.isometries(5e-3) == []


@pytest.mark.parametrize("number", [0.0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1.0])
def test_an_entry_is_read_as_the_nearest_simple_fraction(number):
    for value in (number + 0.03, number - 0.03):
        assert _nearest(value) == number * np.sign(value)
        assert _nearest(-value) == -number * np.sign(value)


def test_the_simplest_reading_is_the_first_that_passes():
    good, bad = affine([1, 0], TURN), affine([0, 1], TURN, violation=1.0)
    edge = affine([0, 1], TURN, violation=2e-3)
    assert simplest([bad, good, good]) is good
    assert simplest([good, bad]) is good
    last = affine([0, 0], TURN, violation=3.0)
    assert simplest([bad, edge, last]) is last


@pytest.mark.parametrize(("dof", "most"), [(1, 1), (2, 3), (3, 6), (5, 15)])
def test_there_are_as_many_symmetries_as_a_metric_has(dof, most):
    assert most_symmetries(dof) == most


def test_symmetries_of_a_dataset_are_those_that_were_looked_for():
    assert symmetries_of(xr.Dataset()) == []
    one = affine([1, 0], TURN, log_odds=2.0)
    rows = {
        f"symmetry_{name}": np.array([getattr(one, name)] * 2, dtype=float)
        for name in ("offset", "matrix", "violation", "bound", "decided", "log_odds")
    }
    rows["symmetry_offset"][1, 1] = np.nan
    data = xr.Dataset(
        {k: ([f"{k}{i}" for i in range(v.ndim)], v) for k, v in rows.items()}
    )
    (found,) = symmetries_of(data)
    assert found.entries == one.entries and found.log_odds == 2.0
