"""Where a search for a law begins: numbers that compare candidates of it."""

from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from leastaction.core.library import Library
from leastaction.likelihood.noise_levels import LEAST_OF_RANGE
from leastaction.likelihood.term_selection import Candidates
from leastaction.recordings import first_law as first_law_module
from leastaction.recordings.candidates import (
    feeding_losses,
    is_even,
    one_two_five,
    oscillators,
    prices,
    smooth_friction,
    touched,
)
from leastaction.recordings.first_law import (
    least_noise,
    least_ratio,
    missed_value,
    of_filtered_forces,
    of_null_vectors,
)
from leastaction.recordings.recorded_law import sigma_points
from leastaction.recordings.refusals import RecordingError


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.tile([0.0, 0.02, 0.06, 0.08], 5), 0.002),
        (np.linspace(0, 3, 20), 3 * 2.0**-24 / 12**0.5),
        (np.r_[np.tile([0.0, 0.02], 5), np.full(4, np.nan)], 0.002),
        (np.full(5, 7.0), 0.0),
    ],
)
def test_the_least_noise_is_a_part_of_the_step_or_of_the_range(y, expected):
    result = least_noise(np.c_[y, 10 * y])
    np.testing.assert_allclose(result, [expected, 10 * expected], atol=1e-290)
    assert (result > 0).all()


def fit_of(excess, process, value=-50.0):
    innovations = SimpleNamespace(
        moment=np.full((2, 1, 1), 50.0 + excess / 2), sensor_share=100.0, count=100
    )
    levels = SimpleNamespace(process=np.array(process))
    return SimpleNamespace(innovations=innovations, levels=levels, value=value)


@pytest.mark.parametrize("price", [1.0, 3.0])
def test_a_term_must_lower_what_is_missed_by_a_fifth(price):
    one = missed_value(fit_of(60.0, [0.2, 0.8]), price)
    expected = np.log(0.04 * 0.64) / 2 - price * np.log(0.8)
    assert one == pytest.approx(expected)
    fewer = missed_value(fit_of(60.0, np.array([0.2, 0.8]) * 0.8**-0.5), price - 1)
    assert fewer == pytest.approx(one)


@pytest.mark.parametrize("excess", [-5.0, 42.0])
def test_what_misses_nothing_is_compared_by_its_likelihood(excess):
    """An excess below three standard deviations, 3 √200 = 42.4, is none."""
    one = missed_value(fit_of(excess, [0.2]), 2.0)
    assert one == pytest.approx(-1e6 + (100 + 2 * np.log(100)) / 100, rel=1e-12)
    assert one < missed_value(fit_of(43.0, [1e-100]), 0.0)


def test_points_about_a_law_have_its_covariance(rng):
    c = np.array([1.0, 0.0, -2e6, 3e-6])
    D = rng.standard_normal((9, 4)) * [1e-2, 0.0, 1e3, 1e-8]
    points = sigma_points(c, D)
    assert points.shape == (6, 4) and (points[:, 1] == 0).all()
    apart = points - c
    size = np.sqrt((D**2).sum(axis=0)) + (D == 0).all(axis=0)
    result = 5 / 6 * (apart / size).T @ (apart / size)
    np.testing.assert_allclose(result, (D / size).T @ (D / size), atol=1e-9)
    np.testing.assert_allclose(points.mean(axis=0), c)
    assert np.array_equal(sigma_points(c, np.zeros((2, 4))), np.tile(c, (2, 1)))


MASSES = np.array([[0.9, 0.25], [0.25, 0.12]])
OSCILLATORS = np.array([0.45, 0.25, 0.06, -15.0, 0.0, -2.0, 0.3, 0.05])


def of_coupled_oscillators(q, v, a):
    """Forces of q̇₁², q̇₁q̇₂, q̇₂², q₁², q₁q₂, q₂² of L and q̇₁², q̇₂² of D."""
    first, second = np.array([2.0, 0.0]), np.array([0.0, 2.0])
    columns = [a * first, a[:, ::-1], a * second]
    columns += [-q * first, -q[:, ::-1], -q * second, v * first, v * second]
    return np.stack(columns, axis=2)


@pytest.mark.parametrize(
    ("seed", "ratio", "within"), [(4, 2, 5), (5, 4, 5), (0, 7, 15), (13, 7, 15)]
)
def test_a_start_has_its_masses_where_noise_is_more_than_the_force(seed, ratio, within):
    """Positions whose noise is a force of `ratio` times the torque; masses in %."""
    rng, dt = np.random.default_rng(seed), 0.01
    w, phase = 2 * np.pi * rng.uniform(0.2, 2.2, (7, 2)), rng.uniform(0, 6.3, (7, 2))
    wave = 0.2 * rng.uniform(0.4, 1, (7, 2))
    wave = wave * np.exp(1j * (dt * np.arange(2500)[:, None, None] * w + phase))
    exact = [(wave * (1j * w) ** k).sum(axis=1).imag for k in range(3)]
    torque = of_coupled_oscillators(*exact) @ OSCILLATORS
    noise = [rng.standard_normal(torque.shape)]
    for _ in range(2):
        noise.append(np.gradient(noise[-1], dt, axis=0))
    size = ratio * torque.std() / (noise[2] @ MASSES).std()
    path = [x + size * e for x, e in zip(exact, noise, strict=True)]
    columns, names = of_coupled_oscillators(*path), [*"abcdefgh"]
    motion = SimpleNamespace(dt=dt, parts=[slice(0, 1000), slice(1000, 2500)])
    known = Candidates(names, np.ones(8), (), (), np.zeros(8, bool), lambda *_: [])
    problem = SimpleNamespace(motion=motion, period=1.0, candidates=known)
    every = np.ones(2500, dtype=bool)
    starts = [c for c, _ in of_filtered_forces(problem, columns, torque, every)]
    unfiltered = np.linalg.lstsq(columns.reshape(-1, 8), torque.ravel(), rcond=None)[0]
    assert np.linalg.eigvalsh(masses(unfiltered))[0] < 0
    for c in starts:
        np.testing.assert_allclose(masses(c), MASSES, rtol=within / 100)


def masses(c):
    return np.array([[2 * c[0], c[1]], [c[1], 2 * c[2]]])


@pytest.mark.parametrize(
    ("value", "round_one"),
    [
        (1.0, 1),
        (1.99, 1),
        (2.0, 2),
        (4.9e-3, 2e-3),
        (5e-3, 5e-3),
        (999.0, 500),
        (1e3, 1e3),
    ],
)
def test_a_width_is_one_two_or_five(value, round_one):
    assert one_two_five(value) == pytest.approx(round_one)


x, th, xdot, thdot = sp.symbols("x th xdot thdot", real=True)


def test_friction_is_smooth_where_it_jumps():
    smooth = smooth_friction(sp.Abs(xdot), 0.1)
    assert smooth == sp.sqrt(xdot**2 + sp.Float(0.1) ** 2)
    stribeck = smooth_friction(sp.Abs(xdot) * sp.exp(-sp.Abs(xdot)), 0.1)
    assert not stribeck.has(sp.Abs)
    cubic = sp.Abs(xdot) ** 3
    assert smooth_friction(cubic, 0.1) == cubic


@pytest.fixture(scope="module")
def terms():
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [
            {"terms": ["xdot**2", "thdot**2", "x**2", "cos(th)", "cos(2*th)", "th**4"]},
            {"terms": ["x*xdot**2", "x**4"]},
        ],
        "dissipation": [
            {"terms": ["xdot**2", "abs(thdot)", "xdot**3", "x**2*xdot**2"]}
        ],
    }
    return Library.from_config(library, ["x", "th"])


def test_candidates_are_priced_by_what_they_imitate(terms):
    names = [str(term) for term in [*terms.terms, *terms.dissipation]]
    columns = np.arange(len(names))
    count = len(terms.terms)
    price = dict(zip(names[:count], prices(terms, columns), strict=False))
    expected = {"cos(2*th)": 1.25, "th**4": 1.25, "x*xdot**2": 2.0}
    assert {n: p for n, p in price.items() if p != 1} == expected
    losses = prices(terms, columns[count:])
    both = dict(zip(names[count:], losses, strict=True))
    assert both == {
        "xdot**2": 1.0,
        "Abs(thdot)": 1.0,
        "xdot**3": 2.0,
        "x**2*xdot**2": 2.0,
    }
    even = [is_even(d, terms.coordinates) for d in terms.dissipation]
    assert even == [name != "xdot**3" for name in names[count:]]
    assert list(feeding_losses(terms, columns)) == [False] * count + even
    simplest = {names[columns[i]] for i in oscillators(terms, columns)}
    assert simplest == {"xdot**2", "thdot**2", "x**2", "cos(th)"}
    bits = dict(zip(names[:count], touched(terms, columns), strict=False))
    assert bits["x**2"] == bits["xdot**2"] == 1 and bits["cos(th)"] == 2


class Directions:
    """Coefficients of least ρ, over lengths of two of every column."""

    length = np.full(5, 2.0)
    vectors = {(0, 2): [3.0, -6.0], (1, 4): [5.0, 20.0], (3,): [0.0]}

    def minimise(self, mine):
        return 0.0, np.array(self.vectors[tuple(mine)])


def problem_of_parts(scale, references):
    """Terms 0 and 2 of one coordinate, 1 and 4 of another, 3 of a third."""
    return SimpleNamespace(
        touched=np.array([1, 2, 1, 4, 2]),
        references=references,
        candidates=SimpleNamespace(fixed=lambda support, c: scale(support)),
    )


def test_every_part_of_a_start_has_a_scale_of_its_own():
    """The first is given as 7, the other one is a half of a square."""
    problem = problem_of_parts(lambda support: support[:1], {0: 7.0})
    c = least_ratio(problem, Directions(), (0, 1, 2, 4))
    np.testing.assert_allclose(c, [7.0, 0.5, -14.0, 0.0, 2.0])
    last = problem_of_parts(lambda support: support[-1:], {})
    c = least_ratio(last, Directions(), (0, 1, 2, 4))
    np.testing.assert_allclose(c, [-0.25, 0.125, 0.5, 0.0, 0.5])
    none = problem_of_parts(lambda support: [], {})
    assert np.isnan(least_ratio(none, Directions(), (0, 2))).all()
    zero = problem_of_parts(lambda support: [3], {})
    assert np.isnan(least_ratio(zero, Directions(), (3,))).all()


@pytest.mark.parametrize("bad", [None, np.nan, 0.0])
def test_oscillators_apart_are_fitted_whatever_was_before(bad, monkeypatch):
    """Supports of growing size, each once, then that of the oscillators."""
    supports = {3: [0, 1, 2], 1: [0], 2: [0, 2], 4: [2, 0]}
    how = []

    def path_of(equations, compiled, columns, settings):
        how.append(settings)
        return SimpleNamespace(supports=supports), None, None

    def ratio_of(problem, ratio, support):
        value = bad if bad is not None and tuple(support) == (0,) else 1.0
        return np.full(3, value)

    monkeypatch.setattr(first_law_module, "null_vector_path", path_of)
    monkeypatch.setattr(first_law_module, "least_ratio", ratio_of)
    monkeypatch.setattr(first_law_module, "oscillators", lambda *_: [0, 2])
    problem = SimpleNamespace(columns=np.arange(20), terms=None)
    found = [certain for _, certain in of_null_vectors(problem, None, None)]
    # Of sizes 1, 2, 3 and 4; the second is that of the oscillators.
    expected = [False, True, False, False]
    assert found == (expected if bad is None else expected[1:])
    problem.columns = np.arange(5)
    list(of_null_vectors(problem, None, None))
    assert [h["largest"] for h in how] == [12, 5]
    assert [h["ranked"] for h in how] == [12, 12]


class OfMotion:
    """Forces of two terms, ẍ and x; the first has a mass."""

    def columns(self, q, v, a, columns):
        forces = np.stack([a, q], axis=2)
        return forces, forces * [1.0, 0.0]


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize(("rows", "unseen"), [(400, 8), (60, 3)])
def test_a_start_misses_what_is_left_far_from_the_ends(
    rows, unseen, driven, monkeypatch
):
    """Levels are rms forces; the best start is that which misses least."""
    rng, module = np.random.default_rng(rows), first_law_module
    parts = [slice(0, rows), slice(rows, 2 * rows)]
    states = rng.standard_normal((2 * rows, 3, 1))
    push = rng.standard_normal((2 * rows, 1))
    inside = np.r_[unseen : rows - unseen, rows + unseen : 2 * rows - unseen]
    motion = SimpleNamespace(parts=parts, y=states[:, 0], dt=0.1)
    motion.is_definite = lambda path, c: c[0] > 0
    prices, fixed = np.array([1.0, 2.5]), lambda support, c: [0]
    candidates = SimpleNamespace(price=prices, fixed=fixed)
    inputs = SimpleNamespace(at=lambda rows: push[rows]) if driven else None
    problem = SimpleNamespace(motion=motion, terms=None, columns=None, period=4.0)
    problem.inputs, problem.driven, problem.candidates = inputs, driven, candidates
    starts = [np.array(c) for c in ([1.0, 0.0], [2.0, 3.0], [1.5, -1.0])]
    values, tried = {1.0: 5.0, 2.0: 3.0, 1.5: 4.0}, []

    def levels(missed, noise, bound, least, dt):
        assert (noise, least, dt) == (0.2, 0.1, 0.1)
        return missed, bound

    def fitted(motion, c, active, path, levels, **how):
        assert path.shape == (2 * rows, 2)
        tried.append((c, active.tolist(), *levels))
        return SimpleNamespace(c=c)

    def missed_value(trial, price):
        assert price == prices[trial.c != 0].sum()
        return values[trial.c[0]]

    for name, function in {
        "least_noise": lambda y: 0.1,
        "smooth_motion": lambda motion, least: (states, 0.2),
        "library_equations": lambda terms: OfMotion(),
        "of_null_vectors": lambda *of: ((c, False) for c in starts if not driven),
        "of_filtered_forces": lambda *of: ((c, False) for c in starts if driven),
        "begin_levels": levels,
        "fit": fitted,
        "missed_value": missed_value,
    }.items():
        monkeypatch.setattr(module, name, function)
    best = module.first_law(problem, None)
    assert best.c[0] == (1.0 if driven else 2.0)
    assert len(tried) == (1 if driven else 3)
    forces = np.stack([states[inside, 2], states[inside, 0]], axis=2)
    for c, active, missed, bound in tried:
        assert active == np.flatnonzero(c)[1:].tolist()
        left = forces @ c - (push[inside] if driven else 0)
        np.testing.assert_allclose(missed, np.sqrt((left**2).mean(axis=0)))
        inertial = c[0] * np.sqrt((states[inside, 2] ** 2).mean(axis=0))
        np.testing.assert_allclose(bound, 2 * LEAST_OF_RANGE * inertial)


@pytest.mark.parametrize(
    ("driven", "words"), [(False, "no law"), (True, "masses are neg")]
)
def test_of_starts_that_do_not_follow_four_are_enough(driven, words, monkeypatch):
    """But for those that are certain; a driven one may only have the wrong sign."""
    module, tried, follow = first_law_module, [], set()
    motion = SimpleNamespace(parts=[slice(0, 20)], y=np.zeros((20, 1)), dt=0.1)
    motion.is_definite = lambda path, c: c[0] > 0
    candidates = SimpleNamespace(price=np.ones(2), fixed=lambda support, c: [])
    inputs = SimpleNamespace(at=lambda rows: np.zeros((len(rows), 1)))
    problem = SimpleNamespace(motion=motion, terms=None, columns=None, period=4.0)
    problem.driven, problem.candidates, problem.inputs = driven, candidates, inputs
    starts = [(np.array([-1.0 - k, 1.0]), k == 9) for k in range(12)]

    def fitted(motion, c, *about, **how):
        tried.append(int(-1 - c[0]))
        return SimpleNamespace(c=c) if tried[-1] in follow else None

    for name, function in {
        "least_noise": lambda y: 0.1,
        "smooth_motion": lambda motion, least: (np.ones((20, 3, 1)), 0.2),
        "library_equations": lambda terms: OfMotion(),
        "of_null_vectors": lambda *of: iter(starts),
        "of_filtered_forces": lambda *of: iter(starts),
        "begin_levels": lambda *of: None,
        "fit": fitted,
        "missed_value": lambda trial, price: -trial.c[0],
    }.items():
        monkeypatch.setattr(module, name, function)
    with pytest.raises(RecordingError, match=words):
        module.first_law(problem, None)
    assert tried == [*range(12)]
    follow.update(range(12))
    tried.clear()
    assert module.first_law(problem, None).c[0] == -1
    # The first, four that are worse, and the one that is certain.
    assert tried == ([0] if driven else [0, 1, 2, 3, 4, 9])
