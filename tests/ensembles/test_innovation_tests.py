"""Whiteness of innovations and lines in them: as many rejections as there should be."""

import numpy as np
import pytest

from leastaction.ensembles.innovation_tests import (
    LARGEST,
    _largest,
    largest_line,
    ljung_box,
)
from leastaction.ensembles.whittle import BandedStateSpace, tapered


def coefficients(rng):
    """Real and imaginary parts as the likelihood of a band has them, of white noise."""
    found = tapered(rng.standard_normal((3600, 1)))[1:-1:2]
    return np.concatenate([found.real, found.imag]) * np.sqrt(2)


@pytest.mark.parametrize("kind", ["white", "coefficients", "line"])
def test_p_values_are_uniform(kind, rng):
    rho = BandedStateSpace.correlation_of_neighbours
    found = []
    for _ in range(400):
        if kind == "line":
            records = [rng.standard_normal((n, 2)) for n in (500, 901)]
            found.append(largest_line(records, 0.1)[0])
        elif kind == "white":
            found.append(ljung_box([rng.standard_normal((1800, 1))], 200))
        else:
            found.append(ljung_box([coefficients(rng)], 200, rho))
    for level in (0.02, 0.1, 0.5):
        share = np.mean(np.array(found) < level)
        assert abs(share - level) < 4 * np.sqrt(level * (1 - level) / 400)


def test_a_line_that_is_missing_is_seen(rng):
    one = rng.standard_normal((1800, 1)) + 0.5 * np.cos(np.arange(1800))[:, None]
    assert ljung_box([one], 200) < 1e-6


def test_the_smallest_p_value_of_many_channels_counts_times_their_number(rng):
    one = rng.standard_normal((1800, 1)) + 0.2 * np.cos(np.arange(1800))[:, None]
    alone = ljung_box([one], 200)
    assert 0 < alone < 0.3
    assert ljung_box([np.hstack([one] * 3)], 200) == pytest.approx(3 * alone)


def test_a_tone_that_hardly_correlates_is_seen_and_named(rng):
    """A four-hundredth of the power, in the second of two channels and records."""
    tone = 0.07 * np.cos(0.7 * np.arange(20_000))
    records = [rng.standard_normal((n, 2)) for n in (300, 20_000)]
    records[1][:, 1] += tone
    assert ljung_box(records, 200) > 1e-3
    p, frequency = largest_line(records, 0.5)
    assert p < 1e-3
    assert frequency == pytest.approx(0.7 / (2 * np.pi * 0.5), abs=1e-4)


def test_the_largest_events_are_named_with_their_part_of_the_fourth_moment(rng):
    """Each with what lies near it, counted once, less what a Gaussian force gives."""
    z = rng.standard_normal(2000)
    events = np.sort(rng.choice(19, LARGEST, replace=False)) * 100 + 50
    z[events] = 30.0 + np.arange(LARGEST)
    places, carried = _largest(z, 4)
    np.testing.assert_array_equal(np.sort(places), events)
    near = (events[:, None] + np.arange(-4, 5)).ravel()
    normal = 3 * np.mean(z**2) ** 2
    expected = np.sum(z[near] ** 4) - len(near) * normal
    assert carried == pytest.approx(expected, rel=1e-9)
