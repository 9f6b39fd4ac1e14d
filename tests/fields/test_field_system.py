"""A density is a discrete Lagrangian system: symmetric, positive, consistent."""

import numpy as np
import pytest
from field_support import FIRST_CANTILEVER_ROOT, cantilever, field, string

from leastaction.core.units import DimensionError, check_dimensions
from leastaction.fields.field_system import IllPosedError

NONLINEAR = "u_t**2/2 - u_x**2/2 - u_x**4/4 - u**2*u_x**2/3 - u_xx**2*u_x**2/5 + cos(u)"


@pytest.mark.parametrize("system", [string(), cantilever()], ids=["string", "beam"])
def test_stiffness_is_symmetric_and_positive(system):
    stiffness = system.discrete_potential.stiffness
    np.testing.assert_array_equal(stiffness, stiffness.T)
    assert np.linalg.eigvalsh(stiffness)[0] > 0
    omega, phi = system.modes
    np.testing.assert_allclose(
        phi.T @ (system.mass[:, None] * phi), np.eye(system.dof), atol=1e-11
    )
    np.testing.assert_allclose(
        phi.T @ stiffness @ phi, np.diag(omega**2), atol=1e-9 * omega[-1] ** 2
    )


def test_frequencies_of_a_string_are_those_of_a_chain():
    system = string(nodes=50, length=0.51)
    dx = system.domain.dx
    k = np.arange(1, 51)
    exact = 2 * 2.0 / dx * np.sin(k * np.pi / 2 / 51)
    np.testing.assert_allclose(system.modes[0], exact, rtol=1e-10)


def test_frequencies_of_a_cantilever_converge_at_second_order():
    exact = FIRST_CANTILEVER_ROOT**2 * np.sqrt(0.6 / 3.0)
    errors = [abs(cantilever(n).modes[0][0] - exact) for n in (10, 20, 40, 80)]
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(rates, 2.0, atol=0.1)


def test_a_free_end_takes_no_condition():
    # Free at both ends: translation and rotation cost no energy.
    omega, _ = field("u_t**2/2 - u_xx**2/2", ("free", "free"), nodes=30).modes
    assert (omega[:2] == 0).all()
    assert omega[2] == pytest.approx(22.3733, rel=0.01)  # (4.7300/l)^2


def test_force_is_the_slope_of_the_energy(rng):
    system = field(NONLINEAR, ("clamped", "free"), nodes=9)
    u = 0.3 * rng.standard_normal(9)
    rest = np.zeros(9)
    step = 1e-6
    slope = [
        (system.energy(u + step * e, rest) - system.energy(u - step * e, rest))
        / (2 * step)
        for e in np.eye(9)
    ]
    force, hessian = (
        system.discrete_potential.force,
        system.discrete_potential.hessian(u),
    )
    np.testing.assert_allclose(force(u), -np.array(slope), rtol=1e-6, atol=1e-6)
    bend = (force(u + step * u) - force(u - step * u)) / (2 * step)
    np.testing.assert_allclose(hessian @ u, -bend, rtol=1e-5, atol=1e-5)


def test_force_of_a_quadratic_density_is_its_stiffness(rng):
    system = cantilever()
    u = rng.standard_normal((3, 20))
    found, stiffness = system.discrete_potential, system.discrete_potential.stiffness
    np.testing.assert_allclose(found.force(u), -u @ stiffness, rtol=1e-9)
    kinetic = (system.mass * u**2).sum(axis=1) / 2
    potential = np.einsum("ij,jk,ik->i", u, stiffness, u) / 2
    np.testing.assert_allclose(system.energy(u, u), kinetic + potential)


def test_noise_of_every_mode_is_independent_and_equal():
    system = cantilever(sigma=7.0)
    _, phi = system.modes
    root = phi.T * (system.mass * system.sigma)
    np.testing.assert_allclose(
        root @ root.T, system.modal_sigma**2 * np.eye(20), atol=1e-9
    )
    assert system.sigma[0] == pytest.approx(7.0)
    assert system.sigma[-1] == pytest.approx(7.0 * np.sqrt(2))  # half a cell


def test_energy_grows_as_if_every_cell_were_full():
    system = cantilever(nodes=20, sigma=7.0)
    expected = 20 * 7.0**2 * 3.0 * system.domain.dx / 2
    assert system.energy_growth == pytest.approx(expected)
    assert system.energy_growth == pytest.approx(20 * system.modal_sigma**2 / 2)


def test_the_equation_of_motion_follows_from_the_density():
    assert "u_tt = 1.0*Wdot + 4.0*u_xx" in str(string())
    assert "u_tt = 1.0*Wdot - 0.2*u_xxxx" in str(cantilever())
    both = field("u_t**2/2 - u_x**4/4 - u**2*u_x", ("fixed", "fixed"))
    assert "u_tt = 3*u_x**2*u_xx" in str(both)  # u^2 u_x is a divergence


@pytest.mark.parametrize(
    ("lagrangian", "ends", "message"),
    [
        ("u_t**2/2 + u_x**2/2", ("fixed", "fixed"), "negative potential energy"),
        ("-u_t**2/2 - u_x**2/2", ("fixed", "fixed"), r"u_t\*\*2/2 is -1"),
        ("-u_x**2/2", ("fixed", "fixed"), "no kinetic energy"),
        ("u_t**4 - u_x**2/2", ("fixed", "fixed"), "must be quadratic in u_t"),
        ("u_t**2/2 + u_t*u_x - u_x**2", ("fixed", "fixed"), "must be quadratic"),
        ("u_t**2/2 - u_x**2/2", ("clamped", "free"), "write fixed"),
    ],
)
def test_what_has_no_stable_motion_is_refused(lagrangian, ends, message):
    with pytest.raises(IllPosedError, match=message):
        field(lagrangian, ends)


def test_a_nonlinear_density_has_no_modes():
    with pytest.raises(ValueError, match="not quadratic.*use method leapfrog"):
        _ = field("u_t**2/2 - u_x**4/4", ("fixed", "fixed")).modes


def test_parameters_may_not_take_the_names_of_the_axes():
    with pytest.raises(ValueError, match="'x' is reserved in a field"):
        field("u_t**2/2 - x*u_x**2", ("fixed", "fixed"), x=1.0)


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ({"c": "m/s^2"}, "cannot be added"),
        ({"sigma": "m/s^2"}, "volatility is in m/s.*expected m/s"),
    ],
)
def test_units_that_do_not_fit_are_refused(units, message):
    right = {"u": "m", "c": "m/s", "sigma": "m/s^1.5"}
    check_dimensions(string(), right)
    with pytest.raises(DimensionError, match=message):
        check_dimensions(string(), right | units)
