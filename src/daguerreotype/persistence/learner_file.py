"""Files of fitted learners: plain arrays with a JSON header, never code."""

import os
from collections.abc import Mapping
from typing import Any

from daguerreotype._lib.archive import UnreadableError, read_archive, write_archive
from daguerreotype._lib.checks import check_path
from daguerreotype._lib.records import check_record
from daguerreotype.persistence.codec import Reader, Writer
from daguerreotype.result import FitResult

FORMAT = 9  # counts up with every change; no other is read
KIND = "fitted learner of daguerreotype"


def save_learner(
    path: str | os.PathLike[str], settings: Mapping[str, Any], texts: bool, result: FitResult
) -> None:
    """Write a fitted learner to ``path``; an error leaves the file that was there.

    Parameters
    ----------
    settings : dict
        What the learner was made with. A function or object of the user's comes back as ``Unsaved``.
    texts : bool
        Whether the table was a DataFrame whose column names were all text.
    result : FitResult
        What was learned, without the rows it was learned from.
    """
    path = check_path(path, "path")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot save to {path}: there is no folder {path.parent}. Create it first.")
    writer = Writer()
    header = {
        "kind": KIND,
        "format": FORMAT,
        "parameters": {name: writer.put(f"parameters.{name}", value) for name, value in settings.items()},
        "texts": texts,
        "result": writer.put("result", result),
    }
    write_archive(path, writer.arrays, header, compress=True)


def load_learner(path: str | os.PathLike[str]) -> tuple[dict[str, Any], bool, FitResult]:
    """The settings, texts and result that `save_learner` wrote, or an error that says what the file is instead."""
    path = check_path(path, "path")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path} to load a learner from.")
    try:
        arrays, header = read_archive(path)
    except UnreadableError as error:
        raise ValueError(
            f"{path} is not a complete file of a saved learner ({error}). It may be cut short, or be something "
            "else: give a file that save wrote, or save again."
        ) from error
    if header.get("kind") != KIND:
        what = (
            "a checkpoint of a training run"
            if header.keys() & {"stages", "settings"}
            else "an archive of other arrays"
        )
        raise ValueError(f"{path} is {what}, not a saved learner. Give a file that save wrote.")
    version = header.get("format")
    if version != FORMAT:
        newer = isinstance(version, int) and version > FORMAT
        advice = "Update it: pip install --upgrade daguerreotype." if newer else "Fit again."
        raise ValueError(
            f"{path} was saved in format {version} by {'a newer' if newer else 'an older'} version of "
            f"daguerreotype; this one reads format {FORMAT}. {advice}"
        )
    try:
        reader = Reader(arrays)
        settings = {name: reader.take(value) for name, value in header["parameters"].items()}
        result = reader.take(header["result"])
        if not isinstance(result, FitResult):
            raise TypeError(f"a {type(result).__name__} in place of the result")
        check_record(result, {"d": len(result.names)})
        return settings, bool(header["texts"]), result
    except Exception as error:  # whatever the parts of a file that nobody saved lead to
        raise ValueError(
            f"{path} is damaged, or not quite of format {FORMAT}: {type(error).__name__} at {error}. Save again."
        ) from error
