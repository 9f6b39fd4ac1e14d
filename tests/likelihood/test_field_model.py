"""An identified line: its numbers, its modes in closed form, its filter."""

import numpy as np
import pytest
from sensed import LENGTH, MODEL, sensed_field

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import interval
from leastaction.likelihood.contracts import CONTRACTS
from leastaction.likelihood.field_model import SensedField

FIELD = SensedField.from_dataset(MODEL)


def test_numbers_coefficients_and_errors_are_those_of_the_fit():
    assert FIELD.number("penalty") == 12.0 and FIELD.columns == [1, 3]
    np.testing.assert_allclose(FIELD.std, [0.2, 0.1, 0.3, 0.05, 0.05])
    np.testing.assert_allclose(FIELD.coefficients, [1.0, 4.0, 0.0, 0.4, 0.0])
    assert len({FIELD, SensedField(MODEL)}) == 2
    assert FIELD.line.length == LENGTH and FIELD.line.ends == ("fixed", "fixed")
    assert FIELD.modal.shapes.shape == (2, 5 + 2 * 12)


def test_modes_of_a_string_are_in_closed_form():
    """ω = √(4 k² + 1.5), 2ζω = 0.4 + 0.03 k², k = rπ/ℓ; errors by ∂ω/∂c = k²/2ω."""
    covariance = np.zeros((7, 7))
    root = np.random.default_rng(0).standard_normal((4, 4)) * [0.2, 0.1, 0.1, 0.01]
    covariance[:4, :4] = root.T @ root
    data = sensed_field((1, 2, 3, 4), (4.0, 1.5, 0.4, 0.03), (0.2, 0.1, 0.1, 0.01))
    data["covariance"][0] = covariance
    field = SensedField(data)
    k = np.pi * np.arange(1, 6) / LENGTH
    omega, rate = np.sqrt(4 * k**2 + 1.5), 0.4 + 0.03 * k**2
    frequency, ratio, f_std, ratio_std = field.modes
    np.testing.assert_allclose(frequency, omega / 2 / np.pi, rtol=1e-9)
    np.testing.assert_allclose(ratio, rate / 2 / omega, rtol=1e-9)
    zero, one = np.zeros_like(k), np.ones_like(k)
    by_omega = np.array([k**2, one, zero, zero]) / (2 * omega)
    by_ratio = (
        np.array([zero, zero, one, k**2]) / (2 * omega) - ratio / omega * by_omega
    )
    for slopes, std, unit in ((by_omega, f_std, 2 * np.pi), (by_ratio, ratio_std, 1)):
        variance = np.einsum("ir,ij,jr->r", slopes, covariance[:4, :4], slopes)
        np.testing.assert_allclose(std * unit, np.sqrt(variance), rtol=1e-8)


def test_modes_and_noises_are_printed():
    text = str(SensedField(sensed_field()))
    lines = text.split("\n")
    assert lines[:2] == ["Modes", "      frequency (Hz)        damping ratio (%)"]
    f, ratio, f_std, ratio_std = FIELD.modes[:, 0]
    shown = interval(f, NORMAL_QUANTILE * f_std)
    damped = interval(100 * ratio, 100 * NORMAL_QUANTILE * ratio_std)
    assert lines[2] == f"  1   {shown:<20}  {damped}"
    assert len(lines) == 2 + 5 + 3 and lines[6].startswith("  5   ")
    assert lines[7:] == [
        "Noise of the sensors",
        "  u(0.3): 0.2 mm",
        "  u(0.9): 0.3 mm",
    ]
    many = MODEL.assign(kept=("replicate", [9]))
    assert "\n  6   " in str(SensedField(many))
    assert "\n  7   " not in str(SensedField(many))


def readings(y):
    return CONTRACTS["field_readings"].dataset(
        {"reading": y[None]},
        {
            "replicate": [0],
            "time": 0.05 * np.arange(y.shape[1]),
            "channel": ["u(0.3)", "u(0.9)"],
        },
        {k: MODEL.attrs[k] for k in ("domain_length", "domain_ends", "time_step")},
    )


def test_innovations_are_those_of_the_joint_gaussian_law(rng):
    """Errors of the last of n samples given those before, by the dense covariance.

    Less the means of the channels by generalised least squares.
    """
    n, count = 12, 40
    y = 2 * rng.standard_normal((2, count, 2))
    errors, variances = FIELD.innovations(readings(y))
    assert errors.shape == variances.shape == (2, 40, 2)
    k = np.pi * np.arange(1, 6) / LENGTH
    omega, half = 2 * k, 0.2  # D = 0.4 q̇²/2: q̈ + 0.4 q̇ + ω² q = ½ Ẇ
    tau = 0.05 * np.arange(count)[:, None]
    damped = np.sqrt(omega**2 - half**2)
    decay = np.exp(-half * tau)
    of_mode = 0.25 / (2 * 0.4 * omega**2) * decay
    of_mode = of_mode * (np.cos(damped * tau) + half / damped * np.sin(damped * tau))
    shapes = np.sqrt(2 / LENGTH) * np.sin(np.outer([0.3, 0.9], k))
    at = np.einsum("ar,tr,br->tab", shapes, of_mode, shapes)
    lag = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    dense = at[lag].swapaxes(1, 2).reshape(2 * count, 2 * count)
    dense = dense + np.diag(np.tile([0.04, 0.09], count))
    weighed = np.linalg.solve(dense, np.tile(np.eye(2), (count, 1)))
    known = weighed.reshape(count, 2, 2).sum(axis=0)
    y = y - np.linalg.solve(known, weighed.T @ y.reshape(2, -1).mean(axis=0))
    for sensor in (0, 1):  # the second one is predicted from the first, too
        last = 2 * n - 2 + sensor
        gain = np.linalg.solve(dense[:last, :last], dense[:last, last])
        variance = dense[last, last] - gain @ dense[:last, last]
        for k, row in enumerate(y):
            expected = row[n - 1, sensor] - gain @ row.ravel()[:last]
            assert errors[k, n - 1, sensor] == pytest.approx(expected, rel=1e-6)
            assert variances[k, n - 1, sensor] == pytest.approx(variance, rel=1e-6)


def test_a_law_without_a_motion_predicts_nothing():
    unstable = SensedField(sensed_field(c=(4.0, -1e5)))
    with np.errstate(all="ignore"):
        errors, variances = unstable.innovations(readings(np.ones((1, 40, 2))))
    assert errors.shape == (1, 40, 2)
    assert np.isinf(errors).all() and (variances == 1).all()


def test_one_sensor_is_a_text_of_its_own():
    """NetCDF gives a list of one text back as the text."""
    one = SensedField(MODEL.assign_attrs(sensors="u(0.3)", units="mm"))
    assert one.modal.shapes.shape[0] == 1
    np.testing.assert_allclose(one.modes, FIELD.modes)
