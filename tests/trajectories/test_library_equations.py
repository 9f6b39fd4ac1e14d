"""Compiled Euler–Lagrange columns."""

import numpy as np
import pytest
import sympy as sp

from leastaction.core.euler_lagrange import (
    acceleration_names,
    euler_lagrange,
    rayleigh_force,
    symbols,
    velocity_names,
)
from leastaction.core.library import Library
from leastaction.trajectories.library_equations import gram_matrices, library_equations

COORDINATES = ("x", "th")
CONFIG = {
    "reference": "xdot**2",
    "lagrangian": [
        {"terms": ["xdot**2", "xdot*thdot*cos(th)", "x*xdot", "x**2*cos(th)"]},
        {"terms": ["thdot**3", "x*thdot"]},
    ],
    "dissipation": [{"terms": ["thdot**2", "abs(xdot)"]}],
}


@pytest.fixture(scope="module")
def library():
    return Library.from_config(CONFIG, COORDINATES)


@pytest.fixture(scope="module")
def equations(library):
    return library_equations(library)


@pytest.fixture(scope="module")
def motion():
    return np.random.default_rng(0).normal(size=(3, 50, 2))


def test_columns_are_the_symbolic_expressions(library, equations, motion):
    names = [
        *COORDINATES,
        *velocity_names(COORDINATES),
        *acceleration_names(COORDINATES),
    ]
    left = [euler_lagrange(term, COORDINATES) for term in library.terms]
    left += [rayleigh_force(term, COORDINATES) for term in library.dissipation]
    columns = equations.columns(*motion)[0]
    for k, pair in enumerate(left):
        for a, expression in enumerate(pair):
            given = np.moveaxis(motion, 1, 2).reshape(6, -1)
            value = sp.lambdify(symbols(names), expression)(*given) + np.zeros(50)
            np.testing.assert_allclose(columns[:, a, k], value, atol=1e-12)


def test_mass_times_acceleration_and_force_make_the_column(equations, motion):
    q, qdot, qddot = motion
    columns, inertia = equations.columns(*motion)
    mass, force = equations.mass_and_force(q, qdot)
    np.testing.assert_allclose(np.einsum("nabk,nb->nak", mass, qddot), inertia)
    np.testing.assert_allclose(inertia + force, columns, atol=1e-12)
    np.testing.assert_array_equal(inertia.any((0, 1)), equations.has_mass)


def test_null_candidates_and_damping_have_no_inertia(library, equations, motion):
    columns, inertia = equations.columns(*motion)
    assert not columns[:, :, library.names.index("x*xdot")].any()
    assert not inertia[:, :, len(library.terms) :].any()


def test_a_selection_is_the_same_columns(equations, motion):
    whole = equations.columns(*motion)
    some = equations.columns(*motion, [6, 1, 3])
    for a, b in zip(whole, some, strict=True):
        np.testing.assert_array_equal(a[..., [6, 1, 3]], b)


@pytest.mark.parametrize("chunk", [7, 2048])
def test_gram_matrices_are_sums_over_samples(equations, motion, chunk, monkeypatch):
    columns, inertia = equations.columns(*motion)
    force = np.random.default_rng(1).normal(size=(50, 2))
    monkeypatch.setattr(
        "leastaction.trajectories.library_equations.SAMPLES_PER_BATCH", chunk
    )
    gram, kinetic, moment = gram_matrices(equations, *motion, force)
    np.testing.assert_allclose(gram, np.einsum("nak,nal->kl", columns, columns))
    np.testing.assert_allclose(kinetic, np.einsum("nak,nal->kl", inertia, inertia))
    np.testing.assert_allclose(moment, np.einsum("nak,na->k", columns, force))


def test_redundant_columns_are_combinations_of_the_others(motion):
    more = ["xdot**2*sin(th)**2", "xdot**2*cos(th)**2", "x**2*xdot", "3*x*thdot"]
    entries = [*CONFIG["lagrangian"], {"terms": more}]
    library = Library.from_config(CONFIG | {"lagrangian": entries}, COORDINATES)
    freedom = library.joint_freedom
    independent = freedom.independent
    assert 0 < len(independent) < len(library.terms) + len(library.dissipation) - 2
    columns, inertia = library_equations(library).columns(*motion)
    for part in (columns, inertia):
        made = part[..., independent] @ freedom.reduction[independent]
        np.testing.assert_allclose(made, part, atol=1e-12)


def test_switches_are_the_arguments_of_abs(equations, motion):
    q, qdot, _ = motion
    np.testing.assert_array_equal(equations.switches(q, qdot)[:, 0], qdot[:, 0])
    plain = Library.from_config({**CONFIG, "dissipation": []}, COORDINATES)
    assert library_equations(plain).switches is None
