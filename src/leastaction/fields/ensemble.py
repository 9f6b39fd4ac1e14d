"""Ensembles of trajectories of a stochastic field: made, and read one by one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols
from leastaction.core.initial_state import initial_expressions, random_names
from leastaction.core.simulation import check_finite, generator, step_count
from leastaction.fields.contracts import CONTRACTS
from leastaction.fields.domain import Domain
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.library import FieldLibrary

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

    ``paths(system, starts, generators, dt, u, u_t)`` is the scheme: it fills u and u_t
    (trajectory, steps + 1, node) from starts (u, u_t), shape (trajectory, 2, node).
    """
    steps = step_count(settings["duration"], settings["time_step"])
    dt, n = settings["time_step"], settings["trajectories"]
    draw = field_initial_states(settings["initial_state"], system)
    key = seed, example, "simulate", replicate
    generators = [generator(*key, trajectory) for trajectory in range(n)]
    starts = np.array([draw(rng) for rng in generators])
    u, u_t = np.empty((2, n, steps + 1, system.dof))
    with np.errstate(over="ignore", invalid="ignore"):
        paths(system, starts, generators, dt, u, u_t)
    check_finite(u, u_t, dt, replicate)
    unit = units[system.field]
    return CONTRACTS["field_observations"].dataset(
        {"u": u, "u_t": u_t},
        coords={
            "replicate": [replicate],
            "time": np.arange(steps + 1) * dt,
            "node": node_coordinate(system.domain),
        },
        attrs=domain_attributes(system.field, system.domain),
        units={"u": unit, "u_t": f"({unit})/s"},
    )


def domain_attributes(field: str, domain: Domain) -> dict:
    """Attributes that carry the field and its domain from file to file."""
    return {"field": field, **{f"domain_{k}": v for k, v in asdict(domain).items()}}


def node_coordinate(domain: Domain) -> tuple:
    """Coordinate of the dimension `node`: where the nodes are."""
    return ("node", domain.x, {"units": "m", "long_name": "position of the node"})


def field_initial_states(
    settings: Mapping, system: FieldSystem
) -> Callable[[np.random.Generator], np.ndarray]:
    """Sampler ``draw(rng)`` of initial states (u, u_t), shape (2, node).

    As :func:`initial_states`, with expressions in the position ``x`` and the ``length``
    of the domain, too; ``draw`` refuses a state that moves an end that is fixed.
    """
    domain, (x, length) = system.domain, symbols(PLACES)
    drawn_symbols = symbols(settings.get("random", {}))
    draw_names = random_names(settings)
    laws = map(system.evaluated, initial_expressions(settings, system, PLACES))
    laws = [law.subs(length, domain.length) for law in laws]
    functions = [sp.lambdify([x, *drawn_symbols], law, "numpy") for law in laws]
    ends = {"left": 0.0, "right": domain.length}
    free = ("free", "periodic")
    held = {s: at for s, at in ends.items() if getattr(domain, s) not in free}
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


def domain_and_library(
    dataset: xr.Dataset, library: Mapping
) -> tuple[Domain, FieldLibrary]:
    """Domain of a field that `dataset` names, and the candidates of its density."""
    terms = FieldLibrary.from_config(library, str(dataset.attrs["field"]))
    return Domain.from_config(dataset.attrs, "domain_"), terms


def one_by_one(ensemble: xr.DataArray) -> Iterator[np.ndarray]:
    """Trajectories of the one replicate of an `ensemble`, in memory one at a time."""
    for i in range(ensemble.sizes["trajectory"]):
        yield ensemble[0, i].values


def mean_of_paths(ensemble: xr.DataArray) -> np.ndarray:
    """Mean over the trajectories of the one replicate of an `ensemble`."""
    return sum(one_by_one(ensemble)) / ensemble.sizes["trajectory"]
