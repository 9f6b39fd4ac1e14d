"""Friction that a short record hardly shows, but without which inertia is biased."""

from math import sin, tanh

import numpy as np
from scipy.signal import lfilter

import leastaction
from leastaction.recordings.error_bars import biasing
from leastaction.recordings.leave_one_out import LeaveOneOut

INERTIA, WEIGHT = 0.189, 3.6


def quadratic(rng, friction: float) -> LeaveOneOut:
    """Of a regression on an inertia, 2, and on a friction that nearly imitates it."""
    inertia = rng.standard_normal((12, 40))
    loss = 0.95 * inertia + 0.3 * rng.standard_normal((12, 40))
    a = np.stack([inertia, loss], axis=-1)
    y = 2 * inertia + friction * loss + rng.standard_normal((12, 40))
    return LeaveOneOut(
        np.einsum("sni,snj->sij", a, a),
        np.einsum("sni,sn->si", a, y),
        (y**2).sum(axis=1),
        np.zeros(2),
        12 * 40.0,
        np.array([False, True]),
        np.ones(2),
    )


def chosen(friction: float, std: float = 0.046, seeds: int = 40) -> int:
    """Draws in which the friction is kept; 1/√480 is the error of the inertia alone."""
    draws = (quadratic(np.random.default_rng(seed), friction) for seed in range(seeds))
    return sum(biasing(each, [0], [1], np.array([std, np.inf])) == 1 for each in draws)


def test_friction_is_kept_where_its_absence_biases_another_term():
    assert chosen(0.5) >= 36
    assert chosen(0.0) <= 6  # a normal deviate is beyond √2 in 8 % of all draws
    assert chosen(-0.5) == 0
    assert chosen(0.5, std=10.0) == 0


def swing_up(seed: int, dry: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Some seconds of a pendulum that its motor pumps up, as its drive records them.

    Dry friction is `dry`, in N m; a coloured torque of 0.12 N m is not recorded.
    """
    rng = np.random.default_rng([seed, 1])
    step, within = 3e-3, 20
    time = np.arange(round(rng.uniform(3.5, 6) / step)) * step
    slow, fast = rng.uniform(3, 6), rng.uniform(7, 12)
    wanted = 1.2 * np.sin(slow * time + rng.uniform(0, 6.3))
    wanted += 0.5 * np.sin(fast * time + rng.uniform(0, 6.3))
    noise = 0.12 * np.sqrt(1 - 0.95**2) * rng.standard_normal(len(time))
    hidden, gain = lfilter([1.0], [1.0, -0.95], noise), rng.uniform(0.3, 0.7)
    angle = rate = 0.0
    rows = []
    for command, unknown in zip(wanted, hidden, strict=True):
        below = INERTIA * rate**2 / 2 < WEIGHT * (1 + np.cos(angle))
        torque = float(np.clip(command + gain * rate * (1 if below else -0.6), -4, 4))
        rows.append((angle, rate, torque))
        for _ in range(within):
            force = torque + unknown - dry * tanh(rate / 5e-3) - WEIGHT * sin(angle)
            rate += force / INERTIA * step / within
            angle += rate * step / within
    angle, rate, torque = np.array(rows).T
    noise = rng.standard_normal((2, len(time)))
    angle = np.round(angle / 2.9e-3) * 2.9e-3
    noisy = {"dtheta": rate + 0.06 * noise[0], "tau": torque + 0.1 * noise[1]}
    return time, {"theta": angle} | noisy


def learned(dry: float) -> tuple[tuple[float, float], list[str]]:
    """Relative errors of inertia and weight, and the losses of the law."""
    time, columns = swing_up(9, dry)
    law = leastaction.learn(
        columns,
        time=time,
        coordinates={"theta": "rad"},
        velocities={"theta": "dtheta [rad/s]"},
        inputs={"theta": "tau [N m]"},
        progress=False,
    )
    inertia = 2 * law.coefficient("thetadot**2") / INERTIA - 1
    weight = law.coefficient("cos(theta)") / WEIGHT - 1
    losses = list(law.terms.query("of == 'D'").term)
    return (inertia, weight), losses


def test_dry_friction_of_a_swing_up():
    """The search leaves it out; inertia and weight are then 7 % too large."""
    found, losses = learned(0.15)
    assert losses == ["abs(thetadot)"] and np.abs(found).max() < 0.04
    assert learned(0.0)[1] == []
