"""Search of the structure: the quadratic model, wrong and too large starts."""

from dataclasses import replace

import numpy as np
import pytest
from pendulum import DAMPED, INERTIA, TRUTH, positions

from leastaction.trajectories.multiple_shooting import fit_jointly, split, start_states
from leastaction.trajectories.shooting import (
    Quadratic,
    best_start,
    criterion,
    quadratic,
    references,
    refit,
    search,
)


def started(data, c, duration=1.0):
    segments = start_states(data, split(data, duration), c)
    return refit(data, segments, c, INERTIA)


def same_terms(c, truth):
    return np.array_equal(np.flatnonzero(c), np.flatnonzero(truth))


def test_score_is_the_gain_of_a_refit():
    data = positions(c=TRUTH + np.array([0, 0, 0.01, 0, 0, 0, 0]))
    fit = started(data, TRUTH)
    score = quadratic(data, fit).scores(fit.active, [2])[0]
    both = fit_jointly(data, fit.segments, fit.c, np.array([1, 2]))
    assert score == pytest.approx(fit.chi2.sum() - both.chi2.sum(), rel=0.05, abs=0.05)


def test_barred_segments_have_no_part_in_the_quadratic_model():
    data = positions()
    fit = started(data, TRUTH)
    barred = np.arange(len(fit.segments)) % 3 == 0
    rest = replace(fit, segments=fit.segments[~barred], barred=barred[~barred])
    found = quadratic(data, replace(fit, barred=barred))
    np.testing.assert_allclose(found.h, quadratic(data, rest).h)
    assert np.trace(found.h) < 0.9 * np.trace(quadratic(data, fit).h)


def test_a_null_candidate_scores_nothing():
    data = positions()
    fit = started(data, TRUTH)
    assert quadratic(data, fit).scores(fit.active, [5])[0] == 0


@pytest.mark.parametrize(
    "start",
    [
        [0.5, 9.81, 0.2, 0.05, 0.1, 0, 0.01],
        [0.5, 0, -4.0, 0, 0, 0, 0],
        [0.5, 0, 0, 0.1, 3.0, 0, 0],
    ],
)
def test_the_structure_is_found_from_elsewhere(start):
    data = positions()
    fit, _ = search(data, started(data, np.array(start), 0.5), INERTIA)
    assert same_terms(fit.c, TRUTH)


def test_damping_is_found():
    data = positions(c=DAMPED)
    fit, _ = search(data, started(data, TRUTH), INERTIA)
    assert same_terms(fit.c, DAMPED)


def test_the_best_start_is_taken():
    data = positions()
    starts = [np.array([0.5, 0, -4.0, 0, 0, 0, 0]), TRUTH, 0 * TRUTH]
    fit = best_start(data, split(data, 1.0), starts, INERTIA)
    assert same_terms(fit.c, TRUTH)
    assert criterion(data, fit) == pytest.approx(fit.chi2.sum() + 60)
    with pytest.raises(ValueError, match="kinetic"):
        best_start(data, split(data, 1.0), [0 * TRUTH], INERTIA)


def test_the_reference_is_the_strongest_inertial_term():
    c = np.array([0.5, 9.81, 0, -0.9, 0, 0, 0])
    assert list(references(c, INERTIA)) == [3, 0]


def test_a_term_that_gains_less_than_its_price_is_left_out():
    """Gains of 100 and 16 in χ²; a term costs 30."""
    model = Quadratic(np.eye(3), np.array([0.0, 10.0, 4.0]), np.array([1.0, 0, 0]))
    found = model.best_subsets(0, np.arange(3), largest=2, best=2)
    assert [columns for _, columns, _ in found] == [(1,), (1, 2)]
    np.testing.assert_allclose([change for change, *_ in found], [30 - 100, 60 - 116])
