"""Port-Hamiltonian systems from text: charts, index, limits of each refusal, print."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from leastaction.core.expressions import symbol
from leastaction.ports.system import (
    PortHamiltonianError,
    PortHamiltonianSystem,
    _generic_points,
    input_function,
)

# Charge and current of a coil with a resistance: L di/dt = q/C - R i + v.
COIL = {
    "states": {"q": {}, "i": {}},
    "inputs": {"v": {}, "w": {}},
    "parameters": {"R": {"value": 0.123456789}, "L": {"value": 2.0}},
    "flow": [[1, 0], [0, "L"]],
    "structure": [[0, 1], [-1, 0]],
    "dissipation": [[0, 0], [0, "R"]],
    "port": [[0, 0], [1, "2*L"]],
    "efforts": ["3*q", "i"],
    "hamiltonian": "3*q**2/2 + L*i**2/2",
}
# A charge behind a resistance, whose voltage is an algebraic state.
DIVIDER = {
    "states": ["q", "a"],
    "inputs": {"v": {}},
    "parameters": {},
    "flow": [[1, 0], [0, 0]],
    "structure": [[0, 1], [-1, 0]],
    "dissipation": [[0, 0], [0, "2"]],
    "port": [[0], [1]],
    "efforts": ["q", "a"],
    "hamiltonian": "q**2/2",
}
X = np.array([[0.5, -0.2], [1.5, 0.7], [-0.3, 0.4]])
U = np.array([[0.3, 0.1], [-1.0, 0.2], [0.4, -0.6]])


def made(config=COIL, **changes) -> PortHamiltonianSystem:
    return PortHamiltonianSystem.from_config(config | changes)


def test_rates_are_those_of_the_equation():
    coil = made()
    q, i = X.T
    expected = [i, (-3 * q - 0.123456789 * i + U @ [1, 4]) / 2]
    np.testing.assert_allclose(coil.rates(X, U).T, expected, rtol=1e-13)
    np.testing.assert_array_equal(coil.states_at(X, U), X)
    assert (
        coil.wiener_processes == 0
        and coil.left_out == ()
        and coil.coordinates == ("q", "i")
        and coil.constant
    )


def test_states_that_the_chart_leaves_out_follow_from_the_equation():
    divider = made(DIVIDER)  # row 2: 0 = -q - 2 a + v
    assert divider.left_out == ("a",) and divider.coordinates == ("q",)
    q, v = X[:, :1], U[:, :1]
    x = divider.states_at(q, v)
    np.testing.assert_allclose(x, np.hstack([q, (v - q) / 2]), rtol=1e-14)
    np.testing.assert_allclose(divider.rates(q, v), x[:, 1:], rtol=1e-14)


def test_a_chart_of_other_coordinates_moves_the_same_states():
    """q = s³ + s: the rates of s are those of q over 3 s² + 1."""
    chart = {"coordinates": ["s"], "states": {"q": "s**3 + s"}}
    bent, s = made(DIVIDER, chart=chart), X[:, :1]
    q = s**3 + s
    straight = made(DIVIDER).rates(q, U[:, :1])
    rates = bent.rates(s, U[:, :1])
    np.testing.assert_allclose(rates, straight / (3 * s**2 + 1), rtol=1e-13)
    np.testing.assert_allclose(bent.states_at(s, U[:, :1])[:, :1], q, rtol=1e-14)


def test_numbers_of_the_equation():
    dae = made().dae
    np.testing.assert_array_equal(dae.flow, np.diag([1.0, 2.0]))
    np.testing.assert_array_equal(dae.dissipation, np.diag([0, 0.123456789]))
    np.testing.assert_array_equal(dae.port, [[0, 0], [1, 4]])
    z, slopes = dae.linearised(X)
    np.testing.assert_array_equal(z, X * [3, 1])
    np.testing.assert_array_equal(slopes, np.tile(np.diag([3.0, 1.0]), (3, 1, 1)))
    energy = 1.5 * X[:, 0] ** 2 + X[:, 1] ** 2
    np.testing.assert_allclose(dae.hamiltonian(X), energy, rtol=1e-15)
    assert dae.constraint is None
    known = made(constraint=["0*q"])
    assert known.constraint_texts == ["0"] and known.dae.constraint is not None


def test_a_dissipation_of_the_state_is_evaluated_but_makes_no_numbers():
    rough = made(dissipation=[[0, 0], [0, "R + i**2"]])
    assert not rough.constant
    loss = rough.dissipation_values(X)
    assert loss.shape == (3, 2, 2) and not loss[:, 0].any() and not loss[:, 1, 0].any()
    np.testing.assert_allclose(loss[:, 1, 1], 0.123456789 + X[:, 1] ** 2, rtol=1e-15)
    with pytest.raises(PortHamiltonianError, match="driven_motions"):
        _ = rough.dae


def chain(length: int, last: int = 0) -> PortHamiltonianSystem:
    """x1' = x2, ..., and x1 = 0 fixes the last state: so often differentiated."""
    names = [f"x{k + 1}" for k in range(length + 1)]
    structure = sp.zeros(length + 1)
    for k in range(length):
        structure[k, k + 1] = 1
    structure[length, last] = 1
    return PortHamiltonianSystem(
        tuple(names),
        ("u",),
        {},
        sp.diag(*[2] * length, 0),
        structure,
        sp.zeros(length + 1),
        sp.zeros(length + 1, 1),
        sp.Matrix([symbol(name) for name in names]),
        sp.Integer(0),
        (),
        {},
        (),
    )


@pytest.mark.parametrize("length", [1, 2, 5])
def test_the_index_counts_derivatives_of_algebraic_rows(length):
    assert chain(length).index == length + 1
    assert chain(length, last=length).index == 1


def test_the_index_is_zero_without_algebraic_rows_and_at_most_six():
    assert made().index == 0 and made(DIVIDER).index == 1
    with pytest.raises(ValueError, match="no differentiation index up to 6"):
        _ = chain(6).index


def test_a_jacobian_that_is_round_off_is_singular():
    """0 = x1 + slope x2, x1' = x2."""

    def index(slope: float) -> int:
        structure = chain(1).structure.copy()
        structure[1, 1] = sp.Float(slope)
        return replace(chain(1), structure=structure).index

    assert index(2e-9) == 1
    with pytest.raises(ValueError, match="no differentiation index"):
        index(5e-10)


@pytest.mark.parametrize(
    ("name", "right", "wrong", "message"),
    [
        (
            "dissipation",
            [["-1e-10", 0], [0, "R"]],
            [["-1e-7", 0], [0, "R"]],
            "semidefinite",
        ),
        ("dissipation", [[1, 0.5], [0.5, 1]], [[1, 0.5], [0.25, 1]], "symmetric"),
        ("hamiltonian", "3*q**2/2 + i**2 + q*1e-11", "3*q**2/2 + i**2 + q*1e-5", "H"),
        ("flow", [[1, 0], [0, "L"]], [[1, 0], [0, 0]], "gradient"),
        ("flow", [[1, 0], [0, "L"]], [[1, 1], [1, 1]], "regular D"),
        ("flow", [[1, 0], [0, "L"]], [[0, 1], [0, 0]], "regular D"),
        (
            "constraint",
            ["1e-11*q"],
            ["1e-5*q"],
            "does not keep the constraint q/100000",
        ),
    ],
)
def test_what_is_refused_begins_where_round_off_ends(name, right, wrong, message):
    made(**{name: right})
    with pytest.raises(PortHamiltonianError, match=message):
        made(**{name: wrong})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": {"q": {}}}, "q: declared twice"),
        (
            {"chart": {"coordinates": ["s"], "states": {"z": "s"}}},
            "chart: z is no state",
        ),
        ({"flow": []}, r"flow has shape \(0, 0\), expected \(2, 2\)"),
        ({"flow": [[1, 0], [0]]}, r"flow has shape \(2, 2\), expected \(2, 2\)"),
        ({"flow": [[1, 0, 0], [0, 1, 0]]}, r"shape \(2, 3\), expected \(2, 2\)"),
        ({"efforts": ["3*q"]}, r"efforts has shape \(1, 1\), expected \(2, 1\)"),
        ({"structure": [[0, "q"], ["-q", 0]]}, "q"),
        ({"chart": {"coordinates": ["s"], "states": {"q": "s", "i": "2*s"}}}, "row 1"),
        ({"chart": {"coordinates": ["s"], "states": {"q": "s", "i": "s/8"}}}, "row 2"),
        (
            {
                "chart": {"coordinates": ["s"], "states": {"q": "s"}},
                "efforts": ["3*q", "i**2"],
            },
            "not linear in i",
        ),
        (
            {
                "flow": [[1, 0], [0, 0]],
                "structure": [[0, 0], [0, 0]],
                "dissipation": [[0, 0], [0, 0]],
            },
            "does not determine the rates of q, i",
        ),
    ],
)
def test_refusals_name_what_is_wrong(changes, message):
    with pytest.raises(ValueError, match=message):
        made(**changes)


def test_all_that_is_wrong_with_the_matrices_is_listed():
    wrong = {"structure": [[0, 1], [1, 0]], "flow": [[1, 1], [1, 1]]}
    with pytest.raises(PortHamiltonianError, match="skew.*; flow E"):
        made(**wrong)


def test_points_of_identities_are_generic():
    """So that what is wrong with any state is seen, also without inputs."""
    points = _generic_points(50)
    assert points.shape == (7, 50)
    assert points.min() > 0.2 and points.max() < 1.2
    assert min(np.ptp(points, axis=0)) > 0.2
    three = {"states": ["a", "b", "c"], "inputs": {}, "parameters": {}} | {
        "flow": np.eye(3, dtype=int).tolist(),
        "structure": np.zeros((3, 3), dtype=int).tolist(),
        "dissipation": np.eye(3, dtype=int).tolist(),
        "port": [[], [], []],
        "efforts": ["a", "b", "c"],
        "hamiltonian": "a**2/2 + b**2/2 + c**2/2",
    }
    with pytest.raises(PortHamiltonianError, match="gradient of H"):
        made(three, efforts=["a", "b", "c**2 + 0.16"])  # that is c at 0.2 alone
    x = np.array([[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(made(three).rates(x, np.zeros((1, 0))), -x)


def test_a_system_prints_its_equation_to_six_digits():
    assert str(made(port=[[0, 0], [1, 2]])) == "\n".join(
        [
            "Port-Hamiltonian system of index 0",
            "Efforts",
            "  z_1 = 3*q",
            "  z_2 = i",
            "Hamiltonian",
            "  1.0*i**2 + 3*q**2/2",
            "Matrices",
            "  J = [[0, 1], [-1, 0]]",
            "  R = [[0, 0], [0, 0.123457]]",
            "  B = [[0, 0], [1, 2]]",
        ]
    )


def test_inputs_are_expressions_of_time_and_zero_elsewhere():
    time = np.array([0.0, 0.5, 2.0])
    u = input_function(made(), {"w": "L*sin(time) + a"}, {symbol("a"): 0.25})
    np.testing.assert_allclose(
        u(time), np.stack([0 * time, 2 * np.sin(time) + 0.25], axis=1), rtol=1e-15
    )
    assert not input_function(made(), {})([1.0]).any()
    with pytest.raises(ValueError, match="input: .*'volt'"):
        input_function(made(), {"volt": "1"})
