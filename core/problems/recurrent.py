"""Elman networks on sequences: the adding and echo tasks, where gradients explode or vanish through time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.problems.dataset import Dataset
from core.problems.layers import ACTIVATIONS
from core.problems.models import Array, ModelObjective
from core.problems.objective import ProblemError, ProblemParameter, VariableSpec
from core.problems.options import BATCH_SIZE, L2, REPLACEMENT, SPLIT_SEED, TEST_FRACTION

TASKS = ("adding", "echo")
INPUTS = {"adding": 2, "echo": 1}


def sequences(task: str, rows: int, length: int, delay: int, seed: int = 0) -> Dataset:
    """Made-up sequences, features (rows, length * inputs) with the inputs of a step side by side.

    'adding' (Hochreiter, Schmidhuber 1997): every step brings a number in [0, 1) and a mark; one step in the first
    half and one in the second are marked, and the target is the sum of the two numbers. 'echo': every step brings -1
    or 1, and the class is what came ``delay`` steps before the last one.
    """
    if task not in TASKS:
        raise ProblemError(f"no task {task!r}; there are: {', '.join(TASKS)}")
    rng = np.random.default_rng((seed, 3))
    steps = range(length)
    if task == "adding":
        numbers: NDArray[np.float64] = rng.random((rows, length))
        marks = np.zeros((rows, length))
        first = rng.integers(0, length // 2, rows)
        second = rng.integers(length // 2, length, rows)
        every = np.arange(rows)
        marks[every, first] = marks[every, second] = 1.0
        features = np.empty((rows, 2 * length))
        features[:, 0::2], features[:, 1::2] = numbers, marks
        targets = numbers[every, first] + numbers[every, second]
        names = tuple(f"{kind}[{step}]" for step in steps for kind in ("number", "mark"))
        return Dataset(task, features, targets, names, "sum", (), "made up by the program")
    if not 0 <= delay < length:
        raise ProblemError(f"echo: delay must be from 0 to {length - 1} for sequences of {length} steps, not {delay}")
    bits = rng.integers(0, 2, (rows, length))
    names = tuple(f"bit[{step}]" for step in steps)
    targets = bits[:, length - 1 - delay].astype(np.float64)
    signs = (2 * bits - 1).astype(np.float64)
    return Dataset(task, signs, targets, names, "echo", ("-1", "1"), "made up by the program")


class ElmanRNN(ModelObjective):
    """``h_t = activation(x_t @ Wx + h_(t-1) @ Wh + b)``, the output read from the last ``h`` (Elman 1990).

    The gradient through T steps holds products of T recurrent matrices: above a gain of 1 it explodes, below it
    vanishes (Bengio et al. 1994); clipping was proposed for this case (Pascanu et al. 2013).
    """

    name = "rnn"
    title = "Recurrent network"
    formula = "h(t) = φ(x(t)·Wx + h(t-1)·Wh + b), loss of h(T)·V + c"
    description = "An Elman network on sequences: the exploding gradient that clipping was invented for."
    default_data = "adding"
    parameters = (BATCH_SIZE, L2)
    option_parameters = (
        ProblemParameter("hidden", "H", 16, 1, 64, "integer", minimum=1, maximum=512,
                         tooltip="Width of the state"),
        ProblemParameter("length", "T", 20, 2, 100, "integer", minimum=2, maximum=500,
                         tooltip="Steps of every sequence"),
        ProblemParameter("delay", "k", 10, 0, 99, "integer", minimum=0, maximum=499,
                         tooltip="Echo task: how many steps back the wanted bit lies"),
        ProblemParameter("gain", "γ", 1.0, 0.1, 3.0, minimum=0.0,
                         tooltip="Size of the starting recurrent matrix: γ times a rotation"),
        ProblemParameter("sequences", "N", 512, 16, 4096, "integer", minimum=2, maximum=100_000,
                         tooltip="Number of sequences, test ones included"),
        ProblemParameter("activation", "φ", "tanh", scale="choice", choices=tuple(ACTIVATIONS),
                         tooltip="What the state goes through in every step"),
        REPLACEMENT, TEST_FRACTION, SPLIT_SEED,
    )  # fmt: skip

    def load(self) -> Dataset:
        if isinstance(self.choice.data, Dataset):
            raise ProblemError(f"rnn: data is the name of a task ({', '.join(TASKS)})")
        numbers = [int(self.options[key]) for key in ("sequences", "length", "delay")]
        return sequences(self.choice.data, *numbers)

    def with_values(self, **changes: Any) -> ElmanRNN:
        # sequences are made from several options, so they are always made anew
        return type(self)({**self.settings, **changes})

    def build(self) -> tuple[VariableSpec, ...]:
        hidden, out = int(self.options["hidden"]), max(1, self.head.width)
        self._inputs = INPUTS[str(self.choice.data)]
        self._length = int(self.options["length"])
        self._activation = ACTIVATIONS[str(self.options["activation"])]
        return (
            VariableSpec("Wx", (self._inputs, hidden)),
            VariableSpec("Wh", (hidden, hidden)),
            VariableSpec("b", (hidden,), "bias"),
            VariableSpec("V", (hidden, out)),
            VariableSpec("c", (out,), "bias"),
        )

    def initial_weights(self, seed: int = 0) -> NDArray[np.float64]:
        rng = np.random.default_rng((seed, 4))
        hidden = int(self.options["hidden"])
        rotation, upper = np.linalg.qr(rng.standard_normal((hidden, hidden)))
        rotation = rotation * np.sign(np.diag(upper))
        parts = [
            rng.normal(0, math.sqrt(1 / self._inputs), (self._inputs, hidden)),
            float(self.options["gain"]) * rotation,
            np.zeros(hidden),
            rng.normal(0, math.sqrt(1 / hidden), self.variables[3].shape),
            np.zeros(self.variables[4].shape),
        ]
        return np.concatenate([part.reshape(-1) for part in parts])

    def outputs(self, parameters: Sequence[Any], x: Any, extras: Sequence[Any] = ()) -> Any:
        wx, wh, b, v, c = parameters
        # the products with the inputs of all steps are one matrix product
        rows = x.shape[0]
        driven = np.reshape(np.reshape(x, (rows * self._length, self._inputs)) @ wx + b, (rows, self._length, -1))
        h = self._activation.call(driven[:, 0])
        for step in range(1, self._length):
            h = self._activation.call(driven[:, step] + h @ wh)
        out = h @ v + c
        return out if self.head.width else out[..., 0]

    def batch_outputs(self, points: Sequence[Array], x: Array, extras: Sequence[Array] = ()) -> Array:
        wx, wh, b, v, c = points
        h = np.zeros((len(wx), len(x), wh.shape[-1]), dtype=x.dtype)
        for step in range(self._length):
            z = np.matmul(x[:, step * self._inputs : (step + 1) * self._inputs], wx)
            z += b[:, None, :]
            if step:
                z += np.matmul(h, wh)
            h = self._activation.within(z)
        out = np.matmul(h, v) + c[:, None, :]
        return out if self.head.width else out[..., 0]

    def width(self) -> int:
        return 3 * int(self.options["hidden"])
