"""Fields on a periodic line for tests of Lagrangian Shadow Integration."""

import numpy as np
import xarray as xr

import leastaction as la
from leastaction.core.observations import simulate
from leastaction.snapshots.discrete_density import (
    STENCILS,
    DiscreteDensity,
    StencilBasis,
)
from leastaction.snapshots.field_models import LearnedField

LENGTH = 2 * np.pi


def field(lagrangian: str, nodes: int = 16, ends: str = "periodic"):
    return la.system(
        {
            "field": {"name": "u", "unit": "m"},
            "domain": {"length": LENGTH, "nodes": nodes, "left": ends, "right": ends},
            "parameters": {},
            "lagrangian": lagrangian,
        }
    )


KLEIN_GORDON = "u_t**2/2 - u_x**2/2 - u**2/2 - u**4/4"
STARTS = {
    "random": {name: {"normal": [0, 0.3]} for name in "abcdef"},
    "u": "a + b*cos(x) + c*sin(x)",
    "u_t": "d + e*cos(x) + f*sin(2*x)",
}


def settings(**changed) -> dict:
    """Of the stage simulate."""
    given = {
        "method": "spectral",
        "time_step": 0.2,
        "duration": 3.0,
        "trajectories": 4,
        "integration_step": 0.05,
        "initial_state": STARTS,
        "noise": {"channels": ["q"]},
    }
    return given | changed


def snapshots(
    lagrangian: str = KLEIN_GORDON, nodes: int = 16, seed: int = 1, **changed
):
    """Contract ``recordings``."""
    return simulate(field(lagrangian, nodes), seed=seed, **settings(**changed))


def waves(
    time_step: float, nodes: int, times: int, motions: int = 4, mass: float = 1.0
) -> np.ndarray:
    """Exact motions of u_tt = u_xx − mass u: (motion, time, node)."""
    rng = np.random.default_rng(3)
    x = LENGTH / nodes * np.arange(nodes)
    t = time_step * np.arange(times)[:, None]
    found = np.zeros((motions, times, nodes))
    for u in found:
        for k in range(4):
            # Of a negative square the real part of cos is cosh: the wave grows.
            omega = np.sqrt(complex(k**2 + mass))
            for sign in (1, -1):
                size, phase = rng.normal(), rng.uniform(0, 2 * np.pi)
                u += size * (np.cos(k * x + phase) * np.cos(sign * omega * t)).real
                u += size * (np.sin(k * x + phase) * np.sin(omega * t) / omega).real
    return found


def five_point(
    speed: float = 1.5, mass: float = 0.5, cubic: float = 0.0, **basis
) -> DiscreteDensity:
    """Of u_tt = c² u_xx − m u − k u³: waves have cos ω dt = 1 − dt² K/2.

    K = 2 c² (1 − cos θ)/dx² + (m + 3 k u²) (1 + cos θ)/2 about a uniform field u.
    """
    given = {"time_step": 0.2, "spacing": 0.5} | basis
    features = StencilBasis("edges", 1, 4 if cubic else 2, 3.0, **given)
    in_time, in_space = features.blocks
    coefficients = np.zeros(features.size)
    first = len(in_time.powers)
    for block, before, power, value in (
        (in_time, 0, [0, 2], 0.5),
        (in_space, first, [0, 2], -speed / 2),
        (in_space, first, [2, 0], -mass / 2),
        *[(in_space, first, [4, 0], -cubic / 4)] * bool(cubic),
    ):
        place = block.powers.tolist().index(power)
        coefficients[before + place] = value / block.weights[place]
    return DiscreteDensity(features, coefficients)


def learned_field(density: DiscreteDensity | None = None, **changes) -> LearnedField:
    """A model of twelve nodes, with numbers of its own in every place."""
    force = np.array([[-0.4, 0.5], [-0.2, 0.25], [0.01, 0.02]])
    numbers = {"noise": 0.012, "waves": 6, "excess": 0.0, "distance": 0.0}
    numbers |= {"damping": 0.001, "damping_std": 0.01, "speed": 1.5, "speed_std": 0.1}
    numbers |= {"longest": (0, 2), "misfit": 0.25, "force": force}
    return LearnedField(density or five_point(), 12, "w", **numbers | changes)


def stored(model: LearnedField) -> xr.Dataset:
    """Contract ``learned_field``, with room for larger bases."""
    basis, force = model.density.basis, ("force_place", "force", "force_std")
    values = {
        "stencil": list(STENCILS).index(basis.stencil),
        **{k: getattr(basis, k) for k in ("width", "degree", "length_scale", "even")},
        **{k: getattr(basis, k) for k in ("decay",)},
        **{k: getattr(model, k) for k in ("noise", "excess", "distance", "misfit")},
        **{k: getattr(model, k) for k in ("damping", "damping_std", "speed", "waves")},
        "speed_std": model.speed_std,
        **dict(zip(("longest_wave", "second_wave"), model.longest, strict=True)),
    }
    dataset = {k: ("replicate", [float(v)]) for k, v in values.items()}
    dataset |= {
        name: (("replicate", "place"), row[None])
        for name, row in zip(force, model.force, strict=True)
    }
    coefficients = np.append(model.density.coefficients, [0.0, 0.0])[None]
    dataset["coefficient"] = ("replicate", "function"), coefficients
    scales = np.ones(4) if basis.scales is None else basis.scales
    dataset["coordinate_scale"] = ("replicate", "coordinate"), scales[None]
    attrs = {"stencils": list(STENCILS), "time_step": basis.time_step}
    attrs |= {"domain_length": basis.spacing * model.nodes, "field": model.field}
    return xr.Dataset(dataset, attrs=attrs | {"domain_nodes": model.nodes})
