"""Which settings find true graphs best? A search on synthetic problems, for SHD and SID at once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from daguerreotype._lib.checks import check_count
from daguerreotype.tune.criteria import known_graphs
from daguerreotype.tune.problems import paper_problems, read_problems
from daguerreotype.tune.record import Tuning
from daguerreotype.tune.run import check_search, run_search
from daguerreotype.tune.space import Space, Spec
from daguerreotype.tune.study import Told


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
    callback: Told | None = None,
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
    problems : sequence of Problem or of pairs (X, adjacency), optional
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
    read = check_search(learner, space)
    given = (
        paper_problems(random_state=check_count(random_state, "random_state")) if problems is None else problems
    )
    return run_search(
        learner,
        read,
        known_graphs(read_problems(given)),
        mean_of_front,
        n_trials=n_trials,
        storage=storage,
        study_name=study_name,
        random_state=random_state,
        n_jobs=n_jobs,
        time_limit=time_limit,
        callback=callback,
        verbose=verbose,
    )


def mean_of_front(space: Space, front: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean of every setting over the front, rounded."""
    return {name: each.mean([settings[name] for settings in front]) for name, each in space.items()}
