"""A run that was killed, interrupted or cut short ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LassoLarsIC

from daguerreotype import Daguerreotype
from daguerreotype._lib.store import InUseError, sole_use
from daguerreotype.bootstrap import BootstrapInterrupt, bootstrap
from daguerreotype.bootstrap.graphs import describe_run
from daguerreotype.bootstrap.resampling import Draws
from daguerreotype.operators import top_k_sparsemax
from daguerreotype.training.checkpoint import Checkpoint
from support.children import environment
from support.fits import linear_data
from support.learners import make_learner
from support.resampling import QUICK, ByMean, Interrupted, assert_same

KILLED = """
import os, signal, sys
import numpy as np
from daguerreotype import Daguerreotype
from daguerreotype.training.checkpoint import Checkpoint
from support.learners import make_learner

fits, fit = [], Daguerreotype.fit

def fit_or_die(self, *arguments, **others):
    if len(fits) == {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    fits.append(1)
    return fit(self, *arguments, **others)

Daguerreotype.fit = fit_or_die
Checkpoint.due = lambda self: True
make_learner(**{settings}).bootstrap(np.load({table!r}), 6, resume={path!r})
"""


@pytest.fixture
def table(rng):
    return pd.DataFrame(rng.normal(size=(40, 4)), columns=["age", "dose", "diet", "outcome"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "resamples.npz"


STEPS = []


def interrupted_at_step_30(theta, tau):
    """An operator during which Ctrl-C comes, once."""
    STEPS.append(1)
    if len(STEPS) == 30:
        signal.raise_signal(signal.SIGINT)
    return top_k_sparsemax(theta, 10, tau=tau)


def counting(monkeypatch, learner):
    """A list that grows by one with every fit of ``learner``."""
    made, fit = [], learner.fit

    def fit_and_count(self, *arguments, **others):
        made.append(1)
        return fit(self, *arguments, **others)

    monkeypatch.setattr(learner, "fit", fit_and_count)
    return made


# ---------------------------------------------------------------------- runs that end early


def test_a_killed_run_goes_on_and_repeats_nothing(tmp_path, path, monkeypatch):
    X = linear_data(0, 80, 4)
    np.save(tmp_path / "table.npy", X)
    script = KILLED.format(before=4, settings=QUICK, table=str(tmp_path / "table.npy"), path=str(path))
    run = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    made = counting(monkeypatch, Daguerreotype)
    resumed = make_learner(**QUICK).bootstrap(X, 6, resume=path)
    assert len(made) == 6 - 4
    assert_same(resumed, make_learner(**QUICK).bootstrap(X, 6))


def test_ctrl_c_keeps_what_is_done_even_if_the_learner_makes_nothing_of_it(table, path, monkeypatch):
    monkeypatch.setattr(Interrupted, "left", 2)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(BootstrapInterrupt, match="2 resamples finished") as interrupt:
        bootstrap(Interrupted(), table, 5, resume=path)
    assert_same(interrupt.value.finished, bootstrap(ByMean(), table, 2))
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.setattr(Interrupted, "left", None)
    made = counting(monkeypatch, ByMean)
    assert_same(bootstrap(Interrupted(), table, 5, resume=path), bootstrap(ByMean(), table, 5))
    assert len(made) == 3 + 5


def test_ctrl_c_before_anything_is_finished_leaves_nothing(table, monkeypatch):
    monkeypatch.setattr(Interrupted, "left", 0)
    with pytest.raises(BootstrapInterrupt, match="0 resamples finished") as interrupt:
        bootstrap(Interrupted(), table, 5)
    assert interrupt.value.finished is None


def test_a_file_in_use_is_refused_at_once_and_free_again_afterwards(table, path):
    with sole_use(path), pytest.raises(InUseError, match=r"resamples.npz is in use by another process"):
        bootstrap(ByMean(), table, 2, resume=path)
    bootstrap(ByMean(), table, 2, resume=path)
    assert os.listdir(path.parent) == [path.name]


def test_a_fit_that_ctrl_c_ended_early_does_not_count(path):
    X = linear_data(0, 80, 4)
    STEPS.clear()
    model = make_learner(**(QUICK | {"operator": interrupted_at_step_30, "tol": 0.0}))
    with pytest.raises(KeyboardInterrupt):
        model.bootstrap(X, 3, resume=path)
    with Checkpoint(path) as file:  # the first took 20 steps, the second was cut short
        assert [file.state_of(f"{number}.resample") is None for number in (1, 2, 3)] == [False, True, True]
    assert_same(model.bootstrap(X, 3, resume=path), model.bootstrap(X, 3))


def test_a_file_serves_more_resamples_and_fewer(table, path, monkeypatch):
    made = counting(monkeypatch, ByMean)
    bootstrap(ByMean(), table, 4, resume=path)
    more = bootstrap(ByMean(), table, 7, resume=path)
    fewer = bootstrap(ByMean(), table, 2, resume=path)
    assert len(made) == 7
    assert_same(more, bootstrap(ByMean(), table, 7))
    assert_same(fewer, bootstrap(ByMean(), table, 2))


def test_failures_are_kept_like_the_rest(table, path, monkeypatch):
    learner = ByMean(even_seeds_fail=True)
    first = bootstrap(learner, table, 8, resume=path)
    assert first.failures
    made = counting(monkeypatch, ByMean)
    assert_same(bootstrap(learner, table, 8, resume=path), first)
    assert made == []


def test_n_jobs_verbosity_seed_of_the_learner_and_threshold_may_change(table, path, monkeypatch):
    bootstrap(ByMean(), table, 3, resume=path)
    made = counting(monkeypatch, ByMean)
    bootstrap(ByMean(random_state=9, n_jobs=2), table, 3, resume=path, threshold=0.9)
    assert made == []


# ---------------------------------------------------------------------- what is refused


def test_a_file_of_another_run_or_table_is_refused_with_what_differs(table, path):
    bootstrap(ByMean(), table, 2, resume=path)
    for learner, X, changes, message in (
        (ByMean(scale=2.0), table, {}, r"learner\.scale was 1\.0 and is now 2\.0"),
        (Interrupted(), table, {}, "learner was 'ByMean' and is now 'Interrupted'"),
        (ByMean(), table, {"random_state": 1}, "random_state was 0 and is now 1"),
        (ByMean(), table, {"fraction": 0.5}, "n_drawn was 40 and is now 20"),
        (ByMean(), table, {"fraction": 0.5, "replace": False}, "replace was True and is now False"),
        (ByMean(), table, {"fit_params": {"name": "abc"}}, "fit parameter name was None and is now 'abc'"),
        (ByMean(), table + (table == table.iloc[3, 1]), {}, "the data differ"),
        (ByMean(), table.rename(columns={"age": "years"}), {}, r"columns was \['age', .* and is now \['years', "),
        (ByMean(), table.to_numpy(), {}, r"columns was \['age', .* and is now 4"),
        (ByMean(), table.iloc[:-1], {}, "n_rows was 40 and is now 39"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            bootstrap(learner, X, 2, resume=path, **changes)
        assert str(error.value).startswith(f"{path} is a checkpoint of another run: ")


def test_a_file_of_another_kind_is_refused_and_left_alone(table, path):
    make_learner(**QUICK).fit(linear_data(0, 80, 4), resume=path)
    for content, message in (
        (path.read_bytes(), "is a checkpoint of another run: it has no resamples"),
        (b"a,b\n1,2\n", "is not a complete checkpoint"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            bootstrap(ByMean(), table, 2, resume=path)
        assert path.read_bytes() == content


# ---------------------------------------------------------------------- how a learner is recognised


class Plug:
    """An edge estimator with a setting of its own, and no repr."""

    def __init__(self, penalty):
        self.penalty = penalty


def penalized(penalty):
    def loss(variance, dof, n_rows):
        return variance + penalty * dof if dof else loss(variance, 1, n_rows)

    return loss


def described(**settings):
    draws = Draws(n_rows=3, n_drawn=3, replace=True, random_state=0)
    return describe_run(make_learner(**settings), np.eye(3), {}, draws)


def test_settings_are_known_by_what_they_are_and_not_by_where_they_lie():
    for parameter, same, other in (
        ("edges", lambda: Plug(1.0), lambda: Plug(2.0)),
        ("edges", lambda: LassoLarsIC(criterion="bic"), lambda: LassoLarsIC(criterion="aic")),
        ("loss", lambda: lambda variance, dof, n: variance + 1.0, lambda: lambda variance, dof, n: variance + 2.0),
        ("start", lambda: np.array([0, 2, 1]), lambda: np.array([0, 1, 2])),
        ("start", lambda: [0, 2, np.int64(1)], lambda: [0, 1, 2]),
        ("tau", lambda: 2.0, lambda: 2.5),
        ("edges", lambda: {"a": {1, 2}}, lambda: {"a": {1, 3}}),
        ("operator", lambda: top_k_sparsemax, lambda: len),
        ("operator", lambda: np.add, lambda: np.multiply),
        ("operator", lambda: partial(top_k_sparsemax, k=3), lambda: partial(top_k_sparsemax, k=4)),
        ("loss", lambda: penalized(1.0), lambda: penalized(2.0)),
        ("edges", lambda: Plug(penalized(1.0)), lambda: Plug(penalized(2.0))),
        ("edges", lambda: Plug(Plug), lambda: Plug(int)),
        ("edges", lambda: Plug(np.nan), lambda: Plug(1.0)),
        ("edges", lambda: Plug(threading.Lock()), lambda: Plug(1.0)),
    ):
        first, again, different = (described(**{parameter: make()}) for make in (same, same, other))
        assert json.loads(json.dumps(first)) == again
        assert first != different
        assert "0x" not in json.dumps(first)
