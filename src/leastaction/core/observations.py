"""Observations in a notebook: simulated, or from arrays."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import contracts

# Endings of the names of channels, as formulas use them.
ENDINGS = {"qddot": "ddot", "qdot": "dot", "q": ""}
READ = ("observations", "recordings")


def observations(arrays: Mapping, time, contract: str = "observations") -> xr.Dataset:
    """Observations of one replicate from arrays by name.

    Parameters
    ----------
    arrays
        Coordinates, velocities and accelerations as formulas call them, ``{"x": x,
        "xdot": v}``, each of shape (time,) or (trajectory, time), SI units.
    time
        Times of the samples, s, shape (time,).
    contract
        ``observations``, or ``recordings`` of a motion without a random force.

    Raises
    ------
    ValueError
        If arrays differ in shape, hold what is not finite, or the time does not
        increase.

    Examples
    --------
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
    time = np.asarray(time, dtype=float)
    if time.ndim != 1 or not (np.diff(time) > 0).all():
        raise ValueError("time: expected times that increase, shape (time,)")
    given = {str(name): _checked(name, x, len(time)) for name, x in arrays.items()}
    shapes = {name: x.shape for name, x in given.items()}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"expected arrays of one shape, got {shapes}")
    names = [n for n in given if not n.endswith("dot")]
    channels = {}
    for channel, ending in ENDINGS.items():
        own = [given.pop(name + ending, None) for name in names]
        if any(x is None for x in own):
            if not all(x is None for x in own):
                raise ValueError(f"{channel}: give it of every coordinate, or of none")
            continue
        channels[channel] = np.stack(own, axis=-1)
    if given or not names:
        raise ValueError(
            f"{', '.join(given)}: expected coordinates such as x, with xdot and xddot"
        )
    ordered = {name: channels[name] for name in reversed(ENDINGS) if name in channels}
    coords = {
        "replicate": [0],
        "time": time,
        "dof": names,
        "coordinate_unit": ("dof", ["1"] * len(names)),
    }
    if contract == "recordings":
        for name, x in list(ordered.items()):
            ordered[f"noise_{name}"] = np.zeros((1, *x.shape))
        ordered["noise_level"] = np.zeros(1)
        coords["noise_mode"] = ["independent"]
    kind = contracts()[contract]
    return kind.dataset(ordered, coords, {"contract": contract})


def simulate(
    system,
    *,
    seed: int = 0,
    units: Mapping[str, str] | None = None,
    replicates: int = 1,
    **settings,
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

    Raises
    ------
    ValueError
        If there is no such method, or a setting is wrong.

    Examples
    --------
    >>> from leastaction import System
    >>> still = System("xdot**2/2 - 5*x**2")
    >>> simulate(
    ...     still,
    ...     method="runge_kutta",
    ...     duration=1,
    ...     time_step=0.1,
    ...     trajectories=1,
    ...     initial_state={"x": 1, "xdot": 0},
    ... ).q.shape
    (1, 1, 11, 1)
    """
    from leastaction.core.method import step
    from leastaction.core.noise_sweep import along_replicates

    scheme = step("simulate", {**settings, "replicates": replicates})
    known = defaultdict(lambda: "1", units or {})
    key = {"example": "system", "seed": seed, "units": known}
    made = [scheme(system, replicate=i, **key) for i in range(replicates)]
    return along_replicates(made).assign_attrs(contract=scheme.contract())


def _checked(name, values, samples: int) -> np.ndarray:
    """Array of shape (trajectory, time)."""
    array = np.atleast_2d(np.asarray(values, dtype=float))
    if array.ndim != 2 or array.shape[1] != samples:
        raise ValueError(
            f"{name}: expected shape (time,) or (trajectory, time) with {samples} "
            f"times, got {np.shape(values)}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: {int((~np.isfinite(array)).sum())} are not finite")
    return array
