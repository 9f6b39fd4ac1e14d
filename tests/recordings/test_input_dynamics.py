"""What lies between a recorded input and its force."""

import numpy as np
import pytest

from leastaction.core.euler_lagrange import symbols
from leastaction.likelihood.horizons import Law, of_every
from leastaction.likelihood.iterated_smoother import fit
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.noise_levels import NoiseLevels
from leastaction.likelihood.term_selection import Candidates
from leastaction.recordings.input_dynamics import with_input_dynamics
from leastaction.recordings.inputs import Inputs, Unknown
from leastaction.recordings.recorded_problem import Problem
from leastaction.trajectories.variational_equations import variational_equations

SENSOR = np.full(1, 1e-4)


def late_oscillator(rows_late):
    """A driven oscillator whose input acts so many rows after its record; its law."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2], ["x"], [v**2])
    c, dt, rows = np.array([0.5, -8.0, 0.2]), 0.02, 1500
    rng = np.random.default_rng(4)
    w, phase = rng.uniform(1, 9, 6), rng.uniform(0, 6, 6)
    force = np.sin(np.multiply.outer(dt * np.arange(rows), w) + phase).sum(axis=1)
    parts = [slice(0, rows)]
    inputs = Inputs(force[:, None], parts, dt, np.zeros(1), np.zeros(1))
    acting = inputs.changed("lag", [0], rows_late * dt).nodes(np.arange(rows), 1)
    start = np.array([[0.1, 0.0]])
    path = equations.rollout(start, c, dt, rows, 4, acting(4))[0]
    y = path[:, :1] + SENSOR * rng.standard_normal((rows, 1))
    nodes = inputs.nodes(np.arange(rows), 1)
    motion = MeasuredMotion(equations, y, parts, dt, 4, nodes)
    known = Candidates(
        ["xdot**2", "x**2", "D xdot**2"], np.ones(3), (0, 1, 2), (0, 1, 2),
        np.zeros(3, bool), lambda *_: [],
    )  # fmt: skip
    unknown = [Unknown("lag", (0,), False)]
    about = None, np.arange(3), known.names, motion, known, inputs, {}, np.ones(3, int)
    problem = Problem(*about, 0.0, 1.5, unknown, None)
    levels = NoiseLevels(np.full(1, 0.1), SENSOR, np.full(1, 1e-7), 1e-2 * SENSOR)
    begun = fit(motion, c, np.arange(3), path, levels)
    quadratic = of_every(known, begun)
    return problem, Law(begun, quadratic, quadratic.solve(range(3))), c


@pytest.mark.parametrize("rows_late", [1.7, -2.3])
def test_a_delay_is_as_certain_as_its_data(rows_late):
    """Noise of 1e-4 leaves a thousandth of a row, and coefficients a ten-thousandth."""
    problem, law, truth = late_oscillator(rows_late)
    problem, law, dynamics = with_input_dynamics(problem, law)
    assert problem.inputs.lag == pytest.approx(rows_late * problem.motion.dt, abs=2e-5)
    by_noise = np.sqrt(np.diag(np.linalg.inv(law.fit.innovations.information)))
    std = np.hypot(by_noise, dynamics.deviations[0])
    assert (np.abs(law.c - truth) < 3 * std).all()
    assert (std < 1e-4 * np.abs(truth)).all()
    assert law.fit.levels.process < 1e-3  # of a force of 2, that of a row late is .1
