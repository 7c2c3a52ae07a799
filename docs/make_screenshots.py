"""Makes the pictures of the documents, and of every view and layout, from the running program.

python docs/make_screenshots.py            README and guide pictures into docs/images
python docs/make_screenshots.py --all DIR  every layout and view, 1280x800 and 1920x1080, light and dark, into DIR
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY") and sys.platform.startswith("linux"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

LINES = (
    "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\n"
    "opt = torch.optim.Adam(params, lr=0.06, weight_decay=0.02)\n"
    "torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.995)"
)
SIZES = ((1280, 800), (1920, 1080))


def settle(application, window, seconds: float = 1.0) -> None:
    """Let timers, grids and paints finish."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        application.processEvents()
        time.sleep(0.005)
    for view in window.views.made():
        if view.isVisible():
            view.flush()
    application.processEvents()


def open_window(theme: str, size: tuple[int, int], experiment, step: int, steps: int):
    """A window that has run ``steps`` steps and shows ``step``."""
    from gui.main_window import MainWindow
    from gui.session import Session

    window = MainWindow(Session(experiment), theme)
    window.resize(*size)
    window.show()
    window.apply_layout("Learn")
    session = window.session
    session.engine.advance(session.current, steps // 2)
    session.engine.settle()
    session.change("learning_rate", "learning_rate", 0.045)
    session.engine.advance(session.current, steps - steps // 2)
    session.engine.settle()
    session.show_step(step)
    return window


def save_small(window, path: Path) -> None:
    """Save the window's picture with 256 colours, a quarter of the size."""
    from PIL import Image

    window.grab().save(str(path))
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, method=2).save(path, optimize=True)


def experiments():
    """Name -> (experiment, step shown, steps run)."""
    from core.simulation import Experiment, ProblemSettings

    return {
        "rosenbrock": (Experiment(optimizer=LINES, storage="float32"), 53, 400),
        "logistic": (
            Experiment(
                problem=ProblemSettings(name="logistic_regression"),
                optimizer="torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)\n"
                "torch.optim.AdamW(params, lr=0.05, weight_decay=0.1)",
            ),
            40,
            300,
        ),
    }


def picture_of_a_network(application, path: Path) -> None:
    """A network's step in the plane that holds both arrows, with its ledger."""
    from core.simulation import Experiment, ProblemSettings
    from gui.main_window import MainWindow
    from gui.session import Session
    from gui.views.surface.cut import CutChoice

    lines = (
        "torch.nn.utils.clip_grad_norm_(params, max_norm=0.2)\n"
        "torch.optim.SGD(params, lr=0.2, momentum=0.8, weight_decay=0.001)"
    )
    window = MainWindow(Session(Experiment(problem=ProblemSettings(name="spirals_mlp"), optimizer=lines)), "light")
    window.resize(1280, 800)
    window.show()
    window.apply_layout("Present")
    window.session.engine.advance(window.session.current, 120)
    window.session.engine.settle()
    window.session.show_step(34)
    settle(application, window, 1.0)
    window.views["surface"].model.choose(CutChoice("step"))
    settle(application, window, 5.0)
    window.grab().save(str(path))
    window.close()
    window.deleteLater()


def picture_of_a_comparison(application, path: Path) -> None:
    """PyTorch's steps and what Keras would have done with the same gradients."""
    from core.simulation import Experiment
    from gui.session import Session
    from gui.theme import DARK, style_sheet
    from gui.views.ledger.other_dialog import OtherDialog

    application.setStyleSheet(style_sheet(DARK))
    lines = (
        "opt = torch.optim.SGD(params, lr=0.0005, momentum=0.9)\ntorch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)"
    )
    session = Session(Experiment(optimizer=lines))
    session.engine.advance(session.current, 60)
    session.engine.settle()
    session.show_step(12)
    dialog = OtherDialog(session, DARK)
    dialog.resize(860, 650)
    dialog.show()
    end = time.perf_counter() + 4.0
    while time.perf_counter() < end:
        application.processEvents()
        time.sleep(0.005)
    save_small(dialog, path)
    dialog.close()
    session.close()


def picture_of_a_figure(path: Path) -> None:
    """Surface and ledger as they are written for a paper."""
    from PySide6.QtWidgets import QApplication

    from core.simulation import Simulation
    from gui.export.compose import Composed
    from gui.export.figure import write_figure
    from gui.session import Session
    from gui.theme import LIGHT, style_sheet
    from gui.view_table import view_class

    QApplication.instance().setStyleSheet(style_sheet(LIGHT))
    simulation = Simulation(experiments()["rosenbrock"][0])
    simulation.advance(60)
    session = Session.on(simulation)
    session.show_step(53)
    views = [(view_class(name), {}) for name in ("surface", "ledger")]
    with Composed(views, session, LIGHT, 1000, 430) as page:
        write_figure(page, path, 1.5, LIGHT.card)
    session.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", metavar="DIR")
    parser.add_argument("--only", default="", help="only pictures whose name holds this")
    arguments = parser.parse_args()
    from PySide6.QtCore import QSettings

    settings = tempfile.mkdtemp()
    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, settings)
    from gui.app import make_application
    from gui.layouts import LAYOUTS

    application = make_application()
    if not arguments.all:
        folder = Path(__file__).parent / "images"
        folder.mkdir(exist_ok=True)
        for theme in ("dark", "light"):
            window = open_window(theme, (1600, 1000), *experiments()["rosenbrock"])
            settle(application, window, 3.0)
            save_small(window, folder / ("stepscope.png" if theme == "dark" else "stepscope_light.png"))
            window.close()
            window.deleteLater()
        picture_of_a_network(application, folder / "network.png")
        picture_of_a_comparison(application, folder / "compare.png")
        picture_of_a_figure(folder / "figure.png")
        return
    folder = Path(arguments.all)
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in experiments().items():
        for theme in ("dark", "light"):
            for size in SIZES:
                if not any(arguments.only in f"{name}_{layout.lower()}_{theme}_{size[0]}" for layout in LAYOUTS):
                    continue
                window = open_window(theme, size, *given)
                for layout in LAYOUTS:
                    label = f"{name}_{layout.lower()}_{theme}_{size[0]}"
                    if arguments.only in label:
                        window.apply_layout(layout)
                        settle(application, window, 2.0)
                        window.grab().save(str(folder / f"{label}.png"))
                        print(label, flush=True)
                window.close()
                window.deleteLater()


if __name__ == "__main__":
    main()
