"""Rollout of a model that was learned from snapshots, and what it conserves."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.families import implementation
from leastaction.core.generators import generator
from leastaction.core.noise_sweep import cases, gathered
from leastaction.core.system import System
from leastaction.snapshots import checks
from leastaction.snapshots.contracts import CONTRACTS
from leastaction.snapshots.truth import Truth


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

    Parameters
    ----------
    system
        The truth.
    model
        One replicate, contract ``learned_lagrangian`` or ``learned_flow``.
    simulation
        The `simulate` section.
    settings
        The `validate` section, of which `cases` and `shadow` are used: the `start` of
        the long rollout, its `steps`, the `orders` k of backward error analysis, a
        `box` of states, and the optional checks `potential`, `horizon`, `survival` and
        `posterior` (:mod:`leastaction.snapshots.checks`).
    library
        Not used.
    example, seed
        Key of the random numbers of `posterior`.

    Returns
    -------
    xr.Dataset
        Contract ``shadow_rollout``. For every order k: the path that starts with the
        momentum of L^[k]; its largest error, in the first steps and in all; the energy
        of the truth along it with the velocities of L^[k], its largest deviation and
        its slope in time; H^[k] along the path of the main order, with the velocities
        of that order if it is the higher one, and the width of its band; the
        misalignment of the gradients of H^[k]. The main order is the last of a shadow
        Lagrangian and the first of another.

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
