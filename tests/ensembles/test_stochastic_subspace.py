"""Realisations of random outputs: frequencies, pairing of eigenvalues, innovations."""

import numpy as np
import pytest
import xarray as xr
from scipy.linalg import expm
from scipy.signal import lfilter

from leastaction.ensembles import stochastic_subspace
from leastaction.ensembles.stochastic_subspace import (
    StochasticRealisation,
    _roots,
    main_frequency,
    modes,
)

DT = 0.1


def oscillation(omega, ratio=0.03, count=20_000, seed=0):
    """Displacements of an oscillator in white noise."""
    z = np.exp(DT * omega * (-ratio + 1j * np.sqrt(1 - ratio**2)))
    e = np.random.default_rng(seed).standard_normal(count)
    return lfilter([1.0], [1, -2 * z.real, abs(z) ** 2], e)


@pytest.fixture(scope="module")
def outputs():
    slow, fast = oscillation(2.0), oscillation(7.0, seed=1)
    noise = np.random.default_rng(2).standard_normal((2, slow.size))
    y = np.stack([slow + 0.3 * fast, 0.5 * slow - 0.6 * fast]) + 0.05 * noise
    return y.T * [1.0, 100.0] + [3.0, -500.0]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_strongest_motion_is_that_of_the_velocity(order):
    """Waves of equal displacement: the faster one is the stronger velocity."""
    t = DT * np.arange(4096)[:, None]
    y = np.sin(2 * t) + 0.8 * np.sin(9 * t)
    y = y + 1e-3 * np.random.default_rng(0).standard_normal(y.shape)
    found = main_frequency(np.array([order]), [y], DT)
    assert found == pytest.approx(9.0 if order == 0 else 2.0, abs=0.1)


def test_short_records_do_not_count_where_there_are_long_ones():
    t = DT * np.arange(4096)[:, None]
    records = [np.sin(2 * t[:900]), np.sin(2 * t), *[10 * np.sin(9 * t[:200])] * 3]
    assert main_frequency(np.array([1]), records, DT) == pytest.approx(2.0, abs=0.1)
    gap = records[1].copy()
    gap[7] = np.nan
    assert main_frequency(np.array([1]), [gap], DT) == pytest.approx(2.0, abs=0.1)


def test_a_spectrum_is_of_a_quarter_of_the_record_or_32768_samples():
    """Whose lines are as far apart as one over their length."""
    for count, size in ((40_000, 10_000), (200_000, 32_768)):
        y = np.sin(2.03 * DT * np.arange(count))[:, None]
        line = main_frequency(np.array([1]), [y], DT) / (2 * np.pi) * size * DT
        assert line == pytest.approx(round(2.03 / (2 * np.pi) * size * DT), abs=1e-6)


def test_frequencies_and_shapes_in_the_units_of_the_channels(outputs):
    realised = StochasticRealisation([outputs[:9000], outputs[9000:]], 4, 20, 5)
    rates, shapes = realised.rates(4, 4 * DT)
    frequency, ratio, shape = modes(rates, shapes, 2)
    assert frequency == pytest.approx([2.0, 7.0], rel=0.02)
    assert ratio == pytest.approx([0.03, 0.03], abs=0.015)
    relative = shape[:, 1] / shape[:, 0]
    assert relative.real == pytest.approx([50.0, -200.0], rel=0.1)
    assert abs(realised.correlations).max() <= 1 + 1e-9


@pytest.mark.parametrize("count", [1, 2])
def test_modes_are_sought_at_three_spacings_with_a_memory_and_without(
    count, outputs, monkeypatch
):
    """24, 12 and 6 lags in a main period; of one coordinate a guess beside them."""
    asked = []

    class Realisation:
        def __init__(self, series, stride, blocks, order):
            assert len(series) == 2 and blocks == 20 and order == 2 * count + 1
            self.stride = stride

        def rates(self, order, step):
            asked.append((self.stride, order))
            assert step == pytest.approx(self.stride * DT)
            w = self.stride + 10.0 * order
            rates = [z for k in range(1, count + 1) for z in (k * w * 1j, -k * w * 1j)]
            shapes = np.arange(1.0, count + 1)[:, None] * np.ones(2 * count)
            return np.array(rates) - 0.1, shapes * (1 + 2j)

    monkeypatch.setattr(stochastic_subspace, "StochasticRealisation", Realisation)
    names, y = ["a", "b"][:count], outputs[:, :count].reshape(2, -1, count)
    y[1, 5] = np.nan
    q = (("replicate", "trajectory", "time", "dof"), y[None])
    time = DT * np.arange(y.shape[1])
    data = xr.Dataset({"q": q}, {"dof": names, "time": time, "replicate": [3]})
    made = stochastic_subspace.differentiate(data, {}, {})
    main = float(made["main_frequency"][0])
    assert main == pytest.approx(2.0, rel=0.05)
    strides = [max(1, round(2 * np.pi / main / DT / k)) for k in (24, 12, 6)]
    assert asked == [(s, 2 * count + k) for s in strides for k in (0, 1)]
    frequency = made["mode_frequency"].values[0]
    expected = [abs(-0.1 + 1j * (s + 10.0 * order)) for s, order in asked]
    np.testing.assert_allclose(frequency[:6, 0], expected)
    assert frequency.shape == (6 + (count == 1), count)
    if count == 1:
        assert frequency[6, 0] == main
        assert made["mode_damping_ratio"].values[0, 6, 0] == 0.1
    shapes = made["mode_shape_real"] + 1j * made["mode_shape_imaginary"]
    np.testing.assert_allclose(shapes[0, 0, 0], np.arange(1, count + 1) * (1 + 2j))
    flat = y.reshape(-1, count)
    np.testing.assert_allclose(made["output_std"][0], np.nanstd(flat, axis=0))
    noise = np.nanmean(np.diff(y, 3, axis=1).reshape(-1, count) ** 2, axis=0) / 20
    np.testing.assert_allclose(made["sensor_noise"][0], np.sqrt(noise))


def test_a_root_has_no_eigenvalue_below_the_round_off_of_the_largest():
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    root, inverse = _roots((turn * [1e-9, 1.0, 1e6]) @ turn.T)
    for made, power in ((root, 0.5), (inverse, -0.5)):
        expected = (turn * np.array([1e-6, 1.0, 1e6]) ** power) @ turn.T
        np.testing.assert_allclose(made, expected, rtol=1e-6, atol=1e-9)


def test_the_innovations_form_has_the_covariances_of_the_outputs(outputs):
    """Λ_j = C A^(j−1) G of the scaled outputs, and K is stable."""
    realised = StochasticRealisation([outputs], 1, 20, 5)
    A, C, K = realised.innovations_form(4)
    z = np.log(np.linalg.eigvals(A).astype(complex)) / DT
    assert np.sort(np.abs(z)) == pytest.approx([2, 2, 7, 7], rel=0.05)
    assert np.abs(np.linalg.eigvals(A - K @ C)).max() < 1
    # State and innovation: P = 1 of canonical variates, G = A C' + K Ω.
    rest = realised.lags[0] - C @ C.T
    G = A @ C.T + K @ rest
    for j in (1, 2, 5):
        power = np.linalg.matrix_power(A, j - 1)
        assert C @ power @ G == pytest.approx(realised.lags[j], abs=0.06)


def test_too_few_samples_are_refused():
    y = np.random.default_rng(0).standard_normal((40, 1))
    with pytest.raises(ValueError, match="has 40 samples, too few"):
        StochasticRealisation([y], 10, 20, 5)
    assert StochasticRealisation([y], 6, 20, 5).blocks == 3
    assert StochasticRealisation([y, y[:0]], 1, 5, 5).blocks == 5


def test_real_eigenvalues_are_paired_beside_complex_ones():
    """Complex pairs first, the least damped; a real pair has a ratio above one."""
    damped, weak = -0.5 + 4j, -0.1 + 3j
    rates = np.array([damped, damped.conjugate(), -2.0, -8.0, weak, weak.conjugate()])
    shapes = np.arange(12.0).reshape(2, 6) + 0j
    frequency, ratio, shape = modes(rates, shapes, 3)
    assert frequency == pytest.approx([abs(weak), 4.0, abs(damped)])
    assert ratio == pytest.approx([0.1 / abs(weak), 10 / 8, 0.5 / abs(damped)])
    assert shape.tolist() == [[4, 10], [2, 8], [0, 6]]
    one, of_it, _ = modes(rates, shapes, 1)
    assert one == pytest.approx([abs(weak)]) and of_it.shape == (1,)


def test_a_mode_that_is_missing_is_twice_as_fast():
    rates, shapes = np.array([-0.1 + 3j, -0.1 - 3j]), np.array([[1, 1], [2, 2.0]])
    frequency, ratio, shape = modes(rates, shapes, 2)
    assert frequency == pytest.approx(abs(rates[0]) * np.array([1, 2]))
    assert ratio[0] == ratio[1] and shape.tolist() == [[1, 2], [2, 1]]


def test_a_matrix_exponential_has_its_modes():
    A = np.array([[0, 1], [-9.0, -0.6]])
    values, vectors = np.linalg.eig(expm(0.2 * A))
    frequency, ratio, _ = modes(np.log(values) / 0.2, vectors, 1)
    assert (frequency[0], ratio[0]) == pytest.approx((3.0, 0.1))
