"""Python out of what people paste: prompts, diffs, Markdown, line numbers and odd characters are taken away."""

from __future__ import annotations

import ast
import html
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from core.optim.dialects.text_repairs import repaired
from core.optim.dialects.values import ParseError, Place

LONGEST_TEXT = 200_000
MOST_WORK = 4_000_000
"""Characters read anew after repairs before the text counts as no Python."""
MOST_REPAIRS = 60
SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
NOTHING = re.compile("\x1b\\[[0-9;]*m|[\u00ad\u200b-\u200f\u2060\ufeff\x00-\x08\x0e-\x1f\x7f]")
LINE_ENDS = re.compile("\r\n|[\r\x0b\x85\u2028\u2029]")
FENCE = re.compile(r"\s*(```+|~~~+)\s*\{?\.?([\w+-]*)")
LANGUAGES = ("", "py", "python", "python3", "py3", "pycon", "ipython", "ipython3", "pytorch", "diff", "jupyter")
PROMPTS = re.compile(r"\s*(?:>>>|\.\.\.)(?: |$)")
FIRST_PROMPT = re.compile(r"\s*>>>(?: |$)")
CELLS = re.compile(r"\s*(?:In ?\[[\d *]*\]|\.\.\.+):(?: |$)")
FIRST_CELL = re.compile(r"\s*In ?\[[\d *]*\]:(?: |$)")
NUMBERED = re.compile(r"\s*(\d{1,5})(?:\s?[:|.)])?(?: |\t|$)")
HEADERS = re.compile(
    r"(diff --git |index [0-9a-f]+\.\.|--- |\+\+\+ |@@ |\\ No newline|new file|deleted file|similarity)"
)
ENTITIES = re.compile(r"&(?:lt|gt|amp|quot|nbsp|equals|#\d+);|<br ?/?>|</?(?:pre|code|p|span|div)\b[^>]*>")
SHELL = re.compile(r"\s*\$?\s*(python3?|torchrun|pip3?|conda|accelerate|deepspeed|export|CUDA_\w+=\S*|srun|bash|cd) ")
YAML = re.compile(r"\s*(- )?[\w.]+:(\s|$)")


@dataclass(frozen=True)
class Source:
    """Python as it was found in a text: as many lines as the text, ``cuts`` characters taken away left of each."""

    text: str
    tree: ast.Module
    cuts: tuple[int, ...]


def read_source(text: str) -> Source:
    """The Python of ``text``; ParseError with its place for what is none."""
    if not isinstance(text, str):
        raise ParseError(f"code is text, not {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise ParseError(f"{len(text)} characters are too long for optimizer code; paste only the lines that set it up")
    plain = LINE_ENDS.sub("\n", NOTHING.sub("", SPACES.sub(" ", text)))
    given = plain.expandtabs(4).split("\n")
    with warnings.catch_warnings():
        # Python's own opinion of a half-typed line ("invalid decimal literal") is nobody's business here
        warnings.simplefilter("ignore", SyntaxWarning)
        lines = _dedented(given)
        try:
            return _source(given, lines, ast.parse("\n".join(lines)))
        except SyntaxError:
            pass
        for strip in (
            _without_entities,
            _unquoted,
            _unfenced,
            _unnumbered,
            _new_side,
            _without_prompts,
            _without_cells,
        ):
            given = strip(given)
        return _repaired(plain.expandtabs(4).split("\n"), _dedented(given))


def _repaired(given: Sequence[str], lines: list[str]) -> Source:
    work = 0
    for _ in range(MOST_REPAIRS):
        source = "\n".join(lines)
        work += len(source)
        try:
            return _source(given, lines, ast.parse(source))
        except SyntaxError as error:
            mended = repaired(lines, error) if work < MOST_WORK else None
            if mended is None or mended == lines:
                raise _no_python(given, lines, error) from None
            lines = mended
    raise ParseError("this is not Python: too many lines of it cannot be read")


def _source(given: Sequence[str], lines: Sequence[str], tree: ast.Module) -> Source:
    cuts = tuple(len(old) - len(new) if old.endswith(new) else 0 for old, new in zip(given, lines, strict=True))
    return Source("\n".join(lines), tree, cuts)


def _no_python(given: Sequence[str], lines: Sequence[str], error: SyntaxError) -> ParseError:
    row, column = error.lineno or 1, error.offset or 1
    row = min(row, len(lines))
    old, new = given[row - 1], lines[row - 1]
    shift = len(old) - len(new) if old.endswith(new) else 0
    quote = old.strip()
    used = [line for line in lines if line.strip()]
    hint = ""
    if used and all(SHELL.match(line) or line.lstrip().startswith("-") for line in used):
        hint = "; it looks like a command: paste lines of the script itself, such as torch.optim.SGD(params, lr=0.1)"
    elif used and sum(YAML.match(line) is not None for line in used) * 2 > len(used):
        hint = "; it looks like a settings file: write it as a line of code, such as torch.optim.SGD(params, lr=0.1)"
    place = Place(row, column + shift, quote if len(quote) <= 200 else quote[:200] + " ...")
    return place.error(f"this is not Python: {error.msg}{hint}")


def _dedented(lines: Sequence[str]) -> list[str]:
    """Lines without a common indentation; comments do not count."""
    used = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    depth = min((len(line) - len(line.lstrip()) for line in used), default=0)
    return [line[depth:] if line[:depth].strip() == "" else line.lstrip() for line in lines]


# what stands around Python --------------------------------------------------------------------------------------------


def _without_entities(lines: list[str]) -> list[str]:
    if not any(ENTITIES.search(line) for line in lines):
        return lines
    return [html.unescape(re.sub(r"<[^>]*>", "", line) if ENTITIES.search(line) else line) for line in lines]


def _unquoted(lines: list[str]) -> list[str]:
    """Without the '> ' of quoted mail and Markdown, where every line has one."""
    while all(line.startswith(">") and not line.startswith(">>>") for line in lines if line.strip()) and any(lines):
        lines = [line[2:] if line.startswith("> ") else line[1:] for line in lines]
    return lines


def _unfenced(lines: list[str]) -> list[str]:
    """The blocks of Markdown that hold Python, each without its own indentation; everything else left empty."""
    marks = [i for i, line in enumerate(lines) if FENCE.match(line)]
    if not marks:
        return [
            line.strip()[1:-1] if line.strip().count("`") == 2 and re.fullmatch(r"`.+`", line.strip()) else line
            for line in lines
        ]
    kept = [""] * len(lines)
    i = 0
    while i < len(marks):
        start = marks[i]
        fence = FENCE.match(lines[start])
        assert fence is not None
        end = marks[i + 1] if i + 1 < len(marks) else len(lines)
        if fence.group(2).lower() in LANGUAGES:
            kept[start + 1 : end] = _dedented(lines[start + 1 : end])
        i += 2
    return kept


def _unnumbered(lines: list[str]) -> list[str]:
    """Without the line numbers of an editor or a web page, where they go up by one."""
    found = [NUMBERED.match(line) for line in lines if line.strip()]
    numbers = [int(match.group(1)) for match in found if match is not None]
    if len(numbers) < 2 or len(numbers) != len(found) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return lines
    return [NUMBERED.sub("", line, count=1) for line in lines]


def _new_side(lines: list[str]) -> list[str]:
    """What a diff leaves: lines with '-' in front are gone, those with '+' are there, each hunk on its own."""
    used = [line for line in lines if line.strip()]
    hunks = any(line.startswith(("@@ ", "diff --git ")) for line in used)
    marked = used and all(line[0] in "+- " or HEADERS.match(line) for line in used)
    if not hunks and not (marked and any(line[0] == "+" for line in used)):
        return lines
    result: list[str] = []
    hunk: list[str] = []
    for line in lines:
        if HEADERS.match(line):
            result += [*_dedented(hunk), ""]
            hunk = []
        elif line.startswith("-"):
            hunk.append("")
        else:
            hunk.append(line[1:])
    return result + _dedented(hunk)


def _without_prompts(lines: list[str]) -> list[str]:
    return _prompted(lines, FIRST_PROMPT, PROMPTS, ">>>")


def _without_cells(lines: list[str]) -> list[str]:
    return _prompted(lines, FIRST_CELL, CELLS, "In [1]:")


def _prompted(lines: list[str], first: re.Pattern[str], each: re.Pattern[str], said: str) -> list[str]:
    """What was typed behind prompts; the answers between are left out, unless they look like code."""
    if not any(first.match(line) for line in lines):
        return lines
    kept = []
    for i, line in enumerate(lines):
        prompt = each.match(line)
        if prompt is not None:
            kept.append(line[prompt.end() :])
            continue
        if _is_code(line):
            place = Place(i + 1, len(line) - len(line.lstrip()) + 1, line.strip())
            raise place.error(f"other lines have a prompt {said} in front, this one has none; is it code or an answer?")
        kept.append("")
    return kept


def _is_code(line: str) -> bool:
    try:
        body = ast.parse(line.strip()).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return re.match(r"\s*(for|while|with|def|class|if) .*:\s*$", line) is not None
    kinds = ast.Assign | ast.AugAssign | ast.Import | ast.ImportFrom
    if any(
        isinstance(part, kinds) and any(isinstance(n, ast.Call | ast.alias) for n in ast.walk(part)) for part in body
    ):
        return True
    return any(isinstance(part, ast.Expr) and _is_method(part.value) for part in body)


def _is_method(node: ast.expr) -> bool:
    """True for ``optimizer.step()``: answers are printed as ``tensor(0.3)``, without a dot in front."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
