"""What the tape view says of the operation at work: what it computed, and how derivatives reach it."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QCoreApplication

from core.autodiff.picture import Node, Picture
from gui.widgets.numbers import shown_number


def tr(text: str) -> str:
    """Translation of a text of this view."""
    return QCoreApplication.translate("TapeView", text)


def shown(value: Any) -> str:
    """A number with five digits; an array by its shape and largest entry."""
    if value is None:
        return "None"
    array = np.asarray(value)
    if array.ndim == 0:
        return shown_number(float(array), 5)
    return f"{shape_of(array)}, {largest(array)}"


def largest(value: Any) -> str:
    """The same for an array whose shape is known: its largest entry alone."""
    if value is None or np.ndim(value) == 0:
        return shown(value)
    return "|·|≤" + shown_number(float(np.max(np.abs(value), initial=0.0)), 3)


def shape_of(value: Any) -> str:
    """'32×6'."""
    return "×".join(map(str, np.shape(value)))


def label_of(node: Node) -> str:
    """What a node is called in sentences: 't3', 'x'."""
    return node.text.split(" = ")[0] if node.kind == "operation" else node.label


def users_of(picture: Picture, node: Node) -> list[Node]:
    """The operations that take ``node`` as an operand."""
    return [other for other in picture.operations if node.number in other.operands]


def forward_words(picture: Picture, place: int) -> str:
    """Of the operation ``place`` (from 0), as its value is computed."""
    node = picture.operations[place]
    said = tr("Forward {0} of {1}: {2} = {3}").format(place + 1, len(picture.operations), node.text, shown(node.value))
    if place == len(picture.operations) - 1 and not picture.cut:
        said += tr(": the loss.")
    return said


def backward_words(picture: Picture, steps: int) -> str:
    """Of the operation reached after ``steps`` steps back from the end."""
    count = len(picture.operations)
    node = picture.operations[count - steps]
    return tr("Backward {0} of {1}: {2}").format(steps, count, derivative_words(picture, node))


def derivative_words(picture: Picture, node: Node) -> str:
    """How much the loss changes with ``node``, and from where that has come: the chain rule in numbers."""
    name, users = label_of(node), users_of(picture, node)
    if node.kind == "constant":
        return tr("{0} is a constant: no derivative is asked for.").format(name)
    if node.adjoint is None:
        return tr("{0} has no derivative: None, nothing of it flows into the loss.").format(name)
    if not users:
        return tr("it begins with {0}, the loss itself: per unit of itself it changes by {1}.").format(
            name, shown(node.adjoint)
        )
    if np.ndim(node.adjoint):
        said = tr("for each of the {0} entries of {1} one derivative of the loss, the largest {2}.").format(
            shape_of(node.adjoint), name, shown(np.max(np.abs(node.adjoint), initial=0.0))
        )
    else:
        said = tr("the loss changes by {0} per unit of {1}").format(shown(node.adjoint), name)
        product = _product(node, users)
        said += f" = {product}." if product else "."
    if len(users) > 1:
        names = ", ".join(label_of(user) for user in users)
        said += " " + tr("It comes from {0}: what they send back is added up.").format(names)
    return said


def _product(node: Node, users: list[Node]) -> str:
    """'2 (of t5) × 3 (t5 per unit of t4)' where a single operation sends the derivative back; else ''."""
    if len(users) != 1:
        return ""
    (user,) = users
    if np.ndim(user.adjoint) or user.adjoint is None:
        return ""
    above, here = float(user.adjoint), float(node.adjoint)
    with np.errstate(all="ignore"):
        local = np.float64(here) / above if above != 0.0 else np.nan
    if not np.isfinite(local):
        return ""
    return tr("{0} (of {1}) × {2} ({1} per unit of {3})").format(
        shown(above), label_of(user), shown(local), label_of(node)
    )


def broken_at(picture: Picture) -> tuple[Node, bool] | None:
    """(the operation where nan or inf begins, whether that is in its value); None where all is finite.

    Going forward it is the first value that is not finite though its operands are; where all values are, it is the
    first operation, going backward, that gets a finite derivative and hands on one that is not.
    """
    for node in picture.operations:
        if not finite(node.value) and all(finite(picture.nodes[k].value) for k in node.operands):
            return node, True
    for node in reversed(picture.operations):
        handed = [picture.nodes[k].adjoint for k in node.operands if picture.nodes[k].kind != "constant"]
        if finite(node.adjoint) and not all(finite(adjoint) for adjoint in handed):
            return node, False
    return None


def finite(value: Any) -> bool:
    """True for None and for values without inf or nan."""
    return value is None or bool(np.isfinite(np.asarray(value)).all())


def broken_words(picture: Picture) -> str:
    """Where inf or nan begins, with what went in; '' where all is finite."""
    found = broken_at(picture)
    if found is None:
        return ""
    node, in_value = found
    given = ", ".join(f"{label_of(picture.nodes[k])} = {shown(picture.nodes[k].value)}" for k in node.operands)
    if in_value:
        return tr("{0} begins at {1}, of {2}.").format(_kind(node.value), node.text, given)
    handed = next(picture.nodes[k].adjoint for k in node.operands if not finite(picture.nodes[k].adjoint))
    return tr("The values are finite; {0} begins in the derivative of {1}, at {2}.").format(
        _kind(handed), node.text, given
    )


def _kind(value: Any) -> str:
    return "nan" if np.isnan(np.asarray(value)).any() else "inf"


def input_words(picture: Picture, node: Node) -> str:
    """Of an input or a constant that was clicked."""
    return tr("{0} = {1}. ").format(label_of(node), shown(node.value)) + _capital(derivative_words(picture, node))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
