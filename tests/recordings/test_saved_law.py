"""A law of a driven machine: saved and read again, its numbers, its equations."""

import io

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.core.model import rounded
from leastaction.recordings.measured_rollout import predict

TIME = np.arange(0, 20, 0.02)
MASS, STIFFNESS, DAMPING = 1.85, 42.0, 0.7


def force(t, k=0):
    return (3 + k) * np.sin((1.3 + 0.2 * k) * t) + 2 * np.sin((4.1 + 0.3 * k) * t + k)


def driven():
    """Positions of a cart on a spring under four recorded forces."""
    paths = []
    for k in range(4):

        def rate(t, x, k=k):
            loss = DAMPING * x[1]
            return [x[1], (force(t, k) - STIFFNESS * x[0] - loss) / MASS]

        start = [0.05 * k, 0.0]
        path = solve_ivp(
            rate, TIME[[0, -1]], start, t_eval=TIME, rtol=1e-10, atol=1e-12
        )
        paths.append(path.y[0])
    noise = np.random.default_rng(2).standard_normal((4, len(TIME)))
    return np.array(paths) + 1e-4 * noise


@pytest.fixture(scope="module")
def law():
    forces = np.array([force(TIME, k) for k in range(4)])
    data = {"x": driven(), "f": forces}
    few = {"lagrangian": ["xdot**2", "x**2", "x**4"], "dissipation": ["xdot**2"]}
    more = {"inputs": {"x": "f [N]"}, "title": "A cart", "library": few}
    return la.learn(data, time=TIME, progress=False, **more)


@pytest.fixture(scope="module")
def again(law, tmp_path_factory):
    path = tmp_path_factory.mktemp("law") / "m.nc"
    law.save(path)
    return la.load(path)


def test_numbers_and_figures_have_the_units_of_the_user(law):
    """In mm and kN: the same law, a stiffness in kN/mm, errors in mm."""
    forces = np.array([force(TIME, k) for k in range(4)])
    data = {"x": 1e3 * driven(), "f": 1e-3 * forces}
    few = {"lagrangian": ["xdot**2", "x**2", "x**4"], "dissipation": ["xdot**2"]}
    columns = {"coordinates": {"x": "mm"}, "inputs": {"x": "f [kN]"}, "library": few}
    found = la.learn(data, time=TIME, progress=False, **columns)
    pairs = zip(law.physical.itertuples(), found.physical.itertuples(), strict=True)
    factors = {"N/m": ("kN/mm", 1e-6), "N·s/m": ("kN·s/mm", 1e-6), "N": ("kN", 1e-3)}
    for one, other in pairs:
        unit, factor = factors.get(one.unit, (one.unit, 1.0))
        assert other.unit == unit
        assert other.value == pytest.approx(factor * one.value, rel=1e-6)
    axes = found.plot("prediction").axes
    assert axes[0].get_ylabel() == "x (mm)" and axes[1].get_ylabel() == "error (mm)"
    top = max(line.get_ydata().max() for line in axes[0].lines)
    assert top == pytest.approx(
        1e3 * float(found.rollout["q_measured"].max()), rel=1e-2
    )
    assert " mm | " in str(found) and "rms error: x 0." in str(found)


def test_forces_energy_and_phase_plane(law):
    """Of a right law: the energy is that of the truth, the recorded force is there."""
    left, middle, right = law.plot("dynamics").axes
    recorded = left.lines[0]
    missed = left.lines[1].get_ydata()
    label = str(law.rollout["label"].values[0])
    run = int(label.split()[0])
    begin = 20 * 0.9 if "end" in label else 0.0
    truth = force(begin + recorded.get_xdata(), run)
    assert np.abs(recorded.get_ydata() - truth).max() < 0.1 * np.abs(truth).max()
    assert np.sqrt(np.mean(missed**2)) < 0.02 * np.sqrt(np.mean(truth**2))
    x, v = (middle.lines[0].get_data()[k] for k in (0, 1))
    energy = MASS * v**2 / 2 + STIFFNESS * x**2 / 2
    np.testing.assert_allclose(right.lines[0].get_ydata(), energy, rtol=1e-2, atol=1e-3)
    assert right.get_ylabel() == "energy (N·m)"


def test_a_test_on_another_recording(law):
    """Free runs and one sample ahead; the score is that of the same free runs."""
    other = {"x": driven()[:1], "f": np.array([force(TIME, 0)])}
    tested = law.test(other, time=TIME, inputs={"x": "f [N]"})
    assert tested.rollout.sizes["trajectory"] == 1
    assert 0.9e-4 < tested.rollout["one_step_error"].item() < 1.3e-4
    assert "| 0 | x | 0.0001" in tested.prediction()
    assert tested.score() == law.score(other, time=TIME, inputs={"x": "f [N]"})


def picture(law, name):
    """All paths of a figure; as it is laid out takes as long again."""
    drawn, figure = io.BytesIO(), law.plot(name)
    figure.set_layout_engine(None)
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def test_a_saved_law_is_that_law(law, again):
    assert type(again) is la.Law and dir(again) == dir(law)
    assert again.to_markdown() == law.to_markdown()
    for name in ("verdict", "reservations", "alternatives", "warnings", "inputs"):
        assert getattr(again, name) == getattr(law, name)
    assert again.terms.equals(law.terms)
    assert again.residuals().equals(law.residuals())
    assert [picture(again, n) for n in law.figures] == [
        picture(law, n) for n in law.figures
    ]
    path = [one.predict([0.1], [0.0], TIME[:9]).q for one in (law, again)]
    assert path[0].identical(path[1])


def test_a_law_that_is_saved_twice_has_the_same_bytes(law, again, tmp_path):
    law.save(tmp_path / "a.nc")
    again.save(tmp_path / "b.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_every_interval_is_the_same(law):
    text, listed = law.to_markdown(), la.IdentifiedModel(law.model).__str__()
    for row in law.terms[law.terms["std"] > 0].itertuples():
        number, width = rounded(row.value, (row.high - row.low) / 2)
        assert f"| {number} | ± {width} |" in text
        assert rf"{number.strip('-')} \pm {width}" in law.latex_terms()
        assert f"{number} ± {width}  {row.term}" in listed


def test_numbers_to_compute_with(law):
    terms = law.terms.set_index(["of", "term"])
    assert list(law.terms) == ["term", "of", "value", "std", "low", "high", "unit"]
    truth = {("L", "xdot**2"): MASS / 2, ("L", "x**2"): -STIFFNESS / 2}
    truth |= {("D", "xdot**2"): DAMPING / 2}
    for key, value in truth.items():
        assert terms.low[key] < value < terms.high[key]
    assert law.coefficient("xdot**2", of="D") == terms.value["D", "xdot**2"]
    assert law.standard_error("xdot**2", of="D") == terms["std"]["D", "xdot**2"]
    assert law.coefficient("xdot**2") == terms.value["L", "xdot**2"]
    assert terms.unit["L", "x**2"] == "N/m"
    with pytest.raises(ValueError, match="unknown candidate of D 'x'"):
        law.coefficient("x", of="D")
    with pytest.raises(ValueError, match="unknown function 'H'"):
        law.coefficient("x", of="H")


def test_the_printed_equation_holds_the_force(law):
    """Parsed by SymPy and integrated with the recorded force it gives `predict`."""
    (equation,) = law.equations
    left, right = map(sp.sympify, equation.split(" = "))
    assert str(left) == "xddot" and "F_x" in str(law)
    assert law.sympy["acceleration"][0].has(sp.Symbol("F_x", real=True))
    assert "F_{x}" in law.latex()
    rate = sp.lambdify(sp.symbols("x xdot F_x"), right)
    time = TIME[:200]
    found = solve_ivp(
        lambda t, x: [x[1], rate(*x, force(t))],
        time[[0, -1]],
        [0.02, 0.1],
        t_eval=time,
        rtol=1e-11,
        atol=1e-11,
    )
    path = law.predict([0.02], [0.1], time, force=lambda t: [force(t)])
    assert np.abs(found.y[0] - path.q[:, 0].values).max() < 1e-9
    again = law.simulate([0.02], [0.1], time, force=lambda t: [force(t)])
    assert again.identical(path)
    q, v = found.y[:, ::50]
    expected = rate(q, v, force(time[::50]))
    accelerated = law.function()(q[:, None], v[:, None], force(time[::50])[:, None])
    np.testing.assert_allclose(accelerated[:, 0], expected, rtol=0, atol=1e-9)


def test_numbers_that_an_engineer_asks_for(law):
    """Those of m ẍ + c ẋ + k x = F, inside their intervals."""
    found = law.physical.set_index("quantity")
    rate = np.sqrt(STIFFNESS / MASS)
    truth = {
        "mass": (MASS, "kg"),
        "stiffness": (STIFFNESS, "N/m"),
        "viscous damping": (DAMPING, "N·s/m"),
        "natural frequency": (rate / (2 * np.pi), "Hz"),
        "damping ratio": (100 * DAMPING / (2 * MASS * rate), "%"),
    }
    assert list(found.index) == list(truth)
    for name, (value, unit) in truth.items():
        row = found.loc[name]
        assert row.low < value < row.high and row.unit == unit
        assert row.high - row.low < 0.01 * value
    assert found["std"]["mass"] == pytest.approx(2 * law.standard_error("xdot**2"))
    text = law.to_markdown()
    assert text.index("| mass | ") < text.index("| `xdot**2` | L |")
    assert "- Energy is changed by friction and the recorded input.\n" in text
    assert "momentum" not in text and "affine" not in text


def test_the_free_run_has_a_score(law):
    assert 0.9999 < law.score() <= 1.0
    assert law.rms_error.dims == ("trajectory", "dof")
    assert float(law.rms_error.max()) < 0.01
    truth = la.System(
        f"{MASS / 2}*xdot**2 - {STIFFNESS / 2}*x**2",
        dissipation=f"{DAMPING / 2}*xdot**2",
    )
    compared = law.score(truth)
    assert compared.exact and compared.worst < 0.01
    assert compared.scale == 1  # that of the recorded force
    twice = la.System(
        f"{MASS}*xdot**2 - {STIFFNESS}*x**2", dissipation=f"{DAMPING}*xdot**2"
    )
    assert law.score(twice).error == pytest.approx((compared.error - 1) / 2)
    paths = driven()[2:]
    forces = np.array([force(TIME, k) for k in (2, 3)])
    of_force = {"inputs": {"x": "f [N]"}}
    others = {"x": paths, "f": forces}
    assert 0.9999 < law.score(others, time=TIME, **of_force) <= 1.0
    assert law.score(others | {"f": -forces}, time=TIME, **of_force) < 0
    with pytest.raises(ValueError, match="expected x and inputs"):
        law.score({"x": paths}, time=TIME)


def test_corrections_are_in_predictions_of_the_next_sample_alone(law):
    """A law without its damping, which is a correction, or is none."""
    observations, right = law.observations, law.rollout
    place = law.model["column_position"].values[0]
    names = [*law.model["term"].values, *law.model["dissipation_term"].values]
    (damper,) = np.flatnonzero([names[int(k)] == "xdot**2" for k in place])[-1:]
    lacking = law.model.copy(deep=True)
    lacking["dissipation_coefficient_estimate"][:] = 0.0
    for is_corrected in (True, False):
        if not is_corrected:
            lacking["prediction_coefficient"][..., damper] = 0.0
        found = predict(observations, lacking, {"start": None})
        assert np.all(found["rms_error"] > 3 * right["rms_error"])
        better = found["one_step_error"] < 1.001 * right["one_step_error"]
        assert np.all(better) == is_corrected
        assert found["force_error"].item() > 3 * right["force_error"].item()


def test_an_exported_law_is_its_function(again, tmp_path):
    again.export(tmp_path / "model.py")
    module = {}
    exec((tmp_path / "model.py").read_text(), module)
    q, v, force = np.random.default_rng(1).standard_normal((3, 20, 1))
    found = module["acceleration"](q, v, force)
    np.testing.assert_allclose(found, again.function()(q, v, force), rtol=1e-12)
