"""Files of fitted learners: plain arrays with a JSON header, never code."""

import os
from dataclasses import dataclass
from typing import Any

from daguerreotype._lib.archive import UnreadableError, read_archive, write_archive
from daguerreotype._lib.checks import check_path
from daguerreotype.persistence import format_1, format_2, format_3, format_5
from daguerreotype.persistence.codec import RecordReader, RecordWriter
from daguerreotype.persistence.settings import decode_setting, encode_setting, name_of
from daguerreotype.persistence.validation import check_result
from daguerreotype.result import FitResult

FORMAT = 6
KIND = "fitted learner of daguerreotype"


@dataclass(frozen=True)
class SavedLearner:
    """All that a file holds of a learner.

    Attributes
    ----------
    settings : dict
        What the learner was made with. A function or object of the user's comes back as `Unsaved`.
    texts : bool
        Whether the table was a DataFrame whose column names were all text.
    result : FitResult
        What was learned, without the rows it was learned from.
    """

    settings: dict[str, Any]
    texts: bool
    result: FitResult


def save_learner(path: str | os.PathLike[str], saved: SavedLearner) -> None:
    """Write ``saved`` to ``path``; an error leaves the file that was there."""
    path = check_path(path, "path")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot save to {path}: there is no folder {path.parent}. Create it first.")
    writer = RecordWriter(name_of(saved.settings.get("edges")))
    header = {
        "kind": KIND,
        "format": FORMAT,
        "parameters": {name: encode_setting(value) for name, value in saved.settings.items()},
        "texts": saved.texts,
        "result": writer.put("result", saved.result),
    }
    write_archive(path, writer.arrays, header, compress=True)


def load_learner(path: str | os.PathLike[str]) -> SavedLearner:
    """What `save_learner` wrote, or an error that says what the file is instead."""
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
    if isinstance(version, int) and version > FORMAT:
        raise ValueError(
            f"{path} was saved in format {version} by a newer version of daguerreotype; this one reads formats up "
            f"to {FORMAT}. Update it: pip install --upgrade daguerreotype."
        )
    try:
        if version == 1:
            arrays, header = format_1.upgrade(arrays, header)
        if version in (1, 2):
            arrays, header = format_2.upgrade(arrays, header)
        if version in (1, 2, 3):
            arrays, header = format_3.upgrade(arrays, header)
        if isinstance(version, int) and version < FORMAT:
            arrays, header = format_5.upgrade(arrays, header)
        settings = {name: decode_setting(value) for name, value in header["parameters"].items()}
        result = RecordReader(arrays).take(header["result"])
        if not isinstance(result, FitResult):
            raise TypeError(f"a {type(result).__name__} in place of the result")
        check_result(result)
        return SavedLearner(settings, bool(header["texts"]), result)
    except Exception as error:  # whatever the parts of a file that nobody saved lead to
        raise ValueError(
            f"{path} is damaged, or not quite of format {FORMAT}: {type(error).__name__} at {error}. Save again."
        ) from error
