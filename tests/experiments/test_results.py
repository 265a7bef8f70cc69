"""Are tables and figures made of what the store has, and of nothing else?"""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from daguerreotype.experiments import Store, collect, make_plan, read_spec, summarize
from daguerreotype.experiments.figures import write_figures
from daguerreotype.experiments.results import load_published, pareto_front, table_cells, to_markdown, write_tables

TEXT = """
title = "100 % of a & b"
repeats = 3
published = "sachs"
measures = ["shd", "sid", "f1", "seconds", "n_rankings"]
[[problems]]
data = "simulated"
label = "d = {d}"
settings = { n = 20, edges_per_node = 1.0 }
vary = { d = [4, 5] }
[[methods]]
label = "CAM"
baseline = "cam"
[[methods]]
label = "mine"
learner = { edges = "bic" }
vary = { k = [2, 10] }
[[figures]]
file = "curves"
kind = "curves"
x = "k"
panels = "d"
log_x = true
log_y = ["shd"]
[[figures]]
file = "pareto"
kind = "pareto"
published = true
[[figures]]
file = "graphs"
kind = "graphs"
"""


@pytest.fixture
def filled(store):
    """A store with made-up outcomes: the third repeat of CAM failed, the last run is still missing."""
    runs = make_plan(read_spec(TEXT, "mine"), store=store)
    for number, run in enumerate(runs[:-1]):
        record = {"key": run.key, "data": run.data, "time_limit": 9.0, "configuration": {}, "version": "0"}
        if run.method.label == "CAM" and run.repeat == 2:
            outcome = {"status": "failed", "reason": "no | reason"}
        else:
            outcome = {
                "status": "ok",
                "shd": number,
                "sid": 2.5 * number,
                "f1": 0.5,
                "seconds": 0.1,
                "edges": [[0, 1]],
            }
            outcome |= {"wall_seconds": 1.0 + number} | ({"n_rankings": 7} if run.method.label == "mine" else {})
        store.append("run", record | outcome)
    return store, runs


def test_every_settled_run_is_a_row(filled):
    store, runs = filled
    frame = collect(store, "mine")
    assert frame["key"].tolist() == [run.key for run in runs[:-1]]
    assert frame.loc[frame["method"] == "mine", "k"].isin([2, 10]).all()
    assert frame.loc[frame["method"] == "CAM", "k"].isna().all()
    assert frame["status"].eq("failed").sum() == 2


def test_a_summary_has_means_deviations_failures_and_published_values(filled):
    store, _ = filled
    summary, frame = summarize(store, "mine"), collect(store, "mine")
    assert len(summary) == 2 * 3
    for row in summary.itertuples():
        same = frame[(frame["problem"] == row.problem) & (frame["method"] == row.method)]
        same = same[same["k"].isna()] if np.isnan(row.k) else same[same["k"] == row.k]
        numbers = same.loc[same["status"] == "ok", "shd"].to_numpy(float)
        assert (row.shd, row.shd_sd) == (numbers.mean(), numbers.std())
        assert (row.runs, row.failed) == (len(numbers), len(same) - len(numbers))
    of_cam = summary[summary["method"] == "CAM"].iloc[0]
    assert of_cam["shd_published"] == 30.0
    assert of_cam["reason"] == "no | reason"
    assert np.isnan(of_cam["n_rankings"])
    assert summary.loc[summary["method"] == "mine", "shd_published"].isna().all()


def test_tables_are_written_for_readers_and_programs(filled, tmp_path):
    store, _ = filled
    paths = write_tables(store, "mine", tmp_path / "out")
    assert [path.name for path in paths] == ["table.md", "table.csv", "runs.csv"]
    page = paths[0].read_text()
    lines = page.splitlines()
    assert lines[0] == "100 % of a & b"
    assert lines[2] == "| problem | method | d | k | SHD | SID | F1 | seconds | n rankings | runs |".replace(
        "n rankings", "rankings"
    )
    assert {line.count("|") for line in lines[2:]} == {11}
    # runs 0 and 6 of CAM at d = 4
    assert "| d = 4 | CAM | 4 |  | 3.0 ± 3.0 [30.0] | 7.5 ± 7.5 [47.0] | 0.500 ± 0.000 [0.280] |" in page
    assert "2; 1 failed: no / reason" in page
    assert len(pd.read_csv(paths[1])) == 6
    assert len(pd.read_csv(paths[2])) == 17


def test_what_is_left_out_has_a_row_that_says_so_and_no_part_in_figures(store, tmp_path):
    text = TEXT.replace('baseline = "cam"', 'baseline = "cam"\nwhere = { d = [4] }\nleft_out = "an hour a run"')
    for run in make_plan(read_spec(text, "mine"), store=store):
        outcome = {"status": "ok", "shd": 3, "sid": 4, "f1": 0.5, "seconds": 0.1, "edges": [[0, 1]]}
        store.append("run", {"key": run.key, "data": run.data, "time_limit": 9.0} | outcome)
    frame = collect(store, "mine")
    assert frame["status"].value_counts().to_dict() == {"ok": 3 * 5, "left out": 1}
    summary = summarize(store, "mine")
    (row,) = summary[(summary["problem"] == "d = 5") & (summary["method"] == "CAM")].to_dict("records")
    assert (row["runs"], row["failed"], row["reason"]) == (0, 0, "an hour a run")
    assert list(summary["problem"]) == ["d = 4"] * 3 + ["d = 5"] * 3
    page = write_tables(store, "mine", tmp_path)[0].read_text()
    assert "| d = 5 | CAM | 5 |  | – [30.0] | – [47.0] | – [0.280] | – | – | left out: an hour a run |" in page
    words = [
        "".join(ElementTree.parse(path).getroot().itertext()) for path in write_figures(store, "mine", tmp_path)
    ]
    assert all("CAM" in word for word in words)  # of d = 4


def test_markdown_cells_hold_neither_lines_nor_markup():
    assert to_markdown(pd.DataFrame({"a|b": ["<script>\nx"]})).splitlines()[2] == "| &lt;script> x |"


def test_figures_are_drawn_from_the_store_alone_and_the_same_each_time(filled, tmp_path):
    store, _ = filled
    paths = write_figures(Store(store.path), "mine", tmp_path)
    assert [path.name for path in paths] == ["curves.svg", "pareto.svg", "graphs.svg"]
    before = [path.read_bytes() for path in paths]
    words = ["".join(ElementTree.fromstring(content).itertext()) for content in before]
    assert all(word in words[0] for word in ("SHD", "SID", "rankings", "d = 4", "d = 5", "CAM", "mine"))
    assert all(word in words[1] for word in ("1  CAM", "2  mine", "published"))
    assert "CAM: SHD 0, SID 0" in words[2]
    assert [path.read_bytes() for path in write_figures(store, "mine", tmp_path)] == before


def test_without_a_run_that_ended_well_there_are_tables_but_no_figures(store, tmp_path):
    make_plan(read_spec(TEXT, "mine"), store=store)
    assert write_figures(store, "mine", tmp_path) == []
    assert table_cells(store, "mine", summarize(store, "mine")).empty
    assert len(write_tables(store, "mine", tmp_path)) == 3


def test_an_experiment_that_never_ran_is_refused_with_those_that_did(filled):
    store, _ = filled
    with pytest.raises(ValueError, match="has no runs of 'yours'; it has those of: mine"):
        collect(store, "yours")
    with pytest.raises(ValueError, match="there is no published table 'asia': give 'sachs' or 'syntren'"):
        load_published("asia")


@given(arrays(float, st.tuples(st.integers(1, 12), st.just(2)), elements=st.integers(0, 4).map(float)))
def test_the_front_has_exactly_the_points_that_no_other_beats(points):
    front = pareto_front(points)
    for (i, a), inside in zip(enumerate(points), front, strict=True):
        beaten = any(
            b[0] <= a[0] and b[1] <= a[1] and tuple(b) != tuple(a) for j, b in enumerate(points) if j != i
        )
        assert inside == (not beaten)


def test_figures_of_a_store_from_elsewhere_stay_in_their_folder(store, tmp_path):
    for run in make_plan(read_spec(TEXT, "mine"), store=store):
        store.append("run", {"key": run.key, "status": "ok", "shd": 1, "sid": 1, "data": run.data, "edges": []})
    store.append("plan", store.plans["mine"] | {"figures": [{"file": "../outside", "kind": "pareto"}]})
    with pytest.raises(ValueError, match=r"file of a figure is '\.\./outside'"):
        write_figures(store, "mine", tmp_path / "inside")
    assert not list(tmp_path.glob("outside*"))


def test_labels_that_try_to_be_formulas_are_drawn_as_text(store, tmp_path):
    text = TEXT.replace('label = "', 'label = "$x^\\u001b ', 1)
    assert text != TEXT
    for run in make_plan(read_spec(text, "mine"), store=store):
        store.append("run", {"key": run.key, "status": "ok", "shd": 1, "sid": 1, "data": run.data, "edges": []})
    for path in write_figures(store, "mine", tmp_path):
        ElementTree.parse(path)  # well-formed
