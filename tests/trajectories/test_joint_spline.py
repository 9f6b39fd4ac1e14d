"""Joint smoothing of all recorded channels."""

from types import SimpleNamespace

import numpy as np
import pytest
from motions import SPLINE, pendulum, recording

from leastaction.core.contracts import check
from leastaction.trajectories import joint_spline as method
from leastaction.trajectories.joint_spline import (
    channel,
    demmler_reinsch,
    design,
    joint_spline,
    measured,
    states,
)


@pytest.fixture(scope="module")
def truth():
    return pendulum(trajectories=20, samples=300)


def rates(truth, level, channels=3, **settings):
    observations = recording(*truth, level=level, channels=channels)
    found = method.differentiate(observations, {**SPLINE, **settings}, {})
    return observations, check(found, "rates")


def errors(truth, level, channels):
    observations, found = rates(truth, level, channels, trim=25)
    return [
        np.sqrt(((state[..., 0] - exact[:, 25:-25]) ** 2).mean())
        for state, exact in zip(states(observations, found), truth[1:4], strict=True)
    ]


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_a_cubic_is_its_own_spline(channels):
    """The penalty on the fourth derivative leaves cubics alone."""
    time = 0.02 * np.arange(120)
    polynomial = np.polynomial.Polynomial([1.0, -2.0, 3.0, -1.0])
    given = [
        polynomial.deriv(k)(time)[None] if k else polynomial(time)[None]
        for k in range(channels)
    ]
    coefficients = joint_spline(given, range(channels), 0.02, 2, 1.2)[0]
    at = method.knots(120, 2)
    for k, basis in enumerate(design(at, np.arange(120.0), range(channels))):
        np.testing.assert_allclose(
            basis @ coefficients[0] / 0.02**k, given[k][0], atol=1e-6
        )


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("level", [1e-2, 1e-1])
def test_the_noise_of_every_channel_is_found(truth, channels, level):
    _, found = rates(truth, level, channels)
    np.testing.assert_allclose(found["noise_std"].values, level, rtol=0.04)


def test_a_motion_fast_for_its_sampling_gets_more_knots(truth, rng):
    """Those of one knot a sample cannot follow it; slow motions keep theirs."""
    time, frequency = 0.01 * np.arange(200), 25.0
    phase = rng.uniform(0, 6, 20)[:, None] + frequency * time
    waves = [np.sin(phase), frequency * np.cos(phase), -(frequency**2) * np.sin(phase)]
    observations, found = rates((time, *waves, np.zeros_like(phase)), 1e-4)
    assert found["knot_spacing"] == 0.5
    qddot, sine = states(observations, found)[2][..., 0], waves[0][:, 5:-5]
    assert np.sqrt(((qddot - waves[2][:, 5:-5]) ** 2).mean()) < 3e-4
    slope = (qddot * sine).sum() / (sine**2).sum()
    assert slope == pytest.approx(-(frequency**2), rel=1e-6)
    assert rates(truth, 1e-2)[1]["knot_spacing"] == 1


def test_every_further_channel_helps(truth):
    one, two, three = (errors(truth, 0.05, channels) for channels in (1, 2, 3))
    assert one[0] > two[0] > three[0] > 0
    assert one[1] > 2 * two[1] and two[2] > 2 * three[2]
    assert three[2] < 0.05


@pytest.mark.parametrize("derivatives", [(0,), (0, 1), (0, 1, 2)])
def test_modes_are_orthonormal_although_accelerations_outweigh_positions(derivatives):
    """Without that, rounding decides how positions are smoothed."""
    basis = demmler_reinsch(300, 0.01, 2, derivatives, (0,) * len(derivatives))
    pairs = zip(basis.weights, basis.bases, strict=True)
    modes = np.concatenate([w**0.5 * (b @ basis.vectors) for w, b in pairs])
    identity = np.eye(modes.shape[1])
    np.testing.assert_allclose(modes.T @ modes, identity, atol=1e-11)
    np.testing.assert_allclose(basis.inverse @ basis.vectors, identity, atol=1e-7)
    np.testing.assert_allclose(basis.share.sum(0), 1.0, atol=1e-11)


def test_units_of_a_coordinate_only_scale_the_spline(truth):
    _, plain = rates(truth, 0.05)
    observations = recording(*truth, level=0.05)
    scaled = observations.map(lambda v: 1000.0 * v, keep_attrs=True)
    found = method.differentiate(scaled.assign_attrs(contract="motion"), SPLINE, {})
    for name in ("spline", "noise_std"):
        np.testing.assert_allclose(
            found[name].values, 1000 * plain[name].values, rtol=1e-6, atol=1e-6
        )


def test_without_noise_nothing_is_lost(truth):
    assert max(errors(truth, 0.0, 3)) < 1e-5


def test_trajectories_are_smoothed_apart(truth):
    """The order of trajectories does not matter."""
    observations = recording(*truth, level=0.05)
    order = np.arange(20)[::-1]
    plain = method.differentiate(observations, SPLINE, {})
    turned = method.differentiate(observations.isel(trajectory=order), SPLINE, {})
    np.testing.assert_allclose(
        turned["spline"].values, plain["spline"].values[:, order], rtol=1e-9, atol=1e-9
    )


def test_measured_states_are_the_channels(truth):
    observations = recording(*truth, level=0.05)
    found = check(measured(observations, {}, {}), "rates")
    for name, state in zip(
        ("q", "qdot", "qddot"), states(observations, found), strict=True
    ):
        np.testing.assert_array_equal(state, observations[name].values[0])


def test_kept_samples_are_those_of_the_spline(truth):
    observations, found = rates(truth, 0.0)
    q = states(observations, found)[0]
    np.testing.assert_allclose(channel(observations, found, "q"), q, atol=1e-8)


def test_what_is_missing_is_reported(truth):
    with pytest.raises(ValueError, match="qddot is not recorded"):
        measured(recording(*truth, channels=2), {}, {})
    short = recording(*truth).isel(time=slice(0, 15))
    with pytest.raises(ValueError, match="have 15 samples"):
        method.differentiate(short, SPLINE, {})


def test_a_dearer_degree_of_freedom_makes_a_smoother_spline(rng):
    time = 0.01 * np.arange(400)
    noisy = np.sin(3 * time) + 0.05 * rng.standard_normal((5, 400))
    penalties = [
        joint_spline([noisy], [0], 0.01, 4.0, inflation)[2] for inflation in (1.0, 3.0)
    ]
    assert (penalties[1] > penalties[0]).all()


@pytest.mark.parametrize("inflation", [1.0, 1.4])
def test_a_penalty_has_the_least_score_of_cross_validation(rng, inflation):
    """log GCV = log(rest + Σ s² y²) − 2 log(n − a·tr), minimised by SciPy."""
    penalty = np.geomspace(1e-4, 1e6, 40)
    spectrum = rng.standard_normal((3, 40)) + 30 / (1 + np.sqrt(penalty))
    rest, count = np.array([20.0, 40.0, 30.0]), 100

    def score(log, k):
        shrunk = np.exp(log) * penalty / (1 + np.exp(log) * penalty)
        left = rest[k] + (shrunk**2 * spectrum[k] ** 2).sum()
        freedom = inflation * (40 - shrunk.sum())
        return np.log(left) - 2 * np.log(count - freedom)

    found = method._cross_validation(spectrum, rest, penalty, count, inflation)
    step = np.log(1e2 / penalty[0] / (1e-3 / penalty[-1])) / 59
    for k, value in enumerate(np.log(found)):
        grid = np.arange(np.log(1e-9), np.log(1e6), step / 40)
        best = grid[np.argmin([score(log, k) for log in grid])]
        assert abs(value - best) < 0.25 * step


@pytest.mark.parametrize("order", [1, 2])
def test_high_differences_of_a_smooth_motion_are_noise(rng, order):
    noise = 0.3 * rng.standard_normal((4, 3000))
    smooth = np.sin(np.linspace(0, 30, 3000) * order)
    assert method._difference_noise(noise + smooth) == pytest.approx(0.3, rel=0.05)


def test_ratios_of_noise_are_half_powers_of_two():
    noise = np.array([1.0, 2.0, 2**0.5 * 1.05, 0.25])
    assert method._steps(noise) == (0, 2, 1, -4)
    assert method._steps(np.array([1.0, 0.0])) == (0, round(2 * np.log2(1e-14)))


@pytest.mark.parametrize(("left", "told"), [(0.9, False), (1.1, True)])
def test_residuals_tell_the_noise_where_a_hundredth_is_left(rng, left, told):
    """Of 100 values; E|y − S y|² = σ² (n − Σ s (2 − s))."""
    y = rng.standard_normal((1, 100))
    s = 1 - np.sqrt(left / 100)
    basis = SimpleNamespace(
        penalty=np.full(100, 1 / s - 1),
        vectors=np.eye(100),
        share=np.ones((1, 100)),
        bases=[np.eye(100)],
    )
    found = method._residual_noise([y], basis, y, np.ones(1), np.array([7.0]))
    expected = np.sqrt(((1 - s) ** 2 * y**2).sum() / max(left, 1.0))
    assert found[0] == (pytest.approx(expected) if told else 7.0)
