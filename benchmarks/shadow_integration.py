"""CPU of learning and rolling out a Lagrangian: recommended, published, plain NumPy.

    python benchmarks/shadow_integration.py [example ...]

Learning is assemble and identify, after a first call that compiles. A step is timed
from the start of the example. The peer makes the same step of the published model in
plain NumPy: Newton's method with the derivatives of the kernel, as one would write it
down. Ratios are over the recommended form, all in one run.
"""

import sys

import numpy as np
from cpu import cpu_seconds
from examples import example_of, observations_of

from leastaction.core.method import step
from leastaction.snapshots.learned_model import LearnedLagrangian

PAPER = "shadow_integration"
FORMS = ("recommended", "published")
# Corrections of the peer that end a step: converged, or no longer shrinking.
TOLERANCE, ROUND_OFF, MOST_CORRECTIONS = 1e-11, 1e-5, 30
STEPS = {"recommended": 200_000, "published": 2_000, "NumPy": 100}


def learned(data, recipe) -> tuple[float, LearnedLagrangian]:
    """CPU seconds of assemble and identify, and the model."""
    rates = step("differentiate", recipe["differentiate"])(data, {})

    def learn():
        equations = step("assemble", recipe["assemble"])(data, rates, {})
        return step("identify", recipe["identify"])(data, equations, {})

    seconds, model = cpu_seconds(learn)
    one = (
        model.isel(noise_mode=0, noise_level=0) if "noise_mode" in model.dims else model
    )
    return seconds, LearnedLagrangian.from_dataset(one)


class NumPyStep:
    """Midpoint rule of L = Σ b_i exp(−|z − z_i|²/ε²), by Newton's method."""

    def __init__(self, model: LearnedLagrangian):
        basis = model.basis
        self.centres, self.scale = basis.centres, basis.length_scale
        self.b, self.h = model.coefficients, model.time_step
        self.dof = basis.dof

    def jet(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian of L at one state."""
        difference = state - self.centres
        kernel = np.exp(-(difference**2).sum(axis=1) / self.scale**2)
        weights, slope = self.b * kernel, -2 / self.scale**2
        hessian = slope**2 * difference.T @ (weights[:, None] * difference)
        hessian += slope * weights.sum() * np.eye(len(state))
        return slope * weights @ difference, hessian

    def step(self, position, momentum, guess) -> tuple[np.ndarray, np.ndarray]:
        """Next position and momentum."""
        n, h, following, last = self.dof, self.h, guess, np.inf
        for _ in range(MOST_CORRECTIONS):
            state = np.concatenate(
                [(position + following) / 2, (following - position) / h]
            )
            gradient, hessian = self.jet(state)
            force, before = gradient[:n], gradient[n:] - h / 2 * gradient[:n]
            by_position = hessian[n:, :n] / 2 - h / 4 * hessian[:n, :n]
            by_velocity = hessian[n:, n:] / h - hessian[:n, n:] / 2
            correction = np.linalg.solve(by_position + by_velocity, momentum - before)
            size = abs(correction).max()
            if size < TOLERANCE or (size < ROUND_OFF and size > last / 2):
                break
            following, last = following + correction, size
        return following, before + h * force

    def rollout(self, first, momentum, velocity, steps: int) -> np.ndarray:
        """Positions."""
        path = [first]
        guess = first + self.h * velocity
        for _ in range(steps):
            following, momentum = self.step(path[-1], momentum, guess)
            guess = 2 * following - path[-1]
            path.append(following)
        return np.array(path)


def measure(name: str) -> list[tuple[str, float, float]]:
    """(Form, CPU s of learning, µs of a step), the recommended one first."""
    example = example_of(PAPER, name)
    data = observations_of(example, key=f"{PAPER}/{name}", seed=1)
    start = example["validate"]["shadow"]["start"]
    rows, models = [], {}
    for form in FORMS:
        learning, models[form] = learned(data, example["estimators"][form])
        count = STEPS[form]
        seconds, motion = cpu_seconds(
            lambda model=models[form], n=count: model.rollout(start, n), 3
        )
        rows.append((form, learning, 1e6 * seconds / max(motion.steps, 1)))
        if motion.reason:
            print(f"{name} {form}: stopped after {motion.steps} steps, {motion.reason}")
    model, n = models["published"], data.sizes["dof"]
    peer, count = NumPyStep(model), STEPS["NumPy"]
    motion = model.rollout(start, count)
    given = np.array(start[:n]), motion.momenta[0], np.array(start[n:])
    seconds, path = cpu_seconds(lambda: peer.rollout(*given, count), 3)
    rows.append(("NumPy", np.nan, 1e6 * seconds / count))
    difference = abs(path - motion.positions).max()
    print(f"{name}: NumPy and compiled positions differ by {difference:.1e}")
    return rows


def main(names: list[str]) -> None:
    """Print one table per example."""
    for name in names or ("henon_heiles", "pendulum"):
        rows = measure(name)
        _, learning, step = rows[0]
        print(
            "form".ljust(14),
            *(t.rjust(12) for t in ("CPU s", "ratio", "us/step", "ratio")),
        )
        for form, seconds, each in rows:
            shown = (seconds, seconds / learning, each, each / step)
            print(form.ljust(14), *(f"{value:12.3g}" for value in shown))
    print(
        "The authors' code took 7.1 ms a step for henon_heiles, measured once elsewhere"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
