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
from daguerreotype._lib.journal import decode_line, encode_line
from daguerreotype._lib.locks import InUseError
from daguerreotype.bootstrap import BootstrapInterrupt, bootstrap
from daguerreotype.bootstrap import run as module
from daguerreotype.bootstrap.resample import Draws, Resample
from daguerreotype.bootstrap.run import Journal, describe_run
from daguerreotype.operators import top_k_sparsemax
from support.children import environment
from support.fits import linear_data
from support.resampling import QUICK, ByMean, Interrupted, assert_same

KILLED = """
import os, signal, sys
import numpy as np
from daguerreotype import Daguerreotype

fits, fit = [], Daguerreotype.fit

def fit_or_die(self, *arguments, **others):
    if len(fits) == {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    fits.append(1)
    return fit(self, *arguments, **others)

Daguerreotype.fit = fit_or_die
Daguerreotype(**{settings}).bootstrap(np.load({table!r}), 6, resume={path!r})
"""


@pytest.fixture
def table(rng):
    return pd.DataFrame(rng.normal(size=(40, 4)), columns=["age", "dose", "diet", "outcome"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "resamples.jsonl"


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
    resumed = Daguerreotype(**QUICK).bootstrap(X, 6, resume=path)
    assert len(made) == 6 - 4
    assert_same(resumed, Daguerreotype(**QUICK).bootstrap(X, 6))


def test_a_file_cut_off_at_any_byte_loses_one_resample_at_most(table, path, monkeypatch):
    whole = bootstrap(ByMean(), table, 3, resume=path)
    content = path.read_bytes()
    before_last = content[:-1].rindex(b"\n") + 1
    made = counting(monkeypatch, ByMean)
    for length in range(before_last, len(content) + 1):
        path.write_bytes(content[:length])
        made.clear()
        assert_same(bootstrap(ByMean(), table, 3, resume=path), whole)
        assert len(made) == (0 if length == len(content) else 1)
        assert path.read_bytes() == content


def test_a_last_line_of_garbage_is_done_again(table, path):
    whole = bootstrap(ByMean(), table, 3, resume=path)
    content = path.read_bytes()
    path.write_bytes(content[:-20] + bytes(19) + b"\n")
    assert_same(bootstrap(ByMean(), table, 3, resume=path), whole)
    assert path.read_bytes() == content


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


def test_ctrl_c_before_anything_is_finished_leaves_nothing_to_tell(table, monkeypatch):
    monkeypatch.setattr(Interrupted, "left", 0)
    with pytest.raises(BootstrapInterrupt, match="0 resamples finished") as interrupt:
        bootstrap(Interrupted(), table, 5)
    assert interrupt.value.finished is None


def test_a_file_in_use_is_refused_at_once_and_free_again_afterwards(table, path):
    with (
        Journal(path, {}),
        pytest.raises(InUseError, match=r"resamples.jsonl is in use by another process"),
    ):
        bootstrap(ByMean(), table, 2, resume=path)
    bootstrap(ByMean(), table, 2, resume=path)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("n_full", [2, 99])
def test_a_disk_that_is_full_for_a_while_costs_nothing_and_is_told(table, path, monkeypatch, caplog, n_full):
    whole = bootstrap(ByMean(), table, 5)
    fsync, left = os.fsync, [4, n_full]  # the first line, its folder, and two resamples are written

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0 and left[1] > 0:
            left[1] -= 1
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    assert_same(bootstrap(ByMean(), table, 5, resume=path), whole)
    assert caplog.text.count(f"cannot add to {path}: No space left on device") == 1
    lost = f"{path} lacks 3 resamples that could not be written" in caplog.text
    assert lost == (n_full == 99)
    monkeypatch.undo()
    made = counting(monkeypatch, ByMean)
    assert_same(bootstrap(ByMean(), table, 5, resume=path), whole)
    assert len(made) == (3 if lost else 0)


def test_a_fit_that_ctrl_c_ended_early_does_not_count(path):
    X = linear_data(0, 80, 4)
    STEPS.clear()
    model = Daguerreotype(**(QUICK | {"operator": interrupted_at_step_30, "tol": 0.0}))
    with pytest.raises(KeyboardInterrupt):
        model.bootstrap(X, 3, resume=path)
    assert len(path.read_text().splitlines()) == 1 + 1  # the first took 20 steps, the second was cut short
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


def test_the_file_is_plain_json_behind_checksums(table, path):
    result = bootstrap(ByMean(), table, 2, resume=path)
    header, *lines = [json.loads(line.partition(" ")[2]) for line in path.read_text().splitlines()]
    assert header["settings"]["learner"] == "ByMean"
    assert sorted(line["index"] for line in lines) == [0, 1]
    counts = np.zeros((4, 4))
    for line in lines:
        for cause, effect in line["edges"]:
            counts[cause, effect] += 0.5
    np.testing.assert_array_equal(result.edge_frequencies, counts)
    assert os.listdir(path.parent) == [path.name]


def test_a_resample_is_on_the_disk_before_the_next_begins(path, monkeypatch):
    synced = []
    monkeypatch.setattr(module.os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    journal = Journal(path, {})
    journal.load()
    journal.append(Resample(0, [0, 1], [[0, 1]], 0))
    assert synced[-1] == path.stat().st_size


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("learner", "changes", "message"),
    [
        (ByMean(scale=2.0), {}, r"learner\.scale was 1\.0 and is now 2\.0"),
        (Interrupted(), {}, "learner was 'ByMean' and is now 'Interrupted'"),
        (ByMean(), {"random_state": 1}, "random_state was 0 and is now 1"),
        (ByMean(), {"fraction": 0.5}, "n_drawn was 40 and is now 20"),
        (ByMean(), {"fraction": 0.5, "replace": False}, "replace was True and is now False"),
        (ByMean(), {"fit_params": {"name": "abc"}}, "fit parameter name was None and is now 'abc'"),
    ],
)
def test_a_file_of_another_run_is_refused_with_what_differs(table, path, learner, changes, message):
    bootstrap(ByMean(), table, 2, resume=path)
    with pytest.raises(ValueError, match=message) as error:
        bootstrap(learner, table, 2, resume=path, **changes)
    assert str(error.value).startswith(f"{path} holds resamples of another bootstrap: ")
    assert "Give the table and settings that it began with, or another path." in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table + (table == table.iloc[3, 1]), "the data differ"),
        (lambda table: table.rename(columns={"age": "years"}), r"columns was \['age', .* and is now \['years', "),
        (lambda table: table.to_numpy(), r"columns was \['age', .* and is now 4"),
        (lambda table: table.iloc[:-1], "n_rows was 40 and is now 39"),
    ],
)
def test_a_file_of_another_table_is_refused(table, path, change, message):
    bootstrap(ByMean(), table, 2, resume=path)
    with pytest.raises(ValueError, match=message):
        bootstrap(ByMean(), change(table), 2, resume=path)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"no line end", encode_line({"index": 0})])
def test_a_file_of_another_kind_is_refused_and_left_alone(table, path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"does not hold resamples of a bootstrap\. Give another path"):
        bootstrap(ByMean(), table, 2, resume=path)
    assert path.read_bytes() == content


def test_damage_before_the_end_is_refused_with_its_place(table, path):
    bootstrap(ByMean(), table, 3, resume=path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"order", b"0rder")
    path.write_bytes(b"".join(lines))
    with pytest.raises(ValueError, match=r"line 3 of .* is damaged\. Delete that line to do its resample again"):
        bootstrap(ByMean(), table, 3, resume=path)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    assert_same(bootstrap(ByMean(), table, 3, resume=path), bootstrap(ByMean(), table, 3))


def test_a_file_of_another_format_is_refused(table, path, monkeypatch):
    bootstrap(ByMean(), table, 2, resume=path)
    monkeypatch.setattr(module, "FORMAT", 2)
    with pytest.raises(ValueError, match="has format 1, but this version reads format 2"):
        bootstrap(ByMean(), table, 2, resume=path)


# ---------------------------------------------------------------------- how a learner is recognised


class Plug:
    """An edge estimator with a setting of its own, and no repr."""

    def __init__(self, price):
        self.price = price


def priced(price):
    def loss(variance, dof, n_rows):
        return variance + price * dof if dof else loss(variance, 1, n_rows)

    return loss


def described(**settings):
    draws = Draws(n_rows=3, n_drawn=3, replace=True, random_state=0)
    return describe_run(Daguerreotype(**settings), np.eye(3), {}, draws)


@pytest.mark.parametrize(
    ("parameter", "same", "other"),
    [
        ("edges", lambda: Plug(1.0), lambda: Plug(2.0)),
        ("edges", lambda: LassoLarsIC(criterion="bic"), lambda: LassoLarsIC(criterion="aic")),
        ("loss", lambda: lambda variance, dof, n: variance + 1.0, lambda: lambda variance, dof, n: variance + 2.0),
        ("init", lambda: np.array([0, 2, 1]), lambda: np.array([0, 1, 2])),
        ("init", lambda: [0, 2, np.int64(1)], lambda: [0, 1, 2]),
        ("tau", lambda: (2.0, 0.1), lambda: (2.0, 0.2)),
        ("edges", lambda: {"a": {1, 2}}, lambda: {"a": {1, 3}}),
        ("operator", lambda: top_k_sparsemax, lambda: len),
        ("operator", lambda: np.add, lambda: np.multiply),
        ("operator", lambda: partial(top_k_sparsemax, k=3), lambda: partial(top_k_sparsemax, k=4)),
        ("loss", lambda: priced(1.0), lambda: priced(2.0)),
        ("edges", lambda: Plug(priced(1.0)), lambda: Plug(priced(2.0))),
        ("edges", lambda: Plug(Plug), lambda: Plug(int)),
        ("edges", lambda: Plug(np.nan), lambda: Plug(1.0)),
        ("edges", lambda: Plug(threading.Lock()), lambda: Plug(1.0)),
    ],
)
def test_settings_are_known_by_what_they_are_and_not_by_where_they_lie(parameter, same, other):
    first, again, different = (described(**{parameter: make()}) for make in (same, same, other))
    assert json.loads(json.dumps(first)) == again
    assert first != different
    assert "0x" not in json.dumps(first)


@pytest.mark.parametrize(
    "change",
    [
        {"index": "0"},
        {"order": [0, 1, 2, 2]},
        {"order": [0, 1]},
        {"edges": [[0, 9]]},
        {"edges": [[0]]},
        {"edges": [[0, 0]]},
        {"more": 1},
    ],
)
def test_a_resample_that_no_run_wrote_is_refused_with_its_place(table, path, change):
    bootstrap(ByMean(), table, 2, resume=path)
    first, second, _ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + encode_line(decode_line(second.strip()) | change))
    path.write_bytes(path.read_bytes() + second)
    with pytest.raises(ValueError, match=r"line 2 of .* is damaged"):
        bootstrap(ByMean(), table, 2, resume=path)
