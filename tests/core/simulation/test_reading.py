"""Experiment files as people leave them: other encodings, slips of the keyboard, files of another kind."""

import json

import pytest

from core.simulation import Event, Experiment, ExperimentError, Simulation

TEXT = json.dumps({"version": 1, "seed": 5, "comment": "größe"})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_does_no_harm(encoding):
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    found = Experiment.from_bytes(mark + TEXT.encode(encoding))
    assert (found.seed, found.comment) == (5, "größe")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b" \n ", "the file is empty"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"seed": 3', "ends too early"),
        (b'{"seed": 3,\n  "start": [NaN, 2]}', "line 2, column 13: invalid character; JSON has no number NaN"),
        (b'{\n\n"start": [1, -Infinity]}', "JSON has no number Infinity: write it in quotation marks"),
        (b'{"seed": 3,\n}', "line 2, column 1: trailing comma in object; there is a comma before the closing"),
        (b'{"comment": "\xc3\xbc",\n"s\xc3\xb6": 1 2}', "line 2, column 9"),
        (b"\xff\xfe\x00", "the text is damaged"),
        (b"PK\x03\x04rest", "a trace is read by 'explain'"),
        (b'{"sed": 3}', "at the top: 'sed' is not known here; did you mean 'seed'?"),
        (b'{"storage": "float8"}', "at storage: 'float8' is none of float64, float32, float16, bfloat16"),
        (b'{"problem": {"mising": "drop"}}', "at problem: 'mising' is not known here; did you mean 'missing'?"),
        (b'{"problem": {"missing": "zork"}}', "at problem.missing: 'zork' is none of drop, mean, refuse"),
        (b'{"events": [{"stp": 1}]}', "at events[0]: 'stp' is not known here; did you mean 'step'?"),
    ],
)
def test_slips_are_named_with_their_place(content, words):
    with pytest.raises(ExperimentError) as caught:
        Experiment.from_bytes(content, "e.json")
    assert str(caught.value).startswith("e.json: ") and words in str(caught.value)


def test_seeds_and_steps_count_from_0():
    with pytest.raises(ExperimentError, match="seed: a whole number from 0 on is needed, not -1"):
        Simulation(Experiment(seed=-1))
    event = Event(step=-1, target="weights", key="value", value=[1.0, 2.0])
    with pytest.raises(ExperimentError, match=r"events\[0\].step: steps count from 0, -1"):
        Simulation(Experiment(events=[event]))
