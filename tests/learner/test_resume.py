"""Fits that are killed anywhere and go on from their file: the same bits as of one that never stopped."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from daguerreotype.posterior import sample
from daguerreotype.training import bilevel, refine
from daguerreotype.training.checkpoint import Checkpoint
from support.children import environment
from support.interrupts import FITS, count_calls
from support.learners import make_learner

KILLS = [0.45, 0.9]  # shares of the calls of a fit


class Killed(BaseException):
    """Ends a fit as SIGKILL does, but for the process."""


def kill():
    raise Killed


def found_by(model):
    """All that must be the same."""
    history = model.history_
    results = {
        "weights": np.asarray(model.weights_),
        "theta": model.theta_,
        "order": np.asarray(model.causal_order_),
        "objective": np.asarray(history.objective),
        "refined": np.asarray(history.refine_losses),
    }
    return results if model.posterior_ is None else results | {"posterior": model.posterior_.edges}


@pytest.fixture
def saved_often(monkeypatch):
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)


@pytest.mark.parametrize("kind", FITS)
def test_a_fit_killed_anywhere_goes_on_and_ends_as_one_that_was_not(kind, saved_often, tmp_path):
    if kind == "joint":
        pytest.importorskip("torch")
    settings, X = FITS[kind]
    whole = found_by(make_learner(**settings).fit(X))
    model = make_learner(**settings)
    _, n_calls = count_calls(lambda: model.fit(X, resume=tmp_path / "whole"))
    for share in KILLS:
        path = tmp_path / str(share)
        with pytest.raises(Killed):
            count_calls(
                lambda path=path: make_learner(**settings).fit(X, resume=path), [round(share * n_calls)], kill
            )
        resumed = found_by(make_learner(**settings).fit(X, resume=path))
        for name, expected in whole.items():
            if kind == "mixed" and name != "order":  # fits of levels end within rounding, wherever they began
                np.testing.assert_allclose(resumed[name], expected, rtol=1e-7, atol=1e-9, err_msg=name)
            else:
                np.testing.assert_array_equal(resumed[name], expected, err_msg=name)
    # One file for each fit, and nothing beside it.
    assert sorted(os.listdir(tmp_path)) == sorted([*map(str, KILLS), "whole"])


@pytest.mark.parametrize("kind", ["other scales", "gaps", "gaps, by moments", "lars"])
def test_nothing_that_a_file_holds_is_worked_out_again(kind, saved_often, tmp_path, monkeypatch):
    settings, X = FITS[kind]
    whole = found_by(make_learner(**settings).fit(X, resume=tmp_path / "fit"))

    def again(*arguments):
        pytest.fail("it was done again")

    monkeypatch.setattr(refine._Sweeps, "_sweep", again)
    monkeypatch.setattr(sample, "run_chain", again)
    monkeypatch.setattr(bilevel.ApproximateConvergence, "update", again)
    resumed = found_by(make_learner(**settings).fit(X, resume=tmp_path / "fit"))
    for name, expected in whole.items():
        np.testing.assert_array_equal(resumed[name], expected, err_msg=name)


def test_a_fit_goes_on_after_ctrl_c_as_if_there_had_been_none(saved_often, tmp_path):
    settings, X = FITS["gaps"]
    whole = found_by(make_learner(**settings).fit(X))
    model = make_learner(**settings)
    _, n_calls = count_calls(lambda: model.fit(X, resume=tmp_path / "whole"))
    count_calls(lambda: model.fit(X, resume=tmp_path / "fit"), [round(0.7 * n_calls)])
    assert model.interrupted_
    model.fit(X, resume=tmp_path / "fit")
    assert not model.interrupted_
    for name, expected in whole.items():
        np.testing.assert_array_equal(found_by(model)[name], expected, err_msg=name)


KILLED = """
import os, signal, sys
from daguerreotype.training.checkpoint import Checkpoint
from support.interrupts import FITS
from support.learners import make_learner

saves, write = int(sys.argv[2]), Checkpoint.write
def count(self):
    global saves
    saves -= 1
    if saves == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    write(self)
Checkpoint.write, Checkpoint.due = count, lambda self: True
settings, X = FITS["gaps, by moments"]
make_learner(**settings).fit(X, resume=sys.argv[1])
"""


def test_a_process_killed_again_and_again_ends_as_one_that_was_not(saved_often, tmp_path):
    settings, X = FITS["gaps, by moments"]
    path = tmp_path / "fit"
    for count in (6, 12):  # saves until the kill: training, refining, rounds of EM
        child = subprocess.run(
            [sys.executable, "-c", KILLED, path, str(count)],
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert child.returncode == -signal.SIGKILL, child.stderr
        assert path.exists()
    resumed = found_by(make_learner(**settings).fit(X, resume=path))
    for name, expected in found_by(make_learner(**settings).fit(X)).items():
        np.testing.assert_array_equal(resumed[name], expected, err_msg=name)
    assert os.listdir(tmp_path) == ["fit"]  # the lock of a process that was killed is nobody's
