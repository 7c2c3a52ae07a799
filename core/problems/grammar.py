"""Typed formulas: parsed by a whitelist of syntax, checked to the column, run as a list of numpy operations.

Nothing is ever evaluated as Python: ``ast`` only gives the tree, every node outside the whitelist is an error.
"""

from __future__ import annotations

import ast
import difflib
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.problems.vocabulary import BINARY, COMPARISONS, CONSTANTS, FUNCTIONS, divide, negative, where

MAX_LENGTH = 2000
MAX_DEPTH = 60
MAX_OPERATIONS = 600
MAX_EXPONENT = 1000.0


class ExpressionError(ValueError):
    """A formula that cannot be used; ``column`` (0-based) and ``length`` mark the place in ``text``."""

    def __init__(self, message: str, text: str, column: int, length: int = 1) -> None:
        self.reason = message
        self.text = text
        self.column = max(0, min(column, len(text)))
        self.length = max(1, length)
        super().__init__(f"{message} (column {self.column + 1})")

    def pointer(self) -> str:
        """The part of the formula around the error, with marks under it: two lines."""
        begin = max(0, self.column - 60)
        shown = self.text[begin : self.column + 60].replace("\n", " ").replace("\t", " ")
        marks = min(self.length, max(1, len(shown) - (self.column - begin)))
        return f"{shown}\n{' ' * (self.column - begin)}{'^' * marks}"


_MODULES = ("np", "numpy", "math", "torch", "tf", "jnp")
_REFUSED: Mapping[type[ast.AST], str] = {
    ast.Attribute: "attributes (a dot after a name) are not part of formulas",
    ast.Subscript: "square brackets are not part of formulas; name the variables x, y or w1, w2",
    ast.Lambda: "lambda is not part of formulas",
    ast.List: "lists are not part of formulas",
    ast.Tuple: "a comma is only possible between the arguments of a function; a decimal point is written '.'",
    ast.Dict: "dictionaries are not part of formulas",
    ast.Set: "sets are not part of formulas",
    ast.ListComp: "comprehensions are not part of formulas",
    ast.SetComp: "comprehensions are not part of formulas",
    ast.DictComp: "comprehensions are not part of formulas",
    ast.GeneratorExp: "comprehensions are not part of formulas",
    ast.Await: "await is not part of formulas",
    ast.Yield: "yield is not part of formulas",
    ast.YieldFrom: "yield is not part of formulas",
    ast.NamedExpr: "':=' is not part of formulas",
    ast.JoinedStr: "text is not part of formulas",
    ast.Starred: "'*' before an argument is not part of formulas",
}


@dataclass(frozen=True)
class Formula:
    """A checked formula: its ``text``, the ``names`` it leaves open, and the operations that compute it.

    Call it with a value for every name (keywords): numbers, arrays or tensors that fit one another.
    """

    text: str
    names: tuple[str, ...]
    operations: tuple[tuple[Callable[..., Any], tuple[int, ...]], ...]
    slots: tuple[Any, ...]
    result: int

    def __call__(self, **values: Any) -> Any:
        cells = [values[cell[1]] if isinstance(cell, tuple) else cell for cell in self.slots]
        for function, arguments in self.operations:
            cells.append(function(*[cells[index] for index in arguments]))
        return cells[self.result]


def parse(text: str, fixed: Mapping[str, float] | None = None) -> Formula:
    """Check ``text`` and turn it into a Formula; ExpressionError marks the place of the first mistake.

    ``^`` is read as a power and ``·`` and ``×`` as products. Names in ``fixed`` hide the constants of that name.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"the formula has {len(text)} characters; at most {MAX_LENGTH} are possible", text, MAX_LENGTH
        )
    if not text.strip():
        raise ExpressionError("the formula is empty; write for example x**2 + 10*y**2", text, 0)
    _check_characters(text)
    source, places = _python_spelling(text)
    return _Builder(text, source, places, fixed or {}).build()


_ALLOWED = re.compile(r"[\w\s.+\-*/%(),<>=^·×²³⁴]")


# a number that runs into a name; Python's own reader would only warn about some of these
_RUN_TOGETHER = re.compile(r"(?<![\w.])(?>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?=[^\W\d])")


def _check_characters(text: str) -> None:
    depth = deepest = 0
    opened: list[int] = []
    for column, character in enumerate(text):
        if not _ALLOWED.match(character):
            hints = {
                "[": "; use round brackets", "{": "; use round brackets", "=": "; only the right side is written",
                ":": "; a formula is one expression", "'": "; text is not part of formulas",
                '"': "; text is not part of formulas", "|": "; write abs(x)", "−": "; use the minus sign '-'",
            }  # fmt: skip
            shown = unicodedata.name(character, repr(character)) if character < " " else repr(character)
            raise ExpressionError(f"{shown} is not part of formulas{hints.get(character, '')}", text, column)
        if character == "(":
            opened.append(column)
            depth += 1
            deepest = max(deepest, depth)
            if depth > MAX_DEPTH:
                raise ExpressionError(f"brackets are nested deeper than {MAX_DEPTH}", text, column)
        elif character == ")":
            if not opened:
                raise ExpressionError("this bracket is closed but was never opened", text, column)
            opened.pop()
            depth -= 1
    if opened:
        raise ExpressionError("this bracket is never closed", text, opened[-1])
    joined = _RUN_TOGETHER.search(text)
    if joined:
        raise ExpressionError("a number and a name stand side by side; products are written with *", text, joined.end())
    single = re.search(r"(?<![<>=!])=(?!=)", text)
    if single:
        raise ExpressionError("'=' is not part of formulas; only the right side is written", text, single.start())
    if text.rstrip()[-1] in "+-*/%,<>^·×":
        raise ExpressionError("something is missing at the end", text, len(text.rstrip()))


_SUPERSCRIPTS = {"²": "**2", "³": "**3", "⁴": "**4"}
_SPELLINGS = {"^": "**", "·": "*", "×": "*", "\n": " ", "\r": " ", "\t": " ", "\f": " ", "\v": " "} | _SUPERSCRIPTS


def _python_spelling(text: str) -> tuple[str, list[int]]:
    """``text`` as Python spells it, and for every byte of that the column of ``text`` it came from."""
    pieces: list[str] = []
    places: list[int] = []
    for column, character in enumerate(text):
        piece = " " if character.isspace() else _SPELLINGS.get(character, character)
        pieces.append(piece)
        places.extend([column] * len(piece.encode("utf-8")))
    lead = len("".join(pieces)) - len("".join(pieces).lstrip())
    places.append(len(text))
    return "".join(pieces).lstrip(), places[lead:]


class _Builder:
    """Walks one syntax tree and writes the operations."""

    def __init__(self, text: str, source: str, places: list[int], fixed: Mapping[str, float]) -> None:
        self.text, self.source, self.places, self.fixed = text, source, places, fixed
        self.names: list[str] = []
        self.slots: list[Any] = []
        self.pending: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self.known: dict[Any, int] = {}
        self.constant: dict[int, Any] = {}

    def build(self) -> Formula:
        try:
            tree = ast.parse(self.source, mode="eval")
        except SyntaxError as error:
            raise self._syntax(error) from None
        except (RecursionError, MemoryError, ValueError):
            raise ExpressionError("the formula is nested too deeply", self.text, 0, len(self.text)) from None
        result = self.visit(tree.body, 1)
        # inputs come first in the cells, operations after them: renumber the operations behind all the slots
        count = len(self.slots)
        operations = tuple(
            (function, tuple(index if index >= 0 else count - 1 - index for index in arguments))
            for function, arguments in self.pending
        )
        final = result if result >= 0 else count - 1 - result
        return Formula(self.text, tuple(self.names), operations, tuple(self.slots), final)

    def visit(self, node: ast.AST, depth: int, condition: bool = False) -> int:
        """The cell that holds the value of ``node``; operations are numbered -1, -2, ... until all are known."""
        if depth > MAX_DEPTH:
            raise self._error(f"the formula is nested deeper than {MAX_DEPTH}", node)
        if isinstance(node, ast.Compare):
            if not condition:
                raise self._error("a comparison only makes sense as the condition of where(condition, a, b)", node)
            return self._compare(node, depth)
        if isinstance(node, ast.BoolOp):
            if not condition:
                raise self._error("and/or only make sense inside the condition of where(condition, a, b)", node)
            function = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return self._chain(function, [self.visit(part, depth + 1, True) for part in node.values], node)
        if condition:
            raise self._error("a condition compares two things, for example x > 0", node)
        if isinstance(node, ast.Constant):
            return self._number(node)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node, depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            cell = self.visit(node.operand, depth + 1)
            return cell if isinstance(node.op, ast.UAdd) else self._operation(negative, (cell,), node)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.IfExp):
            cells = (
                self.visit(node.test, depth + 1, True),
                self.visit(node.body, depth + 1),
                self.visit(node.orelse, depth + 1),
            )
            return self._operation(where, cells, node)
        reason = _REFUSED.get(type(node), f"{type(node).__name__} is not part of formulas")
        if isinstance(node, ast.UnaryOp):
            reason = "'not' is not part of formulas; turn the comparison round"
        raise self._error(reason, node)

    def _number(self, node: ast.Constant) -> int:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(f"{value!r} is not a number", node)
        try:
            as_float = float(value)
        except OverflowError:
            as_float = float("inf")
        if not np.isfinite(as_float):
            raise self._error("this number is too large for 64-bit floating point", node)
        # small whole numbers stay whole: x**2 is then a square, not a general power
        return self._constant(value if isinstance(value, int) and abs(value) < 2**53 else as_float)

    def _name(self, node: ast.Name) -> int:
        name = node.id
        if name.startswith("__"):
            raise self._error(f"{name!r} cannot be a name in a formula", node)
        if name.casefold() in ("nan", "infinity") and name not in self.fixed:
            raise self._error(f"{name} is no number a formula can use", node)
        if name in CONSTANTS and name not in self.fixed:
            return self._constant(CONSTANTS[name])
        if name in FUNCTIONS:
            raise self._error(f"{name} is a function: write {name}(x)", node)
        if name not in self.known:
            self.names.append(name)
            self.known[name] = len(self.slots)
            self.slots.append(("name", name))
        return self.known[name]

    def _binary(self, node: ast.BinOp, depth: int) -> int:
        """A sum or product of many parts is a chain to the left: as long as it likes, and no deeper than its parts."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        left = self.visit(chain[-1].left, depth + 1)
        for link in reversed(chain):
            left = self._joined(link, left, depth)
        return left

    def _joined(self, node: ast.BinOp, left: int, depth: int) -> int:
        function = BINARY.get(type(node.op))
        if function is None:
            signs = {
                ast.FloorDiv: "//", ast.MatMult: "@", ast.BitOr: "|", ast.BitAnd: "&", ast.LShift: "<<",
                ast.RShift: ">>", ast.BitXor: "^",
            }  # fmt: skip
            sign = signs[type(node.op)]
            raise self._error(f"the operator {sign} is not part of formulas", node.right)
        right = self.visit(node.right, depth + 1)
        if isinstance(node.op, ast.Pow):
            exponent = self.constant.get(right)
            if exponent is not None and abs(exponent) > MAX_EXPONENT:
                raise self._error(f"exponents above {MAX_EXPONENT:g} are refused", node.right)
        return self._operation(function, (left, right), node)

    def _call(self, node: ast.Call, depth: int) -> int:
        name = self._function_name(node.func)
        function, fewest, most = FUNCTIONS[name]
        if node.keywords:
            raise self._error(f"{name} takes its arguments without names", node.keywords[0].value)
        if not fewest <= len(node.args) <= most:
            count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
            raise self._error(f"{name} takes {count} argument{'s' * (most > 1)}, not {len(node.args)}", node)
        cells = tuple(
            self.visit(argument, depth + 1, condition=name == "where" and index == 0)
            for index, argument in enumerate(node.args)
        )
        if name in ("power", "pow"):
            exponent = self.constant.get(cells[1])
            if exponent is not None and abs(exponent) > MAX_EXPONENT:
                raise self._error(f"exponents above {MAX_EXPONENT:g} are refused", node.args[1])
        return self._operation(function, cells, node)

    def _function_name(self, node: ast.AST) -> str:
        name_node = node
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _MODULES:
            name = node.attr  # np.sin is sin; the module itself is never looked at
        elif isinstance(node, ast.Name):
            name = node.id
        elif isinstance(node, ast.Constant | ast.BinOp | ast.Call):
            raise self._error("a sign is missing before this bracket; products are written with *", node)
        else:
            raise self._error(_REFUSED.get(type(node), "only named functions can be called"), node)
        if name not in FUNCTIONS:
            near = difflib.get_close_matches(name, FUNCTIONS, n=1)
            hint = f"did you mean {near[0]}?" if near else "products are written with *"
            raise self._error(f"there is no function {name!r}; {hint}", name_node)
        return name

    def _compare(self, node: ast.Compare, depth: int) -> int:
        operands = [self.visit(operand, depth + 1) for operand in (node.left, *node.comparators)]
        parts = []
        for index, operator in enumerate(node.ops):
            function = COMPARISONS.get(type(operator))
            if function is None:
                raise self._error("only < <= > >= can be used in conditions", node.comparators[index])
            parts.append(self._operation(function, (operands[index], operands[index + 1]), node))
        return self._chain(np.logical_and, parts, node)

    def _chain(self, function: Callable[..., Any], cells: list[int], node: ast.AST) -> int:
        result = cells[0]
        for cell in cells[1:]:
            result = self._operation(function, (result, cell), node)
        return result

    def _constant(self, value: Any) -> int:
        key = repr(value)  # tells 0 from 0.0 and from -0.0, and cannot be a name
        if key not in self.known:
            self.known[key] = len(self.slots)
            self.slots.append(value)
            self.constant[self.known[key]] = value
        return self.known[key]

    def _operation(self, function: Callable[..., Any], cells: tuple[int, ...], node: ast.AST) -> int:
        if all(cell in self.constant for cell in cells):
            return self._constant(self._fold(function, cells, node))
        if len(self.pending) >= MAX_OPERATIONS:
            raise self._error(f"the formula has more than {MAX_OPERATIONS} operations", node)
        self.pending.append((function, cells))
        return -len(self.pending)

    def _fold(self, function: Callable[..., Any], cells: tuple[int, ...], node: ast.AST) -> Any:
        with np.errstate(all="ignore"):
            value = function(*[np.float64(self.constant[cell]) for cell in cells])
        if isinstance(value, np.bool_):
            return bool(value)
        number = float(value)
        if not np.isfinite(number) and all(np.isfinite(self.constant[cell]) for cell in cells):
            raise self._error(f"this part is {number:g}, not a finite number", node)
        whole = all(isinstance(self.constant[cell], int) for cell in cells) and abs(number) < 2**53
        return int(number) if whole and number.is_integer() and function is not divide else number

    def _error(self, message: str, node: ast.AST) -> ExpressionError:
        begin = self._column(getattr(node, "col_offset", 0))
        end = self._column(getattr(node, "end_col_offset", None) or len(self.places) - 1)
        return ExpressionError(message, self.text, begin, max(1, end - begin))

    def _column(self, offset: int) -> int:
        return self.places[min(offset, len(self.places) - 1)]

    def _syntax(self, error: SyntaxError) -> ExpressionError:
        # SyntaxError counts characters from 1; the columns of ``places`` count bytes
        offset = max(0, (error.offset or 1) - 1)
        column = self._column(len(self.source[:offset].encode("utf-8")))
        if column >= len(self.text.rstrip()):
            return ExpressionError("something is missing at the end", self.text, len(self.text.rstrip()))
        message = str(error.msg)
        if "Perhaps you forgot a comma" in message:
            return ExpressionError("a sign is missing here; products are written with *", self.text, column)
        found = self.text[column : column + 1]
        return ExpressionError(f"{found!r} is not expected here", self.text, column)
