"""Compiled programs: trace (record one call), graph (simplify), emit (write straight-line code), compiled (use)."""
