"""One estimator on one example, and the form of a row of the scorecard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from leastaction.core.library import Library
from leastaction.report import replica, verdict
from leastaction.report.scores import Truth
from leastaction.report.sweep import is_replica

ADDED = "added"
COVERAGE = "coverage of the 95 % interval: "


@dataclass(frozen=True)
class Case:
    """One estimator on one example.

    Attributes
    ----------
    head
        `paper`, `example` and `estimator` of each row.
    config
        The example.
    library
        Candidates of L; None if a Lagrangian is learned without.
    truth
        None if the library cannot express the system.
    model
        Contract ``model``, all replicates.
    rollout
        Contract ``rollout`` or ``motion_rollout``, or None.
    recoveries
        Of every estimator with a sweep over noise: how its cases compare with the
        truth.
    """

    head: Mapping[str, str]
    config: Mapping
    library: Library | None
    truth: Truth | None
    model: xr.Dataset
    rollout: xr.Dataset | None
    recoveries: Mapping[str, xr.Dataset] = field(default_factory=dict)

    @property
    def has_sweep(self) -> bool:
        """Whether the model holds one case for each noise level."""
        return "noise_level" in self.model.dims

    @property
    def recovery(self) -> xr.Dataset | None:
        """How the cases of this estimator compare with the truth; None without any."""
        return self.recoveries.get(self.head["estimator"])

    @property
    def publish(self) -> Mapping:
        """Section `publish`; an example may have none."""
        return self.config.get("publish") or {}

    def target(self, name: str, kind: str) -> dict | None:
        """Our own limit `name` as a target; None if the example sets none.

        A replica of a paper's estimator has none: the limits are those of ours.
        """
        if is_replica(self.head["estimator"]):
            return None
        value = (self.publish.get("targets") or {}).get(name)
        return None if value is None else {kind: value}

    def row(self, *args, **options) -> dict:
        """One row of this case: :func:`make_row` without its `head`."""
        return make_row(self.head, *args, **options)


def make_row(
    head: Mapping[str, str],
    item: str,
    quantity: str,
    unit: str,
    summary: tuple,
    replicates: int,
    *,
    target: Mapping | None = None,
    printed: float = np.nan,
    corrected: float = np.nan,
    note: str = "",
    judged: bool = True,
    draws: np.ndarray | None = None,
    errata: Sequence[int] = (),
) -> dict:
    """One row of the scorecard; `summary` is (median, 5th, 95th percentile).

    With `judged` false, a target is shown, but there is no verdict. `draws` are the
    replicates to be compared with a printed number, `errata` what explains it
    (:mod:`leastaction.report.replica`).
    """
    decided, reason = "", ""
    if judged:
        decided = verdict.verdict(target, printed, corrected, summary)
        if is_replica(head["estimator"]):
            found = np.empty(0) if draws is None else draws
            decided, reason = replica.verdict_of(
                decided, target, printed, found, replicates, errata
            )
    if decided == verdict.PAPER_IN_ERROR:
        reason = replica.errata_text(errata)
    return {
        **head,
        "item": str(item),
        "quantity": quantity,
        "unit": unit,
        "printed": float(printed),
        "corrected": float(corrected),
        "ours_median": summary[0],
        "ours_low": summary[1],
        "ours_high": summary[2],
        "replicates": int(replicates),
        "target": verdict.target_text(target, unit),
        "verdict": decided,
        "note": "; ".join(filter(None, (note, reason))),
    }
