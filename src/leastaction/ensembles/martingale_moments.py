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
from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.candidates import candidates
from leastaction.core.contracts import check, time_step
from leastaction.core.euler_lagrange import (
    rates_along_motion,
    rayleigh_force,
    symbols,
    velocity_names,
)
from leastaction.core.evaluator import evaluator
from leastaction.core.library import Library
from leastaction.ensembles.contracts import CONTRACTS
from leastaction.ensembles.increments import step_increments
from leastaction.ensembles.noise_law import NoiseLaw

CONTRACT = "moments"
BLOCK = 1000
MOST_SKIPPED = 10
# Per trajectory; a shorter one keeps every sample.
FEWEST_INCREMENTS = 200


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

    Parameters
    ----------
    observations
        One replicate, contract ``observations``.
    derivatives
        One replicate, contract ``realised_variation``: the first guess of the noise,
        and its law if it depends on the state.
    settings
        `instrument_degree`: Z are all monomials of the state up to this degree, or up
        to a lower one (at least 2) if there were more than `most_instruments`.
        `largest_turn`: an increment spans as many samples, at most ten, as turn by this
        angle; 0 takes every sample. Slow motion is known as well from increments over
        several samples, at a fraction of the cost. Noise that depends on the state
        needs every sample.
    library
        The `library` section of the example. With ``calculus: stratonovich``, the Itô
        drift that the noise adds is taken out of the increments.

    Returns
    -------
    xr.Dataset
        Contract ``moments``. Candidates that algebra removes are not there; those of
        the Rayleigh function are called ``D: <term>``.
    """
    check(derivatives, "realised_variation")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    names = terms.names + [f"D: {name}" for name in terms.dissipation_names]
    damping = terms.dissipation_freedom
    status = [*terms.status, *damping.status]
    equivalent = [*terms.freedom.equivalent, *damping.equivalent]
    first = len(terms.terms)
    keep = [*terms.columns, *(first + j for j in damping.independent)]
    noise = NoiseLaw(derivatives, coordinates)
    sampling_step = time_step(observations)
    if not noise.varies:
        observations = _thinned(observations, derivatives, settings)
    instruments = monomial_instruments(coordinates, settings)
    columns = _columns(terms, noise)
    moment, z_gram, x_gram, weighted = _accumulate(
        observations, coordinates, columns, instruments, noise
    )
    samples = observations.sizes["trajectory"] * (observations.sizes["time"] - 1)
    return CONTRACTS[CONTRACT].dataset(
        {
            "moment": moment,
            "instrument_gram": z_gram,
            "increment_gram": x_gram,
            "weighted_gram": weighted,
            "realised_covariation": derivatives["realised_covariation"],
            "frequency": derivatives["frequency"],
            "samples": [samples],
            "time_step": [time_step(observations)],
            "sampling_step": [sampling_step],
            "status": [status[i] for i in keep],
            "library_status": status,
            "library_equivalent": equivalent,
            "library_given": np.append(terms.given, np.zeros(len(terms.dissipation))),
        },
        coords={
            "replicate": observations["replicate"],
            "dof": coordinates,
            "term": [names[i] for i in keep],
            "instrument": [str(z) for z in instruments],
            "candidate": names,
        },
        attrs={
            "lagrangian_candidates": len(terms.terms),
            "state_dependent_noise": int(noise.varies),
        },
    )


def _thinned(observations, derivatives, settings) -> xr.Dataset:
    """Every n-th sample, n from the angle that the fastest coordinate turns by."""
    frequency = derivatives["frequency"].values
    frequency = frequency[np.isfinite(frequency) & (frequency > 0)]
    if not frequency.size:
        return observations
    turn = frequency.max() * time_step(observations)
    steps = observations.sizes["time"] - 1
    most = min(MOST_SKIPPED, steps // FEWEST_INCREMENTS)
    every = int(np.clip(settings["largest_turn"] / turn, 1, max(most, 1)))
    # From memory: a file gives every n-th sample more slowly than all of them.
    return observations.load().isel(time=slice(0, None, every))


def monomial_instruments(coordinates, settings) -> tuple[sp.Expr, ...]:
    """Monomials of the state up to `instrument_degree`, or fewer if too many."""
    state = (*coordinates, *velocity_names(coordinates))
    degree = settings["instrument_degree"]
    while (
        degree > 2
        and math.comb(len(state) + degree, degree) > (settings["most_instruments"])
    ):
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
        forces = [
            force + correction
            for force, correction in zip(
                forces, noise.ito_correction(momenta), strict=True
            )
        ]
    return [*momenta, *forces, *rates]


def _accumulate(observations, coordinates, columns, instruments, noise: NoiseLaw):
    """Stream the ensemble in blocks that fit the cache."""
    dof, p, width = len(coordinates), len(instruments), len(columns) // 3
    m = width // dof
    evaluate = evaluator([*columns, *instruments], coordinates, noise.parameters)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    dt = time_step(observations)
    steps = q.shape[1] - 1
    moment = np.zeros((q.shape[0], p, width))
    z_gram = np.zeros((dof, p, p))
    x_gram, weighted = np.zeros((width, width)), np.zeros((width, width))
    for trajectory in range(q.shape[0]):
        for start in range(0, steps, BLOCK):
            stop = min(start + BLOCK, steps)
            window = slice(start, stop + 1)
            values = evaluate(
                q[trajectory, window], qdot[trajectory, window], noise.values
            )
            momentum, force, rate = (
                values[:, i * width : (i + 1) * width] for i in range(3)
            )
            x = step_increments(momentum, force, rate, dt)
            z = np.ascontiguousarray(values[:-1, 3 * width :])
            x_gram += x.T @ x
            if not noise.varies:
                z_gram[0] += z.T @ z
                moment[trajectory] += z.T @ x
                continue
            w = noise.weights(q[trajectory], qdot[trajectory], start, stop)
            root = np.repeat(np.sqrt(w), m, axis=1)
            x *= root
            weighted += x.T @ x
            moment[trajectory] += z.T @ (x * root)
            for a in range(dof):
                z_gram[a] += (z * w[:, a, None]).T @ z
    if not noise.varies:
        z_gram[:], weighted = z_gram[0], x_gram
    moment = np.moveaxis(moment.reshape(-1, p, dof, m), 1, 2)
    grams = (np.moveaxis(g.reshape(dof, m, dof, m), 2, 1) for g in (x_gram, weighted))
    return (
        np.ascontiguousarray(moment),
        z_gram,
        *(np.ascontiguousarray(gram) for gram in grams),
    )
