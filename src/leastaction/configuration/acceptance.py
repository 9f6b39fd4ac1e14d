"""Acceptance of an example: completed and checked once, then remembered.

What one example says is checked by :mod:`leastaction.configuration.checks`; an
example that did not change, read by the same sources, is accepted from memory. So a
plan imports no algebra.
"""

import hashlib
import json
from collections.abc import Callable, Mapping

from leastaction.configuration.jobs import with_recommended_methods
from leastaction.configuration.schema import complete, inlined
from leastaction.configuration.sources import package_digest
from leastaction.core.cache import cached


def acceptance(schema: Mapping) -> Callable[[Mapping, str], dict]:
    """Function that completes and checks an example, or remembers that it did.

    Parameters
    ----------
    schema
        Of one example.

    Returns
    -------
    Callable
        ``accept(example, where)``: the example with its recommended methods and its
        defaults. It raises a :class:`ConfigError` that lists all problems; see
        :func:`leastaction.configuration.checks.check_example`.
    """
    reader = hashlib.sha256(f"{schema!r}{package_digest()}".encode()).hexdigest()
    whole = inlined(schema)

    def accept(example: Mapping, where: str) -> dict:
        completed = {}

        def check() -> dict | None:
            from leastaction.configuration.checks import check_example

            completed.update(complete(with_recommended_methods(example), whole, where))
            check_example(completed, where)
            exact = json.loads(json.dumps(completed)) == completed
            return completed if exact else None

        question = hashlib.sha256(f"{example!r}{where}{reader}".encode()).hexdigest()
        return cached(question, (), check) or completed

    return accept
