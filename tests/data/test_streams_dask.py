"""A cluster takes in the partitions of a dask frame: the same bits, also when a worker dies."""

import os
import signal
import threading
import uuid
from functools import partial
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from daguerreotype import Daguerreotype
from daguerreotype.data import Moments
from daguerreotype.training import Bilevel
from support.learners import make_learner
from support.waiting import HANG, wait_until

N_PARTS = 12


def part(number, folder=None, n_free=0):
    """Rows of one partition, which leave a trace and wait there.

    They wait until two processes have come, and all but the first ``n_free`` until somebody was killed.
    """
    if folder is not None:
        Path(folder, f"{uuid.uuid4().hex}-{os.getpid()}").touch()
        wait_until(lambda: len(set(traces(folder))) > 1)
        if len(traces(folder)) > n_free:
            wait_until(Path(folder, "killed").exists)
    rng = np.random.default_rng(number)
    cause = rng.normal(size=400)
    other = cause**2 + 0.3 * rng.normal(size=400)
    return pd.DataFrame({"other": other, "cause": cause, "last": 0.5 * other + rng.normal(size=400)})


def traces(folder):
    """Process of every partition that was begun."""
    return [int(path.name.split("-")[1]) for path in Path(folder).glob("*-*")]


def frame(**settings):
    meta = part(0)[:0]
    return dd.from_map(partial(part, **settings), range(N_PARTS), meta=meta)


@pytest.fixture(scope="module")
def rows():
    return pd.concat([part(number) for number in range(N_PARTS)], ignore_index=True)


@pytest.mark.parametrize("settings", [{"edges": "bic"}, {"edges": "gam"}, {"edges": "lars", "scales": "log"}])
def test_the_graph_of_partitions_is_that_of_all_rows(rows, settings):
    learner = make_learner(loss="bic", n_restarts=0, **({"scales": "none"} | settings))
    expected = learner.fit(rows).weights_
    with dask.config.set(scheduler="threads", num_workers=2):
        found = learner.fit_chunks(frame()).weights_
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_trouble_is_named_with_the_partition():
    broken = frame().map_partitions(lambda part, partition_info=None: part.where(part["cause"] < 3.0))
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match=r"NaN values in .* of chunk \d+"),
    ):
        Moments.from_chunks(broken)


@pytest.fixture(scope="module")
def client():
    """Of a cluster of two workers."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_worker_killed_halfway_costs_time_and_nothing_else(rows, client, tmp_path):
    made = N_PARTS + N_PARTS // 2  # in the second pass, which takes moments of splines
    learner = Daguerreotype(edges="gam", scales="none", training=Bilevel(loss="bic", n_restarts=0))
    expected = learner.fit(rows).weights_
    client.wait_for_workers(2, timeout=HANG)  # one that was killed comes back
    victim, survivor = client.run(os.getpid).values()

    def kill():
        try:
            wait_until(lambda: len(traces(tmp_path)) > made)
            os.kill(victim, signal.SIGKILL)
        finally:
            (tmp_path / "killed").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    found = learner.fit_chunks(frame(folder=str(tmp_path), n_free=made)).weights_
    killer.join()
    assert {victim, survivor} <= set(traces(tmp_path))  # both had a part in it
    wait_until(lambda: victim not in client.run(os.getpid).values())
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
