"""Shared ensembles: simulated once, used by many laws."""

import os

import numpy as np
import pytest
from hypothesis import settings
from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended
from xdist.scheduler import LoadScopeScheduling

# Tests that share one finished project, one untouched copy, or what takes seconds to
# compute, run in one process.
TOGETHER = {
    "tests/core/test_measured_pendulum.py": "measured pendulum",
    "tests/docs/test_site.py": "site",
    "tests/faults/test_damaged.py": "run",
    "tests/faults/test_disk.py": "run",
    "tests/faults/test_killed.py": "run",
    "tests/faults/test_recording.py": "imported",
    "tests/slurm/test_faults.py": "slurm",
    "tests/slurm/test_papers.py": "slurm",
    "tests/workflow/test_adding_to_report.py": "finished",
    "tests/workflow/test_determinism.py": "finished",
    "tests/workflow/test_outputs.py": "finished",
    "tests/workflow/test_planning.py": "finished",
    "tests/workflow/test_recordings.py": "recordings",
    "tests/workflow/test_report.py": "finished",
    "tests/workflow/test_same_bytes.py": "same bytes",
    "tests/workflow/test_refusals.py": "untouched",
}

settings.register_profile("leastaction", deadline=None, derandomize=True)
# Of what is hostile or damaged (tests/faults/harm.py): `make attack`.
settings.register_profile("attack", deadline=None, max_examples=10_000)
settings.load_profile("leastaction")


def pytest_configure(config):
    """Keep generated kernels with the other caches of pytest, away from the user's."""
    cache = getattr(config, "cache", None)
    if cache is not None and "LEASTACTION_CACHE" not in os.environ:
        os.environ["LEASTACTION_CACHE"] = str(cache.mkdir("leastaction-kernels"))


class Scheduling(LoadScopeScheduling):
    """Any test in any process, but for those of `TOGETHER`."""

    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER.get(nodeid.partition("::")[0], nodeid)


def pytest_xdist_make_scheduler(config, log):
    """Distribute by `TOGETHER`; groups of xdist do not work with this pytest."""
    return Scheduling(config, log)


@pytest.fixture(scope="session")
def observations():
    """One ensemble of the oscillator x'' = -25 x + W'."""
    return observe(oscillator(), trajectories=20, steps=2000)


@pytest.fixture(scope="session")
def moments(observations):
    """Martingale moments of `observations` over the 25-term library."""
    return recommended(observations, OSCILLATOR_LIBRARY).moments


@pytest.fixture(scope="session")
def replicated():
    """Forty small independent ensembles, each identified by the recommended recipe."""
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
    return np.random.default_rng(20261121)
