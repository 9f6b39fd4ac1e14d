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
from sde_peers import (
    SEED,
    Duffing,
    with_diffrax,
    with_sdeint,
    with_sdeint_at_once,
    with_torchsde,
)

from leastaction.core.families import declared_units, system_from_config
from leastaction.core.method import step
from leastaction.ensembles.strong_taylor import integrator, white_noise

PAPER, NAME = "stochastic_lagrangian", "duffing"
REQUIRED = 50
INSTANTS = np.linspace(0.1, 1.0, 10)
PATHS_OF_SDEINT, LARGEST_Z, REFINED, AGREEING = 1, 4.0, 4, 16


def strong_order(duffing: Duffing, system) -> str:
    """Euler–Maruyama by sdeint on a Wiener path of ours, at two steps."""
    import sdeint

    dt = duffing.dt / REFINED
    noise = white_noise(SEED, NAME, "simulate", 0, 1)
    normals = noise(range(1))(REFINED * duffing.steps)[..., 0]
    reference = integrator(system)(duffing.start, normals, dt)[::REFINED, 0]
    matrix, fine = np.array([[0.0], [duffing.volatility]]), np.sqrt(dt) * normals[0]
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
        data = step("simulate", example["simulate"])(
            system, example=NAME, seed=SEED, replicate=0, units=units
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
