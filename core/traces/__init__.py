"""Trace files: write, read, explain."""

from core.traces.trace import TraceError as TraceError
from core.traces.trace import read_trace as read_trace
from core.traces.trace import write_trace as write_trace
