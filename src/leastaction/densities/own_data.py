"""A user's stationary record: its density, the law behind it, and how well it fits.

The order of the samples serves for tests alone: velocities have to be those of the
positions, the record has to be stationary, and its parts have to differ as much as the
law's own noise lets them.
"""

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy.special import chdtrc, stdtr

from leastaction.core.model import LEAST_P_VALUE, IdentifiedModel
from leastaction.core.multi_index import multi_indices
from leastaction.core.own_data import Findings, Kind, Prediction, Samples
from leastaction.core.system import System
from leastaction.densities.contracts import CONTRACTS
from leastaction.densities.fokker_planck import StationaryEquation
from leastaction.densities.ito_gmm import Isometry
from leastaction.densities.runge_kutta_gill import stream

# Parts of a record, which are independent if each is long beside the memory.
BATCHES = 16
# Memories of the mean squares that a part needs: means of neighbouring parts, k
# memories long, correlate by about 1/(4k − 2) if the memory is exponential, by 4.5 %.
LEAST_MEMORIES = 6
# Scatter of the parts of a record, over what the law expects, beyond which more than
# half of it is something else: of 46 right ones it was 0.96 to 1.6.
LARGEST_SCATTER = 2.0
# Shares of the samples beyond the histogram, on each side; its cells along each side.
OUTSIDE, BINS = 5e-4, 80
# Slope of the change of positions over the mean velocity: tanh(a/2)/(a/2) of a velocity
# with the memory of 1/a samples, so that 0.9 says that samples are too far apart.
LEAST_SLOPE = 0.9
# Between rows of the table to try with, s.
STEP_OF_DEMO = 0.05
# Total degree of the moments that are kept of several coordinates.
DEGREE = 8
CANDIDATES = {
    "lagrangian": ("-{x}**2/2", "-{x}**4/4"),
    "dissipation": ("{x}dot**2/2",),
}


class Density(Kind):
    """One long record of a stationary motion, positions and velocities."""

    name = "density"
    sections = {"coordinates": True, "velocities": True}
    example = "--time t --coordinate x:mm --velocity x:v:mm/s --known 'D:xdot**2/2=0.5'"
    about = "a stiffening spring, shaken at random"

    def demo(self) -> str:
        """Columns `t` (s), `x` (mm), `v` (mm/s): 2,000 s of a Duffing oscillator."""
        truth = System(
            "xdot**2/2 - x**2/2 - x**4/8",
            dissipation="xdot**2/4",
            volatility={"x": "sqrt(1 + 0.36*x**2)"},
        )
        run = {"duration": 2000.0, "time_step": 0.01, "trajectories": 1, "burn_in": 50}
        start = {"initial_state": {"x": 0, "xdot": 0}}
        pieces: list = []
        key = {"example": "demo density", "seed": 1, "replicate": 0}
        stream(truth, run | start, lambda _, path: pieces.append(path.copy()), **key)
        path = 1e3 * np.concatenate(pieces)[:: round(STEP_OF_DEMO / run["time_step"])]
        rows = (
            f"{STEP_OF_DEMO * k:.2f},{x:.5g},{v:.5g}" for k, (x, v) in enumerate(path)
        )
        return "\n".join(["t,x [mm],v [mm/s]", *rows]) + "\n"

    def data(self, settings: Mapping) -> str:
        """Density of one coordinate, moments of several."""
        return "density" if len(settings["coordinates"]) == 1 else "density moments"

    def completed(self, example: dict, units: Mapping) -> list[str]:
        """Candidates of a Duffing oscillator with additive and multiplicative noise."""
        library, names = example["library"], list(units["coordinates"])
        library.setdefault("reference", " + ".join(f"{x}dot**2/2" for x in names))
        for part, forms in CANDIDATES.items():
            usual = [form.format(x=x) for x in names for form in forms]
            library.setdefault(part, [{"terms": usual}])
        noise = ["1", f"{names[0]}**2"] if len(names) == 1 else ["1"]
        library.setdefault("volatility", [{"terms": noise}])
        library.setdefault("inertia", "free")
        kinetic = library["reference"].split(" + ")
        library["lagrangian"] = [{"terms": kinetic}, *library["lagrangian"]]
        try:
            StationaryEquation.from_config(library, names)
        except (ValueError, KeyError) as error:
            return [f"library: {error}"]
        return []

    def observations(self, samples: Samples) -> xr.Dataset:
        """Histogram of one coordinate, moments of several.

        ValueError if velocities are not those of the positions, or the record is short
        or not stationary.
        """
        _refuse_unlike_rates(samples)
        states = _states(samples)
        _refuse_unsteady(states, samples)
        low, high = _reach(np.concatenate(states)).T
        return _counted(_batches(states), (low, high), samples)

    def held_out(self, samples: Samples, like: xr.Dataset) -> xr.Dataset:
        """The same on the cells of the observations."""
        grid = np.reshape(like.attrs["grid"], (2, -1))
        return _counted(_batches(_states(samples)), grid, samples)

    def predict(self, held_out, model, observations, recipe, library) -> Prediction:
        """Moments E[𝓛φ] of what was held out, in standard errors; a law's are zero."""
        training = _moments(observations, recipe, library)
        names = training["test_name"].values
        values = coefficients(model, training)
        duration = training["duration"].values[0]
        moments_of = _moments(held_out, recipe, library)
        isometry = Isometry(moments_of["noise_gram"].values[0], recipe.identify.ridge)
        moments = moments_of["moment"].values[0].mean(axis=0)
        free = np.isnan(moments_of["known"].values)
        spread = isometry.covariance(values) / moments_of["duration"].values[0]
        slopes = moments[:, free]
        information = slopes.T @ isometry.weights(values) @ slopes
        spread = spread + slopes @ np.linalg.pinv(information) @ slopes.T / duration
        residual, error = moments @ values, np.sqrt(np.diag(spread))
        scaled = np.linalg.pinv(spread / np.outer(error, error), rcond=1e-6)
        z = residual / error
        j, degrees = float(z @ scaled @ z), np.linalg.matrix_rank(scaled)
        scatter, parts = _scatter(training, values, recipe.identify.ridge)
        return Prediction(
            ("moment",),
            ("1",),
            [z[:, None]],
            [np.zeros((len(z), 1))],
            [np.full((len(z), 1), 1.96)],
            ("held out",),
            {
                "j": j,
                "j_degrees": float(degrees),
                "j_p_value": float(chdtrc(degrees, j)),
                "scatter": scatter / parts,
                "worst": str(names[np.abs(z).argmax()]),
                "worst_score": float(z[np.abs(z).argmax()]),
            },
            "Number of the test function",
        )

    def findings(self, model, observations, rollout) -> Findings:
        """Terms of L, D and S²; ratios of D and S² where their scale is open."""
        law, numbers = IdentifiedModel(model), json.loads(rollout.attrs["numbers"])
        lost = law.not_identifiable
        j, degrees, p = (float(law.dataset[f"j_{k}"]) for k in _OF_J)
        reservations = [_ONLY_RATIOS] if lost else []
        if numbers["j_p_value"] < LEAST_P_VALUE:
            reservations.append(_CONTRADICTED.format(**numbers))
        if numbers["scatter"] > LARGEST_SCATTER:
            reservations.append(
                f"parts of the record scatter {numbers['scatter']:.2g} times as "
                "much as the law predicts: samples are too far apart, sensors are "
                "noisy, or the motion is not stationary; intervals are too narrow"
            )
        terms = [row for row in _terms(law) if np.isfinite(row[2])]
        half = law.interval_factor
        return Findings(
            terms=terms + (_ratios(law) if lost else []),
            refusals=[law.misfit] if law.misfit else [],
            reservations=reservations,
            about="" if lost else str(law.system),
            scale="Kinetic terms are given: L is per unit inertia. S² is the squared "
            "intensity of the white noise in the equation of motion (Itô).",
            undecided=[lost] * bool(lost)
            + [
                f"whether {of} has `{term}`: its interval holds zero"
                for term, of, value, std, _ in terms
                if abs(value) < half * std
            ],
            predicted=[_PREDICTED.format(**numbers)],
            notes=[
                f"Hansen's test on the training data: J = {j:.3g}, {degrees:.0f} "
                f"degrees of freedom, p = {p:.2g}",
                "scatter between parts of the record over that expected of the law: "
                f"{numbers['scatter']:.2g}",
            ],
            interval_factor=half,
        )


_OF_J = ("statistic", "degrees", "p_value")
_ONLY_RATIOS = (
    "a stationary density in detailed balance determines only ratios of damping and "
    "noise; give one known coefficient"
)
_CONTRADICTED = (
    "held-out data contradict the law (J = {j:.3g} for {j_degrees:.0f} moments, "
    "p = {j_p_value:.1g}), most of all {worst} ({worst_score:+.2g} standard errors): "
    "the record may not be stationary"
)
_PREDICTED = (
    "Hansen's test of the stationary Fokker–Planck equation on the held-out data: "
    "J = {j:.3g}, {j_degrees:.0f} degrees of freedom, p = {j_p_value:.2g}; the largest "
    "deviation is {worst} (SI units; {worst_score:+.2g} standard errors)."
)


def _terms(law: IdentifiedModel) -> list[tuple]:
    """Rows of L and D, and of S² by its candidates."""
    rows = [
        (row.term, row.of, row.value, row.std, "")
        for row in law.terms.itertuples()
        if row.of in "LD"
    ]
    data = law.dataset
    several = data.sizes["dof"] > 1
    for a, name in enumerate(data["dof"].values):
        for k, term in enumerate(data["volatility_term"].values):
            value, std = (
                float(data[f"volatility_coefficient_{what}"].values[a, k])
                for what in ("estimate", "std")
            )
            rows.append(
                (str(term), f"S^2 of {name}" if several else "S^2", value, std, "")
            )
    return rows


def _ratios(law: IdentifiedModel) -> list[tuple]:
    """Rows of D and S² over the first squared volatility."""
    data = law.dataset
    values, errors = (data[f"ratio_{what}"].values for what in ("estimate", "std"))
    names = [str(name) for name in data["ratio_name"].values]
    rows = []
    for i in np.flatnonzero(np.isfinite(values) & (errors > 0)):
        of, _, term = names[i].partition(": ")
        rows.append((term, f"{of}, ratio", float(values[i]), float(errors[i]), ""))
    return rows


KINDS = {"density": Density()}


def coefficients(model: xr.Dataset, equations: xr.Dataset) -> np.ndarray:
    """θ of every term of the stationary equation, as a model has it.

    Where the common factor of damping and noise is not determined, that with the first
    squared volatility one.
    """
    terms = equations.variables
    values = terms["known"].values.copy()
    ratio = model.get("ratio_estimate")
    of = {
        "lagrangian": "coefficient_estimate",
        "dissipation": "dissipation_coefficient_estimate",
        "volatility": "volatility_coefficient_estimate",
    }
    for i in np.flatnonzero(np.isnan(values)):
        kind, place = str(terms["kind"].values[i]), int(terms["position"].values[i])
        row = model[of[kind]].values[0]
        row = row[int(terms["of_dof"].values[i])] if kind == "volatility" else row
        values[i] = row[place]
        if np.isnan(values[i]) and ratio is not None:
            values[i] = ratio.values[0][i]
    return values


def _moments(observations: xr.Dataset, recipe, library: Mapping) -> xr.Dataset:
    """Moments of the generator of a density, and their noise."""
    tests = recipe.differentiate(observations, recipe.differentiate.parts_of(library))
    return recipe.assemble(observations, tests, recipe.assemble.parts_of(library))


def _scatter(equations: xr.Dataset, values, ridge: float) -> tuple[float, int]:
    """χ² of the moments of parts of a record about their mean, and its degrees."""
    by_part = equations["moment"].values[0] @ values
    isometry = Isometry(equations["noise_gram"].values[0], ridge)
    each = equations["duration"].values[0] / len(by_part)
    covariance = isometry.covariance(values)
    size = np.sqrt(np.diag(covariance))
    eigenvalues, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    good = eigenvalues > 1e-3 * eigenvalues[-1]
    white = (by_part - by_part.mean(axis=0)) / size @ vectors[:, good]
    total = (white**2 / eigenvalues[good]).sum() * each
    return float(total), (len(by_part) - 1) * int(good.sum())


def _states(samples: Samples) -> list[np.ndarray]:
    """States (q, q̇) of each trajectory, (time, state)."""
    parts = (samples.series[section] for section in Density.sections)
    return [np.concatenate(both, axis=1) for both in zip(*parts, strict=True)]


def _refuse_unlike_rates(samples: Samples) -> None:
    """Velocities are the derivatives of the positions, as far as samples can tell."""
    for a, name in enumerate(samples.names["coordinates"]):
        change, mean = [], []
        for q, v in zip(*(samples.series[k] for k in Density.sections), strict=True):
            change.append(np.diff(q[:, a]) / samples.time_step)
            mean.append((v[1:, a] + v[:-1, a]) / 2)
        change, mean = np.concatenate(change), np.concatenate(mean)
        correlation = np.corrcoef(change, mean)[0, 1]
        slope = correlation * change.std() / mean.std()
        if correlation**2 > LEAST_SLOPE and not LEAST_SLOPE < slope < 1 / LEAST_SLOPE:
            raise ValueError(
                f"positions of {name} change {slope:.4g} times as fast as its "
                "velocities state; check the units of the position, of the velocity "
                "and of the time"
            )
        if correlation**2 < LEAST_SLOPE:
            raise ValueError(
                f"the velocity of {name} is not the change of its position "
                f"(correlation {correlation:.2g}); name another column, or sample "
                "faster"
            )


def _refuse_unsteady(states: list[np.ndarray], samples: Samples) -> None:
    """A record that is short beside its memory, or changes along it or its runs."""
    squares = [s**2 for s in states]
    total = np.concatenate(squares)
    parts = np.stack([part.mean(axis=0) for part in _batches(squares)])
    size = len(total) // BATCHES
    memory = (parts.var(axis=0, ddof=1) / total.var(axis=0)).max() * size
    duration = len(total) * samples.time_step
    count = duration / (memory * samples.time_step)
    first = parts[: BATCHES // 4].mean(axis=0) / parts.mean(axis=0)
    names = [*samples.names["coordinates"]]
    names += [f"{name}dot" for name in names]
    _refuse_change(parts, names, first)
    _refuse_relaxing(squares, names)
    if count < LEAST_MEMORIES * BATCHES:
        raise ValueError(
            f"the record of {duration:.4g} s has {count:.0f} correlation times of its "
            f"energy ({memory * samples.time_step:.3g} s each); expected "
            f"{LEAST_MEMORIES * BATCHES} or more. Record longer, or learn from the "
            "order of the samples: `excitation: random` without `kind`"
        )


def _refuse_change(parts: np.ndarray, names, first: np.ndarray) -> None:
    """Mean squares of the first parts against the others, and along all of them."""
    count = len(parts)
    few = count // 4
    along = np.linspace(-1, 1, count)
    for y, name, ratio in zip(parts.T, names, first, strict=True):
        rest = y[few:]
        deviation = rest.std(ddof=1)
        z = (
            (y[:few].mean() - rest.mean())
            / deviation
            / np.sqrt(1 / few + 1 / len(rest))
        )
        slope = np.polyfit(along, y, 1)
        left = (y - np.polyval(slope, along)).std(ddof=2)
        trend = slope[0] / left * np.sqrt((along**2).sum())
        worst = max(abs(z), abs(trend))
        if 2 * stdtr(len(rest) - 1, -worst) < LEAST_P_VALUE / (2 * len(names)):
            raise ValueError(
                f"the motion is not stationary: the mean square of {name} is "
                f"{ratio:.3g} times its mean in the first quarter of the record "
                f"({worst:.2g} standard errors); leave out the begin until it has "
                "settled, or the part where the machine was changed"
            )


def _refuse_relaxing(squares: list[np.ndarray], names) -> None:
    """Mean squares of the first quarter of each run against the rest of it.

    Runs are independent, so that the scatter of their changes is the error, however
    short they are; parts of a record of many runs are alike if all runs relax.
    """
    whole = [y for y in squares if len(y) >= BATCHES]
    if len(whole) < BATCHES:
        return
    first = np.array([y[: len(y) // 4].mean(axis=0) for y in whole])
    rest = np.array([y[len(y) // 4 :].mean(axis=0) for y in whole])
    change = first - rest
    error = change.std(axis=0, ddof=1) / np.sqrt(len(whole))
    z = np.abs(change.mean(axis=0)) / np.maximum(error, np.finfo(float).tiny)
    worst = int(np.argmax(z))
    if 2 * stdtr(len(whole) - 1, -z[worst]) < LEAST_P_VALUE / (2 * len(names)):
        ratio = first.mean(axis=0)[worst] / rest.mean(axis=0)[worst]
        raise ValueError(
            f"the motion is not stationary: the mean square of {names[worst]} in the "
            f"first quarter of {len(whole)} runs is {ratio:.3g} times that of the rest "
            f"({z[worst]:.2g} standard errors); leave out the begin of each run until "
            "it has settled"
        )


def _batches(states: list[np.ndarray]) -> list[np.ndarray]:
    """The record in parts of about equal length, one after the other."""
    return np.array_split(np.concatenate(states), BATCHES)


def _reach(states: np.ndarray) -> np.ndarray:
    """Lowest and highest value of each state inside the histogram, a tenth wider."""
    low, high = np.quantile(states, [OUTSIDE, 1 - OUTSIDE], axis=0)
    margin = 0.1 * (high - low)
    return np.stack([low - margin, high + margin], axis=1)


def _counted(parts: list[np.ndarray], grid, samples: Samples) -> xr.Dataset:
    """Contract ``histogram`` of one coordinate, ``state_moments`` of several."""
    names = list(samples.names["coordinates"])
    low, high = np.asarray(grid)
    count = np.array([len(part) for part in parts])
    coords = {
        "replicate": [0],
        "dof": names,
        "coordinate_unit": ("dof", list(samples.units["coordinates"])),
    }
    common = {"samples": count, "duration": count * samples.time_step}
    attrs = {"grid": np.ravel(grid).tolist(), "time_step": samples.time_step}
    if len(names) == 1:
        edges = np.linspace(low, high, BINS + 1)
        cells = [np.histogram2d(*part.T, bins=edges.T)[0] for part in parts]
        centres = (edges[1:] + edges[:-1]) / 2
        about = {"long_name": "centre of the cell", "units": "SI"}
        coords["q_bin"] = ("q_bin", centres[:, 0], about)
        coords["qdot_bin"] = ("qdot_bin", centres[:, 1], about)
        values = {"count": np.array(cells)}
        attrs["contract"] = "histogram"
        return CONTRACTS["histogram"].dataset(common | values, coords, attrs)
    powers = multi_indices(2 * len(names), DEGREE)
    values = {
        "moment": [np.prod(p[:, None] ** powers, axis=2).mean(axis=0) for p in parts],
        "exponent": powers,
    }
    coords["state"] = [*names, *(f"{name}dot" for name in names)]
    attrs["contract"] = "state_moments"
    return CONTRACTS["state_moments"].dataset(common | values, coords, attrs)
