"""Bootstrap run: refits on resampled rows, in any number of processes, with a journal to resume from."""

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Self

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from daguerreotype._lib.bounded_reading import open_regular
from daguerreotype._lib.checks import (
    check_flag,
    check_frequency,
    check_learner,
    check_path,
    check_positive_int,
    check_seed,
)
from daguerreotype._lib.fingerprint import differences, digest_table, plain_setting
from daguerreotype._lib.interrupts import CancelToken
from daguerreotype._lib.journal import decode_line, encode_line
from daguerreotype._lib.labels import plural
from daguerreotype._lib.locks import sole_use
from daguerreotype._lib.parallel import count_jobs
from daguerreotype._lib.replacement import replaced
from daguerreotype.bootstrap.resample import DRAWS, Draws, Learner, Resample, refit
from daguerreotype.bootstrap.summary import Bootstrap, check_threshold, summarise
from daguerreotype.data.columns import to_pandas

logger = logging.getLogger("daguerreotype")

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
    check_learner(learner)
    n_resamples = check_positive_int(n_resamples, "n_resamples")
    check_threshold(threshold)
    count_jobs(n_jobs)
    if fit_params is not None and not isinstance(fit_params, Mapping):
        raise TypeError(
            f"fit_params is a {type(fit_params).__name__}: expected a dict of arguments of fit by name."
        )
    X = to_pandas(X)
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    params = dict(fit_params or {})
    draws = Draws(
        n_rows=len(table),
        n_drawn=_n_drawn(len(table), fraction, replace),
        replace=check_flag(replace, "replace"),
        random_state=check_seed(random_state),
    )
    settings = {"learner": type(learner).__name__, **learner.get_params(deep=False)}
    settings |= {"fraction": fraction, "replace": replace}
    names = tuple(table.columns.tolist()) if isinstance(table, pd.DataFrame) else None

    def summary(done: dict[int, Resample]) -> Bootstrap:
        some = [done[index] for index in range(n_resamples) if index in done]
        return summarise(some, names, threshold, draws.random_state, settings)

    cancel, done = CancelToken(), dict[int, Resample]()
    try:
        with cancel.listening(), ExitStack() as files:
            journal = None
            if resume is not None:
                told = describe_run(learner, table, params, draws)
                journal = files.enter_context(Journal(resume, told))
                done |= journal.load()
            _refit_all(learner, table, params, draws, n_resamples, n_jobs, done, journal, cancel)
    except KeyboardInterrupt as interrupt:
        finished = any(done[index].failure is None for index in done if index < n_resamples)
        raise BootstrapInterrupt(summary(done) if finished else None) from interrupt
    return summary(done)


def _refit_all(
    learner: Learner,
    table: Any,
    params: dict[str, Any],
    draws: Draws,
    n_resamples: int,
    n_jobs: int | None,
    done: dict[int, Resample],
    journal: "Journal | None",
    cancel: CancelToken,
) -> None:
    """Add all resamples that are missing to those that are ``done``, as they finish."""
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
            while True:
                with cancel.at_once():  # waits for other processes
                    resample = next(results, None)
                if resample is None:
                    break
                if resample.index == 0 and resample.failure is not None:
                    raise ValueError(
                        f"the first resample could not be fitted in {DRAWS} draws of {draws.n_drawn} rows. The "
                        f"last one said: {resample.failure}"
                    )
                if journal is not None:
                    journal.append(resample)
                done[resample.index] = resample
                advance()


def _n_drawn(n_rows: int, fraction: float, replace: bool) -> int:
    """Rows per resample."""
    check_frequency(fraction, "fraction")
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


class BootstrapInterrupt(KeyboardInterrupt):
    """Ctrl-C during a bootstrap.

    Attributes
    ----------
    finished : Bootstrap or None
        What the resamples have in common that were finished; None if there were none.
    """

    def __init__(self, finished: Bootstrap | None) -> None:
        count = 0 if finished is None else finished.n_resamples
        super().__init__(f"{count} resample{plural(count)} finished")
        self.finished = finished


class Journal:
    """A file with the finished resamples of one run; used in a context, by one process at a time.

    Each line is a checksum and JSON; the first says which run it is. A line counts when it is complete: whenever
    the process dies, the file holds all resamples before, and at most a torn line at its end, which is cut off.
    If a line cannot be written, that is said once, and the next one tries again.

    Parameters
    ----------
    path : path
        The file. It is made if it does not exist.
    settings : dict
        What a resample depends on, as JSON values by name. A file with others is refused.
    """

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self.path = check_path(path, "resume")
        self.settings = json.loads(json.dumps(settings))
        self._waiting: list[bytes] = []  # lines that could not be written
        self._use = ExitStack()

    def __enter__(self) -> Self:
        self._use.enter_context(sole_use(self.path))
        return self

    def __exit__(self, *error: object) -> None:
        self._use.close()
        if self._waiting:
            count = len(self._waiting)
            logger.warning("%s lacks %d resample%s that could not be written.", self.path, count, plural(count))

    def load(self) -> dict[int, Resample]:
        """Finished resamples by index; makes the file if there is none, and cuts off a torn line."""
        if not self.path.exists():
            with replaced(self.path) as file:
                file.write(encode_line({"bootstrap": FORMAT, "settings": self.settings}))
            return {}
        with open_regular(self.path) as file:
            content = file.read()
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
            resample = None if record is None else _resample_of(record, self.settings)
            if resample is None:
                raise ValueError(
                    f"line {number} of {self.path} is damaged. Delete that line to do its resample again."
                )
            done[resample.index] = resample
        complete = sum(len(line) + 1 for line in lines)
        if complete < len(content):
            os.truncate(self.path, complete)
        return done

    def append(self, resample: Resample) -> None:
        """Add one finished resample, and those that could not be written before; then they are on the disk."""
        told = bool(self._waiting)
        self._waiting.append(encode_line(asdict(resample)))
        try:
            complete = self.path.stat().st_size
            try:
                with open(self.path, "ab") as file:
                    file.write(b"".join(self._waiting))
                    file.flush()
                    os.fsync(file.fileno())
            except OSError:
                os.truncate(self.path, complete)  # half a line would spoil the next one
                raise
            self._waiting.clear()
        except OSError as error:
            if not told:
                logger.warning(
                    "cannot add to %s: %s. The bootstrap goes on and tries again with the next resample; if it is "
                    "killed before that, what is not in the file is lost.",
                    self.path,
                    error.strerror or error,
                )

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


def _resample_of(record: dict[str, Any], settings: dict[str, Any]) -> Resample | None:
    """The resample of a line; None if it is not one of a table with so many columns."""
    d = settings["columns"] if isinstance(settings["columns"], int) else len(settings["columns"])
    try:
        resample = Resample(**record)
        ends = [end for edge in resample.edges for end in edge]
        whole = (resample.index, resample.redraws, *resample.order, *ends)
        numbers = all(type(number) is int and number >= 0 for number in whole)
        nodes = sorted(resample.order) == list(range(d if resample.failure is None else 0))
        ranks = {node: rank for rank, node in enumerate(resample.order)}
        edges = all(ranks[cause] < ranks[effect] for cause, effect in resample.edges)
    except (TypeError, KeyError, ValueError):
        return None
    return resample if numbers and nodes and edges else None


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
