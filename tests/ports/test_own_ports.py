"""A user's port-Hamiltonian system: entries in their intervals, wrong ports refused.

Motions are those of SciPy.
"""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.core.own_data import Samples
from leastaction.ports.own_data import Ports

MOTOR = {"J_12": -0.5, "R_11": 1.0, "R_22": 0.2, "B_11": 1.0, "phi**2": 1, "p**2": 2}
COLUMNS = {
    "states": {"phi": "V s", "p": "J s"},
    "inputs": {"v": "V"},
    "outputs": {"v": "i [A]"},
}


@cache
def motor(seed: int, runs: int = 4, duration: float = 8.0, drag: float = 0.0) -> dict:
    """Table of a motor at noise 1 %; `drag` of a friction that saturates."""
    rng, step = np.random.default_rng(seed), 0.02
    time, parts = np.arange(0, duration, step), []
    for run in range(runs):
        rate, phase = rng.uniform(0.3, 3.0, 5), rng.uniform(0, 2 * np.pi, 5)

        def voltage(t, rate=rate, phase=phase):
            return 0.6 * np.sin(np.multiply.outer(t, rate) + phase).sum(axis=-1)

        def motion(t, x, voltage=voltage):
            current, speed = x[0] / 0.5, x[1] / 0.25
            loss = 0.2 * speed + drag * np.tanh(5 * speed)
            return [voltage(t) - 0.5 * speed - current, 0.5 * current - loss]

        span, start = (0, time[-1]), rng.uniform(-1, 1, 2)
        phi, p = solve_ivp(motion, span, start, t_eval=time, rtol=1e-9, atol=1e-11).y
        columns = {"phi": phi, "p": p, "i": phi / 0.5, "speed": p / 0.25}
        noisy = {
            n: y + 0.01 * y.std() * rng.standard_normal(y.size)
            for n, y in columns.items()
        }
        about = {"run": np.full(time.size, run), "t": time, "v": voltage(time)}
        parts.append(about | noisy)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def learned(table: dict, **more):
    how = {"time": "t", "trajectory": "run", "progress": False}
    return la.learn(table, kind="ports", **how, **(COLUMNS | more))


def test_entries_are_in_their_intervals_and_held_out_motions_at_the_noise():
    """Errors of one motor go together: outputs alone give H its scale."""
    for seed in (11, 12):
        law = learned(motor(seed))
        assert law.verdict == "found" and set(law.terms.term) == set(MOTOR)
        rows = law.terms.set_index("term").loc[list(MOTOR)]
        z = (rows.value - np.array(list(MOTOR.values()))) / rows["std"]
        assert np.abs(z).max() < 3.5
    assert "| output_v |" in str(law) and "up to 3 free" in str(law)
    units = law.terms.set_index("term").unit
    assert {"J_12": "V·s", "R_11": "Ω", "R_22": "J·s", "B_11": "1"}.items() <= dict(
        units
    ).items()
    assert units["phi**2"] == "1/H" and units["p**2"] == "1/J/s²"
    assert "1 free parameter\n" in str(law) and "+-" not in str(law)


@pytest.mark.parametrize(
    "outputs, first",
    [
        ({"v": "speed [A]"}, "the outputs are not those of the ports"),
        ({"v": "minus [A]"}, "the outputs are not those of the ports"),
    ],
)
def test_wrong_outputs_are_refused_before_any_search(outputs, first):
    table = motor(11)
    law = learned(table | {"minus": -table["i"]}, outputs=outputs)
    assert law.verdict == "no law found" and first in str(law).splitlines()[0]
    assert not len(law.terms) and "J_12" not in str(law)


def test_a_loss_that_is_no_constant_is_named():
    law = learned(motor(11, drag=0.2))
    first = str(law).splitlines()[0]
    assert first.startswith("**No law found") and "J(x) or R(x) may depend" in first
    assert not len(law.terms)


@pytest.mark.parametrize(
    "more, message",
    [
        ({"outputs": {"v": "i [V]"}}, "whose product is no power"),
        ({"outputs": {"w": "i [A]"}}, "there is no input 'w'"),
        ({"states": {}}, "states: expected one or more .* such as states={'name'"),
        ({"velocities": {"phi": "V"}}, "velocities: a recording of kind ports"),
    ],
)
def test_columns_that_make_no_port_are_refused(more, message):
    with pytest.raises(la.RecordingError, match=message):
        learned(motor(11), **more)


def test_units_of_outputs_are_those_of_their_ports():
    """Whatever the order in which outputs were written."""
    names = {"states": ("x",), "inputs": ("v", "f"), "outputs": ("f", "v")}
    units = {"states": ("J s",), "inputs": ("V", "N"), "outputs": ("m/s", "A")}
    series = {
        k: [np.arange(120.0)[:, None] + np.arange(len(v))] for k, v in names.items()
    }
    motions = Ports().observations(Samples(series, names, units, 0.1, ("a",)))
    assert motions.attrs["units_of_outputs"] == ["A", "m/s"]
    assert motions.attrs["units_of_inputs"] == ["V", "N"]
    assert motions["y"].values[0, 0, 0].tolist() == [1.0, 0.0]


def test_a_motion_of_ten_samples_is_too_short():
    table = {name: column[:60] for name, column in motor(11).items()}
    with pytest.raises(la.RecordingError, match="samples; expected 120 or more"):
        learned(table)


def test_an_input_that_is_still_cannot_tell_its_port():
    table = motor(11) | {"v": np.zeros(motor(11)["t"].size)}
    with pytest.raises(la.RecordingError, match="inputs v does not change"):
        learned(table)
