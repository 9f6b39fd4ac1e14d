"""What a recording cannot tell, found before any model: refusals and warnings.

A refusal stops the work with one message. A warning goes along with the result. Both
say what was measured, what was expected and what to do.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from leastaction.recordings.bandwidth_spline import (
    difference_noise,
    oscillation,
    spectrum,
)
from leastaction.recordings.columns import rough_sensors
from leastaction.recordings.excitation import (
    PERIODS_PER_WINDOW,
    autocorrelation,
    goes_one_way,
    relaxes,
    unrecorded_force,
)
from leastaction.recordings.refusals import reject
from leastaction.recordings.splitting import EVEN_WITHIN, Clock, Trajectory

# Samples per main period, and main periods: refused below the first, warned of below
# the second.
LEAST_PER_PERIOD, FEW_PER_PERIOD = 8.0, 20.0
LEAST_PERIODS, FEW_PERIODS = 3.0, 10.0
# The least of a driven motion, whose windows are far shorter than a period.
LEAST_DRIVEN_PERIODS = 1.0
# The same of a random motion, which tells damping by its correlation alone.
LEAST_RANDOM_PERIODS, FEW_RANDOM_PERIODS = 20.0, 100.0
# A sensor is saturated if so many samples are at its extreme, and so many times as many
# as at the ten values next to it.
LEAST_SATURATED, SATURATED_OVER_NEXT = 10, 5.0
# Of a random motion whose period is not seen: 8 samples in one correlate by 0.71.
LEAST_CORRELATION_OF_NEIGHBOURS = 0.6
# Half the range of an angle in a main period, a drift removed, beyond which it is taken
# for degrees: ten turns back and forth.
LARGEST_ANGLE = 30.0
# Half the range over the noise: refused below the first, warned of below the second.
LEAST_SIGNAL_TO_NOISE, POOR_SIGNAL_TO_NOISE = 5.0, 100.0
# rad; below it cos and a parabola differ by less than 1 %.
SMALL_ANGLE = 0.35
# Largest over smallest swing that tells Coulomb from viscous losses.
LEAST_RATIO_OF_AMPLITUDES = 2.0
# An amplitude beyond those learned from by this factor is an extrapolation.
EXTRAPOLATED = 1.1


def encoder_step(series: Sequence[np.ndarray]) -> tuple[float, bool]:
    """Smallest step between values, and whether it is one of an encoder.

    All values are then multiples of it, and it is above the standard deviation of
    differences.
    """
    values = np.unique(np.concatenate([y[:20000] for y in series]))
    if len(values) < 3:
        return 0.0, False
    gaps = np.diff(values)
    step = float(np.median(gaps[gaps > 0.5 * np.median(gaps)]))
    step = float(gaps[gaps > 1e-3 * step].min())
    # Digits are rounded: the step gets sharper the more of them are spanned.
    last = 1
    while last < len(values) - 1:
        last = min(2 * last, len(values) - 1)
        span = values[last] - values[0]
        step = float(span / max(np.rint(span / step), 1))
    multiple = (values - values[0]) / step
    even = np.abs(multiple - np.rint(multiple)).max() < 0.05
    coarse = step > difference_noise(series)
    total = sum(len(y) for y in series)
    return (step, True) if even and coarse and len(values) < total / 3 else (0.0, False)


def repeated_share(series: Sequence[np.ndarray]) -> float:
    """Share of the samples that repeat the one before."""
    same = np.concatenate([np.diff(y) == 0 for y in series])
    return float(same.sum() / max(len(same), 1))


def clipped_run(
    series: Sequence[np.ndarray], dt: float, frequency: float, grain: float
) -> tuple[int, float]:
    """Longest run at the extreme, and what a smooth turning point may have.

    A swing A cos ωt stays within a grain g of its extreme for √(8 g / (A ω²)).
    """
    longest, allowed = 0, np.inf
    for sign in (1, -1):
        top = max((sign * y).max() for y in series)
        for y in series:
            at = np.concatenate([[0], (sign * y == top).astype(int), [0]])
            edges = np.flatnonzero(np.diff(at))
            runs = edges[1::2] - edges[::2]
            longest = max(longest, int(runs.max(initial=0)))
    size = max(np.ptp(y) for y in series) / 2
    turn = np.sqrt(8 * max(grain, 1e-9 * size) / size) / (2 * np.pi * frequency)
    allowed = 3 + 2 * turn / dt
    return longest, float(allowed)


def saturated(values: np.ndarray) -> int:
    """Samples at an extreme that stands out of the values next to it; 0 if none does.

    Examples
    --------
    >>> x = np.random.default_rng(1).standard_normal(1000)
    >>> saturated(x), saturated(np.clip(x, -2, 2))
    (0, 45)
    """
    _, counts = np.unique(values, return_counts=True)
    count = 0
    for ordered in (counts, counts[::-1]):
        beside = ordered[1:11].max(initial=0)
        if ordered[0] >= max(LEAST_SATURATED, SATURATED_OVER_NEXT * beside):
            count += int(ordered[0])
    return count


def longest_rest(values: np.ndarray) -> int:
    """Samples of the longest stretch in which nothing changes."""
    edges = np.flatnonzero(np.diff(values, prepend=np.nan, append=np.nan) != 0)
    return int(np.diff(edges).max())


def refuse(
    runs: Sequence[Trajectory],
    series: Mapping[str, list[np.ndarray]],
    channels: Mapping,
    clock: Clock,
    settings: Mapping,
    spans: np.ndarray,
) -> None:
    """Stop where no law can be found, or the wrong one would be.

    `spans` are the ranges of the columns as recorded, before angles are unwrapped: a
    joint that keeps turning is no sign of degrees.
    """
    accepted = set(settings["accept"])
    if "temperature" in settings["import"]:
        accepted.add("sampling")  # a particle in a bath may be overdamped
    random = settings["excitation"] == "random"
    rough = rough_sensors(settings["import"])
    file = runs[0].file
    for place, (name, column) in enumerate(channels["q"].items()):
        signals = [q[:, place] for q in series["q"]]
        where = f"{file}, column {column.name!r} ({name})"
        size = max(np.ptp(y) for y in signals) / 2
        if size == 0:
            value = signals[0][0] / column.factor + column.offset
            reject("no motion", where, value=float(value))
        raw = [t.values[:, place] for t in runs]
        turns = column.in_radians and spans[place] / 2 > LARGEST_ANGLE
        if turns and "turns" not in accepted:
            period = 1 / spectrum(signals, clock.step, column.angle).main
            rows = max(round(period / clock.step), 8)
            swing = max(oscillation(y[:, None], rows)[0] for y in raw)
            # Beyond a turn there are no jumps in rad; in degrees, steps look like some.
            jumps = max(map(np.ptp, raw)) != spans[place]
            if jumps or swing > LARGEST_ANGLE:
                reject("turns", where, span=2 * size, turns=size / np.pi)
        _refuse_rates(where, file, name, place, series, channels, clock, accepted)
        if name not in rough:
            least = LEAST_DRIVEN_PERIODS if channels["input"] else LEAST_PERIODS
            least = LEAST_RANDOM_PERIODS if random else least
            estimate = spectrum(signals, clock.step, column.angle)
            how = bool(channels["input"]), random, not column.angle
            _refuse_sampling(where, signals, raw, clock, estimate, least, how, accepted)
    names = list(settings["import"]["coordinates"])
    for name, column in channels["input"].items():
        force = np.concatenate([u[:, names.index(name)] for u in series["input"]])
        if np.ptp(force) == 0:
            where = f"{file}, column {column.name!r} (input of {name})"
            reject("dead input", where, value=float(force[0]))
    if random and "saturation" not in accepted:
        _refuse_saturation(file, runs, series["q"], channels, clock)


def _refuse_saturation(file, runs, coordinates, channels, clock):
    """A random motion has no extreme and does not rest, so its sensors do neither."""
    slowest = min(
        spectrum([q[:, a] for q in coordinates], clock.step).main
        for a in range(coordinates[0].shape[1])
    )
    columns = [c for k in ("q", "qdot", "qddot") for c in channels[k].values()]
    for place, column in enumerate(columns):
        values = [t.values[:, place] for t in runs]
        where = f"{file}, column {column.name!r}"
        count = saturated(np.concatenate(values))
        if count:
            reject("saturated", where, count=count)
        rest = max(map(longest_rest, values))
        periods = rest * slowest * clock.step
        if periods > PERIODS_PER_WINDOW:
            reject("stuck", where, count=rest, periods=periods)


def _refuse_rates(where, file, name, place, series, channels, clock, accepted):
    """Recorded rates must be the rates of their coordinate."""
    for below, channel in (("q", "qdot"), ("qdot", "qddot")):
        if channel not in series or below not in series or "rates" in accepted:
            continue
        column = channels[channel][name]
        rate = np.concatenate(
            [np.gradient(y[:, place], clock.step) for y in series[below]]
        )
        recorded = np.concatenate([y[:, place] for y in series[channel]])
        where = f"{file}, column {column.name!r} ({channel} of {name})"
        if np.ptp(recorded) == 0:
            reject("dead rate", where)
        rate, recorded = rate - rate.mean(), recorded - recorded.mean()
        slope = float(recorded @ rate / (recorded @ recorded))
        share = float((recorded @ rate) ** 2 / ((recorded @ recorded) * (rate @ rate)))
        if share > 0.5 and not 0.7 < slope < 1.4:
            reject("unlike rate", where, ratio=slope)


def _refuse_sampling(where, signals, raw, clock, estimate, least, how, accepted):
    driven, random, may_be_particle = how
    per_period = 1 / (estimate.main * clock.step)
    duration = sum(len(y) for y in signals) * clock.step
    size = max(np.ptp(y) for y in signals) / 2
    noise = max(difference_noise(signals), encoder_step(raw)[0] / 12**0.5)
    few, short = per_period < LEAST_PER_PERIOD, duration * estimate.main < least
    if "sampling" not in accepted:
        relaxing = not driven and relaxes(signals)
        if (relaxing or few) and goes_one_way(signals):
            reject("one way", where)
        if relaxing:
            reject("relaxing particle" if may_be_particle else "relaxing", where)
        neighbours = float(autocorrelation(signals)[1]) if random else 1.0
        if neighbours < LEAST_CORRELATION_OF_NEIGHBOURS:
            reject("unrelated", where, correlation=neighbours)
        if few:
            reject("few in a period", where, count=per_period, period=1 / estimate.main)
    if size < LEAST_SIGNAL_TO_NOISE * noise and "noise" not in accepted:
        reject("noise", where, size=size, noise=noise)
    if short and "length" not in accepted:
        if goes_one_way(signals):
            reject("one way", where)
        periods = f"{least:.0f} period{'s' if least > 1 else ''}"
        better = "some hundreds" if random else "ten in each of six trajectories"
        values = {"count": duration * estimate.main, "least": periods, "better": better}
        reject("few periods", where, duration=duration, **values)


def warnings_of(
    runs: Sequence[Trajectory],
    series: Mapping[str, list[np.ndarray]],
    channels: Mapping,
    clock: Clock,
    settings: Mapping,
    held: np.ndarray,
) -> list[str]:
    """What to know about these data, one sentence each."""
    texts = []
    if clock.mixed:
        texts.append(
            "trajectories have different sampling rates; all were interpolated to the "
            f"slowest, {1 / clock.step:.4g} Hz"
        )
    if clock.jitter > EVEN_WITHIN and clock.resampled:
        texts.append(
            f"the clock is uneven by {100 * clock.jitter:.2g} %; values were "
            f"interpolated to even steps of {clock.step:.4g} s"
        )
    if clock.filled:
        texts.append(f"single missing rows were interpolated: {clock.filled}")
    rough = rough_sensors(settings["import"])
    for place, (name, column) in enumerate(channels["q"].items()):
        if name in rough:
            continue
        texts += _sensor_warnings(
            name,
            [q[:, place] for q in series["q"]],
            [t.values[:, place] for t in runs],
            column,
            clock,
            settings["excitation"] == "random",
        )
    explained = "excitation" in settings["accept"] or settings["excitation"] == "random"
    smooth = [name not in rough for name in channels["q"]]
    if not channels["input"] and not explained and any(smooth):
        motion = [q[:, smooth] for q in series["q"]]
        angular = [c.angle for name, c in channels["q"].items() if name not in rough]
        texts += filter(None, [unrecorded_force(motion, clock.step, angular)])
    learned = [q for q, h in zip(series["q"], held, strict=True) if not h]
    scale = np.concatenate(learned).std(axis=0)
    angles = [c.angle for c in channels["q"].values()]
    sizes = [
        np.array(
            [np.mean(np.ptp(p, axis=0) / scale) for p in _swings(q, clock, angles)]
        )
        for q in series["q"]
    ]
    trained = np.concatenate([run for run, h in zip(sizes, held, strict=True) if not h])
    few = len(trained) < 2 or trained.max() < LEAST_RATIO_OF_AMPLITUDES * trained.min()
    if few and not channels["input"] and settings["excitation"] != "random":
        texts.append(
            f"amplitudes differ by a factor of {trained.max() / trained.min():.2g} "
            "only: Coulomb and viscous losses are then hard to distinguish; add swings "
            "of another size (twice and more)"
        )
    for number in np.flatnonzero(held):
        low, high = sizes[number].min(), sizes[number].max()
        if low * EXTRAPOLATED < trained.min() or high > EXTRAPOLATED * trained.max():
            label = runs[number].label if number < len(runs) else "(end of the longest)"
            texts.append(
                f"the held-out trajectory {label} has an amplitude outside those "
                "learned from: its prediction is an extrapolation"
            )
    return texts


def _swings(q: np.ndarray, clock: Clock, angles: Sequence[bool]) -> list[np.ndarray]:
    """Parts of some main periods, so that one decaying record is many amplitudes."""
    main = min(
        spectrum([y], clock.step, angle).main
        for y, angle in zip(q.T, angles, strict=True)
    )
    count = max(int(len(q) * clock.step * main / PERIODS_PER_WINDOW), 1)
    return np.array_split(q, count)


def _sensor_warnings(
    name: str, signals, raw, column, clock: Clock, random: bool
) -> list[str]:
    """What the samples of one coordinate say; `raw` are those before resampling."""
    texts = []
    estimate = spectrum(signals, clock.step, column.angle)
    noise = difference_noise(signals)
    step, quantised = encoder_step(raw)
    size = max(np.ptp(y) for y in signals) / 2
    unit = column.unit
    per_period = 1 / (estimate.main * clock.step)
    total = sum(len(y) for y in signals) * clock.step * estimate.main
    run, allowed = clipped_run(raw, clock.step, estimate.main, max(step, 3 * noise))
    clipped = run > allowed
    if clipped:
        texts.append(
            f"{name} stays at its extreme for {run} samples: the sensor is clipped, or "
            "there is a stop; cut those parts out"
        )
    if quantised:
        texts.append(
            f"{name} is quantised in steps of {step:.3g} {unit}"
            + (
                f", {100 * repeated_share(raw):.0f} % of the samples repeat the one "
                "before"
                if repeated_share(raw) > 0.3
                else ""
            )
        )
    grain = max(noise, step / 12**0.5)
    if size < POOR_SIGNAL_TO_NOISE * grain:
        texts.append(
            f"the range of {name} is only {size / grain:.0f} times the standard "
            f"deviation of its noise, {grain:.2g} {unit}: weak terms stay undetected"
        )
    if per_period < FEW_PER_PERIOD:
        texts.append(
            f"{name} has {per_period:.0f} samples per main period; 20 are enough, 50 "
            "are better"
        )
    if total < (FEW_RANDOM_PERIODS if random else FEW_PERIODS):
        texts.append(
            f"{name} was recorded for {total:.1f} main periods; error bars from so few "
            "are rough"
        )
    if column.in_radians and size > np.pi:
        texts.append(
            f"{name} swings by {size:.3g} rad to either side, beyond half a turn; if "
            "its column is in degrees, write `unit: deg`"
        )
    if column.angle and size < SMALL_ANGLE:
        texts.append(
            f"{name} swings by {size:.2g} rad: cos {name} and a parabola differ by "
            f"{100 * size**2 / 12:.2g} % there, and only larger swings distinguish them"
        )
    return texts
