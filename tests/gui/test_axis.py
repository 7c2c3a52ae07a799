"""Labels of logarithmic axes never run into one another."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gui.views.timeline.axis import log_ticks


@given(st.floats(-12, 12), st.floats(0.05, 20), st.floats(2, 12))
def test_labels_keep_their_distance(low, span, count):
    places, _ = log_ticks(low, low + span, count)
    # a label is about 13 pixels high where each has been given 20
    assert all(b - a >= 0.65 * span / count for a, b in pairwise(places))
    assert all(low - 1e-9 <= place <= low + span + 1e-9 for place in places)
