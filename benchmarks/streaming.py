"""Steps a second and frame times of the real window while running flat out, against the same work apart.

(a) the same simulation headless, (b) the same window repainting without simulation, (c) a free-running worker thread
beside the repainting window. Run with a display: python benchmarks/streaming.py [--steps N] [--seconds S]
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from core.commands.sources import DEFAULT_OPTIMIZER
from core.simulation import Experiment, Simulation

EXPERIMENT = Experiment(optimizer=DEFAULT_OPTIMIZER)


def headless(seconds: float) -> float:
    """(a) steps a second without a window."""
    simulation = Simulation(EXPERIMENT)
    simulation.advance(200)
    begin = time.perf_counter()
    simulation.advance(10_000_000, seconds)
    return (simulation.step - 200) / (time.perf_counter() - begin)


class Frames:
    """Watches a window: the times between the paints of its leading view, the loss surface."""

    def __init__(self, application, window) -> None:
        from PySide6.QtCore import QEvent, QObject
        from PySide6.QtWidgets import QGraphicsView

        class Watcher(QObject):
            def eventFilter(self, watched, event):
                if event.type() == QEvent.Type.Paint:
                    times.append(time.perf_counter())
                return False

        times: list[float] = []
        self.application, self.times, self.watcher = application, times, Watcher()
        window.views["surface"].findChild(QGraphicsView).viewport().installEventFilter(self.watcher)

    def measure(self, seconds: float, each_frame=None) -> np.ndarray:
        """Milliseconds between paints; ``each_frame``, when given, changes what is shown 60 times a second."""
        from PySide6.QtCore import QEventLoop, QTimer

        timer = QTimer()
        timer.setInterval(16)
        if each_frame is not None:
            timer.timeout.connect(each_frame)
            timer.start()
        self.times.clear()
        # as the program itself waits for events: without the interpreter
        loop = QEventLoop()
        QTimer.singleShot(int(1000 * seconds), loop.quit)
        loop.exec()
        timer.stop()
        begin = 3 if len(self.times) > 10 else 0
        return np.diff(self.times)[begin:] * 1e3


def say(name: str, times: np.ndarray, steps: float | None = None) -> None:
    if not len(times):
        print(f"{name:34} hardly a frame" + ("" if steps is None else f"  {steps:8.0f} steps/s"))
        return
    median, p95, p99 = np.percentile(times, [50, 95, 99])
    rate = 1e3 / times.mean()
    line = f"{name:34} {rate:5.1f} frames/s  median {median:6.1f} ms  p95 {p95:6.1f} ms  p99 {p99:6.1f} ms"
    print(line + ("" if steps is None else f"  {steps:8.0f} steps/s"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--size", default="1280x800")
    arguments = parser.parse_args()
    seconds = arguments.seconds
    import tempfile

    from PySide6.QtCore import QSettings

    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, tempfile.mkdtemp())
    from gui.app import GarbageKeeper, make_application
    from gui.main_window import MainWindow
    from gui.worker import FLAT_OUT

    application = make_application()
    window = MainWindow.open(None, "dark")
    keeper = GarbageKeeper()
    width, height = (int(part) for part in arguments.size.split("x"))
    window.resize(width, height)
    window.show()
    window.apply_layout("Learn")
    session = window.session
    session.engine.advance(session.current, 2000)
    session.engine.settle()
    frames = Frames(application, window)

    session.frames.sharing = True

    def scrub() -> None:
        session.show_step((session.cursor + 7) % 2000)
        session.frames.draw()

    still = frames.measure(seconds, scrub)
    # the machine's own pace drifts: headless before and after
    alone = 0.5 * headless(min(seconds, 3.0))
    session.engine.steps_per_frame = FLAT_OUT
    session.run()
    before, begin = session.current.history.count, time.perf_counter()
    streaming = frames.measure(seconds)
    rate = (session.current.history.count - before) / (time.perf_counter() - begin)
    session.pause()
    session.engine.settle()
    alone += 0.5 * headless(min(seconds, 3.0))
    stop = threading.Event()
    free = Simulation(EXPERIMENT)

    def run_free() -> None:
        while not stop.is_set():
            free.advance(1000, 0.05)

    thread = threading.Thread(target=run_free)
    thread.start()
    session.frames.sharing = True
    begin = time.perf_counter()
    racing = frames.measure(seconds, scrub)
    free_rate = free.step / (time.perf_counter() - begin)
    stop.set()
    thread.join()
    say("window, running flat out", streaming, rate)
    print(f"{'(a) headless':34} {'':50} {alone:8.0f} steps/s")
    say("(b) window, scrubbing only", still)
    say("(c) free-running thread beside it", racing, free_rate)
    p95 = [float(np.percentile(times, 95)) if len(times) else np.inf for times in (streaming, still, racing)]
    print(f"p95 frame time: {p95[0] / p95[1]:.2f} times (b), (c) is {p95[2] / p95[1]:.2f} times (b)")
    print(f"steps a second: {100 * rate / alone:.0f} % of (a)")
    window.close()
    keeper.stop()


if __name__ == "__main__":
    main()
