"""A mechanical system: Lagrangian, Rayleigh dissipation and volatility.

.. math::

    \\frac{d}{dt}\\frac{\\partial L}{\\partial \\dot q}
    - \\frac{\\partial L}{\\partial q}
    = -\\frac{\\partial D}{\\partial \\dot q} + S\\,\\dot W

The truth behind simulated data and the model identified from data are both a
:class:`System`, so they are simulated and compared by the same code.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from leastaction.core.euler_lagrange import (
    acceleration_names,
    symbols,
    velocity_names,
    without_signs,
)
from leastaction.core.expressions import (
    CONSTANTS,
    FUNCTIONS,
    check_name,
    names_in,
    parsed,
    symbol,
)
from leastaction.core.families import states_arguments, unknown
from leastaction.core.library import Library
from leastaction.core.settings import Library as LibrarySection
from leastaction.core.settings import complete

if TYPE_CHECKING:
    import xarray as xr

CALCULI = ("ito", "stratonovich")
# A determinant larger than this, over its bound by Hadamard, does not vanish.
CLEARLY_NONZERO = 1e-10
# Significant digits of printed numbers.
DIGITS = 6


def is_singular(matrix: sp.Matrix) -> bool:
    """Whether the determinant vanishes identically.

    It is evaluated at one point, of numbers without a relation; algebra decides only
    where that does not.
    """
    names = sorted(matrix.free_symbols, key=str)
    somewhere = {x: 0.1 + (0.618 * i) % 1.0 for i, x in enumerate(names, 1)}
    values = np.array(matrix.evalf(subs=somewhere).tolist())
    with contextlib.suppress(TypeError):  # a value that is no number
        values = values.astype(complex)
        bound = np.prod(np.linalg.norm(values, axis=1))
        if abs(np.linalg.det(values)) > CLEARLY_NONZERO * max(bound, 1.0):
            return False
    return sp.simplify(matrix.det()) == 0


@dataclass(frozen=True)
@states_arguments
class System:
    """Lagrangian system with Rayleigh dissipation and random forces.

    Expressions may be text; every name ``x`` with an ``xdot`` is then a coordinate, any
    other one of `parameters`.

    Attributes
    ----------
    lagrangian
        Lagrangian L(q, q̇), J.
    parameters
        Value of each parameter (SI units); None of one that gets it when the system is
        simulated, which is NaN then.
    coordinates
        Names of the generalised coordinates q; the velocity of ``x`` is ``xdot``.
    dissipation
        Rayleigh function D(q, q̇), W.
    volatility
        S(q, q̇), one row per coordinate and one column per Wiener process
        (generalised force times s^0.5); or one expression by coordinate.
    calculus
        ``"ito"`` or ``"stratonovich"``: the meaning of S dW when S depends on q̇.
    inputs
        Coordinates on which an external force acts: ``F_x`` in the equation of ``x``.

    Raises
    ------
    ValueError
        If text is not arithmetic over these names, a name is neither a coordinate nor a
        parameter, or the mass matrix is singular.

    Examples
    --------
    >>> truth = System(
    ...     "m*xdot**2/2 - k*x**2/2",
    ...     {"m": 1, "k": 1000, "sigma": None},
    ...     volatility={"x": "sigma"},
    ... )
    >>> print(truth)
    Lagrangian
      -500.0*x**2 + 0.5*xdot**2
    Equations of motion
      xddot = 1.0*Wdot_1*sigma - 1000.0*x
    Hamiltonian
      500.0*x**2 + 0.5*xdot**2
    >>> motion = truth.simulate(
    ...     duration=0.1,
    ...     time_step=1e-3,
    ...     trajectories=5,
    ...     initial_state={"x": 0.1, "xdot": 0.0},
    ...     sigma=2.0,
    ... )
    >>> motion.q.shape
    (1, 5, 101, 1)
    """

    lagrangian: sp.Expr | str
    parameters: Mapping[str, float] = field(default_factory=dict)
    coordinates: tuple[str, ...] = ()
    dissipation: sp.Expr | str = sp.Integer(0)
    volatility: sp.Matrix | Mapping = field(default_factory=lambda: sp.zeros(0, 0))
    calculus: str = "ito"
    inputs: tuple[str, ...] = ()

    def __post_init__(self):
        if self.calculus not in CALCULI:
            raise ValueError(unknown("calculus", self.calculus, CALCULI))
        if not isinstance(self.lagrangian, str | sp.Expr):
            raise ValueError(
                f"lagrangian is {repr(self.lagrangian)[:60]}; expected text such as "
                "'m*xdot**2/2 - k*x**2/2'"
            )
        for what in ("inputs", "coordinates"):
            names = getattr(self, what)
            listed = isinstance(names, Sequence | set | frozenset)
            if isinstance(names, str) or not listed:
                raise ValueError(
                    f"{what} are {str(names)[:60]!r}; expected names in a list, such "
                    "as ['x']"
                )
        if isinstance(self.lagrangian, str):
            self._read_text()
        elif not names:
            raise ValueError("coordinates are missing; expected names, such as ['x']")
        if not isinstance(self.volatility, sp.MatrixBase):
            raise ValueError(
                f"volatility is {str(self.volatility)[:60]!r}; expected a matrix "
                "of SymPy beside a Lagrangian of SymPy"
            )
        if self.volatility.rows != len(self.coordinates):
            object.__setattr__(self, "volatility", sp.zeros(len(self.coordinates), 0))
        for name in self.inputs:
            if name not in self.coordinates:
                raise ValueError(
                    f"inputs: {unknown('coordinate', name, self.coordinates)}"
                )

    def _read_text(self) -> None:
        """Coordinates, parameters and expressions from text."""
        noise = self.volatility
        if getattr(noise, "cols", None) == 0:  # a matrix without a column
            noise = {}
        if not isinstance(noise, Mapping):
            raise ValueError(
                f"volatility is {str(noise)[:60]!r}; expected one "
                "expression by coordinate, such as {'x': 'sigma'}"
            )
        parameters = numbers(self.parameters)
        texts = [self.lagrangian, str(self.dissipation), *map(str, noise.values())]
        names = names_in(" ".join(texts))
        rates = [n for n in names if n.endswith("dot") and n not in self.parameters]
        inferred = dict.fromkeys(name.removesuffix("dot") for name in rates)
        coordinates = tuple(self.coordinates) or tuple(inferred)
        known = {*self.names_of(coordinates), *self.parameters, *FUNCTIONS, *CONSTANTS}
        left = dict.fromkeys((name for name in names if name not in known), np.nan)
        parameters |= left
        law = self.lagrangian, self.dissipation, noise
        for name, value in _read(coordinates, parameters, *law).items():
            object.__setattr__(self, name, value)
        for name in left:
            known = [*self.names_of(coordinates), *(set(parameters) - set(left))]
            close = unknown("symbol", name, known)
            raise ValueError(
                f"{close}. Of a parameter write parameters={{{name!r}: 1.0}}, or "
                "None for a value that comes later"
            )
        self._refuse_singular()

    def _refuse_singular(self) -> None:
        if not self.coordinates or is_singular(self.mass_matrix):
            raise ValueError(
                "lagrangian: the mass matrix d²L/dq̇² is singular; each coordinate "
                f"({', '.join(self.coordinates) or 'there is none'}) needs a kinetic "
                "energy, such as m*xdot**2/2"
            )

    @classmethod
    def from_config(cls, config: Mapping) -> "System":
        """System described by the `system` section of an example.

        ValueError if a name is unusable, an expression is not arithmetic over the
        declared names, or the mass matrix is singular.
        """
        entries = config["parameters"].items()
        parameters = {name: float(entry["value"]) for name, entry in entries}
        damping, noise = config.get("dissipation", "0"), config.get("volatility", {})
        law = config["lagrangian"], damping, noise
        read = _read(tuple(config["coordinates"]), parameters, *law)
        system = cls(**read, calculus=config.get("calculus", "ito"))
        system._refuse_singular()
        return system

    @staticmethod
    def names_of(coordinates: Sequence[str]) -> tuple[str, ...]:
        """Names of the state (q, q̇)."""
        return (*coordinates, *velocity_names(coordinates))

    @staticmethod
    def coordinates_of(model: "xr.Dataset") -> tuple[str, ...]:
        """Names of the coordinates of an identified model."""
        return tuple(str(name) for name in model["dof"].values)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return len(self.coordinates)

    @property
    def q(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the coordinates."""
        return symbols(self.coordinates)

    @property
    def qdot(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the velocities."""
        return symbols(velocity_names(self.coordinates))

    @property
    def state(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the state (q, q̇)."""
        return self.q + self.qdot

    @property
    def initial_names(self) -> tuple[str, ...]:
        """Names that an initial state gives."""
        return tuple(x.name for x in self.state)

    @property
    def noise_matrix(self) -> sp.Matrix:
        """Volatility matrix S, shape (dof, Wiener process)."""
        return self.volatility

    @property
    def noise_names(self) -> list[str]:
        """What the rows of S are called in messages."""
        return [f"volatility of {name}" for name in self.coordinates]

    @property
    def rates(self) -> dict[str, tuple[str, int, int]]:
        """By name of a derivative, what is differentiated, how often by t and by x."""
        return {f"{name}dot": (name, 1, 0) for name in self.coordinates}

    @property
    def has_equations(self) -> bool:
        """Whether every coordinate has a kinetic energy."""
        return not is_singular(self.mass_matrix)

    def library(self, config: Mapping) -> Library:
        """Candidates of a section `library`; ValueError if it is none.

        >>> oscillator = System("xdot**2/2 - x**2/2")
        >>> section = {"reference": "xdot**2/2", "lagrangian": ["xdot**2", "x**2"]}
        >>> oscillator.library(section).terms
        (xdot**2, x**2)
        """
        section = complete(config, LibrarySection, "library")
        return Library.from_config(section, self.coordinates)

    @property
    def wiener_processes(self) -> int:
        """Number of independent Wiener processes."""
        return self.volatility.cols

    @cached_property
    def momenta(self) -> sp.Matrix:
        """Conjugate momenta p = ∂L/∂q̇ as functions of (q, q̇)."""
        return sp.Matrix([sp.diff(self.lagrangian, v) for v in self.qdot])

    @cached_property
    def mass_matrix(self) -> sp.Matrix:
        """Mass matrix M = ∂²L/∂q̇∂q̇, shape (dof, dof)."""
        return self.momenta.jacobian(self.qdot)

    @cached_property
    def forces(self) -> sp.Matrix:
        """Generalised forces ∂L/∂q − ∂D/∂q̇ − (∂²L/∂q̇∂q) q̇ = M q̈ − S Ẇ, a column."""
        loss = [without_signs(sp.diff(self.dissipation, v)) for v in self.qdot]
        force = [sp.diff(self.lagrangian, x) for x in self.q]
        drift = self.momenta.jacobian(self.q) * sp.Matrix(self.qdot)
        return sp.Matrix(force) - sp.Matrix(loss) - drift

    @cached_property
    def diffusion(self) -> sp.Matrix:
        """Diffusion of the velocities, g = M⁻¹ S, shape (dof, Wiener process)."""
        if not self.wiener_processes:
            return sp.zeros(self.dof, 0)
        return self.accelerated_by(self.volatility)

    @cached_property
    def acceleration(self) -> sp.Matrix:
        """Drift of the velocities in the Itô sense, M⁻¹ forces + ½ Σ_j (g_j·∂_q̇) g_j.

        The last term stands only for Stratonovich noise. It vanishes for g(q).
        Paper: Tripura et al., eq. (8), subtract ½ σ' σ'' instead, which does not hold
        for a second-order system.
        """
        acceleration = self.accelerated_by(self.forces)
        if self.calculus == "stratonovich":
            for j in range(self.wiener_processes):
                g = self.diffusion.col(j)
                acceleration += g.jacobian(self.qdot) * g / 2
        return acceleration

    @cached_property
    def drift(self) -> sp.Matrix:
        """Itô drift of the state (q, q̇), a column."""
        return sp.Matrix([*self.qdot, *self.acceleration])

    @cached_property
    def hamiltonian(self) -> sp.Expr:
        """Hamiltonian H = Σ q̇ ∂L/∂q̇ − L, J, as a function of (q, q̇)."""
        both = zip(self.qdot, self.momenta, strict=True)
        return sp.expand(sum(v * p for v, p in both) - self.lagrangian)

    @cached_property
    def equations_of_motion(self) -> tuple[sp.Eq, ...]:
        """Equations of motion q̈ = acceleration + M⁻¹ F + g Ẇ, one per coordinate."""
        right = self.driven_acceleration + self.diffusion * self._white_noise
        return tuple(
            sp.Eq(acceleration, sp.expand(one))
            for acceleration, one in zip(self._qddot, right, strict=True)
        )

    @property
    def driven_acceleration(self) -> sp.Matrix:
        """Drift of the velocities under the external forces F, a column."""
        if not self.inputs:
            return self.acceleration
        return self.acceleration + self.accelerated_by(self.external_forces)

    @property
    def external_forces(self) -> sp.Matrix:
        """F, a column: the symbol ``F_x`` of an input of ``x``, else zero."""
        forces = [symbol(f"F_{x}") if x in self.inputs else 0 for x in self.coordinates]
        return sp.Matrix(forces)

    @property
    def _qddot(self) -> sp.Matrix:
        return sp.Matrix(symbols(acceleration_names(self.coordinates)))

    @property
    def _white_noise(self) -> sp.Matrix:
        """Ẇ, a column."""
        count = self.wiener_processes
        return sp.Matrix(count, 1, [symbol(f"Wdot_{j + 1}") for j in range(count)])

    @cached_property
    def energy_growth(self) -> sp.Expr:
        """Growth of E[H] by noise alone, ½ tr(Sᵀ M⁻¹ S): Itô's formula for S(q)."""
        if not self.wiener_processes:
            return sp.Integer(0)
        return sp.expand((self.volatility.T * self.diffusion).trace() / 2)

    def with_parameters(self, **values: float) -> "System":
        """The same system with other parameter values; ValueError if one is unknown."""
        for name in set(values) - set(self.parameters):
            raise ValueError(unknown("parameter", name, self.parameters))
        return replace(self, parameters={**self.parameters, **numbers(values)})

    def evaluated(
        self, expression: sp.Expr | sp.Matrix, digits: int | None = None
    ) -> sp.Expr | sp.Matrix:
        """`expression` with the parameter values put in, and rounded to `digits`."""
        parameters = self.parameters.items()
        values = {
            symbol(name): value for name, value in parameters if not np.isnan(value)
        }
        result = sp.sympify(expression).subs(values)
        if digits is None:
            return result
        return result.xreplace({x: sp.Float(x, digits) for x in result.atoms(sp.Float)})

    @property
    def balance(self) -> sp.Matrix:
        """M q̈ − forces, which F and S Ẇ drive."""
        return self.mass_matrix * self._qddot - self.forces

    def simulate(
        self,
        *,
        duration: float,
        time_step: float,
        initial_state: Mapping,
        trajectories: int = 1,
        replicates: int = 1,
        seed: int = 0,
        units: Mapping[str, str] | None = None,
        **more: Any,
    ) -> "xr.Dataset":
        """Observations of an ensemble: a strong Taylor scheme, or Runge–Kutta.

        Parameters
        ----------
        duration, time_step
            s.
        initial_state
            A number or an expression for every coordinate and velocity; ``random``
            names draws, ``{"a": {"uniform": [0, 1]}}``.
        trajectories, replicates
            Trajectories of one ensemble, and independent ensembles.
        seed, units
            Root of the random numbers; units of the coordinates, ``1`` if None.
        more
            Values of parameters, and further settings of the method, such as `noise`.

        Returns
        -------
        xr.Dataset
            Contract ``observations``, or ``recordings`` of a motion without noise.

        Raises
        ------
        ValueError
            If a parameter has no value, or a setting is wrong.

        Examples
        --------
        >>> spring = System("xdot**2/2 - 2*x**2")
        >>> start = {"x": 1.0, "xdot": 0.0}
        >>> motion = spring.simulate(duration=1, time_step=0.01, initial_state=start)
        >>> print(f"{motion.q.values[0, 0, -1, 0]:.4f}, {np.cos(2.0):.4f}")
        -0.4161, -0.4161
        """
        from leastaction.core.observations import simulate

        values = {k: more.pop(k) for k in list(more) if k in self.parameters}
        system = self.with_parameters(**values)
        left = [name for name, value in system.parameters.items() if np.isnan(value)]
        if left:
            raise ValueError(
                f"{', '.join(left)} has no value; write simulate(..., {left[0]}=1.0), "
                f"or parameters={{{left[0]!r}: 1.0}} of the system"
            )
        method = "strong_taylor" if self.wiener_processes else "runge_kutta"
        settings = {"method": method, "duration": duration, "time_step": time_step}
        settings |= {"initial_state": initial_state, "trajectories": trajectories}
        settings |= {"replicates": replicates, "seed": seed, "units": units} | more
        return simulate(system, **settings)

    @property
    def parameter_values(self) -> np.ndarray:
        """Parameter values in the order of `parameters`."""
        return np.array(list(self.parameters.values()), dtype=float)

    def __str__(self) -> str:
        def shown(expression: sp.Expr) -> str:
            return str(self.evaluated(expression, DIGITS))

        if self.mass_matrix.is_diagonal():
            equations = [f"{e.lhs} = {shown(e.rhs)}" for e in self.equations_of_motion]
        else:
            drive = self.external_forces + self.volatility * self._white_noise
            both = zip(self.balance, drive, strict=True)
            equations = [f"{shown(sp.expand(a))} = {shown(b)}" for a, b in both]
        sense = " in the sense of Ito" if self.calculus == "stratonovich" else ""
        sections = {"Lagrangian": [shown(self.lagrangian)]}
        if self.dissipation != 0:
            sections["Dissipation"] = [shown(self.dissipation)]
        sections[f"Equations of motion{sense}"] = equations
        sections["Hamiltonian"] = [shown(self.hamiltonian)]
        return "\n".join("\n  ".join([name, *some]) for name, some in sections.items())

    def accelerated_by(self, right: sp.Matrix) -> sp.Matrix:
        """M⁻¹ times generalised forces."""
        if self.mass_matrix.is_diagonal():
            inverse = sp.diag(*[1 / self.mass_matrix[i, i] for i in range(self.dof)])
            return (inverse * right).applyfunc(sp.expand)
        return self.mass_matrix.LUsolve(right)


def _read(
    coordinates: tuple[str, ...], parameters: Mapping, lagrangian, dissipation, noise
) -> dict:
    """Expressions of a system from text over declared names."""
    names = declared_names(coordinates, parameters)
    return {
        "coordinates": coordinates,
        "parameters": parameters,
        "lagrangian": parsed("lagrangian", lagrangian, names),
        "dissipation": parsed("dissipation", dissipation, names),
        "volatility": _volatility(noise, coordinates, names),
    }


def declared_names(
    coordinates: Sequence[str], parameters: Sequence[str] = ()
) -> tuple[str, ...]:
    """Names that an expression of a system may use, checked for clashes."""
    return distinct((*coordinates, *velocity_names(coordinates), *parameters))


def numbers(parameters: Mapping) -> dict[str, float]:
    """Values of parameters, NaN for None; ValueError if one is no number."""
    if not isinstance(parameters, Mapping):
        raise ValueError(
            f"parameters are {str(parameters)[:60]!r}; expected values by name, "
            "{'k': 1.0}"
        )
    values = {k: np.nan if x is None else x for k, x in parameters.items()}
    for name, value in values.items():
        if not isinstance(value, Real):
            problem = f"parameter {str(name)[:60]} is {repr(value)[:60]}"
            raise ValueError(f"{problem}; expected a number")
    try:
        return {str(name): float(value) for name, value in values.items()}
    except OverflowError:
        raise ValueError(
            "a parameter is beyond 1e308; expected numbers of 64 bits"
        ) from None


def latex_names(
    coordinates: Sequence[str], labels: Mapping[str, str] | None = None
) -> dict[sp.Symbol, str]:
    """LaTeX of coordinates, velocities and accelerations."""
    names = {}
    for name in coordinates:
        label = (labels or {}).get(name) or sp.latex(symbol(name))
        letter, mark, index = label.partition("_")
        names[symbol(name)] = label
        names[symbol(f"{name}dot")] = rf"\dot{{{letter}}}{mark}{index}"
        names[symbol(f"{name}ddot")] = rf"\ddot{{{letter}}}{mark}{index}"
    return names


def distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """These names; ValueError if one may not be used, or stands twice."""
    for name in names:
        check_name(name)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the names {twice} are declared twice")
    return names


def _volatility(entries, coordinates: Sequence[str], names: Sequence[str]) -> sp.Matrix:
    """Matrix S from {coordinate: expression} or from rows of expressions."""
    if not isinstance(entries, Mapping):
        if len(entries) != len(coordinates) or len({len(row) for row in entries}) != 1:
            raise ValueError(
                f"volatility: expected {len(coordinates)} rows of equal length"
            )
        return sp.Matrix(
            [[parsed("volatility", text, names) for text in row] for row in entries]
        )
    unknown = sorted(set(entries) - set(coordinates))
    if unknown:
        raise ValueError(
            f"volatility: {unknown} are not coordinates; these are {list(coordinates)}"
        )
    matrix = sp.zeros(len(coordinates), len(entries))
    for j, (coordinate, text) in enumerate(entries.items()):
        matrix[coordinates.index(coordinate), j] = parsed("volatility", text, names)
    return matrix
