"""Bootstrap run: refits on resampled rows, in any number of processes, with a journal to resume from."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from daguerreotype._lib.archive import replaced
from daguerreotype._lib.checks import check_count, check_positive_int
from daguerreotype._lib.fingerprint import differences, digest_table, plain_setting
from daguerreotype._lib.journal import decode_line, encode_line
from daguerreotype.bootstrap.resample import DRAWS, Draws, Learner, Resample, refit
from daguerreotype.bootstrap.summary import Bootstrap, check_threshold, summarise
from daguerreotype.data.columns import to_pandas

FORMAT = 1  # of a journal
WITHOUT_EFFECT = {"n_jobs", "verbose", "random_state"}  # of a learner: each resample seeds its own


def bootstrap(
    learner: Learner,
    X: Any,
    n_resamples: int = 100,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    fraction: float = 1.0,
    replace: bool = True,
    threshold: float = 0.5,
    fit_params: Mapping[str, Any] | None = None,
) -> Bootstrap:
    """Refit ``learner`` on resamples of the rows of ``X`` and count what its graphs have in common.

    :meth:`daguerreotype.Daguerreotype.bootstrap` describes the parameters; ``learner`` may be any scikit-learn
    estimator whose fit leaves ``adjacency_matrix_`` and ``causal_order_`` behind. It is not changed.
    """
    n_resamples = check_positive_int(n_resamples, "n_resamples")
    check_threshold(threshold)
    X = to_pandas(X)
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    params = dict(fit_params or {})
    draws = Draws(
        n_rows=len(table),
        n_drawn=_n_drawn(len(table), fraction, replace),
        replace=bool(replace),
        random_state=check_count(random_state, "random_state"),
    )
    journal = None if resume is None else Journal(resume, describe_run(learner, table, params, draws))
    done = {} if journal is None else journal.load()
    missing = [index for index in range(n_resamples) if index not in done]
    given = learner.get_params(deep=False)
    # Resamples are what runs in parallel; a fit within one of many workers had better not start its own. Of each
    # only the graph counts.
    alone = {"n_jobs": 1, "verbose": 0, "posterior": 0}
    blank = clone(learner).set_params(**{name: value for name, value in alone.items() if name in given})
    with _bar(bool(given.get("verbose")), n_resamples, n_resamples - len(missing)) as advance:
        # One by one, as they finish: nothing that is finished waits in a batch to be saved.
        parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
        work = (delayed(refit)(blank, table, params, draws, index) for index in missing)
        with closing(parallel(work)) as results:
            for resample in results:
                if resample.index == 0 and resample.failure is not None:
                    raise ValueError(
                        f"the first resample could not be fitted in {DRAWS} draws of {draws.n_drawn} rows. The "
                        f"last one said: {resample.failure}"
                    )
                if journal is not None:
                    journal.append(resample)
                done[resample.index] = resample
                advance()
    settings = {"learner": type(learner).__name__, **given, "fraction": fraction, "replace": replace}
    names = tuple(map(str, table.columns)) if isinstance(table, pd.DataFrame) else None
    return summarise([done[index] for index in range(n_resamples)], names, threshold, draws.random_state, settings)


def _n_drawn(n_rows: int, fraction: float, replace: bool) -> int:
    """Rows per resample."""
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be above 0 and at most 1, got {fraction}.")
    if fraction == 1 and not replace:
        raise ValueError(
            "replace=False with fraction=1.0 draws the same rows every time. Give a smaller fraction, such as 0.5."
        )
    return round(fraction * n_rows)


@contextmanager
def _bar(shown: bool, total: int, done: int) -> Iterator[Callable[[], None]]:
    """One progress bar over all resamples, or none; yields what moves it on."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("resamples", total=total, completed=done)
        yield lambda: progress.advance(task)


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
            with replaced(self.path) as file:
                file.write(encode_line({"bootstrap": FORMAT, "settings": self.settings}))
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

    def _check(self, header: dict[str, Any]) -> None:
        """Refuse resamples that this run would not have made."""
        if header["bootstrap"] != FORMAT:
            raise ValueError(
                f"{self.path} has format {header['bootstrap']!r}, but this version reads format {FORMAT}. Go on "
                "with the version that wrote it, or give another path."
            )
        if changed := differences(header["settings"], self.settings):
            raise ValueError(
                f"{self.path} holds resamples of another bootstrap: {changed}. Give the table and settings "
                "that it began with, or another path."
            )


def describe_run(learner: Learner, X: Any, fit_params: Mapping[str, Any], draws: Draws) -> dict[str, Any]:
    """What a resample depends on, by name: settings as they are, data as digests."""
    settings = {
        name: value for name, value in learner.get_params(deep=False).items() if name not in WITHOUT_EFFECT
    }
    return {
        "version": version("daguerreotype"),
        "learner": type(learner).__name__,
        **{f"learner.{name}": plain_setting(value) for name, value in settings.items()},
        **{f"fit parameter {name}": plain_setting(value) for name, value in fit_params.items()},
        **asdict(draws),
        "columns": [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else X.shape[1],
        "digest of the data": digest_table(pd.DataFrame(X)),
    }
