"""The pipeline view. Its parts that are no widgets are of use without it, so the view is loaded when asked for."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "PipelineView":
        from gui.views.pipeline.view import PipelineView

        return PipelineView
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
