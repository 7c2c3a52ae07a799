"""Data sets that are made up: small pictures of what a model can and cannot separate, by seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from core.problems.dataset import Dataset
from core.problems.objective import ProblemError

Array = NDArray[np.float64]
Maker = Callable[[np.random.Generator, int, float], tuple[Array, Array]]


def _moons(rng: np.random.Generator, rows: int, noise: float) -> tuple[Array, Array]:
    labels = np.arange(rows) % 2
    angle = rng.uniform(0, np.pi, rows)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    return np.where(labels[:, None] == 0, upper, lower), labels.astype(np.float64)


def _circles(rng: np.random.Generator, rows: int, noise: float) -> tuple[Array, Array]:
    labels = np.arange(rows) % 2
    angle = rng.uniform(0, 2 * np.pi, rows)
    radius = np.where(labels == 0, 1.0, 0.5)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), labels.astype(np.float64)


def _spirals(rng: np.random.Generator, rows: int, noise: float) -> tuple[Array, Array]:
    labels = np.arange(rows) % 2
    turn = np.sqrt(rng.uniform(0.02, 1, rows))
    angle = 1.75 * 2 * np.pi * turn + np.pi * labels
    return np.column_stack([turn * np.cos(angle), turn * np.sin(angle)]) * 2, labels.astype(np.float64)


def _xor(rng: np.random.Generator, rows: int, noise: float) -> tuple[Array, Array]:
    x = rng.uniform(-1, 1, (rows, 2))
    return x, (x[:, 0] * x[:, 1] < 0).astype(np.float64)


def _blobs(rng: np.random.Generator, rows: int, noise: float) -> tuple[Array, Array]:
    labels = np.arange(rows) % 3
    angle = 2 * np.pi * labels / 3 + 0.5
    return 2 * np.column_stack([np.cos(angle), np.sin(angle)]), labels.astype(np.float64)


def _linear(rng: np.random.Generator, rows: int, noise: float) -> tuple[Array, Array]:
    x = rng.uniform(-1, 1, (rows, 1))
    return x, 2 * x[:, 0] + 1


def _sine(rng: np.random.Generator, rows: int, noise: float) -> tuple[Array, Array]:
    x = rng.uniform(-1, 1, (rows, 1))
    return x, np.sin(np.pi * x[:, 0])


# name -> (maker of noise-free rows, classes, usual noise, what the noise moves)
_MAKERS: dict[str, tuple[Maker, tuple[str, ...], float, str]] = {
    "moons": (_moons, ("upper", "lower"), 0.1, "features"),
    "circles": (_circles, ("outer", "inner"), 0.05, "features"),
    "spirals": (_spirals, ("one", "two"), 0.05, "features"),
    "xor": (_xor, ("same sign", "different sign"), 0.05, "features"),
    "blobs": (_blobs, ("a", "b", "c"), 0.5, "features"),
    "linear": (_linear, (), 0.1, "targets"),
    "sine": (_sine, (), 0.1, "targets"),
}


def generated_names() -> list[str]:
    """Names that ``generate`` takes."""
    return list(_MAKERS)


def generate(name: str, rows: int = 256, noise: float | None = None, seed: int = 0) -> Dataset:
    """``rows`` points of a made-up data set; ``noise`` is the standard deviation added (None: the usual one).

    moons, circles, spirals, xor and blobs have two features and two or three classes; linear (2x + 1) and sine
    (sin πx) have one feature and a numeric target. Same arguments, same bits.
    """
    if name not in _MAKERS:
        raise ProblemError(f"no made-up data set {name!r}; there are: {', '.join(_MAKERS)}")
    maker, classes, usual, moved = _MAKERS[name]
    if not 2 <= rows <= 1_000_000:
        raise ProblemError(f"{name}: rows must be between 2 and 1000000, not {rows}")
    spread = usual if noise is None else float(noise)
    if not 0 <= spread < np.inf:
        raise ProblemError(f"{name}: noise must be a number from 0 up, not {noise}")
    if seed < 0:
        raise ProblemError(f"{name}: seed must be a whole number from 0 up, not {seed}")
    rng = np.random.default_rng(seed)
    x, y = maker(rng, int(rows), spread)
    if moved == "features":
        x = x + spread * rng.standard_normal(x.shape)
    else:
        y = y + spread * rng.standard_normal(y.shape)
    names = ("x1", "x2") if x.shape[1] == 2 else ("x",)
    return Dataset(name, x, y, names, "class" if classes else "y", classes, source="made up by the program")
