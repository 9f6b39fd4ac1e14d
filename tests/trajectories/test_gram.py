"""Gram matrices of Euler–Lagrange columns."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from motions import LIBRARY, SPLINE, pendulum, recording

from leastaction.core.contracts import check
from leastaction.core.library import Library
from leastaction.trajectories import gram as method
from leastaction.trajectories import joint_spline
from leastaction.trajectories.joint_spline import measured
from leastaction.trajectories.library_equations import library_equations


def assembled(observations, library=LIBRARY, samples="all", smooth=False):
    differentiate = joint_spline.differentiate if smooth else measured
    rates = differentiate(observations, SPLINE, library)
    found = method.assemble(observations, rates, {"samples": samples}, library)
    return check(found.assign_attrs(contract="gram"), "gram")


def test_all_samples_make_the_matrices_again():
    found = assembled(recording(*pendulum(drive=1.0), level=0.1)).isel(replicate=0)
    compiled = library_equations(Library.from_config(LIBRARY, ["th"]))
    states = (found[f"{name}_sample"].values for name in ("q", "qdot", "qddot"))
    columns, inertia = compiled.columns(*states)
    force = found["input_sample"].values
    mean = 1 / found["samples"].item()
    for name, left, right in (
        ("gram", columns, columns),
        ("inertia_gram", inertia, inertia),
    ):
        expected = mean * np.einsum("nak,nal->kl", left, right)
        np.testing.assert_allclose(found[name].values, expected, atol=1e-12)
    np.testing.assert_allclose(
        found["input_moment"].values, mean * np.einsum("nak,na->k", columns, force)
    )
    np.testing.assert_allclose(found["input_square"], mean * (force**2).sum())


def test_the_true_lagrangian_is_in_the_null_space_without_noise():
    found = assembled(recording(*pendulum()))
    truth = np.zeros(found.sizes["column"])
    names = list(found["column"].values)
    truth[names.index("thdot**2")], truth[names.index("cos(th)")] = 0.5, 9.81
    gram = found["gram"].values[0]
    assert abs(truth @ gram @ truth) < 1e-12 * np.abs(gram).max()


def test_few_samples_are_evenly_spaced():
    observations = recording(*pendulum())
    some = assembled(observations, samples=100)
    every = assembled(observations)["q_sample"].values[0]
    assert some.sizes["sample"] == 100
    np.testing.assert_array_equal(some["q_sample"].values[0, [0, -1]], every[[0, -1]])
    np.testing.assert_array_equal(some["gram"], assembled(observations)["gram"])


@pytest.mark.parametrize("smooth", [True, False])
def test_samples_next_to_a_jump_of_friction_are_left_out(smooth):
    """Only a spline needs that; recorded accelerations jump with the force."""
    library = {**LIBRARY, "dissipation": [{"terms": ["abs(thdot)"]}]}
    observations = recording(*pendulum(coulomb=0.3))
    found = assembled(observations, library, smooth=smooth)
    speed = np.abs(found["qdot_sample"].values)
    assert (speed.min() > 0.02) == smooth
    plain = assembled(observations, smooth=smooth)
    assert (plain["samples"] > found["samples"]).item() == smooth


def test_samples_that_friction_may_hold_are_left_out():
    """A velocity that keeps its sign, below a twentieth of its rms at the end."""
    library = {**LIBRARY, "dissipation": [{"terms": ["abs(thdot)"]}]}
    equations = library_equations(Library.from_config(library, ["th"]))
    rate = np.linspace(1.0, 1e-3, 200).reshape(1, 200, 1)
    resolution = xr.Dataset({"resolution": (("replicate", "run", "dof"), [[[1.0]]])})
    clear = method.clear_of_switches(equations, 0 * rate, rate, resolution)
    held = rate[..., 0] < 0.05 * np.sqrt((rate**2).mean())
    assert 0 < held.sum() < 10
    np.testing.assert_array_equal(clear, ~held)


@pytest.mark.parametrize("resolution", [1.0, 1.4, 6.0])
def test_samples_beside_a_change_of_sign_are_left_out(resolution):
    """Three resolved lengths and four samples to each side; where |v| is small, too."""
    v = np.where(np.arange(100) < 50, -1.0, 1.0)
    v[:2] = [0.049, 0.051]  # of an rms value of one: held, and moving
    v = np.array([v, np.ones(100)])
    v[0, :2] *= -1
    equations = SimpleNamespace(switches=lambda q, qdot: qdot)
    lengths = [[[resolution, 1.0], [9.0, 9.0]]]
    rates = xr.Dataset({"resolution": (("replicate", "trajectory", "dof"), lengths)})
    motion = np.zeros((2, 100, 1)), v[..., None] / np.sqrt((v**2).mean())
    clear = method.clear_of_switches(equations, *motion, rates)
    width = int(np.ceil(4 + 3 * resolution))
    expected = np.ones((2, 100), dtype=bool)
    expected[0, 50 - width : 50 + width] = False
    expected[0, 0] = False
    np.testing.assert_array_equal(clear, expected)
    smooth = SimpleNamespace(switches=None)
    assert method.clear_of_switches(smooth, *motion, rates).all()
    assert method.clear_of_switches(equations, *motion, xr.Dataset()).all()


@pytest.mark.parametrize(("clear", "kept"), [(11, False), (9, True)])
def test_no_sample_is_left_out_where_most_would_be(clear, kept, caplog):
    v = np.where(np.arange(100) < clear, 1.0, 1e-3)[None, :, None]
    equations = SimpleNamespace(switches=lambda q, qdot: qdot)
    rates = xr.Dataset({"resolution": (("replicate", "trajectory", "dof"), [[[1.0]]])})
    found = method.clear_of_switches(equations, np.zeros_like(v), v, rates)
    assert found.sum() == (100 if kept else clear)
    assert ("91 % of the samples are next to a jump" in caplog.text) == kept


@pytest.mark.parametrize(
    ("count", "number", "chosen"),
    [
        (5, "all", [0, 1, 2, 3, 4]),
        (5, 5, [0, 1, 2, 3, 4]),
        (5, 9, [0, 1, 2, 3, 4]),
        (5, 3, [0, 2, 4]),
        (11, 3, [0, 5, 10]),
    ],
)
def test_samples_are_chosen_from_the_first_to_the_last(count, number, chosen):
    assert method.evenly(count, number).tolist() == chosen
