"""Fit of xL-SINDy: leastaction's on the Gram matrix, minibatches in PyTorch.

    python benchmarks/xl_sindy.py

The cart pendulum of Purnomo and Hayashibe, case III, 100 motions of 5 s at 100 Hz with
noise of 0.02 on all channels: 55 candidates, four stages of 101 epochs of 390 batches
of 128 consecutive samples, momentum that begins again with every epoch, rates,
penalties and thresholds as published. PyTorch evaluates the residual of a batch as the
authors' code does, from tables of the second derivatives of the candidates in single
precision; or, with less work in each step, from Euler–Lagrange columns that were
multiplied out before. Of every stage one epoch is timed, with as many candidates as are
left in that stage, and scaled to 101; a fit of the second form is also run whole, and
its coefficients shown. Ours ends a stage when an epoch changes nothing.

Fit means from the derivatives of the candidates along the motions to the coefficients:
what the columns cost is in ours, too (Gram matrix), and in neither of PyTorch's.
"""

from dataclasses import dataclass

import numpy as np
import sympy as sp
from cpu import Timing, Way, imported, progress, save, seconds_of, side_by_side
from examples import example_of, observations_of

from leastaction.core.compiled import evaluator
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.library import Library
from leastaction.core.method import step
from leastaction.core.noise_sweep import recorded
from leastaction.trajectories.library_equations import library_equations

PAPER, NAME, SEED = "xl_sindy", "cart", 1
NOISE, BATCH, EPOCHS_OF_STAGE, EPOCHS = 0.02, 128, 101, 1
REQUIRED = 500


@dataclass
class Problem:
    """Motions of the example, and its two estimators of L."""

    example: dict
    motion: object
    terms: Library

    @classmethod
    def load(cls) -> "Problem":
        """The first replicate."""
        example = example_of(PAPER, NAME)
        data = observations_of(example, key=f"{PAPER}/{NAME}", seed=SEED)
        names = [str(name) for name in data["dof"].values]
        terms = Library.from_config(example["library"], names)
        return cls(example, recorded(data, "independent", NOISE), terms)

    def rates(self, estimator: str):
        """What `differentiate` makes."""
        recipe = dict(self.example["estimators"][estimator]["differentiate"])
        recipe.pop("cases", None)
        return step("differentiate", recipe)(self.motion, self.example["library"])

    def fitted(self, estimator: str, rates=None):
        """Model by `assemble` and `identify`, and by `differentiate` without rates."""
        recipe, library = self.example["estimators"][estimator], self.example["library"]
        rates = self.rates(estimator) if rates is None else rates
        equations = step("assemble", recipe["assemble"])(self.motion, rates, library)
        return step("identify", recipe["identify"])(self.motion, equations, library)

    def channels(self) -> list[np.ndarray]:
        """q, q̇ and q̈, shape (sample, dof)."""
        names = ("q", "qdot", "qddot")
        dof = len(self.terms.coordinates)
        return [self.motion[name].values[0].reshape(-1, dof) for name in names]


class Published:
    """Residual from tables: einsum over φ_q̇q̇ q̈ + φ_q̇q q̇ − φ_q, as the authors do."""

    def __init__(self, problem: Problem, torch):
        self.torch = torch
        coordinates = problem.terms.coordinates
        q, qdot = symbols(coordinates), symbols(velocity_names(coordinates))
        n, p = len(q), len(problem.terms.terms)
        position, velocity, self.acceleration = problem.channels()
        self.velocity = velocity

        def table(parts, *shape):
            values = evaluator(parts, coordinates)(position, velocity)
            return torch.tensor(values.T.reshape(*shape, len(values)).copy()).float()

        pairs = [(a, b) for a in range(n) for b in range(n)]
        every = problem.terms.terms
        self.tables = [
            table(
                [sp.diff(t, qdot[a], qdot[b]) for a, b in pairs for t in every], n, n, p
            ),
            table(
                [sp.diff(t, q[a], qdot[b]) for a, b in pairs for t in every], n, n, p
            ),
            table([sp.diff(t, a) for a in q for t in every], n, p),
        ]
        self.rates = [
            torch.tensor(x.T.copy()).float() for x in (velocity, self.acceleration)
        ]

    def narrowed(self, active):
        """Residual of a batch for the candidates `active`."""
        einsum = self.torch.einsum
        first, second, third = (table[..., active, :] for table in self.tables)
        velocity, acceleration = self.rates

        def residual(c, batch):
            a, b, d = first[..., batch], second[..., batch], third[..., batch]
            force = einsum("jkl,k->jl", d, c)
            inertia = einsum("ijkl,il->jkl", a, acceleration[:, batch])
            rest = einsum("ijkl,il->jkl", b, velocity[:, batch])
            left = einsum("jkl,k->jl", inertia, c) + einsum("jkl,k->jl", rest, c)
            return left - force

        return residual


class Columns:
    """Residual from Euler–Lagrange columns, one matrix–vector product a batch."""

    def __init__(self, problem: Problem, torch):
        columns, _ = library_equations(problem.terms).columns(*problem.channels())
        self.columns = torch.tensor(columns).float()

    def narrowed(self, active):
        """Residual of a batch for the candidates `active`."""
        columns = self.columns[..., active].contiguous()
        return lambda c, batch: columns[batch] @ c


def epochs(torch, residual, c, known, stage, count, samples, free):
    """Epochs of accelerated proximal gradient on minibatches, and the coefficients."""
    rate, before = stage["rate"], c.clone()
    shrink = torch.where(free, 0.0, rate * stage["penalty"])
    for _ in range(count):
        before = c.clone()
        for i in range(samples // BATCH):
            batch = slice(i * BATCH, (i + 1) * BATCH)
            ahead = c + i / (i + 3.0) * (c - before)
            ahead.requires_grad_(True)
            whole = torch.cat([known, ahead])
            loss = (residual(whole, batch) ** 2).mean()
            (gradient,) = torch.autograd.grad(loss, ahead)
            with torch.no_grad():
                moved = ahead - rate * gradient
                before, c = c, moved.sign() * (moved.abs() - shrink).clamp(min=0.0)
    return c


def minibatches(problem: Problem, torch, form, count: int, sizes: list | None):
    """One fit: of every stage `count` epochs, with `sizes` candidates if given.

    Returns
    -------
    Names and coefficients left, and the number of candidates of every stage.
    """
    settings = problem.example["estimators"]["published"]["identify"]
    names = list(problem.terms.names)
    prior = names.index(settings["prior"])
    samples = len(problem.channels()[0])
    active = [k for k in range(len(names)) if k != prior]
    c = torch.empty(len(active)).uniform_(-10.0, 10.0)
    seen = []
    for s, stage in enumerate(settings["stages"]):
        if sizes:
            active, c = active[: sizes[s]], c[: sizes[s]]
        seen.append(len(active))
        released = stage.get("unpenalised", settings["unpenalised"])
        free = torch.tensor([names[k] in released for k in active], dtype=torch.bool)
        residual = form.narrowed([prior, *active])
        c = epochs(torch, residual, c, torch.ones(1), stage, count, samples, free)
        if not sizes:
            kept = (c.abs() >= stage["threshold"]).nonzero()[:, 0]
            active, c = [active[i] for i in kept], c[kept]
    return dict(zip([names[k] for k in active], c.tolist(), strict=True)), seen


def shown(found: dict) -> str:
    """Lagrangian, with the prior term first."""
    return "1 thdot**2" + "".join(f" {c:+.3f} {name}" for name, c in found.items())


def of_model(model) -> str:
    """Lagrangian of a model, scaled as the paper does."""
    values = dict(
        zip(model["term"].values, model["coefficient_estimate"].values[0], strict=True)
    )
    scale = values.pop("thdot**2")
    return shown({k: v / scale for k, v in values.items() if v})


def main() -> None:
    """Time the fits in this process."""
    problem = Problem.load()
    rates = problem.rates("published")
    ways = {
        "leastaction, published": Way(
            lambda: problem.fitted("published", rates), 9, describe=of_model
        ),
        "leastaction, recommended, with smoothing": Way(
            lambda: problem.fitted("recommended"), 5, describe=of_model
        ),
    }
    peers = {"PyTorch, the authors' form": Published, "PyTorch, columns": Columns}
    missing = imported("torch")
    if missing:
        timings = side_by_side(ways)
        timings += [Timing(name, missing=missing) for name in peers]
    else:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(SEED)
        forms = {name: make(problem, torch) for name, make in peers.items()}
        name, columns = "PyTorch, columns", forms["PyTorch, columns"]
        cpu, wall, (found, sizes) = seconds_of(
            lambda: minibatches(problem, torch, columns, EPOCHS_OF_STAGE, None)
        )
        whole = Timing("PyTorch, columns, run whole", [cpu], [wall], note=shown(found))
        progress(whole)
        for name, form in forms.items():
            ways[name] = Way(
                lambda form=form: minibatches(problem, torch, form, EPOCHS, sizes),
                2,
                share=EPOCHS / EPOCHS_OF_STAGE,
                describe=lambda _: f"{EPOCHS} of {EPOCHS_OF_STAGE} epochs timed",
            )
        timings = [*side_by_side(ways), whole]
    save("xl_sindy", timings=timings, required=REQUIRED)


if __name__ == "__main__":
    main()
