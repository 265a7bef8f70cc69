"""How do finished resamples survive being killed? One line each, at the end of a file that is only appended to."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from daguerreotype._lib.journal import decode_line, encode_line
from daguerreotype.bootstrap.resample import Resample

FORMAT = 1


class Journal:
    """A file with the finished resamples of one run.

    Each line is a checksum and JSON; the first says which run it is. A line counts when it is complete: whenever
    the process dies, the file holds all resamples before, and at most a torn line at its end, which is cut off.

    Parameters
    ----------
    path : path
        The file. It is made if it does not exist.
    settings : dict
        What a resample depends on, as JSON values by name. A file with others is refused.
    """

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.path = Path(path)
        self.settings = json.loads(json.dumps(settings))

    def load(self) -> dict[int, Resample]:
        """Finished resamples by index; makes the file if there is none, and cuts off a torn line."""
        if not self.path.exists():
            self._begin()
            return {}
        content = self.path.read_bytes()
        lines = content.split(b"\n")[:-1]
        records = [decode_line(line) for line in lines]
        if records and records[-1] is None:
            lines.pop(), records.pop()
        if not records or records[0] is None or "bootstrap" not in records[0]:
            raise ValueError(
                f"{self.path} does not hold resamples of a bootstrap. Give another path; a file that does not "
                "exist yet is made."
            )
        self._check(records[0])
        done = {}
        for number, record in enumerate(records[1:], start=2):
            if record is None:
                raise ValueError(
                    f"line {number} of {self.path} is damaged. Delete that line to do its resample again."
                )
            done[record["index"]] = Resample(**record)
        complete = sum(len(line) + 1 for line in lines)
        if complete < len(content):
            os.truncate(self.path, complete)
        return done

    def append(self, resample: Resample) -> None:
        """Add one finished resample; it is on the disk when this returns."""
        with open(self.path, "ab") as file:
            file.write(encode_line(asdict(resample)))
            file.flush()
            os.fsync(file.fileno())

    def _begin(self) -> None:
        """Make the file with its first line in one step."""
        partial = self.path.with_name(self.path.name + ".partial")
        with open(partial, "wb") as file:
            file.write(encode_line({"bootstrap": FORMAT, "settings": self.settings}))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, self.path)
        if os.name == "posix":  # the name must survive a power failure, too
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _check(self, header: dict[str, Any]) -> None:
        """Refuse resamples that this run would not have made."""
        if header["bootstrap"] != FORMAT:
            raise ValueError(
                f"{self.path} has format {header['bootstrap']!r}, but this version reads format {FORMAT}. Go on "
                "with the version that wrote it, or give another path."
            )
        saved = header["settings"]
        names = [name for name in {**saved, **self.settings} if saved.get(name) != self.settings.get(name)]
        if names:
            differences = "; ".join(_difference(name, saved.get(name), self.settings.get(name)) for name in names)
            raise ValueError(
                f"{self.path} holds resamples of another bootstrap: {differences}. Give the table and settings "
                "that it began with, or another path."
            )


def _difference(name: str, saved: Any, given: Any) -> str:
    """How one setting differs, in words; digests would say nothing."""
    if name.startswith("digest of "):
        return f"{name.removeprefix('digest of ')} differ"
    return f"{name} was {saved!r} and is now {given!r}"
