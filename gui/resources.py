"""Where the program's own files are."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def resource_path(*parts: str) -> Path:
    """A file below resources/."""
    return Path(str(files("resources").joinpath(*parts)))


def icon_path(name: str) -> str:
    """The path of an icon."""
    return str(resource_path("icons", name))
