"""Identified J, R, B and H: print, evaluate, simulate."""

from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.ports.dae import PortDae
from leastaction.ports.port_structure import Candidates


class StructureModel:
    """What one replicate says of J, R, B and H, or why it does not.

    Parameters
    ----------
    dataset
        One replicate and case, contract ``port_structure``.
    """

    def __init__(self, dataset: xr.Dataset):
        self.dataset = dataset
        self.states = tuple(str(name) for name in dataset["state"].values)

    @cached_property
    def candidates(self) -> Candidates:
        """Candidates of H."""
        return Candidates.of(self.states, [str(t) for t in self.dataset["term"].values])

    @property
    def refusal(self) -> str:
        """Why J, R and H are not told; empty if they are."""
        return str(self.dataset["refusal"].values[0])

    @property
    def structure(self) -> np.ndarray:
        """J; NaN where it is not told."""
        return self.dataset["structure_estimate"].values[0]

    @property
    def dissipation(self) -> np.ndarray:
        """R; NaN where it is not told."""
        return self.dataset["dissipation_estimate"].values[0]

    @property
    def port(self) -> np.ndarray:
        """B."""
        return self.dataset["port_estimate"].values[0]

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients of the candidates of H; NaN where they are not told."""
        return self.dataset["coefficient_estimate"].values[0]

    @property
    def gauge_dimension(self) -> dict[str, float]:
        """Dimension of what data leave open at this model, by what is known."""
        found = self.dataset["gauge_dimension"]
        names = found["assumption"].values.tolist()
        return dict(zip(names, found.values[0].tolist(), strict=True))

    def rates(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ẋ of states (point, state) and inputs (point, port)."""
        drift = self.dataset["drift_estimate"].values[0]
        return self.candidates.values(x)[0] @ drift.T + u @ self.port.T

    @cached_property
    def dae(self) -> PortDae:
        """The identified equation, to be simulated or coupled to others.

        Raises
        ------
        ValueError
            If J, R and H are not told.
        """
        if self.refusal or np.isnan(self.structure).any():
            raise ValueError(self.refusal or "this model has no J, R and H")
        values, weights = self.candidates.values, self.coefficients
        gradient = np.tensordot(weights, self.candidates.tensor, 1)

        def linearised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            g, slopes = values(x)
            return g @ gradient.T, gradient @ slopes

        return PortDae(
            states=self.states,
            flow=np.eye(len(self.states)),
            structure=self.structure,
            dissipation=self.dissipation,
            port=self.port,
            linearised=linearised,
            hamiltonian=lambda x: self.candidates.energies(x) @ weights,
        )

    def __str__(self) -> str:
        lines = [f"Port-Hamiltonian model with states {', '.join(self.states)}"]
        entries = [*self._entries("B", "port")]
        if self.refusal:
            lines.append(f"  J, R and H are not told: {self.refusal}")
        else:
            rows = ("J", "structure"), ("R", "dissipation")
            entries = [e for row in rows for e in self._entries(*row)] + entries
            entries += self._entries("H", "coefficient")
        lines += [f"  {entry}" for entry in entries]
        open_ones = ", ".join(
            f"{value:g} ({name})"
            for name, value in self.gauge_dimension.items()
            if np.isfinite(value)
        )
        if open_ones:
            lines.append(f"  open directions of J, R, B and H: {open_ones}")
        return "\n".join(lines)

    __repr__ = __str__

    def _entries(self, letter: str, name: str) -> list[str]:
        """Entries that are not zero, with standard errors."""
        values = self.dataset[f"{name}_estimate"].values[0]
        errors = self.dataset[f"{name}_std"].values[0]
        found = []
        for place in np.argwhere(np.nan_to_num(values) != 0):
            place = tuple(place)
            if name == "coefficient":
                label = f"{self.dataset['term'].values[place[0]]} in H"
            else:
                label = f"{letter}_{place[0] + 1}{place[1] + 1}"
                if letter in "JR" and place[1] < place[0]:
                    continue
            found.append(f"{label} = {values[place]:.6g} +- {errors[place]:.2g}")
        return found
