"""Tables with gaps: what is learned from them, what is refused, and what users are told."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.data.table import Table
from daguerreotype.edges import BicEdges, GamEdges
from daguerreotype.metrics import shd
from daguerreotype.simulate import simulate_dag, simulate_data
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


def mean_shd(mechanism, lose, seeds=range(3), **settings):
    found = []
    for seed in seeds:
        X, graph = problem(mechanism, seed)
        model = Daguerreotype(**settings).fit(lose(X, seed))
        found.append(shd(graph, model.adjacency_matrix_))
    return np.mean(found)


# ------------------------------------------------------------------ what is learned


@pytest.mark.parametrize(("mechanism", "edges"), [("gp-add", "gam"), ("linear", "gam"), ("linear", "bic")])
@pytest.mark.parametrize("lose", [at_random, given_the_first])
def test_a_graph_is_found_in_spite_of_gaps(mechanism, edges, lose):
    complete = mean_shd(mechanism, lambda X, _: X, edges=edges)
    assert mean_shd(mechanism, lambda X, seed: lose(X, 0.15, seed), edges=edges) <= complete + 1.5


def test_mixed_tables_with_gaps_give_nearly_the_graph_of_complete_ones():
    X = mixed_table()
    rng = np.random.default_rng(0)
    complete = Daguerreotype().fit(X)
    gappy = X.astype(dict.fromkeys(X.select_dtypes("integer"), "Int64"))
    gappy = gappy.astype(dict.fromkeys(X.select_dtypes("bool"), "boolean"))
    model = Daguerreotype().fit(gappy.mask(rng.random(X.shape) < 0.1))
    assert shd(complete.adjacency_matrix_, model.adjacency_matrix_) <= 2
    assert {name: kind.name for name, kind in model.kinds_.items()} == {
        name: kind.name for name, kind in complete.kinds_.items()
    }


def test_linear_edges_on_another_scale_are_learned_by_draws():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=600)
    noise = rng.laplace(size=(2, 600))
    X = np.column_stack([cause, cause + noise[0], np.exp(0.5 * (cause + noise[1]))])
    model = Daguerreotype(edges="bic").fit(at_random(X, 0.1))
    assert model.missing_.n_completions > 0
    assert model.adjacency_matrix_[0].tolist() == [0, 1, 1]


def test_skewed_columns_that_stay_on_their_scale_are_drawn_again():
    rng = np.random.default_rng(0)
    cause = rng.exponential(size=800)
    X = np.column_stack([cause, np.sin(2 * cause) + 0.2 * rng.normal(size=800), rng.normal(size=800)])
    model = Daguerreotype(loss="bic").fit(at_random(X, 0.2))
    assert model.missing_.n_rounds >= 3
    assert model.adjacency_matrix_[0, 1] == 1


def test_skewed_columns_are_drawn_on_the_scale_that_suits_them():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=700)
    effect = np.sin(1.5 * cause) + 0.4 * rng.normal(size=700)
    X = np.exp(np.column_stack([effect, cause, 0.8 * effect + 0.4 * rng.normal(size=700)]))
    model = Daguerreotype().fit(at_random(X, 0.2))
    assert set(model.scales_.values()) == {"log"}
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
    order = {"operator": "fixed", "init": ["first", "second", "effect"], "edges": "bic", "loss": "bic"}
    assert Daguerreotype(missing="drop", **order).fit(X).adjacency_matrix_.loc["first", "second"] == 1
    found = Daguerreotype(**order).fit(X)
    np.testing.assert_array_equal(found.adjacency_matrix_, truth)
    assert found.missing_.depends_on == {"second": ["effect", "first"]} or "second" in found.missing_.depends_on


def test_knowledge_is_obeyed_and_interventions_count():
    graph = simulate_dag(10, 10, "ER", random_state=1)
    rng = np.random.default_rng(0)
    given = [None] * 400 + [j for j in range(10) for _ in range(40)]
    done = [None if j is None else {j: 2.0 * rng.normal()} for j in given]
    X = np.asarray(simulate_data(graph, 800, interventions=done, random_state=1).X)
    knowledge = {"forbidden": np.argwhere(graph.T == 1)[:2].tolist(), "required": np.argwhere(graph)[:1].tolist()}
    complete = Daguerreotype(knowledge=knowledge).fit(X, interventions=given)
    model = Daguerreotype(knowledge=knowledge).fit(at_random(X, 0.1), interventions=given)
    found = np.asarray(model.adjacency_matrix_)
    assert all(found[i, j] == 0 for i, j in knowledge["forbidden"])
    assert all(found[i, j] == 1 for i, j in knowledge["required"])
    assert model.interventions_ == complete.interventions_
    assert shd(graph, found) <= shd(graph, complete.adjacency_matrix_) + 1


@pytest.mark.parametrize(
    "settings", [{"edges": "lars", "loss": "nll_ev"}, {"edges": "lasso"}, {"loss": "entropy"}]
)
def test_other_edges_and_losses_learn_from_gaps_too(settings):
    X, _ = problem("linear", 2, d=6, n=300)
    model = Daguerreotype(n_restarts=0, k=10, max_iter=20, **settings).fit(at_random(X, 0.1))
    assert model.missing_.n_rounds > 0
    assert np.asarray(model.adjacency_matrix_).sum() > 0


def test_rows_in_another_order_and_columns_under_other_numbers_give_the_same_graph():
    X, _ = problem("gp-add", 3)
    Y = at_random(X, 0.1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(Y)), rng.permutation(Y.shape[1])
    first = np.asarray(Daguerreotype(random_state=None).fit(Y).adjacency_matrix_)
    np.testing.assert_array_equal(Daguerreotype(random_state=None).fit(Y[rows]).adjacency_matrix_, first)
    turned = np.asarray(Daguerreotype(random_state=None).fit(Y[:, columns]).adjacency_matrix_)
    np.testing.assert_array_equal(turned, first[np.ix_(columns, columns)])


def test_the_same_fit_again_is_the_same_to_the_last_bit():
    Y = at_random(problem("gp-add", 4)[0], 0.2)
    first, second = Daguerreotype().fit(Y), Daguerreotype().fit(Y)
    np.testing.assert_array_equal(first.weights_, second.weights_)
    assert first.score(Y) == second.score(Y)


class EndsAt(GamEdges):
    """Ctrl-C at the n-th table that is prepared."""

    def __init__(self, n):
        super().__init__(gamma=1.0)
        self.n = n

    def prepare(self, table):
        self.n -= 1
        if self.n == 0:
            raise KeyboardInterrupt
        return super().prepare(table)


@pytest.mark.parametrize("n", [1, 3, 4])
def test_what_was_found_until_an_interrupt_is_kept(n, caplog):
    X, graph = problem("gp-add", 0)
    model = Daguerreotype(edges=EndsAt(n), loss="bic", transform="none").fit(at_random(X, 0.1))
    assert model.interrupted_
    assert "interrupted while the table was completed" in caplog.text
    assert shd(graph, model.adjacency_matrix_) <= 6


def test_a_fit_goes_on_from_its_checkpoint(tmp_path):
    Y = at_random(problem("gp-add", 0)[0], 0.1)
    first = Daguerreotype().fit(Y, resume=tmp_path / "run")
    again = Daguerreotype().fit(Y, resume=tmp_path / "run")
    np.testing.assert_array_equal(first.weights_, again.weights_)
    np.testing.assert_array_equal(first.weights_, Daguerreotype().fit(Y).weights_)


# ------------------------------------------------------------------ several completed tables as one


@pytest.mark.parametrize("edges", [BicEdges(), GamEdges(), GamEdges(min_gain=0.02, gamma=1.0)])
def test_a_table_that_is_there_three_times_says_what_it_says_once(edges):
    X = problem("gp-add", 0, d=5)[0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = tuple("abcde")
    once = edges.prepare(Table(X, names))
    thrice = edges.prepare(Table(np.tile(X, (3, 1)), names, copies=3))
    for node in range(5):
        before = np.delete(np.arange(5), node)
        one, three = once.fit(node, before), thrice.fit(node, before)
        np.testing.assert_array_equal(one.parents, three.parents)
        assert three.dof == pytest.approx(one.dof)
        assert three.nll == pytest.approx(one.nll, abs=1e-3)  # knots at quantiles move a little


def test_so_do_tables_with_levels_and_counts():
    learner = Daguerreotype()
    table = learner._read(mixed_table(n=400)).table
    scaled = table.canonical(np.arange(table.n_columns)).on_scale(table.scale("none"), True).table
    three = Table(
        np.tile(scaled.values, (3, 1)),
        scaled.names,
        kinds=scaled.kinds,
        families=scaled.families,
        dither=None if scaled.dither is None else np.tile(scaled.dither, (3, 1)),
        steps=scaled.steps,
        copies=3,
    )
    one, many = (GamEdges(gamma=1.0, min_gain=0.02).prepare(each) for each in (scaled, three))
    for node in range(table.n_columns):
        before = np.delete(np.arange(table.n_columns), node)
        first, second = one.fit(node, before), many.fit(node, before)
        np.testing.assert_array_equal(first.parents, second.parents)
        assert second.dof == pytest.approx(first.dof)
        assert second.nll == pytest.approx(first.nll, abs=5e-3)


# ------------------------------------------------------------------ what users are told


def test_what_was_missing_and_what_was_done_is_said():
    X, _ = problem("gp-add", 0)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    frame.loc[:99, "c3"] = np.nan
    frame.loc[50:79, "c4"] = np.nan
    model = Daguerreotype().fit(frame)
    assert model.missing_.counts == {"c3": 100, "c4": 30}
    assert (model.missing_.n_rows, model.missing_.n_complete, model.missing_.n_dropped) == (600, 500, 0)
    assert model.missing_.n_completions == 4
    assert model.missing_.n_rounds >= 3
    assert model.missing_.settled
    assert 0.0 < model.missing_.loss_change < 0.01
    assert not dataclasses.replace(model.missing_, loss_change=0.02).settled
    assert not dataclasses.replace(model.missing_, n_changed=3).settled
    assert str(model.missing_).startswith("130 missing values in 2 columns: 4 completed tables, ")
    assert model.missing_.shares.shape == (48, 2)
    assert model.missing_.shares[0, 0] == 1.0
    assert model.missing_.shares[-1].sum() == 0.0
    assert Daguerreotype().fit(frame.dropna()).missing_ is None


def test_gaps_that_depend_on_another_column_are_pointed_at_and_others_are_not():
    X, _ = problem("linear", 0)
    model = Daguerreotype(edges="bic", loss="bic", transform="none").fit(at_random(X, 0.2))
    assert model.missing_.depends_on == {}
    X[(X[:, 2] > 0) & (np.arange(600) % 2 == 0), 7] = np.nan
    model = Daguerreotype(edges="bic", loss="bic", transform="none").fit(X)
    assert 2 in model.missing_.depends_on[7]


def test_linear_edges_need_no_draws():
    model = Daguerreotype(edges="bic", loss="bic", transform="none").fit(at_random(problem("linear", 0)[0], 0.1))
    assert model.missing_.n_completions == 0
    assert "expected moments" in str(model.missing_)


def test_rows_with_gaps_are_left_out_or_refused_if_asked():
    X, _ = problem("linear", 0)
    X[:40, 3] = np.nan
    model = Daguerreotype(edges="bic", missing="drop").fit(X)
    np.testing.assert_array_equal(
        model.adjacency_matrix_, Daguerreotype(edges="bic").fit(X[40:]).adjacency_matrix_
    )
    assert str(model.missing_) == "40 missing values in 1 column: left out 40 of 600 rows"
    with pytest.raises(
        ValueError, match=r"X has 40 NaN values: 'x3' \(40\); the first is in row 1. Learn from them"
    ):
        Daguerreotype(missing="error").fit(X)
    with pytest.raises(ValueError, match="missing must be 'auto', 'error' or 'drop', got 'maybe'"):
        Daguerreotype(missing="maybe").fit(X)
    with pytest.raises(ValueError, match="only 0 of 600 rows have no gap, too few for missing='drop'"):
        Daguerreotype(missing="drop").fit(
            np.where(np.eye(600, 10, k=0) + (np.arange(600) % 10 == np.arange(10)[:, None]).T, np.nan, X)
        )


def test_an_empty_column_and_two_that_are_never_seen_together_are_refused_by_name():
    frame = pd.DataFrame(problem("linear", 0)[0], columns=list("abcdefghij"))
    with pytest.raises(ValueError, match=r"column 'c' is empty: nothing can be learned about it. Drop it."):
        Daguerreotype().fit(frame.assign(c=np.nan))
    apart = frame.copy()
    apart.loc[:299, "c"] = np.nan
    apart.loc[300:, "e"] = np.nan
    with pytest.raises(ValueError, match="columns 'c' and 'e' are seen together in no row"):
        Daguerreotype().fit(apart)
    apart.loc[298:299, "c"] = 0.5
    with pytest.raises(ValueError, match="columns 'c' and 'e' are seen together in only 2 rows"):
        Daguerreotype().fit(apart)


def test_constant_columns_and_copies_are_refused_with_gaps_as_without():
    X = at_random(problem("linear", 0)[0], 0.1)
    constant = X.copy()
    constant[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 3.0)
    with pytest.raises(ValueError, match="column 'x1' is constant"):
        Daguerreotype().fit(constant)
    copied = X.copy()
    copied[:, 1] = 2.0 * X[:, 0] + 1.0
    copied[:50, 1] = np.nan
    with pytest.raises(ValueError, match="columns 'x0', 'x1' are the same up to shift and scale"):
        Daguerreotype().fit(copied)
    with pytest.raises(ValueError, match="infinite"):
        Daguerreotype().fit(np.where(np.arange(10) == 2, np.inf, X))


def test_a_row_of_which_nothing_is_seen_changes_nothing():
    X, _ = problem("linear", 0)
    more = np.vstack([X, np.full((5, 10), np.nan)])
    model = Daguerreotype(edges="bic").fit(more)
    np.testing.assert_array_equal(model.weights_, Daguerreotype(edges="bic").fit(X).weights_)


def test_masks_of_masked_arrays_are_gaps():
    X, _ = problem("linear", 0)
    gaps = np.random.default_rng(0).random(X.shape) < 0.1
    settings = {"edges": "bic", "loss": "bic", "transform": "none"}
    masked = Daguerreotype(**settings).fit(np.ma.MaskedArray(X, gaps))
    np.testing.assert_array_equal(
        masked.weights_, Daguerreotype(**settings).fit(np.where(gaps, np.nan, X)).weights_
    )


# ------------------------------------------------------------------ imputation


def test_imputed_values_are_closer_than_means_and_as_uncertain_as_said():
    X, _ = problem("linear", 0, n=1500)
    gaps = np.random.default_rng(5).random(X.shape) < 0.1
    Y = np.where(gaps, np.nan, X)
    done = Daguerreotype().fit(Y).impute(Y)
    np.testing.assert_array_equal(done.table[~gaps], X[~gaps])
    scale = X.std(axis=0)
    error = np.sqrt(np.mean(((done.table - X) / scale)[gaps] ** 2))
    by_means = np.sqrt(np.mean(((np.nanmean(Y, axis=0) - X) / scale)[gaps] ** 2))
    assert error < 0.7 * by_means
    inside = np.abs(done.table - X)[gaps] < 1.96 * done.spread[gaps]
    assert 0.85 < inside.mean() < 0.99
    assert len(done.draws) == 20
    np.testing.assert_array_equal(Daguerreotype().fit(Y).impute(Y).table, done.table)


def test_a_frame_keeps_its_index_its_names_and_its_types():
    frame = mixed_table(n=300)
    frame.index = [f"row {i}" for i in range(300)]
    model = Daguerreotype().fit(frame)
    gappy = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    done = model.impute(gappy, 5)
    assert list(done.table.index) == list(frame.index)
    assert list(done.table.columns) == list(done.spread.columns) == list(frame.columns)
    assert not done.table.isna().any().any()
    for name, kind in model.kinds_.items():
        if kind.levels:
            assert set(done.table[name].dropna()) <= set(frame[name])


def test_a_learner_without_rows_cannot_impute_and_says_so():
    X, _ = problem("linear", 0)
    model = Daguerreotype(edges="bic").fit_moments(np.cov(X.T), 600)
    with pytest.raises(ValueError, match="does not know what values columns have"):
        model.impute(np.full((1, 10), np.nan))


def test_a_saved_learner_imputes_and_scores_as_before(tmp_path):
    Y = at_random(problem("gp-add", 0)[0], 0.15)
    model = Daguerreotype().fit(Y)
    model.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.impute(Y[:50], 3).table, model.impute(Y[:50], 3).table)
    assert loaded.score(Y[:50]) == model.score(Y[:50])
    assert loaded.missing_.counts == model.missing_.counts
    assert str(loaded.missing_) == str(model.missing_)
    np.testing.assert_array_equal(loaded.missing_.shares, model.missing_.shares)


# ------------------------------------------------------------------ chunk by chunk


def test_linear_edges_learn_from_gaps_chunk_by_chunk():
    X, graph = problem("linear", 1)
    Y = at_random(X, 0.1)
    model = Daguerreotype(edges="bic").fit_chunks([Y[:100], Y[100:110], Y[110:]])
    assert model.missing_.counts == {j: int(n) for j, n in enumerate(np.isnan(Y).sum(axis=0))}
    assert str(model.missing_).endswith("learned from the moments that EM expects")
    assert shd(graph, model.adjacency_matrix_) <= 3
    other = Daguerreotype(edges="bic").fit_chunks([Y])
    np.testing.assert_allclose(model.weights_, other.weights_, atol=1e-6)


def test_curves_chunk_by_chunk_leave_rows_with_gaps_out_or_refuse_them():
    X, _ = problem("linear", 1)
    Y = at_random(X, 0.02)
    with pytest.raises(
        ValueError, match="rows have missing values, which curves cannot be learned around chunk by"
    ):
        Daguerreotype().fit_chunks([Y])
    model = Daguerreotype(missing="drop").fit_chunks([Y[:300], Y[300:]])
    complete = Y[~np.isnan(Y).any(axis=1)]
    np.testing.assert_allclose(model.weights_, Daguerreotype().fit_chunks([complete]).weights_)
    assert model.missing_.n_dropped == 600 - len(complete)
    with pytest.raises(ValueError, match="there are NaN values"):
        Daguerreotype(edges="bic", missing="error").fit_chunks([Y])
    with pytest.raises(ValueError, match="columns stay on their scale chunk by chunk"):
        Daguerreotype(edges="bic", transform="log").fit_chunks([Y])
