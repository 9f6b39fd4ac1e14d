"""Ten classes of machines that a seed drew from a list of 36, written before.

    python benchmarks/machines/further_classes.py [--seed 1] [NAME ...]

None is in `blind_machines.py`, nor was drawn in `mechanical_classes.py`. Rows are those
of `blind_machines.py`.
"""

import sys

import numpy as np
from blind_machines import (
    Machine,
    draw,
    driven,
    free,
    main,
    multisine,
    noisy,
    rates,
    run,
    table,
    with_state,
)

CLASSES = (
    """
Coulomb-damped gimbal under torque|mass between two stops
pendulum with a recorded moving pivot|magnetic pendulum|ball rolling in a round trough
elastic pendulum|Van der Pol oscillator|Rayleigh oscillator
mass under an actuator late by five rows|spring that is stiffer on one side
drive with backlash|spring that creeps|two metronomes on a board
whirling rotor with internal damping|Froude pendulum|free decay in two wells
rolling ship with quadratic damping|centrifugal governor|tuned mass damper under force
sagging cable|Wilberforce pendulum|piecewise linear spring|bead on a parabolic wire
torsion pendulum with dry friction and offset|electrostatic softening
shaker with a hidden coil|pendulum of hidden changing length|actuator that saturates
rotor with unbalance under constant torque|hub with a driven double pendulum
hidden parametric drive|stiffness that drifts with temperature
pendulum in a magnetic brake|two cars joined by a cubic buffer|swing with quadratic drag
oscillator with cubic damping
""".strip()
    .replace("\n", "|")
    .split("|")
)
DRAWN = sorted(np.random.default_rng(36).choice(len(CLASSES), 10, replace=False))
X = {"x": "m"}


def elastic_pendulum(rng):
    """A mass on a spring that swings, in polar coordinates."""
    k, g = draw(rng, 60, 9.81)
    L = f"rdot**2/2 + r**2*thetadot**2/2 + {g}*r*cos(theta) - {k}*(r - 1)**2/2"
    D = "0.05*rdot**2/2 + 0.05*thetadot**2/2"
    starts = [[1.1 + a, 0.4 + a, 0, 0] for a in rng.uniform(0, 0.3, 4)]
    return free(rng, ["r", "theta"], L, D, starts, {"r": "m", "theta": "rad"})


def drive_with_backlash(rng):
    """Motor and load, a gap in the shaft between them: not in the library."""
    gap, k = rng.uniform(0.02, 0.04), rng.uniform(150, 250)
    time, motions, pushes = np.arange(0, 25, 0.01), [], []
    L = "0.5*adot**2/2 + 0.8*bdot**2/2 - 20*b**2/2"
    acceleration = rates(["a", "b"], L, "0.4*adot**2/2 + 0.5*bdot**2/2")

    def shaft(t, z):
        twist = z[0] - z[1]
        torque = k * (twist - np.clip(twist, -gap, gap))
        return -torque, torque

    for _ in range(2):
        push = multisine(rng, (2, 5))
        how = lambda t, push=push: np.array([push(t), 0.0])  # noqa: E731
        path = run(acceleration, np.array([0.1, 0, 0, 0]), time, how, shaft)
        motions.append(noisy(rng, path))
        pushes.append(push(time))
    units, inputs = {"a": "rad", "b": "rad"}, {"a": "f_a [N*m]"}
    how = {"time": time, "coordinates": units, "inputs": inputs}
    return Machine(table(["a", "b"], motions, {"a": pushes}), how)


def creeping_spring(rng):
    """A spring that creeps over seconds: a hidden state."""
    k, tau = rng.uniform(4, 8), rng.uniform(2, 6)
    return with_state(rng, lambda x, v, z: (k * (x - z), (x - z) / tau))


def metronomes(rng):
    """Two metronomes on a board that a spring holds."""
    g, h, k = draw(rng, 40, 44, 30)
    L = f"1.5*xdot**2/2 + adot**2/2 + bdot**2/2 + {g}*cos(a) + {h}*cos(b) - {k}*x**2/2"
    L += " + 0.2*xdot*adot*cos(a) + 0.2*xdot*bdot*cos(b)"
    D = "0.3*(8*a**2 - 1)*adot**2/2 + 0.3*(8*b**2 - 1)*bdot**2/2 + 0.3*xdot**2/2"
    starts = rng.uniform(-0.8, 0.8, (4, 6)) * [0.1, 1, 1, 0, 0, 0]
    units = {"x": "m", "a": "rad", "b": "rad"}
    return free(rng, ["x", "a", "b"], L, D, starts, units)


def whirling_rotor(rng):
    """Internal damping of a turning shaft: a force across the displacement."""
    s = rng.uniform(1, 3)
    L = "xdot**2/2 + ydot**2/2 - 40*x**2/2 - 43*y**2/2"
    D = "0.6*xdot**2/2 + 0.6*ydot**2/2"
    starts = rng.uniform(-1, 1, (4, 4)) * [1, 1, 3, 3]

    def across(t, z):
        return -s * z[1], s * z[0]

    return free(rng, ["x", "y"], L, D, starts, {"x": "m", "y": "m"}, extra=across)


def electrostatic(rng):
    """A plate in a field, force 1/(gap - x)²: a rational function."""
    a = rng.uniform(4, 6)
    return with_state(rng, lambda x, v, z: (-a * ((1 - x) ** -2 - 1), 0 * z))


def unbalanced_rotor(rng):
    """A turning unbalance that gravity acts on, under a constant torque."""
    g, torque, d = draw(rng, 6, 3, 0.3)
    L, D = f"phidot**2/2 + {g}*cos(phi) + {torque}*phi", f"{d}*phidot**2/2"
    starts = [[0, w] for w in rng.uniform(5, 15, 4)]
    return free(rng, ["phi"], L, D, starts, {"phi": "rad"})


def warming_spring(rng):
    """A stiffness that falls by a tenth over a run."""
    part, time, motions, pushes = (
        rng.uniform(0.08, 0.12),
        np.arange(0, 25, 0.01),
        [],
        [],
    )
    acceleration = rates(["x"], "1.3*xdot**2/2 - 40*x**2/2", "0.6*xdot**2/2")
    for _ in range(2):
        push = multisine(rng, (1, 3))

        def softer(t, z):
            return (40 * part * t / 25 * z[0],)

        path = run(acceleration, np.array([0.2, 0]), time, push, softer)
        motions.append(noisy(rng, path))
        pushes.append(push(time))
    how = {"time": time, "coordinates": X, "inputs": {"x": "f_x [N]"}}
    return Machine(table(["x"], motions, {"x": pushes}), how)


def magnetic_brake(rng):
    """A pendulum that a magnet brakes near the bottom: a Gaussian of its angle."""
    c, w = rng.uniform(0.3, 0.6), rng.uniform(0.2, 0.3)
    L, D = "thetadot**2/2 + 30*cos(theta)", "0.02*thetadot**2/2"
    starts = [[a, 0] for a in rng.uniform(0.8, 1.5, 4)]

    def brake(t, z):
        return (-c * np.exp(-((z[0] / w) ** 2)) * z[1],)

    return free(rng, ["theta"], L, D, starts, {"theta": "rad"}, extra=brake)


def cubic_buffer(rng):
    """Two cars, one with dry friction, and a cubic buffer between them."""
    k, k3 = draw(rng, 60, 400)
    L = f"0.6*xdot**2/2 + 0.9*ydot**2/2 - {k}*(x - y)**2/2 - {k3}*(x - y)**4/4"
    D = "0.4*xdot**2/2 + 0.5*ydot**2/2 + 0.3*Abs(ydot)"
    start, units = np.array([0.1, -0.1, 0, 0]), {"x": "m", "y": "m"}
    return driven(rng, ["x", "y"], L, D, ["x"], [(2, 5)], start, units, (0.6, 3.0))


MAKERS = (
    *(elastic_pendulum, drive_with_backlash, creeping_spring, metronomes),
    *(whirling_rotor, electrostatic, unbalanced_rotor, warming_spring),
    *(magnetic_brake, cubic_buffer),
)

if __name__ == "__main__":
    print([CLASSES[i] for i in DRAWN])
    sys.exit(main(MAKERS))
