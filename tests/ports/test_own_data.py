"""A user's ports: units of every entry, free runs, refusals, reports."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from port_structures import PORT, RESISTANCE, STRUCTURE, identified
from scipy.integrate import solve_ivp

from leastaction.core.own_data import Samples
from leastaction.ports.model import StructureModel
from leastaction.ports.own_data import Ports, _runs, _terms, _units

KIND = Ports()
STEP = 0.05
TIME = STEP * np.arange(121)
U = np.stack([np.sin(2 * TIME), np.sin(1.3 * TIME + 1)])[..., None]
STARTS = np.array([[0.4, -0.2], [-0.3, 0.5]])


def gradient(x):
    return np.stack([4 * x[0] + x[0] ** 3, x[1]])


def motions(inputs=U) -> np.ndarray:
    """Of the identified system, by SciPy."""

    def path(start, phase, rate):
        def motion(t, x):
            force = PORT[:, 0] * np.sin(rate * t + phase)
            return (STRUCTURE - RESISTANCE) @ gradient(x) + force

        how = {"t_eval": TIME, "rtol": 1e-10, "atol": 1e-12}
        return solve_ivp(motion, (0, TIME[-1]), start, **how).y.T

    return np.array([path(STARTS[0], 0, 2), path(STARTS[1], 1, 1.3)])


def recorded(x, y=None, **attrs) -> xr.Dataset:
    """Held-out motions, contract ``port_motions``."""
    n = x.shape[0]
    series = {"states": list(x), "inputs": list(U[:n])}
    names = {"states": ("a", "b"), "inputs": ("v",)}
    units = {"states": ("V s", "J s"), "inputs": ("V",)}
    if y is not None:
        series, names = series | {"outputs": list(y)}, names | {"outputs": ("v",)}
        units = units | {"outputs": ("A",)}
    labels = tuple("ab"[:n])
    data = KIND.observations(Samples(series, names, units, STEP, labels))
    return data.assign_attrs(attrs)


MOTIONS = motions()
OUTPUTS = (4 * MOTIONS[..., :1] + MOTIONS[..., :1] ** 3) @ PORT[:1]


def test_observations_are_the_columns_with_their_units():
    data = recorded(MOTIONS, OUTPUTS)
    np.testing.assert_array_equal(data["x"].values[0], MOTIONS)
    np.testing.assert_array_equal(data["u"].values[0], U)
    np.testing.assert_array_equal(data["y"].values[0], OUTPUTS)
    np.testing.assert_allclose(data["time"].values, TIME, rtol=1e-15)
    assert not data["noise_x"].any() and not data["noise_level"].any()
    assert data["noise_y"].shape == (1, 1, *OUTPUTS.shape)
    assert data["effort"].values.tolist() == ["z_a", "z_b"]
    assert data.attrs["units_of_states"] == ["V s", "J s"]
    silent = recorded(MOTIONS)
    assert not silent["y"].any() and silent.attrs["units_of_outputs"] == []
    short = {"states": [np.ones((119, 1))], "inputs": [np.ones((119, 1))]}
    names = {"states": ("a",), "inputs": ("v",)}
    with pytest.raises(ValueError, match="119 samples; expected 120 or more"):
        KIND.observations(Samples(short, names, names, STEP, ("a",)))


@pytest.mark.parametrize("outputs", [False, True])
def test_free_runs_are_those_of_scipy(outputs):
    run = _runs(StructureModel(identified()), U[0], STEP, outputs)
    paths = run(np.array([STARTS[0], STARTS[0] + 0.1]), 121)
    expected = np.hstack([MOTIONS[0], OUTPUTS[0]][: 1 + outputs])
    assert paths.shape == (2, 121, 2 + outputs)
    np.testing.assert_allclose(paths[0], expected, atol=3e-5)
    assert np.abs(paths[1] - paths[0]).max() > 0.05
    np.testing.assert_allclose(run(STARTS[:1], 3)[0], paths[0, :3], rtol=1e-12)


def test_predictions_follow_motions_to_their_noise():
    rng = np.random.default_rng(3)
    both = np.concatenate([MOTIONS, OUTPUTS], axis=2)
    noisy = both + 1e-3 * rng.standard_normal(both.shape)
    data = recorded(noisy[..., :2], noisy[..., 2:])
    made = KIND.predict(data, identified(), data, None, {})
    assert made.names == ["a", "b", "output_v"]
    assert made.units == ["V s", "J s", "A"] and made.labels == ["motion 1", "motion 2"]
    np.testing.assert_allclose(made.estimate, both, atol=2e-3)
    rows = {row["name"]: row for row in made.numbers["channels"]}
    certain = 0.02 / 2  # of a²: no other entry has less error over its value
    for k, name in enumerate(made.names):
        row, size = rows[name], noisy[..., k].std()
        assert row["error"] == pytest.approx(1e-3, rel=0.2)
        assert row["noise"] == pytest.approx(1e-3, rel=0.25)
        least = np.hypot(row["noise"], certain * size)
        assert least < row["expected"] < 1.2 * least
        band = np.mean([one[:, k] ** 2 for one in made.band]) ** 0.5
        assert band == pytest.approx(1.96 * row["expected"], rel=1e-3)
    assert made.numbers["begin"] == 0


def test_of_a_refused_model_only_states_are_predicted():
    data = recorded(MOTIONS[:1], OUTPUTS[:1])
    refused = identified(refusal="no form fits")
    made = KIND.predict(data, refused, data, None, {})
    assert made.names == ["a", "b"] and made.measured[0].shape == (121, 2)
    rows = made.numbers["channels"]
    assert max(row["expected"] for row in rows) < 1e-4  # the noise alone


def test_a_run_that_is_lost_is_infinite():
    wild = identified(drift_estimate=30 * np.array([[1, 0, 1], [0, 1, 0]]))
    made = KIND.predict(recorded(MOTIONS[:1]), wild, recorded(MOTIONS[:1]), None, {})
    assert all(row["error"] >= 1e100 for row in made.numbers["channels"][:1])


UNITS = {"units_of_states": ["V s", "J s"], "units_of_inputs": ["V"]}


@pytest.mark.parametrize(
    ("about", "place", "unit"),
    [
        ({"units_of_outputs": ["A"]}, ("J", 0, 1), "V·s"),
        ({"units_of_outputs": ["A"]}, ("R", 0, 0), "Ω"),
        ({"units_of_outputs": ["A"]}, ("R", 1, 1), "J·s"),
        ({"units_of_outputs": ["A"]}, ("B", 0, 0), "1"),
        ({"units_of_outputs": ["A"]}, ("B", 1, 0), "A·s"),
        ({"units_of_outputs": ["A"]}, ("H", (2, 0)), "1/H"),
        ({"units_of_outputs": ["A"]}, ("H", (0, 2)), "1/J/s²"),
        ({}, ("R", 0, 0), "Ω"),
        ({"units_of_outputs": ["mol"]}, ("H", (0, 1)), "mol/A/s"),
        ({"units_of_states": ["1", "1"]}, ("R", 0, 0), ""),
        (
            {"units_of_states": ["1", "J s"], "units_of_outputs": ["A"]},
            ("H", (2, 0)),
            "J",
        ),
    ],
)
def test_units_follow_from_those_of_the_columns(about, place, unit):
    assert _units(UNITS | about)(*place) == unit


def test_rows_are_entries_that_are_not_zero():
    data = recorded(MOTIONS, OUTPUTS)
    rows = [row[:4] for row in _terms(StructureModel(identified()), data)]
    assert rows == [
        ("J_12", "J", -1.5, 0.1),
        ("R_12", "R", 0.25, 0.01),
        ("R_22", "R", 1.0, 0.01),
        ("B_11", "B", 1.0, 0.05),
        ("a**2", "H", 2.0, 0.02),
        ("b**2", "H", 0.5, 0.02),
        ("a**4", "H", 0.25, 0.02),
    ]
    lower = identified(port_estimate=np.array([[0.0], [3.0]]))
    assert "B_21" in [row[0] for row in _terms(StructureModel(lower), data)]


def rollout(error: float, expected: float = 1.0) -> xr.Dataset:
    row = {"name": "a", "unit": "V s", "error": error, "size": 10.0}
    row |= {"expected": expected, "noise": 0.1}
    numbers = json.dumps({"channels": [row], "begin": 4})
    return xr.Dataset(attrs={"numbers": numbers})


GAUGE = ["up to 2 free parameters"]


@pytest.mark.parametrize(
    ("changes", "error", "refused", "doubts", "terms", "opened"),
    [
        ({}, 1.0, [], [], 7, GAUGE),
        ({}, 1.5, [], ["1.5 times the expected error"], 7, GAUGE),
        ({}, 8.0, ["by 80 % of its rms"], [], 7, GAUGE),
        ({"gauge_dimension": [1.0, 0.0]}, 1.0, [], [], 7, ["1 free parameter"]),
        ({"gauge_dimension": [0.0, np.nan]}, 1.0, [], [], 7, []),
        ({"refusal": "open"}, 8.0, [], ["open"], 0, GAUGE),
        (
            {"refusal": "unfit", "gauge_dimension": [np.nan] * 2},
            1.0,
            ["unfit"],
            [],
            0,
            [],
        ),
    ],
)
def test_findings(changes, error, refused, doubts, terms, opened):
    model, data = identified(**changes), recorded(MOTIONS, OUTPUTS)
    model = model.assign_coords(assumption=["found", "J known, outputs"])
    said = KIND.findings(model, data, rollout(error))
    assert len(said.terms) == terms
    for texts, expected in (
        (said.refusals, refused),
        (said.reservations, doubts),
        (said.undecided, opened),
    ):
        assert len(texts) == len(expected)
        for text, part in zip(texts, expected, strict=True):
            assert part in text
    if opened == ["1 free parameter"]:
        assert said.undecided[0].endswith("1 free parameter")
    assert said.about == str(StructureModel(model)) and len(said.predicted) > 2


@pytest.mark.parametrize(
    ("inputs", "outputs", "problems"),
    [
        ({"v": "V", "f": "N"}, {"v": "A", "f": "m/s"}, []),
        ({"v": "V", "f": "N"}, {}, []),
        ({"v": "1", "f": "N"}, {"v": "A", "f": "1"}, []),
        ({"v": "V", "f": "N"}, {"v": "A", "f": "m"}, ["outputs.f: the input is in N"]),
        ({"v": "V", "f": "N"}, {"v": "A"}, ["f is missing"]),
        ({"v": "V"}, {"v": "A", "w": "A"}, ["outputs.w: there is no input 'w'"]),
    ],
)
def test_outputs_make_a_power_with_the_input_of_their_name(inputs, outputs, problems):
    units = {"inputs": inputs} | ({"outputs": outputs} if outputs else {})
    texts = KIND.completed({}, units)
    assert len(texts) == len(problems)
    for text, part in zip(texts, problems, strict=True):
        assert part in text


def test_candidates_are_those_of_the_user_or_low_powers():
    columns = {"states": {"a": "", "b": ""}, "outputs": {"v": "i"}}
    example = {"import": columns, "estimators": {"one": {"assemble": {"window": 40}}}}
    made = KIND.prepared(example)
    assert made["estimators"]["one"]["assemble"] == {
        "hamiltonian": [
            {"polynomial": {"of": ["a", "b"], "degree": 2, "lowest": 2}},
            {"terms": ["a**3", "a**4", "b**3", "b**4"]},
        ],
        "outputs": True,
        "window": 40,
    }
    del columns["outputs"]
    named = example | {"library": {"hamiltonian": [{"terms": ["a**2"]}], "x": 1}}
    made = KIND.prepared(named)
    assemble = made["estimators"]["one"]["assemble"]
    assert assemble["hamiltonian"] == [{"terms": ["a**2"]}] and not assemble["outputs"]
    assert made["library"] == {"x": 1} and KIND.data({}) == "driven_port"


def test_the_demo_is_the_motor_that_it_names():
    """Differences of its columns obey the equation; noise is 2 and 4 thousandths."""
    table = pd.read_csv(io.StringIO(KIND.demo()))
    assert list(table) == ["run", "t", "phi [V s]", "p [J s]", "v [V]", "i [A]"]
    assert len(table) == 4 * 501 and table["run"].nunique() == 4
    one = table[table["run"] == 2].to_numpy()[:, 1:].T
    t, phi, p, v, i = one
    np.testing.assert_allclose(t, 0.02 * np.arange(501), atol=1e-9)
    current, speed = 2 * phi, 4 * p
    rates = [v - 0.5 * speed - current, 0.5 * current - 0.2 * speed]
    spread = []
    for state, rate in zip((phi, p), rates, strict=True):
        half = 25  # an integral over a second
        sums = np.cumsum((rate[1:] + rate[:-1]) / 2) * 0.02
        gain = state[2 * half :] - state[: -2 * half]
        spread.append(
            (
                gain - np.append(0, sums)[2 * half :] + np.append(0, sums)[: -2 * half]
            ).std()
        )
    assert min(spread) > 2e-3 and max(spread) < 4e-3
    assert (i - current).std() == pytest.approx(4e-3 * 2**0.5, rel=0.15)
