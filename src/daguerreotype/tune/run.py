"""What do all searches have in common? Look at the learner as given, search, choose, look at the choice."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import check_count, check_positive_int
from daguerreotype.tune.criteria import Criterion
from daguerreotype.tune.record import Tuning
from daguerreotype.tune.settings import check_learner, check_names, with_settings
from daguerreotype.tune.space import Choice, Space, Spec, default_space, read_space
from daguerreotype.tune.study import (
    Told,
    describe_error,
    describe_search,
    load_optuna,
    open_study,
    quiet_optuna,
    search,
)
from daguerreotype.tune.workers import Workers

logger = logging.getLogger("daguerreotype")

Choose = Callable[[Space, Sequence[dict[str, Any]]], dict[str, Any]]
"""From the space and the settings on the front, by trial, to those to keep."""


def check_search(learner: Any, space: Mapping[str, Spec] | None) -> Space:
    """The space in which to search for settings of ``learner``, after all checks that need no data."""
    load_optuna()
    check_learner(learner)
    found = read_space(default_space(learner) if space is None else space)
    check_names(learner, found)
    return found


def run_search(
    learner: Any,
    space: Space,
    criterion: Criterion,
    choose: Choose,
    *,
    n_trials: int,
    storage: Any,
    study_name: str | None,
    random_state: int,
    n_jobs: int | None,
    time_limit: float | None,
    callback: Told | None,
    verbose: int,
) -> Tuning:
    """Carry out a search, and say what it found."""
    n_trials = check_positive_int(n_trials, "n_trials")
    seed = check_count(random_state, "random_state")
    with quiet_optuna(verbose), Workers(criterion.parts, n_jobs, time_limit) as workers:
        about = describe_search(learner, space, criterion, seed)
        study = open_study(storage, study_name, criterion.directions, about)
        scores = {"given": _given_scores(study, learner, workers), "chosen": None}
        interrupted = search(study, learner, space, workers, n_trials, seed, callback)
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
        chosen = choose(space, settings)
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
