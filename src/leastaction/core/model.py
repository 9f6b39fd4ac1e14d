"""The identified model: load it, print it, derive from it, simulate it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from sys import float_info
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp
import xarray as xr
from numpy.typing import ArrayLike

from leastaction.core import files
from leastaction.core.contracts import check, contracts
from leastaction.core.estimate import interval_factor
from leastaction.core.expressions import RAISED, parse, symbol
from leastaction.core.families import (
    implementation,
    registered,
    states_arguments,
    system_class,
    unknown,
)
from leastaction.core.library import Comparison, Library, compare
from leastaction.core.symmetries import Symmetry, symmetries_of_terms
from leastaction.core.system import DIGITS, System, latex_names

if TYPE_CHECKING:
    import pandas as pd

# Smallest volatility of a model whose S² is not a square, in units of its rms value.
FLOOR = 1e-3
# Velocity, over the largest of the motion, at which Coulomb friction turns around.
SLIDING = 1e-3
TOLERANCE = 1e-11
# p-value of a test of the form below which a law is printed with a reservation: one
# right law in a thousand has it, too.
LEAST_P_VALUE = 1e-3
MOST_MOMENTS_NAMED = 3
# States at which the symmetries of a law are decided, where no motion is given.
SAMPLES_OF_SYMMETRIES = 1000
# Powers of ten that numbers are written without.
PLAIN_EXPONENTS = range(-4, 6)
_LOWERED = {raised: digit for digit, raised in RAISED.items()}
_POWER = re.compile("·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")


def load(
    path: str | Path,
    replicate: int = 0,
    noise_level: float | None = None,
    noise_mode: str | None = None,
) -> "IdentifiedModel":
    """Load a saved law or model; of several replicates, or cases of a sweep, one.

    Parameters
    ----------
    path
        Of the file.
    replicate
        Number of the replicate, counted from 0.
    noise_level, noise_mode
        Case of a sweep; the lowest level and the first mode if None.

    Returns
    -------
    Law, IdentifiedModel, or another class
        What was saved: a :class:`~leastaction.Law` with its data, verdict and figures.
        A ``model.nc`` of the workflow is an :class:`~leastaction.IdentifiedModel`;
        families have classes of their own for what has no terms.

    Raises
    ------
    ContractError
        If the file is absent, is not readable or holds something else.
    IndexError, ValueError
        If the file has fewer replicates, or no such case.

    Examples
    --------
    >>> import tempfile, leastaction as la
    >>> time = np.arange(0, 4, 0.01)
    >>> motion = {"x": np.cos(2 * time), "xdot": -2 * np.sin(2 * time)}
    >>> library = {"reference": "xdot**2/2", "lagrangian": ["xdot**2", "x**2", "x**4"]}
    >>> recipe = la.recipes.trajectories.recommended()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recipe.fit(motion, library, time=time).save(f"{folder}/model.nc")
    ...     model = load(f"{folder}/model.nc")
    >>> model.support
    ['xdot**2', 'x**2']
    """
    dataset, parts = files.load(path), files.load_parts(path)
    for name, reference in registered("SAVED_WITH").items():
        if name in parts:
            return implementation(reference)(dataset, parts)
    return model_of(dataset, replicate, noise_level, noise_mode, str(path))


def model_of(
    dataset: xr.Dataset,
    replicate: int = 0,
    noise_level: float | None = None,
    noise_mode: str | None = None,
    source: str = "the dataset",
):
    """Model of one replicate, and case, of what was identified.

    Arguments, class and errors as of :func:`load`; these call it `source`.
    """
    reference = contracts()[dataset.attrs["contract"]].model
    if reference is None:
        check(dataset, "model", source)
    count = dataset.sizes["replicate"]
    if not 0 <= replicate < count:
        raise IndexError(f"{source} has replicates 0 ... {count - 1}, not {replicate}")
    dataset = _case(dataset, source, noise_level, noise_mode)
    return implementation(reference)(dataset.isel(replicate=[replicate]))


@states_arguments
class IdentifiedModel:
    """Identified Lagrangian, Rayleigh function and volatility, with standard errors.

    ``print(model)`` shows them with the equations of motion and the Hamiltonian;
    :attr:`system` is the same kind of object as a simulated truth.

    Parameters
    ----------
    dataset
        Contract ``model``; the first of several replicates counts.

    Examples
    --------
    >>> import leastaction as la
    >>> time = np.arange(0, 4, 0.01)
    >>> motion = {"x": np.cos(2 * time), "xdot": -2 * np.sin(2 * time)}
    >>> library = {"reference": "xdot**2/2", "lagrangian": ["xdot**2", "x**2", "x**4"]}
    >>> model = la.recipes.trajectories.recommended().fit(motion, library, time=time)
    >>> round(model.coefficient("x**2"), 6), model.coefficient("x**4")
    (-2.0, 0.0)
    >>> model.predict([1.0], [0.0], [0.0, np.pi]).q.values.round(4)[-1]
    array([1.])
    """

    def __init__(self, dataset: xr.Dataset):
        single = "replicate" not in dataset.dims
        self.dataset = dataset if single else dataset.isel(replicate=0)
        self._saved = dataset

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the generalised coordinates, or of the field."""
        return system_class(self.dataset.attrs).coordinates_of(self.dataset)

    @property
    def support(self) -> list[str]:
        """Selected terms, the reference term among them."""
        chosen = self.dataset["support"].values.astype(bool)
        return [str(t) for t in self.dataset["term"].values[chosen]]

    def coefficient(self, term: str, of: str = "L") -> float:
        """Estimate of the coefficient of a term, zero if it was not selected.

        Parameters
        ----------
        term
            As a candidate is written, such as ``xdot**2``; of a constant volatility the
            name of the coordinate.
        of
            ``L``, ``D`` (Rayleigh function), ``S`` (volatility) or ``S^2``.

        Raises
        ------
        ValueError
            If it is no candidate.
        """
        return self._of_term(term, of)[0]

    def standard_error(self, term: str, of: str = "L") -> float:
        """Standard error of the coefficient of a term; arguments and errors as there.

        Zero if the coefficient was given, NaN if the method has none.
        """
        return self._of_term(term, of)[1]

    def _of_term(self, term: str, of: str) -> tuple[float, float]:
        functions = ("L", "D", "S", "S^2")
        if of not in functions:
            raise ValueError(unknown("function", of, functions))
        if of in "LD":
            kind = {"L": "", "D": "dissipation_"}[of]
            parts = ("term", "coefficient_estimate", "coefficient_std")
            rows = zip(
                *(self.dataset[kind + n].values.tolist() for n in parts), strict=True
            )
        else:
            rows = (row for kind, *row in self._sums() if kind == of)
        estimates = {name: (value, error) for name, value, error in rows}
        if term not in estimates:
            raise ValueError(unknown(f"candidate of {of}", term, estimates))
        return estimates[term]

    @property
    def system(self) -> System:
        """The model as a :class:`~leastaction.System`; coefficients are parameters."""
        data, parameters = self.dataset, {}
        values = np.where(data["support"], data["coefficient_estimate"], 0.0)
        lagrangian = self._sum("c", "term", values, parameters)
        kind = system_class(data.attrs)
        if kind is not System:
            return kind.from_estimates(data, lagrangian, parameters)
        values = data["dissipation_coefficient_estimate"].values
        return System(
            coordinates=self.coordinates,
            lagrangian=lagrangian,
            dissipation=self._sum("d", "dissipation_term", values, parameters),
            volatility=self._volatility(parameters),
            calculus=data.attrs.get("calculus", "ito"),
            parameters=parameters,
            inputs=self.inputs,
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Coordinates with a recorded force, ``F_x`` in the equation of ``x``."""
        return ()

    def _functions(self, kind: str, values: np.ndarray) -> dict[int, sp.Expr]:
        """Candidates of a kind whose values are not zero, by position."""
        names = system_class(self.dataset.attrs).names_of(self.coordinates)
        texts = self.dataset[kind].values
        return {i: parse(str(texts[i]), names) for i in np.flatnonzero(values)}

    def _sum(self, name: str, kind: str, values, parameters: dict) -> sp.Expr:
        """Σ ``name_i`` f_i over values that are not zero, which join `parameters`."""
        total = sp.Integer(0)
        for i, function in self._functions(kind, values).items():
            parameters[f"{name}_{i}"] = float(values[i])
            total += symbol(f"{name}_{i}") * function
        return total

    def _volatility(self, parameters: dict[str, float]) -> sp.Matrix:
        """Symmetric root of the noise covariance, or a diagonal of Σ ρ G or √(Σ β G).

        A sum Σ β G that may be negative is replaced by ½ (Σ β G + √((Σ β G)² + 4 f⁴)),
        its positive part with a smooth floor f² of the squared volatility.
        """
        dof = len(self.coordinates)
        matrix = sp.zeros(dof, dof)
        if self._constant_volatility:
            root = _symmetric_root(self.dataset["noise_covariance"].values)
            for a, b in np.argwhere(root).tolist():
                parameters[f"sigma_{a}_{b}"] = float(root[a, b])
                matrix[a, b] = symbol(f"sigma_{a}_{b}")
            return matrix
        beta = self.dataset["volatility_coefficient_estimate"].values
        root = self.dataset["volatility_root_estimate"].values
        kind = "volatility_term"
        for a in range(dof):
            if np.isfinite(root[a]).all():
                matrix[a, a] = self._sum(f"rho_{a}", kind, root[a], parameters)
                continue
            total = self._sum(f"beta_{a}", kind, beta[a], parameters)
            parts = self._functions(kind, beta[a]).items()
            if not all(beta[a][i] > 0 and f.is_nonnegative for i, f in parts):
                level = float(self.dataset["volatility_estimate"][a])
                parameters[f"floor_{a}"] = (FLOOR * level) ** 2
                floor = symbol(f"floor_{a}")
                total = (total + sp.sqrt(total**2 + 4 * floor**2)) / 2
            matrix[a, a] = sp.sqrt(total)
        return matrix

    def latex(self, **labels: str) -> str:
        """L, D and the equations of motion as LaTeX; see `latex`."""
        return latex(self.system, labels)

    @property
    def sympy(self) -> dict[str, sp.Expr | sp.Matrix]:
        """L, D, S, H and the accelerations as SymPy, numbers put in.

        A recorded force of ``x`` is the symbol ``F_x`` in the accelerations.
        """
        system = self.system
        parts = {
            "lagrangian": system.lagrangian,
            "dissipation": system.dissipation,
            "volatility": system.volatility,
            "hamiltonian": system.hamiltonian,
            "acceleration": system.driven_acceleration,
        }
        return {name: system.evaluated(part) for name, part in parts.items()}

    @property
    def equations(self) -> list[str]:
        """Equations of motion as text that SymPy reads, in all digits, SI units.

        ``F_x`` is the generalised force of a recorded input of ``x``, ``Wdot_1`` white
        noise of strength one.
        """
        system = self.system
        both = [(e.lhs, system.evaluated(e.rhs)) for e in system.equations_of_motion]
        return [f"{left} = {right}" for left, right in both]

    def function(self) -> Callable:
        """Accelerations as a plain function of NumPy arrays.

        ``acceleration(q, qdot, force=0)`` takes and returns arrays (..., dof), in SI
        units; ValueError if these have another last length.
        """
        return acceleration_function(self.system)

    def predict(
        self,
        q: ArrayLike,
        qdot: ArrayLike,
        time: ArrayLike,
        force: Callable[[float], ArrayLike] | None = None,
    ) -> xr.Dataset:
        """Motion from a state at given times, noise left out.

        Parameters
        ----------
        q, qdot
            Initial state, shape (dof,), SI units.
        time
            Times, s; the first is that of the state.
        force
            ``force(t)`` gives the generalised input, shape (dof,), if there is one.

        Returns
        -------
        xr.Dataset
            `q` and `qdot` over (time, dof).

        Raises
        ------
        ValueError
            If shapes do not fit, or the motion does not stay finite.
        """
        q, qdot = simulate(self.system, q, qdot, time, force)
        dims = ("time", "dof")
        return xr.Dataset(
            {"q": (dims, q), "qdot": (dims, qdot)},
            coords={"time": np.asarray(time, dtype=float), "dof": [*self.coordinates]},
        )

    simulate = predict

    @property
    def symmetries(self) -> list[Symmetry]:
        """Affine symmetries of L, on states of size one; see `symmetries_on`."""
        rng = np.random.default_rng(0)
        return self.symmetries_on(
            *rng.standard_normal((2, SAMPLES_OF_SYMMETRIES, len(self.coordinates)))
        )

    def symmetries_on(self, q: ArrayLike, qdot: ArrayLike) -> list[Symmetry]:
        """Translations, rotations and other affine maps that leave L unchanged.

        On states `q`, `qdot` of the motion, shape (sample, dof): found or undecided
        ones, or the nearest if L has none; see :mod:`leastaction.core.symmetries`.
        ValueError if the states have another shape.
        """
        states = [np.asarray(x, dtype=float) for x in (q, qdot)]
        if {x.shape for x in states} != {(len(states[0]), len(self.coordinates))}:
            raise ValueError(
                f"q and qdot have the shapes {states[0].shape} and {states[1].shape}; "
                f"expected (sample, {len(self.coordinates)}) of both"
            )
        functions = self._functions("term", self.dataset["support"].values)
        values, errors = (
            self.dataset[f"coefficient_{what}"].values[list(functions)]
            for what in ("estimate", "std")
        )
        terms = list(functions.values())
        return symmetries_of_terms(terms, values, errors, *states, self.system.state)

    def score(self, truth: System) -> Comparison:
        """Terms and coefficients beside those of a known system.

        Gauge and identities between candidates do not count, nor does a scale that no
        measured force gives. ValueError if the candidates cannot express the truth.
        """
        if not isinstance(truth, System) or truth.coordinates != self.coordinates:
            raise ValueError(
                "the truth is no leastaction.System with the coordinates "
                f"{', '.join(self.coordinates)}"
            )
        law = truth.evaluated(truth.lagrangian + truth.dissipation)
        left = sorted(str(x) for x in law.free_symbols - set(truth.state))
        if left:
            raise ValueError(
                f"{', '.join(left)} of the truth has no value; write "
                f"truth.with_parameters({left[0]}=1.0)"
            )
        data = self.dataset
        names = System.names_of(self.coordinates)
        kinds = ("", "dissipation_")
        terms, losses = (
            tuple(parse(str(t), names) for t in data[f"{kind}term"].values)
            for kind in kinds
        )
        estimates = [data[f"{kind}coefficient_estimate"].values for kind in kinds]
        estimates = np.concatenate(estimates)
        fixed = np.flatnonzero(data["coefficient_std"].values == 0)
        kinetic = [i for i, term in enumerate(terms) if term.has(*truth.qdot)]
        for reference in [*fixed, *kinetic]:
            scale = estimates[reference] if reference in fixed else 1.0
            references = ((int(reference), float(scale)),)
            library = Library(self.coordinates, terms, references, dissipation=losses)
            projection = library.projection(truth)
            damping = projection and library.damping(truth, projection[1])
            if damping is not None:
                true = np.concatenate([projection[0], damping])
                measured = bool(self.inputs) and not len(fixed)
                true = true / projection[1] if measured else true
                free = not len(fixed) and not measured
                return compare(estimates, true, library, fit_scale=free)
        raise ValueError(
            "the candidates of the model cannot express the truth; "
            f"{', '.join(map(str, terms))} give no {truth.lagrangian}"
        )

    def save(self, path: str | Path) -> None:
        """Write ``model.nc``, which :func:`leastaction.load` reads."""
        files.save(self._saved, path, "model")

    @property
    def terms(self) -> "pd.DataFrame":
        """What was found, a row by term, in SI units.

        Columns are the `term`, the function `of` it (L, D, and S of a random force: its
        volatility by coordinate where that is constant, else the terms of S, or of S²
        as ``S^2``), the coefficient as `value`, its standard error `std`, the 95 %
        interval from `low` to `high`, and the `unit`, empty if it is not known. A `std`
        of zero means that the coefficient is fixed, NaN that the method has none.
        """
        import pandas as pd

        unit_of = self._unit_of()
        rows = [(n, kind, x, std, unit_of(kind, n)) for kind, n, x, std in self._sums()]
        table = pd.DataFrame(rows, columns=["term", "of", "value", "std", "unit"])
        return with_intervals(table, self.interval_factor)

    def _unit_of(self) -> Callable[[str, str], str]:
        """Unit of the coefficient of a term of a kind."""
        return lambda kind, term: ""

    @property
    def interval_factor(self) -> float:
        """Standard errors in half an interval of 95 %."""
        return interval_factor(self.dataset)

    def _sums(self) -> list[tuple[str, str, float, float]]:
        """Kind, term, coefficient and standard error of what was found."""
        sums = [
            ("L", *self._sum_of("coefficient", "term")),
            ("D", *self._sum_of("dissipation_coefficient", "dissipation_term")),
        ]
        if not self._constant_volatility:
            sums += self._volatility_laws()
        elif self.dataset["volatility_estimate"].values.any():
            sums.append(("S", *self._sum_of("volatility", "dof")))
        return [
            (kind, str(name), float(value), float(error))
            for kind, *columns in sums
            for value, error, name in zip(*columns, strict=True)
        ]

    @property
    def _constant_volatility(self) -> bool:
        return bool(self.dataset["volatility_is_constant"].values.all())

    def _volatility_laws(self) -> list[tuple]:
        """Of each coordinate S, or where that is not known S²: kind, and `_sum_of`."""
        roots = np.isfinite(self.dataset["volatility_root_estimate"].values)
        laws = [("S", "root") if k else ("S^2", "coefficient") for k in roots.all(1)]
        return [
            (kind, *self._sum_of(f"volatility_{name}", "volatility_term", i))
            for i, (kind, name) in enumerate(laws)
        ]

    def _sum_of(self, variable: str, terms: str, *place: int) -> tuple:
        """Values, standard errors and names of the terms that are not zero."""
        values = self.dataset[f"{variable}_estimate"].values[place]
        errors, nonzero = self.dataset[f"{variable}_std"].values[place], values != 0
        return values[nonzero], errors[nonzero], self.dataset[terms].values[nonzero]

    def latex_terms(self) -> str:
        """L, D and S as LaTeX, each coefficient with its 95 % interval."""
        names = latex_names(self.coordinates)
        variables = system_class(self.dataset.attrs).names_of(self.coordinates)
        sums: dict[str, list[str]] = {}
        for kind, term, value, error in self._sums():
            number, width = rounded(value, self.interval_factor * error)
            sign = "-" if number.startswith("-") else "+"
            number = number.removeprefix("-")
            if width:
                number = rf"({number} \pm {width})"
            number = _POWER.sub(_latex_power, number)
            is_name = kind == "S" and term in self.coordinates
            function = parse(term, variables)
            shown = sp.latex(function, symbol_names=names)
            if function.is_Add or function.could_extract_minus_sign():
                shown = rf"\left({shown}\right)"
            shown = rf"\dot W_{{{shown}}}" if is_name else shown
            shown = "" if shown == "1" else rf"\,{shown}"
            sums.setdefault(kind, []).append(f"{sign} {number}{shown}")
        return _aligned(
            f"{kind} &= {' '.join(parts).removeprefix('+ ')}"
            for kind, parts in sums.items()
        )

    def _repr_markdown_(self) -> str:
        if self.not_identifiable or not self.system.has_equations:
            return f"```text\n{self}\n```"
        return f"$$\n{self.latex_terms()}\n$$\n\n```text\n{self}\n```"

    @property
    def not_identifiable(self) -> str:
        """What the data do not determine, and why; empty if they determine all."""
        return str(self.dataset.get("identifiability", xr.DataArray("")).values)

    def __str__(self) -> str:
        data, names = self.dataset, self.coordinates
        factor, terms = self.interval_factor, self._sum_of("coefficient", "term")
        lines = [f"Reservation: {self.misfit}"] if self.misfit else []
        lines.append("Terms of the Lagrangian, with 95 % intervals")
        lines += _listed(*terms, factor, certain=" (fixed)")
        if self.not_identifiable:
            return "\n".join([*lines, f"Not identifiable: {self.not_identifiable}"])
        damping = self._sum_of("dissipation_coefficient", "dissipation_term")
        lines += _titled("Terms of the dissipation", factor, *damping)
        lines += self._trust()
        if alternatives := str(data["alternatives"].values):
            lines.append(
                f"The data cannot distinguish these terms from: {alternatives}"
            )
        constant = self._constant_volatility
        values = data["volatility_estimate"].values
        if values.any():
            lines.append("Volatility" + ("" if constant else ", root mean square"))
            lines += _listed(values, data["volatility_std"].values, names, factor)
        if not constant:
            for name, (kind, *law) in zip(names, self._volatility_laws(), strict=True):
                title = "Volatility" if kind == "S" else "Squared volatility"
                lines += _titled(f"{title} of {name}", factor, *law)
        if "left_out" in data and (left_out := data["left_out"].item()):
            lines.append(f"Candidates left out, with their gain: {left_out}")
        without = "No equations of motion: a coordinate has no kinetic energy"
        lines.append(str(self.system) if self.system.has_equations else without)
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def misfit(self) -> str:
        """What Hansen's test says against the form of the law; empty if nothing.

        Of moments that are more than the coefficients, J is χ² with the difference as
        degrees of freedom if the candidates hold the truth. Below a p-value of
        `LEAST_P_VALUE` they do not, or the covariance of the moments is too small; in
        the latter case intervals are too narrow by the root of J over its degrees.
        """
        names = ("j_statistic", "j_degrees", "j_p_value")
        j, degrees, p = (float(self.dataset.get(name, np.nan)) for name in names)
        if not p < LEAST_P_VALUE:
            return ""
        return (
            f"no law of these candidates agrees with the data (J = {j:.4g} for "
            f"{degrees:.0f} degrees of freedom, p = {p:.2g}){self._worst_moments()}. A "
            "term is missing, or the data are not what the method assumes; intervals "
            f"are too narrow by a factor of about {np.sqrt(j / max(degrees, 1)):.2g}"
        )

    def _worst_moments(self) -> str:
        """Moments that contradict the law most, with their standard scores."""
        if not {"moment_score", "moment_name"} <= set(self.dataset):
            return ""
        scores = self.dataset["moment_score"].values
        worst = np.argsort(-np.abs(scores))[:MOST_MOMENTS_NAMED]
        names = self.dataset["moment_name"].values[worst]
        moments = zip(names, scores[worst], strict=True)
        return ", most of all " + ", ".join(f"{n} ({z:+.2g} s.e.)" for n, z in moments)

    def _trust(self) -> list[str]:
        """Line of what a fit says of itself; none if its method has no such tests."""
        if "trusted" not in self.dataset:
            return []
        marks = [
            f"{name} {float(self.dataset[name]):.3g}"
            for name in ("jump", "converged", "reached")
            if name in self.dataset
        ]
        if "excess_std" in self.dataset:
            excess, std = (float(self.dataset[k]) for k in ("excess", "excess_std"))
            if np.isfinite(std):
                width = self.interval_factor * std
                marks.append(f"residual {excess:.2g} ± {width:.1g} beyond noise")
        trusted = float(self.dataset["trusted"]) > 0
        verdict = "passes" if trusted else "is NOT to be trusted: it fails"
        return [f"The fit {verdict} its own tests ({', '.join(marks)})"]


def _titled(title: str, factor: float, *columns) -> list[str]:
    """Lines of a sum of terms with intervals; none if it is empty."""
    lines = _listed(*columns, factor)
    return [title, *lines] if lines else []


def _listed(values, errors, names, factor: float, certain: str = "") -> list[str]:
    """Lines of values with `factor` standard errors, where these are known."""
    lines = []
    for value, error, name in zip(values, errors, names, strict=True):
        number, width = rounded(value, factor * max(np.nan_to_num(error), 0.0))
        shown = f" ± {width}" if width else certain if error == 0 else ""
        lines.append(f"  {number}{shown}  {name}")
    return lines


def latex(system: System, labels: Mapping[str, str] | None = None) -> str:
    """L, D and the equations of motion as LaTeX; `labels` are those of coordinates."""
    names = latex_names(system.coordinates, labels)

    def text(expression) -> str:
        return sp.latex(system.evaluated(expression, DIGITS), symbol_names=names)

    lines = [f"L &= {text(system.lagrangian)}"]
    if system.dissipation != 0:
        lines.append(f"D &= {text(system.dissipation)}")
    both = zip(system.balance, system.external_forces, strict=True)
    lines += [f"{text(sp.expand(one))} &= {text(force)}" for one, force in both]
    return _aligned(lines)


def _aligned(lines: Iterable[str]) -> str:
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _latex_power(match: re.Match) -> str:
    return rf" \cdot 10^{{{match[1].translate(_LOWERED)}}}"


def rounded(value: float, width: float) -> tuple[str, str]:
    """A number and the half width of its interval, this to two digits; or six of one.

    Numbers from 1e-4 to 1e6 are written without a power of ten, others with one.

    >>> rounded(9.80998, 0.00102)
    ('9.8100', '0.0010')
    >>> rounded(2.6867e-6, 4.6e-9)
    ('2.6867·10⁻⁶', '0.0046·10⁻⁶')
    >>> rounded(0.5, 0.0), rounded(-7.88e10, np.inf), rounded(-2e-3, 0.97)
    (('0.5', ''), ('-7.88·10¹⁰', '∞'), ('0.00', '0.97'))
    """
    size = max(abs(value), width if width < np.inf else 0.0)
    exponent = int(np.floor(np.log10(size))) if 0 < size < np.inf else 0
    power = 0 if exponent in PLAIN_EXPONENTS else max(exponent, float_info.min_10_exp)
    mark = f"·10{str(power).translate(RAISED)}" if power else ""
    value, width = value / 10.0**power, width / 10.0**power
    if not 0 < width < np.inf:
        return f"{value:.6g}{mark}", "∞" if width > 0 else ""
    digits = max(0, 1 - int(np.floor(np.log10(width))))
    return f"{value:z.{digits}f}{mark}", f"{width:.{digits}f}{mark}"


def interval(value: float, width: float) -> str:
    """A number with the half width of its interval, if there is one.

    >>> interval(9.80998, 0.00102), interval(0.5, 0.0)
    ('9.8100 ± 0.0010', '0.5')
    """
    return " ± ".join(filter(None, rounded(value, width)))


def with_intervals(table: "pd.DataFrame", factor: float) -> "pd.DataFrame":
    """A table with `low` and `high`, `factor` standard errors from each value."""
    place, half = table.columns.get_loc("std") + 1, factor * table["std"]
    table.insert(place, "low", table["value"] - half)
    table.insert(place + 1, "high", table["value"] + half)
    return table


def acceleration_function(system: System) -> Callable:
    """Accelerations q̈ = M⁻¹ (forces + force) as a function of NumPy arrays.

    ``acceleration(q, qdot, force=0)`` takes and returns arrays (..., dof), SI units;
    ValueError if these have another last length.

    Examples
    --------
    >>> pendulum = System("thetadot**2/2 + 9.81*cos(theta)")
    >>> acceleration_function(pendulum)([np.pi / 2], [0.0])
    array([-9.81])
    """
    arguments = list(system.state)
    mass = sp.lambdify(arguments, system.evaluated(system.mass_matrix), "numpy")
    rest = sp.lambdify(arguments, system.evaluated(system.forces), "numpy")
    dof = system.dof

    def acceleration(q, qdot, force=0.0):
        arrays = [np.asarray(x, dtype=float) for x in (q, qdot)]
        if any(x.shape[-1:] != (dof,) for x in arrays):
            raise ValueError(
                f"q and qdot have the shapes {arrays[0].shape} and {arrays[1].shape}; "
                f"expected {dof} as the last length"
            )
        state = np.concatenate(np.broadcast_arrays(*arrays), axis=-1)
        flat = state.reshape(-1, 2 * dof)
        pushed = np.broadcast_to(force, (*state.shape[:-1], dof)).reshape(-1, dof)
        accelerations = np.empty(pushed.shape)
        for i, row in enumerate(flat):
            right = np.asarray(rest(*row), float).ravel() + pushed[i]
            left = np.asarray(mass(*row), float).reshape(dof, dof)
            accelerations[i] = np.linalg.solve(left, right)
        return accelerations.reshape(*state.shape[:-1], dof)

    return acceleration


def simulate(
    system: System,
    q: Sequence[float],
    qdot: Sequence[float],
    time: Sequence[float],
    force: Callable | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Motion (q, q̇) from a state, noise left out, each of shape (time, dof).

    Coulomb friction |v| is taken as √(v² + w²) with a small w, so that a body comes to
    rest. Arguments and errors as of :meth:`IdentifiedModel.predict`.
    """
    from scipy.integrate import solve_ivp

    start = _start(system, q, qdot)
    time = np.asarray(time, dtype=float)
    steps = np.diff(time) if time.ndim == 1 else np.empty(0)
    if not len(steps) or not ((steps > 0).all() or (steps < 0).all()):
        raise ValueError("time: expected two times or more, in their order, in s")
    if force is not None:
        _check_force(system, force, time[0])
    dof = system.dof
    speed = max(np.abs(start[dof:]).max(), 1.0)
    acceleration = acceleration_function(_without_jumps(system, SLIDING * speed))

    def rate(t, x):
        if not np.isfinite(x).all():  # LSODA would go on for ever
            raise ValueError(f"simulate: the motion does not stay finite (t = {t:.4g})")
        push = 0.0 if force is None else force(t)
        return np.concatenate([x[dof:], acceleration(x[:dof], x[dof:], push)])

    accuracy = {"rtol": TOLERANCE, "atol": TOLERANCE}
    run = solve_ivp(rate, time[[0, -1]], start, "LSODA", time, **accuracy)
    if not run.success:
        raise ValueError(f"simulate: the motion does not stay finite ({run.message})")
    return run.y[:dof].T, run.y[dof:].T


def _without_jumps(system: System, width: float) -> System:
    """System whose |v| in the dissipation is √(v² + `width`²)."""
    square = sp.Float(width) ** 2
    smooth = system.dissipation.replace(
        lambda e: isinstance(e, sp.Abs), lambda e: sp.sqrt(e.args[0] ** 2 + square)
    )
    return replace(system, dissipation=smooth)


def _start(system: System, q, qdot) -> np.ndarray:
    parts = [np.atleast_1d(x) for x in (q, qdot)]
    for name, part in zip(("q", "qdot"), parts, strict=True):
        numbers = part.dtype.kind in "fiu" and np.isfinite(part).all()
        if part.shape != (system.dof,) or not numbers:
            raise ValueError(
                f"{name} is {part.tolist()}; expected one number for each of "
                f"{', '.join(system.coordinates)}"
            )
    return np.concatenate(parts)


def _check_force(system: System, force, time: float) -> None:
    """Refuse what is no function of time, or gives no generalised input."""
    if not callable(force):
        raise ValueError(
            f"force is {type(force).__name__}; expected a function of time, such as "
            "lambda t: np.interp(t, time, values)"
        )
    push = np.asarray(force(time))
    if push.dtype.kind not in "fiu" or push.shape not in ((), (1,), (system.dof,)):
        raise ValueError(
            f"force({time:g}) is {push.tolist()}; expected one number for each of "
            f"{', '.join(system.coordinates)}"
        )


def _symmetric_root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    return np.where(np.abs(root) > 1e-12 * np.abs(root).max(), root, 0.0)


def _case(dataset: xr.Dataset, path, level, mode) -> xr.Dataset:
    """One case of a sweep over noise."""
    for name, value in (("noise_level", level), ("noise_mode", mode)):
        values = dataset[name].values.tolist() if name in dataset.dims else []
        if value is not None and value not in values:
            has = f"it has {', '.join(map(str, values))}" if values else "leave it out"
            raise ValueError(f"{path} has no {name} {value!r}; {has}")
        if values:
            dataset = dataset.sel({name: values[0] if value is None else value})
    return dataset
