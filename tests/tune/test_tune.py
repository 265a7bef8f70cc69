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
from daguerreotype.tune import paper_problems, tune, tune_table
from daguerreotype.tune.criteria import known_graphs
from daguerreotype.tune.problems import read_problems
from daguerreotype.tune.space import round_to_one_digit
from daguerreotype.tune.workers import Workers
from support.tuning import Thresholded, chains, tried
from support.waiting import HANG

SPACE = {"threshold": (0.05, 0.99, "linear")}


def search(learner=None, n_trials=12, space=SPACE, **settings):
    return tune(learner or Thresholded(), space=space, problems=chains(), n_trials=n_trials, **settings)


def test_the_front_holds_the_trials_that_none_beats_and_their_rounded_mean_is_chosen():
    found = search()
    values = found.trials[["shd", "sid"]].to_numpy()
    beaten = [any((other <= own).all() and (other < own).any() for other in values) for own in values]
    assert list(found.front.index) == [number for number, worse in enumerate(beaten) if not worse]
    assert found.chosen == {"threshold": round_to_one_digit(found.front.threshold.mean())}
    assert (found.directions, found.interrupted) == ({"shd": "minimize", "sid": "minimize"}, False)


def test_the_trials_are_what_their_settings_give():
    found = search(n_trials=3)
    for _, trial in found.trials.iterrows():
        with Workers(known_graphs(read_problems(chains())).parts, None, None) as workers:
            assert workers.measure(Thresholded(trial.threshold)) == (trial.shd, trial.sid)
    assert found.trials.threshold.between(0.05, 0.99).all()


def test_the_learner_as_given_and_as_chosen_stand_beside_each_other():
    learner = Thresholded(0.05)
    found = search(learner)
    with Workers(known_graphs(read_problems(chains())).parts, None, None) as workers:
        assert tuple(found.scores.loc["given"]) == workers.measure(learner)
        assert tuple(found.scores.loc["chosen"]) == workers.measure(Thresholded(**found.chosen))
    assert found.scores.loc["chosen", "shd"] < found.scores.loc["given", "shd"]


def test_the_best_learner_is_an_unfitted_copy_and_the_given_one_is_left_alone():
    learner = Daguerreotype(edges="lasso", transform="none", n_restarts=0)
    few = paper_problems(d=5, n_edges=[4], n=60, kinds=["ER"], noises=["gaussian"], n_datasets=1)
    found = tune(learner, space={"edges.alpha": [0.01, 0.1], "k": (5, 50)}, problems=few, n_trials=3)
    assert found.best.edges == LassoEdges(found.chosen["edges.alpha"])
    assert found.best.k == found.chosen["k"]
    assert isinstance(found.best.k, int)
    assert learner.get_params() == Daguerreotype(edges="lasso", transform="none", n_restarts=0).get_params()
    for untouched in (learner, found.best):
        with pytest.raises(NotFittedError):
            check_is_fitted(untouched)


def test_one_seed_makes_the_same_trials_and_another_seed_others():
    first, again, other = (tried(search(n_trials=5, random_state=seed)) for seed in (0, 0, 1))
    assert first == again != other


def test_the_number_of_processes_changes_nothing():
    assert tried(search(n_trials=4, n_jobs=2)) == tried(search(n_trials=4))


def test_choices_of_any_kind_can_be_searched():
    space = {"edges": [LassoEdges(0.4), LassoEdges(0.05)], "transform": ["none"], "n_restarts": [0]}
    X = chains(1, n=80, d=4)[0][0]
    found = tune_table(Daguerreotype(), X, space=space, n_trials=6, criterion="bic")
    assert set(found.trials.edges) == {LassoEdges(0.4), LassoEdges(0.05)}
    assert found.best.edges in space["edges"]


def test_none_is_a_choice_and_whole_numbers_stay_whole():
    learner = Daguerreotype(edges="bic", transform="none", n_restarts=0)
    X = chains(1, n=60, d=3)[0][0]
    found = tune_table(learner, X, space={"penalty": [None, 2.0], "k": (5, 50)}, n_trials=5, criterion="bic")
    assert set(found.trials.penalty) == {None, 2.0}
    assert type(found.chosen["k"]) is int
    only = tune_table(learner, X, space={"penalty": [None]}, n_trials=1, criterion="bic")
    assert (only.chosen, only.best.penalty) == ({"penalty": None}, None)


def test_the_settings_chosen_for_a_table_are_those_of_its_best_trial():
    X = chains(1)[0][0]
    for criterion in ("held-out", "bic", "stability"):
        found = tune_table(Thresholded(), X, space=SPACE, criterion=criterion, n_trials=6)
        assert found.directions == {criterion: "maximize"}
        best = found.trials[criterion].max()
        assert found.trials.threshold[found.trials[criterion].idxmax()] == found.chosen["threshold"]
        assert found.scores.loc["chosen", criterion] == best


def test_rows_held_out_tell_a_table_of_noise_from_one_with_causes():
    noise = np.random.default_rng(0).normal(size=(150, 4))
    causes = chains(1, n=150, d=4)[0][0]
    chosen = [
        tune_table(Thresholded(), X, space={"threshold": [0.05, 0.95]}, criterion="held-out", n_trials=6).chosen[
            "threshold"
        ]
        for X in (noise, pd.DataFrame(causes))
    ]
    assert chosen == [0.95, 0.05]


def test_a_table_that_cannot_be_learned_from_is_refused_in_the_words_of_the_learner():
    X = pd.DataFrame({"a": np.arange(40.0), "flat": 1.0})
    with pytest.raises(ValueError, match="column 'flat' is constant"):
        tune_table(Daguerreotype(edges="bic"), X)


def test_a_trial_that_fails_says_why_and_the_search_goes_on():
    found = search(Thresholded(fail_above=0.5))
    failed = found.trials[found.trials.state == "FAIL"]
    assert (failed.threshold > 0.5).all()
    assert set(failed.reason) == {"RuntimeError: the threshold is too high (on problem 0)"}
    assert failed[["shd", "sid"]].isna().all(axis=None)
    assert 0 < len(failed) < len(found.trials) == 12
    assert (found.trials.state == "COMPLETE").sum() == 12 - len(failed)


def test_when_every_trial_fails_the_last_reason_is_the_error():
    with pytest.raises(
        ValueError, match=r"none of 3 trials came to an end. The last one: RuntimeError: .* too high"
    ):
        search(Thresholded(0.01, fail_above=0.02), n_trials=3)


def test_a_learner_that_fails_as_given_has_no_scores_and_is_searched_nevertheless(caplog):
    found = search(Thresholded(0.9, fail_above=0.8), n_trials=4)
    assert found.scores.loc["given"].isna().all()
    assert "the learner as it was given has no scores: RuntimeError" in caplog.text
    assert len(found.front) > 0


def test_a_trial_that_takes_too_long_is_a_failure_too_and_is_not_in_the_way_of_others(tmp_path):
    file = tmp_path / "file"
    learner, storage = Thresholded(waits_for=str(file)), f"sqlite:///{tmp_path / 'study.db'}"
    late = "TimeoutError: did not finish within time_limit=0.1 seconds"
    with pytest.raises(ValueError, match=f"none of 2 trials came to an end. The last one: {late}"):
        search(learner, n_trials=2, time_limit=0.1, storage=storage)
    file.touch()
    found = search(learner, n_trials=4, time_limit=HANG, storage=storage)
    assert list(found.trials.reason) == [late, late, "", ""]
    assert list(found.trials.state) == ["FAIL", "FAIL", "COMPLETE", "COMPLETE"]


def test_a_trial_whose_process_dies_is_a_failure_too():
    found = search(Thresholded(end_above=0.6), 3, {"threshold": [0.3, 0.7]}, n_jobs=2)
    assert dict(found.trials.groupby("threshold").state.unique().map(list)) == {0.3: ["COMPLETE"], 0.7: ["FAIL"]}
    assert (
        found.trials.reason[found.trials.state == "FAIL"]
        == "CrashError: its process ended with code 1: it left no message"
    ).all()


def test_every_trial_is_told_of_as_it_ends():
    told = []
    found = search(Thresholded(fail_above=0.5), callback=told.append, n_trials=5)
    assert [trial["number"] for trial in told] == list(found.trials.index)
    assert [trial["settings"]["threshold"] for trial in told] == list(found.trials.threshold)
    assert [trial["reason"] for trial in told] == list(found.trials.reason)
    assert [trial["values"] is None for trial in told] == list(found.trials.state == "FAIL")


def test_optuna_says_nothing_unless_asked_and_keeps_its_own_level(caplog, capsys):
    level = optuna.logging.get_verbosity()
    search(n_trials=2)
    assert caplog.text == ""
    assert capsys.readouterr() == ("", "")
    search(n_trials=2, verbose=1)
    assert "A new study created" in caplog.text
    assert optuna.logging.get_verbosity() == level


def test_without_optuna_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"tuning needs optuna, .* pip install 'daguerreotype\[tune\]'"):
        tune(Thresholded(), space=SPACE)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"n_trials": 0}, "n_trials must be at least 1"),
        ({"random_state": -1}, "random_state must be at least 0"),
        ({"time_limit": 0}, "time_limit must be above 0"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(settings, text):
    with pytest.raises(ValueError, match=text):
        search(**settings)
