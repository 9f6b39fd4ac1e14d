"""What every identification method returns, and its dataset: contract ``model``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.contracts import MODEL
from leastaction.core.families import unknown

CONFIDENCE = 0.95
# Standard errors in half an interval of 95 %, normal distribution.
NORMAL_QUANTILE = 1.959963984540054
# Standard deviations of the kurtosis of a matched filter that no Gaussian force has:
# 0 of 40 records of one had (README).
SURE_SCORE = 4.0


def interval_factor(model: xr.Dataset) -> float:
    """Standard errors in half an interval of 95 %.

    Student's t of a model whose errors come from blocks left out in turn, else that of
    the normal distribution.
    """
    if "blocks" not in model:
        return NORMAL_QUANTILE
    from scipy.stats import t

    blocks = int(model["blocks"].values.flat[0])
    return float(t.ppf((1 + CONFIDENCE) / 2, max(blocks - 1, 1)))


@dataclass(frozen=True)
class LagrangianEstimate:
    """Coefficients of one identified Lagrangian L = Σ c_i D_i, and of its damping.

    Attributes
    ----------
    terms, coefficients, std
        All candidates, c and its standard error (NaN where the method gives none).
    status, equivalent
        What algebra says about each candidate.
    noise_covariance, noise_std
        S Sᵀ of the residual and its standard error, shape (dof, dof); NaN where the
        volatility method finds it; empty where there is no noise.
    diagnostics
        Name to (value, unit, meaning).
    criterion
        Selection criterion of the best subset of size 0, 1, 2, ...
    alternatives
        Other subsets that fit as well, as text.
    by_node
        Arrays with dimensions of their own: name to (dims, values, unit, meaning).
    by_equation
        Coefficients that each equation of motion gave, shape (dof, term).
    dissipation_terms, dissipation_coefficients, dissipation_std, dissipation_status, \
    dissipation_equivalent
        The same of the Rayleigh function D = Σ d_j R_j.
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

    @classmethod
    def of_columns(cls, count: int, columns: Mapping, **more) -> "LagrangianEstimate":
        """Estimate of `columns`, the first five attributes, the first `count` of L."""
        of_l = {name: values[:count] for name, values in columns.items()}
        of_d = {f"dissipation_{name}": v[count:] for name, v in columns.items()}
        return cls(**of_l, **of_d, **more)

    @property
    def joint_coefficients(self) -> np.ndarray:
        """c, then d: the coefficients of all columns of a library."""
        return np.concatenate([self.coefficients, self.dissipation_coefficients])


@dataclass(frozen=True)
class VolatilityEstimate:
    """Volatility σ and its standard error of each degree of freedom, shape (dof,).

    Attributes
    ----------
    terms, coefficients, coefficient_std
        Candidates, and the coefficients (dof, term) of σ² = Σ β_i G_i.
    constant
        Whether the volatility is to be read as a constant, shape (dof,).
    covariance
        S Sᵀ from every sample, shape (dof, dof); that of the residual stands if None.
    root, root_std
        ρ of S = Σ ρ_i G_i, shape (dof, term); NaN where σ² is not such a square.
    diagnostics, by_node
        Name to (value of shape (dof,), unit, meaning); see :class:`LagrangianEstimate`.
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
    zero, nothing = np.zeros(dof), np.zeros((dof, 0))
    constant, covariance = np.ones(dof, dtype=bool), np.zeros((dof, dof))
    return VolatilityEstimate(zero, zero, [], nothing, nothing, constant, covariance)


def model_dataset(
    observations: xr.Dataset,
    lagrangian: LagrangianEstimate,
    volatility: VolatilityEstimate,
    calculus: str = "ito",
) -> xr.Dataset:
    """Dataset of the estimates of one replicate, contract ``model``.

    Candidates are text: the file alone is enough to derive equations and simulate.
    """
    about = observations.attrs
    # A field is one degree of freedom.
    dof = observations["dof"].values if "dof" in observations.dims else [about["field"]]
    values = _values(lagrangian, volatility, len(dof))
    for dims, result in (((), lagrangian), (("dof",), volatility)):
        values |= {k: _entry(dims, *entry) for k, entry in result.diagnostics.items()}
    if lagrangian.by_equation is not None:
        values["equation_coefficient_estimate"] = lagrangian.by_equation
    if lagrangian.criterion.size:
        values["criterion"] = lagrangian.criterion
    by_node = lagrangian.by_node | volatility.by_node
    values |= {name: _entry(*entry) for name, entry in by_node.items()}
    words, candidates = _words(
        tuple(lagrangian.status),
        tuple(lagrangian.equivalent),
        tuple(lagrangian.dissipation_status),
        tuple(lagrangian.dissipation_equivalent),
        tuple(lagrangian.terms),
        tuple(lagrangian.dissipation_terms),
        tuple(volatility.terms),
        tuple(map(str, dof)),
    )
    coords = {"replicate": observations["replicate"]}
    if any("node" in dims for dims, *_ in by_node.values()):
        coords["node"] = observations["node"]
    domain = {n: v for n, v in about.items() if n == "field" or n.startswith("domain_")}
    attrs = {"calculus": calculus} | domain
    return MODEL.dataset({**words, **values, **coords}, candidates, attrs)


def _values(
    lagrangian: LagrangianEstimate, volatility: VolatilityEstimate, dof: int
) -> dict[str, np.ndarray]:
    """Variables that every model has."""
    damping, squares = lagrangian.dissipation_coefficients, volatility.coefficients
    unknown = np.full_like(squares, np.nan)
    covariance = volatility.covariance
    if covariance is None:
        covariance = lagrangian.noise_covariance
    if covariance.shape != (dof, dof):
        covariance = np.diag(volatility.volatility**2)
    root, root_std = volatility.root, volatility.root_std
    return {
        "coefficient_estimate": lagrangian.coefficients,
        "coefficient_std": lagrangian.std,
        "support": (lagrangian.coefficients != 0).astype("int8"),
        "dissipation_coefficient_estimate": damping,
        "dissipation_coefficient_std": lagrangian.dissipation_std,
        "dissipation_support": (damping != 0).astype("int8"),
        "alternatives": np.array(lagrangian.alternatives, dtype=object),
        "volatility_is_constant": volatility.constant.astype("int8"),
        "volatility_estimate": volatility.volatility,
        "volatility_std": volatility.std,
        "noise_covariance": covariance,
        "volatility_coefficient_estimate": squares,
        "volatility_coefficient_std": volatility.coefficient_std,
        "volatility_root_estimate": unknown if root is None else root,
        "volatility_root_std": unknown.copy() if root_std is None else root_std,
        "volatility_support": (squares != 0).astype("int8"),
    }


@lru_cache(maxsize=16)
def _words(
    status, equivalent, damping_status, damping_equivalent, terms, damping, squares, dof
) -> tuple[Mapping[str, xr.Variable], xr.Coordinates]:
    """What algebra says of the candidates, the same in every replicate; and they."""
    words = {
        "status": status,
        "equivalent": equivalent,
        "dissipation_status": damping_status,
        "dissipation_equivalent": damping_equivalent,
    }
    made = MODEL.dataset(
        {name: np.array(texts, dtype=object) for name, texts in words.items()},
        {
            "term": list(terms),
            "volatility_term": np.array(squares, dtype=object),
            "dissipation_term": np.array(damping, dtype=object),
            "dof": list(dof),
        },
    )
    return made.drop_vars(made.coords).variables, made.coords


def _entry(dims, values, unit: str, meaning: str) -> xr.Variable:
    about = {"units": unit, "long_name": meaning}
    # An array of text is looked through, slowly, unless it is taken as it is.
    values = np.asarray(values)[None]
    return xr.Variable(("replicate", *dims), values, about, fastpath=True)


def positions(
    texts: Sequence[str], terms: Sequence[str], coordinates: Sequence[str]
) -> list[int]:
    """Positions of candidates of L, however written; ValueError if a text is none."""
    result = []
    for text in texts:
        term = text if text in terms else _as_written(text, tuple(coordinates))
        if term not in terms:
            raise ValueError(unknown("candidate", text, terms))
        result.append(terms.index(term))
    return result


@lru_cache(maxsize=256)
def _as_written(text: str, coordinates: tuple[str, ...]) -> str:
    """The text that candidates have, by algebra: its import takes most of the time."""
    from leastaction.core.euler_lagrange import velocity_names
    from leastaction.core.expressions import parse, to_text

    return to_text(parse(text, (*coordinates, *velocity_names(coordinates))))


def random_generator(equations: xr.Dataset, settings: Mapping) -> np.random.Generator:
    """Random numbers by `seed` and the replicate: part of a recipe, not of a run."""
    replicate = int(equations["replicate"].values[0])
    key = np.random.SeedSequence(settings["seed"], spawn_key=(replicate,))
    return np.random.default_rng(key)


def usable(equations: xr.Dataset, kind: str, excluded: Sequence[int]) -> list[int]:
    """Columns of a ``gram`` dataset that a method may use, of L and then of D.

    All but those `excluded`; of `kind` ``independent`` without what algebra calls
    redundant.
    """
    status = [*equations["status"].values, *equations["dissipation_status"].values]
    redundant = {"null", "duplicate", "dependent"} if kind == "independent" else set()
    return [
        i
        for i, known in enumerate(status)
        if i not in excluded and known not in redundant
    ]


def lagrangian_estimate(
    equations: xr.Dataset,
    coefficients: np.ndarray,
    diagnostics: Mapping[str, tuple],
    arrays: Mapping[str, tuple],
    std: np.ndarray | None = None,
    criterion: np.ndarray | None = None,
) -> LagrangianEstimate:
    """Estimate of the coefficients of all columns of a dataset with terms and status.

    `coefficients` and `std` are of L and then of D, shape (column,); `arrays` is
    `by_node` of the :class:`LagrangianEstimate`.
    """
    data = equations.variables

    def of_both(name: str) -> list[str]:
        both = data[name], data[f"dissipation_{name}"]
        return [str(text) for one in both for text in one.values]

    columns = {
        "terms": of_both("term"),
        "coefficients": coefficients,
        "std": np.full(len(coefficients), np.nan) if std is None else std,
        "status": of_both("status"),
        "equivalent": of_both("equivalent"),
    }
    return LagrangianEstimate.of_columns(
        data["term"].size,
        columns,
        diagnostics=diagnostics,
        criterion=np.zeros(0) if criterion is None else criterion,
        by_node=arrays,
    )
