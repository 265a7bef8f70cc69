import dataclasses
import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from daguerreotype import Daguerreotype  # noqa: E402
from daguerreotype._lib.archive import read_archive, write_archive  # noqa: E402
from daguerreotype._lib.interrupts import CancelToken  # noqa: E402
from daguerreotype._lib.locks import InUseError  # noqa: E402
from daguerreotype.operators.sparsemax import Sparsemax  # noqa: E402
from daguerreotype.training import checkpoint as module  # noqa: E402
from daguerreotype.training.checkpoint import Checkpoint  # noqa: E402
from support.children import environment  # noqa: E402
from support.fits import linear_data, standard_table  # noqa: E402
from support.joint import KINDS, Linear, Mlp, train  # noqa: E402

EDGES = {"linear": Linear(), "mlp": Mlp(batch_size=30), "hard-concrete": Linear(gates="hard-concrete")}


def table(seed=0):
    return standard_table(linear_data(seed, 100, 5))


def assert_same(found, expected):
    assert found.steps == expected.steps
    for field in dataclasses.fields(expected):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(theirs, np.ndarray):
            np.testing.assert_array_equal(ours, theirs, err_msg=field.name)
    for name, values in expected.parameters.items():
        np.testing.assert_array_equal(found.parameters[name], values, err_msg=name)


def stop_after(count, stop):
    """A progress callback that calls ``stop`` at its ``count``-th step."""
    seen = []

    def progress(step):
        seen.append(step)
        if len(seen) == count:
            stop()

    return progress


def interrupt():
    raise KeyboardInterrupt


# The process kills itself without any chance to clean up: after a step, or in the middle of a save.
KILLED = """
import os, signal
from support.joint import train
from test_checkpoint import EDGES, stop_after, table
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
if {within_save}:
    import daguerreotype.training.checkpoint as module
    replace = module.os.replace
    calls = []
    def deadly(*paths):
        calls.append(paths)
        die() if len(calls) == {count} else replace(*paths)
    module.os.replace = deadly
    progress = None
else:
    progress = stop_after({count}, die)
train(table(), EDGES[{kind!r}], checkpoint={path!r}, checkpoint_every=7, progress=progress)
"""


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_a_run_killed_again_and_again_ends_bit_for_bit_as_one_that_was_not(kind, tmp_path):
    path = tmp_path / "run.npz"
    kills = [{"count": 3, "within_save": False}, {"count": 17, "within_save": False}]
    kills += [{"count": 2, "within_save": True}] if kind == "linear" else []
    reached = []
    for kill in kills:
        script = KILLED.format(kind=kind, path=str(path), **kill)
        folder = environment(Path(__file__).parent)
        run = subprocess.run([sys.executable, "-c", script], env=folder, capture_output=True, text=True)
        assert run.returncode == -signal.SIGKILL, run.stderr
        reached.append(int(np.load(path)["0.train/steps"].shape[0]) if path.exists() else 0)
    assert reached == [0, 14, 21][: len(kills)]
    counted = []
    resumed = train(table(), EDGES[kind], checkpoint=path, progress=counted.append)
    assert len(counted) == 40 - reached[-1]
    assert_same(resumed, train(table(), EDGES[kind]))


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize("count", [1, 8, 39])
def test_a_run_interrupted_at_any_step_goes_on_from_its_last_save(kind, count, tmp_path):
    path = tmp_path / "run.npz"
    first = train(table(), EDGES[kind], checkpoint=path, checkpoint_every=1, progress=stop_after(count, interrupt))
    assert first.interrupted
    assert len(first.steps) == count
    assert_same(train(table(), EDGES[kind], checkpoint=path), train(table(), EDGES[kind]))


def test_a_converged_run_is_not_trained_on(tmp_path):
    path, seen = tmp_path / "run.npz", []
    settings = {"max_iter": 2000, "tolerance": 0.01, "patience": 5}
    first = train(table(), Linear(), checkpoint=path, **settings)
    assert len(first.steps) < 2000
    again = train(table(), Linear(), checkpoint=path, progress=seen.append, **(settings | {"max_iter": 3000}))
    assert seen == []
    assert_same(again, first)


def test_more_iterations_train_a_finished_run_on(tmp_path):
    path = tmp_path / "run.npz"
    train(table(), Linear(), checkpoint=path, max_iter=25)
    assert_same(train(table(), Linear(), checkpoint=path), train(table(), Linear()))


def test_saving_changes_nothing_about_the_result(tmp_path):
    assert_same(
        train(table(), Linear(), checkpoint=tmp_path / "run.npz", checkpoint_every=1), train(table(), Linear())
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_is_plain_arrays_with_a_header_of_json(kind, tmp_path):
    path = tmp_path / "run.npz"
    train(table(), KINDS[kind](), checkpoint=path, max_iter=3)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        assert file["0.train/steps"].shape == (3, 6)
        assert file["0.train/theta"].shape == (5,)
    assert header["stages"]["0.train"]["settings"]["rate"] == 0.1
    assert os.listdir(tmp_path) == ["run.npz"]


# ---------------------------------------------------------------------- what is refused


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.npz"
    train(table(), Linear(), checkpoint=path, max_iter=5)
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": 0.2}, "rate was 0.1 and is now 0.2"),
        ({"l2": 0.0}, "l2 was 0.0005 and is now 0.0"),
        ({"gates_held": 11}, "gates_held was 10 and is now 11"),
        ({"loss": "mse"}, r"loss was 'EqualVariance\(\)' and is now 'SquaredError\(\)'"),
        ({"tolerance": 1e-3, "patience": 9}, "tolerance was 0.0 and is now 0.001; patience was 1000 and is now 9"),
        ({"tau": lambda step: 1.0 if step < 500 else 0.5}, "tau was .* and is now"),
        ({"theta": np.arange(5.0)}, "scores at the start differ"),
        ({"operator": Sparsemax(9)}, "another training run: orders at the start differ"),
        ({"edges": Linear(pruning=0.5)}, "edges.pruning was 0.01 and is now 0.5"),
        ({"edges": Linear(random_state=3)}, "edges.random_state was 0 and is now 3"),
        ({"edges": Mlp()}, "edges was 'Linear' and is now 'Mlp'"),
        ({"table": table(1)}, "data differ"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_with_what_differs(saved, changes, message):
    arguments = {"table": table(), "edges": Linear()} | changes
    with pytest.raises(ValueError, match=message) as error:
        train(**arguments, checkpoint=saved)
    assert str(error.value).startswith(f"{saved} is a checkpoint of another training run: ")
    assert "Give the data and settings that it began with, or another path." in str(error.value)


def test_a_checkpoint_of_other_column_names_is_refused(saved):
    renamed = dataclasses.replace(table(), names=tuple("abcde"))
    with pytest.raises(ValueError, match=r"columns was \['x0', .* and is now \['a', "):
        train(renamed, Linear(), checkpoint=saved)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_truncated_checkpoint_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="is not a complete checkpoint of training") as error:
        train(table(), Linear(), checkpoint=saved)
    assert "Delete it to train from the start, or give another path." in str(error.value)


def test_a_damaged_checkpoint_is_refused(saved):
    content = bytearray(saved.read_bytes())
    for position in range(200, len(content), 997):
        content[position] ^= 0xFF
    saved.write_bytes(content)
    with pytest.raises(ValueError, match="is not a complete checkpoint of training"):
        train(table(), Linear(), checkpoint=saved)


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "table.npz"
    np.savez(path, values=np.ones(3))
    with pytest.raises(ValueError, match="is not a complete checkpoint of training"):
        train(table(), Linear(), checkpoint=path)


def test_a_checkpoint_of_another_format_is_refused(saved, monkeypatch):
    monkeypatch.setattr(module, "FORMAT", 3)
    with pytest.raises(ValueError, match="is a checkpoint of format 2, but this version reads format 3"):
        train(table(), Linear(), checkpoint=saved)


# ---------------------------------------------------------------------- when it saves


def test_a_save_that_fails_is_told_once_leaves_the_one_before_and_is_tried_again(tmp_path, monkeypatch, caplog):
    path = tmp_path / "run.npz"

    def fail(*paths):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Checkpoint(path) as file:
        stage = file.stage("train", {"a": 1})
        stage.save({"theta": np.zeros(2)}, {"count": 1})
        before = path.read_bytes()
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "daguerreotype"):
            patch.setattr(os, "fsync", fail)
            stage.save({"theta": np.ones(2)}, {"count": 2})
            stage.save({"theta": np.ones(2)}, {"count": 3})
        assert path.read_bytes() == before
        assert caplog.text.count(f"cannot save to {path}: No space left on device. The fit goes on") == 1
        stage.save({"theta": np.ones(2)}, {"count": 4})
    with Checkpoint(path) as file:
        arrays, header = file.stage("train", {"a": 1}).load()
    assert header["count"] == 4
    np.testing.assert_array_equal(arrays["theta"], np.ones(2))


def test_a_folder_that_vanishes_is_told_and_the_fit_goes_on(tmp_path, caplog):
    path = tmp_path / "gone" / "run.npz"
    path.parent.mkdir()
    with caplog.at_level(logging.WARNING, "daguerreotype"), Checkpoint(path) as file:
        shutil.rmtree(path.parent)
        file.stage("train", {}).save({}, {})
    assert f"cannot save to {path}" in caplog.text


def test_a_folder_that_is_not_there_is_refused_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none for run.npz: make it"):
        train(table(), Linear(), checkpoint=tmp_path / "none" / "run.npz")


def test_a_file_in_use_is_refused_at_once_and_free_again_afterwards(tmp_path):
    path = tmp_path / "run.npz"
    with Checkpoint(path), pytest.raises(InUseError, match=r"run.npz is in use by another process.*another path"):
        train(table(), Linear(), checkpoint=path)
    train(table(), Linear(), checkpoint=path, max_iter=3)
    assert os.listdir(tmp_path) == ["run.npz"]


def test_saves_go_by_steps_or_by_the_clock(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with Checkpoint(tmp_path / "run.npz", seconds=30.0) as file:
        by_steps = file.stage("a", {}, every=3)
        assert [step for step in range(1, 8) if by_steps.due(step)] == [3, 6]
        by_clock = file.stage("b", {})
        now[0] = 129.0
        assert not by_clock.due(1)
        by_clock.keep({}, {})
        assert not file.path.exists()
        now[0] = 130.0
        assert by_clock.due(1)
        by_clock.keep({}, {})
        assert file.path.exists()
        assert not by_clock.due(2)


def test_the_state_of_other_settings_does_not_count(tmp_path):
    with Checkpoint(tmp_path / "run.npz") as file:
        file.stage("train", {"seed": 1}).save({"theta": np.ones(2)}, {})
    with Checkpoint(tmp_path / "run.npz") as file:
        assert file.stage("train", {"seed": 2}).load() is None
    with Checkpoint(tmp_path / "run.npz") as file:
        assert file.stage("refine", {"seed": 1}).load() is None


def test_nothing_is_saved_after_an_interrupt(tmp_path):
    cancel = CancelToken()
    with Checkpoint(tmp_path / "run.npz", cancel=cancel) as file:
        file.stage("train", {}).keep({}, {"count": 1})
        cancel.cancel()
        file.stage("refine", {}).save({}, {"count": 2})
    with Checkpoint(tmp_path / "run.npz") as file:
        assert file.stage("train", {}).load() == ({}, {"count": 1})
        assert file.stage("refine", {}).load() is None


def test_a_file_that_was_altered_is_refused(tmp_path):
    path = tmp_path / "fit.checkpoint"
    X = np.random.default_rng(0).normal(size=(60, 3))
    learner = Daguerreotype(edges="bic", transform="none", max_iter=5, n_restarts=0, posterior=0)
    learner.fit(X, resume=path)
    arrays, header = read_archive(path)
    order = next(name for name in arrays if name.endswith("best_order"))
    write_archive(path, arrays | {order: -arrays[order]}, header)  # would be indices of kernels
    with pytest.raises(ValueError, match=r"not a complete checkpoint of training .*altered since"):
        learner.fit(X, resume=path)
