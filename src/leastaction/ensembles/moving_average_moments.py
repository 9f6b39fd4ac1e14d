"""Moments whose residual is a moving average, as a dataset.

Overlapping windows and noisy sensors make neighbouring residuals depend on each other.
With the products of instruments and of increments at lags 0 ... L kept, every residual
autocovariance γ_h(c) = cᵀ G_h c, and with it the covariance of the moments

.. math::  \\operatorname{Cov} \\sum_k Z_k r_k
           = \\sum_h γ_h ⊗ \\sum_k Z_k Z_{k+h}^T ,

is known for every choice of coefficients c without a second look at the data.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.core.library import Library


@dataclass(frozen=True)
class Moments:
    """Sums over one replicate at one scale of smoothing.

    Attributes
    ----------
    moment
        Σ Z Xᵀ, shape (dof, instrument, term).
    instrument_gram
        Σ_k Z_k Z_{k+h}ᵀ, shape (lag, instrument, instrument).
    increment_gram
        Mean of X_k X_{k+h}ᵀ, shape (lag, dof, dof, term, term).
    window
        What the scale is, in samples.
    """

    moment: np.ndarray
    instrument_gram: np.ndarray
    increment_gram: np.ndarray
    window: int


def lagged_gram(rows: np.ndarray, lags: int, first: int = 0) -> np.ndarray:
    """Σ_k x_k x_{k+h}ᵀ of one path, h = `first` ... `lags`, (lag, column, column)."""
    n, width = rows.shape
    gram = np.empty((lags + 1 - first, width, width))
    for i, h in enumerate(range(first, lags + 1)):
        np.matmul(rows[: n - h].T, rows[h:], out=gram[i])
    return gram


def by_term(gram: np.ndarray, dof: int) -> np.ndarray:
    """(..., dof·term, dof·term) as (..., dof, dof, term, term)."""
    m = gram.shape[-1] // dof
    return np.moveaxis(gram.reshape(*gram.shape[:-2], dof, m, dof, m), -2, -3)


def moments_dataset(
    scales: list[Moments],
    derivatives: xr.Dataset,
    terms: Library,
    instruments: list[str],
    samples: int,
    time_step: float,
) -> xr.Dataset:
    """Contract ``moving_average_moments`` of one replicate.

    Fewer lags at a scale than at the others are filled with zeros.
    """
    keep = terms.columns
    lags = max(len(one.instrument_gram) for one in scales)
    grams = [
        np.stack([_padded(getattr(one, name), lags) for one in scales])
        for name in ("instrument_gram", "increment_gram")
    ]
    lead = ("replicate", "scale")

    def entry(dims, values, meaning, unit="mixed"):
        values = np.ascontiguousarray(values)
        return (dims, values, {"units": unit, "long_name": meaning})

    return xr.Dataset(
        {
            "moment": entry(
                (*lead, "dof", "instrument", "term"),
                np.stack([one.moment for one in scales])[None],
                "sum of Z X^T",
            ),
            "instrument_gram": entry(
                (*lead, "lag", "instrument", "instrument_other"),
                grams[0][None],
                "sum of Z Z^T of samples that many lags apart",
            ),
            "increment_gram": entry(
                (*lead, "lag", "dof", "dof_other", "term", "term_other"),
                grams[1][None],
                "mean of X X^T of samples that many lags apart",
            ),
            "realised_covariation": derivatives["realised_covariation"],
            "window": entry(
                lead, [[one.window for one in scales]], "samples of smoothing", "1"
            ),
            "samples": entry(("replicate",), [samples], "number of increments", "1"),
            "time_step": entry(("replicate",), [time_step], "time step", "s"),
            "status": entry(
                ("term",),
                np.array([terms.status[i] for i in keep], dtype=object),
                "what algebra says about the term",
                "1",
            ),
            "library_status": entry(
                ("candidate",),
                np.array(terms.status, dtype=object),
                "status of every candidate",
                "1",
            ),
            "library_equivalent": entry(
                ("candidate",),
                np.array(terms.freedom.equivalent, dtype=object),
                "equivalent of a removed candidate",
                "1",
            ),
            "library_given": entry(
                ("candidate",), terms.given, "coefficient given by the reference"
            ),
        },
        coords={
            "replicate": derivatives["replicate"],
            "dof": list(terms.coordinates),
            "term": [terms.names[i] for i in keep],
            "instrument": instruments,
            "candidate": terms.names,
        },
        attrs={"lagrangian_candidates": len(terms.terms)},
    )


def _padded(gram: np.ndarray, lags: int) -> np.ndarray:
    return np.concatenate([gram, np.zeros((lags - len(gram), *gram.shape[1:]))])
