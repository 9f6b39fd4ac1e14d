"""The stochastic Duffing oscillator of `sde_ensemble.py`, by other packages."""

import numpy as np

SEED = 1


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
