"""Waits for events: no outcome of a test depends on how many seconds anything takes."""

import time

HANG = 300  # seconds that nothing takes, however busy the machine: a wait that lasts as long has failed


def wait_until(happened, while_=lambda: True):
    """Return once ``happened()``; fail as soon as ``while_`` no longer holds."""
    deadline = time.monotonic() + HANG
    while not happened():
        assert while_() or happened(), "it ended before what it was waited for"
        assert time.monotonic() < deadline, f"nothing happened in {HANG} seconds"
        time.sleep(0.01)


def never_end():
    """Go on until somebody ends the process; a forgotten one ends some day."""
    time.sleep(10 * HANG)
