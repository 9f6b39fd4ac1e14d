"""Frames on shaking ground, and their modes by two tools."""

import contextlib
import io

import numpy as np
from scipy.linalg import expm
from scipy.signal import lfilter

import leastaction as la

SEED, DRAWS, NORMAL = 20261127, 10, 1.96
RATE, SECONDS = 200.0, 120.0
FRAMES = {
    2: ([1.0, 0.8], [400.0, 300.0], [0.4, 0.2]),
    4: ([1.0, 1.0, 0.9, 0.8], [900.0, 800.0, 700.0, 600.0], [0.7, 0.6, 0.6, 0.5]),
}


def rng(*key: int) -> np.random.Generator:
    """Random numbers of a draw."""
    return np.random.default_rng([SEED, *key])


def sampled(A, diffusion, dt: float, count: int, random) -> np.ndarray:
    """Stationary path (count, state) of ẋ = A x + L Ẇ with L Lᵀ = `diffusion`."""
    n = len(A)
    block = expm(
        np.block([[-A, diffusion], [np.zeros((n, n)), A.T]]) * dt
    )  # Van Loan 1978
    transition = block[n:, n:].T
    values, vectors = np.linalg.eigh(transition @ block[:n, n:])
    poles, modes = np.linalg.eig(transition)
    burn = int(-20 / np.log(np.abs(poles).max()))
    noise = random.standard_normal((count + burn, n)) * np.sqrt(np.maximum(values, 0))
    inward = np.linalg.solve(modes, vectors @ noise.T)
    each = [lfilter([1], [1, -p], w) for p, w in zip(poles, inward, strict=True)]
    return (modes @ np.array(each)).real.T[burn:]


def frame(storeys: int) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of q̈ = −[K C] (q, q̇)/M, and of the state."""
    masses, *both = FRAMES[storeys]
    K, C = (np.zeros((storeys, storeys)) for _ in both)
    for matrix, values in zip((K, C), both, strict=True):
        for i, value in enumerate(values):
            matrix[i, i] += value
            if i:
                matrix[i - 1, i - 1] += value
                matrix[i, i - 1] = matrix[i - 1, i] = -value
    force = -np.hstack([K, C]) / np.array(masses)[:, None]
    upper = np.hstack([np.zeros((storeys, storeys)), np.eye(storeys)])
    return force, np.vstack([upper, force])


def shaken(storeys: int, draw: int) -> np.ndarray:
    """Absolute accelerations, (time, storey)."""
    random, (force, A) = rng(1, storeys, draw), frame(storeys)
    ground = np.repeat([0.0, 1.0], storeys)
    count = int(SECONDS * RATE)
    y = sampled(A, np.outer(ground, ground), 1 / RATE, count, random) @ force.T
    return y + 0.05 * y.std(axis=0) * random.standard_normal(y.shape)


def true_modes(storeys: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (Hz) and damping ratios."""
    rates = np.linalg.eigvals(frame(storeys)[1])
    rates = rates[rates.imag > 0]
    rates = rates[np.argsort(np.abs(rates))]
    return np.abs(rates) / (2 * np.pi), -rates.real / np.abs(rates)


def modes_by_ours(storeys: int):
    """Frequencies, their errors, damping ratios and ends of intervals, by draw."""
    for draw in range(DRAWS):
        y = shaken(storeys, draw)
        found = la.modes({f"floor {i}": c for i, c in enumerate(y.T)}, time=1 / RATE)
        data = found.structural
        names = ("frequency", "damping_ratio")
        yield tuple(
            tuple(data[f"{name}{end}"].values for end in ("", "_low", "_high"))
            for name in names
        )


def modes_by_pyoma(storeys: int, order):
    """As those of ours."""
    from pyoma2.algorithms import SSI
    from pyoma2.setup import SingleSetup

    for draw in range(DRAWS):
        setup = SingleSetup(shaken(storeys, draw), fs=RATE)
        setup.detrend_data()
        setup.decimate_data(q=5)
        how = {"method": "cov", "br": 30, "ordmax": 40, "step": 2, "calc_unc": True}
        setup.add_algorithms(algorithm := SSI(name="ssi", **how))
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                setup.run_by_name("ssi")
                known = list(true_modes(storeys)[0])
                setup.mpe("ssi", sel_freq=known, order_in=order)
        except Exception:  # it raises what it likes where no order is stable
            yield ((np.zeros(0),) * 3,) * 2
            continue
        found = algorithm.result
        yield tuple(
            (np.ravel(x), np.ravel(x - NORMAL * s), np.ravel(x + NORMAL * s))
            for x, s in ((found.Fn, found.Fn_std), (found.Xi, found.Xi_std))
        )


def scored_modes(found, storeys: int) -> str:
    """Errors, coverage, and modes missed or invented (within 5 % of none)."""
    truth = true_modes(storeys)
    errors, inside, missed, invented = [[], []], [[], []], 0, 0
    for both in found:
        near = np.abs(both[0][0][:, None] / truth[0] - 1)
        invented += int((near.min(axis=1, initial=1.0) > 0.05).sum())
        for k in range(storeys):
            if not len(near) or near[:, k].min() > 0.05:
                missed += 1
                continue
            place = near[:, k].argmin()
            for i, (x, low, high) in enumerate(both):
                errors[i].append((k, x[place] / truth[i][k] - 1))
                inside[i].append(low[place] < truth[i][k] < high[place])
    rms = [
        ", ".join(
            f"{100 * np.sqrt(np.mean([e**2 for j, e in of if j == k])):.2g}"
            for k in range(storeys)
        )
        for of in errors
    ]
    covered = ", ".join(f"{np.sum(x)} of {len(x)}" for x in inside)
    return (
        f"f {rms[0]} %; ζ {rms[1]} %; inside {covered}; missed {missed}, invented "
        f"{invented}"
    )
