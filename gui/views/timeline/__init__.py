"""The timeline view: stacked plots over the steps."""

from gui.views.timeline.view import TimelineView as TimelineView
