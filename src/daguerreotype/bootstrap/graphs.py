"""Bootstrap: a learner is fitted to resampled rows, and its graphs are counted."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from daguerreotype._lib.checks import check_flag, check_frequency, check_learner, check_positive_int, check_seed
from daguerreotype._lib.interrupts import CancelToken, reraise_interrupts
from daguerreotype._lib.labels import plural
from daguerreotype._lib.parallel import count_jobs, one_thread
from daguerreotype._lib.progress import ProgressBar
from daguerreotype._lib.store import digest_table, plain_setting
from daguerreotype._lib.typing import IntArray
from daguerreotype.bootstrap.resampling import DRAWS, Draws, Record, learn_resamples
from daguerreotype.bootstrap.summary import Bootstrap, Resample, summarise
from daguerreotype.data.columns import to_pandas
from daguerreotype.training.checkpoint import Checkpoint
from daguerreotype.training.run import Run

WITHOUT_EFFECT = {"n_jobs", "verbose", "random_state"}  # of a learner: each resample seeds its own


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


def bootstrap(
    learner: Any,
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
    check_frequency(threshold, "threshold")
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
    given = learner.get_params(deep=False)
    # Resamples are what runs in parallel; a fit within one of many workers had better not start its own. Of each
    # only the graph counts.
    alone = {"n_jobs": 1, "verbose": 0}
    blank = clone(learner).set_params(**{name: value for name, value in alone.items() if name in given})
    cancel = CancelToken()
    with ExitStack() as contexts:
        contexts.enter_context(cancel.listening())
        checkpoint = None if resume is None else contexts.enter_context(Checkpoint(resume))
        bar = contexts.enter_context(ProgressBar(given.get("verbose", 0), 0))
        records, interrupted = learn_resamples(
            partial(refit, blank, table, params, draws),
            n_resamples,
            n_jobs=n_jobs,
            run=Run(cancel=cancel, checkpoint=checkpoint),
            settings=lambda: describe_run(learner, table, params, draws),
            advance=bar.task("resamples", n_resamples),
        )
    resamples = [Resample(**record) for _, record in records]
    result = None
    if any(resample.failure is None for resample in resamples):
        names = tuple(table.columns.tolist()) if isinstance(table, pd.DataFrame) else None
        settings = {"learner": type(learner).__name__, **given, "fraction": fraction, "replace": replace}
        result = summarise(resamples, names, threshold, draws.random_state, settings)
    if interrupted or result is None:
        raise BootstrapInterrupt(result)
    return result


def refit(learner: Any, X: Any, fit_params: Mapping[str, Any], draws: Draws, index: int) -> Record:
    """The graph of ``learner`` on one resample of ``X`` and of every fit parameter that has as many rows.

    The stream first gives the learner its ``random_state``, so that ties are broken anew each time, then rows.
    Rows that cannot be fitted (a ValueError: a column has become constant, say) are drawn again.
    """
    stream = draws.stream(index)
    model = clone(learner)
    seed = int(stream.integers(2**31))
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    failure = ""
    for redraws in range(DRAWS):
        rows = draws.rows(stream)
        params = {
            name: _take(value, rows) if _has_rows(value, draws.n_rows) else value
            for name, value in fit_params.items()
        }
        try:
            with one_thread, reraise_interrupts():
                model.fit(_take(X, rows), **params)
        except ValueError as error:
            failure = str(error)
            continue
        return {}, asdict(Resample(index, *_graph_of(model), redraws))
    if index == 0:  # so, very likely, the others could not be fitted, either
        raise ValueError(
            f"the first resample could not be fitted in {DRAWS} draws of {draws.n_drawn} rows. The last one said: "
            f"{failure}"
        )
    return {}, asdict(Resample(index, [], [], DRAWS, failure))


def describe_run(learner: Any, X: Any, fit_params: Mapping[str, Any], draws: Draws) -> dict[str, Any]:
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


def _n_drawn(n_rows: int, fraction: float, replace: bool) -> int:
    """How many rows a resample has."""
    check_frequency(fraction, "fraction")
    if fraction == 1 and not replace:
        raise ValueError(
            "replace=False with fraction=1.0 draws the same rows every time. Give a smaller fraction, such as 0.5."
        )
    return round(fraction * n_rows)


def _graph_of(model: Any) -> tuple[list[int], list[list[int]]]:
    """Order and edges of a fitted learner, as column numbers."""
    adjacency, order = model.adjacency_matrix_, list(model.causal_order_)
    if isinstance(adjacency, pd.DataFrame):
        place = {name: number for number, name in enumerate(adjacency.columns)}
        order = [place[name] for name in order]
    return [int(node) for node in order], np.argwhere(np.asarray(adjacency)).tolist()


def _has_rows(value: Any, n_rows: int) -> bool:
    """Whether a fit parameter has one entry per row."""
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
        return False
    return len(value) == n_rows


def _take(value: Any, rows: IntArray) -> Any:
    """The given rows of an array, frame, series or sequence, numbered anew."""
    taken = _safe_indexing(value, rows)
    return taken.reset_index(drop=True) if isinstance(taken, pd.DataFrame | pd.Series) else taken
