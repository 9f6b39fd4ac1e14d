"""The law of a table of another kind than a motion, as its family puts it in words."""

import json
from functools import cached_property

import pandas as pd

from leastaction.core.model import IdentifiedModel, model_of, with_intervals
from leastaction.core.own_data import Findings, kinds, one_case
from leastaction.recordings.columns import CONTRADICTION
from leastaction.recordings.law import (
    NONE,
    RESERVED,
    UNRESERVED,
    LawPage,
    rows_of,
    table,
)
from leastaction.recordings.units_of_terms import coefficient_units


class LawOfKind(LawPage):
    """Law of a field, a density, a port-Hamiltonian system or of snapshots.

    ``print(law)`` shows it as ``law.md`` does; :attr:`learned` is the model of the
    family, which moves.
    """

    @cached_property
    def learned(self):
        """Model of the family, such as a :class:`~leastaction.IdentifiedModel`."""
        return model_of(self.model)

    @cached_property
    def findings(self) -> Findings:
        """What the family says of it."""
        kind = kinds()[self.observations.attrs["kind"]]
        return kind.findings(one_case(self.model), self.observations, self.rollout)

    @property
    def verdict(self) -> str:
        """``found``, ``found, with reservations`` or ``no law found``."""
        if self.findings.refusals:
            return NONE
        return RESERVED if self.reservations else UNRESERVED

    @property
    def reservations(self) -> list[str]:
        """Why the law is not simply `found`, one sentence each."""
        contradictions = [t for t in self._of_import if t.startswith(CONTRADICTION)]
        return [*self.findings.refusals, *contradictions, *self.findings.reservations]

    @property
    def warnings(self) -> list[str]:
        """What to know about the data and the law, one sentence each."""
        texts = [*self._of_import, *self.reservations, *self.findings.notes]
        return [*dict.fromkeys(texts)]

    @property
    def _of_import(self) -> list[str]:
        return json.loads(self.observations.attrs.get("warnings", "[]"))

    @property
    def interval_factor(self) -> float:
        """Standard errors in half an interval of 95 %."""
        return self.findings.interval_factor

    @property
    def terms(self) -> pd.DataFrame:
        """What was found, a row by term; columns of :attr:`IdentifiedModel.terms`."""
        columns = ["term", "of", "value", "std", "unit"]
        frame = pd.DataFrame(self.findings.terms, columns=columns)
        if isinstance(self.learned, IdentifiedModel) and not frame.unit.any():
            unit_of = coefficient_units(self.learned, self.observations)
            frame["unit"] = [
                unit_of(r.of, r.term) if r.of in ("L", "D", "S^2") else ""
                for r in frame.itertuples()
            ]
        return with_intervals(frame, self.interval_factor)

    def coefficient(self, term: str, of: str | None = None) -> float:
        """Value of a term; ValueError if there is no such term."""
        from leastaction.core.families import unknown

        terms = self.terms
        chosen = terms[(terms.term == term) & ((terms.of == of) | (of is None))]
        if len(chosen) != 1:
            raise ValueError(unknown("term", term, terms.term))
        return float(chosen.value.iloc[0])

    def _described(self) -> list[str]:
        findings = self.findings
        parts = ["## The law"]
        if len(findings.terms):
            parts.append(table(rows_of(self.terms, "coefficient")))
        if findings.about:
            parts += ["```text", findings.about, "```"]
        return [
            *parts,
            *filter(None, [findings.scale]),
            *["## What the data cannot decide"] * bool(findings.undecided),
            *(f"- {text}" for text in findings.undecided),
        ]

    def _predicted(self) -> list[str]:
        return list(self.findings.predicted)

    def _amounts(self) -> list[str]:
        amounts = json.loads(self.observations.attrs["amounts"])
        verbs = "training data", "held-out data"
        return [f"{verb}: {text}" for verb, text in zip(verbs, amounts, strict=True)]
