"""Comparisons of a learned model with the truth, along its long rollout and beside it.

Functions return values by name, of one replicate and case; dimensions, units and
meanings are in the contract ``shadow_rollout``. Values are NaN where the learned motion
failed. The truth is a :class:`leastaction.snapshots.rollout.Truth`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.ndimage

from leastaction.core.simulation import first_index, halton_starts
from leastaction.snapshots.learned_model import LearnedFlow, LearnedLagrangian

# Degree of the monotone map between two Hamiltonians of one degree of freedom.
DEGREE_OF_MONOTONE_MAP = 5
# A close-up of a saddle: points of a side, and half width over the half width
# √|2 margin/curvature| of the channel.
POINTS_OF_CLOSE_UP = 41
CHANNELS_PER_CLOSE_UP = 3.0
# Stored samples of a very long motion, and steps of its end stored one by one.
SAMPLES_OF_PASSAGE = 2000
STEPS_OF_PASSAGE_END = 400
# States of the truth between two snapshots, for a line.
STATES_BETWEEN_SNAPSHOTS = 20


def of_truth(truth, settings: Mapping) -> dict:
    """What every model is compared with: the box, snapshots, the potential."""
    points = box_points(settings["box"])
    start = np.array(settings["start"], dtype=float)
    fine = truth.path(start, _snapshots(settings) - 1, STATES_BETWEEN_SNAPSHOTS)
    values = {
        "state_point": points,
        "state_snapshot_true": fine[::STATES_BETWEEN_SNAPSHOTS],
        "state_line_true": fine,
        "hamiltonian_start_true": truth.energy(fine[:1])[0],
        "hamiltonian_point_true": truth.energy(points),
    }
    if "potential" in settings:
        values |= rest_region(truth, settings["potential"])
    return values


def _snapshots(settings: Mapping) -> int:
    return min(settings["snapshots"], settings["steps"] + 1)


def grid_points(low, high, points: int) -> np.ndarray:
    """All points (sample, dimension) of a grid in a box."""
    sides = [np.linspace(a, b, points) for a, b in zip(low, high, strict=True)]
    grid = np.meshgrid(*sides, indexing="ij")
    return np.stack(grid, axis=-1).reshape(-1, len(sides))


def box_points(box: Mapping) -> np.ndarray:
    """States (sample, 2 dof) in a box: a grid if it is a plane, else Halton's."""
    if len(box["low"]) == 2:
        return grid_points(**box)
    return halton_starts(
        first_index(len(box["low"])), box["low"], box["high"], box["points"]
    )


def rest_region(truth, recipe: Mapping) -> dict:
    """Energy at rest on a grid, and the region below the level.

    The region is the connected part around the lowest of the energy's minima.
    """
    positions = grid_points(recipe["low"], recipe["high"], recipe["points"])
    energy = truth.energy(at_rest(positions))
    grid = energy.reshape((recipe["points"],) * truth.dof)
    below = grid < recipe["below"]
    if not below.any():
        raise ValueError(
            f"validate.shadow.potential: no position is below {recipe['below']:g} J; "
            f"the lowest of the grid has {energy.min():g} J"
        )
    parts, _ = scipy.ndimage.label(below)
    lowest = scipy.ndimage.minimum_filter(grid, size=3, mode="constant", cval=-np.inf)
    minima = np.where(below & (grid == lowest), grid, np.inf)
    inside = parts == parts[np.unravel_index(np.argmin(minima), grid.shape)]
    return {
        "q_rest": positions,
        "potential_true": energy,
        "inside": inside.ravel().astype(float),
    }


def at_rest(positions: np.ndarray) -> np.ndarray:
    """States (sample, 2 dof) of positions (sample, dof) without velocity."""
    return np.concatenate([positions, np.zeros_like(positions)], axis=1)


def misalignment(found: np.ndarray, true: np.ndarray) -> float:
    """Mean sine of the angle between gradients, ν of Ober-Blöbaum and Offen.

    Of gradients (component, sample): zero if both functions have the same level sets,
    whatever their scale and sign.
    """
    with np.errstate(all="ignore"):
        # Where the true gradient vanishes there is no angle.
        there = np.abs(true).max(axis=0) > 0
        a, b = (
            g[:, there] / np.linalg.norm(g[:, there], axis=0) for g in (found, true)
        )
        sine = np.linalg.norm(a - b * (a * b).sum(axis=0), axis=0)
    return float(sine.mean())


def slope_in_time(time: np.ndarray, values: np.ndarray) -> float:
    """Slope of a line through the finite values; NaN if there are fewer than two."""
    there = np.isfinite(values)
    if there.sum() < 2:
        return np.nan
    return float(np.polynomial.polynomial.polyfit(time[there], values[there], 1)[1])


@dataclass
class Comparison:
    """One learned model beside the truth, by the section `shadow` of the settings.

    `true` are the values of :func:`of_truth`. The order `main` starts the motion; the
    energies of every order are divided by its entry of `scales`.
    """

    model: LearnedLagrangian | LearnedFlow
    truth: object
    settings: Mapping
    true: Mapping

    def __post_init__(self):
        self.orders = list(self.settings["orders"])
        self.main = self.model.main_order(self.orders)
        self.start = np.array(self.settings["start"], dtype=float)
        self.domain = self.settings.get("domain", {})
        self.scales: list[float] = []

    def _scaled(self, states: np.ndarray) -> list[np.ndarray]:
        """H^[k] of states over its scale, by order."""
        return [
            self.model.hamiltonian(states, k) / scale
            for k, scale in zip(self.orders, self.scales, strict=True)
        ]

    def alignment(self) -> dict:
        """Gradients of H^[k] compared with those of H at the points of the box.

        A scale is the factor c with which ∂H^[k] is closest to c · ∂H.
        """
        points, truth = self.true["state_point"], self.truth
        true = truth.gradient(points)
        found = [self.model.hamiltonian_derivatives(points, k, 1) for k in self.orders]
        self.scales = [float((f[1:] * true).sum() / (true**2).sum()) for f in found]
        values = {
            "misalignment": [misalignment(f[1:], true) for f in found],
            "scale": self.scales,
            "hamiltonian_point": [f[0] for f in found],
        }
        rule = getattr(self.model, "rule", None)
        # Derivatives of the truth up to order 6 are many where there are many states.
        if rule and truth.dof == 1:
            given = truth.integrated(points, self.orders, rule)
            values["misalignment_integrated"] = [
                misalignment(f[1:], true) for f in given
            ]
            values["hamiltonian_point_integrated"] = [f[0] for f in given]
        return values

    def mass(self) -> dict:
        """∂²L^[k]/∂q̇∂q̇ over its scale, in the middle of the box of states."""
        middle = np.mean([self.settings["box"][end] for end in ("low", "high")], axis=0)
        scaled = zip(self.orders, self.scales, strict=True)
        return {
            "mass": [self.model.mass(middle, k) / scale for k, scale in scaled],
            "mass_true": self.truth.mass(middle),
        }

    def rollouts(self, path: np.ndarray, stored: np.ndarray, at: np.ndarray) -> dict:
        """Long rollouts from the momentum of every order, beside the true `path`.

        Positions at the samples `stored`, energies and momenta at the samples `at`.
        Momenta of the model have a part of its gauge; those of the truth, in the states
        of the model, have none.
        """
        model, truth, n = self.model, self.truth, self.truth.dof
        steps, short = self.settings["steps"], self.settings["short"] + 1
        runs = [model.rollout(self.start, steps, k, **self.domain) for k in self.orders]
        momenta = np.array([run.momenta for run in runs])
        # NaN after a failure: the error is that of the steps that were done.
        errors = [np.abs(run.positions - path[:, :n]).max(axis=1) for run in runs]
        states = [
            model.states(run, at, k) for run, k in zip(runs, self.orders, strict=True)
        ]
        energy = np.array([truth.energy(s) for s in states])
        # Paper: H^[0] has the velocities of L^[2], too, and only so a wide band.
        along = runs[self.orders.index(self.main)]
        higher = [max(k, self.main) for k in self.orders]
        on_path = {k: model.states(along, at, k) for k in set(higher)}
        modified = np.array(
            [
                model.hamiltonian(on_path[h], k) / scale
                for h, k, scale in zip(higher, self.orders, self.scales, strict=True)
            ]
        )
        time = at * truth.time_step
        change = np.abs(energy - truth.energy(self.start[None])[0])
        return {
            "momentum_estimate": momenta[:, at],
            "momentum_physical": [truth.momentum(s) for s in states],
            "momentum_range": np.nanmax(momenta, axis=1) - np.nanmin(momenta, axis=1),
            "momentum_start": momenta[:, 0],
            "q_true": path[stored, :n],
            "q_estimate": [run.positions[stored] for run in runs],
            "position_error": [np.nanmax(error) for error in errors],
            "position_error_short": [np.nanmax(error[:short]) for error in errors],
            "steps_done": [float(run.steps) for run in runs],
            "failure": [run.reason for run in runs],
            "hamiltonian_estimate": energy,
            "hamiltonian_modified": modified,
            "energy_deviation": np.fmax.reduce(change, axis=-1),
            "energy_band": np.fmax.reduce(modified, axis=-1)
            - np.fmin.reduce(modified, axis=-1),
            "energy_drift": [slope_in_time(time, values) for values in energy],
        }

    def snapshots(self) -> dict:
        """States of the model at the first snapshots of the long rollout.

        Velocities are those that have the model's momenta by L^[k], k = `main`
        (Ober-Blöbaum and Offen, section 2.3).
        """
        count = _snapshots(self.settings)
        run = self.model.rollout(self.start, count - 1, self.main, **self.domain)
        return {"state_snapshot": self.model.states(run, np.arange(count), self.main)}

    def potential(self) -> dict:
        """H^[k] at rest over its scale, on the grid and at saddles.

        A margin is the energy of a saddle over that of the start: the motion stays
        inside if all are positive.
        """
        true, inside = self.true["potential_true"], self.true["inside"] > 0
        found = self._scaled(at_rest(self.true["q_rest"]))
        heights = [values - np.mean((values - true)[inside]) for values in found]
        values = {
            "potential_estimate": heights,
            "potential_error": [np.abs(h - true)[inside].max() for h in heights],
        }
        saddles = np.array(self.settings["potential"]["saddles"], dtype=float)
        if not saddles.size:
            return values
        queried = np.concatenate([at_rest(saddles), self.start[None]])
        margins = [e[:-1] - e[-1] for e in self._scaled(queried)]
        expected = self.truth.energy(queried)
        values["saddle_margin"] = margins
        values["saddle_margin_true"] = expected[:-1] - expected[-1]
        if self.truth.dof == 2:
            values |= self._close_ups(saddles, margins, values["saddle_margin_true"])
        return values

    def _close_ups(self, saddles: np.ndarray, margins, expected: np.ndarray) -> dict:
        """H^[k] at rest minus that of the start, on small grids around the saddles.

        There a margin decides whether a channel is open. A grid is as wide as the
        widest channel that the margins of the second order, or of the truth, open.
        """
        order = min(self.orders, key=lambda k: abs(k - 2))
        margins = np.append(margins[self.orders.index(order)], expected)
        if not np.isfinite(margins).all():
            return {}
        width = CHANNELS_PER_CLOSE_UP * max(
            np.sqrt(2 * np.abs(margins).max() / _curvature(self.truth, saddle))
            for saddle in saddles
        )
        offsets = grid_points([-width] * 2, [width] * 2, POINTS_OF_CLOSE_UP)
        rest = at_rest((saddles[:, None] + offsets).reshape(-1, 2))
        start, shape = self.start[None], (len(saddles), len(offsets))

        def near(energy, *order):
            return (energy(rest, *order) - energy(start, *order)).reshape(shape)

        return {
            "near_offset": offsets,
            "near_estimate": [
                near(self.model.hamiltonian, k) / scale
                for k, scale in zip(self.orders, self.scales, strict=True)
            ],
            "near_true": near(self.truth.energy),
        }

    def horizon(self) -> dict:
        """Errors of many rollouts up to a fixed time."""
        steps, truth = self.settings["horizon"]["steps"], self.truth
        starts = horizon_starts(truth, self.settings["horizon"])
        errors, done = np.full(len(starts), np.nan), np.zeros(len(starts))
        for i, start in enumerate(starts):
            run = self.model.rollout(start, steps, self.main, **self.domain)
            done[i] = run.steps
            if run.complete:
                path = truth.path(start, steps)[:, : truth.dof]
                errors[i] = np.abs(run.positions - path).max()
        return {"horizon_error": errors, "horizon_steps": done}

    def survival(self) -> dict:
        """Steps before escape, censored at the end, and the motion of the first start.

        Starts differ by round-off in the first coordinate. Whether one escapes may be a
        matter of the last bit, so the time of a single one means nothing. Steps beyond
        a multiple of the stored samples are not done.
        """
        recipe = self.settings["survival"]
        every = max(recipe["steps"] // SAMPLES_OF_PASSAGE, 1)
        steps = recipe["steps"] // every * every
        order, options = self.main, self.domain
        first = self.model.rollout(self.start, steps, order, every, **options)
        done = [first.steps]
        for i in range(1, recipe["starts"]):
            other = self.start.copy()
            other[0] += i * recipe["perturbation"]
            run = self.model.rollout(other, steps, order, steps, **options)
            done.append(run.steps)
        done = np.array(done, dtype=float)
        return {
            "survival_steps": done,
            "survival_time": done * self.truth.time_step,
            "survival_censored": (done >= steps).astype(float),
        } | self._passage(first, every)

    def _passage(self, run, every: int) -> dict:
        """Positions and true energy of a rollout in coarse samples; its last steps."""
        count, truth = len(run.positions), self.truth
        states = self.model.states(run, np.arange(count), self.main, every)
        energy = truth.energy(states)
        time = truth.time_step * every * np.arange(count)
        sample = max(run.steps - STEPS_OF_PASSAGE_END, 0) // every
        before = run.steps - sample * every
        # Its rounding errors differ, but so soon after that does not show.
        further = self.model.further(run, sample, before, self.main, **self.domain)
        kept = further.positions[-(STEPS_OF_PASSAGE_END + 1) :]
        end = np.full((STEPS_OF_PASSAGE_END + 1, run.positions.shape[1]), np.nan)
        end[: len(kept)] = kept
        return {
            "passage_time": time,
            "passage_q": run.positions,
            "passage_energy": energy - truth.energy(self.start[None])[0],
            "passage_drift": slope_in_time(time, energy),
            "passage_end": end,
        }

    def posterior(self, rng: np.random.Generator) -> dict:
        """Standard deviation of the learned H^[k] and its error, of one coordinate.

        There H is known up to a monotone function. Each draw is brought to the truth by
        a polynomial.
        """
        points, true = self.true["state_point"], self.true["hamiltonian_point_true"]
        draws = self.model.samples(self.settings["posterior"]["draws"], rng)

        def matched(model):
            values, degree = (
                model.hamiltonian(points, self.main),
                DEGREE_OF_MONOTONE_MAP,
            )
            return np.polynomial.Polynomial.fit(values, true, degree)(values)

        error = matched(self.model) - true
        std = np.std([matched(draw) for draw in draws], axis=0)
        return {
            "hamiltonian_error": error,
            "hamiltonian_std": std,
            "hamiltonian_coverage": np.mean(np.abs(error) <= 2 * std),
        }


def _curvature(truth, position: np.ndarray, step: float = 1e-3) -> float:
    """Smallest magnitude of the curvatures of the energy at rest, by differences."""
    n = position.size
    shifts = step * np.eye(n)
    states = at_rest(np.concatenate([position + shifts, position - shifts]))
    up, down = np.split(truth.gradient(states)[:n].T, 2)
    hessian = (up - down) / (2 * step)
    return float(np.abs(np.linalg.eigvalsh((hessian + hessian.T) / 2)).min())


def horizon_starts(truth, recipe: Mapping) -> np.ndarray:
    """Starts (start, 2 dof): points of a Halton sequence below an energy."""
    index, count = first_index(len(recipe["low"])), recipe["starts"]
    candidates = halton_starts(index, recipe["low"], recipe["high"], 100 * count)
    if "below" in recipe:
        candidates = candidates[truth.energy(candidates) < recipe["below"]]
    if len(candidates) < count:
        raise ValueError(
            f"validate.shadow.horizon: only {len(candidates)} of {count} starts are "
            f"below {recipe['below']:g} J; move the box"
        )
    return candidates[:count]
