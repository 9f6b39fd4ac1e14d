"""Maximum likelihood of the innovations form of random outputs, in its modes.

Outputs of any linear system that white forces drive, seen through white noise, are
those of its Kalman filter,

.. math::  y(z) = W(z) e(z) + C (1 - Λ/z)^{-1} t , \\qquad W(z) = I + C (z - Λ)^{-1} K ,

with a diagonal Λ: each of its poles λ has a shape, its column of C, and a gain, its row
of K; complex ones come in conjugate pairs. Fourier coefficients of a finite record have
the term in t, which is all that leaks into them (Pintelon, Schoukens, Vandersteen, IEEE
Trans. Autom. Control 42 (1997) 1717); with steps times p it has (Λ/z)^p. So e(z) are
independent at all frequencies, with one covariance Ω, and the likelihood

.. math::  -2 \\log L = N \\log |Ω| + \\mathrm{const} , \\qquad
           Ω = \\mathrm{mean}\\; \\mathrm{Re}\\, e(z) e(z)^*

counts all N samples, as long as the zeros of W, the eigenvalues of Λ − K C, are in the
unit circle. It is climbed by Gauss and Newton's steps with derivatives in closed form;
what scaling a mode does to its shape and gain has none, and is left out by the
pseudo-inverse (Ljung, System Identification, 1999, chapters 7 and 10). The inverse of
the information is the covariance of the poles and the shapes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# Steps, and twice the log likelihood that a further one must promise.
MOST_STEPS, SETTLED = 25, 1e-2
# Levenberg and Marquardt's damping of steps: first, by which factor it rises, last.
LEAST_DAMPING, DAMPED, MOST_DAMPING = 1e-3, 5.0, 1e4
# Of eigenvalues of the scaled information, below which one is that of a scale.
ROUNDING = 1e-10
# Least variance of an innovation, of outputs of unit variance: a sensor of 16 bits.
# With more sensors than forces and no noise their covariance is singular.
LEAST_VARIANCE = 2.0**-32
# Frequencies whose derivatives are in memory at once.
FREQUENCIES_PER_BATCH = 256


class Transform(NamedTuple):
    """Fourier coefficients (frequency, channel) of a record at `z` = exp(2πi f/rate).

    Of unit variance for white noise of unit variance; zero and the highest left out.
    `power` is the step of the record times the rate.
    """

    z: np.ndarray
    coefficients: np.ndarray
    power: float


class InnovationsForm(NamedTuple):
    """Poles (pole,), shapes C and gains K (pole, channel); which are `paired`.

    Of a conjugate pair that in the upper half plane.
    """

    poles: np.ndarray
    shapes: np.ndarray
    gains: np.ndarray
    paired: np.ndarray

    @property
    def order(self) -> int:
        """Number of states."""
        return len(self.poles) + int(self.paired.sum())

    @property
    def parameters(self) -> int:
        """Number of free parameters, without those of Ω."""
        return 2 * self.order * self.shapes.shape[1]

    def is_stationary(self) -> bool:
        """Whether the outputs are: poles in the unit circle."""
        return bool(np.abs(self.poles).max(initial=0.0) < 1)

    def is_invertible(self) -> bool:
        """Whether innovations follow from outputs: zeros in the unit circle."""
        both = [
            np.concatenate([x, x[self.paired].conj()])
            for x in (self.poles, self.shapes, self.gains)
        ]
        filtered = np.diag(both[0]) - both[2] @ both[1].T
        return bool(np.abs(np.linalg.eigvals(filtered)).max(initial=0.0) < 1)


class Fit(NamedTuple):
    """A model, the covariance of its parameters, its criterion, and its residuals.

    Parameters are real and imaginary parts of shapes, gains and poles; `criterion` is
    −2 log L with log N for each of them (Schwarz, Ann. Stat. 6 (1978) 461); `noise` is
    the covariance Ω of the innovations.
    """

    model: InnovationsForm
    covariance: np.ndarray
    criterion: float
    noise: np.ndarray
    converged: bool


class _State(NamedTuple):
    """By record: responses, innovations, derivatives by t and t; Ω, and N log |Ω|."""

    responses: list[tuple[np.ndarray, ...]]
    innovations: list[np.ndarray]
    leaks: list[np.ndarray]
    transients: list[np.ndarray]
    noise: np.ndarray
    value: float


def transforms(series: Sequence[np.ndarray], dt: float, rate: float) -> list[Transform]:
    """Fourier coefficients below half the `rate`, Hz, of stretches (time, channel)."""
    result = []
    for y in series:
        f = np.fft.rfftfreq(len(y), dt)
        inside = (f > 0) & (f < rate / 2) & (f < 0.5 / dt)
        d = np.fft.rfft(y, axis=0)[inside] / np.sqrt(len(y))
        result.append(Transform(np.exp(2j * np.pi * f[inside] / rate), d, rate * dt))
    return result


def diagonal(A: np.ndarray, C: np.ndarray, K: np.ndarray) -> InnovationsForm:
    """The same model with a diagonal A, shapes as large as gains.

    Examples
    --------
    >>> model = diagonal(np.array([[0.0, 1], [-0.9, 1]]), np.eye(2), np.eye(2))
    >>> print(model.order, model.poles.round(2), model.paired)
    2 [0.5+0.81j] [ True]
    """
    poles, vectors = np.linalg.eig(A)
    shapes, gains = (C @ vectors).T, np.linalg.solve(vectors, K)
    size = np.linalg.norm(shapes, axis=1) / np.linalg.norm(gains, axis=1)
    size = np.sqrt(size)[:, None]
    chosen = np.flatnonzero(poles.imag >= 0)
    paired = poles[chosen].imag > 0
    return InnovationsForm(
        poles[chosen], (shapes / size)[chosen], (gains * size)[chosen], paired
    )


def fit(model: InnovationsForm, records: Sequence[Transform]) -> Fit:
    """Maximum of the likelihood that Gauss and Newton's steps reach from a model."""
    now, converged, damping = _state(model, records), False, 0.0
    for _ in range(MOST_STEPS):
        information, slope = _normal(model, records, now)
        size = np.diag(np.diag(information))
        while damping < MOST_DAMPING:
            step = -_inverse(information + damping * size) @ slope
            if damping == 0 and -slope @ step < SETTLED:
                converged = True
                break
            tried = _moved(model, step)
            allowed = tried.is_stationary() and tried.is_invertible()
            state = _state(tried, records) if allowed else None
            if state is not None and state.value < now.value:
                break
            damping = max(LEAST_DAMPING, DAMPED * damping)
        if converged or damping >= MOST_DAMPING:
            break
        model, now = tried, state
        damping = damping / DAMPED**2 if damping > LEAST_DAMPING * DAMPED else 0.0
    else:
        information, _ = _normal(model, records, now)
    criterion = _penalised(model, records, now)
    return Fit(model, _inverse(information), criterion, now.noise, converged)


def criterion(model: InnovationsForm, records: Sequence[Transform]) -> float:
    """−2 log L of a model as it stands, with log N for each parameter."""
    if not model.is_invertible():
        return np.inf
    return _penalised(model, records, _state(model, records))


def _penalised(model, records, state: _State) -> float:
    samples = 2 * sum(len(record.z) for record in records)
    return state.value + model.parameters * np.log(samples)


def _two(direct: np.ndarray, conjugate: np.ndarray) -> list[np.ndarray]:
    """Derivatives by real and imaginary part, from those by a number, its conjugate."""
    return [direct + conjugate, 1j * (direct - conjugate)]


def _response(model: InnovationsForm, z: np.ndarray):
    """1/(z − λ) of poles and of conjugates (zero if none), and W⁻¹."""
    poles, shapes, gains, paired = model
    direct = 1 / (z[:, None] - poles)
    mirrored = paired / (z[:, None] - poles.conj())
    W = np.einsum("fr,ri,rj->fij", direct, shapes, gains)
    W += np.einsum("fr,ri,rj->fij", mirrored, shapes.conj(), gains.conj())
    return direct, mirrored, np.linalg.inv(W + np.eye(shapes.shape[1]))


def _leaks(model: InnovationsForm, z: np.ndarray, power: float):
    """1/(1 − (λ/z)^p) and its derivative by λ, of poles and of conjugates."""
    result = []
    for poles, present in ((model.poles, 1.0), (model.poles.conj(), model.paired)):
        ratio = z[:, None] ** -power * poles.astype(complex) ** power
        value = present / (1 - ratio)
        result.append((value, value * power * ratio / poles / (1 - ratio)))
    return result


def _state(model: InnovationsForm, records: Sequence[Transform]) -> _State:
    """Innovations with the likeliest transients; Ω is that of two rounds."""
    raw, leaks = [], []
    responses = [_response(model, z) for z, *_ in records]
    for (z, d, power), (*_, inverse) in zip(records, responses, strict=True):
        leaked, mirrored = (x[0] for x in _leaks(model, z, power))
        leak = np.einsum("fij,rj,fr->fir", inverse, model.shapes, leaked)
        other = np.einsum("fij,rj,fr->fir", inverse, model.shapes.conj(), mirrored)
        both = _two(leak, other)
        leaks.append(np.concatenate([both[0], both[1][:, :, model.paired]], axis=2))
        raw.append(np.einsum("fij,fj->fi", inverse, d))
    innovations, count = raw, sum(map(len, raw))
    for _ in range(2):
        noise = _covariance(innovations)
        white = np.linalg.inv(np.linalg.cholesky(noise))
        transients = [_least(white, k, e) for k, e in zip(leaks, raw, strict=True)]
        innovations = [
            e - k @ t for e, k, t in zip(raw, leaks, transients, strict=True)
        ]
    noise = _covariance(innovations)
    value = 2 * count * np.linalg.slogdet(noise)[1]
    return _State(responses, innovations, leaks, transients, noise, value)


def _covariance(innovations: Sequence[np.ndarray]) -> np.ndarray:
    """Ω, mean Re e e^*, with the least variance of a sensor."""
    e = np.concatenate(innovations)
    return (e.T @ e.conj()).real / len(e) + LEAST_VARIANCE * np.eye(e.shape[1])


def _least(white: np.ndarray, leak: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Real t of least squares of whitened e − leak t."""
    columns = (white @ leak).reshape(e.size, leak.shape[2])
    gram = (columns.conj().T @ columns).real
    right = (columns.conj().T @ (e @ white.T).ravel()).real
    return np.linalg.lstsq(gram, right)[0]


def _normal(model: InnovationsForm, records: Sequence[Transform], state: _State):
    """Information of the parameters, transients eliminated, and slope of −log L."""
    white = np.linalg.inv(np.linalg.cholesky(state.noise))
    information, slope = 0.0, 0.0
    parts = zip(records, *state[:4], strict=True)
    for (z, _, power), response, e, leak, transient in parts:
        of_parameters, cross, gram = 0.0, 0.0, 0.0
        for start in range(0, len(z), FREQUENCIES_PER_BATCH):
            cut = slice(start, start + FREQUENCIES_PER_BATCH)
            at = z[cut], power, *(part[cut] for part in response)
            columns = _slopes(model, white, at, e[cut], transient)
            leaked = (white @ leak[cut]).reshape(e[cut].size, leak.shape[2])
            of_parameters = of_parameters + (columns.conj().T @ columns).real
            cross = cross + (leaked.conj().T @ columns).real
            gram = gram + (leaked.conj().T @ leaked).real
            slope = slope + 2 * (columns.conj().T @ (e[cut] @ white.T).ravel()).real
        information = information + 2 * (
            of_parameters - cross.T @ np.linalg.lstsq(gram, cross)[0]
        )
    return information, slope


def _slopes(model: InnovationsForm, white, at, e, transient) -> np.ndarray:
    """Whitened derivatives of e by all parameters, (frequency channel, parameter).

    `at` frequencies z, with the power of the record and responses there.
    """
    poles, shapes, gains, paired = model
    z, power, direct, mirrored, inverse = at
    (leak, by_pole), (leak_other, by_other) = _leaks(model, z, power)
    inverse = white @ inverse
    moved = transient[: len(poles)].astype(complex)
    moved[paired] += 1j * transient[len(poles) :]
    driven, driven_other = e @ gains.T * direct, e @ gains.conj().T * mirrored
    through = driven + moved * leak
    through_other = driven_other + moved.conj() * leak_other
    turned = driven * direct + moved * by_pole
    turned_other = driven_other * mirrored + moved.conj() * by_other
    response = np.einsum("fik,rk->fir", inverse, shapes)
    seen_other = np.einsum("fik,rk->fir", inverse, shapes.conj())
    pairs = [
        (
            np.einsum("fij,fr->firj", inverse, through),
            np.einsum("fij,fr->firj", inverse, through_other),
        ),
        (
            np.einsum("fir,fj,fr->firj", response, e, direct),
            np.einsum("fir,fj,fr->firj", seen_other, e, mirrored),
        ),
        (
            np.einsum("fir,fr->fir", response, turned),
            np.einsum("fir,fr->fir", seen_other, turned_other),
        ),
    ]
    rows = e.size
    columns = []
    for pair in pairs:
        real, imaginary = _two(*pair)
        imaginary[:, :, ~paired] = 0.0  # what belongs to a real pole is real
        columns += [real.reshape(rows, -1), imaginary.reshape(rows, -1)]
    return -np.concatenate(columns, axis=1)


def _inverse(information: np.ndarray) -> np.ndarray:
    """Pseudo-inverse, parameters scaled to unit information."""
    size = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(information / np.outer(size, size))
    known = values > ROUNDING * values.max(initial=0.0)
    inverse = np.where(known, 1 / np.where(known, values, 1.0), 0.0)
    return (vectors * inverse) @ vectors.T / np.outer(size, size)


def _moved(model: InnovationsForm, step: np.ndarray) -> InnovationsForm:
    """Model with other parameters; what belongs to a real pole stays real."""
    count, width = model.shapes.shape
    parts = np.split(step, np.cumsum([count * width] * 4 + [count]))
    shapes, gains = (
        (parts[i] + 1j * parts[i + 1]).reshape(count, width) for i in (0, 2)
    )
    poles = parts[4] + 1j * parts[5]
    real = ~model.paired
    for one in (shapes, gains, poles):
        one[real] = one[real].real
    return InnovationsForm(
        model.poles + poles, model.shapes + shapes, model.gains + gains, model.paired
    )


class Mode(NamedTuple):
    """Frequency (Hz), damping ratio, their covariance; the shape, largest entry one.

    `shape_std` has the standard errors of real and imaginary parts, (2, channel).
    """

    frequency: float
    damping_ratio: float
    covariance: np.ndarray
    shape: np.ndarray
    shape_std: np.ndarray


def modes_of(fitted: Fit, rate: float, scale: np.ndarray) -> list[Mode]:
    """Modes of the conjugate pairs of a fit at the `rate`, Hz, of rising frequency.

    Errors follow by the delta method; `scale` are the units of the channels.
    """
    poles, shapes, _, paired = fitted.model
    count, width = shapes.shape
    modes = []
    for r in np.flatnonzero(paired):
        rows = 4 * count * width + r + np.array([0, count])
        root, per_pole = rate * np.log(poles[r]), rate / poles[r]
        slopes = np.array([per_pole, 1j * per_pole])
        size = np.abs(root)
        of_size = (root.conj() * slopes).real / size
        of_ratio = -slopes.real / size + root.real * of_size / size**2
        both = np.stack([of_size / (2 * np.pi), of_ratio])
        covariance = both @ fitted.covariance[np.ix_(rows, rows)] @ both.T
        columns = r * width + np.arange(width)
        columns = np.concatenate([columns, columns + count * width])
        shape, std = _normalised(
            scale * shapes[r], scale, fitted.covariance[np.ix_(columns, columns)]
        )
        mode = size / (2 * np.pi), -root.real / size, covariance, shape, std
        modes.append(Mode(*mode))
    return sorted(modes, key=lambda mode: mode.frequency)


def _normalised(shape: np.ndarray, scale, covariance: np.ndarray):
    """Shape over its largest entry, and standard errors of both parts."""
    width, largest = len(shape), int(np.argmax(np.abs(shape)))
    unit = shape / shape[largest]
    slopes = np.diag(scale).astype(complex)
    slopes[:, largest] -= unit * scale[largest]
    slopes = slopes / shape[largest]
    slopes = np.hstack([slopes, 1j * slopes])
    parts = [
        np.sqrt(np.maximum(np.einsum("ia,ab,ib->i", s, covariance, s), 0.0))
        for s in (slopes.real, slopes.imag)
    ]
    std = np.reshape(parts, (2, width))
    std[:, largest] = 0.0
    return unit, std
