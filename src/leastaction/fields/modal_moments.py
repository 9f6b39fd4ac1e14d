"""Moments of a field from displacements alone, whatever time scheme made them.

Test functions in space are the eigenvectors of a candidate's stiffness. How far a mode
turns per sample is measured, not assumed:

.. math::  (ω\\,dt)^2 ≈ E(Δ^2 q)^2 / E(Δq)^2 .

Process noise raises it to about √(2 dt/T), T the duration, where the motion is slower
than that. Where ω dt is not small, what the samples say depends on the scheme that made
them, so only well-resolved modes are kept.

Projected on a test function φ of unit mass, q = φᵀ M u obeys q̈ = Σ c_i F_i + noise with
the same independent noise for every mode. One second difference is exactly an
integral,

.. math::

    \\frac{q_{k+1} − 2 q_k + q_{k−1}}{dt} = \\int \\hat h(t)\\, \\ddot q\\,dt ,

with the hat function ĥ of half width dt, and Numerov's rule integrates the forces,
dt (F + δ²F/12). The residual is a moving average of order one, so its product with
functions of the state at the *first* of the three samples has mean zero:

.. math::

    E\\Big[Z_{k−1} \\Big(2κ\\,\\frac{Δ^2 q_k}{dt}
        − \\sum_i c_i\\,dt\\,\\big(F_i + (\\tfrac1{12} + ρ)\\,δ^2 F_i\\big)_k
        \\Big)\\Big] = 0 ,

κ the coefficient of the reference κ u_t², and ρ the dispersion of the time scheme. The
columns dt F_i and dt δ²F_i are kept apart, so that it can be estimated.
"""

import logging
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check, time_step
from leastaction.fields.contracts import CONTRACTS
from leastaction.fields.domain import Domain, ModalForces, Potential
from leastaction.fields.ensemble import domain_and_library, one_by_one
from leastaction.fields.library import FieldLibrary, spatial_order

# So that forces of all candidates fit the cache.
SAMPLES_PER_BATCH = 128
# Powers of (ω dt)² that the last instruments are multiplied by.
TURN_POWERS = (1, 2)
# Of modes: resolved, and dispersive.
GROUPS = 2
# Weight of δ²F in Numerov's rule.
NUMEROV = 1 / 12
# A mode may always turn by so many times the floor of the process noise.
FLOORS_OF_PROCESS_NOISE = 5
MOST_TRIPLES_OF_SAMPLES = 20_000

log = logging.getLogger(__name__)


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Eigenvectors of the highest candidate operator, and ω dt of each.

    Only u is used. `group` tells the modes that select the terms, ω dt up to
    `resolved`, and those that tell the time scheme from the coefficients, up to
    `dispersive`; what Numerov's rule leaves, (ω dt)⁴/240, limits it. Neither is taken
    below five times the floor of the process noise.

    Raises
    ------
    ValueError
        If not even one mode is slow enough.
    """
    domain, terms = domain_and_library(observations, library)
    operator, phi = test_functions(terms, domain)
    turn = turn_per_sample(observations["u"], domain.cell[:, None] * phi)
    floor = FLOORS_OF_PROCESS_NOISE * np.sqrt(2 / observations.sizes["time"])
    cuts = [max(settings[name], floor) for name in ("resolved", "dispersive")]
    group = np.searchsorted(cuts, turn).astype("int8")
    if not (group == 0).any():
        raise ValueError(
            f"the slowest mode turns by {turn.min():.2g} rad per sample, more than "
            f"{cuts[0]:.2g}: no mode is resolved; sample faster or raise "
            "differentiate.resolved"
        )
    if turn.max() > cuts[0]:
        log.warning(
            "%d of %d modes turn by more than %.2g rad per sample (the fastest by "
            "%.2g): they do not select terms",
            (group > 0).sum(),
            turn.size,
            cuts[0],
            turn.max(),
        )
    return CONTRACTS["modal_basis"].dataset(
        {"phi": phi, "turn": turn, "group": group},
        coords={
            "replicate": observations["replicate"],
            "node": domain.x,
            "mode": np.arange(1, phi.shape[1] + 1),
        },
        attrs={"operator": operator},
    )


def test_functions(library: FieldLibrary, domain: Domain) -> tuple[str, np.ndarray]:
    """Eigenvectors of the quadratic candidate with the highest derivative.

    K Φ = M Φ Λ with Φᵀ M Φ = 1 and the lumped mass M = diag(cell). Any function may
    serve as a test function; these turn every mode of a uniform field into one narrow
    band of frequencies, and independent noise at the nodes stays independent. The
    result is the candidate as text, and Φ of (node, mode), lowest eigenvalue first.
    """
    potentials = {
        i: Potential(library.terms[i], library.field, domain)
        for i in library.independent
    }
    quadratic = [i for i, potential in potentials.items() if potential.is_quadratic]
    if not quadratic:
        raise ValueError(
            "library: there is no quadratic candidate to take test functions from; "
            f"add {library.field}_x**2 or {library.field}_xx**2. Candidates: "
            f"{', '.join(library.names)}"
        )
    top = max(quadratic, key=lambda i: spatial_order(library.terms[i], library.field))
    root = np.sqrt(domain.cell)
    _, vectors = np.linalg.eigh(potentials[top].stiffness / np.outer(root, root))
    return library.names[top], vectors / root[:, None]


def turn_per_sample(u: xr.DataArray, test: np.ndarray) -> np.ndarray:
    """Angle ω dt, rad, by which each mode turns: root of E(Δ²q)² / E(Δq)².

    From evenly spaced triples of samples, and `test` = M Φ, shape (node, mode).
    """
    triples = u.sizes["trajectory"] * (u.sizes["time"] - 2)
    step = max(1, triples // MOST_TRIPLES_OF_SAMPLES)
    squares = np.zeros((2, test.shape[1]))
    for path in one_by_one(u):
        start = np.arange(0, len(path) - 2, step)
        before, after = np.diff([path[start + k] for k in range(3)], axis=0)
        pair = before, after - before
        squares += [np.square(rise @ test).sum(axis=0) for rise in pair]
    return np.sqrt(squares[1] / squares[0])


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Moments Σ Z Xᵀ pooled over the modes of each group, and their second moments.

    `column` is the reference, then dt F of each candidate, then dt δ²F of each;
    `instrument` is F of each candidate and that of the operator of the test functions,
    times (ω dt)² and (ω dt)⁴ in units of the largest. Only u is used.
    """
    check(derivatives, "modal_basis")
    domain, terms = domain_and_library(observations, library)
    used = terms.independent
    phi, group, turn = (derivatives[k].values[0] for k in ("phi", "group", "turn"))
    chosen, names = [terms.terms[i] for i in used], [terms.names[i] for i in used]
    top = names.index(derivatives.attrs["operator"])
    how = top, time_step(observations), settings["decimate"]
    sums = []
    for g in range(GROUPS):
        forces = ModalForces(chosen, terms.field, domain, phi[:, group == g])
        kappa = np.square(turn[group == g] / turn[group < GROUPS].max())
        sums.append(_Sums(forces, kappa, *how))
    for path in one_by_one(observations["u"]):
        for start in range(0, len(path) - 2, SAMPLES_PER_BATCH):
            batch = path[start : start + SAMPLES_PER_BATCH + 2]
            slopes = sums[0].forces.slopes(batch)
            for total in sums:
                total.add(batch, slopes)
    result = [total.values() for total in sums]
    powers = [f"{names[top]} (omega dt)^{2 * power}" for power in TURN_POWERS]
    return CONTRACTS["modal_moments"].dataset(
        {name: [values[name] for values in result] for name in result[0]}
        | {
            "largest_turn": [turn[group <= g].max() for g in range(GROUPS)],
            "spatial_order": [spatial_order(t, terms.field) for t in terms.terms],
            "used": np.isin(np.arange(len(terms.terms)), used).astype("int8"),
            "library_status": terms.status,
            "library_equivalent": terms.freedom.equivalent,
        },
        coords={
            "replicate": observations["replicate"],
            "instrument": [*names, *powers],
            "candidate": terms.names,
            "lag": [0, 1],
        },
        attrs={
            "reference_coefficient": terms.reference_coefficient,
            "reference": terms.names[terms.reference],
        },
    )


class _Sums:
    """Moments, Grams of Z and X at two lags, and the numbers of their summands.

    With f_k the forces of all instruments, everything that contains Z = f_{k−1} is a
    sum of products f_{k−1} f_{k−1+l} at the lags l = 0, 1, 2.
    """

    def __init__(self, forces, kappa, top, dt, decimate):
        self.forces, self.top, self.kappa = forces, top, kappa
        self.dt, self.decimate, self.terms = dt, decimate, forces.terms
        instruments = self.terms + len(TURN_POWERS)
        self.lagged = np.zeros((3, instruments, instruments))
        self.reference = np.zeros(instruments)
        self.x_gram = np.zeros((2, 1 + 2 * self.terms, 1 + 2 * self.terms))
        self.samples = self.pairs = 0

    def add(self, u: np.ndarray, slopes) -> None:
        """Add a batch of one trajectory."""
        if not self.kappa.size:
            return
        q, f = self.forces(u, len(TURN_POWERS), slopes)
        for i, power in enumerate(TURN_POWERS):
            np.multiply(f[self.top], self.kappa**power, out=f[self.terms + i])
        steps = len(q) - 2
        second = (2 / self.dt) * (q[2:] - 2 * q[1:-1] + q[:-2])
        z = _flat(f[:, :steps])
        self.reference += z @ second.ravel()
        for lag in range(3):
            self.lagged[lag] += z @ _flat(f[:, lag : lag + steps]).T
        self.samples += second.size
        places = (slice(lag, steps - 1 + lag, self.decimate) for lag in (0, 1))
        zero, one = (self._columns(second, f, at) for at in places)
        self.pairs += zero.shape[1]
        self.x_gram += (zero @ zero.T, zero @ one.T)

    def _columns(self, second, f, at: slice) -> np.ndarray:
        """X at some of the samples, shape (column, sample times mode)."""
        before, here, after = (
            f[: self.terms, at.start + i : at.stop + i : at.step] for i in range(3)
        )
        x = second[at][None], -self.dt * here, -self.dt * (before + after - 2 * here)
        return _flat(np.concatenate(x))

    def values(self) -> dict[str, np.ndarray]:
        """Σ Z Xᵀ, and Σ Z Zᵀ and Σ X Xᵀ at lag 0, and at lags 1 and −1 together.

        The latter is scaled from the decimated pairs to all samples.
        """
        same, next_, after = self.lagged[:, :, : self.terms]
        curved = -self.dt * (same - 2 * next_ + after)
        zero, one = self.x_gram * (self.samples / max(self.pairs, 1))
        return {
            "moment": np.hstack([self.reference[:, None], -self.dt * next_, curved]),
            "instrument_gram": [self.lagged[0], self.lagged[1] + self.lagged[1].T],
            "increment_gram": [zero, one + one.T],
            "samples": self.samples,
            "pairs": self.pairs,
        }


def _flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(len(array), -1)
