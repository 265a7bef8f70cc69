"""Penalties of parents, and the evidence that rows are."""

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.data.inputs import table_of_rows
from daguerreotype.data.table import Table
from daguerreotype.edges import BicEdges, GamEdges
from daguerreotype.edges.additive import local_score
from daguerreotype.edges.penalty import Penalty
from support.fits import linear_data, standard_table
from support.mixed import mixed_table


def test_penalties_are_those_of_the_extended_bic_for_the_rows_of_evidence():
    for n, d in ((100, 2), (10_000, 50), (10**6, 50)):
        for penalty in (Penalty(), Penalty(2.0, 1.0), Penalty(0.5, 2.0, 300.0), Penalty(1.0, 1.0, 10.0)):
            evidence = n if penalty.trust is None else n * penalty.trust / (n + penalty.trust)
            bic = penalty.penalty * np.log(evidence) + 2 * penalty.gamma * np.log(d)
            assert penalty.evidence(n) == pytest.approx(evidence)
            assert penalty.per_dof(n) + penalty.per_parent(d) == pytest.approx(bic)
    np.testing.assert_array_equal(Penalty(trust=100.0).evidence(np.array([100, 300])), [50.0, 75.0])
    np.testing.assert_array_equal(Penalty().evidence(np.array([100, 300])), [100, 300])


@pytest.mark.parametrize("estimator", [BicEdges, GamEdges])
def test_a_long_table_of_little_trust_has_the_parents_of_a_short_one_of_the_same_moments(estimator, rng):
    short = rng.normal(size=(200, 5)) @ np.triu(rng.normal(size=(5, 5)))
    long = np.tile(short, (20, 1))
    # 4000 rows are worth 200 where trust is 1 / (1 / 200 - 1 / 4000).
    long_one = estimator(gamma=1.0, trust=4000 / 19).prepare(standard_table(long))
    short_one = estimator(gamma=1.0).prepare(standard_table(short))
    every_row = estimator(gamma=1.0).prepare(standard_table(long))
    differ = 0
    for node in range(5):
        before = np.delete(np.arange(5), node)
        first, second = long_one.fit(node, before), short_one.fit(node, before)
        np.testing.assert_array_equal(first.parents, second.parents)
        assert first.nll == pytest.approx(second.nll)
        assert first.dof == pytest.approx(second.dof)
        differ += every_row.fit(node, before).dof != pytest.approx(first.dof)
    assert differ


def test_levels_and_counts_of_a_long_table_of_little_trust_have_the_parents_of_a_short_one():
    short = table_of_rows(Daguerreotype(), mixed_table(300)).table
    tiled = Table(np.tile(short.values, (10, 1)), short.names, kinds=short.kinds)
    long_one = GamEdges(gamma=1.0, trust=3000 / 9).prepare(tiled)
    short_one = GamEdges(gamma=1.0).prepare(short)
    for node in np.flatnonzero(short.discrete):
        before = np.delete(np.arange(short.n_columns), node)
        first, second = long_one.fit(node, before), short_one.fit(node, before)
        np.testing.assert_array_equal(first.parents, second.parents)
        assert first.nll == pytest.approx(second.nll, abs=5e-3)  # knots at quantiles move a little
        assert first.dof == pytest.approx(second.dof)


def test_trust_leaves_arrows_unsure_that_many_rows_of_a_slightly_wrong_model_show():
    X = linear_data(1, 5000, 4, "laplace")
    sure = [
        Daguerreotype(trust=trust, scales="none").fit(X).edge_probabilities_.max()
        for trust in (None, 1000.0, 30.0)
    ]
    assert sure[0] > 0.999
    assert sure[0] >= sure[1] > sure[2]


@pytest.mark.parametrize(
    ("trust", "message"),
    [
        (0, "trust must be above 0, got 0"),
        (3, "trust must be at least 10 rows, or None for all of them, got 3"),
        (np.inf, "trust must be a finite number, got inf"),
        ("much", "trust must be a finite number"),
    ],
)
def test_trust_of_no_rows_is_refused(trust, message):
    with pytest.raises(ValueError, match=message):
        Daguerreotype(trust=trust).fit(np.eye(3))
    with pytest.raises(ValueError, match=message):
        Penalty(trust=trust)


def test_edges_that_pay_no_penalty_count_every_row(rng):
    X = linear_data(3, 300, 4)
    for edges in ("lars", "lasso"):
        few, every = (Daguerreotype(edges=edges, trust=trust).fit(X) for trust in (20.0, None))
        np.testing.assert_array_equal(few.edge_probabilities_, every.edge_probabilities_)
        assert few.loss_ == every.loss_


def test_a_long_table_with_levels_is_charged_for_the_evidence_of_all_its_rows(monkeypatch):
    monkeypatch.setattr(local_score, "LIKELIHOOD_ROWS", 300)
    whole = table_of_rows(Daguerreotype(), mixed_table(1200)).table
    first = Table(whole.values[:300], whole.names, kinds=whole.kinds)
    long_one, short_one = (GamEdges(trust=600.0).prepare(table) for table in (whole, first))
    for node in np.flatnonzero(whole.discrete):
        before = np.delete(np.arange(whole.n_columns), node)
        # 400 rows of evidence for each 200.
        assert long_one.fit(node, before).dof == 2.0 * short_one.fit(node, before).dof
