"""Variational equations of a linear family of Lagrangians, compiled once for all.

For L = Σ c_k D_k and a Rayleigh function Σ d_j R_j the equations of motion are
Σ c_k E_k(q, q̇, q̈) = 0 with E_k = d/dt ∂D_k/∂q̇ − ∂D_k/∂q (∂R_j/∂q̇ for damping). With
the residual r = Σ c_k E_k, the mass matrix M = ∂r/∂q̈ and s any initial value or
coefficient,

    M ∂q̈/∂s = −(∂r/∂q ∂q/∂s + ∂r/∂q̇ ∂q̇/∂s + ∂r/∂s) .

A recorded input Q(t) stands on the right of r = Q and depends on neither.

The loops are compiled for each number of coordinates, and call what is compiled for a
library, its functions, by its address. Terms with coefficient zero are skipped at run
time, so another structure needs no compilation (Bock 1983; Hairer, Nørsett and Wanner
1993, section I.14).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import sympy as sp
from sympy.polys.domains import RR
from sympy.polys.rings import PolyElement, ring

from leastaction.core.compiled import assignments, kernel, unpack
from leastaction.core.euler_lagrange import symbols, velocity_names

# E, ∂E/∂(q, q̇) need derivatives of a candidate up to the third.
ORDER = 3
# Stands in candidates for the velocity within which a smooth friction turns; its value
# is asked for at run time.
WIDTH = sp.Symbol("sliding_width", positive=True)
FUNCTIONS = """
@njit(cache=True, no_cpython_wrapper=True)
def functions(x, m):
    # At x, after whose state is the width within which friction turns.
    {state}
    {functions}
"""
KERNEL = """
{constants}
# Steps of x in one step of its sensitivities, which need less accuracy.
GROUP = 4
# Of the classical Runge-Kutta method.
NODES, WEIGHTS = (0.0, 0.5, 0.5, 1.0), (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def evaluate(x, functions, base, left, right, target, pointer, monomial, value, m, out):
    # Entries of the table at x; no tuple or view is made in a call, each costs 20 ns.
    m[0] = 1.0
    for a in range(2 * N):
        m[1 + a] = x[a]
    functions(x, m)
    for i in range(base, left.size):
        m[i] = m[left[i]] * m[right[i]]
    for e in range(target.size):
        total = 0.0
        for i in range(pointer[e], pointer[e + 1]):
            total += value[i] * m[monomial[i]]
        out[target[e]] = total


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def accelerate(x, force, out, inverse, rate):
    # M qddot = Q - C by Gauss-Jordan elimination with pivoting; rate = (qdot, qddot).
    # The inverse of M is the right half of `inverse`.
    for a in range(N):
        for b in range(N):
            inverse[a, b] = out[N * a + b]
            inverse[a, N + b] = 1.0 if a == b else 0.0
    for a in range(N):
        pivot = a
        for b in range(a + 1, N):
            if abs(inverse[b, a]) > abs(inverse[pivot, a]):
                pivot = b
        value = inverse[pivot, a]
        factor = 1.0 / value if value != 0.0 else np.inf
        for b in range(2 * N):
            scaled = factor * inverse[pivot, b]
            inverse[pivot, b] = inverse[a, b]
            inverse[a, b] = scaled
        for d in range(N):
            factor = inverse[d, a]
            for b in range(2 * N):
                if d != a:
                    inverse[d, b] -= factor * inverse[a, b]
    for a in range(N):
        rate[a] = x[N + a]
        rate[N + a] = 0.0
        for b in range(N):
            rate[N + a] -= inverse[a, N + b] * (out[MASS + b] - force[b])


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def linearise(place, out, inverse, rate, by_x, by_c):
    # Derivatives of qddot by the state and by the active coefficients.
    for b in range(2 * N):
        for a in range(N):
            by_x[place, a, b] = 0.0
        for a in range(N):
            residual = out[PLAIN + 2 * N * (MASS + a) + b]
            for d in range(N):
                residual += out[PLAIN + 2 * N * (N * a + d) + b] * rate[N + d]
            for d in range(N):
                by_x[place, d, b] -= inverse[d, N + a] * residual
    for j in range(2 * N, by_c.shape[2]):
        own = PLAIN * (1 + j)
        for a in range(N):
            by_c[place, a, j] = 0.0
        for a in range(N):
            residual = out[own + MASS + a]
            for d in range(N):
                residual += out[own + N * a + d] * rate[N + d]
            for d in range(N):
                by_c[place, d, j] -= inverse[d, N + a] * residual


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def begin(i, start, x, s):
    # Loops, since an array assigned to another takes seconds to compile.
    for a in range(2 * N):
        x[a] = start[i, a]
        for j in range(s.shape[0]):
            s[j, a] = 1.0 if a == j else 0.0


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def keep_end(rates, by_x, by_c):
    # The end of a step is the begin of the next one.
    for a in range(N):
        rates[0, a] = rates[2, a]
        rates[0, N + a] = rates[2, N + a]
        for b in range(2 * N):
            by_x[0, a, b] = by_x[2, a, b]
        for j in range(2 * N, by_c.shape[2]):
            by_c[0, a, j] = by_c[2, a, j]


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def slope(by_x, place, u, du):
    # du = J u with J = (0 1, by_x). It is compiled anew for each literal `place`.
    for a in range(N):
        total = 0.0
        for b in range(2 * N):
            total += by_x[place, a, b] * u[b]
        du[a] = u[N + a]
        du[N + a] = total


@njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def advance_sensitivities(s, by_x, by_c, long, implicit, u, du, u_sum):
    # Hermite-Simpson (Lobatto IIIA, order 4) for ds/dt = J s + (0, by_c), matrices at
    # the begin 0, middle m and end 1. It is stable where friction holds a joint, whose
    # rate c / (M w) an explicit step of this length would blow up:
    #   s_1 = s_0 + h/6 (f_0 + 4 f_m + f_1), s_m = (s_0 + s_1)/2 + h/8 (f_0 - f_1).
    sixth, eighth = long / 6.0, long / 8.0
    for k in range(2 * N):
        for a in range(2 * N):
            u[a] = 1.0 if a == k else 0.0
        slope(by_x, np.int64(2), u, du)
        for a in range(2 * N):
            u_sum[a] = u[a] - sixth * du[a]
            u[a] = 0.5 * u[a] - eighth * du[a]
        slope(by_x, np.int64(1), u, du)
        for a in range(2 * N):
            implicit[a, k] = u_sum[a] - 4.0 * sixth * du[a]
    for k in range(2 * N):  # L U; the diagonal of U is kept as its reciprocal
        pivot = implicit[k, k]
        implicit[k, k] = 1.0 / pivot if pivot != 0.0 else np.inf
        for a in range(k + 1, 2 * N):
            implicit[a, k] *= implicit[k, k]
            for b in range(k + 1, 2 * N):
                implicit[a, b] -= implicit[a, k] * implicit[k, b]
    for j in range(s.shape[0]):
        for a in range(2 * N):
            u[a] = s[j, a]
        slope(by_x, np.int64(0), u, du)
        for a in range(N):
            first, last = du[N + a] + by_c[0, a, j], by_c[2, a, j]
            u_sum[a] = s[j, a] + sixth * du[a]
            u_sum[N + a] = s[j, N + a] + sixth * (first + last)
            u_sum[N + a] += 4.0 * sixth * by_c[1, a, j]
            u[a] = 0.5 * s[j, a] + eighth * du[a]
            u[N + a] = 0.5 * s[j, N + a] + eighth * (first - last)
        slope(by_x, np.int64(1), u, du)
        for a in range(2 * N):
            u_sum[a] += 4.0 * sixth * du[a]
            for b in range(a):
                u_sum[a] -= implicit[a, b] * u_sum[b]
        for a in range(2 * N - 1, -1, -1):
            for b in range(a + 1, 2 * N):
                u_sum[a] -= implicit[a, b] * s[j, b]
            s[j, a] = implicit[a, a] * u_sum[a]


TABLE = "Tuple((i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], f8[::1]))"


@njit(
    f"(FunctionType(void(f8[::1], f8[::1])), i8, {TABLE}, {TABLE}, f8[:, ::1], "
    "i8[::1], i8[::1], f8[:, ::1], f8, i8, f8, f8[:, :, ::1], f8[:, :, ::1], "
    "f8[:, :, ::1])",
    cache=True,
    nogil=True,
    no_cfunc_wrapper=True,
)
def shoot(
    functions, base, plain, full, force, first, length, start, dt, steps, width, path,
    flow, mobility,
):
    # Unless `flow` is empty, it is s at the end of each motion, and `mobility` the
    # inverse mass matrix at its begin.
    # force has 2 steps rows per sample, at the begin and the middle of every step.
    #
    # A sample is `steps` RK4 steps of the state x, in groups. After each group comes
    # one step of its sensitivities s, as long as the group: their equation is linear
    # and needs the linearised accelerations at the begin, middle and end.
    # One loop of `turn` runs over both, the 4 stages of each step of x first and then
    # the three nodes of s: each evaluation of the table is compiled but once.
    left, right, target, pointer, monomial, value = plain
    left_full, right_full, target_full, pointer_full, monomial_full, value_full = full
    sensitive = flow.shape[0] > 0
    unknowns = flow.shape[2] if sensitive else 2 * N
    m, out = np.empty(full[0].size), np.zeros(PLAIN * (1 + unknowns))
    inverse, rate = np.empty((N, 2 * N)), np.empty(2 * N)
    # At the begin, the middle and the end of a group.
    at, rates = np.empty((3, 2 * N)), np.empty((3, 2 * N))
    by_x, by_c = np.empty((3, N, 2 * N)), np.zeros((3, N, unknowns))
    x, y, x_sum = np.empty(2 * N), np.empty(2 * N + 1), np.empty(2 * N)
    y[2 * N] = width
    s = np.empty((unknowns, 2 * N))
    u, du, u_sum = np.empty(2 * N), np.empty(2 * N), np.empty(2 * N)
    implicit = np.empty((2 * N, 2 * N))
    nodes, weights = NODES, WEIGHTS
    step = dt / steps
    group = GROUP
    while steps % group:
        group //= 2
    long = group * step
    driven = force.shape[0] > 0
    pushed = np.zeros(N)
    for i in range(first.size):
        begin(i, start, x, s)
        for n in range(length[i]):
            for block in range(steps // group if n > 0 else 0):
                for turn in range(4 * group + (3 if sensitive else 0)):
                    part, k = turn % 4, turn - 4 * group
                    # The state y at which the equations are evaluated.
                    if k < 0:  # a stage of x
                        for a in range(2 * N):
                            if turn == 0:
                                at[0, a] = x[a]
                            if turn == 2 * group:
                                at[1, a] = x[a]
                            if part == 0:
                                x_sum[a] = x[a]
                                y[a] = x[a]
                            else:
                                y[a] = x[a] + step * nodes[part] * rate[a]
                    elif k == 0:  # the begin of the group
                        if n > 1 or block > 0:
                            keep_end(rates, by_x, by_c)
                            continue
                        for a in range(2 * N):
                            y[a] = at[0, a]
                    elif k == 1:  # its end
                        for a in range(2 * N):
                            y[a] = x[a]
                    else:  # its middle; of a single step by Hermite interpolation
                        for a in range(2 * N):
                            y[a] = at[1, a]
                            if group == 1:
                                y[a] = 0.5 * (at[0, a] + x[a])
                                y[a] += 0.125 * long * (rates[0, a] - rates[2, a])
                    if driven:
                        node = 2 * (steps * (first[i] + n - 1) + group * block)
                        if k < 0:
                            node += 2 * (turn // 4) + (part + 1) // 2
                        elif k > 0:
                            node += 2 * group // k
                        for a in range(N):
                            pushed[a] = force[node, a]
                    # The accelerations there; for s linearised, too.
                    if k < 0:
                        evaluate(
                            y, functions, base, left, right, target, pointer, monomial,
                            value, m, out,
                        )
                        accelerate(y, pushed, out, inverse, rate)
                        for a in range(2 * N):
                            x_sum[a] += step * weights[part] * rate[a]
                            if part == 3:
                                x[a] = x_sum[a]
                    else:
                        place = 0 if k == 0 else 3 - k
                        evaluate(
                            y, functions, base, left_full, right_full, target_full,
                            pointer_full, monomial_full, value_full, m, out,
                        )
                        accelerate(y, pushed, out, inverse, rate)
                        if k == 0:
                            for a in range(N):
                                for b in range(N):
                                    mobility[i, a, b] = inverse[a, N + b]
                        linearise(place, out, inverse, rate, by_x, by_c)
                        for a in range(2 * N):
                            rates[place, a] = rate[a]
                if sensitive:
                    advance_sensitivities(s, by_x, by_c, long, implicit, u, du, u_sum)
            for a in range(path.shape[2]):
                path[i, n, a] = x[a]
        for j in range(unknowns if sensitive else 0):
            for a in range(2 * N):
                flow[i, a, j] = s[j, a]
"""


NOWHERE = np.empty((0, 0, 0))


@dataclass(frozen=True)
class PolynomialTable:
    """Equations of motion of a whole library as a sparse table of monomials.

    Candidates are polynomials in q, q̇ and a few functions of them, such as sin θ. So
    are their Euler–Lagrange expressions E = H q̈ + C and the derivatives of H and C.

    The entries of a candidate are numbered: H (dof × dof), C (dof), ∂H/∂(q, q̇)
    (dof × dof × 2 dof), ∂C/∂(q, q̇) (dof × 2 dof).
    """

    dof: int
    count: int  # of candidates
    functions: tuple[sp.Expr, ...]  # not powers; of position_0 ... velocity_0 ...
    # Monomial i is the product of left[i] and right[i]; the first ones, without
    # factors, are 1, q, q̇ and the functions.
    left: np.ndarray
    right: np.ndarray
    candidate: np.ndarray  # of each nonzero coefficient
    entry: np.ndarray
    monomial: np.ndarray
    value: np.ndarray

    @property
    def base(self) -> int:
        """How many monomials are no products."""
        return 1 + 2 * self.dof + len(self.functions)

    def contract(self, c: np.ndarray, active: np.ndarray | None) -> tuple:
        """Sum the entries over candidates, and number what stays.

        Without `active`, H and C alone. With it, all entries, and then H and C of each
        active candidate. Entry target[e] is Σ value[i] · monomial[i] over
        pointer[e] ≤ i < pointer[e+1]; monomials are products of `left` and `right`.

        ValueError unless there is one coefficient for each candidate.
        """
        if np.shape(c) != (self.count,):
            raise ValueError(
                f"{np.shape(c)} coefficients given, ({self.count},) expected: one for "
                "each candidate of L, then of the Rayleigh function"
            )
        n = self.dof
        plain, everything = n * n + n, (n * n + n) * (2 * n + 1)
        used, of_motion = c[self.candidate] != 0, self.entry < plain
        if active is None:
            used &= of_motion
        key, value = self.entry[used], (c[self.candidate] * self.value)[used]
        monomial = self.monomial[used]
        if active is not None:
            position = np.full(self.count, -1)
            position[active] = np.arange(len(active))
            column = position[self.candidate]
            selected = (column >= 0) & of_motion
            number = everything + plain * column[selected] + self.entry[selected]
            key = np.append(key, number)
            value = np.append(value, self.value[selected])
            monomial = np.append(monomial, self.monomial[selected])
        count = len(self.left)
        key, inverse = np.unique(key * count + monomial, return_inverse=True)
        value = np.bincount(inverse, value, len(key)).astype(float)
        target, start = np.unique(key // count, return_index=True)
        left, right, number = self._needed(key % count)
        pointer = np.append(start, len(key))
        return left, right, target, pointer, number[key % count], value

    def _needed(self, monomials):
        """Factors of the monomials needed, and the new number of each."""
        base = self.base
        needed = np.zeros(len(self.left), dtype=bool)
        needed[:base] = True
        needed[monomials] = True
        for i in range(len(needed) - 1, base - 1, -1):
            if needed[i]:
                needed[self.left[i]] = True
        number = np.cumsum(needed) - 1
        return number[self.left[needed]], number[self.right[needed]], number


@dataclass(frozen=True)
class VariationalEquations:
    """Motions of L = Σ c_k D_k and their sensitivities, for every c of a library."""

    coordinates: tuple[str, ...]
    table: PolynomialTable  # of the candidates of L, then of the Rayleigh function
    functions: Callable  # compiled; values of those of the table
    width: float = 0.0  # what WIDTH is, in the unit of a velocity

    def rollout(
        self,
        start: np.ndarray,
        c: np.ndarray,
        dt: float,
        samples: int,
        steps: int = 1,
        force: np.ndarray | None = None,
        first: np.ndarray | None = None,
        length: np.ndarray | None = None,
    ) -> np.ndarray:
        """Motions from states `start`, shape (motion, samples, 2 dof), by RK4.

        The input Q is given at the begin and the middle of every step, shape
        (2 · steps · row, dof); each motion takes it from its row `first` on. Samples
        beyond the `length` of a motion are NaN; a motion that escapes overflows.
        """
        path = np.full((len(start), samples, start.shape[1]), np.nan)
        length = np.full(len(start), samples) if length is None else length
        plain = self.table.contract(c, None)
        motions = start, dt, steps, force, first, length
        self._shoot(plain, plain, *motions, path, NOWHERE, NOWHERE)
        return path

    def flow(
        self,
        start: np.ndarray,
        c: np.ndarray,
        active: np.ndarray,
        dt: float,
        steps: int = 1,
        force: np.ndarray | None = None,
        first: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Flow φ over one sample from many states x, and its derivatives.

        The input `force` is that of :meth:`rollout`, from the row `first` of each state
        on.

        Returns φ, (state, 2 dof); (∂φ/∂x, ∂φ/∂c) with the `active` coefficients,
        (state, 2 dof, 2 dof + active); and M⁻¹(x), (state, dof, dof).
        """
        count, dof = len(start), len(self.coordinates)
        tables = self.table.contract(c, None), self.table.contract(c, active)
        by_all = np.empty((count, 2 * dof, 2 * dof + len(active)))
        path, mobility = np.empty((count, 2, 2 * dof)), np.empty((count, dof, dof))
        motions = start, dt, steps, force, first, np.full(count, 2)
        self._shoot(*tables, *motions, path, by_all, mobility)
        return path[:, 1], by_all, mobility

    def _shoot(self, plain, full, start, dt, steps, force, first, length, *results):
        dof = len(self.coordinates)
        force = np.empty((0, dof)) if force is None else np.ascontiguousarray(force)
        first = np.zeros(len(start)) if first is None else first
        rows = (np.ascontiguousarray(each, dtype=np.int64) for each in (first, length))
        start = np.ascontiguousarray(start, dtype=float)
        how = float(dt), int(steps), self.width
        shoot = _loops(dof).shoot
        tables = self.functions, self.table.base, plain, full
        shoot(*tables, force, *rows, start, *how, *results)


def _loops(dof: int) -> ModuleType:
    """What is compiled for a number of coordinates."""
    constants = {"N": dof, "MASS": dof**2, "PLAIN": dof**2 + dof}
    lines = (f"{name} = {n}" for name, n in constants.items())
    return kernel(KERNEL, {"constants": "\n".join(lines)})


def variational_equations(
    terms: Sequence[sp.Expr],
    coordinates: Sequence[str],
    dissipation: Sequence[sp.Expr] = (),
) -> VariationalEquations:
    """Compile the equations of candidates D_k of L and R_j of D, and their derivatives.

    Raises
    ------
    ValueError
        If a candidate is not a polynomial in q, q̇ and functions of them.
    """
    table = polynomial_table(terms, coordinates, dissipation)
    dof = len(coordinates)
    targets = [f"m[{i}]" for i in range(1 + 2 * dof, table.base)]
    blocks = {
        "state": unpack([*_state(dof), WIDTH.name], "x"),
        "functions": assignments(targets, list(table.functions), "shared_"),
    }
    functions = kernel(FUNCTIONS, blocks).functions
    return VariationalEquations(tuple(coordinates), table, functions)


def polynomial_table(
    terms: Sequence[sp.Expr], coordinates: Sequence[str], dissipation: Sequence[sp.Expr]
) -> PolynomialTable:
    """Table of candidates `terms` of L and `dissipation` of the Rayleigh function."""
    dof = len(coordinates)
    state = symbols((*coordinates, *velocity_names(coordinates)))
    x = symbols(_state(dof))
    renamed = dict(zip(state, x, strict=True))
    expressions = [sp.sympify(e).xreplace(renamed) for e in (*terms, *dissipation)]
    functions, rates = _closure(expressions, x)
    polynomials, *names = ring([*x, *functions.values()], RR)
    slopes = [
        [_element(polynomials, _named(rates[f, v], functions)) for f in functions]
        for v in x
    ]

    def diff(f: PolyElement, i: int) -> PolyElement:
        inner = zip(names[2 * dof :], slopes[i], strict=True)
        chain = (f.diff(name) * slope for name, slope in inner if slope)
        return sum(chain, f.diff(names[i]))

    rows = []
    for k, expression in enumerate(expressions):
        f = _element(polynomials, _named(expression, functions))
        momenta = [diff(f, dof + a) for a in range(dof)]
        if k < len(terms):
            entries = _euler_lagrange_entries(f, momenta, diff, names)
        else:
            entries = [polynomials.zero] * dof**2 + momenta
        entries += [diff(e, i) for e in entries for i in range(2 * dof)]
        rows += [(k, i, *item) for i, e in enumerate(entries) for item in e.terms()]
    order, left, right = _products([row[2] for row in rows], len(names))
    places = np.array([(k, i, order[m]) for k, i, m, _ in rows], dtype=np.int64)
    value = np.array([float(value) for *_, value in rows])
    about = dof, len(expressions), tuple(functions), left, right
    return PolynomialTable(*about, *places.reshape(-1, 3).T, value)


def _state(dof: int) -> list[str]:
    """Names of the state that no coordinate has."""
    return [f"{kind}_{a}" for kind in ("position", "velocity") for a in range(dof)]


def _euler_lagrange_entries(f, momenta, diff, names):
    dof = len(momenta)
    mass = [diff(p, dof + b) for p in momenta for b in range(dof)]
    rest = [
        sum((diff(p, b) * names[dof + b] for b in range(dof)), -diff(f, a))
        for a, p in enumerate(momenta)
    ]
    return mass + rest


def _atoms(expression: sp.Expr) -> set:
    """Outermost parts that are not polynomial in the state."""
    if expression.is_Function and expression.free_symbols:
        return {expression}
    if expression.is_Pow and not (expression.exp.is_Integer and expression.exp > 0):
        if expression.exp.is_Integer:
            return {1 / expression.base}
        return {expression} if expression.free_symbols else set()
    return set().union(*map(_atoms, expression.args))


def _named(expression: sp.Expr, functions: Mapping) -> sp.Expr:
    """`expression` with names in place of the functions; x**(-n) is (1/x)**n."""
    if expression in functions:
        return functions[expression]
    if expression.is_Pow and expression.exp.is_Integer and expression.exp < 0:
        return functions[1 / expression.base] ** (-expression.exp)
    if not expression.args:
        return expression
    return expression.func(*(_named(part, functions) for part in expression.args))


def _closure(expressions, x) -> tuple[Mapping, Mapping]:
    """Functions in the expressions and in their derivatives, with those derivatives."""
    functions: dict[sp.Expr, sp.Symbol] = {}
    rates: dict[tuple, sp.Expr] = {}
    front = sorted(set().union(*map(_atoms, expressions)), key=sp.default_sort_key)
    for order in range(ORDER + 1):
        result = set()
        for f in front:
            functions[f] = sp.Symbol(f"function_{len(functions)}", real=True)
            for v in x:
                rates[f, v] = sp.diff(f, v) if order < ORDER else sp.Integer(0)
                result |= _atoms(rates[f, v])
        front = sorted(result - set(functions), key=sp.default_sort_key)
    return functions, rates


def _element(polynomials, expression):
    try:
        return polynomials.from_expr(sp.expand(expression))
    except (ValueError, sp.PolynomialError):
        raise ValueError(
            f"{expression} is not a polynomial in positions, velocities and functions "
            "of them; write the candidate as sums of products"
        ) from None


def _products(exponents, width: int) -> tuple[dict, np.ndarray, np.ndarray]:
    """Number of every monomial and two earlier ones that it is the product of."""
    order = {(0,) * width: 0}
    for i in range(width):
        order[tuple(int(j == i) for j in range(width))] = i + 1
    left, right = list(range(width + 1)), [0] * (width + 1)

    def number(exponent: tuple) -> int:
        if exponent not in order:
            last = max(i for i, power in enumerate(exponent) if power)
            less = (*exponent[:last], exponent[last] - 1, *exponent[last + 1 :])
            left.append(number(less))
            right.append(last + 1)
            order[exponent] = len(order)
        return order[exponent]

    for exponent in exponents:
        number(tuple(exponent))
    return order, np.array(left), np.array(right)
