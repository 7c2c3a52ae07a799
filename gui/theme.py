"""Colours with one meaning everywhere, light and dark, and the style sheet made from them."""

from __future__ import annotations

from dataclasses import dataclass

from gui.resources import icon_path

# Okabe-Ito family (Okabe and Ito 2008): told apart by colour-blind people. One meaning each, in every view.
COMPUTED = "#3b8edb"
APPLIED = "#e8710a"
CAUSE_COLORS = {
    "frozen variables": "#7f8c8d",
    "loss scaling": "#8c6d46",
    "accumulation": "#9aa83a",
    "regularisation": "#b8a000",
    "centralisation": "#5f7f95",
    "clipping": "#009e73",
    "momentum": "#cc79a7",
    "bias correction": "#e5a3c6",
    "adaptive scaling": "#8f6fd1",
    "trust ratio": "#6a51a3",
    "sign": "#4c72b0",
    "orthogonalisation": "#7a5195",
    "learning rate": "#56b4e9",
    "weight decay": "#b5761f",
    "averaging": "#2f9aa0",
    "noise": "#a0a0a0",
    "guard": "#d1495b",
    "own rule": "#708090",
    "rounding": "#999999",
}
# Runs are told apart by colours that are none of the meanings above, and by their dash.
RUN_COLORS = ("#f5f5f5", "#f0e442", "#ff8fa3", "#7bdff2", "#b2f7a1", "#d0a9f5")
RUN_COLORS_LIGHT = ("#1a1a1a", "#8a7600", "#b3003b", "#00687a", "#2a7a00", "#6a1fb0")


@dataclass(frozen=True, slots=True)
class Theme:
    """The quiet surroundings: a background, a card, a border, two greys of text."""

    name: str
    window: str
    card: str
    border: str
    text: str
    quiet: str
    field: str
    axis: str
    grid: str
    accent: str
    warning: str

    @property
    def dark(self) -> bool:
        """True for light text on dark ground."""
        return self.name == "dark"

    def run_color(self, index: int) -> str:
        """The colour of run ``index``."""
        colors = RUN_COLORS if self.dark else RUN_COLORS_LIGHT
        return colors[index % len(colors)]


DARK = Theme(
    "dark", "#1b1d22", "#16181d", "#2b2f36", "#e6e8eb", "#9aa3ad", "#20242b", "#c5cbd3", "#2b2f36", COMPUTED, "#ff9f6b"
)
LIGHT = Theme(
    "light",
    "#f3f4f7",
    "#ffffff",
    "#d9dce1",
    "#1d2127",
    "#5c6670",
    "#ffffff",
    "#33383f",
    "#e3e6ea",
    "#1f6fbf",
    "#b3470a",
)
THEMES = {"dark": DARK, "light": LIGHT}


def cause_color(cause: str) -> str:
    """The colour of a cause (grey for one that is not in the table)."""
    return CAUSE_COLORS.get(cause, "#888888")


def style_sheet(theme: Theme) -> str:
    """The Qt style sheet of a theme."""
    t = theme

    def icon(name: str) -> str:
        return icon_path(f"{name}.svg").replace("\\", "/")

    return f"""
    QMainWindow, QDialog, QMessageBox {{ background: {t.window}; }}
    QWidget {{ color: {t.text}; font-size: 12px; }}
    QMainWindow::separator {{ background: {t.window}; width: 6px; height: 6px; }}
    QDockWidget {{ color: {t.text}; titlebar-close-icon: none; titlebar-normal-icon: none; }}
    QFrame#card, QWidget#card {{ background: {t.card}; border: 1px solid {t.border}; border-radius: 6px; }}
    QDockWidget QFrame#card {{ border-top: 0; border-top-left-radius: 0; border-top-right-radius: 0; }}
    QDockWidget QWidget#cardHeader {{ background: {t.card}; border: 1px solid {t.border}; border-bottom: 0;
        border-top-left-radius: 6px; border-top-right-radius: 6px; }}
    QToolButton#plain {{ border: 0; background: transparent; padding: 0 3px; color: {t.quiet}; min-height: 16px; }}
    QToolButton#plain:hover, QToolButton#plain:focus {{ color: {t.accent}; }}
    QMessageBox, QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
    QLabel {{ background: transparent; }}
    QLabel#title {{ font-weight: 600; }}
    QLabel#quiet {{ color: {t.quiet}; }}
    QLabel#warning {{ color: {t.warning}; }}
    QToolBar {{ background: {t.window}; border: 0; spacing: 4px; padding: 3px; }}
    QStatusBar {{ background: {t.window}; color: {t.quiet}; }}
    QStatusBar QLabel {{ color: {t.quiet}; padding: 0 6px; }}
    QMenuBar {{ background: {t.window}; }}
    QMenuBar::item:selected, QMenu::item:selected {{ background: {t.accent}; color: white; }}
    QMenu {{ background: {t.card}; border: 1px solid {t.border}; }}
    QToolTip {{ background: {t.card}; color: {t.text}; border: 1px solid {t.border}; padding: 3px; }}
    QPushButton, QToolButton, QComboBox, QSpinBox, QDoubleSpinBox, QLineEdit, QPlainTextEdit, QTextEdit {{
        background: {t.field}; border: 1px solid {t.border}; border-radius: 4px; padding: 2px 6px; min-height: 18px;
        selection-background-color: {t.accent}; selection-color: white;
    }}
    QPushButton:hover, QToolButton:hover, QComboBox:hover {{ border-color: {t.accent}; }}
    QPushButton:focus, QToolButton:focus, QComboBox:focus, QLineEdit:focus, QPlainTextEdit:focus,
    QSpinBox:focus, QDoubleSpinBox:focus {{ border: 1px solid {t.accent}; }}
    QPushButton:disabled, QToolButton:disabled, QComboBox:disabled, QLineEdit:disabled {{ color: {t.quiet}; }}
    QPushButton:checked, QToolButton:checked {{ background: {t.accent}; color: white; border-color: {t.accent}; }}
    QComboBox QAbstractItemView {{ background: {t.card}; border: 1px solid {t.border}; }}
    QScrollArea {{ border: 0; background: transparent; }}
    QScrollArea > QWidget > QWidget {{ background: transparent; }}
    QScrollBar:vertical {{ background: transparent; width: 9px; margin: 0; }}
    QScrollBar:horizontal {{ background: transparent; height: 9px; margin: 0; }}
    QScrollBar::handle {{ background: {t.border}; border-radius: 4px; min-height: 24px; min-width: 24px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QTableView, QTreeView, QListView {{ background: {t.card}; border: 0; gridline-color: {t.border};
        alternate-background-color: {t.field}; selection-background-color: {t.accent}; selection-color: white; }}
    QHeaderView, QTableCornerButton::section {{ background: {t.card}; border: 0; }}
    QHeaderView::section {{ background: {t.card}; color: {t.quiet}; border: 0; border-bottom: 1px solid {t.border};
        padding: 2px 6px; }}
    QSlider::groove:horizontal {{ height: 4px; background: {t.border}; border-radius: 2px; }}
    QSlider::sub-page:horizontal {{ height: 4px; background: {t.accent}; border-radius: 2px; }}
    QSlider::handle:horizontal {{ width: 12px; height: 12px; margin: -4px 0; border-radius: 6px;
        background: {t.text}; border: 1px solid {t.border}; }}
    QSlider::handle:horizontal:focus {{ border: 2px solid {t.accent}; }}
    QCheckBox {{ spacing: 5px; }}
    QCheckBox:focus {{ color: {t.accent}; }}
    QCheckBox::indicator, QMenu::indicator, QListView::indicator {{ width: 12px; height: 12px;
        border: 1px solid {t.quiet}; border-radius: 3px; background: {t.field}; }}
    QMenu::indicator {{ margin-left: 5px; }}
    QCheckBox::indicator:hover, QCheckBox::indicator:focus {{ border-color: {t.accent}; }}
    QCheckBox::indicator:checked, QMenu::indicator:checked, QListView::indicator:checked {{
        background: {t.accent}; border-color: {t.accent};
        image: url({icon("check")}); }}
    QCheckBox::indicator:disabled {{ border-color: {t.border}; }}
    QComboBox::drop-down {{ border: 0; width: 16px; }}
    QComboBox::down-arrow {{ image: url({icon(f"down_{t.name}")}); width: 12px; height: 12px; }}
    QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button, QDoubleSpinBox::down-button {{ border: 0;
        width: 16px; background: transparent; }}
    QSpinBox::up-arrow, QDoubleSpinBox::up-arrow {{ image: url({icon(f"up_{t.name}")}); width: 10px; height: 10px; }}
    QSpinBox::down-arrow, QDoubleSpinBox::down-arrow {{ image: url({icon(f"down_{t.name}")}); width: 10px;
        height: 10px; }}
    QToolButton[popupMode="2"] {{ padding-right: 18px; }}
    QToolButton::menu-indicator {{ image: url({icon(f"down_{t.name}")}); width: 12px; height: 12px; right: 4px;
        subcontrol-origin: padding; subcontrol-position: center right; }}
    QSplitter::handle {{ background: {t.window}; }}
    QTabBar {{ qproperty-drawBase: 0; }}
    QTabWidget::pane {{ border: 0; }}
    QTabBar::tab {{ background: {t.window}; color: {t.quiet}; padding: 3px 10px; border: 1px solid {t.border};
        border-bottom: 0; border-top-left-radius: 4px; border-top-right-radius: 4px; }}
    QTabBar::tab:selected {{ background: {t.card}; color: {t.text}; }}
    """
