"""Accelerations of a system as a C, NumPy or JAX function, by SymPy's code printers.

The equation is M(q) q̈ = f(q, q̇) + F. The mass matrix is solved in symbols of its
entries, so that its inverse is as long as the number of coordinates asks, whatever its
entries are.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import sympy as sp
import xarray as xr
from sympy.printing.c import C99CodePrinter
from sympy.printing.numpy import JaxPrinter, NumPyPrinter

from leastaction.core.families import unknown
from leastaction.core.system import System

SUFFIXES = {".c": "c", ".py": "numpy"}
LANGUAGES = ("c", "numpy", "jax")
C = """\
/* qddot = M(q)^-1 (f(q, qdot) + force), SI units, of {coordinates}.{about} */
#include <math.h>

void acceleration(const double q[{dof}], const double qdot[{dof}],
                  const double force[{dof}], double qddot[{dof}])
{{
{body}
}}
"""
PYTHON = '''\
"""Accelerations of {coordinates}; written by leastaction.{about}"""

import {module}


def acceleration(q, qdot, force):
    """qddot = M(q)^-1 (f(q, qdot) + force), arrays (..., {dof}), SI units."""
{body}
    return {module}.stack({module}.broadcast_arrays({found}), axis=-1)
'''


def language_of(path: str | Path, language: str | None = None) -> str:
    """Language of a file by its name; ValueError if it is none of `LANGUAGES`.

    >>> language_of("model.c"), language_of("model.py", "jax")
    ('c', 'jax')
    """
    if language is None:
        suffix = Path(path).suffix
        if suffix not in SUFFIXES:
            raise ValueError(
                f"{path} has the ending {suffix!r}; expected .c, or .py for NumPy and, "
                "with the language jax, for JAX"
            )
        return SUFFIXES[suffix]
    if language not in LANGUAGES:
        raise ValueError(unknown("language", language, LANGUAGES))
    return language


def left_out(model: xr.Dataset) -> list[str]:
    """What a law has beside its equations, in words; none of it is exported."""
    corrections = json.loads(str(np.ravel(model.get("corrections", "{}"))[0]))
    parts = {
        "the random force": np.any(model.get("noise_covariance", 0)),
        f"the corrections {', '.join(corrections)}": corrections,
        "the gain of the inputs": np.any(model.get("input_gain", 1) != 1),
        "the delay between inputs and forces": np.any(model.get("input_lag", 0)),
    }
    return [words for words, is_present in parts.items() if is_present]


def source_code(system: System, language: str, missing: Sequence[str] = ()) -> str:
    """Source of ``acceleration(q, qdot, force)``, without noise.

    In C the arrays have the length dof, and a fourth, ``qddot``, takes the result; in
    NumPy and JAX they have the shape (..., dof). Names of coordinates stand in comments
    only, so that none can be a word of the language.

    Parameters
    ----------
    system
        With a value of each parameter.
    language
        ``c`` (C99), ``numpy`` or ``jax``.
    missing
        What the heading names as left out, see :func:`left_out`.

    Raises
    ------
    ValueError
        If there is no such language.

    Examples
    --------
    >>> pendulum = System("thetadot**2/2 + 9.81*cos(theta)")
    >>> print(source_code(pendulum, "c").partition("{")[2])
    <BLANKLINE>
       const double m_0_0 = 1;
       const double f_0 = force[0] - 981.0/100.0*sin(q[0]);
       qddot[0] = f_0/m_0_0;
    }
    <BLANKLINE>
    """
    about = {"dof": system.dof, "coordinates": ", ".join(system.coordinates)}
    about["about"] = f" Left out: {'; '.join(missing)}." if missing else ""
    if language_of("", language) == "c":
        print_one = C99CodePrinter().doprint
        body = _body(system, print_one, "[{}]", "   const double {} = {};")
        results = _solved(system, print_one, "   qddot[{}] = {};")
        return C.format(body="\n".join([*body, *results]), **about)
    printer, module = {
        "numpy": (NumPyPrinter(), "numpy"),
        "jax": (JaxPrinter(), "jax.numpy"),
    }[language]
    body = _body(system, printer.doprint, "[..., {}]", "    {} = {}")
    results = _solved(system, printer.doprint, "    qddot_{} = {}")
    accelerations = ", ".join(f"qddot_{i}" for i in range(system.dof))
    body = "\n".join([*body, *results])
    return PYTHON.format(body=body, found=accelerations, module=module, **about)


def _body(system: System, print_one: Callable, place: str, line: str) -> list[str]:
    """Lines of the entries of M and f + F, with their common subexpressions."""
    dof = range(system.dof)
    of_state = {
        symbol: sp.Symbol(name + place.format(i), real=True)
        for name, symbols in (("q", system.q), ("qdot", system.qdot))
        for i, symbol in enumerate(symbols)
    }
    entries = {
        f"m_{i}_{j}": system.mass_matrix[i, j] for i in dof for j in dof if j >= i
    }
    for i in dof:
        entries[f"f_{i}"] = system.forces[i] + sp.Symbol("force" + place.format(i))
    numeric = [system.evaluated(one).xreplace(of_state) for one in entries.values()]
    constants = {c: c.evalf(17) for e in numeric for c in e.atoms(sp.NumberSymbol)}
    shared, reduced = sp.cse([one.xreplace(constants) for one in numeric])
    pairs = [*shared, *zip(entries, reduced, strict=True)]
    return [line.format(name, print_one(value)) for name, value in pairs]


def _solved(system: System, print_one: Callable, line: str) -> list[str]:
    """Lines of M⁻¹ (f + F) in symbols of the entries."""
    dof = range(system.dof)
    mass = sp.Matrix(
        system.dof,
        system.dof,
        lambda i, j: (
            sp.Symbol(f"m_{min(i, j)}_{max(i, j)}") if system.mass_matrix[i, j] else 0
        ),
    )
    right = sp.Matrix([sp.Symbol(f"f_{i}") for i in dof])
    return [line.format(i, print_one(one)) for i, one in enumerate(mass.LUsolve(right))]
