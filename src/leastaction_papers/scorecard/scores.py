"""The truth in the words of a library, and scores of identified models against it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.expressions import ExpressionError, parse
from leastaction.core.families import system_from_config
from leastaction.core.library import Library, candidates
from leastaction.core.system import System

# Variables of a number that was identified.
KINDS = ("estimate", "std")


@dataclass(frozen=True)
class Truth:
    """The truth in the words of a library.

    Attributes
    ----------
    coefficients
        c of the Lagrangian Σ c_i D_i with the true equations of motion, shape (term,).
    scale
        Factor between that Lagrangian and the one of the system.
    volatility
        √(S Sᵀ)_aa times `scale`, shape (dof,); NaN where S depends on the state.
    covariance
        S Sᵀ times `scale`², shape (dof, dof); None where S depends on the state.
    dissipation
        d of the true Rayleigh function Σ d_j R_j times `scale`, shape (term of D,).
    """

    library: Library
    coefficients: np.ndarray
    scale: float
    volatility: np.ndarray
    covariance: np.ndarray | None = None
    dissipation: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def terms(self) -> list[int]:
        """Positions of the true terms whose coefficients are to be identified."""
        free = (self.coefficients != 0) & (self.library.fixed == 0)
        return [int(i) for i in np.flatnonzero(free)]

    @property
    def support(self) -> np.ndarray:
        """Whether a candidate is in the true Lagrangian, shape (term,)."""
        return self.coefficients != 0


def truth_of(config: Mapping) -> Truth | None:
    """Truth of an example; None if its library cannot express the system.

    ValueError if one of them is not valid.
    """
    system = system_from_config(config["system"])
    library = system.library(config["library"])
    projection = library.projection(system)
    if projection is None or not _same_drift(system, library):
        return None
    coefficients, scale = projection
    damping = library.damping(system, scale)
    if damping is None:
        return None
    noise = system.noise_matrix
    sizes = [_size(system, noise.row(a)) for a in range(noise.rows)]
    square = system.evaluated(noise * noise.T)
    known = not square.free_symbols
    covariance = scale**2 * np.array(square, dtype=float) if known else None
    size = abs(scale) * np.array(sizes)
    return Truth(library, coefficients, scale, size, covariance, damping)


def _same_drift(system: System, library: Library) -> bool:
    """Whether the calculus of the analysis, Itô or Stratonovich, keeps the drift."""
    if system.calculus == library.calculus:
        return True
    other = replace(system, calculus=library.calculus)
    return bool(sp.simplify(other.acceleration - system.acceleration).is_zero_matrix)


def _size(system: System, row) -> float:
    value = system.evaluated(sp.sqrt(sum((entry**2 for entry in row), sp.Integer(0))))
    return np.nan if value.free_symbols else float(value)


def term_position(text: str, library: Library) -> int:
    """Position of a candidate, however it is written; ValueError if it is none."""
    try:
        return library.terms.index(parse(text, library.variables))
    except ExpressionError as error:
        raise ValueError(f"coefficient {text!r}: {error}") from None
    except ValueError:
        raise ValueError(
            f"coefficient {text!r} is not a candidate of L; these are "
            f"{', '.join(library.names)}"
        ) from None


@dataclass(frozen=True)
class VolatilityLaw:
    """True S of one degree of freedom in the words of a library.

    `square` are the coefficients of (S Sᵀ)_aa, `root` those of S, the first one
    positive, shape (term,); None if S is not in the span, or if several Wiener
    processes add up.
    """

    terms: tuple[sp.Expr, ...]
    square: np.ndarray
    root: np.ndarray | None


def volatility_law(config: Mapping, dof: int, scale: float) -> VolatilityLaw | None:
    """Law of one equation of motion; None if its candidates cannot express S².

    `scale` is the factor from the Lagrangian of the system to the identified one.
    """
    system = System.from_config(config["system"])
    names = [symbol.name for symbol in system.state]
    terms = candidates(config["library"]["volatility"], names)
    row = [abs(scale) * entry for entry in system.evaluated(system.volatility.row(dof))]
    square = expansion(sum((entry**2 for entry in row), sp.Integer(0)), terms)
    if square is None:
        return None
    driven = [entry for entry in row if entry != 0]
    root = expansion(driven[0], terms) if len(driven) == 1 else None
    if root is not None and root.any():
        root = root * np.sign(root[np.flatnonzero(root)[0]])
    return VolatilityLaw(tuple(terms), square, root)


def expansion(expression: sp.Expr, terms: Sequence[sp.Expr]) -> np.ndarray | None:
    """Coefficients of an expression over candidates; None if it is not their sum."""
    coefficients = np.zeros(len(terms))
    for part in sp.Add.make_args(sp.expand(expression)):
        factor, rest = part.as_coeff_Mul()
        if factor == 0:
            continue
        if rest not in terms:
            return None
        coefficients[list(terms).index(rest)] += float(factor)
    return coefficients


def coefficients_of(model: xr.Dataset, truth: Truth, name: str) -> np.ndarray:
    """One variable of shape (replicate, ..., term), in the order of the library."""
    return _of_library(model[name], "term", truth.library.names)


def _of_library(values: xr.DataArray, dimension: str, names: list[str]) -> np.ndarray:
    """Values (replicate, ..., candidate), if the candidates are these."""
    candidates = [str(term) for term in values[dimension].values]
    if candidates != names:
        raise ValueError(
            "the model was identified with another library: it has the candidates "
            f"{', '.join(candidates)}; the example has {', '.join(names)}"
        )
    return values.transpose("replicate", ..., dimension).values


def damping_of(model: xr.Dataset, library: Library, kind: str) -> np.ndarray:
    """One variable of D, (replicate, ..., term of D); zero if a method knows no D."""
    name = f"dissipation_{kind}"
    if name not in model or not model[name].size:
        shape = model["support"].transpose("replicate", ..., "term").shape
        return np.zeros((*shape[:-1], len(library.dissipation)))
    return _of_library(model[name], "dissipation_term", library.dissipation_names)


def exact_support(model: xr.Dataset, truth: Truth) -> np.ndarray:
    """Whether the selected candidates of L and of D are the true ones, (replicate,)."""
    support = coefficients_of(model, truth, "support").astype(bool)
    damping = damping_of(model, truth.library, "support").astype(bool)
    exact = (support == truth.support).all(axis=1)
    return exact & (damping == (truth.dissipation != 0)).all(axis=1)


@dataclass(frozen=True)
class Estimates:
    """Estimated numbers of one kind beside the true ones.

    `values` and `std` have the shape (replicate, number), `truth` (number,), NaN where
    there is no such number.
    """

    names: Sequence[str]
    values: np.ndarray
    std: np.ndarray
    truth: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Relative ℓ² error ‖x̂ − x‖/‖x‖ of all numbers, shape (replicate,)."""
        error = np.linalg.norm(self.values - self.truth, axis=1)
        return _ratio(error, np.linalg.norm(self.truth))

    @property
    def errors(self) -> np.ndarray:
        """Relative error |x̂ − x|/|x| of each number, shape (replicate, number)."""
        return _ratio(np.abs(self.values - self.truth), np.abs(self.truth))

    @property
    def covered(self) -> np.ndarray:
        """Whether x̂ ± 1.96 SE covers x, shape (replicate, number)."""
        return np.abs(self.values - self.truth) <= NORMAL_QUANTILE * self.std

    @property
    def has_std(self) -> bool:
        """Whether the method gives standard errors; terms left out have zero."""
        return bool((np.isfinite(self.std) & (self.std > 0)).any())


def _ratio(error: np.ndarray, size) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return error / size


def coefficients(model: xr.Dataset, truth: Truth) -> Estimates:
    """Coefficients of the true terms of L, without the reference, which is given.

    A true term that was not selected counts with ĉ = 0 and the interval [0, 0], which
    does not cover; a wrong one shows in :func:`exact_support`.
    """
    true = truth.terms
    values = (coefficients_of(model, truth, f"coefficient_{k}")[:, true] for k in KINDS)
    names = [truth.library.names[i] for i in true]
    return Estimates(names, *values, truth.coefficients[true])


def dissipation(model: xr.Dataset, truth: Truth) -> Estimates:
    """Coefficients of the true terms of D.

    Apart from :func:`coefficients`, where a stiffness of 1000 would hide their error.
    """
    true, library = np.flatnonzero(truth.dissipation), truth.library
    values = (damping_of(model, library, f"coefficient_{k}")[:, true] for k in KINDS)
    names = [library.dissipation_names[i] for i in true]
    return Estimates(names, *values, truth.dissipation[true])


def errors_over_std(model: xr.Dataset, truth: Truth) -> np.ndarray:
    """Errors of the coefficients of L and D over their median standard errors.

    Of the replicates with the right terms, shape (right replicate, number of L and D).
    For a maximum of the likelihood these standard errors are the Cramér–Rao bound.
    """
    right = exact_support(model, truth)
    kinds = coefficients(model, truth), dissipation(model, truth)
    return np.hstack(
        [
            _ratio(k.values[right] - k.truth, np.median(k.std[right], axis=0))
            for k in kinds
        ]
    )


def volatilities(model: xr.Dataset, truth: Truth) -> Estimates:
    """Volatility of every coordinate, whose truth is NaN where it is no constant."""
    arrays = (model[f"volatility_{k}"].transpose("replicate", "dof") for k in KINDS)
    values = (array.values for array in arrays)
    return Estimates(truth.library.coordinates, *values, truth.volatility)


@lru_cache(maxsize=32)
def equation_matrix(library: Library) -> np.ndarray:
    """Parameters of the equations of motion as a linear map of the coefficients.

    The Euler–Lagrange expression of Σ c_i D_i, expanded over functions f of (q, q̇, q̈),
    is Σ_f θ_f f with θ = A c. Returns A, shape (function, term).
    """
    rows = defaultdict(lambda: np.zeros(len(library.terms)))
    for i, term in enumerate(library.terms):
        for a, expression in enumerate(library.equations_of(term)):
            for function, factor in expression.as_coefficients_dict().items():
                rows[a, function][i] = float(factor)
    return np.array([row for row in rows.values() if row.any()])


def parameter_error(
    model: xr.Dataset, truth: Truth, dof: int | None = None, factor: float = 1
) -> np.ndarray:
    """Parameter error of Tripura et al., Table 2: 100 ‖θ − θ*‖/‖θ‖, shape (replicate,).

    θ holds the parameters of the equations of motion and the volatilities, without
    those of the reference term. With `dof`, the error of one equation of motion as
    printed for 3DOF: `factor` times the coefficients of the true terms in the equation
    of that degree of freedom (−2 c is the stiffness of a spring c x²), and its
    volatility.

    Paper: a stiffness of 1000 hides a volatility of 1 in this norm, whatever its error;
    the scorecard therefore has the errors of coefficients and volatility apart.
    """
    library, sigma = truth.library, volatilities(model, truth)
    if dof is None:
        terms, driven = np.flatnonzero(library.fixed == 0), slice(None)
        matrix = equation_matrix(library)[:, terms]
    else:
        of_dof = [library.equations_of(library.terms[i])[dof] != 0 for i in truth.terms]
        terms, driven = np.array(truth.terms)[of_dof], [dof]
        matrix = factor * np.eye(len(terms))
    values = coefficients_of(model, truth, "coefficient_estimate")[:, terms] @ matrix.T
    exact = np.append(matrix @ truth.coefficients[terms], sigma.truth[driven])
    theta = np.hstack([values, sigma.values[:, driven]])
    return 100 * _ratio(np.linalg.norm(theta - exact, axis=1), np.linalg.norm(exact))


def noise_correlation(covariance: np.ndarray) -> np.ndarray:
    """Correlation of the noise of two degrees of freedom, shape (..., dof, dof)."""
    size = np.sqrt(np.einsum("...ii->...i", covariance))
    return _ratio(covariance, size[..., :, None] * size[..., None, :])


def constant_volatility(model: xr.Dataset) -> np.ndarray:
    """Whether S² is the constant alone in every equation, shape (replicate,)."""
    constant = np.array([_is_number(name) for name in model["volatility_term"].values])
    support = model["volatility_support"].transpose(
        "replicate", "dof", "volatility_term"
    )
    return (support.values.astype(bool) == constant).all(axis=(1, 2))


def reads_as_constant(model: xr.Dataset) -> np.ndarray:
    """Whether the volatility is to be read as a constant, shape (replicate,)."""
    if "volatility_is_constant" not in model:
        return np.ones(model.sizes["replicate"], dtype=bool)
    return model["volatility_is_constant"].values.astype(bool).all(axis=1)


def _is_number(text) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def exact_volatility_terms(
    model: xr.Dataset, law: VolatilityLaw, dof: int
) -> np.ndarray:
    """Whether S² has exactly the true terms, shape (replicate,)."""
    support = model["volatility_support"].isel(dof=dof).values.astype(bool)
    return (support == (law.square != 0)).all(axis=1)


def volatility_roots(model: xr.Dataset, law: VolatilityLaw, dof: int) -> Estimates:
    """Coefficients of the true terms of S; infinite where no root was found."""
    true = np.flatnonzero(law.root)
    roots = (model[f"volatility_root_{k}"].isel(dof=dof).values for k in KINDS)
    estimate, std = (values[:, true] for values in roots)
    names = [str(model["volatility_term"].values[i]) for i in true]
    estimate = np.where(np.isfinite(estimate), estimate, np.inf)
    return Estimates(names, estimate, std, law.root[true])


def rollout_errors(rollout: xr.Dataset) -> dict[str, np.ndarray]:
    """Relative errors of the rollout by name, (replicate,); infinite if not finite."""
    names = ("mean_error_training", "mean_error_prediction", "std_error")
    errors = {name: rollout[name].values for name in names}
    return {name: np.where(np.isfinite(e), e, np.inf) for name, e in errors.items()}
