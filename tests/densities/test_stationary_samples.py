"""Laws of streamed histograms and moments."""

import numpy as np
import pytest
from density_support import oscillator, simulation

from leastaction.core.contracts import check
from leastaction.core.multi_index import multi_indices
from leastaction.densities import stationary_samples
from leastaction.densities.runge_kutta_gill import stream

KEY = {"example": "test", "seed": 3, "replicate": 0}
MOMENTS = {"degree": 4, "every": 7}


def stored(settings):
    """Samples of every trajectory, kept in memory."""
    paths = {}

    def keep(trajectory, path):
        paths.setdefault(trajectory, []).append(path.copy())

    stream(oscillator(), settings, keep, **KEY)
    return [np.concatenate(paths[t]) for t in sorted(paths)]


@pytest.fixture(scope="module")
def histogram():
    settings = simulation()
    return stationary_samples.histogram(oscillator(), settings, **KEY, units={"x": "m"})


def test_streaming_is_storing(histogram):
    check(histogram, "histogram")
    edges = np.linspace(-4, 4, 51)
    paths = stored(simulation())
    for batch in range(4):
        samples = np.concatenate(paths[batch::4])
        counts, _, _ = np.histogram2d(*samples.T, bins=(edges, edges))
        np.testing.assert_array_equal(histogram["count"][0, batch], counts)
        assert histogram["samples"][0, batch] == len(samples)
        assert histogram["duration"][0, batch] == pytest.approx(0.01 * len(samples))


def test_moments_of_a_path_do_not_depend_on_its_cuts():
    path = np.random.default_rng(2).standard_normal((1003, 2))
    moments = stationary_samples.MomentSums(2, 2, 5, 7)
    moments.add(0, path)
    for piece in np.split(path, [1, 6, 8, 300, 301, 977]):
        moments.add(1, np.ascontiguousarray(piece))
    np.testing.assert_array_equal(moments.sums(0), moments.sums(1))
    expected = (path[6::7, None] ** moments.powers).prod(axis=2).sum(axis=0)
    np.testing.assert_allclose(moments.sums(0), expected, rtol=1e-12, atol=1e-10)


def test_samples_outside_of_the_cells_count_as_samples():
    narrow = simulation(histogram={"low": [-1, -1], "high": [1, 1], "bins": 10})
    found = stationary_samples.histogram(oscillator(), narrow, **KEY, units={"x": "m"})
    share = found["count"].sum(("q_bin", "qdot_bin")) / found["samples"]
    assert 0.3 < float(share.mean()) < 0.6  # (0.683)² of a standard Gaussian


def test_cells_are_named_by_their_centres():
    """Means of the samples in cells of a smooth density are near their centres."""
    grid = {"low": [-1.0, -0.6], "high": [0.6, 1.4], "bins": 5}
    settings = simulation(histogram=grid, duration=20.0)
    made = stationary_samples.histogram(oscillator(), settings, **KEY, units={"x": "m"})
    samples, axes = np.concatenate(stored(settings)), ("q_bin", "qdot_bin")
    inside = ((samples > grid["low"]) & (samples < grid["high"])).all(axis=1)
    for k, axis in enumerate(axes):
        width = (grid["high"][k] - grid["low"][k]) / 5
        values, centres = samples[inside, k], made[axis].values
        for centre, cell in zip(
            centres, made["count"][0].sum("batch").sum(axes[1 - k]), strict=True
        ):
            near = np.abs(values - centre) < width / 2
            assert near.sum() == cell
            assert values[near].mean() == pytest.approx(centre, abs=width / 8)


def test_replicates_and_burn_in_are_other_samples(histogram):
    other = dict(KEY, replicate=1)
    fresh = stationary_samples.histogram(
        oscillator(), simulation(), **other, units={"x": "m"}
    )
    assert not np.array_equal(fresh["count"], histogram["count"])
    later, whole = simulation(burn_in=30.0), stored(simulation(duration=210.0))
    np.testing.assert_array_equal(stored(later)[0], whole[0][1000:])


def test_moments_are_means_over_the_same_samples():
    settings = simulation(moments=MOMENTS)
    found = stationary_samples.moments(oscillator(), settings, **KEY, units={"x": "m"})
    check(found, "state_moments")
    duration = 0.01 * sum(map(len, stored(settings)[::4]))
    np.testing.assert_allclose(found["duration"], np.full((1, 4), duration))
    paths = [p[6::7] for p in stored(settings)]
    for batch in range(4):
        samples = np.concatenate(paths[batch::4])
        for powers, mean in zip(
            found["exponent"].values, found["moment"].values[0, batch], strict=True
        ):
            expected = (samples**powers).prod(axis=1).mean()
            assert mean == pytest.approx(expected, rel=1e-10)
        assert found["samples"][0, batch] == len(samples)


def test_every_monomial_stands_once():
    powers = multi_indices(4, 8)
    assert len(powers) == 495 == len({tuple(p) for p in powers})
    assert powers.sum(axis=1).max() == 8


def test_a_histogram_is_refused_where_it_ends():
    from leastaction.core.system import System

    two = System.from_config(
        {
            "coordinates": {"x": {"unit": "m"}, "y": {"unit": "m"}},
            "parameters": {},
            "lagrangian": "(xdot**2 + ydot**2)/2 - x**2 - y**2",
            "volatility": {"x": 1, "y": 1},
        }
    )
    with pytest.raises(ValueError, match=r"6.2e\+06 cells; use 'gill_moments'"):
        stationary_samples.check(two, simulation())
    with pytest.raises(ValueError, match="8 trajectories cannot be dealt out to 3"):
        stationary_samples.check(oscillator(), simulation(batches=3))
    wrong = {"low": [-4, 4], "high": [4, 4], "bins": 50}
    with pytest.raises(ValueError, match=r"low\[1\] = 4 is not below high 4"):
        stationary_samples.check(oscillator(), simulation(histogram=wrong))
