"""What each stage of the workflow needs of an example: settings, and modules.

A rule gets exactly the part of an example's configuration that its stage uses, in one
dictionary: a change elsewhere does not re-run it. The modules are those that the
methods named in the configuration live in; what they import follows from their source
(:mod:`leastaction.configuration.sources`).
"""

from collections.abc import Callable, Collection, Mapping

from leastaction.core import families
from leastaction.core.from_config import is_field, is_port
from leastaction.core.stages import (
    assemble,
    differentiate,
    identify,
    simulate,
    validate,
)


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


def differentiate_settings(example: Mapping, estimator: str) -> dict:
    """The method, and the candidates that it evaluates."""
    settings = example["estimators"][estimator]["differentiate"]
    parts = differentiate.USES_LIBRARY[settings["method"]]
    return {"differentiate": settings, "library": library_parts(example, parts)}


def assemble_settings(example: Mapping, estimator: str) -> dict:
    """The method, and the candidates that it evaluates."""
    settings = example["estimators"][estimator]["assemble"]
    parts = assemble.USES_LIBRARY[settings["method"]]
    return {"assemble": settings, "library": library_parts(example, parts)}


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
        "kind": kind_of_rollout(example, estimator),
        "validate": example["validate"],
        "library": library_parts(example, ("reference", "inertia", "lagrangian")),
    }


def kind_of_rollout(example: Mapping, estimator: str) -> str:
    """Key of `validate.METHODS`: by the model, then by the data."""
    found = identify.contract(example["estimators"][estimator]["identify"])
    made = simulate.MAKES[example["simulate"]["method"]]
    return found if found in validate.METHODS else made


def library_parts(example: Mapping, parts: Collection[str]) -> dict:
    """Those `parts` of the section `library` that the example has."""
    library = example.get("library", {})
    return {key: library[key] for key in parts if key in library}


def example_figures(example: Mapping) -> dict[str, str]:
    """By file, the figures of one example."""
    return dict(families.example_figures()[_shown_as(example)])


def shows(figure: str, example: Mapping) -> bool:
    """Whether a figure can show an example: only some kinds of data have it."""
    of_kinds = families.example_figures()
    kinds = [k for k, names in of_kinds.items() if figure in names.values()]
    return not kinds or _shown_as(example) in kinds


def _shown_as(example: Mapping) -> str:
    """Key of `families.example_figures`."""
    if kind_of_data(example) == "snapshots":
        return "snapshots"
    return simulate.MAKES[example["simulate"]["method"]]


# Parts of an example that the rules of the publish stage show.
FOR_FIGURES = ("title", "section", "system", "library", "simulate", "validate")
# With the numbers that a figure of the paper shows.
FOR_PAPERS = (*FOR_FIGURES, "publish")
FOR_TABLES = ("title", "system", "library", "simulate", "publish")
FOR_SCORES = ("title", "system", "library", "simulate", "publish")

# Tables that show rollouts, too.
OF_ROLLOUTS = ("identification", "effort_errors")


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


def _scheme(example: Mapping, estimator: str | None = None) -> list[str]:
    return [simulate.METHODS[example["simulate"]["method"]]]


def _rollout(example: Mapping, estimator: str) -> list[str]:
    return [*_scheme(example), validate.METHODS[kind_of_rollout(example, estimator)]]


def _observation(example: Mapping, estimator: str | None = None) -> list[str]:
    sensor = [simulate.SENSOR] if example["simulate"].get("sensor") else []
    return [*_scheme(example), *sensor]


def _differentiation(example: Mapping, estimator: str) -> list[str]:
    recipe = example["estimators"][estimator]
    return [differentiate.METHODS[recipe["differentiate"]["method"]]]


def _assembly(example: Mapping, estimator: str) -> list[str]:
    recipe = example["estimators"][estimator]
    return [assemble.METHODS[recipe["assemble"]["method"]]]


def _identification(example: Mapping, estimator: str) -> list[str]:
    recipe = example["estimators"][estimator]["identify"]
    modules = [identify.METHODS[recipe["method"]]]
    if "volatility" in recipe:
        modules.append(identify.VOLATILITY_METHODS[recipe["volatility"]["method"]])
    return modules


SETTINGS: Mapping[str, Callable] = {
    "simulate": simulate_settings,
    "differentiate": differentiate_settings,
    "assemble": assemble_settings,
    "identify": identify_settings,
    "validate": validate_settings,
}
MODULES: Mapping[str, Callable] = {
    "simulate": _observation,
    "differentiate": _differentiation,
    "assemble": _assembly,
    "identify": _identification,
    "validate": _rollout,
}


# What `recommended: {}` means, by the kind of data: methods of differentiate, assemble,
# identify, and of the volatility where there is a random force.
RECOMMENDED = {
    "states": (
        "realised_variation",
        "martingale_moments",
        "moment_gmm",
        "squared_increments",
    ),
    "noisy states": (
        "sensor_noise",
        "lagged_moments",
        "moving_average_gmm",
        "moving_average_likelihood",
    ),
    "displacements": (
        "sensor_noise",
        "weak_moments",
        "moving_average_gmm",
        "moving_average_likelihood",
    ),
    "field": (
        "modal_projection",
        "modal_moments",
        "modal_gmm",
        "modal_long_run_variance",
    ),
    "motions": ("joint_spline", "gram", "null_vector"),
    "positions": ("joint_spline", "gram", "shooting"),
    "measurements": ("bandwidth_spline", "weighted_gram", "cross_validated_shooting"),
    "snapshots": ("none", "discrete_euler_lagrange", "evidence_maximisation"),
    "port": ("finite_difference", "effort_targets", "hamiltonian_gradient"),
    "density": ("bump_functions", "weak_fokker_planck", "ito_gmm"),
    "density moments": ("monomial_functions", "moment_fokker_planck", "ito_gmm"),
}


def is_random(example: Mapping) -> bool:
    """Whether another replicate has other data: even starts without noise have not."""
    simulation = example["simulate"]
    starts = simulation["initial_state"].get("random", {}).values()
    noisy = any(simulation.get("noise", {}).get("levels", [1.0]))
    return noisy or not starts or any("halton" not in recipe for recipe in starts)


def kind_of_data(example: Mapping) -> str:
    """Return the kind of data that an example has: a key of `RECOMMENDED`.

    Motions without candidates, that is without the section `library`, are snapshots: a
    Lagrangian is learned without writing down its terms.
    """
    if "import" in example:
        return "states" if example.get("excitation") == "random" else "measurements"
    if "field" in _part(example, "system"):
        return "field"
    if is_port(_part(example, "system")):
        return "port"
    simulation = _part(example, "simulate")
    if simulation.get("method") in ("gill_histogram", "gill_moments"):
        by_moments = simulation["method"] == "gill_moments"
        return "density moments" if by_moments else "density"
    if simulation.get("method") == "runge_kutta":
        if "library" not in example:
            return "snapshots"
        channels = _part(simulation, "noise").get("channels", ["q", "qdot", "qddot"])
        return "positions" if channels == ["q"] else "motions"
    sensor = _part(simulation, "sensor")
    if not sensor:
        return "states"
    return "displacements" if sensor.get("channels") == ["q"] else "noisy states"


def with_recommended_methods(example: Mapping) -> dict:
    """`example` with the recommended method wherever a recipe names none."""
    methods = RECOMMENDED[kind_of_data(example)]
    stages = ("differentiate", "assemble", "identify")
    recipes = dict(_part(example, "estimators"))
    for name, recipe in recipes.items():
        if not isinstance(recipe, Mapping):
            continue
        filled = dict(recipe)
        for stage, method in zip(stages, methods, strict=False):
            if isinstance(filled.get(stage, {}), Mapping):
                filled[stage] = {"method": method} | dict(filled.get(stage, {}))
        identify = filled["identify"]
        own = isinstance(identify, Mapping) and identify["method"] == methods[2]
        if own and len(methods) == 4:
            given = _part(identify, "volatility")
            volatility = {"method": methods[3]} | dict(given)
            filled["identify"] = {**identify, "volatility": volatility}
        recipes[name] = filled
    return {**example, "estimators": recipes} if recipes else dict(example)


def _part(mapping: Mapping, key: str) -> Mapping:
    """Return a section, or an empty one where there is none or something else."""
    found = mapping.get(key)
    return found if isinstance(found, Mapping) else {}
