"""Central differences, and the check of first and second derivatives against them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.autodiff import GradientTape, Tensor, compile_gradient, hvp, value_and_gradients_function

STEP = 1e-3


def spread(seed: int, shape: tuple[int, ...], low: float, high: float) -> Any:
    """Distinct numbers between low and high, far enough apart that no difference step reaches a kink."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    steps = (np.arange(n) + 0.37) / n
    return rng.permutation(low + (high - low) * steps**1.3).reshape(shape)


def directional(f: Callable[..., Any], args: Sequence[Any], directions: Sequence[Any]) -> Any:
    """d/dt f(args + t * directions) at t = 0, five-point rule: error of order STEP**4."""

    def at(t: float) -> Any:
        return np.asarray(f(*(a + t * v for a, v in zip(args, directions, strict=True))), dtype=np.float64)

    return (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)


def check(
    f: Callable[..., Any],
    *args: Any,
    seed: int = 0,
    second: bool = True,
    rtol: float = 1e-6,
    compiled: bool = True,
    value_rtol: float = 1e-13,
) -> None:
    """f's value, gradients and second derivatives, on the tape and compiled, against plain numpy and differences."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 1.5, np.shape(f(*args)))
    directions = [rng.uniform(-1, 1, np.shape(a)) for a in args]

    def loss(*values: Any) -> Any:
        return np.sum(f(*values) * weight)

    tensors = [Tensor(a) for a in args]
    with GradientTape() as tape:
        tape.watch(tensors)
        out = f(*tensors)
        total = np.sum(out * weight)
    np.testing.assert_allclose(np.asarray(out), f(*args), rtol=value_rtol, atol=value_rtol / 10)
    gradients = tape.gradient(total, tensors, unconnected_gradients="zero")
    for g, a in zip(gradients, args, strict=True):
        assert g.shape == np.shape(a) and g.dtype == np.asarray(a).dtype
    found = sum(np.sum(np.asarray(g) * v) for g, v in zip(gradients, directions, strict=True))
    expected = directional(loss, args, directions)
    scale = 1 + sum(np.sum(np.abs(np.asarray(g))) for g in gradients)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)
    if compiled:
        _same_bits(loss, args)
    if second:
        vectors = directions if len(args) > 1 else directions[0]
        products = hvp(loss)(*args, vectors)

        def slopes(*values: Any) -> Any:
            found = value_and_gradients_function(loss)(*values)[1]
            return np.concatenate(
                [
                    np.zeros(np.size(v)) if g is None else np.ravel(np.asarray(g))
                    for g, v in zip(found, values, strict=True)
                ]
            )

        flat = np.concatenate([np.ravel(np.asarray(p)) for p in (products if len(args) > 1 else [products])])
        expected = directional(slopes, args, directions)
        size = 1 + np.abs(flat).max(initial=0)
        np.testing.assert_allclose(flat, expected, rtol=10 * rtol, atol=10 * rtol * size)


def _same_bits(loss: Callable[..., Any], args: Sequence[Any]) -> None:
    value, gradients = value_and_gradients_function(loss)(*args)
    compiled_value, compiled = compile_gradient(loss, *args)(*args)
    assert np.asarray(value).tobytes() == np.asarray(compiled_value).tobytes()
    for a, b in zip(gradients, compiled, strict=True):
        assert (a is None) == (b is None)
        assert a is None or (np.asarray(a).tobytes() == b.tobytes() and a.shape == b.shape and a.dtype == b.dtype)
