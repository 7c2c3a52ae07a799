"""Experiment files of former versions: each migration turns the document of one version into that of the next.

A new version adds one function here and a file of the version it leaves behind to tests/core/simulation/versions/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Document = dict[str, Any]
Migration = Callable[[Document], Document]

MIGRATIONS: Mapping[int, Migration] = {}
"""By the version they start from; there has been one version only, so there is none yet."""


class VersionError(ValueError):
    """A document whose version cannot be read: the message says which and how to mend it."""


def version_of(document: Mapping[str, Any], newest: int) -> int:
    """The version a document says it has (``newest`` when it says none)."""
    version = document.get("version", newest)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise VersionError(f"at version: a whole number from 1 to {newest} is needed, not {version!r}")
    return version


def upgraded(document: Document, newest: int, migrations: Mapping[int, Migration] = MIGRATIONS) -> Document:
    """The document as version ``newest`` has it; ``document`` itself is left as it is."""
    version = version_of(document, newest)
    if version > newest:
        raise VersionError(f"version {version} is newer than this program understands ({newest}); update Stepscope")
    result = dict(document)
    while version < newest:
        result = {**migrations[version](result), "version": version + 1}
        version += 1
    return result
