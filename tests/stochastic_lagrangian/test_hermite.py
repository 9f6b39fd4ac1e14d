"""Cubic Hermite elements: the beam of the released code of paper 1."""

import numpy as np
import pytest
from field_support import FIRST_CANTILEVER_ROOT, cantilever, field, observe, string
from scipy.linalg import eigh

from leastaction_papers.stochastic_lagrangian import hermite


def test_the_first_frequency_converges_at_fourth_order():
    exact = FIRST_CANTILEVER_ROOT**2 * np.sqrt(0.6 / 3.0)
    errors = []
    for nodes in (4, 8, 16):
        mass, stiffness, _ = hermite.elements(cantilever(nodes))
        squares = eigh(stiffness, mass, eigvals_only=True)
        errors.append(np.sqrt(squares[0]) / exact - 1)
    # Galerkin's method is too stiff.
    assert min(errors) > 0
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 4, atol=0.1)


def test_unknowns_are_displacements_and_slopes_that_can_move():
    shown = hermite.elements(cantilever(4))[2]
    assert shown.tolist() == [True, False] * 4
    hinged = field("u_t**2/2 - u_xx**2/2", ("fixed", "free"), nodes=4)
    assert hermite.elements(hinged)[2].tolist() == [False, *[True, False] * 4]


def test_slopes_of_a_cantilever_bent_by_its_tip_are_exact():
    """Its deflection is a cubic, x² (3 − x), which the elements hold."""
    system = cantilever(5)
    _, stiffness, shown = hermite.elements(system)
    x = system.domain.x
    unknowns = hermite.with_slopes(stiffness, shown, x**2 * (3 - x))
    np.testing.assert_allclose(unknowns[shown], x**2 * (3 - x))
    np.testing.assert_allclose(unknowns[~shown], 6 * x - 3 * x**2, rtol=1e-9)


def test_without_noise_it_moves_like_the_modes():
    system = cantilever(8, sigma=0.0)
    start = {"u": "x**2*(3*length - x)", "u_t": 0}
    key = {"steps": 400, "time_step": 1e-3, "start": start, "trajectories": 1}
    ours, exact = (
        observe(system, method, **key) for method in ("newmark_hermite", "modal")
    )
    largest = np.abs(exact["u"].values).max()
    assert np.abs(ours["u"] - exact["u"]).values.max() < 0.02 * largest


def test_the_energy_of_the_noise_is_that_of_its_force():
    """Of n small steps the last force counts by half: Var v = F² dt (n − ¾) M⁻²."""
    system, steps, dt = cantilever(4, sigma=2.0), 40, 1e-5
    paths = observe(
        system,
        "newmark_hermite",
        steps=steps,
        time_step=dt,
        start={"u": 0, "u_t": 0},
        trajectories=400,
    )
    mass, _, shown = hermite.elements(system)
    force = 2.0 * 3.0 * system.domain.dx
    inverse = np.linalg.inv(mass)
    expected = force**2 * dt * (steps - 0.75) * (inverse @ inverse)[shown][:, shown]
    found = np.cov(paths["u_t"].values[0, :, -1].T)
    np.testing.assert_allclose(np.diag(found), np.diag(expected), rtol=0.25)
    assert np.trace(found) == pytest.approx(np.trace(expected), rel=0.1)


@pytest.mark.parametrize("ends", [("fixed", "fixed")])
def test_what_is_no_beam_is_refused(ends):
    with pytest.raises(ValueError, match="is no bending of a beam"):
        hermite.elements(string())
    mixed = field("u_t**2/2 - u_xx**2/2 - u_x**2/2", ends)
    with pytest.raises(ValueError, match="use method newmark"):
        hermite.elements(mixed)
