"""How many candidate functions the library of a field stands for."""

from collections.abc import Mapping

from leastaction.fields.density_library import count_functions, density_candidates
from leastaction.fields.domain import Domain


def functions_over_nodes(config: Mapping, of: str) -> int:
    """Number of candidate functions over all nodes; ``pooled`` ones do not count.

    Parameters
    ----------
    config
        An example of a field, with the sections `system` and `library`.
    of
        ``lagrangian`` or ``volatility``.
    """
    field = config["system"]["field"]["name"]
    terms, strides = density_candidates(config["library"][of], field)
    domain = Domain.from_config(config["system"]["domain"])
    return count_functions(terms, strides, field, domain)
