"""A user's positions at coarse steps: forecasts, frequencies, wrong tables.

Motions are those of SciPy.
"""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la

STIFFNESS, STEP = np.array([[2.0, -1.0], [-1.0, 3.0]]), 0.5
TRUE = np.sqrt(np.linalg.eigvalsh(STIFFNESS)) / (2 * np.pi)


@cache
def motions(seed: int, damping: float = 0.0, noise: float = 1e-3) -> np.ndarray:
    """Positions (run, time, 2) on two springs that stiffen."""
    rng, time = np.random.default_rng(seed), STEP * np.arange(25)

    def rate(_, y):
        q, v = y.reshape(2, 2, -1)
        force = STIFFNESS @ q + 0.5 * q**3 + damping * v
        return np.concatenate([v, -force]).ravel()

    start = rng.uniform(-1, 1, (16, 4)).T.ravel()
    exact = {"t_eval": time, "rtol": 1e-10, "atol": 1e-12, "method": "DOP853"}
    paths = solve_ivp(rate, (0, time[-1]), start, **exact).y.reshape(4, 16, -1)
    q = paths[:2].transpose(1, 2, 0)
    return q + noise * q.std() * rng.standard_normal(q.shape)


def learned(q: np.ndarray, trajectory="run", **more):
    runs, times, _ = q.shape
    table = {
        "run": np.repeat(np.arange(runs), times),
        "t": np.tile(STEP * np.arange(times), runs),
        "x": 1e3 * q[..., 0].ravel(),
        "y": 1e3 * q[..., 1].ravel(),
    }
    given = {"coordinates": {"x": "mm", "y": "mm"}} | more
    how = {"time": "t", "trajectory": trajectory, "progress": False}
    return la.learn(table, kind="snapshots", **how, **given)


@pytest.fixture(scope="module")
def law():
    return learned(motions(31))


def test_frequencies_and_forecasts(law, tmp_path):
    assert law.verdict == "found" and list(law.terms.unit) == ["Hz", "Hz"]
    z = (law.terms.value - TRUE) / law.terms["std"]
    assert np.abs(z).max() < 3.5 and float(law.rms_error.max()) < 0.02
    law.save(tmp_path / "law.nc")
    assert str(la.load(tmp_path / "law.nc")) == str(law)
    assert law.learned.rollout([0.5, 0, 0, 0], 20).complete


def test_columns_swapped_in_half_of_the_motions_are_a_reservation(law):
    swapped = motions(31).copy()
    swapped[1::2] = swapped[1::2, :, ::-1]
    for one, differs in ((law, False), (learned(swapped), True)):
        first = str(one).splitlines()[0]
        assert ("one law does not follow all motions" in first) == differs, first


def test_where_time_goes_back_another_motion_begins(law):
    laws = law, learned(motions(31), trajectory=None)
    a, b = (str(one).partition("- computing time")[0] for one in laws)
    assert a == b and "12 trajectories" in a


def test_one_coordinate():
    """A pendulum: its frequency of small motions."""
    rng, time = np.random.default_rng(1), 0.6 * np.arange(60)
    exact = {"t_eval": time, "rtol": 1e-10, "atol": 1e-12}
    x = np.concatenate(
        [
            solve_ivp(lambda _, y: [y[1], -np.sin(y[0])], (0, time[-1]), y, **exact).y[
                0
            ]
            for y in rng.uniform(-1, 1, (6, 2))
        ]
    )
    table = {"t": np.tile(time, 6), "x": x + 1e-3 * rng.standard_normal(x.size)}
    how = {"time": "t", "coordinates": {"x": "m"}, "progress": False}
    law = la.learn(table, kind="snapshots", **how)
    assert law.verdict != "no law found"
    assert abs(law.terms.value[0] - 1 / (2 * np.pi)) < 1e-3


DRIVEN = 0.3 * np.sin(2.7 * STEP * np.arange(25))[:, None]


@pytest.mark.parametrize(
    "motion, more",
    [({"damping": 0.2}, 0), ({}, DRIVEN), ({"noise": 0.5}, 0)],
    ids=["damped", "driven", "noisy"],
)
def test_a_motion_that_is_not_conservative_has_no_law_of_this_kind(motion, more):
    first = str(learned(motions(31, **motion) + more)).splitlines()[0]
    assert first.startswith("**No law found: free runs of held-out data")


@pytest.mark.parametrize(
    "spoilt, more, message",
    [
        (lambda q: q * [1, 0], {}, "y does not change"),
        (lambda q: q[..., [0, 0]] * [1, -2], {}, "y is a multiple of x; name another"),
        (lambda q: q[:, :10], {}, "the longest stretch without a gap has 10 rows"),
        (
            lambda q: np.random.default_rng(0).normal(size=q.shape),
            {},
            "neighbouring snapshots are unrelated",
        ),
        (
            lambda q: q,
            {"velocities": {"x": "y [mm/s]"}},
            "velocities: a recording of kind snapshots has none",
        ),
        (
            lambda q: q,
            {"coordinates": {"x": "mm", "y": "mm/s"}},
            "coordinates.y: the unit gives m/s, a velocity; name a column of positions",
        ),
        (
            lambda q: q,
            {"coordinates": {"x": "deg/s", "y": "mm"}},
            "coordinates.x: the unit gives rad/s, an angular velocity; name a column "
            "of positions",
        ),
    ],
)
def test_a_wrong_table_is_refused(spoilt, more, message):
    with pytest.raises(la.RecordingError, match=message):
        learned(spoilt(motions(31)), **more)


def test_one_short_motion_may_be_held_out():
    """Of 25 snapshots neighbours correlate by .8, as noise does once in 10⁴ times."""
    law = learned(motions(31)[:6])
    assert law.verdict != "no law found"
