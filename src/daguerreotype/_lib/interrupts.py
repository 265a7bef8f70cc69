"""Ctrl-C during long work: noted when it comes, and raised where the state is whole.

Python raises KeyboardInterrupt wherever the main thread happens to be. In compiled code that surfaces as a
SystemError, and between two assignments it leaves half a state behind. So long work listens to Ctrl-C itself.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class CancelToken:
    """Asks long work for an end: on Ctrl-C while it is :meth:`listening`, or when another thread asks.

    After :meth:`cancel`, the next :meth:`check` raises KeyboardInterrupt, and those after it do not, so that what
    has been found so far can be put together. A second Ctrl-C raises wherever it comes: nobody is locked in.

    Attributes
    ----------
    asked : bool
        Whether somebody has ever asked for an end.
    """

    def __init__(self) -> None:
        self.asked = False
        self._open = False  # asked, and not yet raised
        self._heard = False  # a Ctrl-C
        self._at_once = self._held = 0  # how many of these contexts there are around

    def cancel(self) -> None:
        """Ask for an end."""
        self.asked = self._open = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if somebody has asked for it."""
        if self._open and not self._held:
            self._open = False
            raise KeyboardInterrupt

    def answered(self) -> bool:
        """Whether an end was asked for; what follows says so, so that no check need raise any more."""
        self._open = False
        return self.asked

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let Ctrl-C ask for an end of what is done in here, instead of raising.

        If it comes so late that nothing checks any more, KeyboardInterrupt is raised at the end. Whatever listens
        around hears of it, too. Only the main thread can hear Ctrl-C. A handler that somebody else has installed
        stays, and what it raises in compiled code becomes a KeyboardInterrupt again.
        """
        foreign = signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, _hear)
        if foreign or not _in_main_thread():
            try:
                yield
            except SystemError as error:
                if _comes_from_interrupt(error):
                    raise KeyboardInterrupt from error
                raise
            return
        _listening.append(self)
        signal.signal(signal.SIGINT, _hear)
        try:
            yield
        except Exception as error:
            if self._heard:  # and raised in compiled code, say, or while something was put together for it
                self._open = False
                raise KeyboardInterrupt from error
            raise
        finally:
            _listening.remove(self)
            if not _listening and signal.getsignal(signal.SIGINT) is _hear:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        self._held = 0
        self.check()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let Ctrl-C raise wherever it comes in here: for what takes long, and leaves nothing half-made behind."""
        if not _in_main_thread():
            self.check()
            yield
            return
        self._at_once += 1
        try:
            self.check()
            yield
        except KeyboardInterrupt:
            self._open = False
            raise
        except Exception as error:
            if self._open and not self._held:
                self._open = False
                raise KeyboardInterrupt from error
            raise
        finally:
            self._at_once -= 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let whoever asks wait until this is done: for what puts together what was found."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1


_listening: list[CancelToken] = []  # of the main thread, the innermost last


def _hear(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C: tell all that listen; raise if the innermost is to end at once, and the second time."""
    again = any(token._heard for token in _listening)
    for token in _listening:
        token._heard = True
        token.cancel()
    if again or not _listening or (_listening[-1]._at_once and not _listening[-1]._held):
        raise KeyboardInterrupt


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _comes_from_interrupt(error: BaseException) -> bool:
    """Whether compiled code noticed a KeyboardInterrupt only when it was done."""
    below: BaseException | None = error
    while below is not None and not isinstance(below, KeyboardInterrupt):
        below = below.__cause__ or below.__context__
    return below is not None


@contextmanager
def reraise_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if one came: on Ctrl-C, a learner just ends its fit early."""
    cancel = CancelToken()
    with cancel.listening(), cancel.at_once():
        yield
        cancel.check()
