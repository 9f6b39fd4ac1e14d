"""CPU of fitting efforts: structured likelihood against GPyTorch, one core, one run.

    python -m pip install gpytorch  # beside this package, for this script only
    OMP_NUM_THREADS=1 python benchmarks/port_hamiltonian.py [example ...]

Both fit the same model to the same training sets (`published`, largest size): Gaussian
kernel, T = v vᵀ + diag(d) behind J − R, one noise per task, double precision. GPyTorch
takes 200 steps of Adam with learning rate 0.1, as Zaspel and Günther (2024) do, from
its own start; its noise of each task and the common one have half our noise floor each.
`evaluated` forms the matrix-valued kernel and transforms it, as the paper says;
`Kronecker` keeps the product, which the paper does not. Likelihoods are evaluated by
one formula, at the hyperparameters that each has found. Ratios are over `structured`.
"""

import statistics
import sys
import time
from pathlib import Path

import gpytorch
import linear_operator
import numpy as np
import torch
import yaml

from leastaction.assemble import assemble
from leastaction.differentiate import differentiate
from leastaction.identify.effort_model import training_set, transform_of
from leastaction.identify.structured_gaussian_process import StructuredProcess, fit
from leastaction.identify.structured_likelihood import (
    negative_log_likelihood,
    square_distances,
)
from leastaction.mechanics.from_config import declared_units, system_from_config
from leastaction.recipes import with_recommended_methods
from leastaction.schema import complete
from leastaction.simulate import simulate

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "config" / "examples" / "port_hamiltonian"
SETS, STEPS, RATE, NOISE_FLOOR = 3, 200, 0.1, 1e-9
SEED = 1


def example_of(name: str) -> dict:
    """An example of the paper, completed."""
    schema = yaml.safe_load((ROOT / "workflow/schemas/example.schema.yaml").read_text())
    written = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    written.pop("variants", None)
    return complete(with_recommended_methods(written), schema, name)


def training_sets(name: str):
    """x, y and J − R of the largest training set of every replicate."""
    example = example_of(name)
    system = system_from_config(example["system"])
    key = {"example": f"port_hamiltonian/{name}", "seed": SEED}
    units = declared_units(example["system"])
    recipe = example["estimators"]["published"]
    for replicate in range(SETS):
        data = simulate(
            system, example["simulate"], replicate=replicate, units=units, **key
        )
        rates = differentiate(data, recipe["differentiate"], {})
        equations = assemble(data, rates, recipe["assemble"], {})
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


def cpu_seconds(action) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    action()
    return time.process_time() - start


def measured(x, y, transformation) -> dict[str, tuple[float, float, float]]:
    """(CPU s of the fit, CPU ms of a likelihood with its gradient, log p) by form."""
    found = []

    def search():
        found.append(fit(x, y, transformation, random=np.random.default_rng(SEED)))

    seconds = cpu_seconds(search)
    process, square = found[0], square_distances(x, x)
    logs = [np.log(p) for p in (process.task_diagonal, process.noise)]
    at = np.concatenate([[np.log(process.length_scale)], process.task_vector, *logs])
    each = cpu_seconds(
        lambda: [negative_log_likelihood(at, square, y, transformation) for _ in "1234"]
    )
    rows = {"structured": (seconds, 250 * each, process.log_likelihood)}
    for form, evaluated in (("evaluated", True), ("Kronecker", False)):
        peer = Peer(x, y, transformation, evaluated)
        step = cpu_seconds(lambda peer=peer: peer.run(5)) / 5
        peer = Peer(x, y, transformation, evaluated)
        seconds = cpu_seconds(lambda peer=peer: peer.run(STEPS))
        rows[form] = seconds, 1e3 * step, peer.process().log_likelihood
    return rows


def main(names: list[str]) -> None:
    """Print one table per example."""
    torch.set_num_threads(1)
    for name in names or ("electrical_network", "constrained_pendulum"):
        sets = list(training_sets(name))
        measured(*(part[:8] if i < 2 else part for i, part in enumerate(sets[0])))
        runs = [measured(*one) for one in sets]
        print(f"{name}, N = {len(sets[0][0])}, median of {SETS} training sets")
        heads = ("fit CPU s", "ratio", "step ms", "ratio", "log p")
        print("form".ljust(12), *(head.rjust(10) for head in heads))
        table = {
            form: [statistics.median(run[form][i] for run in runs) for i in range(3)]
            for form in runs[0]
        }
        of_fit, of_step, _ = table["structured"]
        for form, (seconds, each, log) in table.items():
            shown = (seconds, seconds / of_fit, each, each / of_step, log)
            print(form.ljust(12), *(f"{value:10.4g}" for value in shown), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
