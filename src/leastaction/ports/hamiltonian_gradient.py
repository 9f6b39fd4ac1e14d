"""Efforts that are the gradient of a Hamiltonian by construction, block by block.

The efforts of one block of states depend on these alone and are ∂H_b/∂x: a Gaussian
process of H_b with observed gradients. J, R, B and the constraints g are known. Hence

.. math::  z = \\nabla_x \\Big( \\sum_b H_b(x_b) - g(x)^T λ \\Big) , \\qquad
           z_\\text{data} = (J - R)^{-1} (E \\dot x - B u) ,

so that Eᵀz = ∇H holds, and algebraic efforts depend on their own states: the equation
keeps its index, which it loses if "zero on the data" is learned as "zero everywhere".
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse, symbol
from leastaction.ports.contracts import CONTRACTS
from leastaction.ports.dae import Constraint, compiled, linearised
from leastaction.ports.effort_data import (
    training_data,
    training_set,
    transform_of,
    with_training_data,
)
from leastaction.ports.hamiltonian_process import process_of

# Of a multiplier: the efforts of its own state are known.
NO_BLOCK = -1


def identify(equations: xr.Dataset, settings: Mapping) -> xr.Dataset:
    """Fit every block to every training set.

    The hyperparameters are stored as ``parameter_<block>_<name>``.
    """
    states = [str(name) for name in equations["state"].values]
    blocks = [[states.index(name) for name in block] for block in settings["blocks"]]
    multipliers = [states.index(name) for name in settings["multipliers"]]
    _, known = _known_part(equations, multipliers)
    inverse = np.linalg.inv(transform_of(equations))
    result: dict[str, list] = {}
    for x, y in training_data(equations):
        z = y @ inverse.T - known(x)[0]
        for k, block in enumerate(blocks):
            random = np.random.default_rng([settings["seed"], k])
            process = process_of(block).fit(x[:, block], z[:, block], random=random)
            for name, value in process.parameters.items():
                result.setdefault(f"parameter_{k}_{name}", []).append(value)
    number = np.full(len(states), NO_BLOCK)
    for k, block in enumerate(blocks):
        number[block] = k
    stored = {key: _stored(key, values) for key, values in result.items()}
    return with_training_data(
        CONTRACTS["effort_gradient"],
        equations,
        {**stored, "block": number, "multiplier": np.array(multipliers, dtype=int)},
    )


def _stored(key: str, values: Sequence) -> xr.Variable:
    array = np.array(values, dtype=float)
    entry = () if array.ndim == 1 else (f"entry_{key}",)
    about = {"units": "SI units", "long_name": "hyperparameter of a block of states"}
    return xr.Variable(("replicate", "fit", *entry), array[None], about)


def _known_part(
    equations: xr.Dataset, multipliers: Sequence[int]
) -> tuple[Callable, Callable]:
    """−g(x)ᵀλ of the Hamiltonian, and its gradient with its Hessian, of states."""
    states = [str(name) for name in equations["state"].values]
    x = [symbol(name) for name in states]
    g = [parse(str(text), states) for text in equations["constraint"].values]
    energy = -sp.Add(*(e * x[i] for e, i in zip(g, multipliers, strict=True)))
    gradient = [sp.diff(energy, s) for s in x]
    return compiled([x], [energy]), linearised(x, gradient, sp.hessian(energy, x))


class GradientEfforts:
    """Efforts of one fit, rebuilt from a stored model."""

    def __init__(self, dataset: xr.Dataset, fit: int):
        self._energy, self._known = _known_part(dataset, dataset["multiplier"].values)
        self._states = [str(name) for name in dataset["state"].values]
        self._texts = [str(text) for text in dataset["constraint"].values]
        self.constraint = Constraint.of(self._states, self._texts)
        self._differential = dataset["flow_matrix"].values.any(axis=0)
        x, y = training_set(dataset, fit)
        z = y @ np.linalg.inv(transform_of(dataset)).T - self._known(x)[0]
        number, self.blocks = dataset["block"].values, []
        for k in range(number.max() + 1):
            block, prefix = np.flatnonzero(number == k), f"parameter_{k}_"
            parameters = {
                str(key).removeprefix(prefix): values.values[0, fit]
                for key, values in dataset.data_vars.items()
                if str(key).startswith(prefix)
            }
            process = process_of(block)(x[:, block], z[:, block], **parameters)
            self.blocks.append((block, process))
        blocks, size = [block for block, _ in self.blocks], len(self._states)
        self._places = np.concatenate(blocks)
        self._entries = np.concatenate([np.add.outer(b * size, b).flat for b in blocks])

    def linearised(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return z and ∂z/∂x of states; the blocks of the latter are Hessians."""
        z, slopes = self._known(x)
        result = [one.linearised(x.take(block, axis=1)) for block, one in self.blocks]
        z[:, self._places] += np.concatenate([efforts for efforts, _ in result], 1)
        flat = slopes.reshape(len(x), -1)
        hessians = [hessian.reshape(len(x), -1) for _, hessian in result]
        flat[:, self._entries] += np.concatenate(hessians, 1)
        return z, slopes

    def covariance(self, x: np.ndarray) -> np.ndarray:
        """Covariance of z at each point, without that inside of a block."""
        result = np.zeros((len(x), *(len(self._states),) * 2))
        for block, process in self.blocks:
            result[:, block, block] = process.std(x[:, block]) ** 2
        return result

    def hamiltonian(self, x: np.ndarray) -> np.ndarray:
        """H of states; algebraic states have no energy but −gᵀλ."""
        total = self._energy(x)
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
            kind = f"grad H({names})" if stored else "an algebraic effort"
            parts.append(f"  z_{k + 1}({names}) = {kind}")
        if self._texts:
            parts.append(f"  known constraints: {', '.join(self._texts)} = 0")
        return parts
