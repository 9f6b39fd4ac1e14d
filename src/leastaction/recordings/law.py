"""The law of a recording: terms with intervals, a verdict, and what to believe."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from leastaction.core import files
from leastaction.core.families import states_arguments
from leastaction.core.library import Comparison
from leastaction.core.model import IdentifiedModel, rounded, with_intervals
from leastaction.core.system import System
from leastaction.ensembles.output_modes import assurance
from leastaction.figures.readable import Page, listed, percent_text
from leastaction.recordings.columns import CONTRADICTION
from leastaction.recordings.conserved import conserved
from leastaction.recordings.contracts import amount, shown_units
from leastaction.recordings.excitation import UNRECORDED
from leastaction.recordings.inputs import OPPOSED
from leastaction.recordings.interfaces import speaks_python
from leastaction.recordings.modal_analysis import (
    complex_shapes,
    modes_of_observations,
    modes_table,
)
from leastaction.recordings.physical_parameters import physical_parameters
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.remarks import (
    doubts,
    force_errors,
    is_astray,
    is_lost,
    of_inputs,
    of_modes,
    predictability,
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
# Refusals of motions from which no law could be learned, and one can be tested.
OF_KNOWN_LAW = ["sampling", "noise", "length"]
FORCELESS = "the law has inertia, and no force that moves it"
# First line of a law.
FIXED = "fixed (sets the scale)"
UNRESERVED, RESERVED, NONE = "found", "found, with reservations", "no law found"


@states_arguments
class LawPage(Page):
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
        panel = Panel(self.title, {"title": self.title}, {MAIN: self._drawn}, rollouts)
        return draw(what, [panel], {})

    @property
    def _drawn(self) -> xr.Dataset:
        """Model for the figures."""
        return self.model

    @property
    def headline(self) -> str:
        """The verdict, and the first reservation or limit: first line of a page."""
        law = "" if self.verdict == NONE else "law "
        limits = self.reservations or self.limits
        text = ": ".join([f"{law}{self.verdict}", *limits[:1]])
        return f"{text[0].upper()}{text[1:]}"

    @property
    def limits(self) -> list[str]:
        """What no law of these data could do better, one sentence each."""
        return []

    def to_markdown(self) -> str:
        """The law with intervals, what it predicts, equivalents and warnings."""
        parts = [f"# {self.title}"] if self.title else []
        parts.append(f"**{self.headline}.**")
        parts += [f"- {text}" for text in self.reservations[1:]]
        parts += self._without_law() if self.verdict == NONE else self._described()
        predicted = self._predicted()
        if predicted:
            parts += ["## What it predicts", *predicted]
        shown = [self.headline.partition(": ")[2], *self.reservations]
        notes = [text for text in self.warnings if text not in shown]
        notes += self._amounts()
        if self.seconds is not None:
            notes.append(f"computing time: {self.seconds:.0f} s")
        parts += ["## Notes on the data", *(f"- {text}" for text in notes)]
        return "\n\n".join(_joined(parts)) + "\n"

    def _without_law(self) -> list[str]:
        """What the data show where there is no law."""
        return []

    def __repr__(self) -> str:
        """Verdict and terms; ``print`` shows the page."""
        name = f"{type(self).__name__} {self.title}".strip()
        terms = [str(self.terms)] if len(self.terms) else []
        return "\n".join([f"{name}: {self.verdict}", *terms])

    @property
    def rms_error(self) -> xr.DataArray:
        """Rms error over what was held out, over half the range: (trajectory, dof).

        ValueError of a randomly excited motion, which has no path to be predicted.
        """
        return self._predictable()["rms_error"].isel(replicate=0)

    def _predictable(self) -> xr.Dataset:
        if self.rollout is None:
            raise ValueError(
                "a randomly excited motion has no path to be predicted; compare "
                "ensembles by law.system.simulate(...)"
            )
        return self.rollout


@states_arguments
class Law(LawPage, IdentifiedModel):
    """Lagrangian, Rayleigh function and volatility of a recording, with a verdict.

    ``print(law)`` and a notebook show it as ``law.md`` does. Parameters are those of
    :class:`LawPage`.

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
        return NONE if lost else RESERVED if self.reservations else UNRESERVED

    @property
    def reservations(self) -> list[str]:
        """Why the law is not simply `found`, one sentence each."""
        if self.rollout is not None:
            of_data = json.loads(self.observations.attrs.get("warnings", "[]"))
            texts = [t for t in of_data if t.startswith((UNRECORDED, CONTRADICTION))]
            texts += reservations(self.model, self.rollout)
            return [FORCELESS, *texts] if self._is_forceless else texts
        texts = doubts(self.dataset)
        return [OPPOSED, *texts] if self._is_opposed else texts

    @property
    def limits(self) -> list[str]:
        """Until when free runs of an unstable motion follow it."""
        none = self.rollout is None
        return [] if none else [*filter(None, [predictability(self.rollout)])]

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
        noted = [t for s in stages for t in json.loads(s.attrs.get("warnings", "[]"))]
        texts = [*dict.fromkeys([*noted, *self.reservations])]
        if self.rollout is None:
            texts += of_inputs(self.dataset, self.observations)
            return texts + of_modes(self.dataset, self.sensed_modes, self.modes)
        return [*texts, *self.limits, *remarks(self.model, self.observations)]

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
        """Write the accelerations as a function of another language.

        Its heading names what the law has beside the equations: random force,
        corrections, delays and gains of inputs are left out.

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
        from leastaction.recordings import source_code

        language = source_code.language_of(path, language)
        missing = source_code.left_out(self.dataset)
        files.save_text(source_code.source_code(self.system, language, missing), path)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Coordinates with a recorded force, ``F_x`` in the equation of ``x``."""
        if "input_unit" not in self.observations.coords:
            return ()
        units = zip(
            self.coordinates, self.observations["input_unit"].values, strict=True
        )
        return tuple(name for name, unit in units if str(unit))

    @property
    def _drawn(self) -> xr.Dataset:
        """Model with the units of the user, of channels that are coordinates."""
        if self.rollout is not None:
            return self.model
        names, *about = shown_units(self.observations)
        known = dict(zip(names, zip(*about, strict=True), strict=True))
        pairs = [known.get(str(c), ("SI", 1.0)) for c in self.dataset["channel"].values]
        units, factors = (("channel", list(x)) for x in zip(*pairs, strict=True))
        return self.model.assign_coords(channel_unit=units, channel_factor=factors)

    def _unit_of(self):
        return coefficient_units(self, self.observations)

    def residuals(self) -> xr.Dataset:
        """Measured minus fitted, over windows of three main periods.

        ValueError of a randomly excited motion, which has no path to be predicted.
        """
        names = ["residual", "path_trajectory", "path_time"]
        return self._predictable()[names].isel(replicate=0)

    @property
    def physical(self) -> "pd.DataFrame":
        """Parameters of a machine: masses, friction, base parameters, frequencies.

        See :mod:`leastaction.recordings.physical_parameters`. Columns `quantity`,
        `value`, `std`, `low` and `high` of the 95 % interval, `percent` (the relative
        standard error; NaN where the interval holds zero), `unit`, and `grouped`, other
        terms that the motion does not distinguish from it. Empty of a randomly excited
        motion, which has :attr:`modes`.
        """
        import pandas as pd

        rows = []
        if self.rollout is not None:
            rows = physical_parameters(self, self.observations, self._unit_of())
        columns = ["quantity", "value", "std", "unit", "grouped"]
        frame = pd.DataFrame(rows, columns=columns)
        percent = 100 * frame["std"] / np.abs(frame.value)
        frame.insert(3, "percent", percent.where(percent < 100 / self.interval_factor))
        return with_intervals(frame, self.interval_factor)

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
            known = ", ".join(f"{r.term} of {r.of}" for r in free.itertuples())
            raise ValueError(
                f"{term} is no coefficient with an interval; expected one of {known}"
            )
        compiled = CompiledLaw(self.observations, self.model)
        place, data = int(np.flatnonzero(chosen)[0]), self.dataset
        designs = experiments(compiled, data, covariance_of(self), place, shrink)
        kind = "input_unit" if self.inputs else "coordinate_unit"
        units = map(str, self.observations[kind].values)
        units = dict(zip(self.coordinates, units, strict=True))
        designs.insert(2, "unit", designs.excite.map(units))
        return designs

    @speaks_python
    def test(
        self,
        data: Any,
        time: Any = None,
        *,
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

        self._predictable()
        columns, known = {"inputs": inputs}, {"accept": OF_KNOWN_LAW}
        entries = data, time, coordinates, trajectory, columns, reading
        example, _ = described(*entries, known)
        ours = self.coordinates, bool(self.inputs)
        names, driven = (example["import"][k] for k in ("coordinates", "inputs"))
        if (tuple(names), bool(driven)) != ours:
            raise ValueError(
                f"the data have the coordinates {', '.join(names)} and "
                f"{'' if driven else 'no '}inputs; expected {', '.join(ours[0])} and "
                f"{'' if ours[1] else 'no '}inputs"
            )
        undivided = {"held_out": []}  # none, and no end of one is set apart
        observations = import_recording(import_settings(example) | undivided)
        every = xr.ones_like(observations["held_out"])
        observations = observations.assign(held_out=every)
        rollout = predict(observations, self.model, {"start": None})
        return Law(self.model, self.observations, rollout, self.title, self.seconds)

    def score(
        self, data: Any = None, time: Any = None, **how: Any
    ) -> Comparison | float:
        """R² of free runs over held-out trajectories, or over all of other `data`.

        The mean over coordinates; the state of a run is fitted to its begin.

        Parameters
        ----------
        data
            Those held out if None; others as :func:`leastaction.learn` takes them; or a
            known :class:`~leastaction.System`, for terms and coefficients beside those
            of it, see :meth:`leastaction.IdentifiedModel.score`.
        time, how
            `coordinates` and all else of other data, as of :meth:`test`.

        Raises
        ------
        ValueError
            Of a randomly excited motion, which has no path to be predicted; if the data
            cannot be used, or have other coordinates or inputs.
        """
        if isinstance(data, System):
            return super().score(data)
        law = self if data is None else self.test(data, time, **how)
        one = law._predictable().isel(replicate=0)
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
        return ["## Modes", about, table_of_modes, *_calibration(self)]

    def _predicted(self) -> list[str]:
        return [] if self.rollout is None else _validation(self.rollout)

    def _amounts(self) -> list[str]:
        return [self._error_bars(), *_amount(self.observations)]

    def prediction(self) -> str:
        """Errors of free runs and one sample ahead, as Markdown."""
        return "\n\n".join(_joined(_validation(self.rollout))) + "\n"

    def _described(self) -> list[str]:
        random = self.rollout is None
        physical = self.physical
        about = ["## Physical parameters"]
        lines = [
            *([*about, table(rows_of(physical, "value"))] if len(physical) else []),
            "## The law",
            table(rows_of(self.terms, "coefficient")),
            "```text",
            str(self.system),
            "```",
        ]
        if random:
            scale = _scale_note(self.observations, self, random)
            return [
                *lines,
                f"Sensor noise (std, SI units): {sensor_noise(self.dataset)}. "
                f"{random_force(self.dataset)}`Wdot` is white noise of unit intensity. "
                f"{scale} The search for terms ended "
                f"because {self.dataset['search_stop'].item()}.",
                *_modes(self.modes, self.sensed_modes),
                *_calibration(self),
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
            return f"intervals are based on the likelihood of {count} samples"
        count = int(self.dataset["stretches"])
        source = f"the scores of {count} segments" if count else "the likelihood"
        names, units, factors = shown_units(self.rollout)
        low, high = self.model["amplitude_range"].values[0].T / factors
        amplitudes = ", ".join(
            f"{name} {a:.3g} … {b:.3g} {unit}"
            for name, a, b, unit in zip(names, low, high, units, strict=True)
        )
        return f"intervals are based on {source}; amplitudes: {amplitudes}"

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


def rows_of(frame: "pd.DataFrame", heading: str) -> list[dict[str, str]]:
    """Values with their intervals as text; `heading` is the column of the values."""
    rows = []
    for row in frame.to_dict("records"):
        number, width = rounded(row["value"], (row["high"] - row["low"]) / 2)
        row["term"] = f"`{row.get('term')}`"
        about = [name for name in ("term", "of", "quantity") if name in frame]
        if row.get("grouped"):
            row["quantity"] += f" and {row['grouped']}: their sum alone is identified"
        error = {}
        if "percent" in row:
            part = row["percent"]
            error["standard error"] = f"{part:.2g} %" if part == part else "holds zero"
        rows.append(
            {name: row[name] for name in about}
            | {
                heading: number,
                "95 % interval": f"± {width}" if width else FIXED * (row["std"] == 0),
                **error,
                "unit": row["unit"],
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


def _calibration(law: Law) -> list[str]:
    """Section of a trapped particle: numbers in SI units, or why there are none."""
    try:
        calibration = law.calibration
    except RecordingError as error:
        return ["## Calibration", f"There is none: {error}"]
    if calibration is None:
        return []
    return ["## Calibration", calibration.to_markdown().rstrip()]


def _modes(result: xr.Dataset | None, shown: xr.Dataset | None) -> list[str]:
    """Table of the modes of a law, and its MAC to those of the sensors alone."""
    if result is None:
        return [
            "The law has no stable equilibrium near the mean position, hence no modes."
        ]
    if not result.sizes["mode"]:
        return [
            "## Modes",
            "The motion is overdamped: it has no natural frequency. If γ q̇ + κ q = ξ "
            "describes it, the inertia is not identifiable; `leastaction calibrate` "
            "gives the corner frequency κ/2πγ with its interval.",
        ]
    lines = [
        "## Modes",
        "Small free vibrations about the equilibrium; dry friction is neglected:",
        "\n".join(modes_table(result.drop_dims("channel").rename(dof="channel"))),
    ]
    if shown is not None and shown.sizes["mode"]:
        pairs = assurance(*(complex_shapes(*x) for x in ((result, "sensed"), (shown,))))
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
    for chosen, what in ((~held, "training data"), (held, "held-out data")):
        counts = observations["sample_count"].values[chosen]
        texts.append(f"{what}: {amount(counts, step)}")
    return texts if held.any() else texts[:1]


def _scale_note(observations: xr.Dataset, law: Law, random: bool) -> str:
    fixed = law.terms.query("std == 0")
    both = zip(fixed.value, fixed.term, strict=True)
    values = " and ".join(f"{x:g} for `{term}`" for x, term in both)
    if "input" in observations and values:
        return f"The scale of L follows from what is known of it: {values}."
    if "input" in observations:
        forces = listed([f"`F_{name}`" for name in law.inputs])
        return (
            "The recorded input sets the scale: L has the unit of the input times that "
            "of its coordinate (J for N and m, or for N m and rad). In the equations "
            f"of motion it is {forces}."
        )
    if random:
        return "L is scaled such that the first inertia term has the coefficient ½."
    several = ", one for each group of uncoupled coordinates"
    return (
        "Without a recorded force the Lagrangian is determined only up to a factor"
        f"{several if len(fixed) > 1 else ''}, which is fixed by a coefficient of "
        f"{values}. Only ratios of coefficients have a meaning."
    )


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 100 else f"{value:.0f} s"


def _validation(rollout: xr.Dataset) -> list[str]:
    """Free runs, and one-step-ahead predictions."""
    names, units, factors = shown_units(rollout)
    which = ("held-out", "training")[rollout.attrs["learned_from"]]
    labels, errors = rollout["label"].values, rollout["rms_error"].values[0]
    largest, size = rollout["maximum_error"].values[0], rollout["half_range"].values
    worst = np.argsort(-errors.max(axis=1), kind="stable")[:MOST_SHOWN]
    rows = [
        {
            "trajectory": labels[k],
            "coordinate": name,
            "rms error": f"{errors[k, a] * size[k, a] / factors[a]:.3g} {units[a]}",
            "rms error / half range": f"{100 * errors[k, a]:.2f} %",
            "largest error / half range": f"{100 * largest[k, a]:.2f} %",
        }
        for k in np.sort(worst)
        for a, name in enumerate(names)
    ]
    lines = [
        f"Free runs (simulations) of {which} trajectories; initial states are fitted "
        f"to the first {_seconds(rollout.attrs['start'])}:",
        table(rows),
    ]
    if len(labels) > MOST_SHOWN:
        medians = _by_name(
            names, np.median(errors, axis=0), lambda x, a: f"{100 * x:.2f} %"
        )
        lines.append(
            f"These are the {MOST_SHOWN} worst of {len(labels)} trajectories; median "
            f"rms error / half range of all: {medians}."
        )
    ahead = rollout["one_step_error"].values[0] / factors
    steps = _by_name(names, ahead, lambda x, a: f"{x:.3g} {units[a]}")
    if steps:
        step = _seconds(rollout.attrs["time_step"])
        lines.append(f"One-step-ahead prediction ({step}), rms error: {steps}.")
    if "force_error" not in rollout:
        return lines
    shares = _by_name(names, force_errors(rollout), lambda x, a: percent_text(x))
    if not shares:
        return [*lines, "No force error: the held-out motion has no input."]
    return [
        *lines,
        f"Force error: {shares} (rms of the unexplained force over windows of "
        f"{_seconds(rollout.attrs['force_window'])}, less what noise of the sensors "
        "shows there, over rms of the recorded one). "
        "Where inputs dominate, free runs can be accurate although the law is wrong.",
    ]


def _by_name(names: list[str], values: np.ndarray, text: Callable) -> str:
    """Values by coordinate but NaN; ``text(value, a)`` is that of the a-th."""
    pairs = enumerate(zip(names, values, strict=True))
    return ", ".join(f"{n} {text(x, a)}" for a, (n, x) in pairs if not np.isnan(x))


def _alternatives(about: list[dict]) -> list[str]:
    if not about:
        return ["No other law with as many terms fits comparably well."]
    lines = [
        "These laws with as many terms fit comparably well; the coefficient of a term "
        "that they exchange means little by itself:",
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
