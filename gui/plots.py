"""pyqtgraph as this program uses it."""

from __future__ import annotations

import os

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")


def configure_plots() -> None:
    """Images are drawn row by row (not transposed), lines without smoothing (which costs twenty times as much)."""
    import pyqtgraph as pg

    pg.setConfigOptions(imageAxisOrder="row-major", antialias=False)
