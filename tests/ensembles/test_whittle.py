"""Fourier coefficients on bands: taper, places, spectrum and mean of a linear law."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

from leastaction.core.library import Library
from leastaction.ensembles.sensor_records import Record, channels_of
from leastaction.ensembles.state_space import Structure
from leastaction.ensembles.whittle import BandedStateSpace, _sequential, _taper, tapered

TERMS = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2", "x**2", "x**4"]}],
    "dissipation": [{"terms": ["xdot**2"]}],
}
DT, K, C, S = 0.1, 9.0, 1.2, 0.8
COLUMNS = (1, 3)
THETA = np.array([-K / 2, C / 2, S, np.log(0.05), np.log(0.07)])
A = np.array([[0.0, 1.0], [-K, -C]])
RNG = np.random.default_rng(6)


def acceleration(x, c, width, slopes, kicks, push, mass, inverse, F, D, rates, f, J):
    """In the place of the compiled one."""
    inverse[:] = 1 / (2 * c[0])
    J[:] = inverse[0, 0] * np.array([[2 * c[1], -2 * c[3]]])
    f[:] = J @ x


def model_of(y, bands, w=None, sensors=("x", "xdot")) -> BandedStateSpace:
    record = Record(y, np.zeros((1, 1)) if w is None else w, np.array([False]))
    library, noise = Library.from_config(TERMS, ["x"]), np.full(len(sensors), 0.05)
    about = library, channels_of(sensors, ["x"]), [record], DT, [1.0, 3.0], 3.0, noise
    model = BandedStateSpace(*about, bands=bands)
    model.kernel = SimpleNamespace(acceleration=acceleration)
    return model


def test_coefficients_are_those_of_the_definition():
    y = RNG.normal(size=(30, 2))
    n = np.arange(30)
    taper = np.sin(np.pi * n / 30) ** 2
    made = tapered(y)
    for place in (0, 1, 7, 15):
        wave = np.exp(-2j * np.pi * place * n / 30)
        expected = (taper * wave) @ y / np.sqrt((taper**2).sum())
        np.testing.assert_allclose(made[place], expected, atol=1e-13)


def test_of_a_band_every_second_frequency_is_taken_and_its_edges_are_in_it():
    y = RNG.normal(size=(1000, 2)) + [5.0, -3.0]
    y[17, 0] = np.nan
    bands = [(0.1, 0.5), (1.0, 1.5)]  # frequencies k/100 Hz
    model = model_of(y, bands)
    inside = [*range(10, 51), *range(100, 151)][::2]
    assert model.samples == len(inside) == 46
    f, read = model.read(0)
    np.testing.assert_allclose(f, np.tile(np.array(inside) / 100, 2), rtol=1e-12)
    centred = np.nan_to_num(y - np.nanmean(y, axis=0))
    transform = tapered(centred)[inside]
    np.testing.assert_allclose(read, np.vstack([transform.real, transform.imag]))
    assert model.starts == [None] and model.read_over == "Hz"
    assert model.correlation_of_neighbours == 1 / 6


def test_neighbours_of_the_taken_coefficients_correlate_by_a_sixth():
    """Σ h² e^{2πi·2n/N}/Σ h² of Hann's taper."""
    n = np.arange(400)
    square = np.sin(np.pi * n / 400) ** 4
    shared = (square * np.exp(4j * np.pi * n / 400)).sum() / square.sum()
    assert BandedStateSpace.correlation_of_neighbours == pytest.approx(shared.real)


def test_bands_hold_thirty_two_coefficients_at_least():
    y = RNG.normal(size=(1000, 2))
    assert model_of(y, [(0.1, 0.72)]).samples == 32
    with pytest.raises(ValueError, match=r"hold 31 frequencies of a record of 100 s"):
        model_of(y, [(0.1, 0.71)])


def spectrum(f: np.ndarray) -> np.ndarray:
    """Σ_k Cov(y_{n+k}, y_n) e^{−2πi f k Δt}, by the autocovariances themselves."""
    step = expm(DT * A)
    noise = np.diag([0.0, S**2])
    stationary = np.linalg.solve(
        np.kron(A, np.eye(2)) + np.kron(np.eye(2), A), -noise.ravel()
    ).reshape(2, 2)
    total = np.zeros((len(f), 2, 2), dtype=complex) + stationary
    power = np.eye(2)
    for k in range(1, 600):
        power = step @ power
        wave = np.exp(-2j * np.pi * f * k * DT)[:, None, None]
        total += wave * (power @ stationary) + (
            wave * (power @ stationary)
        ).conj().swapaxes(1, 2)
    return total + np.diag([0.05**2, 0.07**2])


def test_innovations_are_those_of_the_spectrum_of_the_sampled_law():
    y = RNG.normal(size=(800, 2))
    model = model_of(y, [(0.1, 2.0)])
    e, V = model.innovations(Structure(COLUMNS), THETA)(0)
    places, d = model.transforms[0]
    sides = spectrum(places / 80)
    expected = 0.0
    for one, matrix in zip(d, sides, strict=True):
        expected += 2 * (one.conj() @ np.linalg.solve(matrix, one)).real
        expected += 2 * np.log(np.linalg.det(matrix).real / 4)
    made = (e**2 / V + np.log(V)).sum()
    assert made == pytest.approx(expected, rel=1e-8)
    half = len(places)
    np.testing.assert_allclose(e[:half, 0] + 1j * e[half:, 0], d[:, 0], rtol=1e-9)
    np.testing.assert_allclose(V[:half, 0], sides[:, 0, 0].real / 2, rtol=1e-8)
    np.testing.assert_array_equal(V[:half], V[half:])


def test_a_law_without_a_spectrum_has_no_innovations():
    model = model_of(RNG.normal(size=(800, 2)), [(0.1, 2.0)])
    falling = THETA.copy()
    falling[0] = 4.0
    assert model.innovations(Structure(COLUMNS), falling)(0) is None
    bent = np.insert(THETA, 1, 0.1)
    assert model.innovations(Structure((1, 2, 3)), bent)(0) is None
    assert model.innovations(Structure(COLUMNS), THETA)(0) is not None


def test_channels_are_sequential_of_both_parts():
    root = RNG.normal(size=(5, 3, 3)) + 1j * RNG.normal(size=(5, 3, 3))
    matrices = root @ root.conj().swapaxes(1, 2)
    miss = RNG.normal(size=(5, 3)) + 1j * RNG.normal(size=(5, 3))
    e, V = _sequential(miss, matrices)
    assert e.shape == V.shape == (10, 3)
    for k in range(5):
        for c in range(3):
            before = np.linalg.solve(matrices[k, :c, :c], matrices[k, :c, c]).conj()
            left = miss[k, c] - before @ miss[k, :c]
            variance = (matrices[k, c, c] - before @ matrices[k, :c, c]).real / 2
            assert e[k, c] + 1j * e[5 + k, c] == pytest.approx(left, rel=1e-8)
            assert V[k, c] == pytest.approx(variance, rel=1e-8) == V[5 + k, c]
    assert _sequential(miss, -matrices) is None


def test_recorded_forces_move_the_mean():
    """A motion under its force alone has hardly any innovations in the band."""
    n = np.arange(1200)
    w = (np.sin(0.37 * n) + np.cos(0.113 * n) + 0.3 * np.sin(0.05 * n))[:, None]
    theta = np.insert(THETA, 5, 2.0)  # gain of the force
    sensors = ("x", "x + xdot")

    from scipy.integrate import solve_ivp
    from scipy.interpolate import CubicSpline

    force = CubicSpline(DT * n, w[:, 0])
    solved = solve_ivp(
        lambda t, z: A @ z + [0.0, 2 * force(t)],
        (0, DT * n[-1]),
        [0.0, 0.0],
        t_eval=DT * n,
        rtol=1e-5,
        atol=1e-6,
    )
    x, v = solved.y
    model = model_of(np.stack([x, x + v], axis=1), [(0.05, 1.5)], w, sensors)
    structure = Structure(COLUMNS, driven=True)
    e, _ = model.innovations(structure, theta)(0)
    size = np.abs(model.transforms[0][1]).max()
    assert np.abs(e).max() < 0.015 * size  # what the taper lets through
    theta[5] = 2.2
    off, _ = model.innovations(structure, theta)(0)
    assert np.abs(off).max() > 3 * np.abs(e).max()


def test_coefficients_under_the_taper_are_correlated_as_its_square_says():
    """Of white noise, every second one: a sixth of the variance; nothing beyond."""
    power = np.abs(np.fft.fft(_taper(3600) ** 2))
    correlation = BandedStateSpace.correlation_of_neighbours
    assert power[2] / power[0] == pytest.approx(correlation)
    assert power[4] / power[0] < 1e-12 < correlation < 1
