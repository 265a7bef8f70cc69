"""Partitions of a dask frame, in threads or processes, give the same bits as all rows."""

import os

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from daguerreotype.data import Moments
from daguerreotype.data.streams import _merge_all
from support.learners import make_learner

N_PARTS = 12


def part(number):
    rng = np.random.default_rng(number)
    cause = rng.normal(size=400)
    other = cause**2 + 0.3 * rng.normal(size=400)
    return pd.DataFrame({"other": other, "cause": cause, "last": 0.5 * other + rng.normal(size=400)})


def frame():
    return dd.from_map(part, range(N_PARTS), meta=part(0)[:0])


@pytest.fixture(scope="module")
def rows():
    return pd.concat([part(number) for number in range(N_PARTS)], ignore_index=True)


@pytest.mark.parametrize("settings", [{"edges": "bic"}, {"edges": "gam"}, {"edges": "lars", "scales": "log"}])
def test_the_graph_of_partitions_is_that_of_all_rows(rows, settings):
    learner = make_learner(loss="bic", n_restarts=0, **({"scales": "none"} | settings))
    expected = learner.fit_chunks([rows]).weights_
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


def test_partitions_are_taken_in_by_processes_of_a_cluster_and_left_as_they_are(rows):
    """Tasks are pure: what a worker that dies had taken in is taken in again."""
    learner = make_learner(edges="gam", loss="bic", n_restarts=0, scales="none")
    expected = learner.fit_chunks([rows]).weights_
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 60}
    with LocalCluster(processes=True, **settings) as cluster, Client(cluster) as client:
        assert os.getpid() not in client.run(os.getpid).values()
        found = learner.fit_chunks(frame()).weights_
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    parts = [Moments().update(part(number)) for number in range(3)]
    once, again = (_merge_all(Moments, parts).covariance for _ in range(2))
    np.testing.assert_array_equal(once, again)
