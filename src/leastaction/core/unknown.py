"""A name that is not known, and what was probably meant."""

import difflib
from collections.abc import Iterable


def unknown(kind: str, given, known: Iterable) -> str:
    """One sentence about a name that is not among `known`, with a suggestion."""
    names = [str(name) for name in known]
    close = difflib.get_close_matches(str(given), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"unknown {kind} {given!r}{hint} Known: {', '.join(names) or 'none'}"
