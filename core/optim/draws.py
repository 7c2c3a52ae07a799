"""JAX's random numbers: the Threefry counter-based generator, and normal numbers and signs made from its bits.

Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; keys are split and bits laid out as JAX does since
version 0.5 (jax_threefry_partitionable).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.optim.layout import Array, Layout

Key = tuple[int, int]
Words = NDArray[np.uint32]
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
WORD = 0xFFFFFFFF


def key_of(seed: int) -> Key:
    """The key ``jax.random.key(seed)``."""
    return (seed >> 32) & WORD, seed & WORD


def threefry(key: Key, high: Words, low: Words) -> tuple[Words, Words]:
    """Threefry-2x32 with 20 rounds of the counters (high, low)."""
    schedule = [np.uint32(key[0]), np.uint32(key[1]), np.uint32(key[0] ^ key[1] ^ PARITY)]
    with np.errstate(over="ignore"):
        a, b = high + schedule[0], low + schedule[1]
        for group in range(5):
            for turn in ROTATIONS[group % 2]:
                a = a + b
                b = (b << np.uint32(turn)) | (b >> np.uint32(32 - turn))
                b = b ^ a
            a = a + schedule[(group + 1) % 3]
            b = b + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return a, b


def words(key: Key, count: int) -> tuple[Words, Words]:
    """Two words of random bits for each of ``count`` numbers."""
    index = np.arange(count, dtype=np.uint64)
    return threefry(key, (index >> np.uint64(32)).astype(np.uint32), index.astype(np.uint32))


def split(key: Key, count: int) -> list[Key]:
    """``jax.random.split(key, count)``."""
    first, second = words(key, count)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def uniform(key: Key, count: int, dtype: Any, low: float, high: float) -> Array:
    """``jax.random.uniform``: random mantissas, in float64 from 64 bits, in any other type in float32 from 32."""
    first, second = words(key, count)
    result: Array
    least: Any
    if dtype == np.float64:
        bits = (first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)
        result = ((bits >> np.uint64(12)) | np.uint64(0x3FF0000000000000)).view(np.float64) - 1.0
        least = np.float64(low)
    else:
        mixed = first ^ second
        result = ((mixed >> np.uint32(9)) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1.0)
        least = np.float32(low)
    spread = type(least)(high) - least
    found: Array = np.maximum(least, result * spread + least)
    return found


def normal(key: Key, count: int, dtype: Any) -> Array:
    """``jax.random.normal``: √2 erfinv(u), (count,) of ``dtype``; the last bits are not JAX's (its erfinv rounds)."""
    kind = np.float64 if dtype == np.float64 else np.float32
    low = float(np.nextafter(kind(-1.0), kind(0.0)))
    u = uniform(key, count, kind, low, 1.0)
    found = math.sqrt(2.0) * np.array([inverse_erf(value) for value in u.tolist()])
    return found.astype(dtype)


def signs(key: Key, count: int, dtype: Any) -> Array:
    """``jax.random.rademacher``: +1 where a uniform number is below one half, else -1, (count,) of ``dtype``."""
    u = uniform(key, count, np.float64 if dtype == np.float64 else np.float32, 0.0, 1.0)
    return np.where(u < 0.5, 1.0, -1.0).astype(dtype)


def leaves(key: Key, layout: Layout) -> list[Key]:
    """A key for each variable in the layout's order; JAX gives them out by the variables' names in order."""
    keys = split(key, len(layout.names))
    order = sorted(range(len(layout.names)), key=lambda i: layout.names[i])
    found = [key] * len(order)
    for position, i in enumerate(order):
        found[i] = keys[position]
    return found


def inverse_erf(u: float) -> float:
    """The x with erf(x) = u, to a few units in the last place, for u in (-1, 1)."""
    if abs(u) < 1e-9:
        return u * math.sqrt(math.pi) / 2.0
    rest = 1.0 - abs(u)
    # Winitzki's closed form is right to 0.2 percent; Halley's steps on erf, or on its complement far out
    curve = math.log(rest * (2.0 - rest))
    middle = 2.0 / (math.pi * 0.147) + curve / 2.0
    x = math.sqrt(math.sqrt(middle * middle - curve / 0.147) - middle)
    for _ in range(3):
        off = math.erf(x) - abs(u) if x < 0.5 else rest - math.erfc(x)
        step = off * math.exp(x * x) * math.sqrt(math.pi) / 2.0
        x -= step / (1.0 + x * step)
    return math.copysign(x, u)
