"""Memory that a piece of code takes at most."""

import tracemalloc
from contextlib import contextmanager


@contextmanager
def at_most(n_bytes):
    """Fail if what happens inside holds more than ``n_bytes`` at any time."""
    tracemalloc.start()
    try:
        yield
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak <= n_bytes, f"{peak:,} bytes at once"
