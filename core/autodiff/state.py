"""What one thread records: the stack of active tapes, and the counter that numbers tensors."""

from __future__ import annotations

import itertools
import threading
from typing import Any

next_id = itertools.count(1).__next__  # 0 stands for "not a tensor"


class ThreadState(threading.local):
    """The tapes that record at the moment, innermost last; every thread has its own."""

    def __init__(self) -> None:
        self.tapes: list[Any] = []
        self.reverse_pass = 0  # the number of the reverse pass that runs
        self.statistics_held = False  # whether batch_norm treats the statistics of the batch as constants


state = ThreadState()
