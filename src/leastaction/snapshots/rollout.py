"""Rollout of a model that was learned from snapshots, and what it conserves."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.families import implementation
from leastaction.core.multi_index import factors
from leastaction.core.noise_sweep import cases, gathered
from leastaction.core.runge_kutta import motion_of, substeps_of
from leastaction.core.simulation import generator
from leastaction.core.system import System
from leastaction.snapshots import backward_error_numerical as backward
from leastaction.snapshots import checks
from leastaction.snapshots.contracts import CONTRACTS


def validate(
    system: System,
    model: xr.Dataset,
    simulation: Mapping,
    settings: Mapping,
    library: Mapping,
    *,
    example: str,
    seed: int,
) -> xr.Dataset:
    """Roll out one replicate, every case of its sweep over noise.

    A learned Lagrangian has a factor of its own. Its energies are divided by `scale`,
    the factor of ∂H that is closest to ∂H^[k] at the points of a box, so that they are
    in J.

    Settings, in the section `shadow`: the `start` of the long rollout, its `steps`, the
    `orders` k of backward error analysis, a `box` of states, and the optional checks
    `potential`, `horizon`, `survival` and `posterior`
    (:mod:`leastaction.snapshots.checks`); `cases` of a sweep over noise beside it.

    For every order k there are the path that starts with the momentum of L^[k]; its
    largest error, in the first steps and in all; the energy of the truth along it with
    the velocities of L^[k], its largest deviation and its slope in time; H^[k] along
    the path of the main order, with the velocities of that order if it is the higher
    one, and the width of its band; the misalignment of the gradients of H^[k]. The main
    order is the last of a shadow Lagrangian and the first of another.

    Raises
    ------
    ValueError
        If `settings` have no section `shadow`.
    """
    if "shadow" not in settings:
        raise ValueError(
            "validate.shadow is missing: a learned Lagrangian needs the start and the "
            "steps of its rollout and a box of states"
        )
    rng = generator(seed, example, "validate", int(model["replicate"].values[0]), 0)
    compared = partial(_Comparison(system, simulation, settings["shadow"]).of, rng=rng)
    if "noise_level" not in model.dims:
        return compared(model)
    done = {
        (mode, level): compared(model.sel(noise_mode=mode, noise_level=level))
        for mode, level in cases(model, settings.get("cases", {}))
    }
    return gathered(done, same=("q_true",))


class _Comparison:
    """The truth's rollout, which every model is compared with."""

    def __init__(self, system: System, simulation: Mapping, settings: Mapping):
        self.settings, self.truth = settings, Truth(system, simulation)
        self.orders, self.domain = list(settings["orders"]), settings.get("domain", {})
        self.start = np.array(settings["start"], dtype=float)
        self.steps = settings["steps"]
        self.path = self.truth.path(self.start, self.steps)
        self.stored, self.energies = (
            np.unique(
                np.linspace(0, self.steps, min(count, self.steps + 1)).astype(int)
            )
            for count in (settings["samples"], settings["energies"])
        )

    def of(self, dataset: xr.Dataset, rng: np.random.Generator) -> xr.Dataset:
        """Everything about one model."""
        settings, truth, orders = self.settings, self.truth, self.orders
        kind = CONTRACTS[dataset.attrs["contract"]].model
        model = implementation(kind)(dataset)
        main = model.main_order(orders)
        values = checks.alignment(model, truth, settings, orders)
        scales = values["scale"]
        values |= checks.mass(model, truth, settings, orders, scales)
        values |= self._rollouts(model, main, scales)
        values |= checks.snapshots(model, main, self.start, settings)
        if "potential" in settings:
            values |= checks.potential(
                model, truth, settings, orders, scales, self.start
            )
            values |= checks.close_ups(model, truth, orders, scales, values, settings)
        if "horizon" in settings:
            values |= checks.horizon(model, main, truth, settings)
        if "survival" in settings:
            values |= checks.survival(model, main, truth, settings)
        if "posterior" in settings and "factor" in dataset:
            values |= checks.posterior(model, main, truth, settings, rng)
        return self._dataset(values, dataset["replicate"].values)

    def _rollouts(self, model, main: int, scales) -> dict:
        """Long rollouts from the momentum of every order."""
        n, h, orders = self.truth.dof, self.truth.time_step, self.orders
        runs = [model.rollout(self.start, self.steps, k, **self.domain) for k in orders]
        errors = [np.abs(r.positions - self.path[:, :n]).max(axis=1) for r in runs]
        # NaN after a failure: the error is that of the steps that were done.
        short = self.settings["short"] + 1
        states = [
            model.states(run, self.energies, k)
            for run, k in zip(runs, orders, strict=True)
        ]
        energy = np.array([self.truth.energy(s) for s in states])
        along = runs[orders.index(main)]
        # Paper: H^[0] has the velocities of L^[2], too, and only so a wide band.
        on_path = {
            k: model.states(along, self.energies, k)
            for k in {max(k, main) for k in orders}
        }
        modified = np.array(
            [
                model.hamiltonian(on_path[max(k, main)], k) / scale
                for k, scale in zip(orders, scales, strict=True)
            ]
        )
        start = self.truth.energy(self.start[None])[0]
        time = self.energies * h
        return checks.momenta(self.truth, runs, states, self.energies) | {
            "q_true": self.path[self.stored, :n],
            "q_estimate": [r.positions[self.stored] for r in runs],
            "position_error": [np.nanmax(e) for e in errors],
            "position_error_short": [np.nanmax(e[:short]) for e in errors],
            "steps_done": [float(r.steps) for r in runs],
            "failure": [r.reason for r in runs],
            "hamiltonian_estimate": energy,
            "hamiltonian_modified": modified,
            "energy_deviation": _largest(np.abs(energy - start)),
            "energy_band": _largest(modified) - -_largest(-modified),
            "energy_drift": [checks.slope_in_time(time, values) for values in energy],
        }

    def _dataset(self, values: Mapping, replicate) -> xr.Dataset:
        h, about = self.truth.time_step, {"units": "s", "long_name": "time"}
        points = checks.box_points(self.settings["box"])
        true = {"state_point": points}
        true |= checks.true_snapshots(self.truth, self.start, self.settings)
        true["hamiltonian_point_true"] = self.truth.energy(points)
        if "potential" in self.settings:
            true |= checks.true_potential(self.truth, self.settings)
        return CONTRACTS["shadow_rollout"].dataset(
            {**values, **true},
            coords={
                "replicate": replicate,
                "order": self.orders,
                "time": ("time", self.stored * h, about),
                "time_energy": ("time_energy", self.energies * h, about),
                "dof": self.truth.coordinates,
            },
        )


def _largest(values: np.ndarray) -> np.ndarray:
    """Largest value along the last axis; NaN where all are."""
    held = np.where(np.isnan(values), -np.inf, values).max(axis=-1)
    return np.where(np.isnan(values).all(axis=-1), np.nan, held)


class Truth:
    """Motion and Hamiltonian H(q, q̇) of the system behind the data.

    Parameters
    ----------
    system
        The truth.
    simulation
        The `simulate` section: `time_step` h and `integration_step`.
    """

    def __init__(self, system: System, simulation: Mapping):
        self.dof, self.coordinates = system.dof, list(system.coordinates)
        self.time_step = float(simulation["time_step"])
        self._substeps = substeps_of(simulation)
        self._motion = motion_of(system)
        energy = system.hamiltonian
        functions = [energy, *(sp.diff(energy, s) for s in system.state)]
        functions += list(system.momenta)
        names = list(system.parameters)
        self._evaluate = evaluator(functions, system.coordinates, names)
        self._parameters = system.parameter_values
        self._system = system

    def path(self, state: np.ndarray, steps: int, between: int = 1) -> np.ndarray:
        """States (sample, 2 dof), h / `between` apart, by the method of the data."""
        step, substeps = self.time_step / between, -(-self._substeps // between)
        return self._motion.integrate(state, steps * between + 1, step, substeps)[0]

    def energy(self, states: np.ndarray) -> np.ndarray:
        """H of states (sample, 2 dof), J."""
        return self._values(states)[:, 0]

    def gradient(self, states: np.ndarray) -> np.ndarray:
        """Derivatives of H by (q, q̇), shape (2 dof, sample)."""
        return self._values(states)[:, 1 : 1 + 2 * self.dof].T

    def momentum(self, states: np.ndarray) -> np.ndarray:
        """∂L/∂q̇ of states, shape (sample, dof)."""
        return self._values(states)[:, 1 + 2 * self.dof :]

    def mass(self, state: np.ndarray) -> np.ndarray:
        """∂²L/∂q̇∂q̇ at a state, shape (dof, dof)."""
        names = list(self._system.state)
        values = dict(zip(names, map(float, state), strict=True))
        matrix = self._system.evaluated(self._system.mass_matrix).subs(values)
        return np.array(matrix.tolist(), dtype=float)

    def integrated(self, states: np.ndarray, orders: Sequence[int], rule: str):
        """H^[k] that a variational integrator of the true L conserves, k in `orders`.

        The level sets that its motion has, were L learned perfectly and not a shadow.

        Returns
        -------
        list
            For every order the value and the gradient, shape (1 + 2 dof, sample).
        """
        system, n = self._system, self.dof
        needed = factors(2 * n, backward.needed_order(max(orders), 2))
        functions = [
            sp.diff(system.lagrangian, *(system.state[i] for i in axes))
            if axes
            else system.lagrangian
            for axes in needed
        ]
        evaluate = evaluator(functions, system.coordinates, list(system.parameters))
        velocity = states[:, n:]
        given = evaluate(states[:, :n], velocity, self._parameters).T
        found = []
        for order in orders:
            lagrangian = given
            if order:
                lagrangian = backward.modified_lagrangian(
                    given, velocity, self.time_step, order, rule
                )
            found.append(backward.energy(lagrangian, velocity)[: 1 + 2 * n])
        return found

    def _values(self, states: np.ndarray) -> np.ndarray:
        n = self.dof
        return self._evaluate(states[:, :n], states[:, n:], self._parameters)
