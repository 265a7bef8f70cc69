"""Ctrl-C during a fit that ends early on it: the interrupt, raised again for the caller."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def reraise_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if one came: on Ctrl-C, a learner just ends its fit early."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # no interrupt is raised here
        return
    handle: Callable[[int, FrameType | None], Any] = before
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        handle(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if interrupted:
            raise KeyboardInterrupt
