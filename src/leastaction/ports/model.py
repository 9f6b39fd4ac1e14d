"""Identified efforts of a port-Hamiltonian system: print, evaluate, simulate."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.ports.dae import PortDae
from leastaction.ports.effort_data import training_set


class PortModel:
    """One fit of the efforts z(x), with what was known of the system.

    Parameters
    ----------
    dataset
        One replicate, contract ``effort_process`` or ``effort_gradient``.
    fit
        Number of the fit; the largest training set of all times if not given.
    """

    def __init__(self, dataset: xr.Dataset, fit: int | None = None):
        self.dataset = dataset
        if fit is None:
            sizes = np.where(dataset["pool"] == "all", dataset["training_size"], 0)
            fit = int(np.argmax(sizes))
        self.fit = fit

    def trained_on(self, size: int, pool: str = "all") -> "PortModel":
        """Fit to a training set of that size.

        Raises
        ------
        KeyError
            If there is none.
        """
        sizes, pools = self.dataset["training_size"].values, self.dataset["pool"].values
        found = np.flatnonzero((sizes == size) & (pools == pool))
        if not found.size:
            raise KeyError(
                f"no fit to {size} samples of {pool} times; there are "
                f"{[*zip(sizes.tolist(), pools.tolist(), strict=True)]}"
            )
        return PortModel(self.dataset, int(found[0]))

    @property
    def training_size(self) -> int:
        """Samples that this fit has seen."""
        return int(self.dataset["training_size"].values[self.fit])

    @cached_property
    def training_data(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (sample, state) and targets (sample, row)."""
        return training_set(self.dataset, self.fit)

    @cached_property
    def _fitted(self):
        if self.dataset.attrs["contract"] == "effort_process":
            from leastaction.ports.multi_task_process import ProcessEfforts as Efforts
        else:
            from leastaction.ports.hamiltonian_gradient import (
                GradientEfforts as Efforts,
            )
        return Efforts(self.dataset, self.fit)

    def efforts(self, x) -> np.ndarray:
        """Posterior mean of z, shape (point, effort)."""
        return self._fitted.linearised(np.atleast_2d(x))[0]

    def transformed(self, x) -> np.ndarray:
        """Posterior mean of (J − R) z, shape (point, row)."""
        return self.efforts(x) @ self.dae.transformation.T

    def jacobian(self, x) -> np.ndarray:
        """Posterior mean of ∂z/∂x, shape (point, effort, state)."""
        return self._fitted.linearised(np.atleast_2d(x))[1]

    def covariance(self, x) -> np.ndarray:
        """Posterior covariance of z at each point, shape (point, effort, effort)."""
        return self._fitted.covariance(np.atleast_2d(x))

    @property
    def hamiltonian(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """H of states (point, state); None where efforts are no gradient."""
        return getattr(self._fitted, "hamiltonian", None)

    @cached_property
    def dae(self) -> PortDae:
        """The identified equation, to be simulated or coupled to others.

        Known constraints are part of it only where the efforts were learned with them.
        """
        known = self.dataset
        return PortDae(
            states=tuple(str(name) for name in known["state"].values),
            flow=known["flow_matrix"].values,
            structure=known["structure_matrix"].values,
            dissipation=known["dissipation_matrix"].values,
            port=known["port_matrix"].values,
            linearised=self._fitted.linearised,
            hamiltonian=self.hamiltonian,
            constraint=getattr(self._fitted, "constraint", None),
        )

    def __str__(self) -> str:
        x, y = self.training_data
        error = np.sqrt(((self.transformed(x) - y) ** 2).mean(axis=0))
        lines = [
            f"Port-Hamiltonian model with states {', '.join(self.dae.states)}",
            f"  E dx/dt = (J - R) z(x) + B u; z from {self.training_size} samples",
            *self._fitted.lines(),
            "  residual of (J - R) z, rms by row: "
            + ", ".join(f"{value:.2g}" for value in error),
        ]
        return "\n".join(lines)

    __repr__ = __str__
