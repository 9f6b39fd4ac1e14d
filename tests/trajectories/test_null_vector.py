"""Null-vector estimator of L and D."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import xarray as xr
from motions import (
    CART,
    CART_LIBRARY,
    LIBRARY,
    SEARCH,
    SPLINE,
    cart,
    pendulum,
    recording,
)

from leastaction.core.library import Library
from leastaction.core.settings import CHANNELS
from leastaction.trajectories import gram, joint_spline
from leastaction.trajectories import null_vector as method
from leastaction.trajectories.corrected_moments import (
    Refit,
    Smoothed,
    corrected_moments,
    null_vectors,
    refit,
)
from leastaction.trajectories.joint_spline import measured
from leastaction.trajectories.library_equations import library_equations
from leastaction.trajectories.splicing import Ratio, acceleration_error

PENDULUM = ("thdot**2", "cos(th)")
PAIR = ["th**2", "cos(th)", "thdot**2"]


def identified(observations, library=LIBRARY, smooth=True, samples=500):
    differentiate = joint_spline.differentiate if smooth else measured
    rates = differentiate(observations, SPLINE, library)
    equations = gram.assemble(observations, rates, {"samples": samples}, library)
    return method.identify(equations, SEARCH, observations, library)


def selected(model):
    names = [*model.terms, *(f"D: {name}" for name in model.dissipation_terms)]
    return {
        name: value
        for name, value in zip(names, model.joint_coefficients, strict=True)
        if value != 0
    }


@pytest.fixture(scope="module")
def truth():
    return pendulum()


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("level", [0.0, 1e-8, 1e-2, 1e-1])
def test_the_pendulum_is_found(truth, level, smooth):
    found = identified(recording(*truth, level=level), smooth=smooth)
    assert set(selected(found)) == {"cos(th)", "thdot**2"}
    assert selected(found)["thdot**2"] == 1.0
    assert selected(found)["cos(th)"] == pytest.approx(19.62, rel=1e-6 + 0.2 * level)
    assert found.diagnostics["trusted"][0] == 1


def test_positions_and_velocities_suffice(truth):
    found = selected(identified(recording(*truth, level=1e-2, channels=2)))
    assert set(found) == {"cos(th)", "thdot**2"}
    assert found["cos(th)"] == pytest.approx(19.62, rel=5e-3)


def test_null_duplicate_and_reordered_candidates_change_nothing(truth):
    observations = recording(*truth, level=0.05)
    (entry,) = LIBRARY["lagrangian"]
    # cos(th)**2 + sin(th)**2 is no force, th*thdot and thdot are total derivatives.
    terms = [*entry["terms"][::-1], "thdot", "th*thdot", "cos(th)**2", "2*th**2"]
    library = {"reference": "thdot**2", "lagrangian": [{"terms": terms}]}
    plain, other = identified(observations), identified(observations, library)
    for name, value in selected(plain).items():
        assert selected(other)[name] == pytest.approx(value, rel=1e-9)
    assert dict(zip(other.terms, other.status, strict=True))["th*thdot"] == "null"


def test_without_the_reference_the_kinetic_term_has_one_half(truth):
    library = {**LIBRARY, "reference": "thdot**2*cos(th)"}
    found = selected(identified(recording(*truth, level=1e-2), library))
    assert found["thdot**2"] == 0.5
    assert found["cos(th)"] == pytest.approx(9.81, rel=1e-3)


def test_an_input_fixes_the_scale():
    """No reference is needed, and the one in the library is not used."""
    found = selected(identified(recording(*pendulum(drive=4.0), level=1e-2)))
    assert found["thdot**2"] == pytest.approx(0.5, rel=5e-3)
    assert found["cos(th)"] == pytest.approx(9.81, rel=5e-3)
    assert len(found) == 2


@pytest.mark.parametrize(
    ("motion", "wanted"),
    [
        ({"damping": 0.2}, {"D: thdot**2": 0.2}),
        ({"coulomb": 0.2}, {"D: abs(thdot)": 0.4}),
    ],
)
def test_damping_is_found_with_the_lagrangian(motion, wanted):
    library = {
        **LIBRARY,
        "dissipation": [{"terms": ["thdot**2", "abs(thdot)", "thdot**4"]}],
    }
    observations = recording(*pendulum(samples=300, **motion), level=1e-2)
    found = selected(identified(observations, library))
    assert set(found) == {"cos(th)", "thdot**2", *wanted}
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=0.03)


def test_error_bars_cover():
    """z of the coefficient over independent recordings has unit variance."""
    scores = []
    truth = pendulum(trajectories=10, samples=120)
    for seed in range(24):
        found = identified(recording(*truth, level=0.3, seed=seed), samples=200)
        i = found.terms.index("cos(th)")
        if found.coefficients[i]:
            scores.append((found.coefficients[i] - 19.62) / found.std[i])
    assert len(scores) == 24
    assert 0.6 < np.sqrt(np.mean(np.square(scores))) < 1.4
    assert abs(np.mean(scores)) < 0.5


@pytest.mark.parametrize(("level", "told"), [(1e-4, True), (0.05, False)])
def test_undetermined_terms_have_no_intervals(level, told):
    """Swings up to 0.5 rad: cos(θ) and θ² differ by the noise of the second."""
    time, *motion = pendulum(samples=200)
    small = [0.2 * np.sin(3 * time + phase) for phase in range(6)]
    q = np.array(small)
    library = {"reference": "thdot**2", "lagrangian": [{"terms": PAIR}]}
    motion = q, 0.6 * np.cos(3 * time + np.arange(6)[:, None]), -9 * q, 0 * q
    found = identified(recording(time, *motion, level=level), library)
    assert set(selected(found)) <= {"thdot**2", "th**2", "cos(th)"}
    assert bool(found.alternatives) is not told
    chosen = np.array(found.coefficients) != 0
    assert np.isfinite(found.std[chosen]).all() == told


def test_corrected_moments_have_no_bias():
    """Their mean over the noise is the moment of the true states."""
    library = Library.from_config(LIBRARY, ["th"])
    compiled = library_equations(library)
    rng = np.random.default_rng(0)
    state = rng.normal(size=(3, 2, 50, 1))
    level = 0.1
    spread = np.zeros((3, 3, 2, 50, 1))
    spread[range(3), range(3)] = level
    used = np.ones((2, 50), dtype=bool)
    exact = corrected_moments(
        compiled, [2, 3, 5], Smoothed(tuple(state), None, used), 1
    )[0].sum(0)
    draws = {"corrected": [], "plain": []}
    for _ in range(400):
        noisy = tuple(state + level * rng.standard_normal(state.shape))
        for name, known in (("corrected", spread), ("plain", None)):
            motion = Smoothed(noisy, known, used)
            draws[name].append(
                corrected_moments(compiled, [2, 3, 5], motion, 1)[0].sum(0)
            )
    scores = {
        name: np.abs(np.mean(d, 0) - exact).max() / exact.max()
        for name, d in draws.items()
    }
    assert scores["corrected"] < 0.2 * scores["plain"]


def test_noise_too_large_for_the_correction_is_admitted(rng):
    """The corrected moments of nearly equal columns are not positive definite."""
    terms = ["thdot**2", "thdot**2*cos(th)", "thdot**2*cos(1.001*th)"]
    library = {"reference": "thdot**2", "lagrangian": [{"terms": terms}]}
    compiled = library_equations(Library.from_config(library, ["th"]))
    level, spread = 0.8, np.zeros((3, 3, 4, 50, 1))
    spread[range(3), range(3)] = level
    noisy = tuple(rng.normal(size=(3, 4, 50, 1)) * np.hypot(1, level))
    motion = Smoothed(noisy, spread, np.ones((4, 50), dtype=bool))
    found = refit(compiled, [0, 1, 2], motion, 0)
    assert found.excess == np.inf
    assert not found.unexplained()
    assert np.isfinite(found.coefficients).all()
    assert found.std.tolist() == [0.0, np.inf, np.inf]
    assert np.isfinite(refit(compiled, [0, 1], motion, 0).excess)


def test_an_unexplained_residual_with_every_term_selected():
    """Friction that the library does not know, and no candidate left to explain it."""
    library = {"reference": "thdot**2", "lagrangian": [{"terms": list(PENDULUM)}]}
    observations = recording(*pendulum(coulomb=0.5), level=1e-3)
    found = identified(observations, library)
    assert set(selected(found)) == set(PENDULUM)
    assert found.diagnostics["excess"][0] > 3 * found.diagnostics["excess_std"][0]
    assert found.diagnostics["jump"][0] > 1.5
    assert found.diagnostics["trusted"][0] == 0


def test_a_coordinate_at_rest_is_left_out(truth, caplog):
    """Its kinetic energy would be a null vector alone."""
    time, *motion = truth
    still = recording(time, *(np.stack([m, 0 * m], axis=-1) for m in motion))
    terms = [*LIBRARY["lagrangian"][0]["terms"], "xdot**2", "thdot*xdot*cos(th)"]
    library = {"reference": "thdot**2", "lagrangian": [{"terms": terms}]}
    found = identified(still, library, smooth=False)
    assert "left out: xdot**2" in caplog.text
    assert "xdot**2" not in selected(found)
    assert found.diagnostics["trusted"][0] == 0


@pytest.mark.parametrize("reference", ["thdot**2", "xdot**2"])
def test_every_equation_of_motion_is_explained(reference):
    """Momentum is conserved: θ alone obeys a Lagrangian with one term less."""
    reduced = ["thdot**2", "thdot**2*cos(th)**2", "cos(th)"]
    (entry,) = CART_LIBRARY["lagrangian"]
    library = {
        "reference": reference,
        "lagrangian": [{"terms": [*entry["terms"], reduced[1]]}],
    }
    observations = recording(*cart())
    rates = measured(observations, SPLINE, library)
    equations = gram.assemble(observations, rates, {"samples": 500}, library)
    support = [list(equations["term"].values).index(name) for name in reduced]
    moments = (equations[name].values[0] for name in ("gram", "inertia_gram"))
    assert Ratio.from_moments(*moments).minimise(support)[0] < 1e-12
    found = selected(method.identify(equations, SEARCH, observations, library))
    wanted = {name: value / CART[reference] for name, value in CART.items()}
    assert found == pytest.approx(wanted, rel=1e-6)


def test_null_vectors_minimise_the_ratio(rng):
    """Of each of several pairs, whatever the units of the columns."""
    rows = rng.normal(size=(3, 30, 4)) * [1.0, 1e-3, 1e2, 1.0]
    gram = np.swapaxes(rows, 1, 2) @ rows
    inertia = gram[:1] * np.eye(4) * rng.uniform(0.1, 2, 4)
    inertia = np.repeat(inertia, 3, axis=0)
    values, vectors = null_vectors(gram, inertia)
    for g, k, value, vector in zip(gram, inertia, values, vectors, strict=True):
        other = rng.normal(size=(200, 4)) / np.sqrt(np.diag(g))
        ratio = np.einsum("ni,ij,nj->n", other, g, other)
        ratio = ratio / np.einsum("ni,ij,nj->n", other, g + k, other)
        assert value < ratio.min()
        assert vector @ g @ vector / (vector @ (g + k) @ vector) == pytest.approx(value)


# Excess of one term more, its standard error, its least coefficient over the standard
# error; whether it is taken beside an excess of 1 that must be halved.
FURTHER = [
    (0.1, 0.01, 9.0, True),
    (0.45, 0.01, 9.0, True),
    (0.55, 0.1, 9.0, True),
    (0.55, 0.01, 9.0, False),
    (0.1, 0.01, 5.0, False),
]


@pytest.mark.parametrize("begin", [1.0, 0.02])
@pytest.mark.parametrize(("excess", "error", "z", "taken"), FURTHER)
def test_a_further_term_is_certain_and_halves_the_excess(
    begin, excess, error, z, taken
):
    """None is tried beside an excess of two standard errors."""

    def left(value, spread, z):
        excesses = np.array([-1.0, 1.0] * 10)
        unit = Refit(np.ones(1), np.ones(1), 1.0, excesses).excess_std
        std = np.array([0.0, 1 / z])
        return Refit(np.ones(2), std, value, excesses * spread / unit)

    models = {(0,): left(begin, 0.01, 9.0)}
    models |= {(0, 1): left(2.0, 0.01, 9.0), (0, 2): left(excess, error, z)}
    tried = []

    def around(size):
        tried.append(size)
        return [(0, 1), (0, 2)]

    model, support = method._grown(models.get, (0,), around, range(1, 2), 2.0)
    taken = taken and begin == 1.0
    assert support == ((0, 2) if taken else (0,)) and model is models[support]
    assert tried == ([1] if begin == 1.0 else [])


def test_acceleration_error_knows_truth_scale_and_singular_models(truth):
    library = Library.from_config(LIBRARY, ["th"])
    _, q, qdot, qddot, _ = (np.ravel(values)[:, None] for values in truth)
    columns = np.arange(len(library.terms))
    error = acceleration_error(
        library_equations(library), columns, q, qdot, qddot, qddot.std(0)
    )
    names = library.names
    right = np.array([[names.index("thdot**2"), names.index("cos(th)")]])
    assert error(right, np.array([[0.5, 9.81]]))[0] < 1e-25
    wrong = error(right, np.array([[0.5, 9.0]]))[0]
    assert error(right, np.array([[-5.0, -90.0]]))[0] == pytest.approx(wrong)
    assert wrong > 1e-4
    static = np.array([[names.index("cos(th)"), names.index("th**2")]])
    assert error(static, np.ones((1, 2)))[0] == pytest.approx(1.0)


def test_a_law_of_indefinite_kinetic_energy_has_the_largest_error(rng):
    """ẋẏ − xy has the motions of two equal oscillators, and no positive inertia."""
    names = ["xdot**2", "ydot**2", "xdot*ydot", "x**2", "y**2", "x*y"]
    config = {"reference": names[0], "lagrangian": [{"terms": names}]}
    library = Library.from_config(config, ["x", "y"])
    q, qdot = rng.normal(size=(2, 50, 2))
    columns = np.arange(len(names))
    error = acceleration_error(
        library_equations(library), columns, q, qdot, -q, np.ones(2)
    )
    supports = np.array([[0, 1, 3, 4], [2, 5, 2, 5]])
    values = np.array([[0.5, 0.5, -0.5, -0.5], [0.5, -0.5, 0.5, -0.5]])
    natural, indefinite = error(supports, values)
    assert natural < 1e-25
    assert indefinite == pytest.approx(1.0)


def test_a_support_is_refuted_by_large_swings_alone(rng):
    """y = x + x³ and tanh x instead: the residual of the latter has a heavy tail."""
    x = rng.standard_normal((40, 50)) * rng.lognormal(-1.5, 0.8, (40, 1))
    columns = np.stack([x, x**3, np.tanh(x)], axis=-1)
    y = x + x**3 + 0.05 * rng.standard_normal(x.shape)

    def least_squares(support, rows):
        a = columns[rows][..., list(support)].reshape(-1, len(support))
        return np.linalg.lstsq(a, y[rows].ravel(), rcond=None)[0]

    def fitted(support, common=()):
        every = np.arange(len(x))
        left = np.array([least_squares(support, every != k) for k in every])
        std = np.sqrt(((left - left.mean(0)) ** 2).sum(0) * (1 - 1 / len(x)))
        return Refit(least_squares(support, every >= 0), std, 0.0, np.zeros(len(x)))

    assert method.refuted(fitted, [1, 2], [0, 1])
    assert method.refuted(fitted, [0, 2], [0, 1])
    assert not method.refuted(fitted, [0, 1], [1, 2])
    assert not method.refuted(fitted, [0, 1], [0, 2])


class Fitted(NamedTuple):
    """A fit with an excess, its rank in standard errors, and the least |c| over its."""

    excess: float
    rank: float = 0.0
    certainty: float = 9.0

    coefficients = property(lambda self: np.array([20.0, self.certainty]))
    std = property(lambda self: np.array([0.0, 1.0]))

    def behind(self, other):
        return self.rank - other.rank


BEGIN, OTHER, LARGER = (0, 1), (0, 2), (0, 1, 3)
# Fits of two rivals, which refutes which, and what is taken, and its equals.
COMPARED = [
    ({}, [], BEGIN, []),
    ({OTHER: Fitted(2.0, 2.9)}, [], BEGIN, [OTHER]),
    ({OTHER: Fitted(2.0, 3.1)}, [], BEGIN, []),
    ({OTHER: Fitted(2.0, 2.9)}, [(OTHER, BEGIN)], BEGIN, []),
    ({OTHER: Fitted(2.0, 2.9)}, [(BEGIN, OTHER)], BEGIN, [OTHER]),
    ({OTHER: Fitted(0.5, -2.9)}, [], OTHER, [BEGIN]),
    ({OTHER: Fitted(0.5, -3.1)}, [], OTHER, []),
    ({OTHER: Fitted(0.5, -2.9, 1.0)}, [(BEGIN, OTHER)], OTHER, []),
    ({LARGER: Fitted(0.5, -0.9)}, [], BEGIN, []),
    ({LARGER: Fitted(0.5, -1.1)}, [], BEGIN, [LARGER]),
    ({LARGER: Fitted(0.5, -1.1, 5.9)}, [], BEGIN, []),
    ({LARGER: Fitted(0.5, -1.1, -6.1)}, [], BEGIN, [LARGER]),
    ({LARGER: Fitted(0.5, 9.0)}, [(BEGIN, LARGER)], LARGER, []),
    ({LARGER: Fitted(0.5, 9.0, 5.9)}, [(BEGIN, LARGER)], BEGIN, []),
    ({LARGER: Fitted(0.5, -9.0)}, [(BEGIN, LARGER), (LARGER, BEGIN)], BEGIN, []),
    (
        {OTHER: Fitted(0.5, -2.9), LARGER: Fitted(0.1, -4.0)},
        [],
        OTHER,
        [BEGIN, LARGER],
    ),
    ({OTHER: Fitted(2.0, 1.0), (0,): Fitted(0.1, -9.0)}, [], BEGIN, [OTHER]),
]


@pytest.mark.parametrize(("rivals", "refutes", "support", "equals"), COMPARED)
@pytest.mark.parametrize("known", [True, False])
def test_a_support_is_the_best_of_its_size_or_a_larger_one_that_refutes_it(
    monkeypatch, rivals, refutes, support, equals, known
):
    """An excess that no noise explains leaves all as it is."""
    fits = {BEGIN: Fitted(1.0 if known else np.inf)} | rivals
    monkeypatch.setattr(method, "refuted", lambda fitted, *two: two in refutes)
    result = method._compared(fits.get, fits[BEGIN], BEGIN, list(rivals))
    support, equals = (support, equals) if known else (BEGIN, [])
    assert result == (fits[support], support, equals)


MOMENTS = np.random.default_rng(8).standard_normal((2, 40, 4)) * [1.0, 30.0, 2.0, 0.1]
MOMENTS = np.swapaxes(MOMENTS, 1, 2) @ MOMENTS


@pytest.mark.parametrize("support", [(0, 1), (1, 2, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("common", [(), (1,), (1, 3), (2,)])
@pytest.mark.parametrize("driven", [True, False])
def test_a_reference_or_the_largest_inertia_fixes_the_scale(
    monkeypatch, support, common, driven
):
    """With the coefficient of the reference, or one half; with an input there is one.

    Candidate 9 is the reference, the third of those that algebra leaves.
    """
    columns, ratio, calls = np.array([4, 6, 9, 11]), Ratio.from_moments(*MOMENTS), []
    terms = SimpleNamespace(reference=9, reference_coefficient=-3.0)
    motion = SimpleNamespace(force=np.ones(3) if driven else None)

    def refit_with(compiled, chosen, motion, fixed):
        calls.append((compiled, chosen.tolist(), fixed))
        ones = np.ones(len(chosen))
        return Refit(2 * ones, ones, 0.5, np.zeros(4))

    monkeypatch.setattr(method, "refit", refit_with)
    many = (*support, 4) if driven else support
    result = method._fitted(many, ratio, "compiled", columns, terms, motion, common)
    ((_, chosen, fixed),) = calls
    assert chosen == columns[list(support)].tolist() and result.excess == 0.5
    if driven:
        value, place = 1.0, len(support)
    elif 2 in support and (not common or 2 in common):
        value, place = -3.0, support.index(2)
    else:
        unit = ratio.minimise(support)[1]
        inertia = np.diag(ratio.metric - ratio.gram)
        able = [k for k in support if not common or k in common]
        power = {k: inertia[k] * unit[support.index(k)] ** 2 for k in able}
        value, place = 0.5, support.index(max(power, key=power.get)) if power else 0
    assert fixed == place
    np.testing.assert_allclose(result.coefficients, 2 * value)
    np.testing.assert_allclose(result.std, abs(value))


@pytest.mark.parametrize(
    ("jump", "error", "trusted"),
    [(1.5, 0.2, 1), (1.49, 0.2, 0), (1.6, 0.16, 0), (1.6, 0.17, 1)],
)
@pytest.mark.parametrize(
    ("tau", "left"), [(0.2, 0.25), (-1e-3, 0.0), (0.5, 1.0), (1.0, 1e300)]
)
def test_diagnostics_are_those_of_the_size(jump, error, trusted, tau, left, caplog):
    path = SimpleNamespace(supports={2: "two", 3: "three"}, errors={2: 0.7, 3: 0.1})
    ratio = SimpleNamespace(minimise=lambda support: ({"two": tau}[support], None))
    model = SimpleNamespace(
        excess=1.0,
        excess_std=error,
        unexplained=lambda errors: errors * error < 1.0,
    )
    result = method._diagnostics(path, ratio, 2, jump, model)
    values = {name: value for name, (value, unit, _) in result.items() if unit == "1"}
    assert values.pop("residual_ratio") == pytest.approx(left)
    assert values == {
        "jump": jump,
        "trusted": trusted,
        "acceleration_error": 0.7,
        "excess": 1.0,
        "excess_std": error,
    }
    method._warn(model, 2, jump)
    texts = [record.getMessage() for record in caplog.records]
    assert any("hardly determine" in text for text in texts) == (jump < 1.5)
    assert any("a candidate is missing" in text for text in texts) == (error < 1 / 6)
    assert not any("too large for its bias" in text for text in texts)
    method._warn(Refit(np.ones(2), np.ones(2), np.inf, np.zeros(3)), 2, 9.0)
    assert "too large for its bias" in caplog.records[-1].getMessage()


def test_noise_is_that_of_each_channel():
    values = np.array([[[0.1, 0.2], [0.3, 0.4]], np.zeros((2, 2))])
    data = xr.Dataset(
        {"noise_std": (("replicate", "dof", "channel"), values)},
        {"channel": ["q", "qdot"]},
    )
    result = method._noise(data)
    assert list(result) == ["noise_q", "noise_qdot"]
    for k, (dims, std, unit, _) in enumerate(result.values()):
        assert (dims, unit) == (("dof",), "mixed")
        np.testing.assert_array_equal(std, values[0, :, k])
    assert method._noise(xr.Dataset()) == {}


def equations_of(status, of_losses=(), moves=(), square=0.0):
    """Moments of candidates of which some move."""
    names = [f"term {k}" for k in range(len(status) + len(of_losses))]
    count, rng = len(names), np.random.default_rng(9)
    rows = rng.standard_normal((2, 30, count)) * np.isin(range(count), moves)
    moments = np.swapaxes(rows, 1, 2) @ rows
    sample = rng.standard_normal((3, 2, 5, 1))
    of_columns = "replicate", "column", "other"
    return xr.Dataset(
        {
            "status": ("candidate", list(status)),
            "dissipation_status": ("loss", list(of_losses)),
            "gram": (of_columns, moments),
            "inertia_gram": (of_columns, moments / 7),
            "input_square": ("one", [square]),
            "input_moment": (("replicate", "column"), rows.sum(axis=1)),
            "acceleration_scale": (("replicate", "dof"), np.array([[2.0], [3.0]])),
            "input_sample": (("replicate", "sample", "dof"), sample[0] + 5),
        }
        | {
            f"{name}_sample": (("replicate", "sample", "dof"), each)
            for name, each in zip(CHANNELS, sample, strict=True)
        },
        {"column": names},
    )


def test_candidates_are_those_that_algebra_leaves_and_that_move(caplog):
    status = "reference", "independent", "null", "duplicate", "independent"
    losses = "independent", "dependent", "independent"
    data = equations_of(status, losses, [0, 1, 2, 3, 5, 6])
    assert method.free_columns(data).tolist() == [0, 1, 5]
    assert "left out: term 4, term 7;" in caplog.text
    caplog.clear()
    every = equations_of(status, losses, range(8))
    assert method.free_columns(every).tolist() == [0, 1, 4, 5, 7]
    assert not caplog.records
    for none in (equations_of(("null",), (), [0]), equations_of(("reference",))):
        with pytest.raises(ValueError, match="no candidate is left"):
            method.free_columns(none)


@pytest.mark.parametrize("square", [0.0, 4.0])
def test_an_input_is_one_more_column_in_every_support(monkeypatch, square):
    data = equations_of(["independent"] * 4, (), range(4), square)
    columns = np.array([0, 2, 3])
    monkeypatch.setattr(method, "acceleration_error", lambda *about: about)
    monkeypatch.setattr(method, "splicing", lambda *about: about)
    settings = {"largest": 3, "ranked": 7}
    path, ratio, error = method.search(data, "compiled", columns, settings)
    gram = data["gram"].values[0][np.ix_(columns, columns)]
    inertia = gram / 7
    if square:
        moment = data["input_moment"].values[0, columns, None]
        gram = np.block([[gram, -moment], [-moment.T, np.array([[4.0]])]])
        inertia = np.block([[inertia, np.zeros((3, 1))], [np.zeros((1, 4))]])
    length = np.sqrt(np.diag(gram))
    np.testing.assert_allclose(ratio.gram, gram / np.outer(length, length))
    np.testing.assert_allclose(
        ratio.metric - ratio.gram, inertia / np.outer(length, length), atol=1e-9
    )
    assert ratio.mandatory == ((3,) if square else ())
    assert path == (ratio, error, 3, 7)
    assert error[0] == "compiled" and error[1] is columns
    for name, values in zip(CHANNELS, error[2:5], strict=True):
        np.testing.assert_array_equal(values, data[f"{name}_sample"].values[0])
    assert error[5] == [2.0]
    pushed = data["input_sample"].values[0]
    assert np.array_equal(error[6], pushed) if square else error[6] is None
