"""Typed settings: what a YAML file may say, with defaults, bounds and meanings.

A class of settings is a section of a configuration. Its fields are the keys, in the
words of the YAML; a key that is ``null`` counts as not given.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Strict,
    Tag,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from leastaction.core.families import of_families, unknown

# Channels of a recorded motion.
CHANNELS = ("q", "qdot", "qddot")
# Characters of a problem that are shown; what was given may be of any length.
LONGEST = 2000


class Settings(BaseModel):
    """A section of a configuration; of some, exactly `one_of_its_keys` is given."""

    model_config = ConfigDict(extra="forbid", defer_build=True, protected_namespaces=())
    one_of_its_keys: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        fields = cls.model_fields
        chosen = [key for key, value in data.items() if value is not None]
        if cls.one_of_its_keys and set(data) <= set(fields):
            check_one_key(fields, chosen)
        return {
            key: value
            for key, value in data.items()
            if value is not None or key not in fields or fields[key].is_required()
        }

    def __dir__(self) -> list[str]:
        """Names of the settings; what pydantic adds is not for users."""
        return sorted(type(self).model_fields)

    def plain(self) -> dict:
        """Return the section as plain data, defaults included."""
        return self.model_dump(by_alias=True, warnings=False)


def check_one_key(known: Iterable[str], keys: Sequence[str]) -> None:
    """Validation error unless exactly one key is given."""
    if len(keys) != 1:
        words = {"known": " or ".join(map(repr, known))}
        words["given"] = " and ".join(map(repr, keys)) or "neither"
        text = "expected exactly one of the keys {known}, got {given}"
        raise PydanticCustomError("one_key", text, words)


def absent(description: str | None = None, **more):
    """Field of a key that a section may lack, and then has no default."""
    return Field(
        None, description=description, exclude_if=lambda value: value is None, **more
    )


def _as_written(value, validate):
    validate(value)
    return value


def _integer(value):
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _expression(value):
    if isinstance(value, bool) or not isinstance(value, (str, float, Integral)):
        raise PydanticCustomError("expression", "expected an expression or a number")
    return int(value) if isinstance(value, Integral) else value


def _unique(values: list) -> list:
    if any(value in values[:i] for i, value in enumerate(values)):
        raise PydanticCustomError(
            "not_unique", "{values} names an entry twice", {"values": repr(values)}
        )
    return values


def _title(value: str) -> str:
    if set("$<>") & set(value) or not value.isprintable():
        raise PydanticCustomError(
            "title",
            "{given} is no title; write one line of text, formulas in Unicode, no $<>",
            {"given": repr(value)},
        )
    return value


@cache
def _drawn(label: str) -> str:
    """A label, if Matplotlib can draw it, also with a dot for a velocity."""
    if not label:
        return label
    from matplotlib.mathtext import MathTextParser

    letter, mark, index = label.partition("_")
    try:
        MathTextParser("path").parse(rf"${label}$ $\dot{{{letter}}}{mark}{index}$")
    except (ValueError, RecursionError):
        raise PydanticCustomError(
            "label",
            "{given} is no LaTeX that Matplotlib draws, with a dot above what stands "
            "before `_`, too; write a symbol such as \\theta_1",
            {"given": repr(label)},
        ) from None
    return label


# A whole number stays one, so that it is written in a file of results as in the YAML.
Number = Annotated[float, Strict(), WrapValidator(_as_written)]
Integer = Annotated[int, Strict(), BeforeValidator(_integer)]
Text = Annotated[str, Strict()]
Title = Annotated[Text, Field(max_length=200), AfterValidator(_title)]
Label = Annotated[Text, Field(max_length=40), AfterValidator(_drawn)]
Flag = Annotated[bool, Strict()]
Expression = Annotated[
    str | float, PlainValidator(_expression, json_schema_input_type=str | float)
]
Positive = Annotated[Number, Field(gt=0)]
Share = Annotated[Number, Field(ge=0)]
Count = Annotated[Integer, Field(ge=1)]
Names = list[Text]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Unique = AfterValidator(_unique)


def choice(*values) -> Any:
    """Type of a setting with one of these values, lists too; any other is an error."""

    def chosen(value):
        if value in values:
            return value
        words = {"given": repr(value), "values": repr(list(values))}
        raise PydanticCustomError("choice", "{given} is not one of {values}", words)

    schema = WithJsonSchema({"enum": list(values)})
    return Annotated[Any, PlainValidator(chosen, json_schema_input_type=Any), schema]


def or_word(kind, *words: str) -> Any:
    """Type of a setting that is of this kind, or one of these words."""

    def checked(value, validate):
        return value if isinstance(value, str) and value in words else validate(value)

    return Annotated[
        kind, WrapValidator(checked, json_schema_input_type=kind | Literal[words])
    ]


Expressions = Annotated[list[Expression], Field(min_length=1)]


class Quantity(Settings):
    """A name with its unit."""

    unit: Text = Field(description='Unit, such as "m" or "rad".')
    label: Label = Field("", description="LaTeX in figures.")


class Parameter(Settings):
    """A number that expressions call by its name."""

    value: Number = Field(description="Value in SI units.")
    unit: Text = Field(description='Unit, such as "N/m" or "1".')


Quantities = dict[str, Quantity]


class System(Settings):
    """A system, the truth of an example, identified by its `key`."""

    key: ClassVar[str]
    parameters: dict[str, Parameter] = Field(
        description="Every name that is neither a coordinate nor a derivative."
    )


def _by_rows(value) -> str:
    return "matrix" if isinstance(value, list) else "by coordinate"


class CoordinateSystem(System):
    """A system of coordinates."""

    key = "coordinates"
    coordinates: Annotated[Quantities, Field(min_length=1)] = Field(
        description="Generalised coordinates. The velocity of x is xdot, its "
        "acceleration xddot."
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
        "expression per coordinate (independent Wiener processes), or a matrix with "
        "one row per coordinate and one column per Wiener process.",
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


class SensorNoises(Settings):
    """Noise of the sensors; every mode at every level."""

    modes: Annotated[list[Literal["independent", "shared"]], Unique] = Field(
        ["independent"],
        min_length=1,
        description="independent, of every channel; shared, one number for all "
        "channels.",
    )
    levels: Annotated[list[Share], Unique] = Field(
        [0.0],
        min_length=1,
        description="Standard deviations, SI units of each channel.",
    )
    channels: choice([*CHANNELS], ["q", "qdot"], ["q"]) = Field(
        [*CHANNELS], description="Recorded channels."
    )


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
    product: Annotated[list["Candidate"], Field(min_length=2)] | None = absent(
        "Each product of one candidate of every entry."
    )
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


def _terms_alone(entries):
    """Entries that are text alone, `x**2`, as one list of `terms`."""
    if not isinstance(entries, list | tuple):
        return entries
    terms = [entry for entry in entries if isinstance(entry, str | int)]
    others = [entry for entry in entries if not isinstance(entry, str | int)]
    return [*([{"terms": terms}] if terms else []), *others]


Candidates = Annotated[
    list[Candidate], Field(min_length=1), BeforeValidator(_terms_alone)
]
Coefficients = dict[str, Number]


class Known(Settings):
    """Coefficients of a stationary density that are given."""

    lagrangian: Coefficients | None = absent("Of L, by term.")
    dissipation: Coefficients | None = absent("Of D, by term.")
    volatility: dict[str, Coefficients] | None = absent(
        "Of S^2, by coordinate and term."
    )


class Library(Settings):
    """Candidates of the Lagrangian, the damping and the squared volatility."""

    reference: Text = Field(
        description="Kinetic terms that fix the scale of L, with their coefficients: "
        "xdot**2/2."
    )
    inertia: Literal["free", "constant", "diagonal", "given"] = Field(
        "free",
        description="What is known of the kinetic energy: free, nothing; constant, it "
        "does not change with the position; diagonal, it is one of squares of single "
        "velocities; given, the reference is all of it.",
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


class Style(Settings):
    """Style of every figure."""

    width: Annotated[Number, Field(ge=160)] = Field(
        180.0, description="Width of a figure, mm; two axes stand side by side."
    )
    font_size: Annotated[Number, Field(ge=4)] = Field(
        8.0, description="Size of the text, pt."
    )
    dpi: Annotated[Number, Field(ge=50)] = Field(
        300, description="Resolution of PNG files, 1/inch."
    )
    truth_color: Text = Field("#c4242b", description="Colour of the truth.")
    estimate_color: Text = Field("#1b4f9c", description="Colour of our recipe.")
    published_color: Text = Field("#e08a00", description="Colour of a paper's recipe.")
    sindy_pi_color: Text = Field("#7b3fa0", description="Colour of SINDy-PI.")
    lagrangian_sindy_color: Text = Field(
        "#5c6b73", description="Colour of Lagrangian-SINDy."
    )
    band_color: Text = Field("#a5d8c0", description="Colour of bands.")


class ConfigError(ValueError):
    """What is wrong with a configuration, all of it."""

    def __init__(self, where: str, problems: list[str]):
        self.problems = [
            p if len(p) < LONGEST else f"{p[:LONGEST]} ..." for p in problems
        ]
        listing = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{where} cannot be used:\n{listing}")


class ConfigErrors(ConfigError):
    """What is wrong in several examples or recordings."""

    def __init__(self, errors: Sequence[ConfigError]):
        self.problems = [problem for error in errors for problem in error.problems]
        ValueError.__init__(self, "\n".join(map(str, errors)))


S = TypeVar("S", bound=Settings)


def complete(data: Mapping, kind: type[Settings], where: str) -> dict:
    """Return the data of a section with its defaults filled in; see `checked`."""
    return checked(data, kind, where).plain()


def checked(data: Mapping, kind: type[S], where: str) -> S:
    """Settings of a kind; ConfigError with all that is misspelt, missing or wrong."""
    if not isinstance(data, Mapping):
        raise ConfigError(where, ["it is empty or is not a list of 'key: value'"])
    try:
        return kind(**data)
    except ValidationError as error:
        schema = _schema(kind)
        result = [_sentence(e, data, schema) for e in error.errors(include_url=False)]
    raise ConfigError(where, list(dict.fromkeys(result)))


@of_families
def _schema(kind: type[Settings]) -> dict:
    return kind.model_json_schema()


# What a value should have been, by the type of the error.
EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "'key: value'",
    "model_type": "'key: value'",
    "model_attributes_type": "'key: value'",
}
# What is wrong with a value that has the right type.
WRONG = {
    "greater_than_equal": "{value} is less than the minimum of {ge}",
    "greater_than": "{value} is not more than {gt}",
    "less_than_equal": "{value} is more than the maximum of {le}",
    "literal_error": "{value} is not one of {expected}",
    "too_short": "{value} has {actual_length} entries, fewer than {min_length}",
    "string_too_long": "{value} has more than {max_length} characters",
    "too_long": "{value} has {actual_length} entries, more than {max_length}",
}


def _sentence(error: Mapping, data, schema: Mapping) -> str:
    """One line: where, what was given, what was expected."""
    kind, value, names = error["type"], error["input"], error["loc"]
    *inside, last = names or ("",)
    if kind in ("extra_forbidden", "missing"):
        path, known = _path(inside, data), _properties(inside, schema)
        if kind == "missing":
            about = known.get(last, {}).get("description", "see docs")
            return f"{path}: {last!r} is missing ({about})"
        return f"{path}: {unknown('key', last, known)}"
    path, context = _path(names, data), error.get("ctx", {})
    discriminator = str(context.get("discriminator")).strip("'")
    if kind == "union_tag_not_found":
        return f"{path}: expected {{{discriminator}: ...}}"
    if kind == "union_tag_invalid":
        known = re.findall(r"'([^']*)'", context["expected_tags"])
        return f"{path}: {unknown(discriminator, context['tag'], known)}"
    if kind in EXPECTED:
        about = _properties(inside, schema).get(last, {}).get("description", "")
        sentence = f"{path}: expected {EXPECTED[kind]}, got {_shown(value)}"
        return f"{sentence}. {about}" if about else sentence
    if kind in WRONG:
        return f"{path}: " + WRONG[kind].format(value=repr(value), **context)
    return f"{path}: {error['msg']}"


def _path(names, data) -> str:
    """Keys that lead to a place, without the names of the types on the way."""
    path = []
    for name in names:
        here = isinstance(data, Mapping) and name in data
        if here or (isinstance(data, list) and isinstance(name, int)):
            path.append(str(name))
            data = data[name]
    return ".".join(path) or "top level"


def _properties(names, schema: Mapping) -> Mapping[str, Any]:
    """Keys of the section that `names`, keys and names of types, lead to."""
    nodes = list(_branches(schema, schema))
    for name in names:
        inner = []
        for node in nodes:
            others = node.get("additionalProperties")
            if name in node.get("properties", {}):
                inner.append(node["properties"][name])
            elif isinstance(others, Mapping):
                inner.append(others)
            inner += [node["items"]] if "items" in node else []
        of_type = [node for node in nodes if name in _names_of(node)]
        if of_type:
            nodes = of_type
        elif inner:
            nodes = [branch for node in inner for branch in _branches(node, schema)]
    return {k: v for node in nodes for k, v in node.get("properties", {}).items()}


def _names_of(node: Mapping) -> list:
    """Names by which a choice of types tells this one: its class, or its method."""
    properties = node.get("properties", {})
    names = [properties.get(key, {}).get("const") for key in ("method", "kind")]
    return [node.get("title"), *filter(None, names)]


def _branches(node: Mapping, schema: Mapping) -> Iterator[Mapping]:
    """The node itself, or all that it may be."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        yield from _branches(schema["$defs"][name], schema)
    elif "oneOf" in node or "anyOf" in node:
        for branch in node.get("oneOf") or node["anyOf"]:
            yield from _branches(branch, schema)
    else:
        yield node


def _shown(value) -> str:
    text = f"{type(value).__name__} {value!r}"
    if isinstance(value, str):
        text = f"the text {value!r}"
        with contextlib.suppress(ValueError):
            text += f"; for YAML a number needs a point, write {float(value):.1e}"
    return text
