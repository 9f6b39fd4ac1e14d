"""Coefficients of a linear system from its modes: exact where the modes are."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy.linalg import eigh
from scipy.optimize import nnls

from leastaction.core.library import Library
from leastaction.ensembles.modal_start import (
    DAMPING_RATIOS,
    OFF_DIAGONAL,
    Quadratic,
    _damped,
    assemble,
    orders,
    quadratic,
    start_of_modes,
)

# T and −V of two masses, one a pendulum; D as a share of the stiffness. Two frequencies
# and two shapes tell four coefficients of L beside that of the reference.
TRUTH = {
    "xdot**2/2": 1.0,
    "ydot**2/2": 3.0,
    "x**2": -40.0,
    "x*y": 30.0,
    "cos(y)": 25.0,
    "D: xdot**2/2": 0.8,
    "D: xdot*ydot": -0.3,
    "D: ydot**2/2": 0.25,
}
MASS = np.array([[1.0, 0.0], [0.0, 3.0]])
STIFFNESS = np.array([[80.0, -30.0], [-30.0, 25.0]])
DAMPING = 0.01 * STIFFNESS
TERMS = [name for name in TRUTH if name[0] != "D"]


def section(*more):
    losses = [name[3:] for name in TRUTH if name[0] == "D"]
    return {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": [*TERMS, *more]}],
        "dissipation": [{"terms": losses}],
    }


def library(*more):
    return Library.from_config(section(*more), ["x", "y"])


def sensors(*rows):
    """Of each: what of (x, y) it measures, of which derivative."""
    parts = np.zeros((3, len(rows), 2))
    for i, (order, *of) in enumerate(rows):
        parts[order, i] = of
    names = ("position", "velocity", "acceleration")
    channels = dict(zip(names, parts, strict=True))
    return SimpleNamespace(names=[f"s{i}" for i in range(len(rows))], **channels)


def modes(s):
    squares, shapes = eigh(STIFFNESS, MASS)
    omega = np.sqrt(squares)
    ratio = np.einsum("ar,ab,br->r", shapes, DAMPING, shapes) / (2 * omega)
    turn = [2.0 * np.exp(0.7j), 0.1 * np.exp(-2j)]
    outputs = [
        z * (s.position + 1j * w * s.velocity - w**2 * s.acceleration) @ shape
        for z, w, shape in zip(turn, omega, shapes.T, strict=True)
    ]
    return omega, ratio, np.array(outputs)


SENSORS = {
    "positions": [(0, 1, 0), (0, 0, 1)],
    "of each kind": [(0, 1, 0), (1, 1, 2), (2, 0, 1)],
    "accelerations": [(2, 1, 1), (2, 1, -1)],
}


@pytest.mark.parametrize("name", SENSORS)
def test_exact_modes_give_the_coefficients(name):
    """Also where a candidate has the matrices of another, or none."""
    channels = sensors(*SENSORS[name])
    terms = library("y**2", "x**4")
    matrices = quadratic(terms)
    names = [*terms.names, *(f"D: {n}" for n in terms.dissipation_names)]
    found = orders(terms, matrices)
    assert len(found) == 2
    # Linear candidates come first, then last.
    assert [names.index("y**2") in chosen for chosen in found] == [True, False]
    for chosen in found:
        values = start_of_modes(terms, matrices, chosen, channels, modes(channels))
        known = dict(zip(names, values, strict=True))
        # cos y is −y²/2 near 0: one of both is chosen.
        known["cos(y)"] -= 2 * known.pop("y**2")
        assert known.pop("x**4") == 0
        assert known == pytest.approx(TRUTH, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("losses", "ratios", "expected"),
    [
        # One number for two modes: weights of the diagonal are one.
        ([np.diag([1.0, 1.0])], [0.1, 0.3], [0.6]),
        # Coupling has a target of zero and a smaller weight.
        ([np.array([[1.0, 2.0], [2.0, 1.0]])], [0.2, 0.2], None),
        # A mode without damping would have a negative one: mode by mode positive.
        ([np.diag([1.0, 0.5]), np.diag([1.0, -0.2])], [0.001, 0.5], None),
    ],
)
def test_damping_is_that_of_the_modes_in_the_mean(losses, ratios, expected):
    """Of unit masses and frequencies 1 and 2: modal damping is the matrix itself."""
    D, stiffness = np.array([0 * losses[0], *losses]), np.diag([1.0, 4.0])
    zero = np.zeros((len(losses), 2, 2))
    matrices = Quadratic(
        np.concatenate([[np.eye(2)], zero]), np.concatenate([[stiffness], zero]), D
    )
    c, frequency = np.array([1.0] + [0.0] * len(losses)), np.array([1.0, 2.0])
    lossy = [*range(1, len(losses) + 1)]
    made = _damped(matrices, c, lossy, frequency, np.array(ratios))[1:]
    ratio = np.clip(ratios, *DAMPING_RATIOS)
    target = np.diag(2 * ratio * frequency)
    weight = np.where(np.eye(2) > 0, 1.0, OFF_DIAGONAL)
    left = np.stack([(m * weight).ravel() for m in losses], axis=1)
    free = np.linalg.lstsq(left, target.ravel())[0]
    if (np.diag(np.tensordot(free, losses, 1)) <= 0).any():
        free = nnls(left, target.ravel())[0]
    np.testing.assert_allclose(made, free, atol=1e-7)
    if expected:
        # Σ w² m t / Σ w² m² over both modes.
        mean = (2 * ratio * frequency).mean()
        np.testing.assert_allclose(made, [mean])
    assert not c[1:].any() and _damped(matrices, c, [], frequency, ratio) is c


def test_there_is_a_start_by_each_realisation_and_each_order_of_candidates():
    """The highest frequency is the median of theirs; the rest is of the outputs."""
    channels, rows = sensors(*SENSORS["positions"]), [1.0, 1.1, 1.5]
    omega, ratio, outputs = modes(channels)
    of_mode, of_shape = ("replicate", "spacing", "m"), ("channel",)
    shapes = np.array([[row * outputs for row in rows]])
    derivatives = xr.Dataset(
        {
            "mode_frequency": (of_mode, [[row * omega for row in rows]]),
            "mode_damping_ratio": (of_mode, [[ratio for _ in rows]]),
            "mode_shape_real": (of_mode + of_shape, shapes.real),
            "mode_shape_imaginary": (of_mode + of_shape, shapes.imag),
            "main_frequency": ("replicate", [3.0]),
            "sensor_noise": (("replicate", "channel"), [[0.1, 0.2]]),
            "output_std": (("replicate", "channel"), [[1.0, 2.0]]),
        },
        {"replicate": [7], "channel": ["x", "y"]},
    )
    q = (("replicate", "trajectory", "time", "dof"), np.zeros((1, 1, 4, 2)))
    about = {"dof": ["x", "y"], "time": 0.1 * np.arange(4)}
    made = assemble(xr.Dataset({"q": q}, about), derivatives, {}, section("y**2"))
    terms = library("y**2")
    matrices = quadratic(terms)
    expected = [
        start_of_modes(terms, matrices, chosen, channels, (row * omega, ratio, shape))
        for chosen in orders(terms, matrices)
        for row, shape in zip(rows, shapes[0], strict=True)
    ]
    np.testing.assert_allclose(made["start_coefficient"].values[0], expected)
    assert len(expected) == 6 and made["replicate"].values.tolist() == [7]
    assert float(made["highest_frequency"][0]) == pytest.approx(1.1 * omega.max())
    for name in ("main_frequency", "sensor_noise", "output_std"):
        np.testing.assert_array_equal(made[name], derivatives[name])
    assert made["status"].values.tolist() == list(terms.status)


@pytest.mark.parametrize("rows", [[(0, 1, 0)], [(2, 0, 1)]])
def test_one_sensor_determines_the_frequencies(rows):
    """Shapes are not seen; the start has the frequencies and is stable."""
    channels = sensors(*rows)
    terms = library()
    matrices = quadratic(terms)
    omega, ratio, outputs = modes(channels)
    for scale in (1.0, 10.0):
        seen = scale * omega, ratio, outputs
        values = start_of_modes(
            terms, matrices, orders(terms, matrices)[0], channels, seen
        )
        mass, stiffness = (np.tensordot(values, m, 1) for m in matrices[:2])
        squares = eigh(stiffness, mass, eigvals_only=True)
        assert np.sqrt(squares) == pytest.approx(scale * omega, rel=5e-3)
