"""The law of a recording: terms with intervals, a verdict, and what to believe."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from leastaction.core import files
from leastaction.core.library import Comparison
from leastaction.core.model import IdentifiedModel, rounded
from leastaction.core.system import System
from leastaction.ensembles.output_modes import assurance
from leastaction.figures.readable import percent_text
from leastaction.recordings.columns import CONTRADICTION
from leastaction.recordings.conserved import conserved
from leastaction.recordings.contracts import shown_units
from leastaction.recordings.excitation import UNRECORDED
from leastaction.recordings.inputs import OPPOSED
from leastaction.recordings.modal_analysis import (
    complex_shapes,
    modes_of_observations,
    modes_table,
)
from leastaction.recordings.physical_parameters import physical_parameters
from leastaction.recordings.remarks import (
    doubts,
    force_errors,
    is_astray,
    is_lost,
    of_inputs,
    of_modes,
    random_force,
    remarks,
    reservations,
    sensor_noise,
)
from leastaction.recordings.units_of_terms import coefficient_units

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from leastaction.recordings.thermal_calibration import Calibration

# Trajectories whose free runs are listed.
MOST_SHOWN = 10
# Standard errors that a further step may move a law by.
LARGEST_REMAINING = 3.0
FIGURES = ("prediction", "residuals", "dynamics")
# Of a randomly excited motion.
SHAKEN_FIGURES = ("spectra", "innovations", "one_step", "force_spectrum")
FORCELESS = "the law has inertia, and no force that moves it"
# First line of a law.
GIVEN = "given (it sets the scale)"
FOUND, RESERVED, NONE = "found", "found, with reservations", "no law found"


class LawPage:
    """A law with its data: what is written of every kind of table, saved and drawn.

    Parameters
    ----------
    model
        Contract of the identified model.
    observations
        What it was learned from.
    rollout
        Contract ``measured_rollout``; None of a randomly excited motion.
    title
        Of the recording.
    seconds
        What finding it took; None if that is not known.
    source
        Names of its tables; empty of arrays.
    """

    def __init__(
        self,
        model: xr.Dataset,
        observations: xr.Dataset,
        rollout: xr.Dataset | None = None,
        title: str = "",
        seconds: float | None = None,
        source: str = "",
    ):
        self.model, self.observations = model, observations
        self.rollout, self.title, self.seconds = rollout, title, seconds
        self.source = source

    @classmethod
    def of_parts(cls, model: xr.Dataset, parts: Mapping[str, xr.Dataset]) -> "LawPage":
        """Law of what :meth:`save` has written."""
        observations = parts["observations"]
        attrs = dict(observations.attrs)
        title, source = (str(attrs.pop(name, "")) for name in ("title", "source"))
        seconds = attrs.pop("seconds", None)
        seconds = None if seconds is None else float(seconds)
        observations = observations.drop_attrs(deep=False).assign_attrs(attrs)
        rollout = parts.get("rollout")
        return law_of(model, observations, rollout, title, seconds, source)

    def save(self, path: str | Path) -> None:
        """Write the law with its data, which :func:`leastaction.load` reads again."""
        about = {"title": self.title, "source": self.source, "seconds": self.seconds}
        about = {name: value for name, value in about.items() if value is not None}
        parts = {"observations": self.observations.assign_attrs(about)}
        if self.rollout is not None:
            parts["rollout"] = self.rollout.assign_attrs(contract="measured_rollout")
        contract = self.model.attrs.get("contract", "model")
        files.save(self.model, path, contract, parts=parts)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of its figures."""
        return FIGURES[:1]

    def plot(self, what: str | None = None) -> "Figure":
        """Figure `what` of the law; see :attr:`figures`.

        Parameters
        ----------
        what
            ``prediction``, held-out trajectories beside free runs; ``residuals``; or
            ``dynamics``, forces, phase plane and energy. Of a randomly excited motion
            ``spectra``, measured and predicted, with natural frequencies and mode
            shapes; ``innovations``; ``one_step``, each sample and its prediction;
            ``force_spectrum``. The first of its figures if None.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ValueError
            If there is no such figure.
        """
        from leastaction.core.families import unknown
        from leastaction.figures.panel import MAIN, Panel
        from leastaction.figures.style import draw

        what = what or self.figures[0]
        if what not in self.figures:
            raise ValueError(unknown("figure", what, self.figures))
        rollouts = {} if self.rollout is None else {MAIN: self.rollout}
        panel = Panel(self.title, {"title": self.title}, {MAIN: self.model}, rollouts)
        return draw(what, [panel], {})

    def to_markdown(self) -> str:
        """The law with intervals, what it predicts, equivalents and warnings."""
        parts = [f"# {self.title}"] if self.title else []
        first, *others = self.reservations or [""]
        about = f": {first}" if first else ""
        parts.append(f"**{self.verdict[0].upper()}{self.verdict[1:]}{about}.**")
        parts += [f"- {text}" for text in others]
        parts += self._without_law() if self.verdict == NONE else self._described()
        predicted = self._predicted()
        if predicted:
            parts += ["## What it predicts", *predicted]
        parts += ["## What to know about these data"]
        told = [text for text in self.warnings if text not in self.reservations]
        told += self._amounts()
        if self.seconds is not None:
            told.append(f"finding the law took {self.seconds:.0f} s of computing")
        parts += [f"- {text}" for text in told]
        return "\n\n".join(_joined(parts)) + "\n"

    def _without_law(self) -> list[str]:
        """What can be said where there is no law."""
        return []

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


class Law(LawPage, IdentifiedModel):
    """Lagrangian, Rayleigh function and volatility of a recording, with a verdict.

    ``print(law)`` and a notebook show it as ``law.md`` does.

    Parameters
    ----------
    model
        Contract ``model``.
    observations
        Contract ``measurements``.
    rollout
        Contract ``measured_rollout``; None of a randomly excited motion.
    title
        Of the recording.
    seconds
        What finding it took; None if that is not known.
    source
        Names of its tables; empty of arrays.

    Examples
    --------
    >>> import numpy as np, leastaction as la
    >>> time = np.arange(0, 30, 0.02)
    >>> motions = [a * np.cos(3 * time) for a in (0.1, 0.2, 0.3, 0.4)]
    >>> law = la.learn({"x": motions}, time=time, progress=False)
    >>> law.figures
    ('prediction', 'residuals', 'dynamics')
    >>> law.predict([1.0], [0.0], [0.0, np.pi / 3]).q.values.round(3)[-1]
    array([-1.])
    """

    def __init__(self, model: xr.Dataset, *about, **named):
        IdentifiedModel.__init__(self, model)
        LawPage.__init__(self, model, *about, **named)

    @property
    def verdict(self) -> str:
        """``found``, ``found, with reservations`` or ``no law found``."""
        if self.rollout is None:
            lost = self.not_identifiable or is_astray(self.dataset)
            lost = lost or float(self.dataset["remaining"]) > LARGEST_REMAINING
        else:
            lost = self._is_forceless or is_lost(self.model, self.rollout)
        return NONE if lost else RESERVED if self.reservations else FOUND

    @property
    def reservations(self) -> list[str]:
        """Why the law is not simply `found`, one sentence each."""
        if self.rollout is not None:
            told = json.loads(self.observations.attrs.get("warnings", "[]"))
            texts = [t for t in told if t.startswith((UNRECORDED, CONTRADICTION))]
            texts += reservations(self.model, self.rollout)
            return [FORCELESS, *texts] if self._is_forceless else texts
        texts = doubts(self.dataset)
        return [OPPOSED, *texts] if self._is_opposed else texts

    @cached_property
    def _is_forceless(self) -> bool:
        """Whether nothing but inertia was found of a motion without an input.

        A loss is nothing if its interval holds zero.
        """
        if "input" in self.observations:
            return False
        losses = self.terms.query("of == 'D'")
        known = np.abs(losses["value"]) > self.interval_factor * losses["std"]
        without = replace(self.system, dissipation=0)
        return not known.any() and all(force == 0 for force in without.forces)

    @cached_property
    def _is_opposed(self) -> bool:
        """Whether a recorded input gives all masses a negative sign."""
        if "input" not in self.observations:
            return False
        system = self.system
        rest = dict.fromkeys(system.state, 0)
        mass = system.evaluated(system.mass_matrix).subs(rest)
        return bool((np.linalg.eigvalsh(np.array(mass, dtype=float)) < 0).all())

    @property
    def warnings(self) -> list[str]:
        """What to know about the data and the law, one sentence each."""
        stages = (self.observations, self.model)
        told = [t for s in stages for t in json.loads(s.attrs.get("warnings", "[]"))]
        texts = [*dict.fromkeys(told), *self.reservations]
        if self.rollout is None:
            texts += of_inputs(self.dataset, self.observations)
            return texts + of_modes(self.dataset, self.sensed_modes, self.modes)
        return [*texts, *remarks(self.model, self.observations)]

    @property
    def alternatives(self) -> list[dict]:
        """Laws of the same size that fit alike.

        Each has `coefficients` by term, the terms that it `has` `instead_of` others,
        and the `error_ratio` of its squared innovations to those of this law.
        """
        if "equivalent_models" not in self.dataset:
            return []
        return json.loads(str(self.dataset["equivalent_models"].values))

    def export(self, path: str | Path, language: str | None = None) -> None:
        """Write the accelerations as a function of another language, noise left out.

        Parameters
        ----------
        path
            ``model.c`` for a C99 function, ``model.py`` for one of NumPy.
        language
            ``c``, ``numpy`` or ``jax``; that of the ending if None. See
            :func:`leastaction.recordings.source_code.source_code`.

        Raises
        ------
        ValueError
            If there is no such language, or the ending names none.
        """
        from leastaction.recordings.source_code import language_of, source_code

        files.save_text(source_code(self.system, language_of(path, language)), path)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Coordinates with a recorded force, ``F_x`` in the equation of ``x``."""
        if "input_unit" not in self.observations.coords:
            return ()
        units = zip(
            self.coordinates, self.observations["input_unit"].values, strict=True
        )
        return tuple(name for name, unit in units if str(unit))

    def _unit_of(self):
        return coefficient_units(self, self.observations)

    def residuals(self) -> xr.Dataset:
        """Measured less fitted, over windows of three main periods.

        Raises
        ------
        ValueError
            Of a randomly excited motion, which has no path to be predicted.
        """
        if self.rollout is None:
            raise ValueError(
                "a randomly excited motion has no path to be predicted; compare "
                "ensembles by law.system.simulate(...)"
            )
        names = ["residual", "path_trajectory", "path_time"]
        return self.rollout[names].isel(replicate=0)

    @property
    def physical(self) -> "pd.DataFrame":
        """Parameters of a machine: masses, friction, base parameters, frequencies.

        See :mod:`leastaction.recordings.physical_parameters`. Columns `quantity`,
        `value`, `std`, `percent` (the relative standard error), `low` and `high` of the
        95 % interval, `unit`, and `grouped`, other terms that the motion does not tell
        from it. Empty of a randomly excited motion, which has :attr:`modes`.
        """
        import pandas as pd

        rows = []
        if self.rollout is not None and not self.not_identifiable:
            rows = physical_parameters(self, self.observations, self._unit_of())
        columns = ["quantity", "value", "std", "unit", "grouped"]
        found = pd.DataFrame(rows, columns=columns)
        half = self.interval_factor * found["std"]
        found.insert(3, "percent", 100 * found["std"] / np.abs(found.value))
        found.insert(4, "low", found.value - half)
        found.insert(5, "high", found.value + half)
        return found

    def next_experiment(
        self, term: str, of: str | None = None, shrink: float = 0.5
    ) -> "pd.DataFrame":
        """What to excite so that the interval of a coefficient shrinks.

        See :mod:`leastaction.recordings.next_experiment`.

        Parameters
        ----------
        term, of
            As of :meth:`leastaction.IdentifiedModel.coefficient`.
        shrink
            Wanted interval over the present one.

        Returns
        -------
        pandas.DataFrame
            Sinusoidal inputs, or releases at rest where no input was recorded: the
            coordinate to `excite`, `amplitude` with its `unit`, `frequency` (Hz),
            `excursion` over that of the recording, and the `duration` (s) that is to be
            recorded beside the present data; the shortest first.

        Raises
        ------
        ValueError
            Of a randomly excited motion, whose intervals shrink with the root of its
            duration; of a coefficient that is given or no term of the law.
        """
        from leastaction.recordings.measured_rollout import CompiledLaw
        from leastaction.recordings.next_experiment import experiments
        from leastaction.recordings.physical_parameters import covariance_of

        if self.rollout is None:
            raise ValueError(
                "a randomly excited motion has no input to choose: record "
                f"{shrink**-2:.3g} times as long, or where the force is larger"
            )
        if not 0 < shrink < 1:
            raise ValueError(f"shrink is {shrink}; expected a number between 0 and 1")
        rows = self.terms
        chosen = (rows.term == term) & ((rows.of == of) | (of is None))
        if chosen.sum() != 1 or not rows["std"][chosen].item() > 0:
            free = rows[rows["std"] > 0]
            listed = ", ".join(f"{r.term} of {r.of}" for r in free.itertuples())
            raise ValueError(
                f"{term} is no coefficient with an interval; expected one of {listed}"
            )
        compiled = CompiledLaw(self.observations, self.model)
        place, data = int(np.flatnonzero(chosen)[0]), self.dataset
        found = experiments(compiled, data, covariance_of(self), place, shrink)
        kind = "input_unit" if self.inputs else "coordinate_unit"
        units = map(str, self.observations[kind].values)
        units = dict(zip(self.coordinates, units, strict=True))
        found.insert(2, "unit", found.excite.map(units))
        return found

    @property
    def rms_error(self) -> xr.DataArray:
        """Rms error of free runs over held-out trajectories, over half the range.

        Shape (trajectory, dof). ValueError of a randomly excited motion, which has no
        path to be predicted.
        """
        self.residuals()
        return self.rollout["rms_error"].isel(replicate=0)

    def test(
        self,
        data: Any,
        *,
        time: Any = None,
        coordinates: Mapping | None = None,
        trajectory: str | None = None,
        inputs: Mapping | None = None,
        **reading: Any,
    ) -> "Law":
        """The same law, and what it predicts of all trajectories of other `data`.

        Parameters
        ----------
        data, time, coordinates, trajectory, inputs, reading
            As :func:`leastaction.learn` takes them.

        Raises
        ------
        ValueError
            Of a randomly excited motion, which has no path to be predicted; if the data
            cannot be used, or have other coordinates or inputs.
        """
        from leastaction.recordings.configuration import import_settings
        from leastaction.recordings.import_recording import import_recording
        from leastaction.recordings.learn import described
        from leastaction.recordings.measured_rollout import predict

        self.residuals()
        columns = {"inputs": inputs}
        example, _ = described(data, time, coordinates, trajectory, columns, reading)
        own = self.coordinates, bool(self.inputs)
        names, driven = (example["import"][k] for k in ("coordinates", "inputs"))
        if (tuple(names), bool(driven)) != own:
            raise ValueError(
                f"the data have the coordinates {', '.join(names)} and "
                f"{'' if driven else 'no '}inputs; expected {', '.join(own[0])} and "
                f"{'' if own[1] else 'no '}inputs"
            )
        whole = {"held_out": []}  # none, and no end of one is set apart
        observations = import_recording(import_settings(example) | whole)
        every = xr.ones_like(observations["held_out"])
        observations = observations.assign(held_out=every)
        rollout = predict(observations, self.model, {"start": None})
        return Law(self.model, self.observations, rollout, self.title, self.seconds)

    def score(
        self,
        data: Any = None,
        *,
        time: Any = None,
        coordinates: Mapping | None = None,
        trajectory: str | None = None,
        inputs: Mapping | None = None,
        **reading: Any,
    ) -> Comparison | float:
        """R² of free runs over held-out trajectories, or over all of other `data`.

        The mean over coordinates; the state of a run is fitted to its begin.

        Parameters
        ----------
        data
            Those held out if None; others as :func:`leastaction.learn` takes them; or a
            known :class:`~leastaction.System`, for terms and coefficients beside those
            of it, see :meth:`leastaction.IdentifiedModel.score`.
        time, coordinates, trajectory, inputs, reading
            Of other data, as of :func:`leastaction.learn`.

        Raises
        ------
        ValueError
            Of a randomly excited motion, which has no path to be predicted; if the data
            cannot be used, or have other coordinates or inputs.
        """
        if isinstance(data, System):
            return super().score(data)
        self.residuals()
        rollout = self.rollout
        if data is not None:
            columns = {"coordinates": coordinates, "inputs": inputs}
            how = {"time": time, "trajectory": trajectory, **columns, **reading}
            rollout = self.test(data, **how).rollout
        one = rollout.isel(replicate=0)
        measured, error = one["q_measured"], one["q_estimate"] - one["q_measured"]
        missed = (error**2).sum("path_sample")
        return float((1 - missed / measured.var("path_sample") / len(error)).mean())

    @property
    def modes(self) -> xr.Dataset | None:
        """Natural frequencies (Hz), damping ratios and shapes about the equilibrium.

        Those of a randomly excited motion, with standard errors by the delta method;
        see :func:`leastaction.ensembles.modes.modes`. None of any other law.
        """
        from leastaction.ensembles.modes import modes

        return modes(self.dataset) if self.rollout is None else None

    @cached_property
    def sensed_modes(self) -> xr.Dataset | None:
        """Modes of the sensors of a randomly excited motion, without a law.

        See :func:`leastaction.modes`; None of any other motion, and of too short a one.
        """
        if self.rollout is not None:
            return None
        return modes_of_observations(self.observations)

    @property
    def calibration(self) -> "Calibration | None":
        """Of a trapped particle whose bath has a `temperature`; else None.

        See :func:`leastaction.calibrate`.
        """
        from leastaction.recordings.thermal_calibration import calibration_of

        return calibration_of(self.observations) if self.rollout is None else None

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of its figures."""
        return SHAKEN_FIGURES if self.rollout is None else FIGURES

    def _without_law(self) -> list[str]:
        if self.rollout is not None or self.sensed_modes is None:
            return []
        about = "What the sensors show without a law:"
        table_of_modes = "\n".join(modes_table(self.sensed_modes))
        return ["## Modes", about, table_of_modes, *_calibration(self.calibration)]

    def _predicted(self) -> list[str]:
        return [] if self.rollout is None else _validation(self.rollout)

    def _amounts(self) -> list[str]:
        return [self._error_bars(), *_amount(self.observations)]

    def prediction(self) -> str:
        """Errors of free runs and one sample ahead, as Markdown."""
        return "\n\n".join(_joined(_validation(self.rollout))) + "\n"

    def _described(self) -> list[str]:
        random = self.rollout is None
        whole = not self.not_identifiable and self.system.has_equations
        shown = str(self.system) if whole else super().__str__()
        lines = [
            *_numbers(self.physical),
            "## The law",
            table(table_of_terms(self)),
            "```text",
            shown,
            "```",
        ]
        if random:
            scale = _scale_note(self.observations, self, random)
            return [
                *lines,
                f"Sensor noise: {sensor_noise(self.dataset)}. "
                f"{random_force(self.dataset)}`Wdot` is white noise of strength one. "
                f"{scale} The search ended "
                f"because {self.dataset['search_stop'].item()}.",
                *_modes(self.modes, self.sensed_modes),
                *_calibration(self.calibration),
            ]
        return [
            *lines,
            _scale_note(self.observations, self, random),
            "## What is conserved",
            *(f"- {line}" for line in conserved(self, self.observations)),
            "## What the data cannot decide",
            *_alternatives(self.alternatives),
        ]

    def _error_bars(self) -> str:
        if self.rollout is None:
            count = int(self.dataset["samples"])
            return f"intervals follow from the likelihood of {count} sampling times"
        count = int(self.dataset["stretches"])
        source = f"the scores of {count} stretches" if count else "the likelihood"
        amplitudes = _amplitudes(self.model)
        return f"intervals follow from {source}, for amplitudes of {amplitudes}"

    def _repr_markdown_(self) -> str:
        text = self.to_markdown()
        if self.verdict == NONE:
            return text
        formula = f"\n$$\n{self.latex_terms()}\n$$\n"
        return text.replace("\n## The law\n", f"\n## The law\n{formula}", 1)


def law_of(model: xr.Dataset, observations: xr.Dataset, *more, **about) -> LawPage:
    """Law of a motion, or of the kind of table that the observations name."""
    if "kind" not in observations.attrs:
        return Law(model, observations, *more, **about)
    from leastaction.recordings.law_of_kind import LawOfKind

    return LawOfKind(model, observations, *more, **about)


def _numbers(physical: "pd.DataFrame") -> list[str]:
    """Section of the numbers of :attr:`Law.physical`; empty if there are none."""
    rows = []
    for row in physical.itertuples():
        number, width = rounded(row.value, (row.high - row.low) / 2)
        rows.append(
            {
                "quantity": row.quantity,
                "value": number,
                "95 % interval": f"± {width}" if width else "",
                "standard error": f"{row.percent:.2g} %",
                "unit": row.unit,
            }
        )
        if row.grouped:
            rows[-1]["quantity"] += f" and {row.grouped}: their sum alone is seen"
    return ["## In numbers", table(rows)] if rows else []


def table_of_terms(law: LawPage) -> list[dict[str, str]]:
    """Rows of :attr:`Law.terms` as text."""
    rows = []
    for row in law.terms.itertuples():
        number, width = rounded(row.value, law.interval_factor * row.std)
        rows.append(
            {
                "term": f"`{row.term}`",
                "of": row.of,
                "coefficient": number,
                "95 % interval": f"± {width}" if width else GIVEN * (row.std == 0),
                "unit": row.unit,
            }
        )
    return rows


def _joined(parts: list[str]) -> list[str]:
    """Lines of tables, lists and code stay together."""
    blocks: list[str] = []
    code = False
    for part in parts:
        tight = blocks and (
            code
            or (part[:1] in "|-" and blocks[-1].rpartition("\n")[2][:1] == part[:1])
        )
        if part.startswith("```"):
            tight = code
            code = not code
        if tight:
            blocks[-1] += "\n" + part
        else:
            blocks.append(part)
    return blocks


def table(rows: list[dict[str, str]]) -> str:
    """Rows by column as a table in Markdown."""
    cells = [list(rows[0]), *(list(row.values()) for row in rows)]
    lines = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join([lines[0], "|" + "---|" * len(cells[0]), *lines[1:]])


def _calibration(calibration: "Calibration | None") -> list[str]:
    """Section of a trapped particle: numbers in SI units."""
    if calibration is None:
        return []
    return ["## Calibration", calibration.to_markdown().rstrip()]


def _modes(result: xr.Dataset | None, seen: xr.Dataset | None) -> list[str]:
    """Table of the modes of a law, and its MAC to those of the sensors alone."""
    if result is None:
        return ["The law has no stable equilibrium near the mean, hence no modes."]
    if not result.sizes["mode"]:
        return [
            "## Modes",
            "The motion is overdamped: it has no natural frequency. If it moves as "
            "γ q̇ + κ q = ξ, its inertia is not seen; `leastaction calibrate` gives the "
            "corner frequency κ/2πγ with its interval.",
        ]
    lines = [
        "## Modes",
        "Small free vibrations about the equilibrium, without dry friction:",
        "\n".join(modes_table(result.drop_dims("channel").rename(dof="channel"))),
    ]
    if seen is not None and seen.sizes["mode"]:
        pairs = assurance(*(complex_shapes(*x) for x in ((result, "sensed"), (seen,))))
        lines.append(
            "MAC with the nearest mode that the sensors show without a law: "
            + ", ".join(f"{x:.3f}" for x in pairs.max(axis=1))
        )
    return lines


def _amount(observations: xr.Dataset) -> list[str]:
    """How much the law was learned from, and how much was held out."""
    if "held_out" not in observations:
        return []
    step = float(observations.attrs["time_step"])
    held = observations["held_out"].values.astype(bool)
    texts = []
    for chosen, verb in (
        (~held, "learned from"),
        (held, "held out for the prediction"),
    ):
        count = observations["sample_count"].values[chosen]
        several = "y" if len(count) == 1 else "ies"
        texts.append(
            f"{verb}: {len(count)} trajector{several}, {count.sum()} samples, "
            f"{count.sum() * step:.4g} s"
        )
    return texts if held.any() else texts[:1]


def _scale_note(observations: xr.Dataset, law: Law, random: bool) -> str:
    terms = law.terms
    fixed = terms[terms["std"] == 0]
    given = [f"{x:g} of `{t}`" for x, t in zip(fixed.value, fixed.term, strict=True)]
    if "input" in observations and given:
        return f"What is known gives the scale: {' and '.join(given)}."
    if "input" in observations:
        forces = ", ".join(f"`F_{name}`" for name in law.inputs)
        return (
            "The recorded input gives the scale: L is in the unit of the input times "
            "that of its coordinate (J for N and m, or N m and rad). In the equations "
            f"of motion it is {forces}."
        )
    if random:
        return "Coefficients are those of an L whose first inertia is ½."
    several = ", one for every group of coordinates that no term connects"
    return (
        "Without a recorded force a Lagrangian is known up to a factor"
        f"{several if len(given) > 1 else ''}; by convention it has "
        f"{' and '.join(given)}. Ratios of coefficients count."
    )


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 100 else f"{value:.0f} s"


def _validation(rollout: xr.Dataset) -> list[str]:
    """Free runs, and what the law expects of a sample from all before."""
    names, units, factors = shown_units(rollout)
    which = "held-out trajectories", "trajectories that were also learned from"
    lines = [
        f"Free runs from the first {_seconds(rollout.attrs['start'])} of "
        f"{which[rollout.attrs['learned_from']]}:",
        "| trajectory | coordinate | rms error | of half the range | largest error |",
        "|---|---|---|---|---|",
    ]
    labels, errors = rollout["label"].values, rollout["rms_error"].values[0]
    worst = np.argsort(-errors.max(axis=1), kind="stable")[:MOST_SHOWN]
    for k in np.sort(worst):
        label = labels[k]
        for a, name in enumerate(names):
            rms, largest = (
                rollout[error].values[0, k, a]
                for error in ("rms_error", "maximum_error")
            )
            shown = rms * rollout["half_range"].values[k, a] / factors[a]
            cells = [label, name, f"{shown:.3g} {units[a]}"]
            cells += [f"{100 * rms:.2f} %", f"{100 * largest:.2f} %"]
            lines.append(f"| {' | '.join(cells)} |")
    if len(labels) > MOST_SHOWN:
        median = ", ".join(
            f"{name} {100 * error:.2f} %"
            for name, error in zip(names, np.median(errors, axis=0), strict=True)
        )
        lines.append(
            f"These are the {MOST_SHOWN} worst of {len(labels)}; median of all, of "
            f"half the range: {median}."
        )
    errors = ", ".join(
        f"{name} {error / factor:.3g} {unit}"
        for name, error, factor, unit in zip(
            names, rollout["one_step_error"].values[0], factors, units, strict=True
        )
        if np.isfinite(error)
    )
    step = rollout.attrs["time_step"]
    if errors:
        lines.append(f"One sample ({_seconds(step)}) ahead, rms error: {errors}.")
    if "force_error" not in rollout:
        return lines
    shares = ", ".join(
        f"{name} {percent_text(share)}"
        for name, share in zip(names, force_errors(rollout), strict=True)
        if np.isfinite(share)
    )
    if not shares:
        return [*lines, "Without an input, held-out motion has no force error."]
    return [
        *lines,
        f"Force error: {shares}. This is the force that the law misses, rms over "
        f"windows of {_seconds(rollout.attrs['force_window'])}, over the recorded "
        "force: a machine that integrates its force can have a good free run and a "
        "wrong law.",
    ]


def _alternatives(about: list[dict]) -> list[str]:
    if not about:
        return ["No other law of this size fits as well."]
    lines = [
        "These laws of the same size fit alike; a number of a term that they exchange "
        "means little by itself:",
    ]
    for other in about:
        terms = ", ".join(
            f"`{name}` {value:.4g}" for name, value in other["coefficients"].items()
        )
        lines.append(
            f"- {' + '.join(other['has'])} instead of "
            f"{' + '.join(other['instead_of'])} "
            f"(error {100 * (other['error_ratio'] - 1):+.0f} %): {terms}"
        )
    return lines


def _amplitudes(model: xr.Dataset) -> str:
    ranges = zip(model["dof"].values, model["amplitude_range"].values[0], strict=True)
    return ", ".join(f"{name} {low:.3g} … {high:.3g}" for name, (low, high) in ranges)
