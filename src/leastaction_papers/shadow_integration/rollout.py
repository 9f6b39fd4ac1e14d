"""Rollout of a model that was learned from snapshots, compared with the truth.

Parts of the comparison return values by name, of one replicate and case; dimensions,
units and meanings are in the contract ``shadow_rollout``. Values are NaN where the
learned motion failed.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import contracts
from leastaction.core.families import implementation
from leastaction.core.multi_index import factors
from leastaction.core.runge_kutta import motion_of, substeps_of
from leastaction.core.simulation import first_index, halton_starts
from leastaction.core.system import System
from leastaction.snapshots import backward_error_numerical as backward
from leastaction_papers.rollout import Rollout, compares
from leastaction_papers.shadow_integration.contracts import CONTRACTS

# A close-up of a saddle: points of a side, and half width over the half width
# √|2 margin/curvature| of the channel.
POINTS_OF_CLOSE_UP = 41
CHANNELS_PER_CLOSE_UP = 3.0
STEP_OF_CURVATURE = 1e-3
# Stored samples of a very long motion, and steps of its end stored one by one.
SAMPLES_OF_PASSAGE = 2000
STEPS_OF_PASSAGE_END = 400
# States of the truth between two snapshots, for a line.
STATES_BETWEEN_SNAPSHOTS = 20


@compares
def validate(run: Rollout) -> xr.Dataset:
    """Roll out one replicate, every case of its sweep over noise.

    A learned Lagrangian has a factor of its own. Its energies are divided by `scale`,
    the factor of ∂H that is closest to ∂H^[k] at the points of a box, so that they are
    in J.

    For every order k of backward error analysis there are the path that starts with the
    momentum of L^[k], its errors, and the energy of the truth along it with the
    velocities of L^[k]; H^[k] along the path of the main order, with the velocities of
    that order if it is the higher one; the misalignment of the gradients of H^[k]. The
    main order is the last of a shadow Lagrangian and the first of another. Raises a
    ValueError if the `settings` have no section `shadow`.
    """
    settings = run.section("shadow", "its start and steps and a box of states")
    truth = Truth(run.system, run.simulation, settings)

    def compared(dataset: xr.Dataset) -> xr.Dataset:
        return Comparison(dataset, truth, settings).dataset()

    return run.over_cases(compared, same=("q_true",))


class Truth:
    """Motion and H(q, q̇) of the system, and `values` that models are compared with."""

    def __init__(self, system: System, simulation: Mapping, settings: Mapping):
        self.dof, self.coordinates = system.dof, list(system.coordinates)
        self.time_step = float(simulation["time_step"])
        self._substeps, self._motion = substeps_of(simulation), motion_of(system)
        self._system, energy = system, system.hamiltonian
        functions = [energy, *(sp.diff(energy, s) for s in system.state)]
        self._values = self._evaluator(functions)
        self.start, box = np.array(settings["start"], float), settings["box"]
        plane = len(box["low"]) == 2
        points = _grid(**box) if plane else _spread(box, box["points"])
        self.snapshots = min(settings["snapshots"], settings["steps"] + 1)
        fine = self.path(self.start, self.snapshots - 1, STATES_BETWEEN_SNAPSHOTS)
        self.long_path = self.path(self.start, settings["steps"])
        self.values = {
            "state_point": points,
            "state_snapshot_true": fine[::STATES_BETWEEN_SNAPSHOTS],
            "state_line_true": fine,
            "hamiltonian_start_true": self.energy(fine[:1])[0],
            "hamiltonian_point_true": self.energy(points),
        }
        if "potential" in settings:
            self.values |= _rest_region(self, settings["potential"])

    def _evaluator(self, functions: list[sp.Expr]) -> Callable:
        """Values of functions of states, (sample, function)."""
        system, n = self._system, self.dof
        evaluate = evaluator(functions, system.coordinates, list(system.parameters))
        return lambda x: evaluate(x[:, :n], x[:, n:], system.parameter_values)

    def path(self, state: np.ndarray, steps: int, between: int = 1) -> np.ndarray:
        """States (sample, 2 dof), h / `between` apart, by the method of the data."""
        step, substeps = self.time_step / between, -(-self._substeps // between)
        return self._motion.integrate(state, steps * between + 1, step, substeps)[0]

    def energy(self, states: np.ndarray) -> np.ndarray:
        """H of states (sample, 2 dof), J."""
        return self._values(states)[:, 0]

    def gradient(self, states: np.ndarray) -> np.ndarray:
        """Derivatives of H by (q, q̇), shape (2 dof, sample)."""
        return self._values(states)[:, 1:].T

    def integrated(self, states: np.ndarray, orders: Sequence[int], rule: str):
        """H^[k] that a variational integrator of the true L conserves, k in `orders`.

        The level sets that its motion has, were L learned perfectly and not a shadow:
        for every order the value and the gradient, shape (1 + 2 dof, sample).
        """
        system, n = self._system, self.dof
        functions = [
            sp.diff(system.lagrangian, *(system.state[i] for i in axes))
            if axes
            else system.lagrangian
            for axes in factors(2 * n, backward.needed_order(max(orders), 2))
        ]
        values, velocity = self._evaluator(functions)(states).T, states[:, n:]
        lagrangians = (
            backward.modified_lagrangian(values, velocity, self.time_step, order, rule)
            for order in orders
        )
        return [backward.energy(one, velocity)[: 1 + 2 * n] for one in lagrangians]


def _grid(low, high, points: int) -> np.ndarray:
    """All points (sample, dimension) of a grid in a box."""
    sides = [np.linspace(a, b, points) for a, b in zip(low, high, strict=True)]
    grid = np.meshgrid(*sides, indexing="ij")
    return np.stack(grid, axis=-1).reshape(-1, len(sides))


def _spread(box: Mapping, points: int) -> np.ndarray:
    """Points (sample, dimension) of a Halton sequence in a box."""
    return halton_starts(first_index(len(box["low"])), box["low"], box["high"], points)


def _rest_region(truth: Truth, recipe: Mapping) -> dict:
    """Energy at rest on a grid; the part below the level around its lowest minimum."""
    from scipy.ndimage import label, minimum_filter  # slow to import

    positions = _grid(recipe["low"], recipe["high"], recipe["points"])
    energy = truth.energy(_at_rest(positions))
    grid = energy.reshape((recipe["points"],) * truth.dof)
    below = grid < recipe["below"]
    if not below.any():
        raise ValueError(
            f"validate.shadow.potential: no position is below {recipe['below']:g} J; "
            f"the lowest of the grid has {energy.min():g} J"
        )
    parts, _ = label(below)
    lowest = minimum_filter(grid, size=3, mode="constant", cval=-np.inf)
    minima = np.where(below & (grid == lowest), grid, np.inf)
    inside = parts == parts[np.unravel_index(np.argmin(minima), grid.shape)]
    return {
        "q_rest": positions,
        "potential_true": energy,
        "inside": inside.ravel().astype(float),
    }


def _at_rest(positions: np.ndarray) -> np.ndarray:
    """States (sample, 2 dof) of positions (sample, dof) without velocity."""
    return np.concatenate([positions, np.zeros_like(positions)], axis=1)


def _misalignment(estimate: np.ndarray, true: np.ndarray) -> float:
    """Mean sine of the angle between gradients (component, sample).

    ν of Ober-Blöbaum and Offen: zero if both functions have the same level sets.
    """
    with np.errstate(all="ignore"):
        # Where the true gradient vanishes there is no angle.
        mask = np.abs(true).max(axis=0) > 0
        a, b = (
            g[:, mask] / np.linalg.norm(g[:, mask], axis=0) for g in (estimate, true)
        )
        sine = np.linalg.norm(a - b * (a * b).sum(axis=0), axis=0)
    return float(sine.mean())


def _slope(time: np.ndarray, values: np.ndarray) -> float:
    """Slope of a line through the finite values; NaN if there are fewer than two."""
    finite = np.isfinite(values)
    if finite.sum() < 2:
        return np.nan
    return float(np.polynomial.polynomial.polyfit(time[finite], values[finite], 1)[1])


class Comparison:
    """One learned model beside the truth; the order `main` starts its motion."""

    def __init__(self, dataset: xr.Dataset, truth: Truth, settings: Mapping):
        kind = contracts()[dataset.attrs["contract"]].model
        self.model, self.truth = implementation(kind)(dataset), truth
        self.settings, self.orders = settings, list(settings["orders"])
        self.domain = settings.get("domain", {})
        self.main = self.model.main_order(self.orders)
        self.scales: dict[int, float] = {}
        self._dataset = dataset

    def dataset(self) -> xr.Dataset:
        """Everything about the model, contract ``shadow_rollout``."""
        settings, steps = self.settings, self.settings["steps"]
        stored, energies = (
            np.unique(np.linspace(0, steps, min(settings[of], steps + 1)).astype(int))
            for of in ("samples", "energies")
        )
        values = self.alignment()
        values |= self.rollouts(stored, energies) | self.snapshots()
        for part in ("potential", "horizon", "survival"):
            if part in settings:
                values |= getattr(self, part)()
        h, about = self.truth.time_step, {"units": "s", "long_name": "time"}
        return CONTRACTS["shadow_rollout"].dataset(
            values | self.truth.values,
            coords={
                "replicate": self._dataset["replicate"].values,
                "order": self.orders,
                "time": ("time", stored * h, about),
                "time_energy": ("time_energy", energies * h, about),
                "dof": self.truth.coordinates,
            },
        )

    def _scaled(self, states: np.ndarray, order: int) -> np.ndarray:
        """H^[k] of states over its scale."""
        return self.model.hamiltonian(states, order) / self.scales[order]

    def alignment(self) -> dict:
        """Gradients of H^[k] compared with those of H at the points of the box."""
        points, truth = self.truth.values["state_point"], self.truth
        true = truth.gradient(points)
        shadow = [self.model.hamiltonian_derivatives(points, k, 1) for k in self.orders]
        scales = [float((f[1:] * true).sum() / (true**2).sum()) for f in shadow]
        self.scales = dict(zip(self.orders, scales, strict=True))
        values = {
            "misalignment": [_misalignment(f[1:], true) for f in shadow],
            "scale": scales,
            "hamiltonian_point": [f[0] for f in shadow],
        }
        rule = getattr(self.model, "rule", None)
        # Derivatives of the truth up to order 6 are many where there are many states.
        if rule and truth.dof == 1:
            integrated = truth.integrated(points, self.orders, rule)
            angles = [_misalignment(f[1:], true) for f in integrated]
            values["misalignment_integrated"] = angles
            values["hamiltonian_point_integrated"] = [f[0] for f in integrated]
        return values

    def rollouts(self, stored: np.ndarray, at: np.ndarray) -> dict:
        """Long rollouts from the momentum of every order, beside that of the truth.

        Positions at the samples `stored`, energies and momenta at the samples `at`.
        """
        model, truth, path = self.model, self.truth, self.truth.long_path
        n, steps = truth.dof, self.settings["steps"]
        of_order = {
            k: model.rollout(truth.start, steps, k, **self.domain) for k in self.orders
        }
        runs = list(of_order.values())
        momenta = np.array([run.momenta for run in runs])
        # NaN after a failure: the error is that of the steps that were done.
        errors = [np.abs(run.positions - path[:, :n]).max(axis=1) for run in runs]
        states = [model.states(run, at, k) for k, run in of_order.items()]
        energy = np.array([truth.energy(s) for s in states])
        # Paper: H^[0] has the velocities of L^[2], too, and only so a wide band.
        along = of_order[self.main]
        higher = {k: max(k, self.main) for k in self.orders}
        on_path = {k: model.states(along, at, k) for k in set(higher.values())}
        modified = np.array([self._scaled(on_path[h], k) for k, h in higher.items()])
        time = at * truth.time_step
        return {
            "momentum_range": np.nanmax(momenta, axis=1) - np.nanmin(momenta, axis=1),
            "momentum_start": momenta[:, 0],
            "q_true": path[stored, :n],
            "q_estimate": [run.positions[stored] for run in runs],
            "position_error": [np.nanmax(error) for error in errors],
            "steps_done": [float(run.steps) for run in runs],
            "failure": [run.reason for run in runs],
            "hamiltonian_estimate": energy,
            "hamiltonian_modified": modified,
            "energy_band": np.fmax.reduce(modified, axis=-1)
            - np.fmin.reduce(modified, axis=-1),
            "energy_drift": [_slope(time, values) for values in energy],
        }

    def snapshots(self) -> dict:
        """States of the model at the first snapshots, velocities by L^[k], k = `main`.

        As Ober-Blöbaum and Offen, section 2.3.
        """
        count = self.truth.snapshots
        run = self.model.rollout(self.truth.start, count - 1, self.main, **self.domain)
        return {"state_snapshot": self.model.states(run, np.arange(count), self.main)}

    def potential(self) -> dict:
        """H^[k] at rest over its scale, on the grid and at saddles.

        A margin is the energy of a saddle over that of the start: the motion stays
        inside if all are positive.
        """
        truth = self.truth.values
        true, inside = truth["potential_true"], truth["inside"] > 0
        rest = _at_rest(truth["q_rest"])
        learned = [self._scaled(rest, k) for k in self.orders]
        heights = [values - np.mean((values - true)[inside]) for values in learned]
        values = {
            "potential_estimate": heights,
            "potential_error": [np.abs(h - true)[inside].max() for h in heights],
        }
        saddles = np.array(self.settings["potential"]["saddles"], dtype=float)
        if not saddles.size:
            return values
        queried = np.concatenate([_at_rest(saddles), self.truth.start[None]])
        energies = [self._scaled(queried, k) for k in self.orders]
        energies.append(self.truth.energy(queried))
        *margins, expected = (e[:-1] - e[-1] for e in energies)
        values |= {"saddle_margin": margins, "saddle_margin_true": expected}
        if self.truth.dof == 2:
            values |= self._close_ups(saddles, margins, expected)
        return values

    def _close_ups(self, saddles: np.ndarray, margins, expected: np.ndarray) -> dict:
        """H^[k] at rest minus that of the start, on small grids around the saddles.

        As wide as the widest channel that the margins of order 2, or the true, open.
        """
        order = min(self.orders, key=lambda k: abs(k - 2))
        margins = np.append(margins[self.orders.index(order)], expected)
        if not np.isfinite(margins).all():
            return {}
        largest, truth = 2 * np.abs(margins).max(), self.truth
        width = CHANNELS_PER_CLOSE_UP * max(
            np.sqrt(largest / _curvature(truth, saddle)) for saddle in saddles
        )
        offsets = _grid([-width] * 2, [width] * 2, POINTS_OF_CLOSE_UP)
        rest = _at_rest((saddles[:, None] + offsets).reshape(-1, 2))
        start, shape = truth.start[None], (len(saddles), len(offsets))

        def near(energy, *order):
            return (energy(rest, *order) - energy(start, *order)).reshape(shape)

        return {
            "near_offset": offsets,
            "near_estimate": [
                near(self.model.hamiltonian, k) / c for k, c in self.scales.items()
            ],
            "near_true": near(truth.energy),
        }

    def horizon(self) -> dict:
        """Errors of many rollouts up to a fixed time, from states or two positions."""
        recipe, truth = self.settings["horizon"], self.truth
        steps, count = recipe["steps"], recipe["starts"]
        starts = _spread(recipe, 100 * count)
        if "below" in recipe:
            starts = starts[truth.energy(starts) < recipe["below"]]
        if len(starts) < count:
            raise ValueError(
                f"validate.shadow.horizon: only {len(starts)} of {count} starts are "
                f"below {recipe['below']:g} J; move the box"
            )
        errors, done = np.full(count, np.nan), np.zeros(count)
        for i, start in enumerate(starts[:count]):
            path = truth.path(start, steps)[:, : truth.dof]
            if recipe["start"] == "positions":
                run = self.model.through(*path[:2], steps, **self.domain)
            else:
                run = self.model.rollout(start, steps, self.main, **self.domain)
            done[i] = run.steps
            if run.complete:
                errors[i] = np.abs(run.positions - path).max()
        return {"horizon_error": errors, "horizon_steps": done}

    def survival(self) -> dict:
        """Steps before escape, censored at the end, and the motion of the first start.

        Starts differ by round-off in the first coordinate: when one escapes may be a
        matter of the last bit. Steps beyond a multiple of the samples are not done.
        """
        recipe = self.settings["survival"]
        every = max(recipe["steps"] // SAMPLES_OF_PASSAGE, 1)
        steps = recipe["steps"] // every * every
        order, options = self.main, self.domain
        first = self.model.rollout(self.truth.start, steps, order, every, **options)
        done = [first.steps]
        for i in range(1, recipe["starts"]):
            other = self.truth.start.copy()
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
        samples, truth = np.arange(len(run.positions)), self.truth
        energy = truth.energy(self.model.states(run, samples, self.main, every))
        time = truth.time_step * every * samples
        sample = max(run.steps - STEPS_OF_PASSAGE_END, 0) // every
        before = run.steps - sample * every
        # Its rounding errors differ, but so soon after that does not show.
        further = self.model.further(run, sample, before, self.main, **self.domain)
        passage = further.positions[-(STEPS_OF_PASSAGE_END + 1) :]
        end = np.full((STEPS_OF_PASSAGE_END + 1, run.positions.shape[1]), np.nan)
        end[: len(passage)] = passage
        return {
            "passage_time": time,
            "passage_q": run.positions,
            "passage_energy": energy - truth.energy(self.truth.start[None])[0],
            "passage_drift": _slope(time, energy),
            "passage_end": end,
        }


def _curvature(truth: Truth, position: np.ndarray) -> float:
    """Smallest magnitude of the curvatures of the energy at rest, by differences."""
    shifts = STEP_OF_CURVATURE * np.eye(position.size)
    states = _at_rest(np.concatenate([position + shifts, position - shifts]))
    up, down = np.split(truth.gradient(states)[: position.size].T, 2)
    hessian = (up - down) / (2 * STEP_OF_CURVATURE)
    return float(np.abs(np.linalg.eigvalsh((hessian + hessian.T) / 2)).min())
