"""The user's language: the program's own translation, and Qt's for its dialogs, where there is one."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from gui.resources import resource_path


def install_translations(
    application: QCoreApplication, locale: QLocale | None = None, folder: Path | None = None
) -> list[QTranslator]:
    """Load 'stepscope_LANGUAGE.qm' of ``folder`` (default: resources/translations) for ``locale`` (default: the
    system's), and Qt's own beside it; returns those found. Texts without a translation stay as they are written.
    """
    locale = locale or QLocale.system()
    places = (
        ("stepscope", str(folder or resource_path("translations"))),
        ("qtbase", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)),
    )
    found = []
    for name, place in places:
        translator = QTranslator(application)
        if not translator.load(locale, name, "_", place):
            # buttons of dialogs in another language than all else would be worse than none
            break
        application.installTranslator(translator)
        found.append(translator)
    return found
