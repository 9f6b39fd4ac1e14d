"""Real machines that others have measured: their laws beside what is published.

``docs/machines.md``: :func:`machines_document`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from leastaction.core.model import rounded
from leastaction.core.units import registry
from leastaction.figures.readable import percent_text
from leastaction.recordings.law import NONE, Law, rows_of
from leastaction.recordings.remarks import force_errors
from leastaction_papers.scorecard.readable import number_text
from leastaction_papers.scorecard.tables import markdown

TITLE = "Laws of real machines"
NO_TERM = "not in the law"


def machine(name: str, title: str, published: Mapping, law: Law | None) -> dict:
    """What a page says of one machine: the entries of `published`, and its law.

    There is none if the data are not on this computer. `terms` (none, if no law was
    found), `numbers` and `runs` are rows of tables, dictionaries with the same keys.
    """
    entries = {**published, "name": name, "title": title, "law": law}
    if law is None:
        return entries
    return {
        **entries,
        "terms": [] if law.verdict == NONE else rows_of(law.terms, "coefficient"),
        "numbers": [_beside(entry, law) for entry in published["numbers"]],
        "runs": [*_own_runs(law, published["runs_in"]), *_their_runs(published)],
    }


def _beside(entry: Mapping, law: Law) -> dict[str, str]:
    """A reference number, and ours with its interval."""
    value, width = _ours(entry, law)
    error = entry.get("error", 0.0)
    unit = "" if entry["unit"] == "1" else f" {entry['unit']}"
    shown = {
        "quantity": entry["quantity"],
        "reference": _interval(entry["value"], error) + unit,
        "ours": NO_TERM,
        "difference": "",
        "inside": "",
    }
    if not value:
        return shown
    inside = abs(value - entry["value"]) <= width + error
    return shown | {
        "ours": _interval(value, width) + unit,
        "difference": f"{100 * (value / entry['value'] - 1):+.2g} %",
        "inside": "yes" if inside else "no",
    }


def _interval(value: float, width: float) -> str:
    number, half = rounded(value, width)
    return f"{number} ± {half}" if half else number


def _ours(entry: Mapping, law: Law) -> tuple[float, float]:
    """Value and half width of its 95 % interval; errors of a ratio as independent."""
    known = {(row.of, row.term): (row.value, row.std) for row in law.terms.itertuples()}
    value, error = known.get((entry["of"], entry["term"]), (0.0, 0.0))
    value, error = entry["factor"] * value, abs(entry["factor"]) * error
    if value and entry.get("over"):
        below, below_error = known.get(("L", entry["over"]), (0.0, 0.0))
        if not below:
            return 0.0, 0.0
        relative = np.hypot(error / value, below_error / below)
        value /= below
        error = abs(value) * relative
    return float(value), float(law.interval_factor * error)


def _own_runs(law: Law, unit: str) -> list[dict[str, str]]:
    """Errors of our free runs, in `unit`, and of the force if one was recorded."""
    rollout = law.rollout
    if rollout is None:
        return []
    units = registry()
    ours = str(law.observations["coordinate_unit"].values[0])
    factor = 1.0 if unit == "1" else units.Quantity(1.0, ours).to(unit).magnitude
    deviation = (rollout["q_measured"] - rollout["q_estimate"]).values[0]
    of = rollout["path_trajectory"].values
    role = "also learned from" if rollout.attrs["learned_from"] else "held out"
    errors = [np.sqrt(np.mean(deviation[of == k] ** 2)) for k in range(of.max() + 1)]
    rows = [
        (f"free run of trajectory {label} ({role})", f"{factor * error:.3g} {unit}")
        for label, error in zip(rollout["label"].values, errors, strict=True)
    ] + [
        ("force that it misses over the recorded one", percent_text(share))
        for share in force_errors(rollout)
        if np.isfinite(share)
    ]
    return [
        {"model": f"this law, {what}", "rms error": error, "source": "here"}
        for what, error in rows
    ]


def _their_runs(published: Mapping) -> list[dict[str, str]]:
    return [
        {
            "model": run["model"],
            "rms error": f"{number_text(run['value'])} {published['runs_in']}",
            "source": run["source"],
        }
        for run in published["runs"]
    ]


def machines_document(machines: Sequence[Mapping]) -> str:
    """Page of the documentation of the results of :func:`machine`, as Markdown."""
    parts = [
        f"# {TITLE}",
        "Written by `snakemake docs/machines.md` from the recordings of "
        "`config/recordings/`. Nothing is tuned for a machine: each YAML states what "
        "the columns mean, and what else is known of the record. The data are others' "
        "and not shipped: get them where they are published, put the files below into "
        "one folder, and name it by its absolute path:",
        "```console\n$ export LEASTACTION_DATA=/home/me/machines\n"
        "$ snakemake --cores 2 machines\n```",
        "`results/recordings/<machine>/` has each law in full, and its figures. "
        "*Inside* states whether our 95 % interval meets the reference number or its "
        "interval.",
    ]
    for one in machines:
        parts += _section(one)
    return "\n\n".join(parts) + "\n"


def _section(one: Mapping) -> list[str]:
    parts = [
        f"## {one['title']}",
        one["about"],
        f"Source: {one['source']}. Data: <{one['url']}>.",
        _table(
            [
                {"file in LEASTACTION_DATA": f"`{file}`", "what it is": text}
                for file, text in one["files"].items()
            ]
        ),
    ]
    law = one["law"]
    if law is None:
        return [*parts, "The data were not there when this page was written."]
    remarks = "".join(f"\n- {text}" for text in law.reservations[1:])
    parts.append(f"**{law.headline}.**\n{remarks}".strip())
    if one["terms"]:
        parts.append(_table(one["terms"]))
    if one["numbers"]:
        parts += [
            f"Beside reference numbers: {one['numbers_from']}.",
            _table(one["numbers"]),
        ]
    return [*parts, *([_table(one["runs"])] if one["runs"] else [])]


def _table(rows: Sequence[Mapping]) -> str:
    return markdown(pd.DataFrame(rows)).strip()
