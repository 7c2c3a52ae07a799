"""numpy's functions on tensors: the error for what has no rule, comparisons, options, many points at once."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import GradientTape, Tensor, Variable, compile_gradient, gradients_function, hessian, nn
from core.autodiff.dispatch import FUNCTIONS, UFUNCS

PROMISED = [
    "add", "subtract", "multiply", "divide", "true_divide", "power", "float_power", "negative", "positive",
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "sqrt", "cbrt", "square",
    "reciprocal", "absolute", "abs", "fabs", "sign", "floor", "ceil", "rint", "round", "trunc", "sin", "cos",
    "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "hypot", "maximum", "minimum", "fmax", "fmin", "clip", "where", "greater", "greater_equal", "less",
    "less_equal", "equal", "not_equal", "sum", "mean", "var", "std", "prod", "max", "min", "cumsum", "sort",
    "reshape", "ravel", "transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze", "broadcast_to",
    "concatenate", "stack", "split", "tile", "repeat", "flip", "roll", "pad", "take", "diag", "trace",
    "diff", "dot", "matmul", "inner", "outer", "einsum", "tensordot",
]  # fmt: skip


@pytest.mark.parametrize("name", PROMISED)
def test_every_promised_function_has_a_rule(name: str) -> None:
    function = getattr(np, name)
    assert function in UFUNCS or function in FUNCTIONS


@pytest.mark.parametrize("name", ["norm", "inv", "det", "slogdet", "solve"])
def test_linear_algebra_has_rules(name: str) -> None:
    assert getattr(np.linalg, name) in FUNCTIONS


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: np.i0(x), "i0"), (lambda x: np.linalg.eig(x), "eig"), (lambda x: np.roots(x[0]), "roots"),
        (lambda x: np.frexp(x), "frexp"), (lambda x: np.linalg.eigvals(x), "eigvals"),
        (lambda x: np.histogram(x), "histogram"), (lambda x: np.fft.fft(x), "fft"), (lambda x: np.poly(x), "poly"),
    ],
)  # fmt: skip
def test_a_function_without_rule_names_itself_and_the_way_out(call: Any, name: str) -> None:
    with pytest.raises(TypeError) as error:
        call(Tensor(np.ones((2, 2))))
    text = str(error.value)
    assert name in text and "custom_gradient" in text and "stop_gradient" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.add(x, 1, where=False), lambda x: np.add(x, 1, out=np.zeros(3)), lambda x: np.add.at(x, 0, 1.0),
        lambda x: np.concatenate([x, x], dtype=np.int64), lambda x: np.take(x, [0.5]), lambda x: np.where(x > 0),
        lambda x: np.pad(x, 1, mode="empty"), lambda x: np.quantile(x, 0.5, method="inverted_cdf"),
        lambda x: np.quantile(np.ones(3), x), lambda x: np.linalg.qr(x * np.ones((3, 1)), mode="raw"),
        lambda x: np.cov(x, fweights=[1, 2, 3]), lambda x: np.interp(x, [0.0], [1.0], period=1.0),
        lambda x: np.sum(x, out=np.zeros(())), lambda x: np.cumsum(x, out=np.zeros(3)), lambda x: np.put(x, 0, 1.0),
        lambda x: np.fill_diagonal(x * np.ones((3, 1)), 0.0), lambda x: np.add(x, 1, dtype=np.int64),
    ],
)  # fmt: skip
def test_unsupported_options_are_refused(call: Any) -> None:
    with pytest.raises(TypeError):
        call(Tensor(np.ones(3)))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.reshape(x, (4, 2)), lambda x: np.squeeze(x, axis=0), lambda x: np.broadcast_to(x, (2, 2)),
        lambda x: np.sum(x, axis=3), lambda x: np.split(x, 2), lambda x: np.stack([x, np.ones(2)]),
        lambda x: np.transpose(x, (0, 0)), lambda x: np.einsum("ij,j", x), lambda x: np.sum(x, axis=(0, 0)),
        lambda x: np.concatenate([x, np.ones((3, 1))]), lambda x: np.tensordot(x, np.ones(4), 1),
    ],
)  # fmt: skip
def test_wrong_shapes_and_axes(call: Any) -> None:
    with pytest.raises((ValueError, IndexError)):
        call(Tensor(np.ones((3,))))


def test_comparisons_and_predicates_give_tensors_of_bools() -> None:
    x = Tensor([1.0, np.nan, -2.0])
    assert (x > 0).tolist() == [True, False, False]
    assert (x == x).tolist() == [True, False, True] and (x != 1.0).tolist() == [False, True, True]
    assert np.isnan(x).tolist() == [False, True, False]
    assert (np.isfinite(x) & (x < 0)).tolist() == [False, False, True]
    assert np.argmax(Tensor([1.0, 3.0])).item() == 1 and bool(np.all(Tensor([True])))
    assert np.isclose(1.0, Tensor([1.0, 2.0])).tolist() == [True, False]
    assert np.searchsorted(np.array([0.0, 1.0]), Tensor(0.5)).item() == 1
    assert Tensor(1.0) != "text" and (Tensor([1.0]) == None) is False  # noqa: E711
    assert len({Tensor(1.0), Tensor(1.0)}) == 2  # hashed by identity


def test_shape_functions_need_no_tensor() -> None:
    x = Tensor(np.ones((2, 3)))
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1), len(x)) == ((2, 3), 2, 6, 3, 2)
    assert isinstance(np.zeros_like(x), np.ndarray) and np.full_like(x, 2.0).tolist() == [[2.0] * 3] * 2
    assert np.result_type(x, np.float32) == np.float64


def test_text_and_numbers() -> None:
    x = Tensor(2.5)
    assert (repr(x), f"{x:.1f}", float(x), int(x), round(x).item()) == ("Tensor(2.5, dtype=float64)", "2.5", 2.5, 2, 2)
    assert complex(x) == 2.5 and [10, 20, 30][Tensor(1)] == 20 and x.item() == 2.5 and divmod(x, 2)[1].item() == 0.5
    assert "Variable" in repr(Variable(1.0, name="w")) and "'w'" in repr(Variable(1.0, name="w"))
    with pytest.raises(TypeError, match="iterated"):
        list(x)
    with pytest.raises(TypeError, match="holds numbers"):
        Tensor("text")


def test_methods_are_the_functions() -> None:
    data = np.arange(1.0, 7.0).reshape(2, 3)
    x = Tensor(data)
    for name, args in (
        ("sum", (0,)), ("mean", (1,)), ("prod", ()), ("max", (1,)), ("min", ()), ("var", ()), ("std", (0,)),
        ("cumsum", (1,)), ("argmax", (1,)), ("argmin", ()), ("clip", (2, 4)), ("round", ()), ("reshape", (3, 2)),
        ("reshape", ((3, -1),)), ("ravel", ()), ("flatten", ()), ("transpose", ()), ("transpose", (1, 0)),
        ("swapaxes", (0, 1)), ("squeeze", ()), ("repeat", (2, 0)), ("take", ([1],)), ("diagonal", ()), ("trace", ()),
        ("copy", ()), ("dot", (np.ones(3),)), ("any", ()), ("all", ()),
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(x, name)(*args), getattr(data, name)(*args), err_msg=name)
    np.testing.assert_array_equal(x.T, data.T)
    assert x.astype("float32").dtype == np.float32 and x.astype("bfloat16").dtype.itemsize == 2


def test_plain_arrays_first() -> None:
    a, x = np.array([1.0, 2.0]), Tensor([3.0, 4.0])
    for out, expected in (
        (a + x, [4, 6]), (a - x, [-2, -2]), (a * x, [3, 8]), (a / x, [1 / 3, 0.5]), (a**x, [1, 16]), (a @ x, 11),
        (np.float64(2) * x, [6, 8]), (2**x, [8, 16]), (np.ones(2).tolist() + x, [4, 5]),
        (a // x, [0, 0]), (a % x, [1, 2]),
    ):  # fmt: skip
        assert isinstance(out, Tensor)
        np.testing.assert_allclose(out, expected)


# ---- many points at once ----------------------------------------------------------------------------------


def rosenbrock(p: Any) -> Any:
    return (1 - p[..., 0]) ** 2 + 100 * (p[..., 1] - p[..., 0] ** 2) ** 2


def network(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
    """Weights (..., 2, 5), (..., 1, 5), (..., 5, 1): one loss for each leading index."""
    h = np.tanh(x @ w + b)
    return np.mean((h @ v - y) ** 2, axis=(-2, -1))


def test_a_grid_of_points() -> None:
    grid = np.stack(np.meshgrid(np.linspace(-2, 2, 7), np.linspace(-1, 3, 5)), axis=-1)
    program = compile_gradient(rosenbrock, grid)
    value, (gradient,) = program(grid)
    (on_tape,) = gradients_function(rosenbrock)(grid)
    single = gradients_function(rosenbrock)
    for index in np.ndindex(5, 7):
        assert value[index] == rosenbrock(grid[index])
        np.testing.assert_array_equal(gradient[index], single(grid[index])[0])
        np.testing.assert_array_equal(on_tape.numpy()[index], single(grid[index])[0])


def test_an_ensemble_of_networks() -> None:
    rng = np.random.default_rng(0)
    w, b, v = rng.normal(size=(6, 2, 5)), rng.normal(size=(6, 1, 5)), rng.normal(size=(6, 5, 1))
    x, y = rng.normal(size=(9, 2)), rng.normal(size=(9, 1))
    value, gradients = compile_gradient(network, w, b, v, x, y, params=[0, 1, 2])(w, b, v, x, y)
    assert value.shape == (6,)
    for k in range(6):
        single = gradients_function(network, params=[0, 1, 2])(w[k], b[k], v[k], x, y)
        for many, one in zip(gradients, single, strict=True):
            np.testing.assert_allclose(many[k], one, rtol=1e-12, atol=1e-15)


def test_batch_norm_and_losses_of_an_ensemble() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4, 10, 3))
    labels = rng.integers(0, 3, size=(4, 10))

    def loss(z: Any, labels: Any) -> Any:
        normal = nn.batch_norm(z, axis=-2)
        return np.mean(nn.softmax_cross_entropy(normal, labels, reduction="none"), axis=-1)

    many = gradients_function(loss, params=[0])(z, labels)[0]
    for k in range(4):
        np.testing.assert_allclose(
            many.numpy()[k], gradients_function(loss, params=[0])(z[k], labels[k])[0], rtol=1e-12
        )


def test_nothing_is_recorded_without_a_tape() -> None:
    x = Variable([1.0, 2.0])
    y = np.sum(np.exp(x) * 2)
    with GradientTape() as tape:
        pass
    assert tape.gradient(y, x) is None


def test_spectral_norm() -> None:
    x = np.array([[3.0, 0.0], [0.0, 4.0]])
    assert gradients_function(lambda x: np.linalg.norm(x, 2))(x)[0].tolist() == [[0, 0], [0, 1]]
    assert gradients_function(lambda x: np.linalg.norm(x, 2))(np.zeros((2, 2)))[0].tolist() == [[0, 0], [0, 0]]
    with pytest.raises(NotImplementedError, match="third"):
        hessian(lambda x: np.sum(hessian(lambda x: np.linalg.norm(x, 2), x) ** 2), x)
    with pytest.raises(ValueError, match="order 3"):
        np.linalg.norm(Tensor(x), 3)


def test_variables_are_compared_with_numbers_element_by_element_and_with_one_another_by_identity() -> None:
    v, same = Variable([0.0, 2.0]), Variable([0.0, 2.0])
    assert (v == 0).tolist() == [True, False] and (v != [0, 1]).tolist() == [False, True]
    assert (v == Tensor([0.0, 3.0])).tolist() == [True, False] and (np.array([0.0, 3.0]) == v).tolist() == [True, False]
    assert v != same and v == v and [same, v].index(v) == 1 and {v: 1}[v] == 1 and v != "text"
    with GradientTape() as tape:
        y = np.sum(np.where(v == 0, 5 * v, v**2))
    assert tape.gradient(y, v).tolist() == [5, 4]


def test_functions_on_variables_do_not_compare_by_identity() -> None:
    assert np.nan_to_num(Variable([np.inf, np.nan, 1.0])).tolist() == [np.finfo(float).max, 0, 1]
    assert np.linalg.norm(Variable([0.0, 2.0, 0.0]), 0).item() == 1
    assert np.interp(Variable([2.0]), [0.0, 2.0], [1.0, 3.0]).item() == 3
    assert np.choose(Variable([1, 0], dtype="int64"), [[1, 2], [3, 4]]).tolist() == [3, 2]
    assert nn.softmax_cross_entropy(np.array([-np.inf, 0.0]), Variable([0.0, 1.0])).item() == 0
