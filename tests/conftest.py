"""Shared ensembles: simulated once, used by many laws."""

import gc
import os

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# What is imported and collected stays: to look through it takes a sixth of the CPU.
gc.disable()

# Files that share one finished project, or what takes seconds to compute.
TOGETHER = {
    "finished": [
        f"workflow/test_{name}.py"
        for name in ("adding_to_report", "determinism", "outputs", "planning", "report")
    ],
    "run": [f"faults/test_{name}.py" for name in ("damaged", "disk", "killed")],
    "turned": ["snapshots/test_invariance.py", "snapshots/test_turned_features.py"],
    "slurm": ["slurm/test_faults.py", "slurm/test_papers.py"],
    "replicated": [
        f"ensembles/test_{name}.py" for name in ("moment_gmm", "squared_increments")
    ],
}
GROUPS = {f"tests/{file}": name for name, files in TOGETHER.items() for file in files}
# Folders whose files take longest, first; so that none is last and alone.
LONGEST_FIRST = "workflow", "faults", "docs", "recordings", "snapshots", "ensembles"

settings.register_profile(
    "leastaction", deadline=None, derandomize=True, max_examples=40
)
# Of what is hostile or damaged (tests/faults/harm.py): `make attack`.
settings.register_profile("attack", deadline=None, max_examples=10_000)
settings.load_profile("leastaction")


def pytest_configure(config):
    """Keep generated kernels with the other caches of pytest, away from the user's."""
    cache = getattr(config, "cache", None)
    if cache is not None and "LEASTACTION_CACHE" not in os.environ:
        os.environ["LEASTACTION_CACHE"] = str(cache.mkdir("leastaction-kernels"))


def pytest_collection_finish():
    """Leave what is there out of the collections of garbage, which begin now."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_collection_modifyitems(items):
    """Long files first; of what they share each process would make its own."""
    order = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.parent.name, len(order)))


class Scheduling(LoadScopeScheduling):
    """The tests of a file, or of a group of `TOGETHER`, in one process."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return GROUPS.get(file, file)


def pytest_xdist_make_scheduler(config, log):
    """Distribute by file; groups of xdist do not work with this pytest."""
    return Scheduling(config, log)


@pytest.fixture(scope="session")
def observations():
    """One ensemble of the oscillator x'' = -25 x + W'."""
    from support import observe, oscillator

    return observe(oscillator(), trajectories=20, steps=2000)


@pytest.fixture(scope="session")
def moments(observations):
    """Martingale moments of `observations` over the 25-term library."""
    from support import OSCILLATOR_LIBRARY, recommended

    return recommended(observations, OSCILLATOR_LIBRARY).moments


@pytest.fixture(scope="session")
def replicated():
    """Forty small independent ensembles, each identified by the recommended recipe."""
    from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended

    return [
        recommended(
            observe(oscillator(), trajectories=20, steps=2000, replicate=i),
            OSCILLATOR_LIBRARY,
        )
        for i in range(40)
    ]


@pytest.fixture
def rng():
    """Random numbers that are the same in every run."""
    import numpy as np

    return np.random.default_rng(20261121)
