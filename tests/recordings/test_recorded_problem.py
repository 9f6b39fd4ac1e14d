"""Scales of a law: given coefficients give each of its parts their own."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from leastaction.recordings import recorded_problem as module
from leastaction.recordings.recorded_problem import Problem


def problem(inputs=None, **references):
    """Five candidates: of x, of x, of y, of y, and of both."""
    about = [None] * 12
    given = {int(k[1:]): v for k, v in references.items()}
    about[5:8] = inputs, given, np.array([1, 1, 2, 2, 3])
    return Problem(*about)


@pytest.mark.parametrize(
    ("c", "references", "factors"),
    [
        ([2.0, -3, 4, 5, 0], {"k0": 0.5}, [0.25, 0.25, 1, 1, 1]),
        ([2.0, -3, 4, 5, 0], {"k0": 0.5, "k3": 1.0}, [0.25, 0.25, 0.2, 0.2, 1]),
        ([2.0, -3, 4, 5, 6], {"k0": 0.5}, [0.25] * 5),
        ([2.0, -3, 4, 5, 6], {"k0": 0.5, "k1": 9.0}, [0.25] * 5),
        ([0.0, -3, 4, 5, 0], {"k0": 0.5}, [1, 1, 1, 1, 1]),
        ([0.0, -3, 4, 5, 0], {"k0": 0.5, "k1": 6.0}, [1, -2, 1, 1, 1]),
    ],
)
def test_each_part_has_the_scale_of_its_reference(c, references, factors):
    found = problem(**references).to_reference(np.array(c))
    np.testing.assert_allclose(found, factors)
    driven = problem(SimpleNamespace(), **references)
    assert driven.driven and not problem(**references).driven
    np.testing.assert_array_equal(driven.to_reference(np.array(c)), 1)


LAGRANGIAN = ["xdot**2", "x**2", "ydot**2", "y**2", "x*y"]
LIBRARY = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": LAGRANGIAN}],
    "dissipation": [{"terms": ["xdot**2", "abs(ydot)"]}],
}
INERTIAS = np.array([4.0, 0.0, 9.0, 0.0, 0.0, 0.0, 0.0])


def recorded(monkeypatch, driven=False, columns=range(7), start=(0.0,)):
    """The problem of two motions of x and y, one behind the other."""
    names = [*LAGRANGIAN, "D: xdot**2", "D: abs(ydot)"]
    equations = xr.Dataset(
        {
            "inertia_gram": (("r", "column", "other"), np.diag(INERTIAS)[None]),
            "frequency": (("r", "dof"), [[0.5, 8.0]]),
        },
        {"dof": ["x", "y"], "column": names},
        {"input_start": json.dumps(start)},
    )
    data = {
        "q": (("r", "sample", "dof"), np.arange(24.0).reshape(1, 12, 2)),
        "first_sample": ("trajectory", [0, 5]),
        "sample_count": ("trajectory", [5, 7]),
    }
    if driven:
        data["input"] = ("r", "sample", "dof"), np.ones((1, 12, 2))
    observations = xr.Dataset(data, {"dof": ["x", "y"]}, {"time_step": 0.1})
    columns = np.array(columns)
    monkeypatch.setattr(module, "free_columns", lambda equations: np.arange(7))
    monkeypatch.setattr(module, "distinct_forces", lambda *of: columns)
    monkeypatch.setattr(module, "sliding_equations", lambda *of: (None, 0.02 + of[-1]))
    return module.problem_of(observations, equations, LIBRARY)


def test_a_free_motion_has_the_scale_of_its_reference_or_of_its_largest_force(
    monkeypatch,
):
    """One for each part that nothing couples: √inertia times the coefficient."""
    problem = recorded(monkeypatch)
    fixed, c = problem.candidates.fixed, np.array([1.0, 2.0, 3.0, 1.0, 0.5, 1.0, 1.0])
    assert (
        problem.references == {0: 0.5} and problem.candidates.names[6] == "D: abs(ydot)"
    )
    assert sorted(fixed([0, 1, 2, 3], c)) == [0, 2]
    assert fixed([0, 1, 2, 3, 4], c) == [0]
    assert fixed([0, 1, 2, 3, 4], np.where(np.arange(7) == 0, 0.0, c)) == [2]
    without = recorded(monkeypatch, columns=[1, 2, 3, 4, 6])
    assert without.references == {} and without.motion.dry.tolist() == [4]
    assert without.candidates.fixed([0, 1, 3], np.ones(5)) == [1]
    assert without.candidates.fixed([0, 1, 3], np.array([9, 1e-3, 1, 9, 1])) == [1]


@pytest.mark.parametrize("driven", [False, True])
def test_a_problem_is_that_of_its_recording(driven, monkeypatch):
    """Its period is the geometric mean; an input gives the scale of all."""
    problem = recorded(monkeypatch, driven, start=(0.25,))
    assert problem.period == pytest.approx(0.5)
    assert problem.motion.parts == [slice(0, 5), slice(5, 12)]
    assert problem.motion.dt == 0.1 and problem.motion.dry.tolist() == [6]
    assert problem.width == (1.02 if driven else 0.02)
    assert problem.touched.tolist() == [1, 1, 2, 2, 3, 1, 2]
    assert problem.candidates.friction == [5, 6]
    begun = problem.inputs_to_begin_with
    assert (problem.inputs is None) == (begun is None) == (not driven)
    if driven:
        assert problem.candidates.fixed([0, 1], np.ones(7)) == []
        np.testing.assert_allclose(begun.lag, [0.25, 0.25])
        assert not problem.inputs.lag.any()
        np.testing.assert_allclose(problem.motion.force(1), np.ones((24, 2)))
        still = recorded(monkeypatch, True)
        assert still.inputs_to_begin_with is None
