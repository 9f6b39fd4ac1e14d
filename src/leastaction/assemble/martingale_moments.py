"""Martingale moments of the stochastic Euler–Lagrange equation.

Along a path, the increment of every candidate over one step is

.. math::  X_i = Δ(∂D_i/∂\\dot q) − ∫_{t_k}^{t_{k+1}} ∂D_i/∂q\\,dt ,

and for the true coefficients Σ c_i X_i = ∫ S dW has mean zero given the past. So it is
orthogonal to every function Z of the state at the *left* end of the step:

.. math::  E[Z(t_k) \\, Σ_i c_i X_i] = 0 .

No ensemble mean is taken, hence zero-mean and stationary data carry full
information; no derivative is formed, hence nothing is amplified; and the noise in X_i
is uncorrelated with Z, hence no errors-in-variables bias.
"""

import math
from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.contracts import check, time_step
from leastaction.mechanics.candidates import candidates
from leastaction.mechanics.euler_lagrange import symbols, velocity_names
from leastaction.mechanics.evaluator import evaluator
from leastaction.mechanics.increments import step_increments
from leastaction.mechanics.library import Library

CONTRACT = "moments"
BLOCK = 1000


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Moments Σ Z Xᵀ of one replicate, and the second moments of Z and X.

    The integral is the trapezoid with its end correction,
    ∫F dt ≈ dt/2 (F₀ + F₁) + dt²/12 (F₀' − F₁') with F' = ∂F/∂q q̇, exact to O(dt⁵) for
    forces that depend on the coordinates.

    Parameters
    ----------
    observations
        One replicate, contract ``observations``.
    derivatives
        One replicate, contract ``realised_variation``; passed on as the first guess of
        the noise.
    settings
        `instrument_degree`: Z are all monomials of the state up to this degree, or up
        to a lower one (at least 2) if there were more than `most_instruments`.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        Contract ``moments``. Candidates that algebra removes are not there.
    """
    check(derivatives, "realised_variation")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    keep = terms.columns
    instruments = _instruments(coordinates, settings)
    moment, z_gram, x_gram, samples = _accumulate(
        observations, coordinates, terms.column_terms, instruments
    )
    return xr.Dataset(
        {
            "moment": (
                ("replicate", "trajectory", "dof", "instrument", "term"),
                moment[None],
                {"units": "mixed", "long_name": "sum of Z X^T of each trajectory"},
            ),
            "instrument_gram": (
                ("replicate", "instrument", "instrument_other"),
                z_gram[None],
                {"units": "mixed", "long_name": "sum of Z Z^T"},
            ),
            "increment_gram": (
                ("replicate", "dof", "dof_other", "term", "term_other"),
                x_gram[None],
                {"units": "mixed", "long_name": "sum of X X^T"},
            ),
            "realised_covariation": derivatives["realised_covariation"],
            "frequency": derivatives["frequency"],
            "samples": (
                "replicate",
                [samples],
                {"units": "1", "long_name": "number of increments"},
            ),
            "time_step": (
                "replicate",
                [time_step(observations)],
                {"units": "s", "long_name": "time step"},
            ),
            "status": (
                "term",
                np.array([terms.status[i] for i in keep], dtype=object),
                {"units": "1", "long_name": "what algebra says about the term"},
            ),
            "library_status": (
                "candidate",
                np.array(terms.status, dtype=object),
                {"units": "1", "long_name": "status of every candidate"},
            ),
            "library_equivalent": (
                "candidate",
                np.array(terms.freedom.equivalent, dtype=object),
                {"units": "1", "long_name": "equivalent of a removed candidate"},
            ),
            "library_given": (
                "candidate",
                terms.given,
                {"units": "mixed", "long_name": "coefficient given by the reference"},
            ),
        },
        coords={
            "replicate": observations["replicate"],
            "dof": coordinates,
            "term": [terms.names[i] for i in keep],
            "instrument": [str(z) for z in instruments],
            "candidate": terms.names,
        },
    )


def _instruments(coordinates, settings) -> tuple[sp.Expr, ...]:
    state = (*coordinates, *velocity_names(coordinates))
    degree = settings["instrument_degree"]
    while (
        degree > 2
        and math.comb(len(state) + degree, degree) > (settings["most_instruments"])
    ):
        degree -= 1
    return candidates([{"polynomial": {"of": state, "degree": degree}}], state)


def _accumulate(observations, coordinates, columns, instruments):
    """Stream the ensemble in blocks that fit the cache."""
    dof, m, p = len(coordinates), len(columns), len(instruments)
    q_symbols = symbols(coordinates)
    v_symbols = symbols(velocity_names(coordinates))
    momenta = [sp.diff(term, v) for v in v_symbols for term in columns]
    forces = [sp.diff(term, x) for x in q_symbols for term in columns]
    rates = [
        sum(sp.diff(f, x) * v for x, v in zip(q_symbols, v_symbols, strict=True))
        for f in forces
    ]
    evaluate = evaluator([*momenta, *forces, *rates, *instruments], coordinates)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    dt = time_step(observations)
    steps = q.shape[1] - 1
    width = dof * m
    moment = np.zeros((q.shape[0], p, width))
    z_gram = np.zeros((p, p))
    x_gram = np.zeros((width, width))
    for trajectory in range(q.shape[0]):
        for start in range(0, steps, BLOCK):
            window = slice(start, min(start + BLOCK, steps) + 1)
            values = evaluate(q[trajectory, window], qdot[trajectory, window])
            momentum, force, rate = (
                values[:, i * width : (i + 1) * width] for i in range(3)
            )
            x = step_increments(momentum, force, rate, dt)
            z = np.ascontiguousarray(values[:-1, 3 * width :])
            moment[trajectory] += z.T @ x
            z_gram += z.T @ z
            x_gram += x.T @ x
    moment = np.moveaxis(moment.reshape(-1, p, dof, m), 1, 2)
    x_gram = np.moveaxis(x_gram.reshape(dof, m, dof, m), 2, 1)
    return (
        np.ascontiguousarray(moment),
        z_gram,
        np.ascontiguousarray(x_gram),
        (q.shape[0] * steps),
    )
