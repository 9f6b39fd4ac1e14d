"""What a job of each stage needs of an example: settings, and modules.

A rule gets exactly the part of an example's configuration that its stage uses, in one
dictionary: a change elsewhere does not re-run it. The modules are those that the
methods named in the configuration live in.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from leastaction.core import jobs
from leastaction.core.families import is_field, is_port
from leastaction.core.jobs import shown, step_of
from leastaction.core.method import Ensemble, kind_of_rollout, rollout
from leastaction.core.recipe import kind_of_data
from leastaction_papers import scorecard


def simulate_settings(example: Mapping, estimator: str | None = None) -> dict:
    """Truth, simulation and the key of the random numbers; no label of a figure."""
    system = dict(example["system"])
    if is_field(system):
        system["field"] = {key: system["field"][key] for key in ("name", "unit")}
    else:
        key = "states" if is_port(system) else "coordinates"
        quantities = system[key].items()
        system[key] = {name: {"unit": entry["unit"]} for name, entry in quantities}
    return {
        "example": example["key"],
        "seed": example["seed"],
        "system": system,
        "simulate": example["simulate"],
    }


def bytes_of_paths(example: Mapping) -> int:
    """Bytes of the paths that are simulated of an example, by far the largest files."""
    scheme, system = step_of("simulate", example), example["system"]
    if not isinstance(scheme, Ensemble):
        return 0
    field = is_field(system)
    width = system["domain"]["nodes"] if field else len(system.get("coordinates", ()))
    return scheme.bytes_of_paths(width)


def validate_settings(example: Mapping, estimator: str) -> dict:
    """Truth, simulation, rollout, and the library that fixes the scale of L."""
    library, parts = example.get("library", {}), ("reference", "inertia", "lagrangian")
    return {
        **simulate_settings(example),
        "kind": rolled_out_as(example, estimator),
        "validate": example["validate"],
        "library": {key: library[key] for key in parts if key in library},
    }


def rolled_out_as(example: Mapping, estimator: str) -> str:
    """Contract that decides how a model is rolled out: its own, else of the data."""
    model = step_of("identify", example, estimator).makes
    return kind_of_rollout(model, step_of("simulate", example).makes)


def example_figures(example: Mapping) -> tuple[str, ...]:
    """Names of the figures of one example, and of their files."""
    known, kind = scorecard.example_figures(), kind_of_data(example)
    return known.get(kind) or known[step_of("simulate", example).makes]


def shows(figure: str, example: Mapping) -> bool:
    """Whether a figure can show an example: only some kinds of data have it."""
    special = any(figure in names for names in scorecard.example_figures().values())
    return not special or figure in example_figures(example)


# Parts of an example that the rules of the publish stage show.
FOR_FIGURES = ("title", "section", "system", "library", "simulate", "validate")
# With the numbers that a figure of the paper shows.
FOR_PAPERS = (*FOR_FIGURES, "publish")
FOR_TABLES_AND_SCORES = (
    "title",
    "system",
    "library",
    "simulate",
    "publish",
    "setting",
)


def panel(example: Mapping, parts: Collection[str]) -> dict:
    """The `parts` of an example, and the names of the estimators that are shown."""
    return {
        **{key: example[key] for key in parts if key in example},
        "estimators": shown(example["estimators"]),
        "rolled_out": rolled_out(example),
    }


def rolled_out(example: Mapping, readings: bool = False) -> list[str]:
    """Names of the estimators whose models are rolled out, in their order.

    With `readings` also of settings that a paper leaves open, where they are named.
    """
    usual = shown(example["estimators"])
    requested = example["validate"].get("estimators", usual)
    names = example["estimators"] if readings else usual
    return [name for name in names if name in requested]


def scored(example: Mapping) -> dict:
    """What the scorecard is made of: as :func:`panel`, with all readings."""
    recipes = example["estimators"]
    settings = {name: recipe.get("setting") for name, recipe in recipes.items()}
    # That of the whole example makes an estimator no reading of another one.
    of_example = example.get("setting")
    return {
        **panel(example, FOR_TABLES_AND_SCORES),
        "estimators": list(recipes),
        "rolled_out": rolled_out(example, readings=True),
        "settings": {
            name: setting or of_example and {**of_example, "of": name}
            for name, setting in settings.items()
        },
    }


def validate_modules(example: Mapping, estimator: str) -> list[str]:
    """Modules of the simulation and the rollout of a model."""
    rolled = rollout(rolled_out_as(example, estimator))
    return [step_of("simulate", example).module(), rolled.module()]


# Those of all stages, as in `leastaction.core.jobs`.
SETTINGS: Mapping[str, Callable] = {
    **jobs.SETTINGS,
    "simulate": simulate_settings,
    "validate": validate_settings,
}
MODULES: Mapping[str, Callable] = {
    **jobs.MODULES,
    "simulate": partial(jobs.modules_of, "simulate"),
    "validate": validate_modules,
}


def is_random(example: Mapping) -> bool:
    """Whether another replicate has other data.

    Even starts without noise have not, nor have the random numbers of a `legacy_seed`.
    """
    simulation = example["simulate"]
    if "legacy_seed" in simulation:
        return False
    starts = simulation["initial_state"].get("random", {}).values()
    noisy = any(simulation.get("noise", {}).get("levels", [1.0]))
    return noisy or not starts or any("halton" not in recipe for recipe in starts)
