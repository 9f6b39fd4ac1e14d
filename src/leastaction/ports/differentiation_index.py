"""Differentiation index of a semi-explicit port-Hamiltonian equation."""

import numpy as np
import sympy as sp

from leastaction.core.expressions import symbol

HIGHEST = 6
ROUNDING = 1e-9


def differentiation_index(system) -> int:
    """Index: 1 plus the times that algebraic rows have to be differentiated.

    With E = diag(D, 0) the algebraic rows 0 = g(x_d, x_a, u) give x_a if their Jacobian
    by x_a is regular. Rows that hold no x_a are replaced by their derivative along
    ẋ_d = D⁻¹ f until it is. Inputs are kept out of it: constraints hold none.

    Parameters
    ----------
    system
        With E, J, R, B, z as expressions
        (:class:`~leastaction.ports.port_hamiltonian.PortHamiltonianSystem`).

    Raises
    ------
    ValueError
        If none is found up to 6.
    """
    flow = system.number("flow")
    places, rows = flow.any(axis=0), flow.any(axis=1)
    d, e = ([int(i) for i in np.flatnonzero(mask)] for mask in (places, rows))
    if rows.all():
        return 0
    x = [symbol(name) for name in system.states]
    u = sp.Matrix([symbol(name) for name in system.inputs])
    right = (system.structure - system.dissipation) * system.efforts
    right = system.evaluated(right + system.port * u)
    speed = sp.Matrix(flow[np.ix_(e, d)]).inv() * right.extract(e, [0])
    inner = [x[i] for i in d]
    outer = [x[i] for i in range(len(x)) if i not in d]
    algebraic = [right[i] for i in range(len(x)) if i not in e]
    generic = {s: sp.Float(0.3 + 0.1 * i) for i, s in enumerate([*x, *u])}
    for index in range(1, HIGHEST + 1):
        slopes = sp.Matrix(algebraic).jacobian(outer)
        numbers = np.array(slopes.subs(generic).tolist(), dtype=float)
        size = np.linalg.svd(numbers, compute_uv=False)
        if size[-1] > ROUNDING * max(1.0, size[0]):
            return index
        algebraic = [
            g if any(slopes[k, :]) else (sp.Matrix([g]).jacobian(inner) * speed)[0]
            for k, g in enumerate(algebraic)
        ]
    raise ValueError(f"no differentiation index up to {HIGHEST} was found")
