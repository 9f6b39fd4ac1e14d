"""Recipes: steps that are composed, and whether they fit each other and the data."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PrivateAttr

from leastaction.core import families
from leastaction.core.families import states_arguments, unknown
from leastaction.core.method import (
    AnyOf,
    Assemble,
    Differentiate,
    Identify,
    Step,
    part,
    step,
    steps,
)
from leastaction.core.settings import CHANNELS, Library, Settings, checked, complete

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

    from leastaction.core.model import IdentifiedModel


@states_arguments
class Recipe(Settings):
    """An estimator: a step `differentiate`, a step `assemble`, a step `identify`.

    ``leastaction.recipes.<family>`` has the recipes of each family. Each step holds its
    settings; what a recipe cannot do with given data is refused by :meth:`fit`.

    Examples
    --------
    >>> import leastaction as la
    >>> recipe = la.recipes.ensembles.recommended(max_terms=3)
    >>> [step.name() for step in recipe.steps()]
    ['realised_variation', 'martingale_moments', 'moment_gmm']
    >>> recipe.identify.max_terms
    3
    """

    differentiate: Annotated[Differentiate, AnyOf("differentiate")]
    assemble: Annotated[Assemble, AnyOf("assemble")]
    identify: Annotated[Identify, AnyOf("identify")]
    _model: Any = PrivateAttr(None)

    def __dir__(self) -> list[str]:
        public = ("fit", "get_params", "predict", "set_params", "steps")
        return sorted([*super().__dir__(), *public])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Steps by stage, and if `deep` their settings, as scikit-learn names them.

        ``sklearn.base.clone`` of a recipe works, which then has not been fitted.

        >>> import leastaction as la
        >>> recipe = la.recipes.ensembles.recommended(max_terms=3)
        >>> recipe.get_params()["identify__max_terms"]
        3
        >>> type(recipe)(**recipe.get_params(deep=False)) == recipe
        True
        """
        parameters = {method.stage: method for method in self.steps()}
        if deep:
            settings = {stage: dir(method) for stage, method in parameters.items()}
            parameters |= {
                f"{stage}__{name}": getattr(parameters[stage], name)
                for stage, names in settings.items()
                for name in names
            }
        return parameters

    def set_params(self, **values: Any) -> "Recipe":
        """Change settings, named as in :meth:`get_params`; returns the recipe.

        ValueError if a setting is unknown, or out of bounds.

        >>> import leastaction as la
        >>> recipe = la.recipes.ensembles.recommended()
        >>> recipe.set_params(identify__max_terms=3).identify.max_terms
        3
        """
        known = self.get_params()
        steps = {method.stage: method for method in self.steps()}
        for name, value in values.items():
            if name not in known:
                raise ValueError(unknown("setting", name, known))
            stage, _, setting = name.partition("__")
            if setting:
                settings = steps[stage].plain() | {setting: value}
                value = checked(settings, type(steps[stage]), stage)
            steps[stage] = value
        changed = type(self)(**steps)
        for stage in steps:
            setattr(self, stage, getattr(changed, stage))
        return self

    def dataset(
        self,
        observations: "xr.Dataset",
        library: Mapping | None = None,
        advance: Callable[[str], None] = lambda stage: None,
    ) -> "xr.Dataset":
        """Models of all replicates in memory; ``advance(stage)`` is called by stage."""
        from leastaction.core.noise_sweep import along_replicates

        library = library or {}
        made = []
        for number in range(observations.sizes["replicate"]):
            data = observations.isel(replicate=[number])
            advance("differentiate")
            rates = self.differentiate(data, self.differentiate.parts_of(library))
            advance("assemble")
            equations = self.assemble(data, rates, self.assemble.parts_of(library))
            advance("identify")
            made.append(self.identify(data, equations, library))
        contract = self.identify.contract()
        return along_replicates(made).assign_attrs(contract=contract)

    def fit(
        self,
        observations: "Mapping | xr.Dataset",
        library: Mapping | None = None,
        *,
        time: "ArrayLike | None" = None,
        replicate: int = 0,
        progress: bool = True,
        **case: float | str,
    ) -> "IdentifiedModel":
        """Model of one replicate, as :func:`leastaction.load` gives it.

        Parameters
        ----------
        observations
            A dataset that the method of `differentiate` reads; or arrays by the names
            of formulas, ``{"x": x, "xdot": v}``, of shape (time,) or (trajectory,
            time), with their `time`.
        library
            Candidates, as in the section of that name; lists of text are terms.
        time
            Times of arrays, s.
        replicate
            Number of the replicate.
        progress
            Whether a bar is shown once the work takes longer than three seconds.
        case
            `noise_level` and `noise_mode` of a sweep.

        Returns
        -------
        IdentifiedModel, or another class
            As :func:`leastaction.load`.

        Raises
        ------
        ValueError
            If data or candidates do not fit the recipe.

        Examples
        --------
        >>> import numpy as np, leastaction as la
        >>> time = np.arange(0, 4, 0.01)
        >>> motion = {"x": np.cos(2 * time), "xdot": -2 * np.sin(2 * time)}
        >>> terms = ["xdot**2", "x**2", "x**4"]
        >>> library = {"reference": "xdot**2/2", "lagrangian": terms}
        >>> recipe = la.recipes.trajectories.recommended()
        >>> recipe.fit(motion, library, time=time).support
        ['xdot**2', 'x**2']
        """
        from leastaction.core.model import model_of
        from leastaction.core.progress import progress_bar

        problems = [*self.misfits()]
        if library is None:
            problems += _without_candidates(self.assemble)
        else:
            library = complete(library, Library, "the library")
            if getattr(self.identify, "volatility", None) is not None:
                library.setdefault("volatility", [{"terms": [1]}])
        if problems:
            raise ValueError("; ".join(problems))
        data = self._observed(observations, time)
        if not 0 <= replicate < data.sizes["replicate"]:
            raise ValueError(
                f"replicate is {replicate}; number of replicates, counted from 0: "
                f"{data.sizes['replicate']}"
            )
        one = data.isel(replicate=[replicate])
        with progress_bar(3, progress) as advance:
            dataset = self.dataset(one, library, advance)
        self._model = model_of(dataset, **case)
        return self._model

    def _observed(self, observations, time):
        """Dataset that the first step reads, checked."""
        from leastaction.core.contracts import check
        from leastaction.core.observations import observations as observed

        reads = self.differentiate.reads
        if not isinstance(observations, Mapping):
            raise ValueError(
                f"observations are {type(observations).__name__}; expected a dataset, "
                "or arrays by name such as {'x': x, 'xdot': v}"
            )
        if not hasattr(observations, "dims"):
            alone = not any(str(name).endswith("dot") for name in observations)
            alone = alone and "displacements" in reads
            contract = "displacements" if alone else reads[0]
            observations = observed(observations, time, contract)
        contract = observations.attrs.get("contract", reads[0])
        if contract not in reads:
            raise ValueError(
                f"the data are {contract}; differentiate method "
                f"{self.differentiate.name()!r} reads {' or '.join(reads)}"
            )
        return check(observations, contract)

    def predict(self, *start: Any) -> "xr.Dataset":
        """Motion of the model of the last :meth:`fit`: its `predict`, or `rollout`.

        ValueError before the first `fit`, or if the model has no motion of its own.
        """
        for name in ("predict", "rollout"):
            if hasattr(self._model, name):
                return getattr(self._model, name)(*start)
        raise ValueError("there is no model that moves; call fit(observations) first")

    def steps(self) -> tuple[Step, Step, Step]:
        """Steps in their order; that of the volatility is in the last."""
        return self.differentiate, self.assemble, self.identify

    def misfits(self) -> Iterator[str]:
        """Neighbouring methods that do not understand each other's files."""
        volatility = getattr(self.identify, "volatility", None)
        chain = [*self.steps(), *([volatility] if volatility else [])]
        for before, method in pairwise(chain):
            if not method.accepts(type(before)):
                named = " or ".join(map(repr, method.after))
                accepted = named or _either(before.stage, method.accepts)
                yield (
                    f"{method.stage} method {method.name()!r} needs {before.stage} "
                    f"method {accepted}, not {before.name()!r}"
                )

    def problems(self, example: Mapping) -> Iterator[str]:
        """Everything that would stop this recipe on an example, or mislead it."""
        before, first = step("simulate", example["simulate"]), self.differentiate
        if not first.accepts(type(before)):
            fitting = _either("differentiate", lambda m: m.accepts(type(before)))
            yield (
                f"differentiate method {first.name()!r} cannot read what simulate "
                f"method {before.name()!r} makes; choose {fitting}"
            )
        yield from self.misfits()
        if "library" in example:
            yield from _undamped(self.assemble, example["library"])
        else:
            yield from _without_candidates(self.assemble)
        yield from _unrecorded(self, example["simulate"])
        yield from _without_cases(self, example["simulate"])
        driven = example["simulate"].get("input")
        if driven and before.makes == "recordings" and not self.identify.knows_input:
            others = _either("identify", lambda m: m.knows_input)
            yield (
                f"identify method {self.identify.name()!r} knows no input, but "
                f"simulate.input drives {', '.join(driven)}; use {others}, or take the "
                "input away"
            )
        for method in (before, *self.steps()):
            yield from method.problems(self, example)


def _either(stage: str, fits: Callable) -> str:
    """Methods of a stage that fit, as one says it."""
    return " or ".join(repr(name) for name, m in steps(stage).items() if fits(m))


def _without_candidates(method: Assemble) -> Iterator[str]:
    """A method that needs candidates, in an example without any."""
    if method.uses:
        others = _either("assemble", lambda m: not m.uses)
        yield (
            f"assemble method {method.name()!r} needs candidates, but 'library' is "
            f"missing; write one, or use {others}"
        )


def _undamped(method: Assemble, library: Mapping) -> Iterator[str]:
    """A method that would pass over the candidates of the Rayleigh function."""
    # Paper: the recipe of ensemble_mean has no damping, and is run as it is.
    ignores = method.ignores_dissipation or "dissipation" in method.uses
    if library.get("dissipation") and not ignores:
        others = _either("assemble", lambda m: "dissipation" in m.uses)
        yield (
            f"assemble method {method.name()!r} knows no damping, but "
            f"library.dissipation lists candidates; use {others}"
        )


def _unrecorded(recipe: Recipe, simulation: Mapping) -> Iterator[str]:
    """A method that needs a channel that the sensors do not record."""
    sensor, method = simulation.get("sensor"), recipe.assemble
    channels = (sensor or {}).get("channels", ["q", "qdot"])
    if "qdot" not in channels and method.needs_velocities:
        others = _either("assemble", lambda m: not m.needs_velocities)
        yield (
            f"assemble method {method.name()!r} needs velocities, but "
            f"simulate.sensor.channels records {channels} alone; use {others} "
            "with differentiate method 'stochastic_subspace'"
        )
    recorded, first = part(simulation, "noise").get("channels"), recipe.differentiate
    missing = [c for c in first.needs_channels if c not in (recorded or CHANNELS)]
    if missing:
        yield (
            f"differentiate method {first.name()!r} needs "
            f"{', '.join(first.needs_channels)}, but simulate.noise.channels records "
            f"{', '.join(recorded)}; use 'joint_spline', or record {', '.join(missing)}"
        )


def _without_cases(recipe: Recipe, simulation: Mapping) -> Iterator[str]:
    """Cases of a sweep that are not simulated."""
    simulated = part(simulation, "noise")
    for key, values in (recipe.differentiate.plain().get("cases") or {}).items():
        missing = [value for value in values if value not in simulated[key]]
        if missing:
            yield (
                f"differentiate.cases.{key} names {missing}, but simulate.noise.{key} "
                f"has {simulated[key]}; choose among these, or add them there"
            )


def recommended(kind: str) -> Recipe:
    """Recipe of recommended methods for a kind of data, with their defaults."""
    return Recipe(**recommended_settings(kind))


def recommended_settings(kind: str) -> dict:
    """Settings that name the methods of :func:`recommended`, and nothing else.

    ValueError if there is no such kind of data.
    """
    tables = _of_recipes("RECOMMENDED", {})
    known = {kind: steps for table in tables for kind, steps in table.items()}
    if kind not in known:
        raise ValueError(unknown("kind of data", kind, known))
    settings = {method.stage: {"method": method.name()} for method in known[kind]}
    volatility = settings.pop("volatility", None)
    if volatility:
        settings["identify"]["volatility"] = volatility
    return settings


def kind_of_data(example: Mapping) -> str:
    """Kind of the data of an example, by which methods are recommended.

    The last family that claims it has it; randomly excited coordinates are left over.
    """
    known = reversed(_of_recipes("kind_of_data", lambda example: None))
    return next(kind for kind in (of(example) for of in known) if kind)


def _of_recipes(name: str, default) -> list:
    """What `name` is in each module of recipes."""
    return [getattr(m, name, default) for m in families.modules("recipes")]


def with_recommended_methods(example: Mapping) -> dict:
    """`example` with the recommended method where none is named."""
    if not isinstance(example, Mapping):
        return example
    estimators = example.get("estimators")
    if not estimators or not isinstance(estimators, Mapping):
        return dict(example)
    usual = recommended_settings(kind_of_data(example))
    return {
        **example,
        "estimators": {
            name: _completed(recipe, usual) if isinstance(recipe, Mapping) else recipe
            for name, recipe in estimators.items()
        },
    }


def _completed(recipe: Mapping, usual: Mapping) -> dict:
    """A recipe, or a part of one, with the methods of `usual` that it does not name.

    What stands beside a method in `usual` goes with that method alone.
    """
    filled = dict(recipe)
    for key, value in usual.items():
        if not isinstance(value, Mapping):
            filled.setdefault(key, value)
    if filled.get("method") != usual.get("method"):
        return filled
    for key, value in usual.items():
        section = {} if filled.get(key) is None else filled[key]
        if isinstance(value, Mapping) and isinstance(section, Mapping):
            filled[key] = _completed(section, value)
    return filled


def raised(where: str, check: Callable) -> Iterator[str]:
    """Sentence of the error that a check raises; none if it passes."""
    try:
        check()
    except (ValueError, KeyError) as error:
        yield f"{where}: {error}"
