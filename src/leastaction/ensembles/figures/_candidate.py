"""Candidate terms with their truth and their estimates, as the figures show them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from leastaction.report.panel import BASELINE, MAIN, Panel

MAJORITY = 0.5


@dataclass(frozen=True)
class Candidate:
    """One candidate term with its estimates.

    Attributes
    ----------
    label, unit
        Mathtext of the term and of the unit of its coefficient.
    true
        True coefficient, NaN if the truth is outside the library.
    given
        Whether the coefficient was given to fix the scale of L.
    values, std, selected
        Estimates, standard errors and selection of each estimator, one per replicate.
    at_nodes, node_share
        Estimates at single nodes that select the term, and the share of nodes that do,
        of the estimators that find one model per node.
    """

    label: str
    unit: str
    true: float
    given: bool
    values: Mapping[str, np.ndarray]
    std: Mapping[str, np.ndarray]
    selected: Mapping[str, np.ndarray]
    at_nodes: Mapping[str, np.ndarray] = field(default_factory=dict)
    node_share: Mapping[str, float] = field(default_factory=dict)

    def share(self, estimator: str) -> float:
        """Share of replicates, or of nodes in all of them, that select it."""
        if estimator in self.node_share:
            return self.node_share[estimator]
        return float(self.selected[estimator].mean())

    def often(self, estimator: str) -> bool:
        """Whether `estimator` selects it in a majority of replicates, or nodes."""
        return self.share(estimator) >= MAJORITY

    @property
    def is_true(self) -> bool:
        """Whether the truth contains it."""
        return bool(np.isfinite(self.true)) and self.true != 0

    @property
    def shown(self) -> bool:
        """Whether it is true, or selected in a majority of replicates."""
        return self.is_true or any(self.often(name) for name in self.selected)

    def interval(self, estimator: str) -> tuple[float, float, float]:
        """Median and 5th and 95th percentile over replicates.

        With a single replicate, its value ± 1.645 standard errors. Mean and percentiles
        over nodes where every node has a model of its own.
        """
        values = self.at_nodes.get(estimator, np.empty(0))
        if len(values):
            low, high = np.percentile(values, [5, 95])
            return float(values.mean()), float(low), float(high)
        values = self.values[estimator]
        if len(values) > 1:
            low, middle, high = np.nanpercentile(values, [5, 50, 95])
            return float(middle), float(low), float(high)
        middle, half = float(values[0]), 1.645 * float(self.std[estimator][0])
        half = half if np.isfinite(half) else 0.0
        return middle, middle - half, middle + half


def _estimators(panel: Panel) -> dict[str, xr.Dataset]:
    found = {MAIN: panel.model(MAIN)}
    if BASELINE in panel.models:
        found[BASELINE] = panel.model(BASELINE)
    return found


def of_lagrangian(panel: Panel) -> list[Candidate]:
    """Candidates of L, in the order of the library."""
    models = _estimators(panel)
    truth = panel.coefficients_true or {}
    main = models[MAIN]
    found = []
    for term, status in zip(main["term"].values, main["status"].values, strict=True):
        pieces = {name: model.sel(term=term) for name, model in models.items()}
        found.append(
            Candidate(
                label=panel.label(str(term)),
                unit=panel.coefficient_unit(str(term), panel.lagrangian_unit),
                true=truth.get(str(term), np.nan),
                given=str(status) == "reference",
                values=_read(pieces, "coefficient_estimate"),
                std=_read(pieces, "coefficient_std"),
                selected=_read(pieces, "support"),
                **_of_nodes(pieces),
            )
        )
    return found


def of_dissipation(panel: Panel) -> list[Candidate]:
    """Candidates of the Rayleigh function D, in the order of the library."""
    models = _estimators(panel)
    truth = panel.dissipation_true or {}
    terms = models[MAIN].get("dissipation_term", np.empty(0))
    found = []
    for term in map(str, np.asarray(terms)):
        pieces = {
            name: model.sel(dissipation_term=term)
            for name, model in models.items()
            if term in model["dissipation_term"].values
        }
        found.append(
            Candidate(
                label=panel.label(term) + " [$D$]",
                unit=panel.coefficient_unit(term, panel.dissipation_unit),
                true=truth.get(term, np.nan),
                given=False,
                values=_read(pieces, "dissipation_coefficient_estimate"),
                std=_read(pieces, "dissipation_coefficient_std"),
                selected=_read(pieces, "dissipation_support"),
            )
        )
    return found


def _of_nodes(pieces: Mapping[str, xr.Dataset]) -> dict[str, dict]:
    """What estimators with one model per node say of a term."""
    at_nodes, share = {}, {}
    for name, piece in pieces.items():
        if "node_support" in piece:
            chosen = piece["node_support"].values
            at_nodes[name] = piece["node_coefficient_estimate"].values[chosen > 0]
            has = np.isfinite(chosen)
            share[name] = float(chosen[has].mean()) if has.any() else 0.0
    return {"at_nodes": at_nodes, "node_share": share}


def of_volatility(panel: Panel) -> list[Candidate]:
    """Candidates of (S Sᵀ)_aa, one block after another for a = 1 ... dof."""
    models = _estimators(panel)
    main = models[MAIN]
    terms = [str(term) for term in main["volatility_term"].values]
    found = []
    for a, dof in enumerate(main["dof"].values):
        truth = panel.squared_volatility_true(a, terms) or {}
        owner = f" [{panel.label(str(dof))}]" if main.sizes["dof"] > 1 else ""
        for term in terms:
            pieces = {
                name: model.isel(dof=a).sel(volatility_term=term)
                for name, model in models.items()
            }
            found.append(
                Candidate(
                    label=panel.label(term) + owner,
                    unit=panel.coefficient_unit(term, panel.squared_volatility_unit(a)),
                    true=truth.get(term, np.nan),
                    given=False,
                    values=_read(pieces, "volatility_coefficient_estimate"),
                    std=_read(pieces, "volatility_coefficient_std"),
                    selected=_read(pieces, "volatility_support"),
                )
            )
    return found


def _read(pieces: Mapping[str, xr.Dataset], variable: str) -> dict[str, np.ndarray]:
    return {name: piece[variable].values for name, piece in pieces.items()}
