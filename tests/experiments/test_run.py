"""Is every run made once, whatever becomes of it, of its process and of ours?"""

import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from daguerreotype._lib.store import InUseError, sole_use
from daguerreotype.experiments import Store, make_plan, read_spec, run_all
from daguerreotype.learner import Daguerreotype
from daguerreotype.metrics import shd, sid
from support.children import environment
from support.waiting import HANG, wait_until

SCRIPT = """
import sys
from pathlib import Path
from daguerreotype.experiments import Store, make_plan, read_spec, run_all
store = Store(sys.argv[1])
run_all(make_plan(read_spec(Path(sys.argv[2]).read_text(), "chains", trust=True), store=store), store, n_jobs=1)
"""


def script(store, text, tmp_path):
    """A process that makes all runs of a spec."""
    (tmp_path / "spec.toml").write_text(text)
    call = [sys.executable, "-c", SCRIPT, str(store.path), str(tmp_path / "spec.toml")]
    return subprocess.Popen(call, env=environment(), stderr=subprocess.PIPE, text=True)


def records(store):
    """Runs as the file has them, each line one."""
    return [line for line in store.path.read_bytes().splitlines() if b'"record":"run"' in line]


def test_outcomes_are_those_of_plain_fits(store, planned):
    runs = planned(
        """
        repeats = 2
        [[problems]]
        data = "simulated"
        settings = { d = 5, n = 100 }
        [[methods]]
        label = "paper"
        paper = { operator = "sparsemax", edges = "lars", training = "bilevel" }
        [[methods]]
        label = "true order"
        learner = { operator = "true order", edges = "lars", scales = "none" }
        [[methods]]
        label = "sorted"
        baseline = "sortnregress"
        """
    )
    run_all(runs, store, n_jobs=2)
    assert {store.runs[run.key]["status"] for run in runs} == {"ok"}
    for run in runs:
        data, outcome = run.problem.load(run.repeat), store.runs[run.key]
        graph = run.method.make(run.repeat, data.adjacency).fit(data.X).adjacency_matrix_
        assert outcome["edges"] == np.argwhere(graph.to_numpy()).tolist()
        assert (outcome["shd"], outcome["sid"]) == (shd(data.adjacency, graph), sid(data.adjacency, graph))
        assert outcome["seconds"] >= 0
    of_paper = store.runs[runs[0].key]
    fitted = Daguerreotype.paper("sparsemax").fit(runs[0].problem.load(0).X)
    assert (of_paper["n_rankings"], of_paper["n_iter"]) == (
        len(fitted.order_distribution_.probs),
        len(fitted.history_),
    )
    support = fitted.history_.support
    assert (of_paper["mean_rankings"], of_paper["max_rankings"]) == (support.mean(), support.max())
    ordered = next(store.runs[run.key] for run in runs if run.method.label == "true order")
    assert ordered["n_rankings"] == 1


def test_failures_crashes_and_time_outs_are_rows_and_the_others_go_on(store, planned, spec_text, written):
    text = spec_text(
        written("Raises"),
        written("Crashes"),
        written("NeverEnds"),
        written("Chain"),
        '[[methods]]\nlabel = "missing"\nestimator = "no_such_module:Learner"\n',
        repeats=1,
    )
    runs = [replace(run, time_limit=0.5 if "NeverEnds" in run.title else HANG) for run in planned(text)]
    seen = []
    run_all(runs, store, callback=lambda run, outcome: seen.append((run.method.label, outcome["status"])))
    by_label = {run.method.label: store.runs[run.key] for run in runs}
    assert by_label["Chain"]["status"] == "ok"
    assert by_label["Raises"]["reason"] == "LinAlgError: matrix is singular"
    assert by_label["Crashes"]["reason"] == "its process ended with code 7: segmentation fault in the library"
    assert by_label["NeverEnds"]["status"] == "timed out"
    assert by_label["NeverEnds"]["reason"] == "did not finish within 0.5 s"
    assert by_label["missing"]["reason"] == "ModuleNotFoundError: No module named 'no_such_module'"
    assert sorted(seen) == sorted((label, run["status"]) for label, run in by_label.items())
    run_all(runs, store)
    assert len(records(store)) == 5  # none again
    run_all([run for run in runs if run.method.label == "Raises"], store, retry=True)
    assert len(records(store)) == 6


def test_a_killed_experiment_loses_nothing_that_had_finished_and_repeats_nothing(
    store, planned, spec_text, written, log, tmp_path
):
    text = spec_text(written("KillsItsParent", log=str(log), at=4), repeats=3, sizes=(4, 5))
    first = script(store, text, tmp_path)
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    assert len(records(store)) == 3
    again = Store(store.path)
    run_all(make_plan(read_spec(text, "chains", trust=True), store=again), again)
    assert len(records(store)) == 6
    assert len(again.runs) == 6
    assert {run["status"] for run in again.runs.values()} == {"ok"}
    assert len(log.read_text().splitlines()) == 6 + 1  # the one that was cut off, twice


def test_a_store_is_one_process_s_at_a_time(store, planned, spec_text, written):
    with sole_use(store.path), pytest.raises(InUseError, match=r"runs\.jsonl is in use by another process"):
        run_all(planned(spec_text(written("Chain"))), store)


def test_a_child_ends_with_its_parent(spec_text, written, log, store, tmp_path):
    parent = script(store, spec_text(written("NeverEnds", log=str(log)), repeats=1, time_limit=HANG), tmp_path)
    wait_until(log.read_text, while_=lambda: parent.poll() is None)
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent.pid)], capture_output=True, text=True)
    (child,) = map(int, children.stdout.split())
    parent.kill()
    parent.communicate()

    def is_gone():
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(child)], capture_output=True, text=True).stdout
        return not state or "Z" in state

    wait_until(is_gone)
