r"""Thermal calibration of a trapped particle: stiffness, sensor and force in SI units.

A particle in a harmonic trap in contact with a bath of temperature T obeys

.. math::  m \ddot x + γ \dot x + κ x = \sqrt{2 k_B T γ}\, \dot W ,

and a linear sensor shows x/R with R metres per unit. Of an overdamped particle the
inertia is not seen: the one-sided spectrum of what the sensor shows is

.. math::  P(f) = \frac{D}{π^2 (f_c^2 + f^2)} , \qquad f_c = \frac{κ}{2πγ} ,

otherwise that of an oscillator of frequency f_0, damping Γ = γ/m and variance V. A
sensor may sample without a filter, which folds the spectrum, or let a part of the light
through a slow diode (a first-order low-pass of corner f_d beside a direct part α²). All
forms are fitted by the Whittle likelihood (Whittle 1953), in logarithms of their
parameters; Schwarz's criterion chooses among them, and means of P̂/P over blocks of
frequencies test the chosen one. Runs are fitted one by one; what their parameters
scatter by beyond their errors is in the interval of the mean (DerSimonian and Laird,
Controlled Clinical Trials 7 (1986) 177). With T and one of mass, drag or radius known,
D/(k_B T/γ), or V/(k_B T/κ), is 1/R² (Berg-Sørensen and Flyvbjerg, Rev. Sci. Instrum.
75 (2004) 594).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.constants import Boltzmann
from scipy.optimize import least_squares
from scipy.stats import chi2
from scipy.stats import t as student

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import LEAST_P_VALUE, rounded
from leastaction.core.units import parsed_unit, registry
from leastaction.ensembles.sensor_records import records_of
from leastaction.ensembles.whittle import tapered
from leastaction.figures.readable import Page
from leastaction.recordings.configuration import KNOWN_OF_PARTICLE
from leastaction.recordings.interfaces import speaks_python
from leastaction.recordings.modal_analysis import series_of
from leastaction.recordings.refusals import RecordingError

if TYPE_CHECKING:
    import pandas as pd

# Folds of the spectrum on each side that sampling without a filter adds.
FOLDS = 8
# Frequencies of a block of the test of the form, and blocks that the first fit sees.
PER_BLOCK, FEWEST_BLOCKS = 100, 12
FILTERED, ALIASED, DIODE = "filtered", "aliased", "diode"
SENSORS = {
    FILTERED: "anti-alias filter, no aliasing",
    ALIASED: "sampled without a filter: the spectrum is folded",
    DIODE: "a diode with a slow part, behind an anti-alias filter",
    f"{ALIASED} {DIODE}": "a diode with a slow part, sampled without a filter: the "
    "spectrum is folded",
}


class Form(NamedTuple):
    """A form of the spectrum: names of its parameters, and their function."""

    overdamped: bool
    sensor: str
    names: tuple[str, ...]

    def density(self, theta: np.ndarray, f: np.ndarray, dt: float) -> np.ndarray:
        """One-sided density at f, Hz, of logarithms `theta` of the parameters."""
        p = dict(zip(self.names, np.exp(theta), strict=True))
        if self.sensor.startswith(ALIASED):
            k = np.arange(-FOLDS, FOLDS + 1)[:, None]
            power = self._behind_diode(p, f + k / dt).sum(axis=0)
            # Those beyond, of a spectrum that falls as 1/f², are an integral.
            tail = self._behind_diode(p, np.array([(FOLDS + 0.5) / dt]))[0]
            power = power + 2 * tail * (FOLDS + 0.5) * self.overdamped
        else:
            power = self._behind_diode(p, f)
        return power + p.get("floor", 0.0)

    @property
    def has_diode(self) -> bool:
        """Whether a part of the light passes a slow diode."""
        return self.sensor.endswith(DIODE)

    def rings(self, theta: np.ndarray) -> bool:
        """Whether an oscillator is damped below its critical damping, 2 ω_0."""
        p = dict(zip(self.names, np.exp(theta), strict=True))
        return bool(p["damping"] < 4 * np.pi * p["f0"])

    def _behind_diode(self, p: Mapping[str, float], f: np.ndarray) -> np.ndarray:
        """The motion behind the diode."""
        if not self.has_diode:
            return self._motion(p, f)
        part = 1 / (1 + p["part"])
        slow = 1 + (f / p["diode"]) ** 2
        return self._motion(p, f) * (part + (1 - part) / slow)

    def _motion(self, p: Mapping[str, float], f: np.ndarray) -> np.ndarray:
        if self.overdamped:
            return p["D"] / (np.pi**2 * (p["corner"] ** 2 + f**2))
        rate, size = p["damping"] / (2 * np.pi), 4 * p["variance"] / (2 * np.pi)
        shape = (p["f0"] ** 2 - f**2) ** 2 + (rate * f) ** 2
        return size * p["f0"] ** 2 * rate / shape


class Spectrum(NamedTuple):
    """Periodogram of a run at frequencies f, Hz, that are nearly independent."""

    f: np.ndarray
    power: np.ndarray
    tapered: np.ndarray  # the same under Hann's taper, for narrow lines


@dataclass(frozen=True)
class Fitted:
    """Pooled logarithms of the parameters, covariance, wander, and the test."""

    form: Form
    theta: np.ndarray
    covariance: np.ndarray
    wander: np.ndarray
    backing: float
    runs: int

    @property
    def quantile(self) -> float:
        """Half of a 95 % interval in standard errors; Student's t if runs wander."""
        if not self.wander.any():
            return NORMAL_QUANTILE
        return float(student.ppf(0.975, self.runs - 1))

    def value(self, name: str) -> tuple[float, np.ndarray]:
        """Logarithm of a parameter, and its slope by all."""
        place = self.form.names.index(name)
        return float(self.theta[place]), np.eye(len(self.theta))[place]


class Calibration(Page):
    """Numbers of a trap with 95 % intervals; ``print`` shows them.

    Parameters
    ----------
    fitted
        The spectrum, see :class:`Fitted`.
    known
        Temperature and what else is known, SI units.
    unit
        Of the sensor.
    title
        Heading.
    """

    def __init__(self, fitted: Fitted, known: Mapping, unit: str, title: str = ""):
        self.fitted, self.known = fitted, dict(known)
        self.unit, self.title = unit, title

    @property
    def overdamped(self) -> bool:
        """Whether the inertia of the particle is not seen."""
        return self.fitted.form.overdamped

    @property
    def backing(self) -> float:
        """P-value of the form of the spectrum: small if it is another one."""
        return self.fitted.backing

    @property
    def table(self) -> "pd.DataFrame":
        """Quantities: `value`, 95 % interval `low` and `high`, `unit`."""
        import pandas as pd

        rows = []
        for name, (value, slope), unit in self._quantities():
            std = np.sqrt(slope @ self.fitted.covariance @ slope)
            half = self.fitted.quantile * std
            row = np.exp([value, value - half, value + half])
            rows.append((name, *row, unit))
        columns = ["quantity", "value", "low", "high", "unit"]
        return pd.DataFrame(rows, columns=columns).set_index("quantity")

    def _quantities(self) -> list[tuple]:
        """Names, logarithms with slopes by the parameters, units."""
        fit, known = self.fitted, self.known
        quantities: list[tuple] = []
        if self.overdamped:
            corner, size = fit.value("corner"), fit.value("D")
            quantities.append(("corner frequency", corner, "Hz"))
            quantities.append(("diffusion", size, f"{self.unit}²/s"))
        else:
            f0, rate, size = (fit.value(n) for n in ("f0", "damping", "variance"))
            quantities.append(("natural frequency", f0, "Hz"))
            quantities.append(("damping rate", rate, "1/s"))
            quantities.append(("variance", size, f"{self.unit}²"))
        if self.fitted.form.has_diode:
            quantities.append(("corner of the diode", fit.value("diode"), "Hz"))
        if not known.get("drag") and not known.get("mass"):
            return quantities
        flat = np.zeros(len(fit.theta))
        energy = np.log(Boltzmann * known["temperature"])
        if self.overdamped:
            drag = np.log(known["drag"]), flat
            stiffness = _sum((np.log(2 * np.pi) + drag[0], flat), corner)
            metres = _half((energy - drag[0], flat), size)
            mass = None
        else:
            if known.get("mass"):
                mass = np.log(known["mass"]), flat
            else:
                mass = np.log(known["drag"]) - rate[0], -rate[1]
            drag = _sum(mass, rate)
            stiffness = _sum((2 * np.log(2 * np.pi), flat), _sum(mass, _sum(f0, f0)))
            motion = energy - stiffness[0], -stiffness[1]
            metres = _half(motion, size)
        quantities.append(("stiffness", stiffness, "N/m"))
        quantities.append(("displacement per unit", metres, f"m/{self.unit}"))
        quantities.append(("force per unit", _sum(stiffness, metres), f"N/{self.unit}"))
        quantities.append(("drag", drag, "kg/s"))
        if mass is not None:
            quantities.append(("mass", mass, "kg"))
        return quantities

    def to_markdown(self) -> str:
        """The law, its numbers, and what to believe of them."""
        form, lines = self.fitted.form, []
        if self.title:
            lines += [f"# {self.title}", ""]
        if form.overdamped:
            lines.append(
                "The motion is **overdamped**: γ q̇ + κ q = √(2 kT γ) Ẇ, inertia is "
                "negligible."
            )
        else:
            lines.append("The motion is that of m q̈ + γ q̇ + κ q = √(2 kT γ) Ẇ.")
        lines += [
            "",
            "| quantity | value | 95 % interval | unit |",
            "|---|---|---|---|",
        ]
        for row in self.table.itertuples():
            scale = 10.0 ** np.floor(np.log10(row.value))
            number, width = rounded(row.value / scale, (row.high - row.low) / 2 / scale)
            power = f"·10^{int(np.log10(scale)):d}" if not 0.1 <= scale < 1e5 else ""
            if not power:
                number, width = rounded(row.value, (row.high - row.low) / 2)
            interval = "given" if row.high == row.low else f"± {width}{power}"
            lines.append(f"| {row.Index} | {number}{power} | {interval} | {row.unit} |")
        lines += ["", f"- sensor: {SENSORS[form.sensor]}"]
        verdict = (
            "agrees with this model"
            if self.backing > LEAST_P_VALUE
            else "**contradicts** this model; leave out what a tone or another filter "
            "changes, by a `band` such as 100 to 20000 Hz"
        )
        backing = f"{100 * self.backing:.2g}"
        lines.append(f"- statistical backing {backing} %: the power spectrum {verdict}")
        if self.fitted.runs > 1:
            name = "corner" if form.overdamped else "f0"
            wander = 100 * self.fitted.wander[form.names.index(name)]
            lines.append(
                f"- {self.fitted.runs} runs; between them the frequency varies by "
                f"{wander:.2g} % beyond its standard errors; intervals include this"
            )
        if not self.known.get("drag") and not self.known.get("mass"):
            lines.append(
                "- for N/m and metres per unit give the temperature and one of radius, "
                "drag or mass"
            )
        else:
            lines.append(
                "- intervals do not include uncertainties of the given "
                + ", ".join(
                    f"{n} {v:.6g} {KNOWN_OF_PARTICLE[n]}" for n, v in self.known.items()
                )
            )
        return "\n".join(lines) + "\n"


def _sum(one, other):
    return one[0] + other[0], one[1] + other[1]


def _half(one, other):
    """Half of a difference of logarithms: the root of a ratio."""
    return (one[0] - other[0]) / 2, (one[1] - other[1]) / 2


@speaks_python
def calibrate(
    data: Any,
    *,
    time: Any,
    sensor: Mapping | None = None,
    temperature: str | float | None = None,
    mass: str | float | None = None,
    drag: str | float | None = None,
    radius: str | float | None = None,
    viscosity: str | float | None = None,
    density: str | float | None = None,
    band: Sequence[float] | None = None,
    trajectory: str | None = None,
    title: str = "",
    **reading: Any,
) -> Calibration:
    """Stiffness, metres and newtons per unit of a sensor of a trapped particle.

    Parameters
    ----------
    data, time, trajectory, reading
        As of :func:`leastaction.learn`; each trajectory is a run.
    sensor
        The column of the sensor and its unit, ``{"z": "V"}``; the only one if None.
    temperature
        Of the bath, ``"293 K"`` or in K.
    mass, drag, radius, viscosity, density
        What is known of the particle: one of mass, drag, and radius (of a sphere),
        which with a `viscosity` gives the drag 6πηr, and with a `density` the mass.
        Texts with units, or numbers in SI units.
    band
        Frequencies to trust, Hz, a pair or several, such as beside a tone; all if None.
    title
        Heading.

    Raises
    ------
    RecordingError
        If the data cannot be used, or what is known is not enough.

    Examples
    --------
    A bead with a corner frequency of 300 Hz:

    >>> import numpy as np, leastaction as la
    >>> from scipy.signal import lfilter
    >>> a = np.exp(-2 * np.pi * 300 / 20_000)
    >>> x = lfilter([1], [1, -a], np.random.default_rng(0).standard_normal(20_000))
    >>> found = la.calibrate({"x": x}, time=1 / 20_000)
    >>> found.overdamped, found.fitted.form.sensor
    (True, 'aliased')
    >>> bool(found.table.low["corner frequency"] < 300 < found.table.high.iloc[0])
    True
    """
    stated = {
        "temperature": temperature,
        "mass": mass,
        "drag": drag,
        "radius": radius,
        "viscosity": viscosity,
        "density": density,
    }
    known = known_of_particle({n: x for n, x in stated.items() if x is not None})
    series, dt, columns = series_of(data, time, sensor, trajectory, reading)
    if len(columns) != 1:
        raise RecordingError(
            f"there are {len(columns)} columns, {', '.join(columns)}; name that of the "
            'sensor, such as sensor={"z": "V"}'
        )
    (shown,) = columns.values()
    series = [y / shown.shown_factor for y in series]
    return _calibrated(series, dt, known, (shown.shown or shown.unit, title), band)


def calibration_of(observations: xr.Dataset) -> Calibration | None:
    """Calibration of a recording of one coordinate that states its temperature.

    None of any other. Errors as of :func:`calibrate`.
    """
    stated = json.loads(observations.attrs.get("particle", "{}"))
    if not stated:
        return None
    channels, records, dt = records_of(observations)
    if len(channels.names) != 1 or len(observations["dof"]) != 1:
        raise RecordingError(
            f"import.temperature: {', '.join(channels.names)} are several sensors; "
            "expected one of the position of the particle"
        )
    unit, factor = (
        observations[f"coordinate_shown_{name}"].item() for name in ("unit", "factor")
    )
    series = [record.y / factor for record in records]
    return _calibrated(series, dt, known_of_particle(stated), (unit,))


def _calibrated(series, dt: float, known: Mapping, about, band=None) -> Calibration:
    runs = [_spectrum(y[:, 0], dt, band) for y in series]
    runs = [run for run in runs if len(run.f) >= PER_BLOCK * FEWEST_BLOCKS]
    if not runs:
        raise RecordingError(
            f"no run has {PER_BLOCK * FEWEST_BLOCKS} frequencies in the band; expected "
            "a longer record, or a wider `band`"
        )
    return Calibration(_fitted(runs, dt, "mass" in known), known, *about)


def known_of_particle(stated: Mapping) -> dict[str, float]:
    """What is known, in SI units, with drag or mass that follow from a radius."""
    known = {}
    for name, value in stated.items():
        if isinstance(value, str):
            try:
                number, _, unit = value.strip().partition(" ")
                quantity = registry().Quantity(float(number), parsed_unit(unit))
                value = quantity.to(KNOWN_OF_PARTICLE[name]).magnitude
            except Exception:
                raise RecordingError(
                    f"{name}: {value!r} is no quantity; write something like "
                    f"'1 {KNOWN_OF_PARTICLE[name]}'"
                ) from None
        if not value > 0:
            raise RecordingError(f"{name}: it is {value:g}; expected a positive number")
        known[name] = float(value)
    if "radius" in known and "viscosity" in known:
        known.setdefault("drag", 6 * np.pi * known["viscosity"] * known["radius"])
    if "radius" in known and "density" in known:
        volume = 4 / 3 * np.pi * known["radius"] ** 3
        known.setdefault("mass", known["density"] * volume)
    if known and "temperature" not in known:
        raise RecordingError("the temperature is missing; write temperature='293 K'")
    if "radius" in known and not {"drag", "mass"} & set(known):
        raise RecordingError(
            "a radius alone gives neither drag nor mass; add the viscosity of the "
            "fluid, '1.0e-3 Pa*s' of water at 293 K, or the density of the particle"
        )
    return known


def _spectrum(y: np.ndarray, dt: float, band) -> Spectrum:
    y = y - y.mean()
    f = np.fft.rfftfreq(len(y), dt)[: (len(y) + 1) // 2]  # below that of Nyquist
    pairs = np.reshape((0.0, np.inf) if band is None else band, (-1, 2))
    trusted = np.any([(f >= low) & (f <= high) for low, high in pairs], axis=0)
    inside = np.flatnonzero((f > 0) & trusted)
    raw = np.fft.rfft(y)[inside] / np.sqrt(len(y))
    smooth = tapered(y[:, None])[inside, 0]
    return Spectrum(f[inside], *(2 * dt * np.abs(d) ** 2 for d in (raw, smooth)))


def _forms() -> list[Form]:
    """Forms that there may be; a diode is looked for in overdamped motion alone.

    A floor has to be paid for: one that is not seen, but positive, would bend the rest.
    Beside a diode it is always there, or the slow part would stand for it.
    """
    motions = {True: ("corner", "D"), False: ("f0", "damping", "variance")}
    return [
        Form(overdamped, sensor, names + floor + ("diode", "part") * (DIODE in sensor))
        for overdamped, names in motions.items()
        for sensor in SENSORS
        for floor in ((), ("floor",))
        if (overdamped and floor) or DIODE not in sensor
    ]


def _fitted(runs: Sequence[Spectrum], dt: float, has_mass: bool) -> Fitted:
    """The likeliest form by Schwarz's criterion, with pooled parameters.

    The spectrum of a particle that does not ring is that of one without inertia behind
    a slow diode: only a mass that is given is believed there.
    """
    f, power = _pooled(runs)
    tried = []
    for form in _forms():
        theta, value = _climbed(form, _start(form, f, power, dt), f, power, dt)
        if not (form.overdamped or has_mass or form.rings(theta)):
            continue
        criterion = 2 * value * len(runs) + len(theta) * np.log(len(f) * len(runs))
        tried.append((criterion, form, theta))
    best, form, theta = min(tried, key=lambda one: one[0])
    # Forms of the same motion that fit nearly as well are in the interval, by their
    # weights (Burnham and Anderson, Model Selection, 2002, section 4.3).
    rivals = []
    for c, other, values in tried:
        if other.overdamped == form.overdamped:
            parameters = dict(zip(form.names, theta, strict=True))
            parameters |= dict(zip(other.names, values, strict=True))
            rivals.append((c, [parameters[name] for name in form.names]))
    weights = np.exp([(best - c) / 2 for c, _ in rivals])
    weights, thetas = weights / weights.sum(), np.array([t for _, t in rivals])
    apart = thetas - weights @ thetas
    of_form = np.einsum("k,ka,kb->ab", weights, apart, apart)
    each = [_climbed(form, theta, *_of(run, form), dt)[0] for run in runs]
    spreads = [
        _covariance(form, t, _of(run, form)[0], dt)
        for t, run in zip(each, runs, strict=True)
    ]
    mean, covariance, wander = _random_effects(np.array(each), np.array(spreads))
    backing = _backing(form, each, runs, dt)
    return Fitted(form, mean, covariance + of_form, wander, backing, len(runs))


def _of(run: Spectrum, form: Form) -> tuple[np.ndarray, np.ndarray]:
    """Independent ordinates: all, or every second one under the taper of a line."""
    if form.overdamped:
        return run.f, run.power
    return run.f[::2], run.tapered[::2]


def _pooled(runs: Sequence[Spectrum]) -> tuple[np.ndarray, np.ndarray]:
    """Mean, under the taper, over runs as long as the longest."""
    longest = max(len(run.f) for run in runs)
    same = [run for run in runs if len(run.f) == longest]
    return same[0].f[::2], np.mean([run.tapered[::2] for run in same], axis=0)


def _blocks(f: np.ndarray, power: np.ndarray, size: int):
    complete = len(f) // size * size
    return (x[:complete].reshape(-1, size).mean(axis=1) for x in (f, power))


def _start(form: Form, f, power, dt: float) -> np.ndarray:
    """Least squares of logarithms of block means, from the best of some corners."""
    size = max(1, min(PER_BLOCK, len(f) // (4 * PER_BLOCK)))
    x, y = _blocks(f, power, size)
    total, floor = np.trapezoid(y, x), y.min() / 2
    peak = x[np.argmax(y)]
    starts = []
    for part in (0.003, 0.01, 0.03, 0.1, 0.3):
        corner = part * f[-1]
        if form.overdamped:
            guess = [corner, np.pi**2 * corner**2 * y[: max(3, len(y) // 100)].mean()]
        else:
            guess = [max(peak, corner / 10), 2 * np.pi * corner, total]
        guess += [floor] * ("floor" in form.names)
        guess += [f[-1] / 3, 1.0] * form.has_diode
        starts.append(np.log(guess))

    def misfit(theta):
        with np.errstate(all="ignore"):
            miss = np.log(form.density(theta, x, dt) / y)
        return np.fmax(np.fmin(miss, 50.0), -50.0)  # 50 of what is no number

    fits = [least_squares(misfit, start, max_nfev=200) for start in starts]
    return min(fits, key=lambda fit: fit.cost).x


def _climbed(form: Form, theta, f, power, dt: float) -> tuple[np.ndarray, float]:
    """Maximum of the Whittle likelihood, Σ log P + P̂/P, by Fisher scoring."""

    def value(theta) -> tuple[float, np.ndarray]:
        with np.errstate(all="ignore"):
            P = form.density(theta, f, dt)
            total = float(np.sum(np.log(P) + power / P))
            return (total if np.isfinite(total) else np.inf), power / P

    (now, ratio), slopes, limit = value(theta), None, 1e-3
    for _ in range(100):
        if slopes is None:
            slopes = _slopes(form, theta, f, dt)
            g = slopes.T @ (ratio - 1)
            information = slopes.T @ slopes
        damped = information + limit * np.diag(np.diag(information) + 1e-9)
        step = np.linalg.solve(damped, g)
        moved = theta + np.clip(step, -2, 2)
        tried, ratio_there = value(moved)
        if tried < now:
            theta, now, ratio, slopes = moved, tried, ratio_there, None
            limit /= 10
        else:
            limit *= 8
        if g @ step < 1e-5 or limit > 1e9:
            break
    return theta, now


def _slopes(form: Form, theta, f, dt: float) -> np.ndarray:
    """∂ log P by all parameters, (frequency, parameter)."""
    columns = []
    for step in 1e-5 * np.eye(len(theta)):
        with np.errstate(over="ignore"):
            ends = [np.log(form.density(theta + s * step, f, dt)) for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / 2e-5)
    return np.stack(columns, axis=1)


def _covariance(form: Form, theta, f, dt: float) -> np.ndarray:
    """Inverse of the information; a floor that is not seen is left alone."""
    slopes = _slopes(form, theta, f, dt)
    information = slopes.T @ slopes
    if not form.overdamped:
        # Of every second coefficient under Hann's taper (correlation 1/6).
        information = information / (1 + 2 / 36)
    # A prior of ten e-folds stands for what the data do not tell.
    return np.linalg.inv(information + 1e-2 * np.eye(len(theta)))


def _random_effects(each: np.ndarray, spreads: np.ndarray):
    """Mean, its covariance and the wander of runs beyond their errors."""
    count, wander = len(each), np.zeros(each.shape[1])
    if count == 1:
        return each[0], spreads[0], wander
    for k in range(each.shape[1]):
        weight = 1 / spreads[:, k, k]
        mean = weight @ each[:, k] / weight.sum()
        excess = weight @ (each[:, k] - mean) ** 2 - (count - 1)
        size = weight.sum() - (weight**2).sum() / weight.sum()
        wander[k] = np.sqrt(max(excess / size, 0.0))
    inverses = np.linalg.inv(spreads + np.diag(wander**2))
    covariance = np.linalg.inv(inverses.sum(axis=0))
    mean = covariance @ np.einsum("kab,kb->a", inverses, each)
    return mean, covariance, wander


def _backing(form: Form, each, runs: Sequence[Spectrum], dt: float) -> float:
    """P-value of χ² of the block means of P̂/P, whose variance is 1/PER_BLOCK."""
    total, freedom = 0.0, 0
    for theta, run in zip(each, runs, strict=True):
        f, power = _of(run, form)
        ratio = power / form.density(theta, f, dt)
        (means,) = list(_blocks(f, ratio, PER_BLOCK))[1:]
        spread = (1 if form.overdamped else 1 + 2 / 36) / PER_BLOCK
        total += np.sum((means - 1) ** 2) / spread
        freedom += len(means) - len(theta)
    return float(chi2.sf(total, max(freedom, 1)))
