"""Free motion that is chaotic: what acts on it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from leastaction.recordings.excitation import unrecorded_force

TIME = np.arange(0, 20, 0.01)
NOISE = 0.005


def motion(mass, force, start):
    """Two coordinates of M(q) a = F(q, v), measured."""

    def rates(_, z):
        q, v = z[:2], z[2:]
        return [*v, *np.linalg.solve(mass(q), force(q, v))]

    how = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-9}
    path = solve_ivp(rates, (0, TIME[-1]), start, t_eval=TIME, **how).y[:2].T
    return path + NOISE * np.random.default_rng(1).standard_normal(path.shape)


@pytest.mark.parametrize("start", [(2.3, -2.2), (2.5, 1.4), (-2.1, 2.0), (1.9, 2.4)])
def test_quick_turns_of_a_free_arm_are_no_random_force(start):
    def mass(q):
        mixed = 0.5 * np.cos(q[0] - q[1])
        return np.array([[1.0, mixed], [mixed, 0.6]])

    def force(q, v):
        whirl = 0.5 * np.sin(q[0] - q[1])
        loss = 0.01 * np.array([2 * v[0] - v[1], v[1] - v[0]])
        pull = np.array([35 * np.sin(q[0]), 18 * np.sin(q[1])])
        return np.array([-whirl * v[1] ** 2, whirl * v[0] ** 2]) - pull - loss

    path = motion(mass, force, [*start, 0, 0])
    assert not unrecorded_force([path], 0.01, [True, True])
