"""Tables with gaps: what is learned from them, what is refused, and what users are told."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.data.inputs import table_of_rows
from daguerreotype.edges import BicEdges, GamEdges
from daguerreotype.metrics import shd
from daguerreotype.simulate import simulate_dag, simulate_data
from support.learners import make_learner
from support.mixed import mixed_table


def problem(mechanism, seed, d=10, n=600):
    graph = simulate_dag(d, d, "ER", random_state=seed)
    return np.asarray(simulate_data(graph, n, mechanism=mechanism, random_state=seed).X), graph


def at_random(X, share, seed=0):
    """Gaps anywhere."""
    X = X.copy()
    X[np.random.default_rng([seed, 1]).random(X.shape) < share] = np.nan
    return X


def given_the_first(X, share, seed=0):
    """Gaps of all columns but the first, the more the larger that is."""
    X = X.copy()
    rank = np.argsort(np.argsort(X[:, 0])) / len(X)
    chance = np.clip(2.0 * share * rank, 0.0, 0.95)[:, None]
    gaps = np.random.default_rng([seed, 2]).random(X.shape) < chance
    gaps[:, 0] = False
    X[gaps] = np.nan
    return X


# ------------------------------------------------------------------ what is learned


@pytest.mark.parametrize(("mechanism", "edges"), [("gp-add", "gam"), ("linear", "bic")])
def test_a_graph_is_found_in_spite_of_missing_values(mechanism, edges):
    apart = []
    for seed in range(3):
        X, graph = problem(mechanism, seed)
        tables = X, at_random(X, 0.15, seed), given_the_first(X, 0.15, seed)
        apart.append(
            [shd(graph, Daguerreotype(edges=edges, posterior=0).fit(Y).adjacency_matrix_) for Y in tables]
        )
    complete, *incomplete = np.mean(apart, axis=0)
    assert max(incomplete) <= complete + 1.5


def test_mixed_tables_with_gaps_give_nearly_the_graph_of_complete_ones():
    X = mixed_table(400)
    rng = np.random.default_rng(0)
    complete = Daguerreotype(posterior=0).fit(X)
    gappy = X.astype(dict.fromkeys(X.select_dtypes("integer"), "Int64"))
    gappy = gappy.astype(dict.fromkeys(X.select_dtypes("bool"), "boolean"))
    model = Daguerreotype(posterior=0).fit(gappy.mask(rng.random(X.shape) < 0.1))
    assert shd(complete.adjacency_matrix_, model.adjacency_matrix_) <= 2
    assert model.columns_["kind"].equals(complete.columns_["kind"])


def test_edges_on_another_scale_and_skewed_columns_are_learned_by_draws_and_other_edges_by_rounds():
    rng = np.random.default_rng(0)
    cause, noise = rng.normal(size=600), rng.laplace(size=(2, 600))
    scaled = np.column_stack([cause, cause + noise[0], np.exp(0.5 * (cause + noise[1]))])
    model = Daguerreotype(edges="bic").fit(at_random(scaled, 0.1))
    assert model.missing_.n_completions > 0
    assert model.adjacency_matrix_[0].tolist() == [0, 1, 1]
    cause = rng.exponential(size=400)
    skewed = np.column_stack([cause, np.sin(2 * cause) + 0.2 * rng.normal(size=400), rng.normal(size=400)])
    for settings in (
        {"loss": "bic"},
        {"edges": "lars", "loss": "nll_ev"},
        {"edges": "lasso"},
        {"loss": "entropy"},
    ):
        model = make_learner(n_restarts=0, max_iter=20, **settings).fit(at_random(skewed, 0.1))
        assert model.missing_.n_rounds >= 2
        assert "edges" in settings or model.adjacency_matrix_[0, 1] == 1


def test_skewed_columns_are_drawn_on_the_scale_that_suits_them():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=700)
    effect = np.sin(1.5 * cause) + 0.4 * rng.normal(size=700)
    X = np.exp(np.column_stack([effect, cause, 0.8 * effect + 0.4 * rng.normal(size=700)]))
    model = Daguerreotype().fit(at_random(X, 0.2))
    assert model.columns_["scale"][[0, 2]].tolist() == ["log", "log"]  # a cause alone may have another shape
    np.testing.assert_array_equal(model.adjacency_matrix_, [[0, 0, 1], [1, 0, 0], [0, 0, 0]])
    drawn = model.impute(at_random(X, 0.2)).draws[0]
    assert (drawn > 0).all()


def test_dropping_would_mislead_where_gaps_depend_on_an_effect():
    """Two causes of one effect: among rows that are complete because of the effect they look dependent."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 3000))
    effect = first + second + 0.5 * rng.normal(size=3000)
    X = pd.DataFrame({"first": first, "second": second, "effect": effect})
    X.loc[effect > -0.3, "second"] = np.nan
    truth = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    order = {"operator": "fixed", "start": ["first", "second", "effect"], "edges": "bic", "loss": "bic"}
    assert make_learner(missing="drop", **order).fit(X).adjacency_matrix_.loc["first", "second"] == 1
    model = make_learner(**order).fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_, truth)
    assert model.missing_.depends_on == {"second": ["effect", "first"]} or "second" in model.missing_.depends_on


def test_knowledge_is_obeyed_and_interventions_count():
    graph = simulate_dag(10, 10, "ER", random_state=1)
    rng = np.random.default_rng(0)
    given = [None] * 400 + [j for j in range(10) for _ in range(40)]
    done = [None if j is None else {j: 2.0 * rng.normal()} for j in given]
    X = np.asarray(simulate_data(graph, 800, interventions=done, random_state=1).X)
    knowledge = {"forbidden": np.argwhere(graph.T == 1)[:2].tolist(), "required": np.argwhere(graph)[:1].tolist()}
    complete = Daguerreotype(knowledge=knowledge).fit(X, interventions=given)
    model = Daguerreotype(knowledge=knowledge).fit(at_random(X, 0.1), interventions=given)
    adjacency = np.asarray(model.adjacency_matrix_)
    assert all(adjacency[i, j] == 0 for i, j in knowledge["forbidden"])
    assert all(adjacency[i, j] == 1 for i, j in knowledge["required"])
    assert model._result.interventions == complete._result.interventions
    assert shd(graph, adjacency) <= shd(graph, complete.adjacency_matrix_) + 1


def test_rows_in_another_order_and_columns_under_other_numbers_give_the_same_graph():
    X, _ = problem("gp-add", 3, d=6, n=300)
    Y = at_random(X, 0.1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(Y)), rng.permutation(Y.shape[1])
    first, shuffled, turned = (
        Daguerreotype(random_state=None, posterior=0).fit(table).adjacency_matrix_
        for table in (Y, Y[rows], Y[:, columns])
    )
    np.testing.assert_array_equal(shuffled, first)
    np.testing.assert_array_equal(turned, first[np.ix_(columns, columns)])


# ------------------------------------------------------------------ several completed tables as one


def on_scale(X):
    table = table_of_rows(Daguerreotype(), X, missing="auto").table
    return table.canonical(np.arange(table.n_columns)).on_scale(table.scales_of("none"), True).table


def test_a_table_that_is_there_three_times_says_what_it_says_once():
    numbers, mixed = on_scale(problem("gp-add", 0, d=5)[0]), on_scale(mixed_table(n=400))
    trust = GamEdges(trust=100.0, gamma=1.0)
    for edges, table in ((BicEdges(), numbers), (GamEdges(gamma=1.0), numbers), (trust, numbers), (trust, mixed)):
        dither = None if table.dither is None else np.tile(table.dither, (3, 1))
        three = dataclasses.replace(table, values=np.tile(table.values, (3, 1)), dither=dither, copies=3)
        once, thrice = edges.prepare(table), edges.prepare(three)
        for node in range(table.n_columns):
            before = np.delete(np.arange(table.n_columns), node)
            first, second = once.fit(node, before), thrice.fit(node, before)
            np.testing.assert_array_equal(first.parents, second.parents)
            assert second.dof == pytest.approx(first.dof)
            assert second.nll == pytest.approx(first.nll, abs=5e-3)  # knots at quantiles move a little


# ------------------------------------------------------------------ what users are told


def test_what_was_missing_and_what_was_done_is_said():
    X, _ = problem("gp-add", 0)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    frame.loc[:99, "c3"] = np.nan
    frame.loc[50:79, "c4"] = np.nan
    missing = Daguerreotype(posterior=0).fit(frame).missing_
    assert missing.counts == {"c3": 100, "c4": 30}
    assert (missing.n_rows, missing.n_complete, missing.n_dropped, missing.n_completions) == (600, 500, 0, 4)
    assert missing.n_rounds >= 3
    assert missing.settled
    assert 0.0 < missing.loss_change < 0.01
    assert not dataclasses.replace(missing, loss_change=0.02).settled
    assert not dataclasses.replace(missing, n_changed=3).settled
    assert str(missing).startswith("130 missing values in 2 columns: 4 completed tables, ")
    assert Daguerreotype(posterior=0).fit(frame.dropna()).missing_ is None


def test_gaps_that_depend_on_another_column_are_pointed_at_and_others_are_not():
    X, _ = problem("linear", 0)
    learner = make_learner(edges="bic", scales="none", loss="bic")
    missing = learner.fit(at_random(X, 0.2)).missing_
    assert missing.depends_on == {}
    assert missing.n_completions == 0  # linear edges need no draws
    assert "expected moments" in str(missing)
    X[(X[:, 2] > 0) & (np.arange(600) % 2 == 0), 7] = np.nan
    assert 2 in learner.fit(X).missing_.depends_on[7]


def test_rows_with_missing_values_are_left_out_if_asked_and_empty_ones_always():
    X, _ = problem("linear", 0)
    complete = Daguerreotype(edges="bic").fit(X)
    with_empty_rows = Daguerreotype(edges="bic").fit(np.vstack([X, np.full((5, 10), np.nan)]))
    np.testing.assert_array_equal(with_empty_rows.weights_, complete.weights_)
    Y = np.vstack([X[:40], X])
    Y[:40, 3] = np.nan
    model = Daguerreotype(edges="bic", missing="drop").fit(Y)
    np.testing.assert_array_equal(model.weights_, complete.weights_)
    assert str(model.missing_) == "40 missing values in 1 column: left out 40 of 640 rows"


def test_what_cannot_be_learned_from_is_refused_by_name():
    frame = pd.DataFrame(problem("linear", 0)[0], columns=list("abcdefghij"))
    rows = np.arange(600)
    early, everywhere = frame.assign(d=frame["d"].mask(rows < 40)), frame.mask(rows[:, None] % 10 == np.arange(10))
    apart = frame.assign(c=frame["c"].where(rows >= 300), e=frame["e"].where(rows < 300))
    hardly = apart.assign(c=apart["c"].mask((rows == 298) | (rows == 299), 0.5))
    incomplete = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.1)
    constant = incomplete.assign(b=incomplete["b"] * 0.0 + 3.0)
    copied = incomplete.assign(b=(2.0 * incomplete["a"] + 1.0).where(rows >= 50))
    infinite = incomplete.assign(c=np.inf)
    for missing, X, message in (
        ("error", early, r"X has 40 NaN values: 'd' \(40\); the first is in row 1. Learn from them"),
        ("maybe", frame, "missing must be 'auto', 'error' or 'drop', got 'maybe'"),
        ("drop", everywhere, "only 0 of 600 rows have no gap, too few for missing='drop'"),
        ("auto", frame.assign(c=np.nan), r"column 'c' is empty: nothing can be learned about it. Drop it."),
        ("auto", apart, "columns 'c' and 'e' are seen together in no row"),
        ("auto", hardly, "columns 'c' and 'e' are seen together in only 2 rows"),
        ("auto", constant, "column 'b' is constant"),
        ("auto", copied, "columns 'a', 'b' are the same up to shift and scale"),
        ("auto", infinite, "infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            Daguerreotype(missing=missing).fit(X)


def test_masked_arrays_are_refused_with_the_way_to_fill_them():
    masked = np.ma.MaskedArray(np.eye(5), np.eye(5, dtype=bool))
    for ask in (Daguerreotype().fit, lambda X: Daguerreotype().fit_chunks([X])):
        with pytest.raises(TypeError, match=r"is a masked array, .* give X\.astype\(float\)\.filled"):
            ask(masked)


# ------------------------------------------------------------------ imputation


def test_imputed_values_are_closer_than_means_and_as_uncertain_as_said_also_from_a_file(tmp_path):
    X, _ = problem("linear", 0, n=1500)
    gaps = np.random.default_rng(5).random(X.shape) < 0.1
    Y = np.where(gaps, np.nan, X)
    model = Daguerreotype(posterior=0).fit(Y)
    done = model.impute(Y)
    np.testing.assert_array_equal(done.table[~gaps], X[~gaps])
    scale = X.std(axis=0)
    error = np.sqrt(np.mean(((done.table - X) / scale)[gaps] ** 2))
    by_means = np.sqrt(np.mean(((np.nanmean(Y, axis=0) - X) / scale)[gaps] ** 2))
    assert error < 0.72 * by_means
    inside = np.abs(done.table - X)[gaps] < 1.96 * done.spread[gaps]
    assert 0.85 < inside.mean() < 0.99
    assert len(done.draws) == 20

    model.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.impute(Y[:50], 3).table, model.impute(Y[:50], 3).table)
    assert loaded.score(Y[:50]) == model.score(Y[:50])
    assert str(loaded.missing_) == str(model.missing_)


def test_a_learner_without_rows_cannot_impute_and_says_so():
    X, _ = problem("linear", 0)
    model = Daguerreotype(edges="bic").fit_moments(np.cov(X.T), 600)
    with pytest.raises(ValueError, match="does not know what values columns have"):
        model.impute(np.full((1, 10), np.nan))


# ------------------------------------------------------------------ chunk by chunk


def test_rows_with_gaps_are_left_out_chunk_by_chunk_or_refused():
    X, _ = problem("linear", 1)
    Y = at_random(X, 0.02)
    for missing in ("auto", "error"):
        with pytest.raises(ValueError, match=r"NaN values in .*missing='drop', or learn .* with fit"):
            Daguerreotype(missing=missing).fit_chunks([Y])
    model = Daguerreotype(missing="drop").fit_chunks([Y[:300], Y[300:]])
    complete = Y[~np.isnan(Y).any(axis=1)]
    np.testing.assert_allclose(model.weights_, Daguerreotype().fit_chunks([complete]).weights_)
    assert model.missing_.n_dropped == 600 - len(complete)
    assert sum(model.missing_.counts.values()) == np.isnan(Y).sum()
