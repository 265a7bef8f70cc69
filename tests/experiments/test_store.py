"""Does the store keep everything that was finished, and what counts of it?"""

from daguerreotype.experiments import Store


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


def test_a_record_that_lacks_what_a_run_has_is_skipped(store):
    store.append("run", run("a"))
    for strange in ({"status": "ok"}, {"key": [], "status": "ok"}):
        store._journal.append({"record": "run"} | strange)
    assert list(Store(store.path).runs) == ["a"]
