"""Every rule against central differences at random points, shapes and axes, first and second order."""

from typing import Any

import hypothesis.extra.numpy as hn
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from core.autodiff import nn
from tests.core.autodiff.differences import check, spread

few = settings(max_examples=6, deadline=None)
seeds = st.integers(0, 10_000)
shapes = hn.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3)

SMOOTH = {
    "exp": (np.exp, -1, 1),
    "exp2": (np.exp2, -1, 1),
    "expm1": (np.expm1, -1, 1),
    "log": (np.log, 0.3, 2),
    "log1p": (np.log1p, -0.5, 2),
    "log2": (np.log2, 0.3, 2),
    "log10": (np.log10, 0.3, 2),
    "sqrt": (np.sqrt, 0.3, 2),
    "cbrt": (np.cbrt, 0.4, 2),
    "square": (np.square, -1, 1),
    "reciprocal": (np.reciprocal, 0.4, 2),
    "negative": (np.negative, -1, 1),
    "positive": (np.positive, -1, 1),
    "sin": (np.sin, -2, 2),
    "cos": (np.cos, -2, 2),
    "tan": (np.tan, -1, 1),
    "arcsin": (np.arcsin, -0.8, 0.8),
    "arccos": (np.arccos, -0.8, 0.8),
    "arctan": (np.arctan, -2, 2),
    "sinh": (np.sinh, -2, 2),
    "cosh": (np.cosh, -2, 2),
    "tanh": (np.tanh, -2, 2),
    "arcsinh": (np.arcsinh, -2, 2),
    "arccosh": (np.arccosh, 1.4, 3),
    "arctanh": (np.arctanh, -0.8, 0.8),
    "deg2rad": (np.deg2rad, -90, 90),
    "rad2deg": (np.rad2deg, -1, 1),
    "abs": (np.abs, 0.3, 1),
    "fabs": (np.fabs, -2, -1),
    "sign": (np.sign, 0.3, 1),
    "floor": (np.floor, 0.1, 0.9),
    "ceil": (np.ceil, 0.1, 0.9),
    "rint": (np.rint, 0.6, 0.9),
    "trunc": (np.trunc, 0.1, 0.9),
    "fix": (np.fix, -0.9, -0.1),
    "round": (lambda x: np.round(x, 1), 0.06, 0.14),
    "power 3": (lambda x: x**3, -1, 1),
    "power 0": (lambda x: x**0 + x, -1, 1),
    "power 1": (lambda x: x**1, -1, 1),
    "power -1": (lambda x: x**-1, 0.5, 2),
    "power 0.5": (lambda x: x**0.5, 0.5, 2),
    "power -2": (lambda x: x**-2, 0.5, 2),
    "power 2.5": (lambda x: np.power(x, 2.5), 0.5, 2),
    "2 to the power": (lambda x: 2.0**x, -1, 1),
    "clip": (lambda x: np.clip(x, -2, 2) + np.clip(x, -3, -1.5) * x + np.clip(x, 1.5, None), -1, 1),
    "clip above": (lambda x: np.clip(x, None, 1.5) ** 2, -1, 1),
    "nan_to_num": (np.nan_to_num, -1, 1),
    "astype": (lambda x: x.astype(np.float64) * 2, -1, 1),
    "relu": (nn.relu, 0.1, 1),
    "leaky_relu": (nn.leaky_relu, -1, -0.1),
    "elu": (nn.elu, -1, -0.1),
    "elu positive": (nn.elu, 0.1, 1),
    "gelu": (nn.gelu, -2, 2),
    "gelu tanh": (lambda x: nn.gelu(x, True), -2, 2),
    "silu": (nn.silu, -2, 2),
    "sigmoid": (nn.sigmoid, -3, 3),
    "softplus": (nn.softplus, -3, 3),
    "erf": (nn.erf, -2, 2),
    "dropout": (lambda x: nn.dropout(x, 0.4, seed=3), -1, 1),
}


@pytest.mark.parametrize("name", SMOOTH)
@few
@given(shape=shapes, seed=seeds)
def test_functions_of_one_argument(name: str, shape: tuple[int, ...], seed: int) -> None:
    f, low, high = SMOOTH[name]
    check(f, spread(seed, shape, low, high), seed=seed)


PAIRS = {
    "add": (np.add, -1, 1),
    "subtract": (np.subtract, -1, 1),
    "multiply": (np.multiply, -1, 1),
    "divide": (np.divide, 0.5, 2),
    "power": (np.power, 0.5, 2),
    "arctan2": (np.arctan2, 0.3, 1),
    "hypot": (np.hypot, 0.3, 1),
    "logaddexp": (np.logaddexp, -2, 2),
    "logaddexp2": (np.logaddexp2, -2, 2),
    "remainder": (lambda x, y: np.remainder(x + 0.3, y), 1.1, 1.35),
    "floor_divide": (lambda x, y: x // (y / 6.5), 1.1, 1.13),
    "where": (lambda x, y: np.where(x > 2, y, x * y) + np.where(x < 2, x, y), -1, 1),
    "huber": (lambda x, y: nn.huber(x, y, 2.5) + nn.huber(5 + x, y, 2.5), -1, 1),
    "mse": (nn.mean_squared_error, -1, 1),
    "nested": (lambda x, y: np.sin(x * y) / (1 + x * x), -1, 1),
    "sigmoid_cross_entropy": (lambda z, y: nn.sigmoid_cross_entropy(5 * z, y * y, "none"), -1, 1),
}


@pytest.mark.parametrize("name", PAIRS)
@few
@given(shapes=hn.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), seed=seeds)
def test_functions_of_two_arguments_that_broadcast(name: str, shapes: Any, seed: int) -> None:
    f, low, high = PAIRS[name]
    a, b = (spread(seed + k, s, low, high) for k, s in enumerate(shapes.input_shapes))
    check(f, a, b, seed=seed)


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
@few
@given(shapes=hn.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=2), seed=seeds)
def test_the_larger_and_the_smaller(f: Any, shapes: Any, seed: int) -> None:
    sizes = [int(np.prod(s)) for s in shapes.input_shapes]
    every = spread(seed, (sum(sizes) + 1,), -1, 1)  # all far from one another
    a, b = every[: sizes[0]].reshape(shapes.input_shapes[0]), every[sizes[0] : -1].reshape(shapes.input_shapes[1])
    check(f, a, b, seed=seed)
    check(lambda x: f(x, float(every[-1])), a, seed=seed)


REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "var": np.var,
    "std": np.std,
    "logsumexp": nn.logsumexp,
    "ptp": np.ptp,
    "average": np.average,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@few
@given(
    shape=hn.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=3),
    seed=seeds,
    keepdims=st.booleans(),
    data=st.data(),
)
def test_reductions(name: str, shape: tuple[int, ...], seed: int, keepdims: bool, data: st.DataObject) -> None:
    axes = hn.valid_tuple_axes(len(shape), min_size=1)
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape), len(shape) - 1), axes))
    f = REDUCTIONS[name]
    check(lambda x: f(x, axis=axis, keepdims=keepdims), spread(seed, shape, -1, 1.1), seed=seed)


ALONG = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "sort": np.sort,
    "flip": np.flip,
    "diff": lambda x, axis: np.diff(x, axis=-1 if axis is None else axis),
    "softmax": lambda x, axis: nn.softmax(x, axis),
    "log_softmax": lambda x, axis: nn.log_softmax(x, axis),
    "roll": lambda x, axis: np.roll(x, 2, axis),
    "repeat": lambda x, axis: np.repeat(x, 2, axis=axis),
    "take": lambda x, axis: np.take(x, [[1, 0], [1, 1]], axis=axis),
    "stack": lambda x, axis: np.stack([x, x * x], axis or 0),
    "concatenate": lambda x, axis: np.concatenate([x, np.sin(x)], axis=axis),
    "split": lambda x, axis: np.array_split(x, 2, axis=axis or 0)[0] ** 2,
    "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
    "norm 1": lambda x, axis: np.linalg.norm(x, 1, axis=axis or 0),
    "norm inf": lambda x, axis: np.linalg.norm(x, np.inf, axis=axis or 0),
    "norm 3": lambda x, axis: np.linalg.norm(x, 3, axis=axis or 0),
    "norm -inf": lambda x, axis: np.linalg.norm(x, -np.inf, axis=axis or 0),
    "layer_norm": lambda x, axis: nn.layer_norm(x, axis=axis),
    "batch_norm": lambda x, axis: nn.batch_norm(x, axis=axis),
    "expand": lambda x, axis: np.expand_dims(x, axis or 0) * 2,
    "moveaxis": lambda x, axis: np.moveaxis(x, axis or 0, -1) ** 2,
    "swapaxes": lambda x, axis: np.swapaxes(x, axis or 0, -1) ** 2,
}


@pytest.mark.parametrize("name", ALONG)
@few
@given(shape=hn.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=3), seed=seeds, data=st.data())
def test_functions_along_an_axis(name: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape), len(shape) - 1)))
    check(lambda x: ALONG[name](x, axis), spread(seed, shape, 0.3, 2), seed=seed, rtol=1e-5)


@few
@given(data=st.data(), shape=hn.array_shapes(max_dims=3, max_side=4), seed=seeds)
def test_basic_indexing(data: st.DataObject, shape: tuple[int, ...], seed: int) -> None:
    index = data.draw(hn.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    check(lambda x: x[index] ** 2, spread(seed, shape, 0.5, 2), seed=seed)


@few
@given(data=st.data(), shape=hn.array_shapes(max_dims=3, max_side=4), seed=seeds)
def test_fancy_indexing_with_duplicates(data: st.DataObject, shape: tuple[int, ...], seed: int) -> None:
    index = data.draw(hn.integer_array_indices(shape, result_shape=hn.array_shapes(max_dims=2, max_side=4)))
    check(lambda x: x[index] ** 2, spread(seed, shape, 0.5, 2), seed=seed)


@few
@given(data=st.data(), shape=hn.array_shapes(max_dims=3, max_side=3), seed=seeds)
def test_boolean_indexing(data: st.DataObject, shape: tuple[int, ...], seed: int) -> None:
    mask = data.draw(hn.arrays(bool, shape))
    check(lambda x: x[mask] ** 2, spread(seed, shape, 0.5, 2), seed=seed)


@few
@given(shapes=hn.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=2, max_side=3), seed=seeds)
def test_matmul_of_vectors_matrices_and_batches(shapes: Any, seed: int) -> None:
    a, b = (spread(seed + k, s, -1, 1) for k, s in enumerate(shapes.input_shapes))
    check(np.matmul, a, b, seed=seed)


PRODUCTS = {
    "dot": (np.dot, (3, 2), (2, 4)),
    "dot nd": (np.dot, (2, 3, 2), (2, 4)),
    "dot vector": (np.dot, (3,), (3,)),
    "dot 3d": (np.dot, (2, 3), (2, 3, 2)),
    "inner": (np.inner, (2, 3), (4, 3)),
    "outer": (np.outer, (2, 2), (3,)),
    "vdot": (np.vdot, (2, 2), (2, 2)),
    "tensordot": (lambda a, b: np.tensordot(a, b, ((1, 0), (0, 2))), (2, 3, 2), (3, 2, 2)),
    "tensordot 1": (lambda a, b: np.tensordot(a, b, 1), (2, 3), (3, 2)),
    "einsum batch": (lambda a, b: np.einsum("bij,bjk->bik", a, b), (2, 2, 3), (2, 3, 2)),
    "einsum implicit": (lambda a, b: np.einsum("ij,jk", a, b), (2, 3), (3, 2)),
    "einsum trace": (lambda a, b: np.einsum("iij,j->i", a, b), (3, 3, 2), (2,)),
    "einsum sum": (lambda a, b: np.einsum("ij,k->j", a, b), (2, 3), (2,)),
    "einsum dots": (lambda a, b: np.einsum("...i,i...->...", a, b), (2, 3), (3, 2)),
    "einsum diagonal": (lambda a, b: np.einsum("ii,i->i", a, b), (3, 3), (3,)),
    "solve": (lambda a, b: np.linalg.solve(a + 3 * np.eye(3), b), (3, 3), (3, 2)),
    "solve vector": (lambda a, b: np.linalg.solve(a + 3 * np.eye(3), b), (3, 3), (3,)),
    "solve batch": (lambda a, b: np.linalg.solve(a + 3 * np.eye(2), b), (3, 2, 2), (2, 2)),
    "kron": (np.kron, (2, 2), (3, 1, 2)),
    "cross": (np.cross, (2, 3), (3,)),
    "meshgrid": (lambda a, b: np.meshgrid(a, b)[0] * np.meshgrid(a, b, indexing="ij")[1].T, (3,), (2,)),
    "append": (np.append, (2, 2), (3,)),
    "vstack": (lambda a, b: np.vstack([a, b]), (2, 3), (3,)),
    "hstack": (lambda a, b: np.hstack([a, b]), (2, 3), (2, 1)),
    "column_stack": (lambda a, b: np.column_stack([a, b]), (3,), (3, 2)),
    "softmax_cross_entropy": (lambda z, y: nn.softmax_cross_entropy(z, y * y), (3, 4), (3, 4)),
}


@pytest.mark.parametrize("name", PRODUCTS)
@few
@given(seed=seeds)
def test_products_and_joins(name: str, seed: int) -> None:
    f, first, second = PRODUCTS[name]
    check(f, spread(seed, first, -1, 1), spread(seed + 1, second, -1, 1), seed=seed, rtol=1e-5)


COLUMNS = np.array([4.0, 0.0, -9.0]) * np.ones((3, 1))
MATRICES = {
    "inv": lambda x: np.linalg.inv(x + 3 * np.eye(3)),
    "det": np.linalg.det,
    "slogdet": lambda x: np.linalg.slogdet(x + 3 * np.eye(3))[1],
    "trace": np.trace,
    "trace offset": lambda x: np.trace(x, 1),
    "diag": np.diag,
    "diag below": lambda x: np.diag(x, -1),
    "diag of a vector": lambda x: np.diag(x[0], 1),
    "diagonal": np.diagonal,
    "triu": np.triu,
    "tril": lambda x: np.tril(x, -1),
    "frobenius": lambda x: np.linalg.norm(x, "fro"),
    "norm": np.linalg.norm,
    "norm 1": lambda x: np.linalg.norm(x + COLUMNS, 1),
    "norm inf": lambda x: np.linalg.norm(x + COLUMNS.T, np.inf),
    "norm 2": lambda x: np.linalg.norm(x, 2),
    "norm 2 of a wide matrix": lambda x: np.linalg.norm(x[:2] + 1, 2),
    "norm 2 of a tall matrix": lambda x: np.linalg.norm(x[:, :1] * np.array([1.0, 2.0]), 2),
    "norm 2 of a batch": lambda x: np.linalg.norm(np.stack([x, x @ x]), 2, axis=(2, 0), keepdims=True),
    "transpose": lambda x: x.T @ x,
    "rot90": np.rot90,
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "pad": lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=2.0),
    "pad edge": lambda x: np.pad(x, 1, mode="edge") ** 2,
    "pad reflect": lambda x: np.pad(x, 1, mode="reflect") ** 2,
    "pad wrap": lambda x: np.pad(x, 1, mode="wrap") ** 2,
    "tile": lambda x: np.tile(x, (2, 1, 2)) ** 2,
    "reshape": lambda x: np.reshape(x, (-1, 1)) * x[0],
    "ravel": lambda x: np.ravel(x) ** 2,
    "squeeze": lambda x: np.squeeze(x[:, :1]) ** 2,
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 3)) ** 2,
    "atleast": lambda x: np.atleast_2d(x[0]) ** 2,
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[0, 0], [2, 1], [1, 1]]), 1),
    "repeat counts": lambda x: np.repeat(x, [1, 0, 2], axis=1),
    "hsplit": lambda x: np.hsplit(x, 3)[1] ** 2,
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.ones((2, 1, 1)))[0] ** 2,
}


@pytest.mark.parametrize("name", MATRICES)
@few
@given(seed=seeds)
def test_functions_of_a_matrix(name: str, seed: int) -> None:
    check(MATRICES[name], spread(seed, (3, 3), -1, 1), seed=seed, rtol=1e-5)
