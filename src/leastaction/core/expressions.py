"""Arithmetic expressions as data: YAML text to SymPy, by a whitelist.

The text is parsed by Python's own grammar and never evaluated. Only numbers, declared
names, ``+ - * / **`` and :data:`FUNCTIONS` are accepted.
"""

import ast
import keyword
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import sympy as sp
from sympy.printing.pycode import PythonCodePrinter
from sympy.printing.str import StrPrinter

from leastaction.core.families import is_plain, unknown

_NAMES = "sin cos tan asin acos atan atan2 sinh cosh tanh exp log sqrt Abs sign"
FUNCTIONS = {name.lower(): getattr(sp, name) for name in _NAMES.split()}
# Of two arguments; the others have one.
OF_TWO = ("atan2",)
CONSTANTS = {"pi": sp.pi}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

LONGEST_TEXT = 5000
DEEPEST_NESTING = 60
# Functions within functions. Equations of motion have second derivatives: those of tanh
# within tanh take 1 s at 8 levels, 6 s at 10, over 25 s at 12.
DEEPEST_FUNCTION = 8
LARGEST_EXPONENT = 60
MOST_DIGITS = 40
MOST_TERMS = 500
LARGEST_VALUE = 1e100
# Powers up to this are written as products.
LARGEST_PRODUCT = 8
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class ExpressionError(ValueError):
    """An expression that is not arithmetic over the declared names."""

    def __init__(self, text: str, position: int, reason: str):
        self.text, self.position, self.reason = text, position, reason
        start = max(0, position - 60)
        shown = text[start : position + 60].replace("\n", " ")
        pointer = " " * (position - start) + "^"
        super().__init__(
            f"{reason} (at character {position + 1})\n    {shown}\n    {pointer}"
        )


def symbol(name: str) -> sp.Symbol:
    """Real symbol, the only kind that is used; ValueError if it is no plain name."""
    if not is_plain(name):
        raise ValueError(
            f"{str(name)[:60]!r} cannot name a quantity: use ASCII letters, digits and "
            "underscores, a letter first"
        )
    return sp.Symbol(name, real=True)


def check_name(name: str) -> None:
    """ValueError for a name that is not plain, a function, a constant or a keyword."""
    symbol(name)
    if name in FUNCTIONS or name in CONSTANTS or keyword.iskeyword(name):
        raise ValueError(f"{name!r} is a reserved word; choose another name")


def parse(text: str | int | float, names: Iterable[str]) -> sp.Expr:
    """SymPy expression of a text such as ``"m*xdot**2/2 - k*x**2/2"``.

    `names` may occur in it, as real symbols. Decimal numbers become exact rationals.

    ExpressionError, with the position, if it is not arithmetic over `names`.
    """
    text = str(text)
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(
            text[:200],
            0,
            f"the expression has {len(text)} characters; at most {LONGEST_TEXT} "
            "are accepted",
        )
    if not text.isascii():
        position = next(i for i, c in enumerate(text) if not c.isascii())
        raise ExpressionError(text, position, "not an ASCII character")
    table = {name: symbol(name) for name in names} | CONSTANTS
    source = text.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        position = _place(source, error.lineno or 1, (error.offset or 1) - 1)
        raise ExpressionError(source, position, "not an expression") from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError(source, 0, "not an expression") from None
    return _Reader(source, table).read(tree, 0)


def parsed(where: str, text, names: Sequence[str]) -> sp.Expr:
    """Expression of a text; `where` it stands begins the ValueError if it is none."""
    try:
        return parse(text, names)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def names_in(text: str | int | float) -> list[str]:
    """Names that an expression may use, functions and constants left out, each once.

    >>> names_in("atan2(x - x0, 2*y)")
    ['x', 'x0', 'y']
    """
    result = re.findall(r"(?<![\w.])[A-Za-z]\w*", str(text))
    return [n for n in dict.fromkeys(result) if n not in {**FUNCTIONS, **CONSTANTS}]


class _Writer(StrPrinter):
    def _print_Abs(self, expr):
        return f"abs({self._print(expr.args[0])})"


def to_text(expression: sp.Expr) -> str:
    """Text of an expression that :func:`parse` reads back."""
    return _Writer().doprint(expression)


class _CodePrinter(PythonCodePrinter):
    """Python of a kernel; `variable` is what holds the quantity of a name."""

    def __init__(self, variable: Callable[[str], str]):
        super().__init__({"fully_qualified_modules": True, "standard": "python3"})
        self.variable = variable

    def _print_Symbol(self, expr):
        return self.variable(expr.name)

    def _print_sign(self, expr):
        return f"np.sign({self._print(expr.args[0])})"

    def _print_DiracDelta(self, expr):
        return "0.0"  # from the second derivative of abs, which vanishes off zero

    def _print_Abs(self, expr):
        return f"abs({self._print(expr.args[0])})"

    def _print_Pow(self, expr, **kwargs):
        base, exponent = expr.as_base_exp()
        if exponent.is_Integer and 2 <= exponent <= LARGEST_PRODUCT:
            factor = f"({self._print(base)})"
            return "(" + "*".join([factor] * int(exponent)) + ")"
        return super()._print_Pow(expr, **kwargs)

    def _print_Rational(self, expr):
        return f"({float(expr)!r})"

    def _print_Integer(self, expr):
        return f"{int(expr)}"


def to_code(values: Sequence[sp.Expr], variable: Callable[[str], str]) -> list[str]:
    """Python of expressions in a kernel; `variable` names what holds a quantity."""
    printer = _CodePrinter(variable)
    return [printer.doprint(value) for value in values]


def powers(base: sp.Expr, exponent: int) -> int:
    """Terms of a power of a sum."""
    terms = terms_written_out(base)
    return math.comb(exponent + terms - 1, terms - 1)


@lru_cache(maxsize=4096)
def terms_written_out(expression: sp.Expr) -> int:
    """Bound of the number of terms if brackets, sines and cosines were written out.

    A sine counts as two exponentials, and a quotient by its numerator.

    >>> x = symbol("x")
    >>> terms_written_out((x + 1) ** 3 * sp.sin(x) / (2 + x))
    8
    """
    if expression.is_Add:
        return sum(map(terms_written_out, expression.args))
    if expression.is_Mul:
        return math.prod(map(terms_written_out, expression.args))
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        return powers(expression.base, int(expression.exp))
    return 1 + isinstance(expression, sp.sin | sp.cos)


@lru_cache(maxsize=4096)
def function_depth(expression: sp.Expr) -> int:
    """Levels of functions within functions.

    >>> x = symbol("x")
    >>> function_depth(sp.sin(1 + sp.cos(x)) * x)
    2
    """
    inner = max(map(function_depth, expression.args), default=0)
    return inner + isinstance(expression, sp.Function)


def _place(text: str, line: int, column: int) -> int:
    """Position in `text` of a column (from 0) of a line (from 1)."""
    before = sum(len(row) + 1 for row in text.split("\n")[: line - 1])
    return max(0, before + column)


class _Reader:
    """Turn a syntax tree into SymPy, node by permitted node."""

    def __init__(self, text: str, table: Mapping[str, sp.Expr]):
        self.text, self.table = text, table

    def refuse(self, node: ast.expr, reason: str) -> ExpressionError:
        place = _place(self.text, node.lineno, node.col_offset)
        return ExpressionError(self.text, place, reason)

    def read(self, node: ast.expr, depth: int) -> sp.Expr:
        if depth > DEEPEST_NESTING:
            raise self.refuse(node, f"nested deeper than {DEEPEST_NESTING} levels")
        value = self._read(node, depth + 1)
        if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
            raise self.refuse(node, "not a finite number")
        if value.is_number and abs(value.evalf()) > LARGEST_VALUE:
            raise self.refuse(node, f"a number larger than {LARGEST_VALUE:g}")
        if value.is_real is False:
            raise self.refuse(node, "not a real number")
        return value

    def _read(self, node: ast.expr, depth: int) -> sp.Expr:
        match node:
            case ast.Constant(value=value) if type(value) in (int, float):
                return self.number(node, value)
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand, depth)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.read(operand, depth)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.power(node, self.read(left, depth), self.read(right, depth))
            case ast.BinOp():
                return self.chain(node, depth)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(node, name, [self.read(a, depth) for a in arguments])
        raise self.refuse(
            node,
            "only numbers, declared names, + - * / ** and functions "
            f"({', '.join(FUNCTIONS)}) may stand here",
        )

    def call(self, node: ast.expr, name: str, arguments: Sequence[sp.Expr]) -> sp.Expr:
        if name not in FUNCTIONS:
            raise self.refuse(node, unknown("function", name, sorted(FUNCTIONS)))
        expected = 2 if name in OF_TWO else 1
        if len(arguments) != expected:
            raise self.refuse(
                node, f"{name} takes {expected} arguments, not {len(arguments)}"
            )
        if 1 + max(map(function_depth, arguments)) > DEEPEST_FUNCTION:
            raise self.refuse(
                node, f"functions within functions beyond {DEEPEST_FUNCTION} levels"
            )
        return FUNCTIONS[name](*arguments)

    def number(self, node: ast.expr, value: int | float) -> sp.Expr:
        literal = ast.get_source_segment(self.text, node)
        if len(literal) > MOST_DIGITS:
            raise self.refuse(node, f"a number of more than {MOST_DIGITS} digits")
        if abs(value) > 1e30 or 0 < abs(value) < 1e-30:
            raise self.refuse(node, "a number outside 1e-30 ... 1e30")
        return sp.Integer(value) if isinstance(value, int) else sp.Rational(str(value))

    def name(self, node: ast.expr, name: str) -> sp.Expr:
        if name not in self.table:
            raise self.refuse(node, unknown("name", name, sorted(self.table)))
        return self.table[name]

    def chain(self, node: ast.BinOp, depth: int) -> sp.Expr:
        """Operators of one chain a + b − c ..., which the tree nests to the left."""
        operations = []
        first: ast.expr = node
        while isinstance(first, ast.BinOp) and not isinstance(first.op, ast.Pow):
            operations.append(first)
            first = first.left
        value = self.read(first, depth)
        for operation in reversed(operations):
            right = self.read(operation.right, depth)
            value = self.binary(operation, value, right)
        return value

    def binary(self, node: ast.BinOp, a: sp.Expr, b: sp.Expr) -> sp.Expr:
        if type(node.op) not in OPERATORS:
            raise self.refuse(node, "only + - * / ** are operators here")
        if isinstance(node.op, ast.Div) and b.is_zero:
            raise self.refuse(node, "division by zero")
        result = OPERATORS[type(node.op)](a, b)
        for factor in sp.Mul.make_args(result):
            self.check_exponent(node, factor.as_base_exp()[1])
        if not result.is_Add and terms_written_out(result) > MOST_TERMS:
            raise self.refuse(node, f"a product with more than {MOST_TERMS} terms")
        return result

    def power(self, node: ast.expr, base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
        """A power that is neither a huge number nor a huge sum."""
        if base.is_Rational and exponent.is_number:
            digits = len(str(base.p)) + len(str(base.q))
            if digits * max(1, abs(exponent)) > 300:
                raise self.refuse(node, "a power with more than 300 digits")
        total = exponent * (base.exp if base.is_Pow else 1)
        self.check_exponent(node, total)
        if exponent.is_Integer and powers(base, abs(int(exponent))) > MOST_TERMS:
            raise self.refuse(node, f"a power with more than {MOST_TERMS} terms")
        return base**exponent

    def check_exponent(self, node: ast.expr, exponent: sp.Expr) -> None:
        if exponent.is_number and abs(exponent) > LARGEST_EXPONENT:
            raise self.refuse(node, f"exponent larger than {LARGEST_EXPONENT}")
