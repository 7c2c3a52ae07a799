"""The key map: every shortcut of the window and of its views, and the keys of controls, in one list."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.views.base import View

Section = tuple[str, list[tuple[str, str]]]


def plain(text: str) -> str:
    """An action's text without the marks of a menu."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")


def key_text(keys: list[QKeySequence]) -> str:
    """'Ctrl+Z, Ctrl+Y' in the words of this system."""
    return ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in keys if not key.isEmpty())


def menu_sections(menus: list[tuple[str, list[QAction]]]) -> list[Section]:
    """One section a menu: what has a key there."""
    return [
        (
            plain(title),
            [(key_text(a.shortcuts()), f"{plain(a.text())}: {a.statusTip()}") for a in actions if a.shortcuts()],
        )
        for title, actions in menus
    ]


def view_sections(views: list[View]) -> list[Section]:
    """The shortcuts that views have of their own."""
    found = []
    for view in views:
        rows = [(key_text(a.shortcuts()), plain(a.text())) for a in view.findChildren(QAction) if a.shortcuts()]
        rows += [(key_text(s.keys()), s.whatsThis()) for s in view.findChildren(QShortcut)]
        if rows:
            found.append((view.title, list(dict.fromkeys(rows))))
    return found


class KeyMap(QDialog):
    """The list, with a line to search in it."""

    def __init__(self, menus: list[tuple[str, list[QAction]]], views: list[View], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Keys"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        layout = QVBoxLayout(self)
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search"))
        self.search.setAccessibleName(self.tr("Search the keys"))
        self.search.setToolTip(self.tr("Show only keys whose line holds this"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._on_search)
        layout.addWidget(self.search)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName(self.tr("Keys"))
        self.tree.setColumnCount(2)
        self.tree.setHeaderLabels([self.tr("Key"), self.tr("What it does")])
        self.tree.setRootIsDecorated(False)
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        for title, rows in (*menu_sections(menus), *view_sections(views), self._controls()):
            section = QTreeWidgetItem(self.tree, [title])
            section.setFirstColumnSpanned(True)
            for key, text in rows:
                QTreeWidgetItem(section, [key, text])
        self.tree.expandAll()
        layout.addWidget(self.tree)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)
        self.resize(620, 640)

    def _controls(self) -> Section:
        return (
            self.tr("In a control"),
            [
                ("Tab, Shift+Tab", self.tr("The next, the previous control")),
                ("← → ↑ ↓", self.tr("On a slider: a hundredth of it; with Shift the smallest step")),
                ("PgUp, PgDn", self.tr("On a slider: a tenth of it")),
                ("Return", self.tr("In a field: take the exact value typed; Esc gives it up")),
                ("↑ ↓", self.tr("On a card's or row's grip: a place up or down the chain")),
                ("Space", self.tr("On a switch or a button of a view: press it; everywhere else: run or pause")),
                ("Ctrl+Return", self.tr("In the optimizer lines: apply them from the next step on")),
                ("Esc", self.tr("While something is dragged: let it be")),
            ],
        )

    @Slot(str)
    def _on_search(self, text: str) -> None:
        wanted = text.casefold()
        for k in range(self.tree.topLevelItemCount()):
            section = self.tree.topLevelItem(k)
            shown = 0
            for row in range(section.childCount()):
                item = section.child(row)
                hidden = wanted not in f"{item.text(0)} {item.text(1)}".casefold()
                item.setHidden(hidden)
                shown += not hidden
            section.setHidden(not shown)
