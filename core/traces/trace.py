"""Trace files: the table of a run as .npz (no pickle) or .csv, written and read back without losing a bit.

Columns: step, loss, learning_rate, then for every component w.NAME[i], g.NAME[i], applied.NAME[i] and one
ROW.NAME[i] a ledger row; row k holds the state before step k, its gradient and what step k applied. Behind them
stand base_learning_rate, skipped and the figures that transforms noted. An .npz also has 'meta', a JSON text with
shapes, causes and the experiment.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.optim.layout import Layout
from core.simulation.chunks import Schema
from core.simulation.experiment import Experiment, ExperimentError, write_atomically
from core.simulation.history import History

FORMAT = "stepscope-trace-1"
EXTRA = ("base_learning_rate", "skipped")
MAX_BYTES = 4 << 30


class TraceError(ValueError):
    """A trace that cannot be read: the message says what, where, and how to mend it."""


def columns(history: History) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """(name, values) of every column in file order; vectors are gathered once a kind."""
    count = history.count
    yield "step", np.arange(count, dtype=np.float64)
    yield "loss", history.scalar("loss")[:count]
    yield "learning_rate", history.scalar("learning_rate")[:count]
    rows = history.row_names
    tables = {kind: history.vectors(kind, 0, count) for kind in ("weights", "gradient", "applied", *rows)}
    for i, component in enumerate(history.layout.component_names()):
        yield f"w.{component}", tables["weights"][:, i]
        yield f"g.{component}", tables["gradient"][:, i]
        yield f"applied.{component}", tables["applied"][:, i]
        for row in rows:
            yield f"{row}.{component}", tables[row][:, i]
    for name in (*EXTRA, *history.figure_names):
        yield name, history.scalar(name)[:count]


def write_trace(
    history: History, path: str | Path, experiment: Experiment | None = None, csv_comment: str = ""
) -> None:
    """Write the whole history to ``path`` (.npz or .csv), atomically. OSError and TraceError pass through.

    ``csv_comment`` stands in front of a CSV's header line.
    """
    file = Path(path)
    if file.suffix == ".npz":
        content = _npz(history, experiment)
    elif file.suffix == ".csv":
        content = csv_comment.encode() + _csv(history)
    else:
        raise TraceError(f"{file}: a trace ends in .npz or .csv, not {file.suffix or 'nothing'!r}")
    write_atomically(file, content)


def _csv(history: History) -> bytes:
    names, values = zip(*columns(history), strict=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    whole = {"step", "skipped"}
    lists = [v.astype(np.int64).tolist() if n in whole else v.tolist() for n, v in zip(names, values, strict=True)]
    writer.writerows(zip(*lists, strict=True))
    return text.getvalue().encode()


def _npz(history: History, experiment: Experiment | None) -> bytes:
    meta = {
        "format": FORMAT,
        "names": history.layout.names,
        "shapes": history.layout.shapes,
        "figures": history.figure_names,
        "stretches": [[start, s.names, s.causes, s.labels] for start, s in history.schemas],
        # as a file has it: what JSON has no number for is spelled out
        "experiment": None if experiment is None else json.loads(experiment.to_bytes()),
    }
    buffer = io.BytesIO()
    arrays: dict[str, Any] = dict(columns(history))
    np.savez_compressed(buffer, allow_pickle=False, meta=np.array(json.dumps(meta)), **arrays)
    return buffer.getvalue()


def read_trace(path: str | Path) -> tuple[History, Experiment | None]:
    """The history (and the experiment, when the file holds one) of an .npz trace; TraceError when it is none."""
    file = Path(path)
    try:
        with zipfile.ZipFile(file) as archive:
            total = sum(entry.file_size for entry in archive.infolist())
            if total > MAX_BYTES:
                raise TraceError(
                    f"{file}: holds {total >> 20} MB, more than the {MAX_BYTES >> 20} MB that are accepted"
                )
            arrays = dict(_entries(archive))
        if "meta" not in arrays:
            raise TraceError(f"{file}: no 'meta' entry; this is not a trace written by Stepscope")
        meta = json.loads(str(arrays.pop("meta")))
    except FileNotFoundError:
        raise TraceError(f"{file}: there is no such file") from None
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        # RuntimeError: encrypted, an unknown way of packing, or text nested too deeply
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{file}: cannot be read as a trace: {error}") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise TraceError(f"{file}: unknown trace format; expected {FORMAT}")
    try:
        history = _rebuild(meta, arrays)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise TraceError(f"{file}: incomplete or damaged trace: {_what(error)}") from None
    given = meta.get("experiment")
    try:
        experiment = None if given is None else Experiment.from_bytes(json.dumps(given).encode(), str(file))
    except ExperimentError as error:
        raise TraceError(str(error)) from None
    return history, experiment


def _entries(archive: zipfile.ZipFile) -> Iterator[tuple[str, NDArray[Any]]]:
    """(name, values) of every array. The columns of a run have the same few headers, each of which is parsed once:
    np.load parses them one by one, which takes most of a minute where there are 100000.
    """
    known: dict[bytes, np.dtype[Any]] = {}
    for entry in archive.infolist():
        content = archive.read(entry)
        end = 10 + int.from_bytes(content[8:10], "little")
        dtype = known.get(content[:end])
        if dtype is None:
            values = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
            if values.ndim == 1 and content[6:8] == b"\x01\x00":
                known[content[:end]] = values.dtype
        else:
            values = np.frombuffer(content, dtype, offset=end).copy()
        yield entry.filename.removesuffix(".npy"), values


def _what(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def _check_columns(arrays: Mapping[str, NDArray[Any]]) -> None:
    """ValueError for the first column that is not one number a step; steps count from 0."""
    count = arrays["step"].size
    for name, values in arrays.items():
        if values.dtype.kind not in "fiub":
            raise ValueError(f"column {name!r} holds no numbers")
        if values.shape != (count,):
            raise ValueError(f"column {name!r} has the shape {values.shape}, the run has {count} steps")
    if not np.array_equal(arrays["step"], np.arange(count)):
        raise ValueError(f"column 'step' does not count 0, 1, ... {count - 1}")


def _rebuild(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> History:
    layout = Layout(meta["names"], [tuple(shape) for shape in meta["shapes"]])
    components = layout.component_names()
    _check_columns(arrays)
    count = len(arrays["step"])
    stretches = [(int(start), Schema(names, causes, labels)) for start, names, causes, labels in meta["stretches"]]
    starts = [start for start, _ in stretches]
    if starts[:1] != [0] or any(b <= a for a, b in pairwise([*starts, count])):
        raise ValueError(f"the stretches of rows begin at {starts}, the run has {count} steps")
    history = History(layout)

    def table(kind: str, start: int, stop: int) -> NDArray[np.float64]:
        return np.stack([arrays[f"{kind}.{name}"][start:stop] for name in components], axis=1).astype(np.float64)

    for position, (start, schema) in enumerate(stretches):
        stop = stretches[position + 1][0] if position + 1 < len(stretches) else count
        rows = np.stack([table(name, start, stop) for name in schema.names], axis=1)
        history.load(
            start, table("w", start, stop), table("g", start, stop), table("applied", start, stop), rows, schema
        )
    figures = {name: arrays[name] for name in meta["figures"]}
    scalars = {name: arrays[name] for name in ("loss", "learning_rate", *EXTRA)}
    history.load_scalars(scalars, figures, count)
    return history
