"""Candidates of a recording: recommended for what its coordinates are, or its own.

Angles enter as a Fourier series, lengths as polynomials; losses are powers of the
velocity of every joint, and of the relative velocity of two joints of one kind.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.library import Library
from leastaction.recordings.inputs import GAIN, OFFSET, SHARED, TIME_CONSTANT, UNKNOWN
from leastaction.recordings.units_of_terms import unlike_sums

# Largest Σ|k| of cos(k·q) and sin(k·q).
LARGEST_HARMONIC = 2
# Of lengths in potentials, and of velocities in losses: Coulomb, viscous, quadratic and
# cubic friction.
POWERS = (1, 2, 3, 4)
# With more coordinates relative losses are Coulomb and viscous alone.
COORDINATES_OF_LARGE_MECHANISM = 3


def recorded_library(example: Mapping, channels: Mapping) -> tuple[dict, list[str]]:
    """Section `library`: recommended candidates, or those of the YAML, and its own.

    Columns stand by channel and coordinate. The second result lists what is
    wrong with it, or with the stated inputs.
    """
    extra = example.get("library", {})
    kinds = {n: "angle" if c.angle else "length" for n, c in channels["q"].items()}
    random = example["excitation"] == "random"
    recommended = (random_library if random else recommended_library)(kinds)
    library = recommended | {k: value for k, value in extra.items() if k != "also"}
    inputs = example["import"]["inputs"]
    also = {key: list(terms) for key, terms in extra.get("also", {}).items()}
    try:
        losses = stribeck_losses(extra.get("also", {}).get("stribeck", {}), list(kinds))
        also["dissipation"] = also.get("dissipation", []) + losses
        for key in ("lagrangian", "dissipation"):
            if also.get(key):
                library[key] = [*library[key], {"terms": also[key]}]
        basis = Library.from_config(library, list(kinds))
    except ValueError as error:
        return library, [f"library: {error}"]
    names = basis.names
    units = {name: column.unit for name, column in channels["q"].items()}
    for key, terms in (("lagrangian", basis.terms), ("dissipation", basis.dissipation)):
        for problem in unlike_sums(terms, units) if key in extra else ():
            return library, [f"library.{key}: {problem}; check import.coordinates"]
    offsets = [n for n, entry in inputs.items() if entry[OFFSET] == UNKNOWN]
    springs = [f"{n}**2" for n, c in channels["input"].items() if c.set_value]
    missing = [term for term in (*offsets, *springs) if term not in names]
    if missing:
        library["lagrangian"] = [*library["lagrangian"], {"terms": missing}]
    return library, _undecided(inputs, "reference" in extra, random)


def _undecided(inputs: Mapping, has_scale: bool, random: bool) -> list[str]:
    """Unknown quantities of inputs that no data determine."""
    gains = {
        n: g for n, entry in inputs.items() if isinstance(g := entry.get(GAIN), str)
    }
    first, problems = next(iter(gains), ""), []
    if gains and not has_scale:
        problems.append(
            f"import.inputs.{first}.gain: it is {gains[first]}, but nothing sets the "
            "scale of the law; give the gain, or a coefficient that you know, such as "
            f"`library: {{reference: 95.1*{first}dot**2/2}}`"
        )
    if gains and len(inputs) > 1 and [*gains.values()] != [SHARED] * len(inputs):
        problems.append(
            f"import.inputs.{first}.gain: it is {gains[first]}, but there are "
            f"{len(inputs)} inputs, of which one gain can be found; write `gain: "
            "shared` for each if it is the same, or numbers"
        )
    chain = [
        f"import.inputs.{name}.{TIME_CONSTANT}"
        for name, entry in inputs.items()
        if entry.get(TIME_CONSTANT) is not None
    ]
    if random and chain:
        problems.append(
            f"{chain[0]}: the law of a random excitation knows a lag and a gain of its "
            "inputs, no time constant; leave it out"
        )
    return problems


def recommended_library(kinds: Mapping[str, str]) -> dict:
    """Section `library` for coordinates that are each an ``angle`` or a ``length``.

    Products of sines and cosines are written as cos and sin of sums and differences:
    the same span, but the coupling of a linkage, cos(a − b), is one candidate.
    """
    names = list(kinds)
    angles = [n for n in names if kinds[n] == "angle"]
    lengths = [n for n in names if kinds[n] == "length"]
    waves = _waves(angles)
    pairs = list(itertools.combinations_with_replacement(names, 2))
    squares = [_product(f"{a}dot", f"{b}dot") for a, b in pairs]
    kinetic = [*squares, *(f"{s}*{w}" for w in waves for s in squares)]
    if len(names) == 1 or angles:
        turning = [f"{a}dot**2" for a in angles] or squares
        carried = lengths or (angles if len(names) == 1 else [])
        kinetic += [f"{t}*{x}**{k}" for t in turning for x in carried for k in (1, 2)]
    potential = [
        *waves,
        *(f"{x}*{w}" for x in lengths for w in _waves(angles, 1)),
        *(f"{x}**{k}" for x in lengths for k in POWERS),
    ]
    few = POWERS if len(names) == 1 else POWERS[:2]
    potential += [f"{a}**{k}" for a in angles for k in few]
    for kind, powers in ((lengths, POWERS[1:]), (angles, (2,))):
        potential += [
            f"({a} - {b})**{k}"
            for a, b in itertools.combinations(kind, 2)
            for k in powers
        ]
    losses = [f"abs({n}dot)**{p}" for p in POWERS for n in names]
    # A viscous friction that differs by direction; an even Coulomb friction is a
    # constant force, which q in L has.
    if len(names) == 1:
        losses += [f"{n}dot*abs({n}dot)" for n in names]
        losses += [f"{n}**2*{n}dot**2" for n in names]
    is_large = len(names) >= COORDINATES_OF_LARGE_MECHANISM
    relative = POWERS[:2] if is_large else POWERS
    for kind in (lengths, angles):
        losses += [
            f"abs({a}dot - {b}dot)**{p}"
            for p in relative
            for a, b in itertools.combinations(kind, 2)
        ]
    return {
        "reference": f"{squares[0]}/2",
        "lagrangian": [{"terms": [*kinetic, *potential]}],
        "dissipation": [{"terms": [loss.replace("**1", "") for loss in losses]}],
    }


def random_library(kinds: Mapping[str, str]) -> dict:
    """Section `library` for motions that random forces drive.

    The inertia of every coordinate is a constant, and that of the first is given.
    Losses are viscous, cubic and dry.
    """
    recommended = recommended_library(kinds)
    names = list(kinds)
    potential = [t for t in recommended["lagrangian"][0]["terms"] if "dot" not in t]
    losses = [f"{n}dot**{p}" for p in (2, 4) for n in names]
    losses += [f"abs({n}dot)" for n in names]
    losses += [
        f"({a}dot - {b}dot)**2"
        for a, b in itertools.combinations(names, 2)
        if kinds[a] == kinds[b]
    ]
    return {
        "reference": f"{names[0]}dot**2/2",
        "inertia": "diagonal",
        "lagrangian": [{"terms": [*(f"{n}dot**2" for n in names), *potential]}],
        "dissipation": [{"terms": losses}],
    }


def stribeck_losses(
    ranges: Mapping[str, Sequence[float]], names: Sequence[str]
) -> list[str]:
    r"""Losses whose force falls with the velocity (Stribeck 1902), by velocity scale.

    .. math::

        D = v_s (1 - e^{-|v| / v_s}), \qquad
        \frac{∂D}{∂v} = \mathrm{sign}(v)\, e^{-|v| / v_s}

    Of the smallest and largest v_s of a velocity, 1, 2, 5 times powers of ten between
    them are candidates.

    Examples
    --------
    >>> stribeck_losses({"xdot": [0.01, 0.02]}, ["x"])
    ['0.01*(1 - exp(-abs(xdot)/0.01))', '0.02*(1 - exp(-abs(xdot)/0.02))']
    """
    losses = []
    for velocity, (low, high) in ranges.items():
        if velocity not in velocity_names(names):
            raise ValueError(
                f"stribeck: {velocity} is no velocity; these are "
                f"{', '.join(velocity_names(names))}"
            )
        if not 0 < low <= high:
            raise ValueError(
                f"stribeck: {velocity} has the range {low:g} to {high:g}; give a "
                "smallest and a largest velocity above zero"
            )
        first, last = np.floor(np.log10(low)), np.floor(np.log10(high))
        scales = [m * 10.0**p for p in np.arange(first, last + 2) for m in (1, 2, 5)]
        near = 1 + 1e-9
        scales = [f"{v:g}" for v in scales if low / near <= v <= high * near]
        if not scales:
            raise ValueError(
                f"stribeck: {velocity} has the range {low:g} to {high:g}, which holds "
                "none of 1, 2, 5 times a power of ten; widen it"
            )
        losses += [f"{v}*(1 - exp(-abs({velocity})/{v}))" for v in scales]
    return losses


def _waves(angles: Sequence[str], most: int = LARGEST_HARMONIC) -> list[str]:
    """Cos and sin of every k·q with 0 < Σ|k| ≤ `most`, the first k positive."""
    waves = []
    numbers = itertools.product(range(-most, most + 1), repeat=len(angles))
    for k in sorted(numbers, key=lambda k: (sum(map(abs, k)), [-x for x in k])):
        first = next((x for x in k if x), 0)
        if first <= 0 or sum(map(abs, k)) > most:
            continue
        parts = [
            f"{'-' if x < 0 else '+'} {'' if abs(x) == 1 else f'{abs(x)}*'}{a}"
            for x, a in zip(k, angles, strict=True)
            if x
        ]
        argument = " ".join(parts).removeprefix("+ ")
        waves += [f"cos({argument})", f"sin({argument})"]
    return waves


def _product(a: str, b: str) -> str:
    return f"{a}**2" if a == b else f"{a}*{b}"
