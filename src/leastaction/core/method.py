"""Methods as steps, which recipes compose.

A :class:`Step` is one method of one stage: its settings, what it reads and makes, and
the function that does it, imported when the step is called. The steps of a family stand
in its `recipes.py`.

The functions of all methods of a stage have one protocol. They get one replicate (of a
sweep over noise one case, see :mod:`leastaction.core.noise_sweep`), read no files, keep
no state, and draw random numbers in `simulate` and `validate` only. `settings` are the
step's, as plain data; `library` is the section of that name, the parts that the step
`uses`.

=============  =====================================================================
simulate       ``(system, settings, *, example, seed, replicate, units)`` → dataset
               of one replicate. The random numbers follow from the root `seed`, the
               `example` and the `replicate`; `units` are those of the coordinates.
differentiate  ``(observations, settings, library)`` → dataset
assemble       ``(observations, derivatives, settings, library)`` → dataset
identify       ``(equations, settings)``, or if the step `returns_to_samples`
               ``(equations, settings, observations, library)`` → a
               :class:`~leastaction.core.estimate.LagrangianEstimate`; with the
               :class:`~leastaction.core.estimate.VolatilityEstimate` if the step
               `finds_volatility`; a dataset if it `makes` no model of written terms
volatility     ``(observations, lagrangian, settings, library)`` →
               :class:`~leastaction.core.estimate.VolatilityEstimate`
validate       ``(system, model, simulation, settings, library, *, example, seed)``
               → dataset; `simulation` and `settings` are sections of the example
=============  =====================================================================
"""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.util import resolve_name
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Union

from pydantic import Field, TypeAdapter
from pydantic_core import core_schema

from leastaction.core import families
from leastaction.core.families import of_families, unknown
from leastaction.core.settings import (
    CoordinateSystem,
    Count,
    InitialState,
    Positive,
    Settings,
    System,
)

if TYPE_CHECKING:
    from leastaction.core.recipe import Recipe


class Step(Settings):
    """One method of one stage, with its settings.

    `run` is the function that does it, as ``package.module:name``, from the package of
    the class if it begins with a dot; `reads` are contracts that it accepts or, where
    these alone do not say it, `after` the methods of the stage before; `makes` is the
    contract of what it makes; `uses` the parts of the section `library` that reach it.

    A class with a `run` is a method, called as the class is, :class:`JointSpline`
    ``joint_spline``, unless the keyword `method` of the class gives another name.
    """

    stage: ClassVar[str]
    run: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ()
    after: ClassVar[tuple[str, ...]] = ()
    makes: ClassVar[str]
    uses: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, method: str = "", **options):
        super().__init_subclass__(**options)
        if "run" in vars(cls) and cls.stage != "validate":
            name = method or re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
            fields = vars(cls).get("__annotations__", {})
            cls.__annotations__ = {"method": Literal[name], **fields}
            cls.method = name

    @classmethod
    def __pydantic_init_subclass__(cls, **options):
        super().__pydantic_init_subclass__(**options)
        if "run" in vars(cls):
            cls.run = resolve_name(cls.run, cls.__module__.rpartition(".")[0])

    @classmethod
    def name(cls) -> str:
        """Name of the method, as in the YAML."""
        return cls.model_fields["method"].default

    @classmethod
    def function(cls):
        """Return the function that does the work, imported now."""
        return families.implementation(cls.run)

    @classmethod
    def module(cls) -> str:
        """Module that does the work."""
        return cls.run.partition(":")[0]

    @classmethod
    def accepts(cls, before: type["Step"]) -> bool:
        """Whether it understands what a method of the stage before makes."""
        if cls.after:
            return before.name() in cls.after
        return before.makes in cls.reads

    @classmethod
    def parts_of(cls, library: Mapping) -> dict:
        """Those parts of the section `library` that it uses."""
        return {key: library[key] for key in cls.uses if key in library}

    def contract(self) -> str:
        """Contract of what it makes with these settings."""
        return self.makes

    def modules(self) -> list[str]:
        """Modules that do the work with these settings."""
        return [self.module()]

    def problems(self, recipe: "Recipe", example: Mapping) -> Iterator[str]:
        """What of an example this method cannot do, or would pass over."""
        yield from ()


class Simulate(Step):
    """A scheme that makes observations of a known system.

    It `simulates` `coordinates`, `a field` or `a port-Hamiltonian system`; if it
    `fills_boxes`, starts may fill a box evenly, by a Halton sequence.
    """

    stage = "simulate"
    simulates: ClassVar[str] = "coordinates"
    fills_boxes: ClassVar[bool] = False
    time_step: Positive = Field(description="Time step, s.")
    duration: Positive = Field(description="Duration, s.")
    replicates: Count = Field(20, description="Independent ensembles.")
    initial_state: InitialState = Field(
        description="A number or an expression for every coordinate and velocity, or "
        "for u and u_t as functions of x and length; `random` names draws, {name: "
        "{uniform: [low, high]}} or {name: {normal: [mean, std]}}, or with method "
        "runge_kutta {name: {halton: [low, high]}}: the names with halton share one "
        "sequence that fills their box evenly."
    )

    def __call__(self, system, *, example: str, seed: int, replicate: int, units):
        """Observations of one replicate."""
        key = {"example": example, "seed": seed, "replicate": replicate}
        return self.function()(system, self.plain(), **key, units=units)


class Ensemble(Simulate):
    """A scheme of trajectories that stores so many numbers of a coordinate or node."""

    stored: ClassVar[int] = 2
    trajectories: Count = Field(description="Trajectories of one ensemble.")

    def bytes_of_paths(self, width: int) -> int:
        """Bytes of all replicates with `width` coordinates or nodes.

        >>> from leastaction.ensembles.recipes import StrongTaylor
        >>> settings = {"time_step": 0.5, "duration": 1.0, "initial_state": {"x": 0}}
        >>> StrongTaylor(trajectories=3, replicates=2, **settings).bytes_of_paths(1)
        288
        """
        samples = round(self.duration / self.time_step) + 1
        paths = self.replicates * self.trajectories
        return 8 * self.stored * width * paths * samples


class Differentiate(Step):
    """A method of time derivatives, or of what increments say without a model."""

    stage = "differentiate"
    needs_channels: ClassVar[tuple[str, ...]] = ("q",)

    def __call__(self, observations, library: Mapping):
        """Derivatives of one replicate, of all cases or of the setting `cases`."""
        function, settings = self.function(), self.plain()
        return _over_cases(
            lambda recorded: function(recorded, settings, library),
            observations,
            selection=settings.get("cases"),
        )


class Assemble(Step):
    """A method from observations and derivatives to equations in coefficients.

    Without `needs_velocities` displacements alone are enough; one that
    `ignores_dissipation` is meant to pass over candidates of the damping.
    """

    stage = "assemble"
    ignores_dissipation: ClassVar[bool] = False
    needs_velocities: ClassVar[bool] = True

    def __call__(self, observations, derivatives, library: Mapping):
        """Equations of one replicate, in all cases of the derivatives."""
        function, settings = self.function(), self.plain()
        return _over_cases(
            lambda recorded, rates: function(recorded, rates, settings, library),
            observations,
            derivatives,
        )


class Volatility(Step):
    """A method of the volatility, given the Lagrangian."""

    stage = "volatility"


class Identify(Step):
    """A method from equations to a model with error bars.

    If it `returns_to_samples`, its function gets the observations and the library, too;
    if it `finds_volatility`, it estimates it together with the drift; if it
    `knows_input`, it puts a recorded input into its equations.
    """

    stage = "identify"
    makes = "model"
    returns_to_samples: ClassVar[bool] = False
    finds_volatility: ClassVar[bool] = False
    knows_input: ClassVar[bool] = False

    def modules(self) -> list[str]:
        """Modules that do the work, that of the volatility among them."""
        volatility = getattr(self, "volatility", None)
        return [self.module(), *(volatility.modules() if volatility else ())]

    def __call__(self, observations, equations, library: Mapping):
        """Model of one replicate, in all cases of the equations."""
        return _over_cases(
            lambda recorded, assembled: self._case(recorded, assembled, library),
            observations,
            equations,
        )

    def _case(self, observations, equations, library):
        from leastaction.core.estimate import model_dataset, no_volatility

        more = (observations, library) if self.returns_to_samples else ()
        result = self.function()(equations, self.plain(), *more)
        if self.makes != "model":
            return result
        step = getattr(self, "volatility", None)
        if self.finds_volatility:
            result, volatility = result
        elif step is None:
            volatility = no_volatility(observations.sizes["dof"])
        else:
            method = step.function()
            volatility = method(observations, result, step.plain(), library)
        calculus = library.get("calculus", "ito")
        return model_dataset(observations, result, volatility, calculus)


def _over_cases(function, observations, *others, **selection):
    """All cases; what is warned of goes along with data that carry their `warnings`."""
    from leastaction.core.noise_sweep import over_cases
    from leastaction.core.progress import logged_warnings

    if "warnings" not in observations.attrs:
        return over_cases(function, observations, *others, **selection)
    with logged_warnings() as messages:
        result = over_cases(function, observations, *others, **selection)
    lists = [json.loads(data.attrs.get("warnings", "[]")) for data in others]
    every = dict.fromkeys(text for texts in [*lists, messages] for text in texts)
    return result.assign_attrs(warnings=json.dumps(list(every)))


class Rollout(Step):
    """How models of a kind are compared with the truth.

    `reads` are contracts of models, or of a model of written terms those of its
    observations. `section` is the key and type of what `validate` says of these
    rollouts alone.
    """

    stage = "validate"
    section: ClassVar[tuple[str, type[Settings]] | None] = None


def part(mapping: Mapping, key: str) -> Mapping:
    """Return a section, or an empty one where there is none or something else."""
    result = mapping.get(key)
    return result if isinstance(result, Mapping) else {}


@of_families
def declared(kind: type) -> tuple[type, ...]:
    """Classes of a kind that the families declare in their `recipes.py`."""
    return tuple(
        value
        for module in families.modules("recipes")
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, kind)
        and value.__module__ == module.__name__
    )


@of_families
def system_sections() -> Mapping[str, type[Settings]]:
    """Kinds of the section `system`, by the key that only this kind has."""
    return {kind.key: kind for kind in (CoordinateSystem, *declared(System))}


@of_families
def steps(stage: str) -> Mapping[str, type[Step]]:
    """Methods of a stage by name, those of all families."""
    methods = [m for m in declared(Step) if m.stage == stage]
    return {m.name(): m for m in methods if "method" in m.model_fields}


@of_families
def _any_step(stage: str) -> TypeAdapter:
    kinds = tuple(steps(stage).values())
    kind = Union[kinds]  # noqa: UP007
    return TypeAdapter(Annotated[kind, Field(discriminator="method")])


class AnyOf:
    """Type of a step of any method of a stage that some family has when it is used.

    An instance of a class of your own is taken as it is.
    """

    def __init__(self, stage: str):
        self.stage = stage

    def __get_pydantic_core_schema__(self, source, handler):
        def chosen(value):
            if isinstance(value, source):
                return value
            if isinstance(value, Mapping) and isinstance(value.get("method"), str):
                known_steps(self.stage, value["method"])
            return _any_step(self.stage).validate_python(value)

        return core_schema.no_info_plain_validator_function(chosen)

    def __get_pydantic_json_schema__(self, schema, handler):
        return handler(_any_step(self.stage).core_schema)


def step(stage: str, settings: Mapping) -> Step:
    """Step that `settings` name, with these settings; ValueError if one is wrong."""
    return method_of(stage, settings)(**settings)


def known_steps(stage: str, name) -> Mapping[str, type[Step]]:
    """As :func:`steps`; of other packages, too, if none of these has this `name`."""
    if name not in steps(stage):
        families.extend()
    return steps(stage)


def method_of(stage: str, settings: Mapping) -> type[Step]:
    """Class of the method of a stage that `settings` name; ValueError if none is."""
    name = settings.get("method")
    if name is None:
        known = ", ".join(steps(stage))
        raise ValueError(f"{stage}: method is missing; give one of {known}")
    known = known_steps(stage, name)
    if name not in known:
        raise ValueError(unknown(f"{stage} method", name, known))
    return known[name]


def rollout(kind: str) -> type[Rollout]:
    """How models, or observations, of a contract are rolled out."""
    if kind not in _rollouts():
        families.extend()
    return _rollouts()[kind]


def kind_of_rollout(model: str, observations: str) -> str:
    """Contract that decides on the rollout: of the model, else of the observations."""
    return model if model in _rollouts() else observations


@of_families
def _rollouts() -> Mapping[str, type[Rollout]]:
    return {kind: value for value in declared(Rollout) for kind in value.reads}
