"""What a job of each stage needs of an example: settings, and modules.

A rule gets exactly the part of an example's configuration that its stage uses, in one
dictionary: a change elsewhere does not re-run it. The modules are those that the
methods named in the configuration live in.
"""

from collections.abc import Callable, Collection, Mapping

from leastaction.core import families
from leastaction.core.families import is_field, is_port
from leastaction.core.method import Ensemble, Step, kind_of_rollout, rollout, step
from leastaction.core.recipe import kind_of_data


def simulate_settings(example: Mapping, estimator: str | None = None) -> dict:
    """Truth, simulation and the key of the random numbers; no label of a figure."""
    system = dict(example["system"])
    if is_port(system):
        system["states"] = {
            name: {"unit": entry["unit"]} for name, entry in system["states"].items()
        }
    elif is_field(system):
        system["field"] = {key: system["field"][key] for key in ("name", "unit")}
    else:
        system["coordinates"] = {
            name: {"unit": entry["unit"]}
            for name, entry in system["coordinates"].items()
        }
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


def step_settings(stage: str) -> Callable[[Mapping, str], dict]:
    """Settings of a stage: the method, and the candidates that it evaluates."""

    def settings(example: Mapping, estimator: str) -> dict:
        found = step_of(stage, example, estimator)
        given = example["estimators"][estimator][stage]
        return {stage: given, "library": library_parts(example, found.uses)}

    return settings


def step_of(stage: str, example: Mapping, estimator: str | None = None) -> Step:
    """Step of a stage that an example, or one of its estimators, names."""
    recipe = example if stage == "simulate" else example["estimators"][estimator]
    return step(stage, recipe[stage])


def identify_settings(example: Mapping, estimator: str) -> dict:
    """The methods and all candidates, those of the volatility among them."""
    return {
        "identify": example["estimators"][estimator]["identify"],
        "library": example.get("library", {}),
    }


def validate_settings(example: Mapping, estimator: str) -> dict:
    """Truth, simulation, rollout, and the library that fixes the scale of L."""
    return {
        **simulate_settings(example),
        "kind": rolled_out_as(example, estimator),
        "validate": example["validate"],
        "library": library_parts(example, ("reference", "inertia", "lagrangian")),
    }


def rolled_out_as(example: Mapping, estimator: str) -> str:
    """Contract that decides how a model is rolled out: its own, else of the data."""
    model = step_of("identify", example, estimator).makes
    return kind_of_rollout(model, step_of("simulate", example).makes)


def library_parts(example: Mapping, parts: Collection[str]) -> dict:
    """Those `parts` of the section `library` that the example has."""
    library = example.get("library", {})
    return {key: library[key] for key in parts if key in library}


def example_figures(example: Mapping) -> tuple[str, ...]:
    """Names of the figures of one example, and of their files."""
    return families.example_figures()[_shown_as(example)]


def shows(figure: str, example: Mapping) -> bool:
    """Whether a figure can show an example: only some kinds of data have it."""
    of_kinds = families.example_figures()
    kinds = [k for k, names in of_kinds.items() if figure in names]
    return not kinds or _shown_as(example) in kinds


def _shown_as(example: Mapping) -> str:
    """Key of `families.example_figures`."""
    kind = kind_of_data(example)
    known = kind in families.example_figures()
    return kind if known else step_of("simulate", example).makes


# Parts of an example that the rules of the publish stage show.
FOR_FIGURES = ("title", "section", "system", "library", "simulate", "validate")
# With the numbers that a figure of the paper shows.
FOR_PAPERS = (*FOR_FIGURES, "publish")
FOR_TABLES_AND_SCORES = ("title", "system", "library", "simulate", "publish")


def panel(example: Mapping, parts: Collection[str]) -> dict:
    """The `parts` of an example, and the names of its estimators."""
    return {
        **{key: example[key] for key in parts if key in example},
        "estimators": list(example["estimators"]),
        "rolled_out": rolled_out(example),
    }


def rolled_out(example: Mapping) -> list[str]:
    """Names of the estimators whose models are rolled out, in their order."""
    wanted = example["validate"].get("estimators", list(example["estimators"]))
    return [name for name in example["estimators"] if name in wanted]


def _modules_of(stage: str) -> Callable[..., list[str]]:
    return lambda example, estimator=None: step_of(stage, example, estimator).modules()


def _rollout(example: Mapping, estimator: str) -> list[str]:
    scheme = step_of("simulate", example).module()
    return [scheme, rollout(rolled_out_as(example, estimator)).module()]


SETTINGS: Mapping[str, Callable] = {
    "simulate": simulate_settings,
    "differentiate": step_settings("differentiate"),
    "assemble": step_settings("assemble"),
    "identify": identify_settings,
    "validate": validate_settings,
}
MODULES: Mapping[str, Callable] = {
    **{stage: _modules_of(stage) for stage in SETTINGS},
    "validate": _rollout,
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
