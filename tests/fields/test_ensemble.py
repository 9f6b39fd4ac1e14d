"""Starts of fields, attributes of their files, means of paths."""

import numpy as np
import pytest
import xarray as xr
from field_support import field, observe, string

from leastaction.fields.domain import Domain
from leastaction.fields.ensemble import (
    domain_and_library,
    domain_attributes,
    field_initial_states,
    mean_of_paths,
    node_coordinate,
    one_by_one,
)

ENDS = {"fixed": 1, "clamped": 1, "free": 0, "periodic": 0}


def draw(u: str, left="fixed", right="fixed", u_t="0", seed=0, **random):
    """First state of eight nodes on 2 m."""
    density = "u_t**2/2 - u_x**2/2 - k*u_xx**2/2"
    system = field(density, (left, right), nodes=8, length=2.0, k=3.0)
    settings = {"u": u, "u_t": u_t} | ({"random": random} if random else {})
    rng = np.random.default_rng(seed)
    return system.domain.x, field_initial_states(settings, system)(rng)


def test_starts_are_expressions_of_places_parameters_and_draws():
    x, state = draw(
        "k*sin(pi*x/length)*a",
        u_t="x*(length - x) + 0*a",
        a={"uniform": [1.0, 2.0]},
        seed=4,
    )
    a = np.random.default_rng(4).uniform(1.0, 2.0)
    np.testing.assert_allclose(state[0], 3 * a * np.sin(np.pi * x / 2), rtol=1e-12)
    np.testing.assert_allclose(state[1], x * (2 - x), rtol=1e-13)
    assert state.shape == (2, 8)


@pytest.mark.parametrize("size", [1.0, 1000.0])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("end", ["fixed", "clamped"])
def test_a_held_end_may_move_by_round_off_of_the_field_alone(end, side, size):
    """By a millionth of the largest displacement, and of 1 where it is smaller."""
    at = "(1 - x/length)" if side == "left" else "x/length"
    wave = f"{size}*sin(pi*x/length)**2"
    free = {"left": "free", "right": "free"} | {side: end}
    draw(f"{wave} + {0.9e-6 * size}*{at}", **free)
    with pytest.raises(ValueError, match=f"at the {side} end, which is {end}"):
        draw(f"{wave} + {1.2e-6 * size}*{at}", **free)
    draw(f"0.9e-6*{at}", **free)
    with pytest.raises(ValueError, match="u_t is -?1.1e-06"):
        draw("0", u_t=f"1.1e-6*{at}", **free)


@pytest.mark.parametrize("end", ["free", "periodic"])
def test_other_ends_move(end):
    _, state = draw("1", end, end)
    np.testing.assert_array_equal(state, [[1.0] * 8, [0.0] * 8])


def test_a_file_names_its_field_and_domain():
    domain = Domain(0.5, 6, "clamped", "free")
    attrs = domain_attributes("w", domain)
    assert attrs == {
        "field": "w",
        "domain_length": 0.5,
        "domain_nodes": 6,
        "domain_left": "clamped",
        "domain_right": "free",
    }
    name, x, about = node_coordinate(domain)
    assert name == "node" and about["units"] == "m"
    np.testing.assert_array_equal(x, domain.x)
    library = {"reference": "w_t**2", "lagrangian": [{"terms": ["w_t**2", "w**2"]}]}
    again, terms = domain_and_library(xr.Dataset(attrs=attrs), library)
    assert again == domain and terms.names == ["w_t**2", "w**2"]


def test_paths_are_read_one_by_one_and_have_a_mean():
    data = observe(string(nodes=5), "modal", steps=3, time_step=0.01, trajectories=3)
    u = data["u"]
    assert u.shape == (1, 3, 4, 5) and u.attrs["units"] == "m"
    assert data["u_t"].attrs["units"] == "(m)/s"
    np.testing.assert_allclose(data["time"], [0, 0.01, 0.02, 0.03], rtol=1e-15)
    assert data["replicate"].values.tolist() == [0]
    for path, expected in zip(one_by_one(u), u.values[0], strict=True):
        np.testing.assert_array_equal(path, expected)
    np.testing.assert_allclose(mean_of_paths(u), u.values[0].mean(axis=0), rtol=1e-13)
