"""Ready layouts of the docks: which view stands where."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

LEFT, RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
HORIZONTAL, VERTICAL = Qt.Orientation.Horizontal, Qt.Orientation.Vertical

# Each layout: columns from left to right (share of the width, cells from top to bottom); a cell is (share of the
# height, views tabbed in it, the first on top).
Layout = tuple[tuple[float, tuple[tuple[float, tuple[str, ...]], ...]], ...]

LAYOUTS: dict[str, Layout] = {
    "Learn": (
        (0.20, ((1.0, ("pipeline",)),)),
        (0.44, ((0.60, ("surface", "surface3d")), (0.40, ("timeline",)))),
        (0.36, ((0.42, ("vectors",)), (0.58, ("ledger", "inspector", "runs", "tape", "log")))),
    ),
    "Debug": (
        (0.20, ((1.0, ("pipeline",)),)),
        (0.42, ((0.55, ("timeline",)), (0.45, ("inspector", "log", "runs", "tape")))),
        (0.38, ((0.45, ("vectors",)), (0.55, ("ledger", "surface", "surface3d")))),
    ),
    "Compare": (
        (0.20, ((0.35, ("runs", "log", "tape")), (0.65, ("pipeline",)))),
        (0.48, ((0.55, ("surface", "surface3d")), (0.45, ("timeline",)))),
        (0.32, ((0.45, ("vectors",)), (0.55, ("ledger", "inspector")))),
    ),
    "Present": (
        (0.58, ((1.0, ("surface", "surface3d")),)),
        (0.42, ((0.40, ("vectors",)), (0.60, ("ledger",)))),
    ),
}


def apply_layout(window: QMainWindow, docks: dict[str, QDockWidget], name: str) -> None:
    """Arrange the docks of ``window`` as the layout ``name`` says; views it does not name are hidden."""
    layout = LAYOUTS[name]
    for dock in docks.values():
        dock.setFloating(False)
        window.removeDockWidget(dock)
    tops: list[QDockWidget] = []
    width, height = max(window.width(), 600), max(window.height(), 400)
    for column, (_, cells) in enumerate(layout):
        previous: QDockWidget | None = None
        firsts: list[QDockWidget] = []
        for _, names in cells:
            present = [docks[view] for view in names if view in docks]
            if not present:
                continue
            first = present[0]
            if previous is not None:
                window.splitDockWidget(previous, first, VERTICAL)
            elif column == 0 or not tops:
                window.addDockWidget(LEFT, first)
            else:
                window.splitDockWidget(tops[-1], first, HORIZONTAL)
            first.show()
            for other in present[1:]:
                window.tabifyDockWidget(first, other)
                other.show()
            first.raise_()
            previous = first
            firsts.append(first)
        if firsts:
            tops.append(firsts[0])
            shares = [share for share, names in cells if any(view in docks for view in names)]
            window.resizeDocks(firsts, [int(share * height) for share in shares], VERTICAL)
    widths = [int(share * width) for share, _ in layout]
    window.resizeDocks(tops, widths[: len(tops)], HORIZONTAL)
