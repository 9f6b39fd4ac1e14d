"""Whittle likelihood on bands of frequencies, for linear laws.

Where an instrument is trustworthy on a band alone (an anti-alias filter, AC coupling,
a tone, modes of something else), the likelihood is that of the Fourier coefficients in
the band, which are nearly independent of each other (Whittle 1953):

.. math::  d(f) = Σ_n h_n y_n e^{-2πi f n Δt} / \\sqrt{Σ h_n^2} , \\qquad
           S(f) = H (z - A)^{-1} Q (z - A)^{-*} H^T + R , \\quad z = e^{2πi f Δt} ,

with the mean H (z − A)⁻¹ D(f) of recorded forces D. The spectrum is that of the sampled
motion, aliasing included. Hann's taper keeps the steep spectrum of displacements from
leaking; of its coefficients every second is taken, which are nearly independent.

Real and imaginary parts of d − μ, channel after channel, are innovations like those of
a filter, with half of the conditional variances: all else is
:mod:`~leastaction.ensembles.innovations_likelihood`.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.signal.windows import hann

from leastaction.ensembles.sensor_records import Record
from leastaction.ensembles.state_space import StateSpace, Structure

# Fourier coefficients of a band, at least.
LEAST_COEFFICIENTS = 32


class BandedStateSpace(StateSpace):
    """A linear state-space model whose innovations are Fourier coefficients.

    Arguments are those of the model, and `bands`, pairs of frequencies in Hz. Raises a
    ValueError if these hold too few frequencies of a record.
    """

    read_over = "Hz"
    # Every second coefficient is taken, under Hann's taper.
    correlation_of_neighbours = 1 / 6

    def __init__(self, *model, bands: Sequence[Sequence[float]]):
        super().__init__(*model)
        self.starts = [None] * len(self.records)
        self.transforms = [self._transform(r, bands) for r in self.records]

    @property
    def samples(self) -> int:
        """Fourier coefficients of a channel."""
        return sum(len(f) for f, _ in self.transforms)

    def read(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies and coefficients, real parts, then imaginary ones."""
        places, result = self.transforms[number]
        f = places / (len(self.records[number].y) * self.dt)
        return np.tile(f, 2), np.concatenate([result.real, result.imag])

    def _transform(self, record: Record, bands):
        """Places of the frequencies in a transform, and coefficients by channel."""
        count = len(record.y)
        f = np.fft.rfftfreq(count, self.dt)
        inside = np.zeros(len(f), dtype=bool)
        for low, high in bands:
            inside |= (f >= low) & (f <= high)
        places = np.flatnonzero(inside)[::2]
        if len(places) < LEAST_COEFFICIENTS:
            raise ValueError(
                f"the bands {list(map(list, bands))} Hz hold {len(places)} frequencies "
                f"of a record of {count * self.dt:.3g} s; expected at least "
                f"{LEAST_COEFFICIENTS}. Widen them, or record longer"
            )
        y = np.nan_to_num(record.y - np.nanmean(record.y, axis=0))
        return places, tapered(y)[places]

    def innovations(self, structure: Structure, theta: np.ndarray, order: int = 2):
        """As of a filter: real parts of all coefficients, then imaginary ones."""
        parameters = self.parameters(structure, theta)
        law = self.discrete(structure, parameters)
        if law is None or not self.linear[list(structure.columns)].all():
            return lambda number: None
        size = len(law.transition)

        def of_record(number: int):
            places, coefficients = self.transforms[number]
            count = len(self.records[number].y)
            z = np.exp(2j * np.pi * places / count)
            try:
                inverse = np.linalg.inv(
                    z[:, None, None] * np.eye(size) - law.transition
                )
            except np.linalg.LinAlgError:
                return None
            transfer = law.sees @ inverse
            spectrum = transfer @ law.covariance @ transfer.conj().transpose(0, 2, 1)
            spectrum = spectrum + np.diag(parameters.noise)
            drive, offset = self.forced(law, number)
            miss = coefficients.copy()
            if len(drive) > 1:
                pushed = tapered(np.vstack([drive, drive[-1:]]))[places]
                transform = tapered(np.resize(offset, (count, offset.shape[1])))[places]
                miss -= (transfer @ pushed[:, :, None])[:, :, 0] + transform
            return _sequential(miss, spectrum)

        return of_record


@lru_cache(maxsize=4)
def _taper(count: int) -> np.ndarray:
    return hann(count, sym=False)


def tapered(y: np.ndarray) -> np.ndarray:
    """Fourier coefficients under Hann's taper, of the variance of the density."""
    taper = _taper(len(y))
    return np.fft.rfft(taper[:, None] * y, axis=0) / np.sqrt(np.sum(taper**2))


def _sequential(miss: np.ndarray, spectrum: np.ndarray):
    """Innovations of each channel given those before it, (2 frequency, channel)."""
    try:
        root = np.linalg.cholesky(spectrum)
    except np.linalg.LinAlgError:
        return None
    size = np.real(np.einsum("fcc->fc", root))
    e = np.linalg.solve(root, miss[:, :, None])[:, :, 0] * size
    V = size**2 / 2
    return np.concatenate([e.real, e.imag]), np.concatenate([V, V])
