"""Data tables, surfaces and scripts for other programs."""

from core.export.surfaces import write_surface as write_surface
from core.export.tables import write_table as write_table
