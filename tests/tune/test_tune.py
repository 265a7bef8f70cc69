"""A search for settings: what it tries, what it chooses, and what it leaves behind."""

import sys

import numpy as np
import optuna
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from daguerreotype import Daguerreotype
from daguerreotype.edges import LassoEdges
from daguerreotype.training import Bilevel
from daguerreotype.tune import paper_problems, tune, tune_table
from daguerreotype.tune.objectives import graph_errors, read_problems
from daguerreotype.tune.space import Range
from support.tuning import Thresholded, chains

SPACE = {"threshold": (0.05, 0.99, "linear")}


def search(learner=None, n_trials=12, space=SPACE, **settings):
    return tune(learner or Thresholded(), space=space, problems=chains(), n_trials=n_trials, **settings)


def tried(tuning):
    """Settings and objectives of all trials."""
    return tuning.trials.drop(columns="seconds").to_numpy().tolist()


class Stopped(Thresholded):
    """Raises KeyboardInterrupt at the fit of this number, counted over all copies."""

    n_fits, stop_at = 0, 0

    def fit(self, X):
        Stopped.n_fits += 1
        if Stopped.n_fits == Stopped.stop_at:
            raise KeyboardInterrupt
        return super().fit(X)


def stopped(trial, space=SPACE, n_trials=12):
    """A search that is interrupted at the first fit of a trial; 0 is the learner as it was given."""
    Stopped.n_fits, Stopped.stop_at = 0, len(chains()) * trial + 1
    return search(Stopped(), n_trials, space)


def test_the_front_holds_the_trials_that_none_beats_and_their_rounded_mean_is_chosen():
    tuning = search()
    values = tuning.trials[["shd", "sid"]].to_numpy()
    beaten = [any((other <= own).all() and (other < own).any() for other in values) for own in values]
    assert list(tuning.front.index) == [number for number, worse in enumerate(beaten) if not worse]
    assert tuning.chosen == {"threshold": Range(0.05, 0.99, False).mean(list(tuning.front.threshold))}
    assert (tuning.directions, tuning.interrupted) == ({"shd": "minimize", "sid": "minimize"}, False)


def test_the_trials_are_what_their_settings_give_and_stand_beside_the_learner_as_given():
    learner = Thresholded(0.05)
    tuning, measure = search(learner), graph_errors(read_problems(chains()))
    for _, trial in tuning.trials.iterrows():
        assert measure(Thresholded(trial.threshold)) == (trial.shd, trial.sid)
    assert tuning.trials.threshold.between(0.05, 0.99).all()
    assert tuple(tuning.scores.loc["given"]) == measure(learner)
    assert tuple(tuning.scores.loc["chosen"]) == measure(Thresholded(**tuning.chosen))
    assert tuning.scores.loc["chosen", "shd"] < tuning.scores.loc["given", "shd"]


def test_the_best_learner_is_an_unfitted_copy_and_the_given_one_is_unchanged():
    learner = Daguerreotype(edges="lasso", scales="none", training=Bilevel(n_restarts=0))
    few = paper_problems(d=5, n_edges=[4], n=60, kinds=["ER"], noises=["gaussian"], n_datasets=1)
    tuning = tune(learner, space={"edges.alpha": [0.01, 0.1], "operator.k": (5, 50)}, problems=few, n_trials=3)
    assert tuning.best.edges == LassoEdges(tuning.chosen["edges.alpha"])
    assert tuning.best.operator.k == tuning.chosen["operator.k"]
    assert isinstance(tuning.best.operator.k, int)
    assert (
        learner.get_params()
        == Daguerreotype(edges="lasso", scales="none", training=Bilevel(n_restarts=0)).get_params()
    )
    for untouched in (learner, tuning.best):
        with pytest.raises(NotFittedError):
            check_is_fitted(untouched)


def test_one_seed_makes_the_same_trials_and_another_seed_others():
    first, again, other = (tried(search(n_trials=5, random_state=seed)) for seed in (0, 0, 1))
    assert first == again != other


def test_choices_of_any_kind_can_be_searched():
    space = {"edges": [LassoEdges(0.4), LassoEdges(0.05)], "scales": ["none"], "training.n_restarts": [0]}
    tuning = tune_table(Daguerreotype(), chains(1, n=80, d=4)[0][0], space=space, n_trials=6)
    assert set(tuning.trials.edges) == {LassoEdges(0.4), LassoEdges(0.05)}
    assert tuning.best.edges in space["edges"]


def test_none_is_a_choice_and_whole_numbers_stay_whole():
    learner = Daguerreotype(edges="bic", scales="none", training=Bilevel(n_restarts=0))
    X = chains(1, n=60, d=3)[0][0]
    tuning = tune_table(learner, X, space={"penalty": [None, 2.0], "operator.k": (5, 50)}, n_trials=5)
    assert set(tuning.trials.penalty) == {None, 2.0}
    assert type(tuning.chosen["operator.k"]) is int
    only = tune_table(learner, X, space={"penalty": [None]}, n_trials=1)
    assert (only.chosen, only.best.penalty) == ({"penalty": None}, None)


def test_the_settings_chosen_for_a_table_are_those_of_its_best_trial():
    tuning = tune_table(Thresholded(), pd.DataFrame(chains(1)[0][0]), space=SPACE, n_trials=6)
    assert tuning.directions == {"stability": "maximize"}
    assert tuning.trials.threshold[tuning.trials.stability.idxmax()] == tuning.chosen["threshold"]
    assert tuning.scores.loc["chosen", "stability"] == tuning.trials.stability.max()


def test_a_table_that_cannot_be_learned_from_is_refused_in_the_words_of_the_learner():
    X = pd.DataFrame({"a": np.arange(40.0), "flat": 1.0})
    with pytest.raises(ValueError, match="column 'flat' is constant"):
        tune_table(Daguerreotype(edges="bic"), X)


def test_a_trial_that_fails_says_why_and_the_search_goes_on():
    tuning = search(Thresholded(fail_above=0.5))
    failed = tuning.trials[tuning.trials.shd.isna()]
    assert (failed.threshold > 0.5).all()
    assert set(failed.reason) == {"RuntimeError: the threshold is too high (on problem 0)"}
    assert 0 < len(failed) < len(tuning.trials) == 12
    assert (tuning.trials.reason[tuning.trials.shd.notna()] == "").all()


def test_when_every_trial_fails_the_last_reason_is_the_error():
    with pytest.raises(
        ValueError, match=r"none of 3 trials came to an end. The last one: RuntimeError: .* too high"
    ):
        search(Thresholded(0.01, fail_above=0.02), n_trials=3)


def test_an_interrupt_keeps_the_trials_that_were_made():
    tuning = stopped(3)
    assert tuning.interrupted
    assert len(tuning.trials) == 2
    with pytest.raises(KeyboardInterrupt):  # before the first result
        stopped(1)


def test_an_interrupt_of_the_last_look_at_the_choice_keeps_everything_else():
    tuning = stopped(3, {"threshold": (0.45, 0.55)}, 2)  # 0.5 is the rounded mean: no trial has it
    assert tuning.interrupted
    assert tuning.chosen == {"threshold": 0.5}
    assert tuning.scores.loc["chosen"].isna().all()


def test_the_callback_hears_of_every_trial_as_it_ends():
    heard = []
    tuning = search(Thresholded(fail_above=0.5), callback=heard.append, n_trials=5)
    assert [trial["number"] for trial in heard] == list(tuning.trials.index)
    assert [trial["settings"]["threshold"] for trial in heard] == list(tuning.trials.threshold)
    assert [trial["reason"] for trial in heard] == list(tuning.trials.reason)
    assert [trial["values"] is None for trial in heard] == list(tuning.trials.shd.isna())


def test_optuna_is_quiet_and_keeps_its_own_level(caplog, capsys):
    level = optuna.logging.get_verbosity()
    search(n_trials=2)
    assert caplog.text == ""
    assert capsys.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == level


def test_without_optuna_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"tuning needs optuna, .* pip install 'daguerreotype\[tune\]'"):
        tune(Thresholded(), space=SPACE)


def test_arguments_that_make_no_sense_are_refused():
    for settings, text in (
        ({"n_trials": 0}, "n_trials must be at least 1"),
        ({"random_state": -1}, "random_state must be at least 0"),
        ({"callback": 3}, "callback must be a function"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            search(**settings)
