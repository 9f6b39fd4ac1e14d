"""Choice of the features of a discrete Euler–Lagrange equation."""

from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from leastaction.snapshots import discrete_euler_lagrange as module
from leastaction.snapshots.bases import VELOCITY_RATIO
from leastaction.snapshots.discrete_euler_lagrange import (
    HIGHEST_DEGREE,
    assemble,
    highest,
    largest_degree,
    most_probable_basis,
    weight_space,
)

H = 0.1


def motions(count=12, times=5, n=1):
    """Exact motions of an oscillator of unit frequency, in each coordinate."""
    rng = np.random.default_rng(0)
    phase = rng.uniform(0, 2 * np.pi, (count, 1, n)) + H * np.arange(times)[:, None]
    return rng.uniform(0.2, 1, (count, 1, n)) * np.cos(phase)


@pytest.mark.parametrize("top", [0.3, 0.7, 1.4, 2.8, 11.2, 1e3, 1e-3])
@pytest.mark.parametrize("known", [False, True])
def test_the_way_uphill_doubles_or_halves(top, known):
    tried = []

    def evidence(scale):
        tried.append(scale)
        return -abs(np.log(scale / top))

    result = highest(evidence, 1.4, evidence(1.4) if known else None)
    near = 1.4 * 2.0 ** np.arange(-9, 9)
    near = near[(near > 0.2) & (near < 64)]
    assert result == pytest.approx(near[np.abs(np.log(near / top)).argmin()])
    assert tried.count(1.4) == 1
    assert min(tried) > 0.2 and max(tried) < 64


def test_a_plateau_is_no_way_uphill():
    assert highest(lambda scale: 0.0, 1.4) == 1.4


@pytest.mark.parametrize("variables", [2, 3, 4])
def test_a_third_as_many_features_as_rows(variables):
    for rows in (3, 30, 90, 400, 3000):
        degree = largest_degree(rows, variables)
        assert degree >= 2
        more = 3 * comb(degree + 1 + variables, variables)
        assert more > rows or degree == HIGHEST_DEGREE
        if degree > 2:
            assert 3 * comb(degree + variables, variables) <= rows
    assert largest_degree(10**9, variables) == HIGHEST_DEGREE


def test_features_are_on_the_cube_of_the_pairs():
    q = motions()
    basis = weight_space(q, H, 3, 2.0)
    middle, rate = (q[:, 1:] + q[:, :-1]) / 2, np.diff(q, axis=1) / H
    assert basis.degree == 3 and basis.length_scale == 2.0
    half = np.ptp(rate) / 2
    assert basis.inputs.shape == (2, 2)
    assert basis.inputs[0, 0] == pytest.approx(2 / np.ptp(middle), rel=0.01)
    assert basis.inputs[1, 1] == pytest.approx(1 / (VELOCITY_RATIO * half), rel=0.01)
    assert weight_space(motions(n=2), H, 2, 1.0, (1,)).inputs.shape == (3, 4)


def test_given_sizes_stay_and_others_are_chosen_without_units():
    q = motions()
    basis = most_probable_basis(q, H, "midpoint", 3, length_scale=7.0)
    assert (basis.degree, basis.length_scale) == (3, 7.0)
    chosen = most_probable_basis(q, H, "midpoint")
    assert chosen.degree == largest_degree(12 * 3, 2)
    in_mm = most_probable_basis(1e3 * q, H, "midpoint")
    assert in_mm.length_scale == chosen.length_scale
    steps = np.log2(chosen.length_scale / 1.4)
    assert steps == pytest.approx(round(steps))


def observations(q, names):
    dims = ("replicate", "trajectory", "time", "dof")
    time = H * np.arange(q.shape[1])
    coords = {"replicate": [0], "time": time, "dof": names}
    return xr.Dataset({"q": (dims, q[None])}, coords=coords).assign_attrs(
        contract="recordings", time_step=H
    )


SETTINGS = {"rule": "midpoint", "whiten": False, "normalisation": "mass"}


def test_a_cyclic_coordinate_is_one_of_the_coordinates():
    recipe = {"kind": "taylor", "degree": 2, "length_scale": 1.0, "cyclic": ["z", "b"]}
    data = observations(motions(n=2), ["a", "b"])
    with pytest.raises(ValueError, match=r"basis.cyclic: \['z'\] are not coordinates"):
        assemble(data, None, SETTINGS | {"basis": recipe}, {})


@pytest.mark.parametrize(("error", "searches"), [(0.9e-7, 1), (1.1e-7, 2)])
def test_all_rows_are_searched_where_few_do_not_resolve_the_motion(
    error, searches, monkeypatch
):
    """By an error of 10⁻⁷ of the rms acceleration; the first search sees 300 rows."""
    q = motions(count=400)
    size = np.sqrt((np.diff(q, 2, axis=1) ** 2).mean()) / H**2
    seen, tried = [], []

    def constrained(rows, condition, value):
        seen.append(len(rows))
        scale = 7.0 + len(seen)
        return SimpleNamespace(
            most_probable=lambda: (0.5, scale), row_error=lambda damping: error * size
        )

    def highest(evidence, start, height=None):
        tried.append((start, height))
        assert evidence(start) == 7.0 + len(seen)
        return 2.8

    monkeypatch.setattr(module, "constrained", constrained)
    monkeypatch.setattr(module, "highest", highest)
    basis = most_probable_basis(q, H, "midpoint")
    assert basis.length_scale == 2.8 and basis.degree == largest_degree(1200, 2)
    assert tried[0] == (1.4, None) and len(tried) == searches
    assert seen[:2] == [300, 1200]  # of 400 motions every fourth, then all
    if searches == 2:
        assert tried[1] == (2.8, 9.0) and seen[2] == 1200
