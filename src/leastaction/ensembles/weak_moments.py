"""Moments of the weak form, from displacements alone.

A smooth window is integrated against the Euler–Lagrange equation, and both derivatives
of the inertia fall on the window (weak form: Messenger and Bortz 2021; Bortz, Messenger
and Dukic 2023): no velocity is needed, and sensor noise is averaged. The instruments
are a cubic fit to samples before the window. Forces of coordinates alone are taken at
the raw samples, freed of the bias by Appell's operator; what depends on velocities, at
a cubic fit around nodes of the window.

The equation of a true Lagrangian is unbiased if its momenta are linear in q̇ with
constant coefficients. Other kinetic terms are candidates with the small bias of a fit.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.contracts import check, time_step
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.evaluator import evaluator
from leastaction.core.expressions import symbol
from leastaction.core.library import Library
from leastaction.ensembles.appell import unbiased
from leastaction.ensembles.martingale_moments import monomial_instruments
from leastaction.ensembles.moving_average_moments import (
    Moments,
    by_term,
    lagged_gram,
    moments_dataset,
)
from leastaction.ensembles.weak_form import Windows

NARROWEST = 4
FACTORS = (1, 2, 4)


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Weak moments of one replicate at three half widths of the window.

    Parameters
    ----------
    observations
        One replicate with `q`, contract ``displacements`` or ``observations``; q̇ is
        not looked at.
    derivatives
        One replicate, contract ``sensor_noise``. Its smoothing scale s gives the half
        widths s, 2s and 4s.
    settings
        `instrument_degree`: Z are all monomials of the fitted state up to this degree,
        or up to a lower one (at least 2) if there were more than `most_instruments`.
    library
        The `library` section of the example.

    Returns
    -------
    xr.Dataset
        Contract ``moving_average_moments``, one scale per half width.

    Raises
    ------
    ValueError
        If the paths are too short for two windows.
    """
    check(derivatives, "sensor_noise")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = Library.from_config(library, coordinates)
    instruments = monomial_instruments(coordinates, settings)
    scales = _accumulate(observations, derivatives, terms, instruments)
    q = observations["q"]
    return moments_dataset(
        scales,
        derivatives,
        terms,
        [str(z) for z in instruments],
        q.sizes["trajectory"] * (q.sizes["time"] - 1),
        time_step(observations),
    )


class Balance:
    """Euler–Lagrange expressions of all candidates, integrated against windows.

    Attributes
    ----------
    width
        Number of columns that algebra does not show to be zero.
    place
        Their positions among all (dof, term), shape (width,).
    """

    def __init__(self, terms: Library, position_noise: Sequence[float]):
        q = symbols(terms.coordinates)
        qdot = symbols(velocity_names(terms.coordinates))
        momenta = [sp.diff(term, v) for v in qdot for term in terms.column_terms]
        forces = [sp.diff(term, x) for x in q for term in terms.column_terms]
        pairs = zip(momenta, forces, strict=True)
        self.place = np.array([i for i, pair in enumerate(pairs) if any(pair)])
        self.width = len(self.place)
        momenta = [momenta[i] for i in self.place]
        forces = [forces[i] for i in self.place]
        mass = [constant_mass(p, qdot) for p in momenta]
        self._mass = np.array([row or [0.0] * len(q) for row in mass], dtype=float).T
        noise = [f"{name}_variance" for name in terms.coordinates]
        variance = {x: symbol(s) for x, s in zip(q, noise, strict=True)}
        self._variance = np.square(np.asarray(position_noise, dtype=float))
        moving = [f.has(*qdot) for f in forces]
        self._raw = [i for i, f in enumerate(forces) if f and not moving[i]]
        self._fitted = [i for i, f in enumerate(forces) if f and moving[i]]
        self._curved = [i for i, p in enumerate(momenta) if p and mass[i] is None]
        self._at_samples = evaluator(
            [unbiased(forces[i], variance) for i in self._raw], terms.coordinates, noise
        )
        self._at_fit = evaluator(
            [momenta[i] for i in self._curved] + [forces[i] for i in self._fitted],
            terms.coordinates,
        )

    def force_at_samples(self, q: np.ndarray) -> np.ndarray:
        """Forces that depend on coordinates only, at the samples of one path."""
        return self._at_samples(q, np.zeros_like(q), self._variance)

    def __call__(
        self,
        q: np.ndarray,
        force: np.ndarray,
        fit: tuple[np.ndarray, np.ndarray],
        windows: Windows,
    ) -> np.ndarray:
        """Integrals over the windows of one path, shape (window, width).

        Parameters
        ----------
        q
            Shape (samples, dof).
        force
            :meth:`force_at_samples` of `q`.
        fit
            q and q̇ at the nodes of `windows`.
        """
        rows = (windows.inertia @ q) @ self._mass
        rows[:, self._raw] -= windows.force @ force
        if self._curved or self._fitted:
            values = self._at_fit(*fit)
            split = len(self._curved)
            rows[:, self._curved] += windows.smooth_momentum @ values[:, :split]
            rows[:, self._fitted] -= windows.smooth_force @ values[:, split:]
        return rows


def constant_mass(momentum: sp.Expr, qdot: Sequence[sp.Symbol]) -> list[float] | None:
    """M with p = M q̇ if M is a row of numbers, else None."""
    mass = [sp.diff(momentum, v) for v in qdot]
    rest = momentum - sum(m * v for m, v in zip(mass, qdot, strict=True))
    if all(m.is_number for m in mass) and sp.expand(rest) == 0:
        return [float(m) for m in mass]
    return None


def _accumulate(observations, derivatives, terms, instruments) -> list[Moments]:
    q = observations["q"].values[0]
    dof, m, p = q.shape[2], len(terms.columns), len(instruments)
    lag = int(derivatives["lag"].values[0])
    balance = Balance(terms, derivatives["position_noise"].values[0])
    evaluate = evaluator(list(instruments), terms.coordinates)
    scales = _windows(q.shape[1], derivatives, time_step(observations), lag)
    width = balance.width
    moment = [np.zeros((p, width)) for _ in scales]
    z_gram = [np.zeros((one.lags + 1, p, p)) for one in scales]
    x_gram = [np.zeros((one.lags + 1, width, width)) for one in scales]
    for path in q:
        force = balance.force_at_samples(path)
        for i, one in enumerate(scales):
            fit = one.position @ path, one.velocity @ path
            rows = balance(path, force, fit, one)
            z = evaluate(*(state[one.before] for state in fit))
            moment[i] += z.T @ rows
            z_gram[i] += lagged_gram(z, one.lags)
            x_gram[i] += lagged_gram(rows, one.lags)
    place = balance.place
    results = []
    for i, one in enumerate(scales):
        full_moment = np.zeros((p, dof * m))
        full_moment[:, place] = moment[i]
        full_gram = np.zeros((one.lags + 1, dof * m, dof * m))
        full_gram[:, place[:, None], place] = x_gram[i] / (len(q) * len(one.before))
        results.append(
            Moments(
                np.moveaxis(full_moment.reshape(p, dof, m), 0, 1),
                z_gram[i],
                by_term(full_gram, dof),
                one.half_width,
            )
        )
    return results


def _windows(samples: int, derivatives, dt: float, lag: int) -> list[Windows]:
    """Windows of the half widths s, 2s, 4s that fit into a path at least twice over."""
    scale = max(NARROWEST, int(derivatives["smoothing_scale"].values[0]))
    found = [
        Windows.of_half_width(factor * scale, samples, lag, dt) for factor in FACTORS
    ]
    found = [one for one in found if len(one.before) > 2 * one.lags]
    if not found:
        raise ValueError(
            f"the sensor noise hides the motion over {scale} of {samples} samples; "
            "record longer paths or better sensors"
        )
    return found
