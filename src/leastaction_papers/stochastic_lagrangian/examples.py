"""What an example of a randomly excited system must fulfil, before any job."""

from collections.abc import Iterator, Mapping

from leastaction.core.recipe import raised
from leastaction.core.system import System


def problems(example: Mapping, system) -> Iterator[str]:
    """Noise that the strong Taylor scheme cannot integrate."""
    if isinstance(system, System) and system.wiener_processes > 1:
        from leastaction.ensembles.strong_taylor import check_noise

        yield from raised("system", lambda: check_noise(system))
