"""Recipes of an example: methods that fit each other, the data and the library."""

from collections.abc import Iterator, Mapping

from leastaction.core.noise_sweep import CHANNELS
from leastaction.core.stages import assemble, differentiate, identify, simulate


def recipe_problems(example: Mapping) -> list[str]:
    """Everything that would stop an estimator of this example, or mislead it.

    Each problem says what is given, what is expected and what to do.
    """
    problems: list[str] = []
    simulation, library = example["simulate"], example.get("library", {})
    coordinates = example["system"].get("coordinates", {})
    for name, estimator in example["estimators"].items():
        where = f"estimators.{name}"
        problems += _misfits(where, estimator, simulation["method"])
        problems += _unrecorded(where, estimator, simulation.get("sensor"))
        if "library" in example:
            problems += _undamped(where, estimator, library)
            problems += _without_implicit(where, estimator, library, coordinates)
        else:
            problems += _without_candidates(where, estimator)
        problems += _without_samples(where, estimator)
        if simulate.MAKES[simulation["method"]] == "recordings":
            problems += _without_channel(where, estimator, simulation["noise"])
            problems += _without_case(where, estimator, simulation["noise"])
            problems += _without_input(where, estimator, simulation["input"])
    return problems


def _misfits(where: str, estimator: Mapping, simulation: str) -> Iterator[str]:
    """Neighbouring methods of a recipe that do not understand each other's files."""
    made, method = simulate.MAKES[simulation], estimator["differentiate"]["method"]
    if differentiate.READS[method] != made:
        fitting = [m for m, reads in differentiate.READS.items() if reads == made]
        yield (
            f"{where}: differentiate method {method!r} cannot read what simulate "
            f"method {simulation!r} makes; choose {' or '.join(fitting)}"
        )
    chain = (
        ("assemble", "differentiate", assemble.NEEDS),
        ("identify", "assemble", identify.NEEDS),
    )
    for stage, before, needs in chain:
        method, given = estimator[stage]["method"], estimator[before]["method"]
        accepted = needs[method]
        accepted = (accepted,) if isinstance(accepted, str) else accepted
        if given not in accepted:
            yield (
                f"{where}: {stage} method {method!r} needs {before} method "
                f"{' or '.join(map(repr, accepted))}, not {given!r}"
            )
    volatility = estimator["identify"].get("volatility", {}).get("method")
    needed = identify.VOLATILITY_NEEDS.get(volatility, ())
    needed = (needed,) if isinstance(needed, str) else needed
    if needed and estimator["identify"]["method"] not in needed:
        yield (
            f"{where}: volatility method {volatility!r} needs identify method "
            f"{' or '.join(map(repr, needed))}, not {estimator['identify']['method']!r}"
        )


def _without_candidates(where: str, estimator: Mapping) -> Iterator[str]:
    """A method that needs candidates, in an example without any."""
    method = estimator["assemble"]["method"]
    if assemble.USES_LIBRARY[method]:
        without = [m for m, parts in assemble.USES_LIBRARY.items() if not parts]
        yield (
            f"{where}: assemble method {method!r} needs candidates, but 'library' is "
            f"missing; write one, or use {' or '.join(map(repr, without))}"
        )


def _undamped(where: str, estimator: Mapping, library: Mapping) -> Iterator[str]:
    """A method that would pass over the candidates of the Rayleigh function."""
    method = estimator["assemble"]["method"]
    knows = [m for m, parts in assemble.USES_LIBRARY.items() if "dissipation" in parts]
    # Paper: its recipe has no damping, and is run as it is.
    if library.get("dissipation") and method not in (*knows, "ensemble_mean"):
        yield (
            f"{where}: assemble method {method!r} knows no damping, but "
            f"library.dissipation lists candidates; use {' or '.join(map(repr, knows))}"
        )


def _unrecorded(where: str, estimator: Mapping, sensor) -> Iterator[str]:
    """A method that needs velocities where the sensors record displacements alone."""
    channels = (sensor or {}).get("channels", ["q", "qdot"])
    method = estimator["assemble"]["method"]
    if "qdot" not in channels and method not in assemble.DISPLACEMENTS_ONLY:
        known = " or ".join(sorted(map(repr, assemble.DISPLACEMENTS_ONLY)))
        yield (
            f"{where}: assemble method {method!r} needs velocities, but "
            f"simulate.sensor.channels records {channels} alone; use {known} with "
            "differentiate method 'sensor_noise'"
        )


def _without_implicit(where, estimator, library, coordinates) -> Iterator[str]:
    """A method of implicit equations, of which a coordinate has no candidates."""
    method = estimator["assemble"]["method"]
    given = list(library.get("implicit", {}))
    missing = [name for name in coordinates if name not in given]
    if "implicit" in assemble.USES_LIBRARY.get(method, ()) and missing:
        yield (
            f"{where}: assemble method {method!r} needs library.implicit for every "
            f"coordinate, but it lists {given or 'none'}; add candidates for "
            f"{', '.join(missing)}"
        )


def _without_samples(where: str, estimator: Mapping) -> Iterator[str]:
    """A method that needs all samples where only some are passed on."""
    method = estimator["identify"]["method"]
    samples = estimator["assemble"].get("samples")
    if method in identify.NEEDS_ALL_SAMPLES and samples != "all":
        yield (
            f"{where}: identify method {method!r} needs all samples, but "
            f"assemble.samples is {samples}; set it to all"
        )


def _without_channel(where: str, estimator: Mapping, noise: Mapping) -> Iterator[str]:
    """A method that needs a channel that is not recorded."""
    method = estimator["differentiate"]["method"]
    recorded = noise["channels"]
    if method in differentiate.NEEDS_ALL_CHANNELS and recorded != list(CHANNELS):
        yield (
            f"{where}: differentiate method {method!r} needs {', '.join(CHANNELS)}, "
            f"but simulate.noise.channels records {', '.join(recorded)}; use "
            "'joint_spline', or record them"
        )
    if method in differentiate.NEEDS_ACCELERATIONS and "qddot" not in recorded:
        yield (
            f"{where}: differentiate method {method!r} needs qddot, but "
            f"simulate.noise.channels records {', '.join(recorded)}; record it"
        )


def _without_case(where: str, estimator: Mapping, noise: Mapping) -> Iterator[str]:
    """Cases of a sweep that are not simulated."""
    wanted = estimator["differentiate"].get("cases") or {}
    for key, values in wanted.items():
        missing = [value for value in values if value not in noise[key]]
        if missing:
            yield (
                f"{where}: differentiate.cases.{key} names {missing}, but "
                f"simulate.noise.{key} has {noise[key]}; choose among these, or add "
                "them there"
            )


def _without_input(where: str, estimator: Mapping, given: Mapping) -> Iterator[str]:
    """A method that would pass over the input, or that needs one."""
    settings = estimator["identify"]
    method, driven = settings["method"], ", ".join(given)
    if driven and method not in identify.KNOWS_INPUT:
        yield (
            f"{where}: identify method {method!r} knows no input, but simulate.input "
            f"drives {driven}; use {' or '.join(map(repr, identify.KNOWS_INPUT))}, or "
            "take the input away"
        )
    elif method in identify.INPUT_WITHOUT_PRIOR:
        prior = settings["prior"]
        if driven and prior is not None:
            yield (
                f"{where}: identify method {method!r} with the prior term {prior!r} "
                f"knows no input, but simulate.input drives {driven}; set prior to "
                "null, or take the input away"
            )
        elif not driven and prior is None:
            yield (
                f"{where}: identify method {method!r} without a prior term needs an "
                "input, but simulate.input drives no coordinate; name a prior term of "
                "L, or drive one"
            )
