"""Search for the settings of a learner by Optuna, in one process."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_callable, check_positive_int, check_seed
from daguerreotype._lib.child_process import describe_error
from daguerreotype._lib.imports import require
from daguerreotype.data.columns import to_pandas
from daguerreotype.tune.objectives import Objective, graph_errors, graph_stability, paper_problems, read_problems
from daguerreotype.tune.space import Space, Spec, space_for, with_settings

logger = logging.getLogger("daguerreotype")

OnTrial = Callable[[dict[str, Any]], None]
Directions = dict[str, Literal["minimize", "maximize"]]


@dataclass(frozen=True)
class Tuning:
    """Result of a search for settings.

    Attributes
    ----------
    best : estimator
        Copy of the learner with the chosen settings, not yet fitted.
    chosen : dict
        The chosen settings by name; "edges.pruning" is the pruning of the learner's edges.
    scores : DataFrame
        The objectives of the learner as it was given and with the chosen settings, in rows "given" and "chosen";
        NaN where they could not be had.
    front : DataFrame
        The trials that no other beats in all objectives at once.
    trials : DataFrame
        One row per trial: objectives (NaN if it failed), settings, "seconds", and the "reason" why it failed.
    directions : dict
        "minimize" or "maximize" for every objective.
    interrupted : bool
        Whether a person ended it before its last trial.
    study : optuna.Study
        For Optuna's own analyses and plots.
    """

    best: Any
    chosen: dict[str, Any]
    scores: pd.DataFrame
    front: pd.DataFrame = field(repr=False)
    trials: pd.DataFrame = field(repr=False)
    directions: Directions
    interrupted: bool
    study: Any = field(repr=False, compare=False)


def tune(
    learner: Any,
    *,
    space: Mapping[str, Spec] | None = None,
    problems: Iterable[Any] | None = None,
    n_trials: int = 50,
    random_state: int = 0,
    callback: OnTrial | None = None,
) -> Tuning:
    r"""Search for settings that find the graphs of problems whose graphs are known, as the paper did (appendix D).

    .. math:: \min_s \; \Big( \frac1m \sum_p \mathrm{SHD}(G_p, \hat G_p(s)), \;
              \frac1m \sum_p \mathrm{SID}(G_p, \hat G_p(s)) \Big)

    over settings s, both at once, by Optuna's tree-structured Parzen estimator. The chosen value of a setting is
    its mean over the Pareto front, rounded to one significant digit; of choices, the most frequent one.

    Parameters
    ----------
    learner : estimator
        ``Daguerreotype(...)``, a baseline, or any scikit-learn estimator whose fit leaves ``adjacency_matrix_``.
        It is not changed.
    space : dict, optional
        Settings to search over: name to ``(low, high, "log")``, ``(low, high, "linear")`` or a list of choices.
        Ends that are whole numbers mean whole numbers. "edges.pruning" is the pruning of the learner's edges.
        Without it: :func:`default_space`.
    problems : sequence of Dataset or of pairs (X, adjacency), optional
        Without it the 72 of :func:`paper_problems`. Fewer are faster; those most like your data are best.
    n_trials : int
        Trials, failed ones included.
    random_state : int
        Seeds problems and trials: the same seed makes the same trials.
    callback : callable, optional
        Called after every trial with a dict of "number", "values", "settings", "seconds" and "reason".

    Returns
    -------
    Tuning
        The chosen settings, a learner that has them, and all trials. A trial that fails gives its reason there,
        and the search goes on. Ctrl-C ends the search and keeps the trials that were made.

    Examples
    --------
    >>> from daguerreotype import Daguerreotype
    >>> from daguerreotype.tune import paper_problems, tune
    >>> few = paper_problems(d=5, n_edges=[4], n=100, noises=["gaussian"], n_datasets=1)
    >>> tuning = tune(Daguerreotype.paper(), problems=few, n_trials=3)
    >>> sorted(tuning.chosen), len(tuning.trials)
    (['training.learning_rate'], 3)
    >>> tuning.best.training.learning_rate == tuning.chosen["training.learning_rate"]
    True
    """
    _check_search(n_trials, random_state, callback)
    ranges = space_for(learner, space)
    data_sets = read_problems(paper_problems(random_state=random_state) if problems is None else problems)
    directions: Directions = {"shd": "minimize", "sid": "minimize"}
    return _search(learner, ranges, graph_errors(data_sets), directions, n_trials, random_state, callback)


def tune_table(
    learner: Any,
    X: Any,
    *,
    space: Mapping[str, Spec] | None = None,
    n_trials: int = 50,
    random_state: int = 0,
    callback: OnTrial | None = None,
) -> Tuning:
    r"""Search for settings whose graphs of a table are stable.

    Maximises over settings the "stability": Cohen's kappa between the graphs of two halves of the rows, the mean
    over five ways to halve them. To choose settings by the likelihood of rows that were kept from learning, use
    scikit-learn's ``GridSearchCV``: it finds more edges than there are (``benchmarks/tune.py``).

    Parameters
    ----------
    learner : estimator
        ``Daguerreotype(...)``, a baseline, or any scikit-learn estimator whose fit leaves ``adjacency_matrix_``.
    X : DataFrame or array of shape (n, d)
        The table.
    space, n_trials, random_state, callback
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
    >>> tuning = tune_table(Daguerreotype(edges="bic"), X, n_trials=3)
    >>> int(tuning.best.fit(X).adjacency_matrix_.sum())
    1
    """
    _check_search(n_trials, random_state, callback)
    ranges = space_for(learner, space)
    X = to_pandas(X)
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    objective = graph_stability(table, np.random.default_rng(random_state))
    return _search(learner, ranges, objective, {"stability": "maximize"}, n_trials, random_state, callback)


def _check_search(n_trials: Any, random_state: Any, callback: Any) -> None:
    """Refuse nonsense before any work."""
    check_positive_int(n_trials, "n_trials")
    check_seed(random_state, "random_state")
    if callback is not None:
        check_callable(callback, "callback")


def _search(
    learner: Any,
    space: Space,
    objective: Objective,
    directions: Directions,
    n_trials: int,
    random_state: int,
    callback: OnTrial | None,
) -> Tuning:
    """Try settings, choose among the best, and put the result together."""
    names = list(directions)
    with _quiet_optuna() as optuna:
        sampler = optuna.samplers.TPESampler(seed=random_state)
        study = optuna.create_study(directions=list(directions.values()), sampler=sampler)
        # What is wrong with the table or the learner itself is raised here, and not by every trial.
        scores = {"given": objective(learner), "chosen": (np.nan,) * len(names)}
        trials: list[dict[str, Any]] = []
        interrupted = False
        try:
            for _ in range(n_trials):
                trials.append(_make_trial(optuna, study, learner, space, objective))
                if callback is not None:
                    callback(trials[-1])
        except KeyboardInterrupt:
            interrupted = True
        front = sorted(trial.number for trial in study.best_trials)
        if not front:
            if interrupted:
                raise KeyboardInterrupt
            raise ValueError(
                f"none of {len(trials)} trials came to an end. The last one: {trials[-1]['reason']}. "
                "Search a smaller space."
            )
        candidates = [trials[number]["settings"] for number in front]
        chosen = dict(candidates[0])  # of one objective the best trial, of equals the first
        if len(names) > 1:
            chosen = {name: values.mean([row[name] for row in candidates]) for name, values in space.items()}
        best = with_settings(learner, chosen)
        if chosen in candidates:
            scores["chosen"] = trials[front[candidates.index(chosen)]]["values"]
        elif not interrupted:
            try:
                scores["chosen"] = objective(best)
            except KeyboardInterrupt:
                interrupted = True
            except Exception as error:
                logger.warning("the learner with the chosen settings has no scores: %s", describe_error(error))
    table = pd.DataFrame({"number": [trial["number"] for trial in trials]})
    for place, name in enumerate(names):
        table[name] = [np.nan if trial["values"] is None else trial["values"][place] for trial in trials]
    for name in space:  # as objects: None, as a choice, would turn into NaN
        values = [trial["settings"][name] for trial in trials]
        table[name] = pd.Series(values, dtype="object" if None in values else None)
    table["seconds"] = [trial["seconds"] for trial in trials]
    table["reason"] = [trial["reason"] for trial in trials]
    table = table.set_index("number")
    return Tuning(
        best=best,
        chosen=chosen,
        scores=pd.DataFrame(scores, index=names).T,
        front=table.loc[front],
        trials=table,
        directions=directions,
        interrupted=interrupted,
        study=study,
    )


def _make_trial(optuna: Any, study: Any, learner: Any, space: Space, objective: Objective) -> dict[str, Any]:
    """One trial from its settings to its end, whatever that is; None for the values of one that failed."""
    trial = study.ask()
    settings = {name: values.suggest(trial, name) for name, values in space.items()}
    values, reason, start = None, "", time.perf_counter()
    try:
        values = objective(with_settings(learner, settings))
        study.tell(trial, values)
    except ImportError:  # no other settings would help
        raise
    except Exception as error:
        reason = describe_error(error)
        logger.info("trial %d failed: %s", trial.number, reason)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    seconds = time.perf_counter() - start
    return {"number": trial.number, "values": values, "settings": settings, "seconds": seconds, "reason": reason}


@contextmanager
def _quiet_optuna() -> Iterator[Any]:
    """Optuna without its messages but warnings."""
    optuna = require("optuna", "tuning needs optuna, which cannot be imported.", extra="tune")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)
