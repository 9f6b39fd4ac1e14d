"""Null-vector estimator of L and D."""

import re
from types import SimpleNamespace

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


def certain(excess, z=9.0, behind=0.0):
    """A fit of an excess, with the least z of its coefficients."""
    return SimpleNamespace(
        excess=excess,
        coefficients=np.array([1.0, -z]),
        std=np.array([0.0, 1.0]),
        behind=lambda other: behind,
    )


REFUTED = (0, 1), (1, 2, 3)


@pytest.mark.parametrize(
    ("own", "near", "refutations", "chosen", "equals"),
    [
        # Infinite: nothing is compared.
        (certain(np.inf), {(0, 2): certain(0.0)}, (), (0, 1), []),
        # The least excess of one size; the other one is as good within 3 s.e.
        (certain(0.5, behind=2.9), {(0, 2): certain(0.1)}, (), (0, 2), [(0, 1)]),
        (certain(0.5, behind=3.1), {(0, 2): certain(0.1)}, (), (0, 2), []),
        (certain(0.5), {(0, 2): certain(0.1)}, [((0, 1), (0, 2))], (0, 2), []),
        (certain(0.1), {(0, 2): certain(0.5, behind=2.9)}, (), (0, 1), [(0, 2)]),
        (certain(0.1), {(0, 2): certain(0.5, behind=3.1)}, (), (0, 1), []),
        # A larger one is taken if it refutes this one and is not refuted itself.
        (certain(0.1), {(1, 2, 3): certain(0.5)}, [((0, 1), (1, 2, 3))], (1, 2, 3), []),
        (
            certain(0.1),
            {(1, 2, 3): certain(0.5)},
            [((0, 1), (1, 2, 3)), ((1, 2, 3), (0, 1))],
            (0, 1),
            [],
        ),
        (certain(0.1), {(1, 2, 3): certain(0.5, 5.9)}, [REFUTED], (0, 1), []),
        (certain(0.1), {(1, 2, 3): certain(0.5, 6.1)}, [REFUTED], (1, 2, 3), []),
        # One that refutes nothing is as good if it explains more by one s.e.
        (certain(0.1), {(1, 2, 3): certain(0.0, behind=-1.1)}, (), (0, 1), [(1, 2, 3)]),
        (certain(0.1), {(1, 2, 3): certain(0.0, behind=-0.9)}, (), (0, 1), []),
        # A smaller one is nothing.
        (certain(0.1), {(2,): certain(0.0, behind=-9.0)}, (), (0, 1), []),
    ],
)  # fmt: skip
def test_rivals_are_taken_equal_or_nothing(
    monkeypatch, own, near, refutations, chosen, equals
):
    monkeypatch.setattr(
        method, "refuted", lambda fitted, one, rival: (one, rival) in refutations
    )
    found = method._compared(near.get, own, (0, 1), list(near))
    models = {(0, 1): own} | near
    assert found == (models[chosen], chosen, equals)


@pytest.mark.parametrize(
    ("excess", "jump", "unexplained", "words"),
    [
        (0.0, 1.51, False, []),
        (0.0, 1.49, False, ["the largest jump of the error is 1.5 nats; below 1.5"]),
        (0.25, 9.0, True, ["the residual ratio of 3 terms is 0.25 ± 0.1 beyond"]),
        (np.inf, 9.0, False, ["too large for its bias .* moments of 3 terms"]),
    ],
)
def test_what_a_fit_says_of_itself(caplog, excess, jump, unexplained, words):
    asked = []

    def beyond(errors):
        asked.append(errors)
        return unexplained

    model = SimpleNamespace(excess=excess, excess_std=0.1, unexplained=beyond)
    method._warn(model, 3, jump)
    assert len(caplog.messages) == len(words)
    for message, word in zip(caplog.messages, words, strict=True):
        assert re.search(word, message)
    path = SimpleNamespace(supports={3: (0, 1, 2)}, errors={3: 0.04})
    for tau, ratio in ((0.2, 0.25), (-0.1, 0.0), (1.0, 1e300)):
        pair = SimpleNamespace(minimise=lambda support, tau=tau: (tau, None))
        about = method._diagnostics(path, pair, 3, jump, model)
        assert about["residual_ratio"][0] == pytest.approx(ratio)
        assert about["trusted"][0] == int(jump > 1.5 and not unexplained)
    assert about["jump"][:2] == (jump, "1") and about["excess"][0] == excess
    assert about["acceleration_error"][0] == 0.04 and about["excess_std"][0] == 0.1
    assert set(asked) == {6.0}


@pytest.mark.parametrize(
    ("driven", "common", "reference", "fixed", "value"),
    [
        (True, (), 3, 2, 1.0),
        (False, (), 7, 1, -4.0),
        (False, (0,), 7, 0, 0.5),
        (False, (), 9, 2, 0.5),
        (False, (0, 1), 9, 1, 0.5),
    ],
)
def test_the_scale_is_that_of_the_input_the_reference_or_the_largest_inertia(
    monkeypatch, driven, common, reference, fixed, value
):
    """Inertia c² K_kk of unit columns is 1, 2 and 18."""
    seen = []

    def refit(compiled, chosen, motion, fixed):
        seen.append((chosen.tolist(), fixed))
        return Refit(
            np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.0, 0.2]), 0, np.ones(2)
        )

    monkeypatch.setattr(method, "refit", refit)
    ratio = SimpleNamespace(
        minimise=lambda support: (0.0, np.array([1.0, -1.0, 3.0])),
        gram=np.ones((4, 4)),
        metric=np.ones((4, 4)) + np.diag([1.0, 2.0, 99.0, 2.0]),
    )
    terms = SimpleNamespace(reference=reference, reference_coefficient=-4.0)
    motion = SimpleNamespace(force=1.0 if driven else None)
    columns, support = np.array([3, 7, 8, 5]), (0, 1, 3)
    if driven:
        columns, support = columns[:3], (0, 1, 3)  # the input is the fourth
    found = method._fitted(support, ratio, None, columns, terms, motion, common)
    assert seen == [([3, 7] if driven else [3, 7, 5], fixed)]
    np.testing.assert_allclose(found.coefficients, value * np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found.std, abs(value) * np.array([0.1, 0.0, 0.2]))


def candidates(status, diagonal, damping=()):
    return xr.Dataset(
        {
            "status": ("term", np.array(status, dtype=object)),
            "dissipation_status": ("loss", np.array(damping, dtype=object)),
            "gram": (("replicate", "column", "other"), np.diag(diagonal)[None]),
        },
        {"column": [f"t{i}" for i in range(len(diagonal))]},
    )


def test_candidates_that_algebra_or_a_rest_removes_are_not_searched(caplog):
    status = ["null", "independent", "reference", "duplicate", "independent"]
    data = candidates(status, [1, 1, 1, 1, 0, 1, 0], ["independent", "null"])
    assert method.free_columns(data).tolist() == [1, 2, 5]
    assert "left out: t4; let every coordinate move" in caplog.text
    caplog.clear()
    assert method.free_columns(candidates(["reference"], [1e-30])).tolist() == [0]
    assert not caplog.text
    for status, diagonal in ((["null"], [1.0]), (["reference"], [0.0])):
        with pytest.raises(ValueError, match="no candidate is left: algebra removes"):
            method.free_columns(candidates(status, diagonal))


def test_the_noise_of_each_channel_is_told():
    noise = np.array([[[0.1, 0.2], [0.3, 0.4]]])
    data = xr.Dataset(
        {"noise_std": (("replicate", "dof", "channel"), noise)},
        {"channel": ["q", "qdot"]},
    )
    found = method._noise(data)
    assert list(found) == ["noise_q", "noise_qdot"]
    assert found["noise_qdot"][1].tolist() == [0.2, 0.4]
    assert found["noise_q"][0] == ("dof",) and found["noise_q"][3].endswith("in q")
    assert method._noise(data.drop_vars("noise_std")) == {}


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
