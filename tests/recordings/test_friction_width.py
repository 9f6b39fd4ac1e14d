"""Width of dry friction by a likelihood that is a parabola of its logarithm."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.recordings import friction_width
from leastaction.recordings.friction_width import vertex, with_width

Law = namedtuple("Law", ["fit", "c", "solution"])
SOLUTION = SimpleNamespace(support=(0, 2))


def laws_of(top, curvature=5.0, widths=(0.5, 1.0, 2.0)):
    return {
        w: SimpleNamespace(
            fit=SimpleNamespace(value=-curvature * np.log2(w / top) ** 2)
        )
        for w in widths
    }


@pytest.mark.parametrize("top", [0.8, 1.0, 1.3])
def test_the_vertex_is_that_of_the_parabola(top):
    assert vertex(laws_of(top), 1.0) == pytest.approx(top)


def test_there_is_no_vertex_without_neighbours_or_a_difference():
    assert vertex(laws_of(1.0, widths=(1.0, 2.0)), 1.0) is None
    assert vertex(laws_of(1.0, widths=(0.5, 1.0)), 1.0) is None
    assert vertex(laws_of(1.0, curvature=0.4), 1.0) is None
    assert vertex(laws_of(1.0, curvature=0.6), 1.0) == 1.0


@pytest.fixture
def trials(monkeypatch, request):
    """Fits whose likelihood is largest at a width of 3; c is the logarithm of w."""
    tried, curvature = [], getattr(request, "param", 5.0)

    def fit(motion, c, active, path, levels, fixed_process, rounds_of_starts):
        tried.append(motion.width)
        if not 0.1 < motion.width < 40:
            return None
        return fit_of(motion.width, curvature)

    def replaced(law, fit):
        return Law(fit, fit.c, SOLUTION)

    monkeypatch.setattr(friction_width, "fit", fit)
    monkeypatch.setattr(friction_width, "replace", replaced)
    return tried


def fit_of(width, curvature=5.0):
    motion = SimpleNamespace(width=width, with_width=lambda w: SimpleNamespace(width=w))
    c = np.array([np.log2(width), 1.0])
    levels = SimpleNamespace(is_free=np.ones(1, dtype=bool))
    value = -curvature * np.log2(width / 3.0) ** 2
    return SimpleNamespace(
        motion=motion, c=c, active=None, path=None, levels=levels, value=value
    )


@pytest.mark.parametrize("begin", [1.0, 4.0, 16.0])
def test_the_likeliest_width_is_reached_from_both_sides(trials, begin):
    one = fit_of(begin)
    problem = SimpleNamespace(motion=SimpleNamespace(dry=(2, 7)), width=begin)
    law, deviations = with_width(problem, Law(one, one.c, SOLUTION))
    assert law.c[0] == pytest.approx(np.log2(3.0))
    assert law.fit.value == pytest.approx(0.0, abs=1e-12)
    # Widths that were tried weigh by their likelihood.
    widths = np.unique([begin, *(w for w in trials if 0.1 < w < 40)])
    weight = np.exp(-5.0 * np.log2(widths / 3.0) ** 2)
    weight /= weight.sum()
    variance = (weight * (np.log2(widths) - np.log2(3.0)) ** 2).sum()
    assert (deviations**2).sum(axis=0) == pytest.approx([variance, 0.0])


@pytest.mark.parametrize("octaves", [0.4, 0.51, 0.6, -0.51])
@pytest.mark.parametrize(
    ("trials", "curvature"), [(k, k) for k in (0.5, 2.0, 10.0)], indirect=["trials"]
)
def test_a_maximum_between_two_like_widths_is_reached(trials, curvature, octaves):
    begin = 3.0 * 2**octaves
    one = fit_of(begin, curvature)
    problem = SimpleNamespace(motion=SimpleNamespace(dry=(2, 7)), width=begin)
    law, _ = with_width(problem, Law(one, one.c, SOLUTION))
    assert law.fit.value > -0.1


def test_a_law_without_dry_friction_stays(trials):
    problem = SimpleNamespace(motion=SimpleNamespace(dry=(1,)), width=1.0)
    law = Law(fit_of(1.0), np.zeros(2), SOLUTION)
    same, deviations = with_width(problem, law)
    assert same is law and deviations.shape == (0, 2) and not trials


@pytest.mark.parametrize(
    ("value_of", "expected"),
    [
        # Ten below the largest ends a direction; the vertex is the best itself.
        (lambda x: -5 * x**2, [-1, -2, 1, 2, 0]),
        # Less than a half twice in turn does; then there is no vertex.
        (lambda x: -0.1 * x**2, [-1, -2, 1, 2]),
        # A likelier width on one side leaves the other alone; seven at most.
        (lambda x: -2 * x, [*range(-1, -8, -1)]),
        (lambda x: 2 * x, [*range(-1, -7, -1), *range(1, 8)]),
        # A change of exactly a half goes on.
        (lambda x: -0.5 * abs(x), [*range(-1, -8, -1), *range(1, 8), 0]),
    ],
)
def test_widths_are_tried_until_they_do_not_count(value_of, expected, monkeypatch):
    octaves = []

    def fit(motion, c, active, path, levels, fixed_process, rounds_of_starts):
        assert rounds_of_starts == 0 and fixed_process is False
        octaves.append(np.log2(motion.width / 3.0))
        return at(motion.width)

    def at(width):
        one = fit_of(width)
        one.value = value_of(np.log2(width / 3.0))
        return one

    monkeypatch.setattr(friction_width, "fit", fit)
    monkeypatch.setattr(
        friction_width, "replace", lambda law, fit: Law(fit, fit.c, SOLUTION)
    )
    problem = SimpleNamespace(motion=SimpleNamespace(dry=(2, 7)), width=3.0)
    with_width(problem, Law(at(3.0), at(3.0).c, SOLUTION))
    np.testing.assert_allclose(octaves, expected, atol=1e-9)


@pytest.mark.parametrize("free", [True, False])
def test_a_law_without_process_noise_is_fitted_without_it(free, monkeypatch):
    seen = []

    def fit(*about, rounds_of_starts):
        seen.append((about[0].width, about[5]))

    monkeypatch.setattr(friction_width, "fit", fit)
    one = fit_of(1.0)
    one.levels.is_free = np.array([False, free])
    assert friction_width._of_width(Law(one, one.c, SOLUTION), 7.0) is None
    assert seen == [(7.0, not free)]
