"""A call in a child process ends as it would here, or in time, or with a report."""

import os
import pickle
import signal
import subprocess
import threading
from functools import partial

import pytest

from daguerreotype._lib.child_process import ChildPool, ChildProcess, CrashError, DeadlineError, describe_error
from support.waiting import HANG, never_end, wait_until


@pytest.fixture
def child():
    started = ChildProcess()
    yield started
    started.close()


def process_of(child):
    return child.call(os.getpid)


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


def test_calls_are_made_in_one_other_process(child):
    assert child.call(max, 3, 5) == 5
    assert process_of(child) == process_of(child) != os.getpid()


def test_what_is_defined_in_a_function_travels_too(child):
    assert child.call(lambda number: number + 1, 2) == 3


def test_the_clock_starts_after_loading(child, monkeypatch, tmp_path):
    loaded, seen = tmp_path / "loaded", []

    class Clock(threading.Timer):
        def __init__(self, *arguments):
            seen.append(loaded.exists())
            super().__init__(*arguments)

    monkeypatch.setattr(threading, "Timer", Clock)
    assert child.call(abs, -1, load=loaded.touch, limit=HANG) == 1
    assert seen == [True]


def test_a_late_call_is_killed_and_the_next_one_has_a_new_process(child):
    before = process_of(child)
    with pytest.raises(DeadlineError, match=r"^did not finish within 0\.2 s$"):
        child.call(never_end, limit=0.2)
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


def test_an_interrupt_kills_the_child(child, tmp_path):
    pid = process_of(child)
    begun = tmp_path / "begun"

    def interrupt():
        wait_until(begun.exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        child.call(begin_and_never_end, begun)
    assert not is_alive(pid)


def test_a_closed_child_is_not_started_again(child):
    pid = process_of(child)
    child.close()
    assert not is_alive(pid)
    with pytest.raises(RuntimeError, match="was closed"):
        child.call(abs, 1)


def test_a_pool_has_a_process_for_every_call_under_way_and_uses_them_again(tmp_path):
    pool, files = ChildPool(), (tmp_path / "first", tmp_path / "second")
    threads = [threading.Thread(target=pool.call, args=(meet, *each)) for each in (files, files[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    found = [int(file.read_text()) for file in files]
    assert len(set(found)) == 2
    assert pool.call(os.getpid) in found
    pool.close()
    assert not any(map(is_alive, found))


def test_a_pool_that_is_closed_ends_the_calls_under_way(tmp_path):
    pool, ended, begun = ChildPool(), [], tmp_path / "begun"

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
