"""Laws of the noise of a sweep: kinds, levels, and keys of the random numbers."""

import numpy as np
import pytest
import xarray as xr
from stages import simulate
from support import PENDULUM, motion_settings, system

from leastaction.core.noise_sweep import (
    along_replicates,
    cases,
    gathered,
    over_cases,
    over_models,
    recorded,
)


@pytest.fixture(scope="module")
def data():
    truth = system("xdot**2/2 + ydot**2/2 + xdot*ydot/2 - x**2/2 - y**2/2", ("x", "y"))
    settings = motion_settings(
        trajectories=40,
        initial_state={"x": 1.0, "y": 0.0, "xdot": 0.0, "ydot": 0.0},
        noise={"levels": [0.0, 0.1, 0.5]},
    )
    units = {"x": "m", "y": "m"}
    return simulate(truth, settings, example="e", seed=1, replicate=0, units=units)


def noise(data, mode, level):
    case, clean = recorded(data, mode, level), recorded(data, mode, 0.0)
    return np.concatenate(
        [(case[name] - clean[name]).values for name in ("q", "qdot", "qddot")], axis=-1
    )[0].reshape(-1, 6)


def test_independent_noise_has_the_level_and_no_correlation(data):
    found = np.cov(noise(data, "independent", 0.1).T)
    assert np.allclose(
        found, 0.01 * np.eye(6), atol=6 * 0.01 / np.sqrt(len(found) * 700)
    )


def test_shared_noise_is_one_number_per_time(data):
    values = noise(data, "shared", 0.5)
    assert np.allclose(values, values[:, :1], atol=1e-12)
    assert values[:, 0].std() == pytest.approx(0.5, rel=0.05)


def test_levels_scale_one_draw(data):
    assert np.allclose(
        5 * noise(data, "shared", 0.1), noise(data, "shared", 0.5), atol=1e-12
    )


def test_a_case_shows_neither_the_level_nor_the_draws(data):
    case = recorded(data, "independent", 0.1)
    assert set(case.data_vars) == {"q", "qdot", "qddot"}
    assert {"noise_level", "noise_mode"}.isdisjoint(case.variables)


def test_results_stand_at_their_case_whatever_the_selection(data):
    def spread(case):
        return case[["qddot"]].std(("trajectory", "time"))

    every = over_cases(spread, data)
    some = over_cases(spread, data, selection={"modes": ["shared"], "levels": [0.5]})
    assert every["qddot"].dims == ("replicate", "noise_mode", "noise_level", "dof")
    assert np.array_equal(
        every["qddot"].sel(noise_mode=["shared"], noise_level=[0.5]), some["qddot"]
    )
    again = over_cases(lambda case, before: before + spread(case), data, some)
    assert np.array_equal(again["qddot"], 2 * some["qddot"])


def test_a_case_that_was_not_recorded_is_refused(data):
    with pytest.raises(ValueError, match="not among the recordings"):
        over_cases(lambda case: case, data, selection={"levels": [0.3]})


def test_observations_without_a_sweep_are_taken_as_they_are(data):
    plain = recorded(data, "shared", 0.0)
    assert over_cases(lambda case: case, plain) is plain


def test_pendulum_draws_do_not_depend_on_the_modes():
    truth = system(PENDULUM, ("th",))
    key = {"example": "e", "seed": 1, "replicate": 2, "units": {"th": "rad"}}
    both = simulate(truth, motion_settings(), **key)
    one = simulate(truth, motion_settings(noise={"modes": ["shared"]}), **key)
    assert np.array_equal(
        both["noise_q"].sel(noise_mode="shared"), one["noise_q"].isel(noise_mode=0)
    )


def sweep(modes=("a", "b"), levels=(0.0, 0.2)):
    """Results by case: a number of each, one that all share, and a text."""
    return {
        (mode, level): xr.Dataset(
            {
                "x": (("replicate", "n"), [[10.0 * i + j, 1.0]]),
                "same": ("replicate", [5.0]),
                "fixed": ("n", [7.0, 8.0]),
            },
            {"replicate": [3]},
        )
        for i, mode in enumerate(modes)
        for j, level in enumerate(levels)
    }


@pytest.mark.parametrize("levels", [(0.2,), (0.2, 0.0)])
@pytest.mark.parametrize("modes", [("b",), ("b", "a")])
def test_results_of_cases_are_put_together_in_their_order(modes, levels):
    found = gathered(sweep(modes, levels), same=["same"])
    assert found["noise_mode"].values.tolist() == [*modes]
    assert found["noise_level"].values.tolist() == [*levels]
    assert found["noise_level"].attrs["long_name"].startswith("standard deviation")
    assert found["x"].dims == ("replicate", "noise_mode", "noise_level", "n")
    expected = [[10.0 * i + j for j in range(len(levels))] for i in range(len(modes))]
    np.testing.assert_array_equal(found["x"][0, ..., 0], expected)
    assert found["same"].dims == ("replicate",) and found["fixed"].dims == ("n",)
    every = gathered(sweep(modes, levels))
    assert every["same"].dims == ("replicate", "noise_mode", "noise_level")


def test_models_of_all_cases_or_of_those_selected_are_worked_on():
    model = gathered(sweep())
    done = over_models(lambda one: one + 1, model)
    xr.testing.assert_equal(done["x"], model["x"] + 1)
    some = over_models(lambda one: one + 1, model, {"levels": [0.2]}, same=["same"])
    assert some["noise_level"].values.tolist() == [0.2]
    assert some["same"].dims == ("replicate",)
    np.testing.assert_array_equal(some["x"][0, :, 0, 0], [2.0, 12.0])
    alone = model.isel(noise_mode=0, noise_level=0, drop=True)
    assert over_models(lambda one: one, alone) is alone


def test_cases_have_the_order_of_the_recordings():
    model = gathered(sweep())
    every = [("a", 0.0), ("a", 0.2), ("b", 0.0), ("b", 0.2)]
    assert [*cases(model)] == [*cases(model, {"modes": []})] == every
    assert [*cases(model, {"modes": ["b", "a"]})] == every
    assert [*cases(model, {"modes": ["b"], "levels": [0.2]})] == every[3:]
    with pytest.raises(ValueError, match=r"noise_mode: \['c'\] are not among"):
        [*cases(model, {"modes": ["c", "a"]})]


def test_replicates_are_put_together_as_in_one_file():
    pieces = [
        case.assign_coords(replicate=[k]) for k, case in enumerate(sweep().values())
    ]
    found = along_replicates(pieces)
    assert found["replicate"].values.tolist() == [0, 1, 2, 3]
    assert found["x"][:, 0].values.tolist() == [0.0, 1.0, 10.0, 11.0]
    assert found["fixed"].dims == ("n",) and list(found.data_vars) == list(pieces[0])
