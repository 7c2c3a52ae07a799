"""Properties of the pyramid and of running means: nothing lost, nothing invented, as good as the column itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.simulation.pyramid import Pyramid, RunningMean

numbers = st.floats(allow_nan=True, allow_infinity=True, width=32)
columns = st.lists(numbers, min_size=0, max_size=400).map(lambda values: np.array(values, dtype=np.float64))


def fed(values, cuts, positive=False):
    """A pyramid that got the column piece by piece."""
    pyramid = Pyramid(positive)
    for cut in sorted({min(cut, len(values)) for cut in cuts} | {len(values)}):
        pyramid.update(values[:cut])
    return pyramid


@settings(max_examples=200, deadline=None)
@given(columns, st.lists(st.integers(0, 400), max_size=6), st.integers(0, 400), st.integers(0, 400), st.integers(1, 40))
def test_the_extremes_of_any_stretch_are_drawn(values, cuts, start, stop, bins):
    start, stop = min(start, stop), max(start, stop)
    pyramid = fed(values, cuts)
    x, y = pyramid.query(start, stop, bins)
    part = values[start:stop]
    finite = part[np.isfinite(part)]
    drawn = y[~np.isnan(y)]
    assert len(x) == len(y) <= max(2 * bins + 4, 2)
    if len(finite):
        assert drawn.min() <= finite.min() and drawn.max() >= finite.max()
    # what is drawn exists, inside the stretch or in the blocks that its ends cut
    assert np.isin(drawn, values[np.isfinite(values)]).all()
    assert (np.diff(x) >= 0).all()
    if len(x):
        assert x.min() >= 0 and x.max() <= len(values) - 1


@settings(max_examples=100, deadline=None)
@given(columns, st.lists(st.integers(0, 400), max_size=6), st.integers(1, 40))
def test_each_pair_is_the_extremes_of_its_block(values, cuts, bins):
    x, y = fed(values, cuts).query(0, len(values), bins)
    if len(values) <= 2 * bins:
        np.testing.assert_array_equal(x, np.arange(len(values)))
        np.testing.assert_array_equal(y, np.where(np.isfinite(values), values, np.nan))
        return
    size = 2
    while len(values) > size * bins:
        size *= 2
    for k, begin in enumerate(range(0, len(values), size)):
        block = values[begin : begin + size]
        block = block[np.isfinite(block)]
        want = (block.min(), block.max()) if len(block) else (np.nan, np.nan)
        np.testing.assert_array_equal(y[2 * k : 2 * k + 2], want)
        assert begin <= x[2 * k] <= x[2 * k + 1] <= min(begin + size, len(values)) - 1 or begin + size > len(values)


@settings(max_examples=100, deadline=None)
@given(columns, st.lists(st.integers(0, 400), max_size=6), st.integers(1, 40))
def test_growing_piece_by_piece_changes_nothing(values, cuts, bins):
    at_once, in_pieces = fed(values, []), fed(values, cuts)
    for a, b in zip(at_once.query(0, 400, bins), in_pieces.query(0, 400, bins), strict=True):
        np.testing.assert_array_equal(a, b)


@given(columns, st.integers(1, 40))
def test_positive_leaves_out_what_a_logarithm_cannot_show(values, bins):
    _, y = fed(values, [], positive=True).query(0, len(values), bins)
    drawn = y[~np.isnan(y)]
    assert (drawn > 0).all()
    wanted = values[np.isfinite(values) & (values > 0)]
    if len(wanted):
        assert drawn.min() == wanted.min() and drawn.max() == wanted.max()
    else:
        assert not len(drawn)


def test_one_spike_among_a_million_is_seen_at_every_magnification():
    values = np.zeros(1_000_000)
    values[654_321] = 7.0
    pyramid = fed(values, [1000, 400_000, 900_001])
    start, stop = 0, len(values)
    while stop - start > 50:
        _, y = pyramid.query(start, stop, 400)
        assert y.max() == 7.0
        assert pyramid.extremes(start, stop) == (0.0, 7.0)
        width = (stop - start) // 3
        start, stop = max(654_321 - width // 2, 0), 654_321 + width // 2 + 1


def test_a_million_points_are_drawn_from_their_blocks_alone():
    """The cost is that of the screen's width: the values themselves are not read again."""
    pyramid = fed(np.random.default_rng(0).normal(size=1 << 20), [])
    x, y = pyramid.query(0, 1 << 20, 800)
    assert 800 <= len(x) <= 1600
    pyramid.values[:] = np.nan
    np.testing.assert_array_equal(pyramid.query(0, 1 << 20, 800)[1], y)


def test_a_column_that_shrank_is_refused():
    pyramid, mean = fed(np.arange(10.0), []), RunningMean()
    mean.update(np.arange(10.0))
    with pytest.raises(ValueError, match="shrank from 10 to 4"):
        pyramid.update(np.arange(4.0))
    with pytest.raises(ValueError, match="shrank from 10 to 4"):
        mean.update(np.arange(4.0))


def test_nothing_to_draw():
    assert all(len(part) == 0 for part in Pyramid().query(0, 100, 50))
    assert all(np.isnan(Pyramid().extremes(0, 100)))
    gaps = fed(np.full(100, np.nan), [])
    assert all(np.isnan(gaps.extremes(0, 100)))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.one_of(st.floats(-1e3, 1e3), st.just(float("nan")), st.just(float("inf"))), max_size=200),
    st.lists(st.integers(0, 200), max_size=5),
    st.lists(st.tuples(st.integers(-5, 205), st.integers(-5, 205)), max_size=20),
)
def test_running_means_are_means_of_the_finite_values(values, cuts, stretches):
    column = np.array(values, dtype=np.float64)
    mean = RunningMean()
    for cut in sorted({min(cut, len(column)) for cut in cuts} | {len(column)}):
        mean.update(column[:cut])
    starts = np.array([min(pair) for pair in stretches], dtype=np.int64)
    stops = np.array([max(pair) for pair in stretches], dtype=np.int64)
    found = mean.means(starts, stops)
    for a, b, value in zip(starts, stops, found, strict=True):
        part = column[max(a, 0) : max(b, 0)]
        part = part[np.isfinite(part)]
        if len(part):
            assert value == pytest.approx(part.mean(), rel=1e-9, abs=1e-9)
        else:
            assert np.isnan(value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-10.0, 1e6), min_size=1, max_size=200), st.integers(1, 50), st.integers(1, 30))
def test_bins_cover_everything_once(values, bins, window):
    column = np.array(values)
    mean = RunningMean()
    mean.update(column)
    x, y = mean.binned(0, len(column), bins)
    size = -(-len(column) // bins)
    blocks = [column[k : k + size] for k in range(0, len(column), size)]
    assert len(x) == len(blocks) <= bins
    assert y == pytest.approx([block.mean() for block in blocks], rel=1e-9, abs=1e-6)
    assert x[0] == (len(blocks[0]) - 1) / 2
    _, smooth = mean.binned(0, len(column), bins, window)
    assert (smooth >= column.min() - 1e-6).all() and (smooth <= column.max() + 1e-6).all()


def test_the_mean_of_logarithms_leaves_out_what_has_none():
    mean = RunningMean(log=True)
    mean.update(np.array([100.0, 0.0, -3.0, 1.0, np.nan, np.inf]))
    assert mean.means(np.array([0, 1]), np.array([6, 3]))[0] == 1.0
    assert np.isnan(mean.means(np.array([1]), np.array([3])))
