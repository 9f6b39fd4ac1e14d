"""A user's vibrating line: a few sensors at places that have names, such as u(0.2).

The motion is random, so what is held out is predicted one sample ahead.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.linalg import expm

from leastaction.core.model import LEAST_P_VALUE, interval
from leastaction.core.own_data import (
    NORMAL,
    Findings,
    Kind,
    Prediction,
    Samples,
    judged,
    missed,
    predicted,
)
from leastaction.core.units import registry
from leastaction.likelihood.contracts import CONTRACTS
from leastaction.likelihood.field_model import SensedField
from leastaction.likelihood.field_state_space import FieldCandidates, Line, sensor_of

# Samples of a stretch, at least.
LEAST_SAMPLES = 200
# Relative standard error of a stiffness, if all candidates are free, that is none: the
# variance of half of a coefficient.
NOT_DETERMINED = 0.5
# Of a memory of the force, in standard errors.
LEAST_MEMORY = 4.0
PREDICTIONS = "one-step predictions"


class SensedLine(Kind):
    """A string, a beam or a rod at a few sensors, shaken at random everywhere."""

    name = "sensed_field"
    sections = {"sensors": True}
    keys = ("length", "ends")
    example = (
        "--time t --sensor 'u(0.2):s1:mm' --sensor 'u(0.4):s2:mm' "
        "--sensor 'u(0.6):s3:mm' --sensor 'u(0.8):s4:mm' --sensor 'u(1.0):s5:mm' "
        "--length 1.0 --ends clamped,free"
    )
    about = "a cantilever of 1 m at five displacement sensors, shaken at random"

    def demo(self) -> str:
        """Columns `t` (s), `s1` ... `s5` (mm); noise of 1 %, S of 1 mm m^0.5 s^-1.5."""
        rng, h, steps = np.random.default_rng(1), 0.02, 6000
        roots = np.array([1.875104068711961, 4.694091132974174, 7.854757438237613])
        roots = np.append(roots, np.pi * (np.arange(4, 11) - 0.5))
        x = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
        phase = np.outer(x, roots)
        # cosh z − cos z − r (sinh z − sin z), with 1 − r, which is tiny, by itself.
        small = (np.sin(roots) - np.cos(roots) - np.exp(-roots)) / (
            np.sinh(roots) + np.sin(roots)
        )
        shapes = small / 2 * np.exp(phase) + (1 - small / 2) * np.exp(-phase)
        shapes += (1 - small) * np.sin(phase) - np.cos(phase)
        omega = np.sqrt(0.2) * roots**2
        rate = 0.1 + 5e-4 * roots**4
        path = np.zeros((steps, len(roots)))
        for k, (w, c) in enumerate(zip(omega, rate, strict=True)):
            moved = expm(h * np.array([[0.0, 1.0], [-(w**2), -c]]))
            stationary = np.diag([1 / (2 * c * w**2), 1 / (2 * c)])
            root = np.linalg.cholesky(stationary - moved @ stationary @ moved.T)
            state = np.sqrt(np.diag(stationary)) * rng.standard_normal(2)
            for j in range(steps):
                path[j, k] = state[0]
                state = moved @ state + root @ rng.standard_normal(2)
        sensed = path @ shapes.T
        sensed = sensed + 0.01 * sensed.std(axis=0) * rng.standard_normal(sensed.shape)
        rows = ["t,s1,s2,s3,s4,s5"]
        rows += [
            f"{h * j:.2f}," + ",".join(f"{value:.5f}" for value in row)
            for j, row in enumerate(sensed)
        ]
        return "\n".join(rows) + "\n"

    def data(self, settings: Mapping) -> str:
        """Readings of a line."""
        return "sensed_field"

    def completed(self, example: dict, units: Mapping) -> list[str]:
        """Places on the line, units of one field, and quadratic candidates."""
        section, problems = example["import"], []
        if "length" not in section:
            problems.append(
                "import.length: it is missing; write the length of the line, m"
            )
            return problems
        try:
            line = Line.of(section["length"], section["ends"])
            sensors = {text: sensor_of(text) for text in section["sensors"]}
        except ValueError as error:
            return [f"import: {error}"]
        fields = sorted({name for name, *_ in sensors.values()})
        if len(fields) > 1:
            problems.append(
                f"import.sensors: of {', '.join(fields)}; expected one field"
            )
        lengths = set()
        for text, (_, rate, place) in sensors.items():
            at_rest = [
                end in ("fixed", "clamped") and abs(place - where) < 1e-9 * line.length
                for end, where in zip(line.ends, (0.0, line.length), strict=True)
            ]
            if not 0 <= place <= line.length or any(at_rest):
                problems.append(
                    f"import.sensors.{text}: expected a place that moves, between "
                    f"0 and {line.length:g} m"
                )
            power = ["position", "velocity", "acceleration"].index(rate)
            unit = (registry()(units["sensors"][text]) * registry()("s") ** power).units
            lengths.add(str(unit.dimensionality))
        if len(lengths) > 1:
            problems.append(
                "import.sensors: the units are those of different fields "
                f"({', '.join(sorted(lengths))}); displacements in mm go with "
                "velocities in mm/s and accelerations in mm/s^2 or g"
            )
        if problems:
            return problems
        u, library = fields[0], example.get("library") or {}
        usual = {
            "reference": f"{u}_t**2/2",
            "lagrangian": [
                f"{u}_t**2/2",
                *(f"-{u}{d}**2/2" for d in ("_xx", "_x", "")),
            ],
            "dissipation": [f"{u}{d}**2/2" for d in ("_t", "_xt", "_xxt")],
        }
        chosen = {k: library.get(k) or usual[k] for k in usual}
        chosen |= {k: _texts(chosen[k]) for k in ("lagrangian", "dissipation")}
        if chosen["reference"] not in chosen["lagrangian"]:
            chosen["lagrangian"] = [chosen["reference"], *chosen["lagrangian"]]
        example["library"] = chosen
        try:
            FieldCandidates(
                u,
                tuple(chosen["lagrangian"]),
                tuple(chosen["dissipation"]),
                chosen["reference"],
            )
        except ValueError as error:
            problems.append(str(error))
        return problems

    def observations(self, samples: Samples) -> xr.Dataset:
        """Contract ``field_readings``; ValueError of short stretches."""
        (y,) = samples.stacked(LEAST_SAMPLES).values()
        return CONTRACTS["field_readings"].dataset(
            {"reading": (y - y.mean(axis=(0, 1)))[None]},
            {
                "replicate": [0],
                "time": samples.time_step * np.arange(y.shape[1]),
                "channel": list(samples.names["sensors"]),
            },
            {
                "contract": "field_readings",
                "time_step": samples.time_step,
                "domain_length": float(samples.settings["length"]),
                "domain_ends": str(samples.settings["ends"]),
                "units": list(samples.units["sensors"]),
            },
        )

    def predict(self, held_out, model, observations, recipe, library) -> Prediction:
        """One sample ahead, of each sensor from all readings before it."""
        errors, variances = SensedField.from_dataset(model).innovations(held_out)
        measured = held_out["reading"].values[0]
        names = [str(name) for name in held_out["channel"].values]
        units = list(np.atleast_1d(held_out.attrs["units"]))
        expected = list(np.sqrt(variances))
        made = Prediction(
            [re.sub(r"\W+", "_", name).strip("_") for name in names],
            units,
            list(measured),
            list(measured - errors),
            [NORMAL * one for one in expected],
            [f"stretch {k + 1}" for k in range(len(measured))],
        )
        sensed = SensedField(model)
        noise = np.exp(model["theta"].values[0][len(sensed.columns) + 1 :])
        return replace(made, numbers=missed(names, units, made, noise, expected, 0))

    def findings(self, model, observations, rollout) -> Findings:
        """Coefficients; what the readings leave open."""
        sensed, misses = SensedField(model), json.loads(rollout.attrs["numbers"])
        refusals, reservations = _doubts(sensed, judged(misses, PREDICTIONS)[1])
        rows = _terms(sensed)
        values, errors = model["theta"].values[0], sensed.std
        size = len(sensed.columns)
        length = "m" if "m" in model.attrs["units"][0] else model.attrs["units"][0]
        rows.append(
            (
                "1",
                "S",
                abs(float(values[size])),
                float(errors[size]),
                f"{length}^1.5/s^1.5",
            )
        )
        open_terms = zip(
            np.atleast_1d(model.attrs["absent"]).tolist(),
            model["absent_estimate"].values[0],
            model["absent_std"].values[0],
            strict=False,
        )
        return Findings(
            terms=[] if refusals else rows,
            refusals=refusals,
            reservations=reservations,
            about="" if refusals else str(sensed),
            scale="All coefficients are per mass density. S is the strength of a force "
            "that is white in space and time.",
            undecided=[
                f"{name} is not in the law; it would be {interval(value, NORMAL * std)}"
                for name, value, std in open_terms
            ],
            predicted=predicted(misses, PREDICTIONS.capitalize()),
            notes=[
                "intervals hold the error of the modes that are left out: "
                f"{sensed.number('truncation'):.1g} standard errors"
            ],
        )


def _doubts(sensed: SensedField, of_predictions) -> tuple[list[str], list[str]]:
    """Why there is no law, and reservations; those `of_predictions` are known.

    Innovations that are not white are a reservation; together with a missing term, or
    with predictions that fail, they are those of another line.
    """
    refusals, reservations = [], list(of_predictions)
    about, error = sensed.dataset.attrs, sensed.number("open_error")
    if error > NOT_DETERMINED:
        bound = f"is {100 * error:.0f} %" if np.isfinite(error) else "has no bound"
        refusals.append(
            "the sensors do not tell the candidates apart: with all of them free the "
            f"error of a stiffness {bound}; place more sensors along the line, or give "
            "fewer candidates"
        )
    if sensed.number("best_score") > sensed.number("penalty"):
        reservations.append(
            f"a term is missing: {about['best_absent']} has a score of "
            f"{sensed.number('best_score'):.0f}, and chance gives "
            f"{sensed.number('penalty'):.0f}"
        )
    if sensed.number("whiteness") < LEAST_P_VALUE:
        text = (
            f"innovations are not white (p = {sensed.number('whiteness'):.1g}): the "
            "ends are others, or the force is not white in space and time"
        )
        if reservations:
            refusals.append(f"{text}; {reservations[0]}")
        reservations.insert(0, text)
    elif abs(sensed.number("memory_score")) > LEAST_MEMORY:
        reservations.append(
            f"the force has a memory (z = {sensed.number('memory_score'):.1f})"
        )
    if not sensed.number("converged"):
        reservations.append("the likelihood did not settle at its maximum")
    if about["alternatives"]:
        reservations.append(f"another law fits nearly as well: {about['alternatives']}")
    return refusals, reservations


def _terms(sensed: SensedField) -> list[tuple]:
    """Rows of the coefficients of L and D; that of the inertia is given."""
    pool, count = sensed.candidates, len(sensed.candidates.lagrangian)
    rows = [(pool.lagrangian[k], "L", value, 0.0, "1") for k, value in pool.references]
    values = sensed.dataset["theta"].values[0]
    for column, value, std in zip(sensed.columns, values, sensed.std, strict=False):
        part = "dissipation" if column >= count else "lagrangian"
        place = column - count * (column >= count)
        text, unit = getattr(pool, part)[place], pool.unit(part, place)
        rows.append((text, part[0].upper(), float(value), float(std), unit))
    return rows


def _texts(entries) -> list[str]:
    """Candidates as text; ``{terms: [...]}`` in the place of some."""
    result = []
    for entry in entries:
        result += entry["terms"] if isinstance(entry, Mapping) else [entry]
    return [str(text) for text in result]


KINDS = {SensedLine.name: SensedLine()}
