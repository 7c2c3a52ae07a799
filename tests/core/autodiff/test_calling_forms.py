"""The ways to call numpy's functions: each gives numpy's value and type, and the gradient of central differences.

Values come from numpy itself on plain arrays, first and second derivatives from differences (differences.py); compiled
programs must give the same bits.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from core.autodiff import GradientTape, Tensor, Variable, gradients_function
from tests.core.autodiff.differences import check, spread

MASK = np.array([True, False, True])
SHAPES = {
    "s": (), "r": (), "v": (3,), "w": (3,), "u": (4,), "o": (1,), "x": (2, 3), "y": (2, 3), "c": (2, 1),
    "h": (4, 2), "m": (3, 3), "q": (3, 3), "t": (2, 3, 4), "b": (2, 3, 3),
}  # fmt: skip


def arguments(names: str) -> list[Any]:
    """Numbers between 0.3 and 1.5; square matrices far from singular."""
    found = []
    for k, name in enumerate(names):
        a = spread(7 * k + 1, SHAPES[name], 0.3, 1.5)
        found.append(a + 2 * np.eye(3) if name in "mqb" else a)
    return found


# name of the form -> (the arguments, by the names in SHAPES; the call)
FORMS: dict[str, tuple[str, Callable[..., Any]]] = {
    # operators, in both orders and with lists
    "lists of tensors": ("vs", lambda v, s: v * [s, 2.0, s * s] + [1, 2, 3]),
    "list minus": ("v", lambda v: [1.0, 2.0, 3.0] - v),
    "divmod reflected": ("v", lambda v: divmod([5.0, 6.0, 7.0], v)[1]),
    "divmod": ("vs", lambda v, s: np.divmod(v + 3, s)[1] + divmod(3.1, s)[1]),
    "fmod": ("v", lambda v: np.fmod(v - 3.6, [1.0, 2.0, 1.7])),
    "modf": ("v", lambda v: np.modf(v + 0.05)[0] * v),
    "ldexp": ("v", lambda v: np.ldexp(v, [1, -2, 3])),
    "copysign": ("vw", lambda v, w: np.copysign(v, w - 4)),
    "heaviside": ("v", lambda v: np.heaviside(v - 5, 0.5) + v),
    "nextafter": ("v", lambda v: np.nextafter(v, 9.0) ** 2),
    "sinc": ("v", lambda v: np.sinc(v) + np.sinc(v - v + 1e-3 * v)),
    "float_power": ("vw", np.float_power),
    "dtype of a ufunc": ("v", lambda v: np.exp(v, dtype=np.float64)),
    # methods of ufuncs
    "reduce initial": ("x", lambda x: np.add.reduce(x, axis=1, initial=2.0, keepdims=True)),
    "reduce where": ("x", lambda x: np.multiply.reduce(x, axis=1, where=MASK)),
    "logaddexp.reduce": ("x", lambda x: np.logaddexp.reduce(x, axis=None)),
    "subtract.reduce": ("x", lambda x: np.subtract.reduce(x)),
    "power.reduce": ("v", lambda v: np.power.reduce(v)),
    "hypot.reduce": ("x", lambda x: np.hypot.reduce(x, axis=(0, 1))),
    "maximum.accumulate": ("x", lambda x: np.maximum.accumulate(x, axis=1)),
    "add.reduceat": ("u", lambda u: np.add.reduceat(u, [0, 2, 1])),
    "subtract.outer": ("vx", lambda v, x: np.subtract.outer(v, x) ** 2),
    "power.outer": ("vu", np.power.outer),
    # reductions with all their options
    "sum where initial": ("x", lambda x: np.sum(x * x, axis=1, where=MASK, initial=1.0)),
    "sum method": ("x", lambda x: x.sum(0, None, None, True)),
    "mean where": ("x", lambda x: np.mean(x * x, axis=1, where=MASK, keepdims=True)),
    "mean method": ("x", lambda x: x.mean(1, np.float64)),
    "var where": ("x", lambda x: np.var(x, axis=1, ddof=1, where=MASK)),
    "var mean": ("x", lambda x: np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True), correction=0.5)),
    "std method": ("x", lambda x: x.std(1, None, None, 1)),
    "std where": ("x", lambda x: np.std(x, axis=1, where=MASK)),
    "prod where": ("x", lambda x: np.prod(x, axis=1, where=MASK, initial=3.0)),
    "max initial": ("x", lambda x: np.max(x, axis=1, initial=0.9)),
    "min where": ("x", lambda x: np.min(x, axis=0, where=np.array([[True], [False]]), initial=9.0)),
    "ptp": ("x", lambda x: np.ptp(x, axis=1, keepdims=True)),
    "average along": ("tv", lambda t, v: np.average(t, axis=1, weights=v)),
    "average two axes": ("tx", lambda t, x: np.average(t, axis=(0, 1), weights=x)),
    "average returned": ("vw", lambda v, w: np.average(v, weights=w, returned=True)[1] + np.average(v, 0, w)),
    "cumprod method": ("x", lambda x: x.cumprod(1)),
    "cumulative": ("x", lambda x: np.cumulative_sum(x, axis=1, include_initial=True) ** 2),
    "cov": ("xv", lambda x, v: np.cov(x, v)),
    "corrcoef": ("x", lambda x: np.corrcoef(x.T)),
    "nansum": ("x", lambda x: np.nansum(x * x, axis=1, keepdims=True)),
    "nanmean": ("x", lambda x: np.nanmean(np.where(MASK, x, np.nan), axis=1)),
    "nanstd": ("x", lambda x: np.nanstd(np.where(MASK, x, np.nan), axis=1, ddof=1)),
    "nanmax": ("x", lambda x: np.nanmax(np.where(MASK, x, np.nan), axis=1)),
    "nancumsum": ("x", lambda x: np.nancumsum(np.where(MASK, x * x, np.nan), axis=1)),
    "median": ("t", lambda t: np.median(t, axis=(0, 2), keepdims=True)),
    "median even": ("u", np.median),
    "nanmedian": ("t", lambda t: np.nanmedian(np.where(MASK[:, None], t, np.nan), axis=(0, 1), keepdims=True)),
    "nanpercentile": ("t", lambda t: np.nanpercentile(np.where(np.arange(4) != 2, t, np.nan), [[10], [60]], axis=2)),
    "partition": ("x", lambda x: np.max(np.partition(x, 1, axis=1)[:, :2], axis=1)),
    "percentile": ("x", lambda x: np.percentile(x, [25, 60], axis=1)),
    "quantile hazen": ("t", lambda t: np.quantile(t, [[0.2], [0.9]], axis=(0, 1), method="hazen", keepdims=True)),
    "quantile nearest": ("u", lambda u: np.quantile(u, 0.4, method="nearest")),
    # norms
    "norm nuc": ("x", lambda x: np.linalg.norm(x, "nuc")),
    "norm -2": ("t", lambda t: np.linalg.norm(t, -2, axis=(1, 2), keepdims=True)),
    "norm keepdims": ("x", lambda x: np.linalg.norm(x, keepdims=True)),
    "norm -3": ("x", lambda x: np.linalg.norm(x, -3, axis=1)),
    "norm of a list": ("sr", lambda s, r: np.linalg.norm(np.stack([s, r, 1.0]))),
    "vector_norm of all": ("x", lambda x: np.linalg.vector_norm(x, keepdims=True)),
    "vector_norm of two axes": ("t", lambda t: np.linalg.vector_norm(t, axis=(0, 1), ord=1)),
    "vector_norm 3": ("x", lambda x: np.linalg.vector_norm(x, ord=3)),
    "matrix_norm": ("t", lambda t: np.linalg.matrix_norm(t, ord=1)),
    # shapes
    "reshape F": ("x", lambda x: np.reshape(x, (3, -1), order="F") * np.arange(6.0).reshape(3, 2)),
    "reshape method": ("x", lambda x: x.reshape(3, 2, order="F") ** 2),
    "ravel F": ("x", lambda x: x.ravel("F") * np.arange(6.0)),
    "ravel K of a transpose": ("x", lambda x: np.ravel(x.T, "K") * np.arange(6.0)),
    "mT": ("t", lambda t: t.mT * np.arange(24.0).reshape(2, 4, 3)),
    "stack of numbers": ("sr", lambda s, r: np.stack([s, 1.0, r]) ** 2),
    "concatenate dtype": ("xy", lambda x, y: np.concatenate([x, y], 1, dtype=np.float64) ** 2),
    "append a list": ("vs", lambda v, s: np.append(v, [s, s * s])),
    "block": ("xyc", lambda x, y, c: np.block([[x, c], [c, y]]) ** 2),
    "dstack": ("vw", lambda v, w: np.dstack((v, w)) ** 2),
    "insert": ("vs", lambda v, s: np.insert(v, [0, 2], [s, s * s]) ** 2),
    "insert axis": ("xc", lambda x, c: np.insert(x, 1, c[:, 0], axis=1) ** 2),
    "delete": ("x", lambda x: np.delete(x, 1, axis=1) ** 2),
    "compress": ("x", lambda x: np.compress([True, False, True], x, axis=1) ** 2),
    "extract": ("v", lambda v: np.extract(MASK, v) ** 2),
    "unique": ("v", lambda v: np.unique(np.append(v, 7.0)) * np.arange(4.0)),
    "unstack": ("x", lambda x: np.unstack(x, axis=1)[2] ** 2),
    "fftshift": ("x", lambda x: np.fft.fftshift(x, axes=1) * np.arange(6.0).reshape(2, 3)),
    "resize": ("x", lambda x: np.resize(x, (4, 2)) ** 2),
    "indices_from": ("m", lambda m: m[np.tril_indices_from(m)] ** 2),
    "meshgrid sparse": ("vu", lambda v, u: np.meshgrid(v, u, sparse=True)[0] * np.meshgrid([1.0], u)[1]),
    "full_like": ("xs", lambda x, s: np.full_like(x, s) * x),
    "take wrap": ("x", lambda x: np.take(x, [7, -8], mode="wrap") ** 2),
    "take clip": ("x", lambda x: x.take([7, -8], axis=1, mode="clip") ** 2),
    "x[()]": ("x", lambda x: x[()] ** 2),
    "flat": ("x", lambda x: x.flat[2] ** 2),
    # padding
    "pad a tensor": ("vs", lambda v, s: np.pad(v, (1, 2), constant_values=s) ** 2),
    "pad odd": ("x", lambda x: np.pad(x, 2, mode="reflect", reflect_type="odd") ** 2),
    "pad symmetric odd": ("v", lambda v: np.pad(v, 2, mode="symmetric", reflect_type="odd") ** 2),
    "pad ramp": ("x", lambda x: np.pad(x, ((1, 2), (2, 0)), mode="linear_ramp", end_values=2.0) ** 2),
    "pad mean": ("x", lambda x: np.pad(x, 1, mode="mean", stat_length=2) ** 2),
    "pad maximum": ("x", lambda x: np.pad(x, 1, mode="maximum") ** 2),
    "pad median": ("v", lambda v: np.pad(v, 1, mode="median") ** 2),
    # choosing
    "where lists": ("vs", lambda v, s: np.where(MASK, [s, s, s * s], v)),
    "clip bounds": ("xvw", lambda x, v, w: np.clip(x, v - 0.2, w + 0.4)),
    "clip out": ("x", lambda x: np.clip(x, 0.5, 1.0, None) + x.clip(max=0.7)),
    "choose": ("vw", lambda v, w: np.choose([0, 1, 0], [v, w]) ** 2),
    "select": ("vw", lambda v, w: np.select([v > 1, v > 0.5], [v * v, w], 0.0)),
    "piecewise": ("v", lambda v: np.piecewise(v, [v < 0.9], [lambda z: z**2, lambda z: 3 * z])),
    "bincount": ("v", lambda v: np.bincount([0, 2, 0], weights=v, minlength=4) ** 2),
    # sampled functions
    "diff prepend": ("x", lambda x: np.diff(x, prepend=0.0, append=x[:, :1]) ** 2),
    "ediff1d": ("xs", lambda x, s: np.ediff1d(x, to_begin=s) ** 2),
    "interp": ("vw", lambda v, w: np.interp(v, [0.2, 0.7, 1.4], w)),
    "interp of the grid": ("sw", lambda s, w: np.interp(0.8, np.stack([0.2, 0.5 + s / 9, 1.4]), w)),
    "convolve": ("uv", np.convolve),
    "convolve same": ("uv", lambda u, v: np.convolve(v, u, "same")),
    "correlate": ("uv", lambda u, v: np.correlate(v, u, "full")),
    "trapezoid": ("xv", lambda x, v: np.trapezoid(x, v)),
    "gradient": ("t", lambda t: np.gradient(t, 0.5, axis=2, edge_order=2) ** 2),
    "gradient on a grid": ("uv", lambda u, v: np.gradient(u, np.cumsum(np.append(v, 1.0)))),
    "polyval": ("vw", np.polyval),
    "vander": ("v", lambda v: np.vander(v, 4, increasing=True)),
    "linspace": ("vs", lambda v, s: np.linspace(v, s, 4) ** 2),
    "unwrap": ("v", lambda v: np.unwrap(v * [0.1, 9.0, 30.0]) ** 2),
    "apply_along_axis": ("t", lambda t: np.apply_along_axis(lambda z: np.outer(z, z), 1, t)),
    "apply_over_axes": ("t", lambda t: np.apply_over_axes(np.sum, t * t, [0, 2])),
    # products
    "einsum lists": ("xv", lambda x, v: np.einsum(x, [0, 1], v, [1], [0])),
    "einsum dots": ("bq", lambda b, q: np.einsum(b, [Ellipsis, 0, 1], q, [1, 2], [Ellipsis, 0, 2])),
    "einsum optimize": ("bbq", lambda a, b, q: np.einsum("bij,bjk,kl->bil", a, b, q, optimize="greedy")),
    "einsum length 1": ("xc", lambda x, c: np.einsum("ij,ij->i", x, c)),
    "einsum options": ("xq", lambda x, q: np.einsum("ij,jk->ki", x, q, dtype=np.float64, order="C")),
    "einsum thrice": ("x", lambda x: np.einsum("ij,ij,ij->j", x, x, x)),
    "tensordot mixed": ("th", lambda t, h: np.tensordot(t, h, axes=[2, 0])),
    "cross axes": ("mq", lambda m, q: np.cross(m, q, axisa=0, axisb=1, axisc=0)),
    "linalg.cross": ("vw", np.linalg.cross),
    "vecdot": ("xy", lambda x, y: np.vecdot(x, y, axis=0)),
    "linalg.vecdot": ("xv", np.linalg.vecdot),
    "matrix_power": ("m", lambda m: np.linalg.matrix_power(m, 5) / 100 + np.linalg.matrix_power(m, -2)),
    "multi_dot": ("xmqw", lambda x, m, q, w: np.linalg.multi_dot([x, m, q, w])),
    "tensorsolve": ("mv", np.linalg.tensorsolve),
    # decompositions
    "cholesky": ("m", lambda m: np.linalg.cholesky(m @ m.T)),
    "cholesky upper": ("b", lambda b: np.linalg.cholesky(b @ b.mT, upper=True)),
    "eigvalsh": ("m", lambda m: np.linalg.eigvalsh(m + m.T)),
    "eigh": ("b", lambda b: np.linalg.eigh(b + np.swapaxes(b, -1, -2)).eigenvectors ** 2),
    "svdvals": ("t", np.linalg.svdvals),
    "svd": ("x", lambda x: np.linalg.svd(x, full_matrices=False)[2] ** 2),
    "svd full": ("x", lambda x: np.linalg.svd(x)[0] ** 2 + np.linalg.svd(x)[1]),
    "qr": ("h", lambda h: np.abs(np.linalg.qr(h).Q)),
    "qr wide": ("x", lambda x: np.abs(np.linalg.qr(x, mode="r"))),
    "pinv": ("t", np.linalg.pinv),
    "lstsq": ("hu", lambda h, u: np.linalg.lstsq(h, u, rcond=None)[0]),
    "lstsq residuals": ("hu", lambda h, u: np.linalg.lstsq(h, u)[1]),
    "cond": ("m", lambda m: np.linalg.cond(m) + np.linalg.cond(m, 1)),
}
if not hasattr(np, "cumulative_sum"):  # numpy 2.0
    for missing in ("cumulative", "unstack"):
        del FORMS[missing]


SHAPE_BY_VALUE = ("unique", "lstsq", "lstsq residuals")  # compiled programs refuse those


@pytest.mark.parametrize("name", FORMS)
def test_value_type_and_derivatives(name: str) -> None:
    names, f = FORMS[name]
    args = arguments(names)
    plain, ours = f(*args), f(*map(Tensor, args))
    assert isinstance(ours, Tensor)
    assert (ours.shape, ours.dtype) == (np.shape(plain), np.asarray(plain).dtype)
    check(f, *args, rtol=1e-5, compiled=name not in SHAPE_BY_VALUE, value_rtol=1e-11)


def test_lists_of_tensors_have_all_their_gradients() -> None:
    found = gradients_function(lambda s, r: np.sum(np.append(s, [s, r]) * [1.0, s, 4.0]))(3.0, 5.0)
    assert [g.item() for g in found] == [7, 4]  # s + s * s + 4 r


def test_a_list_that_numpy_alone_turns_into_an_array_is_told_about(caplog: pytest.LogCaptureFixture) -> None:
    def loss(s: Any, r: Any) -> Any:
        return s * np.sum([s, r])  # numpy asks only arguments that are tensors themselves

    for _ in range(3):
        s, r = Variable(2.0), Variable(3.0)
        with GradientTape() as tape:
            value = loss(s, r)
        assert [value.item(), tape.gradient(value, s).item()] == [10, 5]
    (record,) = caplog.records  # once for the line, however often it runs
    assert "test_calling_forms.py" in record.message and "np.stack" in record.message
    caplog.clear()
    with GradientTape():
        np.zeros(2)[0] = Variable(1.0)
        math.sin(Variable(1.0))
    assert len(caplog.records) == 2
    caplog.clear()
    with GradientTape():
        np.asarray(Tensor([1.0, 2.0]))  # nothing is differentiated here
        s.numpy(), float(s), s.item()  # and this is meant
    assert not caplog.records


def test_in_place_operators_bind_a_new_tensor() -> None:
    x = first = Tensor([1.0, 2.0])
    x += 1
    x *= x
    x **= 0.5
    x @= np.eye(2)
    assert first.tolist() == [1, 2] and x.tolist() == [2, 3]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int64, np.int8, np.bool_])
def test_results_have_the_type_that_numpy_gives(dtype: Any) -> None:
    x = np.array([[1, 0, 3], [2, 5, 4]]).astype(dtype)
    calls: list[Callable[..., Any]] = [
        lambda x: x**1, lambda x: x**0.5, lambda x: x**2, lambda x: np.fabs(x), lambda x: np.float_power(x, 2),
        lambda x: np.mean(x), lambda x: np.var(x, axis=0), lambda x: np.sum(x), lambda x: np.prod(x),
        lambda x: np.max(x, initial=1), lambda x: np.average(x, weights=[[1, 2, 3], [3, 2, 1]]),
        lambda x: np.modf(x)[0],
        lambda x: np.median(x), lambda x: np.nan_to_num(x), lambda x: np.clip(x, 0, 1), lambda x: np.copy(x),
        lambda x: np.where(x > 1, x, 0), lambda x: np.pad(x, 1, mode="maximum"), lambda x: np.linalg.norm(x, axis=0),
        lambda x: np.nanmean(x), lambda x: np.sum(x, where=x > 0), lambda x: np.linspace(x[0], 3, 4),
        lambda x: np.vander(x[0]), lambda x: np.interp(x[0], [0.0, 3.0], [1.0, 2.0]), lambda x: np.trapezoid(x),
        lambda x: np.einsum("ij->j", x), lambda x: np.sinc(x), lambda x: np.cov(x), lambda x: np.cumsum(x),
    ]  # fmt: skip
    for k, call in enumerate(calls):
        with np.errstate(all="ignore"):
            try:
                plain = call(x)
            except TypeError:  # no such loop in numpy
                continue
            ours = call(Tensor(x))
        assert ours.dtype == plain.dtype, (k, ours.dtype, plain.dtype)
        rtol = 2e-3 if plain.dtype == np.float16 else 1e-6
        np.testing.assert_allclose(np.asarray(ours, float), np.asarray(plain, float), rtol=rtol, err_msg=str(k))


@pytest.mark.parametrize("measure", [np.var, np.std, np.nanvar, np.nanstd], ids=lambda f: f.__name__)
def test_one_number_of_lost_degrees(measure: Callable[..., Any]) -> None:
    numbers = np.array([1.0, 2.0, 4.0])
    for array in (numbers, Variable(numbers)):
        with pytest.raises(ValueError, match="ddof and correction"):
            measure(array, ddof=1, correction=0)
