"""Candidate functions of a library, generated from a few words of YAML."""

import itertools
from collections.abc import Mapping, Sequence

import sympy as sp

from leastaction.core.expressions import parse


def candidates(recipe: Sequence[Mapping], names: Sequence[str]) -> tuple[sp.Expr, ...]:
    """Expand a recipe into distinct candidate functions, in a fixed order.

    Each entry of `recipe` is one of

    ``{polynomial: {of: [x, xdot], degree: 5, lowest: 1}}``
        every monomial of total degree `lowest` (0 if not given) ... `degree`;
    ``{product: [{polynomial: ...}, {terms: ...}]}``
        each product of one candidate of every entry, the last varying fastest;
    ``{functions: {apply: [sin, cos], to: [x, xdot]}}``
        each function of each argument;
    ``{terms: ["x*abs(x)"]}``
        the expressions as written;
    ``{exclude: ["x**2"]}``
        takes earlier candidates away.

    Raises
    ------
    ExpressionError
        If an expression uses a name that is not among `names`.
    ValueError
        If a term stands twice, or an excluded one is not there.
    """
    found: list[sp.Expr] = []
    for entry in recipe:
        ((kind, body),) = entry.items()
        if kind == "exclude":
            for text in body:
                term = parse(text, names)
                if term not in found:
                    raise ValueError(f"exclude: {text!r} is not among the candidates")
                found.remove(term)
            continue
        for term in _generated(entry, names):
            if term in found:
                raise ValueError(f"{kind}: the candidate {term} stands twice")
            found.append(term)
    return tuple(found)


def _generated(entry: Mapping, names: Sequence[str]) -> list[sp.Expr]:
    ((kind, body),) = entry.items()
    if kind not in _GENERATORS:
        raise ValueError(f"{kind}: only the library of a field can have this entry")
    return _GENERATORS[kind](body, names)


def _polynomial(body: Mapping, names: Sequence[str]) -> list[sp.Expr]:
    variables = [parse(name, names) for name in body["of"]]
    return [
        sp.Mul(*factors)
        for degree in range(body.get("lowest", 0), body["degree"] + 1)
        for factors in itertools.combinations_with_replacement(variables, degree)
    ]


def _functions(body: Mapping, names: Sequence[str]) -> list[sp.Expr]:
    return [
        parse(f"{function}({argument})", names)
        for argument in body["to"]
        for function in body["apply"]
    ]


def _terms(body: Sequence[str], names: Sequence[str]) -> list[sp.Expr]:
    return [parse(text, names) for text in body]


def _product(body: Sequence[Mapping], names: Sequence[str]) -> list[sp.Expr]:
    factors = [_generated(entry, names) for entry in body]
    return [sp.Mul(*each) for each in itertools.product(*factors)]


_GENERATORS = {
    "polynomial": _polynomial,
    "functions": _functions,
    "terms": _terms,
    "product": _product,
}
