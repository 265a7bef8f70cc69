"""What rows in which columns were intervened on do to a fit."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype
from daguerreotype.edges import RegressorEdges
from daguerreotype.edges.penalty import Penalty
from support.learners import make_learner

NAMES = ("a", "b", "c", "d")
QUICK = {"edges": "bic", "scales": "none", "loss": "bic", "penalty": 1.0, "n_restarts": 1, "max_iter": 100}
OWN = RegressorEdges(LinearRegression(), random_state=0)


def experiments(seed=0, n=240, noise="normal"):
    """Rows of a -> b -> c -> d and a -> d, and the column that was set in each row, far off, or None."""
    rng = np.random.default_rng(seed)
    targets = rng.choice([None, *NAMES], size=n, p=[0.4, 0.15, 0.15, 0.15, 0.15])
    values = {}
    for name, causes in {"a": {}, "b": {"a": 1.0}, "c": {"b": -0.8}, "d": {"c": 1.2, "a": 0.7}}.items():
        column = getattr(rng, noise)(size=n) + sum(weight * values[cause] for cause, weight in causes.items())
        values[name] = np.where(targets == name, 2.0 + 2.0 * rng.normal(size=n), column)
    return pd.DataFrame(values), targets.tolist()


def two_columns(seed, forwards, n=400):
    """A Gaussian cause and effect, which observations cannot tell apart; both are set in some rows."""
    rng = np.random.default_rng(seed)
    targets = rng.choice(["x", "y", None], size=n)
    first, second = ("x", "y") if forwards else ("y", "x")
    cause = np.where(targets == first, 1.5 * rng.normal(size=n), rng.normal(size=n))
    effect = np.where(targets == second, 1.5 * rng.normal(size=n), 0.8 * cause + 0.6 * rng.normal(size=n))
    return pd.DataFrame({first: cause, second: effect})[["x", "y"]], targets.tolist(), (first, second)


def kept(targets, name):
    return np.array([target != name for target in targets])


def assert_same_fit(first, second, rtol=0.0):
    np.testing.assert_array_equal(first.adjacency_matrix_, second.adjacency_matrix_)
    np.testing.assert_allclose(first.weights_, second.weights_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(first.theta_, second.theta_, rtol=rtol, atol=rtol)
    assert list(first.causal_order_) == list(second.causal_order_)
    assert first.loss_ == pytest.approx(second.loss_, rel=rtol, abs=0)


@pytest.mark.parametrize("settings", [{}, {"edges": "bic"}, {"edges": "lars"}, {"edges": OWN}], ids=str)
def test_interventions_orient_an_edge_that_observations_cannot(settings):
    for seed, forwards in product(range(2), (True, False)):
        X, targets, edge = two_columns(seed, forwards)
        model = make_learner(scales="none", **settings).fit(X, interventions=targets)
        assert list(model.causal_graph_.edges) == [edge]


def test_interventions_on_nothing_change_nothing():
    X, _ = experiments()
    plain = Daguerreotype().fit(X)
    for nothing in ([None] * 240, ["", np.nan] * 120, np.zeros((240, 4), bool), [[]] * 240):
        model = Daguerreotype().fit(X, interventions=nothing)
        assert_same_fit(model, plain)
        assert model._result.interventions == {}


def test_all_ways_to_say_it_are_the_same_and_change_neither_table_nor_interventions():
    X, targets = experiments()
    mask = pd.DataFrame({name: ~kept(targets, name) for name in NAMES})
    before = X.copy(), list(targets)
    reference = make_learner(**QUICK).fit(X, interventions=targets)
    numbers = pd.Series([None if target is None else NAMES.index(target) for target in targets], dtype=float)
    said = pd.Series(targets, index=range(240, 0, -1))
    for table, ways in ((X, (said, mask[list("dbca")])), (X.to_numpy(), (numbers, numbers.astype("Int64"), mask))):
        for way in ways:
            model = make_learner(**QUICK).fit(table, interventions=way)
            np.testing.assert_array_equal(model.weights_, reference.weights_)
    assert reference._result.interventions == mask.sum().to_dict()
    assert model._result.interventions == dict(enumerate(mask.sum()))
    only = [target if target == "b" else None for target in targets]
    columns = make_learner(**QUICK).fit(X, interventions=mask[["b"]])
    assert_same_fit(columns, make_learner(**QUICK).fit(X, interventions=only))
    pd.testing.assert_frame_equal(X, before[0])
    assert targets == before[1]


def test_the_loss_by_bic_is_the_likelihood_of_each_mechanism_on_its_own_rows():
    X, targets = experiments()
    model = make_learner(**QUICK).fit(X, interventions=targets)
    evidence, total = Penalty(trust=model.trust).evidence, 0.0
    for name in NAMES:
        rows = kept(targets, name)
        n = evidence(rows.sum())
        parents = list(model.causal_graph_.predecessors(name))
        design = np.column_stack([np.ones(rows.sum()), X.loc[rows, parents]])
        y = X.loc[rows, name] / X.loc[rows, name].std(ddof=0)
        beta = np.linalg.lstsq(design, y, rcond=None)[0]
        variance = np.mean((y - design @ beta) ** 2)
        total += n / 2 * np.log(variance) + 0.5 * np.log(n) * len(parents)
        scale = np.array([X.loc[kept(targets, parent), parent].std(ddof=0) for parent in parents])
        np.testing.assert_allclose(model.weights_.loc[parents, name], beta[1:] * scale, rtol=1e-8)
    assert model.loss_ == pytest.approx(total / evidence(len(X)), rel=1e-9)


def test_the_loss_of_equal_variances_pools_the_rows_of_all_mechanisms():
    X, targets = experiments()
    model = Daguerreotype.paper(random_state=0).fit(X, interventions=targets)
    rows = {name: kept(targets, name) for name in NAMES}
    standard = X.apply(
        lambda column: (column - column[rows[column.name]].mean()) / column[rows[column.name]].std(ddof=0)
    )
    squares = 0.0
    for name in NAMES:
        residual = (standard[name] - standard @ model.weights_[name])[rows[name]]
        squares += np.sum((residual - residual.mean()) ** 2)
    count = sum(counted.sum() for counted in rows.values())
    assert model.loss_ == pytest.approx(0.5 * count / len(X) * np.log(squares / count), rel=1e-8)


def test_the_score_is_the_likelihood_of_what_was_not_set():
    X, targets = experiments()
    model = make_learner(**QUICK).fit(X, interventions=targets)
    unseen, unseen_targets = experiments(seed=1)
    total = 0.0
    for name in NAMES:
        parents = list(model.causal_graph_.predecessors(name))
        rows = kept(targets, name)
        fit = LinearRegression().fit(
            X.loc[rows, parents] if parents else np.zeros((rows.sum(), 1)), X.loc[rows, name]
        )

        def residuals(table, mask, fit=fit, parents=parents, name=name):
            inputs = table.loc[mask, parents].to_numpy() if parents else np.zeros((mask.sum(), 1))
            return table.loc[mask, name].to_numpy() - inputs @ fit.coef_ - fit.intercept_

        variance = np.mean(residuals(X, rows) ** 2)
        rest = residuals(unseen, kept(unseen_targets, name))
        total -= np.sum(0.5 * np.log(2 * np.pi * variance) + rest**2 / (2 * variance))
    assert model.score(unseen, interventions=unseen_targets) == pytest.approx(total / len(unseen), rel=1e-9)
    assert model.score(unseen) < total / len(unseen)


def test_neither_the_order_of_rows_that_repeat_nor_threads_play_a_part():
    X, targets = experiments()
    X.iloc[10] = X.iloc[11]  # the same values, once set and once not
    targets[10], targets[11] = "b", None
    rows = np.random.default_rng(3).permutation(len(X))
    shuffled = X.iloc[rows].reset_index(drop=True), [targets[row] for row in rows]
    for seed in (0, None):
        first = Daguerreotype(random_state=seed).fit(X, interventions=targets)
        second = Daguerreotype(random_state=seed, n_jobs=2).fit(shuffled[0], interventions=shuffled[1])
        assert_same_fit(first, second)


def test_the_values_that_a_leaf_was_set_to_play_no_part_on_any_scale():
    X, targets = experiments(noise="lognormal")
    X = X - X.min() + 1.0
    moved = X.copy()
    moved.loc[~kept(targets, "d"), "d"] = np.linspace(50.0, 90.0, (~kept(targets, "d")).sum())
    knowledge = {"leaves": ["d"], "tiers": [["a"], ["b"], ["c"], ["d"]]}
    fits = [Daguerreotype(knowledge=knowledge).fit(values, interventions=targets) for values in (X, moved)]
    assert_same_fit(*fits, rtol=1e-7)
    assert fits[0]._result.transform == fits[1]._result.transform
    assert fits[0]._result.log_likelihood == pytest.approx(fits[1]._result.log_likelihood, rel=1e-9)


def test_refining_finds_no_order_worse_than_the_true_one_and_a_function_of_nodes_gets_their_rows():
    X, targets = experiments()
    counts = set()

    def own(variance, dof, n_rows):
        counts.add(n_rows)
        return variance + dof / n_rows

    for loss in ("auto", "bic", "entropy", "nll_ev", "nll_nv", "mse", own):
        settings = QUICK | {"loss": loss}
        learned = make_learner(**settings).fit(X, interventions=targets)
        settings |= {"operator": "fixed", "start": list(NAMES)}
        true = make_learner(**settings).fit(X, interventions=targets)
        assert np.isfinite(learned.loss_)
        assert loss == "auto" or learned.loss_ <= true.loss_ + 1e-12
    evidence = Penalty(trust=learned.trust).evidence
    assert counts == {evidence(int(kept(targets, name).sum())) for name in NAMES}


def test_a_fit_goes_on_from_its_file_and_refuses_other_interventions(tmp_path):
    X, targets = experiments()
    whole = make_learner(**QUICK).fit(X, interventions=targets)
    make_learner(**(QUICK | {"max_iter": 3})).fit(X, interventions=targets, resume=tmp_path / "fit")
    assert_same_fit(make_learner(**QUICK).fit(X, interventions=targets, resume=tmp_path / "fit"), whole)
    other = [None, *targets[1:]] if targets[0] else ["a", *targets[1:]]
    with pytest.raises(ValueError, match=r"another run: .*interventions differ"):
        make_learner(**QUICK).fit(X, interventions=other, resume=tmp_path / "fit")


def test_a_saved_learner_scores_new_interventions_as_before(tmp_path):
    X, targets = experiments()
    for edges in ("gam", "bic", "lars"):
        model = make_learner(**(QUICK | {"edges": edges})).fit(X, interventions=targets)
        model.save(tmp_path / "model.npz")
        loaded = Daguerreotype.load(tmp_path / "model.npz")
        assert loaded._result.interventions == model._result.interventions
        for said in (None, targets, targets[::-1]):
            assert loaded.score(X, interventions=said) == model.score(X, interventions=said)


def test_what_cannot_be_used_is_refused_with_advice():
    X, _ = experiments()
    no_column = "names 'zz' in row 1, which is no column; the columns are"
    for said, error, message in (
        ("a", TypeError, r"interventions is of type str: give a list with one entry per row \(None, "),
        ({"a": 1.0}, TypeError, "interventions is of type dict: give a list with one entry per row"),
        (3, TypeError, "interventions is of type int: give a list"),
        ([None] * 5, ValueError, "interventions has 5 entries, but X has 240 rows: give a list with"),
        (["bb"] * 240, ValueError, "names 'bb' in row 1, which is no column; did you mean 'b'?"),
        ([["a", "zz"]] * 240, ValueError, no_column),
        ([0] * 240, ValueError, "interventions names '0' in row 1, which is no column; the columns"),
        ([True] * 240, ValueError, "holds True in row 1, which does not say which column was intervened on: give"),
        (np.zeros((240, 3), bool), ValueError, "interventions has 3 columns, but X has 4: give a boolean"),
        ((X > 0).astype("boolean").where(X > 0), ValueError, "is a table that holds nan: expected True"),
        (X, ValueError, r"is a table that holds .*: expected True \(or 1\) where a column was intervened"),
        (X.rename(columns={"d": "x"}) > 0, ValueError, "has a column 'x', which X has not; the columns"),
        (X.rename(columns={"d": "c"}) > 0, ValueError, "has several columns of the same name: give each"),
        (["a"] * 240, ValueError, "column 'a' was intervened on in all 240 rows, so nothing tells what"),
        (["a"] * 238 + [None] * 2, ValueError, "intervened on in all but 2 of 240 rows, .* Add rows in which it"),
    ):
        with pytest.raises(error, match=message):
            make_learner(**QUICK).fit(X, interventions=said)
    with pytest.raises(ValueError, match="names column 4 in row 1, but the columns go from 0 to 3"):
        make_learner(**QUICK).fit(X.to_numpy(), interventions=[4] * 240)


def test_a_column_that_varies_only_where_it_was_set_is_refused():
    X, _ = experiments()
    X.loc[100:, "b"] = 1.0
    for name, text in (
        ("b", "column 'b' is constant in the 140 rows in which it was not intervened on"),
        ("c", r"'b' is constant in the 140 rows in which 'c' was not intervened on.* it causes 'c'"),
    ):
        with pytest.raises(ValueError, match=text):
            make_learner(**QUICK).fit(X, interventions=[name] * 100 + [None] * 140)
