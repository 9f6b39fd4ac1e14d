"""Tables to try with; a pendulum arm as the sensor of a lab would write it."""

from collections.abc import Callable, Sequence

from leastaction.core.own_data import kinds
from leastaction.recordings.error import RecordingError
from leastaction.recordings.stand_in import recorded_table

# θ̈ = −40 sin θ − 0.2 sign θ̇ − 0.04 θ̇: 25 cm long, dry and viscous friction.
SWINGS = {
    "example": "demo",
    "seed": 1,
    "system": {
        "coordinates": {"theta": {"unit": "rad"}},
        "parameters": {
            "stiffness": {"value": 40.0, "unit": "s^-2"},
            "dry": {"value": 0.2, "unit": "s^-2"},
            "viscous": {"value": 0.02, "unit": "s^-1"},
        },
        "lagrangian": "thetadot**2/2 + stiffness*cos(theta)",
        "dissipation": "dry*abs(thetadot) + viscous*thetadot**2",
    },
    "simulate": {
        "rate": 50,
        "duration": 8.0,
        "trajectories": 5,
        "initial_state": {
            "random": {"size": {"uniform": [0.7, 2.2]}},
            "theta": "size",
            "thetadot": 0,
        },
    },
    "sensor": {"noise": {"theta": 0.001}},
}


def demo_table() -> str:
    """CSV with the columns `run`, `t` (s), `theta` (rad): five swings of a pendulum.

    >>> print(demo_table().partition("\\n")[0])
    run,t,theta
    """
    return recorded_table(SWINGS)


def demo_of(words: Sequence[str]) -> tuple[str, Callable[[], str], str, str]:
    """File, what makes its table, what is in it, and options that learn from it.

    `words` are those of ``leastaction demo``, a kind of table and a file.

    >>> file, make, about, options = demo_of(["density"])
    >>> file, about
    ('density.csv', 'a stiffening spring, shaken at random')
    """
    known = kinds()
    name, *rest = [*words] if words and words[0] in known else ["", *words]
    if len(rest) > 1:
        raise RecordingError(
            f"demo {' '.join(words)}: expected a kind ({', '.join(known)}) and a file, "
            "or one of them"
        )
    file = rest[0] if rest else f"{name or 'swings'}.csv"
    if not name:
        angle = "--time t --trajectory run --coordinate theta:rad"
        return file, demo_table, "five swings of a pendulum", angle
    kind = known[name]
    return file, kind.demo, kind.about, f"--kind {name} {kind.example}"
