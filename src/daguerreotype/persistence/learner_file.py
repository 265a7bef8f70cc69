"""How does a fitted learner get into a file and back? As plain arrays with a JSON header, never as code."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daguerreotype._lib.archive import UnreadableError, read_archive, write_archive
from daguerreotype._lib.typing import IntArray
from daguerreotype.persistence.codec import RecordReader, RecordWriter
from daguerreotype.persistence.settings import decode_setting, encode_setting, name_of
from daguerreotype.pipeline import Fitted

FORMAT = 1
KIND = "fitted learner of daguerreotype"


@dataclass(frozen=True)
class Saved:
    """All that a file holds of a learner.

    Attributes
    ----------
    settings : dict
        What the learner was made with. A function or object of the user's comes back as `Unsaved`.
    attributes : dict
        Fitted attributes that do not follow from ``fitted``, by name.
    columns : array of shape (d,)
        The user's column that each column of the fitted table is.
    named, texts : bool
        Whether the table was a DataFrame; whether all its column names were text.
    fitted : Fitted
        What was learned, without the rows it was learned from.
    """

    settings: dict[str, Any]
    attributes: dict[str, Any]
    columns: IntArray
    named: bool
    texts: bool
    fitted: Fitted


def save_learner(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write ``saved`` to ``path``; an error leaves the file that was there."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot save to {path}: there is no folder {path.parent}. Create it first.")
    writer = RecordWriter(name_of(saved.settings.get("edges")))
    header = {
        "kind": KIND,
        "format": FORMAT,
        "parameters": {name: encode_setting(value) for name, value in saved.settings.items()},
        "attributes": {name: encode_setting(value) for name, value in saved.attributes.items()},
        "named": saved.named,
        "texts": saved.texts,
        "fitted": writer.put("fitted", saved.fitted),
        "columns": writer.put("columns", saved.columns),
    }
    write_archive(path, writer.arrays, header, compress=True)


def load_learner(path: str | os.PathLike[str]) -> Saved:
    """What `save_learner` wrote, or an error that says what the file is instead."""
    path = Path(path)
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
        what = "a checkpoint of a training run" if "settings" in header else "an archive of other arrays"
        raise ValueError(f"{path} is {what}, not a saved learner. Give a file that save wrote.")
    version = header.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise ValueError(
            f"{path} was saved in format {version} by a newer version of daguerreotype; this one reads formats up "
            f"to {FORMAT}. Update it: pip install --upgrade daguerreotype."
        )
    try:
        reader = RecordReader(arrays)
        return Saved(
            settings={name: decode_setting(value) for name, value in header["parameters"].items()},
            attributes={name: decode_setting(value) for name, value in header["attributes"].items()},
            columns=reader.take(header["columns"]),
            named=header["named"],
            texts=header["texts"],
            fitted=reader.take(header["fitted"]),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(
            f"{path} is damaged, or not quite of format {FORMAT}: {type(error).__name__} at {error}. Save again."
        ) from error
