"""Paths of port-Hamiltonian systems, and the samples drawn from them."""

import numpy as np
import pytest
from port_support import small, system
from stages import simulate

from leastaction.core.contracts import check
from leastaction.core.families import declared_units, system_from_config
from leastaction.ports.minimal_coordinates import draw_sets, path


def observations(name="electrical_network", replicate=0, **simulate_settings):
    example = small(name, **simulate_settings)
    found = simulate(
        system_from_config(example["system"]),
        example["simulate"],
        example="test/example",
        seed=7,
        replicate=replicate,
        units=declared_units(example["system"]),
    )
    return check(found, "port_recordings")


def test_explicit_euler_is_of_first_order():
    own, errors = system("electrical_network"), []
    for step in (0.02, 0.01):
        time = step * np.arange(round(4 / step) + 1)
        given = {"input": {"u": "1 + sin(time)"}, "initial_state": {"x1": 2.0}}
        paths = [path(own, s, time, given)[0] for s in ("explicit_euler", "dop853")]
        errors.append(np.abs(paths[0] - paths[1]).max())
    assert 0.9 < np.log2(errors[0] / errors[1]) < 1.1


def test_forward_differences_of_an_euler_path_are_the_right_hand_side():
    """Why its derivative data have no error, and central ones have h/2 |d²x/dt²|."""
    found = observations()
    x = found["x"].sel(scheme="explicit_euler").values[0]
    step = float(found["time"][1])
    flow = found["flow"].sel(scheme="explicit_euler").values[0]
    assert np.abs(np.diff(x[:, 0]) / step - flow[:-1, 0]).max() < 1e-12


@pytest.mark.parametrize("name", ["electrical_network", "constrained_pendulum"])
def test_recorded_flow_is_the_equation(name):
    found = observations(name)
    x = found["x"].sel(scheme="dop853").values[0]
    step = float(found["time"][1])
    rates = (8 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / (12 * step)
    flow = rates @ found["flow_matrix"].values.T
    there = found["flow"].sel(scheme="dop853").values[0, 2:-2]
    assert np.abs(flow - there).max() < 2e-5


def test_sets_are_nested_apart_from_the_test_set_and_drawn_anew():
    first, second = observations(), observations(replicate=1)
    index = first["training_index"].values[0]
    assert set(index[0, :8]) == set(index[1, :8])
    assert (index[0, 8:] == -1).all()
    assert not set(index[1]) & set(first["test_index"].values[0])
    assert np.array_equal(first["test_index"], second["test_index"])
    assert not np.array_equal(index, second["training_index"].values[0])
    early = first["time"].values[index[2, :8]]
    assert (early <= 3.0).all()


def test_noise_is_on_the_recorded_flow_alone_and_repeats():
    clean = observations()
    noisy = [observations(flow_noise=0.1, replicate=r) for r in (0, 0, 1)]
    assert np.array_equal(noisy[0]["x"], clean["x"])
    assert np.array_equal(noisy[0]["flow"], noisy[1]["flow"])
    added = noisy[0]["flow"].values - clean["flow"].values
    assert 0.09 < added.std() < 0.11
    assert not np.array_equal(noisy[0]["flow"], noisy[2]["flow"])


def test_more_samples_than_there_are_is_refused():
    settings = {"sizes": [4, 60], "test": 50, "early": None}
    with pytest.raises(ValueError, match="60 samples"):
        draw_sets(
            np.linspace(0, 1, 100),
            settings,
            example="test/example",
            seed=0,
            replicate=0,
        )
