"""Energy null vector and Legendre transform."""

import numpy as np
import pytest
import sympy as sp
from stages import simulate
from support import PENDULUM, motion_settings, system

from leastaction.core.library import candidates
from leastaction.core.noise_sweep import recorded
from leastaction.trajectories.joint_spline import measured
from leastaction_papers.xl_sindy import lagrangian_sindy as energy_gram
from leastaction_papers.xl_sindy.lagrangian_sindy import (
    energy_rate,
    identify,
    lagrangian_of_energy,
    sparse_null_vector,
    velocity_degree,
)

NAMES = ("x", "y", "xdot", "ydot")
LIBRARY = {
    "reference": "thdot**2/2",
    "lagrangian": [
        {"polynomial": {"of": ["thdot", "sin(th)", "cos(th)"], "degree": 2}},
        {"terms": ["thdot**4"]},
    ],
}


@pytest.mark.parametrize("seed", range(4))
def test_the_legendre_transform_is_an_involution(seed):
    """L → E = q̇·∂L/∂q̇ − L → L, for any L without terms of degree one."""
    entry = {"of": ["x", "sin(y)", "xdot", "ydot"], "degree": 4}
    terms = candidates([{"polynomial": entry}], NAMES)
    degree = np.array([velocity_degree(term, ("x", "y")) for term in terms])
    truth = np.random.default_rng(seed).integers(-9, 9, len(terms))
    truth[degree == 1] = 0
    lagrangian = sum(int(c) * term for c, term in zip(truth, terms, strict=True))
    velocities = sp.symbols("xdot ydot", real=True)
    energy = sp.expand(sum(v * sp.diff(lagrangian, v) for v in velocities) - lagrangian)
    found = energy.as_coefficients_dict()
    of_energy = np.array([float(found[term]) for term in terms])
    np.testing.assert_allclose(lagrangian_of_energy(of_energy, degree), truth)


@pytest.mark.parametrize(
    ("text", "degree"),
    [("x**3", 0), ("xdot*x", 1), ("xdot*ydot", 2), ("ydot**4", 4), ("sin(xdot)", -1)],
)
def test_degree_in_the_velocities(text, degree):
    (term,) = candidates([{"terms": [text]}], NAMES)
    assert velocity_degree(term, ("x", "y")) == degree


def test_the_rate_of_a_constant_of_motion_vanishes():
    (term,) = candidates([{"terms": ["sin(x)**2 + cos(x)**2"]}], NAMES)
    assert sp.simplify(energy_rate(term, ("x", "y"))[0]) == 0


def test_the_null_vector_does_not_depend_on_units(rng):
    columns = rng.normal(size=(80, 5))
    columns[:, 2] = columns[:, 0] - 2 * columns[:, 4]
    scale = np.array([1.0, 1e3, 1e-2, 5.0, 1.0])
    once, _ = sparse_null_vector(columns.T @ columns, 0.1)
    scaled = columns * scale
    again, _ = sparse_null_vector(scaled.T @ scaled, 0.1)
    np.testing.assert_allclose(
        np.outer(again * scale, once), np.outer(once, again * scale), atol=1e-9
    )
    assert (once != 0).tolist() == [True, False, True, False, True]


def energy_equations():
    motion = recorded(
        simulate(
            system(PENDULUM, ("th",)),
            motion_settings(trajectories=10),
            example="test/pendulum",
            seed=2,
            replicate=0,
            units={"th": "rad"},
        ),
        "independent",
        0.0,
    )
    rates = measured(motion, {}, {})
    return energy_gram.assemble(motion, rates, {}, LIBRARY)


def test_without_noise_the_pendulum_comes_out():
    """Null and redundant candidates, and those without a trace, stay zero."""
    equations = energy_equations()
    found = identify(equations, {"tolerance": 0.1})
    chosen = {
        t: c for t, c in zip(found.terms, found.coefficients, strict=True) if c != 0
    }
    assert chosen == pytest.approx({"thdot**2": 0.5, "cos(th)": 9.81}, rel=1e-6)
    used = dict(zip(found.terms, equations["used"].values, strict=True))
    assert not used["1"]
    assert not used["thdot"]
    assert used["sin(th)**2"] != used["cos(th)**2"]
