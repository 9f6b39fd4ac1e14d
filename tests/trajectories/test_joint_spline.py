"""Joint smoothing of all recorded channels."""

import math
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
    spectrum = rng.standard_normal((12, 40)) + 30 / (1 + np.sqrt(penalty))
    rest, count = np.linspace(20.0, 40.0, 12), 100

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
        assert abs(value - best) < 0.2 * step


def test_a_score_without_a_minimum_leaves_a_penalty_on_the_grid():
    """No spectrum, and so many samples that no degree of freedom counts."""
    penalty = np.geomspace(1e-4, 1e6, 40)
    found = method._cross_validation(np.zeros((1, 40)), 1.0, penalty, 1e20, 1.0)
    low, high = np.log(1e-3 / penalty[-1]), np.log(1e2 / penalty[0])
    assert np.log(found) == pytest.approx(low + (high - low) / 59)


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


@pytest.mark.parametrize(
    ("samples", "spacing", "inner"),
    [(101, 2, 51), (101, 3, 34), (3, 99, 2), (41, 0.5, 81)],
)
def test_knots_are_even_and_clamped(samples, spacing, inner):
    at = method.knots(samples, spacing)
    np.testing.assert_array_equal(at[5:-5], np.linspace(0, samples - 1, inner))
    assert (at[:5] == 0).all() and (at[-5:] == samples - 1).all()
    (basis,) = design(at, np.linspace(0, samples - 1, 7), [0])
    np.testing.assert_allclose(basis.sum(axis=1), 1.0)
    assert basis.shape == (7, inner + 4)


def test_sixth_differences_pass_over_quintics_and_count_a_sextic_with_its_weight():
    """Of white noise of σ they have a variance of C(12, 6) σ²; of t⁶ they are 6!."""
    t = np.arange(40.0)
    assert method._difference_noise(t[None] ** 5) < 1e-6
    found = method._difference_noise(t[None] ** 6)
    assert found == pytest.approx(720 / math.sqrt(924), rel=1e-6)
    assert method._steps(np.zeros(3)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("channels", "trims", "least"),
    [(3, (5, 25), 20), (3, (9, 25), 20), (3, (12, 0), 26), (1, (0, 12), 26)],
)
def test_series_hold_the_spline_and_its_trims(truth, channels, trims, least):
    """Those of positions alone are their own."""
    settings = SPLINE | dict(zip(("trim", "trim_positions"), trims, strict=True))
    observations = recording(*truth, level=0.05, channels=channels)
    short = observations.isel(time=slice(0, least - 1), trajectory=[0, 1])
    with pytest.raises(ValueError, match=f"have {least - 1} samples.* least {least} "):
        method.differentiate(short, settings, {})
    just = observations.isel(time=slice(0, least), trajectory=[0, 1])
    found = method.differentiate(just, settings, {})
    trim = trims[0] if channels == 3 else trims[1]
    time = just["time"].values[trim : least - trim]
    np.testing.assert_array_equal(found["time_kept"], time)
    kept = channel(just, found, "q")
    np.testing.assert_array_equal(kept, just["q"].values[0, :, trim : least - trim])
    at = found["knot"].values[0]
    at = at[np.isfinite(at)]
    spacing = 1 if channels == 3 else 2
    assert found["knot_spacing"] <= spacing
    expected = method.knots(least, float(found["knot_spacing"].item()))
    np.testing.assert_allclose(at, just["time"].values[0] + 0.01 * expected)


def test_a_ratio_of_noise_that_does_not_settle_ends_after_twelve_rounds(
    monkeypatch, rng
):
    """Residuals are those at a thirtieth of the penalty."""
    rounds = []

    def noise(channels, basis, spectrum, penalty, before):
        rounds.append((tuple(basis.weights), penalty))
        return np.array([1.0, 2.0 ** len(rounds)])

    monkeypatch.setattr(method, "_residual_noise", noise)
    series = rng.standard_normal((2, 2, 30))
    *_, penalty, steps, resolution = joint_spline(list(series), [0, 1], 0.1, 2, 1.2)
    assert len(rounds) == 12 and steps == (0, 22)
    np.testing.assert_allclose(30 * rounds[-1][1], penalty)
    assert [w[1] for w, _ in rounds[1:]] == [2.0 ** (-2 * k) for k in range(1, 12)]
    assert (resolution >= 1).all()
    rounds.clear()
    known = joint_spline(list(series), [0, 1], 0.1, 2, 1.2, np.array([1.0, 4.0]))
    assert known[3] == (0, 4) and not rounds


@pytest.mark.parametrize(("part", "spacings"), [(0.94, [4]), (0.96, [4, 2, 1, 0.5])])
def test_knots_are_doubled_where_nearly_all_of_their_freedom_is_used(
    monkeypatch, truth, part, spacings
):
    """Up to as many functions as values, of which three channels have 3 n."""
    seen = []

    def fit(channels, orders, step, spacing, inflation, noise):
        seen.append(spacing)
        functions = len(method.knots(40, spacing)) - 6
        one = np.full(2, 40 / (part * functions))
        return np.zeros((2, functions)), np.ones(3), one, (0, 0, 0), one

    monkeypatch.setattr(method, "joint_spline", fit)
    data = recording(*truth).isel(time=slice(0, 40), trajectory=[0, 1])
    found = method.differentiate(data, SPLINE | {"knot_spacing": 4}, {})
    assert seen == spacings and found["knot_spacing"] == spacings[-1]
    assert found["knot"].shape[-1] == found["spline"].shape[-1] >= 3 * 40 + 6
