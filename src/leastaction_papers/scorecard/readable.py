"""Formulas and numbers as a person writes them: ``0.5 X'^2 - 500 X^2``.

On pages :func:`typeset` gives them Greek letters, dots, superscripts and subscripts.
"""

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pint
import sympy as sp
import xarray as xr

from leastaction.core.expressions import RAISED, symbol
from leastaction.core.families import is_field
from leastaction.figures.readable import percent_text

DIGITS = 6
GREEK = {
    "alpha": "α",
    "beta": "β",
    "theta": "θ",
    "th": "θ",
    "varphi": "φ",
    "phi": "φ",
    "sigma": "σ",
    "lambda": "λ",
    "rho": "ρ",
    "nu": "ν",
}
_LETTER = f"(?:{'|'.join(GREEK)}|[A-Za-z])"
_DOTS = {"dot": "\u0307", "ddot": "\u0308", "'": "\u0307", "''": "\u0308"}
# Steps of `typeset`, in their order.
_STEPS: tuple[tuple[str, str | Callable[[re.Match], str]], ...] = (
    # sin(th)**2 is sin^2 th
    (r"\b(sin|cos)\((\w+)\)(?:\*\*|\^)(\d+)", r"\1^\3 \2"),
    (r"\b(sin|cos)\((\w+)\)", r"\1 \2"),
    (r"\*\*", "^"),
    (r"(?<=[\w)])\*(?=[\w(])", "\u2009"),
    # E'z is the transpose of E times z, X' a rate
    (r"\bE'(?=z\b)", "E<sup>T</sup>"),
    (
        rf"\b({_LETTER})(?:_?(\d+|(?<=_)[a-z]))?(d?dot\b|'{{1,2}}(?![\w']))",
        lambda m: m[1] + _DOTS[m[3]] + (f"_{m[2]}" if m[2] else ""),
    ),
    (rf"\b({_LETTER}[\u0307\u0308]?)(?:_(\w+)|(\d+))\b", r"\1<sub>\2\3</sub>"),
    (rf"\b({'|'.join(GREEK)})(?![^\W\d_])", lambda m: GREEK[m[1]]),
    (r"\^?\[(\[\d+\])\]", r"<sup>\1</sup>"),
    (r"\^-(?=\d)", "^−"),
    (r"\^(−?\d+(?:\.\d+)?)", r"<sup>\1</sup>"),
    (r"(?<=\))_(\d+|[a-z]\b)", r"<sub>\1</sub>"),
    (r"\bsum_([a-z])\b", r"Σ<sub>\1</sub>"),
    ("&lt;=", "≤"),
    ("&gt;=", "≥"),
    (r"(?<![\w.])1e([+-]?)0*(\d+)\b", lambda m: _power("", *m.groups())),
    (r"\b(\d+)e([+-]?)0*(\d+)\b", lambda m: _power(f"{m[1]}·", m[2], m[3])),
    # A minus, not a hyphen
    (r"(?<= )-(?= )|(?<![\w>)\]-])-(?=[\d.(]|[A-Za-z]\b|[θφ])", "−"),
)


def number_text(value: float, digits: int = DIGITS) -> str:
    """Text of a number to `digits` significant digits; empty if it is NaN."""
    return "" if np.isnan(value) else f"{value:.{digits}g}"


def typeset(text: str) -> str:
    """HTML of a text with formulas: letters, dots, powers and indices set as in print.

    >>> typeset("coefficient of thdot**2*cos(th1)")
    'coefficient of θ̇<sup>2</sup>\u2009cos θ<sub>1</sub>'
    >>> typeset("sum_k X_k'^2")
    'Σ<sub>k</sub> Ẋ<sub>k</sub><sup>2</sup>'
    """
    text = html.escape(text, quote=False)
    for pattern, replacement in _STEPS:
        text = re.sub(pattern, replacement, text)
    return unicodedata.normalize("NFC", text)


def _power(before: str, sign: str, exponent: str) -> str:
    return f"{before}10<sup>{'−' if sign == '-' else ''}{exponent}</sup>"


def scientific(value: float, digits: int = 2) -> str:
    """Mathtext of a number, ``1.7\\times10^{-2}``; 0.1 to 999 in full."""
    return _power_of_ten(value, digits, r"${}\times10^{{{}}}$".format)


def plain_scientific(value: float, digits: int = 2) -> str:
    """As :func:`scientific`, in plain text.

    >>> plain_scientific(0.0171)
    '1.7·10⁻²'
    """

    def text(mantissa: str, power: int) -> str:
        return f"{mantissa}·10{str(power).translate(RAISED)}"

    return _power_of_ten(value, digits, text).replace("-", "−")


def _power_of_ten(value: float, digits: int, text: Callable[[str, int], str]) -> str:
    if not np.isfinite(value):
        return "not finite"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    if value == 0 or -1 <= int(power) <= 2:
        return f"{float(f'{value:.{digits}g}'):g}"
    return text(mantissa, int(power))


def measured_text(value: float, error: float) -> str:
    """Magnitude with its standard error, ``(499.98 ± 0.10)``.

    The error has two significant digits and the value as many decimals; without an
    error (zero or NaN), the value alone.
    """
    if not error > 0 or not np.isfinite(error):
        return number_text(value)
    rounded = float(f"{error:.1e}")
    decimals = max(0, 1 - int(np.floor(np.log10(rounded))))
    if decimals > 12:
        return f"({value:.{DIGITS}g} ± {error:.2g})"
    return f"({value:.{decimals}f} ± {error:.{decimals}f})"


def sum_text(parts: Iterable[tuple[float, float, str]]) -> str:
    """Sum of (coefficient, standard error, function as text); ``0`` if empty."""
    text = ""
    for value, error, function in parts:
        if value == 0:
            continue
        size = measured_text(abs(value), error)
        shown = function if size == "1" and function else f"{size} {function}".strip()
        if text:
            text += f" {'-' if value < 0 else '+'} {shown}"
        else:
            text = f"-{shown}" if value < 0 else shown
    return text or "0"


def function_text(expression: sp.Expr, names: Mapping[sp.Symbol, str]) -> str:
    """Text of a function such as ``X'^2``; empty for the constant one."""
    if expression == 1:
        return ""
    shown = expression.subs({old: sp.Symbol(new) for old, new in names.items()})
    texts = (sp.sstr(shown, order=order) for order in ("lex", "rev-lex"))
    text = min(texts, key=leading_minus).replace("**", "^").replace("*", " ")
    return re.sub(r"Abs\(([^()]*)\)", r"|\1|", text)


def leading_minus(text: str) -> int:
    """How many sums begin with a minus: ``(x_2 - x_1)`` reads better than its turn."""
    return text.lstrip("$").startswith("-") + sum(
        text.count(f"{bracket}-") + text.count(f"{bracket} -") for bracket in "({"
    )


def names_on_paper(system: Mapping) -> dict[sp.Symbol, str]:
    """Names of q, q̇ and q̈ on paper: the label, with one or two primes.

    A field is written with its derivatives as they are, ``u_xx``.
    """
    if is_field(system):
        name = system["field"]["name"]
        return {symbol(name): name}
    shown = {}
    for name, entry in system["coordinates"].items():
        label = str((entry or {}).get("label") or name)
        for mark in "\\{}$":
            label = label.replace(mark, "")
        shown[symbol(name)] = label
        shown[symbol(f"{name}dot")] = f"{label}'"
        shown[symbol(f"{name}ddot")] = f"{label}''"
    return shown


def linear_text(
    operator: Callable[[sp.Expr], sp.Expr],
    terms: Sequence[sp.Expr],
    coefficients: Sequence[float],
    errors: Sequence[float],
    names: Mapping[sp.Symbol, str],
    factored: bool = False,
) -> str:
    """Text of ``Σ c_i operator(D_i)``, equal functions collected.

    The `operator` is a linear map of expressions; the identity gives the Lagrangian.
    Standard errors are added in quadrature: where two candidates share a function (none
    of the papers' do), their correlation is not known here. `names` says how symbols
    are written; with `factored`, a multiple of a term is written like that term,
    ``(x2 - x1)**2``, and not expanded.
    """
    total, square = defaultdict(float), defaultdict(float)
    for term, c, error in zip(terms, coefficients, errors, strict=True):
        parts = _parts(operator(term), term, factored) if c != 0 else {}
        for function, factor in parts.items():
            total[function] += c * float(factor)
            square[function] += (error * float(factor)) ** 2
    return sum_text(
        (value, float(np.sqrt(square[f])), function_text(f, names))
        for f, value in total.items()
    )


def _parts(value: sp.Expr, term, factored: bool) -> Mapping[sp.Expr, sp.Expr]:
    """Functions in `value` with their factors."""
    if factored:
        ratio = sp.cancel(value / term)
        if ratio.is_number:
            return {term: ratio}
    return sp.expand(value).as_coefficients_dict()


def unit_label(value: pint.Unit, keep_radian: bool = False) -> str:
    """Mathtext of a unit, negative exponents instead of a solidus; 1 if dimensionless.

    Radians are written only where an angle itself is meant (`keep_radian`).
    """
    shown = []
    for sign, name, power in re.findall(
        r"([*/]?)([^\W\d]+)(?:\*\*([\d.]+))?", f"{value:~C}"
    ):
        if name == "rad" and not keep_radian:
            continue
        exponent = float(power or 1) * (-1 if sign == "/" else 1)
        raised = "" if exponent == 1 else f"^{{{exponent:g}}}"
        shown.append(rf"\mathrm{{{name}}}{raised}")
    return "$" + r"\,".join(shown) + "$" if shown else "1"


def mean_path_errors(rollout: xr.Dataset) -> str:
    """Errors of the mean path of the first replicate, and their medians over all."""
    count = rollout.sizes["replicate"]
    parts = []
    for window in ("training", "prediction"):
        values = rollout[f"mean_error_{window}"].values
        of = f"median of {count}: " if window == "training" else ""
        median = f" ({of}{percent_text(np.median(values))})" if count > 1 else ""
        parts.append(f"{window} {percent_text(values[0])}{median}")
    text = "mean-path error: " + ", ".join(parts)
    diverged = int(rollout["diverged"].values[0])
    return text + (f"; {diverged} trajectories diverged" if diverged else "")


def extremes(values: Mapping[str, float]) -> str:
    """Smallest and largest finite share in per cent, each with its name.

    ``0.10 % (string) to 3.2 % (rod)``
    """
    finite = {name: value for name, value in values.items() if np.isfinite(value)}
    ends = sorted(finite, key=finite.__getitem__)
    shown = {n: percent_text(v) for n, v in finite.items()}
    ends = [f"{shown[name]} ({name})" for name in ends[:1] + ends[1:][-1:]]
    return " to ".join(ends) or "no finite amount"


def divergence(values: Mapping[str, float]) -> str:
    """Sentence about those that are not finite; empty if all are."""
    lost = [name for name, value in values.items() if not np.isfinite(value)]
    return f" It diverges for the {' and the '.join(lost)}." if lost else ""
