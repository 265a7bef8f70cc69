"""Does the benchmark of mixed tables draw what it says, and show what each learner found of it?"""

import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mixed
from daguerreotype.graphs import find_cycle
from mixed import (
    Problem,
    Worker,
    bins,
    codes,
    direction,
    graphs_table,
    numbers_and_words,
    pairs_table,
    read_rows,
    write,
)
from problems import NETWORKS, PAIRS, RAREST, TABLES, mixed_pair, mixed_table, network

ROOT = Path(__file__).parents[2]
EDGE = np.array([[0, 1], [0, 0]])


def row(family="lines", d=9, method="codes", seed=0, **more):
    found = {"SHD": 4.0, "SID": 9.0, "F1": 0.5, "CPDAG": 3.0, "edges": 8.0, "seconds": 0.5}
    return {"family": family, "d": d, "method": method, "seed": seed, "end": "finished"} | found | more


def late(**more):
    label = {name: value for name, value in row(**more).items() if name in mixed.LABELS}
    return label | {"end": "limit", "seconds": 120.0}


def test_the_smoke_version_writes_every_table_of_the_page_and_a_line_per_fit(tmp_path):
    command = [sys.executable, ROOT / "benchmarks" / "mixed.py", "--smoke", "--out", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    page = (ROOT / "docs" / "mixed-tables.md").read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- mixed/(\S+) -->", page)) == {path.name for path in tmp_path.glob("*.md")}
    fits = {path.stem: list(csv.DictReader(path.open(encoding="utf-8"))) for path in tmp_path.glob("*.csv")}
    assert len(fits["pairs"]) == len(PAIRS) * len(mixed.QUICK)
    assert len(fits["tables"]) == len(TABLES) * len(mixed.QUICK)
    assert {fit["method"] for fit in fits["networks"]} == set(mixed.QUICK) - {"codes"}
    assert {fit["end"] for part in fits.values() for fit in part} == {"finished"}


@pytest.mark.parametrize("kind", PAIRS)
def test_a_pair_is_the_same_for_a_seed_and_odd_seeds_put_the_effect_first(kind):
    frame, truth = mixed_pair(kind, 0, 100)
    assert truth.tolist() == EDGE.tolist()
    assert mixed_pair(kind, 1, 100)[1].tolist() == EDGE.T.tolist()
    pd.testing.assert_frame_equal(mixed_pair(kind, 0, 100)[0], frame)
    assert not mixed_pair(kind, 2, 100)[0].equals(frame)
    assert (frame.nunique() > 1).all()


@pytest.mark.parametrize("family", TABLES)
def test_a_table_has_columns_of_four_kinds_and_no_rare_level(family):
    frame, truth = mixed_table(family, 3, 20, 400)
    kinds = frame.columns.str.rstrip("0123456789")
    assert (kinds == "number").sum() == 10
    assert (kinds == "binary").sum() == 4
    assert set(kinds) == {"number", "binary", "category", "count"}
    assert find_cycle(truth) is None
    for kind, (_, column) in zip(kinds, frame.items(), strict=True):
        if kind in ("binary", "category"):
            assert column.nunique() == (2 if kind == "binary" else 3)
            assert column.value_counts(normalize=True).min() >= RAREST
    dtypes = {kind: {str(frame.dtypes.iloc[j]) for j in np.flatnonzero(kinds == kind)} for kind in set(kinds)}
    assert dtypes["binary"] == {"bool"}
    assert dtypes["count"] == {"int64"}
    assert dtypes["number"] == {"int64" if family == "integers" else "float64"}


def test_rounded_numbers_have_a_step_of_one_digit():
    frame, _ = mixed_table("rounded", 0, 10, 300)
    for _, column in frame.filter(like="number").items():
        step = np.diff(np.sort(column.unique())).min()
        assert step == pytest.approx(float(f"{step:.0e}"))
        assert column.std() / step == pytest.approx(4, rel=0.5)
        assert np.allclose(column / step, np.rint(column / step))


def test_an_unknown_family_of_tables_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown family 'waves': choose one of 'lines', 'bends'"):
        mixed_table("waves", 0, 9)


def test_networks_are_drawn_as_words_in_columns_without_causal_order():
    frame, truth = network(NETWORKS[0], 0, 300)
    assert truth.sum() == 8
    assert truth[frame.columns.get_loc("smoke"), frame.columns.get_loc("lung")] == 1
    assert set(frame["smoke"]) == {"yes", "no"}
    assert frame.columns.tolist() != network(NETWORKS[0], 1, 300)[0].columns.tolist()


def test_peers_get_codes_bins_or_numbers_beside_words():
    grades = pd.Categorical(["low", "high", "mid", "high"], ["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"x": [1.5, 2.5, 9.0, 3.0], "told": [True, False, True, True], "grade": grades})
    assert np.argsort(codes(frame)["grade"], kind="stable").tolist() == [0, 2, 1, 3]
    assert codes(frame).std(ddof=0).to_numpy() == pytest.approx([1, 1, 1])
    assert bins(frame)["told"].tolist() == [1, 0, 1, 1]
    assert bins(frame)["grade"].tolist() == [0, 2, 1, 2]
    assert bins(pd.DataFrame({"x": np.arange(8.0)}))["x"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    many = pd.DataFrame({"word": list("fbdaceabcdef"), "rank": pd.Categorical(list("abcdefabcdef"), ordered=True)})
    assert bins(many).nunique().tolist() == [6, 6]  # only numbers are cut
    words = numbers_and_words(frame)
    assert [str(dtype) for dtype in words.dtypes] == ["float64", "category", "category"]
    assert words["grade"].tolist() == ["low", "high", "mid", "high"]


@pytest.mark.parametrize(
    ("found", "said"), [(EDGE, "right"), (EDGE.T, "reversed"), (EDGE + EDGE.T, "undirected"), (0 * EDGE, "none")]
)
def test_a_pair_is_right_reversed_undirected_or_without_edge(found, said):
    assert direction(EDGE, found) == said


def test_after_a_fit_that_took_too_long_only_smaller_problems_are_asked_about():
    slow, small = mixed_table("lines", 0, 9, 1000), mixed_pair("binary -> number", 0, 20)
    problems = [Problem("lines", 0, *slow), Problem("bends", 0, *slow), Problem("pair", 0, *small)]
    with Worker("GES, kernels, codes", limit=2.0) as worker:
        first, second = worker.ask(problems)
    assert (first["family"], first["end"], first["seconds"]) == ("lines", "limit", 2.0)
    assert (second["family"], second["end"]) == ("pair", "finished")


def test_an_error_of_a_peer_is_its_result_and_one_of_ours_is_raised():
    problem = Problem("constant", 0, pd.DataFrame({"x": np.arange(50.0), "y": np.ones(50)}), EDGE)
    with Worker("DirectLiNGAM, codes", limit=60) as worker:
        (found,) = worker.ask([problem])
    assert found["end"].startswith("ValueError: ")
    with Worker("codes", limit=60) as worker, pytest.raises(ValueError, match="'y'"):
        list(worker.ask([problem]))


def test_the_table_of_pairs_counts_directions_and_leaves_out_the_undecidable_from_the_sum():
    kind, undecidable = "binary -> number", "5 grades -> 5 grades"
    found = [
        row(kind, 2, "codes", seed, direction=said) for seed, said in enumerate(["right", "right", "reversed"])
    ]
    found += [row(undecidable, 2, "codes", 0, direction="right")]
    found += [row(kind, 2, "GES, BIC, codes", 0, direction="undirected", seconds=0.25)]
    assert pairs_table(found).splitlines() == [
        "| cause -> effect | codes | GES, BIC, codes |",
        "| --- | --- | --- |",
        "| binary -> number | 2 / 1 / 0 | 0 / 0 / 1 |",
        "| 5 grades -> 5 grades (undecidable) | 1 / 0 / 0 | 0 / 0 / 0 |",
        "| all but undecidable | 2 / 1 / 0 | 0 / 0 / 1 |",
        "| seconds | 0.500 | 0.250 |",
    ]


def test_the_table_of_graphs_has_ours_first_means_with_deviations_and_limits():
    found = [
        late(method="PC, KCI, codes"),
        row(method="PC, G², bins", SHD=2.0),
        row(method="PC, G², bins", d=10, seed=1, SHD=6.0),
        row(),
        {"end": "ValueError: singular"} | {name: row(seed=1)[name] for name in ("family", "d", "method", "seed")},
    ]
    assert graphs_table(found).splitlines()[2:] == [
        "| lines | 9 to 12 | codes | 1 of 2 | 4.0 | 9 | 0.50 | 3.0 | 8 | 0.500 |",
        "| lines | 9 to 12 | PC, G², bins | 2 of 2 | 4.0 ± 2.0 | 9 ± 0 | 0.50 ± 0.00 | 3.0 ± 0.0 | 8 ± 0 "
        "| 0.500 ± 0.000 |",
        "| lines | 9 to 12 | PC, KCI, codes | 0 of 2 |  |  |  |  |  | > 120 |",
    ]


def test_rows_are_read_as_they_were_written_and_those_of_other_problems_are_dropped(tmp_path):
    frame, truth = mixed_table("lines", 0, 9, 50)
    kept = [row(), late(method="PC, KCI, codes")]
    write(tmp_path / "tables.csv", [Problem("lines", 0, frame, truth)], [row(seed=7), *reversed(kept)])
    assert read_rows(tmp_path / "tables.csv") == kept
    assert (tmp_path / "tables.md").read_text(encoding="utf-8") == graphs_table(kept)
