"""From a Lagrangian to equations of motion, momenta and energy."""

import numpy as np
import pytest
import sympy as sp
from support import roll, system

from leastaction.core.euler_lagrange import euler_lagrange, total_derivative
from leastaction.core.expressions import symbol
from leastaction.core.system import System, is_singular, latex_names

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


A, B = symbol("a"), symbol("b")


@pytest.mark.parametrize(
    ("rows", "singular"),
    [
        ([[A, B], [2 * A, 2 * B]], True),
        ([[sp.sin(A) ** 2 + sp.cos(A) ** 2 - 1]], True),
        ([[1e-3 * A, 0], [0, 1]], False),
        ([[A, B], [B, A]], False),
        ([[1e-11, 0], [0, 1]], False),  # decided by algebra
        ([[sp.Integer(0)]], True),
    ],
)
def test_a_matrix_is_singular_if_its_determinant_vanishes(rows, singular):
    assert is_singular(sp.Matrix(rows)) == singular


def test_names_of_text_are_coordinates_or_parameters():
    truth = System("m*xdot**2/2 + ydot**2 - k*x*y", {"m": 2, "k": None, "cdot": 3.0})
    assert truth.coordinates == ("x", "y") and truth.dof == 2
    assert truth.parameters["m"] == 2.0 and np.isnan(truth.parameters["k"])
    assert [str(x) for x in truth.state] == ["x", "y", "xdot", "ydot"]
    assert truth.initial_names == ("x", "y", "xdot", "ydot")
    assert truth.noise_names == ["volatility of x", "volatility of y"]
    assert truth.rates == {"xdot": ("x", 1, 0), "ydot": ("y", 1, 0)}
    np.testing.assert_array_equal(truth.parameter_values, [2.0, np.nan, 3.0])
    with pytest.raises(ValueError, match=r"symbol 'w'.*write parameters={'w': 1.0}"):
        System("xdot**2/2 - w*x**2", {"k": 1})
    assert System("ydot**2 + xdot**2", coordinates=("x", "y")).coordinates == ("x", "y")
    with pytest.raises(ValueError, match="each coordinate .there is none."):
        System("k", {"k": 1})


def test_parameters_get_other_values_and_are_put_in():
    truth = System("m*xdot**2/2 - k*x**2", {"m": 2, "k": None})
    other = truth.with_parameters(k=1.23456789)
    assert np.isnan(truth.parameters["k"]) and other.parameters["k"] == 1.23456789
    assert str(other.evaluated(other.lagrangian, 3)) == "-1.23*x**2 + 1.0*xdot**2"
    assert "k" in str(truth.evaluated(truth.lagrangian))
    with pytest.raises(ValueError, match="unknown parameter 'q'"):
        truth.with_parameters(q=1.0)
    for value in ("1", [1.0], 1j):
        with pytest.raises(ValueError, match="parameter k is .*; expected a number"):
            truth.with_parameters(k=value)


def test_a_driven_system_has_the_forces_of_its_inputs():
    driven = System("xdot**2 + ydot**2/2 + xdot*ydot*cos(y)", inputs=["y"])
    force = symbol("F_y")
    assert driven.external_forces == sp.Matrix([0, force])
    pushed = driven.mass_matrix * (driven.driven_acceleration - driven.acceleration)
    assert sp.simplify(pushed - driven.external_forces) == sp.zeros(2, 1)
    free = System("xdot**2/2")
    assert free.driven_acceleration == free.acceleration
    balance = driven.balance - driven.mass_matrix * sp.Matrix(
        [symbol("xddot"), symbol("yddot")]
    )
    assert sp.simplify(balance + driven.forces) == sp.zeros(2, 1)
    with pytest.raises(ValueError, match="inputs: unknown coordinate 'z'"):
        System("xdot**2/2", inputs=["z"])


def test_a_system_with_a_full_mass_matrix_is_printed_by_its_balance():
    text = str(
        System(
            "xdot**2 + ydot**2/2 + xdot*ydot - 3*x**2",
            dissipation="xdot**2/4",
            volatility={"y": "2"},
            calculus="stratonovich",
            inputs=["x"],
        )
    )
    assert text.split("\n") == [
        "Lagrangian",
        "  -3*x**2 + xdot**2 + xdot*ydot + ydot**2/2",
        "Dissipation",
        "  xdot**2/4",
        "Equations of motion in the sense of Ito",
        "  6*x + 2*xddot + xdot/2 + yddot = F_x",
        "  xddot + yddot = 2*Wdot_1",
        "Hamiltonian",
        "  3*x**2 + xdot**2 + xdot*ydot + ydot**2/2",
    ]
    plain = str(System("xdot**2 - x", volatility={"x": "3"}, inputs=["x"]))
    assert "  xddot = F_x/2 + 3*Wdot_1/2 - 1/2" in plain.split("\n")


def test_latex_of_names_has_dots_above_the_letter():
    names = latex_names(["theta_1", "x"], {"x": r"\xi_{ab}"})
    assert list(names.values()) == [
        *(r"\theta_{1}", r"\dot{\theta}_{1}", r"\ddot{\theta}_{1}"),
        *(r"\xi_{ab}", r"\dot{\xi}_{ab}", r"\ddot{\xi}_{ab}"),
    ]


def test_a_simulation_has_its_defaults_and_refuses_what_is_open():
    spring = System("m*xdot**2/2 - 2*x**2", {"m": None})
    how = {"duration": 0.2, "time_step": 0.1, "initial_state": {"x": 1.0, "xdot": 0.0}}
    motion = spring.simulate(**how, m=1.0)
    assert dict(motion.sizes) | {"replicate": 1, "trajectory": 1} == dict(motion.sizes)
    assert motion.coordinate_unit.values.tolist() == ["1"]
    np.testing.assert_allclose(
        motion.q.values[0, 0, :, 0], np.cos(2 * motion.time), atol=1e-8
    )
    with pytest.raises(ValueError, match=r"m has no value; write simulate\(..., m=1.0"):
        spring.simulate(**how)
    assert motion.attrs["contract"] == "recordings"
    shaken = System("xdot**2/2", volatility={"x": "1"})
    two = [
        shaken.simulate(**how, trajectories=2, replicates=3, seed=s, units={"x": "m"})
        for s in (0, 0, 1)
    ]
    assert two[0].q.shape == (3, 2, 3, 1) and two[0].attrs["contract"] == "observations"
    assert two[0].equals(two[1]) and not two[0].equals(two[2])
    default = shaken.simulate(**how)
    np.testing.assert_array_equal(default.q[0, 0], two[0].q[0, 0])


def test_a_matrix_of_noise_is_one_row_by_coordinate():
    x, v = symbol("x"), symbol("xdot")
    system = System(v**2 / 2 - x, coordinates=("x",))
    assert system.volatility.shape == (1, 0) and system.wiener_processes == 0
    assert system.diffusion.shape == (1, 0) and system.noise_matrix.shape == (1, 0)
    with pytest.raises(ValueError, match="expected a matrix of SymPy beside"):
        System(v**2 / 2, coordinates=("x",), volatility={"x": "1"})
    with pytest.raises(ValueError, match="lagrangian is 3; expected text"):
        System(3)
    with pytest.raises(ValueError, match="unknown calculus 'it'"):
        System("xdot**2/2", calculus="it")
    assert System("xdot**2/2", volatility=sp.zeros(1, 0)).wiener_processes == 0
    assert not System(v * x, coordinates=("x",)).has_equations


def test_numbers_are_printed_with_six_digits():
    numbers = {"m": 1.23456789, "k": 0.000123456789}
    text = str(System("m*xdot**2 - k*x", numbers, dissipation="xdot**4"))
    assert "-0.000123457*x + 1.23457*xdot**2" in text
    assert "Dissipation\n  xdot**4" in text


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_a_law_in_any_units_has_a_mass_matrix(scale):
    law = f"{scale:.0e}*(xdot**2 + ydot**2/2 + xdot*ydot/2)"
    assert System(law).has_equations
    assert is_singular(System(law).mass_matrix * sp.Matrix([[A, A], [B, B]]))
