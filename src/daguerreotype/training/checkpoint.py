"""Checkpoints of long work: the state of every stage that was begun, in one file that is always complete."""

import json
import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

import numpy as np

from daguerreotype._lib.archive import Arrays, Header, UnreadableError, read_archive, write_archive
from daguerreotype._lib.checks import check_path
from daguerreotype._lib.interrupts import CancelToken
from daguerreotype._lib.store import differences, digest, sole_use

logger = logging.getLogger("daguerreotype")

KIND, FORMAT = "checkpoint", 2
SECONDS = 30.0  # between two saves


@dataclass(frozen=True)
class _State:
    """What a file holds of one stage."""

    settings: Header
    arrays: Arrays
    header: Header


class Checkpoint:
    """A file that a fit is saved to, stage by stage, and goes on from; to be used in a context.

    A fit is a fixed sequence of stages: what one ends with is where the next begins. So the stages are known by
    their number and name. After a kill, those that had ended give their end at once, the one that had not goes on,
    and all is as if nothing had happened. Nothing is saved after an interrupt, which would lead elsewhere.

    The file is a zip archive of plain arrays (npz) with a JSON header; nothing in it can run code. A new state
    replaces the old one in one step: whenever the process dies, the file holds one of the two. While it is used,
    no other process can use it. If it cannot be written, that is said once, work goes on, and the next save tries
    again.

    Parameters
    ----------
    path : path
        The file. If it exists, its stages are gone on from.
    seconds : float
        Seconds between two saves.
    cancel : CancelToken, optional
        Of the fit.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, seconds: float = SECONDS, cancel: CancelToken | None = None
    ) -> None:
        self.path, self.seconds = check_path(path, "resume"), seconds
        self._cancel = CancelToken() if cancel is None else cancel
        self._states: dict[str, _State] = {}
        self._n_stages = 0
        self._saved_at = time.monotonic()
        self._changed = self._warned = False
        self._use = ExitStack()

    def __enter__(self) -> Self:
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"there is no folder {self.path.parent} for {self.path.name}: make it, or give another path."
            )
        try:
            self._use.enter_context(sole_use(self.path))
        except OSError as error:  # of a system that cannot lock, or a folder that cannot be written
            self._tell(error)
        try:
            self._read()
        except BaseException:
            self._use.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        with self._use:
            if self._changed:
                self.write()

    def stage(self, name: str, settings: Header, *, strict: bool = False) -> "Stage":
        """The next stage of the fit.

        Parameters
        ----------
        name : str
            What it does.
        settings : dict
            What it depends on, as JSON values by name. A state that was saved with others does not count.
        strict : bool
            Refuse the file if the state was saved with other settings.
        """
        key = f"{self._n_stages}.{name}"
        self._n_stages += 1
        # As they will be read back: lists, no tuples.
        plain: Header = json.loads(json.dumps(settings, default=repr))
        saved = self._states.get(key)
        other_work = f"it has no {name}" if strict and self._states else ""
        changed = other_work if saved is None else differences(saved.settings, plain)
        if changed and strict:
            raise ValueError(
                f"{self.path} is a checkpoint of another run: {changed}. Give the data and settings that it began "
                "with, or another path."
            )
        if changed:
            del self._states[key]
        return Stage(self, key, plain)

    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self._saved_at >= self.seconds

    def state_of(self, key: str) -> tuple[Arrays, Header] | None:
        """What is known of a stage."""
        state = self._states.get(key)
        return (
            None if state is None else ({name: array.copy() for name, array in state.arrays.items()}, state.header)
        )

    def put(self, key: str, settings: Header, arrays: Arrays, header: Header) -> bool:
        """Take in the state of a stage; False after an interrupt."""
        if self._cancel.asked:
            return False
        self._states[key] = _State(settings, {name: np.array(array) for name, array in arrays.items()}, header)
        self._changed = True
        return True

    def write(self) -> None:
        """Replace the file by all that is known."""
        arrays = {
            f"{key}/{name}": array for key, state in self._states.items() for name, array in state.arrays.items()
        }
        stages = {key: {"settings": state.settings, "header": state.header} for key, state in self._states.items()}
        self._saved_at = time.monotonic()
        try:
            header = {"kind": KIND, "format": FORMAT, "stages": stages, "digest": _digest_of(arrays, stages)}
            write_archive(self.path, arrays, header)
        except OSError as error:
            self._tell(error)
        else:
            self._changed = self._warned = False

    def _tell(self, error: OSError) -> None:
        """Say once that the file cannot be written, and what that means."""
        if not self._warned:
            logger.warning(
                "cannot save to %s: %s. The fit goes on and tries again; if it is killed before that, it can only "
                "go on from what the file holds.",
                self.path,
                error.strerror or error,
            )
        self._warned = True

    def _read(self) -> None:
        """Take in what was saved."""
        if not self.path.exists():
            return
        try:
            arrays, header = read_archive(self.path)
            if header.get("kind", KIND) != KIND:
                raise KeyError(f"it is a {header['kind']}")
            stated = header["format"]
            if stated == FORMAT:
                # What it holds becomes indices of kernels: whatever was altered since must not get there.
                if header["digest"] != _digest_of(arrays, header["stages"]):
                    raise KeyError("it was altered since")
                self._states = {
                    key: _State(stage["settings"], {}, stage["header"]) for key, stage in header["stages"].items()
                }
                for name, array in arrays.items():
                    key, _, rest = name.partition("/")
                    self._states[key].arrays[rest] = array
        except (UnreadableError, OSError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{self.path} is not a complete checkpoint ({error}). Delete it to begin anew, or give another "
                "path."
            ) from error
        if stated != FORMAT:
            raise ValueError(
                f"{self.path} is a checkpoint of format {stated!r}, but this version reads format "
                f"{FORMAT}. Go on with the version that wrote it, or delete it to begin anew."
            )


def _digest_of(arrays: Arrays, stages: Header) -> str:
    """A digest of all that a file holds."""
    names = sorted(arrays)
    words = np.frombuffer(json.dumps([names, stages], sort_keys=True).encode(), dtype=np.uint8)
    return digest(words, *(arrays[name] for name in names))


class Stage:
    """One stage of a fit, and where it stood when it was last saved; without a file nothing is."""

    def __init__(self, file: Checkpoint | None = None, key: str = "", settings: Header | None = None) -> None:
        self.file, self.key, self.settings = file, key, settings or {}

    def load(self) -> tuple[Arrays, Header] | None:
        """The saved state; None if there is none."""
        return None if self.file is None else self.file.state_of(self.key)

    def keep(self, state: Callable[[], tuple[Arrays, Header]], *, always: bool = False) -> None:
        """Save a state when it is time to; ``always`` keep one that a later save is to hold."""
        if self.file is None:
            return
        due = self.file.due()
        if (due or always) and self.file.put(self.key, self.settings, *state()) and due:
            self.file.write()


NOT_SAVED = Stage()
