import dataclasses
import errno
import io
import json
import logging
import os

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch")

from daguerreotype import Daguerreotype  # noqa: E402
from daguerreotype._lib.archive import read_archive, write_archive  # noqa: E402
from daguerreotype._lib.interrupts import CancelToken  # noqa: E402
from daguerreotype._lib.store import InUseError  # noqa: E402
from daguerreotype.edges.linear import LinearEdges  # noqa: E402
from daguerreotype.edges.mlp import MlpEdges  # noqa: E402
from daguerreotype.operators import Sparsemax  # noqa: E402
from daguerreotype.training import Bilevel, Joint  # noqa: E402
from daguerreotype.training import checkpoint as module  # noqa: E402
from daguerreotype.training.checkpoint import Checkpoint  # noqa: E402
from support.fits import linear_data, standard_table  # noqa: E402
from support.joint import Linear, Mlp, train  # noqa: E402

EDGES = {"linear": Linear(), "mlp": Mlp(batch_size=30)}


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


@pytest.mark.parametrize("kind", EDGES)
def test_a_run_interrupted_at_any_step_goes_on_from_its_last_save(kind, tmp_path):
    whole = train(table(), EDGES[kind])
    for count in (1, 8, 39):
        path = tmp_path / f"run {count}.npz"
        first = train(table(), EDGES[kind], checkpoint=path, seconds=0.0, progress=stop_after(count, interrupt))
        assert first.interrupted
        assert_same(first, train(table(), EDGES[kind], max_iter=count))
        heard = []
        assert_same(train(table(), EDGES[kind], checkpoint=path, progress=heard.append), whole)
        assert len(heard) == len(whole.steps) - count  # the step after the last one that was saved comes first


def test_a_converged_run_is_not_trained_on(tmp_path):
    path, seen = tmp_path / "run.npz", []
    settings = {"max_iter": 2000, "tol": 0.01, "patience": 5}
    first = train(table(), Linear(), checkpoint=path, **settings)
    assert len(first.steps) < 2000
    again = train(table(), Linear(), checkpoint=path, progress=seen.append, **(settings | {"max_iter": 3000}))
    assert seen == []
    assert_same(again, first)


def test_more_iterations_train_a_finished_run_on(tmp_path):
    path = tmp_path / "run.npz"
    train(table(), Linear(), checkpoint=path, max_iter=25)
    assert_same(train(table(), Linear(), checkpoint=path), train(table(), Linear()))


def test_the_file_is_plain_arrays_with_a_header_of_json(tmp_path):
    path = tmp_path / "run.npz"
    train(table(), Linear(), checkpoint=path, max_iter=3)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        assert file["0.train/steps"].shape == (3, 5)
        assert file["0.train/theta"].shape == (5,)
    assert header["stages"]["0.train"]["settings"]["gates_held"] == 10
    assert os.listdir(tmp_path) == ["run.npz"]


# ---------------------------------------------------------------------- what is refused


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.npz"
    train(table(), Linear(), checkpoint=path, max_iter=5)
    return path


X = pd.DataFrame(linear_data(0, 60, 4), columns=list("abcd"))
SETTINGS = {"edges": LinearEdges(device="cpu"), "scales": "none", "posterior": 0}
OTHER_FITS = [
    ({"training": Joint(max_iter=5, learning_rate=0.2)}, "learning_rate was 0.1 and is now 0.2"),
    ({"training": Joint(max_iter=5, l2=0.0)}, "l2 was 0.0005 and is now 0.0"),
    ({"training": Joint(max_iter=5, loss="mse")}, r"was 'EqualVariance\(\)' and is now 'SquaredError\(\)'"),
    (
        {"training": Joint(max_iter=5, tol=1e-3, patience=9)},
        "tol was .* and is now 0.001; patience was 20 and",
    ),
    ({"training": Joint(max_iter=5, start=np.arange(4.0))}, "scores at the start differ"),
    ({"operator": Sparsemax(tau=0.5)}, "tau was .* and is now"),
    ({"operator": Sparsemax(9)}, "another run: orders at the start differ"),
    ({"edges": LinearEdges(device="cpu", pruning=0.5)}, "edges.pruning was 0.01 and is now 0.5"),
    ({"edges": LinearEdges(device="cpu", random_state=3)}, "edges.random_state was 0 and is now 3"),
    ({"edges": MlpEdges(device="cpu")}, "edges was 'LinearEdges' and is now 'MlpEdges'"),
    ({"scales": "log"}, "scales was \"'none'\" and is now"),
    ({"X": X + 1.0}, "data differ"),
    ({"X": X.rename(columns={"a": "A"})}, r"columns was \['b', 'c', 'a', .* and is now \['b', 'c', 'A', "),
]


def test_a_checkpoint_of_another_run_is_refused_with_what_differs(tmp_path):
    path = tmp_path / "run.npz"

    def fit(X=X, training=Joint(max_iter=5), **changes):  # noqa: B008
        return Daguerreotype(training=training, **(SETTINGS | changes)).fit(X, resume=path)

    fit()
    for changes, message in OTHER_FITS:
        with pytest.raises(ValueError, match=message) as error:
            fit(**changes)
        assert str(error.value).startswith(f"{path} is a checkpoint of another run: ")
        assert "Give the data and settings that it began with, or another path." in str(error.value)


def test_a_file_that_is_no_whole_checkpoint_is_refused(saved):
    whole, damaged, other = saved.read_bytes(), bytearray(saved.read_bytes()), io.BytesIO()
    for position in range(200, len(damaged), 997):
        damaged[position] ^= 0xFF
    np.savez(other, values=np.ones(3))
    truncated = [whole[: int(share * len(whole))] for share in (0.0, 0.01, 0.3, 0.7, 0.99)]
    for content in (*truncated, bytes(damaged), other.getvalue()):
        saved.write_bytes(content)
        with pytest.raises(ValueError, match="is not a complete checkpoint") as error:
            train(table(), Linear(), checkpoint=saved)
        assert "Delete it to begin anew, or give another path." in str(error.value)


def test_a_checkpoint_of_another_format_is_refused(saved, monkeypatch):
    monkeypatch.setattr(module, "FORMAT", 3)
    with pytest.raises(ValueError, match="is a checkpoint of format 2, but this version reads format 3"):
        train(table(), Linear(), checkpoint=saved)


# ---------------------------------------------------------------------- when it saves


def test_a_save_that_fails_is_told_once_leaves_the_one_before_and_is_tried_again(tmp_path, monkeypatch, caplog):
    path = tmp_path / "run.npz"

    def fail(*paths):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Checkpoint(path, seconds=0.0) as file:
        stage = file.stage("train", {"a": 1})
        stage.keep(lambda: ({"theta": np.zeros(2)}, {"count": 1}))
        before = path.read_bytes()
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "daguerreotype"):
            patch.setattr(os, "fsync", fail)
            stage.keep(lambda: ({"theta": np.ones(2)}, {"count": 2}))
            stage.keep(lambda: ({"theta": np.ones(2)}, {"count": 3}))
        assert path.read_bytes() == before
        assert caplog.text.count(f"cannot save to {path}: No space left on device. The fit goes on") == 1
        stage.keep(lambda: ({"theta": np.ones(2)}, {"count": 4}))
    with Checkpoint(path) as file:
        arrays, header = file.stage("train", {"a": 1}).load()
    assert header["count"] == 4
    np.testing.assert_array_equal(arrays["theta"], np.ones(2))


def test_a_folder_that_is_not_there_is_refused_before_any_work(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none for run.npz: make it"):
        train(table(), Linear(), checkpoint=tmp_path / "none" / "run.npz")


def test_a_file_in_use_is_refused_at_once_and_free_again_afterwards(tmp_path):
    path = tmp_path / "run.npz"
    with Checkpoint(path), pytest.raises(InUseError, match=r"run.npz is in use by another process.*another path"):
        train(table(), Linear(), checkpoint=path)
    train(table(), Linear(), checkpoint=path, max_iter=3)
    assert os.listdir(tmp_path) == ["run.npz"]


def test_saves_go_by_the_clock(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with Checkpoint(tmp_path / "run.npz", seconds=30.0) as file:
        stage, made = file.stage("train", {}), []

        def state():
            made.append(now[0])
            return {}, {"at": now[0]}

        now[0] = 129.0
        stage.keep(state)
        assert not made
        stage.keep(state, always=True)
        assert made == [129.0]
        assert not file.path.exists()
        now[0] = 130.0
        stage.keep(state)
        assert file.path.exists()
        now[0] = 131.0
        stage.keep(state)
        assert made == [129.0, 130.0]


def test_the_state_of_other_settings_does_not_count(tmp_path):
    with Checkpoint(tmp_path / "run.npz") as file:
        file.stage("train", {"seed": 1}).keep(lambda: ({"theta": np.ones(2)}, {}), always=True)
    with Checkpoint(tmp_path / "run.npz") as file:
        assert file.stage("train", {"seed": 2}).load() is None
    with Checkpoint(tmp_path / "run.npz") as file:
        assert file.stage("refine", {"seed": 1}).load() is None


def test_nothing_is_saved_after_an_interrupt(tmp_path):
    cancel = CancelToken()
    with Checkpoint(tmp_path / "run.npz", cancel=cancel) as file:
        file.stage("train", {}).keep(lambda: ({}, {"count": 1}), always=True)
        cancel.cancel()
        file.stage("refine", {}).keep(lambda: ({}, {"count": 2}), always=True)
    with Checkpoint(tmp_path / "run.npz") as file:
        assert file.stage("train", {}).load() == ({}, {"count": 1})
        assert file.stage("refine", {}).load() is None


def test_a_file_that_was_altered_is_refused(tmp_path):
    path = tmp_path / "fit.checkpoint"
    learner = Daguerreotype(edges="bic", scales="none", posterior=0, training=Bilevel(max_iter=5, n_restarts=0))
    learner.fit(X, resume=path)
    arrays, header = read_archive(path)
    order = next(name for name in arrays if name.endswith("best_order"))
    write_archive(path, arrays | {order: -arrays[order]}, header)  # would be indices of kernels
    with pytest.raises(ValueError, match=r"not a complete checkpoint .*altered since"):
        learner.fit(X, resume=path)
