"""A study in a database goes on after a break, and several processes can share it."""

import signal
import subprocess
import sys

import optuna
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.edges import BicEdges
from daguerreotype.tune import tune, tune_table
from daguerreotype.tune.workers import Workers
from support.children import environment
from support.tuning import Thresholded, chains, tried
from support.waiting import HANG, wait_until

SPACE = {"threshold": (0.05, 0.99, "linear")}


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def search(n_trials, learner=None, **settings):
    return tune(learner or Thresholded(), space=SPACE, problems=chains(), n_trials=n_trials, **settings)


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(storage):
    for n_trials in (4, 13):  # Optuna's first ten are random
        found = search(n_trials, storage=storage)
        assert len(found.trials) == n_trials
    assert tried(found) == tried(search(13))
    assert tried(search(13, storage=storage)) == tried(found)


def test_an_interrupt_keeps_what_is_there_and_the_trial_is_made_again(storage, monkeypatch):
    calls = []

    def interrupted(self, learner, measure=Workers.measure):
        calls.append(learner)
        if len(calls) == 13:
            raise KeyboardInterrupt
        return measure(self, learner)

    with monkeypatch.context() as patch:
        patch.setattr(Workers, "measure", interrupted)
        first = search(14, storage=storage)
    assert first.interrupted
    assert list(first.trials.state) == ["COMPLETE"] * 11 + ["FAIL"]
    assert first.trials.reason.iloc[-1] == "interrupted"
    assert len(calls) == 13  # nothing is measured after the interrupt
    found = search(14, storage=storage)
    assert not found.interrupted
    assert tried(found) == tried(search(14))


def test_an_interrupt_before_the_first_result_is_one(monkeypatch):
    calls = []

    def interrupted(self, learner):
        calls.append(learner)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return 0.0, 0.0

    monkeypatch.setattr(Workers, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search(3)


SCRIPT = """
import sys
from daguerreotype.tune import tune
from support.tuning import Thresholded, chains
print("ready", flush=True)
sys.stdin.readline()


def tell(trial):
    print(trial["number"], flush=True)
    sys.stdin.readline()  # at the end of the input, nothing, and at once


storage, n_trials, waits_for = sys.argv[1:]
found = tune(Thresholded(waits_for=waits_for), space={"threshold": (0.05, 0.99, "linear")}, problems=chains(),
             n_trials=int(n_trials), storage=storage, callback=tell)
"""


def start(storage, n_trials, waits_for=""):
    """A process that waits for a line before it begins, and before it goes on after a trial."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, storage, str(n_trials), str(waits_for)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go(run):
    run.stdin.write("go\n")
    run.stdin.flush()


def test_processes_share_one_study_and_no_trial_is_made_twice(storage):
    runs = [start(storage, 30), start(storage, 30)]
    assert [run.stdout.readline() for run in runs] == ["ready\n"] * 2
    for run in runs:
        go(run)
    first = [run.stdout.readline() for run in runs]  # neither goes on before both have made one
    for run in runs:
        run.stdin.close()
        run.stdin = None  # or communicate would flush what is closed
    outputs = [run.communicate(timeout=HANG) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], outputs
    own = [[int(number) for number in (one + out).split()] for one, (out, _) in zip(first, outputs, strict=True)]
    made = sorted(own[0] + own[1])
    assert made == list(range(len(made)))
    assert 30 <= len(made) <= 31  # one may be under way when the other makes the last
    found = search(30, storage=storage)
    assert list(found.trials.index) == made
    assert found.trials.threshold.nunique() == len(made)


def test_a_process_that_is_killed_leaves_its_finished_trials(storage, tmp_path):
    file = tmp_path / "file"
    file.touch()
    learner = Thresholded(waits_for=str(file))
    run = start(storage, 10_000, file)
    go(run)
    assert [run.stdout.readline() for _ in range(2)] == ["ready\n", "0\n"]
    file.unlink()
    go(run)
    (study,) = optuna.get_all_study_names(storage)
    wait_until(lambda: len(optuna.load_study(study_name=study, storage=storage).trials) == 2)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    file.touch()
    found = search(1, learner, storage=storage)
    assert list(found.trials.state) == ["COMPLETE", "RUNNING"]
    more = search(3, learner, storage=storage)
    assert list(more.trials.state) == ["COMPLETE", "RUNNING", "COMPLETE", "COMPLETE"]


def test_another_search_has_a_study_of_its_own_unless_it_claims_the_name(storage):
    first = search(2, storage=storage)
    assert search(2, Thresholded(0.4), storage=storage).study_name != first.study_name
    search(2, storage=storage, study_name="mine")
    with pytest.raises(ValueError, match=r"'mine' is one of another search: there, learner is .*Thresholded\(\)"):
        search(2, Thresholded(0.4), storage=storage, study_name="mine")
    with pytest.raises(ValueError, match=r"there, random_state is 0; here, it is 1\. Give another study_name"):
        search(2, storage=storage, study_name="mine", random_state=1)


def test_objects_whose_looks_do_not_tell_them_apart_make_another_search(storage):
    X = chains(1, n=40, d=3)[0][0]
    settings = {"space": {"k": [5]}, "criterion": "bic", "n_trials": 1, "storage": storage}
    names = [
        tune_table(Daguerreotype(edges=BicEdges(penalty), transform="none"), X, **settings).study_name
        for penalty in (1.0, 2.0, 2.0)
    ]
    assert names[0] != names[1] == names[2]


def test_an_interrupt_of_the_last_look_at_the_choice_keeps_everything_else(monkeypatch):
    def interrupted(self, learner, measure=Workers.measure):
        if learner.threshold == 0.5:  # the rounded mean: no trial has it
            raise KeyboardInterrupt
        return measure(self, learner)

    monkeypatch.setattr(Workers, "measure", interrupted)
    found = tune(Thresholded(), space={"threshold": (0.45, 0.55)}, problems=chains(), n_trials=2)
    assert found.interrupted
    assert found.chosen == {"threshold": 0.5}
    assert found.scores.loc["chosen"].isna().all()


def test_neither_processes_nor_limits_make_another_search(storage):
    name = search(2, storage=storage).study_name
    assert search(3, Thresholded(n_jobs=2), storage=storage).study_name == name


def test_other_rows_are_another_search(storage):
    X = chains(1)[0][0]
    first, second = (
        tune_table(Thresholded(), rows, space=SPACE, n_trials=1, storage=storage) for rows in (X, X[:-1])
    )
    assert first.study_name != second.study_name


@pytest.mark.parametrize(
    ("storage", "text"),
    [
        ("study.db", "storage is 'study.db': expected the URL of a database, such as sqlite:///study.db"),
        ("sqlite:////nowhere/at/all.db", "cannot be opened: .*unable to open database file.* Expected the URL"),
        ("nonsense://", "cannot be opened: .*Expected the URL of a database"),
    ],
)
def test_what_is_no_database_is_refused(storage, text):
    with pytest.raises(ValueError, match=text):
        search(1, storage=storage)
