"""Identified port-Hamiltonian equations: print, evaluate, simulate."""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.core import families
from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import interval
from leastaction.ports.contracts import TWICE, expected_gain
from leastaction.ports.dae import PortDae
from leastaction.ports.effort_data import training_set
from leastaction.ports.port_structure import Candidates


class PortModel:
    """One fit of the efforts z(x), with what was known of the system.

    Of a dataset of one replicate, such as of the contract ``effort_gradient``, fit
    number `fit`: by itself the largest training set of all times.
    """

    def __init__(self, dataset: xr.Dataset, fit: int | None = None):
        self.dataset = dataset
        if fit is None:
            sizes = np.where(dataset["pool"] == "all", dataset["training_size"], 0)
            fit = int(np.argmax(sizes))
        self.fit = fit

    def trained_on(self, size: int, pool: str = "all") -> "PortModel":
        """Fit to a training set of that size.

        Raises
        ------
        KeyError
            If there is none.
        """
        sizes, pools = self.dataset["training_size"].values, self.dataset["pool"].values
        result = np.flatnonzero((sizes == size) & (pools == pool))
        if not result.size:
            raise KeyError(
                f"no fit to {size} samples of {pool} times; there are "
                f"{[*zip(sizes.tolist(), pools.tolist(), strict=True)]}"
            )
        return PortModel(self.dataset, int(result[0]))

    @property
    def training_size(self) -> int:
        """Samples that this fit has seen."""
        return int(self.dataset["training_size"].values[self.fit])

    @cached_property
    def training_data(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (sample, state) and targets (sample, row)."""
        return training_set(self.dataset, self.fit)

    @cached_property
    def _fitted(self):
        efforts = families.registered("EFFORTS")[self.dataset.attrs["contract"]]
        return families.implementation(efforts)(self.dataset, self.fit)

    def efforts(self, x) -> np.ndarray:
        """Posterior mean of z, shape (point, effort)."""
        return self._fitted.linearised(np.atleast_2d(x))[0]

    def transformed(self, x) -> np.ndarray:
        """Posterior mean of (J − R) z, shape (point, row)."""
        return self.efforts(x) @ self.dae.transformation.T

    def jacobian(self, x) -> np.ndarray:
        """Posterior mean of ∂z/∂x, shape (point, effort, state)."""
        return self._fitted.linearised(np.atleast_2d(x))[1]

    def covariance(self, x) -> np.ndarray:
        """Posterior covariance of z at each point, shape (point, effort, effort)."""
        return self._fitted.covariance(np.atleast_2d(x))

    @property
    def hamiltonian(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """H of states (point, state); None where efforts are no gradient."""
        return getattr(self._fitted, "hamiltonian", None)

    @cached_property
    def dae(self) -> PortDae:
        """The identified equation, to be simulated or coupled to others.

        Known constraints are part of it only where the efforts were learned with them.
        """
        known = ("flow", "structure", "dissipation", "port")
        return PortDae(
            tuple(str(name) for name in self.dataset["state"].values),
            *(self.dataset[f"{name}_matrix"].values for name in known),
            linearised=self._fitted.linearised,
            hamiltonian=self.hamiltonian,
            constraint=getattr(self._fitted, "constraint", None),
        )

    def __str__(self) -> str:
        x, y = self.training_data
        error = np.sqrt(((self.transformed(x) - y) ** 2).mean(axis=0))
        residual = ", ".join(f"{value:.2g}" for value in error)
        lines = [
            f"Port-Hamiltonian model with states {', '.join(self.dae.states)}",
            f"  E dx/dt = (J - R) z(x) + B u; z from {self.training_size} samples",
            *self._fitted.lines(),
            f"  residual of (J - R) z, rms by row: {residual}",
        ]
        return "\n".join(lines)

    __repr__ = __str__


class StructureModel:
    """What one replicate and case says of J, R, B and H, or why it does not.

    The dataset has the contract ``port_structure``.
    """

    def __init__(self, dataset: xr.Dataset):
        self.dataset = dataset
        self.states = tuple(str(name) for name in dataset["state"].values)
        terms = [str(text) for text in dataset["term"].values]
        self.candidates = Candidates.of(self.states, terms)

    def _first(self, name: str):
        return self.dataset[name].values[0]

    @property
    def refusal(self) -> str:
        """Why J, R and H are not identified; empty if they are."""
        return str(self._first("refusal"))

    @property
    def structure(self) -> np.ndarray:
        """J; NaN where it is not identified."""
        return self._first("structure_estimate")

    @property
    def dissipation(self) -> np.ndarray:
        """R; NaN where it is not identified."""
        return self._first("dissipation_estimate")

    @property
    def port(self) -> np.ndarray:
        """B."""
        return self._first("port_estimate")

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients of the candidates of H; NaN where they are not identified."""
        return self._first("coefficient_estimate")

    @property
    def gauge_dimension(self) -> dict[str, float]:
        """Dimension of what data leave open at this model, by what is known."""
        names = self.dataset["assumption"].values.tolist()
        return dict(zip(names, self._first("gauge_dimension").tolist(), strict=True))

    @property
    def gain(self) -> float:
        """Error of motions without structure over that with it, of the same terms.

        :func:`expected_gain`; NaN where J, R and H are not identified.
        """
        return float(expected_gain(self.dataset)[0])

    def rates(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ẋ of states (point, state) and inputs (point, port)."""
        (of_g, of_u), g = self._weights, self.candidates.values(x)[0]
        return g @ of_g + u @ of_u

    @cached_property
    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Matrices of :meth:`rates`, which integrators call at every stage."""
        return self._first("drift_estimate").T, self.port.T

    @cached_property
    def dae(self) -> PortDae:
        """The identified equation, to be simulated or coupled to others.

        Raises
        ------
        ValueError
            If J, R and H are not identified.
        """
        if self.refusal or np.isnan(self.structure).any():
            raise ValueError(self.refusal or "this model has no J, R and H")
        values, weights = self.candidates.values, self.coefficients
        gradient = np.tensordot(weights, self.candidates.tensor, 1)

        def linearised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            g, slopes = values(x)
            return g @ gradient.T, gradient @ slopes

        return PortDae(
            self.states,
            np.eye(len(self.states)),
            self.structure,
            self.dissipation,
            self.port,
            linearised=linearised,
            hamiltonian=lambda x: self.candidates.energies(x) @ weights,
        )

    def __str__(self) -> str:
        name = f"Port-Hamiltonian model with states {', '.join(self.states)}"
        shown = {"J": "structure", "R": "dissipation", "B": "port", "H": "coefficient"}
        known = {n: x for n, x in self.gauge_dimension.items() if np.isfinite(x)}
        if self.refusal:
            first = f"No law found: {self.refusal}"
            if not known:  # the form is rejected, and nothing in it means anything
                return f"{first}\n{name}"
            lines, shown = [first, name], {"B": "port"}
        else:
            lines = [name, *self._fit_text()]
        lines += [
            f"  {entry}" for row in shown.items() for entry in self._entries(*row)
        ]
        if known:
            texts = (f"{x:g} ({assumption})" for assumption, x in known.items())
            lines.append(f"  free parameters of J, R, B and H: {', '.join(texts)}")
        if self.gain >= TWICE:
            lines.append(f"  {self._gain_text()}")
        return "\n".join(lines)

    __repr__ = __str__

    def _fit_text(self) -> list[str]:
        """How well the form fits; nothing of a regression without structure."""
        ratio, p = self._first("chi_square_ratio"), self._first("form_p_value")
        if not np.isfinite(p):
            return []
        fit = f"chi-square over degrees of freedom {ratio:.3g}"
        return [f"  {fit}, goodness of fit p = {p:.2g}"]

    def _gain_text(self) -> str:
        """What structure is worth for the motions."""
        count, equations = self._first("coefficients"), self._first("equations")
        return (
            f"structure imposes {equations:g} equations on {count:g} coefficients: "
            f"errors of free runs are {self.gain:.2g} times smaller than without"
        )

    def _entries(self, letter: str, name: str) -> Iterator[str]:
        """Entries that are not zero, with intervals of 95 %."""
        values, errors = self._first(f"{name}_estimate"), self._first(f"{name}_std")
        for place in map(tuple, np.argwhere(np.nan_to_num(values) != 0)):
            if letter in "JR" and place[1] < place[0]:
                continue
            label = f"{letter}_{''.join(str(i + 1) for i in place)}"
            if letter == "H":
                label = f"{self.dataset['term'].values[place[0]]} in H"
            width = NORMAL_QUANTILE * errors[place]
            yield f"{label} = {interval(values[place], width)}"
