"""Muon: matrices made nearly orthogonal by a Newton-Schulz iteration, and the factor for their shape."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.dtypes import FLOATS
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform

COEFFICIENTS = [3.4445, -4.775, 2.0315]
NORMS = ("floored", "added")
NARROW = ("bfloat16", "float16")
SHAPE_RULES = ("rows over columns", "columns over rows", "largest", "none")


def newton_schulz(
    matrix: Array, coefficients: list[list[float]], eps: float = 1e-8, norm: str = "added", work: str = "variable"
) -> Array:
    """A matrix near the orthogonal factor of ``matrix`` (rows, columns), by one triple (a, b, c) an iteration.

    X <- a X + (b A + c A A) X with A = X Xᵀ, after dividing by the Frobenius norm: plus ``eps`` ('added') or not
    smaller than it ('floored'). ``work`` is the type of the iteration (PyTorch ships it in bfloat16, where each of
    the three lines is one fused product: summed in float32 and rounded once).
    """
    dtype = matrix.dtype
    x = matrix.astype(FLOATS[work]) if work != "variable" else matrix
    turned = x.shape[0] > x.shape[1]
    if turned:
        x = x.T
    wide = x.astype(np.float64, copy=False)
    size = math.sqrt(float(np.sum(wide * wide)))
    divisor = size + eps if norm == "added" else max(size, eps)
    x = x / np.asarray(divisor, dtype=x.dtype)
    step = _fused if work in NARROW else _plain
    for a, b, c in coefficients:
        x = step(x, a, b, c)
    if turned:
        x = x.T
    return x.astype(dtype, copy=False)


def _plain(x: Array, a: float, b: float, c: float) -> Array:
    square = x @ x.T
    result: Array = x * a + (square * b + (square * c) @ square) @ x
    return result


def _fused(x: Array, a: float, b: float, c: float) -> Array:
    """The same as torch.addmm does it on narrow types: β C joins the sums over float32 in one rounding."""
    dtype, wide = x.dtype, x.astype(np.float32)
    square = (wide @ wide.T).astype(dtype).astype(np.float32)
    update = _joined(square, b, (square @ square) * np.float32(c)).astype(dtype).astype(np.float32)
    result: Array = _joined(wide, a, update @ wide).astype(dtype)
    return result


def _joined(x: Array, factor: float, product: Array) -> Array:
    """x · factor + product, (rows, columns) float32, rounded once: both are exact in float64."""
    result: Array = (x.astype(np.float64) * float(np.float32(factor)) + product).astype(np.float32)
    return result


class Orthogonalise(Transform):
    """u <- the nearly orthogonal factor of each matrix u; other shapes pass unchanged (other rows see to them)."""

    name = "orthogonalise"
    label = "orthogonalised"
    cause = "orthogonalisation"
    formula = "u ← NewtonSchulz(u),  X ← a X + (b A + c A²) X,  A = X Xᵀ"
    source = "Jordan et al. 2024 (Muon); torch.optim.Muon, optax.contrib.muon, keras.optimizers.Muon"
    parameters = (
        Parameter("coefficients", "a, b, c", COEFFICIENTS, scale="list", tooltip="one triple, or one for each step"),
        Parameter("steps", "n", 5, 1, 20, "integer", minimum=0, tooltip="iterations"),
        Parameter("eps", "ε", 1e-8, 1e-12, 1e-1, "log", minimum=0.0, tooltip="keeps the norm away from zero"),
        Parameter("norm", "norm", "added", scale="choice", choices=NORMS, tooltip="‖u‖ + ε, or max(‖u‖, ε)"),
        Parameter(
            "work",
            "type",
            "variable",
            scale="choice",
            choices=("variable", *FLOATS),
            tooltip="type of the iteration; PyTorch computes it in bfloat16",
        ),
    )
    coefficients: list[float]
    steps: int
    eps: float
    norm: str
    work: str

    def prepare(self) -> None:
        triples = [self.coefficients[i : i + 3] for i in range(0, len(self.coefficients), 3)]
        self.triples = triples * self.steps if len(triples) == 1 else triples[-self.steps :]

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        ctx.scratch.pop("moment_input", None)
        result = u.copy()
        for part, matrix in zip(ctx.layout.slices, ctx.layout.split(u), strict=True):
            if matrix.ndim == 2 and matrix.size:
                result[part] = newton_schulz(matrix, self.triples, self.eps, self.norm, self.work).reshape(-1)
        return result


class ShapeFactor(Transform):
    """u_v <- f u_v for matrices: a factor by shape, so that one learning rate serves all."""

    name = "shape_factor"
    label = "factor of the shape"
    cause = "orthogonalisation"
    formula = "u ← f · u,  f = s · √max(1, rows/columns)"
    source = "torch.optim.Muon adjust_lr_fn; optax.contrib.muon consistent_rms; keras.optimizers.Muon rms_rate"
    parameters = (
        Parameter(
            "rule",
            "rule",
            "rows over columns",
            scale="choice",
            choices=SHAPE_RULES,
            tooltip="√max(1, rows/columns) (PyTorch), √max(1, columns/rows) (optax), √max(rows, columns), or none",
        ),
        Parameter("scale", "s", 1.0, 0.01, 2.0, minimum=0.0, tooltip="times the rule's number (0.2 matches AdamW)"),
    )
    rule: str
    scale: float

    def factor(self, shape: tuple[int, ...]) -> float:
        """The factor of a matrix with this shape."""
        rows, columns = shape[-2], shape[-1]
        if self.rule == "rows over columns":
            return math.sqrt(max(1.0, rows / columns)) * self.scale
        if self.rule == "columns over rows":
            return math.sqrt(max(1.0, columns / rows)) * self.scale
        return math.sqrt(max(rows, columns)) * self.scale if self.rule == "largest" else self.scale

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = u.copy()
        for part, shape in zip(ctx.layout.slices, ctx.layout.shapes, strict=True):
            if len(shape) == 2 and 0 not in shape:
                result[part] *= self.factor(shape)
        return result

    def explain(self, figures: dict[str, float]) -> str:
        root = {
            "rows over columns": "s · √max(1, rows/columns)",
            "columns over rows": "s · √max(1, columns/rows)",
            "largest": "s · √max(rows, columns)",
            "none": "s",
        }[self.rule]
        return self.told(f"u ← f · u,  f = {root}", figures)
