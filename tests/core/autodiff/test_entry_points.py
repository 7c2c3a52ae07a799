"""Corners of the entry points; the values are those TensorFlow 2.21 gives for the same lines (its GradientTape, and
gradients_function, implicit_grad and custom_gradient of its eager mode), unless a test says otherwise."""

import copy
import pickle
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

from core.autodiff import (
    GradientTape,
    Tensor,
    Variable,
    custom_gradient,
    gradients_function,
    hessian,
    hvp,
    implicit_gradients,
    implicit_value_and_gradients,
    jacobian,
    stop_gradient,
    value_and_gradients_function,
)

# ---- targets and the gradients arriving at them -----------------------------------------------------------------


def test_output_gradients_of_a_dictionary_go_by_key() -> None:
    a = Variable(1.0)
    with GradientTape(persistent=True) as tape:
        y = {"b": a * a, "a": 3.0 * a}
    assert tape.gradient(y, a, output_gradients={"a": Tensor(10.0), "b": Tensor(1.0)}).item() == 32
    assert tape.gradient(y, a, output_gradients=[10.0, 1.0]).item() == 32  # sorted keys, as TensorFlow flattens
    with pytest.raises(ValueError, match="the targets are called"):
        tape.gradient(y, a, output_gradients={"a": 1.0, "c": 1.0})


def test_output_gradients_nested_and_flat() -> None:
    a = Variable(1.0)
    with GradientTape(persistent=True) as tape:
        y = [a * a, [3.0 * a, 5.0 * a]]
    assert tape.gradient(y, a, output_gradients=[1.0, [10.0, 100.0]]).item() == 532
    assert tape.gradient(y, a, output_gradients=[1.0, 10.0, 100.0]).item() == 532
    with pytest.raises(ValueError, match="3 targets but 1"):
        tape.gradient(y, a, output_gradients=[1.0])
    with pytest.raises(ValueError, match="give a list"):
        tape.gradient(y, a, output_gradients=1.0)


@pytest.mark.parametrize("target", [None, [None], "y", {"a": None}])
def test_a_target_that_is_none_of_these(target: Any) -> None:
    a = Variable(1.0)
    with GradientTape(persistent=True) as tape:
        a * a
    for ask in (tape.gradient, lambda t, s: gradients_function(lambda x: [x, t])(2.0)):
        with pytest.raises(TypeError, match="the target must be a tensor"):
            ask(target, a)
    with pytest.raises(TypeError, match="target"):
        tape.jacobian(target, a)


def test_a_source_that_is_the_target_has_gradient_one() -> None:
    x, w = Tensor(3.0), Variable(1.0)
    with GradientTape() as tape:
        y = w * w
    assert [g.item() for g in tape.gradient([x, y], [x, w])] == [1, 2]
    with GradientTape() as tape:
        pass
    assert tape.gradient(w, w).item() == 1


def test_structures_keep_their_type() -> None:
    w, b = Variable(2.0), Variable(3.0)
    pair = namedtuple("pair", "w b")
    with GradientTape(persistent=True) as tape:
        y = w * b
    for sources in (OrderedDict(w=w, b=b), defaultdict(list, w=w, b=b), {"w": w, "b": b}):
        found = tape.gradient(y, sources)
        assert type(found) is type(sources) and list(found) == ["w", "b"]
        assert (found["w"].item(), found["b"].item()) == (3, 2)
    found = tape.gradient(y, pair(w, b))
    assert isinstance(found, pair) and (found.w.item(), found.b.item()) == (3, 2)
    assert tape.gradient(y, [w, [], {}])[1:] == [[], {}]


def test_jacobian_takes_one_target() -> None:
    x = Variable(3.0)
    with GradientTape(persistent=True) as tape:
        y = [x * x, x]
    with pytest.raises(TypeError, match=r"jacobian takes one tensor as target, not a list"):
        tape.jacobian(y, x)
    with pytest.raises(TypeError, match=r"batch_jacobian takes one source"):
        tape.batch_jacobian(np.stack([y[0]]), [x])


def test_jacobian_of_nothing_and_its_reasons() -> None:
    x, u = Variable([1.0, 2.0]), Variable([[1.0], [2.0]])
    with GradientTape(persistent=True) as tape:
        y = x * x
        none = y[:0]
    assert tape.jacobian(y, u) is None
    assert "was not used" in tape.why_none(u)
    assert tape.jacobian(3.0, x) is None
    assert "the target is no tensor" in tape.why_none(x)
    assert tape.batch_jacobian(y, u) is None
    assert "was not used" in tape.why_none(u)
    assert tape.jacobian(none, x).shape == (0, 2)  # tf.GradientTape.jacobian gives this shape as well


# ---- life of a tape ---------------------------------------------------------------------------------------------


def test_a_used_tape_can_be_entered_again() -> None:
    a = Variable(3.0)
    tape = GradientTape()
    for factor in (2.0, 5.0):
        with tape:
            y = factor * a
        assert tape.gradient(y, a).item() == factor
    with pytest.raises(RuntimeError, match="answers once"):
        tape.gradient(y, a)


def test_a_used_tape_can_be_told_what_to_watch_next() -> None:
    a, x = Variable(3.0), Tensor(2.0)
    tape = GradientTape()
    with tape:
        y = a * a
    tape.gradient(y, a)
    tape.watch(x)
    with tape:
        y = x * x
    assert tape.gradient(y, x).item() == 4


def test_reset_is_for_inside() -> None:
    a = Variable(3.0)
    with GradientTape() as tape:
        y = a * a
        assert tape.gradient(y, a).item() == 6
        with pytest.raises(RuntimeError, match="inside the tape's own 'with' block"):
            tape.reset()
    with pytest.raises(RuntimeError, match="inside the tape's own 'with' block"):
        tape.reset()


def test_arrays_may_be_changed_after_they_were_read() -> None:
    x = Tensor([1.0, 1.0])

    def gradient(f: Any, *arrays: Any) -> list[float]:
        given = [np.array(a) for a in arrays]
        with GradientTape() as tape:
            tape.watch(x)
            y = f(x, *given)
            for a in given:
                a[...] = a.flat[-1]
        found: list[float] = tape.gradient(y, x).tolist()
        return found

    assert gradient(lambda x, a: np.sum(x * a), [1.0, 2.0]) == [1, 2]
    assert gradient(lambda x, a: np.sum(a / x), [1.0, 2.0]) == [-1, -2]
    assert gradient(lambda x, a: np.sum(a[:, ::2] @ x), np.arange(12.0).reshape(3, 4)) == [12, 18]
    assert gradient(lambda x, a: np.sum(np.where(a, 3 * x, x)), [True, False]) == [3, 1]
    assert gradient(lambda x, i: np.sum(x[i] * x[i]), [0, 0, 1]) == [4, 2]
    assert gradient(lambda x, i: np.sum(x[..., i][..., :1]), [0, 1]) == [1, 0]
    assert gradient(lambda x, m: np.sum(x[m]), [True, False]) == [1, 0]
    assert gradient(lambda x, n: np.sum(np.repeat(x, n)), [1, 2]) == [1, 2]
    assert gradient(lambda x, a: np.sum(np.einsum("ij,j->i", a, x)), [[0.0, 1.0], [2.0, 3.0]]) == [2, 4]
    assert gradient(lambda x, a: np.sum(np.linalg.solve(a, x)), [[1.0, 0.0], [0.0, 2.0]]) == [1, 0.5]


def test_read_only_arrays_need_no_copy_and_layouts_are_kept() -> None:
    from core.autodiff.watching import as_it_is_now

    a = np.arange(24.0).reshape(4, 6)
    for view in (a, a.T, a[:, ::2], a[::-1, 1:], np.broadcast_to(a[0], (3, 6)), a[:0], np.array(3.0)):
        copy = as_it_is_now(view)
        assert copy.strides == view.strides or not view.size
        np.testing.assert_array_equal(copy, view)
        assert not np.shares_memory(copy, a)
    locked = np.ones(3)
    locked.setflags(write=False)
    assert as_it_is_now(locked) is locked
    assert as_it_is_now(np.broadcast_to(a[0], (2, 6))) is not locked


def test_variables_are_not_changed_by_operators() -> None:
    for line in ("v += 1.0", "v -= 1.0", "v *= 2.0", "v /= 2.0", "v //= 2.0", "v %= 2.0", "v **= 2.0", "v @= v"):
        space = {"v": Variable([1.0, 2.0], name="v")}
        with pytest.raises(RuntimeError, match=r"leave the variable 'v' as it is: use variable\.assign"):
            exec(line, space)
        assert space["v"].tolist() == [1, 2]


def test_integer_variables_lose_no_fraction() -> None:
    k = Variable(3, name="k")
    for change in (lambda: k.assign(2.7), lambda: k.assign_add(0.5), lambda: k.assign_sub(Tensor(0.5))):
        with pytest.raises(TypeError, match="'k' is of integer type"):
            change()
    assert k.assign(5.0).item() == 5 and k.assign_add(2).item() == 7
    assert Variable(1.0).assign(2).item() == 2


# ---- functions --------------------------------------------------------------------------------------------------


def test_keyword_arguments_are_passed_on() -> None:
    def f(x: Any, scale: float = 1.0) -> Any:  # TensorFlow refuses keywords
        return x * scale

    assert gradients_function(f)(2.0, scale=3.0)[0].item() == 3
    value, (g,) = value_and_gradients_function(f)(2.0, scale=3.0, dy=10.0)
    assert (value.item(), g.item()) == (6, 30)


def test_keyword_arguments_of_derivatives_are_passed_on() -> None:
    def f(x: Any, power: int = 2) -> Any:
        return np.sum(x**power)

    x, v = np.array([1.0, 2.0]), np.array([1.0, 10.0])
    for found in (jacobian(f)(x, power=3), jacobian(f, x, power=3)):
        assert found.tolist() == [3, 12]
    for found in (hessian(f)(x, power=3), hessian(f, x, power=3)):
        assert found.tolist() == [[6, 0], [0, 12]]
    for found in (hvp(f)(x, v, power=3), hvp(f, x, v, power=3), hvp(f, x, power=3)(v), hvp(f, x)(v, power=3)):
        assert found.tolist() == [6, 120]


def test_copies_of_a_tensor_are_the_tensor() -> None:
    x = Variable([1.0, 2.0])
    with GradientTape() as tape:
        y = x * x
        z = np.sum(copy.copy(y) * copy.deepcopy({"y": y})["y"])
    assert tape.gradient(z, x).tolist() == [4, 32]
    assert copy.copy(y) is y
    again = pickle.loads(pickle.dumps(y))
    assert again is not y and again.tolist() == [1, 4]
    twin = copy.deepcopy(x)
    twin.assign([5.0, 5.0])
    assert x.tolist() == [1, 2]


def test_arrays_made_of_a_tensor_do_not_reach_into_it() -> None:
    x = Tensor([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        np.asarray(y)[:] = 7
        np.array(y, copy=False).view()
        with pytest.raises(ValueError, match="read-only"):
            np.array(y, copy=False)[:] = 7
        z = np.sum(y * y)
    assert z.item() == 17 and tape.gradient(z, x).tolist() == [4, 32]


def test_everything_that_was_read_is_in_the_implicit_list() -> None:
    w = Variable(2.0, name="w")

    def found(f: Any) -> list[tuple[Any, str]]:
        return [(g if g is None else g.item(), v.name) for g, v in implicit_gradients(f)()]

    k = Variable(3.0, name="k")
    assert found(lambda: w * float(k)) == [(None, "k"), (3, "w")]
    assert found(lambda: w if k > 10 else w * w) == [(None, "k"), (4, "w")]
    assert found(lambda: w * stop_gradient(k * 1.0)) == [(None, "k"), (3, "w")]
    assert found(lambda: [k.assign(5.0), w * w][1]) == [(None, "k"), (4, "w")]
    assert found(lambda: w * k.shape.__len__() + w) == [(1, "w")]
    whole = Variable(3, name="whole")
    assert found(lambda: w * w * whole) == [(12, "w"), (None, "whole")]
    with GradientTape() as tape:
        k.assign_add(1.0)
        whole * 2
    assert tape.watched_variables() == (k, whole)


def test_a_variable_that_is_returned_was_read() -> None:
    w = Variable(2.0)  # (TensorFlow says that none was accessed)
    assert [(g.item(), v) for g, v in implicit_gradients(lambda: w)()] == [(1, w)]
    value, pairs = implicit_value_and_gradients(lambda: [w * w, w])()
    assert value[0].item() == 4 and pairs[0][0].item() == 5


# ---- custom_gradient --------------------------------------------------------------------------------------------


def test_custom_gradient_with_variables() -> None:
    w, u = Variable(5.0, name="w"), Variable(1.0, name="u")

    @custom_gradient
    def with_keywords(x: Any) -> Any:
        def grad(dy: Any, **more: Any) -> Any:
            return dy * w * 1.0, [dy * (100.0 + i) for i, v in enumerate(more["variables"])]

        return x * w * u, grad

    @custom_gradient
    def second_order(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * w * x, [dy * x * x for _ in variables]

        return x * w, grad

    @custom_gradient
    def no_arguments() -> Any:
        return w * w, lambda dy, variables: ([], [dy * 1000.0 for _ in variables])

    x = Tensor(2.0)
    with GradientTape(persistent=True) as outer:
        outer.watch(x)
        y, z = with_keywords(x), no_arguments()
        with GradientTape() as inner:
            inner.watch(x)
            second = second_order(x)
        gradients = inner.gradient(second, [x, w])
    assert [g.item() for g in outer.gradient(y, [x, w, u])] == [5, 100, 101]
    assert outer.gradient(z, w).item() == 1000
    assert [g.item() for g in gradients] == [10, 4]
    assert [g.item() for g in outer.gradient(gradients, [x, w])] == [9, 2]


def test_custom_gradient_says_when_variables_have_no_gradient() -> None:
    w, fixed = Variable(5.0, name="w"), Variable(5.0, trainable=False)
    as_argument = custom_gradient(lambda x, v: (x * v, lambda dy: (dy * 7.0, dy * 8.0)))
    reading = custom_gradient(lambda x: (x * w, lambda dy: dy))
    with pytest.raises(TypeError, match=r"reads 'w', so its grad must take variables="):
        gradients_function(reading)(2.0)
    with pytest.raises(TypeError, match=r"must return \(gradients for the arguments"):
        gradients_function(custom_gradient(lambda x: (x * w, lambda dy, variables: dy)))(2.0)
    with pytest.raises(ValueError, match="2 gradients for 1 variables"):
        gradients_function(custom_gradient(lambda x: (x * w, lambda dy, variables: (dy, [dy, dy]))))(2.0)
    with GradientTape() as tape:
        y = as_argument(w, fixed)
    assert tape.gradient(y, w).item() == 7
    assert gradients_function(custom_gradient(lambda x: (x * fixed, lambda dy: dy * 9.0)))(2.0)[0].item() == 9
    stopped = custom_gradient(lambda x: (x * stop_gradient(w), lambda dy: dy * 9.0))
    assert gradients_function(stopped)(2.0)[0].item() == 9


class Scaled:
    factor = 3.0

    @custom_gradient
    def call(self, x: Any, mode: str) -> Any:
        return x * self.factor, lambda dy: dy * 7.0

    @custom_gradient
    def product(self, x: Any, y: Any) -> Any:
        return x * y, lambda dy: (dy * 10.0, dy * 20.0)


def test_custom_gradient_of_a_method() -> None:
    s = Scaled()
    assert gradients_function(lambda x: s.call(x, "mode"))(2.0)[0].item() == 7
    assert [g.item() for g in gradients_function(s.product)(2.0, 3.0)] == [10, 20]


def test_the_value_of_a_custom_gradient_is_its_own() -> None:
    buffer = np.zeros(2)

    @custom_gradient
    def square(x: Any) -> Any:
        buffer[:] = x.numpy() ** 2
        return buffer, lambda dy: dy * 2.0 * x

    x = Variable([1.0, 3.0])
    with GradientTape() as tape:
        first = square(x)
        second = square(x + 1.0)
        y = np.sum(first * second)
    assert first.tolist() == [1, 9] and second.tolist() == [4, 16]
    assert tape.gradient(y, x).tolist() == [2 * 1 * 4 + 1 * 2 * 2, 2 * 3 * 16 + 9 * 2 * 4]


def test_custom_gradient_with_structures() -> None:
    a, b = Tensor(2.0), Tensor(3.0)
    of_list = custom_gradient(lambda xs: (xs[0] * xs[1], lambda dy: (dy * 10.0, dy * 20.0)))
    of_dict = custom_gradient(lambda p: (p["a"] * p["b"], lambda dy: {"b": dy * 20.0, "a": dy * 10.0}))
    mixed = custom_gradient(lambda p, x: (p["a"] * x, lambda dy: [{"a": dy * 10.0}, dy * 20.0]))
    nothing = custom_gradient(lambda p, x: (p["a"] * x, lambda dy: [None, dy * 20.0]))
    for call, expected in (
        (lambda: of_list([a, b]), [10, 20]),
        (lambda: of_dict({"b": b, "a": a}), [10, 20]),
        (lambda: mixed({"b": 1.0, "a": a}, b), [10, 20]),
        (lambda: nothing({"b": 1.0, "a": a}, b), [None, 20]),
    ):
        with GradientTape() as tape:
            tape.watch([a, b])
            y = call()
        assert [g if g is None else g.item() for g in tape.gradient(y, [a, b])] == expected


def test_custom_gradient_with_several_values_in_any_structure() -> None:
    @custom_gradient
    def named(x: Any) -> Any:
        return {"b": x * x, "a": x * x * x}, lambda da, db: da * 10.0 + db * 20.0  # by sorted key

    @custom_gradient
    def nested(x: Any) -> Any:
        return (x * x, [x * x * x, x]), lambda p, q, r: p * 10.0 + q * 20.0 + r * 30.0

    assert {key: v.item() for key, v in named(Tensor(2.0)).items()} == {"a": 8, "b": 4}
    assert gradients_function(lambda x: named(x)["a"])(2.0)[0].item() == 10
    assert gradients_function(lambda x: nested(x)[1][1])(2.0)[0].item() == 30
    assert gradients_function(lambda x: nested(x)[0] * nested(x)[1][0])(2.0)[0].item() == 10 * 8 + 20 * 4


def test_values_of_several_types_keep_theirs() -> None:
    @custom_gradient
    def both(x: Any) -> Any:
        return (x * 2, x.astype("float32"), np.argmax(x)), lambda a, b, _: 10 * a + 100 * b.astype("float64")

    x = np.array([1.0, 3.0])
    values: list[Any] = []

    def f(x: Any) -> Any:
        values.extend(both(x))
        return np.sum(values[0]) + np.sum(values[1].astype("float64"))

    assert gradients_function(f)(x)[0].tolist() == [110, 110]
    assert [v.dtype for v in values] == [np.float64, np.float32, np.int64]
    assert values[2].item() == 1


def test_custom_gradient_is_asked_in_every_reverse_pass() -> None:
    """The formula: y = x**3 has slope 3 w x**2 and second derivative 6 w x for the weight w arriving."""

    @custom_gradient
    def cube(x: Any) -> Any:
        return x * x * x, lambda dy: dy * 3.0 * x * x

    x = Variable([2.0])
    weight = np.array([1.0])
    with GradientTape(persistent=True) as inner:
        y = cube(x)
    assert inner.gradient(y, x, output_gradients=weight).tolist() == [12]
    weight[0] = 5.0  # the same array, with another value
    assert inner.gradient(y, x, output_gradients=weight).tolist() == [60]
    with GradientTape() as outer:
        outer.watch(x)
        g = inner.gradient(y, x, output_gradients=weight)
    assert outer.gradient(g, x).tolist() == [60]
