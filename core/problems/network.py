"""Multilayer perceptrons on tables: layers, activations, starting weights, normalisation, dropout."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.problems.datasets import Dataset
from core.problems.differentiate import Differentiated
from core.problems.layers import ACTIVATIONS, EPSILON, INITIALISERS, normalise, statistics
from core.problems.models import Array, ModelObjective
from core.problems.objective import ProblemParameter, SettingError, VariableSpec
from core.problems.options import (
    BATCH_SIZE,
    L2,
    REPLACEMENT,
    SPLIT_SEED,
    STANDARDISE,
    STANDARDISE_TARGET,
    TEST_FRACTION,
)
from core.problems.planes import Plane

MAX_WEIGHTS = 2_000_000
NORMS = ("none", "batch", "layer")
DROPOUT = ProblemParameter(
    "dropout", "p", 0.0, 0.0, 0.9, minimum=0.0, maximum=1.0, open_maximum=True,
    tooltip="Part of the hidden values that every step sets to 0 (the others are scaled up)",
)  # fmt: skip


class MLP(ModelObjective):
    """Hidden layers ``activation(norm(h @ W + b))`` with dropout, then a linear layer to the outputs.

    The loss follows from the target: squared error for numbers, cross entropy for classes. Batch normalisation uses
    the statistics of the step's batch; ``value`` those of all training rows, and so do predictions, which makes
    them a function of the weights alone (the population statistics of Ioffe and Szegedy 2015, algorithm 2).
    """

    name = "mlp"
    title = "Multilayer perceptron"
    formula = "mean loss(f(x), y) + λ/2 |W|², f: layers of activation(x·W + b)"
    description = "A network of fully connected layers on a table; its loss has valleys, plateaus and saddles."
    default_data = "moons"
    parameters = (BATCH_SIZE, L2, DROPOUT)
    option_parameters = (
        ProblemParameter("layers", "layers", (16, 16), 1, 128, "list",
                         tooltip="Width of every hidden layer"),
        ProblemParameter("activation", "φ", "tanh", scale="choice", choices=tuple(ACTIVATIONS),
                         tooltip="What every hidden value goes through"),
        ProblemParameter("init", "init", "glorot_uniform", scale="choice", choices=tuple(INITIALISERS),
                         tooltip="How the starting weights are drawn"),
        ProblemParameter("norm", "norm", "none", scale="choice", choices=NORMS,
                         tooltip="Batch or layer normalisation before every activation"),
        REPLACEMENT, TEST_FRACTION, SPLIT_SEED, STANDARDISE, STANDARDISE_TARGET,
    )  # fmt: skip

    def __init__(self, given: Mapping[str, Any] | None = None, dataset: Dataset | None = None) -> None:
        super().__init__(given, dataset)
        self._held: Differentiated | None = None

    def build(self) -> tuple[VariableSpec, ...]:
        self._widths = self._hidden_widths()
        self._activation = ACTIVATIONS[str(self.options["activation"])]
        self._norm = str(self.options["norm"])
        specs: list[VariableSpec] = []
        sizes = (self.samples.train_x.shape[1], *self._widths, max(1, self.head.width))
        for index, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes), 1):
            specs += [VariableSpec(f"W{index}", (fan_in, fan_out)), VariableSpec(f"b{index}", (fan_out,), "bias")]
            if self._norm != "none" and index <= len(self._widths):
                specs += [VariableSpec(f"gamma{index}", (fan_out,), "norm")]
                specs += [VariableSpec(f"beta{index}", (fan_out,), "norm")]
        total = sum(spec.size for spec in specs)
        if total > MAX_WEIGHTS:
            raise SettingError(f"mlp: {total} weights; at most {MAX_WEIGHTS} are possible, choose narrower layers")
        return tuple(specs)

    def _hidden_widths(self) -> tuple[int, ...]:
        given = self.options["layers"]
        widths = [float(width) for width in given]
        if any(width != int(width) or width < 1 for width in widths) or len(widths) > 20:
            raise SettingError(f"mlp: layers are up to 20 whole numbers from 1 up, such as [16, 16], not {list(given)}")
        return tuple(int(width) for width in widths)

    @property
    def shape_text(self) -> str:
        """'2-16-16-1'."""
        return "-".join(map(str, (self.samples.train_x.shape[1], *self._widths, max(1, self.head.width))))

    @property
    def cautions(self) -> tuple[str, ...]:
        if self._norm != "batch" or self.batches.full:
            return ()
        size, rest = self.batches.size, self.batches.count % self.batches.size
        if size == 1 or (rest == 1 and not self.batches.replacement):
            which = "every batch has" if size == 1 else "the last batch of every epoch has"
            return (
                f"{which} a single row: batch normalisation turns it into beta, so no gradient reaches the weights "
                "before it; choose another batch size",
            )
        return ()

    def initial_weights(self, seed: int = 0) -> NDArray[np.float64]:
        rng = np.random.default_rng((seed, 1))
        draw = INITIALISERS[str(self.options["init"])]
        parts: list[Array] = []
        last = len(self._widths) + 1
        for variable in self.variables:
            if variable.role == "weight":
                fan_in, fan_out = variable.shape
                gain = self._activation.gain if variable.name != f"W{last}" else 1.0
                parts.append(draw(rng, fan_in, fan_out, gain))
            elif variable.role == "bias" and self.options["init"] == "torch_default":
                bound = 1 / fan_in**0.5
                parts.append(rng.uniform(-bound, bound, variable.shape))
            else:
                parts.append(np.full(variable.shape, 1.0 if variable.name.startswith("gamma") else 0.0))
        return np.concatenate([part.reshape(-1) for part in parts])

    def extras(self, step: int, seed: int, rows: int, dtype: Any) -> tuple[Array, ...]:
        """One mask a hidden layer, already divided by the part that is kept ('inverted' dropout)."""
        rate = float(self.values["dropout"])
        if rate == 0.0:
            return ()
        rng = np.random.default_rng((seed, step, 2))
        return tuple(((rng.random((rows, width)) >= rate) / (1 - rate)).astype(dtype) for width in self._widths)

    # forward --------------------------------------------------------------------------------------------------

    def outputs(self, parameters: Sequence[Any], x: Any, extras: Sequence[Any] = ()) -> Any:
        return self._forward(parameters, x, extras, hold=False)

    def _forward(self, parameters: Sequence[Any], x: Any, extras: Sequence[Any], hold: bool) -> Any:
        queue = iter(parameters)
        h = x
        for index in range(len(self._widths)):
            z = h @ next(queue) + next(queue)
            if self._norm != "none":
                z = normalise(z, next(queue), next(queue), self._norm, hold)
            h = self._activation.call(z)
            if extras:
                h = h * extras[index]
        out = h @ next(queue) + next(queue)
        return out if self.head.width else out[..., 0]

    # many weights at once: rows lie along the last axis, so that every pass runs over long contiguous stretches ----

    def batch_outputs(self, points: Sequence[Array], x: Array, extras: Sequence[Array] = ()) -> Array:
        out = self._across(_upright(points), x, extras)
        return np.asarray(np.swapaxes(out, 1, 2)) if self.head.width else out[:, 0]

    def batch_values(self, points: Array, x: Array, y: Array, *extras: Array) -> Array:
        parts = list(self.split(points).values())
        losses = self.head.cost_across(self._across(_upright(parts), x, extras), y)
        return self.add_penalty(losses, parts)

    def _across(self, upright: Sequence[Array], x: Array, extras: Sequence[Array]) -> Array:
        """Outputs (count, width, rows) for weights as ``_upright`` gives them."""
        z = np.matmul(upright[0], x.T)
        z += upright[1]
        return self._finish(upright, z, extras)

    def _finish(self, upright: Sequence[Array], z: Array, extras: Sequence[Array]) -> Array:
        """From ``z``, what the first linear layer gives (count, width, rows), which is overwritten, to the outputs."""
        queue = iter(upright[2:])
        for index in range(len(self._widths)):
            if self._norm != "none":
                gamma, beta = next(queue), next(queue)
                axis = 2 if self._norm == "batch" else 1
                z -= z.mean(axis=axis, keepdims=True)
                variance = np.einsum("cwr,cwr->cw" if axis == 2 else "cwr,cwr->cr", z, z) / z.dtype.type(z.shape[axis])
                scale = 1 / np.sqrt(np.expand_dims(variance, axis) + z.dtype.type(EPSILON))
                # with batch statistics both factors belong to a whole row of z: one pass instead of two
                z *= scale * gamma if axis == 2 else scale
                if axis == 1:
                    z *= gamma
                z += beta
            h = self._activation.within(z)
            if extras:
                h *= extras[index].T
            z = np.matmul(next(queue), h)
            z += next(queue)
        return z

    def evaluation_outputs(self, parameters: Sequence[Array], x: Array) -> Array:
        if self._norm != "batch":
            return np.asarray(self.outputs(parameters, x))
        queue = iter(parameters)
        own, h = self.rows("train", x.dtype)[0], x
        for _ in self._widths:
            weights, bias, gamma, beta = (next(queue) for _ in range(4))
            z, own = h @ weights + bias, own @ weights + bias
            mean, variance = statistics(own)
            scale = gamma / np.sqrt(variance + own.dtype.type(EPSILON))
            h = self._activation.call((z - mean) * scale + beta)
            own = self._activation.call((own - mean) * scale + beta)
        out = np.asarray(h @ next(queue) + next(queue))
        return out if self.head.width else out[..., 0]

    def width(self) -> int:
        return max(self._widths, default=1) + max(1, self.head.width)

    # planes -----------------------------------------------------------------------------------------------------

    def values_on(
        self, plane: Plane, a: ArrayLike, b: ArrayLike, step: int | None = None, seed: int = 0, dtype: Any = np.float64
    ) -> NDArray[Any]:
        """As in Objective; the products of data and first layer are made once for all points.

        On a plane the first layer is ``x @ (O + a U + b V)``: three products, mixed for every point.
        """
        if not self._widths:
            return super().values_on(plane, a, b, step, seed, dtype)
        first, second = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
        mixing = np.stack([np.ones(first.size), first.ravel(), second.ravel()], axis=1).astype(dtype)
        axes = np.stack([plane.origin, plane.u, plane.v]).astype(dtype)
        x, y, *extras = self._constants(step, seed, dtype)
        triples = [part.reshape(3, -1) for part in self.split(axes).values()]
        matrix, bias = triples[0].reshape(3, *self.variables[0].shape), triples[1][:, :, None]
        products = (np.matmul(np.swapaxes(matrix, 1, 2), x.T) + bias).reshape(3, -1)
        result = np.empty(first.size, dtype=dtype)
        block = self.block_size(len(x), dtype)
        with np.errstate(all="ignore"):
            for begin in range(0, first.size, block):
                mix = mixing[begin : begin + block]
                parts = [
                    (mix @ triple).reshape(len(mix), *variable.shape)
                    for triple, variable in zip(triples, self.variables, strict=True)
                ]
                z = (mix @ products).reshape(len(mix), self._widths[0], len(x))
                losses = self.head.cost_across(self._finish(_upright(parts), z, extras), y)
                result[begin : begin + len(mix)] = self.add_penalty(losses, parts)
        return result.reshape(first.shape)

    # the part of the gradient that flows through the batch statistics -------------------------------------------

    def gradient_parts(self, weights: NDArray[Any], step: int = 0, seed: int = 0) -> dict[str, NDArray[Any]]:
        """With batch normalisation: the gradient with the statistics held constant, and what flows through them."""
        if self._norm != "batch":
            return {}
        if self._held is None:
            self._held = Differentiated(self._held_loss, len(self.variables))
        _, held = self._flat(self._held, weights, *self.batch(step, seed, weights.dtype))
        _, whole = self.value_and_gradient(weights, step, seed)
        return {"batch statistics held constant": held, "through the batch statistics": whole - held}

    def _held_loss(self, *arguments: Any) -> Any:
        count = len(self.variables)
        parameters, (x, y), extras = arguments[:count], arguments[count : count + 2], arguments[count + 2 :]
        total = self.head.cost(self._forward(parameters, x, extras, hold=True), y)
        return self.penalise(total, parameters)


def _upright(points: Sequence[Array]) -> list[Array]:
    """Matrices (count, in, out) as (count, out, in), vectors (count, width) as (count, width, 1)."""
    return [np.swapaxes(part, 1, 2) if part.ndim == 3 else part[:, :, None] for part in points]
