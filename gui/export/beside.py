"""Encoding in a thread of its own: frames are drawn in the GUI thread, which answers while they are packed."""

from __future__ import annotations

import gc
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from PySide6.QtCore import QCoreApplication

T = TypeVar("T")
WAITING = 2
"""Frames drawn ahead of the encoder: a bound on memory."""
PATIENCE = 0.01


class _Stopped(Exception):
    """Tells the encoder that no more frames come and its file is not wanted."""


def encode_beside(items: Iterator[T], encode: Callable[[Iterator[T]], None]) -> None:
    """Call ``encode`` with ``items``, which are made in this thread and handed over; raises what either of them raises.

    Python's own garbage collection rests meanwhile, since it would destroy Qt objects from the encoder's thread.
    """
    lane: queue.Queue[T | None] = queue.Queue(WAITING)
    stopped = False

    def fed() -> Iterator[T]:
        while (item := lane.get()) is not None:
            yield item
        if stopped:
            raise _Stopped

    collecting = gc.isenabled()
    gc.disable()
    try:
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(encode, fed())
            try:
                for count, item in enumerate(items):
                    _hand_over(item, lane, work)
                    if collecting and count % 20 == 19:
                        gc.collect(1)
            except BaseException:
                stopped = True
                _finish(lane, work)
                raise
            _finish(lane, work)
            work.result()
    finally:
        if collecting:
            gc.enable()


def _hand_over(item: T | None, lane: queue.Queue[T | None], work: Future[None]) -> None:
    """Put ``item`` into the lane, answering events while it is full; nothing when the encoder has ended."""
    while not work.done():
        try:
            lane.put(item, timeout=PATIENCE)
            return
        except queue.Full:
            QCoreApplication.processEvents()
    if item is not None:
        work.result()


def _finish(lane: queue.Queue[T | None], work: Future[None]) -> None:
    """Tell the encoder that this was all, and answer events until it has ended."""
    _hand_over(None, lane, work)
    while not work.done():
        QCoreApplication.processEvents()
        wait([work], PATIENCE)
