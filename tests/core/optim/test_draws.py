"""JAX's random numbers: known answers of Threefry, keys and numbers as JAX 0.10 gives them, scipy's erfinv."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from core.optim import draws
from core.optim.layout import Layout


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers(key: draws.Key, counter: tuple[int, int], expected: tuple[int, int]) -> None:
    """The vectors that come with the authors' library Random123 (threefry2x32, 20 rounds)."""
    high, low = (np.array([word], dtype=np.uint32) for word in counter)
    first, second = draws.threefry(key, high, low)
    assert (int(first[0]), int(second[0])) == expected


def test_inverse_erf_against_scipy() -> None:
    u = np.concatenate([np.linspace(-0.999999, 0.999999, 401), 1 - 10.0 ** -np.arange(3, 16), [1e-12, -1e-5]])
    found = [draws.inverse_erf(value) for value in u.tolist()]
    np.testing.assert_allclose(found, special.erfinv(u), rtol=2e-15, atol=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_normal_numbers_are_normal(dtype: type) -> None:
    found = draws.normal(draws.key_of(3), 4000, np.dtype(dtype))
    assert found.dtype == dtype
    assert stats.kstest(found.astype(float), "norm").pvalue > 0.01


def test_signs_are_fair_and_keys_differ() -> None:
    keys = draws.split(draws.key_of(2**40 + 5), 3)
    assert len(set(keys)) == 3
    signs = draws.signs(keys[0], 4000, np.dtype(np.float64))
    assert set(signs) == {-1.0, 1.0} and abs(signs.mean()) < 0.06


def test_variables_draw_in_the_order_of_their_names() -> None:
    """JAX flattens a dict of parameters by its sorted names: 'b' before 'w', however they lie here."""
    key = draws.key_of(1)
    first, second = draws.split(key, 2)
    assert draws.leaves(key, Layout(["w", "b"], [(2,), (2,)])) == [second, first]
