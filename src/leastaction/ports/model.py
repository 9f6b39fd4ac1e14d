"""Identified efforts of a port-Hamiltonian system: print, evaluate, simulate."""

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.ports.dae import PortDae
from leastaction.ports.effort_data import training_set, transform_of


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
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return tuple(str(name) for name in self.dataset["state"].values)

    @property
    def training_size(self) -> int:
        """Samples that this fit has seen."""
        return int(self.dataset["training_size"].values[self.fit])

    @cached_property
    def transform(self) -> np.ndarray:
        """A = J − R."""
        return transform_of(self.dataset)

    @cached_property
    def training_data(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (sample, state) and targets (sample, row)."""
        return training_set(self.dataset, self.fit)

    @cached_property
    def _fitted(self):
        return EFFORTS[self.dataset.attrs["contract"]](self)

    def efforts(self, x) -> np.ndarray:
        """Posterior mean of z, shape (point, effort)."""
        return self._fitted.efforts(np.atleast_2d(x))

    def transformed(self, x) -> np.ndarray:
        """Posterior mean of (J − R) z, shape (point, row)."""
        return self.efforts(x) @ self.transform.T

    def jacobian(self, x) -> np.ndarray:
        """Posterior mean of ∂z/∂x, shape (point, effort, state)."""
        return self._fitted.jacobian(np.atleast_2d(x))

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
            states=self.states,
            flow=known["flow_matrix"].values,
            structure=known["structure_matrix"].values,
            dissipation=known["dissipation_matrix"].values,
            port=known["port_matrix"].values,
            efforts=self.efforts,
            jacobian=self.jacobian,
            hamiltonian=self.hamiltonian,
            constraint=getattr(self._fitted, "constraint", None),
            at=getattr(self._fitted, "at", None),
        )

    def __str__(self) -> str:
        lines = [
            f"Port-Hamiltonian model with states {', '.join(self.states)}",
            f"  E dx/dt = (J - R) z(x) + B u; z from {self.training_size} samples",
            *self._fitted.lines(),
        ]
        x, y = self.training_data
        error = np.sqrt(((self.transformed(x) - y) ** 2).mean(axis=0))
        shown = ", ".join(f"{value:.2g}" for value in error)
        return "\n".join([*lines, f"  residual of (J - R) z, rms by row: {shown}"])


class ProcessEfforts:
    """All efforts as one multi-task process, or each as a process of its own."""

    def __init__(self, model: PortModel):
        from leastaction.ports.multi_task_process import StructuredProcess

        own = model.dataset.isel(replicate=0, fit=model.fit)
        x, y = model.training_data
        everything = list(range(len(model.states)))
        joint = model.dataset.sizes["process"] == 1
        if joint:
            places, transforms, outputs = [everything], [model.transform], y
        else:
            places = [[j] for j in everything]
            transforms = [np.eye(1)] * len(everything)
            outputs = y @ np.linalg.inv(model.transform).T
        self._of_all, self._size = joint, len(everything)
        self._parts = [
            (
                place,
                np.linalg.inv(transform),
                StructuredProcess(
                    x=x,
                    y=outputs[:, place],
                    transformation=transform,
                    length_scale=float(length_scale),
                    task_vector=own["task_vector"].values[place],
                    task_diagonal=own["task_diagonal"].values[place],
                    noise=own["noise_variance"].values[place],
                ),
            )
            for place, transform, length_scale in zip(
                places, transforms, own["length_scale"].values, strict=True
            )
        ]

    def efforts(self, x: np.ndarray) -> np.ndarray:
        """As :meth:`PortModel.efforts`."""
        return np.hstack([process.effort(x) for _, _, process in self._parts])

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """As :meth:`PortModel.jacobian`."""
        parts = [
            np.einsum("ij,pjs->pis", inverse, process.jacobian(x))
            for _, inverse, process in self._parts
        ]
        return np.concatenate(parts, axis=1)

    def covariance(self, x: np.ndarray) -> np.ndarray:
        """As :meth:`PortModel.covariance`."""
        found = np.zeros((len(x), self._size, self._size))
        for place, _, process in self._parts:
            found[(slice(None), *np.ix_(place, place))] = process.effort_covariance(x)
        return found

    def lines(self) -> list[str]:
        """Lines of hyperparameters."""
        processes = [process for _, _, process in self._parts]
        scales = ", ".join(f"{p.length_scale:.4g}" for p in processes)
        if self._of_all:
            likelihood = processes[0].log_likelihood
            about = [
                f"  one Gaussian kernel, length scale {scales}",
                f"  log likelihood {likelihood:.6g}",
            ]
        else:
            about = [f"  one Gaussian kernel per effort, length scales {scales}"]
        return [*about, "  no Hamiltonian: E'z = grad H is not imposed"]


class GradientEfforts:
    """Efforts that are the gradient of a Hamiltonian, block by block."""

    def __init__(self, model: PortModel):
        from leastaction.ports.hamiltonian_gradient import known_part, processes

        dataset = model.dataset
        self.known = known_part(dataset, dataset["multiplier"].values)
        self.constraint = self.known.constraint
        self._differential = dataset["flow_matrix"].values.any(axis=0)
        self._states = model.states
        x, y = model.training_data
        z = y @ np.linalg.inv(model.transform).T - self.known.efforts(x)
        self.blocks = list(processes(dataset, model.fit, x, z))
        self._at = [(np.array(block), process.at) for block, process in self.blocks]
        self._entries = np.concatenate([block for block, _ in self._at])
        pairs = [np.meshgrid(block, block, indexing="ij") for block, _ in self._at]
        self._places = tuple(
            np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1)
        )

    def efforts(self, x: np.ndarray) -> np.ndarray:
        """As :meth:`PortModel.efforts`."""
        found = self.known.efforts(x)
        for block, process in self.blocks:
            found[:, block] += process.efforts(x[:, block])
        return found

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """As :meth:`PortModel.jacobian`; the blocks are Hessians."""
        found = self.known.jacobian(x)
        for block, process in self.blocks:
            found[:, np.array(block)[:, None], block] += process.jacobian(x[:, block])
        return found

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return z and ∂z/∂x at one state."""
        z, slopes = self.known.at(x)
        found = [at(x[block]) for block, at in self._at]
        z[self._entries] += np.concatenate([effort for effort, _ in found])
        slopes[self._places] += np.concatenate([slope.ravel() for _, slope in found])
        return z, slopes

    def covariance(self, x: np.ndarray) -> np.ndarray:
        """As :meth:`PortModel.covariance`, without that inside of a block."""
        found = np.zeros((len(x), *(len(self._states),) * 2))
        for block, process in self.blocks:
            found[:, block, block] = process.std(x[:, block]) ** 2
        return found

    def hamiltonian(self, x: np.ndarray) -> np.ndarray:
        """H of states; algebraic states have no energy but −gᵀλ."""
        total = self.known.hamiltonian(x)
        for block, process in self.blocks:
            if self._differential[block].all():
                total = total + process.hamiltonian(x[:, block])
        return total

    def lines(self) -> list[str]:
        """Lines of what H consists of."""
        parts = []
        for k, (block, _) in enumerate(self.blocks):
            names = ", ".join(self._states[i] for i in block)
            stored = self._differential[block].all()
            parts.append(f"  z_{k + 1}({names}) = " + _kind(stored, names))
        if self.constraint is not None:
            known = ", ".join(self.constraint.texts)
            parts.append(f"  known constraints: {known} = 0")
        return parts


def _kind(stored: bool, names: str) -> str:
    return f"grad H({names})" if stored else "an algebraic effort"


EFFORTS: Mapping[str, Callable] = {
    "effort_process": ProcessEfforts,
    "effort_gradient": GradientEfforts,
}
