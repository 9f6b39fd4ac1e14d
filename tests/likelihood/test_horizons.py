"""Terms at two horizons: which of them stay, and what their difference adds."""

from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.likelihood import horizons
from leastaction.likelihood.horizons import (
    Horizons,
    Law,
    both_horizons,
    of_every,
    of_whole_runs,
    selected,
    with_process_noise,
    with_terms,
    without_process_noise,
)
from leastaction.likelihood.noise_levels import NoiseLevels
from leastaction.likelihood.term_selection import Candidates, Quadratic

NAMES = "abcde"
LEVELS = NoiseLevels(*(np.array([x]) for x in (0.3, 0.1, 1e-6, 1e-4)))


def candidates(**more):
    usual = {
        "names": list(NAMES),
        "price": np.ones(5),
        "required": [],
        "stays": [],
        "positive": np.zeros(5, dtype=bool),
        "fixed": lambda support, c: [],
    }
    return Candidates(**usual | more)


class Regression:
    """Fits of y = X c + e by least squares, in the place of motions."""

    def __init__(self, c=(0.0, 0.0, 0.0, 0.0, 0.0), noise=0.1, count=300, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.standard_normal((count, 5))
        self.y = self.X @ np.array(c) + noise * rng.standard_normal(count)
        self.calls = []
        self.motion = SimpleNamespace(
            y=3 * self.y[:, None], dof=1, parts=[slice(0, count)]
        )

    def fit(self, c, active, levels=LEVELS, converged=True, correlation=1.0):
        active = np.asarray(active, dtype=int)
        free = np.zeros(5)
        free[active] = np.linalg.lstsq(self.X[:, active], self.y, rcond=None)[0]

        def of(columns, c=free):
            rest, X = self.y - self.X @ c, self.X[:, columns] / levels.sensor
            rest = rest / levels.sensor
            moment = np.zeros((1, 1 + X.shape[1], 1 + X.shape[1]))
            moment[0, 0, 0] = rest @ rest
            return SimpleNamespace(
                information=X.T @ X,
                gradient=X.T @ rest,
                moment=moment,
                sensor_share=float(len(rest)),
                count=len(rest),
                correlation_length=correlation,
            )

        return SimpleNamespace(
            motion=self.motion,
            c=free,
            active=active,
            path=np.zeros((len(self.y), 2)),
            levels=levels,
            innovations=of(active),
            converged=converged,
            value=-0.5 * float(of(active).moment[0, 0, 0]),
            of_all=of,
        )

    def __call__(self, motion, c, active, path, levels, *fixed, **options):
        assert motion is self.motion
        self.calls.append((tuple(active), fixed, options))
        return self.fit(c, active, levels)


@pytest.fixture
def regression(monkeypatch):
    one = Regression((1.0, -2.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(horizons, "fit", one)
    return one


def test_the_likelihood_of_all_candidates_has_a_column_for_each(regression):
    quadratic = of_every(candidates(), regression.fit(np.zeros(5), [0, 2]))
    X = regression.X / 0.1
    np.testing.assert_allclose(quadratic.G, X.T @ X)
    np.testing.assert_allclose(quadratic.b, X.T @ regression.y / 0.1)
    assert quadratic.c[1] == 0 != quadratic.c[2]


@pytest.mark.parametrize("begin", [[0], [0, 1, 2, 3, 4], [3, 4], [0, 1]])
def test_terms_are_chosen_and_fitted_again_until_they_stay(regression, begin):
    law = selected(candidates(), regression.fit(np.zeros(5), begin))
    assert law.solution.support == (0, 1)
    best = np.linalg.lstsq(regression.X[:, :2], regression.y, rcond=None)[0]
    np.testing.assert_allclose(law.c, [*best, 0, 0, 0])
    np.testing.assert_allclose(law.solution.x, law.c, atol=1e-9)
    assert bool(regression.calls) == (begin != [0, 1])
    assert all(options == {"rounds_of_starts": 0} for *_, options in regression.calls)
    assert all(fixed == (False,) for _, fixed, _ in regression.calls)
    # −2ℓ and two prices.
    price = 2 * law.quadratic.penalty
    assert law.criterion == pytest.approx(price - 2 * law.fit.value)


def test_a_fit_that_fails_leaves_the_law_before(regression, monkeypatch):
    monkeypatch.setattr(horizons, "fit", lambda *a, **k: None)
    first = regression.fit(np.zeros(5), [0, 1, 3])
    law = selected(candidates(), first)
    assert law.fit is first and law.solution.support == (0, 1, 3)


@pytest.mark.parametrize("sensor", [0.1, 0.3])
def test_whole_runs_miss_what_the_noise_of_sensors_does_not_explain(regression, sensor):
    law = selected(
        candidates(), regression.fit(np.zeros(5), [0, 1]), np.array([sensor])
    )
    assert law.quadratic.sensor_share == pytest.approx(300 * (sensor / 0.1) ** 2)
    again = regression.fit(np.zeros(5), [3])
    regression.calls.clear()
    selected(candidates(), again, np.array([sensor]))
    assert {fixed for _, fixed, _ in regression.calls} == {(True,)}


def test_excluded_candidates_leave_the_law(regression):
    regression.y = regression.y + 1.95 * regression.X[:, 1]  # −.05 of b is left
    assert selected(candidates(), regression.fit(np.zeros(5), [0])).c[1] != 0
    law = selected(candidates(excluded=(1,)), regression.fit(np.zeros(5), [0, 1]))
    assert law.solution.support == (0,)


def test_a_law_has_terms_added_or_is_as_it_was(regression, monkeypatch):
    law = selected(candidates(), regression.fit(np.zeros(5), [0, 1]))
    wide = with_terms(candidates(), law, [3])
    assert wide.solution.support == (0, 1, 3) and wide.fit.c[3] != 0
    assert regression.calls[-1] == ((0, 1, 3), (), {"rounds_of_starts": 0})
    assert with_terms(candidates(), law, []) is law
    monkeypatch.setattr(horizons, "fit", lambda *a, **k: None)
    assert with_terms(candidates(), law, [3]) is law


FAR = {
    "as it is": ({}, {}, True),
    "not settled": ({"converged": False}, {}, False),
    "few amounts": ({"correlation": 300 / 4.01}, {}, True),
    "too few": ({"correlation": 300 / 3.99}, {}, False),
    "near": ({}, {"noise": 0.99 * 0.1**0.5}, True),
    "far": ({}, {"noise": 1.01 * 0.1**0.5}, False),
}


@pytest.mark.parametrize("name", FAR)
def test_whole_runs_count_where_they_follow_the_motion(monkeypatch, name):
    """Two coefficients and the two numbers of a start are four; the misfit is √.1."""
    how, size, follows = FAR[name]
    one = Regression((1.0, -2.0, 0.0, 0.0, 0.0))
    near = one.fit(np.zeros(5), [0, 1])
    sensor = size.get("noise", 0.1) * one.motion.y.std()
    made = LEVELS._replace(sensor=np.array([sensor if size else 0.1]))
    calls = []

    def fit(motion, c, active, path, levels, fixed):
        calls.append((levels.process.tolist(), fixed))
        return one.fit(c, active, made, **how)

    monkeypatch.setattr(horizons, "fit", fit)
    found = without_process_noise(near)
    assert (found is not None) == follows
    assert calls == [([1e-6], True)]
    monkeypatch.setattr(horizons, "fit", lambda *a: None)
    assert without_process_noise(near) is None


def test_a_law_of_whole_runs_is_fitted_with_process_noise(regression):
    far = regression.fit(np.zeros(5), [0, 1])
    levels = LEVELS._replace(process=np.array([7.0]))
    assert with_process_noise(far, levels).levels is levels
    assert regression.calls == [((0, 1), (), {"rounds_of_starts": 0})]


def of(c):
    return SimpleNamespace(c=np.array(c, dtype=float))


@pytest.mark.parametrize("share", [0.49, 0.51])
def test_terms_that_agree_stay_and_others_are_excluded(share):
    """b differs by a share; c is in no law; d is not real; e is required."""
    near = SimpleNamespace(solution=SimpleNamespace(support=(0, 1, 4)))
    wide, run = of([1, -2, 3, 0, 1]), of([1, -2 * (1 - share), 3, 1, 9])
    known = candidates(required=[4], stays=[2])
    made = of_whole_runs(known, near, wide, run)
    apart = share > 0.5
    assert set(made.excluded) == ({1, 3} if apart else {3})
    assert set(made.stays) == ({0} if apart else {0, 1})
    staying = of_whole_runs(candidates(stays=[4]), near, wide, of([1, -2, 3, 1, 1]))
    assert set(staying.stays) == {0, 1, 4}


def deviations(size):
    """White innovations; deviations 2 and `size` of two coefficients."""
    rng = np.random.default_rng(1)
    return SimpleNamespace(
        standardised=lambda: iter([rng.standard_normal(400)]),
        information=np.linalg.inv([[4.0, size], [size, size**2]]),
        moment=np.zeros((24, 3, 3)),
        count=400,
        correlation_length=1.0,
    )


@pytest.mark.parametrize(
    ("moved", "size", "half"), [(0.5, 0.3, 0.2), (-0.5, 0.3, -0.2), (0.5, 0.6, 0.0)]
)
def test_half_of_what_horizons_differ_by_beyond_chance(moved, size, half):
    """√(.5² − .3²) / 2 = .2 of an active coefficient; of an absent one the half."""
    near = of([1.0, -2.0, 0.25, 0, 0])
    far = SimpleNamespace(
        c=np.array([2.0, -2.0 - moved, 0.0, 0, 0]),
        active=np.array([0, 1]),
        innovations=deviations(size),
    )
    found = Horizons(near, near, far).deviation
    np.testing.assert_allclose(found, [0, half, 0.125, 0, 0], atol=1e-12)
    for same in (None, near):
        assert not Horizons(near, near, same).deviation.any()


def horizons_of(monkeypatch, weak=0.03, **known):
    """A term c that is real and weak, with process noise that is above its bound."""
    one = Regression((1.0, -2.0, weak, 0.0, 0.0), noise=0.1, count=1000)
    calls = []

    def fit(motion, c, active, path, levels, fixed=False, **options):
        calls.append((tuple(active), fixed))
        return one.fit(c, active, levels)

    monkeypatch.setattr(horizons, "fit", fit)
    near = selected(candidates(**known), one.fit(np.zeros(5), [0, 1]))
    return one, both_horizons(candidates(**known), near), near, calls


def test_a_law_with_nothing_missed_is_that_of_both_horizons(monkeypatch):
    one = Regression((1.0, -2.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(horizons, "fit", one)
    least = LEVELS._replace(process=np.array([1.09e-6]))
    near = selected(candidates(), one.fit(np.zeros(5), [0, 1], least))
    both = both_horizons(candidates(), near)
    assert both.law is near and both.near is both.far is near.fit
    assert both.corrections == ()


def test_a_real_term_of_both_horizons_is_in_the_law(monkeypatch):
    one, both, near, calls = horizons_of(monkeypatch)
    assert near.solution.support == (0, 1, 2)
    assert both.law.solution.support == (0, 1, 2) and both.corrections == ()
    assert both.near is both.law.fit and both.far is not both.near
    assert [fixed for _, fixed in calls][-2:] == [True, False]
    np.testing.assert_allclose(both.law.solution.x, both.law.c, atol=1e-9)


def test_without_whole_runs_the_law_of_the_short_horizon_stands(monkeypatch):
    monkeypatch.setattr(horizons, "without_process_noise", lambda near: None)
    _, both, near, _ = horizons_of(monkeypatch)
    assert both.law is near and both.far is None and both.near is near.fit


def test_what_is_real_and_in_no_law_is_a_correction(monkeypatch):
    one = Regression((1.0, -2.0, 0.05, 0.0, 0.0), noise=0.1, count=1000)
    monkeypatch.setattr(horizons, "fit", one)
    monkeypatch.setattr(horizons, "without_process_noise", lambda near: None)
    narrow = one.fit(np.zeros(5), [0, 1])
    quadratic = of_every(candidates(), narrow)
    near = Law(narrow, quadratic, quadratic.solve([0, 1]))
    assert both_horizons(candidates(), near).corrections == (2,)


def test_a_term_that_whole_runs_deny_is_a_correction(monkeypatch):
    one = Regression((1.0, -2.0, 0.05, 0.0, 0.0), noise=0.1, count=1000)
    runs = Regression((1.0, -2.0, -0.05, 0.0, 0.0), noise=0.1, count=1000)
    runs.motion = one.motion

    def fit(motion, c, active, path, levels, fixed=False, **options):
        return (runs if fixed else one).fit(c, active, levels)

    monkeypatch.setattr(horizons, "fit", fit)
    near = selected(candidates(), one.fit(np.zeros(5), [0, 1, 2]))
    assert near.solution.support == (0, 1, 2)
    both = both_horizons(candidates(), near)
    assert both.law.solution.support == (0, 1) and both.corrections == (2,)


def test_a_friction_that_a_stiffness_needs_is_required(monkeypatch):
    """Beside a collinear friction of 2.5 standard errors the coefficient moves."""
    one = Regression((1.0, -2.0, 0.0, 0.0, 0.0), count=400)
    rng = np.random.default_rng(7)
    one.X[:, 2] = one.X[:, 1] * 0.9 + 0.45 * one.X[:, 2]
    one.y = one.X @ [1.0, -2.0, 0.03, 0, 0] + 0.1 * rng.standard_normal(400)
    monkeypatch.setattr(horizons, "fit", one)
    known = candidates(friction=(2,))
    near = selected(known, one.fit(np.zeros(5), [0, 1]))
    gain = near.quadratic.gains(near.solution)[2]
    assert near.solution.support == (0, 1) and 3.85 < gain < near.quadratic.penalty
    seen = []

    def whole(candidates, near, wide, run):
        seen.append((candidates.required, near.solution.support))
        return of_whole_runs(candidates, near, wide, run)

    monkeypatch.setattr(horizons, "of_whole_runs", whole)
    both = both_horizons(known, near)
    assert seen == [([2], (0, 1, 2))] and 2 in both.law.solution.support
    assert Law(*(getattr(near, n) for n in ("fit", "quadratic", "solution"))).c is (
        near.fit.c
    )
    assert isinstance(near.quadratic, Quadratic)
