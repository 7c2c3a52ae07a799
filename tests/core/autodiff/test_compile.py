"""Compiled programs: the tape's bits, new shapes and types, data that changes, and what cannot be traced."""

import gc
import pickle
import threading
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from core.autodiff import (
    GradientTape,
    Tensor,
    TraceError,
    Variable,
    compile_gradient,
    custom_gradient,
    hessian,
    nn,
    program_source,
    stop_gradient,
    value_and_gradients_function,
)
from core.autodiff.structure import leaves, outline


def same_bits(a: Any, b: Any) -> None:
    x, y = np.array(a), np.array(b)
    assert x.dtype == y.dtype and x.shape == y.shape
    if x.dtype.kind == "f":  # IEEE 754 leaves the sign of a nan open: any nan is the same
        x[np.isnan(x)] = np.nan
        y[np.isnan(y)] = np.nan
    assert x.tobytes() == y.tobytes(), f"{a!r} against {b!r}"


def agree(f: Any, program: Any, *args: Any, params: Any = None) -> None:
    value, gradients = value_and_gradients_function(f, params)(*args)
    compiled_value, compiled = program(*args)
    same_bits(value, compiled_value)
    assert isinstance(compiled, list) and len(compiled) == len(gradients)
    for a, b in zip(gradients, compiled, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            same_bits(a, b)


def counting(f: Any) -> tuple[Any, list[int]]:
    calls: list[int] = []

    def counted(*args: Any) -> Any:
        calls.append(1)
        return f(*args)

    return counted, calls


def rosenbrock(p: Any) -> Any:
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


def rosenbrock_trailing(p: Any) -> Any:
    return (1 - p[..., 0]) ** 2 + 100 * (p[..., 1] - p[..., 0] ** 2) ** 2


def hard_to_round(p: Any) -> Any:
    x, y = p
    r = np.sqrt(x * x + y * y) / (1 + np.exp(-x * 3.7)) - np.sin(5.1 * x) * np.cos(y) ** 3 + (x - y) ** 5 / 7
    return np.where(r > 0.1, r * np.abs(x), np.maximum(r, y) / (0.3 + y * y)) + 2.5**x + np.log1p(x * x) - x / y


@pytest.mark.parametrize("f", [rosenbrock, rosenbrock_trailing, hard_to_round])
def test_two_dimensional_functions_bit_for_bit(f: Any) -> None:
    rng = np.random.default_rng(1)
    program = compile_gradient(f, np.array([0.3, 0.4]))
    for p in rng.normal(size=(200, 2)):
        agree(f, program, p)


def test_special_numbers_bit_for_bit() -> None:
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324]
    program = compile_gradient(hard_to_round, np.array([0.3, 0.4]))
    other = compile_gradient(rosenbrock, np.array([0.3, 0.4]))
    with np.errstate(all="ignore"):
        for x in values:
            for y in values:
                agree(hard_to_round, program, np.array([x, y]))
                agree(rosenbrock, other, np.array([x, y]))


def network(w1: Any, b1: Any, w2: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ w1 + b1)
    return nn.softmax_cross_entropy(nn.relu(h) @ w2, y) + 1e-3 * np.sum(w1 * w1) + np.mean(h[:, :2] ** 2)


def network_arguments(n: int = 7, dtype: str = "float64", seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=s).astype(dtype) for s in ((3, 4), (4,), (4, 3), (n, 3))]
    return (*arrays, rng.integers(0, 3, size=n))


def test_data_changes_without_tracing_again() -> None:
    f, calls = counting(network)
    program = compile_gradient(f, *network_arguments(), params=[0, 1, 2])
    assert len(calls) == 1
    for seed in range(1, 6):
        program(*network_arguments(seed=seed))
    assert len(calls) == 1
    for seed in range(1, 6):
        agree(network, program, *network_arguments(seed=seed), params=[0, 1, 2])


def test_new_shapes_and_types_are_traced_once_each() -> None:
    f, calls = counting(network)
    program = compile_gradient(f, *network_arguments(), params=[0, 1, 2])
    for _ in range(3):
        for n, dtype in ((7, "float64"), (4, "float64"), (7, "float32"), (1, "float32")):
            agree(network, program, *network_arguments(n, dtype), params=[0, 1, 2])
    assert len(calls) == 4


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_other_floating_types(dtype: str) -> None:
    def f(w: Any, x: Any) -> Any:
        return np.mean(np.exp(-np.abs(x @ w)) * 3.0 + np.sum(w[0] ** 2) / 3 - np.maximum(w[1], 0.25))

    import ml_dtypes

    real = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3, 2)).astype(real), rng.normal(size=(5, 3)).astype(real)
    agree(f, compile_gradient(f, w, x), w, x)
    agree(f, compile_gradient(f, w, x, params=[0]), w, x, params=[0])
    value, (gradient, _) = compile_gradient(f, w, x)(w, x)
    assert gradient.dtype == real and value.dtype == real


def test_memory_layout_is_part_of_the_type() -> None:
    rng = np.random.default_rng(0)
    f = lambda w: np.sum(np.tanh(w @ w.T) * 0.1) + np.sum(w + w.T) / 3 - np.mean(w)  # noqa: E731
    w = rng.normal(size=(40, 40))
    program = compile_gradient(f, w)
    for other in (np.asfortranarray(w), np.repeat(w, 2, axis=0)[::2], w[::-1], w.T, w):
        agree(f, program, other)


def test_several_results_are_computed_at_every_call() -> None:
    pair = namedtuple("pair", "loss extra")
    for f in (
        lambda w: [np.sum(w * w), w * 2, [np.sum(w)]],
        lambda w: {"loss": np.sum(w * w), "a": w, "n": {"b": np.sum(w)}},
        lambda w: pair(np.sum(np.exp(w)), np.ones(2) * 3),
        lambda w: (np.sum(w), 2.0),
    ):
        program = compile_gradient(f, np.array([1.0, 2.0]))
        for p in (np.array([1.0, 2.0]), np.array([3.0, -4.0])):
            value, (gradient,) = value_and_gradients_function(f)(p)
            found, (compiled,) = program(p)
            same_bits(gradient, compiled)
            assert outline(found) == outline(value)
            for a, b in zip(leaves(value), leaves(found), strict=True):
                same_bits(a, b)
                assert not isinstance(b, Tensor) and not np.shares_memory(b, p)


def test_copies_that_change_the_layout_stay_in_the_program() -> None:
    """Sums add up in the order of memory: leaving a copy out would give other last bits."""
    rng = np.random.default_rng(3)
    for f in (
        lambda w: np.sum(stop_gradient(w) * w - np.arange(35.0).reshape(7, 5)),
        lambda w: np.sum(+w) + np.sum(w * 1 / 3) + np.mean(w.copy() ** 3),
        lambda w: np.sum(w.astype("float64") * 0.1) + np.std(w / 1),
    ):
        for made in (lambda a: np.asfortranarray(a), lambda a: np.concatenate([a, a], 1)[:, ::2], lambda a: a[::-1]):
            program = compile_gradient(f, made(rng.normal(size=(7, 5))))
            for _ in range(20):
                agree(f, program, made(rng.normal(size=(7, 5))))


def test_arguments_and_results_are_left_alone() -> None:
    x = np.array([1.0, 2.0, 3.0])
    seed = np.ones(3)
    f = lambda a, b: a + b * 1.0 + seed  # noqa: E731
    program = compile_gradient(f, x, x)
    value, (ga, gb) = program(x, x)
    assert not np.shares_memory(ga, gb) and not np.shares_memory(value, x)
    ga += 5
    value += 5
    again, (ga2, gb2) = program(x, x)
    assert x.tolist() == [1, 2, 3] and ga2.tolist() == [1, 1, 1] and gb2.tolist() == [1, 1, 1]
    assert again.tolist() == [3, 5, 7]
    identity = compile_gradient(lambda a: a, x)
    value, _ = identity(x)
    assert not np.shares_memory(value, x)


def test_numbers_lists_tensors_and_variables_as_arguments() -> None:
    f, calls = counting(lambda a, b: a * a * b)
    program = compile_gradient(f, 2.0, 3.0)
    for a, b in ((2.0, 3.0), (2, 3), (np.float64(2), np.array(3.0)), (Tensor(2.0), Variable(3.0))):
        value, gradients = program(a, b)
        assert value == 12 and gradients == [12, 4]
    assert len(calls) == 1
    value, (g,) = compile_gradient(lambda x: np.sum(np.square(x)), [1.0, 2.0])([3.0, 4.0])
    assert value == 25 and g.tolist() == [6, 8]


class Labelled(np.ndarray):
    """An array of another class."""


def test_arrays_that_only_look_different() -> None:
    f, calls = counting(lambda a: np.sum(a * a) + a[0])
    a = np.array([1.0, 2.0])
    program = compile_gradient(f, a)
    metadata = a.astype(np.dtype("f8", metadata={"unit": "m"}))
    for other in (a.view(Labelled), a.astype(">f8"), metadata, pickle.loads(pickle.dumps(a)), [1.0, 2.0], (1, 2)):
        value, (g,) = program(other)
        assert value == 6 and g.tolist() == [3, 4] and type(g) is np.ndarray
    assert len(calls) == 1


def test_bools_in_arithmetic() -> None:
    def f(p: Any) -> Any:
        x, y = p
        return ((x > 0) + (y > 0)) * x + (x > 0) * (y > 0) * y + np.where((x > 0) & (y > 1), x, y) / ((y > 5) + 0.5)

    program = compile_gradient(f, np.array([1.0, 1.0]))
    for p in ([1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0], [0.5, 7.0]):
        agree(f, program, np.array(p))


def test_variables_keep_one_memory_layout() -> None:
    w = Variable(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    f = lambda x: np.sum(np.tanh(w @ w.T) * x)  # noqa: E731
    program = compile_gradient(f, np.ones((2, 2)))
    for _ in range(2):
        agree(f, program, np.ones((2, 2)))
        w.assign(np.asfortranarray(np.linspace(0, 1, 6).reshape(2, 3)))
    assert w.value.flags.c_contiguous


def test_constants_among_the_other_arguments() -> None:
    f, calls = counting(lambda x, n, how: x**n if how == "power" else x * n)
    program = compile_gradient(f, 3.0, 2, "power", params=[0])
    assert program(3.0, 2, "power") == (9, [6])
    assert program(3.0, 3, "power") == (27, [27])
    assert program(3.0, 3, "times") == (9, [3])
    assert program(4.0, 2, "power") == (16, [8])
    assert len(calls) == 3


def test_collections_of_arrays() -> None:
    parameters = {"layers": [np.ones((2, 3)), np.ones(3)], "scale": np.array(2.0)}
    f = lambda p, x: np.sum((x @ p["layers"][0] + p["layers"][1]) * p["scale"])  # noqa: E731
    x = np.arange(4.0).reshape(2, 2)
    program = compile_gradient(f, parameters, x, params=["p"])
    value, (found,) = program(parameters, x)
    expected_value, (expected,) = value_and_gradients_function(f, ["p"])(parameters, x)
    same_bits(value, expected_value)
    same_bits(found["layers"][0], expected["layers"][0])
    same_bits(found["layers"][1], expected["layers"][1])
    same_bits(found["scale"], expected["scale"])


def test_variables_are_read_at_every_call() -> None:
    w = Variable([1.0, 2.0])
    program = compile_gradient(lambda x: np.sum(w * x * x), np.ones(2))
    assert program(np.ones(2))[0] == 3
    w.assign([10.0, 20.0])
    value, (g,) = program(np.ones(2))
    assert value == 30 and g.tolist() == [20, 40]


def test_no_influence_and_integers_give_none() -> None:
    program = compile_gradient(lambda a, n, b: a * n, np.ones(2), np.array([1, 2]), np.ones(1))
    value, gradients = program(np.ones(2), np.array([3, 4]), np.ones(1))
    assert value.tolist() == [3, 4] and gradients[0].tolist() == [3, 4] and gradients[1:] == [None, None]
    assert compile_gradient(lambda a: 3.0, 1.0)(1.0) == (3.0, [None])
    assert compile_gradient(lambda a: stop_gradient(a) * 2, 1.0)(5.0) == (10.0, [None])


def test_pieces_that_need_care() -> None:
    x = np.linspace(-1, 1, 12).reshape(3, 4)

    @custom_gradient
    def doubled(a: Any) -> Any:
        e = np.exp(a)
        return e, lambda g: 2 * g * e

    functions = [
        lambda a: np.sum(doubled(a) * a),
        lambda a: np.sum(np.sort(a, axis=1)[:, ::-1] * a),
        lambda a: np.sum(a[[0, 0, 2], [1, 1, 3]] ** 3) + a[0, 0] + a[-1, -1] * a[0, 0],
        lambda a: np.sum(np.where(a > 0, np.log(np.where(a > 0, a, 1.0)), a)),
        lambda a: nn.logsumexp(a) + np.max(a) - np.prod(a[0]) + np.linalg.norm(a, axis=1)[1],
        lambda a: np.sum(a * np.argmax(a, axis=1)[:, None]) + np.sum((a == np.max(a)) * a),
        lambda a: np.einsum("ij,kj->ik", a, a)[0, 1] + np.linalg.det(a[:, :3] + np.eye(3)),
        lambda a: np.sum(nn.dropout(a, 0.5, seed=1)) + np.sum(np.cumsum(a, axis=0) * a),
        lambda a: np.sum((a.T @ a).reshape(2, 8)[:, 3:] ** 2) + np.sum(np.pad(a, 1)[1:, :-2] * 0.5),
        lambda a: np.sum(a, axis=0)[1] + np.mean(a, axis=1)[0] * a[1, 1] + np.var(a) + np.std(a[0]),
    ]
    for f in functions:
        agree(f, compile_gradient(f, x + 0.1), x)


def test_the_seed_of_dropout_may_change() -> None:
    f = lambda x, seed: np.sum(nn.dropout(x, 0.5, seed) ** 2)  # noqa: E731
    counted, calls = counting(f)
    x = np.ones(50)
    program = compile_gradient(counted, x, np.int64(0), params=[0])
    for seed in range(5):
        agree(f, program, x, np.int64(seed), params=[0])
    assert len(calls) == 1


def test_second_derivatives_inside_a_program() -> None:
    def penalty(x: Any) -> Any:
        with GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x**4) + x[0] * x[1]
        return np.sum(tape.gradient(y, x) ** 2)

    x = np.array([0.3, -0.7])
    agree(penalty, compile_gradient(penalty, x + 1), x)


# ---- what cannot be a straight-line program ---------------------------------------------------------------


def loop(x: Any) -> Any:
    while x > 1:
        x = x / 2
    return x


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (loop, "decision"),
        (lambda x: x if x > 0 else -x, "decision"),
        (lambda x: x * float(x), r"float\(\)"),
        (lambda x: x * x.numpy(), r"numpy\(\)"),
        (lambda x: x * np.asarray(x), "array"),
        (lambda x: x * int(x), r"int\(\)"),
        (lambda x: sum(x for _ in range(np.argmax(x))), "index or count"),
        (lambda x: np.zeros(3)[np.argmax(x)] + x, "index|array"),
        (lambda x: x * x.item(), r"item\(\)"),
    ],
)
def test_values_cannot_be_taken_out(f: Any, what: str) -> None:
    with pytest.raises(TraceError, match=what) as error:
        compile_gradient(f, 3.0)
    assert "test_compile.py, line" in str(error.value)
    assert "np.where" in str(error.value)


def test_shapes_cannot_depend_on_values() -> None:
    for f in (lambda x: np.sum(x[x > 0]), lambda x: np.sum(np.unique(x)) + x, lambda x: np.sum(x[np.nonzero(x > 0)])):
        with pytest.raises(TraceError, match="shape"):
            compile_gradient(f, np.array([1.0, -1.0]))
    mask = np.array([True, False])  # a constant mask is no problem
    assert compile_gradient(lambda x: np.sum(x[mask]), np.ones(2))(np.array([3.0, 4.0]))[0] == 3


def test_variables_cannot_be_assigned_inside() -> None:
    v = Variable(1.0)
    with pytest.raises(TraceError, match="assigned"):
        compile_gradient(lambda x: v.assign_add(x) * x, 2.0)
    with pytest.raises(TraceError, match="decision"):
        compile_gradient(lambda x: x if v > 0 else -x, 2.0)


def test_after_a_refusal_everything_works_as_before() -> None:
    with pytest.raises(TraceError):
        compile_gradient(loop, 3.0)
    assert value_and_gradients_function(loop)(3.0)[1][0].item() == 0.25
    assert compile_gradient(lambda x: x * x, 3.0)(3.0) == (9, [6])


def test_wrong_calls() -> None:
    program = compile_gradient(lambda x, y: x * y, 1.0, 2.0)
    with pytest.raises(TypeError, match="argument"):
        program(1.0)
    with pytest.raises(ValueError, match="example"):
        compile_gradient(lambda: 1.0)
    with pytest.raises(TypeError, match="params="):
        compile_gradient(lambda x, how: x, 1.0, "fast")
    with pytest.raises(ValueError, match="returned None"):
        compile_gradient(lambda x: None, 1.0)


def test_the_source_is_straight_line_code() -> None:
    text = program_source(compile_gradient(rosenbrock, np.zeros(2)))
    assert text.startswith("def program(x0)") and "for " not in text and "while " not in text
    assert "s1 * s1" in text  # single numbers are computed as Python floats
    assert program_source(compile_gradient(lambda p: p["a"] * 2, {"a": np.ones(2)})).startswith("def program")


def test_threads_and_cycles() -> None:
    args = network_arguments()
    programs = [compile_gradient(network, *args, params=[0, 1, 2])]
    expected = programs[0](*args)
    wrong: list[int] = []

    def work(n: int) -> None:
        for _ in range(100):
            value, gradients = programs[0](*network_arguments(n))
            if n == 7 and (
                value != expected[0] or any((a != b).any() for a, b in zip(gradients, expected[1], strict=True))
            ):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (7, 3, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            programs[0](*args)
            programs[0](*network_arguments(3))
        programs.clear()
        other = compile_gradient(network, *args, params=[0, 1, 2])
        other(*network_arguments(3))
        del other
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_hessian_of_a_compiled_loss_is_not_silently_wrong() -> None:
    program = compile_gradient(rosenbrock, np.zeros(2))
    with pytest.raises(TypeError):
        hessian(lambda p: program(p)[0], np.ones(2))
