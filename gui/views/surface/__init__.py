"""The loss surface in two dimensions; its parts are shared with the three-dimensional view."""

from gui.views.surface.view import SurfaceView as SurfaceView
