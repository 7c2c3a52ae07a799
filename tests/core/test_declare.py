"""Declared parameters refuse what cannot be used and keep the old value."""

import math

import numpy as np
import pytest

from core.declare import Declared, Parameter, SettingError


class Thing(Declared):
    name = "thing"
    parameters = (
        Parameter("limit", "c", 1.0, minimum=0.0, infinite=True),
        Parameter("count", "n", 3, scale="integer", minimum=1),
        Parameter("on", "on", True, scale="switch"),
        Parameter("kind", "kind", "a", scale="choice", choices=("a", "b")),
        Parameter("steps", "s", [1.0], scale="list"),
        Parameter("maybe", "m", None, optional=True, minimum=0.0, open_minimum=True),
    )


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("limit", -1, "at least 0"),
        ("limit", math.nan, "nan"),
        ("limit", True, "must be a number"),
        ("limit", "1.0", "must be a number"),
        ("limit", None, "needs a value"),
        ("count", 2.5, "whole number"),
        ("count", 0, "at least 1"),
        ("on", 1, "switch"),
        ("kind", "c", "one of a, b"),
        ("steps", 3, "list"),
        ("maybe", 0.0, "greater than 0"),
        ("nothing", 1, "no parameter"),
    ],
)
def test_unusable_values_are_refused_and_nothing_changes(key, value, word):
    thing = Thing()
    before = thing.values()
    with pytest.raises(SettingError, match=word):
        thing.set(key, value)
    assert thing.values() == before
    with pytest.raises(SettingError):
        Thing(**{key: value})


@pytest.mark.parametrize(("key", "value"), [("limit", math.inf), ("limit", 0), ("maybe", None), ("count", 4.0)])
def test_usable_extremes_are_accepted(key, value):
    thing = Thing(**{key: value})
    assert thing.values()[key] == value


def test_numpy_scalars_are_numbers():
    assert Thing(limit=np.float32(2.0)).limit == 2.0


def test_a_refused_combination_keeps_the_old_values():
    class Pair(Thing):
        name = "pair"

        def prepare(self):
            if self.limit > 10:
                raise SettingError("pair: too large together")

    pair = Pair()
    with pytest.raises(SettingError, match="together"):
        pair.set("limit", 11)
    assert pair.limit == 1.0
