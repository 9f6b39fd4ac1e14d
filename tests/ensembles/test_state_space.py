"""State space of two masses on springs against what is known of linear systems."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

from leastaction.core.library import Library
from leastaction.ensembles.sensor_records import Record, channels_of
from leastaction.ensembles.state_space import StateSpace, Structure

TERMS = {
    "reference": "adot**2/2",
    "lagrangian": [{"terms": ["adot**2", "bdot**2", "a**2", "b**2", "a*b", "a", "b"]}],
    "dissipation": [{"terms": ["adot**2", "bdot**2"]}],
}
DT, SAMPLES = 0.05, 60
M = np.diag([1.0, 2.0])
K = np.array([[5.0, -1.5], [-1.5, 4.0]])
C = np.diag([0.4, 0.6])
CONSTANT = np.array([0.2, -0.3])
COLUMNS = (1, 2, 3, 4, 5, 6, 7, 8)
# In the order of the terms of L, then of D.
LAW = [1.0, -2.5, -2.0, 1.5, 0.2, -0.3, 0.2, 0.3]
LOG_NOISE = np.log([0.01, 0.02, 0.03])
A = np.zeros((4, 4))
A[:2, 2:] = np.eye(2)
A[2:, :2] = -np.linalg.solve(M, K)
A[2:, 2:] = -np.linalg.solve(M, C)
ROOTS = {
    "equal": ([0.7], 0.7 * np.eye(2)),
    "diagonal": ([0.7, 0.9], np.diag([0.7, 0.9])),
    "ground": ([0.7], np.full((2, 1), 0.7)),
    "free": ([0.7, -0.2, 0.9], np.array([[0.7, 0.0], [-0.2, 0.9]])),
}


def model_of(sensors=("a", "b - a", "bdot"), w=None, late=False, **options):
    channels = channels_of(sensors, ["a", "b"])
    y = np.zeros((SAMPLES, len(sensors)))
    w = np.zeros((1, 2)) if w is None else w
    record = Record(y, w, np.array([late, False]))
    scale = np.array([0.5, 0.4, 1.0, 1.2])
    noise = np.full(len(sensors), 0.01)
    library = Library.from_config(TERMS, ["a", "b"])
    about = library, channels, [record], DT, scale, 3.0, noise
    model = StateSpace(*about, **options)
    model.kernel = SimpleNamespace(acceleration=acceleration)
    return model


def acceleration(x, c, width, slopes, kicks, push, mass, inverse, F, D, rates, f, J):
    """In the place of the compiled one, of the linear laws here."""
    inverse[:] = np.diag(1 / (2 * c[:2]))
    stiffness = -np.array([[2 * c[2], c[4]], [c[4], 2 * c[3]]])
    J[:] = -inverse @ np.hstack([stiffness, np.diag(2 * c[7:])])
    f[:] = inverse @ c[5:7] + J @ x


def theta_of(force="diagonal", rest=()):
    return np.array([*LAW, *ROOTS[force][0], *LOG_NOISE, *rest])


def kicks(force):
    root = ROOTS[force][1]
    push = root if force == "ground" else np.linalg.solve(M, root)
    return np.vstack([np.zeros_like(push), push])


@pytest.mark.parametrize("force", ROOTS)
@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("coloured", [False, True])
def test_a_vector_of_parameters_is_read_in_its_order(force, driven, coloured):
    structure = Structure(COLUMNS, force, coloured, driven, late=driven)
    rest = [3.0, 0.02] * driven + [np.log(0.25)] * coloured
    one = model_of().parameters(structure, theta_of(force, rest))
    assert np.allclose(one.coefficients, [0.5, *LAW])
    assert np.array_equal(one.root, ROOTS[force][1])
    assert np.allclose(one.noise, np.exp(2 * LOG_NOISE))
    assert one.rate == pytest.approx(4.0 * coloured)
    assert (one.gain, one.lag) == ((3.0, 0.02) if driven else (0.0, 0.0))


@pytest.mark.parametrize("force", ROOTS)
@pytest.mark.parametrize("rate", [0.0, 4.0])
def test_a_linear_law_goes_from_sample_to_sample_as_its_exponential(force, rate):
    model, root = model_of(), ROOTS[force][1]
    structure = Structure(COLUMNS, force, rate > 0)
    theta = theta_of(force, [-np.log(rate)] if rate else [])
    law = model.discrete(structure, model.parameters(structure, theta))
    rates, gamma, columns = A, kicks(force), root.shape[1]
    if rate:
        rates = np.zeros((4 + columns, 4 + columns))
        rates[:4, :4], rates[:4, 4:] = A, kicks(force)
        rates[4:, 4:] = -rate * np.eye(columns)
        gamma = np.vstack([np.zeros((4, columns)), rate * np.eye(columns)])
    assert np.allclose(law.rates, rates) and np.allclose(law.diffusion, gamma @ gamma.T)
    assert np.allclose(law.transition, expm(rates * DT))
    parts = (expm(rates * (k + 0.5) * DT / 50) @ gamma for k in range(50))
    sums = sum(x @ x.T for x in parts) * DT / 50
    assert np.allclose(law.covariance, sums, rtol=1e-2, atol=1e-4 * sums.max())
    assert np.allclose(law.push[2:4], np.linalg.solve(M, CONSTANT))
    assert not law.push[:2].any() and not law.push[4:].any()


@pytest.mark.parametrize("gain", [1.0, 2.5])
def test_a_constant_recorded_force_holds_the_masses_where_springs_do(gain):
    """Of a state at rest there, the step of the law and its drive are the state."""
    w = np.tile([0.8, -0.4], (SAMPLES, 1))
    model = model_of(("a", "b", "addot"), w)
    structure = Structure(COLUMNS, driven=True, coloured=True)
    theta = theta_of(rest=[gain, 0.0])
    law = model.discrete(structure, model.parameters(structure, theta))
    drive, offset = model.forced(law, 0)
    rest = np.zeros(len(law.transition))
    rest[:2] = np.linalg.solve(K, gain * w[0] + CONSTANT)
    assert model.driven and len(offset) == SAMPLES
    assert np.allclose(law.transition @ rest + drive, rest)
    assert np.allclose(law.sees @ rest + offset, [*rest[:2], 0.0])


def test_steps_follow_a_narrow_width_and_no_more_than_eight_of_a_sample():
    model = model_of()
    largest = 3.0 * 1.2  # frequency times the larger rms velocity
    assert model.narrowest == pytest.approx(largest * DT / 8)
    assert model.width == pytest.approx(0.05 * 1.2)
    for width, steps in ((10.0, 1), (largest * DT / 3.5, 4), (1e-9, 8)):
        model.slide(width)
        assert (model.width, model.steps) == (width, steps)


def test_forces_of_a_harmonic_motion_have_their_rms():
    """Over both equations; each of a square is 2x, 2v or 2a of one coordinate."""
    reference, size = model_of().forces_of_motion()
    acceleration = [2 * 1.0**2 / 0.5, 2 * 1.2**2 / 0.4]
    coupling = np.hypot(0.5, 0.4)
    expected = [*acceleration, 1.0, 0.8, coupling, 1.0, 1.0, 2.0, 2.4]
    assert np.allclose(size, np.array(expected) / np.sqrt(2), rtol=0.1)
    assert reference == pytest.approx(0.5 * size[0])
