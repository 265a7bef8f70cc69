"""Which settings suit a table whose graph nobody knows? A search by what the table itself can tell."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_count
from daguerreotype.tune.criteria import without_truth
from daguerreotype.tune.record import Tuning
from daguerreotype.tune.run import check_search, run_search
from daguerreotype.tune.space import Space, Spec
from daguerreotype.tune.study import Told


def tune_table(
    learner: Any,
    X: Any,
    *,
    criterion: Literal["held-out", "bic", "stability"] = "stability",
    space: Mapping[str, Spec] | None = None,
    n_trials: int = 50,
    storage: Any = None,
    study_name: str | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    callback: Told | None = None,
    verbose: int = 0,
) -> Tuning:
    r"""Search for settings that suit a table.

    Maximises over settings one of

    - "stability": Cohen's kappa between the graphs of two halves of the rows, mean over five ways to halve them;
    - "held-out": mean log-likelihood per row of each fifth of the rows, learned from the others;
    - "bic": log-likelihood per row of the table, less log(n) / 2n for every parameter of an edge.

    Parameters
    ----------
    learner : estimator
        ``Daguerreotype(...)``, a baseline, or any scikit-learn estimator whose fit leaves ``adjacency_matrix_``.
        One without ``score`` has the likelihood of linear Gaussian regressions along its graph.
    X : DataFrame or array of shape (n, d)
        The table.
    criterion : {"stability", "held-out", "bic"}
        The default is the one that led to the least SHD where graphs are known: ``benchmarks/tune.py``.
    space, n_trials, storage, study_name, random_state, n_jobs, time_limit, callback, verbose
        As for :func:`tune`.

    Returns
    -------
    Tuning
        The settings of the best trial, a learner that has them, and all trials.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype import Daguerreotype
    >>> from daguerreotype.tune import tune_table
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:, 2] += X[:, 0]
    >>> found = tune_table(Daguerreotype(edges="bic"), X, n_trials=3)
    >>> int(found.best.fit(X).adjacency_matrix_.sum())
    1
    """
    read = check_search(learner, space)
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    rng = np.random.default_rng(check_count(random_state, "random_state"))
    return run_search(
        learner,
        read,
        without_truth(criterion, table, rng),
        first_of_front,
        n_trials=n_trials,
        storage=storage,
        study_name=study_name,
        random_state=random_state,
        n_jobs=n_jobs,
        time_limit=time_limit,
        callback=callback,
        verbose=verbose,
    )


def first_of_front(space: Space, front: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The settings of the best trial, of equals the first."""
    return dict(front[0])
