"""Complex numbers: no rule follows them, so a gradient through them is refused instead of half right."""

import numpy as np
import pytest

from core.autodiff import GradientTape, Tensor, Variable, gradients_function, implicit_gradients, nn


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 1j,
        lambda x: np.abs(1j * x),
        lambda x: np.exp(1j * x).real,
        lambda x: np.sum(x * np.array([1j, 2.0])),
        lambda x: np.real(x + np.complex64(2j)),
        lambda x: np.einsum("i,i->", x * np.ones(2), np.array([1j, 2.0])),
    ],
)
def test_a_gradient_through_complex_numbers_is_refused(f):
    with pytest.raises(TypeError, match=r"makes complex numbers .* keep real and imaginary part apart"):
        gradients_function(f)(1.5)
    weight = Variable(1.5)
    with pytest.raises(TypeError, match="makes complex numbers"):
        implicit_gradients(lambda: f(weight))()


def test_parts_kept_apart_have_the_gradient():
    # d/dx |1 + e^(ix)|² = d/dx (2 + 2 cos x) = -2 sin x
    squared = gradients_function(lambda x: (1 + np.cos(x)) ** 2 + np.sin(x) ** 2)(0.7)[0]
    assert np.isclose(squared.item(), -2 * np.sin(0.7), rtol=1e-14)


def test_complex_numbers_beside_the_record_do_no_harm():
    x, w = Variable(2.0), Variable(3.0, trainable=False)
    with GradientTape() as tape:
        y = x * x + np.abs(np.exp(1j * w.numpy()))
    assert tape.gradient(y, x).item() == 4
    assert np.isclose((1j * Variable(2.0)).numpy(), 2j)


@pytest.mark.parametrize(
    "f",
    [
        np.mean, np.var, np.std, np.median, np.cov, np.sinc, np.linalg.norm, nn.relu, np.gradient,
        lambda x: np.vdot(x, x), lambda x: np.vecdot(x, x), lambda x: np.correlate(x, x), lambda x: np.average(x),
        lambda x: np.interp(0.5, [0.0, 1.0, 2.0], x), lambda x: np.linalg.norm(x, 1), lambda x: np.quantile(x, 0.5),
    ],
)  # fmt: skip
def test_what_real_numbers_only_have_a_rule_for_is_refused_not_cut_to_the_real_part(f):
    with pytest.raises(TypeError, match="complex tensors: keep real and imaginary part apart"):
        f(Tensor(np.array([1 + 2j, 0.5 - 1j, 3j])))


def test_parts_and_conjugates_of_complex_tensors():
    z = np.array([1 + 2j, 0.5 - 1j])
    x = Tensor(z)
    for f in (
        np.real,
        np.imag,
        np.conj,
        np.abs,
        np.sum,
        np.prod,
        lambda x: x.real,
        lambda x: x.imag,
        lambda x: x.conj(),
    ):
        assert f(x).dtype == f(z).dtype
        np.testing.assert_array_equal(np.asarray(f(x)), f(z))
