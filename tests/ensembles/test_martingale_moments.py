"""Martingale moments: sums over the ensemble, however it is walked through."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
import xarray as xr
from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended, system

from leastaction.core.contracts import ContractError, problems
from leastaction.core.library import Library
from leastaction.ensembles import martingale_moments, moment_gmm

SUMS = ("instrument_gram", "increment_gram")


def close(a, b):
    scale = np.abs(b).max()
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * scale)


def test_they_honour_their_contract(moments):
    assert problems(moments, "moments") == []


@pytest.mark.parametrize("block", [1, 97, 1999, 10**6])
def test_nothing_depends_on_the_size_of_the_blocks(block, monkeypatch):
    paths = observe(oscillator(), trajectories=4, steps=2000)
    expected = recommended(paths, OSCILLATOR_LIBRARY)
    monkeypatch.setattr(martingale_moments, "INCREMENTS_PER_BATCH", block)
    found = recommended(paths, OSCILLATOR_LIBRARY)
    for name in ("moment", *SUMS):
        close(found.moments[name].values, expected.moments[name].values)
    assert found.support == expected.support
    np.testing.assert_allclose(
        found.lagrangian.coefficients, expected.lagrangian.coefficients, rtol=1e-10
    )


def test_nothing_depends_on_the_order_of_the_trajectories(observations, moments):
    order = np.random.default_rng(2).permutation(observations.sizes["trajectory"])
    shuffled = recommended(observations.isel(trajectory=order), OSCILLATOR_LIBRARY)
    close(
        shuffled.moments["moment"].values,
        moments["moment"].isel(trajectory=order).values,
    )
    for name in SUMS:
        close(shuffled.moments[name].values, moments[name].values)
    expected = moment_gmm.identify(moments, {"max_terms": 3})
    np.testing.assert_allclose(
        shuffled.lagrangian.coefficients, expected.coefficients, rtol=1e-10
    )
    np.testing.assert_allclose(shuffled.lagrangian.std, expected.std, rtol=1e-10)


def test_moments_add_up_over_disjoint_ensembles(observations, moments):
    halves = [
        recommended(observations.isel(trajectory=part), OSCILLATOR_LIBRARY).moments
        for part in (slice(0, 7), slice(7, None))
    ]
    for name in SUMS:
        close(sum(half[name].values for half in halves), moments[name].values)
    assert sum(half["samples"].item() for half in halves) == moments["samples"].item()


def test_they_agree_with_the_definition():
    """Two steps of one path, by hand: Σ Z (Δ∂L/∂q̇ − ∫∂L/∂q dt), or Σ Z ∫∂D/∂q̇ dt."""
    dt = 0.01
    paths = observe(oscillator(), trajectories=1, steps=2, time_step=dt)
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["xdot**2", "x**4", "x*xdot**2"]}],
        "dissipation": [{"terms": ["xdot**4"]}],
    }
    found = recommended(paths, library, degree=1, max_terms=1).moments
    x, v = paths["q"].values[0, 0, :, 0], paths["qdot"].values[0, 0, :, 0]

    def integral(f, rate):
        trapezoid = dt / 2 * (f[1:] + f[:-1])
        return trapezoid + dt**2 / 12 * (rate[:-1] - rate[1:])

    increments = np.array(
        [
            np.diff(2 * v),
            -integral(4 * x**3, 12 * x**2 * v),
            np.diff(2 * x * v) - integral(v**2, 0 * v),
            integral(4 * v**3, 0 * v),
        ]
    )
    z = np.array([np.ones(2), x[:-1], v[:-1]])
    assert list(found["instrument"].values) == ["1", "x", "xdot"]
    assert list(found["term"].values) == ["xdot**2", "x**4", "x*xdot**2", "D: xdot**4"]
    close(found["moment"].values[0, 0, 0], z @ increments.T)
    close(found["instrument_gram"].values[0, 0], z @ z.T)
    close(found["increment_gram"].values[0, 0, 0], increments @ increments.T)
    assert found["samples"].item() == 2
    assert found["time_step"].item() == pytest.approx(dt)


def test_the_truth_has_moments_of_mean_zero(moments):
    """Each moment of the true combination lies within its error σ √(dt ΣZ²)."""
    names = list(moments["term"].values)
    truth = np.zeros(len(names))
    truth[names.index("xdot**2")], truth[names.index("x**2")] = 0.5, -12.5
    total = moments["moment"].values[0].sum(axis=0)[0] @ truth
    dt = moments["time_step"].item()
    error = np.sqrt(dt * np.diag(moments["instrument_gram"].values[0, 0]))
    assert (np.abs(total) < 4.5 * error).all()
    truth[names.index("x**2")] *= 1.2
    wrong = moments["moment"].values[0].sum(axis=0)[0] @ truth
    assert (np.abs(wrong) > 10 * error).any()


def test_candidates_that_algebra_removes_are_not_there(moments):
    library = Library.from_config(OSCILLATOR_LIBRARY, ["x"])
    kept = [
        name
        for name, status in zip(library.names, library.status, strict=True)
        if status in ("reference", "independent")
    ]
    assert list(moments["term"].values) == kept
    assert list(moments["library_status"].values) == library.status


def test_the_integral_is_exact_enough_for_coarse_steps():
    """Without noise the true combination leaves O(dt⁵) per step of the exact motion."""
    left = []
    for dt in (0.04, 0.02):
        t = np.arange(round(2 / dt) + 1) * dt
        paths = observe(
            oscillator(sigma=0.0), trajectories=1, steps=t.size - 1, time_step=dt
        )
        paths["q"][0, 0, :, 0] = np.cos(5 * t)
        paths["qdot"][0, 0, :, 0] = -5 * np.sin(5 * t)
        library = {
            "reference": "xdot**2/2",
            "lagrangian": [{"terms": ["xdot**2", "x**2"]}],
        }
        gram = recommended(paths, library, max_terms=1).moments["increment_gram"]
        c = np.array([0.5, -12.5])
        left.append(np.sqrt(c @ gram.values[0, 0, 0] @ c / t.size))
    assert 25 < left[0] / left[1] < 40


def test_a_derivative_of_the_wrong_kind_gets_the_advice(observations):
    from stages import differentiate

    wrong = differentiate(
        observations.isel(trajectory=slice(0, 1)),
        {"method": "central_difference"},
        OSCILLATOR_LIBRARY,
    ).assign_attrs(contract="ensemble_derivatives")
    with pytest.raises(ContractError, match="choose methods that fit together"):
        martingale_moments.assemble(
            observations,
            wrong,
            {
                "instrument_degree": 1,
                "most_instruments": 40,
                "largest_turn": 0.05,
            },
            OSCILLATOR_LIBRARY,
        )


def test_two_degrees_of_freedom_keep_their_places():
    truth = system(
        "adot**2/2 + bdot**2/2 - 2*a**2 - 8*b**2 + a*b",
        ("a", "b"),
        volatility={"a": "1", "b": "2"},
    )
    library = {
        "reference": "(adot**2 + bdot**2)/2",
        "lagrangian": [{"terms": ["adot**2 + bdot**2", "a**2", "b**2", "a*b", "a**4"]}],
    }
    paths = observe(truth, trajectories=20, steps=2000, start={"b": -1.0})
    found = recommended(paths, library, degree=2, max_terms=4)
    expected = {"adot**2 + bdot**2": 0.5, "a**2": -2.0, "b**2": -8.0, "a*b": 1.0}
    assert found.support == set(expected)
    for term, value in expected.items():
        estimate, error = found.coefficient(term)
        assert abs(estimate - value) <= 4.5 * error
    np.testing.assert_allclose(
        found.lagrangian.noise_covariance, np.diag([1.0, 4.0]), atol=0.15
    )


def test_slow_motion_is_known_as_well_from_every_tenth_sample():
    """Increments over several samples: the same coefficient, and its error, too."""
    truth = oscillator(k=25.0, sigma=1.0)
    paths = observe(truth, trajectories=30, steps=4000)
    every = recommended(paths, OSCILLATOR_LIBRARY, largest_turn=0.0)
    tenth = recommended(paths, OSCILLATOR_LIBRARY, largest_turn=0.1)
    assert tenth.moments["samples"] == every.moments["samples"] // 10
    assert tenth.support == every.support
    (k, error), (other, wider) = (f.coefficient("x**2") for f in (every, tenth))
    assert abs(k - other) < 0.2 * error
    assert wider == pytest.approx(error, rel=0.01)
    np.testing.assert_allclose(
        tenth.volatility.volatility, every.volatility.volatility, rtol=1e-5
    )


@pytest.mark.parametrize(
    ("increments", "frequency", "turn", "every"),
    [
        (10**4, 1.0, 0.05, 5),  # 0.05/(1 rad/s · 0.01 s)
        (10**4, 1.0, 0.059, 5),
        (10**4, 0.1, 0.05, 10),  # no more than ten
        (10**4, 10.0, 0.05, 1),
        (799, 1.0, 0.05, 3),  # 200 increments or more stay
        (800, 1.0, 0.05, 4),
        (199, 1.0, 0.05, 1),
        (10**4, np.nan, 0.05, 1),
        (10**4, 0.0, 0.05, 1),
    ],
)
def test_an_increment_spans_the_angle_that_it_may(increments, frequency, turn, every):
    time = 0.01 * np.arange(increments + 1)
    paths = xr.Dataset(coords={"time": ("time", time, {"units": "s"})})
    rates = xr.Dataset({"frequency": ("dof", [0.0, frequency])})
    thinned = martingale_moments._thinned(paths, rates, turn)
    assert np.array_equal(thinned["time"], time[::every])


@pytest.mark.parametrize("most", [1, 9, 10, 34, 35, 10**4])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("coordinates", [("x",), ("x", "y")])
def test_instruments_are_the_monomials_of_a_degree(coordinates, degree, most):
    """The largest degree with as few as allowed, but no lower one than 2."""
    size = 2 * len(coordinates)
    able = [k for k in range(3, degree + 1) if math.comb(size + k, k) <= most]
    wanted = max([min(degree, 2), *able])
    settings = {"instrument_degree": degree, "most_instruments": most}
    found = martingale_moments.monomial_instruments(coordinates, settings)
    assert len(set(found)) == len(found) == math.comb(size + wanted, wanted)
    degrees = [
        sp.Poly(z, sp.Symbol("o"), *z.free_symbols).total_degree() for z in found
    ]
    assert max(degrees) == wanted


NOISE = {
    "volatility_term": np.array(["1", "x**2", "xdot*ydot"]),
    "squared_volatility": np.array([[[0.5, 2.0, 0.0], [3.0, 0.0, 0.0]]]),
    "realised_covariation": np.array([[[4.0, 0.3], [0.3, 9.0]]]),
    "perfect_square": np.array([[0, 1]]),
}


def noise_law(**changes):
    each = {k: SimpleNamespace(values=v) for k, v in (NOISE | changes).items()}
    return martingale_moments.NoiseLaw(each, ["x", "y"])


def test_weights_are_one_over_the_square_of_the_noise():
    """In units of its mean, one where it is constant; of a path at rest."""
    for x in (0.0, 0.5, 1.0, 3.0):
        q = np.tile([x, -1.0], (5, 1))
        weights = noise_law().weights(q, np.zeros((5, 2)), 1, 4)
        expected = [4 / (0.5 + 2 * x**2), 1.0]
        assert weights == pytest.approx(np.tile(expected, (3, 1)))
    constant = {"volatility_term": ["1"], "squared_volatility": np.ones((1, 2, 1))}
    assert not noise_law(**constant).varies


@pytest.mark.parametrize(("square", "most"), [(0, 1e2), (1, 1e8)])
def test_weights_are_bounded_where_the_noise_vanishes(square, most):
    law = np.array([[[0.0, 2.0, 0.0], [3.0, 0.0, 0.0]]])
    perfect = np.array([[square, 1]])
    noise = noise_law(squared_volatility=law, perfect_square=perfect)
    weights = noise.weights(np.zeros((3, 2)), np.zeros((3, 2)), 1, 3)
    assert weights == pytest.approx(np.tile([most, 1.0], (2, 1)))


def test_ito_correction_of_two_processes():
    """½ Σ_b g_b ∂(M_ab g_b)/∂q̇_b by hand, of p = x ẋ³ + ẋ ẏ.

    g² is ½ + 2x² in the equation of x, 3 + 0.7 ẋẏ in that of y.
    """
    law = np.array([[[0.5, 2.0, 0.0], [3.0, 0.0, 0.7]]])
    noise = noise_law(squared_volatility=law)
    names = {s.name: s for s in sum(noise._squares).free_symbols}
    x, v, w = (names[name] for name in ("x", "xdot", "ydot"))
    (correction,) = noise.ito_correction([x * v**3 + v * w])
    values = dict(zip(noise.parameters, noise.values, strict=True))
    correction = correction.subs({names[name]: k for name, k in values.items()})
    expected = (6 * x * v * (0.5 + 2 * x**2) + v * 0.7 * v / 2) / 2
    assert sp.expand(correction - expected) == 0
