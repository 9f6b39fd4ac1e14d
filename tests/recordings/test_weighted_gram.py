"""Gram matrices of recordings are weighted means over the rows of each trajectory."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from recorded import completed, rig, swing, write
from stages import assemble, differentiate

from leastaction.core.library import Library
from leastaction.recordings import weighted_gram as module
from leastaction.recordings.configuration import SETTINGS
from leastaction.recordings.import_recording import import_recording
from leastaction.recordings.inputs import Inputs
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.weighted_gram import WEIGHT_FLOOR
from leastaction.trajectories.library_equations import library_equations


def test_a_trajectory_counts_by_its_accelerations_and_not_by_its_length(tmp_path):
    table = [
        [run, time, angle, np.cos(3 * time)]
        for run, size in enumerate((1.0, 0.5, 0.2))
        for time, angle in zip(*swing(size, duration=6.0 + 3 * run), strict=True)
    ]
    write(tmp_path, table, "run,t,theta,u")
    example = completed(rig(inputs={"theta": "u [N m]"}), tmp_path)
    observations = import_recording(SETTINGS["import"](example))
    recipe, library = example["estimators"]["recommended"], example["library"]
    motion = differentiate(observations, recipe["differentiate"], library)
    found = assemble(observations, motion, recipe["assemble"], library)

    inner = motion["inner"].values.astype(bool)
    row, number = motion["row"].values[inner], motion["trajectory_number"].values[inner]
    states = [motion[name].values[0][inner] for name in ("q", "qdot", "qddot")]
    columns, _ = library_equations(Library.from_config(library, ["theta"])).columns(
        *states
    )
    force = observations["input"].values[0][row]
    squares = [np.mean(states[2][number == n] ** 2) for n in range(3)]
    gram, square = 0.0, 0.0
    for n, acceleration in enumerate(squares):
        weight = np.var(states[2]) / (acceleration + WEIGHT_FLOOR * max(squares))
        part = columns[number == n]
        gram = gram + weight * np.einsum("tdk,tdl->kl", part, part) / len(part)
        square += weight * np.mean(force[number == n] ** 2)
    scale = np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    np.testing.assert_allclose(found["gram"].squeeze() / scale, gram / scale, atol=1e-9)
    assert float(found["input_square"].squeeze()) == pytest.approx(square, rel=0.01)


class Oscillators:
    """Forces of x and y: their accelerations, positions, and a term of y alone."""

    def columns(self, q, v, a, columns=None):
        inertial = np.stack([a, 0 * a, 0 * a], axis=2)
        return np.stack([a, q, v * [0.0, 1.0]], axis=2), inertial


def motion_of(rows, rng):
    """Two trajectories, of which the ends are no inner rows."""
    names = ["q", "qdot", "qddot"]
    values = {n: ("r", "t", "dof") for n in names}
    arrays = {n: (d, rng.standard_normal((1, rows, 2))) for n, d in values.items()}
    inner = np.ones(rows, dtype="int8")
    inner[[0, -1]] = 0
    return xr.Dataset(
        arrays
        | {"inner": ("t", inner), "row": ("t", 3 * np.arange(rows))}
        | {"trajectory_number": ("t", (np.arange(rows) > rows // 3).astype(int))}
        | {"frequency": (("r", "dof"), [[0.5, 2.0]])}
    )


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("driven", [False, True])
def test_matrices_are_weighted_means_of_squares(driven, still, rng, monkeypatch):
    """1/(v + .01 max v), v the mean square acceleration in its own scatter."""
    derivatives = motion_of(60, rng)
    derivatives["qddot"][0, :21] *= 5
    if still:  # a coordinate whose acceleration has no scatter
        derivatives["qddot"][..., 1] = 0.0
    forces = rng.standard_normal((58, 2)) if driven else np.zeros((58, 2))
    seen = []

    def gram_matrices(compiled, q, v, a, force):
        columns, inertial = compiled.columns(q, v, a)
        flat = columns.reshape(-1, 3)
        moved = inertial.reshape(-1, 3)
        return flat.T @ flat, moved.T @ moved, flat.T @ force.ravel()

    def gram_dataset(derivatives, values, terms):
        seen.append(values)
        return xr.Dataset({name: ((), 0.0) for name in module.MEANINGS})

    terms = SimpleNamespace(names=["a", "b"], dissipation_names=["c"])
    library = SimpleNamespace(from_config=lambda *of: terms)
    for name, function in {
        "check": lambda *of: None,
        "Library": library,
        "library_equations": lambda terms: Oscillators(),
        "gram_matrices": gram_matrices,
        "gram_dataset": gram_dataset,
        "training": lambda observations: observations,
        "_forces": lambda *of: (forces, np.array([0.25])),
    }.items():
        monkeypatch.setattr(module, name, function)
    observations = xr.Dataset(
        {"input": ("dof", [1, 2])} if driven else {}, {"dof": ["x", "y"]}
    )
    about = derivatives, {"samples": 10}, None
    found = module.assemble(observations, *about)
    (values,) = seen
    inside = slice(1, 59)
    states = [derivatives[n].values[0, inside] for n in ("q", "qdot", "qddot")]
    number = derivatives["trajectory_number"].values[inside]
    size = np.where(states[2].std(axis=0) > 0, states[2].std(axis=0), 1.0)
    loud = [((states[2][number == n] / size) ** 2).mean() for n in (0, 1)]
    weights = np.array(
        [1 / (v + 0.01 * max(loud)) / (number == n).sum() for n, v in enumerate(loud)]
    )
    rows = np.repeat(np.sqrt(weights[number]), 2)
    columns, inertial = (
        x.reshape(-1, 3) * rows[:, None] for x in Oscillators().columns(*states)
    )
    push = forces.ravel() * rows
    np.testing.assert_allclose(values["gram"], columns.T @ columns)
    np.testing.assert_allclose(values["inertia_gram"], inertial.T @ inertial)
    np.testing.assert_allclose(values["input_moment"], columns.T @ push, atol=1e-12)
    assert values["input_square"] == pytest.approx(push @ push)
    np.testing.assert_allclose(values["acceleration_scale"], size)
    assert values["samples"] == 58 and values["q_sample"].shape == (10, 2)
    same = [
        np.flatnonzero((states[0] == row).all(axis=1))[0] for row in values["q_sample"]
    ]
    np.testing.assert_array_equal(values["input_sample"], forces[same])
    np.testing.assert_array_equal(values["qddot_sample"], states[2][same])
    assert json.loads(found.attrs["input_start"]) == ([0.25] if driven else [])
    assert found["input_square"].attrs["long_name"] == module.MEANINGS["input_square"]
    derivatives["q"][0, 7, 0] = np.inf
    with pytest.raises(RecordingError, match="b"), np.errstate(all="ignore"):
        module.assemble(observations, *about)


def test_forces_of_inputs_are_those_of_inner_rows_as_late_as_they_look(
    rng, monkeypatch
):
    """Within the shortest main period, by the forces of all candidates."""
    derivatives = motion_of(20, rng)
    recorded, lag, q = (
        rng.standard_normal((60, 2)),
        np.array([0.0, 0.2]),
        rng.standard_normal((60, 2)),
    )
    inputs = Inputs(recorded, [slice(0, 60)], 0.1, np.zeros(2), np.zeros(2))
    observations = xr.Dataset({"q": (("r", "row", "dof"), q[None])})

    def first_values(unknowns, given, positions, forces, period):
        assert (unknowns, given, period) == ("unknown", inputs, 0.5)
        np.testing.assert_array_equal(positions, q)
        found = np.moveaxis(forces(q, 2 * q, 3 * q), 2, 0)
        np.testing.assert_array_equal(found, [3 * q, q, 2 * q * [0, 1]])
        return lag

    for name, function in {
        "inputs_of": lambda observations: inputs,
        "unknowns_of": lambda observations, inputs: "unknown",
        "first_values": first_values,
        "changed": lambda inputs, unknowns, start: inputs.changed("lag", [1], start[1]),
    }.items():
        monkeypatch.setattr(module, name, function)
    force, start = module._forces(observations, derivatives, Oscillators())
    assert start is lag
    rows = 3 * np.arange(1, 19)
    np.testing.assert_allclose(force[:, 0], recorded[rows, 0], atol=1e-12)
    np.testing.assert_allclose(force[:, 1], recorded[rows - 2, 1], atol=1e-9)
