"""The paper's recipe: every node of a field is identified by itself.

The candidates of a field are functions at single points, D_i(u, u_x, u_xx) at the
point p, that act on the few nodes around it. What those nodes need of it are the
ensemble means of its slopes (Tripura et al., section 4.5 and 4.6, Algorithm 1). Each
node then has its own equation, with the candidates at the points around it,

.. math::

    \\sum_{i,p} c_{ip} \\, θ_{ip}(t) = −2\\, \\frac{d}{dt} E[u_t], \\qquad
    θ_{ip} = −\\frac{w_p}{\\text{cell}} \\sum_k (D_k)_{p,\\text{node}}\\,
        E\\Big[\\frac{∂D_i}{∂(∂_x^k u)}\\Big]_p ,

normalised to its own u_t² (eqs. 14–16). Of the candidates of a node only those are
columns that act on it. The time series of a node is reduced to the triangular factor of
its [θ, target], which leaves every least-squares problem as it is: that of sequential
thresholded least squares (Algorithm 3). The volatility is the mean square residual.
"""

from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import check, time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.expressions import to_text
from leastaction.core.sparse_regression import stlsq
from leastaction.fields.domain import (
    HIGHEST_DERIVATIVE,
    SAMPLES_PER_BATCH,
    ModalForces,
    NodeEvaluator,
    PointEvaluator,
    is_linear,
)
from leastaction.fields.ensemble import (
    domain_and_library,
    domain_attributes,
    mean_of_paths,
    one_by_one,
)
from leastaction.fields.library import density_candidates, jet_symbol, spatial_order
from leastaction_papers.stochastic_lagrangian.contracts import CONTRACTS

# In `slot_term`, where a node has fewer candidates than another.
NO_CANDIDATE = -1
# Share of the nodes with a term that must select it.
MAJORITY = 0.5


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """d/dt E[u_t] at the nodes and the mean slopes of the candidates at their points.

    .. math::

        \\frac{d}{dt} E[u_t](t_k) ≈ (E[u_t](t_{k+1}) − E[u_t](t_{k−1})) / 2 dt

    on the interior times; `slope_term`, `slope_order` and `slope_point` tell which
    candidate, ∂/∂(derivative of which order), and point a slope belongs to. ``pooled``
    candidates are left out.

    With the setting `velocities` at ``differences`` u_t is itself such a difference of
    the displacements, as in the released code, and one more sample at each end is lost.

    Paper: for the beam the fastest modes turn by 1.8 rad per sample, and this
    difference loses most of their motion.
    """
    domain, terms = domain_and_library(observations, library)
    u, time = observations["u"], observations["time"].values
    mean_path = mean_of_paths(u)
    if settings["velocities"] == "differences":
        velocity, inner = _central_difference(mean_path, time), slice(2, -2)
    else:
        velocity, inner = mean_of_paths(observations["u_t"]), slice(1, -1)
    at_rates = time[slice(inner.start - 1, inner.stop + 1 or None)]
    parts, labels = [], []
    for points in range(HIGHEST_DERIVATIVE + 1):
        slopes = [
            (i, order, slope)
            for i in terms.at_points
            if spatial_order(terms.terms[i], terms.field) == points
            for order in range(points + 1)
            if (slope := sp.diff(terms.terms[i], jet_symbol(terms.field, order))) != 0
        ]
        functions = [slope for *_, slope in slopes]
        mean = _mean_slopes(functions, terms.field, domain, points, u, mean_path, inner)
        for (i, order, _), values in zip(slopes, mean, strict=True):
            at = np.arange(0, values.shape[1], terms.strides[i])
            parts.append(values[:, at])
            labels += [(i, order, point) for point in at]
    term, order, point = (np.array(part) for part in zip(*labels, strict=True))
    return CONTRACTS["nodal_derivatives"].dataset(
        {
            "acceleration": _central_difference(velocity, at_rates),
            "mean_slope": np.hstack(parts),
            "slope_term": term,
            "slope_order": order,
            "slope_point": point,
        },
        coords={
            "replicate": observations["replicate"],
            "time": ("time", time[inner], observations["time"].attrs),
            "node": observations["node"],
        },
        attrs=domain_attributes(terms.field, domain),
    )


def _central_difference(values: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Rate of values (time, node) at the inner times."""
    return (values[2:] - values[:-2]) / (time[2:] - time[:-2])[:, None]


def _mean_slopes(
    slopes, field, domain, points, u, mean_path, inner: slice
) -> list[np.ndarray]:
    """Ensemble means of functions of the jet at `inner` times: (time, point) each.

    Those that are linear in the field need nothing but its own mean, `mean_path`.
    """
    means = {}
    for linear in (True, False):
        chosen = [i for i, slope in enumerate(slopes) if is_linear(slope) is linear]
        if not chosen:
            continue
        evaluate = PointEvaluator([slopes[i] for i in chosen], field, domain, points)
        paths = [mean_path[inner]] if linear else (p[inner] for p in one_by_one(u))
        sums = evaluate.zeros(len(mean_path[inner]))
        count = u.sizes["trajectory"]
        for path in paths:
            evaluate.add(sums, path)
        means |= dict(zip(chosen, sums / (1 if linear else count), strict=True))
    return [means[i] for i in range(len(slopes))]


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Triangular factor of each node's library and target.

    `slot_term` tells the candidate of each column, −1 for none. The observations are
    not used: the ensemble means hold all that this method needs.
    """
    check(derivatives, "nodal_derivatives")
    domain, terms = domain_and_library(derivatives, library)
    labels = [derivatives[f"slope_{k}"].values for k in ("term", "order", "point")]
    slope = derivatives["mean_slope"].values[0]
    acceleration = derivatives["acceleration"].values[0]
    # What a slope at one point adds to θ of every node.
    weights = np.empty((slope.shape[1], domain.nodes))
    for j, (i, order, point) in enumerate(zip(*labels, strict=True)):
        operator = domain.operator(order, spatial_order(terms.terms[i], terms.field))
        weights[j] = -operator.weights[point] * operator.matrix[point] / domain.cell
    pairs = zip(weights.T, acceleration.T, strict=True)
    nodes = [_equation(slope, w, labels, of_node) for w, of_node in pairs]
    width = max(len(slots) for slots, _ in nodes)
    triangle = np.zeros((domain.nodes, width + 1, width))
    target = np.zeros((domain.nodes, width + 1))
    slot_term = np.full((domain.nodes, width), NO_CANDIDATE)
    for a, (slots, factor) in enumerate(nodes):
        rows, columns = factor.shape
        triangle[a, :rows, : columns - 1] = factor[:, :-1]
        target[a, :rows] = factor[:, -1]
        slot_term[a, : len(slots)] = slots
    return CONTRACTS["nodal_regression"].dataset(
        {
            "triangle": triangle,
            "target": target,
            "slot_term": slot_term,
            "status": terms.status,
            "equivalent": terms.freedom.equivalent,
        },
        coords={
            "replicate": derivatives["replicate"],
            "node": derivatives["node"],
            "term": terms.names,
        },
        attrs={"reference_coefficient": terms.reference_coefficient},
    )


def _equation(slope, weights, labels, acceleration) -> tuple[list[int], np.ndarray]:
    """Candidates that act on one node, and the triangular factor of [θ, target].

    Candidates that are linear in the field have constant columns, multiples of each
    other. The largest of these is kept: of all solutions that share one constant the
    one of least norm, as the pseudoinverse of the released code gives it, is nearly
    that.
    """
    term, _, point = labels
    columns: dict[tuple[int, int], np.ndarray] = {}
    for j in np.flatnonzero(weights):
        key = (int(term[j]), int(point[j]))
        columns[key] = columns.get(key, 0.0) + weights[j] * slope[:, j]
    present = sorted(key for key, column in columns.items() if column.any())
    constant = [key for key in present if np.ptp(columns[key]) == 0]
    largest = max(constant, key=lambda key: abs(columns[key][0]), default=None)
    slots = [key for key in present if key not in constant or key == largest]
    table = np.column_stack([*(columns[key] for key in slots), -2 * acceleration])
    return [i for i, _ in slots], np.linalg.qr(table, mode="r")


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Identify every node by itself, and a density as the mean over the nodes.

    Paper: the threshold acts on the raw coefficients relative to u_t² (not to ½ u_t²).
    Every node is normalised to its own u_t², so that the two equations that a spring
    enters need not agree on it.

    A term is in the density if more than half of the nodes that have it select it;
    its coefficient is their mean. `by_node`: `node_coefficient_estimate`, the mean
    over the selected columns of the term at the node, and `node_support`, the share of
    its columns that are selected (NaN where it has none).
    """
    check(library, "nodal_regression")
    triangle, target = library["triangle"].values[0], library["target"].values[0]
    slot_term = library["slot_term"].values
    status = library["status"].values
    scale = library.attrs["reference_coefficient"]
    reference = int(np.flatnonzero(status == "reference")[0])
    shape = (len(slot_term), len(status))
    total, selected, offered = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for a, slots in enumerate(slot_term):
        filled = np.flatnonzero(slots >= 0)
        estimate = stlsq(triangle[a][:, filled], target[a], settings["threshold"])
        np.add.at(total[a], slots[filled], scale * estimate)
        np.add.at(selected[a], slots[filled], estimate != 0)
        np.add.at(offered[a], slots[filled], 1)
    each = total / np.maximum(selected, 1)
    share = np.divide(selected, offered, out=np.full(shape, np.nan), where=offered > 0)
    has, chooses = offered > 0, selected > 0
    often = chooses.sum(axis=0) > MAJORITY * np.maximum(has.sum(axis=0), 1)
    mean = each.sum(axis=0) / np.maximum(chooses.sum(axis=0), 1)
    coefficients = np.where(often, mean, 0.0)
    coefficients[reference] = scale
    each[:, reference], share[:, reference] = scale, 1.0
    dims, found_by_node = ("node", "term"), "coefficient of L that the node finds"
    selected_share = (
        "share of the candidates of this term at the node that are selected"
    )
    return LagrangianEstimate(
        terms=[str(term) for term in library["term"].values],
        coefficients=coefficients,
        std=np.full(len(status), np.nan),
        status=list(status),
        equivalent=list(library["equivalent"].values),
        noise_covariance=np.zeros((0, 0)),
        noise_std=np.zeros((0, 0)),
        by_node={
            "node_coefficient_estimate": (dims, each, "mixed", found_by_node),
            "node_support": (dims, share, "1", selected_share),
        },
    )


def volatility(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Root of the time average of dt E[R²] at each node, and its mean over the nodes.

    That is the volatility of a node with a full cell, from the mean square residual
    (eqs. 20–22); `by_node` holds `node_volatility`. The coefficients of the density
    hold at every node. Of the candidates of S² the constant and ``pooled`` ones are
    left out.

    Paper: the central difference makes the volatility low by √½. For the beam, where
    the fastest modes turn by 1.8 rad per sample, the residual is mostly motion that the
    difference lost.
    """
    domain, lagrangian = domain_and_library(observations, library)
    field = lagrangian.field
    terms, strides = density_candidates(library["volatility"], field)
    varying = [i for i, t in enumerate(terms) if t.free_symbols and strides[i]]
    evaluate = NodeEvaluator([terms[i] for i in varying], field, domain)
    chosen = [i for i in lagrangian.at_points if estimate.coefficients[i] != 0]
    at_points, each = [lagrangian.terms[i] for i in chosen], np.diag(1 / domain.cell)
    square, mean = _mean_squares(
        observations,
        evaluate,
        ModalForces(at_points, field, domain, each),
        estimate.coefficients[chosen],
        2 * estimate.coefficients[lagrangian.reference],
        domain.cell / domain.dx,
    )
    coefficients = np.zeros((1, len(terms)))
    coefficients[0, varying] = stlsq(
        mean.reshape(len(varying), -1).T, square.ravel(), settings["threshold"]
    )
    at_nodes, unit = np.sqrt(square.mean(axis=0)), "(units of u_tt) s^0.5"
    meaning = "volatility of a full cell, from this node"
    return VolatilityEstimate(
        volatility=np.sqrt([np.square(at_nodes).mean()]),
        std=np.full(1, np.nan),
        terms=[to_text(term) for term in terms],
        coefficients=coefficients,
        coefficient_std=np.full_like(coefficients, np.nan),
        constant=np.ones(1, dtype=bool),
        by_node={"node_volatility": (("node",), at_nodes, unit, meaning)},
    )


def _mean_squares(observations, evaluate, forces, coefficients, kinetic, cell):
    """Dt E[R²] times `cell`, and means of the candidates of S²: sample by node."""
    dt = time_step(observations)
    count, samples = observations.sizes["trajectory"], observations.sizes["time"] - 2
    square = np.zeros((samples, observations.sizes["node"]))
    sums = evaluate.zeros(samples)
    paths = (one_by_one(observations[name]) for name in ("u", "u_t"))
    for x, v in zip(*paths, strict=True):
        for start in range(0, samples, SAMPLES_PER_BATCH):
            batch = slice(start, start + SAMPLES_PER_BATCH)
            here = x[1:-1][batch]
            residual = v[2:][batch] - v[:-2][batch]
            residual *= kinetic / (2 * dt)
            residual -= np.tensordot(coefficients, forces.forces(here, here), 1)
            square[batch] += np.square(residual)
        evaluate.add(sums, x[1:-1], v[1:-1])
    square *= (dt / count) * cell
    return square, evaluate.interpolated(sums) / count
