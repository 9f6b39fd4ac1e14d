"""The identified model as a self-contained dataset."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate


def model_dataset(
    observations: xr.Dataset,
    lagrangian: LagrangianEstimate,
    volatility: VolatilityEstimate,
    calculus: str = "ito",
) -> xr.Dataset:
    """Collect the estimates of one replicate; contract ``model``.

    Candidates are stored as text, so that the file alone is enough to print the
    Lagrangian, derive the equations of motion and simulate. `calculus` says what S dW
    means in them.
    """
    dof = _coordinates(observations)
    support = (lagrangian.coefficients != 0).astype("int8")
    term = ("replicate", "term")
    each = ("replicate", "dof")
    of_square = ("replicate", "dof", "volatility_term")
    damping = ("replicate", "dissipation_term")
    unknown = np.full_like(volatility.coefficients, np.nan)
    covariance = volatility.covariance
    if covariance is None:
        covariance = lagrangian.noise_covariance
    if covariance.shape != (len(dof), len(dof)):
        covariance = np.diag(volatility.volatility**2)
    data = {
        "coefficient_estimate": _entry(
            term, lagrangian.coefficients, "mixed", "coefficient of L"
        ),
        "coefficient_std": _entry(
            term, lagrangian.std, "mixed", "standard error of the coefficient"
        ),
        "support": _entry(term, support, "1", "whether the term is selected"),
        "dissipation_coefficient_estimate": _entry(
            damping,
            lagrangian.dissipation_coefficients,
            "mixed",
            "coefficient of the Rayleigh function D",
        ),
        "dissipation_coefficient_std": _entry(
            damping, lagrangian.dissipation_std, "mixed", "its standard error"
        ),
        "dissipation_support": _entry(
            damping,
            (lagrangian.dissipation_coefficients != 0).astype("int8"),
            "1",
            "whether the term of D is selected",
        ),
        "alternatives": _entry(
            ("replicate",),
            np.array(lagrangian.alternatives, dtype=object),
            "1",
            "other subsets that fit as well",
        ),
        "volatility_is_constant": _entry(
            each, volatility.constant.astype("int8"), "1", "whether S is a constant"
        ),
        "volatility_estimate": _entry(
            each, volatility.volatility, "(units of qddot) s^0.5", "volatility"
        ),
        "volatility_std": _entry(
            each,
            volatility.std,
            "(units of qddot) s^0.5",
            "standard error of the volatility",
        ),
        "noise_covariance": _entry(
            ("replicate", "dof", "dof_other"),
            covariance,
            "(units of qddot)^2 s",
            "covariance S S^T of the random force",
        ),
        "volatility_coefficient_estimate": _entry(
            of_square, volatility.coefficients, "mixed", "coefficient of S^2"
        ),
        "volatility_coefficient_std": _entry(
            of_square, volatility.coefficient_std, "mixed", "its standard error"
        ),
        "volatility_root_estimate": _entry(
            of_square,
            unknown if volatility.root is None else volatility.root,
            "mixed",
            "coefficient of S where S^2 is a perfect square",
        ),
        "volatility_root_std": _entry(
            of_square,
            unknown.copy() if volatility.root_std is None else volatility.root_std,
            "mixed",
            "its standard error",
        ),
        "volatility_support": _entry(
            of_square,
            (volatility.coefficients != 0).astype("int8"),
            "1",
            "whether the term of S^2 is selected",
        ),
    }
    for name, (value, unit, meaning) in lagrangian.diagnostics.items():
        data[name] = _entry(("replicate",), value, unit, meaning)
    for name, (value, unit, meaning) in volatility.diagnostics.items():
        data[name] = _entry(each, value, unit, meaning)
    if lagrangian.by_equation is not None:
        data["equation_coefficient_estimate"] = _entry(
            ("replicate", "dof", "term"),
            lagrangian.by_equation,
            "mixed",
            "coefficient of L as one equation of motion gives it",
        )
    if lagrangian.criterion.size:
        data["criterion"] = _entry(
            ("replicate", "size"),
            lagrangian.criterion,
            "1",
            "selection criterion of the best subset of each size",
        )
    for name, (dims, *entry) in (lagrangian.by_node | volatility.by_node).items():
        data[name] = _entry(("replicate", *dims), *entry)
    words, candidates = _words(
        tuple(lagrangian.terms),
        tuple(lagrangian.status),
        tuple(lagrangian.equivalent),
        tuple(lagrangian.dissipation_terms),
        tuple(lagrangian.dissipation_status),
        tuple(lagrangian.dissipation_equivalent),
        tuple(volatility.terms),
        tuple(dof),
    )
    coords = {"replicate": observations["replicate"]}
    if any("node" in entry.dims for entry in data.values()):
        coords["node"] = observations["node"]
    attrs = {"calculus": calculus} | _domain(observations)
    return xr.Dataset({**words, **data, **coords}, candidates, attrs)


@lru_cache(maxsize=16)
def _words(
    terms, status, equivalent, damping, damping_status, damping_equivalent, squares, dof
) -> tuple[Mapping[str, xr.Variable], xr.Coordinates]:
    """What algebra says of the candidates, the same in every replicate; and they."""
    said = {
        "status": ("term", status, "what algebra says about the term"),
        "equivalent": ("term", equivalent, "equivalent of a removed candidate"),
        "dissipation_status": (
            "dissipation_term",
            damping_status,
            "what algebra says about the term of D",
        ),
        "dissipation_equivalent": (
            "dissipation_term",
            damping_equivalent,
            "equivalent of a removed candidate of D",
        ),
    }
    words = xr.Dataset(
        {
            name: (
                dims,
                np.array(values, dtype=object),
                {"units": "1", "long_name": meaning},
            )
            for name, (dims, values, meaning) in said.items()
        },
        {
            "term": list(terms),
            "volatility_term": np.array(squares, dtype=object),
            "dissipation_term": np.array(damping, dtype=object),
            "dof": list(dof),
        },
    )
    return words.drop_vars(words.coords).variables, words.coords


def _coordinates(observations: xr.Dataset) -> list[str]:
    """Names of the degrees of freedom; a field has one."""
    if "dof" in observations.dims:
        return [str(name) for name in observations.variables["dof"].values]
    return [str(observations.attrs["field"])]


def _domain(observations: xr.Dataset) -> dict:
    """Attributes that tell a field and its domain."""
    return {
        name: value
        for name, value in observations.attrs.items()
        if name == "field" or name.startswith("domain_")
    }


def _entry(dims, values, unit: str, meaning: str) -> xr.Variable:
    about = {"units": unit, "long_name": meaning}
    # An array of text is looked through, slowly, unless it is taken as it is.
    return xr.Variable(dims, np.asarray(values)[None], about, fastpath=True)
