"""The layers stay apart: who may import whom (docs/architecture.md)."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
QT = {"PySide6", "pyqtgraph", "superqt", "shiboken6", "OpenGL"}


def imports(path):
    """Full names of everything a file imports, at any depth of nesting."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def files(folder):
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", files("core"), ids=lambda p: str(p.relative_to(ROOT)))
def test_core_knows_no_window(path):
    tops = {name.split(".")[0] for name in imports(path)}
    assert not tops & (QT | {"gui", "main"})


RULES = {
    "core/autodiff": (
        "core.declare",
        "core.optim",
        "core.problems",
        "core.simulation",
        "core.traces",
        "core.export",
        "core.commands",
    ),
    "core/optim": ("core.problems", "core.simulation", "core.traces", "core.export", "core.commands"),
    "core/problems": ("core.optim", "core.simulation", "core.traces", "core.export", "core.commands"),
    "core/simulation": ("core.traces", "core.export", "core.commands"),
    "core/traces": ("core.export", "core.commands"),
    "core/export": ("core.commands",),
    "gui/widgets": ("gui.views", "gui.export", "gui.main_window", "gui.menus", "gui.docks"),
    "gui/views": ("gui.export", "gui.main_window", "gui.menus", "gui.docks", "gui.worker"),
    "resources": ("core", "gui"),
}


@pytest.mark.parametrize("folder", RULES)
def test_layers_import_downwards_only(folder):
    for path in files(folder):
        wrong = [name for name in imports(path) if name.startswith(RULES[folder])]
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


def test_views_do_not_know_one_another():
    views = ROOT / "gui" / "views"
    for path in files("gui/views"):
        own = path.relative_to(views).parts[0].removesuffix(".py")
        for name in imports(path):
            if name.startswith("gui.views.") and name != "gui.views.base":
                assert name.split(".")[2].startswith(own.split("3d")[0]), f"{path.name} imports {name}"
