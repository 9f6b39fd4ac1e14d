"""Ensemble-mean Euler–Lagrange library of every node of a field.

Each node has its own equation, with the candidates at the points around it,

.. math::

    \\sum_{i,p} c_{ip} \\, θ_{ip}(t) = −2\\, \\frac{d}{dt} E[u_t], \\qquad
    θ_{ip} = −\\frac{w_p}{\\text{cell}} \\sum_k (D_k)_{p,\\text{node}}\\,
        E\\Big[\\frac{∂D_i}{∂(∂_x^k u)}\\Big]_p ,

normalised to its own u_t² (Tripura et al., eqs. 14–16). Of the candidates of a node
only those are columns that act on it. The time series of a node is reduced to the
triangular factor of its [θ, target], which leaves every least-squares problem as it is.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.fields.domain import Domain
from leastaction.fields.lagrangian_density import spatial_order
from leastaction.fields.library import FieldLibrary

CONTRACT = "nodal_regression"
EMPTY = -1


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Triangular factor of each node's library and target.

    Parameters
    ----------
    observations
        Not used: the ensemble means hold all that this method needs.
    derivatives
        One replicate, contract ``nodal_derivatives``.
    settings
        Nothing but the method's name.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        `triangle` (replicate, node, row, slot) and `target` (replicate, node, row);
        `slot_term` (node, slot) tells the candidate of each column, −1 for none.
    """
    check(derivatives, "nodal_derivatives")
    domain = Domain.from_attributes(derivatives.attrs)
    terms = FieldLibrary.from_config(library, derivatives.attrs["field"])
    labels = [
        derivatives[f"slope_{name}"].values for name in ("term", "order", "point")
    ]
    slope = derivatives["mean_slope"].values[0]
    acceleration = derivatives["acceleration"].values[0]
    weights = np.array(
        [
            _weights(domain, spatial_order(terms.terms[i], terms.field), order, point)
            for i, order, point in zip(*labels, strict=True)
        ]
    )
    nodes = [
        _node(slope, weights[:, a], labels, acceleration[:, a])
        for a in range(domain.nodes)
    ]
    width = max(len(slots) for slots, _ in nodes)
    triangle = np.zeros((domain.nodes, width + 1, width))
    target = np.zeros((domain.nodes, width + 1))
    slot_term = np.full((domain.nodes, width), EMPTY)
    for a, (slots, factor) in enumerate(nodes):
        rows, columns = factor.shape
        triangle[a, :rows, : columns - 1] = factor[:, :-1]
        target[a, :rows] = factor[:, -1]
        slot_term[a, : len(slots)] = slots
    return xr.Dataset(
        {
            "triangle": (
                ("replicate", "node", "row", "slot"),
                triangle[None],
                {"units": "mixed", "long_name": "triangular factor of the library"},
            ),
            "target": (
                ("replicate", "node", "row"),
                target[None],
                {"units": "mixed", "long_name": "minus the reference column, rotated"},
            ),
            "slot_term": (
                ("node", "slot"),
                slot_term,
                {"units": "1", "long_name": "position of the candidate, -1 for none"},
            ),
            "status": (
                "term",
                np.array(terms.status, dtype=object),
                {"units": "1", "long_name": "what algebra says about the term"},
            ),
            "equivalent": (
                "term",
                np.array(terms.freedom.equivalent, dtype=object),
                {"units": "1", "long_name": "equivalent of a removed candidate"},
            ),
        },
        coords={
            "replicate": derivatives["replicate"],
            "node": derivatives["node"],
            "term": terms.names,
        },
        attrs={"reference_coefficient": terms.reference_coefficient},
    )


def _weights(domain, points: int, order: int, point: int) -> np.ndarray:
    """What a slope at one point adds to θ of every node, shape (node,)."""
    operator = domain.operator(order, points)
    return -operator.weights[point] * operator.matrix[point] / domain.cell


def _node(slope, weights, labels, acceleration) -> tuple[list[int], np.ndarray]:
    """Candidates that act on one node, and the triangular factor of [θ, target].

    Of candidates whose columns are multiples of each other at all times, such as the
    linear slopes on both sides, the first is kept.
    """
    term, _, point = labels
    columns: dict[tuple[int, int], np.ndarray] = {}
    for j in np.flatnonzero(weights):
        key = (int(term[j]), int(point[j]))
        columns[key] = columns.get(key, 0.0) + weights[j] * slope[:, j]
    constant_seen, slots, kept = False, [], []
    for (i, _), column in sorted(columns.items(), key=lambda item: item[0]):
        constant = np.ptp(column) == 0
        if not column.any() or (constant and constant_seen):
            continue
        constant_seen |= constant
        slots.append(i)
        kept.append(column)
    table = np.column_stack([*kept, -2 * acceleration])
    return slots, np.linalg.qr(table, mode="r")
