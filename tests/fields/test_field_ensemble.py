"""Ensembles of fields: keyed random numbers, initial states, files."""

import numpy as np
import pytest
from field_support import cantilever, observe, string

from leastaction.core.contracts import check
from leastaction.core.files import Replicates, save_replicates

METHODS = ["modal", "newmark", "leapfrog"]
CALL = {"steps": 20, "time_step": 1e-3}


@pytest.mark.parametrize("method", METHODS)
def test_a_path_depends_on_its_key_alone(method):
    many = observe(string(), method, **CALL, trajectories=4, replicate=2)
    few = observe(string(), method, **CALL, trajectories=2, replicate=2)
    for name in ("u", "u_t"):
        np.testing.assert_array_equal(many[name].values[:, :2], few[name].values)
    other = observe(string(), method, **CALL, trajectories=2, replicate=1)
    assert np.abs(other["u"].values - few["u"].values).max() > 0
    assert np.abs(few["u"].values[0, 0] - few["u"].values[0, 1]).max() > 0


@pytest.mark.parametrize("method", METHODS)
def test_observations_honour_their_contract_and_name_their_domain(method):
    observed = check(observe(cantilever(), method, **CALL), "field_observations")
    assert observed.attrs == {
        "field": "u",
        "domain_length": 1.0,
        "domain_nodes": 20,
        "domain_left": "clamped",
        "domain_right": "free",
    }
    np.testing.assert_allclose(observed["node"], cantilever().domain.x)


@pytest.mark.parametrize("method", METHODS)
def test_all_schemes_have_the_same_noise(method):
    system = cantilever(nodes=5, sigma=3.0)
    rest = {"u": 0, "u_t": 0}
    observed = observe(
        system, method, steps=2000, time_step=1e-5, start=rest, trajectories=20
    )
    jumps = np.diff(observed["u_t"].values[0], axis=1).reshape(-1, 5)
    found = jumps.T @ jumps / len(jumps) / 1e-5
    np.testing.assert_allclose(
        found, np.diag(system.sigma**2), atol=0.04 * 9.0, rtol=0.04
    )


def test_random_starts_are_drawn_for_every_trajectory():
    start = {
        "u": "a*sin(pi*x/length)",
        "u_t": 0,
        "random": {"a": {"uniform": [1.0, 2.0]}},
    }
    u = observe(string(sigma=0.0), "modal", **CALL, start=start, trajectories=50)["u"]
    heights = u.values[0, :, 0].max(axis=1)
    assert heights.min() >= 0.99 and heights.max() <= 2.0
    assert len(np.unique(heights)) == 50


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"u": "1 - x", "u_t": 0}, "u is 1 at the left end, which is fixed"),
        ({"u": "sin(pi*x)", "u_t": "x"}, "u_t is 1 at the right end"),
        ({"u": "sin(pi*x)"}, r"expected exactly \['u', 'u_t'\]"),
        ({"u": "sin(pi*y)", "u_t": 0}, "unknown name 'y'"),
    ],
)
def test_an_impossible_start_is_explained(start, message):
    with pytest.raises(ValueError, match=message):
        observe(string(), "modal", **CALL, start=start)


def test_files_hold_replicates_one_by_one(tmp_path):
    pieces = [observe(string(), "modal", **CALL, replicate=i) for i in range(3)]
    save_replicates(iter(pieces), tmp_path / "o.nc", "field_observations")
    for piece, (read,) in zip(pieces, Replicates(tmp_path / "o.nc"), strict=True):
        np.testing.assert_array_equal(read["u_t"], piece["u_t"])
        assert read.attrs["domain_right"] == "fixed"
