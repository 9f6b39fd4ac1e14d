"""Martingale moments of the stochastic Euler–Lagrange equation.

Along a path, the increment of every candidate over one step is

.. math::  X_i = Δ(∂D_i/∂\\dot q) − ∫_{t_k}^{t_{k+1}} ∂D_i/∂q\\,dt ,

and for the true coefficients Σ c_i X_i = ∫ S dW has mean zero given the past. So it is
orthogonal to every function Z of the state at the *left* end of the step:

.. math::  E[Z(t_k) \\, Σ_i c_i X_i] = 0 .

A candidate R_j of the Rayleigh function has X_j = +∫ ∂R_j/∂\\dot q dt. Where the noise
depends on the state, both factors of the moment are divided by the volatility g that
the increments show without a model; then every step tells as much as any other:

.. math::  Σ_k \\frac{Z(t_k)}{g_k^2} Σ_i c_i X_i , \\qquad
           \\mathrm{Cov} = Ω\\,dt Σ_k \\frac{Z Z^T}{g_k^2} .

No ensemble mean is taken, hence zero-mean and stationary data carry full
information; no derivative is formed, hence nothing is amplified; and the noise in X_i
is uncorrelated with Z, hence no errors-in-variables bias.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import check, time_step
from leastaction.core.euler_lagrange import (
    rates_along_motion,
    rayleigh_force,
    symbols,
    velocity_names,
)
from leastaction.core.expressions import parse, symbol
from leastaction.core.library import Library, candidates
from leastaction.core.variance_function import step_average
from leastaction.ensembles.contracts import CONTRACTS

# So that what is made of them fits the processor's cache.
INCREMENTS_PER_BATCH = 1000
MOST_SAMPLES_PER_INCREMENT = 10
# Per trajectory; a shorter one keeps every sample.
FEWEST_INCREMENTS = 200
# Smallest g² in the weights, in units of its mean. A square vanishes on a line only,
# and the average over a step does not; another law may be negative by error.
FLOOR_OF_A_SQUARE = 1e-8
FLOOR_OF_ANOTHER_LAW = 1e-2


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Moments Σ Z Xᵀ of one replicate, and the second moments of Z and X.

    The integral is the trapezoid with its end correction,
    ∫F dt ≈ dt/2 (F₀ + F₁) + dt²/12 (F₀' − F₁') with F' = ∂F/∂q q̇, exact to O(dt⁵) for
    forces that depend on the coordinates. The end of the step is in it, and with it
    the noise; but a trapezoid has the right mean given the past to O(dt³), also for
    forces that depend on the velocity, and its noise is uncorrelated with ∫ S dW.

    Candidates that algebra removes are not there; those of the Rayleigh function are
    called ``D: <term>``. With ``calculus: stratonovich``, the Itô drift that the noise
    adds is taken out of the increments. ValueError if a coordinate is at rest.

    An increment spans as many samples, at most ten, as turn by `largest_turn`: slow
    motion is known as well from increments over several, at a fraction of the cost.
    """
    check(derivatives, "realised_variation")
    coordinates = [str(name) for name in observations["dof"].values]
    mean_squares = np.diag(derivatives["realised_covariation"].values[0])
    if still := [n for n, x in zip(coordinates, mean_squares, strict=True) if x == 0]:
        raise ValueError(
            f"the velocity of {', '.join(still)} does not fluctuate; expected a "
            "randomly excited motion. Leave the coordinate out, or use a recipe of "
            "leastaction.recipes.trajectories"
        )
    terms = Library.from_config(library, coordinates)
    status, columns, names = about_candidates(terms)
    noise = NoiseLaw(derivatives, coordinates)
    # Noise that depends on the state needs every sample.
    turn = 0.0 if noise.varies else settings["largest_turn"]
    thinned = _thinned(observations, derivatives, turn)
    instruments = monomial_instruments(coordinates, settings)
    q, qdot, dt = thinned["q"].values[0], thinned["qdot"].values[0], time_step(thinned)
    return CONTRACTS["moments"].dataset(
        {
            **_sums(q, qdot, dt, _columns(terms, noise), instruments, noise),
            "realised_covariation": derivatives["realised_covariation"],
            "frequency": derivatives["frequency"],
            "samples": [q.shape[0] * (q.shape[1] - 1)],
            "time_step": [dt],
            "sampling_step": [time_step(observations)],
            **status,
        },
        coords={
            "replicate": observations["replicate"],
            "dof": coordinates,
            "term": columns,
            "instrument": [str(z) for z in instruments],
            "candidate": names,
        },
        attrs={
            "lagrangian_candidates": len(terms.terms),
            "state_dependent_noise": int(noise.varies),
        },
    )


class NoiseLaw:
    """g²(q, q̇) of each degree of freedom: weights of the moments, Itô correction.

    `varies` says whether g depends on the state in any equation; `parameters` and
    `values` are names and values of the coefficients in :meth:`ito_correction`.
    """

    def __init__(self, derivatives: xr.Dataset, coordinates: Sequence[str]):
        self.coordinates = tuple(coordinates)
        state = (*coordinates, *velocity_names(coordinates))
        texts = [str(name) for name in derivatives["volatility_term"].values]
        terms = [parse(text, state) for text in texts]
        law = derivatives["squared_volatility"].values[0]
        varying = [i for i, term in enumerate(terms) if term.free_symbols]
        self._each = law[:, varying].any(axis=1)
        self.varies = bool(self._each.any())
        self.parameters: list[str] = []
        self.values: list[float] = []
        if not self.varies:
            return
        self._mean = np.diag(derivatives["realised_covariation"].values[0])
        self._square = derivatives["perfect_square"].values[0].astype(bool)
        self._squares = []
        for a, row in enumerate(law):
            square = sp.Integer(0)
            for i in np.flatnonzero(row):
                self.parameters.append(f"noise_{a}_{i}")
                self.values.append(float(row[i]))
                square += symbol(self.parameters[-1]) * terms[i]
            self._squares.append(square)
        evaluate = evaluator(self._squares, coordinates, self.parameters)
        self._evaluate = lambda q, qdot: evaluate(q, qdot, self.values)

    def weights(self, q, qdot, start: int, stop: int) -> np.ndarray:
        """⟨g²⟩/g² averaged over the steps start ... stop − 1, shape (step, dof).

        Known before the noise of the step: the path is extrapolated from two samples.
        """
        now = np.arange(start, stop)
        before = np.maximum(now - 1, 0)
        average = step_average(
            self._evaluate, (q[before], qdot[before]), (q[now], qdot[now])
        )
        floor = np.where(self._square, FLOOR_OF_A_SQUARE, FLOOR_OF_ANOTHER_LAW)
        weights = self._mean / np.maximum(average, floor * self._mean)
        weights[:, ~self._each] = 1.0
        return weights

    # Stratonovich noise obeys d(∂L/∂q̇) − ∂L/∂q dt = S ∘ dW with S = M g; in the sense
    # of Itô this is S dW + ½ Σ_b g_b ∂S/∂q̇_b dt (Wong and Zakai 1965), linear in the
    # candidates of L once g² is known. Each process drives its own velocity.
    def ito_correction(self, momenta: Sequence[sp.Expr]) -> list[sp.Expr]:
        """Drift of each momentum, ½ Σ_b g_b ∂(M_ab g_b)/∂q̇_b with M_ab = ∂p_a/∂q̇_b."""
        corrections = []
        velocities = symbols(velocity_names(self.coordinates))
        for momentum in momenta:
            total = sp.Integer(0)
            for v, square in zip(velocities, self._squares, strict=True):
                mass = sp.diff(momentum, v)
                total += sp.diff(mass, v) * square + mass * sp.diff(square, v) / 2
            corrections.append(total / 2)
        return corrections


def about_candidates(terms: Library) -> tuple[dict, list[str], list[str]]:
    """Status of the candidates, names of the columns, and of all candidates."""
    damping = terms.dissipation_freedom
    names = terms.names + [f"D: {name}" for name in terms.dissipation_names]
    status = [*terms.status, *damping.status]
    first = len(terms.terms)
    keep = [*terms.columns, *(first + j for j in damping.independent)]
    about = {
        "status": [status[i] for i in keep],
        "library_status": status,
        "library_equivalent": [*terms.freedom.equivalent, *damping.equivalent],
        "library_given": np.append(terms.fixed, np.zeros(len(terms.dissipation))),
    }
    return about, [names[i] for i in keep], names


def _thinned(observations, derivatives, largest_turn: float) -> xr.Dataset:
    """Every n-th sample, n from the angle that the fastest coordinate turns by."""
    frequency = derivatives["frequency"].values
    frequency = frequency[np.isfinite(frequency) & (frequency > 0)]
    if not frequency.size:
        return observations
    turn = frequency.max() * time_step(observations)
    steps = observations.sizes["time"] - 1
    most = min(MOST_SAMPLES_PER_INCREMENT, steps // FEWEST_INCREMENTS)
    every = int(np.clip(largest_turn / turn, 1, max(most, 1)))
    # From memory: a file gives every n-th sample more slowly than all of them.
    return observations.load().isel(time=slice(0, None, every))


def monomial_instruments(coordinates, settings) -> tuple[sp.Expr, ...]:
    """Monomials of the state up to `instrument_degree`.

    Up to a lower degree, at least 2, if there were more than `most_instruments`.
    """
    state = (*coordinates, *velocity_names(coordinates))
    degree = settings["instrument_degree"]
    most = settings["most_instruments"]
    while degree > 2 and math.comb(len(state) + degree, degree) > most:
        degree -= 1
    return candidates([{"polynomial": {"of": state, "degree": degree}}], state)


def _columns(terms: Library, noise: NoiseLaw) -> list[sp.Expr]:
    """Momenta, forces and rates of the forces, dof by dof, those of D at the end."""
    q, qdot = (symbols(f(terms.coordinates)) for f in (tuple, velocity_names))
    damping = [
        rayleigh_force(terms.dissipation[j], terms.coordinates)
        for j in terms.dissipation_freedom.independent
    ]
    momenta, forces = [], []
    for a, (x, v) in enumerate(zip(q, qdot, strict=True)):
        momenta += [sp.diff(term, v) for term in terms.column_terms]
        momenta += [sp.Integer(0)] * len(damping)
        forces += [sp.diff(term, x) for term in terms.column_terms]
        forces += [-force[a] for force in damping]
    rates = rates_along_motion(forces, terms.coordinates)
    if terms.calculus == "stratonovich" and noise.varies:
        corrections = noise.ito_correction(momenta)
        forces = [f + more for f, more in zip(forces, corrections, strict=True)]
    return [*momenta, *forces, *rates]


def _sums(q, qdot, dt, columns, instruments, noise: NoiseLaw) -> dict:
    """Moments and Gram matrices, from the ensemble in blocks that fit the cache."""
    dof, p, width = q.shape[2], len(instruments), len(columns) // 3
    evaluate = evaluator([*columns, *instruments], noise.coordinates, noise.parameters)
    steps, m = q.shape[1] - 1, width // dof
    moment = np.zeros((q.shape[0], p, width))
    z_gram = np.zeros((dof, p, p))
    x_gram, weighted = np.zeros((2, width, width))
    for path, rate, sums in zip(q, qdot, moment, strict=True):
        for start in range(0, steps, INCREMENTS_PER_BATCH):
            stop = min(start + INCREMENTS_PER_BATCH, steps)
            window = slice(start, stop + 1)
            values = evaluate(path[window], rate[window], noise.values)
            x = step_increments(*np.split(values[:, : 3 * width], 3, axis=1), dt)
            z = np.ascontiguousarray(values[:-1, 3 * width :])
            x_gram += x.T @ x
            if not noise.varies:
                z_gram[0] += z.T @ z
                sums += z.T @ x
                continue
            w = noise.weights(path, rate, start, stop)
            root = np.repeat(np.sqrt(w), m, axis=1)
            x *= root
            weighted += x.T @ x
            sums += z.T @ (x * root)
            for a in range(dof):
                z_gram[a] += (z * w[:, a, None]).T @ z
    if not noise.varies:
        z_gram[:], weighted = z_gram[0], x_gram
    moment = np.moveaxis(moment.reshape(-1, p, dof, m), 1, 2)
    x_gram, weighted = (
        np.ascontiguousarray(np.moveaxis(gram.reshape(dof, m, dof, m), 2, 1))
        for gram in (x_gram, weighted)
    )
    return {
        "moment": np.ascontiguousarray(moment),
        "instrument_gram": z_gram,
        "increment_gram": x_gram,
        "weighted_gram": weighted,
    }


def step_increments(
    momentum: np.ndarray, force: np.ndarray, rate: np.ndarray, time_step: float
) -> np.ndarray:
    """Δ(∂D/∂q̇) − ∫∂D/∂q dt of each step, from ∂D/∂q̇, F = ∂D/∂q and F' = ∂F/∂q q̇."""
    increments = np.diff(momentum, axis=0)
    increments -= (time_step / 2) * (force[1:] + force[:-1])
    increments += (time_step**2 / 12) * np.diff(rate, axis=0)
    return increments
