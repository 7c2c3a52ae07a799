"""Ready layouts of the docks: which view stands where."""

from __future__ import annotations

import itertools

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

LEFT, RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
HORIZONTAL, VERTICAL = Qt.Orientation.Horizontal, Qt.Orientation.Vertical

PIPELINE_WIDTH = 340
"""Pixels in which all names of the pipeline can be read: on wide screens the rest goes to the picture."""

# Each layout: columns from left to right (share of the width, cells from top to bottom); a cell is (share of the
# height, views tabbed in it, the first on top).
Layout = tuple[tuple[float, tuple[tuple[float, tuple[str, ...]], ...]], ...]

LAYOUTS: dict[str, Layout] = {
    "Learn": (
        (0.24, ((1.0, ("pipeline",)),)),
        (0.40, ((0.60, ("surface", "surface3d", "fit")), (0.40, ("timeline",)))),
        (0.36, ((0.40, ("vectors",)), (0.60, ("ledger", "inspector", "runs", "tape", "log")))),
    ),
    "Debug": (
        (0.24, ((1.0, ("pipeline",)),)),
        (0.40, ((0.55, ("timeline",)), (0.45, ("inspector", "log", "runs", "tape")))),
        (0.36, ((0.45, ("vectors",)), (0.55, ("ledger", "surface", "surface3d", "fit")))),
    ),
    "Compare": (
        (0.24, ((0.35, ("runs", "log", "tape")), (0.65, ("pipeline",)))),
        (0.42, ((0.55, ("surface", "surface3d", "fit")), (0.45, ("timeline",)))),
        (0.34, ((0.45, ("vectors",)), (0.55, ("ledger", "inspector")))),
    ),
    "Present": (
        (0.58, ((1.0, ("surface", "surface3d", "fit")),)),
        (0.42, ((0.40, ("vectors",)), (0.60, ("ledger",)))),
    ),
}


def apply_layout(window: QMainWindow, docks: dict[str, QDockWidget], name: str) -> None:
    """Arrange the docks of ``window`` as the layout ``name`` says; views it does not name are hidden."""
    layout = LAYOUTS[name]
    for dock in docks.values():
        dock.setFloating(False)
        window.removeDockWidget(dock)
    columns: list[tuple[float, list[tuple[float, list[QDockWidget]]]]] = []
    for width_share, cells in layout:
        present = [(share, [docks[view] for view in names if view in docks]) for share, names in cells]
        present = [(share, found) for share, found in present if found]
        if present:
            columns.append((width_share, present))
    # the columns side by side first: a column split before its neighbour is placed would stretch under it
    tops = [cells[0][1][0] for _, cells in columns]
    window.addDockWidget(LEFT, tops[0])
    for previous, top in itertools.pairwise(tops):
        window.splitDockWidget(previous, top, HORIZONTAL)
    for _, cells in columns:
        firsts = [found[0] for _, found in cells]
        for previous, first in itertools.pairwise(firsts):
            window.splitDockWidget(previous, first, VERTICAL)
        for _, found in cells:
            for other in found[1:]:
                window.tabifyDockWidget(found[0], other)
            for dock in found:
                dock.show()
            found[0].raise_()
    width, height = max(window.width(), 600), max(window.height(), 400)
    widths = [int(share * width) for share, _ in columns]
    most = max(range(len(widths)), key=widths.__getitem__)
    for k, (_, cells) in enumerate(columns):
        if docks.get("pipeline") in [dock for _, found in cells for dock in found]:
            widths[most] += max(widths[k] - PIPELINE_WIDTH, 0)
            widths[k] = min(widths[k], PIPELINE_WIDTH)
    window.resizeDocks(tops, widths, HORIZONTAL)
    for _, cells in columns:
        window.resizeDocks([found[0] for _, found in cells], [int(share * height) for share, _ in cells], VERTICAL)
