"""Parameters of machines in per cent: a slide, an arm, and what a motion groups."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.ensembles.modes import Linear
from leastaction.recordings.physical_parameters import (
    _Equilibrium,
    _Shown,
    covariance_of,
    physical_parameters,
)

MASS, VISCOUS, DRY, OFFSET = 95.0, 205.0, 20.0, 3.0
# Inertia, gravity and friction of two links, by absolute angles.
FIRST, SECOND, BOTH, GRAVITY, LOSS = 0.9, 0.35, 0.25, (8.0, 3.2), (0.8, 0.4)
BETWEEN = 0.15


def slide(seed, samples=1000, dt=0.01, noise=2e-6):
    """A servo as EMPS: position and held force of m ẍ + F_v ẋ + F_c sign ẋ = F + 3."""
    rng, steps = np.random.default_rng(seed), 20
    rates, phases = 2 * np.pi * np.array([0.15, 0.35, 0.8]), rng.uniform(0, 6, 3)
    sizes = rng.uniform(0.5, 1, 3) * [0.08, 0.03, 0.01]
    x, v, h = sizes @ np.sin(phases), sizes * rates @ np.cos(phases), dt / steps
    rows = []
    for k in range(samples):
        angle = rates * k * dt + phases
        miss = sizes @ np.sin(angle) - x, sizes * rates @ np.cos(angle) - v
        force = 20_000 * miss[0] + 2500 * miss[1]
        rows.append((x, force))
        for _ in range(steps):
            middle = v + h / 2 * _pull(force, v)
            x, v = x + h * middle, v + h * _pull(force, middle)
    x, force = np.array(rows).T
    return x + noise * rng.standard_normal(samples), force


def _pull(force, v):
    return (force + OFFSET - VISCOUS * v - DRY * v / np.sqrt(v**2 + 1e-8)) / MASS


def test_a_slide_without_a_spring_has_its_parameters_in_per_cent():
    truth = {
        "mass": (MASS, "kg"),
        "viscous damping": (VISCOUS, "N·s/m"),
        "dry friction": (DRY, "N"),
        "constant force": (OFFSET, "N"),
    }
    terms = {
        "lagrangian": ["xdot**2", "x", "x**2"],
        "dissipation": ["xdot**2", "abs(xdot)"],
    }
    about = {"inputs": {"x": "F [N]"}, "library": terms, "progress": False}
    inside = []
    for seed in range(2):
        x, force = slide(seed)
        law = la.learn({"x": x, "F": force}, time=0.01, **about)
        found = law.physical.set_index("quantity")
        assert set(found.index) == set(truth)
        for name, (value, unit) in truth.items():
            row = found.loc[name]
            assert row.unit == unit and row.percent < 2
            assert row.percent == pytest.approx(100 * row["std"] / row.value)
            inside.append(row.low < value < row.high)
    assert np.mean(inside) > 0.8
    text = law.to_markdown()
    line = next(x for x in text.splitlines() if x.startswith("| mass |"))
    assert line.endswith(" % | kg |") and "| standard error |" in text


def test_a_mass_without_a_damper_to_the_ground_has_no_damping_of_its_own():
    """Of three masses in a row; 0.6 − 0.2 − 0.4 is 1e-16."""
    C = np.array([[0.2, -0.2, 0.0], [-0.2, 0.2 + 0.4, -0.4], [0.0, -0.4, 0.4]])
    assert C[1].sum() != 0
    chain = SimpleNamespace(
        system=la.System("(xdot**2 + ydot**2 + zdot**2)/2"),
        has_scale=True,
        names=(),
        alone=[True] * 3,
        turns=[False] * 3,
        shown=[_Shown()] * 3,
        unit_of=lambda *term: "kg/s",
    )
    linear = Linear(np.eye(3), C, np.eye(3), np.zeros(3))
    rows = [
        row
        for i, name in enumerate("xyz")
        for row in _Equilibrium._of_coordinate(chain, linear, True, i, name, None)
        if "damping" in row.name
    ]
    between = [f"viscous damping between {pair}" for pair in ("x and y", "y and z")]
    assert {row.name: row.value for row in rows} == dict(
        zip(between, (0.2, 0.4), strict=True)
    )


def arm(seed, samples=400, dt=0.02, noise=1e-4):
    """Angles and torques of two links."""
    rng = np.random.default_rng(seed)
    rates = 2 * np.pi * np.array([0.2, 0.5, 1.1])
    sizes = rng.uniform(2, 5, (2, 3)) * [[1.0], [0.5]]
    phases = rng.uniform(0, 6, (2, 3))

    def torque(t):
        return (sizes * np.sin(rates * t + phases)).sum(axis=1)

    def rate(t, state):
        (a, b), v = state[:2], state[2:]
        mixed = BOTH * np.cos(a - b)
        turn = BOTH * np.sin(a - b) * np.array([v[1] ** 2, -(v[0] ** 2)])
        pull = np.array(GRAVITY) * np.sin([a, b]) + np.array(LOSS) * v
        pull += BETWEEN * (v - v[::-1])
        inertia = [[FIRST, mixed], [mixed, SECOND]]
        return [*v, *np.linalg.solve(inertia, torque(t) - turn - pull)]

    time = dt * np.arange(samples)
    how = {"t_eval": time, "rtol": 1e-9, "atol": 1e-10, "max_step": dt}
    path = solve_ivp(rate, time[[0, -1]], [0.1, -0.1, 0, 0], "DOP853", **how).y[:2]
    path = path + noise * rng.standard_normal(path.shape)
    torques = np.array([torque(t) for t in time]).T
    return dict(zip(("a", "b", "u", "w"), [*path, *torques], strict=True))


def test_an_arm_has_base_parameters_and_friction_of_each_joint():
    coupling = "adot*bdot*cos(a - b)"
    law = la.learn(
        arm(0),
        time=0.02,
        coordinates={"a": "rad", "b": "rad"},
        inputs={"a": "u [N m]", "b": "w [N m]"},
        library={
            "lagrangian": ["adot**2", "bdot**2", coupling, "cos(a)", "cos(b)"],
            "dissipation": ["adot**2", "bdot**2", "(adot - bdot)**2", "abs(adot)"],
        },
        accept=["turns"],
        progress=False,
    )
    found = law.physical.set_index("quantity")
    truth = {
        "adot**2": FIRST / 2,
        "bdot**2": SECOND / 2,
        coupling: BOTH,
        "cos(a)": GRAVITY[0],
        "cos(b)": GRAVITY[1],
    }
    for term, value in truth.items():
        row = found.loc[f"base parameter of `{term}`"]
        assert abs(row.value - value) < 3 * row["std"] < 0.02 * value
    joints = "of a", "of b", "between a and b"
    for joint, value in zip(joints, (*LOSS, BETWEEN), strict=True):
        row = found.loc[f"viscous damping {joint}"]
        assert abs(row.value - value) < 3 * row["std"]


def test_what_a_small_motion_does_not_separate_is_one_parameter():
    """Of a small motion x² and √(1 + x²) are one stiffness."""
    root = "sqrt(x**2 + 1)"
    rng, time = np.random.default_rng(2), 0.05 * np.arange(600)

    def push(t):
        return 0.2 * np.sin(2.2 * t) + 0.2 * np.sin(0.7 * t)

    def rate(t, s):
        return [s[1], (push(t) - 0.6 * s[1] - 9 * s[0]) / 1.5]

    x = solve_ivp(rate, time[[0, -1]], [0, 0], t_eval=time, rtol=1e-9, atol=1e-10).y[0]
    law = la.learn(
        {"x": x + 4e-3 * rng.standard_normal(len(x)), "f": push(time)},
        time=time,
        inputs={"x": "f [N]"},
        library={
            "lagrangian": ["xdot**2", "x**2", root],
            "dissipation": ["xdot**2"],
        },
        progress=False,
    )
    row = law.physical.set_index("quantity").loc["stiffness"]
    other = root if "x**2" in law.support else "x**2"
    assert f"of `{other}`" in row.grouped
    weight = float(row.grouped.split()[0])
    assert weight == pytest.approx({root: -1, "x**2": -2}[other], rel=0.1)
    assert "their sum alone is identified" in law.to_markdown()


def law_of(system, columns, std, terms=8, jackknife=None, **about):
    """A law with standard errors of its coefficients; correlated as `jackknife`."""
    every = np.full(2 * terms, np.nan)
    every[columns] = std
    points = np.zeros((4, len(columns))) if jackknife is None else jackknife
    data = xr.Dataset(
        {
            "coefficient_std": ("term", every[:terms]),
            "dissipation_coefficient_std": ("dissipation_term", every[terms:]),
            "column_position": ("column_fitted", columns),
            "jackknife_coefficient": (("block", "column_fitted"), points),
        }
    )
    about = {"alternatives": [], "inputs": ("x",)} | about
    return SimpleNamespace(
        system=system, dataset=data, coordinates=system.coordinates, **about
    )


def measured(*motions, unit="m", shown=None):
    """Positions, and units that the user writes of positions and forces."""
    q = np.stack(motions, axis=1)[None]
    dof = "dof", [unit] * len(motions)
    data = xr.Dataset(
        {"q": (("replicate", "sample", "dof"), q)}, {"coordinate_unit": dof}
    )
    for kind, (name, factor) in (shown or {}).items():
        for end, value in (("unit", name), ("factor", factor)):
            data = data.assign_coords({f"{kind}_shown_{end}": ("dof", [value])})
    return data


def rows(law, observations):
    found = physical_parameters(law, observations, lambda of, term: f"{of} {term}")
    return {name: rest for name, *rest in found}


M, K, PUSH, CUBIC, VISCOUS_C, DRY_C = 2.0, 50.0, 6.0, 3.0, 0.4, 0.7
OSCILLATOR = la.System(
    "c_0*xdot**2 + c_1*x**2 + c_2*x", {"c_0": M / 2, "c_1": -K / 2, "c_2": PUSH}
)
LINE = np.linspace(-1, 1, 101)
SHOWN = {"input": ("kN", 1e3), "coordinate": ("mm", 1e-3)}


def test_quantities_of_an_oscillator_have_errors_of_their_formulae():
    """f = √(k/m)/2π and ζ = c/2√(km): relative errors add up in squares."""
    system = la.System(
        "c_0*xdot**2 + c_1*x**2 + c_2*x",
        {"c_0": M / 2, "c_1": -K / 2, "c_2": PUSH, "d_0": VISCOUS_C / 2, "d_1": DRY_C},
        dissipation="d_0*xdot**2 + d_1*abs(xdot)",
    )
    std = np.array([0.01, 0.2, 0.05, 0.004, 0.02])
    law = law_of(system, [0, 1, 2, 8, 9], std)
    found = rows(law, measured(LINE))
    of_mass, of_spring, of_viscous = std[[0, 1, 3]] / [M / 2, K / 2, VISCOUS_C / 2]
    frequency = np.sqrt(K / M) / 2 / np.pi
    ratio = 100 * VISCOUS_C / 2 / np.sqrt(K * M)
    expected = {
        "mass": (M, 0.02, "L xdot**2"),
        "stiffness": (K, 0.4, "L x**2"),
        "viscous damping": (VISCOUS_C, 0.008, "D xdot**2"),
        "dry friction": (DRY_C, 0.02, "D abs(xdot)"),
        "natural frequency": (
            frequency,
            frequency * np.hypot(of_mass, of_spring) / 2,
            "Hz",
        ),
        "damping ratio": (
            ratio,
            ratio * np.sqrt(of_viscous**2 + (of_mass**2 + of_spring**2) / 4),
            "%",
        ),
    }
    assert list(found) == list(expected)
    for name, (value, error, unit) in expected.items():
        assert found[name][0] == pytest.approx(value), name
        assert found[name][1] == pytest.approx(error, rel=1e-4), name
        assert found[name][2:] == [unit, ""], name


def test_without_an_input_quantities_are_those_over_the_inertia():
    system = la.System(
        "c_0*xdot**2 + c_1*x**2",
        {"c_0": M / 2, "c_1": -K / 2, "d_0": VISCOUS_C / 2, "d_1": DRY_C},
        dissipation="d_0*xdot**2 + d_1*abs(xdot)",
    )
    law = law_of(system, [0, 1, 8, 9], [0.0, 0.2, 0.004, 0.02], inputs=())
    found = rows(law, measured(LINE, shown=SHOWN))
    values = {name: (row[0], row[1]) for name, row in found.items()}
    assert values["stiffness over inertia"] == pytest.approx((K / M, 0.4 / M))
    assert values["viscous damping over inertia"] == pytest.approx(
        (VISCOUS_C / M, 0.008 / M)
    )
    assert values["dry friction over inertia"] == pytest.approx((DRY_C / M, 0.02 / M))
    assert "mass" not in values and len(values) == 5


@pytest.mark.parametrize(("correlation", "sign"), [(0.6, 1), (-0.9, -1)])
def test_coefficients_are_correlated_as_points_around_the_law(correlation, sign, rng):
    """Of a damper with two terms that add, Var(a + b) has twice the covariance."""
    points = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 50)
    system = la.System(
        "xdot**2", {"d_0": 0.1, "d_1": 0.2}, dissipation="d_0*xdot**2 + d_1*xdot**2"
    )
    law = law_of(system, [8, 9], [0.01, 0.03], jackknife=points * [3.0, 7.0])
    known = np.corrcoef(points.T)[0, 1]
    both = known * 0.01 * 0.03
    np.testing.assert_allclose(covariance_of(law), [[1e-4, both], [both, 9e-4]])
    found = rows(law, measured(LINE))
    std = 2 * np.sqrt(1e-4 + 9e-4 + 2 * both)
    assert found["viscous damping"][:2] == pytest.approx([0.6, std])
    # A coefficient that is given, or not fitted, is correlated with none.
    law = law_of(system, [8, 9], [0.01, np.nan], jackknife=points)
    np.testing.assert_allclose(covariance_of(law), [[1e-4, 0], [0, 0]])
    law = law_of(system, [8, 9], [0.01, 0.03], jackknife=points)
    law.dataset["column_position"][1] = 3
    np.testing.assert_allclose(covariance_of(law), np.diag([1e-4, 9e-4]))


@pytest.mark.parametrize("metre", [1.0, 1e6])
def test_quantities_are_those_about_the_equilibrium(metre):
    """x₀ of K x + 4 c x³ = F, whose slope is K + 12 c x₀²; in any unit of length."""
    potential = np.polynomial.Polynomial([-PUSH, K, 0, 4 * CUBIC])
    (x0,) = [r.real for r in potential.roots() if abs(r.imag) < 1e-9]
    values = {"c_0": M / 2, "c_1": -K / 2, "c_2": PUSH, "c_3": -CUBIC}
    powers = dict(zip(values, (2, 2, 1, 4), strict=True))
    system = la.System(
        "c_0*xdot**2 + c_1*x**2 + c_2*x + c_3*x**4",
        {name: value * metre ** -powers[name] for name, value in values.items()},
    )
    law = law_of(system, [0, 1, 2, 3], [0.0, 0.0, 0.0, 0.02 * metre**-4])
    found = rows(law, measured(metre * LINE))
    stiffness = potential.deriv()(x0)
    assert found["stiffness"][0] * metre**2 == pytest.approx(stiffness)
    # It moves with c by 12 x₀², and with x₀, whose slope is −4 x₀³ / stiffness.
    slope = 12 * x0**2 - 24 * CUBIC * x0 * 4 * x0**3 / stiffness
    error = found["stiffness"][1] * metre**2
    assert error == pytest.approx(0.02 * slope, rel=1e-4)
    assert "constant force" not in found


@pytest.mark.parametrize(
    ("reach", "is_near"), [(1.02 * PUSH / K, True), (0.98 * PUSH / K, False)]
)
def test_an_equilibrium_is_no_farther_than_the_motion_is_wide(reach, is_near):
    """Else there are no modes; the force that pushes it there is constant."""
    law = law_of(OSCILLATOR, [0, 1, 2], [0.01, 0.2, 0.05])
    found = rows(law, measured(np.linspace(-reach, reach, 101) / 2))
    assert ("stiffness" in found) == ("natural frequency" in found) == is_near
    assert ("constant force" in found) == (not is_near)
    assert found["mass"][0] == pytest.approx(M)
    if not is_near:
        assert found["constant force"][:2] == pytest.approx([PUSH, 0.05])


def test_where_a_potential_has_no_number_there_is_no_equilibrium():
    """Newton's method leads from 5 to −5 log 5, where x log x is none."""
    system = la.System("c_0*xdot**2 + c_1*x*log(x)", {"c_0": M / 2, "c_1": -1.0})
    with np.errstate(invalid="ignore"):
        found = rows(law_of(system, [0, 1], [0.1, 0.1]), measured(LINE + 5))
    assert found["mass"][0] == pytest.approx(M)
    assert "stiffness" not in found and "natural frequency" not in found


def test_a_hilltop_is_no_equilibrium():
    system = la.System("c_0*xdot**2 + c_1*x**2", {"c_0": 1.0, "c_1": 4.0})
    found = rows(law_of(system, [0, 1], [0.1, 0.1]), measured(LINE))
    assert list(found) == ["mass"]


@pytest.mark.parametrize(
    ("unit", "shown", "spring", "force"),
    [
        ("m", SHOWN, 1e6, 1e3),
        ("m", {"input": ("", 1.0), "coordinate": ("mm", 1e-3)}, 1.0, 1.0),
        ("rad", {"input": ("kN m", 1e3), "coordinate": ("deg", 0.1)}, 1.0, 1.0),
    ],
)
def test_quantities_are_in_units_of_the_user(unit, shown, spring, force):
    """A stiffness in kN/mm; that of an angle is per radian."""
    system = la.System(
        "c_0*xdot**2 + c_1*x**2",
        {"c_0": M / 2, "c_1": -K / 2, "d_0": VISCOUS_C / 2, "d_1": DRY_C},
        dissipation="d_0*xdot**2 + d_1*abs(xdot)",
    )
    law = law_of(system, [0, 1, 8, 9], [0.1] * 4)
    found = rows(law, measured(LINE, unit=unit, shown=shown))
    kind = "moment of inertia" if unit == "rad" else "mass"
    assert found[kind][0] == pytest.approx(M)
    assert found["stiffness"][:2] == pytest.approx([K / spring, 0.2 / spring])
    assert found["viscous damping"][0] == pytest.approx(VISCOUS_C / spring)
    assert found["dry friction"][:2] == pytest.approx([DRY_C / force, 0.1 / force])
    if spring > 1:
        units = [found[n][2] for n in ("stiffness", "viscous damping", "dry friction")]
        assert units == ["kN/mm", "kN·s/mm", "kN"]


def test_two_masses_share_a_spring_and_a_damper():
    """Each has a mass of its own; the spring has no coordinate, the modes have it."""
    system = la.System(
        "c_0*xdot**2 + c_1*ydot**2 + c_2*(x - y)**2 + c_3*x**2",
        {"c_0": 0.5, "c_1": 1.0, "c_2": -8.0, "c_3": -2.0, "d_0": 0.1, "d_1": 0.3},
        dissipation="d_0*(xdot - ydot)**2 + d_1*xdot**2",
    )
    law = law_of(system, [0, 1, 2, 3, 8, 9], [0.01] * 6)
    found = rows(law, measured(LINE, LINE**2))
    stiffness = np.array([[20.0, -16.0], [-16.0, 16.0]])
    squares = np.linalg.eigvals(np.diag([1.0, 0.5]) @ stiffness)
    expected = {
        "mass of x": 1.0,
        "viscous damping of x": 0.6,
        "viscous damping between x and y": 0.2,
        "mass of y": 2.0,
    }
    for name, value in expected.items():
        assert found[name][0] == pytest.approx(value)
    frequencies = [found[f"natural frequency of mode {k}"][0] for k in (1, 2)]
    expected = np.sort(np.sqrt(squares)) / 2 / np.pi
    assert frequencies == pytest.approx(expected.tolist(), rel=1e-2)
    assert not any(name.startswith(("stiffness", "base")) for name in found)


def test_coupled_inertia_has_base_parameters():
    text = "c_0*adot**2 + c_1*bdot**2 + c_2*adot*bdot*cos(a - b)"
    system = la.System(text, {"c_0": 1.0, "c_1": 2.0, "c_2": 0.5})
    law = law_of(system, [0, 1, 2], [0.01, 0.02, 0.03], inputs=("a",))
    found = rows(law, measured(LINE, LINE**2, unit="rad"))
    base = {
        "adot**2": (1.0, 0.01),
        "bdot**2": (2.0, 0.02),
        "adot*bdot*cos(a - b)": (0.5, 0.03),
    }
    assert list(found) == [f"base parameter of `{term}`" for term in base]
    for term, (value, error) in base.items():
        number, std, unit, _ = found[f"base parameter of `{term}`"]
        assert (number, std) == pytest.approx((value, error))
        assert unit == f"L {term}"
    # Without an input there is no scale, and nothing to name.
    assert (
        rows(law_of(system, [0, 1, 2], [0.01] * 3, inputs=()), measured(LINE, LINE))
        == {}
    )


@pytest.mark.parametrize(("coefficient", "named"), [(0.9, False), (1.1, True)])
def test_terms_are_grouped_that_move_a_quantity_by_its_error(coefficient, named):
    """β of the spring is −3; a stiffness of 2 c_1 moves by 6 of a coefficient."""
    other = {
        "weights": {"x**4": {"1": -3.0, "7": 100.0}},
        "coefficients": {"x**4": -coefficient * 0.4 / 6},
    }
    law = law_of(OSCILLATOR, [0, 1, 2], [0.01, 0.2, 0.05], alternatives=[other, {}])
    found = rows(law, measured(LINE))
    assert found["stiffness"][3] == ("6 of `x**4`" if named else "")
    assert found["mass"][3] == "" and found["natural frequency"][3] == ""


@pytest.mark.filterwarnings("error")
def test_a_parameter_without_a_spread_is_uncorrelated():
    """Its standard error is below the rounding of its coefficient."""
    left = np.array([[1.0, 3.0, 7.0], [2.0, 5.0, 7.0], [3.0, 4.0, 7.0]])
    data = xr.Dataset(
        {
            "coefficient_std": ("term", [0.1, 0.2]),
            "dissipation_coefficient_std": ("dissipation_term", [1e-30]),
            "column_position": ("column", [0, 1, 2]),
            "jackknife_coefficient": (("point", "column"), left),
        }
    )
    parameters = dict.fromkeys(("c_0", "c_1", "d_0"))
    law = SimpleNamespace(dataset=data, system=SimpleNamespace(parameters=parameters))
    expected = np.diag([0.1, 0.2, 1e-30]) ** 2
    expected[0, 1] = expected[1, 0] = 0.5 * 0.1 * 0.2
    np.testing.assert_allclose(covariance_of(law), expected, atol=1e-70)
