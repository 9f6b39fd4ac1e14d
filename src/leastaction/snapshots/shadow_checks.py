"""Checks of a learned Lagrangian beside its long rollout.

A function returns variables by name: dimensions after `replicate`, values, unit,
meaning. Values are NaN where the learned motion failed.
"""

from collections.abc import Mapping

import numpy as np
import scipy.ndimage

from leastaction.core.halton import first_index, halton_starts
from leastaction.snapshots.shadow_truth import Truth, misalignment, slope

# Degree of the monotone map between two Hamiltonians of one degree of freedom.
MATCH_DEGREE = 5


def box_points(box: Mapping) -> np.ndarray:
    """States (sample, 2 dof) in a box: a grid if it is a plane, else Halton's."""
    low, high = np.asarray(box["low"], float), np.asarray(box["high"], float)
    if low.size == 2:
        axes = [
            np.linspace(a, b, box["points"]) for a, b in zip(low, high, strict=True)
        ]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    return halton_starts(first_index(low.size), low, high, box["points"])


def alignment(model, truth: Truth, settings: Mapping, orders) -> dict[str, tuple]:
    """Gradients of H^[k] beside those of H at the points of a box."""
    points = box_points(settings["box"])
    true = truth.gradient(points)
    found = [model.hamiltonian(points, k, 1) for k in orders]
    values = np.array([f[0] for f in found])
    variables = {
        "misalignment": (
            ("order",),
            [misalignment(f[1:], true) for f in found],
            "1",
            "mean sine of the angle between gradients of H^[k] and H",
        ),
        "scale": (
            ("order",),
            [slope(f[1:], true) for f in found],
            "1",
            "factor of the gradient of H that is closest to that of H^[k]",
        ),
        "hamiltonian_point": (("order", "point"), values, "mixed", "H^[k] in the box"),
    }
    rule = getattr(getattr(model, "lagrangian", None), "rule", None)
    # Derivatives of the truth up to order 6 are many where there are many states.
    if rule and truth.dof == 1:
        of_truth = truth.integrated(points, orders, rule)
        variables |= {
            "misalignment_integrated": (
                ("order",),
                [misalignment(f[1:], true) for f in of_truth],
                "1",
                "the same of the true Lagrangian, integrated by the same rule",
            ),
            "hamiltonian_point_integrated": (
                ("order", "point"),
                [f[0] for f in of_truth],
                "J",
                "H^[k] of the true Lagrangian in the box",
            ),
        }
    return variables


def mass(model, truth: Truth, settings: Mapping, orders, scales) -> dict[str, tuple]:
    """∂²L^[k]/∂q̇∂q̇ over its scale, in the middle of the box of states."""
    box = settings["box"]
    middle = (np.asarray(box["low"], float) + np.asarray(box["high"], float)) / 2
    found = [
        model.mass(middle, k) / scale for k, scale in zip(orders, scales, strict=True)
    ]
    both = ("dof", "dof_other")
    return {
        "mass": (
            ("order", *both),
            found,
            "mixed",
            "mass matrix of L^[k] in the middle of the box, scaled",
        ),
        "mass_true": (both, truth.mass(middle), "mixed", "mass matrix of L there"),
    }


def momenta(truth: Truth, runs, states, at: np.ndarray) -> dict[str, tuple]:
    """Momenta along long rollouts, one per order, at samples `at`.

    Those of the model have a part of its gauge. Those of the truth, in the states of
    the model, have none.
    """
    found = np.array([run.momenta for run in runs])
    return {
        "momentum_estimate": (
            ("order", "time_energy", "dof"),
            found[:, at],
            "mixed",
            "discrete momentum along the path",
        ),
        "momentum_physical": (
            ("order", "time_energy", "dof"),
            [truth.momentum(s) for s in states],
            "mixed",
            "momentum of the true L along the path of the model",
        ),
        "momentum_range": (
            ("order", "dof"),
            np.nanmax(found, axis=1) - np.nanmin(found, axis=1),
            "mixed",
            "range of a momentum along the path",
        ),
        "momentum_start": (
            ("order", "dof"),
            found[:, 0],
            "mixed",
            "momentum of the start",
        ),
    }


def potential(
    model, truth: Truth, settings: Mapping, orders, scales, start
) -> dict[str, tuple]:
    """H^[k] at rest over its scale, on a grid and at saddles.

    A margin is the energy of a saddle over that of the start: the motion stays inside
    if all are positive.
    """
    recipe = settings["potential"]
    positions, inside = rest_region(truth, recipe)
    true = truth.energy(_at_rest(positions))
    saddles = np.asarray(recipe["saddles"], dtype=float).reshape(-1, truth.dof)
    queried = np.concatenate([_at_rest(saddles), start[None]])
    heights, errors, margins = [], [], []
    for k, scale in zip(orders, scales, strict=True):
        found = model.hamiltonian(_at_rest(positions), k)[0] / scale
        shift = np.mean((found - true)[inside])
        heights.append(found - shift)
        errors.append(np.abs(heights[-1] - true)[inside].max())
        energies = model.hamiltonian(queried, k)[0] / scale
        margins.append(energies[:-1] - energies[-1])
    expected = truth.energy(queried)
    found = {
        "potential_estimate": (
            ("order", "rest"),
            heights,
            "J",
            "H^[k] at rest, scaled and shifted",
        ),
        "potential_error": (
            ("order",),
            errors,
            "J",
            "its largest error in the region below the level",
        ),
    }
    if len(saddles):
        found["saddle_margin"] = (
            ("order", "saddle"),
            margins,
            "J",
            "H^[k] of a saddle minus that of the start, scaled",
        )
        found["saddle_margin_true"] = (
            ("saddle",),
            expected[:-1] - expected[-1],
            "J",
            "H of a saddle minus that of the start",
        )
    return found


def rest_region(truth: Truth, recipe: Mapping) -> tuple[np.ndarray, np.ndarray]:
    """Grid of positions (sample, dof), and which are in the region below the level.

    The region is the connected part around the lowest of the energy's minima.
    """
    sides = [
        np.linspace(a, b, recipe["points"])
        for a, b in zip(recipe["low"], recipe["high"], strict=True)
    ]
    grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
    positions = grid.reshape(-1, truth.dof)
    energy = truth.energy(_at_rest(positions)).reshape(grid.shape[:-1])
    below = energy < recipe["below"]
    if not below.any():
        raise ValueError(
            f"validate.shadow.potential: no position is below {recipe['below']:g} J; "
            f"the lowest of the grid has {energy.min():g} J"
        )
    parts, _ = scipy.ndimage.label(below)
    lowest = np.unravel_index(np.argmin(_central(energy, below)), energy.shape)
    return positions, (parts == parts[lowest]).ravel()


def _central(energy: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Energy where it has a local minimum of the region, infinite elsewhere."""
    smallest = scipy.ndimage.minimum_filter(
        energy, size=3, mode="constant", cval=-np.inf
    )
    return np.where(below & (energy == smallest), energy, np.inf)


def horizon(model, truth: Truth, settings: Mapping) -> dict[str, tuple]:
    """Errors of many rollouts up to a fixed time."""
    recipe = settings["horizon"]
    starts = horizon_starts(truth, recipe)
    errors, done = np.full(len(starts), np.nan), np.zeros(len(starts))
    for i, start in enumerate(starts):
        run = model.run(start, recipe["steps"], model.main)
        path = truth.path(start, recipe["steps"])[:, : truth.dof]
        done[i] = run.steps
        if not run.reason:
            errors[i] = np.abs(run.positions - path).max()
    return {
        "horizon_error": (
            ("horizon_start",),
            errors,
            "see coordinate_unit",
            "largest error of a position; NaN if the motion failed",
        ),
        "horizon_steps": (("horizon_start",), done, "1", "steps before it failed"),
    }


def horizon_starts(truth: Truth, recipe: Mapping) -> np.ndarray:
    """Starts (start, 2 dof): points of a Halton sequence below an energy.

    Raises
    ------
    ValueError
        If hardly any point of the box is below it.
    """
    low, high = np.asarray(recipe["low"], float), np.asarray(recipe["high"], float)
    candidates = halton_starts(first_index(low.size), low, high, 100 * recipe["starts"])
    if "below" in recipe:
        candidates = candidates[truth.energy(candidates) < recipe["below"]]
    if len(candidates) < recipe["starts"]:
        raise ValueError(
            f"validate.shadow.horizon: only {len(candidates)} of {recipe['starts']} "
            f"starts are below {recipe['below']:g} J; move the box"
        )
    return candidates[: recipe["starts"]]


def posterior(model, truth: Truth, settings: Mapping, rng) -> dict[str, tuple]:
    """Standard deviation of the learned H^[k] and its error, of one degree of freedom.

    There H is known up to a monotone function. Each draw is brought to the truth by a
    polynomial; the highest order counts.
    """
    points = box_points(settings["box"])
    true = truth.energy(points)
    draws = model.lagrangian.samples(settings["posterior"]["draws"], rng)
    order = model.main

    def matched(values):
        return np.polynomial.Polynomial.fit(values, true, MATCH_DEGREE)(values)

    mean = matched(model.hamiltonian(points, order)[0])
    values = [matched(draw.hamiltonian(points, order)[0]) for draw in draws]
    std, error = np.std(values, axis=0), mean - true
    return {
        "hamiltonian_error": (
            ("point",),
            error,
            "J",
            "error of H, matched to the truth",
        ),
        "hamiltonian_std": (
            ("point",),
            std,
            "J",
            "standard deviation of the posterior",
        ),
        "hamiltonian_coverage": (
            (),
            np.mean(np.abs(error) <= 2 * std),
            "1",
            "share of points with an error of at most two standard deviations",
        ),
    }


def _at_rest(positions: np.ndarray) -> np.ndarray:
    return np.concatenate([positions, np.zeros_like(positions)], axis=1)
