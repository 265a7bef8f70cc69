"""Optuna study: its trials, alone or by several machines that share its database."""

import json
import logging
import pickle
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import joblib
import numpy as np

from daguerreotype._lib.child_process import describe_error
from daguerreotype._lib.labels import shown
from daguerreotype._lib.optional import require
from daguerreotype.tune.criteria import Criterion
from daguerreotype.tune.space import Space, clone_with, with_settings
from daguerreotype.tune.workers import Workers

logger = logging.getLogger("daguerreotype")

INTERRUPTED = "interrupted"
TRIES = 10  # at a database that another machine is just setting up
OnTrial = Callable[[dict[str, Any]], None]


def load_optuna() -> Any:
    """The library, or how to get it."""
    return require("optuna", "tuning needs optuna, which cannot be imported.", extra="tune")


@contextmanager
def quiet_optuna(verbose: int) -> Iterator[None]:
    """No messages of the library but warnings, unless asked for."""
    messages = load_optuna().logging
    before = messages.get_verbosity()
    messages.set_verbosity(messages.INFO if verbose else messages.WARNING)
    try:
        yield
    finally:
        messages.set_verbosity(before)


def describe_search(learner: Any, space: Space, criterion: Criterion, random_state: int) -> dict[str, str]:
    """What a trial depends on, by name."""
    alike = clone_with(learner, n_jobs=None, verbose=0)  # what has no effect is the same for all
    return {
        "version": version("daguerreotype"),
        "learner": _shown(alike),
        "space": _shown(space),
        "digest of learner and space": _digest((alike, space)),
        "objectives": ", ".join(criterion.directions),
        "digest of the data": _digest(criterion.parts),
        "random_state": str(random_state),
    }


def _shown(value: Any) -> str:
    """An object in a line that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", " ".join(repr(value).split()))


def _digest(value: Any) -> str:
    """A digest of all that an object holds; of functions that pickle does not know, none."""
    try:
        return str(joblib.hash(value))
    except (pickle.PicklingError, AttributeError, TypeError):
        return "none"


def open_study(
    storage: Any, study_name: str | None, directions: Mapping[str, str], about: Mapping[str, str]
) -> Any:
    """A new study, or the one of this name in ``storage`` if it is of the same search."""
    optuna = load_optuna()
    name = study_name or f"daguerreotype-{joblib.hash(dict(about))[:12]}"
    study = optuna.create_study(
        storage=_open_storage(storage),
        study_name=name,
        directions=list(directions.values()),
        sampler=optuna.samplers.RandomSampler(seed=0),  # for every trial replaced by one with a seed of its own
        load_if_exists=True,
    )
    found = study.user_attrs.get("search")
    if found is None:
        study.set_user_attr("search", json.dumps(about))
        return study
    before = json.loads(found)
    differing = [key for key in about if before.get(key) != about[key]]
    if differing:
        first = differing[0]
        raise ValueError(
            f"the study {name!r} is one of another search: there, {first} is {before.get(first)}; here, it is "
            f"{about[first]}. Give another study_name, or none, or search as before."
        )
    return study


def _open_storage(storage: Any) -> Any:
    """A database by its URL; None and storages of the library as they are."""
    if not isinstance(storage, str):
        return storage
    example = "such as sqlite:///study.db, or postgresql://user@host/database for several machines"
    if "://" not in storage:
        raise ValueError(f"storage is {shown(storage)}: expected the URL of a database, {example}.")
    patient = {"connect_args": {"timeout": 60}} if storage.startswith("sqlite") else {}
    for tries_left in reversed(range(TRIES)):
        try:
            return load_optuna().storages.RDBStorage(storage, engine_kwargs=patient)
        except Exception as error:  # of SQLAlchemy and of the driver of the database, which ours cannot name
            being_set_up = type(error).__name__ == "IntegrityError" or "already exists" in str(error)
            if being_set_up and tries_left:
                time.sleep(0.3)
                continue
            reason = str(error).splitlines()[0]
            raise ValueError(
                f"storage {storage!r} cannot be opened: {reason}. Expected the URL of a database, {example}."
            ) from error
    raise AssertionError("the last try returns or raises")


def run_trials(
    study: Any,
    learner: Any,
    space: Space,
    workers: Workers,
    n_trials: int,
    random_state: int,
    callback: OnTrial | None,
) -> bool:
    """Try settings until the study has ``n_trials`` that ended, whoever made them; True if interrupted."""
    try:
        while n_ended(study) < n_trials:
            made = _make_trial(study, learner, space, workers, random_state)
            if callback is not None:
                callback(made)
    except KeyboardInterrupt:
        return True
    return False


def _make_trial(study: Any, learner: Any, space: Space, workers: Workers, random_state: int) -> dict[str, Any]:
    """One trial from its settings to its end, whatever that is."""
    optuna = load_optuna()
    trial = study.ask()
    # Every trial has a stream of its own, whoever makes it and whatever this process did before; one that was
    # interrupted leaves its stream to the next.
    earlier = (each for each in study.get_trials(deepcopy=False) if each.number < trial.number)
    place = trial.number - sum(_was_interrupted(each) for each in earlier)
    seed = int(np.random.SeedSequence([random_state, place]).generate_state(1)[0])
    study.sampler = optuna.samplers.TPESampler(seed=seed, multivariate=False)
    settings = {name: each.suggest(trial, name) for name, each in space.items()}
    values: tuple[float, ...] | None = None
    reason, start = "", time.perf_counter()
    try:
        values = workers.measure(with_settings(learner, settings))
    except KeyboardInterrupt:
        reason = INTERRUPTED
        raise
    except Exception as error:
        reason = describe_error(error)
        logger.info("trial %d failed: %s", trial.number, reason)
        if isinstance(error, ImportError):  # no other settings would help
            raise
    finally:
        seconds = time.perf_counter() - start
        trial.set_user_attr("seconds", seconds)
        trial.set_user_attr("reason", reason)
        states = optuna.trial.TrialState
        study.tell(trial, values, state=states.FAIL if values is None else states.COMPLETE)
    return {"number": trial.number, "values": values, "settings": settings, "seconds": seconds, "reason": reason}


def n_ended(study: Any) -> int:
    """How many trials have come to an end, good or bad; those that a person interrupted are to be made again."""
    states = load_optuna().trial.TrialState
    ended = study.get_trials(deepcopy=False, states=(states.COMPLETE, states.FAIL))
    return sum(not _was_interrupted(trial) for trial in ended)


def _was_interrupted(trial: Any) -> bool:
    """Whether a person ended a trial."""
    return bool(trial.user_attrs.get("reason") == INTERRUPTED)
