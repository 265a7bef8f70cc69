"""By what is a setting judged?"""

import contextlib
import signal
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.metrics import cohen_kappa_score

from daguerreotype import Daguerreotype
from daguerreotype.datasets import Dataset
from daguerreotype.metrics import shd, sid
from daguerreotype.tune import paper_problems
from daguerreotype.tune.criteria import fit_copy, kappa, known_graphs, log_likelihood, n_parameters, without_truth
from daguerreotype.tune.problems import read_problems
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
    edges = {20: [], 40: []}
    for problem in problems:
        edges[int(problem.name.split()[1])].append(problem.adjacency.sum())
    for expected, found in edges.items():
        assert np.mean(found) == pytest.approx(expected, rel=0.1)


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


def test_known_graphs_are_judged_by_shd_and_sid():
    problems = read_problems(chains())
    criterion = known_graphs(problems)
    assert criterion.directions == {"shd": "minimize", "sid": "minimize"}
    for part, problem in zip(criterion.parts, problems, strict=True):
        estimated = Thresholded().fit(problem.X).adjacency_matrix_
        expected = shd(problem.adjacency, estimated), sid(problem.adjacency, estimated)
        assert part.measure(Thresholded()) == expected


def test_every_row_is_held_out_once_and_scored_by_what_the_others_taught(table, rng):
    parts = without_truth("held-out", table, rng).parts
    assert sorted(np.concatenate([part.kept for part in parts])) == list(range(101))
    learner = Daguerreotype(edges="bic", transform="none", n_restarts=0)
    for part in parts[:2]:
        model = Daguerreotype(edges="bic", transform="none", n_restarts=0).fit(table.drop(index=part.kept))
        assert part.measure(learner) == (pytest.approx(model.score(table.loc[part.kept])),)


def test_bic_is_the_likelihood_less_half_a_logarithm_per_edge(table, rng):
    learner = Daguerreotype(edges="bic", transform="none", n_restarts=0)
    (part,) = without_truth("bic", table, rng).parts
    model = fit_copy(learner, table)
    price = np.log(101) / 202 * model.adjacency_matrix_.to_numpy().sum()
    assert part.measure(learner) == (pytest.approx(model.score(table) - price),)


def test_curves_cost_their_columns_and_no_price_per_parent_beside(rng):
    X = rng.normal(size=(300, 2))
    X[:, 1] += np.sin(2 * X[:, 0])
    extended = Daguerreotype(transform="none").fit(X)
    plain = Daguerreotype(transform="none", penalty=1.0, min_gain=0.0).fit(X)
    assert n_parameters(plain) == sum(fit.dof for fit in plain._result.best.training.fits) > 1
    assert n_parameters(extended) == n_parameters(plain)
    assert sum(fit.dof for fit in extended._result.best.training.fits) > n_parameters(extended)


def test_a_learner_without_score_has_the_likelihood_of_regressions_along_its_graph(table):
    fitted = Thresholded(0.5).fit(table)
    seen, new, expected = table.iloc[:60], table.iloc[60:], 0.0
    for child in table:
        parents = list(table.columns[fitted.adjacency_matrix_[child] == 1])
        if parents:
            model = LinearRegression().fit(seen[parents], seen[child])
            before, after = seen[child] - model.predict(seen[parents]), new[child] - model.predict(new[parents])
        else:
            before, after = seen[child] - seen[child].mean(), new[child] - seen[child].mean()
        expected += norm.logpdf(after, scale=np.sqrt(np.mean(before**2))).mean()
    assert fitted.adjacency_matrix_.to_numpy().any()
    assert log_likelihood(fitted, seen, new) == pytest.approx(expected)
    assert n_parameters(fitted) == fitted.adjacency_matrix_.to_numpy().sum()


def test_stability_compares_the_graphs_of_two_halves(table, rng):
    for part in without_truth("stability", table, rng).parts:
        assert sorted(np.concatenate(part.halves)) == list(range(101))
        graphs = [Thresholded().fit(table.iloc[half]).adjacency_matrix_.to_numpy() for half in part.halves]
        assert part.measure(Thresholded()) == (kappa(*graphs),)


def test_kappa_is_that_of_scikit_learn_over_all_pairs_of_nodes(rng, random_dag):
    for _ in range(20):
        first, second = (random_dag(rng, 6, density).astype(int) for density in rng.uniform(0.2, 0.9, size=2))
        pairs = ~np.eye(6, dtype=bool)
        assert kappa(first, second) == pytest.approx(cohen_kappa_score(first[pairs], second[pairs]))


def test_having_no_edges_is_no_merit():
    empty, chain = np.zeros((4, 4), dtype=int), np.eye(4, k=1, dtype=int)
    assert kappa(empty, empty) == kappa(empty, chain) == 0
    assert kappa(chain, chain) == 1


def test_an_unknown_criterion_and_a_tiny_table_are_refused(table, rng):
    with pytest.raises(ValueError, match="criterion must be 'held-out', 'bic' or 'stability', got 'aic'"):
        without_truth("aic", table, rng)
    with pytest.raises(ValueError, match="the table has 19 rows: expected at least 20"):
        without_truth("bic", table[:19], rng)


def test_an_interrupt_is_one_even_if_the_learner_just_ends_its_fit(table):
    class Interrupted(Thresholded):
        def fit(self, X):
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            return super().fit(X)

    with pytest.raises(KeyboardInterrupt):
        fit_copy(Interrupted(), table)
