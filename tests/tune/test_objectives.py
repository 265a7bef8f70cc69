"""By what is a setting judged?"""

import contextlib
import signal
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from daguerreotype.datasets import Dataset
from daguerreotype.metrics import shd, sid
from daguerreotype.tune import paper_problems
from daguerreotype.tune.objectives import fit_copy, graph_errors, graph_stability, kappa, read_problems
from support.tuning import Thresholded, chains


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(chains(1, n=101)[0][0], columns=list("abcde"))


def test_the_papers_problems_are_three_of_every_kind_with_a_thousand_rows_of_twenty_columns():
    problems = paper_problems()
    kinds = Counter(problem.name.rsplit(", ", 1)[0] for problem in problems)
    assert len(kinds) == 3 * 2 * 4
    assert set(kinds.values()) == {3}
    assert {problem.X.shape for problem in problems} == {(1000, 20)}
    for n_edges in (20, 40):
        sizes = [problem.adjacency.sum() for problem in problems if f", {n_edges} edges" in problem.name]
        assert np.mean(sizes) == pytest.approx(n_edges, rel=0.1)


def test_a_seed_gives_the_same_problems_and_another_seed_others():
    few = {"d": 5, "n_edges": [4], "n": 10, "noises": ["uniform"], "n_datasets": 1}
    first, again, other = (paper_problems(**few, random_state=seed) for seed in (0, 0, 1))
    for one, same, different in zip(first, again, other, strict=True):
        assert np.array_equal(one.X, same.X)
        assert not np.array_equal(one.X, different.X)


def test_problems_may_be_pairs():
    X, adjacency = chains(1)[0]
    first, second = read_problems([(X, adjacency), Dataset("mine", X, adjacency)])
    assert (first.name, second.name) == ("problem 0", "mine")
    assert first.X is X


def test_problems_of_another_kind_or_none_at_all_are_refused():
    with pytest.raises(
        TypeError, match=r"problems\[1\] is a list: expected a Dataset, or a pair \(X, adjacency\)"
    ):
        read_problems([chains(1)[0], []])
    with pytest.raises(ValueError, match="problems is empty"):
        read_problems([])


def test_known_graphs_are_judged_by_mean_shd_and_sid():
    problems = read_problems(chains())
    graphs = [Thresholded().fit(problem.X).adjacency_matrix_ for problem in problems]
    expected = [
        np.mean([distance(problem.adjacency, graph) for problem, graph in zip(problems, graphs, strict=True)])
        for distance in (shd, sid)
    ]
    assert graph_errors(problems)(Thresholded()) == pytest.approx(expected)


def test_stability_compares_the_graphs_of_two_halves_five_times(table):
    seen = []

    class Recorded(Thresholded):
        def fit(self, X):
            seen.append((frozenset(X.index), super().fit(X).adjacency_matrix_.to_numpy()))
            return self

    (value,) = graph_stability(table, np.random.default_rng(0))(Recorded())
    halves = list(zip(seen[::2], seen[1::2], strict=True))
    assert len(halves) == 5 == len({first for (first, _), _ in halves})
    assert all(sorted([*first, *second]) == list(range(101)) for (first, _), (second, _) in halves)
    assert value == pytest.approx(np.mean([kappa(one, other) for (_, one), (_, other) in halves]))


def test_kappa_is_that_of_scikit_learn_over_all_pairs_of_nodes(rng, random_dag):
    for _ in range(20):
        first, second = (random_dag(rng, 6, density).astype(int) for density in rng.uniform(0.2, 0.9, size=2))
        pairs = ~np.eye(6, dtype=bool)
        assert kappa(first, second) == pytest.approx(cohen_kappa_score(first[pairs], second[pairs]))


def test_having_no_edges_is_no_merit():
    empty, chain = np.zeros((4, 4), dtype=int), np.eye(4, k=1, dtype=int)
    assert kappa(empty, empty) == kappa(empty, chain) == 0
    assert kappa(chain, chain) == 1


def test_a_tiny_table_is_refused(table, rng):
    with pytest.raises(ValueError, match="the table has 19 rows: expected at least 20"):
        graph_stability(table[:19], rng)


def test_an_interrupt_is_one_even_if_the_learner_just_ends_its_fit(table):
    class Interrupted(Thresholded):
        def fit(self, X):
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            return super().fit(X)

    with pytest.raises(KeyboardInterrupt):
        fit_copy(Interrupted(), table)
