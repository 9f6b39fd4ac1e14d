"""Forces that a law misses, and what they say of it."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from leastaction.core.euler_lagrange import symbols
from leastaction.recordings.measured_rollout import force_error
from leastaction.recordings.remarks import is_lost
from leastaction.trajectories.multiple_shooting import Positions, Segments
from leastaction.trajectories.variational_equations import variational_equations


@pytest.mark.parametrize(
    ("process", "missed", "lost"),
    [
        ([0.4], [0.01], False),
        ([0.01], [0.4], True),
        ([0.4], None, True),
        ([0.1], None, False),
        ([0.4, 0.4], [0.01, np.nan], True),
        ([0.4, 0.01], [0.01, np.nan], False),
    ],
)
def test_a_law_is_judged_by_the_force_that_it_misses(process, missed, lost):
    """Where that of a coordinate is not recorded, by its process noise."""
    model = xr.Dataset(
        {"missed_force": (("r", "dof"), [process]), "criterion_value": ("r", [1.0])}
    )
    rollout = xr.Dataset({} if missed is None else {"force_error": ("r", missed)})
    assert is_lost(model, rollout) == lost


def test_a_constant_force_that_a_law_misses_is_seen_in_every_window():
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x], ["x"])
    time = np.arange(1000) * 0.01
    force = 2 * np.sin(time)
    q = force * -1 + 2 * time + 0.3 * time**2 / 2

    def nodes(steps):
        half = np.arange(2 * steps * len(time)) * 0.01 / (2 * steps)
        return 2 * np.sin(half)[:, None]

    positions = Positions(equations, q[:, None], 0.01, np.full(1, 1e-3), 1, nodes)
    missing, mean, _ = force_error(positions, np.array([0.5, 0]), np.array([1]), 0.5)
    np.testing.assert_allclose(missing, 0.3, atol=1e-4)
    windows = force.reshape(20, -1)
    np.testing.assert_allclose(mean[::2, 0], windows.mean(axis=1), atol=0.05)


def test_a_blow_between_two_windows_is_a_recorded_force():
    """Else a hammer that hits there has next to no force, and the law misses it all."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2, x], ["x"])
    samples, dt, fine = 1000, 0.01, 32
    rms = []
    for hit in (5.0, 5.12, 5.25):  # windows begin at multiples of 0.5 s
        at = np.arange(2 * fine * samples) * dt / (2 * fine)
        force = 100 * np.exp(-0.5 * ((at - hit) / 0.02) ** 2)

        def nodes(steps, force=force):
            return force[:: fine // steps, None]

        start = Segments(np.array([0]), np.array([samples]), np.array([[0.1, 0.0]]))
        c = np.array([0.5, -2.0, 0.0])
        begun = Positions(
            equations, np.zeros((samples, 1)), dt, np.full(1, 1e-3), 8, nodes
        )
        motion = replace(begun, q=begun.rollout(start, c, samples)[0, :, :1])
        missing, mean, _ = force_error(motion, c, np.array([2]), 0.5)
        assert np.abs(missing).max() < 0.01
        rms.append(np.sqrt((mean**2).mean()))
    assert max(rms) < 1.5 * min(rms)
