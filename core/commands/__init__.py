"""The commands that need no display."""
