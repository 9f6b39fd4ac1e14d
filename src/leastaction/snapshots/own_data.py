"""A user's field on a line, or positions at coarse steps, without candidates.

What is held out is predicted by a rollout whose first two snapshots are fitted to the
begin of it: noise of two recorded ones would be that of a velocity.
"""

import json
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from leastaction.core.own_data import Findings, Kind, Prediction, Samples, interval
from leastaction.core.periodic_line import projection_on_waves
from leastaction.snapshots.field_evidence import LARGE_MISFIT, mirrored
from leastaction.snapshots.field_models import LearnedField

# Snapshots of a motion, at least, and the share of those held out that fix its begin.
LEAST_SNAPSHOTS, SHARE_OF_BEGIN = 8, 0.25
# Gauss–Newton steps to a begin, and their differences over the rms.
STEPS, DIFFERENCE = 4, 1e-4
# Error of a rollout over the rms, beyond which there is no law, and no forecast; over
# the noise, below which it is noise.
ERROR_OF_NO_LAW, LARGEST_ERROR, OVER_NOISE = 0.3, 0.05, 2**0.5
# Standard errors of a correlation that noise has once in 10⁴ times.
LEAST_SCORE = 4.0
# Rms of the ends of a fixed line, over the largest rms of a node.
LARGEST_MOTION_OF_ENDS = 0.1
MIRROR = {"periodic": 0, "fixed": -1, "free": 1}
NORMAL = 1.96


class Field(Kind):
    """A field u at even nodes of a line, periodic or with ends."""

    name = "field"
    sections = {"coordinates": True}
    keys = ("position", "length", "ends")
    example = "--time t --trajectory run --coordinate 'u:u_*:mm' --length 6.283"
    about = "waves on a ring of 24 nodes with a stiffening spring at each"

    def demo(self) -> str:
        """Columns `run`, `t` (s), `u_0` ... `u_23` (mm); noise of 0.5 %."""
        rng, nodes, h = np.random.default_rng(1), 24, 0.005
        x = 2 * np.pi / nodes * np.arange(nodes)
        waves = np.fft.rfftfreq(nodes, 1 / nodes)
        rows = [",".join(["run", "t", *(f"u_{j}" for j in range(nodes))])]
        for run in range(8):
            a, b = rng.normal(size=(2, 4, 2)) / [[1], [1], [2], [3]]
            both = np.array(
                [np.cos(np.outer(range(4), x)), np.sin(np.outer(range(4), x))]
            )
            u, v = (0.5 * np.einsum("km,mkj->j", c, both) for c in (a, b))
            for step in range(25 * 20 + 1):
                if step % 20 == 0:
                    cells = u + 2e-3 * rng.standard_normal(nodes)
                    shown = ",".join(f"{1e3 * c:.3f}" for c in cells)
                    rows.append(f"{run},{h * step:.2f},{shown}")
                for weight in (0.5, 1.0, 0.5):  # kick, drift, kick
                    if weight == 1.0:
                        u = u + h * v
                        continue
                    bent = np.fft.irfft(-(waves**2) * np.fft.rfft(u), nodes)
                    v = v + weight * h * (bent - u - u**3)
        return "\n".join(rows) + "\n"

    def data(self, settings: Mapping) -> str:
        """Snapshots of a field."""
        return "field_snapshots"

    def completed(self, example: dict, units: Mapping) -> list[str]:
        """One field, evenly spaced."""
        given, problems = example["import"], []
        if len(given["coordinates"]) != 1:
            problems.append(
                f"import.coordinates: {', '.join(given['coordinates'])}; expected one "
                "field, such as `u`, with a pattern of columns, `u_* [mm]`"
            )
        if not given["position"] and "length" not in given:
            problems.append(
                "import.length: it is missing; write the length of the line, m, or "
                "of a long table the column of the position, `position: {x: m}`"
            )
        return problems

    def observations(self, samples: Samples) -> xr.Dataset:
        """Contract ``recordings`` on a periodic line; ValueError of too few nodes."""
        (u,) = samples.stacked(LEAST_SNAPSHOTS).values()
        if u.shape[2] < LEAST_SNAPSHOTS:
            raise ValueError(
                f"there are {u.shape[2]} nodes; expected {LEAST_SNAPSHOTS} or more"
            )
        if not np.ptp(u):
            raise ValueError("the field does not change; name other columns")
        _refuse_unrelated(u)
        length, mirror = samples.settings["length"], MIRROR[samples.settings["ends"]]
        (name,) = samples.settings["coordinates"]
        if mirror:
            _refuse_moving_ends(u, mirror)
            u, length = mirrored(u, mirror), 2 * length
        names = [f"{name}_{j}" for j in range(u.shape[2])]
        attrs = {
            "field": name,
            "domain_left": "periodic",
            "domain_right": "periodic",
            "domain_length": float(length),
            "domain_nodes": u.shape[2],
            "mirror": mirror,
        }
        return _recorded(u, names, samples.units["coordinates"][:1], samples, attrs)

    def predict(self, held_out, model, observations, recipe, library) -> Prediction:
        """Rollouts of what was held out, from a begin that is fitted."""
        found = LearnedField.from_dataset(model)
        measured = held_out["q"].values[0]
        count, times, nodes = measured.shape
        path = np.full_like(measured, np.nan)
        begin = max(4, round(SHARE_OF_BEGIN * times))
        if found.stable:
            basis = _wave_basis(nodes, found.waves)
            for k, u in enumerate(measured):
                path[k] = _from_begin(
                    lambda a, b, n: found.rollout(a, b, n - 1), u, begin, basis
                )
        if held_out.attrs["mirror"]:
            measured, path = (a[..., : nodes // 2 + 1] for a in (measured, path))
        noise = max(found.noise, 0.0)
        names = [str(name) for name in held_out["dof"].values[: measured.shape[2]]]
        return Prediction(
            names,
            [str(held_out["coordinate_unit"].values[0])] * len(names),
            list(measured),
            list(path),
            [np.full(one.shape, NORMAL * noise) for one in measured],
            [f"motion {k + 1}" for k in range(count)],
            _errors(measured, path, begin, noise),
        )

    def findings(self, model, observations, rollout) -> Findings:
        """Speed of waves and damping; why forecasts are not to be trusted."""
        found, told = (
            LearnedField.from_dataset(model),
            json.loads(rollout.attrs["numbers"]),
        )
        refusals, reservations = _judged(told)
        if not found.stable:
            refusals = [
                "no stable density agrees with the snapshots: the field obeys "
                "no second-order equation of this kind, or steps are too long"
            ]
        if found.density.basis.decay < 1:
            reservations.append(
                "energy is lost: u_tt + γ u_t with γ = "
                f"{interval(found.damping, NORMAL * found.damping_std)} 1/s"
            )
        if LARGE_MISFIT <= found.misfit < np.inf:
            reservations.append(
                f"what the stencil cannot represent is {found.misfit:.2g} of the "
                "variance of the noise: c² has no interval"
            )
        rows = [
            ("c^2", "waves", found.speed, found.speed_std, "m²/s²"),
            ("gamma", "damping", found.damping, found.damping_std, "1/s"),
        ]
        return Findings(
            terms=[] if refusals else rows,
            refusals=refusals,
            reservations=reservations,
            about=str(found),
            scale="The density is known up to a factor and to null Lagrangians.",
            undecided=[
                f"waves shorter than number {found.waves} of "
                f"{found.nodes // 2}, which are below the noise"
            ]
            if found.waves < found.nodes // 2
            else [],
            predicted=_predicted(told),
        )


KINDS = {"field": Field()}


def _recorded(q, names, units, samples: Samples, attrs: Mapping) -> xr.Dataset:
    """Contract ``recordings`` of positions (trajectory, time, dof), without a sweep."""
    from leastaction.core.contracts import contracts

    return contracts()["recordings"].dataset(
        {
            "q": q[None],
            "noise_q": np.zeros((1, 1, *q.shape)),
            "noise_level": np.zeros(1),
        },
        {
            "replicate": [0],
            "time": samples.time_step * np.arange(q.shape[1]),
            "dof": names,
            "coordinate_unit": ("dof", list(units) * (len(names) // len(units))),
            "noise_mode": ["independent"],
        },
        {"contract": "recordings", "time_step": samples.time_step} | dict(attrs),
    )


def _refuse_unrelated(q: np.ndarray) -> None:
    """Neighbouring snapshots that are as unrelated as noise."""
    q = q - q.mean(axis=(0, 1))
    before, after = (part.ravel() for part in (q[:, :-1], q[:, 1:]))
    correlation = before @ after / np.sqrt((before @ before) * (after @ after))
    if abs(correlation) < LEAST_SCORE / np.sqrt(before.size):
        raise ValueError(
            f"neighbouring snapshots are unrelated (correlation {correlation:.2g}): "
            "they are noise, or too far apart; record at shorter steps"
        )


def _refuse_moving_ends(u: np.ndarray, mirror: int) -> None:
    """Fixed ends do not move, but for noise."""
    sizes = np.sqrt((u**2).mean(axis=(0, 1)))
    moving = max(sizes[0], sizes[-1]) / sizes.max()
    if mirror < 0 and moving > LARGEST_MOTION_OF_ENDS:
        raise ValueError(
            f"the ends move by {100 * moving:.0f} % of the largest motion, but "
            "`ends: fixed` says that they do not; check the order of the columns, or "
            "write `ends: free` or `ends: periodic`"
        )


def _wave_basis(nodes: int, highest: int) -> np.ndarray:
    """Orthonormal fields (node, field) of the waves up to a number."""
    values, vectors = np.linalg.eigh(projection_on_waves(nodes, highest))
    return vectors[:, values > 0.5]


def _from_begin(
    run: Callable, u: np.ndarray, begin: int, basis: np.ndarray
) -> np.ndarray:
    """Rollout (time, node) whose first two snapshots fit the begin of `u` best.

    ``run(first, second, count)`` are motions (motion, count, node); starts are sums of
    the columns of `basis` (node, field).
    """
    size = np.sqrt((u**2).mean())

    def motions(starts: np.ndarray, count: int) -> np.ndarray:
        first, change = np.split(starts, 2, axis=1)
        return run(first @ basis.T, (first + change) @ basis.T, count)

    def fitted(start: np.ndarray, count: int) -> np.ndarray:
        best = motions(start[None], count)[0]
        for _ in range(STEPS):
            moved = start + DIFFERENCE * size * np.eye(start.size)
            slopes = motions(moved, count) - best
            slopes = slopes.reshape(start.size, -1).T / (DIFFERENCE * size)
            left = (u[:count] - best).ravel()
            if not (np.isfinite(slopes).all() and np.isfinite(left).all()):
                return start
            trial = start + np.linalg.lstsq(slopes, left, rcond=1e-10)[0]
            there = motions(trial[None], count)[0]
            if not ((there - u[:count]) ** 2).sum() < (left**2).sum():
                return start
            start, best = trial, there
        return start

    start = np.concatenate([u[0] @ basis, (u[1] - u[0]) @ basis])
    return motions(fitted(start, begin)[None], len(u))[0]


def _errors(measured, path, begin: int, noise: float) -> dict:
    """Rms error behind the begin, over the rms of the motion and the noise."""
    late = (path - measured)[:, begin:]
    error = float(np.sqrt((late**2).mean()))
    size = float(np.sqrt((measured[:, begin:] ** 2).mean()))
    return {
        "lost": bool(not np.isfinite(error)),
        "error": error if np.isfinite(error) else 0.0,
        "size": size,
        "noise": float(noise),
        "begin": begin,
        "end": measured.shape[1],
    }


def _judged(told: Mapping) -> tuple[list[str], list[str]]:
    """Why a rollout of what was held out denies a law, or leaves a reservation."""
    share = told["error"] / told["size"]
    missed = f"rollouts of what was held out miss {100 * share:.2g} % of its rms"
    if told["lost"]:
        return ["rollouts of what was held out do not stay finite"], []
    if share > max(ERROR_OF_NO_LAW, OVER_NOISE * told["noise"] / told["size"]):
        return [missed], []
    if share > max(LARGEST_ERROR, OVER_NOISE * told["noise"] / told["size"]):
        return [], [missed]
    return [], []


def _predicted(told: Mapping) -> list[str]:
    """Error of rollouts, a sentence."""
    if told["lost"]:
        return ["Rollouts of what was held out do not stay finite."]
    ratio = ""
    if told["noise"]:
        ratio = f", {told['error'] / told['noise']:.3g} times the noise"
    return [
        f"Rollouts of what was held out, begun by its first {told['begin']} snapshots, "
        f"miss {100 * told['error'] / told['size']:.2g} % of its rms from there to "
        f"snapshot {told['end']}{ratio}."
    ]
