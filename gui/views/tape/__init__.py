"""The tape view."""

from gui.views.tape.view import TapeView as TapeView
