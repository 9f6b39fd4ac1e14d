"""Operational modal analysis of a table: modes of the sensors, before any law.

The work is that of :mod:`leastaction.ensembles.output_modes`; here are tables and
set-ups of sensors, and what a modal analyst looks at.
"""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import interval, rounded
from leastaction.core.own_data import ROUND_OFF
from leastaction.core.settings import ConfigError, complete
from leastaction.ensembles.modes import (
    STRUCTURAL,
    interval_of_ratio,
    phase_collinearity,
)
from leastaction.ensembles.output_modes import (
    BACKGROUND,
    DRIFT,
    FEWEST_PERIODS,
    LARGEST_DAMPING_RATIO,
    SLOW,
    TONE,
    UNCONFIRMED,
    assurance,
    output_modes,
)
from leastaction.ensembles.sensor_records import records_of
from leastaction.figures.readable import Page, listed
from leastaction.recordings.columns import column, unit_of_heading
from leastaction.recordings.configuration import Import, column_and_unit
from leastaction.recordings.interfaces import speaks_python
from leastaction.recordings.learn import tables_of
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.splitting import (
    Trajectory,
    fill_inputs,
    read_trajectories,
    resample,
)
from leastaction.recordings.tables import open_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Modes of two set-ups are one if shapes agree so far at the sensors of both.
LEAST_ASSURANCE = 0.8
# Largest entry of a shape, of the extent of the geometry.
DEFLECTION = 0.25
KINDS = {
    TONE: "a tone: its amplitude is constant, as that of a machine",
    DRIFT: "a tone that drifts: its amplitude is constant, its frequency is not",
    BACKGROUND: "background: it falls by more than e in a period, and does not ring",
    UNCONFIRMED: "unconfirmed: models of higher order lack it",
    SLOW: f"slow: the record has fewer than {FEWEST_PERIODS:.0f} of its periods",
}


class Modes(Page):
    """Modes of the outputs of a structure, with 95 % intervals.

    ``print(modes)`` and a notebook show them as ``modes.md`` does.

    Parameters
    ----------
    dataset
        What :func:`leastaction.ensembles.output_modes.output_modes` found.
    title
        Heading.
    geometry
        Place of each sensor, ``{"x1": [0, 3]}``, for figures of shapes; they move along
        the first axis.
    shapes
        Known ones, as of :meth:`mac`; the text has the MAC to the nearest of them.

    Examples
    --------
    >>> import numpy as np, leastaction as la
    >>> from scipy.signal import lfilter
    >>> force = np.random.default_rng(3).standard_normal(20_000)
    >>> y = lfilter([1], [1, -1.9, 0.998], force)
    >>> found = la.modes({"roof": y, "mid": 0.5 * y + force}, time=0.05)
    >>> found.table.frequency.round(1).tolist()
    [1.0]
    """

    figures = ("stabilisation", "shapes")

    def __init__(
        self,
        dataset: xr.Dataset,
        title: str = "",
        geometry: Mapping | None = None,
        shapes: Any = None,
    ):
        self.dataset, self.title = dataset, title
        self.geometry, self.known = dict(geometry or {}), shapes

    @property
    def structural(self) -> xr.Dataset:
        """Those that are modes of the structure; tones and the like left out."""
        return self.dataset.isel(
            mode=np.flatnonzero(self.dataset["kind"].values == STRUCTURAL)
        )

    @property
    def shapes(self) -> np.ndarray:
        """Complex shapes (mode, channel) of these, largest entry one."""
        return complex_shapes(self.structural)

    @property
    def table(self) -> "pd.DataFrame":
        """Frequencies (Hz), damping ratios, intervals and phase collinearity."""
        data = self.structural
        names = [name for name in data if data[name].dims == ("mode",)]
        return data[names].to_dataframe()

    def mac(self, shapes: Any) -> np.ndarray:
        """Modal assurance criterion with other modes or shapes (mode, channel).

        Modes of the same sensors, and shapes such as ``{"roof": 1, "mid": 0.6}``, are
        compared by name, other shapes in the order of :attr:`dataset`. ValueError if
        these have other sensors.
        """
        names = [str(name) for name in self.dataset["channel"].values]
        if isinstance(shapes, Modes):
            theirs = [str(name) for name in shapes.dataset["channel"].values]
            same = sorted(theirs) == sorted(names)
            order = [theirs.index(n) for n in names] if same else slice(None)
            other = shapes.shapes[:, order]
        else:
            rows = [shapes] if isinstance(shapes, Mapping) else shapes
            other = np.atleast_2d([_in_order(row, names) for row in rows])
        if other.shape[1] != len(names):
            raise RecordingError(
                f"the shapes have {other.shape[1]} sensors; expected {len(names)}: "
                f"{', '.join(names)}"
            )
        return assurance(self.shapes, other)

    def merge(self, *others: "Modes") -> "Modes":
        """Modes of several set-ups with some sensors in common, shapes joined.

        Each set-up is analysed alone and its shapes are scaled to those of the first at
        the common sensors (post-separate-estimation rescaling, PoSER; Reynders et al.,
        Proc. IMAC 27, 2009). Frequencies and damping ratios are means
        weighted by their variances; if they scatter by more than these, so do their
        errors. Modes that a set-up lacks are left out.

        Raises
        ------
        ValueError
            If a set-up has no sensor in common with the first one, or no mode is in
            all of them.
        """
        setups = [self, *others]
        matched = [
            places
            for mode in range(len(self.shapes))
            if (places := _in_all(setups, mode)) is not None
        ]
        if not matched:
            raise RecordingError(
                "no mode is in every set-up with the same shape at the common sensors; "
                "check their names"
            )
        return Modes(_merged(setups, matched), self.title, self.geometry, self.known)

    def to_markdown(self) -> str:
        """Table of the modes, and what else there is."""
        lines = [f"# {self.title}", ""] if self.title else []
        lines += modes_table(self.dataset)
        if self.known is not None:
            criteria = self.mac(self.known)
            names = ", ".join(map(str, self.dataset["channel"].values))
            lines += ["", f"MAC with the known shapes of ({names}), by mode:", ""]
            lines += [
                f"- {mode}: {', '.join(f'{x:.3f}' for x in row)}"
                for mode, row in enumerate(criteria, 1)
            ]
        return "\n".join(lines) + "\n"

    def to_npz(self, path: str | Path) -> None:
        """Write a result of pyOMA2, NumPy arrays by name in an ``.npz``.

        ``SSIResult(**np.load("modes.npz"))`` reads it: `Fn` (Hz), `Xi`, `Phi` (channel,
        mode), and their `_std`, of a complex entry √(var Re + var Im); `sens_names` are
        the channels.
        """
        from leastaction.core.files import save_bytes

        data, buffer = self.structural, io.BytesIO()
        errors = (data[f"shape_{part}_std"].values for part in ("real", "imaginary"))
        np.savez(
            buffer,
            Fn=data["frequency"],
            Fn_std=data["frequency_std"],
            Xi=data["damping_ratio"],
            Xi_std=data["damping_ratio_std"],
            Phi=self.shapes.T,
            Phi_std=np.hypot(*errors).T,
            sens_names=[str(name) for name in data["channel"].values],
        )
        save_bytes(buffer.getvalue(), path)

    def to_csv(self, path: str | Path) -> None:
        """Write a row for each mode: numbers, then real and imaginary parts of shapes.

        The entry of a shape is ``NAME real`` + i ``NAME imaginary``.
        """
        from leastaction.core.files import save_text

        frame, data = self.table, self.structural
        for name in map(str, data["channel"].values):
            for part in ("real", "imaginary"):
                entries = data.sel(channel=name)
                frame[f"{name} {part}"] = entries[f"shape_{part}"].values
                frame[f"{name} {part} std"] = entries[f"shape_{part}_std"].values
        save_text(frame.to_csv(), path)

    def plot(self, what: str = "stabilisation") -> "Figure":
        """Poles of models of all orders over the spectrum, or the ``shapes``."""
        from leastaction.core.families import unknown
        from leastaction.figures.style import style

        if what not in self.figures:
            raise ValueError(unknown("figure", what, self.figures))
        with style({}) as settings:
            return (_stabilisation if what == "stabilisation" else _shapes)(
                self, settings
            )


@speaks_python
def modes(
    data: Any,
    *,
    time: Any,
    sensors: Mapping | None = None,
    trajectory: str | None = None,
    band: float | None = None,
    geometry: Mapping | None = None,
    shapes: Any = None,
    title: str = "",
    **reading: Any,
) -> Modes:
    """Natural frequencies, damping ratios and mode shapes of a randomly shaken motion.

    Neither coordinates nor a law are needed.

    Parameters
    ----------
    data, time, trajectory, reading
        As of :func:`leastaction.learn`.
    sensors
        Columns that are outputs, with their units, ``{"roof": "acc 3 [m/s^2]"}``; all
        but those of time and trajectory if None.
    band
        Highest frequency of interest, Hz; twelve times that of the strongest motion if
        None.
    geometry, shapes
        Places of sensors, for the figure of shapes, and known shapes; see
        :class:`Modes`.
    title
        Heading.

    Returns
    -------
    Modes

    Raises
    ------
    RecordingError
        If the data cannot be used.

    Notes
    -----
    W. E. Larimore, Canonical variate analysis in identification, filtering, and
    adaptive control, Proc. 29th CDC (1990) 596; L. Ljung, System Identification (1999).
    """
    values, dt, columns = series_of(data, time, sensors, trajectory, reading)
    try:
        dataset = output_modes(values, dt, list(columns), band)
    except ValueError as error:
        singular = isinstance(error, np.linalg.LinAlgError)
        text = _dependent(values, list(columns)) if singular else ""
        raise RecordingError(text or str(error)) from None
    return Modes(dataset, title, geometry, shapes)


def series_of(
    data, time, sensors: Mapping | None, trajectory, reading: Mapping
) -> tuple[list[np.ndarray], float, dict]:
    """Stretches (time, column) of a table, seconds between samples, columns by name.

    Arguments and errors as of :func:`modes`.
    """
    files, frames, keys, arrays = tables_of(data, time, trajectory)
    config = {**reading, "files": files, **keys, "coordinates": {"any": {"unit": "1"}}}
    if isinstance(config["time"], str):
        config["time"] = {"column": config["time"]}
    try:
        settings = complete(config, Import, "the table")
        settings["files"] = frames or files
        if sensors is None:
            sensors = _outputs(settings, arrays)
        columns = _columns(sensors)
    except ConfigError as error:
        raise RecordingError("\n".join(error.problems)) from None
    except ValueError as error:
        raise RecordingError(str(error)) from None
    read = read_trajectories(settings["files"], settings, list(columns.values()))
    fill_inputs(read)
    read.done = _uncut(read.done)
    values, _, clock = resample(read.done, len(columns))
    for name, one in zip(columns, np.concatenate(values).T, strict=True):
        if np.ptp(one) <= ROUND_OFF * np.abs(one).max():
            raise RecordingError(
                f"the column of {name!r} is constant; expected the output of a sensor. "
                "Name the columns that are such as sensors"
            )
    return values, clock.step, columns


def _uncut(parts: Sequence[Trajectory]) -> list[Trajectory]:
    """Trajectories in one piece that were cut for their length."""
    joined: list[Trajectory] = []
    for part in parts:
        if joined and joined[-1].label == part.label:
            last = joined[-1]
            step = part.time[0] - last.time[-1]
            if 0 < step < 1.5 * np.median(np.diff(last.time)):
                time = np.concatenate([last.time, part.time])
                values = np.concatenate([last.values, part.values])
                joined[-1] = replace(last, time=time, values=values)
                continue
        joined.append(part)
    return joined


def _dependent(series: Sequence[np.ndarray], names: Sequence[str]) -> str:
    """That outputs are linearly dependent, to round-off; empty if they are not.

    >>> y = np.array([[1.0, 0, 2], [0, 1, 0], [0, 0, 0], [3, 0, 6]])
    >>> _dependent([y], "abc").partition(";")[0], _dependent([y[:, :2]], "ab")
    ('the columns a and c are linearly dependent', '')
    """
    correlations = np.atleast_2d(np.corrcoef(np.concatenate(series), rowvar=False))
    (least, *_), vectors = np.linalg.eigh(correlations)
    round_off = np.finfo(float).eps
    if not least < len(names) * round_off:
        return ""
    among = [n for n, w in zip(names, vectors[:, 0], strict=True) if w**2 > round_off]
    return (
        f"the columns {listed(among)} are linearly dependent; expected outputs of "
        "different sensors. Leave one of them out"
    )


def modes_of_observations(observations: xr.Dataset) -> xr.Dataset | None:
    """Modes of what a law was learned from; None if the record is too short."""
    channels, records, dt = records_of(observations)
    order = channels.velocity.any(axis=1) + 2 * channels.acceleration.any(axis=1)
    try:
        return output_modes(
            [record.y for record in records], dt, channels.names, order=order
        )
    except ValueError:
        return None


def _outputs(settings: Mapping, arrays: Mapping) -> dict:
    """All columns but those of time and trajectory, with the units of their names."""
    if arrays:
        return {name: {"unit": unit or "1"} for name, unit in arrays.items()}
    table = open_table(settings["files"][0], settings)
    # A clock of the file, of which only a rate is stated, is no sensor.
    other = settings["time"].get("column") or "time", settings.get("trajectory")
    used = [table.heading(name) for name in other if name]
    names = [name for name in table.columns if name not in used]
    units = {name: unit_of_heading(name) for name in names}
    bare = {n: re.sub(r"\s*[\[(][^\[(]*$", "", n) if units[n] else n for n in names}
    return {bare[n]: {"unit": units[n] or "1", "column": n} for n in names}


def _columns(sensors: Mapping) -> dict:
    """Columns of the outputs by name; ``acc 3 [m/s^2]`` is a column with its unit."""
    if not sensors:
        raise RecordingError("there is no column beside the time; expected outputs")
    columns = {}
    for name, entry in sensors.items():
        entry = column_and_unit(entry) if isinstance(entry, str) else entry
        columns[str(name)] = column(name, entry, f"import.sensors.{name}", True)
    return columns


def modes_table(data: xr.Dataset) -> list[str]:
    """Lines of Markdown: modes with intervals, then what is none."""
    names = ", ".join(map(str, data["channel"].values))
    lines = [
        f"| mode | natural frequency, Hz | damping ratio, % | shape ({names}) | MPC |",
        "|---|---|---|---|---|",
    ]
    rest = []
    for mode in (data.isel(mode=i) for i in range(data.sizes["mode"])):
        value = float(mode["frequency"])
        half = NORMAL_QUANTILE * float(mode["frequency_std"])
        frequency = interval(value, half)
        kind = str(mode["kind"].item())
        if kind != STRUCTURAL:
            rest.append(
                f"- {frequency} Hz is no mode of the structure but {KINDS[kind]}"
            )
            continue
        low, high = (float(mode[f"damping_ratio_{end}"]) for end in ("low", "high"))
        ratio = f"{100 * float(mode['damping_ratio']):.3g}"
        ratio += f" ({100 * low:.2g} … {100 * high:.2g})"
        if mode["damping_ratio"] < high / 200:  # half of its last digit
            ratio = f"below {100 * high:.2g}"
        cells = [str(len(lines) - 1), frequency, ratio, _shape_text(mode)]
        cells.append(f"{float(mode['phase_collinearity']):.3f}")
        lines.append(f"| {' | '.join(cells)} |")
    if len(lines) == 2:
        lines = ["No mode of a structure was identified."]
    about = (
        "Intervals are those of 95 %. Shapes have the largest entry one; an imaginary "
        "part is shown where its interval does not hold zero. MPC is the modal phase "
        "collinearity, one of a shape without phases."
    )
    order = data.attrs.get("order")
    if order is not None:
        about += (
            f" The likeliest model has {order} states, up to "
            f"{data.attrs['highest_frequency']:.4g} Hz."
        )
    if data.attrs.get("periods", np.inf) < FEWEST_PERIODS:
        about += (
            f" The record has {data.attrs['periods']:.2g} periods of the strongest "
            f"motion; with fewer than {FEWEST_PERIODS:.0f} modes are missed, invented, "
            "or taken for tones. Record longer."
        )
    return [*lines, "", about, *([""] if rest else []), *rest]


def _shape_text(mode: xr.Dataset) -> str:
    """Entries with intervals; imaginary parts that are not zero."""
    cells = []
    parts = (mode[f"shape_{name}"].values for name in ("real", "imaginary"))
    errors = (mode[f"shape_{name}_std"].values for name in ("real", "imaginary"))
    for x, y, of_x, of_y in zip(*parts, *errors, strict=True):
        text = interval(x, NORMAL_QUANTILE * of_x)
        if abs(y) > NORMAL_QUANTILE * of_y > 0:
            number, half = rounded(abs(y), NORMAL_QUANTILE * of_y)
            text += f" {'−' if y < 0 else '+'} ({number} ± {half})i"
        cells.append(text)
    return ", ".join(cells)


def complex_shapes(data: xr.Dataset, kind: str = "shape") -> np.ndarray:
    """Shapes (mode, channel) of their parts, those of a law also as ``sensed``."""
    return data[f"{kind}_real"].values + 1j * data[f"{kind}_imaginary"].values


def _in_order(shape: Any, names: Sequence[str]) -> Any:
    """Entries of a shape by sensor in an order; one that is none by name as it is."""
    if not isinstance(shape, Mapping):
        return shape
    if sorted(shape) != sorted(names):
        raise RecordingError(
            f"a shape has the sensors {', '.join(shape)}; expected {', '.join(names)}"
        )
    return [shape[name] for name in names]


def _in_all(setups: Sequence[Modes], mode: int) -> list[int] | None:
    """Place of a mode of the first set-up in each one; None if one lacks it."""
    members, first = [mode], setups[0].structural.isel(mode=mode)
    for other in setups[1:]:
        common = _common(setups[0], other)
        mine = setups[0].shapes[mode][[one for one, _ in common]]
        theirs = other.shapes[:, [two for _, two in common]]
        data = other.structural
        apart = np.abs(data["frequency"].values - float(first["frequency"]))
        spread = np.hypot(data["frequency_std"].values, float(first["frequency_std"]))
        alike = assurance(mine[None], theirs)[0] > LEAST_ASSURANCE
        near = apart < 3 * NORMAL_QUANTILE * spread
        places = np.flatnonzero(alike & near)
        if not len(places):
            return None
        members.append(int(places[np.argmin(apart[places])]))
    return members


def _common(one: Modes, other: Modes) -> list[tuple[int, int]]:
    """Places of common sensors in both."""
    mine, theirs = (list(m.dataset["channel"].values) for m in (one, other))
    pairs = [(mine.index(name), theirs.index(name)) for name in mine if name in theirs]
    if not pairs:
        raise RecordingError(
            f"set-ups with the sensors {', '.join(mine)} and {', '.join(theirs)} have "
            "none in common; expected references that do not move, under the same name"
        )
    return pairs


def _merged(setups: Sequence[Modes], matched: Sequence[Sequence[int]]) -> xr.Dataset:
    """One dataset of the modes that all set-ups have."""
    parts = [
        setup.structural.isel(mode=[row[k] for row in matched])
        for k, setup in enumerate(setups)
    ]
    data = {}
    for quantity in ("frequency", "damping_ratio"):
        mean, std = _pooled(parts, quantity)
        half = NORMAL_QUANTILE * std
        low, high = mean - half, mean + half
        if quantity == "damping_ratio":
            low, high = interval_of_ratio(mean, std)
        statistics = {"": mean, "_std": std, "_low": low, "_high": high}
        data |= {quantity + ending: ("mode", x) for ending, x in statistics.items()}
    names = list(dict.fromkeys(n for p in parts for n in map(str, p["channel"].values)))
    joined = [_joined_shape(parts, mode, names) for mode in range(len(matched))]
    shapes, errors = (np.array(x) for x in zip(*joined, strict=True))
    dims = ("mode", "channel")
    data |= {
        "shape_real": (dims, shapes.real),
        "shape_imaginary": (dims, shapes.imag),
        "shape_real_std": (dims, errors),
        "shape_imaginary_std": (dims, errors),
        "phase_collinearity": ("mode", [phase_collinearity(s) for s in shapes]),
        "kind": ("mode", np.full(len(matched), STRUCTURAL, dtype=object)),
    }
    drawn = [n for n in setups[0].dataset if n.startswith(("pole_", "line_"))]
    coords = {"mode": np.arange(1, len(matched) + 1), "channel": names}
    return xr.merge([xr.Dataset(data, coords), setups[0].dataset[drawn]])


def _pooled(parts: Sequence[xr.Dataset], quantity: str):
    """Weighted means and standard errors, wider if set-ups scatter by more."""
    values = np.array([p[quantity].values for p in parts])
    weights = np.array([p[f"{quantity}_std"].values for p in parts]) ** -2.0
    mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
    scatter = (weights * (values - mean) ** 2).sum(axis=0)
    ratio = np.maximum(scatter / max(len(parts) - 1, 1), 1.0)
    return mean, np.sqrt(ratio / weights.sum(axis=0))


def _joined_shape(parts: Sequence[xr.Dataset], mode: int, names: Sequence[str]):
    """Shape over all sensors, those of later set-ups scaled by common ones; errors."""
    shape = np.zeros(len(names), dtype=complex)
    errors = np.full(len(names), np.nan)
    for part in (p.isel(mode=mode) for p in parts):
        places = np.array([names.index(str(n)) for n in part["channel"].values])
        local = complex_shapes(part)
        spread = np.hypot(part["shape_real_std"], part["shape_imaginary_std"]).values
        common, scale, doubt = np.isfinite(errors[places]), 1.0, 0.0
        if common.any():
            mine, reference = local[common], shape[places[common]]
            power = (np.abs(mine) ** 2).sum()
            scale = (mine.conj() @ reference) / power
            both = np.hypot(errors[places[common]], np.abs(scale) * spread[common])
            doubt = np.sqrt((np.abs(mine) ** 2 * both**2).sum()) / power
        new = places[~common]
        shape[new] = scale * local[~common]
        size = np.abs(scale) * spread[~common]
        errors[new] = np.hypot(size, doubt * np.abs(local[~common]))
    largest = int(np.argmax(np.abs(shape)))
    unit = shape / shape[largest]
    errors = np.hypot(errors, np.abs(unit) * errors[largest]) / np.abs(shape[largest])
    errors[largest] = 0.0
    # Of real and of imaginary part alike.
    return unit, errors / np.sqrt(2)


def _stabilisation(result: Modes, settings: Mapping) -> "Figure":
    """Orders of models over the frequencies of their poles, and the spectrum."""
    from leastaction.figures.style import grid_of, key, legend_on_top

    figure, grid = grid_of(settings, 1, 1, row=80, rest=14)
    axes, data = grid[0, 0], result.dataset
    spectrum = axes.twinx()
    spectrum.semilogy(
        data["line_frequency"], data["line_density"], color="0.75", linewidth=0.8
    )
    spectrum.set_ylabel("largest singular value of the spectral density")
    axes.set_zorder(spectrum.get_zorder() + 1)
    axes.patch.set_visible(False)
    color = settings["estimate_color"]
    rings = data["pole_damping_ratio"].values < LARGEST_DAMPING_RATIO
    shown = data.isel(pole=np.flatnonzero(rings))
    axes.plot(shown["pole_frequency"], shown["pole_order"], ".", color=color)
    colors = {STRUCTURAL: settings["truth_color"]}
    for kind, value, low, high in zip(
        *(data[n].values for n in ("kind", "frequency", "frequency_low")),
        data["frequency_high"].values,
        strict=True,
    ):
        axes.axvspan(low, high, color=colors.get(kind, "0.5"), alpha=0.25, linewidth=0)
        axes.axvline(value, color=colors.get(kind, "0.5"), linewidth=0.8)
    axes.set_xlabel("Frequency (Hz)")
    axes.set_ylabel("states of the model")
    legend_on_top(
        figure,
        [
            key("poles", color, marker=".", linestyle="none"),
            key("mode, 95 %", settings["truth_color"]),
            key("tone, or not confirmed", "0.5"),
            key("spectrum", "0.75"),
        ],
    )
    return figure


def _shapes(result: Modes, settings: Mapping) -> "Figure":
    """Shapes of the modes, on the geometry if there is one."""
    from leastaction.figures.style import grid_of, small

    data = result.structural
    count = max(data.sizes["mode"], 1)
    columns = min(count, 4)
    figure, grid = grid_of(settings, -(-count // columns), columns, row=60, rest=10)
    names = [str(name) for name in data["channel"].values]
    placed = [name for name in names if name in result.geometry]
    missing = [name for name in result.geometry if name not in names]
    for k, axes in enumerate(grid.flat):
        if k >= data.sizes["mode"]:
            axes.set_axis_off()
            continue
        mode = data.isel(mode=k)
        axes.set_title(
            f"{float(mode['frequency']):.4g} Hz, "
            f"{100 * float(mode['damping_ratio']):.2g} %",
            fontsize=small(settings),
        )
        if not placed:
            _as_line(axes, names, mode, settings)
            continue
        places = np.array([result.geometry[name][:2] for name in placed], dtype=float)
        rest = np.array([result.geometry[name][:2] for name in missing]).reshape(-1, 2)
        extent = np.ptp(np.vstack([places, rest, [[0, 0]]]), axis=0).max()
        real = mode.sel(channel=placed)["shape_real"].values
        moved = places + DEFLECTION * extent * np.outer(real, [1, 0])
        order = np.argsort(places[:, 1], kind="stable")
        axes.plot(*places[order].T, "o-", color="0.7", markersize=3)
        axes.plot(*moved[order].T, "o-", color=settings["estimate_color"])
        axes.plot(*rest.T, "x", color="0.5")
        axes.set_aspect("equal", adjustable="datalim")
    if missing:
        figure.supxlabel(f"× no sensor: {', '.join(missing)}", fontsize=small(settings))
    return figure


def _as_line(axes, names, mode, settings) -> None:
    """Real parts with intervals, sensor after sensor."""
    half = NORMAL_QUANTILE * mode["shape_real_std"].values
    axes.axhline(0, color="black", linewidth=0.5)
    axes.errorbar(
        range(len(names)),
        mode["shape_real"],
        half,
        color=settings["estimate_color"],
        marker="o",
    )
    axes.set_xticks(range(len(names)), names)
