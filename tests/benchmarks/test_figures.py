"""The figures that benchmarks print mean what their pages say of them."""

import numpy as np
import pandas as pd
import pytest

from calibration import calibration_error, edges_below, error_by_chance, judge, judge_pairs, wilson
from daguerreotype.graphs import find_cycle
from fits import add_hubs
from interventional_rows import Observed, worth
from misfit import weak_edges
from missing import gaps_given_others
from problems import FAMILIES, MISSPECIFIED, OTHERS, PAIRS, RAREST, TABLES, mixed_pair, mixed_table, problem
from tables import find_figures, sort_cases


def drawn_pairs(distort=lambda p: p, tables=40, d=15):
    """Results of tables whose edges are there with the probabilities p, of which ``distort(p)`` is said."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(tables):
        p = rng.random((d, d))
        truth = (rng.random((d, d)) < p).astype(np.int64)
        edges = int(truth[~np.eye(d, dtype=bool)].sum())
        rows.append({"d": d, "edges": edges} | judge(distort(p), truth))
    return pd.DataFrame(rows)


def test_right_probabilities_have_the_error_of_chance_and_wrong_ones_that_of_their_bins():
    right = drawn_pairs()
    assert calibration_error(right) < 2 * error_by_chance(right)
    assert right.Brier.mean() == pytest.approx(1 / 6, abs=0.01)
    wrong = drawn_pairs(lambda p: np.where(p > 0.5, 1.0, 0.02))  # right in three of four, and one of four
    assert calibration_error(wrong) == pytest.approx((0.25 + 0.23) / 2, abs=0.02)


def test_pairs_below_a_hundredth_count_for_the_brier_score_and_as_edges_below_alone():
    row = judge_pairs(np.array([0.005, 0.01, 0.011, 1.0]), np.array([1, 0, 0, 1]))
    assert row["pairs 0.0"] == 1
    assert row["pairs 0.9"] == row["right 0.9"] == 1
    assert row["Brier"] == pytest.approx((0.995**2 + 0.01**2 + 0.011**2) / 4, abs=1e-6)
    assert edges_below(pd.DataFrame([{"d": 3, "edges": 2} | row])) == "25.00 %"
    assert judge(np.eye(3), np.zeros((3, 3), dtype=np.int64))["Brier"] == 0.0  # the diagonal is no pair
    low, high = wilson(np.array([0.0, 5.0]), np.array([10.0, 10.0]))
    assert (*low, *high) == pytest.approx((0.0, 0.2366, 0.2775, 0.7634), abs=1e-4)


def test_the_observed_rows_that_an_experiment_replaces_are_read_off_the_curve_of_observations():
    observed = Observed(np.array([100.0, 400.0, 1600.0]), np.array([[8.0, 4.0, 2.0], [4.0, 2.0, 2.0]]))
    every = np.arange(2)
    assert observed.rows_needed(3.0, every) == 400
    assert observed.rows_needed(4.5, every) == pytest.approx(200)  # halfway, on a scale of logarithms
    assert observed.rows_needed(9.0, every) == 100
    assert observed.rows_needed(1.9, every) == np.inf
    chosen = pd.DataFrame({"seed": [1, 0], "n": 100, "M": 50, "SHD": [2.0, 4.0]})
    assert worth(observed, chosen)[0] == pytest.approx((400 - 50) / 50)


def test_the_strength_of_a_weak_edge_is_its_partial_correlation_given_the_other_parents():
    X, strengths = weak_edges(False, 0, 6, 50_000)
    for effect in range(6):
        parents = np.flatnonzero(strengths[:, effect])
        for parent in parents:
            design = np.column_stack([np.ones(len(X)), X[:, parents[parents != parent]]])
            rest = X[:, [parent, effect]] - design @ np.linalg.lstsq(design, X[:, [parent, effect]])[0]
            assert abs(np.corrcoef(rest.T)[0, 1]) == pytest.approx(strengths[parent, effect], abs=0.015)


def test_gaps_that_depend_on_others_have_their_share_and_spare_a_third_of_the_columns():
    X, _ = problem("linear-gaussian", 0, 6, 20_000)
    for gaps in gaps_given_others(X, 0.3, 0):
        assert np.sort(gaps.mean(axis=0)) == pytest.approx([0, 0, 0.3, 0.3, 0.3, 0.3], abs=0.02)


def test_figures_are_ratios_to_ours_the_cost_of_hubs_and_the_exponent_of_d():
    def row(graph="SF", d=100, method="bic", seconds=0.5, **more):
        return {"graph": graph, "d": d, "method": method, "seed": 0, "finished": True, "seconds": seconds} | more

    rows = [row("ER", d, seconds=d**2 / 1e4, MB=10.0) for d in (20, 100, 200, 400)]
    rows[0]["seconds"] = 100.0  # below 100 variables overheads count more than d
    rows += [row("hubs", 200, seconds=6.0, MB=15.0), row("ER", 100, "boss", seconds=30.0)]
    rows += [row("ER", 200, "boss", seconds=240.0) | {"finished": False}]
    assert find_figures(sort_cases(rows)) == pytest.approx(
        {
            "seconds of boss / ours, ER, d = 100": 30.0,
            "seconds with hubs / without, d = 200": 1.5,
            "MB with hubs / without, d = 200": 1.5,
            "exponent of d in seconds, ER, d >= 100": 2.0,
        }
    )


def test_graphs_with_hubs_have_targets_of_fifty_parents_and_as_many_edges_as_others():
    for d, hubs in ((200, 4), (500, 10)):
        adjacency = add_hubs(d, 0)
        parents = np.sort(adjacency.sum(axis=0))
        assert find_cycle(adjacency) is None
        assert parents[-hubs] >= 50
        assert parents[-hubs - 1] < 15
        assert abs(adjacency.sum() - 2 * d) < 0.15 * d


def test_a_seed_gives_one_finite_table_of_every_family():
    for family in (*FAMILIES, *MISSPECIFIED, *OTHERS):
        X, adjacency = problem(family, 3, d=6, n=50)
        again, same = problem(family, 3, d=6, n=50)
        assert (X.shape, adjacency.shape) == ((50, 6), (6, 6))
        assert np.isfinite(X).all()
        assert (X.std(axis=0) > 0).all()
        assert np.array_equal(X, again)
        assert np.array_equal(adjacency, same)
        assert not np.array_equal(X, problem(family, 4, d=6, n=50)[0])
    for kind in PAIRS:
        frame, truth = mixed_pair(kind, 0, 100)
        assert truth.tolist() == mixed_pair(kind, 1, 100)[1].T.tolist()  # odd seeds put the effect first
        pd.testing.assert_frame_equal(mixed_pair(kind, 0, 100)[0], frame)
    for family in TABLES:
        frame, truth = mixed_table(family, 3, 20, 400)
        assert find_cycle(truth) is None
        assert set(frame.columns.str.rstrip("0123456789")) == {"number", "binary", "category", "count"}
        for _, column in frame.filter(regex="binary|category").items():
            assert column.value_counts(normalize=True).min() >= RAREST
