"""A call in a child process ends as it would here, or in time, or with a report."""

import os
import pickle
import signal
import subprocess
import threading
from functools import partial

import pytest

from daguerreotype._lib.child_process import ChildPool, CrashError, DeadlineError, describe_error
from support.waiting import HANG, never_end, wait_until


@pytest.fixture
def pool():
    started = ChildPool()
    yield started
    started.close()


def begin_and_never_end(begun):
    begun.touch()
    never_end()


def meet(mine, other):
    """Say which process this is, and wait for another one to do so."""
    whole = mine.with_suffix(".written")
    whole.write_text(str(os.getpid()))
    whole.rename(mine)
    wait_until(other.exists)


def is_alive(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and "Z" not in state


def test_calls_are_made_in_one_other_process_that_is_killed_when_the_pool_closes(pool, capfd):
    process = pool.call(os.getpid)
    assert process != os.getpid()
    assert pool.call(lambda number: number + 1, 2) == 3  # what is defined in a function travels too
    assert pool.call(print, "a library that talks") is None  # which does not mix with the answers
    assert capfd.readouterr() == ("", "")
    for call in (partial(pool.call, partial(int, "x")), partial(pool.call, abs, 1, load=partial(int, "x"))):
        with pytest.raises(ValueError, match="invalid literal") as caught:
            call()
        assert "Traceback" in caught.value.__notes__[0]
        assert describe_error(caught.value) == "ValueError: invalid literal for int() with base 10: 'x'"
    assert pool.call(os.getpid) == process
    pool.close()
    assert not is_alive(process)
    with pytest.raises(RuntimeError, match="were closed"):
        pool.call(abs, 1)


def test_the_clock_starts_after_loading(pool, monkeypatch, tmp_path):
    loaded, seen = tmp_path / "loaded", []

    class Clock(threading.Timer):
        def start(self):
            seen.append(loaded.exists())
            super().start()

    monkeypatch.setattr(threading, "Timer", Clock)
    assert pool.call(abs, -1, load=loaded.touch, limit=HANG) == 1
    assert seen == [True]


def test_a_late_call_is_killed_and_the_next_one_has_a_new_process(pool):
    before = pool.call(os.getpid)
    with pytest.raises(DeadlineError, match=r"^did not finish within 0\.2 s$"):
        pool.call(never_end, limit=0.2)
    assert not is_alive(before)
    assert pool.call(os.getpid) != before


def test_a_crash_is_reported_with_code_and_last_words_and_survives_pickling(pool):
    with pytest.raises(CrashError, match=r"^its process ended with code 1: ZeroDivisionError: division by zero$"):
        pool.call(exec, "import os, traceback\ntry: 1/0\nexcept Exception: traceback.print_exc()\nos._exit(1)")
    crash = pickle.loads(pickle.dumps(CrashError(7, "oh")))
    assert (crash.code, crash.last, str(crash)) == (7, "oh", "its process ended with code 7: oh")


def test_an_interrupt_kills_the_child(pool, tmp_path):
    process, begun = pool.call(os.getpid), tmp_path / "begun"

    def interrupt():
        wait_until(begun.exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        pool.call(begin_and_never_end, begun)
    assert not is_alive(process)


def test_a_pool_has_a_process_for_every_call_under_way_and_ends_those_when_it_closes(pool, tmp_path):
    files = (tmp_path / "first", tmp_path / "second")
    threads = [threading.Thread(target=pool.call, args=(meet, *pair)) for pair in (files, files[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    processes = [int(file.read_text()) for file in files]
    assert len(set(processes)) == 2
    assert pool.call(os.getpid) in processes
    ended, begun = [], tmp_path / "begun"

    def wait():
        try:
            pool.call(begin_and_never_end, begun)
        except CrashError as crash:
            ended.append(crash)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(begun.exists)
    pool.close()
    thread.join(HANG)
    assert len(ended) == 1
    assert not any(map(is_alive, processes))
