"""Trajectories one after the other: rows, and what is held out."""

import numpy as np
import pytest
import xarray as xr

from leastaction.core.contracts import problems
from leastaction.recordings.contracts import (
    CONTRACTS,
    amount,
    held_out,
    paths_and_errors,
    pieces,
    select,
    shown_units,
    training,
)

COUNTS = [3, 5, 2, 4]


@pytest.fixture
def observations():
    """Rows that bear their numbers."""
    return xr.Dataset(
        {
            "q": (("replicate", "sample", "dof"), np.arange(14.0)[None, :, None]),
            "first_sample": ("trajectory", [0, 3, 8, 10]),
            "sample_count": ("trajectory", COUNTS),
            "held_out": ("trajectory", np.array([0, 1, 0, 1], dtype="int8")),
        }
    )


def test_what_rests_has_errors_in_its_own_unit():
    """Over half the range otherwise; of all samples, where every third is stored."""
    measured = np.array([[1.0, 5.0], [5.0, 5.0], [2.0, 5.0], [1.0, 5.0]])
    off = np.array([[0.3, 0.1], [0.0, 0.0], [0.0, 0.1], [-0.3, 0.0]])
    run = measured, measured + off, 2 * np.abs(off), -off
    found = paths_and_errors([run], 3, 0.5)
    np.testing.assert_array_equal(found["half_range"], [[2.0, 1.0]])
    rms = np.sqrt([0.18 / 4, 0.02 / 4]) / [2, 1]
    np.testing.assert_allclose(found["rms_error"], [rms])
    np.testing.assert_allclose(found["rms_band"], [2 * rms])
    np.testing.assert_allclose(found["maximum_error"], [[0.15, 0.1]])
    assert found["path_time"].tolist() == [0.0, 1.5]
    np.testing.assert_array_equal(found["residual"], -off[::3])


@pytest.mark.parametrize(
    ("counts", "step", "text"),
    [
        ([7], 0.5, "1 trajectory, 7 samples, 3.5 s"),
        ([100, 20], 0.1, "2 trajectories, 120 samples, 12 s"),
        ([1, 2, 3], 1 / 3, "3 trajectories, 6 samples, 2 s"),
    ],
)
def test_amounts_of_data(counts, step, text):
    assert amount(counts, step) == text


def test_pieces_tile_the_rows(observations):
    rows = np.arange(14)
    parts = [rows[p].tolist() for p in pieces(observations)]
    assert parts == [[0, 1, 2], [3, 4, 5, 6, 7], [8, 9], [10, 11, 12, 13]]


@pytest.mark.parametrize("chosen", [[0], [3, 1], [2, 0, 3]])
def test_a_selection_has_its_rows_one_after_the_other(chosen, observations):
    whole, some = pieces(observations), select(observations, chosen)
    expected = [np.arange(14.0)[whole[k]] for k in chosen]
    assert some.sizes["trajectory"] == len(chosen)
    for rows, part in zip(expected, pieces(some), strict=True):
        np.testing.assert_array_equal(some["q"].values[0, part, 0], rows)
    assert some.sizes["sample"] == sum(map(len, expected))


def test_what_is_held_out_is_not_learned_from(observations):
    assert training(observations)["sample_count"].values.tolist() == [3, 2]
    assert held_out(observations)["sample_count"].values.tolist() == [5, 4]
    both = [*training(observations)["q"].values.flat]
    both += [*held_out(observations)["q"].values.flat]
    assert sorted(both) == list(range(14))


def test_units_that_are_shown():
    dof = {"dof": ["x", "y"], "coordinate_shown_unit": ("dof", ["mm", "deg"])}
    data = xr.Dataset(coords=dof | {"coordinate_shown_factor": ("dof", [1e-3, 0.5])})
    names, units, factors = shown_units(data)
    assert (names, units, [*factors]) == (["x", "y"], ["mm", "deg"], [1e-3, 0.5])


def test_no_contract_is_one_of_a_sweep():
    assert not any(contract.swept for contract in CONTRACTS.values())


@pytest.mark.parametrize("name", CONTRACTS)
def test_no_recording_has_a_sweep_over_noise(name):
    """Its arrays have their dimensions and no other."""
    for swept in ((), ("noise_level",)):
        arrays = {}
        for variable, one in CONTRACTS[name].variables.items():
            dims = (*swept, *one.dims)
            about = {"units": "", "long_name": ""}
            arrays[variable] = xr.Variable(dims, np.ones([1] * len(dims)), about)
        assert len(problems(xr.Dataset(arrays), name)) == len(arrays) * len(swept)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_errors_of_paths_are_those_of_all_samples(stride, rng):
    """Over half the range, in its own unit of what rests; infinite where it is lost."""
    runs = [rng.standard_normal((4, n, 2)) for n in (7, 4)]
    runs[1][0, :, 1] = 5.0
    runs[0][1, 3, 0] = np.nan
    found = paths_and_errors(runs, stride, 0.5)
    for k, (y, p, band, _) in enumerate(runs):
        half = (y.max(axis=0) - y.min(axis=0)) / 2
        half[half == 0] = 1.0
        error = np.nan_to_num(np.abs(p - y) / half, nan=np.inf)
        np.testing.assert_allclose(found["half_range"][k], half)
        np.testing.assert_allclose(found["maximum_error"][k], error.max(axis=0))
        for name, x in (("rms_error", error), ("rms_band", band / half)):
            rms = np.sqrt((x**2).mean(axis=0))
            np.testing.assert_allclose(found[name][k], rms)
    names = ["q_measured", "q_estimate", "q_band", "residual"]
    for place, name in enumerate(names):
        stored = np.concatenate([run[place][::stride] for run in runs])
        np.testing.assert_array_equal(found[name], stored)
    rows = [np.arange(0, n, stride) for n in (7, 4)]
    np.testing.assert_allclose(found["path_time"], np.concatenate(rows) / 2)
    numbers = [0] * len(rows[0]) + [1] * len(rows[1])
    assert found["path_trajectory"].tolist() == numbers
