"""Volatility of a field from the long-run variance of modal second differences.

The residual r of :mod:`leastaction.fields.modal_gmm` is a moving average of order
one, whose weights depend on how time was discretised. Its long-run variance does not:

.. math::  γ_0 + 2 γ_1 = S^2\\,dx\\,dt .

S is the volatility of a node with a full cell dx; nodes with a smaller cell get
S √(dx/cell), so that the noise of every mode of unit mass is S √dx.

The form of S² follows from the same residual at the nodes: with P the projector on the
modes used, the node a has E[r_a² | state] ∝ Σ_b P_ab² S²(state_b).
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core import variance_function
from leastaction.core.contracts import time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.expressions import to_text
from leastaction.fields.domain import Domain
from leastaction.fields.ensemble import one_by_one
from leastaction.fields.evaluate import ModalForces, NodeEvaluator
from leastaction.fields.library import FieldLibrary, density_candidates
from leastaction.fields.modal_moments import NUMEROV
from leastaction.fields.modal_projection import test_functions, turn_per_sample

# So that forces of all terms fit the cache.
SAMPLES_PER_BATCH = 500


def identify(
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
    per_area = 1 / (time_step(observations) * residual.dx)
    variance = max((gamma[0] + 2 * gamma[1]) * per_area, 0.0)
    spread = 6 * gamma[0] ** 2 + 16 * gamma[1] ** 2 + 16 * gamma[0] * gamma[1]
    relative = np.sqrt(spread / count) / max(gamma[0] + 2 * gamma[1], 1e-300)
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
        self.domain = Domain.from_attributes(observations.attrs)
        self.field, self.dx = str(observations.attrs["field"]), self.domain.dx
        terms = FieldLibrary.from_config(library, self.field)
        _, phi = test_functions(terms, self.domain)
        turn = turn_per_sample(observations["u"], self.domain.cell[:, None] * phi)
        largest = estimate.diagnostics["largest_turn"][0]
        self.phi = phi[:, turn <= largest * (1 + 1e-9)]
        chosen = [i for i in terms.independent if estimate.coefficients[i] != 0]
        self._coefficients = estimate.coefficients[chosen]
        self._forces = ModalForces(
            [terms.terms[i] for i in chosen], self.field, self.domain, self.phi
        )
        self.time_step = time_step(observations)
        used = estimate.diagnostics["dispersion_used"][0]
        rho = estimate.diagnostics["dispersion"][0] if used else 0.0
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
        self._residual, self._terms = residual, terms
        self._candidates = NodeEvaluator(terms, residual.field, domain)
        unit = np.sqrt(domain.cell)[:, None] * phi
        nodes = slice(0, None, -(-domain.nodes // phi.shape[1]))
        projector = unit[nodes] @ unit.T
        own = np.square(projector).sum(axis=1)
        self._spread = (np.square(projector) / own[:, None]).T
        self._test = (unit[nodes] / np.sqrt(own)[:, None]).T
        self._gram = np.zeros((len(terms) + 1,) * 2)
        self._count, self._dt = 0, residual.time_step

    def add(self, path: np.ndarray, residual: np.ndarray, decimate: int) -> None:
        """Add some samples of one trajectory; candidates see only what went before."""
        at = slice(1, len(residual), decimate)
        r = residual[at] @ self._test
        earlier, before = path[:-3:decimate], path[1:-2:decimate]
        values = self._candidates(before, (before - earlier) / self._dt)
        both = np.empty((len(self._terms) + 1, r.size))
        both[:-1] = (values @ self._spread).reshape(len(values), -1)
        both[-1] = np.square(r).ravel()
        self._gram += both @ both.T
        self._count += r.size

    def select(self, max_terms: int, scale: float):
        """Coefficients of S² and their errors; the squares times `scale` are S²."""
        unit = np.append(np.ones(len(self._terms)), scale)
        coefficients, covariance = variance_function.select(
            self._gram * np.outer(unit, unit), max_terms, self._count
        )
        return coefficients, np.sqrt(np.diag(covariance))
