"""An identified line: its density, its modes, and what its sensors read next."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import interval
from leastaction.ensembles.state_space import Structure
from leastaction.likelihood.field_sensors import Readings, likelihood_of
from leastaction.likelihood.field_state_space import (
    SPARE,
    FieldCandidates,
    Line,
    Modal,
    sensor_of,
)

# Modes that are printed.
MOST_SHOWN = 6


@dataclass(frozen=True, eq=False, repr=False)
class SensedField:
    """Density and Rayleigh density of a line, its random force and its sensors."""

    dataset: xr.Dataset

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> "SensedField":
        """Model of one replicate, contract ``sensed_field``."""
        return cls(dataset)

    def number(self, name: str) -> float:
        """A number of the fit."""
        return float(self.dataset[name].values[0])

    @cached_property
    def candidates(self) -> FieldCandidates:
        """Candidates of L and D."""
        about = self.dataset.attrs
        parts = (tuple(np.atleast_1d(about[k])) for k in ("lagrangian", "dissipation"))
        of_l, of_d = (tuple(map(str, part)) for part in parts)
        return FieldCandidates(str(about["field"]), of_l, of_d, str(about["reference"]))

    @property
    def line(self) -> Line:
        """The line and its ends."""
        about = self.dataset.attrs
        return Line.of(about["domain_length"], about["domain_ends"])

    @property
    def columns(self) -> list[int]:
        """Candidates of the law among those of L, then of D."""
        return self.dataset["column"].values[0].astype(int).tolist()

    @property
    def std(self) -> np.ndarray:
        """Standard errors of the parameters."""
        return np.sqrt(np.diag(self.dataset["covariance"].values[0]))

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Coefficients of all candidates of L, then of D."""
        candidates = self.candidates
        result = np.zeros(len(candidates.lagrangian) + len(candidates.dissipation))
        for place, value in candidates.references:
            result[place] = value
        result[self.columns] = self.dataset["theta"].values[0][: len(self.columns)]
        return result

    @cached_property
    def modal(self) -> Modal:
        """Ritz matrices; the sensors are where they were."""
        count = int(self.number("kept")) + 2 * SPARE
        sensors = [str(text) for text in np.atleast_1d(self.dataset.attrs["sensors"])]
        places = [sensor_of(text)[2] for text in sensors]
        return Modal.of(self.candidates, self.line, places, count)

    @cached_property
    def modes(self) -> np.ndarray:
        """Frequencies (Hz), damping ratios, and standard errors of both: (4, mode).

        Undamped shapes; the errors follow from those of the coefficients.
        """
        count, modal = int(self.number("kept")), self.modal
        squares, vectors = modal.modes(self.coefficients)
        squares, vectors = np.maximum(squares[:count], 1e-12), vectors[:, :count]
        forms = np.einsum(
            "ar,iab,br->ir",
            vectors,
            np.concatenate([modal.stiffness, modal.damping]),
            vectors,
        )
        omega, of_l = np.sqrt(squares), len(modal.stiffness)
        rate = self.coefficients[of_l:] @ forms[of_l:]
        ratio = rate / (2 * omega)
        slopes = np.zeros((2, len(self.columns), count))
        for k, column in enumerate(self.columns):
            if column < of_l:
                slopes[0, k] = forms[column] / (2 * omega)
                slopes[1, k] = -ratio / omega * slopes[0, k]
            else:
                slopes[1, k] = forms[column] / (2 * omega)
        size = len(self.columns)
        covariance = self.dataset["covariance"].values[0][:size, :size]
        error = np.sqrt(np.einsum("pkr,kl,plr->pr", slopes, covariance, slopes))
        return np.array([omega, ratio, *error]) / np.c_[[2 * np.pi, 1, 2 * np.pi, 1]]

    def innovations(self, readings: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
        """Errors of one-step predictions of readings, and variances of these errors.

        Both have the shape (trajectory, time, channel); contract ``field_readings``.
        """
        sensed, count = Readings.of(readings), int(self.number("kept"))
        model = likelihood_of(
            self.candidates, self.modal, sensed, self.coefficients, count
        ).model
        law = Structure(tuple(self.columns), "equal"), self.dataset["theta"].values[0]
        model.records = model.centred(*law)
        of_record = model.innovations(*law)
        filtered = [of_record(k) for k in range(len(sensed.records))]
        if any(one is None for one in filtered):
            nothing = np.full_like(readings["reading"].values[0], np.inf)
            return nothing, np.ones_like(nothing)
        errors, variances = (np.array(part) for part in zip(*filtered, strict=True))
        return errors, variances

    def __str__(self) -> str:
        lines = ["Modes", "      frequency (Hz)        damping ratio (%)"]
        for k, (f, ratio, f_std, ratio_std) in enumerate(self.modes.T[:MOST_SHOWN]):
            half = NORMAL_QUANTILE * np.array([f_std, 100 * ratio_std])
            both = interval(f, half[0]), interval(100 * ratio, half[1])
            lines.append(f"  {k + 1}   {both[0]:<20}  {both[1]}")
        size = len(self.columns)
        theta = self.dataset["theta"].values[0]
        sensors = np.atleast_1d(self.dataset.attrs["sensors"])
        units = np.atleast_1d(self.dataset.attrs["units"])
        lines += ["Noise of the sensors"]
        lines += [
            f"  {name}: {noise:.3g} {unit}"
            for name, noise, unit in zip(
                sensors, np.exp(theta[size + 1 :]), units, strict=True
            )
        ]
        return "\n".join(lines)
