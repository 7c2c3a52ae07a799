"""From ``apply_gradients`` back to the tape: what TensorFlow code does to the gradients and to the loss in between."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from core.optim.dialects.binding import unwrap
from core.optim.dialects.element_edits import Elements, value_of
from core.optim.dialects.gradient_stores import check_conditions, check_stores
from core.optim.dialects.loss_terms import loss_terms
from core.optim.dialects.syntax import expression_of, is_number
from core.optim.dialects.tf_clips import CLIPS, clip_row, read_clips
from core.optim.dialects.tf_sums import Sums, sums_of
from core.optim.dialects.values import Attribute, Call, Name, Opaque, Operation, Program, place_of, walk
from core.optim.transform import Transform
from core.optim.transforms.clip import ClipByAverageNorm, ClipByGlobalNorm, ClipByNorm, ClipByValue
from core.optim.transforms.scaling import named_factor

SOURCES = ("gradient", "compute_gradients", "gradients", "get_gradients")
UNSCALING = "get_unscaled_gradients"
MAKERS = ("grad", "value_and_grad", "filter_grad", "filter_value_and_grad")
"""What makes functions that give gradients, in JAX."""
THROUGH = ("list", "tuple", "zip", "reversed", UNSCALING, "convert_to_tensor", "identity", "cast", "map")
SCALED = ("scale_loss", "get_scaled_loss")
CLIP_ROWS = (ClipByValue, ClipByNorm, ClipByGlobalNorm, ClipByAverageNorm)
DEEPEST = 40
VARIABLES = re.compile(r"vars?\b|variables|weights|params|theta", re.I)
"""What variables are called where gradients are paired with them."""


class Lost(Exception):
    """The way back to the tape is lost in something that is not known."""


@dataclass
class Path:
    """The rows between the gradient of the problem and the optimizer, and the loss that was differentiated.

    ``factor`` is what multiplies the loss (the first row, where it is not 1). ``scaled`` says how many of the other
    rows act before the lines divide by the loss scale; None: the optimizer does it, after all of them.
    """

    rows: list[Transform] = field(default_factory=list)
    penalties: list[Transform] = field(default_factory=list)
    loss: Any = None
    scaled: int | None = None
    factor: float = 1.0


def read_path(program: Program, optimizer: Call | None = None) -> Path:
    """The way from the tape to ``apply_gradients``; where it is not to be followed, the clips that the text names."""
    applied = [call for call in program.calls() if call.path[-1:] in (("apply_gradients",), ("apply",))]
    if optimizer is not None:
        own = [call for call in applied if call.receiver is optimizer]
        applied = own or [call for call in applied if not isinstance(call.receiver, Call)]
    minimized = [call for call in program.calls() if call.path[-1:] == ("minimize",) and not applied]
    path = Path()
    if applied:
        check_stores(program, _clips_inside)
        check_conditions(program, gradients_in)
    if any(statement.stores and _clips_inside(statement.value) for statement in program.statements):
        return Path(rows=read_clips(program))  # gradients[i] = (tf.clip_by_norm(gradient, 5), variable)
    sums = sums_of(program, applied[-1]) if applied else None
    if sums is None:
        check_sums(program)
    try:
        if applied and (applied[-1].args or applied[-1].kwargs):
            given = applied[-1].args[0] if applied[-1].args else next(iter(applied[-1].kwargs.values()))
            Walk(path, sums, program).value(given, 0)
            if sums is not None:
                return _summed(path, sums, program)
        elif minimized and minimized[-1].args:
            path.loss = minimized[-1].args[0]
        else:
            raise Lost
    except Lost:
        if sums is not None:
            check_sums(program)
        return _begun(path, read_clips(program), applied)
    return finished(path, _unscaled(path.loss))


def _begun(path: Path, clips: list[Transform], applied: list[Call]) -> Path:
    """What is known of a way whose beginning is not in the text: its end, or else the clips that the text names."""
    known = [row for row in path.rows if isinstance(row, CLIP_ROWS)]
    if len(clips) <= len(known):
        path.rows.reverse()
        return path
    if len(known) < len(path.rows):
        raise applied[-1].error(
            "the gradients cannot be followed from here back to where they are computed; paste the lines in between"
        )
    return Path(rows=clips)


def _summed(outer: Path, sums: Sums, program: Program) -> Path:
    """The path of gradients that are added up: what is done to each, the sum, what is done to that."""
    inner = Path()
    Walk(inner, None, program).value(sums.gradients, 0)
    inner = finished(inner, _unscaled(inner.loss))
    inner.rows = sums.rows(inner.rows, outer.rows[::-1])
    return inner


def finished(path: Path, loss: Any) -> Path:
    """The path with its rows in the order they act, led by what the loss itself says."""
    path.rows.reverse()
    if path.scaled is not None:
        path.scaled = len(path.rows) - path.scaled
    if loss is not None:
        terms = loss_terms(loss)
        path.penalties = terms.rows()
        if terms.factor != 1.0:
            words = f"the loss is multiplied by {terms.factor:.6g}"
            path.rows.insert(0, named_factor(terms.factor, "factor of the loss", words))
            path.factor = terms.factor
    return path


def _clips_inside(value: Any) -> bool:
    return any(call.name in CLIPS for call in walk(value))


def _unscaled(loss: Any) -> Any:
    """The loss inside ``optimizer.scale_loss(loss)``, and inside a function that only returns it."""
    if isinstance(loss, Call) and loss.path[-1:] and loss.path[-1] in SCALED and loss.args:
        return loss.args[0]
    return loss


class Walk:
    """Goes back from what is applied to the tape; the last change comes first in ``path.rows``.

    Lost is raised where the text ends before the tape (gradients come from outside it), ParseError where something
    unknown is done to them.
    """

    def __init__(self, path: Path, until: Sums | None = None, program: Program | None = None) -> None:
        self.path = path
        self.until = until
        self.program = program

    def value(self, value: Any, depth: int) -> None:
        if self.until is not None and self.until.is_sum(value):
            return
        if depth > DEEPEST:
            raise Lost
        if isinstance(value, Call):
            self.call(value, depth)
        elif isinstance(value, Attribute):
            self.part(value, depth)
        elif isinstance(value, list | tuple) and value:
            first = value[0]
            self.value(first[0] if isinstance(first, list | tuple) and first else first, depth + 1)
        elif isinstance(value, Operation):
            self.operation(value, depth)
        elif isinstance(value, Opaque):
            self.comprehension(value, depth)
        else:
            raise Lost

    def part(self, value: Attribute, depth: int) -> None:
        """``loss, gradients = f(x)``: the part of what a function of the text returns; else the whole."""
        returned = self.returned(value.owner)
        if isinstance(returned, list | tuple) and value.name[1:-1].isdigit() and int(value.name[1:-1]) < len(returned):
            self.value(returned[int(value.name[1:-1])], depth + 1)
        else:
            self.value(value.owner, depth + 1)

    def returned(self, value: Any) -> Any:
        """What a function of the text that is called here returns; None for other values."""
        function = value.receiver if isinstance(value, Call) and value.path == ("__call__",) else None
        if not isinstance(function, Opaque) or self.program is None:
            return None
        found = [one.value for one in self.program.statements if one.function == function.text and not one.targets]
        return found[-1] if found else None

    def call(self, call: Call, depth: int) -> None:
        name = call.path[-1]
        returned = self.returned(call)
        if name in SOURCES:
            self.path.loss = call.args[0] if call.args else next(iter(call.kwargs.values()), None)
        elif returned is not None:
            self.value(returned, depth + 1)
        elif name in CLIPS and call.receiver is None and (call.args or call.kwargs):
            row = clip_row(call)
            if row is not None:
                self.path.rows.append(row)
            self.value(call.args[0] if call.args else next(iter(call.kwargs.values())), depth + 1)
        elif name == "map" and len(call.args) == 2 and isinstance(call.args[0], Opaque):
            function = call.args[0]
            inside = expression_of(function)
            arguments = [argument.arg for argument in getattr(getattr(function.node, "args", None), "args", ())]
            if inside is None or len(arguments) != 1:
                self.unknown(call)
            Elements(self.path.rows, call.place, call.args[1]).read(inside, arguments[0])
            self.value(call.args[1], depth + 1)
        elif name in THROUGH and call.args and name != "map":
            if name == UNSCALING:
                self.path.scaled = len(self.path.rows)
            self.value(call.args[0], depth + 1)
        else:
            self.unknown(call)

    def unknown(self, call: Call) -> None:
        """A call that is not known: refused where it is given gradients, else it is where they come from."""
        for inner in (*call.args, *call.kwargs.values()):
            if gradients_in(inner):
                raise call.error(
                    f"what {call.dotted if call.receiver is None else call.path[-1]} does to the gradients is not in "
                    "the text; paste it as well, or leave the line out if it only looks at them"
                )
        raise Lost

    def operation(self, value: Operation, depth: int) -> None:
        if value.operator == "unpack":
            self.value(value.left, depth + 1)
            return
        left, right = unwrap(value.left), unwrap(value.right)
        if value.operator in ("*", "/") and is_number(right) and (value.operator == "*" or right):
            self.path.rows.append(
                named_factor(float(right) if value.operator == "*" else 1.0 / right, "factor of the gradient")
            )
            self.value(value.left, depth + 1)
        elif value.operator == "*" and is_number(left):
            self.path.rows.append(named_factor(float(left), "factor of the gradient"))
            self.value(value.right, depth + 1)
        elif value.operator == "-" and value.right is None:
            self.path.rows.append(named_factor(-1.0, "factor of the gradient"))
            self.value(value.left, depth + 1)
        else:
            raise Lost

    def comprehension(self, value: Opaque, depth: int) -> None:
        """``[tf.clip_by_norm(g, 1.0) for g in grads]``, ``[(clip(g), v) for g, v in pairs]``."""
        node = value.node
        if not isinstance(node, ast.ListComp | ast.GeneratorExp) or len(node.generators) != 1:
            raise Lost
        generator = node.generators[0]
        parts = generator.target.elts if isinstance(generator.target, ast.Tuple) else [generator.target]
        element = _gradient_of(node.elt)
        numbered = isinstance(generator.iter, ast.Call) and ast.unparse(generator.iter.func) == "enumerate"
        if numbered and len(parts) == 2:
            parts = parts[1].elts if isinstance(parts[1], ast.Tuple) else parts[1:]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if not names or len(names) != len(parts):
            raise Lost
        tests = [ast.unparse(test) for test in generator.ifs]
        if any(not test.endswith("is not None") and test != names[0] for test in tests):
            raise value.place.error(
                f"only some of the gradients are applied here (if {tests[0]}); the others' variables stay. Name the "
                "trained variables in the problem, or leave the condition out"
            )
        source = _resolved(generator.iter, value)
        inside = value_of(element, value.names, tuple(names))
        variable = names[1] if len(names) > 1 and _with_variables(generator.iter) else ""
        Elements(self.path.rows, value.place, source).read(inside, names[0], variable)
        self.value(source, depth + 1)


def _with_variables(node: ast.expr) -> bool:
    """Whether the second of what is walked over are variables; of ``zip(a, b)`` its name has to say so."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "zip" and len(node.args) > 1:
        return VARIABLES.search(ast.unparse(node.args[1])) is not None
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "enumerate") and node.args:
        return _with_variables(node.args[0])
    return True


def _gradient_of(node: ast.expr) -> ast.expr:
    """The gradient of a pair: ``g`` of ``(g, v)``, also under ``... if test else ...``."""
    if isinstance(node, ast.IfExp):
        return ast.copy_location(ast.IfExp(node.test, _gradient_of(node.body), _gradient_of(node.orelse)), node)
    return node.elts[0] if isinstance(node, ast.Tuple) and node.elts else node


def gradients_in(value: Any) -> bool:
    """True for what is made of gradients, by its calls or its name."""
    if isinstance(value, Name | Attribute):
        return "grad" in value.text.lower() or (isinstance(value, Attribute) and gradients_in(value.owner))
    if isinstance(value, Call):
        if value.path[-1] in (*SOURCES, *CLIPS, *MAKERS):
            return True
        return any(gradients_in(inner) for inner in (value.receiver, *value.args))
    if isinstance(value, Opaque):
        node = value.node
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return gradients_in(_resolved(node.generators[0].iter, value))
        return False
    if isinstance(value, list | tuple):
        return any(gradients_in(inner) for inner in value)
    return isinstance(value, Operation) and (gradients_in(value.left) or gradients_in(value.right))


def _resolved(node: ast.expr, owner: Opaque) -> Any:
    """What the thing a comprehension walks over stands for."""
    if isinstance(node, ast.Name):
        return owner.names.get(node.id)
    if isinstance(node, ast.Call) and node.args:
        name = ast.unparse(node.func).split(".")[-1]
        if name in ("zip", "list", "enumerate"):
            return _resolved(node.args[0], owner)
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return Opaque(ast.unparse(node), node, owner.names, owner.place)
    return value_of(node, owner.names)


def check_sums(program: Program) -> None:
    """Gradients that lines add up over several batches before ``apply_gradients`` under ``if step % n == 0``."""
    for statement in program.statements:
        value = statement.value
        if not isinstance(value, Call) or value.path[-1:] != ("apply_gradients",):
            continue
        for condition in statement.conditions:
            if isinstance(condition, Operation) and condition.operator == "==":
                steps = condition.left.right if isinstance(condition.left, Operation) else None
                if isinstance(condition.left, Operation) and condition.left.operator == "%" and is_number(steps):
                    raise place_of(value).error(
                        f"gradients are applied only every {steps} batches here; write "
                        f"gradient_accumulation_steps={steps} into the optimizer, which takes the mean of them"
                    )
