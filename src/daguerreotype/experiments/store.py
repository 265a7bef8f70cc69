"""Append-only store of finished runs: one file, a checksummed line each, locked against other processes."""

import logging
import os
import re
import threading
from typing import IO, Any

from daguerreotype._lib.bounded_reading import open_regular
from daguerreotype._lib.checks import check_path
from daguerreotype._lib.journal import decode_line, encode_line
from daguerreotype._lib.locks import claim_byte, release_byte, wait_for

logger = logging.getLogger("daguerreotype")

OK, FAILED, TIMED_OUT = "ok", "failed", "timed out"
LEFT_OUT = "left out"  # of the plan: never run
# What records of each kind cannot do without.
NEEDED: dict[str, dict[str, type]] = {
    "run": {"key": str, "status": str},
    "problem": {"data": str, "columns": list, "truth": list},
    "plan": {"experiment": str},
}


class Store:
    """Runs by their key, the tables that they were made with, and the plan of each experiment.

    A line counts when it is complete: whenever a process dies, the file holds all before, and what it was writing
    is skipped. Several processes may append to one store; each sees what others wrote when it reads on, and a
    claim keeps two from doing the same run at once. A claim ends with its process.

    Parameters
    ----------
    path : path
        The file, made with the first record. Beside it there is a file of the same name and ``.lock``.

    Attributes
    ----------
    runs : dict
        Key of a run to what became of it. Of several records the first that is ``ok`` counts, else the last.
    problems : dict
        Digest of the data to column names and true edges.
    plans : dict
        Name of an experiment to its last plan.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = check_path(path, "path")
        self.runs: dict[str, dict[str, Any]] = {}
        self.problems: dict[str, dict[str, Any]] = {}
        self.plans: dict[str, dict[str, Any]] = {}
        self._read = 0  # bytes of complete lines
        self._claims: IO[bytes] | None = None
        self._one_at_a_time = threading.RLock()  # threads that look for work read while others write
        self.refresh()

    def refresh(self) -> None:
        """Read what was appended since the last time."""
        if not self.path.exists():
            return
        with self._one_at_a_time, open_regular(self.path) as file:
            if self._read == 0:
                self._check(file.read(9))
            file.seek(self._read)
            for line in file.read().split(b"\n")[:-1]:
                record = decode_line(line)
                if record is None or not self._take(record):
                    logger.warning("skipped a damaged line of %s, after %d bytes", self.path, self._read)
                self._read += len(line) + 1

    def append(self, kind: str, record: dict[str, Any]) -> None:
        """Add a run, a problem or a plan; it is on the disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._one_at_a_time, open(self.path, "ab+") as file:
            wait_for(file)
            line = encode_line({"record": kind} | record)
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # someone died while writing: what they left becomes a line of its own
                    line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.refresh()

    def take_over(self, other: "Store") -> int:
        """Append what another store has and this one lacks; returns how many runs.

        Of a run that both have, the one that ended well counts. A plan of this store stays.
        """
        for mine, theirs, kind in ((self.problems, other.problems, "problem"), (self.plans, other.plans, "plan")):
            for name in sorted(theirs.keys() - mine.keys()):
                self.append(kind, theirs[name])
        taken = 0
        for key, run in other.runs.items():
            known = self.runs.get(key)
            if known is None or (known["status"] != OK and run["status"] == OK):
                self.append("run", run)
                taken += 1
        return taken

    def settled(self, key: str, time_limit: float | None, *, retry: bool = False) -> bool:
        """Whether a run need not be made: it is there, and more time or another try would not help."""
        run = self.runs.get(key)
        if run is None or run["status"] == OK:
            return run is not None
        if run["status"] == TIMED_OUT:
            return time_limit is not None and run["time_limit"] >= time_limit
        return not retry

    def claim(self, key: str) -> bool:
        """Take a run for this process; False if another process has it."""
        with self._one_at_a_time:
            if self._claims is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._claims = open(self.path.with_name(self.path.name + ".lock"), "wb")  # noqa: SIM115
        return claim_byte(self._claims, _byte_of(key))  # one byte per key, locked but never written

    def release(self, key: str) -> None:
        """Give a claim back."""
        if self._claims is not None:
            release_byte(self._claims, _byte_of(key))

    def close(self) -> None:
        """Give all claims back."""
        if self._claims is not None:
            self._claims.close()
            self._claims = None

    def _take(self, record: dict[str, Any]) -> bool:
        """Sort a record in; whether it has what a record of its kind has."""
        kind = record.pop("record", None)
        needed = NEEDED.get(kind, {}) if isinstance(kind, str) else {}
        if any(not isinstance(record.get(name), of) for name, of in needed.items()):
            return False
        if kind == "run":
            known = self.runs.get(record["key"])
            if known is None or known["status"] != OK:
                self.runs[record["key"]] = record
        elif kind == "problem":
            self.problems[record["data"]] = record
        elif kind == "plan":
            self.plans[record["experiment"]] = record
        return True

    def _check(self, beginning: bytes) -> None:
        """Refuse a file that nobody wrote as a store."""
        if not re.fullmatch(rb"[0-9a-f]{0,8}|[0-9a-f]{8} ", beginning):
            raise ValueError(
                f"{self.path} does not hold runs of experiments. Give another path; a file that does not exist "
                "yet is made."
            )


def _byte_of(key: str) -> int:
    """Place of the lock of a key."""
    return int(key[:15], 16)
