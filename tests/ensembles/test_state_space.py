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


def test_what_a_structure_does_not_say_is_not_in_it():
    plain = Structure((1,))
    assert plain == Structure((1,), "diagonal", False, False, False)
    model = model_of()
    assert model.correlation_of_neighbours == 0 and model.read_over == "s"
    assert not model.driven and not model.late
    assert model_of(w=np.zeros((2, 2)), late=True).late
    assert model_of(w=np.zeros((2, 2))).driven
    assert model.moment == pytest.approx(0.3 / 3.0)
    assert model.steps == 1 and model.acceleration == pytest.approx(3.0 * 1.2)
    fast = StateSpace(*ABOUT, 0.05, [0.5, 0.4, 1.0, 1.2], 6.1, np.full(2, 0.01))
    assert fast.steps == fast.fewest == 2  # 6.1 · 0.05 > 0.3
    times, y = model.read(0)
    np.testing.assert_allclose(times, DT * np.arange(SAMPLES))
    assert y is model.records[0].y and model.samples == SAMPLES


ABOUT = (
    Library.from_config(TERMS, ["a", "b"]),
    channels_of(["a", "b"], ["a", "b"]),
    [Record(np.zeros((SAMPLES, 2)), np.zeros((1, 2)), np.zeros(2, dtype=bool))],
)


@pytest.mark.parametrize(("growth", "follows"), [(19.5, True), (20.5, False)])
def test_a_law_may_grow_by_twenty_nats_over_a_record(growth, follows):
    """One coordinate falls over at a rate r with r² + 0.4 r = k."""
    rate = growth / (DT * SAMPLES)
    theta = theta_of()
    theta[[1, 3]] = (rate**2 + 0.4 * rate) / 2, 0.0
    model = model_of()
    structure = Structure(COLUMNS)
    made = model.discrete(structure, model.parameters(structure, theta))
    assert (made is not None) == follows


def test_a_record_that_does_not_tell_its_start_begins_settled():
    """By Lyapunov's equation; widely around zero where there is no such motion."""
    model = model_of(("adot", "bdot"))
    assert model.starts == [None]
    structure = Structure(COLUMNS)
    theta = np.array([*LAW, 0.7, 0.9, *np.log([0.01, 0.01])])
    parameters = model.parameters(structure, theta)
    linear = model.linearised(structure, parameters)[:2]
    x, P = model._state(0, parameters, 4, 4, lambda: model._settled(*linear))
    assert not x.any()
    np.testing.assert_allclose(A @ P + P @ A.T, -linear[1], atol=1e-9)
    unstable = theta.copy()
    unstable[6:8] = -0.2, -0.3
    parameters = model.parameters(structure, unstable)
    linear = model.linearised(structure, parameters)[:2]
    _, P = model._state(0, parameters, 4, 4, lambda: model._settled(*linear))
    np.testing.assert_allclose(P, np.diag(100 * np.array([0.5, 0.4, 1.0, 1.2]) ** 2))


def test_a_start_is_a_line_through_the_first_samples():
    """Of the number with the least error of its slope, by noise and curvature."""
    rng, time = np.random.default_rng(2), DT * np.arange(SAMPLES)
    true = np.stack([0.3 - 0.5 * time, 0.2 + 0.4 * time], axis=1)
    y = np.stack([true[:, 0], true[:, 1] - true[:, 0]], axis=1)
    y += 0.01 * rng.normal(size=y.shape)
    model = model_of(("a", "b - a"))
    start = model._start(Record(y, None, None), np.full(2, 0.01), 3.0)
    m = np.arange(3, 7)  # up to a radian of the motion
    variance = np.array([1e-4, 2e-4])
    acceleration = 3.0 * np.array([1.0, 1.2])
    curve = (acceleration * m[:, None] * DT / 2) ** 2
    error = 12 * variance / (m[:, None] ** 3 * DT**2) + curve
    best = error.sum(axis=1).argmin()
    count = m[best]
    assert start.samples == count
    sensed = np.stack([y[:count, 0], y[:count].sum(axis=1)], axis=1)
    slope, level = np.polyfit(time[:count], sensed, 1)
    np.testing.assert_allclose(start.mean, [*level, *slope], rtol=1e-9)
    bend = acceleration * (count * DT) ** 2 / 8
    spread = np.concatenate([4 * variance / count + bend**2, error[best]])
    np.testing.assert_allclose(start.covariance, 2 * np.diag(spread), rtol=1e-9)
    short, gaps = Record(y[:7], None, None), Record(y.copy(), None, None)
    gaps.y[1] = np.nan
    assert model._start(short, np.full(2, 0.01), 3.0) is None
    assert model._start(Record(y[:8], None, None), np.full(2, 0.01), 3.0) is not None
    assert model._start(gaps, np.full(2, 0.01), 3.0) is None


@pytest.mark.parametrize(
    ("averaged", "coloured", "force"),
    [(1, False, "diagonal"), (4, True, "diagonal"), (4, False, "diagonal")]
    + [(4, False, "ground")],
)
def test_means_of_samples_have_less_noise_but_a_part_of_the_force(
    averaged, coloured, force
):
    """σ² T (1 − 1/n²)/6 of velocities, and a tenth of the noise at least."""
    model = model_of(averaged=averaged, window=0.2)
    structure = Structure(COLUMNS, force, coloured)
    noise = np.exp(2 * LOG_NOISE)
    for log_noise in (LOG_NOISE, LOG_NOISE + 3):
        noise = np.exp(2 * log_noise) / averaged
        rest = [0.0] * coloured
        theta = np.array([*LAW, *ROOTS[force][0], *log_noise, *rest])
        made = model.parameters(structure, theta).noise
        if averaged > 1 and not coloured:
            pushed = 0.7 if force == "ground" else 0.9 / 2
            less = pushed**2 * 0.2 * (1 - 1 / 16) / 6
            noise[2] = max(noise[2] - less, 0.1 * noise[2])
        np.testing.assert_allclose(made, noise, rtol=1e-9)
