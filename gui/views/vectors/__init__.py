"""Computed and applied step side by side."""

from gui.views.vectors.view import VectorsView as VectorsView
