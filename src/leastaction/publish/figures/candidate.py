"""Candidate terms with their truth and their estimates, as the figures show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.publish.panel import BASELINE, MAIN, Panel

MAJORITY = 0.5
MOST_VALUES = 8
MINUS = "\N{MINUS SIGN}"


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
    """

    label: str
    unit: str
    true: float
    given: bool
    values: Mapping[str, np.ndarray]
    std: Mapping[str, np.ndarray]
    selected: Mapping[str, np.ndarray]

    def often(self, estimator: str) -> bool:
        """Whether `estimator` selects it in a majority of replicates."""
        return bool(self.selected[estimator].mean() >= MAJORITY)

    @property
    def shown(self) -> bool:
        """Whether it is true, or selected in a majority of replicates."""
        often = any(self.often(estimator) for estimator in self.selected)
        return often or (bool(np.isfinite(self.true)) and self.true != 0)

    def interval(self, estimator: str) -> tuple[float, float, float]:
        """Median and 5th and 95th percentile over replicates.

        With a single replicate, its value ± 1.645 standard errors.
        """
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
            )
        )
    return found


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


def summary(candidates: Sequence[Candidate]) -> tuple[str, str]:
    """State how many candidates there are and how many supports are exact."""
    count = f"{len(candidates)} candidates"
    if not all(np.isfinite(c.true) for c in candidates):
        return count, "the truth is not in the library"
    right = np.array([c.true != 0 for c in candidates])[:, None]
    counts = []
    for name in candidates[0].selected:
        chosen = np.array([c.selected[name] for c in candidates]).astype(bool)
        exact = (chosen == right).all(axis=0)
        counts.append(f"{name} {exact.sum()}/{len(exact)}")
    return count, "exact support: " + ", ".join(counts)


def identified(candidates: Sequence[Candidate]) -> list[str]:
    """State the values in words: no axis resolves a part in a thousand."""
    entries = []
    for candidate in candidates:
        if not candidate.often(MAIN):
            continue
        middle, low, high = candidate.interval(MAIN)
        if candidate.given:
            entries.append(f"{candidate.label}: {middle:g} (given)")
            continue
        digits = _digits(middle, (high - low) / 2)
        value, first, last = (_number(v, digits) for v in (middle, low, high))
        unit = "" if candidate.unit in ("", "1") else f" {candidate.unit}"
        entries.append(f"{candidate.label}: {value} [{first}, {last}]{unit}")
    if len(entries) > MOST_VALUES:
        rest = len(entries) - MOST_VALUES + 1
        entries = [*entries[: MOST_VALUES - 1], f"and {rest} more"]
    return entries


def _digits(value: float, half: float) -> int:
    """Decimals that show two significant digits of the uncertainty."""
    size = half if half > 0 else 1e-3 * abs(value)
    return int(np.clip(1 - np.floor(np.log10(size)), 0, 12)) if size > 0 else 0


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", MINUS)
