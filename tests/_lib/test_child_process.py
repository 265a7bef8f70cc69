"""A call in a child process ends as it would here, or in time, or with a report."""

import os
import pickle
import signal
import subprocess
import threading
import time
from functools import partial

import pytest

from daguerreotype._lib.child_process import ChildPool, ChildProcess, CrashError, DeadlineError, describe_error


@pytest.fixture
def child():
    started = ChildProcess()
    yield started
    started.close()


def process_of(child):
    return child.call(os.getpid)


def is_alive(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and "Z" not in state


def test_calls_are_made_in_one_other_process(child):
    assert child.call(max, 3, 5) == 5
    assert process_of(child) == process_of(child) != os.getpid()


def test_what_is_defined_in_a_function_travels_too(child):
    assert child.call(lambda number: number + 1, 2) == 3


def test_the_clock_starts_after_loading(child):
    assert child.call(abs, -1, load=partial(time.sleep, 1.0), limit=0.5) == 1


def test_a_late_call_is_killed_and_the_next_one_has_a_new_process(child):
    before = process_of(child)
    with pytest.raises(DeadlineError, match=r"^did not finish within 0\.2 s$"):
        child.call(time.sleep, 60, limit=0.2)
    assert process_of(child) != before
    assert not is_alive(before)


def test_a_crash_is_reported_with_code_and_last_words(child):
    with pytest.raises(CrashError, match=r"^its process ended with code 1: ZeroDivisionError: division by zero$"):
        child.call(exec, "import os, traceback\ntry: 1/0\nexcept Exception: traceback.print_exc()\nos._exit(1)")


def test_a_crash_survives_pickling():
    crash = pickle.loads(pickle.dumps(CrashError(7, "oh")))
    assert (crash.code, crash.last, str(crash)) == (7, "oh", "its process ended with code 7: oh")


@pytest.mark.parametrize("where", ["load", "function"])
def test_an_error_is_raised_here_with_its_traceback_as_a_note(child, where):
    bad = partial(int, "x")
    with pytest.raises(ValueError, match="invalid literal") as caught:
        child.call(bad) if where == "function" else child.call(abs, 1, load=bad)
    assert "Traceback" in caught.value.__notes__[0]
    assert describe_error(caught.value) == "ValueError: invalid literal for int() with base 10: 'x'"


def test_what_a_library_prints_does_not_mix_with_the_answers(child, capfd):
    assert child.call(print, "a library that talks") is None
    assert child.call(abs, -2) == 2
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_kills_the_child(child):
    pid = process_of(child)
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        child.call(time.sleep, 60)
    assert not is_alive(pid)


def test_a_closed_child_is_not_started_again(child):
    pid = process_of(child)
    child.close()
    assert not is_alive(pid)
    with pytest.raises(RuntimeError, match="was closed"):
        child.call(abs, 1)


def test_a_pool_has_a_process_for_every_call_under_way_and_uses_them_again():
    pool, found = ChildPool(), []

    def ask():
        found.append(pool.call(exec, "import time; time.sleep(1)") or pool.call(os.getpid))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2
    assert pool.call(os.getpid) in found
    pool.close()
    assert not any(map(is_alive, found))


def test_a_pool_that_is_closed_ends_the_calls_under_way():
    pool, ended = ChildPool(), []

    def wait():
        try:
            pool.call(time.sleep, 60)
        except CrashError as crash:
            ended.append(crash)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(1.0)
    pool.close()
    thread.join(timeout=10)
    assert len(ended) == 1
