"""A force that no column records is seen where none was stated."""

import numpy as np
import pytest
from recorded import imported, rig, write
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.signal import lfilter

from leastaction.recordings import excitation
from leastaction.recordings.bandwidth_spline import spectrum
from leastaction.recordings.excitation import (
    UNRECORDED,
    autocorrelation,
    energy_turns,
    goes_one_way,
    relaxes,
    unrecorded_force,
)
from leastaction.recordings.refusals import RecordingError

ONE = (np.array([[1.0]]), np.array([[1.0]]))
# Inertia and stiffness of two unlike storeys, main period 2π over the lowest frequency.
TWO = (np.diag([1.0, 0.5]), np.array([[8.0, -4.0], [-4.0, 4.0]]))


def vibration(system, per_period, periods, damping, force, seed, noise=0.01):
    """Positions of M q̈ + 2 ζ ω₁ M q̇ + K q = force · Ẇ, exact at the samples; dt."""
    rng = np.random.default_rng(seed)
    inertia, stiffness = system
    dof = len(inertia)
    flexibility = np.linalg.solve(inertia, stiffness)
    lowest = np.sqrt(np.linalg.eigvals(flexibility).real.min())
    dt = 2 * np.pi / lowest / per_period
    rates = -2 * damping * lowest * np.eye(dof)
    drift = np.block([[np.zeros((dof, dof)), np.eye(dof)], [-flexibility, rates]])
    column = np.r_[np.zeros(dof), np.ones(dof)][:, None]
    stationary = solve_continuous_lyapunov(drift, -column @ column.T)
    step = expm(drift * dt)
    root = np.real(_root(stationary - step @ stationary @ step.T))
    state = _root(stationary) @ rng.standard_normal(2 * dof)
    if not force:
        root, state = 0 * root, np.r_[1.0, -0.4 * np.ones(dof - 1), np.zeros(dof)]
    path = np.empty((round(periods * per_period), dof))
    for row in path:
        row[:] = state[:dof]
        state = step @ state + root @ rng.standard_normal(2 * dof)
    return path + noise * path.std(axis=0) * rng.standard_normal(path.shape), dt


def _root(covariance):
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.clip(values, 0.0, None))


def is_seen(path, dt):
    return unrecorded_force([path], dt, [False] * path.shape[1]).startswith(UNRECORDED)


@pytest.mark.parametrize("samples", [2, 5, 15, 16, 17, 400])
def test_a_short_record_that_turns_around_does_not_go_one_way(samples):
    """Also if there are fewer samples than means."""
    time = np.linspace(0, 1, samples)
    assert goes_one_way([np.exp(-time), time])
    assert samples == 2 or not goes_one_way([time, (time - 0.5) ** 2])


@pytest.mark.parametrize("noise", [1e-3, 0.05])
@pytest.mark.parametrize("per_period", [14, 60])
@pytest.mark.parametrize("system", [ONE, TWO])
def test_shaken_is_distinguished_from_free(system, per_period, noise):
    """No mistake, one way or the other, in 4 kinds of records of 3 draws each."""
    for seed in range(3):
        for damping in (0.005, 0.03):
            shaken = system, per_period, 120, damping, True, seed, noise
            path, dt = vibration(*shaken)
            assert is_seen(path, dt)
            free = system, per_period, 30, damping, False, seed, noise
            path, dt = vibration(*free)
            assert not is_seen(path, dt)


def test_a_tone_hides_no_thermal_noise():
    """14 samples per period, a tone beside the line with 30 % of the power."""
    path, dt = vibration(ONE, 14, 300, 0.017, True, 3)
    tone = 0.65 * 2**0.5 * path.std() * np.sin(1.05 * np.arange(len(path)) * dt)
    path = path + tone[:, None]
    assert is_seen(path, dt)


def test_energy_that_is_exchanged_is_no_force():
    """Two coupled pendulums of unlike mass beat; together their energy only falls."""
    beating = np.diag([1.0, 0.2]), np.array([[1.05, -0.05], [-0.05, 0.25]])
    path, dt = vibration(beating, 20, 80, 0.002, False, 1)
    main = [spectrum([path[:, a]], dt).main for a in range(2)]
    assert energy_turns(path[:, 1:], dt, main[1:]) > 3
    assert energy_turns(path, dt, main) <= 1


def test_a_recorded_broadband_force_is_not_taken_for_a_random_one(tmp_path):
    path, dt = vibration(ONE, 40, 60, 0.02, True, 2, noise=1e-4)
    table = [[0, n * dt, x, 0.1 * x + n % 7] for n, x in enumerate(path[:, 0])]
    write(tmp_path, table, "run,t,theta,force")
    driven = rig(
        coordinates={"theta": "m"},
        inputs={"theta": {"column": "force", "unit": "N"}},
        trajectory=None,
    )
    assert "input" in imported(driven, tmp_path)


RANDOM, DT = vibration(ONE, 40, 120, 0.03, True, 4)
# name: (positions, s between samples, words of the message)
UNUSABLE = {
    "one sample a period": (
        vibration(ONE, 1, 500, 0.05, True, 5)[0],
        2 * np.pi,
        ["samples", "Sample faster"],
    ),
    "clipped": (
        np.clip(RANDOM, -1.5 * RANDOM.std(), 1.5 * RANDOM.std()),
        DT,
        ["clipped", "wider range"],
    ),
    "dead from the middle on": (
        np.where(np.arange(len(RANDOM))[:, None] < 2000, RANDOM, RANDOM[2000]),
        DT,
        ["dead", "main periods", "cable"],
    ),
    "dead": (0 * RANDOM + 0.2, DT, ["0.2 in every row", "cable"]),
    "three periods": (RANDOM[:120], DT, ["periods", "20 periods at least"]),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_random_recordings(name, tmp_path):
    path, dt, words = UNUSABLE[name]
    write(tmp_path, [[0, n * dt, x] for n, x in enumerate(path[:, 0])])
    given = rig(coordinates={"theta": "m"}, trajectory=None) | {"excitation": "random"}
    with pytest.raises(RecordingError) as refusal:
        imported(given, tmp_path)
    for word in words:
        assert word in str(refusal.value)


def test_the_usable_one_passes(tmp_path):
    write(tmp_path, [[0, n * DT, x] for n, x in enumerate(RANDOM[:, 0])])
    given = rig(coordinates={"theta": "m"}, trajectory=None) | {"excitation": "random"}
    assert imported(given, tmp_path).sizes["dof"] == 1


def test_a_contradiction_is_a_warning(tmp_path):
    """Of shaken motion that is said to be free; none if it is accepted."""
    write(tmp_path, [[0, n * DT, x] for n, x in enumerate(RANDOM[:, 0])])
    given = rig(coordinates={"theta": "m"}, trajectory=None)
    for accepted in ([], ["excitation"]):
        found = imported(given | {"accept": accepted}, tmp_path)
        assert (UNRECORDED in found.attrs["warnings"]) == (not accepted)


def test_an_autocorrelation_is_that_of_all_trajectories(rng):
    parts = [rng.standard_normal(50) + 3, rng.standard_normal(30) + 3]
    mean = np.concatenate(parts).mean()
    sums = [
        sum(((p - mean)[: len(p) - k] * (p - mean)[k:]).sum() for p in parts)
        for k in range(30)
    ]
    np.testing.assert_allclose(autocorrelation(parts), np.array(sums) / sums[0])


@pytest.mark.parametrize(
    ("sizes", "turns"),
    [
        ([1, 1, 1, 1], 0),
        ([1, 2], 1),
        ([1, 1.3, 1, 1.3], 0),  # velocities, whose squares must double
        ([1, 1.6, 1, 1.6], 3),
        ([1, 2, 3, 1], 2),
        ([3, 2, 1.8, 1.2], 1),
        ([10, 1, 1.6, 1, 1.6, 1], 5),  # also of a twentieth of the mean
        ([20, 1, 1.6, 1, 1.6, 1], 1),
    ],
)
def test_an_energy_that_doubles_and_halves_turns(sizes, turns):
    """Tones whose amplitude changes every three periods, an eighth of a period late."""
    dt, period = 0.01, 0.8
    steps = np.repeat(sizes, 240)
    phase = 2 * np.pi * np.arange(len(steps) + 10) * dt / period
    q = np.sin(phase) * np.append(steps, np.full(10, sizes[-1]))
    assert energy_turns(q[:, None], dt, [1 / period]) == turns
    assert energy_turns(q[:400, None], dt, [1 / period]) == 0


def test_a_motion_between_relaxing_and_ringing(rng):
    """ζ above ½ by its autocorrelation; diffusion by its short times."""
    noise = rng.standard_normal(20000)
    for a, relaxed in ((0.9, True), (0.3, False), (-0.9, False)):
        assert relaxes([lfilter([1], [1, -a], noise)]) is relaxed
    smooth = lfilter([1], [1, -1.9, 0.9025], noise)  # twice 0.95: with inertia
    assert relaxes([smooth]) is False
    ringing = lfilter([1], [1, -1.9, 0.95], noise)
    assert relaxes([ringing]) is False


def rising(exponent, decay):
    """Autocorrelation 1 − (τ/T)^p below e⁻¹ from `decay` samples on; its motion.

    A stationary process of many samples, by its spectrum: mean squares of its steps
    are 2 (1 − ρ).
    """
    count = 1 << 14
    lag = np.minimum(np.arange(count), count - np.arange(count))
    rho = np.exp(-((lag / decay) ** exponent))
    power = np.maximum(np.fft.rfft(rho).real, 0.0)
    phase = np.exp(2j * np.pi * np.random.default_rng(0).random(len(power)))
    return np.fft.irfft(np.sqrt(power) * phase, count)


@pytest.mark.parametrize("decay", [6.0, 20.0, 90.0])
@pytest.mark.parametrize(
    ("exponent", "relaxed"), [(1.0, True), (1.35, True), (1.95, False)]
)
def test_steps_of_a_relaxing_motion_grow_as_those_of_diffusion(
    exponent, relaxed, decay
):
    """As τ^p below p = 3/2; random phases leave every mean square as it is."""
    assert relaxes([rising(exponent, decay)]) is relaxed


@pytest.mark.parametrize(("damping", "relaxed"), [(0.45, False), (0.6, True)])
def test_an_oscillation_has_its_minimum_within_its_decay(damping, relaxed, monkeypatch):
    """Of the autocorrelation of ẍ + 2ζẋ + x = white noise, −exp(−πζ/√(1 − ζ²))."""
    w = np.sqrt(1 - damping**2)
    t = 0.05 * np.arange(4000)
    rho = np.exp(-damping * t) * (np.cos(w * t) + damping / w * np.sin(w * t))
    monkeypatch.setattr(excitation, "autocorrelation", lambda parts: rho)
    monkeypatch.setattr(excitation, "LEAST_INERTIAL", np.inf)
    assert relaxes([np.arange(5000.0)]) is relaxed


@pytest.mark.parametrize(("decay", "relaxed"), [(1, False), (2, True)])
def test_a_motion_is_correlated_over_two_samples(decay, relaxed, monkeypatch):
    """Its minimum counts up to three times its decay, and no later."""
    rho = np.r_[np.ones(decay), np.full(2 * decay + 1, 0.2), np.full(50, -0.9)]
    monkeypatch.setattr(excitation, "autocorrelation", lambda parts: rho)
    monkeypatch.setattr(excitation, "LEAST_INERTIAL", np.inf)
    y = [np.arange(100.0)]
    assert relaxes(y) is relaxed
    rho[3 * decay] = -0.9
    assert relaxes(y) is False


@pytest.mark.parametrize(
    ("decay", "steps"),
    [(2, 3), (8, 4), (15, 4), (16, 5), (31, 5), (32, 6), (64, 7)],
)
def test_steps_double_up_to_the_decay(decay, steps, monkeypatch):
    """1, 2, 4 and on to the decay: the last that breaks the law of diffusion counts."""
    rho = np.r_[np.ones(decay), np.full(3000, 0.2)]
    monkeypatch.setattr(excitation, "autocorrelation", lambda parts: rho)

    class Motion:
        """Whose mean square step over m samples is m, but jumps at `wrong`."""

        def __init__(self, wrong):
            self.wrong = wrong

        def __getitem__(self, rows):
            return Half(rows.start, self.wrong) if rows.start else 0.0

    class Half:
        def __init__(self, m, wrong):
            self.m, self.wrong = m, wrong

        def __sub__(self, other):
            return np.array([np.sqrt(self.m * (1 + 9 * (self.m >= self.wrong)))])

    last = 1 << (steps - 1)
    assert relaxes([Motion(last)]) is False
    assert relaxes([Motion(2 * last)]) is True
