"""What the story says of one paper, as far as it follows from the results."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import PurePath

import pandas as pd
import yaml

from leastaction.report.readable import number_text
from leastaction.report.scorecard_page import UNJUDGED, VERDICTS
from leastaction.report.verdict import MEETS, MISSES, PAPER_IN_ERROR

# What makes the model is named by its stage; what comes after is one.
STAGES = ("simulate", "differentiate", "assemble", "identify", "validate")
FIRST = ("published", "recommended")
# Printed numbers that stand open in a chapter, of one example and in all.
PER_EXAMPLE, IN_ALL = 2, 8


@dataclass(frozen=True)
class Chapter:
    """One paper.

    Attributes
    ----------
    name, title, summary
        As in the configuration.
    verdicts
        One row per estimator: its name and the number of rows by verdict.
    misses
        What does not keep its limit: example, estimator, quantity, ours and target.
    numbers
        Printed numbers beside ours: those that differ most from the corrected ones.
    figures, tables
        `file`, `label` and `claim` of each, in the paper's order.
    examples
        `name`, `title`, `section`, and `settings` as YAML.
    cost
        Result of :func:`cost`.
    """

    name: str
    title: str
    summary: str
    verdicts: list[dict]
    misses: list[dict]
    numbers: list[dict]
    figures: list[dict]
    tables: list[dict]
    examples: list[dict]
    cost: dict


def chapter(
    name: str, settings: Mapping, scorecard: pd.DataFrame, benchmarks: Mapping[str, str]
) -> Chapter:
    """Chapter of the paper `name`.

    Parameters
    ----------
    settings
        `title`, `summary`, `figures` and `tables` of the paper, and `examples` by name.
    scorecard
        Result of :func:`leastaction.report.collect.scorecard`.
    benchmarks
        Text of each benchmark file of the paper, by its path.
    """
    rows = scorecard[scorecard["paper"] == name]
    return Chapter(
        name=name,
        title=settings["title"],
        summary=settings["summary"],
        verdicts=verdicts(rows),
        misses=[_miss(row) for row in rows.to_dict("records") if _misses(row)],
        numbers=telling(rows),
        figures=_shown(name, "figures", "svg", settings["figures"]),
        tables=_shown(name, "tables", "html", settings["tables"]),
        examples=[
            {
                "name": example,
                "title": content["title"],
                "section": content["section"],
                "settings": _yaml(content["settings"]),
            }
            for example, content in settings["examples"].items()
        ],
        cost=cost(benchmarks),
    )


def verdicts(rows: pd.DataFrame) -> list[dict]:
    """Number of rows by estimator and verdict; the paper's and our best first."""
    counts = pd.crosstab(rows["estimator"], rows["verdict"].replace("", UNJUDGED))
    counts = counts.reindex(columns=VERDICTS, fill_value=0)
    order = sorted(counts.index, key=lambda e: (e not in FIRST, e))
    return [
        {"estimator": e, **{v: int(counts.loc[e, v]) for v in VERDICTS}} for e in order
    ]


def telling(rows: pd.DataFrame) -> list[dict]:
    """Printed numbers that say most: those further from the corrected ones first.

    Each has `example`, `item`, `quantity`, `unit`, `printed`, `corrected`, and `ours`:
    number and verdict of each estimator of `FIRST` ("" where it has none).
    """
    found = []
    printed = rows[rows["printed"].notna()]
    keys = ["example", "item", "quantity", "unit"]
    for key, group in printed.groupby(keys, sort=False):
        by_estimator = group.drop_duplicates("estimator").set_index("estimator")
        first = group.iloc[0]
        found.append(
            {
                **dict(zip(keys, key, strict=True)),
                "printed": number_text(first["printed"]),
                "corrected": number_text(first["corrected"]),
                "ours": [_ours(by_estimator, name) for name in FIRST],
                "rank": (
                    -_distance(first["printed"], first["corrected"]),
                    -sum(name in by_estimator.index for name in FIRST),
                ),
            }
        )
    found.sort(key=lambda entry: entry.pop("rank"))
    kept, of_example = [], {}
    for entry in found:
        of_example[entry["example"]] = of_example.get(entry["example"], 0) + 1
        if of_example[entry["example"]] <= PER_EXAMPLE:
            kept.append(entry)
    return sorted(kept[:IN_ALL], key=lambda entry: (entry["example"], entry["item"]))


def cost(benchmarks: Mapping[str, str]) -> dict:
    """Time of the jobs, s: `wall` in all, and `stages` (of each)."""
    stages = dict.fromkeys((*STAGES, "publish"), 0.0)
    for path, text in benchmarks.items():
        table = pd.read_csv(StringIO(text), sep="\t", na_values="-")
        stage = PurePath(path).name.partition(".")[0]
        stages[stage if stage in STAGES else "publish"] += float(table["s"].sum())
    return {"wall": sum(stages.values()), "stages": stages}


def _distance(printed: float, corrected: float) -> float:
    """Relative difference of a printed number; zero where nothing is corrected."""
    scale = max(abs(printed), abs(corrected))
    found = abs(printed - corrected) / scale if scale > 0 else 0.0
    return 0.0 if math.isnan(found) else found


def _ours(by_estimator: pd.DataFrame, name: str) -> dict:
    if name not in by_estimator.index:
        return {"value": "", "verdict": ""}
    row = by_estimator.loc[name]
    return {
        "value": number_text(row["ours_median"], 5),
        "verdict": row["verdict"] or UNJUDGED,
    }


def _misses(row: Mapping) -> bool:
    return row["verdict"] == MISSES


def _miss(row: Mapping) -> dict:
    ours = number_text(row["ours_median"], 4)
    return {
        **{key: row[key] for key in ("example", "estimator", "quantity", "target")},
        "ours": ours if row["unit"] == "1" else f"{ours} {row['unit']}",
    }


def _shown(paper: str, part: str, kind: str, entries: Mapping) -> list[dict]:
    return [
        {
            "file": f"{paper}/{part}/{name}.{kind}",
            "label": name.replace("_", " ").capitalize(),
            "claim": entry.get("claim", ""),
        }
        for name, entry in entries.items()
    ]


def _yaml(settings: Mapping) -> str:
    return yaml.safe_dump(
        dict(settings),
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=88,
    ).strip()


def kept(verdicts: Sequence[Mapping]) -> tuple[int, int]:
    """Judged rows that keep our limit, and all judged rows."""
    good = sum(row[MEETS] + row[PAPER_IN_ERROR] for row in verdicts)
    return good, good + sum(row[MISSES] for row in verdicts)
