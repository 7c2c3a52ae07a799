"""'export': the numbers of a run, or its loss surface, for other programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from core.commands.sources import RequestError, Source, check_steps
from core.export import write_surface, write_table
from core.problems.planes import two_weights, whole_plane
from core.problems.surfaces import SurfaceEvaluator
from core.traces import TraceError

TABLES = (".csv", ".npz", ".jsonl", ".parquet")


def export_command(source: Source, out: str, steps: int | None, header: bool) -> int:
    """Write every step as a table; the ending of ``out`` decides the format."""
    if Path(out).suffix.lower() not in TABLES:
        raise RequestError(f"--out {out}: a table ends in {', '.join(TABLES)}")
    if steps is not None:
        check_steps(steps)
    if source.simulation is not None:
        source.simulation.advance((steps or 200) - source.simulation.step)
    elif steps is not None and steps != source.history.count:
        raise RequestError(f"--steps {steps}: this trace has {source.history.count} steps and is written as it is")
    try:
        write_table(source.history, out, source.experiment, header)
    except TraceError as error:
        raise RequestError(str(error)) from None
    print(f"{source.history.count} steps written to {out}")
    return 0


def export_surface_command(source: Source, out: str, steps: int | None, points: int) -> int:
    """Write the loss over the plane of the first two weights, and the path on it; .npz or .vtk."""
    if source.simulation is None:
        raise RequestError("a trace holds no loss to evaluate; give the experiment")
    if Path(out).suffix.lower() not in (".npz", ".vtk"):
        raise RequestError(f"--out {out}: a surface ends in .npz or .vtk")
    if not 2 <= points <= 2000:
        raise RequestError(f"--points {points}: from 2 to 2000 a side")
    simulation = source.simulation
    objective = simulation.objective
    if objective.size < 2:
        raise RequestError(f"{objective.name} has one weight only, a surface needs two")
    simulation.advance((steps or 200) - simulation.step)
    history = source.history
    path = history.vectors("weights", 0, history.count)
    labels = objective.component_names[:2]
    plane = whole_plane((labels[0], labels[1])) if objective.size == 2 else two_weights(path[-1], 0, 1, labels)
    across, up = plane.project(path)
    window = objective.bounds or (_around(across), _around(up))
    surface = SurfaceEvaluator(objective, plane, window, (points, points)).finish()
    write_surface(
        out,
        surface.a,
        surface.b,
        np.asarray(surface.values, dtype=np.float64),
        origin=plane.origin,
        u=plane.u,
        v=plane.v,
        path=np.column_stack([across, up]),
    )
    print(f"{points} by {points} losses over {labels[0]}, {labels[1]} written to {out}")
    return 0


def _around(values: np.ndarray) -> tuple[float, float]:
    """A range with a margin around the finite values."""
    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    margin = 0.25 * (high - low) or 1.0
    return low - margin, high + margin
