"""What a recipe of an example cannot do: methods that do not fit, data that lack."""

from collections.abc import Iterator, Mapping

from leastaction import assemble, differentiate, identify, simulate


def recipe_problems(where: str, estimator: Mapping, example: Mapping) -> Iterator[str]:
    """Everything that is wrong with one recipe, one sentence each.

    Parameters
    ----------
    where
        Its place in the example.
    estimator
        The recipe: `differentiate`, `assemble`, `identify`.
    example
        The whole example, completed.
    """
    yield from _misfits(where, estimator, example["simulate"]["method"])
    yield from _unrecorded(where, estimator, example["simulate"].get("sensor"))
    yield from _unmeasured(where, estimator, example["simulate"].get("noise"))
    yield from _unlisted(where, estimator, "library" in example)
    yield from _undamped(where, estimator, example.get("library", {}))
    yield from _unfinished(where, estimator, example["validate"])


def shadow_problems(shadow: Mapping, dof: int) -> Iterator[str]:
    """Points and boxes of ``validate.shadow`` that have the wrong number of entries."""
    of_states, of_positions = ("box", "horizon"), ("domain", "potential")
    given = [("start", shadow["start"], 2 * dof)]
    given += [
        (
            f"{name}.{corner}",
            shadow[name][corner],
            dof if name in of_positions else 2 * dof,
        )
        for name in (*of_states, *of_positions)
        if name in shadow
        for corner in ("low", "high")
    ]
    given += [
        ("potential.saddles", saddle, dof)
        for saddle in shadow.get("potential", {}).get("saddles", ())
    ]
    for name, values, wanted in given:
        if len(values) != wanted:
            kind = "coordinates" if wanted == dof else "coordinates, then velocities"
            yield (
                f"validate.shadow.{name}: expected {wanted} numbers ({kind}), got "
                f"{len(values)}"
            )
    if "posterior" in shadow and dof > 1:
        yield (
            "validate.shadow.posterior: only with one coordinate is H known up to a "
            f"monotone function; here are {dof}"
        )


def _unfinished(where: str, estimator: Mapping, settings: Mapping) -> Iterator[str]:
    """A learned Lagrangian whose rollout is not described."""
    found = identify.contract(estimator["identify"])
    if found.startswith("learned_") and "shadow" not in settings:
        yield (
            f"{where}: identify method {estimator['identify']['method']!r} needs "
            "'validate.shadow': the start, the steps and a box of states of its rollout"
        )


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


def _unlisted(where: str, estimator: Mapping, listed: bool) -> Iterator[str]:
    """A method that needs candidates, in an example without any."""
    method = estimator["assemble"]["method"]
    if not listed and assemble.USES_LIBRARY[method]:
        without = [m for m, parts in assemble.USES_LIBRARY.items() if not parts]
        yield (
            f"{where}: assemble method {method!r} needs candidates, but 'library' is "
            f"missing; write one, or use {' or '.join(map(repr, without))}"
        )


def _unmeasured(where: str, estimator: Mapping, noise) -> Iterator[str]:
    """A method that needs channels that are not recorded."""
    method = estimator["differentiate"]["method"]
    recorded = (noise or {}).get("channels", ["q", "qdot", "qddot"])
    needed = differentiate.NEEDS_CHANNELS.get(method, ())
    missing = [name for name in needed if name not in recorded]
    if missing:
        yield (
            f"{where}: differentiate method {method!r} needs {' and '.join(missing)}, "
            f"but simulate.noise.channels records {recorded}"
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
