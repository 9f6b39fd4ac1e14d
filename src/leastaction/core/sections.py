"""Sections of an example that several families share: systems, starts, candidates."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from leastaction.core.settings import (
    Expression,
    Integer,
    Names,
    Number,
    Pair,
    Settings,
    Share,
    Text,
    absent,
)

Expressions = Annotated[list[Expression], Field(min_length=1)]


class Quantity(Settings):
    """A name with its unit."""

    unit: Text = Field(description='Unit, such as "m" or "rad".')
    label: Text = Field("", description="LaTeX in figures.")


class Parameter(Settings):
    """A number that expressions call by its name."""

    value: Number = Field(description="Value in SI units.")
    unit: Text = Field(description='Unit, such as "N/m" or "1".')


Quantities = dict[str, Quantity]


class System(Settings):
    """A system, the truth of an example, told from others by one of its keys.

    Attributes
    ----------
    key
        The key that no other kind of system has.
    """

    key: ClassVar[str]
    parameters: dict[str, Parameter] = Field(
        description="Every name that is neither a coordinate nor a derivative."
    )


def _by_rows(given) -> str:
    return "matrix" if isinstance(given, list) else "by coordinate"


class CoordinateSystem(System):
    """A system of coordinates."""

    key = "coordinates"
    coordinates: Annotated[Quantities, Field(min_length=1)] = Field(
        description="Generalised coordinates. The velocity of x is xdot, its "
        "acceleration "
        "xddot."
    )
    lagrangian: Expression = Field(description="L(q, qdot), J.")
    dissipation: Expression = Field("0", description="Rayleigh function D(q, qdot), W.")
    volatility: Annotated[
        Annotated[dict[str, Expression], Tag("by coordinate")]
        | Annotated[list[Expressions], Tag("matrix")],
        Discriminator(_by_rows),
    ] = Field(
        {},
        description="Intensity S of the random force, force times s^0.5: one "
        "expression "
        "per coordinate (independent Wiener processes), or a matrix with one row per "
        "coordinate and one column per Wiener process.",
    )
    calculus: Literal["ito", "stratonovich"] = Field(
        "ito", description="Meaning of S dW where S depends on the velocity."
    )


class Draw(Settings):
    """A random number of every trajectory."""

    one_of_its_keys = True
    uniform: Pair | None = absent("Lowest and highest value.")
    normal: Pair | None = absent("Mean and standard deviation.")
    halton: Pair | None = absent("Box that the trajectories fill evenly.")


class InitialState(Settings):
    """Expressions by coordinate and velocity, in parameters and the `random` names."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Expression]
    random: dict[str, Draw] | None = absent("Random numbers by name.")


class Cases(Settings):
    """Cases of a sweep over noise."""

    modes: (
        Annotated[list[Literal["independent", "shared"]], Field(min_length=1)] | None
    ) = absent("Kinds of noise.")
    levels: Annotated[list[Share], Field(min_length=1)] | None = absent(
        "Standard deviations, SI units of each channel."
    )


class Polynomial(Settings):
    """Every monomial up to a total degree."""

    of: Names = Field(min_length=1, description="Coordinates and velocities.")
    degree: Integer = Field(ge=0, le=12, description="Highest total degree.")
    lowest: Integer = Field(
        0, ge=0, le=12, description="Lowest total degree; 1 leaves the constant out."
    )


class Functions(Settings):
    """Each function of each argument."""

    apply: Names = Field(min_length=1, description="Names of functions.")
    to: Names = Field(min_length=1, description="Their arguments.")


class Every(Settings):
    """Of a field, terms that stand at every so-many-th of their points."""

    points: Integer = Field(ge=2, description="Points from one to the next.")
    terms: Expressions = Field(description="Expressions as written.")


class Candidate(Settings):
    """Candidates of one kind."""

    one_of_its_keys = True
    polynomial: Polynomial | None = absent("Every monomial up to a total degree.")
    product: (
        Annotated[
            list[Annotated[dict[str, Any], Field(min_length=1, max_length=1)]],
            Field(min_length=2),
        ]
        | None
    ) = absent("Each product of one candidate of every entry.")
    functions: Functions | None = absent("Each function of each argument.")
    terms: Expressions | None = absent("Expressions as written.")
    every: Every | None = absent(
        "Of a field, terms that stand at every so-many-th of their points."
    )
    pooled: Expressions | None = absent(
        "Of a field, terms for the whole domain; only estimators that pool over it use "
        "them."
    )
    exclude: Expressions | None = absent("Takes earlier candidates away.")


Candidates = Annotated[list[Candidate], Field(min_length=1)]
Given = dict[str, Number]


class Known(Settings):
    """Coefficients of a stationary density that are given."""

    lagrangian: Given | None = absent("Of L, by term.")
    dissipation: Given | None = absent("Of D, by term.")
    volatility: dict[str, Given] | None = absent("Of S^2, by coordinate and term.")


class Library(Settings):
    """Candidates of the Lagrangian, the damping and the squared volatility."""

    reference: Text = Field(
        description="Kinetic terms that fix the scale of L, with their coefficients: "
        "xdot**2/2."
    )
    inertia: Literal["free", "diagonal", "given"] = Field(
        "free",
        description="What is known of the kinetic energy: free, nothing; diagonal, "
        "squares of single velocities; given, the reference is all of it.",
    )
    lagrangian: Candidates = Field(description="Candidates of L.")
    dissipation: Candidates | None = absent("Candidates of the Rayleigh function.")
    volatility: Candidates | None = absent("Candidates of the squared volatility.")
    known: Known | None = absent(
        "Of a stationary density, whose structure is known: the coefficients that are "
        "given; all others are estimated."
    )
    implicit: dict[str, Candidates] | None = absent(
        "Candidates of implicit equations of motion, by coordinate, in coordinates, "
        "velocities and accelerations; only SINDy-PI uses them."
    )
    calculus: Literal["ito", "stratonovich"] = Field(
        "ito",
        description="What S dW is taken to mean in the analysis where S depends on the "
        "velocity; data cannot tell.",
    )
