"""Efforts that are the gradient of a Hamiltonian by construction, block by block.

The efforts of one block of states depend on these alone and are ∂H_b/∂x: a Gaussian
process of H_b with observed gradients. J, R, B and the constraints g are known. Hence

.. math::  z = \\nabla_x \\Big( \\sum_b H_b(x_b) - g(x)^T λ \\Big) , \\qquad
           z_\\text{data} = (J - R)^{-1} (E \\dot x - B u) ,

so that Eᵀz = ∇H holds, and algebraic efforts depend on their own states: the equation
keeps its index, which it loses if "zero on the data" is learned as "zero everywhere".

Efforts of one state use :mod:`leastaction.ports.local_kernels`, of several
:mod:`leastaction.ports.gradient_kernel`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import xarray as xr

from leastaction.ports.dae import ConstraintGeometry, constraint_geometry
from leastaction.ports.effort_data import (
    training_data,
    transform_of,
    with_training_data,
)

# Of a multiplier: the efforts of its own state are known.
NO_BLOCK = -1


def identify(equations: xr.Dataset, settings: Mapping) -> xr.Dataset:
    """Fit every block to every training set.

    The hyperparameters are stored as ``parameter_<block>_<name>``.
    """
    states = [str(name) for name in equations["state"].values]
    blocks = [[states.index(name) for name in block] for block in settings["blocks"]]
    multipliers = [states.index(name) for name in settings["multipliers"]]
    known = known_part(equations, multipliers)
    inverse = np.linalg.inv(transform_of(equations))
    found: dict[str, list] = {}
    for x, y in training_data(equations):
        z = y @ inverse.T - known.efforts(x)
        for k, block in enumerate(blocks):
            random = np.random.default_rng([settings["seed"], k])
            process = search_of(block)(x[:, block], z[:, block], random=random)
            for name, value in process.parameters.items():
                found.setdefault(f"parameter_{k}_{name}", []).append(value)
    number = np.full(len(states), NO_BLOCK)
    for k, block in enumerate(blocks):
        number[block] = k
    stored = {key: _stored(key, values) for key, values in found.items()}
    return with_training_data(
        "effort_gradient",
        equations,
        {**stored, "block": number, "multiplier": np.array(multipliers, dtype=int)},
    )


def _stored(key: str, values: Sequence) -> xr.Variable:
    array = np.array([np.asarray(value, dtype=float) for value in values])
    entry = () if array.ndim == 1 else (f"entry_{key}",)
    about = {"units": "SI units", "long_name": "hyperparameter of a block of states"}
    return xr.Variable(("replicate", "fit", *entry), array[None], about)


def search_of(block: Sequence[int]) -> Callable:
    """Search for the hyperparameters of a block: `fit(x, z, random=...)`."""
    from leastaction.ports import gradient_kernel, local_kernels

    return local_kernels.fit if len(block) == 1 else gradient_kernel.fit


def process_of(block: Sequence[int]) -> type:
    """Class of the processes of a block: with `efforts`, `jacobian`, `hamiltonian`."""
    if len(block) == 1:
        from leastaction.ports.local_kernels import LocalProcess

        return LocalProcess
    from leastaction.ports.gradient_kernel import GradientProcess

    return GradientProcess


class KnownPart:
    """−g(x)ᵀλ of the Hamiltonian, with known constraints g.

    Parameters
    ----------
    constraint
        g; None without any.
    multipliers
        Places of λ among the states.
    size
        Number of states.
    """

    def __init__(
        self,
        constraint: ConstraintGeometry | None,
        multipliers: Sequence[int],
        size: int,
    ):
        self.constraint, self.size = constraint, size
        self.multipliers = np.array(multipliers, dtype=int)

    def hamiltonian(self, x: np.ndarray) -> np.ndarray:
        """−g(x)ᵀλ of states (point, state)."""
        if self.constraint is None:
            return np.zeros(len(x))
        return -(self.constraint.value(x) * x[:, self.multipliers]).sum(axis=1)

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian of it at one state (state,)."""
        gradient, hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        if self.constraint is None:
            return gradient, hessian
        first, second = self.constraint.derivatives(x)
        multipliers = x[self.multipliers]
        gradient -= multipliers @ first
        gradient[self.multipliers] -= self.constraint.value(x[None])[0]
        hessian -= (multipliers @ second.reshape(len(multipliers), -1)).reshape(
            hessian.shape
        )
        hessian[:, self.multipliers] -= first.T
        hessian[self.multipliers, :] -= first
        return gradient, hessian

    def efforts(self, x: np.ndarray) -> np.ndarray:
        """Gradient of it, shape (point, state)."""
        found = np.zeros((len(x), self.size))
        if self.constraint is not None:
            found -= np.einsum(
                "pc,pci->pi", x[:, self.multipliers], self.constraint.first(x)
            )
            found[:, self.multipliers] -= self.constraint.value(x)
        return found

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Hessian of it, shape (point, state, state)."""
        found = np.zeros((len(x), self.size, self.size))
        if self.constraint is not None:
            first, second = self.constraint.first(x), self.constraint.second(x)
            found -= np.einsum("pc,pcij->pij", x[:, self.multipliers], second)
            found[:, :, self.multipliers] -= np.swapaxes(first, 1, 2)
            found[:, self.multipliers, :] -= first
        return found


def known_part(equations: xr.Dataset, multipliers: Sequence[int]) -> KnownPart:
    """Known part −gᵀλ of H, with the constraints of the dataset."""
    states = [str(name) for name in equations["state"].values]
    texts = [str(text) for text in equations["constraint"].values]
    return KnownPart(constraint_geometry(states, texts), list(multipliers), len(states))


def processes(
    dataset: xr.Dataset, fit: int, x, z
) -> Iterator[tuple[list[int], object]]:
    """Blocks of one fit with their processes, rebuilt from a stored model.

    Parameters
    ----------
    dataset
        Contract ``effort_gradient``, one replicate.
    fit
        Its number.
    x, z
        Training inputs and efforts without the known part, shape (sample, state).
    """
    number = dataset["block"].values
    for k in range(number.max() + 1):
        block = [int(i) for i in np.flatnonzero(number == k)]
        prefix = f"parameter_{k}_"
        parameters = {
            key.removeprefix(prefix): dataset[key].values[0, fit]
            for key in map(str, dataset.data_vars)
            if key.startswith(prefix)
        }
        yield (
            block,
            process_of(block).from_parameters(x[:, block], z[:, block], parameters),
        )
