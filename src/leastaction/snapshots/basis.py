"""Functions φ_i(q, q̇) in which a Lagrangian L = Σ b_i φ_i is linear."""

from typing import ClassVar, Self

import numpy as np
import xarray as xr

from leastaction.core.multi_index import factors


class Basis:
    """Functions of (q, q̇) with all partial derivatives.

    A basis has a `size` (number of functions), `dof`, and :meth:`partial`. For rollouts
    it has a compiled `jet`, the gradient and Hessian of L, and to be stored it names
    the attributes that define it (`VARIABLES`, as in the contract
    ``shadow_equations``).
    """

    VARIABLES: ClassVar[tuple[str, ...]] = ()
    size: int
    dof: int

    def partial(self, state: np.ndarray, *axes: int) -> np.ndarray:
        """Partial derivatives of all functions, a new array (sample, function).

        Parameters
        ----------
        state
            (q, q̇), shape (sample, 2 dof).
        axes
            Components of `state` to differentiate by, in any order; none for the
            functions themselves.
        """
        raise NotImplementedError

    def derivatives(
        self, states: np.ndarray, coefficients: np.ndarray, order: int
    ) -> np.ndarray:
        """All partial derivatives up to `order` of Σ b_i φ_i, shape (index, sample).

        In graded order (:mod:`leastaction.core.multi_index`).
        """
        return np.array(
            [
                self.partial(states, *axes) @ coefficients
                for axes in factors(states.shape[1], order)
            ]
        )

    @property
    def jet(self) -> str:
        """Numba source of the gradient of L at z and, if asked, its Hessian.

        ``jet(z, layout, values, work, second_order, gradient, hessian)``.
        """
        raise TypeError(f"{type(self).__name__} has no compiled jet")

    def packed(self, coefficients: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arrays ``layout`` (integers), ``values`` and ``work`` of :attr:`jet`."""
        raise TypeError(f"{type(self).__name__} has no compiled jet")

    def to_dataset(self) -> dict[str, np.ndarray]:
        """Values of its variables in the contract ``shadow_equations``."""
        return {
            name: np.asarray(getattr(self, name), dtype=float)
            for name in self.VARIABLES
        }

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> Self:
        """Basis of one replicate and case from its variables."""
        values = {name: dataset[name].values[0] for name in cls.VARIABLES}
        return cls(**{k: v.item() if np.ndim(v) == 0 else v for k, v in values.items()})


def basis_of(dataset: xr.Dataset) -> Basis:
    """Basis of one replicate from its variables.

    Raises
    ------
    ValueError
        If none is there.
    """
    from leastaction.snapshots.radial_basis import RadialBasis
    from leastaction.snapshots.tanh_layer import TanhLayer
    from leastaction.snapshots.weight_space import WeightSpace

    kinds = (WeightSpace, RadialBasis, TanhLayer)
    for kind in kinds:
        if set(kind.VARIABLES) <= set(dataset.data_vars):
            return kind.from_dataset(dataset)
    raise ValueError(
        f"no basis among {sorted(dataset.data_vars)}; expected "
        + ", or ".join(" and ".join(map(repr, kind.VARIABLES)) for kind in kinds)
    )
