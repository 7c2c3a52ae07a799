"""A loss surface for other programs: npz, and VTK's legacy text format that ParaView opens."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.simulation.experiment import write_atomically
from core.traces.trace import TraceError

Float64 = NDArray[np.float64]


def write_surface(path: str | Path, /, xs: Float64, ys: Float64, losses: Float64, **extra: Any) -> None:
    """Write the grid ``losses`` (len(ys), len(xs)) to ``path`` (.npz or .vtk).

    ``extra`` arrays (origin and directions of the plane, the path drawn on it) go into the .npz.
    """
    file = Path(path)
    if losses.shape != (len(ys), len(xs)):
        raise ValueError(f"losses have shape {losses.shape}, the axes {(len(ys), len(xs))}")
    if file.suffix == ".npz":
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {"x": xs, "y": ys, "loss": losses, **extra}
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        write_atomically(file, buffer.getvalue())
    elif file.suffix == ".vtk":
        write_atomically(file, _vtk(xs, ys, losses))
    else:
        raise TraceError(f"{file}: a surface ends in .npz or .vtk, not {file.suffix or 'nothing'!r}")


def _vtk(xs: Float64, ys: Float64, losses: Float64) -> bytes:
    """A rectilinear grid (VTK file format, legacy version 3.0); nan and inf are written as VTK reads them."""
    lines = [
        "# vtk DataFile Version 3.0",
        "Stepscope loss surface",
        "ASCII",
        "DATASET RECTILINEAR_GRID",
        f"DIMENSIONS {len(xs)} {len(ys)} 1",
        f"X_COORDINATES {len(xs)} double",
        " ".join(map(repr, xs.tolist())),
        f"Y_COORDINATES {len(ys)} double",
        " ".join(map(repr, ys.tolist())),
        "Z_COORDINATES 1 double",
        "0.0",
        f"POINT_DATA {losses.size}",
        "SCALARS loss double 1",
        "LOOKUP_TABLE default",
        *(" ".join(map(repr, row.tolist())) for row in losses),
    ]
    return ("\n".join(lines) + "\n").encode()
