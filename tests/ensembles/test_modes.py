"""Modes and spectra of laws: closed forms, errors, invariances."""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from leastaction.ensembles.figures.spectra import _of_coefficients, _windowed
from leastaction.ensembles.modes import (
    Linear,
    Motion,
    _normal_points,
    force_density,
    interval_of_ratio,
    modes,
    noise_density,
    phase_collinearity,
    spectral_density,
    transfer,
)

# Two equal storeys of stiffness 4 and damping 0.04 on shaking ground.
FRAME = {
    "x1dot**2": 0.5,
    "x2dot**2": 0.5,
    "x1**2": -2.0,
    "(x1 - x2)**2": -2.0,
}
LOSSES = {"x1dot**2": 0.02, "(x1dot - x2dot)**2": 0.02}
DT = 0.1


def law(lagrangian, losses, force, errors=None, unit=1.0, noise=0.01):
    """What the innovations likelihood writes of a law with these coefficients.

    Coordinates are in the `unit`: quadratic terms and forces change with it.
    """
    dof = len(force)
    names = ["x"] if dof == 1 else [f"x{i + 1}" for i in range(dof)]
    free = [f"L: {t}" for t in lagrangian] + [f"D: {t}" for t in losses]
    covariance = np.diag(np.square(errors)) if errors is not None else None
    if covariance is None:
        covariance = np.zeros((len(free), len(free)))
    rest, position = np.zeros((dof, dof)), np.eye(dof)
    rng = np.random.default_rng(0)
    data = {
        "coefficient_estimate": ("term", [c * unit**2 for c in lagrangian.values()]),
        "support": ("term", np.ones(len(lagrangian), dtype=bool)),
        "dissipation_coefficient_estimate": (
            "dissipation_term",
            [c * unit**2 for c in losses.values()],
        ),
        "volatility_is_constant": ("dof", np.ones(dof, dtype=bool)),
        "noise_covariance": (("dof", "dof_other"), np.array(force) * unit**2),
        "sensor_position": (("channel", "dof"), position),
        "sensor_velocity": (("channel", "dof"), rest),
        "sensor_acceleration": (("channel", "dof"), rest),
        "sensor_noise_estimate": ("channel", np.full(dof, noise / unit)),
        "samples_averaged": ((), 1),
        "correlation_time_estimate": ((), 0.0),
        "measured": (
            ("innovation_sample", "channel"),
            rng.standard_normal((500, dof)) / unit,
        ),
        "parameter_covariance": (
            ("parameter", "parameter_other"),
            covariance * unit**4,
        ),
    }
    coords = {
        "term": list(lagrangian),
        "dissipation_term": list(losses),
        "dof": names,
        "channel": names,
        "parameter": free,
    }
    return xr.Dataset(data, coords)


GROUND = np.ones((2, 2)) * 0.09


def test_modes_of_two_equal_storeys():
    """ω² = k/m · (3 ± √5)/2, and damping proportional to stiffness."""
    found = modes(law(FRAME, LOSSES, GROUND))
    omega = np.sqrt(4 * (3 + np.array([-1, 1]) * 5**0.5) / 2)
    assert_allclose(found["frequency"], omega / (2 * np.pi), rtol=1e-6)
    assert_allclose(found["damping_ratio"], 0.01 * omega / 2, rtol=1e-5)
    assert_allclose(found["shape_real"][0], [(5**0.5 - 1) / 2, 1], rtol=1e-4)


def test_the_error_of_a_frequency_is_that_of_a_small_step():
    """δf = f δk/2k, also where k is known to a third only."""
    terms, losses = {"xdot**2": 0.5, "x**2": -2.0}, {"xdot**2": 1e-6}
    found = modes(law(terms, losses, [[0.1]], [0.0, 0.6, 0.0]))
    frequency = 2 / (2 * np.pi)
    assert_allclose(found["frequency"], [frequency], rtol=1e-6)
    assert_allclose(found["frequency_std"], [frequency * 0.3 / 2], rtol=1e-4)


@pytest.mark.parametrize("gain", [1.0, 1e-9])
def test_a_mode_with_a_node_at_every_sensor_has_a_shape_of_zeros(gain):
    """The second of two equal coupled oscillators, seen by their sum alone."""
    model = law(FRAME, LOSSES, GROUND)
    linear = Motion(model).about_equilibrium()
    node = np.linalg.inv(linear.modes()[2].real.T)[0]  # orthogonal to the second
    for kind in ("position", "velocity", "acceleration"):
        sensor = model[f"sensor_{kind}"]
        rows = gain * node if sensor.values.any() else 0 * node
        model[f"sensor_{kind}"] = sensor.copy(data=np.tile(rows, (2, 1)))
    sensed = modes(model)["sensed_real"].values
    assert np.isfinite(sensed).all()
    assert_allclose(np.abs(sensed), [[1, 1], [0, 0]], atol=1e-9)


def test_the_unit_of_length_changes_no_mode():
    errors = [0.0, 0.01, 0.02, 0.03, 0.001, 0.002]
    one = modes(law(FRAME, LOSSES, GROUND, errors))
    other = modes(law(FRAME, LOSSES, GROUND, errors, unit=1e-3))
    for name in one.drop_vars("kind"):
        assert_allclose(one[name], other[name], rtol=1e-5, atol=1e-9)


def test_errors_are_those_of_draws_of_the_coefficients():
    errors = np.array([0.0, 0.01, 0.02, 0.03, 0.002, 0.001])
    found = modes(law(FRAME, LOSSES, GROUND, errors))
    rng, draws = np.random.default_rng(1), []
    values = np.array([*FRAME.values(), *LOSSES.values()])
    motion = Motion(law(FRAME, LOSSES, GROUND, errors))
    for _ in range(1500):
        drawn = values + errors * rng.standard_normal(len(errors))
        order = [motion.names.index(f"c_{i}") for i in range(4)]
        order += [motion.names.index(f"d_{i}") for i in range(2)]
        parameters = motion.values.copy()
        parameters[order] = drawn
        frequency, ratio, shapes = motion.about_equilibrium(parameters).modes()
        draws.append(np.concatenate([frequency, ratio, *shapes.real, *shapes.imag]))
    names = "frequency", "damping_ratio", "shape_real", "shape_imaginary"
    expected = np.concatenate([found[f"{n}_std"].values.ravel() for n in names])
    # The largest entry of a shape is one.
    assert_allclose(np.std(draws, axis=0), expected, rtol=0.08, atol=1e-12)


def test_a_spectrum_integrates_to_the_variance():
    model = law(FRAME, LOSSES, GROUND, noise=0.02)
    motion = Motion(model)
    linear = motion.about_equilibrium()
    f = np.linspace(0, 0.5 / DT, 20001)
    power = np.trapezoid(spectral_density(linear, model, f, DT), f, axis=0)
    variance = np.diag(motion.covariance(linear, GROUND))[:2] + 0.02**2
    assert_allclose(power, variance, rtol=2e-3)


def test_channels_measure_the_position_its_rate_and_its_mean_acceleration():
    """Of one storey: 1, s and s² times the sinc of the frequency within a step."""
    model = law(FRAME, LOSSES, GROUND)
    first, none = [1.0, 0.0], [0.0, 0.0]

    def sensed_by(**sensors):
        rows = {"position": [first, none], "velocity": [none, none]}
        rows |= {"acceleration": [none, none]}
        rows |= {kind: [none, row] for kind, row in sensors.items()}
        return model.assign(
            {f"sensor_{k}": (("channel", "dof"), rows[k]) for k in rows}
        )

    linear = Motion(model).about_equilibrium()
    frequency = np.array([0.3, 2.0])
    s = 2j * np.pi * frequency[:, None]
    for kind, factor in (
        ("velocity", s),
        ("acceleration", s**2 * np.sinc(frequency * DT)[:, None]),
    ):
        response = transfer(linear, sensed_by(**{kind: first}), frequency, DT)
        assert_allclose(response[:, 1], factor * response[:, 0], rtol=1e-12)
    found = modes(sensed_by(velocity=first))
    shapes = found["sensed_real"] + 1j * found["sensed_imaginary"]
    omega, ratio = 2 * np.pi * found["frequency"], found["damping_ratio"]
    rates = omega * (1j * np.sqrt(1 - ratio**2) - ratio)
    assert_allclose(shapes[:, 1] / shapes[:, 0], rates, rtol=1e-9)


def test_a_fast_motion_has_the_covariance_of_its_own_unit_of_time():
    """45 kHz in SI units: q and its rate differ by five powers of ten."""
    stiffness, damping, force = 7.9e10, 9.5e3, 2e18
    terms = {"xdot**2": 0.5, "x**2": -stiffness / 2}
    motion = Motion(law(terms, {"xdot**2": damping / 2}, [[force]]))
    found = motion.covariance(motion.about_equilibrium(), np.array([[force]]))
    variance = force / (2 * damping) * np.array([1 / stiffness, 1.0])
    assert_allclose(np.diag(found), variance, rtol=1e-6)
    assert abs(found[0, 1]) < 1e-6 * np.sqrt(variance.prod())


def test_welch_of_a_motion_has_the_windowed_spectrum_in_the_mean():
    """A line narrower than the resolution, of an AR(2) process."""
    from scipy.signal import lfilter, welch

    pole = 0.995 * np.exp(0.6j)
    noise = np.random.default_rng(2).standard_normal(400_000)
    x = lfilter([1.0], [1.0, -2 * pole.real, abs(pole) ** 2], noise)[4000:]
    size = 256
    f, seen = welch(x, 1 / DT, nperseg=size)
    fine = np.linspace(0, 0.5 / DT, 8 * size // 2 + 1)
    z = np.exp(-2j * np.pi * fine * DT)
    law = 2 * DT / np.abs(1 - 2 * pole.real * z + abs(pole) ** 2 * z**2) ** 2
    ratio = (seen / _windowed(law, DT, size))[2:-2]
    assert abs(ratio.mean() - 1) < 0.01
    assert ratio.std() < 0.1
    assert seen.max() < 0.7 * law.max()


def test_statistical_linearisation_of_a_duffing_oscillator():
    """k_eq = k + 3 k₃ σ² with σ² = S²/(4 d k_eq), the Gaussian closure."""
    d, k, k3, square = 0.1, 1.0, 0.5, 0.64
    model = law(
        {"xdot**2": 0.5, "x**2": -k / 2, "x**4": -k3 / 4}, {"xdot**2": d}, [[square]]
    )
    level = 3 * k3 * square / (4 * d)
    expected = (k + np.sqrt(k**2 + 4 * level)) / 2
    found = Motion(model).equivalent()
    assert_allclose(found.stiffness[0, 0], expected, rtol=0.02)
    assert_allclose(found.damping[0, 0], 2 * d, rtol=0.03)
    about = Motion(model).about_equilibrium()
    assert_allclose(about.stiffness[0, 0], k, rtol=1e-6)


@pytest.mark.parametrize(("linear", "modes_are"), [(-0.5, 1), (0.5, 1), (0.0, 0)])
def test_the_equilibrium_is_the_stable_one_near_the_mean(linear, modes_are):
    """Of two wells, one of them; of a law without a spring, none."""
    terms = {"xdot**2": 0.5, "x**2": linear, "x**4": -0.25}
    if not linear:
        terms = {"xdot**2": 0.5}
    model = law(terms, {"xdot**2": 0.1, "abs(xdot)": 0.05}, [[0.1]])
    model["measured"] = model["measured"] * 0.1 + 0.9 * (linear > 0)
    found = modes(model)
    assert (0 if found is None else found.sizes["mode"]) == modes_are
    if linear > 0:
        assert_allclose(found["frequency"], 2**0.5 / (2 * np.pi), rtol=1e-4)
        assert_allclose(found["damping_ratio"], 0.1 / 2**0.5, rtol=1e-3)


def test_coefficients_of_white_noise_have_its_density():
    rng = np.random.default_rng(4)
    y = 0.3 * rng.standard_normal((20_000, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
    d = np.fft.rfft(y, axis=0)[100:8000] / np.sqrt(len(y))
    place = np.fft.rfftfreq(len(y), DT)[100:8000]
    f, density = _of_coefficients([np.tile(place, 2)], [np.r_[d.real, d.imag]], DT)
    assert (np.diff(f) > 0).all()
    expected = 2 * DT * 0.09 * np.array([[1.0, 0.5], [0.5, 1.25]])
    assert density.mean(axis=0) == pytest.approx(expected, rel=0.06)


def test_intervals_are_those_of_the_errors():
    """Of frequencies as they are, of ratios by roots; none of an undamped mode."""
    errors = [0.0, 0.01, 0.02, 0.03, 0.002, 0.001]
    found = modes(law(FRAME, LOSSES, GROUND, errors))
    std = found["frequency_std"].values
    assert (std > 0).all()
    for end, sign in (("low", -1), ("high", 1)):
        expected = found["frequency"] + sign * 1.959964 * std
        assert_allclose(found[f"frequency_{end}"], expected, rtol=1e-7)
    ends = interval_of_ratio(
        found["damping_ratio"].values, found["damping_ratio_std"].values
    )
    for end, expected in zip(("low", "high"), ends, strict=True):
        assert_allclose(found[f"damping_ratio_{end}"], expected)
    lossless = modes(law(FRAME, dict.fromkeys(LOSSES, 0.0), GROUND, errors))
    for name in ("damping_ratio", "damping_ratio_std", "damping_ratio_high"):
        assert not lossless[name].any()
    assert list(found["kind"].values) == ["mode", "mode"]
    assert found["mode"].values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("ratio", "std", "low", "high"),
    [
        (0.04, 0.0, 0.04, 0.04),
        (0.04, 0.01, (0.2 - 1.959964 * 0.025) ** 2, (0.2 + 1.959964 * 0.025) ** 2),
        (-0.04, 0.01, (0.2 - 1.959964 * 0.025) ** 2, (0.2 + 1.959964 * 0.025) ** 2),
        (0.0001, 0.02, 0.0, (0.01 + 1.959964 * 0.1) ** 2),  # as of s/2 = 0.01
    ],
)
def test_ends_of_a_ratio(ratio, std, low, high):
    made = interval_of_ratio(np.array([ratio]), np.array([std]))
    assert_allclose([made[0][0], made[1][0]], [low, high], rtol=1e-6, atol=1e-15)


def test_shapes_are_collinear_where_their_entries_have_one_phase():
    """One of a standing shape, zero of a wave that travels."""
    assert phase_collinearity(np.array([1, -2, 0.5]) * np.exp(0.7j)) == pytest.approx(1)
    assert phase_collinearity(np.array([1, 1j])) == pytest.approx(0, abs=1e-15)
    x, y = np.array([1.0, 0.3]), np.array([0.2, -0.4])
    bracket = (x @ x - y @ y) ** 2 + 4 * (x @ y) ** 2
    expected = bracket / (x @ x + y @ y) ** 2
    assert phase_collinearity(x + 1j * y) == pytest.approx(expected)


def test_densities_of_forces_and_noise_are_one_sided():
    model = law(FRAME, LOSSES, GROUND, noise=0.03)
    f = np.array([0.0, 0.5, 2.0])
    assert_allclose(force_density(model, f), np.tile(2 * GROUND, (3, 1, 1)))
    model["correlation_time_estimate"] = ((), 0.2)
    memory = 1 + (2 * np.pi * f * 0.2) ** 2
    assert_allclose(force_density(model, f)[:, 0, 1], 2 * 0.09 / memory)
    assert_allclose(noise_density(model, DT), [2 * DT * 0.0009] * 2)
    model["samples_averaged"] = ((), 4)
    assert_allclose(noise_density(model, DT), [DT * 0.0009 / 2] * 2)


def test_accelerometers_on_shaking_ground_feel_it():
    """(q̈ + a)/F of a unit mass on a spring: the force is −a; else no ground."""
    one = Linear(*(np.array([[x]]) for x in (2.0, 0.4, 8.0)), np.zeros(1))
    f = np.array([0.1, 0.4])
    s = 2j * np.pi * f
    dynamic = 2 * s**2 + 0.4 * s + 8
    for name, ground in (("xddot + ground", 0.5), ("xddot", 0.0)):
        model = xr.Dataset(
            {
                "sensor_position": (("channel", "dof"), [[0.0]]),
                "sensor_velocity": (("channel", "dof"), [[0.0]]),
                "sensor_acceleration": (("channel", "dof"), [[1.0]]),
                "correlation_time_estimate": ((), 0.0),
            },
            {"channel": [name]},
        )
        mean = 1.0 if ground else np.sinc(f * DT)
        made = transfer(one, model, f, DT)[:, 0, 0]
        assert_allclose(made, s**2 * mean / dynamic - ground, rtol=1e-12)
        model["correlation_time_estimate"] = ((), 0.3)
        made = transfer(one, model, f, DT)[:, 0, 0]
        assert_allclose(made, s**2 / dynamic - ground, rtol=1e-12)


def test_growth_is_that_of_the_fastest():
    def of(damping):
        return Linear(np.eye(1), np.array([[damping]]), 4 * np.eye(1), np.zeros(1))

    assert of(0.4).growth == pytest.approx(-0.1)
    assert of(-0.8).growth == pytest.approx(0.2)
    frequency, ratio, _ = of(5.0).modes()
    assert frequency.size == ratio.size == 0


def test_points_of_a_normal_distribution_are_spread_evenly():
    points = _normal_points(2)
    assert points.shape == (8192, 2) and np.abs(points.mean(axis=0)).max() < 1e-12
    assert_array_equal(points, _normal_points(2))
    assert_allclose(points.T @ points / 8192, np.eye(2), atol=5e-3)
    assert_allclose(np.mean(points**4, axis=0), 3, atol=0.03)
