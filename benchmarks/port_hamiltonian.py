"""Fit of the efforts of a DAE: structured likelihood, GPyTorch, scikit-learn.

    python benchmarks/port_hamiltonian.py [example ...]

The same training sets for all (`published`, largest size, three replicates). GPyTorch
fits the same model: Gaussian kernel, T = v vᵀ + diag(d) behind J − R, one noise per
task, double precision. It takes 200 steps of Adam with learning rate 0.1, as Zaspel and
Günther (2024) do, from its own start; its noise of each task and the common one have
half our noise floor each. `evaluated` forms the matrix-valued kernel and transforms it,
as the paper says; `Kronecker` keeps the product, which the paper does not. Likelihoods
are evaluated by one formula, at the hyperparameters that each has found.

scikit-learn has no such model. What can be compared is one process for every output,
each with its own length scale, size and noise, without J − R between them: ours and its
`GaussianProcessRegressor` with its own search. Their log p are sums over the outputs.
"""

import statistics
import sys
import warnings

import gpytorch
import linear_operator
import numpy as np
import torch
from cpu import Timing, imported, progress, save, seconds_of
from examples import example_of, observations_of

from leastaction.core.method import step
from leastaction.ports.effort_data import training_set, transform_of
from leastaction_papers.port_hamiltonian.multi_task_process import (
    StructuredProcess,
    fit,
)

PAPER = "port_hamiltonian"
EXAMPLES = "electrical_network", "constrained_pendulum"
REQUIRED = 40
SETS, STEPS, RATE, NOISE_FLOOR = 3, 200, 0.1, 1e-9
SEED = 1


def training_sets(name: str):
    """x, y and J − R of the largest training set of every replicate."""
    example = example_of(PAPER, name)
    recipe = example["estimators"]["published"]
    for replicate in range(SETS):
        key = f"{PAPER}/{name}"
        data = observations_of(example, key=key, seed=SEED, replicate=replicate)
        rates = step("differentiate", recipe["differentiate"])(data, {})
        equations = step("assemble", recipe["assemble"])(data, rates, {})
        largest = int(equations["training_size"].values.argmax())
        yield *training_set(equations, largest), transform_of(equations)


class TransformedKernel(gpytorch.kernels.MultitaskKernel):
    """A k(x, x') T Aᵀ, evaluated or as a Kronecker product."""

    def __init__(self, transformation: np.ndarray, evaluated: bool):
        super().__init__(
            gpytorch.kernels.RBFKernel(), num_tasks=len(transformation), rank=1
        )
        self.register_buffer("transformation", torch.tensor(transformation))
        self.evaluated = evaluated

    def forward(self, x1, x2, diag=False, last_dim_is_batch=False, **params):
        """Covariance of two sets of inputs, or its diagonal."""
        if not self.evaluated:
            between = self.transformation @ self.task_covar_module.covar_matrix
            between = (between @ self.transformation.T).to_dense()
            found = linear_operator.operators.KroneckerProductLinearOperator(
                self.data_covar_module(x1, x2, **params),
                linear_operator.to_linear_operator(between),
            )
        else:
            dense = super().forward(x1, x2, **params).to_dense()
            left = torch.kron(torch.eye(len(x1)).double(), self.transformation)
            right = torch.kron(torch.eye(len(x2)).double(), self.transformation)
            found = linear_operator.to_linear_operator(left @ dense @ right.T)
        return found.diagonal(dim1=-1, dim2=-2) if diag else found


class Process(gpytorch.models.ExactGP):
    """The model of the paper."""

    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.kernel, self.tasks = kernel, y.shape[1]

    def forward(self, x):
        """Prior at inputs."""
        mean = torch.zeros(len(x), self.tasks).double()
        return gpytorch.distributions.MultitaskMultivariateNormal(mean, self.kernel(x))


class Peer:
    """Fit of one training set by GPyTorch."""

    def __init__(self, x, y, transformation, evaluated: bool):
        floor = 0.5 * NOISE_FLOOR * float((y**2).mean(axis=0).max())
        self.given = x, y, transformation
        self.x, self.y = torch.tensor(x), torch.tensor(y)
        self.likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(
            num_tasks=y.shape[1],
            noise_constraint=gpytorch.constraints.GreaterThan(floor),
        ).double()
        kernel = TransformedKernel(transformation, evaluated)
        self.model = Process(self.x, self.y, self.likelihood, kernel).double()
        self.objective = gpytorch.mlls.ExactMarginalLogLikelihood(
            self.likelihood, self.model
        )

    def run(self, steps: int) -> None:
        """Take steps of Adam."""
        self.model.train()
        self.likelihood.train()
        optimiser = torch.optim.Adam(self.model.parameters(), lr=RATE)
        for _ in range(steps):
            optimiser.zero_grad()
            loss = -self.objective(self.model(self.x), self.y)
            loss.backward()
            optimiser.step()

    def process(self) -> StructuredProcess:
        """The same model with the hyperparameters found."""
        task = self.model.kernel.task_covar_module
        noise = self.likelihood.task_noises + self.likelihood.noise
        return StructuredProcess(
            *self.given,
            self.model.kernel.data_covar_module.lengthscale.item(),
            task.covar_factor.detach().numpy()[:, 0],
            task.var.detach().numpy(),
            noise.detach().numpy(),
        )

    def log_likelihood(self) -> float:
        """Log likelihood by GPyTorch."""
        with torch.no_grad():
            return self.objective(self.model(self.x), self.y).item() * self.y.numel()


def structured(x, y, transformation):
    """Ours."""
    return fit(x, y, transformation, random=np.random.default_rng(SEED))


def adam(evaluated: bool):
    """GPyTorch's."""

    def run(x, y, transformation):
        peer = Peer(x, y, transformation, evaluated)
        peer.run(STEPS)
        return peer.process()

    return run


def one_by_one(x, y, transformation):
    """A process of ours for every output."""
    one, random = np.eye(1), np.random.default_rng(SEED)
    return [fit(x, output[:, None], one, random=random) for output in y.T]


def scikit_learn(x, y, transformation):
    """A process of scikit-learn's for every output."""
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    floor = NOISE_FLOOR * float((y**2).mean(axis=0).max())
    found = []
    for output in y.T:
        size = float((output**2).mean()) or 1.0
        kernel = kernels.ConstantKernel(size, (1e-12 * size, 1e6 * size))
        kernel *= kernels.RBF(1.0, (1e-3, 1e3))
        kernel += kernels.WhiteKernel(
            max(1e-2 * size, floor), (floor, max(1e2 * size, 10 * floor))
        )
        found.append(GaussianProcessRegressor(kernel, alpha=0.0).fit(x, output))
    return found


def log_likelihood(found) -> float:
    """Marginal log likelihood at what a fit has found."""
    if isinstance(found, list):
        return sum(
            getattr(p, "log_marginal_likelihood_value_", None) or p.log_likelihood
            for p in found
        )
    return found.log_likelihood


MODELS = (
    {
        "leastaction, structured": structured,
        "GPyTorch, evaluated": adam(True),
        "GPyTorch, Kronecker": adam(False),
    },
    {
        "leastaction, output by output": one_by_one,
        "scikit-learn, output by output": scikit_learn,
    },
)


def measured(name: str, fits: dict, sets: list) -> list[Timing]:
    """Timings over the training sets, all fits of a set one after the other."""
    timings = {form: Timing(f"{form}, {name}") for form in fits}
    logs: dict[str, list[float]] = {form: [] for form in fits}
    for given in sets:
        for form, action in fits.items():
            cpu, wall, found = seconds_of(lambda a=action, g=given: a(*g))
            timings[form].cpu.append(cpu)
            timings[form].wall.append(wall)
            logs[form].append(log_likelihood(found))
    for form, timing in timings.items():
        timing.note = f"log p = {statistics.median(logs[form]):.1f}"
        progress(timing)
    return list(timings.values())


def main(names: list[str]) -> None:
    """Time all fits of all examples in this process."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    missing = imported("sklearn")
    tables, required = [], []
    for name in names or EXAMPLES:
        sets = list(training_sets(name))
        small = [part[:8] if i < 2 else part for i, part in enumerate(sets[0])]
        for fits in MODELS:
            left_out = [form for form in fits if missing and form.startswith("scikit")]
            there = {form: f for form, f in fits.items() if form not in left_out}
            for warm_up in there.values():
                warm_up(*small)
            table = measured(f"{name}, N = {len(sets[0][0])}", there, sets)
            tables.append(table + [Timing(form, missing=missing) for form in left_out])
            required.append(REQUIRED if fits is MODELS[0] else None)
            save(PAPER, tables=tables, required=required)


if __name__ == "__main__":
    main(sys.argv[1:])
