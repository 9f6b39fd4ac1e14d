"""Port-Hamiltonian equations as numbers: motion, coupling, energy."""

import numpy as np
import pytest
import sympy as sp
from port_support import completed, system, written

from leastaction.ports.dae import (
    Constraint,
    PortDae,
    SingularDaeError,
    compiled,
    energy_balance,
    linearised,
    runge_kutta_step,
)
from leastaction.ports.minimal_coordinates import path
from leastaction.ports.system import PortHamiltonianSystem
from leastaction_papers.port_hamiltonian.coupling import couple

START = {
    "electrical_network": {"x1": 2.0},
    "constrained_pendulum": {"alpha": 0.6, "omega": 0.1},
}
INPUT = {"u": "1 + 0.5*sin(1.3*time)"}


def driven_from(name):
    return {"input": INPUT, "initial_state": START[name]}


def driven(time):
    return 1 + 0.5 * np.sin(1.3 * time)[:, None]


@pytest.mark.parametrize("name", list(START))
def test_motion_of_the_equation_is_that_of_minimal_coordinates(name):
    """Fourth order: sixteen times the error at twice the step."""
    own = system(name)
    errors = []
    for step in (0.1, 0.05):
        time = step * np.arange(round(2 / step) + 1)
        true, _ = path(own, "dop853", time, driven_from(name))
        found = own.dae.path(true[0], time, driven)
        errors.append(np.abs(found - true).max())
    assert errors[1] < 1e-4
    assert 3.5 < np.log2(errors[0] / errors[1]) < 5.0


@pytest.mark.parametrize("name", list(START))
def test_energy_balance_closes_in_second_order(name):
    own, residuals = system(name).dae, []
    for step in (0.04, 0.02):
        time = step * np.arange(round(2 / step) + 1)
        first, _ = path(system(name), "dop853", time, driven_from(name))
        x = own.path(first[0], time, driven)
        residual, _ = energy_balance(own, time, x, driven(time))
        residuals.append(np.abs(residual).max())
    assert 1.8 < np.log2(residuals[0] / residuals[1]) < 2.2


def coupled(matrix=((0, -1), (1, 0))):
    example = completed(written("electrical_network"))
    settings = example["validate"]["port"]["coupling"]
    known = PortHamiltonianSystem.from_config(settings["system"])
    systems = {"a": system("electrical_network").dae, "b": known.dae}
    return couple(systems, [("a", 0), ("b", 1)], np.array(matrix))


def test_a_coupled_system_is_port_hamiltonian_again():
    whole = coupled()
    assert np.array_equal(whole.structure, -whole.structure.T)
    assert np.linalg.eigvalsh(whole.dissipation).min() > -1e-14
    x = np.random.default_rng(0).uniform(0.3, 1.0, (5, len(whole.states)))
    through = whole.efforts(x) @ whole.flow
    for i in whole.differential:
        h = 1e-5
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[:, i] += sign * h
            ends.append(whole.hamiltonian(moved))
        assert np.allclose((ends[0] - ends[1]) / (2 * h), through[:, i], atol=1e-9)


def test_energy_of_a_coupled_system_is_what_its_free_ports_supply():
    whole, residuals = coupled(), []
    for step in (0.04, 0.02):
        time = step * np.arange(round(4 / step) + 1)
        start = np.array([2.0, 1.0, -1.0, 0.0, 2.0])
        x = whole.path(start, time, driven)
        residual, violations = energy_balance(whole, time, x, driven(time))
        residuals.append(np.abs(residual).max())
        assert violations == 0
    assert 1.8 < np.log2(residuals[0] / residuals[1]) < 2.2


def test_a_coupling_that_makes_power_is_refused():
    with pytest.raises(ValueError, match="skew"):
        coupled(((0, 1), (1, 0)))


def test_an_inequality_that_is_broken_is_counted():
    own = system("electrical_network").dae
    time = 0.02 * np.arange(51)
    x = own.path(np.array([2.0, 1.0, -1.0]), time, driven)
    assert energy_balance(own, time, x, driven(time))[1] == 0
    assert energy_balance(own, time, x, driven(time) + 2.0)[1] > 0


def test_an_equation_without_its_algebraic_rows_says_so():
    from dataclasses import replace

    own = system("electrical_network").dae
    flat = replace(
        own,
        linearised=lambda x: (
            np.column_stack([x[:, 0], 0 * x[:, 0], 0 * x[:, 0]]),
            np.zeros((len(x), 3, 3)),
        ),
    )
    with pytest.raises(SingularDaeError, match="do not determine x2, x3"):
        flat.path(np.array([2.0, 1.0, 0.0]), np.linspace(0, 1, 5), driven)


def test_compiled_expressions_are_those_of_tables():
    """Numbers and expressions, of several lists of arguments, in a shape."""
    a, b, c = sp.symbols("a b c")
    made = compiled([[a, b], [c]], [2, a * c, 0.5, b - 1], (2, 2))
    x, y = np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([[10.0], [20], [30]])
    expected = [[[2, p * r], [0.5, q - 1]] for (p, q), (r,) in zip(x, y, strict=True)]
    np.testing.assert_array_equal(made(x, y), expected)
    z, slopes = linearised([a, b], [a * b, a**2], [b, a, 2 * a, 0])(x)
    np.testing.assert_array_equal(z, np.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2], 1))
    assert slopes[1].tolist() == [[4, 3], [6, 0]]


def test_a_step_of_the_classical_scheme_has_its_stability_polynomial():
    """1 + z + z²/2 + z³/6 + z⁴/24; and Simpson's rule of its inputs."""
    x = runge_kutta_step(lambda x, u: -1.5 * x, np.array([2.0]), 0.4, 0, 0, 0)
    z = -0.6
    assert x[0] == pytest.approx(2 * (1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24))
    x = runge_kutta_step(lambda x, u: u, np.array([1.0]), 0.3, 2.0, 5.0, 11.0)
    assert x[0] == pytest.approx(1 + 0.3 / 6 * (2 + 4 * 5 + 11))


def test_constraints_have_their_derivatives():
    x = np.array([[0.3, 2.0], [-1.0, 0.5]])
    g = Constraint.of(["a", "b"], ["a**2*b", "b - 1"])
    a, b = x.T
    np.testing.assert_allclose(g.value(x), np.stack([a**2 * b, b - 1], axis=1))
    np.testing.assert_allclose(g.first(x)[:, 0], np.stack([2 * a * b, a**2], axis=1))
    assert g.first(x)[:, 1].tolist() == [[0, 1], [0, 1]]
    np.testing.assert_allclose(g.second(x)[1, 0], [[2 * 0.5, -2.0], [-2.0, 0]])
    assert not g.second(x)[:, 1].any()
    assert Constraint.of(["a"], []) is None


def resistor(slope=1.0, loss=2.0) -> PortDae:
    """2 q' = a, 0 = −q − r(a) + u with z = (q, slope a)."""

    def efforts(x):
        matrix = np.diag([1.0, slope])
        return x * [1.0, slope], np.tile(matrix, (len(x), 1, 1))

    return PortDae(
        ("q", "a"),
        np.diag([2.0, 0.0]),
        np.array([[0.0, 1.0], [-1.0, 0.0]]),
        np.diag([0.0, loss]),
        np.array([[0.0], [1.0]]),
        efforts,
        lambda x: x[:, 0] ** 2,
    )


def test_parts_of_an_equation():
    dae, x = resistor(3.0), np.array([[0.5, -0.2], [1.0, 2.0]])
    assert dae.differential.tolist() == [0] and dae.algebraic.tolist() == [1]
    np.testing.assert_array_equal(dae.transformation, [[0, 1], [-1, -2]])
    np.testing.assert_allclose(dae.output(x)[:, 0], 3 * x[:, 1])
    assert dae.algebraic_jacobian(x)[0].tolist() == [[-1.0, -6.0]]
    speed, residual, _ = dae._evaluated(x[0], np.array([0.7]))
    assert speed[0] == pytest.approx(3 * -0.2 / 2)
    assert residual[0] == pytest.approx(-0.5 + 6 * 0.2 + 0.7)


def test_a_path_is_that_of_its_minimal_equation():
    """q' = a/2 with a = (u − q)/2, by the classical scheme, from any first guess."""
    time = np.linspace(0, 1, 11)
    made = resistor().path(
        np.array([0.3, 99.0]), time, lambda t: np.sin(3 * t)[:, None]
    )
    q, expected = np.array([0.3]), []
    for t in time:
        expected.append([q[0], (np.sin(3 * t) - q[0]) / 2])
        u = (np.sin(3 * (t + s)) for s in (0, 0.05, 0.1))
        q = runge_kutta_step(lambda q, u: (u - q) / 4, q, 0.1, *u)
    np.testing.assert_allclose(made, expected, atol=1e-12)


@pytest.mark.parametrize(("slope", "regular"), [(1.1e-10, True), (0.9e-10, False)])
def test_algebraic_rows_are_regular_or_named(slope, regular):
    """By the least singular value, over the largest one and one."""
    dae = resistor(slope, loss=1.0)
    if regular:
        dae._check_regular(np.array([[slope]]), np.zeros(2))
    else:
        with pytest.raises(SingularDaeError, match="do not determine a at x"):
            dae.path(np.zeros(2), np.linspace(0, 1, 3), lambda t: 0 * t[:, None])
    large = np.diag([10.0, 10 * slope])
    if not regular:
        with pytest.raises(SingularDaeError):
            dae._check_regular(large, np.zeros(2))
    with pytest.raises(SingularDaeError):
        dae._check_regular(np.array([[np.nan]]), np.zeros(2))


def test_a_balance_is_what_trapezia_and_simpson_leave():
    dae, time = resistor(), np.linspace(0, 1, 6)
    rng = np.random.default_rng(1)
    x, u = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    residual, broken = energy_balance(dae, time, x, u)
    power, loss = x[:, 1] * u[:, 0], 2 * x[:, 1] ** 2
    energy = x[:, 0] ** 2
    total = [np.trapezoid((power - loss)[: k + 1], time[: k + 1]) for k in range(6)]
    np.testing.assert_allclose(residual, energy - energy[0] - total, atol=1e-14)
    excess = [
        energy[k + 2]
        - energy[k]
        - 0.2 / 3 * (power[k] + 4 * power[k + 1] + power[k + 2])
        for k in (0, 2)
    ]
    assert broken == sum(e > 1e-12 for e in excess)
    shifts = np.zeros((6, 2))
    shifts[:, 0] = [1, 1, 1.5, 1.5, 1.2, 1.2]
    assert energy_balance(dae, time, shifts, 0 * u)[1] == 1
    still = energy_balance(dae, time, 0 * x, 0 * u)
    assert not still[0].any() and still[1] == 0
