"""Central difference of the ensemble mean at every node of a field.

The candidates of a field are functions at single points, D_i(u, u_x, u_xx) at the
point p. Each acts on the few nodes around it. What those nodes need of it are the
ensemble means of its slopes, E[∂D_i/∂u], E[∂D_i/∂u_x] and E[∂D_i/∂u_xx] at p; no
library of all candidates at all nodes is formed (Tripura et al., section 4.5 and 4.6,
Algorithm 1).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.unequal_trajectories import mean_of_paths, one_by_one
from leastaction.fields.domain import Domain
from leastaction.fields.evaluate import PointEvaluator
from leastaction.fields.lagrangian_density import jet_symbol, spatial_order
from leastaction.fields.library import FieldLibrary

CONTRACT = "nodal_derivatives"


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """d/dt E[u_t] at the nodes and the mean slopes of the candidates at their points.

    .. math::

        \\frac{d}{dt} E[u_t](t_k) ≈ (E[u_t](t_{k+1}) − E[u_t](t_{k−1})) / 2 dt

    Paper: for the beam the fastest modes turn by 1.8 rad per sample, and this
    difference loses most of their motion.

    Parameters
    ----------
    observations
        One replicate, contract ``field_observations``.
    settings
        Nothing but the method's name.
    library
        The `library` section of the example; ``pooled`` candidates are left out.

    Returns
    -------
    xr.Dataset
        `acceleration` (replicate, time, node) and `mean_slope` (replicate, time, slope)
        on the interior times; `slope_term`, `slope_order` and `slope_point` tell which
        candidate, ∂/∂(derivative of which order), and point a slope belongs to.
    """
    domain = Domain.from_attributes(observations.attrs)
    terms = FieldLibrary.from_config(library, observations.attrs["field"])
    slopes = [
        (i, order, sp.diff(terms.terms[i], jet_symbol(terms.field, order)))
        for i in terms.at_points
        for order in range(spatial_order(terms.terms[i], terms.field) + 1)
    ]
    slopes = [entry for entry in slopes if entry[2] != 0]
    orders = {i: spatial_order(terms.terms[i], terms.field) for i, *_ in slopes}
    mean_path = mean_of_paths(observations["u"])[1:-1]
    parts, labels = [], []
    for points in sorted(set(orders.values())):
        group = [entry for entry in slopes if orders[entry[0]] == points]
        mean = _mean_slopes(
            [e for *_, e in group],
            terms.field,
            domain,
            points,
            observations["u"],
            mean_path,
        )
        for (i, order, _), values in zip(group, mean, strict=True):
            at = np.arange(0, values.shape[1], terms.strides[i])
            parts.append(values[:, at])
            labels += [(i, order, point) for point in at]
    velocity = mean_of_paths(observations["u_t"])
    time = observations["time"].values
    span = (time[2:] - time[:-2])[:, None]
    term, order, point = (np.array(part) for part in zip(*labels, strict=True))
    return xr.Dataset(
        {
            "acceleration": (
                ("replicate", "time", "node"),
                ((velocity[2:] - velocity[:-2]) / span)[None],
                {"units": "m/s^2", "long_name": "d/dt of the ensemble mean of u_t"},
            ),
            "mean_slope": (
                ("replicate", "time", "slope"),
                np.hstack(parts)[None],
                {
                    "units": "mixed",
                    "long_name": "ensemble mean of dD/du, /du_x, /du_xx",
                },
            ),
            "slope_term": (
                "slope",
                term,
                {"units": "1", "long_name": "position of the candidate"},
            ),
            "slope_order": (
                "slope",
                order,
                {"units": "1", "long_name": "order of the derivative"},
            ),
            "slope_point": (
                "slope",
                point,
                {"units": "1", "long_name": "number of the quadrature point"},
            ),
        },
        coords={
            "replicate": observations["replicate"],
            "time": ("time", time[1:-1], observations["time"].attrs),
            "node": observations["node"],
        },
        attrs={
            name: value
            for name, value in observations.attrs.items()
            if name == "field" or name.startswith("domain_")
        },
    )


def _mean_slopes(
    slopes: Sequence[sp.Expr],
    field: str,
    domain: Domain,
    points: int,
    u: xr.DataArray,
    mean_path: np.ndarray,
) -> list[np.ndarray]:
    """Ensemble means of functions of the jet, each of shape (time, point).

    Those that are linear in the field need nothing but its own mean, `mean_path`.
    """
    linear = [_is_linear(slope) for slope in slopes]
    means = {}
    for kind in set(linear):
        chosen = [s for s, one in zip(slopes, linear, strict=True) if one is kind]
        evaluate = PointEvaluator(chosen, field, domain, points)
        if kind:
            means[kind] = iter(evaluate(mean_path))
            continue
        sums = evaluate.zeros(len(mean_path))
        for path in one_by_one(u):
            evaluate.add(sums, path[1:-1])
        sums /= u.sizes["trajectory"]
        means[kind] = iter(sums)
    return [next(means[kind]) for kind in linear]


def _is_linear(slope: sp.Expr) -> bool:
    jet = slope.free_symbols
    return all(sp.diff(slope, a, b) == 0 for a in jet for b in jet)
