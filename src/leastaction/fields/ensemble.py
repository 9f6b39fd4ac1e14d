"""Ensembles of trajectories of a stochastic field: made, and read one by one."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import symbol
from leastaction.core.initial_state import initial_expressions, random_names
from leastaction.core.simulation import check_finite, generator, step_count
from leastaction.fields.contracts import CONTRACTS
from leastaction.fields.domain import Domain
from leastaction.fields.field_system import FieldSystem

# Largest displacement of an end that is fixed, over that of the field (at least 1).
ROUNDOFF_AT_A_FIXED_END = 1e-6
PLACES = ("x", "length")


def field_ensemble(
    paths: Callable,
    system: FieldSystem,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """Simulate one replicate: an ensemble of independent trajectories.

    Parameters
    ----------
    paths
        Scheme that fills u and u_t of shape (trajectory, steps + 1, node) from starts
        (u, u_t) of shape (trajectory, 2, node), with one generator per trajectory:
        ``paths(system, starts, generators, dt, u, u_t)``.
    system
        The truth.
    settings
        The `simulate` section of an example.
    example, seed, replicate
        Key of the random numbers.
    units
        Unit of the field.

    Raises
    ------
    DivergenceError
        If a trajectory does not stay finite.
    """
    steps = step_count(settings["duration"], settings["time_step"])
    dt, n = settings["time_step"], settings["trajectories"]
    draw = field_initial_states(settings["initial_state"], system)
    generators = [
        generator(seed, example, "simulate", replicate, trajectory)
        for trajectory in range(n)
    ]
    starts = np.array([draw(rng) for rng in generators])
    u = np.empty((1, n, steps + 1, system.dof))
    u_t = np.empty_like(u)
    with np.errstate(over="ignore", invalid="ignore"):
        paths(system, starts, generators, dt, u[0], u_t[0])
    check_finite(u[0], u_t[0], dt, replicate)
    unit = units[system.field]
    return CONTRACTS["field_observations"].dataset(
        {"u": u, "u_t": u_t},
        coords={
            "replicate": [replicate],
            "time": np.arange(steps + 1) * dt,
            "node": node_coordinate(system.domain),
        },
        attrs=domain_attributes(system),
        units={"u": unit, "u_t": f"({unit})/s"},
    )


def domain_attributes(system: FieldSystem) -> dict:
    """Attributes that carry the field and its domain from file to file."""
    domain = system.domain
    return {
        "field": system.field,
        "domain_length": float(domain.length),
        "domain_nodes": int(domain.nodes),
        "domain_left": domain.left,
        "domain_right": domain.right,
    }


def node_coordinate(domain: Domain) -> tuple:
    """Coordinate of the dimension `node`: where the nodes are."""
    return ("node", domain.x, {"units": "m", "long_name": "position of the node"})


def field_initial_states(
    settings: Mapping, system: FieldSystem
) -> Callable[[np.random.Generator], np.ndarray]:
    """Sampler of initial states (u, u_t) of a field.

    Parameters
    ----------
    settings
        As in :func:`initial_states`; the expressions may use the position ``x`` and
        the ``length`` of the domain as well.
    system
        Its domain gives the nodes.

    Returns
    -------
    callable
        ``draw(rng)``: one state, shape (2, node).

    Raises
    ------
    ValueError
        If an expression is missing, unknown or not arithmetic; by ``draw``, if a state
        moves an end that is fixed.
    """
    x, length = symbol("x"), symbol("length")
    domain = system.domain
    expressions = [
        system.evaluated(e).subs(length, domain.length)
        for e in initial_expressions(settings, system, PLACES)
    ]
    draw_names = random_names(settings)
    drawn_symbols = [symbol(name) for name in settings.get("random", {})]
    functions = [sp.lambdify([x, *drawn_symbols], e, "numpy") for e in expressions]
    ends = {"left": 0.0, "right": domain.length}
    held = {side: at for side, at in ends.items() if getattr(domain, side) != "free"}
    places = np.append(domain.x, list(held.values()))

    def draw(rng: np.random.Generator) -> np.ndarray:
        drawn = draw_names(rng).values()
        values = [np.broadcast_to(f(places, *drawn), places.size) for f in functions]
        state = np.array(values, dtype=float)
        for name, row in zip(system.names, state, strict=False):
            for side, at_end in zip(held, row[domain.nodes :], strict=True):
                if abs(at_end) > ROUNDOFF_AT_A_FIXED_END * max(1.0, np.abs(row).max()):
                    raise ValueError(
                        f"initial_state: {name} is {at_end:.4g} at the {side} end, "
                        f"which is {getattr(domain, side)}; it must be 0 there"
                    )
        return state[:, : domain.nodes]

    return draw


def one_by_one(ensemble: xr.DataArray) -> Iterator[np.ndarray]:
    """Trajectories of the one replicate of an `ensemble`.

    Of an ensemble that is still in its file, memory holds one trajectory at a time.
    """
    for i in range(ensemble.sizes["trajectory"]):
        yield ensemble[0, i].values


def mean_of_paths(ensemble: xr.DataArray) -> np.ndarray:
    """Mean over the trajectories of the one replicate of an `ensemble`."""
    total = np.zeros(ensemble.shape[2:])
    for path in one_by_one(ensemble):
        total += path
    return total / ensemble.sizes["trajectory"]
