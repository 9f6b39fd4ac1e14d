"""Short words for what the tests of fields say often."""

import numpy as np
import xarray as xr
from stages import simulate

from leastaction.fields.ensemble import domain_attributes
from leastaction.fields.field_system import FieldSystem

FIRST_CANTILEVER_ROOT = 1.8751040687119611


def field(lagrangian, ends, *, nodes=20, length=1.0, volatility="0", **parameters):
    """A field named u, from text."""
    return FieldSystem.from_config(
        {
            "field": {"name": "u", "unit": "m"},
            "domain": {
                "length": length,
                "nodes": nodes,
                "left": ends[0],
                "right": ends[1],
            },
            "parameters": {name: {"value": v} for name, v in parameters.items()},
            "lagrangian": lagrangian,
            "volatility": volatility,
        }
    )


def string(nodes=20, sigma=1.0, c=2.0, length=1.0):
    """Wave equation between fixed ends."""
    return field(
        "u_t**2/2 - c**2*u_x**2/2",
        ("fixed", "fixed"),
        nodes=nodes,
        length=length,
        volatility="sigma",
        c=c,
        sigma=sigma,
    )


def cantilever(nodes=20, sigma=1.0, rho=3.0, stiffness=0.6):
    """Beam clamped at the left, with a mass per length that is not one."""
    return field(
        "rho*u_t**2/2 - k*u_xx**2/2",
        ("clamped", "free"),
        nodes=nodes,
        volatility="sigma*rho",
        rho=rho,
        k=stiffness,
        sigma=sigma,
    )


def observe(system, method, *, steps, time_step, start=None, trajectories=2, **key):
    """One replicate of a field, at rest at first."""
    return simulate(
        system,
        {
            "method": method,
            "time_step": time_step,
            "duration": time_step * steps,
            "trajectories": trajectories,
            "initial_state": start or {"u": "sin(pi*x/length)", "u_t": 0},
        },
        units={"u": "m"},
        **{"example": "test", "seed": 5, "replicate": 0} | key,
    )


def model_of(system, coefficients, sigma, replicates=1):
    """A model dataset of a field with the coefficients {term: value}."""
    terms = list(coefficients)
    c = np.tile(list(coefficients.values()), (replicates, 1))
    each = np.full((replicates, 1), float(sigma))
    of_term, of_dof = ("replicate", "term"), ("replicate", "dof")
    damping = (("replicate", "dissipation_term"), np.zeros((replicates, 0)))
    return xr.Dataset(
        {
            "coefficient_estimate": (of_term, c),
            "coefficient_std": (of_term, 0.01 * np.abs(c)),
            "support": (of_term, (c != 0).astype("int8")),
            "volatility_estimate": (of_dof, each),
            "volatility_std": (of_dof, 0.01 * each),
            "volatility_is_constant": (of_dof, np.ones((replicates, 1), dtype="int8")),
            "dissipation_coefficient_estimate": damping,
            "dissipation_coefficient_std": damping,
            "alternatives": ("replicate", [""] * replicates),
        },
        coords={"replicate": np.arange(replicates), "term": terms, "dof": ["u"]},
        attrs=domain_attributes(system.field, system.domain),
    )
