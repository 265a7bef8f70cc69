"""Does the store keep everything that was finished, whatever else happens to its file?"""

import logging
import subprocess
import sys
import threading

import pytest

from daguerreotype._lib.journal import encode_line
from daguerreotype.experiments.store import Store
from support.children import environment

APPENDS = """
import sys
import threading
from daguerreotype.experiments.store import Store
store = Store(sys.argv[1])
for number in range(150):
    store.append("run", {"key": f"{sys.argv[2]}{number:015x}", "status": "ok", "long": "x" * 5000})
"""
CLAIMS = """
import sys
import threading
from daguerreotype.experiments.store import Store
store = Store(sys.argv[1])
print(store.claim("a" * 64), store.claim("b" * 64), flush=True)
sys.stdin.read()
"""


def run(key, status="ok", **more):
    return {"key": key, "status": status, "time_limit": 10.0, **more}


def test_what_was_appended_is_read_again_by_another_store(store):
    store.append("run", run("a", shd=3, edges=[[0, 1]]))
    store.append("problem", {"data": "d", "columns": ["é"], "truth": []})
    store.append("plan", {"experiment": "e", "entries": []})
    again = Store(store.path)
    assert again.runs == store.runs == {"a": run("a", shd=3, edges=[[0, 1]])}
    assert again.problems["d"]["columns"] == ["é"]
    assert list(again.plans) == ["e"]


def test_a_file_cut_off_at_any_byte_loses_its_last_record_alone_and_can_be_appended_to(store, caplog):
    for key in "abc":
        store.append("run", run(key))
    content = store.path.read_bytes()
    last = content[:-1].rindex(b"\n") + 1
    for length in range(last, len(content)):
        store.path.write_bytes(content[:length])
        cut = Store(store.path)
        assert list(cut.runs) == ["a", "b"]
        cut.append("run", run("d"))
        whole = length == len(content) - 1  # a record that lacks its line end alone is got back
        assert list(cut.runs) == (["a", "b", "c", "d"] if whole else ["a", "b", "d"])
        caplog.clear()
        assert Store(store.path).runs == cut.runs
        assert len(caplog.records) == (0 if whole or length == last else 1)


def test_a_damaged_line_is_skipped_and_told(store, caplog):
    for key in "abc":
        store.append("run", run(key))
    content = store.path.read_bytes()
    store.path.write_bytes(content.replace(b'"key":"b"', b'"key":"x"'))
    with caplog.at_level(logging.WARNING):
        assert list(Store(store.path).runs) == ["a", "c"]
    assert "skipped a damaged line" in caplog.text


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"no line end", b"{}"])
def test_a_file_of_another_kind_is_refused_and_left_alone(store, content):
    store.path.write_bytes(content)
    with pytest.raises(ValueError, match="does not hold runs of experiments"):
        Store(store.path)
    assert store.path.read_bytes() == content


def test_a_run_that_ended_well_outlives_later_failures_and_replaces_earlier_ones(store):
    for status in ("failed", "ok", "timed out"):
        store.append("run", run("a", status))
    assert store.runs["a"]["status"] == "ok"
    assert Store(store.path).runs["a"]["status"] == "ok"


def test_a_run_is_made_again_after_a_time_out_if_there_is_more_time_and_after_a_failure_if_asked(store):
    store.append("run", run("late", "timed out"))
    store.append("run", run("bad", "failed"))
    store.append("run", run("good"))
    assert store.settled("late", 10.0)
    assert store.settled("late", 5.0)
    assert not store.settled("late", 11.0)
    assert not store.settled("late", None)
    assert store.settled("bad", 10.0)
    assert not store.settled("bad", 10.0, retry=True)
    assert store.settled("good", None, retry=True)
    assert not store.settled("unknown", None)


def test_runs_of_another_machine_are_taken_over_and_those_that_ended_well_count(store, tmp_path):
    other = Store(tmp_path / "other.jsonl")
    for key, here, there in [
        ("both", "ok", "ok"),
        ("well here", "ok", "failed"),
        ("well there", "failed", "ok"),
        ("nowhere well", "timed out", "failed"),
        ("new", None, "failed"),
        ("ours", "ok", None),
    ]:
        for each, where, status in ((store, "here", here), (other, "there", there)):
            if status is not None:
                each.append("run", run(key, status, where=where))
    other.append("problem", {"data": "a1", "columns": ["x"], "truth": []})
    store.append("plan", {"experiment": "shared", "title": "here"})
    other.append("plan", {"experiment": "shared", "title": "there"})
    other.append("plan", {"experiment": "theirs", "title": "there"})
    assert store.take_over(other) == 2
    assert store.take_over(Store(other.path)) == 0
    again = Store(store.path)
    assert {key for key, each in again.runs.items() if each["where"] == "there"} == {"well there", "new"}
    assert len(again.runs) == 6
    assert again.problems["a1"]["columns"] == ["x"]
    assert {name: plan["title"] for name, plan in again.plans.items()} == {"shared": "here", "theirs": "there"}


def start(script, *arguments, **pipes):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], env=environment(), text=True, **pipes
    )


def test_two_processes_that_write_at_once_lose_and_mix_nothing(store, caplog):
    writers = [start(APPENDS, store.path, letter) for letter in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    with caplog.at_level(logging.WARNING):
        runs = Store(store.path).runs
    assert not caplog.records
    assert set(runs) == {f"{letter}{number:015x}" for letter in "ab" for number in range(150)}
    assert all(each["long"] == "x" * 5000 for each in runs.values())


def test_a_claim_holds_against_other_processes_until_its_own_ends(store):
    assert store.claim("a" * 64)
    other = start(CLAIMS, store.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline().split() == ["False", "True"]
    assert not store.claim("b" * 64)
    other.kill()
    other.wait()
    assert store.claim("b" * 64)
    store.release("a" * 64)
    third = start(CLAIMS, store.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert third.communicate("")[0].split() == ["True", "False"]
    store.close()


def test_threads_that_read_while_others_write_see_every_record_once(store, caplog):
    def write(letter):
        for number in range(40):
            store.append("run", run(f"{letter}{number}"))

    def read():
        while any(writer.is_alive() for writer in writers):
            store.refresh()

    writers = [threading.Thread(target=write, args=[letter]) for letter in "ab"]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in (*writers, *readers):
        thread.join()
    assert not caplog.records
    assert store.runs == Store(store.path).runs
    assert len(store.runs) == 80


@pytest.mark.parametrize(
    "record", [{"record": "run", "status": "ok"}, {"record": "run", "key": [], "status": "ok"}]
)
def test_a_line_that_lacks_what_a_run_has_is_skipped(store, caplog, record):
    store.append("run", run("a"))
    with open(store.path, "ab") as file:
        file.write(encode_line(record))
    assert list(Store(store.path).runs) == ["a"]
    assert "skipped a damaged line" in caplog.text
