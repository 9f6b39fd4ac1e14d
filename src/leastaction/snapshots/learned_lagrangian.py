"""A learned inverse modified Lagrangian L = Σ b_i φ_i and all that follows from it.

It is what a variational integrator of step h needs to show the motion without
discretisation error. The Lagrangian of the motion itself, its Hamiltonian and its
momenta follow by backward error analysis, to an order in h (Ober-Blöbaum and Offen,
section 2.3).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
import xarray as xr

from leastaction.snapshots import backward_error_numerical as backward
from leastaction.snapshots.discrete_lagrangian import Basis
from leastaction.snapshots.radial_basis import RadialBasis
from leastaction.snapshots.tanh_layer import TanhLayer
from leastaction.snapshots.variational_integrator import (
    Rollout,
    VariationalIntegrator,
)
from leastaction.snapshots.weight_space import WeightSpace

# Relative corrections of a velocity that may be round-off.
ROUND_OFF = 1e-4


@dataclass(frozen=True, eq=False)
class LearnedLagrangian:
    """Basis and coefficients of a Lagrangian, and the integrator it was learned for.

    Attributes
    ----------
    basis
        Functions φ of (q, q̇).
    coefficients
        b, shape (function,).
    time_step
        h, s.
    rule
        ``midpoint`` or ``trapezoidal``.
    factor
        F of the posterior covariance FᵀF of b, shape (direction, function); empty if
        there is none.
    shadow
        Whether L is an inverse modified Lagrangian. If not, as for a Lagrangian learned
        from accelerations, L itself is that of the motion.
    """

    basis: Basis
    coefficients: np.ndarray
    time_step: float
    rule: str
    factor: np.ndarray | None = None
    shadow: bool = True

    def derivatives(self, states: np.ndarray, order: int) -> np.ndarray:
        """All partial derivatives of L up to `order`, shape (index, sample).

        In the order of :mod:`leastaction.snapshots.backward_error_numerical`.
        """
        if isinstance(self.basis, RadialBasis):
            return self.basis.derivatives(states, self.coefficients, order)
        axes = range(states.shape[1])
        return np.array(
            [
                self.basis.partial(states, *chosen) @ self.coefficients
                for total in range(order + 1)
                for chosen in combinations_with_replacement(axes, total)
            ]
        )

    def modified(
        self, states: np.ndarray, order: int, derivatives: int = 0
    ) -> np.ndarray:
        """Partial derivatives up to `derivatives` of L^[k], k = `order`.

        Shape (index, sample).
        """
        needed = backward.needed_order(order, derivatives)
        given = self.derivatives(states, needed)
        if order:
            velocity = states[:, self.basis.dof :]
            given = backward.modified_lagrangian(
                given, velocity, self.time_step, order, self.rule
            )
        rows = len(
            [
                chosen
                for total in range(derivatives + 1)
                for chosen in combinations_with_replacement(
                    range(states.shape[1]), total
                )
            ]
        )
        return given[:rows]

    def hamiltonian(
        self, states: np.ndarray, order: int, derivatives: int = 0
    ) -> np.ndarray:
        """H^[k] of states and its partial derivatives, shape (index, sample).

        The first row is the value, the next 2 dof rows the gradient in (q, q̇).
        """
        lagrangian = self.modified(states, order, derivatives + 1)
        return backward.energy(lagrangian, states[:, self.basis.dof :])

    def momentum(self, states: np.ndarray, order: int) -> np.ndarray:
        """∂L^[k]/∂q̇ of states, shape (sample, dof)."""
        return backward.momentum(self.modified(states, order, 1), self.basis.dof)

    def velocity(
        self,
        positions: np.ndarray,
        momenta: np.ndarray,
        guess: np.ndarray,
        order: int,
        iterations: int = 20,
    ) -> np.ndarray:
        """Velocities whose momenta ∂L^[k]/∂q̇ are given, by Newton's method.

        It ends where corrections no longer shrink because of round-off, which an
        ill-conditioned L (large coefficients, small mass) meets at 1e-7.

        Raises
        ------
        RuntimeError
            If it does not converge.
        """
        n, velocity = self.basis.dof, np.array(guess, dtype=float)
        second = list(combinations_with_replacement(range(2 * n), 2))
        before = np.inf
        for _ in range(iterations):
            states = np.concatenate([positions, velocity], axis=1)
            found = self.modified(states, order, 2)
            mass = np.empty((len(states), n, n))
            for row, (i, j) in zip(found[1 + 2 * n :], second, strict=True):
                if i >= n:
                    mass[:, i - n, j - n] = mass[:, j - n, i - n] = row
            wanted = momenta - backward.momentum(found, n)
            step = np.linalg.solve(mass, wanted[..., None])[..., 0]
            velocity += step
            size = np.abs(step).max() / max(1.0, np.abs(velocity).max())
            if size <= 1e-12 or before / 2 < size < ROUND_OFF:
                return velocity
            before = size
        raise RuntimeError(
            f"velocities of {len(positions)} momenta did not converge in {iterations} "
            f"iterations (last step {np.abs(step).max():.2g}); the learned mass may be "
            "singular there"
        )

    @cached_property
    def integrator(self) -> VariationalIntegrator:
        """Compiled variational integrator of L."""
        return VariationalIntegrator(
            self.basis, self.coefficients, self.time_step, self.rule
        )

    def rollout(
        self, state: np.ndarray, steps: int, order: int = 2, **options
    ) -> Rollout:
        """Motion from a state (q, q̇), its momentum from L^[k], k = `order`.

        `options` are those of :meth:`VariationalIntegrator.rollout`. Of a Lagrangian
        that is not a shadow, order 0 gives what the paper does.
        """
        state, n = np.asarray(state, dtype=float), self.basis.dof
        momentum = self.momentum(state[None], order)[0]
        return self.integrator.rollout(state[:n], momentum, steps, state[n:], **options)

    def samples(
        self, count: int, rng: np.random.Generator
    ) -> list["LearnedLagrangian"]:
        """Draws from the posterior.

        Raises
        ------
        ValueError
            If there is no posterior.
        """
        if self.factor is None or not len(self.factor):
            raise ValueError("this Lagrangian was learned without a posterior")
        draws = rng.standard_normal((count, len(self.factor))) @ self.factor
        return [
            LearnedLagrangian(
                self.basis,
                self.coefficients + draw,
                self.time_step,
                self.rule,
                shadow=self.shadow,
            )
            for draw in draws
        ]


def basis_variables(basis: Basis) -> dict[str, tuple]:
    """Variables (dims, values, attributes) that describe a basis, of one replicate."""

    def variable(dims, values, meaning):
        array = np.asarray(values, dtype=float)[None]
        return ("replicate", *dims), array, {"units": "mixed", "long_name": meaning}

    if isinstance(basis, WeightSpace):
        return {
            "degree": variable((), basis.degree, "total degree of the features"),
            "length_scale": variable((), basis.length_scale, "length scale"),
            "inputs": variable(("variable", "state"), basis.inputs, "map of (q, qdot)"),
            "centre": variable(("state",), basis.centre, "centre of the features"),
        }
    if isinstance(basis, RadialBasis):
        return {
            "length_scale": variable((), basis.length_scale, "length scale"),
            "centres": variable(("function", "state"), basis.centres, "centres"),
        }
    return {
        "weights": variable(("function", "state"), basis.weights, "weights of units"),
        "offsets": variable(("function",), basis.offsets, "offsets of units"),
    }


def basis_of(dataset: xr.Dataset) -> Basis:
    """Basis of one replicate from its variables (:func:`basis_variables`)."""
    one: Mapping[str, np.ndarray] = {
        name: dataset[name].values[0]
        for name in dataset.data_vars
        if dataset[name].dims[:1] == ("replicate",)
    }
    if "inputs" in one:
        return WeightSpace(
            int(one["degree"]), float(one["length_scale"]), one["inputs"], one["centre"]
        )
    if "centres" in one:
        return RadialBasis(one["centres"], float(one["length_scale"]))
    if "weights" in one:
        return TanhLayer(one["weights"], one["offsets"])
    raise ValueError(
        f"no basis among {sorted(dataset.data_vars)}; expected 'inputs' and 'centre', "
        "'centres', or 'weights' and 'offsets'"
    )


def lagrangian_of(dataset: xr.Dataset) -> LearnedLagrangian:
    """Learned Lagrangian of one replicate and case, contract ``learned_lagrangian``."""
    factor = dataset["factor"].values[0] if "factor" in dataset else None
    return LearnedLagrangian(
        basis_of(dataset),
        dataset["coefficient"].values[0],
        float(dataset.attrs["time_step"]),
        str(dataset.attrs["rule"]),
        factor,
        bool(dataset.attrs["shadow"]),
    )
