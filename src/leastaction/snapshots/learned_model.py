"""Models that are learned from snapshots without candidates.

A learned Lagrangian L = Σ b_i φ_i is, as a rule, an inverse modified one: what a
variational integrator of step h needs to show the motion without discretisation error.
The Lagrangian of the motion itself, its Hamiltonian and its momenta follow by backward
error analysis, to an order in h (Ober-Blöbaum and Offen, section 2.3).
"""

import logging
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.symmetries import Symmetry, polynomials, symmetries_of
from leastaction.snapshots import backward_error_numerical as backward
from leastaction.snapshots.bases import Basis
from leastaction.snapshots.contracts import BASIS
from leastaction.snapshots.discrete_lagrangian import discrete_momenta
from leastaction.snapshots.turned_features import basis_of
from leastaction.snapshots.variational_integrator import Rollout, VariationalIntegrator

log = logging.getLogger(__name__)

# Of Newton's method for velocities, and its largest correction that may be round-off.
ITERATIONS, LARGEST_ROUND_OFF = 20, 1e-4
# Their partial derivatives are held in memory at once.
STATES_PER_BATCH = 1000
# Of the polynomial F of a Noether quantity, and what of it is round-off.
GAUGE_DEGREE, RCOND = 4, 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class LearnedLagrangian:
    """Lagrangian without terms to read, and the integrator it was learned for.

    If it is no `shadow`, as one learned from accelerations, L itself is that of the
    motion.
    """

    basis: Basis  # functions φ of (q, q̇)
    coefficients: np.ndarray  # b, shape (function,)
    time_step: float  # h, s
    rule: str
    # F of the posterior covariance FᵀF of b, shape (direction, function).
    factor: np.ndarray | None = None
    shadow: bool = True  # whether L is an inverse modified Lagrangian
    coordinates: tuple[str, ...] = ()
    diagnostics: tuple[str, ...] = ()  # lines that are printed with the model
    symmetries: tuple[Symmetry, ...] = ()  # affine ones that were looked for and pass

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> "LearnedLagrangian":
        """Model of one replicate and case, contract ``learned_lagrangian``."""
        numbers = {
            name: array
            for name, array in dataset.data_vars.items()
            if array.dims == ("replicate",) and name not in BASIS
            if np.isfinite(array.values[0])  # NaN: not looked for
        }
        lines = [
            f"{array.values[0]:.4g}  {name}: {array.attrs['long_name']}"
            for name, array in numbers.items()
        ]
        return cls(
            basis_of(dataset),
            dataset["coefficient"].values[0],
            float(dataset.attrs["time_step"]),
            str(dataset.attrs["rule"]),
            dataset["factor"].values[0] if "factor" in dataset else None,
            bool(dataset.attrs["shadow"]),
            coordinates_of(dataset),
            tuple(lines),
            tuple(symmetries_of(dataset.isel(replicate=0))),
        )

    def noether(self, symmetry: Symmetry, positions: np.ndarray) -> np.ndarray:
        """p·ξ − F of snapshots (time, dof), discrete momenta; shape (time − 1,).

        F is the polynomial whose differences are closest to the change of L_d along ξ.
        """
        first, second = positions[:-1], positions[1:]
        arguments = self.basis, first, second, self.time_step, self.rule
        before, after = (
            (p @ self.coefficients).T for p in discrete_momenta(*arguments)
        )
        ends = (symmetry.field(second) * after).sum(axis=1)
        change = ends - (symmetry.field(first) * before).sum(axis=1)
        scale = positions.std(axis=0)
        values, _ = polynomials(positions, scale, GAUGE_DEGREE)
        f = np.linalg.lstsq(np.diff(values, axis=0), change, rcond=RCOND)[0]
        return ends - values[1:] @ f

    def main_order(self, orders) -> int:
        """Order, of ascending `orders`, whose momentum starts the motion.

        Paper: the momentum of a Lagrangian that is not a shadow is ∂L/∂q̇ itself.
        """
        return orders[-1] if self.shadow else orders[0]

    def modified(
        self, states: np.ndarray, order: int, derivatives: int = 0
    ) -> np.ndarray:
        """Partial derivatives of L^[k], k = `order`, shape (index, sample)."""
        needed = backward.needed_order(order, derivatives)
        derivatives_of_l = self.basis.derivatives(states, self.coefficients, needed)
        velocity, h = states[:, self.basis.dof :], self.time_step
        result = backward.modified_lagrangian(
            derivatives_of_l, velocity, h, order, self.rule
        )
        return result[: backward.monomials(states.shape[1], derivatives)]

    def hamiltonian_derivatives(
        self, states: np.ndarray, order: int, derivatives: int = 0
    ) -> np.ndarray:
        """H^[k] of states and its partial derivatives, graded, (index, sample)."""
        n, pieces = self.basis.dof, []
        for i in range(0, len(states), STATES_PER_BATCH):
            some = states[i : i + STATES_PER_BATCH]
            lagrangian = self.modified(some, order, derivatives + 1)
            pieces.append(backward.energy(lagrangian, some[:, n:]))
        return np.concatenate(pieces, axis=1)

    def hamiltonian(self, states, order: int = 2) -> np.ndarray:
        """H^[k] of states (sample, 2 dof), k = `order`, in the units of the learned L.

        Of a shadow Lagrangian it is the energy of the motion up to h^k; of another the
        energy that its integrator conserves, and H^[0] that of the motion.
        """
        return self.hamiltonian_derivatives(np.atleast_2d(states), order)[0]

    def momentum(self, states: np.ndarray, order: int) -> np.ndarray:
        """∂L^[k]/∂q̇ of states, shape (sample, dof)."""
        return backward.momentum(self.modified(states, order, 1), self.basis.dof)

    def mass(self, state: np.ndarray, order: int) -> np.ndarray:
        """∂²L^[k]/∂q̇∂q̇ at a state, shape (dof, dof)."""
        result = self.modified(np.asarray(state)[None], order, 2)
        return backward.mass_matrices(result, self.basis.dof)[0]

    def velocity(
        self,
        positions: np.ndarray,
        momenta: np.ndarray,
        guess: np.ndarray,
        order: int,
    ) -> np.ndarray:
        """Velocities whose momenta ∂L^[k]/∂q̇ are given, by Newton's method.

        Raises a RuntimeError if it does not converge.
        """
        n, velocity = self.basis.dof, np.array(guess, dtype=float)
        before = np.inf
        for _ in range(ITERATIONS):
            states = np.concatenate([positions, velocity], axis=1)
            result = self.modified(states, order, 2)
            residual = momenta - backward.momentum(result, n)
            mass = backward.mass_matrices(result, n)
            step = np.linalg.solve(mass, residual[..., None])[..., 0]
            velocity += step
            size = np.abs(step).max() / max(1.0, np.abs(velocity).max())
            # An ill-conditioned L (large coefficients, small mass) no longer gets
            # nearer at 1e-7, because of round-off.
            if size <= 1e-12 or before / 2 < size < LARGEST_ROUND_OFF:
                return velocity
            before = size
        raise RuntimeError(
            f"velocities of {len(positions)} momenta did not converge in {ITERATIONS} "
            f"iterations (last step {np.abs(step).max():.2g}); the learned mass may be "
            "singular there"
        )

    @cached_property
    def integrator(self) -> VariationalIntegrator:
        """Compiled variational integrator of L."""
        arguments = self.basis, self.coefficients, self.time_step, self.rule
        return VariationalIntegrator(*arguments)

    def rollout(
        self, state, steps: int, order: int | None = None, every: int = 1, **options
    ) -> Rollout:
        """Motion from a state (q, q̇), `steps` of the step that L was learned for.

        The first momentum is ∂L^[k]/∂q̇, k = `order`, by default 2, or 0 if L is no
        shadow; `every` and `options` as for :meth:`VariationalIntegrator.rollout`.
        """
        if order is None:
            order = 2 if self.shadow else 0
        state, n = np.asarray(state, dtype=float), self.basis.dof
        try:
            momentum = self.momentum(state[None], order)[0]
            return self.integrator.rollout(
                state[:n], momentum, steps, state[n:], every=every, **options
            )
        except np.linalg.LinAlgError as error:
            path = np.full((steps // every + 1, n), np.nan)
            momenta, path[0] = np.full_like(path, np.nan), state[:n]
            return Rollout(path, momenta, 0, f"step 1: {error}", 0.0)

    def through(
        self, first: np.ndarray, second: np.ndarray, steps: int, **options
    ) -> Rollout:
        """Motion through two positions (dof,) a step apart, p₀ = −∇₁L_d(q₀, q₁).

        `options` as for :meth:`VariationalIntegrator.rollout`. No velocity is needed,
        and so no backward error analysis.
        """
        ends = first[None], second[None]
        momenta, _ = discrete_momenta(self.basis, *ends, self.time_step, self.rule)
        velocity = (second - first) / self.time_step
        momentum = momenta[:, 0] @ self.coefficients
        return self.integrator.rollout(first, momentum, steps, velocity, **options)

    def further(
        self, run: Rollout, sample: int, steps: int, order: int, **options
    ) -> Rollout:
        """Every step of a rollout from one of its samples on."""
        position, momentum = run.positions[sample], run.momenta[sample]
        still = np.zeros((1, position.size))
        velocity = self.velocity(position[None], momentum[None], still, order)[0]
        return self.integrator.rollout(position, momentum, steps, velocity, **options)

    def states(
        self, run: Rollout, at: np.ndarray, order: int, every: int = 1
    ) -> np.ndarray:
        """States (sample, 2 dof) of samples `at` of a rollout, velocities from L^[k].

        NaN where the rollout had failed, and where no velocities were found.
        """
        states = np.full((len(at), 2 * self.basis.dof), np.nan)
        done = np.isfinite(run.positions[:, 0]) & np.isfinite(run.momenta[:, 0])
        if done.sum() < 2:
            return states
        at_done = at[at < done.sum()]
        positions, momenta = run.positions[at_done], run.momenta[at_done]
        rough = np.gradient(run.positions[done], self.time_step, axis=0)[at_done]
        try:
            if every > 1:
                # Over many steps a difference quotient is no velocity.
                still = np.zeros_like(positions)
                rough = self.velocity(positions, momenta, still, 0)
            velocity = self.velocity(positions, momenta, rough, order)
        except (np.linalg.LinAlgError, RuntimeError) as error:
            log.warning("no velocities of order %d along a rollout: %s", order, error)
            return states
        states[: len(at_done)] = np.concatenate([positions, velocity], axis=1)
        return states

    def samples(
        self, count: int, rng: np.random.Generator
    ) -> list["LearnedLagrangian"]:
        """Draws from the posterior; a ValueError if there is none."""
        if self.factor is None or not len(self.factor):
            raise ValueError("this Lagrangian was learned without a posterior")
        draws = rng.standard_normal((count, len(self.factor))) @ self.factor
        drawn = self.coefficients + draws
        return [replace(self, coefficients=b, factor=None) for b in drawn]

    def __str__(self) -> str:
        kind = "Inverse modified Lagrangian" if self.shadow else "Lagrangian"
        names = (*self.coordinates, *velocity_names(self.coordinates))
        lines = [
            f"{kind} L({', '.join(names)})",
            f"  {self.basis.size} basis functions: {self.basis}",
            f"  {self.rule} rule, h = {self.time_step:g} s",
            "Diagnostics",
            *(f"  {line}" for line in self.diagnostics),
        ]
        if self.shadow:
            lines.append(
                "L includes the error of its integrator: rollout(state, steps) is the "
                "motion, hamiltonian(states, k) its energy up to h^k"
            )
        lines.append("L is determined up to a factor and a null Lagrangian")
        known = [one for one in self.symmetries if not one.is_open]
        lines += [one.described(self.coordinates) for one in known or self.symmetries]
        return "\n".join(lines)

    __repr__ = __str__


def coordinates_of(dataset: xr.Dataset) -> tuple[str, ...]:
    """Coordinates of a model; NetCDF gives a single name back as text."""
    names = dataset.attrs["dof"]
    return (names,) if isinstance(names, str) else tuple(map(str, names))
