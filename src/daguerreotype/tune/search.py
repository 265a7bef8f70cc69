"""Search for the settings of a learner: on data sets with known graphs, or on a table of one's own."""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import (
    Check,
    check_callable,
    check_parameters,
    check_positive,
    check_positive_int,
    check_seed,
    check_text,
    check_verbosity,
    optional,
)
from daguerreotype._lib.child_process import describe_error
from daguerreotype._lib.parallel import count_jobs
from daguerreotype.data.columns import to_pandas
from daguerreotype.tune.criteria import Criterion, known_graphs, without_truth
from daguerreotype.tune.problems import paper_problems, read_problems
from daguerreotype.tune.result import Tuning
from daguerreotype.tune.space import Choice, Space, Spec, space_for, with_settings
from daguerreotype.tune.study import OnTrial, describe_search, load_optuna, open_study, quiet_optuna, run_trials
from daguerreotype.tune.workers import Workers

logger = logging.getLogger("daguerreotype")


EFFORT: Mapping[str, Check] = {
    "n_trials": check_positive_int,
    "study_name": optional(check_text),
    "random_state": check_seed,
    "n_jobs": lambda value, _: count_jobs(value),
    "time_limit": optional(check_positive),
    "callback": optional(check_callable),
    "verbose": check_verbosity,
}


@dataclass(frozen=True)
class Effort:
    """What a search may cost, and where it is kept; see `tune`."""

    n_trials: int
    storage: Any
    study_name: str | None
    random_state: int
    n_jobs: int | None
    time_limit: float | None
    callback: OnTrial | None
    verbose: int

    def __post_init__(self) -> None:
        check_parameters(vars(self), EFFORT)


def tune(
    learner: Any,
    *,
    space: Mapping[str, Spec] | None = None,
    problems: Iterable[Any] | None = None,
    n_trials: int = 50,
    storage: Any = None,
    study_name: str | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    callback: OnTrial | None = None,
    verbose: int = 0,
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
        Trials of the study in all, failed ones and those of other machines and earlier runs included.
    storage : str or optuna storage, optional
        URL of a database, such as "sqlite:///study.db". A search with the same arguments goes on where it was
        left, and several processes or machines can share one. Without it the study is kept in memory.
    study_name : str, optional
        Without it, a name made from all that the search depends on.
    random_state : int
        Seeds problems and trials. One process makes the same trials whatever ``n_jobs``, also when it was
        stopped in between.
    n_jobs : int or None
        Processes for the fits of a trial.
    time_limit : float, optional
        Seconds that a trial may take; fits then run in processes of their own. A trial that takes longer, or that
        fails, has the state "FAIL", and the search goes on.
    callback : callable, optional
        Called after every trial with a dict of "number", "values", "settings", "seconds" and "reason".
    verbose : int
        1 shows Optuna's messages; 0 is silent.

    Returns
    -------
    Tuning
        The chosen settings, a learner that has them, and all trials. Ctrl-C ends the search and keeps what is
        there.

    Examples
    --------
    >>> from daguerreotype import Daguerreotype
    >>> from daguerreotype.tune import paper_problems, tune
    >>> few = paper_problems(d=5, n_edges=[4], n=100, noises=["gaussian"], n_datasets=1)
    >>> found = tune(Daguerreotype.paper(), problems=few, n_trials=3)
    >>> sorted(found.chosen), len(found.trials)
    (['learning_rate'], 3)
    >>> found.best.learning_rate == found.chosen["learning_rate"]
    True
    """
    load_optuna()
    effort = Effort(n_trials, storage, study_name, random_state, n_jobs, time_limit, callback, verbose)
    read = space_for(learner, space)
    given = paper_problems(random_state=random_state) if problems is None else problems
    return run_search(learner, read, known_graphs(read_problems(given)), effort)


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
    callback: OnTrial | None = None,
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
    load_optuna()
    effort = Effort(n_trials, storage, study_name, random_state, n_jobs, time_limit, callback, verbose)
    read = space_for(learner, space)
    X = to_pandas(X)
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    rng = np.random.default_rng(random_state)
    if getattr(learner, "kinds", None) == "auto":  # some rows may lack a level of the others
        told = learner.with_kinds_of(table)
        learner = told if any(kind.discrete for kind in told.kinds.values()) else learner
    return run_search(learner, read, without_truth(criterion, table, rng), effort)


def run_search(learner: Any, space: Space, criterion: Criterion, effort: Effort) -> Tuning:
    """Carry out a search, and say what it found."""
    n_trials, seed = effort.n_trials, effort.random_state
    workers = Workers(criterion.parts, effort.n_jobs, effort.time_limit)
    with quiet_optuna(effort.verbose), workers:
        about = describe_search(learner, space, criterion, seed)
        study = open_study(effort.storage, effort.study_name, criterion.directions, about)
        scores = {"given": _given_scores(study, learner, workers), "chosen": None}
        interrupted = run_trials(study, learner, space, workers, n_trials, seed, effort.callback)
        trials = _table_of_trials(study, space, criterion)
        if not (trials.state == "COMPLETE").any():
            if interrupted:
                raise KeyboardInterrupt
            raise ValueError(
                f"none of {len(trials)} trials came to an end. The last one: {trials.reason.iloc[-1]}. "
                "Search a smaller space, or raise time_limit."
            )
        on_front = sorted(study.best_trials, key=lambda trial: trial.number)
        front = trials.loc[[trial.number for trial in on_front]]
        settings = [_settings_of(trial, space) for trial in on_front]
        chosen = dict(settings[0])  # of one objective the best trial, of equals the first
        if len(criterion.directions) > 1:
            chosen = {name: each.mean([trial[name] for trial in settings]) for name, each in space.items()}
        best = with_settings(learner, chosen)
        values = front.loc[:, list(criterion.directions)].to_numpy()
        if chosen in settings:
            scores["chosen"] = values[settings.index(chosen)].tolist()
        elif not interrupted:
            try:
                scores["chosen"] = _measured(best, workers, "with the chosen settings")
            except KeyboardInterrupt:
                interrupted = True
    nothing = [np.nan] * len(criterion.directions)
    return Tuning(
        best=best,
        chosen=chosen,
        scores=pd.DataFrame(
            {name: nothing if found is None else found for name, found in scores.items()},
            index=list(criterion.directions),
        ).T,
        front=front,
        trials=trials,
        directions=dict(criterion.directions),
        study_name=study.study_name,
        interrupted=interrupted,
        study=study,
    )


def _given_scores(study: Any, learner: Any, workers: Workers) -> list[float] | None:
    """Objectives of the learner as it is: measured once in the life of a study."""
    known = study.user_attrs.get("given")
    if known is None:
        # What is wrong with the table or the learner itself is said here, and not by every trial.
        known = json.dumps(_measured(learner, workers, "as it was given", (ImportError, TypeError, ValueError)))
        study.set_user_attr("given", known)
    scores: list[float] | None = json.loads(known)
    return scores


def _measured(
    learner: Any, workers: Workers, which: str, raised: tuple[type[Exception], ...] = ()
) -> list[float] | None:
    """Objectives of a learner; None if they cannot be had."""
    try:
        return list(workers.measure(learner))
    except raised:
        raise
    except Exception as error:
        logger.warning("the learner %s has no scores: %s", which, describe_error(error))
        return None


def _table_of_trials(study: Any, space: Space, criterion: Criterion) -> pd.DataFrame:
    """One row per trial."""
    rows = []
    for trial in study.get_trials(deepcopy=False):
        values = trial.values or [np.nan] * len(criterion.directions)
        row = {"number": trial.number, "state": trial.state.name}
        row |= dict(zip(criterion.directions, values, strict=True))
        row |= _settings_of(trial, space)
        rows.append(
            row | {"seconds": trial.user_attrs.get("seconds"), "reason": trial.user_attrs.get("reason") or ""}
        )
    table = pd.DataFrame(rows).set_index("number")
    for name, each in space.items():
        if isinstance(each, Choice):  # or None, as a choice, would turn into NaN
            table[name] = pd.Series([row[name] for row in rows], index=table.index, dtype="object")
    return table


def _settings_of(trial: Any, space: Space) -> dict[str, Any]:
    """What a trial tried; None for what it did not come to."""
    return {name: each.value(trial.params[name]) if name in trial.params else None for name, each in space.items()}
