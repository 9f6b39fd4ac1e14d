"""Ensemble of a stochastic Duffing oscillator: leastaction, torchsde, diffrax, sdeint.

    python benchmarks/sde_ensemble.py

200 paths of 10 000 steps of 0.1 ms in double precision, all samples kept: the example
`duffing` of Tripura et al. Each package is called with its own scheme of strong order
1.5 for additive noise, and with Euler–Maruyama, which does less; sdeint has order 1.0.
The equation is given in advance. Ours is the whole stage `simulate`, with the random
numbers. All draw their own, so moments are compared: z is the difference of the means
of X over its standard error, the largest over ten instants, and the last figure the
ratio of the standard deviations. sdeint takes one path at a time, of which one is
timed, or all as one system, with the step of the example and with a finer one, of
which the means agree.
"""

import os
import tempfile

import numpy as np
from cpu import Timing, Way, imported, save, side_by_side
from examples import example_of

from leastaction.mechanics.from_config import declared_units, system_from_config
from leastaction.simulate import simulate
from leastaction.simulate.strong_taylor import integrator
from leastaction.simulate.wiener import increments, white_noise

PAPER, NAME, SEED = "stochastic_lagrangian", "duffing", 1
REQUIRED = 50
INSTANTS = np.linspace(0.1, 1.0, 10)
PATHS_OF_SDEINT, LARGEST_Z, REFINED, AGREEING = 1, 4.0, 4, 16


class Duffing:
    """The equation as numbers: Ẍ = −(k X + α X³)/m + (σ/m) Ẇ."""

    def __init__(self, example: dict):
        values = {k: v["value"] for k, v in example["system"]["parameters"].items()}
        self.stiffness = values["k"] / values["m"]
        self.cubic = values["alpha"] / values["m"]
        self.volatility = values["sigma"] / values["m"]
        settings = example["simulate"]
        self.start = settings["initial_state"]["x"], settings["initial_state"]["xdot"]
        self.dt, self.paths = settings["time_step"], settings["trajectories"]
        self.steps = round(settings["duration"] / self.dt)
        self.times = np.linspace(0.0, settings["duration"], self.steps + 1)

    def force(self, x):
        """Acceleration without noise."""
        return -(self.stiffness + self.cubic * x**2) * x


def with_torchsde(duffing: Duffing, method: str):
    """Return X of shape (path, time) by ``torchsde.sdeint``."""
    import torch
    import torchsde

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)

    class Equation(torch.nn.Module):
        sde_type, noise_type = "ito", "additive"

        def f(self, t, y):
            return torch.stack([y[:, 1], duffing.force(y[:, 0])], dim=1)

        def g(self, t, y):
            return volatility

    volatility = torch.zeros(duffing.paths, 2, 1)
    volatility[:, 1] = duffing.volatility
    start = torch.tensor(duffing.start).repeat(duffing.paths, 1)
    times = torch.tensor(duffing.times)

    def run():
        with torch.no_grad():
            path = torchsde.sdeint(
                Equation(), start, times, method=method, dt=duffing.dt
            )
        return path[:, :, 0].T.numpy()

    return run


def with_diffrax(duffing: Duffing, method: str, tree: bool = False):
    """Return X of shape (path, time) by ``diffrax.diffeqsolve``, compiled and mapped.

    `UnsafeBrownianPath`, which draws increments as they come, is the fastest of its
    Brownian motions; its documentation recommends `VirtualBrownianTree`.
    """
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    area = {"SRA1": diffrax.SpaceTimeLevyArea, "Euler": diffrax.BrownianIncrement}
    volatility = jnp.array([0.0, duffing.volatility])
    grid = jnp.asarray(duffing.times)

    def drift(t, y, args):
        return jnp.stack([y[1], duffing.force(y[0])])

    def one(key):
        if tree:
            motion = diffrax.VirtualBrownianTree(
                0.0, grid[-1], duffing.dt / 2, (), key, levy_area=area[method]
            )
        else:
            motion = diffrax.UnsafeBrownianPath((), key, levy_area=area[method])
        noise = diffrax.ControlTerm(lambda t, y, args: volatility, motion)
        return diffrax.diffeqsolve(
            diffrax.MultiTerm(diffrax.ODETerm(drift), noise),
            getattr(diffrax, method)(),
            0.0,
            grid[-1],
            None,
            jnp.array(duffing.start),
            stepsize_controller=diffrax.StepTo(grid),
            saveat=diffrax.SaveAt(t0=True, steps=True),
            max_steps=duffing.steps,
            adjoint=diffrax.DirectAdjoint(),
        ).ys[:, 0]

    mapped = jax.jit(jax.vmap(one))
    keys = jax.random.split(jax.random.key(SEED), duffing.paths)
    return lambda: np.asarray(mapped(keys))


def with_sdeint(duffing: Duffing, paths: int):
    """Return X of shape (path, time) by ``sdeint.itoSRI2``, one path at a time."""
    import sdeint

    matrix = np.array([[0.0], [duffing.volatility]])
    random = np.random.default_rng(SEED)

    def run():
        found = [
            sdeint.itoSRI2(
                lambda y, t: np.array([y[1], duffing.force(y[0])]),
                lambda y, t: matrix,
                np.array(duffing.start),
                duffing.times,
                generator=random,
            )
            for _ in range(paths)
        ]
        return np.array(found)[:, :, 0]

    return run


def with_sdeint_at_once(duffing: Duffing, finer: int = 1):
    """Return X of shape (path, time) by ``sdeint.itoEuler``, all paths one system.

    It takes `finer` steps where the example has one.
    """
    import sdeint

    n = duffing.paths
    matrix = np.vstack([np.zeros((n, n)), duffing.volatility * np.eye(n)])
    random = np.random.default_rng(SEED)
    times = np.linspace(0.0, duffing.times[-1], finer * duffing.steps + 1)

    def run():
        path = sdeint.itoEuler(
            lambda y, t: np.concatenate([y[n:], duffing.force(y[:n])]),
            lambda y, t: matrix,
            np.repeat(duffing.start, n),
            times,
            generator=random,
        )
        return path[::finer, :n].T

    return run


def strong_order(duffing: Duffing, system) -> str:
    """Euler–Maruyama by sdeint on a Wiener path of ours, at two steps."""
    import sdeint

    dt = duffing.dt / REFINED
    noise = white_noise(SEED, NAME, "simulate", 0, 1)
    normals = noise(range(REFINED * duffing.steps), range(1))[..., 0]
    reference = integrator(system)(duffing.start, normals, dt)[::REFINED, 0]
    matrix, fine = np.array([[0.0], [duffing.volatility]]), increments(normals, dt)[0]
    errors = []
    for together in (REFINED, 1):
        given = fine.reshape(-1, together, 1).sum(axis=1)
        path = sdeint.itoEuler(
            lambda y, t: np.array([y[1], duffing.force(y[0])]),
            lambda y, t: matrix,
            np.array(duffing.start),
            np.linspace(0.0, duffing.times[-1], len(given) + 1),
            dW=given,
        )
        errors.append(np.abs(path[:: REFINED // together, 0] - reference).max())
    order = np.log(errors[0] / errors[1]) / np.log(REFINED)
    return (
        f"On one Wiener path, Euler–Maruyama by sdeint is {errors[0]:.2g} m off ours "
        f"at this step and {errors[1]:.2g} m at a quarter of it, where X starts from "
        f"{duffing.start[0]:g} m: it tends to ours with order {order:.2f}."
    )


def compared(ours, paths, duffing: Duffing) -> tuple[str, bool]:
    """Moments of `paths` beside those of `ours`, and whether the means agree."""
    at = np.round(INSTANTS / duffing.dt).astype(int)
    if not np.isfinite(paths).all():
        return "not finite", False
    if paths.shape[1] != duffing.steps + 1:
        return f"{paths.shape[1]} samples", False
    if len(paths) < 20:
        return f"{len(paths)} of {duffing.paths} paths", True
    a, b = ours[:, at], paths[:, at]
    error = np.sqrt(a.var(0, ddof=1) / len(a) + b.var(0, ddof=1) / len(b))
    z = np.abs((b.mean(0) - a.mean(0)) / error).max()
    spread = np.median(b.std(0) / a.std(0))
    return f"z = {z:.1f}, std {spread:.2f}", z < LARGEST_Z


def main() -> None:
    """Time all packages in this process; the kernel of ours is compiled anew."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LEASTACTION_CACHE"] = folder
        compare()


def compare() -> None:
    """Time all packages."""
    example = example_of(PAPER, NAME)
    duffing = Duffing(example)
    system = system_from_config(example["system"])
    units = declared_units(example["system"])
    kept: dict[str, np.ndarray] = {}

    def ours():
        kept.clear()  # so that its memory is there for the next
        data = simulate(
            system,
            example["simulate"],
            example=NAME,
            seed=SEED,
            replicate=0,
            units=units,
        )
        kept["ours"] = data["q"].values[0, :, :, 0]
        return kept["ours"]

    def describe(paths):
        return compared(kept["ours"], paths, duffing)[0]

    def agrees(paths):
        return compared(kept["ours"], paths, duffing)[1]

    ways = {"leastaction, strong Taylor 1.5": Way(ours, 9, compiled=True)}
    peers = {
        "torchsde": {
            "torchsde, SRK 1.5": (lambda: with_torchsde(duffing, "srk"), 1, 1.0),
            "torchsde, Euler": (lambda: with_torchsde(duffing, "euler"), 1, 1.0),
        },
        "diffrax": {
            "diffrax, SRA1 1.5": (lambda: with_diffrax(duffing, "SRA1"), 5, 1.0),
            "diffrax, SRA1 1.5, tree": (
                lambda: with_diffrax(duffing, "SRA1", tree=True),
                1,
                1.0,
            ),
            "diffrax, Euler": (lambda: with_diffrax(duffing, "Euler"), 5, 1.0),
        },
        "sdeint": {
            "sdeint, SRI2 1.0": (
                lambda: with_sdeint(duffing, PATHS_OF_SDEINT),
                2,
                PATHS_OF_SDEINT / duffing.paths,
            ),
            "sdeint, Euler": (lambda: with_sdeint_at_once(duffing), 5, 1.0),
            f"sdeint, Euler, {AGREEING} times the steps": (
                lambda: with_sdeint_at_once(duffing, AGREEING),
                1,
                1.0,
            ),
        },
    }
    missing = {}
    for package, entries in peers.items():
        reason = imported(package)
        for name, (make, repeats, share) in entries.items():
            if reason:
                missing[name] = reason
                continue
            ways[name] = Way(
                make(),
                repeats,
                compiled=package == "diffrax",
                cold=package == "torchsde",
                share=share,
                describe=describe,
                agrees=agrees,
            )
    timings = side_by_side(ways)
    timings += [Timing(name, missing=reason) for name, reason in missing.items()]
    remark = ""
    if not imported("sdeint"):
        remark = strong_order(duffing, system)
    save(
        "sde_ensemble",
        timings=timings,
        required=REQUIRED,
        remark=remark,
    )


if __name__ == "__main__":
    main()
