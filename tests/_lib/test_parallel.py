"""Do threads share out calls as one thread would make them, and stop when they should?"""

import os
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from daguerreotype._lib.parallel import Threads, count_jobs, one_thread
from support.waiting import HANG

MANY = range(1000 * HANG)  # items of a millisecond each: nobody comes to their end


@given(st.lists(st.integers()), st.integers(1, 5))
def test_results_come_in_the_order_of_the_items(items, n_jobs):
    assert Threads(n_jobs).map(lambda item: item + 1, items) == [item + 1 for item in items]


def test_as_many_threads_make_calls_as_there_are_jobs():
    seen, meeting = set(), threading.Barrier(3)  # which breaks unless all come

    def call(_):
        seen.add(threading.get_ident())
        meeting.wait(HANG)

    threads = Threads(3)
    for _ in range(5):
        threads.map(call, range(12))
    assert len(seen) == 3


def test_an_error_in_another_thread_comes_back_and_ends_all():
    caller, begun, met = threading.get_ident(), [], threading.Event()

    def call(item):
        begun.append(item)
        if threading.get_ident() != caller:
            met.set()
            raise ValueError("of another thread")
        assert met.wait(HANG)
        time.sleep(0.001)

    with pytest.raises(ValueError, match="of another thread"):
        Threads(2).map(call, MANY)
    assert len(begun) < len(MANY)


def test_ctrl_c_in_the_callers_thread_ends_all_and_leaves_no_call_running():
    caller, begun, ended, met = threading.get_ident(), [], [], threading.Event()

    def call(item):
        begun.append(item)
        if threading.get_ident() == caller:
            assert met.wait(HANG)
            raise KeyboardInterrupt
        met.set()
        time.sleep(0.001)
        ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        Threads(2).map(call, MANY)
    assert len(begun) < len(MANY)
    assert len(ended) == len(begun) - 1


def test_threads_end_with_those_who_asked_for_them():
    threads, before, meeting = Threads(3), set(threading.enumerate()), threading.Barrier(3)
    threads.map(lambda _: meeting.wait(HANG), range(6))
    started = set(threading.enumerate()) - before
    assert len(started) == 2
    del threads
    for thread in started:
        thread.join(HANG)
        assert not thread.is_alive()


COUNTS = """
import numpy as np
import sklearn.ensemble  # loads OpenMP
from threadpoolctl import threadpool_info
from daguerreotype._lib.parallel import Threads

def counts(_=None):
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info()}

before = counts()
assert Threads(2).map(counts, range(4)) == [{1}] * 4
assert counts() == before
"""


def test_numerical_libraries_start_no_threads_within_a_thread_of_the_pool_and_are_free_again_after_it():
    threads = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    # A process of its own: limits of BLAS are the whole process's, and other tests set them too.
    subprocess.run([sys.executable, "-c", COUNTS], check=True, env=os.environ | threads)


# ---------------------------------------------------------------------------- how many


def test_jobs_are_counted_as_joblib_counts_them():
    assert (count_jobs(None), count_jobs(1), count_jobs(np.int64(3))) == (1, 1, 3)
    assert count_jobs(-1) == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=2):
        assert count_jobs(None) == 2


def test_within_a_worker_of_joblib_there_is_one_job():
    workers = joblib.Parallel(2, backend="threading")
    assert workers(joblib.delayed(count_jobs)(n_jobs) for n_jobs in (4, -1)) == [1, 1]


def test_what_is_no_number_of_jobs_is_refused():
    for n_jobs in (0, 1.5, "two", True):
        with pytest.raises(ValueError, match=r"n_jobs must be a whole number other than 0, .*, got .*-1 one for"):
            count_jobs(n_jobs)


def test_numerical_libraries_have_one_thread_as_long_as_any_fit_runs():
    np.ones((2, 2)) @ np.ones((2, 2))

    def threads():
        return {library["num_threads"] for library in threadpool_info()}

    before, first_out = threads(), threading.Event()

    def short_fit():
        with one_thread:
            pass
        first_out.set()

    with one_thread:
        threading.Thread(target=short_fit).start()
        assert first_out.wait(10)
        assert threads() == {1}
    assert threads() == before
