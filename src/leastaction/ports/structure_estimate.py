"""J, R, B and H from driven motions, or the reason why data leave them open.

Weak regression, search of the sparsest structure, prediction errors on windows, and
again, until the structure stays; then the same on whole motions. Forecasts cannot
validate it: with an open gauge the dynamics are right and χ² is one, with J, R and H
wrong by any factor. So a result is printed only if its gauge dimension is zero, R is
positive semidefinite, H is convex on the data, and χ² does not reject the form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import interval
from leastaction.ports.coefficient_fit import (
    PredictionErrors,
    Quadratic,
    Records,
    quadratic_of,
    split,
)
from leastaction.ports.contracts import CONTRACTS, STRUCTURE
from leastaction.ports.port_structure import (
    Candidates,
    PortStructure,
    equations_between_coefficients,
    gauge_basis,
    gauge_dim,
)
from leastaction.ports.structure_search import (
    Fit,
    FreeCoefficients,
    convex,
    eliminated,
    fitted,
    gap_to_rival,
    searched,
    unpruned,
)

# Rounds of search and prediction errors, and Gauss–Newton steps in each, at most.
ROUNDS, STEPS = 5, 3
# A point in so many is looked at for convexity.
EVERY = 20
# An eigenvalue of R may be below zero by so many standard errors, and an entry that is
# named in a message is above so many.
STANDARD_ERRORS = 2.0
# Probability with which χ² rejects a form that is right.
LEVEL = 1e-4
# Sum of the squared autocorrelations of sixth differences, both signs of the lag: how
# much less certain the variance found from them is.
SIXTH_DIFFERENCES = 3.17
# An input that keeps this share of its variance is excited, whatever the noise.
LEAST_EXCITATION = 1e-2
# Share of an input's variance that rounding explains.
ROUNDING = 1e-10
# Least over largest singular value of J − R that counts as regular.
LEAST_REGULARITY = 1e-6
# Frequencies and draws of the transfer function of the ports, and the score beyond
# which it is not passive: one in 10⁴ at the worst of these frequencies.
FREQUENCIES, DRAWS_OF_POWER, LARGEST_SCORE_OF_POWER = 60, 40, 4.7
# Draws of the unknowns that their errors allow.
DRAWS = 4
# Of the criterion, to the next best set of unknowns: odds of 20 to 1.
LEAST_GAP = 2 * np.log(20)
# What a form that does not fit may come from.
CAUSES = "J(x) or R(x) may depend on the states, a candidate of H may be missing"
ASSUMPTIONS = ("unknown", "unknown, outputs", "J known, outputs", "found")


@dataclass(frozen=True, eq=False)
class Settled:
    """A structure that a further round did not change."""

    fit: Fit
    data: Quadratic  # χ² near it, from prediction errors
    gap: float  # to the criterion of the next best set of unknowns

    @property
    def ratio(self) -> float:
        """χ² of the prediction errors over its degrees of freedom."""
        chi_square = self.data.chi_square + self.fit.chi_square * self.data.inflation
        freed = len(self.data.target) - self.fit.free.sum()
        return chi_square / (self.data.dof + freed)

    @property
    def largest_ratio(self) -> float:
        """What four standard deviations of noise allow for it."""
        return 1 + 4 * np.sqrt(2 * (1 + SIXTH_DIFFERENCES) / self.data.dof)

    @property
    def rejected(self) -> bool:
        """Whether χ² rejects constant J, R and B, or the candidates."""
        return self.ratio > self.largest_ratio or self.p_value < LEVEL

    @property
    def p_value(self) -> float:
        """Probability that coefficients of this form give a larger χ²."""
        from scipy.stats import chi2  # slow to import

        dof = len(self.data.target) - self.fit.free.sum()
        return float(chi2.sf(self.fit.chi_square, dof)) if dof > 0 else 1.0


def settled(law, data: Quadratic, shots: Sequence[PredictionErrors], fits, points):
    """Prediction errors and search in turn; None if a motion does not stay finite.

    The `shots` are windows, whose many free initial states let a search begin far off,
    then whole motions, whose fit has the maximum likelihood. Two functions ``(data,
    known)`` give `fits` of all unknowns, and sparse ones with the best first, from fits
    that are known before.
    """
    full, sparse = fits
    known, result = sorted(full(data, ()), key=lambda fit: fit.chi_square), None
    for errors in shots:
        for _ in range(ROUNDS):
            fit = known[0]
            for _ in range(STEPS):
                near = _near(errors, law.coefficients(fit.theta), data, fit)
                if near is None:
                    return result
                data, fit = near, fitted(law, near, fit.theta, fit.free)
            before, known = fit, sparse(data, [fit, *known])
            if np.array_equal(before.free, known[0].free):
                break
        result = Settled(before, data, gap_to_rival(law, data, known, points))
        if result.rejected:
            break
    return result


def _shots(records: Records, candidates: Candidates, window: int) -> list:
    lengths = window, records.x.shape[1] - 1
    return [PredictionErrors(records, candidates, length) for length in lengths]


def _near(errors: PredictionErrors, q: np.ndarray, data: Quadratic, fit: Fit):
    """χ² near coefficients `q` that were fitted, else near the free ones.

    The search may not have come near enough to the data yet.
    """
    places = [q, data.best]
    if fit.chi_square > 2 * data.target.size:
        places.reverse()
    result = (errors.quadratic(place) for place in places)
    return next((one for one in result if one is not None), None)


def identify(
    equations: xr.Dataset, settings: Mapping, observations: xr.Dataset, library: Mapping
) -> xr.Dataset:
    """Sparsest J, R, B and H of one replicate, with standard errors."""
    candidates, records = _inputs_of(equations, observations)
    data, sizes = quadratic_of(equations), candidates.tensor.shape[1:]
    ports = records.u.shape[2]
    _, port, _ = split(data.best, sizes[0], ports, sizes[1])
    law = PortStructure.of(
        candidates,
        ports,
        *(settings[key] for key in ("structure", "dissipation", "port")),
        outputs=bool(equations["outputs"].values[0]),
        stiffness=typical_stiffness(records, port),
    )
    points = records.points[::EVERY]
    random = np.random.default_rng(settings["seed"])
    shots = _shots(records, candidates, settings["window"])
    reason = not_excited(records, candidates, observations["port"].values)
    reason = reason or not_conjugate(records, candidates, shots[0], data, random)
    result = None
    if not reason:
        fits = tuple(partial(of, law, points, random) for of in (unpruned, searched))
        result = settled(law, data, shots, fits, points)
        reason = refusal(law, result, points)
    return _dataset(equations, observations, law, result, reason)


def regression(
    equations: xr.Dataset, settings: Mapping, observations: xr.Dataset, library: Mapping
) -> xr.Dataset:
    """W and B of ẋ = W g(x) + B u with the same terms and no structure: a baseline."""
    candidates, records = _inputs_of(equations, observations)
    points = records.points[::EVERY]
    data = quadratic_of(equations)
    law = FreeCoefficients(data.matrix.shape[1])
    every = np.ones(law.kinds.size, dtype=bool)
    shots = _shots(records, candidates, settings["window"])

    def full(data: Quadratic, known) -> list[Fit]:
        return [fitted(law, data, data.best, every)]

    def sparse(data: Quadratic, known) -> list[Fit]:
        return [eliminated(law, data, *full(data, known), points)]

    result = settled(law, data, shots, (full, sparse), points)
    reason = "" if result else "no motion of it stays finite"
    return _dataset(equations, observations, law, result, reason)


def _inputs_of(equations: xr.Dataset, observations: xr.Dataset):
    states = [str(name) for name in observations["state"].values]
    texts = [str(text) for text in equations["term"].values]
    outputs = bool(equations["outputs"].values[0])
    records = Records.of(observations, equations, outputs)
    return Candidates.of(states, texts), records


def typical_stiffness(records: Records, port: np.ndarray) -> np.ndarray:
    """Stiffness k of H = Σ k_i x_i²/2 in which every state counts alike, (state,).

    Its outputs Bᵀ∇H are as large as those that were measured, if there are any. So a
    search takes the same steps in any units of states, inputs and outputs.
    """
    sizes = np.sqrt((records.points**2).mean(axis=0))
    stiffness = np.where(sizes > 0, sizes, 1.0) ** -2.0
    outputs = (records.points * stiffness) @ port
    measured = np.sqrt((records.y**2).mean(axis=(0, 1)))
    made = np.sqrt((outputs**2).mean(axis=0))[: measured.size]
    both = measured * made > 0
    ratios = np.log(measured[both] / made[both])
    return stiffness * np.exp(ratios.mean() if both.any() else 0.0)


def not_excited(records: Records, candidates: Candidates, ports) -> str:
    """Why B cannot be identified from the inputs; empty if it can.

    An input that is a combination of the functions g and of the other inputs, within
    the noise of the states, has no column of B of its own.
    """
    count = records.u.shape[2]
    g, slopes = candidates.values(records.points)
    u = records.u.reshape(-1, count)
    for j in range(count):
        name, values = ports[j], u[:, j]
        if not np.ptp(values) and not values.any():
            return f"input {name} is zero: column {j + 1} of B is not excited; drive it"
        regressors = np.hstack([g, np.delete(u, j, axis=1)])
        sizes = np.linalg.norm(regressors, axis=0)
        sizes = np.where(sizes > 0, sizes, 1.0)
        weights = np.linalg.lstsq(regressors / sizes, values, rcond=None)[0] / sizes
        left = ((values - regressors @ weights) ** 2).mean()
        through = np.einsum("l,tli->ti", weights[: g.shape[1]], slopes)
        noise = ((through * records.x_std) ** 2).sum(axis=1).mean()
        least = min(4 * noise, LEAST_EXCITATION * values.var())
        if left <= least + ROUNDING * (values**2).mean():
            return (
                f"input {name} is a function of the states or of the other inputs "
                f"within their noise: column {j + 1} of B and the drift cannot be told "
                "apart; excite it independently"
            )
    return ""


def not_conjugate(
    records: Records, candidates: Candidates, errors: PredictionErrors, data, random
) -> str:
    """Why the outputs are not those of the inputs' ports; empty if they may be.

    About the rest a port-Hamiltonian system with a convex H is passive, so its transfer
    function G from inputs to outputs is positive real: no eigenvalue of G + Gᴴ is
    negative at any frequency. Coefficients without structure tell G, and draws of them
    its error, before any search.
    """
    if not records.y.shape[2]:
        return ""
    near = errors.quadratic(data.best) or data
    at_rest = np.zeros((1, records.x.shape[2]))
    g, slopes = (part[0] for part in candidates.values(at_rest))
    if not np.isfinite(slopes).all() or g.any():
        return ""
    sizes = slopes.shape[1], records.u.shape[2], slopes.shape[0]
    span = records.step * (records.x.shape[1] - 1)
    frequency = np.geomspace(2 * np.pi / span, np.pi / records.step, FREQUENCIES)

    def powers(q: np.ndarray) -> np.ndarray:
        """Least power that goes in, over the size of G, by frequency."""
        w, b, of_y = split(q, *sizes)
        of_state = 1j * frequency[:, None, None] * np.eye(len(w)) - w @ slopes
        g = (
            of_y
            @ slopes
            @ np.linalg.solve(of_state, np.broadcast_to(b, (FREQUENCIES, *b.shape)))
        )
        low = np.linalg.eigvalsh((g + np.conj(np.swapaxes(g, 1, 2))) / 2)[:, 0]
        return low / np.linalg.norm(g, 2, axis=(1, 2))

    scale = np.linalg.norm(near.matrix, axis=0)
    scale[scale == 0] = 1.0
    root = np.linalg.pinv(near.matrix / scale, rcond=1e-10) / scale[:, None]
    drawn = random.standard_normal((DRAWS_OF_POWER, root.shape[1])) @ root.T
    moved = np.sqrt(near.inflation) * drawn
    result = powers(near.best)
    spread = np.std([powers(near.best + move) for move in moved], axis=0)
    z = result / np.maximum(spread, ROUNDING)
    k = int(z.argmin())
    if z[k] > -LARGEST_SCORE_OF_POWER:
        return ""
    return (
        "the outputs are not those of the ports: at "
        f"{frequency[k]:.3g} rad/s they would take {-100 * result[k]:.0f} % of the "
        f"power out of a passive system ({-z[k]:.2g} standard errors); name "
        "the outputs that are conjugate to the inputs, in their order and with their "
        "signs"
    )


def covariance(law, end: Settled) -> np.ndarray:
    """Covariance of the free unknowns, given the support; the gauge is left out."""
    free = end.fit.free
    slopes = end.data.matrix @ law.jacobian(end.fit.theta)[:, free]
    sizes = np.linalg.norm(slopes, axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = slopes / sizes
    result = np.zeros((free.size, free.size))
    inner = np.linalg.pinv(scaled.T @ scaled, rcond=1e-14) / np.outer(sizes, sizes)
    result[np.ix_(free, free)] = inner * end.data.inflation
    return result


def refusal(law: PortStructure, end: Settled | None, points: np.ndarray) -> str:
    """Why J, R and H are not identified; empty if they are."""
    if end is None:
        return f"no motion of the fitted equation stays finite; {CAUSES}"
    theta, free = end.fit.theta, end.fit.free
    if end.rejected:
        return (
            "no constant J, R and B fit: chi-square over its degrees of freedom is "
            f"{end.ratio:.3g} (limit {end.largest_ratio:.3g}), p of the form "
            f"{end.p_value:.1g}; {CAUSES}, outputs may be other than B^T grad H "
            "(feedthrough), or an input may jump between samples"
        )
    if end.gap < LEAST_GAP:
        return (
            "another set of entries fits nearly as well (difference of the criterion "
            f"{end.gap:.2g}, limit {LEAST_GAP:.2g}): take longer motions, larger "
            "inputs or fewer candidates"
        )
    spread, basis = covariance(law, end), gauge_basis(law, theta, free)
    if reason := _unbounded(law, end.fit, spread, basis):
        return reason
    if not convex(law, theta, points):
        return "H is not convex on the data: not passive with these candidates"
    if reason := _not_passive(law, theta, spread):
        return reason
    if len(basis):
        moved = np.abs(basis).max(axis=0) > 1e-6 * np.abs(basis).max()
        names = ", ".join(np.array(law.names)[moved])
        advice = "" if law.outputs else "measure the outputs, or "
        return (
            f"{len(basis)} directions of J, R and H are open and move {names} alike "
            f"for all data; {advice}give an entry of J, R or B as a number"
        )
    return ""


def _unbounded(law: PortStructure, fit: Fit, spread: np.ndarray, basis) -> str:
    """Whether entries that χ² needs have errors as large as themselves.

    Such a fit improves towards infinite entries: its form is not that of the data.
    """
    errors = np.sqrt(np.diag(spread).clip(0))
    unbounded = fit.free & (np.abs(fit.theta) < STANDARD_ERRORS * errors)
    if len(basis) or not unbounded.any():
        return ""
    names = ", ".join(np.array(law.names)[unbounded])
    return (
        f"{names} are needed, but their errors are as large as they are: the fit "
        f"improves towards infinite entries; {CAUSES}"
    )


def _not_passive(law: PortStructure, theta: np.ndarray, spread: np.ndarray) -> str:
    """Whether R has a negative eigenvalue or J − R is singular."""
    j, r = (law.without_units(matrix) for matrix in law.matrices(theta)[:2])
    values, vectors = np.linalg.eigh(r)
    patterns = law.without_units(law.patterns[1])
    slope = np.einsum("i,kij,j->k", vectors[:, 0], patterns, vectors[:, 0])
    error = np.sqrt(max(slope @ spread @ slope, 0.0))
    if values[0] < -STANDARD_ERRORS * error - 1e-9 * np.abs(r).max():
        return (
            f"R has the eigenvalue {interval(values[0], NORMAL_QUANTILE * error)} 1/s, "
            f"of states over their rms: not passive with these candidates; {CAUSES}"
        )
    size = np.linalg.svd(j - r, compute_uv=False)
    if size[-1] < LEAST_REGULARITY * size[0]:
        return "J - R is singular: H is open along its kernel; choose other states"
    return ""


def gauge_dimensions(law: PortStructure, fit: Fit, spread: np.ndarray) -> list[int]:
    """Gauge dimensions at the pruned model, by the entries of ``ASSUMPTIONS``.

    The `spread` is the covariance of the unknowns.
    """
    deviations = np.sqrt(np.diag(spread).clip(0))
    units = np.where(deviations > 0, deviations, 1.0)
    values, vectors = np.linalg.eigh(spread / np.outer(units, units))
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(values)))
    nearby = fit.theta + deviations * (draws * np.sqrt(values.clip(0)) @ vectors.T)
    j, r, b, _ = law.matrices(fit.theta)
    result = []
    for known, outputs in (("unknown", False), ("unknown", True), (j.tolist(), True)):
        wide = PortStructure.of(law.candidates, b.shape[1], known, outputs=outputs)
        theta, *others = (_unknowns(wide, law, one) for one in (fit.theta, *nearby))
        result.append(gauge_dim(wide, theta, nearby=others))
    return [*result, gauge_dim(law, fit.theta, fit.free)]


def _unknowns(wide: PortStructure, law: PortStructure, theta) -> np.ndarray:
    """Unknowns of `wide`, which knows less, where `law` has those of `theta`."""
    result = np.zeros(len(wide.names))
    for matrix, patterns in zip(law.matrices(theta), wide.patterns, strict=False):
        for k in np.flatnonzero(patterns.any(axis=(1, 2))):
            result[k] = matrix[tuple(np.argwhere(patterns[k])[0])]
    result[wide.inner :] = theta[law.inner :]
    return result


def _dataset(equations, observations, law, end: Settled | None, reason: str):
    """Model of one replicate: NaN for what is refused; W and B stay where they can."""
    coords = {
        **{key: observations[key] for key in ("replicate", "row", "port")},
        **{key: observations[key].values for key in ("state", "effort")},
        **{key: equations[key].values for key in ("term", "function")},
        "assumption": list(ASSUMPTIONS),
    }
    values = {
        name: np.full([len(coords[dim]) for dim in variable.dims[1:]], np.nan)
        for name, variable in STRUCTURE.items()
    }
    values["refusal"] = np.array(reason, dtype=object)
    if end is not None:
        theta, spread = end.fit.theta, covariance(law, end)
        values |= {
            "chi_square_ratio": end.ratio,
            "form_p_value": end.p_value,
        }
        slopes, sizes = (
            law.jacobian(theta),
            (*values["port_std"].shape, len(coords["function"])),
        )
        deviation = np.sqrt(np.einsum("qi,ij,qj->q", slopes, spread, slopes).clip(0))
        for what, q in (("estimate", law.coefficients(theta)), ("std", deviation)):
            values[f"drift_{what}"], values[f"port_{what}"], _ = split(q, *sizes)
        if isinstance(law, PortStructure):
            if not end.rejected:
                dimensions = gauge_dimensions(law, end.fit, spread)
                values["gauge_dimension"] = dimensions
            if not reason:
                values |= _of_structure(law, end.fit, spread)
    return CONTRACTS["port_structure"].dataset(values, coords)


def _of_structure(law: PortStructure, fit: Fit, spread: np.ndarray) -> dict:
    """J, R and H with standard errors, and how many equations they impose."""
    theta = fit.theta
    deviations = np.sqrt(np.diag(spread).clip(0))
    of_j, of_r = (np.tensordot(deviations, np.abs(p), 1) for p in law.patterns[:2])
    j, r, _, _ = law.matrices(theta)
    count, equations = equations_between_coefficients(law, theta, fit.free)
    return {
        "coefficients": count,
        "equations": equations,
        "structure_estimate": j,
        "structure_std": of_j,
        "dissipation_estimate": r,
        "dissipation_std": of_r,
        "coefficient_estimate": theta[law.inner :],
        "coefficient_std": deviations[law.inner :],
    }
