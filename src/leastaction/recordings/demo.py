"""A table to try with: a pendulum arm as the sensor of a lab would write it."""

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
