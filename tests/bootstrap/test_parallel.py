"""The result is the same wherever the resamples run."""

import threading

import joblib
import pandas as pd
import pytest

from daguerreotype.bootstrap import bootstrap
from support.fits import linear_data
from support.learners import make_learner
from support.resampling import QUICK, ByMean, assert_same


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(linear_data(0, 100, 5), columns=list("abcde"))


@pytest.fixture(scope="module")
def alone(table):
    return make_learner(**QUICK).bootstrap(table, 6)


def test_two_processes_give_the_same_as_one_with_and_without_a_file(table, alone, tmp_path):
    model = make_learner(n_jobs=2, **QUICK)
    assert_same(model.bootstrap(table, 6, n_jobs=2), alone)
    model.bootstrap(table, 3, n_jobs=1, resume=tmp_path / "file")
    assert_same(model.bootstrap(table, 6, n_jobs=2, resume=tmp_path / "file"), alone)


def test_two_threads_give_the_same_as_one(table, alone):
    with joblib.parallel_config("threading", n_jobs=2):
        assert_same(make_learner(**QUICK).bootstrap(table, 6), alone)


def test_a_dask_cluster_of_two_workers_gives_the_same(table, alone, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        with joblib.parallel_config("dask"):
            result = make_learner(**QUICK).bootstrap(table, 6, resume=tmp_path / "file")
        executed = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert_same(result, alone)
    assert len(executed) == 2
    assert sum(executed.values()) >= 6


@pytest.mark.filterwarnings("ignore:.*tasks which were still being processed")
def test_an_error_in_a_worker_comes_back_in_its_own_words(table):
    def loss(variance, dof, n_rows):
        raise ValueError("there is no loss today")

    with pytest.raises(ValueError, match=r"the first resample could not be fitted .* there is no loss today"):
        make_learner(**{**QUICK, "loss": loss}).bootstrap(table, 4, n_jobs=2)


def test_a_fit_outside_the_main_thread_needs_no_signals(table):
    results = []
    thread = threading.Thread(target=lambda: results.append(bootstrap(ByMean(), table, 2)))
    thread.start()
    thread.join()
    assert_same(results[0], bootstrap(ByMean(), table, 2))
