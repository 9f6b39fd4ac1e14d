"""One way to write a row of the scorecard.

A *case* is one estimator on one example. File ``<family>/scores.py`` of a family says
what stands in the scorecard of its cases:

``rows(case)``
    its rows. A row is an entry of a table, :class:`Row`: the quantity, the function of
    its values, how they become one number, and the limit on it;
``PRINTED``
    by key of ``publish.rows[].ours``, which number of ours a printed one is compared
    with: :class:`Printed`. Beside these stand further keys that they read, such as
    ``factor``: :class:`Key`;
``LIMITS``, ``LIMITS_BY_NOISE``
    rows on which an example may set a limit under ``publish.targets``, or under an
    entry of its ``by_noise``: the name of the limit stands in the row.

:func:`keys` collects a table from all families; of these the typed section `publish` of
an example is made (:mod:`leastaction_papers.configuration.example`).
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from leastaction.core import families
from leastaction_papers.scorecard import verdict
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.readable import DIGITS
from leastaction_papers.scorecard.recovery import is_replica
from leastaction_papers.scorecard.scores import Truth

ADDED = "added"
COVERAGE = "coverage of the 95 % interval: "
NONE = np.nan, np.nan
# What a limit of each kind means, in the schema.
MEANING = {
    "maximum": ", at most",
    "minimum": ", at least",
    "rms": ", at most",
    "median": ", median over the replicates at most",
    "share": ": share of the replicates, at least",
    "between": ": between these two",
}
# Relative error of a corrected number as a person types it, digit by digit.
ERROR_OF_TYPED = 1e-6

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Key:
    """A key that is read under ``publish``; `meaning` is one phrase, for the schema.

    `type` is the annotation of its value; the `default` is None if there is none.
    """

    name: str
    meaning: str
    type: Any = float
    default: Any = None


@dataclass(frozen=True)
class Printed(Key):
    """A number of ours that is compared with a printed one.

    `values(case, ours)` gives one per replicate, or these and the exact number, with
    which the entry's `corrected` must agree; None if the estimator has no such number.
    `summary` makes one number of them. A `fact`, such as the size of a library, is
    shown and not judged.
    """

    values: Callable | None = field(default=None, kw_only=True)
    summary: Callable = field(default=verdict.summary_of, kw_only=True)
    fact: bool = field(default=False, kw_only=True)


def keys(table: str) -> dict[str, Key]:
    """Entries of a table, such as ``LIMITS``, of all families by name."""
    entries = (
        entry.key if isinstance(entry, Row) else entry
        for module in families.modules("scores")
        for entry in getattr(module, table, ())
    )
    return {key.name: key for key in entries if key.name}


@dataclass(frozen=True)
class Case:
    """One estimator on one example.

    `panel` has the models and rollouts of all its estimators.
    """

    paper: str
    estimator: str
    panel: Panel

    @property
    def config(self) -> Mapping:
        """The example."""
        return self.panel.config

    @property
    def model(self) -> xr.Dataset:
        """Contract ``model`` or what stands for it, all replicates."""
        return self.panel.models[self.estimator]

    @property
    def rollout(self) -> xr.Dataset | None:
        """Contract of a rollout, all replicates; None without one."""
        return self.panel.rollouts.get(self.estimator)

    @property
    def truth(self) -> Truth | None:
        """The truth in the words of the library; None if it cannot express it."""
        return self.panel.known_law

    @property
    def recovery(self) -> xr.Dataset | None:
        """How the cases of a sweep compare with the truth; None without any."""
        return self.panel.recoveries.get(self.estimator)

    @property
    def targets(self) -> Mapping:
        """Limits that the example sets us."""
        return self.panel.publish.get("targets") or {}

    @property
    def publishes(self) -> bool:
        """Whether the example has printed numbers or limits; one's own needs none."""
        published = self.panel.publish
        printed = any(published.get(key) for key in ("rows", "formulas", "lagrangians"))
        return printed or any(self.targets.values())

    @property
    def limits(self) -> Mapping:
        """Limits of this estimator: a replica of a paper's own has none."""
        return {} if is_replica(self.estimator) else self.targets

    def row(self, *args, **options) -> dict:
        """One row of this case: :func:`make_row` without its `head`."""
        head = {"paper": self.paper, "example": self.panel.example}
        return make_row(head | {"estimator": self.estimator}, *args, **options)

    def printed(
        self, entry: Mapping, summary: tuple, replicates: int, **options
    ) -> dict:
        """Row of an entry of ``publish.rows``; `summary` is (median, 5th, 95th)."""
        about = {
            "target": entry.get("target"),
            "printed": entry["printed"],
            "corrected": float(entry.get("corrected", np.nan)),
            "authors": float(entry.get("authors", np.nan)),
            "note": entry.get("note", ""),
            "errata": entry.get("erratum", ()),
            "reason": entry.get("reason", ""),
        }
        quantity = options.pop("quantity", entry["quantity"])
        item, unit = entry["item"], entry["unit"]
        return self.row(item, quantity, unit, summary, replicates, **about | options)


class Score:
    """Values of a row, one per replicate, with what only its function knows.

    `of` stands for ``{}`` in the quantity; `about` are arguments of :func:`make_row`
    that replace those of the :class:`Row`.
    """

    def __init__(self, values: np.ndarray, of: str = "", **about):
        self.values, self.of, self.about = values, of, about


def rms(error: np.ndarray) -> tuple[float, float, float]:
    """Root mean square, with the percentiles of the error of a single replicate."""
    _, low, high = verdict.summary_of(error)
    middle = float(np.sqrt(np.mean(np.square(error))))
    return middle if np.isfinite(middle) else np.inf, low, high


def count(hit: np.ndarray) -> tuple[float, float, float]:
    """Number of hits."""
    return float(hit.sum()), *NONE


def share(hit: np.ndarray) -> tuple[float, float, float]:
    """Share of hits."""
    return float(hit.mean()), *NONE


@dataclass(frozen=True)
class Row:
    """A row of the scorecard, or one for each `Score` of its function.

    Attributes
    ----------
    quantity
        With ``{}`` where :attr:`Score.of` goes.
    values
        Of the subject: an array, one value per replicate; or several :class:`Score`;
        None if there is no such row.
    unit
        ``of N`` by itself for a :func:`count`.
    limit
        Name of the limit on it, if an example may set one.
    kind
        Of the target (:mod:`~.verdict`), by itself that of the `summary`; a ``share``
        of the replicates is a ``minimum`` of their count.
    summary
        How the values become one number.
    note, about
        Text, and further arguments of :func:`make_row`; or functions of the values.
    """

    quantity: str
    values: Callable
    unit: str = "1"
    limit: str = ""
    kind: str = ""
    summary: Callable = verdict.summary_of
    note: str | Callable = ""
    about: Mapping | Callable = field(default_factory=dict)

    @property
    def kind_of_target(self) -> str:
        """Kind of the limit."""
        return self.kind or {rms: "rms", count: "share"}.get(self.summary, "maximum")

    @property
    def key(self) -> Key:
        """The limit as an example may set it."""
        kind = self.kind_of_target
        text = self.quantity.replace("{}", "...")
        pair = tuple[float, float] if kind == "between" else float
        return Key(self.limit, f"{text}{MEANING[kind]}.", pair)

    def target(self, limits: Mapping, number: int) -> dict | None:
        """What the row must keep; None if there is no such limit."""
        value, kind = limits.get(self.limit), self.kind_of_target
        if value is None:
            return None
        return {"minimum": value * number} if kind == "share" else {kind: value}


def rows_of(
    case: Case,
    table: Iterable[Row],
    subject: Any = None,
    limits: Mapping | None = None,
    where: str = "",
) -> Iterator[dict]:
    """Rows of a table, in its order.

    The functions of the table are called with the `subject`, by itself the case;
    `limits` are by name, those of the case by themselves; `where` ends every quantity.
    """
    limits = case.limits if limits is None else limits
    for row in table:
        scored = row.values(case if subject is None else subject)
        several = [Score(scored)] if isinstance(scored, np.ndarray) else scored or ()
        for one in several:
            values = np.ravel(one.values)
            about = {
                "unit": f"of {values.size}" if row.summary is count else row.unit,
                "target": row.target(limits, values.size),
                "note": row.note(values) if callable(row.note) else row.note,
                "summary": row.summary,
                "replicates": values.size,
                **(row.about(values) if callable(row.about) else row.about),
                **one.about,
            }
            quantity, unit = row.quantity.format(one.of) + where, about.pop("unit")
            summary, replicates = about.pop("summary")(values), about.pop("replicates")
            yield case.row(ADDED, quantity, unit, summary, replicates, **about)


def coverage(quantity: str, values: Callable) -> Row:
    """Row of the share of 95 % intervals that cover, one per replicate.

    Its target is no limit of an example, but what chance allows.
    """

    def about(hit: np.ndarray) -> dict:
        band = f"{int(hit.sum())} of {len(hit)}; the band is 99.9 % of the binomial law"
        target = verdict.binomial_band(len(hit))
        return {"corrected": 0.95, "target": target, "note": band}

    return Row(quantity, values, summary=share, about=about)


def own_rows(case: Case) -> list[Mapping]:
    """Entries of ``publish.rows`` that are about this estimator, or about any."""
    return [
        entry
        for entry in case.panel.printed
        if entry["ours"].get("estimator", case.estimator) == case.estimator
    ]


def printed_rows(
    case: Case,
    entries: Iterable[Mapping],
    kinds: Sequence[Key],
    right: np.ndarray | None = None,
) -> Iterator[dict]:
    """One row per entry of ``publish.rows``, of `kinds` in the table ``PRINTED``.

    An entry whose `corrected` disagrees with the truth of the system, because a run has
    overridden a parameter, is left out with a warning. `right` are the replicates with
    the right terms, where that is known, shape (replicate,).

    ValueError if `ours` of an entry is none of the `kinds`.
    """
    by_name = {kind.name: kind for kind in kinds if isinstance(kind, Printed)}
    for entry in entries:
        ours = entry["ours"]
        name = next((name for name in by_name if name in ours), None)
        if name is None:
            raise ValueError(f"ours {dict(ours)} must be one of {', '.join(by_name)}")
        kind = by_name[name]
        result = kind.values(case, ours)
        if result is None:
            continue
        values, exact = result if isinstance(result, tuple) else (result, None)
        corrected = float(entry.get("corrected", np.nan))
        if exact is not None and abs(exact - corrected) > ERROR_OF_TYPED * abs(exact):
            numbers = case.panel.example, entry["quantity"], exact, corrected
            log.warning(
                "%s: the paper's number %r is left out, because this system has %g and "
                "not %g; was a parameter overridden?",
                *numbers,
            )
            continue
        draws = values if right is None else values[right]
        about = {"target": verdict.FACT} if kind.fact else {"draws": draws}
        if kind.summary is share:
            hits = f"{int(values.sum())} of {len(values)}"
            note = "; ".join(filter(None, (hits, entry.get("note"))))
            about["note"] = note
        yield case.printed(entry, kind.summary(values), len(values), **about)


def _digits(target: Mapping | str | None) -> int:
    """Significant digits of a row: two more than its relative limit has zeros."""
    limit = target.get("relative_error") if isinstance(target, Mapping) else None
    return max(DIGITS, 2 - int(np.floor(np.log10(limit)))) if limit else DIGITS


def make_row(
    head: Mapping[str, str],
    item: str,
    quantity: str,
    unit: str,
    summary: tuple,
    replicates: int,
    *,
    target: Mapping | str | None = None,
    printed: float = np.nan,
    corrected: float = np.nan,
    authors: float = np.nan,
    note: str = "",
    judged: bool = True,
    draws: np.ndarray | None = None,
    errata: Sequence[int] = (),
    reason: str = "",
    replica: bool | None = None,
    which: str = "right",
    rounding: float | None = None,
) -> dict:
    """One row of the scorecard; `summary` is (median, 5th, 95th percentile).

    It is rounded to six significant digits, or to those that its limit needs, before it
    is judged: another processor changes later ones. Where rounding decides the first
    ones (times of escape), `summary` is of many perturbed starts: what is printed
    varies within its percentiles, and the verdict does not. `authors` is what the files
    hold that the authors released.

    A target that is not `judged` is shown, but there is no verdict. `draws` are the
    replicates to be compared with a printed number, those with the right terms or
    `which` else, `rounding` the half-width of the printed number, `errata` what
    explains it, `reason` why it is not reproduced
    (:mod:`leastaction_papers.scorecard.verdict`).
    By default the name of the estimator decides whether this is a `replica`.
    """
    decided, notes = "", [note]
    shown = _digits(target)
    summary = tuple(float(f"{value:.{shown}g}") for value in summary)
    if replica is None:
        replica = is_replica(head["estimator"])
    if judged and target != verdict.FACT:
        judged_by = target, printed, corrected, summary, errata, rounding
        decided = verdict.verdict(*judged_by)
        if replica and not np.isnan(float(printed)):
            decided, remark = verdict.replica_verdict(
                decided,
                target,
                printed,
                draws,
                replicates,
                which,
                rounding,
                corrected,
                errata,
            )
            notes.append(remark)
    causes = [reason, verdict.errata_text(errata)]
    if decided == verdict.NOT_REPRODUCED:
        causes = causes if any(causes) else [verdict.UNKNOWN]
    else:
        causes = causes[1:] if decided == verdict.PAPER_ERRS else []
    return {
        **head,
        "item": str(item),
        "quantity": quantity,
        "unit": unit,
        "printed": float(printed),
        "corrected": float(corrected),
        "authors": float(authors),
        "ours_median": summary[0],
        "ours_low": summary[1],
        "ours_high": summary[2],
        "replicates": int(replicates),
        "target": verdict.target_text(target, unit),
        "verdict": decided,
        "cause": "; ".join(filter(None, causes)),
        "note": "; ".join(filter(None, notes)),
    }
