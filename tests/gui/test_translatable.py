"""What the user reads goes through Qt's translation call, so that a translator finds it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import PySide6
from PySide6.QtCore import QLocale

from core.simulation import Experiment
from gui.main_window import MainWindow
from gui.session import Session
from gui.translations import install_translations

GUI = Path(__file__).parents[2] / "gui"
SETTERS = {
    "addAction",
    "addButton",
    "addItem",
    "addMenu",
    "addRow",
    "addTab",
    "setAccessibleDescription",
    "setAccessibleName",
    "setHeaderLabels",
    "setLabelText",
    "setPlaceholderText",
    "setPrefix",
    "setStatusTip",
    "setSuffix",
    "setText",
    "setTitle",
    "setToolTip",
    "setWhatsThis",
    "setWindowTitle",
    "showMessage",
}
MAKERS = {"QAction", "QCheckBox", "QGroupBox", "QLabel", "QMenu", "QPushButton", "QRadioButton", "QToolButton"}
NAMES = {"Adam", "GIF", "JSON", "Keras", "NumPy", "PNG", "PyTorch", "Stepscope", "TensorFlow", "nan", "optax"}
"""Proper names, the same in every language."""
WORD = re.compile(r"[A-Za-z]{3,}")


def words_of(node):
    """The words that stand literally in an expression, outside of calls (tr, format ...)."""
    if isinstance(node, ast.Constant):
        text = node.value if isinstance(node.value, str) else ""
    elif isinstance(node, ast.JoinedStr):
        text = " ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        # tags and signs of rich text are not read
        text = re.sub(r"<[^>]*>?|[^<]*>", " ", text) if "<" in text else text
        text = re.sub(r"&\w+;", " ", text)
    elif isinstance(node, ast.IfExp):
        return words_of(node.body) | words_of(node.orelse)
    elif isinstance(node, ast.BinOp):
        return words_of(node.left) | words_of(node.right)
    elif isinstance(node, ast.List | ast.Tuple):
        return {word for part in node.elts for word in words_of(part)}
    else:
        return set()
    return {word for word in WORD.findall(text) if word not in NAMES}


def untranslated(source):
    """(line, words) of every text that is given to a widget as it stands in the code."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SETTERS or name in MAKERS:
            # the second argument of addItem is what stands behind the entry
            given = node.args[:1] if name == "addItem" else node.args[:2]
            words = {word for argument in given for word in words_of(argument)}
            if words:
                yield node.lineno, sorted(words)


def test_the_scan_finds_what_it_is_for():
    assert list(untranslated('label.setText("Hello there")')) == [(1, ["Hello", "there"])]
    assert list(untranslated('QLabel(f"{n} steps")')) == [(1, ["steps"])]
    assert list(untranslated('box.setToolTip("on" if x else "switched off")')) == [(1, ["off", "switched"])]
    assert list(untranslated('label.setText(self.tr("{0} steps").format(n))')) == []
    assert list(untranslated('label.setText("×5"); label.setText("PyTorch")')) == []


def test_every_text_of_a_widget_is_given_through_the_translation_call():
    found = [
        f"{path.relative_to(GUI.parent)}:{line}: {' '.join(words)}"
        for path in sorted(GUI.rglob("*.py"))
        for line, words in untranslated(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


GERMAN = """<?xml version="1.0" encoding="utf-8"?><!DOCTYPE TS><TS version="2.1" language="de">
<context><name>Menus</name><message><source>&amp;File</source><translation>&amp;Datei</translation></message></context>
<context><name>views</name><message><source>Vectors</source><translation>Vektoren</translation></message></context>
</TS>"""


def test_a_translation_that_is_put_into_the_folder_is_what_the_window_says(qtbot, qapp, tmp_path):
    (tmp_path / "stepscope_de.ts").write_text(GERMAN, encoding="utf-8")
    tool = Path(PySide6.__path__[0]) / ("lrelease.exe" if sys.platform == "win32" else "lrelease")
    subprocess.run([tool, "stepscope_de.ts"], cwd=tmp_path, check=True, capture_output=True)
    found = install_translations(qapp, QLocale("de_AT"), tmp_path)
    window = MainWindow(Session(Experiment()))
    try:
        assert window.menuBar().actions()[0].text() == "&Datei"
        assert window.docks["vectors"].windowTitle() == "Vektoren"
        assert window.menuBar().actions()[1].text() == "&Edit"
    finally:
        for translator in found:
            qapp.removeTranslator(translator)
        window.close()
        window.deleteLater()
