"""L-BFGS: a whole inner minimisation as one row, since its direction cannot be taken apart into causes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from core.declare import Parameter, SettingError
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.fused import fused
from core.optim.transforms.wolfe import Point, strong_wolfe

Evaluate = Callable[[Array], tuple[float, Array]]
FRESH: State = {"pairs": (), "direction": None, "length": 0.0, "gradient": None, "scale": 1.0, "iterations": 0}
CURVATURE = 1e-10


class Lbfgs(Transform):
    """Up to max_iter inner steps w <- w + t d with d from the two-loop recursion over the last pairs (s, y).

    Pairs count when y·s > 1e-10; the first length is min(1, 1/‖g‖₁) lr, later ones lr, or what the strong Wolfe
    search finds. Stands behind the learning rate and works on the raw gradient.
    """

    name = "lbfgs"
    label = "L-BFGS"
    cause = "own rule"
    formula = "w ← w + t d,  d = −H g by the two-loop recursion, up to n times"
    source = "Liu and Nocedal 1989; Nocedal and Wright 2006, chapters 3 and 7; torch.optim.LBFGS"
    parameters = (
        Parameter("max_iter", "n", 20, 1, 50, "integer", minimum=1, tooltip="inner steps at most"),
        Parameter(
            "max_eval", "n_f", None, 1, 100, "integer", minimum=1, optional=True, tooltip="evaluations; None: 5n/4"
        ),
        Parameter("tolerance_grad", "ε_g", 1e-7, 1e-12, 1e-2, "log", minimum=0.0, tooltip="stop when max|g| is below"),
        Parameter("tolerance_change", "ε_w", 1e-9, 1e-12, 1e-2, "log", minimum=0.0, tooltip="stop when w or f rests"),
        Parameter("history_size", "m", 100, 1, 100, "integer", minimum=1, tooltip="pairs kept"),
        Parameter(
            "line_search", "search", "none", scale="choice", choices=("none", "strong_wolfe"), tooltip="for the length"
        ),
    )
    none_is_zero = True
    max_iter: int
    max_eval: int | None
    tolerance_grad: float
    tolerance_change: float
    history_size: int
    line_search: str

    @property
    def line_search_fn(self) -> str | None:
        """The search by PyTorch's name, None for none."""
        return None if self.line_search == "none" else self.line_search

    def init(self, weights: Array, layout: Layout) -> State:
        return dict(FRESH)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        weights, gradient, loss = ctx.start, ctx.gradient, ctx.loss
        if np.abs(gradient).max(initial=0.0) <= self.tolerance_grad:
            return np.zeros_like(u)
        evaluate = ctx.evaluate if ctx.evaluate is not None else _missing
        if loss is None and self.max_iter > 1:
            loss = evaluate(weights)[0]
        loss = 0.0 if loss is None else loss
        most = self.max_eval if self.max_eval is not None else self.max_iter * 5 // 4
        evaluations = 1
        for inner in range(1, self.max_iter + 1):
            direction = self._direction(state, gradient)
            first = state["iterations"] == 1
            length = min(1.0, 1.0 / float(np.abs(gradient).sum())) * ctx.rate if first else ctx.rate
            state["gradient"], state["direction"], state["length"] = gradient, direction, length
            before = loss
            slope = float(gradient @ direction)
            if slope > -self.tolerance_change:
                break
            if self.line_search == "strong_wolfe":
                move = partial(_along, weights, direction)
                start = Point(0.0, loss, gradient, slope)
                found, used = strong_wolfe(evaluate, move, length, direction, start, most - evaluations)
                loss, gradient, length = found.loss, found.gradient, found.length
                state["length"] = length
                weights = move(length)
                evaluations += used
            else:
                weights = fused(weights, length, direction)
                if inner == self.max_iter:
                    break
                loss, gradient = evaluate(weights)
                evaluations += 1
            resting = float(np.abs(direction * length).max()) <= self.tolerance_change
            flat = float(np.abs(gradient).max()) <= self.tolerance_grad
            if evaluations >= most or flat or resting or abs(loss - before) < self.tolerance_change:
                break
        ctx.figures["inner_steps"] = float(inner)
        ctx.figures["evaluations"] = float(evaluations)
        ctx.weights = weights
        return np.zeros_like(u)

    def _direction(self, state: State, gradient: Array) -> Array:
        """-H g; the newest pair joins the history first."""
        state["iterations"] += 1
        if state["iterations"] == 1:
            result: Array = -gradient
            return result
        y = gradient - state["gradient"]
        s = state["direction"] * state["length"]
        curvature = float(y @ s)
        pairs: tuple[Any, ...] = state["pairs"]
        if curvature > CURVATURE:
            pairs = (*pairs, (s, y, 1.0 / curvature))[-self.history_size :]
            state["pairs"] = pairs
            state["scale"] = curvature / float(y @ y)
        q = -gradient
        shares = []
        for step, change, inverse in reversed(pairs):
            share = float(step @ q) * inverse
            shares.append(share)
            q = fused(q, -share, change)
        r = q * state["scale"]
        for (step, change, inverse), share in zip(pairs, reversed(shares), strict=True):
            r = fused(r, share - float(change @ r) * inverse, step)
        return r

    def explain(self, figures: dict[str, float]) -> str:
        return (
            f"{figures.get('inner_steps', 0):.0f} inner steps along −H g, "
            f"{figures.get('evaluations', 0):.0f} evaluations of the loss"
        )


def _along(weights: Array, direction: Array, t: float) -> Array:
    return fused(weights, t, direction)


def _missing(weights: Array) -> tuple[float, Array]:
    raise SettingError(
        "LBFGS evaluates the loss several times a step: take it with optimizer.minimize(loss, variables)"
    )
