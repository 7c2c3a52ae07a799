"""What a differentiable operation is: its forward function, its vector-Jacobian rules, and what they need saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation of the record.

    ``forward(*values, *params)`` works on plain arrays. ``vjps[i](g, out, *args, *params)`` is the gradient for
    argument i, written in plain numpy, so that it works on arrays and (for higher derivatives) on tensors alike;
    None there means that no gradient passes. A single function instead of a tuple is called with the
    argument's number first (operations with any number of arguments). ``vjps`` None: not differentiable.

    ``keeps_inputs``, ``keeps_output``: what the rules read; the rest is passed as None and not kept alive.
    ``elementwise``: the rules may return the broadcast shape (the reverse pass sums it down) and accept a
    gradient that still has to be broadcast.
    ``selects``: entries that were not chosen get gradient 0, which must stay 0 whatever comes before.
    ``unbounded``: the local derivative can be infinite or nan although the result is finite elsewhere.
    ``view``: the output may share memory with the first argument.
    ``dynamic``: the output's shape depends on the values. ``infix`` and ``ufunc`` serve the compiled programs.
    ``add_to(total, g, *params)`` adds the gradient to one that this operation's rule made, in place; False: cannot.
    """

    name: str
    forward: Callable[..., Any]
    vjps: tuple[Rule | None, ...] | Rule | None = None
    keeps_inputs: bool = True
    keeps_output: bool = False
    elementwise: bool = False
    selects: bool = False
    unbounded: bool = False
    view: bool = False
    dynamic: bool = False
    infix: str = ""
    ufunc: Any = None
    add_to: Callable[..., bool] | None = None

    many: bool = field(init=False)  # whether vjps is one function for any number of arguments

    def __post_init__(self) -> None:
        object.__setattr__(self, "many", callable(self.vjps))

    def __repr__(self) -> str:
        return f"Op({self.name})"
