"""One file (or package) a view."""
