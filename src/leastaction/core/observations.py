"""Observations in a notebook: simulated, or from arrays."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import xarray as xr

from leastaction.core.contracts import contracts
from leastaction.core.families import system_from_config, unknown

# Endings of the names of channels, as formulas use them.
ENDINGS = {"qddot": "ddot", "qdot": "dot", "q": ""}
READ = ("observations", "displacements", "recordings")


def observations(arrays: Mapping, time, contract: str = "observations") -> xr.Dataset:
    """Observations of one replicate from arrays by name, contract `contract`.

    `arrays` are coordinates, velocities and accelerations as formulas call them,
    ``{"x": x, "xdot": v}``, each of shape (time,) or (trajectory, time), SI units;
    `time` those of the samples, s, or the step between them.

    ValueError if arrays differ in shape, hold what is not finite, or the time does not
    increase.

    >>> time = np.linspace(0, 1, 11)
    >>> data = observations({"x": np.cos(time), "xdot": -np.sin(time)}, time)
    >>> dict(data.sizes)
    {'replicate': 1, 'trajectory': 1, 'time': 11, 'dof': 1}
    """
    if contract not in READ:
        raise ValueError(
            f"this recipe reads {contract}, which arrays by name cannot tell; give a "
            "dataset of that contract, such as a simulation makes"
        )
    kind = contracts()[contract]
    parts_of = {str(name): trajectories(name, x) for name, x in arrays.items()}
    lengths = equal_lengths(parts_of)
    if len(set(lengths)) > 1:
        raise ValueError(
            f"trajectories have {', '.join(map(str, lengths))} samples; expected as "
            "many in each. Cut them, or use leastaction.learn"
        )
    stacked = {name: np.stack(parts) for name, parts in parts_of.items()}
    for name, x in stacked.items():
        if not np.isfinite(x).all():
            raise ValueError(f"{name}: {int((~np.isfinite(x)).sum())} are not finite")
    channels, names = _channels(stacked, kind)
    coords = {
        "replicate": [0],
        "time": _times(time, lengths[0]),
        "dof": names,
        "coordinate_unit": ("dof", ["1"] * len(names)),
    }
    if contract == "recordings":
        for name, x in list(channels.items()):
            channels[f"noise_{name}"] = np.zeros((1, *x.shape))
        channels["noise_level"] = np.zeros(1)
        coords["noise_mode"] = ["independent"]
    return kind.dataset(channels, coords, {"contract": contract})


def trajectories(name: str, values) -> list[np.ndarray]:
    """One array of numbers per trajectory.

    `values` have the shape (time,), (trajectory, time), or are a list of trajectories,
    which may be of unequal length; dates and durations become seconds. ValueError, with
    the `name`, if they are no numbers or have another shape.

    >>> [part.shape for part in trajectories("x", [[1.0, 2.0, 3.0], [4.0, 5.0]])]
    [(3,), (2,)]
    """
    several = isinstance(values, Sequence) and len(values) and np.ndim(values[0]) > 0
    if not several and np.ndim(values) < 2:
        values = [values]
    return [_numbers(name, part) for part in values]


def _numbers(name: str, part) -> np.ndarray:
    """Numbers of one trajectory; what a mask hides is not a number."""
    import pandas as pd

    if np.ndim(part) == 1:
        column = pd.Series(getattr(part, "values", part)).infer_objects()
        if column.dtype.kind == "M":
            column = column - column.min()
        if column.dtype.kind == "m":
            column = column.dt.total_seconds()
        if column.dtype.kind in "fiu":
            return column.to_numpy(dtype=float, na_value=np.nan)
        fault = f"holds {column.dtype}"
    else:
        fault = f"has a part of shape {np.shape(part)}"
    raise ValueError(
        f"{name} {fault}; expected numbers of shape (time,), (trajectory, time), or a "
        "list of trajectories"
    )


def equal_lengths(arrays: Mapping[str, Sequence[np.ndarray]]) -> list[int]:
    """Samples of each trajectory; ValueError if they differ between arrays."""
    if not arrays:
        raise ValueError("there is no array; expected some by name, {'x': x}")
    first, *others = arrays
    lengths = [len(part) for part in arrays[first]]
    for name in others:
        here = [len(part) for part in arrays[name]]
        if here != lengths:
            raise ValueError(
                f"{name} has {shape(here)}, {first} has {shape(lengths)}; expected "
                "arrays of equal lengths. Cut them to the same samples"
            )
    return lengths


def shape(lengths: Sequence[int]) -> str:
    """Number and lengths of trajectories in words."""
    if len(lengths) == 1:
        return f"{lengths[0]} samples"
    each = dict.fromkeys((min(lengths), max(lengths))) if lengths else [0]
    return f"{len(lengths)} trajectories of {' to '.join(map(str, each))} samples"


def _channels(arrays: dict[str, np.ndarray], kind) -> tuple[dict, list[str]]:
    """Arrays (replicate, trajectory, time, dof) by channel, and the coordinates."""
    names = [n for n in arrays if not n.endswith("dot")]
    known = {name + ending for name in names for ending in ENDINGS.values()}
    if not names or not set(arrays) <= known:
        raise ValueError(
            f"{', '.join(set(arrays) - known)}: expected coordinates such as x, with "
            "xdot and xddot"
        )
    channels = {}
    for channel, ending in reversed(ENDINGS.items()):
        values = [arrays.get(name + ending) for name in names]
        present = [x is not None for x in values]
        variable = kind.variables.get(channel)
        if any(present) and variable is None:
            raise ValueError(f"this recipe reads no {names[0]}{ending}; leave it out")
        if any(present) and not all(present):
            raise ValueError(f"{channel}: give it of every coordinate, or of none")
        if any(present):
            channels[channel] = np.stack(values, axis=-1)
        elif variable is not None and not variable.optional:
            raise ValueError(f"this recipe reads {names[0]}{ending}, too; give it")
    return channels, names


def _times(time, samples: int) -> np.ndarray:
    """Times of the samples, from these or from the step between them."""
    if isinstance(time, Real) and not isinstance(time, bool) and time > 0:
        return time * np.arange(samples)
    times = [] if np.ndim(time) == 0 else trajectories("time", time)
    if len(times) != 1 or len(times[0]) != samples or not (np.diff(times) > 0).all():
        raise ValueError(
            f"time: expected {samples} times that increase, or the step between them, s"
        )
    return times[0]


def system(config: Mapping) -> Any:
    """System described by the section `system` of an example.

    Parameters
    ----------
    config
        With `coordinates` a Lagrangian system, with `field` one of a field, with
        `states` a port-Hamiltonian one; every parameter has a `value` and a `unit`.

    Returns
    -------
    System, FieldSystem or PortHamiltonianSystem

    Raises
    ------
    ValueError
        If a key is unknown, missing or wrong, an expression is not arithmetic over the
        declared names, or the mass matrix is singular.

    Examples
    --------
    >>> oscillator = system(
    ...     {
    ...         "coordinates": {"x": {"unit": "m"}},
    ...         "parameters": {"k": {"value": 3.0, "unit": "N/m"}},
    ...         "lagrangian": "xdot**2/2 - k*x**2/2",
    ...     }
    ... )
    >>> oscillator.hamiltonian
    k*x**2/2 + xdot**2/2
    """
    from leastaction.core.method import system_sections
    from leastaction.core.settings import CoordinateSystem, complete

    kinds = system_sections().items()
    result = next((kind for key, kind in kinds if key in config), CoordinateSystem)
    return system_from_config(complete(config, result, "the system"))


def simulate(
    system: Any,
    *,
    seed: int = 0,
    units: Mapping[str, str] | None = None,
    replicates: int = 1,
    **settings: Any,
) -> xr.Dataset:
    """Observations of a known system, by any method of the stage `simulate`.

    Parameters
    ----------
    system
        Of coordinates, a field, or a port-Hamiltonian one: see
        :func:`leastaction.system`.
    seed
        Root of the random numbers.
    units
        Of coordinates, states and inputs; ``1`` where not given.
    replicates
        Independent ensembles.
    settings
        `method` and its settings, as in the section `simulate` of an example.

    Returns
    -------
    xr.Dataset
        Contract of the method, such as ``observations``, over (replicate, ...).

    Raises
    ------
    ValueError
        If there is no such method, or a setting is wrong.

    Examples
    --------
    >>> from leastaction import System
    >>> still = System("xdot**2/2 - 5*x**2")
    >>> settings = {"duration": 1, "time_step": 0.1, "trajectories": 1}
    >>> start = {"x": 1, "xdot": 0}
    >>> simulate(still, method="runge_kutta", initial_state=start, **settings).q.shape
    (1, 1, 11, 1)
    """
    from leastaction.core.method import method_of
    from leastaction.core.noise_sweep import along_replicates
    from leastaction.core.settings import checked
    from leastaction.core.units import DimensionError, unit

    if isinstance(system, str | Mapping):
        raise ValueError(
            f"system is {system!r}; expected an object, such as "
            "leastaction.System('xdot**2/2 - x**2')"
        )

    method = method_of("simulate", settings)
    if not isinstance(seed, Integral) or seed < 0:
        raise ValueError(f"seed is {seed!r}; expected a whole number, 0 or more")
    if not isinstance(units or {}, Mapping):
        raise ValueError(f"units is {units!r}; expected units by name, {{'x': 'm'}}")
    for name, text in (units or {}).items():
        if method.simulates == "coordinates" and name not in system.coordinates:
            known = system.coordinates
            raise ValueError(f"units: {unknown('coordinate', name, known)}")
        try:
            unit(text)
        except DimensionError as error:
            raise ValueError(f"units.{name}: {error}") from None
    settings = {**settings, "replicates": replicates}
    scheme = checked(settings, method, "the simulation")
    key = {"example": "system", "seed": seed}
    key["units"] = defaultdict(lambda: "1", units or {})
    made = [scheme(system, replicate=i, **key) for i in range(replicates)]
    return along_replicates(made).assign_attrs(contract=scheme.contract())
