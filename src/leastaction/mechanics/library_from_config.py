"""The library of an example, which has coordinates or a field."""

from collections.abc import Mapping

from leastaction.mechanics.density_library import DensityLibrary
from leastaction.mechanics.field_system import FieldSystem
from leastaction.mechanics.library import Library
from leastaction.mechanics.system import System


def library_from_config(
    config: Mapping, system: System | FieldSystem
) -> Library | DensityLibrary:
    """Candidates of the `library` section of an example with that system.

    Raises
    ------
    ValueError
        See :meth:`Library.from_config` and :meth:`DensityLibrary.from_config`.
    """
    if isinstance(system, FieldSystem):
        return DensityLibrary.from_config(config, system.field)
    return Library.from_config(config, system.coordinates)
