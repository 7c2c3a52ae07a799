"""Compiled programs and what f reads besides its arguments: the tape, which runs f anew, gives the right values."""

import functools
import io
import itertools
import random
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from core.autodiff import (
    GradientTape,
    Tensor,
    TraceError,
    Variable,
    compile_gradient,
    nn,
    value_and_gradients_function,
)

X = np.array([1.0, 2.0])
DATA = np.array([3.0, 4.0])
RATE = 0.1


def twice(w: Any) -> Any:
    return np.sum(w) * 2


def follows(f: Callable[..., Any], change: Callable[[int], Any], *args: Any) -> None:
    """The program gives what the tape gives, before and after every change."""
    arguments = args or (X,)
    program = compile_gradient(f, *arguments, params=[0])
    seen = set()
    for k in range(4):
        value, (gradient,) = value_and_gradients_function(f, params=[0])(*arguments)
        found, (slope,) = program(*arguments)
        assert found == value.item() and slope.tobytes() == gradient.numpy().tobytes()
        seen.add((float(found), slope.tobytes()))
        change(k)
    assert len(seen) > 1, "nothing has changed: the test would prove nothing"


def set_global(name: str, make: Callable[[Any], Any]) -> Callable[[int], None]:
    def change(_: int) -> None:
        globals()[name] = make(globals()[name])

    return change


def test_global_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "DATA", DATA)
    monkeypatch.setitem(globals(), "RATE", RATE)
    monkeypatch.setitem(globals(), "twice", twice)
    follows(lambda w: np.sum(w * DATA), set_global("DATA", lambda old: old + 1))
    follows(lambda w: np.sum(w * w) * RATE, set_global("RATE", lambda old: old * 2))
    follows(lambda w: twice(w) * w[0], set_global("twice", lambda old: lambda w: old(w) * 3))


def test_closures_and_defaults() -> None:
    a, data = 1.0, np.array([3.0, 4.0])

    def rebind(k: int) -> None:
        nonlocal a
        a = a + k

    def with_default(w: Any, scales: Any = [1.0]) -> Any:  # noqa: B006
        return np.sum(w) * scales[0]

    inner = lambda w: np.sum(w) * a  # noqa: E731
    follows(lambda w: np.sum(w * a), rebind)
    follows(lambda w: inner(w), rebind)
    follows(functools.partial(lambda d, w: np.sum(w * d["x"][0]), {"x": [data]}), lambda k: data.__imul__(2))
    follows(with_default, lambda k: with_default.__defaults__[0].__setitem__(0, k + 5.0))  # type: ignore[index]


def test_arrays_that_are_changed_in_place() -> None:
    data, index, mask = np.array([3.0, 4.0]), np.array([0, 1]), np.array([True, False])

    def deciding(w: Any) -> Any:
        return np.sum(w) if data.sum() > 100 else np.sum(w * w)

    def looping(w: Any) -> Any:
        total = 0.0
        for _ in range(int(index.sum())):
            total = total + np.sum(w * w)
        return total + np.sum(w)

    double = lambda k: data.__imul__(2)  # noqa: E731
    follows(lambda w: np.sum(w * data), double)
    follows(lambda w: np.sum(w * data[::-1]), double)
    follows(lambda w: np.sum(w) * data.sum(), double)
    follows(lambda w: np.sum(w) * float(data[0]), double)
    data[:] = 3.0, 4.0
    follows(deciding, lambda k: data.__imul__(5))
    follows(looping, lambda k: index.__iadd__(1))
    index[:] = 0, 1
    follows(lambda w: np.sum(w[index] * np.array([1.0, 2.0])), lambda k: index.__setitem__(slice(None), k % 2))
    follows(lambda w: np.sum(np.eye(2)[index] @ w), lambda k: index.__setitem__(0, k % 2))
    follows(lambda w: np.sum(np.where(mask, w, w * 2)), lambda k: mask.__setitem__(slice(None), ~mask))


class Model:
    rate = 1.0

    def __init__(self) -> None:
        self.scale = 2.0
        self.w = Variable([1.0, 1.0])
        self.settings = {"l2": 0.1, "inner": [1, 2]}
        self.flag = True

    def loss(self, x: Any) -> Any:
        y = np.sum(x * self.w * self.scale) + self.settings["l2"] * np.sum(x * x) * self.settings["inner"][0]  # type: ignore[index]
        return y if self.flag else y * 2

    def __call__(self, x: Any) -> Any:
        return self.helper(x) * self.rate

    def helper(self, x: Any) -> Any:
        return x.sum() * self.double

    @property
    def double(self) -> float:
        return self.scale * 2


def test_attributes_of_objects() -> None:
    m = Model()
    follows(m.loss, lambda k: setattr(m, "scale", m.scale + 1))
    follows(m.loss, lambda k: m.settings.__setitem__("l2", k + 1.0))
    follows(m.loss, lambda k: m.settings["inner"].__setitem__(0, k + 3))  # type: ignore[attr-defined]
    follows(m.loss, lambda k: setattr(m, "flag", not m.flag))
    follows(m.loss, lambda k: setattr(m, "w", Variable([5.0, k])))
    follows(m.loss, lambda k: m.w.assign_add([1.0, 1.0]))
    follows(m, lambda k: setattr(m, "scale", m.scale + 1))
    follows(lambda x: m(x) + m.loss(x), lambda k: setattr(m, "scale", m.scale + 1))
    old = Model.rate
    try:
        follows(m, lambda k: setattr(Model, "rate", Model.rate + 1))
    finally:
        Model.rate = old


def test_constants_among_the_arguments_that_change() -> None:
    scale = 3.0
    space, numbers, data = types.SimpleNamespace(a=1.0), [1.0, 2.0], {"a": np.ones(2), "n": 2.0}
    by_scale = lambda z: z * scale  # noqa: E731

    def rescale(k: int) -> None:
        nonlocal scale
        scale += 1

    follows(lambda w, o: np.sum(w) * o.a, lambda k: setattr(space, "a", space.a + 1), X, space)
    follows(lambda w, n: np.sum(w) * n[0], lambda k: numbers.__setitem__(0, k + 5.0), X, numbers)
    follows(lambda w, d: np.sum(w * d["a"]) * d["n"], lambda k: data.__setitem__("n", k + 5.0), X, data)
    follows(lambda w, g: np.sum(g(w)), rescale, X, by_scale)


def test_constants_are_told_apart() -> None:
    divided = compile_gradient(lambda w, c: np.sum(w) / c, X, 0.0, params=[0])
    assert divided(X, 0.0)[0] == np.inf and divided(X, -0.0)[0] == -np.inf
    first = compile_gradient(lambda w, c: np.sum(w) * c[0][0], X, [[1.0]], params=[0])
    for k in range(50):  # lists that come and go
        assert first(X, [[float(k)]])[0] == 3 * k
    whole = compile_gradient(lambda w, c: np.sum(w) if c is True else np.sum(w * w), X, True, params=[0])
    assert whole(X, True)[0] == 3 and whole(X, 1)[0] == 5
    with pytest.raises(TraceError, match="give it as a Python number"):
        compile_gradient(lambda w, n: sum(np.sum(w**k) for k in range(n)), X, np.int64(3), params=[0])


def test_an_attribute_that_hides_that_of_the_class() -> None:
    m = Model()
    follows(m, lambda k: setattr(m, "rate", k + 2.0))
    m = Model()
    follows(m, lambda k: setattr(m, "helper", lambda x: x.sum() * (k + 1.5)))


class Slotted:
    __slots__ = ("a",)

    def __init__(self) -> None:
        self.a = 1.0


@dataclass
class Settings:
    a: float = 1.0
    data: Any = field(default_factory=lambda: np.ones(2))


def test_other_objects() -> None:
    slotted, settings, space = Slotted(), Settings(), types.SimpleNamespace(a=1.0)
    module = types.ModuleType("settings_of_mine")
    module.k = 1.0  # type: ignore[attr-defined]
    layers = [Variable([1.0, 1.0])]

    def deep(w: Any) -> Any:
        for layer in layers:
            w = w * layer
        return np.sum(w)

    follows(lambda w: np.sum(w) * slotted.a, lambda k: setattr(slotted, "a", slotted.a + 1))
    follows(lambda w: np.sum(w * settings.data) * settings.a, lambda k: setattr(settings, "data", settings.data + 1))
    follows(lambda w: np.sum(w) * space.a, lambda k: setattr(space, "a", space.a + 1))
    follows(lambda w: np.sum(w) * module.k, lambda k: setattr(module, "k", module.k + 1))
    follows(deep, lambda k: layers.append(Variable([2.0, 2.0 + k])))


def test_switching_a_variable_off_inside() -> None:
    v = Variable([1.0, 2.0])

    def f(w: Any) -> Any:
        with GradientTape() as tape:
            y = np.sum(v**3)
        return np.sum(w * tape.gradient(y, v, unconnected_gradients="zero"))

    follows(f, lambda k: setattr(v, "trainable", not v.trainable))


def test_statistics_held_constant_around_a_program() -> None:
    batch = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]])
    f = lambda w: np.sum(nn.batch_norm(batch * w) ** 3)  # noqa: E731
    program = compile_gradient(f, X)
    slopes = []
    for _ in range(2):
        slopes.append(program(X)[1][0].tobytes())
        assert slopes[-1] == value_and_gradients_function(f)(X)[1][0].numpy().tobytes()
        with nn.statistics_held_constant():
            slopes.append(program(X)[1][0].tobytes())
            assert slopes[-1] == value_and_gradients_function(f)(X)[1][0].numpy().tobytes()
    assert slopes[0] == slopes[2] != slopes[1] == slopes[3]


def test_equal_numbers_and_old_values_are_not_traced_again() -> None:
    calls: list[int] = []
    scale = 1.5

    def f(w: Any) -> Any:
        calls.append(1)
        return np.sum(w) * scale

    program = compile_gradient(f, X)
    assert len(calls) == 1
    for new in (float("1.5"), 2.5, 1.5, 2.5, float("1.5")):
        scale = new
        assert program(X)[0] == 3 * new
    assert len(calls) == 2  # 1.5 and 2.5, once each


def test_counting_calls_is_not_a_change() -> None:
    count = 0
    log: list[Any] = []
    m = types.SimpleNamespace(last=None, calls=0)

    def f(w: Any) -> Any:
        nonlocal count
        count += 1
        m.calls += 1
        m.last = w * 2
        log.append(w)
        return np.sum(w * w)

    program = compile_gradient(f, X)
    assert (count, m.calls, len(log)) == (1, 1, 1)
    for _ in range(3):
        program(X)
        value_and_gradients_function(f)(X)  # the tape runs f and counts
    assert (count, m.calls, len(log)) == (4, 4, 4)
    assert isinstance(m.last, Tensor)


def test_state_that_f_itself_changes_and_uses_is_refused() -> None:
    n = 0
    m = types.SimpleNamespace(total=0.0)

    def counter(w: Any) -> Any:
        nonlocal n
        n += 1
        return np.sum(w) * n

    def running(w: Any) -> Any:
        m.total = 0.9 * m.total + 1.0
        return np.sum(w) * m.total

    with pytest.raises(TraceError, match="counter computes something else at every call, because it changes n"):
        compile_gradient(counter, X)
    with pytest.raises(TraceError, match=r"because it changes m\.total"):
        compile_gradient(running, X)
    numbers = itertools.count()
    with pytest.raises(TraceError, match="reads from numbers"):
        compile_gradient(lambda w: np.sum(w) * next(numbers), X)
    entropy = random.SystemRandom()
    with pytest.raises(TraceError, match="reads from entropy"):
        compile_gradient(lambda w: np.sum(w) * entropy.random(), X)


def test_writing_to_a_file_is_no_hidden_state() -> None:
    with io.StringIO() as file:
        program = compile_gradient(lambda w: [print("called", file=file), np.sum(w * w)][1], X)
        assert program(X)[0] == 5 and file.getvalue() == "called\n"


def test_something_kept_from_the_first_call_is_fine() -> None:
    m = types.SimpleNamespace(cache=None)

    def f(w: Any) -> Any:
        if m.cache is None:
            m.cache = np.array([2.0, 5.0])
        return np.sum(w * m.cache)

    program = compile_gradient(f, X)
    assert program(X)[0] == 12
    m.cache = np.array([1.0, 1.0])
    assert program(X)[0] == 3


@pytest.mark.parametrize("draw", ["numpy", "generator", "python", "state", "object"])
def test_random_numbers_are_refused(draw: str) -> None:
    generator, old = np.random.default_rng(0), np.random.RandomState(0)
    box = types.SimpleNamespace(rng=random.Random(0))
    f = {
        "numpy": lambda w: np.sum(w * np.random.normal(size=2)),  # noqa: NPY002
        "generator": lambda w: np.sum(w * generator.normal(size=2)),
        "python": lambda w: np.sum(w) * random.random(),
        "state": lambda w: np.sum(w) * old.rand(),
        "object": lambda w: np.sum(w) * box.rng.random(),
    }[draw]
    before = np.random.get_state()[1].tobytes(), random.getstate()  # type: ignore[index,union-attr] # noqa: NPY002
    with pytest.raises(TraceError, match="draws random numbers"):
        compile_gradient(f, X)
    assert before == (np.random.get_state()[1].tobytes(), random.getstate())  # type: ignore[index,union-attr] # noqa: NPY002


def test_random_numbers_with_a_seed_of_their_own() -> None:
    f = lambda w: np.sum(w * np.random.default_rng(7).normal(size=2)) + np.sum(nn.dropout(w, 0.5, 3))  # noqa: E731
    value, (gradient,) = compile_gradient(f, X)(X)
    expected, (slope,) = value_and_gradients_function(f)(X)
    assert value == expected.item() and gradient.tobytes() == slope.numpy().tobytes()


def test_the_value_of_a_variable_is_not_taken_out_unseen() -> None:
    v = Variable([1.0, 2.0])
    with pytest.raises(TraceError, match="value needs the value"):
        compile_gradient(lambda w: np.sum(w * v.value), X)
    with GradientTape() as tape:
        y = Variable(1.0) * v.value[0]
    assert tape.gradient(y, v) is None
    assert "converted to plain numpy by value" in tape.why_none(v)


def test_changes_without_end_are_told(caplog: pytest.LogCaptureFixture) -> None:
    scale = 1.0

    def f(w: Any) -> Any:
        return np.sum(w) * scale

    program = compile_gradient(f, X)
    for k in range(20):
        scale = float(k)
        assert program(X)[0] == 3 * scale
    assert [r.message for r in caplog.records if "because scale changes: pass it as argument" in r.message]
    assert len(caplog.records) == 1


def test_structures_of_arguments_are_told_apart() -> None:
    a, b = np.ones(2), np.full(2, 2.0)
    by_key = compile_gradient(lambda p: p["a"].sum() * 2 + p["b"].sum() * 3, {"a": a, "b": b})
    value, (gradient,) = by_key({"b": b, "a": 5 * a})
    assert value == 32 and list(gradient) == ["b", "a"] and gradient["a"].tolist() == [2, 2]
    keys = compile_gradient(lambda p: sum(v.sum() * k for k, v in p.items()), {1: a, 2: b})
    assert keys({1: a, 2: b})[0] == 10 and keys({1: a, 3: b})[0] == 14
    kind = compile_gradient(lambda p: p[0].sum() * (2 if isinstance(p, list) else 3) + p[1].sum(), [a, b])
    assert kind([a, b])[0] == 8 and kind((a, b))[0] == 10
    nested = compile_gradient(lambda p: p[0][0].sum() * 2 + len(p[0]) * p[1][0].sum(), [[a], [b, a]])
    assert nested([[a], [b, a]])[0] == 8 and nested([[a, a], [b]])[0] == 12


def test_a_program_inside_a_program_or_a_tape() -> None:
    inner = compile_gradient(lambda x: np.sum(x * x), X)
    with pytest.raises(TraceError, match="a compiled program needs the value"):
        compile_gradient(lambda w, x: np.sum(w) * inner(x)[0], X, X, params=[0])
    program = compile_gradient(lambda w: np.sum(w) * inner(X)[0], X)  # of constants it may be used
    assert program(X)[0] == 15
    v = Variable([1.0, 2.0], name="v")
    with GradientTape() as tape:
        y = Variable(1.0) * inner(v)[0]
    assert tape.gradient(y, v) is None
    assert "plain numpy by a compiled program" in tape.why_none(v)
