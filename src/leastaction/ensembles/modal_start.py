"""Coefficients of a linear system with given modes: where a likelihood starts.

Regressions on noisy samples give masses of the wrong sign where modes are still seen
plainly. So the modes come first: with ψ_r the rows of the inverse of the real mode
shapes,

.. math::  M = Σ_r a_r ψ_r ψ_r^T , \\qquad K = Σ_r a_r ω_r^2 ψ_r ψ_r^T , \\qquad
           C = Σ_r 2 a_r ζ_r ω_r ψ_r ψ_r^T , \\qquad a_r ≥ 0 ,

are symmetric, positive and have the right frequencies. M, K and C that candidates
can express, next to these, are found by bounded least squares; then coefficients are
moved until the frequencies, and the shapes at the sensors, are those that were seen.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import sympy as sp
import xarray as xr
from scipy.linalg import eigh
from scipy.optimize import least_squares, lsq_linear

from leastaction.core.euler_lagrange import symbols
from leastaction.core.library import Library
from leastaction.ensembles.contracts import CONTRACTS
from leastaction.ensembles.sensor_records import records_of
from leastaction.ensembles.state_space import is_linear

# Errors that modes are trusted with: of a frequency, relative, and of a shape.
FREQUENCY_ERROR, SHAPE_ERROR = 0.01, 0.1
# Of a coefficient that modes do not tell, in units of itself.
PRIOR_ERROR = 10.0
DAMPING_RATIOS = 0.002, 0.5
# Weight of the damping between modes.
OFF_DIAGONAL = 0.3
NO_MODES = 1e3


class Quadratic(NamedTuple):
    """M, K, C of each candidate near q = 0, (column, dof, dof), zero if redundant."""

    mass: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Candidates, and coefficients of the linear ones by the modes of the outputs.

    Once with candidates that are linear in the equations first, once with the others
    first: a pendulum may begin as cos q or as q².
    """
    terms = Library.from_config(library, observations["dof"].values)
    channels, *_ = records_of(observations)
    shapes = derivatives["mode_shape_real"].values[0]
    shapes = shapes + 1j * derivatives["mode_shape_imaginary"].values[0]
    frequency = derivatives["mode_frequency"].values[0]
    damping = derivatives["mode_damping_ratio"].values[0]
    matrices = quadratic(terms)
    starts = [
        start_of_modes(terms, matrices, chosen, channels, modes)
        for chosen in orders(terms, matrices)
        for modes in zip(frequency, damping, shapes, strict=True)
    ]
    losses = terms.dissipation_freedom
    return CONTRACTS["state_space"].dataset(
        {
            "status": terms.status,
            "equivalent": terms.freedom.equivalent,
            "dissipation_status": losses.status,
            "dissipation_equivalent": losses.equivalent,
            "start_coefficient": np.array(starts),
            "main_frequency": derivatives["main_frequency"],
            # A memory that is not there makes one realisation in many see a fast mode.
            "highest_frequency": np.median(frequency.max(axis=1)),
            "sensor_noise": derivatives["sensor_noise"],
            "output_std": derivatives["output_std"],
        },
        coords={
            "replicate": derivatives["replicate"],
            "channel": derivatives["channel"].values,
            "term": terms.names,
            "dissipation_term": terms.dissipation_names,
        },
    )


def quadratic(library: Library) -> Quadratic:
    """Matrices of all candidates of L, then of D."""
    n, count = len(library.coordinates), len(library.terms)
    state = symbols(library.variables)
    rest = dict.fromkeys(state, 0)
    status = [*library.status, *library.dissipation_freedom.status]
    mass, stiffness, damping = np.zeros((3, len(status), n, n))
    for i, term in enumerate([*library.terms, *library.dissipation]):
        if status[i] not in ("independent", "reference"):
            continue
        of_rates = _numbers(sp.hessian(term, state[n:]).subs(rest))
        if i >= count:
            damping[i] = of_rates
            continue
        mass[i] = of_rates
        stiffness[i] = _numbers(sp.hessian(term, state[:n]).subs(rest))
    return Quadratic(mass, -stiffness, damping)


def _numbers(matrix: sp.Matrix) -> np.ndarray:
    """Entries as numbers, zero where one has no value."""
    unknown = (sp.DiracDelta, sp.nan, sp.zoo, sp.oo)
    values = [float(x) if x.is_number and not x.has(*unknown) else 0.0 for x in matrix]
    return np.reshape(values, matrix.shape)


def orders(library: Library, matrices: Quadratic) -> list[list[int]]:
    """Sets of candidates with independent matrices: linear ones first, or last."""
    linear = is_linear(library)
    columns = np.concatenate([m.reshape(len(m), -1) for m in matrices], axis=1)
    fixed = np.flatnonzero(library.fixed)
    result = []
    for first in (True, False):
        order = sorted(range(len(columns)), key=lambda i: linear[i] != first)
        chosen: list[int] = []
        for i in order:
            tried = columns[[*fixed, *chosen, i]]
            if i not in fixed and np.linalg.matrix_rank(tried) == len(tried):
                chosen.append(i)
        if sorted(chosen) not in result:
            result.append(sorted(chosen))
    return result


def start_of_modes(
    library: Library, matrices: Quadratic, chosen: Sequence[int], channels, modes
) -> np.ndarray:
    """Coefficients of all candidates; those not `chosen` are zero, or given.

    `modes` are frequencies, damping ratios and shapes, (mode,) and (mode, channel).
    """
    frequency, damping, shapes = modes
    fixed = np.concatenate([library.fixed, np.zeros(len(library.dissipation))])
    elastic = [i for i in chosen if not matrices.damping[i].any()]
    lossy = [i for i in chosen if matrices.damping[i].any()]
    first = _of_shapes(matrices, fixed, elastic, channels, frequency, shapes)
    c = _of_frequencies(matrices, first, elastic, channels, frequency, shapes)
    return _damped(matrices, c, lossy, frequency, damping)


def sensed(channels, rate: complex) -> np.ndarray:
    """What sensors see of q exp(rate t), shape (channel, dof)."""
    return (
        channels.position + rate * channels.velocity + rate**2 * channels.acceleration
    )


def _of_shapes(matrices, fixed, elastic, channels, frequency, shapes) -> np.ndarray:
    """M and K closest to Σ a ψψᵀ and Σ a ω² ψψᵀ, a ≥ 0; all alike without shapes."""
    n = matrices.mass.shape[1]
    c, typical = fixed.copy(), np.mean(np.square(frequency))
    mass = np.tensordot(fixed, matrices.mass, 1)
    level = np.abs(mass).max()
    for i in elastic:
        size = np.abs(matrices.mass[i] + matrices.stiffness[i] / typical).max()
        stiff = matrices.stiffness[i].any()
        sign = np.sign(np.trace(matrices.stiffness[i]) if stiff else 1.0)
        c[i] = sign * level / size
    motion = [
        np.linalg.lstsq(sensed(channels, 1j * w), y)[0]
        for w, y in zip(frequency, shapes, strict=True)
    ]
    if np.linalg.matrix_rank(sensed(channels, 1j * frequency[0])) < n:
        return c
    real = np.array([_real(x) for x in motion]).T
    if np.linalg.cond(real) > 1 / np.sqrt(np.finfo(float).eps):
        return c
    psi = np.linalg.inv(real)
    outer = np.einsum("ra,rb->rab", psi, psi)
    scaled = [matrices.mass, matrices.stiffness / typical]
    weights = [np.ones(n), np.square(frequency) / typical]
    left = np.vstack(
        [
            np.vstack([m[elastic], -w[:, None, None] * outer]).reshape(-1, n * n).T
            for m, w in zip(scaled, weights, strict=True)
        ]
    )
    right = -np.concatenate([np.tensordot(fixed, m, 1).ravel() for m in scaled])
    size = np.linalg.norm(left, axis=0)
    low = np.concatenate([np.full(len(elastic), -np.inf), np.zeros(n)])
    fit = lsq_linear(left / size, right, bounds=(low, np.inf))
    c[elastic] = (fit.x / size)[: len(elastic)]
    return c


def _real(shape: np.ndarray) -> np.ndarray:
    """A complex shape turned to the real axis, of unit length."""
    turned = shape * np.exp(-0.5j * np.angle(np.sum(shape**2)))
    return turned.real / np.linalg.norm(turned.real)


def _modes(matrices: Quadratic, c: np.ndarray):
    """Squares of the undamped frequencies and mass-normalised shapes; None if none."""
    mass, stiffness = (np.tensordot(c, m, 1) for m in matrices[:2])
    try:
        squares, shapes = eigh(stiffness, mass)
    except np.linalg.LinAlgError:
        return None
    return (squares, shapes) if squares[0] > 0 else None


def _of_frequencies(matrices, first, elastic, channels, frequency, shapes):
    """Coefficients moved until frequencies, and shapes at the sensors, agree."""
    c = first.copy()
    scale = np.where(first[elastic] == 0, 1.0, np.abs(first[elastic]))
    unit_shapes = [y / np.linalg.norm(y) for y in shapes]
    count = len(frequency) * (1 + 2 * len(channels.names))

    def misfit(relative):
        c[elastic] = first[elastic] + scale * relative
        result = _modes(matrices, c)
        rows = [relative / PRIOR_ERROR]
        if result is None:
            return np.concatenate([*rows, np.full(count, NO_MODES)])
        rows.append(np.log(np.sqrt(result[0]) / frequency) / FREQUENCY_ERROR)
        for w, shape, y in zip(
            np.sqrt(result[0]), result[1].T, unit_shapes, strict=True
        ):
            model = sensed(channels, 1j * w) @ shape
            # No sensor may see the mode of a start without coupling.
            power = max((model.conj() @ model).real, np.finfo(float).tiny)
            miss = y - model * (model.conj() @ y) / power
            rows += [miss.real / SHAPE_ERROR, miss.imag / SHAPE_ERROR]
        return np.concatenate(rows)

    if elastic:
        fit = least_squares(misfit, np.zeros(len(elastic)))
        misfit(fit.x)
    return c


def _damped(matrices, c, lossy, frequency, damping) -> np.ndarray:
    """The coefficients with damping by modes; mode by mode positive."""
    result = _modes(matrices, c)
    if result is None or not lossy:
        return c
    ratio = np.clip(damping, *DAMPING_RATIOS)
    n = len(ratio)
    modal = np.einsum("ar,iab,bs->irs", result[1], matrices.damping[lossy], result[1])
    weight = np.where(np.eye(n) > 0, 1.0, OFF_DIAGONAL)
    target = np.diag(2 * ratio * frequency).ravel()
    left = (modal * weight).reshape(len(lossy), -1).T
    free, *_ = np.linalg.lstsq(left, target)
    if (np.diag(np.tensordot(free, modal, 1)) <= 0).any():
        free = lsq_linear(left, target, bounds=(0, np.inf)).x
    c = c.copy()
    c[lossy] = free
    return c
