"""Comparisons of a learned model with the truth, beside its long rollout.

A function returns values by name, of one replicate; dimensions, units and meanings are
in the contract ``shadow_rollout``. Values are NaN where the learned motion failed. The
truth is a :class:`leastaction.snapshots.rollout.Truth`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.ndimage

from leastaction.core.simulation import first_index, halton_starts

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


def box_points(box: Mapping) -> np.ndarray:
    """States (sample, 2 dof) in a box: a grid if it is a plane, else Halton's."""
    low, high = np.asarray(box["low"], float), np.asarray(box["high"], float)
    if low.size == 2:
        axes = [
            np.linspace(a, b, box["points"]) for a, b in zip(low, high, strict=True)
        ]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    return halton_starts(first_index(low.size), low, high, box["points"])


def alignment(model, truth, settings: Mapping, orders) -> dict:
    """Gradients of H^[k] compared with those of H at the points of a box."""
    points = box_points(settings["box"])
    true = truth.gradient(points)
    found = [model.hamiltonian_derivatives(points, k, 1) for k in orders]
    values = {
        "misalignment": [misalignment(f[1:], true) for f in found],
        "scale": [slope(f[1:], true) for f in found],
        "hamiltonian_point": [f[0] for f in found],
    }
    rule = getattr(model, "rule", None)
    # Derivatives of the truth up to order 6 are many where there are many states.
    if rule and truth.dof == 1:
        of_truth = truth.integrated(points, orders, rule)
        values["misalignment_integrated"] = [
            misalignment(f[1:], true) for f in of_truth
        ]
        values["hamiltonian_point_integrated"] = [f[0] for f in of_truth]
    return values


def misalignment(found: np.ndarray, true: np.ndarray) -> float:
    """Mean sine of the angle between gradients, ν of Ober-Blöbaum and Offen.

    Zero if both functions have the same level sets, whatever their scale and sign.
    Points where the true gradient vanishes have no angle and are left out.

    Parameters
    ----------
    found, true
        Shape (component, sample).
    """
    with np.errstate(all="ignore"):
        there = np.abs(true).max(axis=0) > 0
        a, b = (
            g[:, there] / np.linalg.norm(g[:, there], axis=0) for g in (found, true)
        )
        sine = np.linalg.norm(a - b * (a * b).sum(axis=0), axis=0)
    return float(sine.mean())


def slope(found: np.ndarray, true: np.ndarray) -> float:
    """Factor c with which `found` is closest to c · `true`, that of a learned H."""
    return float((found * true).sum() / (true**2).sum())


def mass(model, truth, settings: Mapping, orders, scales) -> dict:
    """∂²L^[k]/∂q̇∂q̇ over its scale, in the middle of the box of states."""
    box = settings["box"]
    middle = (np.asarray(box["low"], float) + np.asarray(box["high"], float)) / 2
    scaled = zip(orders, scales, strict=True)
    return {
        "mass": [model.mass(middle, k) / scale for k, scale in scaled],
        "mass_true": truth.mass(middle),
    }


def momenta(truth, runs, states, at: np.ndarray) -> dict:
    """Momenta along long rollouts, one per order, at samples `at`.

    Those of the model have a part of its gauge. Those of the truth, in the states of
    the model, have none.
    """
    found = np.array([run.momenta for run in runs])
    return {
        "momentum_estimate": found[:, at],
        "momentum_physical": [truth.momentum(s) for s in states],
        "momentum_range": np.nanmax(found, axis=1) - np.nanmin(found, axis=1),
        "momentum_start": found[:, 0],
    }


def snapshots(model, order: int, start: np.ndarray, settings: Mapping) -> dict:
    """States of the model at the first snapshots of the long rollout.

    Velocities are those that have the model's momenta by L^[k], k = `order`
    (Ober-Blöbaum and Offen, section 2.3).
    """
    count = min(settings["snapshots"], settings["steps"] + 1)
    run = model.rollout(start, count - 1, order, **settings.get("domain", {}))
    return {"state_snapshot": model.states(run, np.arange(count), order)}


def true_snapshots(truth, start: np.ndarray, settings: Mapping) -> dict:
    """The same of the truth, a fine path for a line, and the energy of the start."""
    count = min(settings["snapshots"], settings["steps"] + 1)
    fine = truth.path(start, count - 1, STATES_BETWEEN_SNAPSHOTS)
    return {
        "state_snapshot_true": fine[::STATES_BETWEEN_SNAPSHOTS],
        "state_line_true": fine,
        "hamiltonian_start_true": truth.energy(fine[:1])[0],
    }


def potential(model, truth, settings: Mapping, orders, scales, start) -> dict:
    """H^[k] at rest over its scale, on a grid and at saddles.

    A margin is the energy of a saddle over that of the start: the motion stays inside
    if all are positive.
    """
    recipe = settings["potential"]
    positions, inside = rest_region(truth, recipe)
    true = truth.energy(at_rest(positions))
    saddles = np.asarray(recipe["saddles"], dtype=float).reshape(-1, truth.dof)
    queried = np.concatenate([at_rest(saddles), start[None]])
    heights, errors, margins = [], [], []
    for k, scale in zip(orders, scales, strict=True):
        found = model.hamiltonian(at_rest(positions), k) / scale
        shift = np.mean((found - true)[inside])
        heights.append(found - shift)
        errors.append(np.abs(heights[-1] - true)[inside].max())
        energies = model.hamiltonian(queried, k) / scale
        margins.append(energies[:-1] - energies[-1])
    expected = truth.energy(queried)
    values = {"potential_estimate": heights, "potential_error": errors}
    if len(saddles):
        values["saddle_margin"] = margins
        values["saddle_margin_true"] = expected[:-1] - expected[-1]
    return values


def true_potential(truth, settings: Mapping) -> dict:
    """H at rest on the same grid, and the region below the level."""
    positions, inside = rest_region(truth, settings["potential"])
    return {
        "q_rest": positions,
        "potential_true": truth.energy(at_rest(positions)),
        "inside": inside.astype(float),
    }


def rest_region(truth, recipe: Mapping) -> tuple[np.ndarray, np.ndarray]:
    """Grid of positions (sample, dof), and which are in the region below the level.

    The region is the connected part around the lowest of the energy's minima.
    """
    sides = [
        np.linspace(a, b, recipe["points"])
        for a, b in zip(recipe["low"], recipe["high"], strict=True)
    ]
    grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
    positions = grid.reshape(-1, truth.dof)
    energy = truth.energy(at_rest(positions)).reshape(grid.shape[:-1])
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


def close_ups(
    model, truth, orders: Sequence[int], scales, found: Mapping, settings
) -> dict:
    """H^[k] at rest minus that of the start, on small grids around the saddles.

    There a margin decides whether a channel is open. A grid is as wide as the widest
    channel that the margins of the second order, or of the truth, open or close. Only
    positions of two dimensions have a map.

    Parameters
    ----------
    found
        Values of :func:`potential`.
    settings
        The `shadow` section, of which `start` and `potential` are used.
    """
    saddles = np.asarray(settings["potential"]["saddles"], float)
    if not saddles.size or truth.dof != 2:
        return {}
    start = np.array(settings["start"], dtype=float)[None]
    order = min(orders, key=lambda k: abs(k - 2))
    margins = np.append(
        found["saddle_margin"][orders.index(order)], found["saddle_margin_true"]
    )
    if not np.isfinite(margins).all():
        return {}
    width = CHANNELS_PER_CLOSE_UP * max(
        np.sqrt(2 * np.abs(margins).max() / _curvature(truth, saddle))
        for saddle in saddles
    )
    side = np.linspace(-width, width, POINTS_OF_CLOSE_UP)
    offsets = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    rest = at_rest((saddles[:, None] + offsets).reshape(-1, 2))
    shape = (len(saddles), len(offsets))
    return {
        "near_offset": offsets,
        "near_estimate": [
            (model.hamiltonian(rest, k) - model.hamiltonian(start, k)).reshape(shape)
            / scale
            for k, scale in zip(orders, scales, strict=True)
        ],
        "near_true": (truth.energy(rest) - truth.energy(start)).reshape(shape),
    }


def _curvature(truth, position: np.ndarray, step: float = 1e-3) -> float:
    """Smallest magnitude of the curvatures of the energy at rest, by differences."""
    n = position.size
    hessian = np.empty((n, n))
    for i in range(n):
        states = np.zeros((2, 2 * n))
        states[:, :n] = position
        states[0, i] += step
        states[1, i] -= step
        up, down = truth.gradient(states)[:n].T
        hessian[i] = (up - down) / (2 * step)
    return float(np.abs(np.linalg.eigvalsh((hessian + hessian.T) / 2)).min())


def horizon(model, order: int, truth, settings: Mapping) -> dict:
    """Errors of many rollouts up to a fixed time."""
    recipe, domain = settings["horizon"], settings.get("domain", {})
    starts = horizon_starts(truth, recipe)
    errors, done = np.full(len(starts), np.nan), np.zeros(len(starts))
    for i, start in enumerate(starts):
        run = model.rollout(start, recipe["steps"], order, **domain)
        path = truth.path(start, recipe["steps"])[:, : truth.dof]
        done[i] = run.steps
        if run.complete:
            errors[i] = np.abs(run.positions - path).max()
    return {"horizon_error": errors, "horizon_steps": done}


def horizon_starts(truth, recipe: Mapping) -> np.ndarray:
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


def survival(model, order: int, truth, settings: Mapping) -> dict:
    """Steps before escape, censored at the end, and the motion of the first start.

    Starts differ by round-off in the first coordinate. Whether one escapes may be a
    matter of the last bit, so the time of a single one means nothing.

    Parameters
    ----------
    order
        Of the first momenta and of velocities.
    settings
        The `shadow` section, of which `start`, `domain` and `survival` are used. Steps
        beyond a multiple of the stored samples are not done.
    """
    recipe, domain = settings["survival"], settings.get("domain", {})
    every = max(recipe["steps"] // SAMPLES_OF_PASSAGE, 1)
    steps = recipe["steps"] // every * every
    start = np.array(settings["start"], dtype=float)
    first = model.rollout(start, steps, order, every, **domain)
    done = [first.steps]
    for i in range(1, recipe["starts"]):
        other = start.copy()
        other[0] += i * recipe["perturbation"]
        done.append(model.rollout(other, steps, order, steps, **domain).steps)
    done = np.array(done, dtype=float)
    return {
        "survival_steps": done,
        "survival_time": done * truth.time_step,
        "survival_censored": (done >= steps).astype(float),
    } | _passage(model, order, truth, first, every, start, domain)


def _passage(model, order, truth, run, every: int, start, domain) -> dict:
    """Positions and true energy of a rollout in coarse samples, and its last steps."""
    count = len(run.positions)
    energy = truth.energy(model.states(run, np.arange(count), order, every))
    time = truth.time_step * every * np.arange(count)
    sample = max(run.steps - STEPS_OF_PASSAGE_END, 0) // every
    before = run.steps - sample * every
    # Its rounding errors differ, but so soon after that does not show.
    further = model.further(run, sample, before, order, **domain).positions
    end = np.full((STEPS_OF_PASSAGE_END + 1, run.positions.shape[1]), np.nan)
    kept = further[-(STEPS_OF_PASSAGE_END + 1) :]
    end[: len(kept)] = kept
    return {
        "passage_time": time,
        "passage_q": run.positions,
        "passage_energy": energy - truth.energy(start[None])[0],
        "passage_drift": slope_in_time(time, energy),
        "passage_end": end,
    }


def posterior(model, order: int, truth, settings: Mapping, rng) -> dict:
    """Standard deviation of the learned H^[k] and its error, of one degree of freedom.

    There H is known up to a monotone function. Each draw is brought to the truth by a
    polynomial; the highest order counts.
    """
    points = box_points(settings["box"])
    true = truth.energy(points)
    draws = model.samples(settings["posterior"]["draws"], rng)

    def matched(values):
        polynomial = np.polynomial.Polynomial.fit(values, true, DEGREE_OF_MONOTONE_MAP)
        return polynomial(values)

    mean = matched(model.hamiltonian(points, order))
    values = [matched(draw.hamiltonian(points, order)) for draw in draws]
    std, error = np.std(values, axis=0), mean - true
    return {
        "hamiltonian_error": error,
        "hamiltonian_std": std,
        "hamiltonian_coverage": np.mean(np.abs(error) <= 2 * std),
    }


def slope_in_time(time: np.ndarray, values: np.ndarray) -> float:
    """Slope of a line through the finite values; NaN if there are fewer than two."""
    there = np.isfinite(values)
    if there.sum() < 2:
        return np.nan
    return float(np.polynomial.polynomial.polyfit(time[there], values[there], 1)[1])


def at_rest(positions: np.ndarray) -> np.ndarray:
    """States (sample, 2 dof) of positions (sample, dof) without velocity."""
    return np.concatenate([positions, np.zeros_like(positions)], axis=1)
