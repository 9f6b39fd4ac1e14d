"""Rollout of a Lagrangian that was learned from snapshots, and what it conserves."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.generators import generator
from leastaction.core.noise_sweep import cases, gathered
from leastaction.core.system import System
from leastaction.snapshots import shadow_checks as checks
from leastaction.snapshots.shadow_close_ups import close_ups
from leastaction.snapshots.shadow_model import KINDS
from leastaction.snapshots.shadow_snapshots import snapshots, true_snapshots
from leastaction.snapshots.shadow_survival import survival
from leastaction.snapshots.shadow_truth import Truth


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
        `posterior` (:mod:`leastaction.snapshots.shadow_checks`).
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
    beside = partial(_Run(system, simulation, settings["shadow"]).beside, rng=rng)
    if "noise_level" not in model.dims:
        return beside(model)
    there = settings.get("cases", {})
    done = {
        (mode, level): beside(model.sel(noise_mode=mode, noise_level=level))
        for mode, level in cases(model, there)
    }
    return gathered(done, same=("q_true",))


class _Run:
    """The truth's rollout, beside which every model is put."""

    def __init__(self, system: System, simulation: Mapping, settings: Mapping):
        self.settings, self.truth = settings, Truth(system, simulation)
        self.orders = list(settings["orders"])
        self.start = np.array(settings["start"], dtype=float)
        self.steps = settings["steps"]
        self.path = self.truth.path(self.start, self.steps)
        self.stored, self.energies = (
            np.unique(
                np.linspace(0, self.steps, min(count, self.steps + 1)).astype(int)
            )
            for count in (settings["samples"], settings["energies"])
        )

    def beside(self, dataset: xr.Dataset, rng: np.random.Generator) -> xr.Dataset:
        """Everything about one model."""
        settings = self.settings
        kind = KINDS[dataset.attrs["contract"]]
        model = kind(dataset, self.orders, settings.get("domain"))
        found = checks.alignment(model, self.truth, settings, self.orders)
        scales = found["scale"][1]
        found |= checks.mass(model, self.truth, settings, self.orders, scales)
        found |= self._rollouts(model, scales)
        found |= snapshots(model, self.start, settings)
        if "potential" in settings:
            found |= checks.potential(
                model, self.truth, settings, self.orders, scales, self.start
            )
            found |= close_ups(model, self.truth, self.orders, scales, found, settings)
        if "horizon" in settings:
            found |= checks.horizon(model, self.truth, settings)
        if "survival" in settings:
            found |= survival(model, self.truth, settings)
        if "posterior" in settings and "factor" in dataset:
            found |= checks.posterior(model, self.truth, settings, rng)
        return self._dataset(found, dataset["replicate"].values)

    def _rollouts(self, model, scales) -> dict[str, tuple]:
        """Long rollouts from the momentum of every order."""
        n, h = self.truth.dof, self.truth.time_step
        runs = [model.run(self.start, self.steps, k) for k in self.orders]
        errors = [np.abs(r.positions - self.path[:, :n]).max(axis=1) for r in runs]
        # NaN after a failure: the error is that of the steps that were done.
        short = self.settings["short"] + 1
        states = [
            model.states(run, self.energies, k)
            for run, k in zip(runs, self.orders, strict=True)
        ]
        energy = np.array([self.truth.energy(s) for s in states])
        along = runs[self.orders.index(model.main)]
        # Paper: H^[0] has the velocities of L^[2], too, and only so a wide band.
        on_path = {
            k: model.states(along, self.energies, k)
            for k in {max(k, model.main) for k in self.orders}
        }
        modified = np.array(
            [
                model.hamiltonian(on_path[max(k, model.main)], k)[0] / scale
                for k, scale in zip(self.orders, scales, strict=True)
            ]
        )
        start = self.truth.energy(self.start[None])[0]
        order, joule = ("order",), "J"
        return checks.momenta(self.truth, runs, states, self.energies) | {
            "q_true": (
                ("time", "dof"),
                self.path[self.stored, :n],
                "see coordinate_unit",
                "path of the truth",
            ),
            "q_estimate": (
                ("order", "time", "dof"),
                [r.positions[self.stored] for r in runs],
                "see coordinate_unit",
                "path of the model, its first momentum from L^[k]",
            ),
            "position_error": (
                order,
                [np.nanmax(e) for e in errors],
                "see coordinate_unit",
                "largest error of a position",
            ),
            "position_error_short": (
                order,
                [np.nanmax(e[:short]) for e in errors],
                "see coordinate_unit",
                "largest error of a position in the first steps",
            ),
            "steps_done": (order, [float(r.steps) for r in runs], "1", "steps done"),
            "failure": (
                order,
                np.array([r.reason for r in runs], dtype=object),
                "1",
                "why a rollout ended before its last step",
            ),
            "hamiltonian_estimate": (
                ("order", "time_energy"),
                energy,
                joule,
                "true energy along the path of the model",
            ),
            "hamiltonian_modified": (
                ("order", "time_energy"),
                modified,
                joule,
                "H^[k] along the path of the main order, scaled",
            ),
            "energy_deviation": (
                order,
                _largest(np.abs(energy - start)),
                joule,
                "largest deviation of the true energy from that of the start",
            ),
            "energy_band": (
                order,
                _largest(modified) - -_largest(-modified),
                joule,
                "width of the band of H^[k], scaled",
            ),
            "energy_drift": (
                order,
                [_slope(self.energies * h, values) for values in energy],
                "W",
                "slope of the true energy along the path of the model",
            ),
        }

    def _dataset(self, found: Mapping[str, tuple], replicate) -> xr.Dataset:
        data = {
            name: (
                ("replicate", *dims),
                np.asarray(values)[None],
                {"units": unit, "long_name": meaning},
            )
            for name, (dims, values, unit, meaning) in found.items()
        }
        h, about = self.truth.time_step, {"units": "s", "long_name": "time"}
        coords = {
            "replicate": replicate,
            "order": self.orders,
            "time": ("time", self.stored * h, about),
            "time_energy": ("time_energy", self.energies * h, about),
            "dof": self.truth.coordinates,
        }
        points = checks.box_points(self.settings["box"])
        mixed = {"units": "see coordinate_unit"}
        data["state_point"] = (
            ("point", "state"),
            points,
            mixed | {"long_name": "states (q, qdot) of the box"},
        )
        first = true_snapshots(self.truth, self.start, self.settings)
        for name, (dims, values, unit, meaning) in first.items():
            data[name] = (dims, values, {"units": unit, "long_name": meaning})
        data["hamiltonian_point_true"] = (
            ("point",),
            self.truth.energy(points),
            {"units": "J", "long_name": "H in the box"},
        )
        if "potential" in self.settings:
            rest, inside = checks.rest_region(self.truth, self.settings["potential"])
            at_rest = np.concatenate([rest, np.zeros_like(rest)], axis=1)
            data["q_rest"] = (
                ("rest", "dof"),
                rest,
                mixed | {"long_name": "positions of the potential"},
            )
            data["potential_true"] = (
                ("rest",),
                self.truth.energy(at_rest),
                {"units": "J", "long_name": "H at rest"},
            )
            data["inside"] = (
                ("rest",),
                inside.astype(float),
                {"units": "1", "long_name": "1 in the region below the level"},
            )
        return xr.Dataset(data, coords=coords)


def _largest(values: np.ndarray) -> np.ndarray:
    """Largest value along the last axis; NaN where all are."""
    held = np.where(np.isnan(values), -np.inf, values).max(axis=-1)
    return np.where(np.isnan(values).all(axis=-1), np.nan, held)


def _slope(time: np.ndarray, values: np.ndarray) -> float:
    """Slope of a line through the finite values; NaN if there are fewer than two."""
    there = np.isfinite(values)
    if there.sum() < 2:
        return np.nan
    return float(np.polynomial.polynomial.polyfit(time[there], values[there], 1)[1])
