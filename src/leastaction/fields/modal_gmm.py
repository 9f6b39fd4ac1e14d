"""Generalised method of moments for fields, whatever time scheme made the data.

Terms are selected on the well-resolved modes, where every scheme agrees to
O((ω dt)²). With the terms fixed, faster modes join, and with them the dispersion ρ of
:mod:`leastaction.fields.modal_moments` as one more unknown:

.. math::

    g(c, ρ) = \\sum Z \\Big(2κ\\,\\frac{Δ^2 q}{dt}
        − \\sum_i c_i\\,dt\\,\\big(F_i + (\\tfrac1{12} + ρ)\\,δ^2 F_i\\big)\\Big),
    \\qquad \\operatorname{Cov} g = γ_0 \\sum Z_k Z_k^T
        + γ_1 \\sum (Z_k Z_{k+1}^T + Z_{k+1} Z_k^T) .

The residual r of overlapping second differences is a moving average of order one with
autocovariances γ₀, γ₁ (ratio ¼ for data that are exact in time, 0 for leapfrog, ½ for
average acceleration). J(c, ρ) = gᵀ Cov⁻¹ g is minimised; subsets compete as in
:mod:`leastaction.core.gmm`. If ρ comes out with a standard error above
`dispersion_error`, the modes are too slow to tell, and the estimate on the
well-resolved modes stands.

The volatility S of a node with a full cell follows from the long-run variance of r,
which does not depend on how time was discretised:

.. math::  γ_0 + 2 γ_1 = S^2\\,dx\\,dt .

The form of S² follows from the same residual at the nodes: with P the projector on the
modes used, the node a has E[r_a² | state] ∝ Σ_b P_ab² S²(state_b).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from leastaction.core import variance_function
from leastaction.core.contracts import check, time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.expressions import to_text
from leastaction.core.gmm import (
    EIGENVALUE_ROUNDOFF,
    MOST_ITERATIONS,
    Fit,
    Selection,
    best_by_criterion,
    iterate,
    lagrangian_estimate,
    root_inverse,
)
from leastaction.fields.domain import ModalForces, NodeEvaluator
from leastaction.fields.ensemble import domain_and_library, one_by_one
from leastaction.fields.library import density_candidates
from leastaction.fields.modal_moments import NUMEROV, test_functions, turn_per_sample
from leastaction.fields.time_scheme import scheme_name

# A residual this much below the second differences, in variance, is rounding error.
NOISE_ROUNDOFF = 1e-12
# So that forces of all terms fit the cache.
SAMPLES_PER_BATCH = 500

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DispersiveMoments:
    """Moments of some of the modes, as a function of the coefficients and of ρ."""

    reference: np.ndarray  # Σ Z Xᵀ of the reference, (instrument,)
    force: np.ndarray  # the same of dt F, (instrument, term)
    curvature: np.ndarray  # and of dt δ²F
    instruments: np.ndarray  # Σ Z Zᵀ at lag 0, and at lags ±1 together
    increments: np.ndarray  # Σ X Xᵀ
    samples: float  # number of second differences
    scale: float  # coefficient of the reference

    @classmethod
    def of(cls, library: xr.Dataset, groups: int) -> "DispersiveMoments":
        """Sum over the first `groups` groups of modes."""

        def total(name):
            return library[name].values[0, :groups].sum(axis=0)

        moment = total("moment")
        terms = moment.shape[1] // 2
        return cls(
            moment[:, 0],
            moment[:, 1 : 1 + terms],
            moment[:, 1 + terms :],
            total("instrument_gram"),
            total("increment_gram"),
            float(total("samples")),
            float(library.attrs["reference_coefficient"]),
        )

    def columns(self, rho: float) -> np.ndarray:
        """Moments of every candidate at dispersion ρ, shape (instrument, term)."""
        return self.force + (NUMEROV + rho) * self.curvature

    def noise(self, c: np.ndarray, rho: float) -> tuple[float, float]:
        """Autocovariances γ₀, γ₁ of the residual."""
        weights = np.concatenate([[self.scale], c, (NUMEROV + rho) * c])
        zero, both = (weights @ gram @ weights for gram in self.increments)
        return zero / self.samples, both / (2 * self.samples)

    def first_noise(self) -> tuple[float, float]:
        """γ₀, γ₁ left by least squares on all candidates, which needs no selection."""
        unit = np.eye(self.force.shape[1])
        mix = np.vstack([np.zeros(len(unit)), unit, NUMEROV * unit])
        gram = self.increments[0]
        inner = mix.T @ gram @ mix
        size = np.sqrt(np.diag(inner))
        values, vectors = np.linalg.eigh(inner / np.outer(size, size))
        good = values > EIGENVALUE_ROUNDOFF * values[-1]
        right = vectors[:, good].T @ (mix.T @ gram[:, 0] / size)
        c = -self.scale * (vectors[:, good] @ (right / values[good])) / size
        return self.noise(c, 0.0)

    def whitener(self, noise: tuple[float, float]) -> np.ndarray:
        """W with W Cov(g) Wᵀ = 1 on the well-determined directions."""
        covariance = noise[0] * self.instruments[0] + noise[1] * self.instruments[1]
        return root_inverse(covariance, np.sqrt(np.diag(self.instruments[0])))


@dataclass(frozen=True)
class _Solution(Fit):
    """A fit with the dispersion ρ, its standard error, and γ₀, γ₁ of the residual."""

    rho: float
    rho_std: float
    noise: tuple[float, float]


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Lagrangian density from modal moments, without its noise.

    Diagnostics: J, `dispersion` ρ with `dispersion_std`, `residual_autocorrelation`
    γ₁/γ₀, and the `scheme` that they name.
    """
    check(library, "modal_moments")
    slow, all_modes = (DispersiveMoments.of(library, groups) for groups in (1, 2))
    end = _select(slow, settings["max_terms"])
    fit = _solve(slow, end.fit, dispersion=False)
    free = _solve(all_modes, end.fit, dispersion=True) if fit.support else fit
    dispersive = bool(fit.support) and free.rho_std < settings["dispersion_error"]
    if dispersive:
        fit = free
    reference_variance = slow.scale**2 * slow.increments[0][0, 0] / slow.samples
    deterministic = bool(fit.noise[0] <= NOISE_ROUNDOFF * reference_variance)
    ratio = fit.noise[1] / fit.noise[0]
    scheme = scheme_name((free.rho, free.rho_std) if dispersive else None, ratio)
    log.info("the samples look like those of: %s", scheme)
    fixed = np.zeros(library.sizes["candidate"])
    scale = library.attrs["reference_coefficient"]
    fixed[library["candidate"].values == library.attrs["reference"]] = scale
    estimate = lagrangian_estimate(
        library,
        replace(end, fit=fit, deterministic=deterministic),
        fixed,
        np.flatnonzero(library["used"].values),
    )
    statistics = ("j_statistic", "j_degrees", "j_p_value", "converged")
    turn = float(library["largest_turn"].values[0, int(dispersive)])
    used = "whether modes that show the dispersion are in the estimate"
    named = "time scheme whose samples look like these"
    diagnostics = {name: estimate.diagnostics[name] for name in statistics} | {
        "dispersion": (free.rho, "1", "dispersion rho of the samples"),
        "dispersion_std": (free.rho_std, "1", "its standard error"),
        "dispersion_used": (int(dispersive), "1", used),
        "largest_turn": (turn, "rad", "largest omega dt of the modes in the estimate"),
        "residual_autocorrelation": (ratio, "1", "gamma_1 / gamma_0 of the residual"),
        "scheme": (np.array(scheme, dtype=object), "1", named),
    }
    return replace(estimate, diagnostics=diagnostics)


def _select(moments: DispersiveMoments, max_terms: int):
    """Best subset on the moments without dispersion, until it repeats itself."""

    def fit(noise):
        w = moments.whitener(noise)
        a = (w @ moments.columns(0.0))[None]
        b = -moments.scale * (w @ moments.reference)[None]
        return best_by_criterion(a, b, max_terms, moments.samples)

    def noise(selection, before):
        return _solve(moments, selection, dispersion=False, noise=before).noise

    return iterate(moments.first_noise(), fit, noise)


def _solve(
    moments: DispersiveMoments, selection: Selection, dispersion: bool, noise=None
) -> _Solution:
    """Minimise J over the coefficients of the support (and ρ), Gauss–Newton."""
    chosen = list(selection.support)
    noise = noise or moments.first_noise()
    c, rho = np.zeros(moments.force.shape[1]), 0.0
    for _ in range(MOST_ITERATIONS):
        w = moments.whitener(noise)
        a = w @ moments.columns(rho)[:, chosen]
        target = -moments.scale * (w @ moments.reference)
        if dispersion:
            if not c.any():
                c[chosen] = np.linalg.lstsq(a, target, rcond=None)[0]
            a = np.hstack([a, (w @ (moments.curvature @ c))[:, None]])
        length = np.linalg.norm(a, axis=0)
        inverse = np.linalg.pinv(a / length) / length[:, None]
        step, covariance = inverse @ target, inverse @ inverse.T
        c = np.zeros_like(c)
        c[chosen] = step[: len(chosen)]
        rho += step[-1] if dispersion else 0.0
        residual = w @ (moments.scale * moments.reference + moments.columns(rho) @ c)
        noise = moments.noise(c, rho)
    of_terms = np.zeros((c.size, c.size))
    of_terms[np.ix_(chosen, chosen)] = covariance[: len(chosen), : len(chosen)]
    return _Solution(
        support=selection.support,
        criterion=selection.criterion,
        ties=selection.ties,
        coefficients=c,
        covariance=of_terms,
        j=float(residual @ residual),
        rank=residual.size - dispersion,
        rho=float(rho),
        rho_std=float(np.sqrt(np.diag(covariance))[-1]) if dispersion else np.nan,
        noise=noise,
    )


def volatility(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Long-run variance with drift removed, and best-subset regression of S².

    Only u is used; candidates with u_t see it as a backward difference. The one entry
    is the field. Its standard error follows from Bartlett's formula for the
    autocovariances of a moving average.
    """
    residual = _Residual(observations, estimate, library)
    terms, _ = density_candidates(library["volatility"], residual.field)
    squares = _Squares(terms, residual)
    sums, count, pairs = np.zeros(2), 0, 0
    for path in one_by_one(observations["u"]):
        r = residual.along(path)
        sums += (np.vdot(r, r), np.vdot(r[1:], r[:-1]))
        count, pairs = count + r.size, pairs + r[1:].size
        squares.add(path, r, settings["decimate"])
    gamma = sums / (count, pairs)
    long_run = gamma[0] + 2 * gamma[1]
    per_area = 1 / (residual.time_step * residual.domain.dx)
    variance = max(long_run * per_area, 0.0)
    spread = 6 * gamma[0] ** 2 + 16 * gamma[1] ** 2 + 16 * gamma[0] * gamma[1]
    relative = np.sqrt(spread / count) / max(long_run, 1e-300)
    coefficients, std = squares.select(settings["max_terms"], variance / gamma[0])
    varying = [i for i, term in enumerate(terms) if term.free_symbols]
    return VolatilityEstimate(
        volatility=np.sqrt([variance]),
        std=np.sqrt([variance]) * relative / 2,
        terms=[to_text(term) for term in terms],
        coefficients=coefficients[None],
        coefficient_std=std[None],
        constant=np.array([not coefficients[varying].any()]),
    )


class _Residual:
    """Residual 2κ Δ²q/dt − Σ c dt (F + (1/12 + ρ) δ²F) of an identified field."""

    def __init__(self, observations, estimate, library):
        self.domain, terms = domain_and_library(observations, library)
        self.field, self.time_step = terms.field, time_step(observations)
        values = {name: value for name, (value, *_) in estimate.diagnostics.items()}
        _, phi = test_functions(terms, self.domain)
        turn = turn_per_sample(observations["u"], self.domain.cell[:, None] * phi)
        self.phi = phi[:, turn <= values["largest_turn"] * (1 + 1e-9)]
        chosen = [i for i in terms.independent if estimate.coefficients[i] != 0]
        self._coefficients = estimate.coefficients[chosen]
        self._forces = ModalForces(
            [terms.terms[i] for i in chosen], self.field, self.domain, self.phi
        )
        rho = values["dispersion"] if values["dispersion_used"] else 0.0
        self._curvature = NUMEROV + rho
        self._kinetic = 2 * terms.reference_coefficient

    def along(self, path: np.ndarray) -> np.ndarray:
        """Residual around the samples 1, 2, ... of a path, shape (sample − 2, mode)."""
        dt = self.time_step
        residual = np.empty((len(path) - 2, self.phi.shape[1]))
        for start in range(0, len(residual), SAMPLES_PER_BATCH):
            q, forces = self._forces(path[start : start + SAMPLES_PER_BATCH + 2])
            force = np.tensordot(self._coefficients, forces, 1)
            r = residual[start : start + SAMPLES_PER_BATCH]
            r[:] = (self._kinetic / dt) * np.diff(q, n=2, axis=0)
            r -= (dt * self._curvature) * np.diff(force, n=2, axis=0)
            r -= dt * force[1:-1]
        return residual


class _Squares:
    """Second moments of candidates of S² and of squared residuals at nodes."""

    def __init__(self, terms, residual: _Residual):
        domain, phi = residual.domain, residual.phi
        self._candidates = NodeEvaluator(terms, residual.field, domain)
        unit = np.sqrt(domain.cell)[:, None] * phi
        nodes = slice(0, None, -(-domain.nodes // phi.shape[1]))
        projector = unit[nodes] @ unit.T
        weights = np.square(projector).sum(axis=1)
        self._spread = (np.square(projector) / weights[:, None]).T
        self._test = (unit[nodes] / np.sqrt(weights)[:, None]).T
        self._gram = np.zeros((len(terms) + 1,) * 2)
        self._count, self._dt = 0, residual.time_step

    def add(self, path: np.ndarray, residual: np.ndarray, decimate: int) -> None:
        """Add some samples of one trajectory; candidates see only what went before."""
        at = slice(1, len(residual), decimate)
        r = residual[at] @ self._test
        earlier, before = path[:-3:decimate], path[1:-2:decimate]
        values = self._candidates(before, (before - earlier) / self._dt)
        both = np.empty((len(values) + 1, r.size))
        both[:-1] = (values @ self._spread).reshape(len(values), -1)
        both[-1] = np.square(r).ravel()
        self._gram += both @ both.T
        self._count += r.size

    def select(self, max_terms: int, scale: float):
        """Coefficients of S² and their errors; the squares times `scale` are S²."""
        unit = np.append(np.ones(len(self._gram) - 1), scale)
        coefficients, covariance = variance_function.select(
            self._gram * np.outer(unit, unit), max_terms, self._count
        )
        return coefficients, np.sqrt(np.diag(covariance))
