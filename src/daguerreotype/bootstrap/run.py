"""How are all resamples run and counted? In any number of processes, to the same end."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from daguerreotype._lib.checks import check_count, check_positive_int
from daguerreotype._lib.fingerprint import describe_run
from daguerreotype._lib.typing import IntArray
from daguerreotype.bootstrap.consensus import consensus_order
from daguerreotype.bootstrap.journal import Journal
from daguerreotype.bootstrap.record import Bootstrap, check_threshold
from daguerreotype.bootstrap.resample import DRAWS, Draws, Learner, Resample, refit

logger = logging.getLogger("daguerreotype")


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
    # Resamples are what runs in parallel; a fit within one of many workers had better not start its own.
    alone = {"n_jobs": 1, "verbose": 0}
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
    return count([done[index] for index in range(n_resamples)], names, threshold, draws.random_state, settings)


def count(
    resamples: list[Resample],
    names: tuple[str, ...] | None,
    threshold: float,
    random_state: int,
    settings: dict[str, Any],
) -> Bootstrap:
    """Frequencies, consensus order and stability of the graphs of all resamples."""
    failures = {each.index: each.failure for each in resamples if each.failure is not None}
    fitted = [each for each in resamples if each.failure is None]
    if failures:
        index, reason = next(iter(failures.items()))
        logger.warning(
            "%d of %d resamples could not be fitted and are left out; resample %d: %s",
            len(failures),
            len(resamples),
            index,
            reason,
        )
    d = len(fitted[0].order)
    edges, ancestors, before = (np.zeros((d, d), dtype=np.int64) for _ in range(3))
    for each in fitted:
        edges += each.adjacency()
        ancestors += each.ancestors()
        before += each.precedence()
    order = consensus_order(edges, before, len(fitted))
    stability, of_columns = _stability(ancestors, order)

    def named(matrix: Any) -> Any:
        return matrix if names is None else pd.DataFrame(matrix, index=list(names), columns=list(names))

    return Bootstrap(
        edge_frequencies=named(edges / len(fitted)),
        ancestor_frequencies=named(ancestors / len(fitted)),
        order_frequencies=named(before / len(fitted)),
        consensus_order=order if names is None else [names[j] for j in order],
        order_stability=stability,
        column_stability=of_columns if names is None else pd.Series(of_columns, index=list(names)),
        threshold=threshold,
        n_resamples=len(fitted),
        failures=failures,
        n_redraws=sum(each.redraws for each in resamples),
        random_state=random_state,
        settings=settings,
    )


def _stability(ancestors: IntArray, order: IntArray) -> tuple[float, Any]:
    """Agreement with ``order`` of all pairs that had a path between them, and of those of each column."""
    ranks = np.argsort(order)
    along = np.where(ranks[:, None] < ranks, ancestors, 0)
    with_order, related = along + along.T, ancestors + ancestors.T
    with np.errstate(invalid="ignore"):  # a column without relations has no order to keep: NaN
        of_columns = 2 * with_order.sum(axis=0) / related.sum(axis=0) - 1
        total = 2 * np.divide(with_order.sum(), related.sum()) - 1
    return float(total), of_columns


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
