"""A user's stationary record: intervals hold, and what is wrong is on the first line.

The records are Euler–Maruyama paths of NumPy, not those of the package.
"""

from functools import cache

import numpy as np
import pytest

import leastaction as la
from leastaction.densities.own_data import _refuse_relaxing

STEP, SUBSTEPS, RUNS = 0.05, 10, 10
TRUTH = {"-x**2/2": 1.0, "-x**4/4": 0.5, "1": 1.0, "x**2": 0.36}
GIVEN = {"known": {"dissipation": {"xdot**2/2": 0.5}}}
COLUMNS = {"coordinates": {"x": "mm"}, "velocities": {"x": "v [mm/s]"}}


@cache
def paths(seed: int, count: int, rows: int, start: float = 0.0) -> np.ndarray:
    """States (row, path, 2) of a stiffening spring with both noises, settled."""
    rng, h = np.random.default_rng(seed), STEP / SUBSTEPS
    x, v = np.full(count, start), np.zeros(count)
    settle, kept = 0 if start else 40 * 20, np.empty((rows, count, 2))
    for row in range(-settle, rows):
        for _ in range(SUBSTEPS):
            push = np.sqrt((1 + 0.36 * x**2) * h) * rng.standard_normal(count)
            v, before = v + (-x - 0.5 * x**3 - 0.5 * v) * h + push, v
            x = x + h * (v + before) / 2
        kept[max(row, 0)] = np.stack([x, v], axis=1)
    return 1e3 * kept


def table(states: np.ndarray) -> dict:
    """Columns of a table in mm, one run after the other."""
    rows, runs = states.shape[:2]
    return {
        "run": np.repeat(np.arange(runs), rows),
        "t": np.tile(STEP * np.arange(rows), runs),
        "x": states[..., 0].T.ravel(),
        "v": states[..., 1].T.ravel(),
    }


def learned(columns: dict, library=GIVEN, **more):
    more = COLUMNS | more
    how = {"time": "t", "trajectory": "run", "progress": False}
    return la.learn(columns, kind="density", library=library, **how, **more)


def test_intervals_hold_the_truth_and_the_right_law_is_found():
    """Ten records of 2,000 s; seeds were not looked at before."""
    inside, verdicts = [], []
    states = paths(20261126, 10 * RUNS, 4000)
    for k in range(10):
        law = learned(table(states[:, k * RUNS : (k + 1) * RUNS]))
        rows = law.terms.set_index("term").loc[list(TRUTH)]
        true = np.array(list(TRUTH.values()))
        inside += list((rows.low < true) & (true < rows.high))
        verdicts.append(law.verdict)
    assert np.mean(inside) >= 0.9
    assert verdicts.count("no law found") == 0 and verdicts.count("found") >= 8


def test_a_saved_law_is_the_same(tmp_path):
    law = learned(table(paths(3, RUNS, 4000)))
    law.save(tmp_path / "law.nc")
    assert str(la.load(tmp_path / "law.nc")) == str(law)
    assert law.coefficient("x**2", "S^2") == law.terms.value.iloc[-1]


def test_damping_and_noise_in_balance_are_known_by_their_ratio():
    noise = {"volatility": ["1"], "lagrangian": ["-x**2/2", "-x**4/4"]}
    with pytest.raises(ValueError, match="unknown"):
        learned(table(paths(3, RUNS, 4000))).coefficient("x**3")
    law = learned(table(paths(3, RUNS, 4000)), noise)
    assert "only ratios of damping and noise" in str(law).splitlines()[0]
    assert "dissipation, ratio" in set(law.terms.of)


@pytest.mark.parametrize(
    "spoilt, first",
    [
        (lambda y: y * [1, 1e-3], "change 100. times as fast as its velocities say"),
        (lambda y: y[..., ::-1], "is not the change of its position"),
        (lambda y: y[:160], "correlation times of its energy"),
        (lambda y: y * [1, 0], "velocities x does not change"),
        (lambda y: y[::60], "is not the change of its position .* sample faster"),
        (
            lambda y: (
                y * np.linspace(0.3, 1.7, 40_000).reshape(RUNS, 4000).T[..., None]
            ),
            "not stationary: the mean square of x is 0.152 times",
        ),
    ],
)
def test_a_wrong_record_is_refused(spoilt, first):
    with pytest.raises(la.RecordingError, match=first):
        learned(table(spoilt(paths(3, RUNS, 4000))))


@pytest.mark.parametrize(
    ("count", "rows", "start"), [(1, 8_000, 15.0), (200, 200, 3.0), (400, 100, 1e-3)]
)
def test_a_transient_is_no_stationary_record(count, rows, start):
    """Parts of many runs that all relax are alike: each run is compared with itself."""
    states = paths(5, count, rows, start=start)
    with pytest.raises(la.RecordingError, match="the motion is not stationary"):
        learned(table(states))


@pytest.mark.parametrize("rows", [20, 100])
def test_runs_shorter_than_the_memory_may_be_stationary(rows):
    """Of settled runs no more are refused than the level of the test says."""
    states = paths(7, 400, 100)[:rows]
    _refuse_relaxing(list(states.swapaxes(0, 1) ** 2), ["x", "xdot"])


def test_a_missing_term_is_on_the_first_line():
    library = GIVEN | {"lagrangian": ["-x**2/2"]}
    law = learned(table(paths(3, RUNS, 4000)), library)
    first = str(law).splitlines()[0]
    assert first.startswith("**No law found: no law of these candidates agrees")
    assert "most of all about x" in first and law.terms.value.iloc[0] == 1.0
    assert "| `-x**2/2` |" not in str(law)


def test_a_clock_in_another_unit_is_refused():
    columns = table(paths(3, RUNS, 4000))
    with pytest.raises(la.RecordingError, match="units of the position, of the vel"):
        learned(columns | {"t": 1e3 * columns["t"]})


def test_what_a_kind_does_not_read_is_refused():
    with pytest.raises(la.RecordingError, match="states: a recording of kind"):
        learned(table(paths(3, RUNS, 4000)), states={"p": "m"})
    with pytest.raises(la.RecordingError, match="velocities: expected one"):
        learned(table(paths(3, RUNS, 4000)), velocities={})
