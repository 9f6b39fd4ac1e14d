"""Gram matrices of recordings are weighted means over the rows of each trajectory."""

import numpy as np
import pytest
from recorded import completed, rig, swing, write
from stages import assemble, differentiate

from leastaction.core.library import Library
from leastaction.recordings.configuration import SETTINGS
from leastaction.recordings.import_recording import import_recording
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
