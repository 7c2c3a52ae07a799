"""From the command to the first painted frame: `stepscope` against an empty PySide6 window with one pyqtgraph plot.

Both are started afresh as programs of their own, in turns, and timed up to the end of the window's first frame (wall
time from the start of the process, CPU time of the process); and up to the frame in which every view is drawn, since
the first frame of stepscope has empty cards in their places. python benchmarks/startup.py [--starts N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SIZE = (1440, 900)
GOAL = 1.5


def watch_frames() -> None:
    """Let QApplication.exec write two lines 'wall clock, CPU seconds': when the window's first frame is over, and when
    the frame in which everything in it has been drawn is; then end.
    """
    from PySide6.QtCore import QEvent, QObject, QTimer, Slot
    from PySide6.QtWidgets import QApplication, QWidget

    class Watcher(QObject):
        painted = False
        window: QWidget

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and not self.painted:
                self.painted = True
                # after the whole frame, of which this paint is a part
                QTimer.singleShot(0, self.report)
                filled = getattr(self.window, "filled", None)
                if filled is None:
                    QTimer.singleShot(0, self.end)
                else:
                    filled.connect(self.on_filled)
            return False

        @Slot()
        def on_filled(self) -> None:
            # the last view's paint comes first
            QTimer.singleShot(1, self.end)

        @Slot()
        def report(self) -> None:
            print(time.monotonic(), time.process_time(), flush=True)

        @Slot()
        def end(self) -> None:
            self.report()
            for window in QApplication.topLevelWidgets():
                window.close()

    run = QApplication.exec
    watcher = Watcher()

    def watched_run(*arguments: object) -> int:
        (watcher.window,) = (window for window in QApplication.topLevelWidgets() if window.isVisible())
        # a window that is covered all over is not painted itself
        for widget in (watcher.window, *watcher.window.findChildren(QWidget)):
            widget.installEventFilter(watcher)
        return run()

    QApplication.exec = watched_run


def empty_window() -> int:
    """The rival: nothing but one empty plot."""
    import pyqtgraph as pg
    from PySide6.QtWidgets import QApplication, QMainWindow

    application = QApplication(sys.argv[:1])
    window = QMainWindow()
    window.setCentralWidget(pg.PlotWidget())
    window.resize(*SIZE)
    window.show()
    return application.exec()


def stepscope() -> int:
    """The program as its command starts it."""
    from main import main

    return main([])


def child(name: str) -> int:
    sys.path.insert(0, str(ROOT))
    watch_frames()
    return {"empty": empty_window, "stepscope": stepscope}[name]()


def start(name: str, home: str) -> list[float]:
    """Seconds of one start: first frame, wall and CPU; everything drawn, wall and CPU."""
    environment = {**os.environ, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "XDG_STATE_HOME": home}
    # byte code is kept, as where the program is installed
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = home
    if sys.platform.startswith("linux") and not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, __file__, "--child", name],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    words = done.stdout.split()
    if done.returncode or len(words) != 4:
        raise SystemExit(f"{name} did not start:\n{done.stderr}")
    marks = [float(word) for word in words]
    return [marks[0] - begin, marks[1], marks[2] - begin, marks[3]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=9, help="of each")
    parser.add_argument("--child", choices=("empty", "stepscope"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        raise SystemExit(child(arguments.child))
    names = ("empty", "stepscope")
    times: dict[str, list[list[float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as home:
        for name in names:
            # files into the cache, byte code compiled, settings written: not what is measured
            start(name, home)
        for _ in range(arguments.starts):
            for name in names:
                times[name].append(start(name, home))
    medians = {name: [statistics.median(column) for column in zip(*times[name], strict=True)] for name in names}
    print(f"median of {arguments.starts}        first frame: wall, CPU     everything drawn: wall, CPU")
    for name in names:
        print(f"{name:18}" + "".join(f"{1e3 * value:12.0f} ms" for value in medians[name]))
    # the empty window has drawn everything in its first frame
    ratios = [ours / rival for ours, rival in zip(medians["stepscope"], medians["empty"], strict=True)]
    print("ratio             " + "".join(f"{ratio:15.2f}" for ratio in ratios) + f"   (goal, first frame: {GOAL})")


if __name__ == "__main__":
    main()
