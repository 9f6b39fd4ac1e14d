"""Compiled gradient and Hessian of a learned Lagrangian L = Σ b_i φ_i(q, q̇).

Each basis has a text ``jet(z, layout, values, work, second_order, gradient, hessian)``
for the loops of :mod:`leastaction.snapshots.variational_integrator`, and a function
that packs basis and coefficients into the arrays it reads.
"""

import numpy as np

from leastaction.snapshots.radial_basis import RadialBasis
from leastaction.snapshots.tanh_layer import TanhLayer
from leastaction.snapshots.weight_space import WeightSpace

WEIGHT_SPACE = """
@njit(cache=True, nogil=True)
def tables(z, layout, values, work):
    d, size, terms = layout[0], layout[1], layout[2]
    a = values[0]
    inputs = 1 + 2 * terms
    centre = inputs + d * size
    square = 0.0
    for i in range(d):
        x = 0.0
        for j in range(size):
            x += values[inputs + i * size + j] * (z[j] - values[centre + j])
        square += x * x
        slope = -2.0 * a * x
        work[0, i, 0] = 1.0
        work[1, i, 0] = slope
        work[2, i, 0] = slope * slope - 2.0 * a
        for k in range(1, terms):
            up = values[1 + terms + k]
            f = work[0, i, k - 1] * x * values[1 + k]
            f1 = up * work[0, i, k - 1] + slope * f
            work[0, i, k] = f
            work[1, i, k] = f1
            work[2, i, k] = up * work[1, i, k - 1] + slope * f1 - 2.0 * a * f
    return math.exp(-a * square)


@njit(cache=True, nogil=True, fastmath={{"contract"}})
def jet_of_two(z, layout, values, work, gradient, hessian):
    d, size, terms = layout[0], layout[1], layout[2]
    inputs = 1 + 2 * terms
    scale = tables(z, layout, values, work)
    at = inputs + (d + 1) * size
{two}
    for j in range(size):
{gradient}
        for k in range(j, size):
{hessian}
            hessian[k, j] = hessian[j, k]


@njit(cache=True, nogil=True, fastmath={{"contract"}})
def jet_of_one(z, layout, values, work, gradient):
    d, size, terms = layout[0], layout[1], layout[2]
    inputs = 1 + 2 * terms
    scale = tables(z, layout, values, work)
    at = inputs + (d + 1) * size
{one}
    for j in range(size):
{gradient}


@njit(cache=True, nogil=True)
def jet(z, layout, values, work, second_order, gradient, hessian):
    if second_order:
        jet_of_two(z, layout, values, work, gradient, hessian)
    else:
        jet_of_one(z, layout, values, work, gradient)
"""


def weight_space_text(variables: int) -> str:
    """Jet of Taylor features: one loop per variable, sums of products in registers.

    In lexicographic order the coefficients are read once, one after the other. The sum
    over the last variable is done first, then that over the one before it: beside the
    value, each loop adds up the first and second derivatives in its own variable and
    in those inside it.
    """

    def entry(j, of):
        return f"values[inputs + {j} * size + {of}]"

    gradient = " + ".join(f"s0_{i} * {entry(i, 'j')}" for i in range(variables))
    pairs = [f"s0_{i}{i} * {entry(i, 'j')} * {entry(i, 'k')}" for i in range(variables)]
    pairs += [
        f"s0_{i}{m} * ({entry(i, 'j')} * {entry(m, 'k')}"
        f" + {entry(m, 'j')} * {entry(i, 'k')})"
        for i in range(variables)
        for m in range(i + 1, variables)
    ]
    return WEIGHT_SPACE.format(
        two="\n".join(_loops(variables, 0, True)),
        one="\n".join(_loops(variables, 0, False)),
        gradient=f"        gradient[j] = scale * ({gradient})",
        hessian=f"            hessian[j, k] = scale * ({' + '.join(pairs)})",
    )


def _loops(variables: int, i: int, second: bool) -> list[str]:
    """Lines of the loop over variable i and of all inside it."""
    pad = "    " * (i + 1)
    if i == variables:
        return [f"{pad}s{i}_ = values[at]", f"{pad}at += 1"]
    inner = range(i + 1, variables)
    sums = {"": ("0", "")} if i else {}
    sums[f"{i}"] = ("1", "")
    sums |= {f"{j}": ("0", f"{j}") for j in inner}
    if second:
        sums[f"{i}{i}"] = ("2", "")
        sums |= {f"{i}{j}": ("1", f"{j}") for j in inner}
        sums |= {f"{j}{m}": ("0", f"{j}{m}") for j in inner for m in inner if m >= j}
    room = f"room{i - 1} - k{i - 1}" if i else "terms"
    lines = [f"{pad}s{i}_{key} = 0.0" for key in sums]
    lines += [f"{pad}room{i} = {room}", f"{pad}for k{i} in range(room{i}):"]
    lines += _loops(variables, i + 1, second)
    lines += [
        f"{pad}    s{i}_{key} += work[{order}, {i}, k{i}] * s{i + 1}_{within}"
        for key, (order, within) in sums.items()
    ]
    return lines


RADIAL = """
@njit(cache=True, nogil=True)
def jet(z, layout, values, work, second_order, gradient, hessian):
    size, centres = layout[0], layout[1]
    a = values[0]
    gradient[:] = 0.0
    if second_order:
        hessian[:] = 0.0
    for c in range(centres):
        at = 1 + c * (size + 1)
        square = 0.0
        for j in range(size):
            work[0, 0, j] = z[j] - values[at + 1 + j]
            square += work[0, 0, j] * work[0, 0, j]
        factor = -2.0 * a * values[at] * math.exp(-a * square)
        for j in range(size):
            gradient[j] += factor * work[0, 0, j]
            if second_order:
                hessian[j, j] += factor
                for k in range(j + 1):
                    hessian[j, k] -= 2.0 * a * factor * work[0, 0, j] * work[0, 0, k]
    if second_order:
        for j in range(size):
            for k in range(j):
                hessian[k, j] = hessian[j, k]
"""

TANH = """
@njit(cache=True, nogil=True)
def jet(z, layout, values, work, second_order, gradient, hessian):
    size, units = layout[0], layout[1]
    gradient[:] = 0.0
    if second_order:
        hessian[:] = 0.0
    for c in range(units):
        at = c * (size + 2)
        argument = values[at + 1]
        for j in range(size):
            argument += values[at + 2 + j] * z[j]
        t = math.tanh(argument)
        slope = values[at] * (1.0 - t * t)
        for j in range(size):
            gradient[j] += slope * values[at + 2 + j]
            if second_order:
                for k in range(j + 1):
                    hessian[j, k] -= (
                        2.0 * t * slope * values[at + 2 + j] * values[at + 2 + k])
    if second_order:
        for j in range(size):
            for k in range(j):
                hessian[k, j] = hessian[j, k]
"""

JETS = {
    WeightSpace: lambda basis: weight_space_text(len(basis.inputs)),
    RadialBasis: lambda basis: RADIAL,
    TanhLayer: lambda basis: TANH,
}


def packed(basis, coefficients: np.ndarray) -> tuple[np.ndarray, ...]:
    """Arrays ``layout`` (integers), ``values`` and ``work`` of a compiled jet.

    Raises
    ------
    TypeError
        If the basis has no compiled jet.
    """
    coefficients = np.asarray(coefficients, dtype=float)
    if isinstance(basis, WeightSpace):
        return _packed_weight_space(basis, coefficients)
    size = 2 * basis.dof
    layout = np.array([size, basis.size], dtype=np.int64)
    if isinstance(basis, RadialBasis):
        rows = np.column_stack([coefficients, basis.centres])
        values = np.append(1.0 / basis.length_scale**2, rows)
    elif isinstance(basis, TanhLayer):
        values = np.column_stack([coefficients, basis.offsets, basis.weights]).ravel()
    else:
        raise TypeError(
            f"{type(basis).__name__} has no compiled jet; those of {list(JETS)} do"
        )
    return layout, values, np.empty((1, 1, size))


def _packed_weight_space(basis: WeightSpace, coefficients) -> tuple[np.ndarray, ...]:
    d, size = basis.inputs.shape
    terms = basis.degree + 1
    layout = np.array([d, size, terms], dtype=np.int64)
    a, k = 1.0 / basis.length_scale**2, np.arange(terms)
    values = np.concatenate(
        [
            [a],
            np.sqrt(2 * a / np.maximum(k, 1)),
            np.sqrt(2 * a * k),
            basis.inputs.ravel(),
            basis.centre,
            coefficients,
        ]
    )
    return layout, values, np.empty((3, d, terms))
