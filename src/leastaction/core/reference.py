"""Reference of a library: candidates whose coefficients are given, not identified."""

from collections.abc import Sequence

import sympy as sp


def multiples(
    reference: sp.Expr, terms: Sequence[sp.Expr]
) -> tuple[tuple[int, float], ...]:
    """Candidates that a reference consists of, such as ½ ẋ² of ẋ².

    Parameters
    ----------
    reference
        A multiple of a candidate, or a sum of such multiples.
    terms
        Candidates.

    Returns
    -------
    tuple
        (position, coefficient) of each candidate.

    Raises
    ------
    ValueError
        If a part of the reference is no multiple of a candidate.
    """
    whole = _multiple(reference, terms)
    if whole is not None:
        return (whole,)
    parts = sp.Add.make_args(sp.expand(reference))
    return tuple(_multiple(part, terms) or _unknown(part, terms) for part in parts)


def _multiple(part: sp.Expr, terms: Sequence[sp.Expr]) -> tuple[int, float] | None:
    for i, term in enumerate(terms):
        if term.free_symbols == part.free_symbols != set():
            ratio = sp.simplify(part / term)
            if ratio.is_number:
                return i, float(ratio)
    return None


def _unknown(part: sp.Expr, terms: Sequence[sp.Expr]):
    raise ValueError(
        f"reference: {part} is not a multiple of a candidate; "
        f"the candidates are {', '.join(map(str, terms))}"
    )
