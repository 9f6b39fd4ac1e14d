"""Panel: one example in a figure, its truth and what the estimators made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pint
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse, symbol
from leastaction.core.families import is_field, system_from_config
from leastaction.core.library import Library
from leastaction.core.settings import CHANNELS
from leastaction.core.system import System, latex_names
from leastaction.core.units import DimensionError, dimension_of, unit, units_with_rates
from leastaction.figures import panel as figures
from leastaction_papers.scorecard.readable import leading_minus, unit_label
from leastaction_papers.scorecard.recovery import BASELINE as BASELINE
from leastaction_papers.scorecard.recovery import MAIN as MAIN
from leastaction_papers.scorecard.recovery import recovery
from leastaction_papers.scorecard.scores import Truth, expansion, truth_of


@dataclass(frozen=True)
class Panel(figures.Panel):
    """One example of a paper: its truth and what the estimators made of it."""

    @property
    def is_field(self) -> bool:
        """Whether the system is a field."""
        return is_field(self.config["system"])

    @property
    def publish(self) -> Mapping:
        """Section `publish`; an example may have none."""
        return self.config.get("publish") or {}

    def reading(self, estimator: str) -> tuple[str, "Panel"]:
        """Estimator of which this one is a reading, and the panel as it stands there.

        By itself and this panel, if it has no setting that another one has, too.
        """
        of = (self.settings.get(estimator) or {}).get("of", estimator)
        if of == estimator:
            return estimator, self
        models, rollouts = (
            {of: datasets[estimator]} if estimator in datasets else {}
            for datasets in (self.models, self.rollouts)
        )
        return of, replace(self, models=models, rollouts=rollouts)

    def shown_as(self, config: Mapping) -> "Panel":
        """The panel with another configuration, and of the estimators that it names."""
        models = {name: self.models[name] for name in config["estimators"]}
        rollouts = {name: self.rollouts[name] for name in config["rolled_out"]}
        return replace(self, config=config, models=models, rollouts=rollouts)

    @property
    def settings(self) -> Mapping[str, Mapping | None]:
        """Setting of each estimator that the paper leaves open, with its value."""
        return self.config.get("settings") or {}

    @property
    def printed(self) -> list[Mapping]:
        """Entries of ``publish.rows``: what the paper prints."""
        return self.publish.get("rows") or []

    def printed_limits(self, estimator: str) -> list[Mapping]:
        """Printed rows with the largest noise of an estimator; no ratio."""
        rows = ((row, row["ours"]) for row in self.printed)
        return [
            row
            for row, ours in rows
            if ours.get("largest_noise") == estimator and "over" not in ours
        ]

    @property
    def channels(self) -> tuple[str, ...]:
        """Recorded channels of noisy motions."""
        return tuple(
            (self.config["simulate"].get("noise") or {}).get("channels", CHANNELS)
        )

    @cached_property
    def truth(self) -> System:
        """The system behind the data."""
        return system_from_config(self.config["system"])

    @cached_property
    def library(self) -> Library:
        """Candidates of the Lagrangian."""
        return self.truth.library(self.config["library"])

    @cached_property
    def known_law(self) -> Truth | None:
        """The truth in the words of the library; None if it cannot express it."""
        return truth_of(self.config)

    @property
    def law(self) -> Truth:
        """The truth in the words of the library; ValueError if it cannot express it."""
        if self.known_law is None:
            raise ValueError(
                f"example {self.example!r}: the library cannot express the system, so "
                "that its estimates have no error"
            )
        return self.known_law

    @cached_property
    def recoveries(self) -> dict[str, xr.Dataset]:
        """Recovery by estimator, of those with a sweep over noise and a known law."""
        law = self.known_law
        return {
            name: recovery(model, self.config, law)
            for name, model in self.models.items()
            if law is not None and "noise_level" in model.dims
        }

    @property
    def coefficients_true(self) -> dict[str, float]:
        """True coefficient of every candidate of L; empty if the law is not known."""
        law = self.known_law
        names = law.library.names if law else []
        return dict(zip(names, law.coefficients, strict=True)) if law else {}

    @property
    def dissipation_true(self) -> dict[str, float]:
        """True coefficient of every candidate of D; empty if the law is not known."""
        law = self.known_law
        names = law.library.dissipation_names if law else []
        return dict(zip(names, law.dissipation, strict=True)) if law else {}

    def squared_volatility_true(self, dof: int, terms: list[str]) -> dict[str, float]:
        """Return the true coefficient of every candidate of (S Sᵀ)_aa, a = `dof`.

        In the scale of the identified Lagrangian; empty if that is no combination of
        `terms`.
        """
        scale = self.known_law.scale if self.known_law else 1.0
        square = sum(e**2 for e in self.truth.noise_matrix.row(dof))
        values = expansion(
            scale**2 * self.truth.evaluated(square),
            [parse(term, self.names) for term in terms],
        )
        return {} if values is None else dict(zip(terms, values, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the state (q, q̇), or of (u, u_t, u_x, u_xx)."""
        return tuple(s.name for s in self.truth.state)

    @cached_property
    def _latex_names(self) -> dict[sp.Symbol, str]:
        labels = {}
        if self.is_field:
            label = str(self.config["system"]["field"].get("label") or self.names[0])
            for name in self.names:
                mark = name[len(self.names[0]) + 1 :]
                labels[symbol(name)] = f"{label}_{{{mark}}}" if mark else label
            return labels
        coordinates = self.config["system"]["coordinates"].items()
        labels = {name: str(entry.get("label") or name) for name, entry in coordinates}
        return latex_names(tuple(labels), labels)

    def label(self, expression: str) -> str:
        """Mathtext of an expression in `names`, such as ``x**2`` or ``u_x**2``."""
        parsed = parse(expression, self.names)
        how = {"symbol_names": self._latex_names, "fold_func_brackets": True}
        texts = (sp.latex(parsed, order=order, **how) for order in ("lex", "rev-lex"))
        text = min(texts, key=leading_minus)
        # Mathtext sets bars so tight that |X| reads as three letters.
        text = text.replace(r"\left|", r"\,|\,").replace(r"\right|", r"\,|")
        return f"${text}$"

    @cached_property
    def _units(self) -> dict[str, pint.Unit]:
        system = self.config["system"]
        if self.is_field:
            declared = {self.truth.field: str(system["field"]["unit"])}
        else:
            declared = {k: str(v["unit"]) for k, v in system["coordinates"].items()}
        return units_with_rates(declared, self.truth.rates)

    @cached_property
    def lagrangian_unit(self) -> pint.Unit:
        """Unit of the identified L, whose reference term has no parameter."""
        reference = self.library.terms[self.library.reference]
        return dimension_of(reference, self._units)

    @property
    def dissipation_unit(self) -> pint.Unit:
        """Unit of D, a power where L is an energy."""
        return self.lagrangian_unit / unit("s")

    @property
    def hamiltonian_unit(self) -> pint.Unit:
        """Unit of H: that of L, integrated over the domain of a field."""
        return self.lagrangian_unit * unit("m" if self.is_field else "1")

    def coordinate_unit(self, name: str) -> str:
        """Mathtext of the unit of a coordinate or a velocity."""
        return unit_label(self._units[name], keep_radian=True)

    def coefficient_unit(self, term: str, of: pint.Unit) -> str:
        """Mathtext of the unit of the coefficient of `term` in a sum of unit `of`.

        Empty for a term that has no unit, such as the sine of a length.
        """
        expression = parse(term, self.names)
        try:
            return unit_label(of / dimension_of(expression, self._units))
        except DimensionError:
            return ""

    def squared_volatility_unit(self, dof: int) -> pint.Unit:
        """Return the unit of (S Sᵀ)_aa, that of ((unit of L) / (unit of q_a))² s."""
        coordinate = self._units[self.truth.coordinates[dof]]
        return (self.lagrangian_unit / coordinate) ** 2 * unit("s")


def panel_title(panels: Sequence[Panel], index: int) -> str:
    """Return the title of a panel, lettered (a), (b), ... if there are several."""
    title = panels[index].title
    return f"({chr(ord('a') + index)}) {title}" if len(panels) > 1 else title


def panels_from(
    settings: Mapping[str, Mapping],
    models: Sequence[xr.Dataset],
    rollouts: Sequence[xr.Dataset],
) -> list[Panel]:
    """Panels of the examples in `settings`, in that order.

    `settings` has each configuration, with the list of its `estimators` and of those
    that are `rolled_out`; `models` and `rollouts` are datasets of these, in the same
    order, or empty if not shown.
    """
    models, rollouts = iter(models), iter(rollouts)

    panels = []
    for name, config in settings.items():
        of_example = dict(zip(config["estimators"], models, strict=False))
        rolled_out = dict(zip(config["rolled_out"], rollouts, strict=False))
        panels.append(Panel(name, config, of_example, rolled_out))
    return panels
