"""Rollout of a model that was learned from snapshots, and what it conserves."""

from collections.abc import Callable, Mapping, Sequence

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
    compared = _comparison(system, simulation, settings["shadow"], rng)
    if "noise_level" not in model.dims:
        return compared(model)
    done = {
        (mode, level): compared(model.sel(noise_mode=mode, noise_level=level))
        for mode, level in cases(model, settings.get("cases", {}))
    }
    return gathered(done, same=("q_true",))


def _comparison(
    system: System, simulation: Mapping, settings: Mapping, rng: np.random.Generator
) -> Callable[[xr.Dataset], xr.Dataset]:
    """Comparison of a model with the truth, whose own motion is computed once."""
    truth, steps = Truth(system, simulation), settings["steps"]
    path = truth.path(np.array(settings["start"], dtype=float), steps)
    true = checks.of_truth(truth, settings)
    stored, energies = (
        np.unique(np.linspace(0, steps, min(settings[of], steps + 1)).astype(int))
        for of in ("samples", "energies")
    )
    about = {"units": "s", "long_name": "time"}
    coords = {
        "order": list(settings["orders"]),
        "time": ("time", stored * truth.time_step, about),
        "time_energy": ("time_energy", energies * truth.time_step, about),
        "dof": truth.coordinates,
    }

    def compared(dataset: xr.Dataset) -> xr.Dataset:
        model = implementation(CONTRACTS[dataset.attrs["contract"]].model)(dataset)
        here = checks.Comparison(model, truth, settings, true)
        values = here.alignment() | here.mass()
        values |= here.rollouts(path, stored, energies) | here.snapshots()
        for check in ("potential", "horizon", "survival"):
            if check in settings:
                values |= getattr(here, check)()
        if "posterior" in settings and "factor" in dataset:
            values |= here.posterior(rng)
        replicate = {"replicate": dataset["replicate"].values}
        return CONTRACTS["shadow_rollout"].dataset(values | true, replicate | coords)

    return compared


class Truth:
    """Motion and Hamiltonian H(q, q̇) of the system behind the data."""

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

        The level sets that its motion has, were L learned perfectly and not a shadow:
        for every order the value and the gradient, shape (1 + 2 dof, sample).
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
        found = (
            backward.modified_lagrangian(given, velocity, self.time_step, order, rule)
            for order in orders
        )
        return [backward.energy(one, velocity)[: 1 + 2 * n] for one in found]

    def _values(self, states: np.ndarray) -> np.ndarray:
        n = self.dof
        return self._evaluate(states[:, :n], states[:, n:], self._parameters)
