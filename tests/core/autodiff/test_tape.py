"""What a tape promises beside the recorded values: nesting, errors, threads, memory."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from core.autodiff import GradientTape, Tensor, Variable, gradients_function, hessian, value_and_gradients_function
from core.autodiff.state import state


def test_structures_of_sources_and_targets() -> None:
    a, b, c = Variable(2.0), Variable(3.0), Variable(4.0)
    with GradientTape() as tape:
        target = {"one": a * b, "more": [b * c]}
    found = tape.gradient(target, (a, [b, {"c": c}]))
    assert isinstance(found, tuple) and isinstance(found[1], list)
    assert [found[0].item(), found[1][0].item(), found[1][1]["c"].item()] == [3.0, 6.0, 3.0]


def test_watched_variables_in_order_of_construction() -> None:
    a, b = Variable(1.0), Variable(2.0)
    with GradientTape() as tape:
        _ = b * a
    assert tape.watched_variables() == (a, b)


def test_entering_twice() -> None:
    with GradientTape() as tape, pytest.raises(RuntimeError, match="recording already"), tape:
        pass
    with tape:  # after the block it may be used again
        pass


def test_the_stack_survives_errors() -> None:
    with pytest.raises(ZeroDivisionError), GradientTape(), GradientTape():
        raise ZeroDivisionError
    assert state.tapes == []
    with pytest.raises(ZeroDivisionError):
        gradients_function(lambda x: 1 / 0)(1.0)
    assert state.tapes == []


def test_gradient_inside_the_block_of_a_persistent_tape_is_recorded() -> None:
    x = Variable(3.0)
    with GradientTape(persistent=True) as tape:
        first = tape.gradient(x**3, x)
    assert tape.gradient(first, x).item() == 18.0


def test_gradient_inside_the_block_uses_a_tape_up() -> None:
    x = Variable(3.0)
    with GradientTape() as tape:
        assert tape.gradient(x**2, x).item() == 6
        y = x * x
    with pytest.raises(RuntimeError):
        tape.gradient(y, x)


def test_only_the_tape_that_watches_records() -> None:
    x = Tensor(2.0)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            y = x * x
    assert inner.gradient(y, x) is None
    assert outer.gradient(y, x).item() == 4


def test_intermediate_source_and_target_itself() -> None:
    x = Variable(2.0)
    with GradientTape(persistent=True) as tape:
        y = x * x
        z = y * 3 + y
    assert tape.gradient(z, y).item() == 4
    assert [g.item() for g in tape.gradient(z, [x, y])] == [16, 4]
    assert tape.gradient(y, y).item() == 1
    assert tape.gradient(x * 1, x) is None  # computed after the block


@pytest.mark.parametrize("value", [np.ones(2), 3.0, [1.0]])
def test_watching_something_else(value: Any) -> None:
    with GradientTape() as tape, pytest.raises(TypeError, match="only tensors and variables"):
        tape.watch(value)


def test_wrong_arguments() -> None:
    x = Variable([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        y = x * x
    with pytest.raises(TypeError, match="sources"):
        tape.gradient(y, np.ones(2))
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.gradient(y, x, unconnected_gradients="maybe")
    with pytest.raises(ValueError, match="shape"):
        tape.gradient(y, x, output_gradients=np.ones(3))
    with pytest.raises(ValueError, match="2 targets but 1"):
        tape.gradient([y, y], x, output_gradients=[y])
    with pytest.raises(RuntimeError, match="'with' block"):
        tape.stop_recording()
    with pytest.raises(ValueError, match="rows"):
        tape.batch_jacobian(np.sum(x), x)


def test_variables_of_other_floating_types() -> None:
    for dtype in ("float16", "float32", "bfloat16"):
        v = Variable([1.0, 2.0], dtype=dtype)
        with GradientTape() as tape:
            y = np.sum(2.0 * v**2 + 1)
        found = tape.gradient(y, v)
        assert found.dtype == v.dtype and str(y.dtype) == dtype
        np.testing.assert_array_equal(found.numpy().astype(float), [4.0, 8.0])


def test_mixed_types_give_each_source_its_own() -> None:
    a, b = Variable([1.0, 2.0], dtype="float32"), Variable([3.0, 4.0])
    with GradientTape() as tape:
        y = a * b
    ga, gb = tape.gradient(y, [a, b])
    assert (ga.dtype, gb.dtype) == (np.float32, np.float64)
    with GradientTape() as tape:
        y = np.sum(a.astype("float64") @ b)
    assert tape.gradient(y, a).dtype == np.float32


def test_results_share_no_memory() -> None:
    a, b = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    seed = np.ones(2)
    with GradientTape() as tape:
        y = a + np.reshape(b, (2,))
    found = [np.asarray(g) for g in tape.gradient(y, [a, b], output_gradients=seed)]
    found[0] += 1
    assert found[1].tolist() == [1, 1] and seed.tolist() == [1, 1]


def test_variable_read_before_it_is_assigned() -> None:
    v = Variable([2.0])
    with GradientTape() as tape:
        y = v * v
        v.assign([10.0])
        z = y * v
    np.testing.assert_array_equal(z, [40.0])
    np.testing.assert_array_equal(tape.gradient(z, v), [4.0 * 10.0 + 4.0])


def test_second_derivative_after_an_assignment_uses_the_value_that_was_read() -> None:
    v = Variable(2.0)
    with GradientTape() as outer:
        with GradientTape() as inner:
            y = v**3
        v.assign(100.0)
        first = inner.gradient(y, v)
    assert first.item() == 12 and outer.gradient(first, v).item() == 12


def test_tensors_cannot_be_changed() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(TypeError, match=r"np\.where"):
        x[0] = 3.0
    with pytest.raises(TypeError, match="in place"):
        np.add(np.ones(2), 1.0, out=x)  # type: ignore[call-overload]
    copy = x
    x += 1
    assert copy.tolist() == [1, 2] and x.tolist() == [2, 3]


def test_long_chains_need_no_recursion() -> None:
    x = Variable(1.0)
    with GradientTape() as tape:
        y = x
        for _ in range(20_000):
            y = y + 1e-6
    assert tape.gradient(y, x).item() == 1


def test_in_place_updates_of_plain_arrays_are_refused() -> None:
    total = np.zeros(2)
    with pytest.raises(TypeError, match=r"a = a \+ x"):
        total += Tensor([1.0, 2.0])


def test_warnings_are_off_and_come_back() -> None:
    before = np.geterr()
    found = gradients_function(lambda x: np.log(x))(0.0)[0]
    assert found.item() == np.inf
    assert np.geterr() == before


# ---- threads and memory -----------------------------------------------------------------------------------


def test_threads_do_not_see_each_other() -> None:
    shared = Variable(2.0)
    errors: list[str] = []
    start = threading.Barrier(4)

    def work(n: int) -> None:
        start.wait()
        for k in range(200):
            with GradientTape() as tape:
                y = shared ** (2 + n)
            g = tape.gradient(y, shared)
            expected = (2 + n) * 2.0 ** (1 + n)
            if g is None or abs(g.item() - expected) > 1e-12 or len(state.tapes):
                errors.append(f"thread {n} step {k}: {g}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    with GradientTape() as mine:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not errors and mine.watched_variables() == ()


def _network(w: Any, b: Any) -> Any:
    x = np.linspace(-1, 1, 12).reshape(4, 3)
    h = np.tanh(x @ w + b)
    return np.mean(np.where(h > 0, h, np.exp(h)) ** 2) + np.max(h[:, 0]) + np.sum(np.concatenate([h, h])[[0, 0, 1]])


ARGS = (np.linspace(0, 1, 6).reshape(3, 2), np.array([0.1, -0.2]))


def test_no_reference_cycles() -> None:
    value_and_gradients_function(_network)(*ARGS)
    hessian(lambda w: _network(w, ARGS[1]))(ARGS[0])
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            value_and_gradients_function(_network)(*ARGS)
            hessian(lambda w: _network(w, ARGS[1]))(ARGS[0])
            v = Variable(ARGS[0])
            with GradientTape() as tape:
                y = np.sum(np.exp(v) * np.argmax(v))
            assert tape.gradient(y, Variable(1.0)) is None
            del tape, y, v
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_the_backward_pass_frees_the_record() -> None:
    read_by_rules: list[weakref.ref[Any]] = []
    not_read: list[weakref.ref[Any]] = []
    x = Tensor(np.ones(3))
    with GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(5):
            y = np.exp(np.negative(y))
            read_by_rules.append(weakref.ref(y._value))
        for _ in range(3):
            y = y + 1
            not_read.append(weakref.ref(y._value))
    entries = tape._entries
    assert [r() is not None for r in read_by_rules] == [True] * 5
    assert [r() is not None for r in not_read] == [False, False, True]  # the last is y itself
    tape.gradient(y, x)
    assert [r() is not None for r in read_by_rules] == [False] * 5
    assert not any(e[3] is not None or e[4] is not None for e in entries) and tape._entries == []
