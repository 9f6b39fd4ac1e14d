"""What every identification method returns for the Lagrangian of one replicate."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class LagrangianEstimate:
    """Coefficients of one identified Lagrangian L = Σ c_i D_i, and of its damping.

    Attributes
    ----------
    terms
        All candidates of the library.
    coefficients, std
        c and its standard error (NaN where the method gives none).
    status, equivalent
        What algebra says about each candidate.
    noise_covariance, noise_std
        S Sᵀ of the residual, shape (dof, dof), and its standard error; NaN where the
        method leaves the noise to the volatility method; empty where there is none.
    diagnostics
        Name to (value, unit, meaning).
    criterion
        Selection criterion of the best subset of size 0, 1, 2, ...
    alternatives
        Other subsets that fit as well, as text; empty if there is none.
    by_node
        Arrays with dimensions of their own, such as those of a field node by node: name
        to (dimensions, values, unit, meaning).
    by_equation
        Coefficients that each equation of motion gave, shape (dof, term), where a
        method treats the equations apart.
    dissipation_terms, dissipation_coefficients, dissipation_std, dissipation_status, \
    dissipation_equivalent
        The same of the Rayleigh function D = Σ d_j R_j; empty if there is no candidate.
    """

    terms: list[str]
    coefficients: np.ndarray
    std: np.ndarray
    status: list[str]
    equivalent: list[str]
    noise_covariance: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    noise_std: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    diagnostics: Mapping[str, tuple[float, str, str]] = field(default_factory=dict)
    criterion: np.ndarray = field(default_factory=lambda: np.zeros(0))
    alternatives: str = ""
    by_node: Mapping[str, tuple] = field(default_factory=dict)
    by_equation: np.ndarray | None = None
    dissipation_terms: list[str] = field(default_factory=list)
    dissipation_coefficients: np.ndarray = field(default_factory=lambda: np.zeros(0))
    dissipation_std: np.ndarray = field(default_factory=lambda: np.zeros(0))
    dissipation_status: list[str] = field(default_factory=list)
    dissipation_equivalent: list[str] = field(default_factory=list)

    @property
    def joint_coefficients(self) -> np.ndarray:
        """c, then d: the coefficients of all columns of a library."""
        return np.concatenate([self.coefficients, self.dissipation_coefficients])


@dataclass(frozen=True)
class VolatilityEstimate:
    """Volatility of each degree of freedom.

    Attributes
    ----------
    volatility, std
        σ and its standard error, shape (dof,).
    terms
        Candidates of σ² (q, q̇).
    coefficients, coefficient_std
        Coefficients of σ² = Σ β_i G_i, shape (dof, term).
    constant
        Whether the volatility is to be read as a constant, shape (dof,).
    covariance
        S Sᵀ from every sample, shape (dof, dof), if the method gives it; otherwise that
        of the Lagrangian's residual stands.
    root, root_std
        Coefficients of S = Σ ρ_i G_i and their standard errors, shape (dof, term); NaN
        where σ² is not the square of such a sum, or the method does not look.
    diagnostics
        Name to (value of shape (dof,), unit, meaning).
    by_node
        As in :class:`LagrangianEstimate`.
    """

    volatility: np.ndarray
    std: np.ndarray
    terms: list[str]
    coefficients: np.ndarray
    coefficient_std: np.ndarray
    constant: np.ndarray
    covariance: np.ndarray | None = None
    root: np.ndarray | None = None
    root_std: np.ndarray | None = None
    diagnostics: Mapping[str, tuple[np.ndarray, str, str]] = field(default_factory=dict)
    by_node: Mapping[str, tuple] = field(default_factory=dict)


def no_volatility(dof: int) -> VolatilityEstimate:
    """Return the volatility of a system without random forces."""
    nothing = np.zeros((dof, 0))
    return VolatilityEstimate(
        volatility=np.zeros(dof),
        std=np.zeros(dof),
        terms=[],
        coefficients=nothing,
        coefficient_std=nothing,
        constant=np.ones(dof, dtype=bool),
        covariance=np.zeros((dof, dof)),
    )
