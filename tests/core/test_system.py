"""From a Lagrangian to equations of motion, momenta and energy."""

import numpy as np
import pytest
import sympy as sp
from support import roll, system

from leastaction.core.euler_lagrange import euler_lagrange, total_derivative
from leastaction.core.expressions import symbol
from leastaction.core.system import System

DOUBLE = {"m_1": 1.3, "m_2": 0.7, "l_1": 0.9, "l_2": 1.1, "g": 9.81}


def double_pendulum(**rest):
    return system(
        "(m_1 + m_2)*l_1**2*adot**2/2 + m_2*l_2**2*bdot**2/2"
        " + m_2*l_1*l_2*adot*bdot*cos(a - b)"
        " + (m_1 + m_2)*g*l_1*cos(a) + m_2*g*l_2*cos(b)",
        ("a", "b"),
        DOUBLE,
        **rest,
    )


def zero(expression):
    return sp.simplify(expression) == 0


@pytest.mark.parametrize(
    ("lagrangian", "acceleration"),
    [
        ("m*xdot**2/2 - k*x**2/2", "-k*x/m"),
        ("m*l**2*xdot**2/2 + m*g*l*cos(x)", "-g*sin(x)/l"),
        ("m*xdot**2/2 - k*x**2/2 - alpha*x**4/4", "-(k*x + alpha*x**3)/m"),
        ("m*xdot**2/2 + k*x**3*xdot", "0"),
        ("m*x**2*xdot**2/2", "-xdot**2/x"),
        ("m*xdot**4/4 - k*x", "-k/(3*m*xdot**2)"),
    ],
    ids=["harmonic", "pendulum", "duffing", "gauge", "varying mass", "quartic"],
)
def test_equations_of_motion_in_closed_form(lagrangian, acceleration):
    names = ("m", "k", "l", "g", "alpha")
    found = system(lagrangian, parameters=dict.fromkeys(names, 1.0))
    expected = sp.sympify(acceleration, {n: symbol(n) for n in ("x", "xdot", *names)})
    assert zero(found.acceleration[0] - expected)


def test_double_pendulum_against_the_formula_of_the_textbooks(rng):
    """Angular accelerations solved by hand for the two bobs."""
    truth = double_pendulum()
    names = [*truth.state, *(symbol(n) for n in DOUBLE)]
    run = sp.lambdify(names, list(truth.acceleration), "numpy")
    m1, m2, l1, l2, g = DOUBLE.values()
    for a, b, u, w in rng.normal(size=(10, 4)):
        d = a - b
        below = 2 * m1 + m2 - m2 * np.cos(2 * d)
        first = (
            -g * (2 * m1 + m2) * np.sin(a)
            - m2 * g * np.sin(a - 2 * b)
            - 2 * np.sin(d) * m2 * (w**2 * l2 + u**2 * l1 * np.cos(d))
        ) / (l1 * below)
        second = (
            2
            * np.sin(d)
            * (
                u**2 * l1 * (m1 + m2)
                + g * (m1 + m2) * np.cos(a)
                + w**2 * l2 * m2 * np.cos(d)
            )
        ) / (l2 * below)
        found = run(a, b, u, w, *DOUBLE.values())
        np.testing.assert_allclose(found, [first, second], rtol=1e-10)


def test_acceleration_solves_the_euler_lagrange_equations():
    truth = double_pendulum()
    accelerations = dict(
        zip((symbol("addot"), symbol("bddot")), truth.acceleration, strict=True)
    )
    for equation in euler_lagrange(truth.lagrangian, truth.coordinates):
        assert zero(equation.subs(accelerations))


def test_euler_lagrange_is_linear_and_blind_to_total_derivatives():
    x, xdot = symbol("x"), symbol("xdot")
    first, second = xdot**2 * x, sp.sin(x) - xdot**4
    combined = euler_lagrange(3 * first - second, ["x"])[0]
    parts = euler_lagrange(first, ["x"])[0], euler_lagrange(second, ["x"])[0]
    assert zero(combined - 3 * parts[0] + parts[1])
    gauge = total_derivative(sp.exp(x) * x**2, ["x"])
    assert zero(euler_lagrange(first + gauge, ["x"])[0] - parts[0])


def test_mass_matrix_is_the_hessian_of_the_kinetic_energy():
    truth = double_pendulum()
    expected = sp.hessian(truth.lagrangian, truth.qdot)
    assert zero(truth.mass_matrix - expected) or truth.mass_matrix == expected
    assert truth.mass_matrix == truth.mass_matrix.T


def test_a_singular_mass_matrix_is_refused():
    for lagrangian in ("adot**2/2 - b**2", "(adot + bdot)**2/2"):
        with pytest.raises(ValueError, match="mass matrix"):
            system(lagrangian, ("a", "b"))


def test_hamiltonian_is_kinetic_plus_potential_energy():
    truth = system("m*xdot**2/2 - k*x**4", parameters={"m": 1.0, "k": 1.0})
    m, k, x, v = (symbol(n) for n in ("m", "k", "x", "xdot"))
    assert zero(truth.hamiltonian - m * v**2 / 2 - k * x**4)


@pytest.mark.parametrize(
    ("truth", "start"),
    [
        (system("xdot**2/2 - x**2/2 - 2*x**4"), [1.0, 0.3]),
        (system("xdot**2/2 + 9.81*cos(x)"), [0.9, 0.0]),
        (double_pendulum(), [0.7, -0.4, 0.5, 0.0]),
        (system("(1 + x**2)*xdot**2/2 - x**2"), [1.0, 0.0]),
    ],
    ids=["duffing", "pendulum", "double pendulum", "varying mass"],
)
def test_energy_is_conserved_along_deterministic_paths(truth, start):
    """The drift over one second falls with the square of the step."""
    energy = sp.lambdify(truth.state, truth.evaluated(truth.hamiltonian), "numpy")
    drifts = []
    for dt in (2e-3, 1e-3):
        path = roll(truth, start, np.zeros((2, round(1 / dt), 0)), dt)
        values = energy(*path.T)
        drifts.append(np.ptp(values))
    assert drifts[1] < 1e-4 * np.abs(values).max()
    assert drifts[1] < 0.3 * drifts[0]


def test_dissipation_takes_energy_at_the_rate_of_the_rayleigh_function():
    """dH/dt = −q̇ ∂D/∂q̇ = −2 D for a quadratic D, whatever the mass matrix."""
    truth = double_pendulum(dissipation="0.3*adot**2/2 + 0.2*(adot - bdot)**2/2")
    rate = total_derivative(truth.hamiltonian, truth.coordinates).subs(
        dict(zip((symbol("addot"), symbol("bddot")), truth.acceleration, strict=True))
    )
    assert zero(rate + 2 * truth.dissipation)


def test_energy_grows_by_itos_formula():
    """Half the trace of Sᵀ M⁻¹ S; for masses m_i and forces σ_i, Σ σ_i²/2m_i."""
    truth = system(
        "m*adot**2/2 + M*bdot**2/2 - a*b",
        ("a", "b"),
        {"m": 2.0, "M": 4.0, "s": 3.0, "r": 5.0},
        volatility={"a": "s", "b": "r*a"},
    )
    m, big, s, r, a = (symbol(n) for n in ("m", "M", "s", "r", "a"))
    assert zero(truth.energy_growth - s**2 / (2 * m) - r**2 * a**2 / (2 * big))
    assert system("xdot**2/2").energy_growth == 0


@pytest.mark.parametrize(
    ("volatility", "correction"),
    [
        ("s", "0"),
        ("1 + 4*x", "0"),
        ("sin(x)*s", "0"),
        ("s*xdot", "s**2*xdot/(2*m**2)"),
        ("1 + s*xdot", "s*(1 + s*xdot)/(2*m**2)"),
        ("x*xdot**2", "x**2*xdot**3/m**2"),
    ],
)
def test_stratonovich_correction_is_half_g_dg_dqdot(volatility, correction):
    """It stands for noise that depends on the velocity only, and vanishes for g(q)."""
    parts = [
        system(
            "m*xdot**2/2 - x**2/2",
            parameters={"m": 2.0, "s": 1.0},
            volatility={"x": volatility},
            calculus=calculus,
        ).acceleration[0]
        for calculus in ("stratonovich", "ito")
    ]
    expected = sp.sympify(correction, {n: symbol(n) for n in ("x", "xdot", "m", "s")})
    assert zero(parts[0] - parts[1] - expected)


def test_diffusion_is_the_volatility_divided_by_the_mass_matrix():
    truth = double_pendulum(volatility=[["1", "0"], ["a", "2"]])
    assert zero((truth.mass_matrix * truth.diffusion - truth.volatility).norm())


def test_volatility_by_coordinate_is_one_process_for_each_entry():
    truth = system("adot**2 + bdot**2", ("a", "b"), volatility={"b": "2"})
    assert truth.volatility == sp.Matrix([[0], [2]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"volatility": {"z": "1"}}, "not coordinates"),
        ({"volatility": [["1"]]}, "2 rows"),
        ({"volatility": [["1", "0"], ["1"]]}, "equal length"),
        ({"volatility": {"a": "q"}}, "volatility: unknown name 'q'"),
        ({"lagrangian": "adot**2 + c"}, "lagrangian: unknown name 'c'"),
        ({"dissipation": "a.b"}, "dissipation: only numbers"),
        ({"coordinates": ["a", "adot"]}, "declared twice"),
        ({"coordinates": ["sin", "b"]}, "reserved"),
        ({"parameters": {"a": {"value": 1.0}}}, "declared twice"),
    ],
)
def test_an_unusable_system_is_refused_with_the_place(changes, message):
    config = {
        "coordinates": ["a", "b"],
        "parameters": {},
        "lagrangian": "adot**2 + bdot**2",
    }
    with pytest.raises(ValueError, match=message):
        System.from_config({**config, **changes})


@pytest.mark.parametrize(
    ("section", "words"),
    [
        (["xdot**2"], "is not a list of 'key: value'"),
        ({"lagrangian": ["xdot**2"]}, "'reference' is missing"),
        ({"reference": "xdot**2", "lagrangian": "xdot**2"}, "expected a list"),
        ({"reference": "xdot**2", "lagrangian": [{"polynomial": 2}]}, "got int 2"),
    ],
)
def test_an_unusable_library_is_refused_with_the_place(section, words):
    oscillator = system("xdot**2/2 - x**2/2")
    with pytest.raises(ValueError, match=words):
        oscillator.library(section)
    texts = {"reference": "xdot**2", "lagrangian": ["xdot**2", "x**2"]}
    assert len(oscillator.library(texts).terms) == 2


def test_a_printed_system_shows_its_laws_with_numbers():
    text = str(system("m*xdot**2/2 - x**2", parameters={"m": 4.0}))
    for part in ("Lagrangian", "Equations of motion", "Hamiltonian", "xddot = "):
        assert part in text
    assert "m" not in text.replace("motion", "").replace("Hamiltonian", "")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parameters": None}, "parameters are 'None'"),
        ({"parameters": {"k": 10**5000}}, "64 bits"),
        ({"coordinates": None}, "coordinates are 'None'"),
        ({"coordinates": "x"}, "coordinates are 'x'"),
        ({"volatility": "s"}, "volatility is 's'"),
        ({"dissipation": "tanh(" * 20 + "xdot" + ")" * 20}, "beyond 8 levels"),
        ({"lagrangian": sp.Symbol("x")}, "coordinates are missing"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(changes, words):
    with pytest.raises(ValueError, match=words):
        System(**({"lagrangian": "xdot**2/2 - k*x**2/2"} | changes))
