"""Data of a run for other programs: CSV with a header, npz, JSON lines and Parquet, in full precision."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from core.simulation.experiment import Experiment, write_atomically
from core.simulation.history import History
from core.traces.trace import TraceError, columns, write_trace

Progress = Callable[[float], None]


UNITS = (
    "Stepscope trace: row k holds the state before step k, its gradient, and what step k applied",
    "units: step counts from 0; loss in units of the loss; w, applied and ledger rows in units of the weight;",
    "g in units of loss per weight; learning_rate so that -learning_rate * g is in units of the weight",
)


def csv_header(experiment: Experiment | None) -> str:
    """'# ' lines with units and settings, which readers skip (pandas: comment='#')."""
    lines = list(UNITS)
    if experiment is not None:
        lines.append("experiment: " + json.dumps(json.loads(experiment.to_bytes()), ensure_ascii=False))
    return "".join(f"# {line}\n" for line in lines)


def write_table(history: History, path: str | Path, experiment: Experiment | None = None, header: bool = False) -> None:
    """Write the whole history to ``path``: .csv (with ``header``: settings in '#' lines), .npz, .jsonl, .parquet.

    Atomic; TraceError says what cannot be written, OSError passes through.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix in (".csv", ".npz"):
        write_trace(history, file, experiment, csv_header(experiment) if header else "")
    elif suffix == ".jsonl":
        write_atomically(file, _json_lines(history))
    elif suffix == ".parquet":
        write_atomically(file, _parquet(history, experiment))
    else:
        raise TraceError(f"{file}: a table ends in .csv, .npz, .jsonl or .parquet, not {file.suffix or 'nothing'!r}")


def _json_lines(history: History) -> bytes:
    names, values = zip(*columns(history), strict=True)
    lists = [_json_values(array) for array in values]
    return "".join(
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in zip(*lists, strict=True)
    ).encode()


def _json_values(array: Any) -> list[Any]:
    """Floats with all their digits; what JSON lacks ('nan', 'inf', '-inf') as text, which float() reads back."""
    listed: list[Any] = array.tolist()
    if np.isfinite(array).all():
        return listed
    return [value if np.isfinite(value) else str(value) for value in listed]


def _parquet(history: History, experiment: Experiment | None) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise TraceError('Parquet needs the extra "parquet": pip install "stepscope[parquet]"') from None
    table = pa.table({name: np.ascontiguousarray(values) for name, values in columns(history)})
    about = {"units": "\n".join(UNITS)}
    if experiment is not None:
        about["stepscope"] = json.dumps(json.loads(experiment.to_bytes()))
    table = table.replace_schema_metadata(about)
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
