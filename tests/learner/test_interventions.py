"""What rows in which columns were intervened on do to a fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype
from daguerreotype._lib.labels import label
from daguerreotype.edges import RegressorEdges
from daguerreotype.metrics import shd
from daguerreotype.simulate import simulate_dag, simulate_data
from support.learners import make_learner

NAMES = ("a", "b", "c", "d")
QUICK = {"edges": "bic", "scales": "none", "loss": "bic", "penalty": 1.0, "n_restarts": 1, "max_iter": 100}


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
    np.testing.assert_allclose(first._result.edge_shares, second._result.edge_shares, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(first.theta_, second.theta_, rtol=rtol, atol=rtol)
    assert list(first.causal_order_) == list(second.causal_order_)
    assert first.loss_ == pytest.approx(second.loss_, rel=rtol, abs=0)


@pytest.mark.parametrize("forwards", [True, False])
@pytest.mark.parametrize("settings", [{}, {"edges": "bic"}, {"edges": "lars"}], ids=str)
def test_interventions_orient_an_edge_that_observations_cannot(forwards, settings):
    for seed in range(3):
        X, targets, edge = two_columns(seed, forwards)
        model = make_learner(scales="none", **settings).fit(X, interventions=targets)
        assert list(model.causal_graph_.edges) == [edge]


@pytest.mark.parametrize("nothing", [[None] * 240, ["", np.nan] * 120, np.zeros((240, 4), bool), [[]] * 240])
def test_interventions_on_nothing_change_nothing(nothing):
    X, _ = experiments()
    model = Daguerreotype().fit(X, interventions=nothing)
    assert_same_fit(model, Daguerreotype().fit(X))
    assert model._result.interventions == {}


def test_all_ways_to_say_it_are_the_same():
    X, targets = experiments()
    mask = pd.DataFrame({name: ~kept(targets, name) for name in NAMES})
    ways = [
        targets,
        pd.Series(targets, index=range(240, 0, -1)),
        np.array([target or "" for target in targets]),
        [np.nan if target is None else (target,) for target in targets],
        [{} if target is None else {target: 2.0} for target in targets],
        mask.astype("boolean"),
        mask,
        mask[list("dbca")],
        mask.to_numpy(),
        mask.to_numpy().astype(float),
    ]
    reference = make_learner(**QUICK).fit(X, interventions=ways[0])
    for way in ways[1:]:
        assert_same_fit(make_learner(**QUICK).fit(X, interventions=way), reference)
    numbers = pd.Series([None if target is None else NAMES.index(target) for target in targets], dtype=float)
    for way in (numbers, numbers.astype("Int64"), mask):
        model = make_learner(**QUICK).fit(X.to_numpy(), interventions=way)
        np.testing.assert_array_equal(model.weights_, reference.weights_)
    assert reference._result.interventions == {name: int(mask[name].sum()) for name in NAMES}
    assert model._result.interventions == {j: int(mask[name].sum()) for j, name in enumerate(NAMES)}


def test_columns_that_no_row_names_are_left_out_of_a_table_of_booleans():
    X, targets = experiments()
    only = [target if target == "b" else None for target in targets]
    some = pd.DataFrame({"b": ~kept(targets, "b")})
    assert_same_fit(
        make_learner(**QUICK).fit(X, interventions=some), make_learner(**QUICK).fit(X, interventions=only)
    )


def test_the_loss_by_bic_is_the_likelihood_of_each_mechanism_on_its_own_rows():
    X, targets = experiments()
    model = make_learner(**QUICK).fit(X, interventions=targets)
    n, total = len(X), 0.0
    for name in NAMES:
        rows = kept(targets, name)
        parents = list(model.causal_graph_.predecessors(name))
        design = np.column_stack([np.ones(rows.sum()), X.loc[rows, parents]])
        y = X.loc[rows, name] / X.loc[rows, name].std(ddof=0)
        beta = np.linalg.lstsq(design, y, rcond=None)[0]
        variance = np.mean((y - design @ beta) ** 2)
        total += rows.sum() / 2 * np.log(variance) + 0.5 * np.log(rows.sum()) * len(parents)
        scale = np.array([X.loc[kept(targets, parent), parent].std(ddof=0) for parent in parents])
        np.testing.assert_allclose(model.weights_.loc[parents, name], beta[1:] * scale, rtol=1e-8)
    assert model.loss_ == pytest.approx(total / n, rel=1e-9)


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
    count = sum(each.sum() for each in rows.values())
    assert model.loss_ == pytest.approx(0.5 * count / len(X) * np.log(squares / count), rel=1e-8)


def test_the_score_is_the_likelihood_of_what_was_not_set():
    X, targets = experiments()
    model = make_learner(**QUICK).fit(X, interventions=targets)
    unseen, others = experiments(seed=1)
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
        left = residuals(unseen, kept(others, name))
        total -= np.sum(0.5 * np.log(2 * np.pi * variance) + left**2 / (2 * variance))
    assert model.score(unseen, interventions=others) == pytest.approx(total / len(unseen), rel=1e-9)
    assert model.score(unseen) < total / len(unseen)


@pytest.mark.parametrize("random_state", [0, None])
def test_the_order_of_the_rows_plays_no_part_even_where_rows_repeat(random_state):
    X, targets = experiments()
    X.iloc[10] = X.iloc[11]  # the same values, once set and once not
    targets[10], targets[11] = "b", None
    rows = np.random.default_rng(3).permutation(len(X))
    model = Daguerreotype(random_state=random_state)
    first = model.fit(X, interventions=targets)
    second = Daguerreotype(random_state=random_state).fit(
        X.iloc[rows].reset_index(drop=True), interventions=[targets[row] for row in rows]
    )
    assert_same_fit(first, second)


def test_the_values_that_a_leaf_was_set_to_play_no_part_on_any_scale():
    X, targets = experiments(noise="lognormal")
    X = X - X.min() + 1.0
    moved = X.copy()
    moved.loc[~kept(targets, "d"), "d"] = np.linspace(50.0, 90.0, (~kept(targets, "d")).sum())
    known = {"leaves": ["d"], "tiers": [["a"], ["b"], ["c"], ["d"]]}
    fits = [Daguerreotype(knowledge=known).fit(each, interventions=targets) for each in (X, moved)]
    assert_same_fit(*fits, rtol=1e-7)
    assert fits[0]._result.transform == fits[1]._result.transform
    assert fits[0]._result.best.log_likelihood == pytest.approx(fits[1]._result.best.log_likelihood, rel=1e-9)


@pytest.mark.parametrize(
    "loss", ["auto", "bic", "entropy", "nll_ev", "nll_nv", "mse", lambda v, dof, n: v + dof / n]
)
def test_refining_finds_no_order_worse_than_the_true_one(loss):
    X, targets = experiments()
    settings = QUICK | {"loss": loss}
    found = make_learner(**settings).fit(X, interventions=targets)
    true = make_learner(**(settings | {"operator": "fixed", "start": list(NAMES)})).fit(X, interventions=targets)
    assert np.isfinite(found.loss_)
    assert loss == "auto" or found.loss_ <= true.loss_ + 1e-12


def test_a_function_of_a_node_is_told_its_own_rows():
    X, targets = experiments()
    counts = {int(kept(targets, name).sum()) for name in NAMES}
    seen = set()

    def loss(variance, dof, n_rows):
        seen.add(n_rows)
        return np.log(variance)

    make_learner(**(QUICK | {"loss": loss})).fit(X, interventions=targets)
    assert seen == counts


def test_knowledge_is_obeyed():
    X, targets = experiments()
    known = {"required": [("d", "b")], "forbidden": [("a", "d")]}
    for edges in ("gam", "bic", "lars"):
        model = make_learner(knowledge=known, **(QUICK | {"edges": edges})).fit(X, interventions=targets)
        assert model.adjacency_matrix_.loc["d", "b"] == 1
        assert model.adjacency_matrix_.loc["a", "d"] == 0
        for known_by in (model.edge_probabilities_, label(model._result.edge_shares, NAMES)):
            assert (known_by.loc["d", "b"], known_by.loc["a", "d"]) == (1.0, 0.0)


def test_threads_play_no_part():
    X, targets = experiments(noise="lognormal")
    assert_same_fit(
        Daguerreotype(n_jobs=2).fit(X, interventions=targets), Daguerreotype().fit(X, interventions=targets)
    )


def test_a_fit_goes_on_from_its_file_and_refuses_other_interventions(tmp_path):
    X, targets = experiments()
    whole = make_learner(**QUICK).fit(X, interventions=targets)
    make_learner(**(QUICK | {"max_iter": 3})).fit(X, interventions=targets, resume=tmp_path / "fit")
    assert_same_fit(make_learner(**QUICK).fit(X, interventions=targets, resume=tmp_path / "fit"), whole)
    other = [None, *targets[1:]] if targets[0] else ["a", *targets[1:]]
    with pytest.raises(ValueError, match=r"another training run: .*interventions differ"):
        make_learner(**QUICK).fit(X, interventions=other, resume=tmp_path / "fit")


@pytest.mark.parametrize("edges", ["gam", "bic", "lars"])
def test_a_saved_learner_comes_back_the_same(tmp_path, edges):
    X, targets = experiments()
    model = make_learner(**(QUICK | {"edges": edges})).fit(X, interventions=targets)
    model.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    assert_same_fit(loaded, model)
    assert loaded._result.interventions == model._result.interventions
    assert loaded.score(X, interventions=targets) == model.score(X, interventions=targets)
    if edges == "gam":
        cause, effect = next(iter(model.causal_graph_.edges))
        np.testing.assert_array_equal(loaded.curve(cause, effect, [0, 1]), model.curve(cause, effect, [0, 1]))
    loaded.save(tmp_path / "again.npz")
    assert Daguerreotype.load(tmp_path / "again.npz").score(X) == model.score(X)


def test_a_regressor_of_the_users_is_fitted_on_the_rows_that_count():
    X, targets, edge = two_columns(0, True)
    edges = RegressorEdges(LinearRegression(), random_state=0)
    model = make_learner(**(QUICK | {"edges": edges})).fit(X, interventions=targets)
    assert list(model.causal_graph_.edges) == [edge]


def test_a_bootstrap_resamples_the_interventions_with_the_rows():
    X, targets, edge = two_columns(1, True)
    sure = make_learner(**QUICK).bootstrap(X, 6, fit_params={"interventions": targets})
    assert sure.edge_frequencies.loc[edge] == 1.0
    assert sure.edge_frequencies.loc[edge[::-1]] == 0.0
    with pytest.raises(ValueError, match="interventions names 'z' in row 1"):
        make_learner(**QUICK).bootstrap(X, 2, fit_params={"interventions": ["z"] * len(X)})


def test_experiments_recover_more_than_as_many_observations():
    distances = {"observed": [], "pooled": [], "told": []}
    for seed in range(6):
        truth = simulate_dag(6, 8, random_state=seed)
        targets = [None] * 240 + [row % 6 for row in range(360)]
        observed = simulate_data(truth, 600, standardize=True, random_state=seed).X
        X = simulate_data(truth, 600, interventions=targets, standardize=True, random_state=seed).X
        for name, table, told in (("observed", observed, None), ("pooled", X, None), ("told", X, targets)):
            model = make_learner(**(QUICK | {"penalty": None})).fit(np.asarray(table), interventions=told)
            distances[name].append(shd(truth, model.adjacency_matrix_))
    means = {name: np.mean(each) for name, each in distances.items()}
    assert means["told"] < min(means["observed"], means["pooled"])
    assert means["told"] < 1.0


def rows_of(X, entry):
    return [entry] + [None] * (len(X) - 1)


@pytest.mark.parametrize(
    ("say", "kind", "message"),
    [
        (lambda X: "a", TypeError, r"interventions is of type str: give a list with one entry per row \(None, "),
        (lambda X: {"a": 1.0}, TypeError, "interventions is of type dict: give a list with one entry per row"),
        (lambda X: 3, TypeError, "interventions is of type int: give a list"),
        (lambda X: [None] * 5, ValueError, "interventions has 5 entries, but X has 240 rows: give a list with"),
        (lambda X: rows_of(X, "bb"), ValueError, "names 'bb' in row 1, which is no column; did you mean 'b'?"),
        (
            lambda X: rows_of(X, ["a", "zz"]),
            ValueError,
            "names 'zz' in row 1, which is no column; the columns are",
        ),
        (lambda X: rows_of(X, 0), ValueError, "interventions names '0' in row 1, which is no column; the columns"),
        (
            lambda X: [True] * len(X),
            ValueError,
            "holds True in row 1, which does not say which column was intervened on: give",
        ),
        (
            lambda X: np.zeros((240, 3), bool),
            ValueError,
            "interventions has 3 columns, but X has 4: give a boolean",
        ),
        (lambda X: (X > 0).astype("boolean").where(X > 0), ValueError, "is a table that holds nan: expected True"),
        (
            lambda X: X,
            ValueError,
            r"is a table that holds .*: expected True \(or 1\) where a column was intervened",
        ),
        (
            lambda X: X.set_axis(list("abcx"), axis=1) > 0,
            ValueError,
            "has a column 'x', which X has not; the columns",
        ),
        (
            lambda X: X.set_axis(list("abcc"), axis=1) > 0,
            ValueError,
            "has several columns of the same name: give each",
        ),
        (
            lambda X: ["a"] * 240,
            ValueError,
            "column 'a' was intervened on in all 240 rows, so nothing tells what",
        ),
        (
            lambda X: ["a"] * 238 + [None] * 2,
            ValueError,
            "intervened on in all but 2 of 240 rows, .* Add rows in which it",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_advice(say, kind, message):
    X, _ = experiments()
    with pytest.raises(kind, match=message):
        make_learner(**QUICK).fit(X, interventions=say(X))


def test_a_position_outside_the_table_is_refused():
    X, _ = experiments()
    with pytest.raises(ValueError, match="names column 4 in row 1, but the columns go from 0 to 3"):
        make_learner(**QUICK).fit(X.to_numpy(), interventions=rows_of(X, 4))


def test_a_column_that_varies_only_where_it_was_set_is_refused():
    X, _ = experiments()
    X.loc[100:, "b"] = 1.0
    with pytest.raises(
        ValueError, match="column 'b' is constant in the 140 rows in which it was not intervened on"
    ):
        make_learner(**QUICK).fit(X, interventions=["b"] * 100 + [None] * 140)
    with pytest.raises(
        ValueError, match=r"'b' is constant in the 140 rows in which 'c' was not intervened on.* it causes 'c'"
    ):
        make_learner(**QUICK).fit(X, interventions=["c"] * 100 + [None] * 140)


def test_neither_the_table_nor_the_interventions_are_changed():
    X, targets = experiments()
    table, told = X.copy(), list(targets)
    make_learner(**QUICK).fit(X, interventions=targets)
    pd.testing.assert_frame_equal(X, table)
    assert targets == told


def test_the_report_says_what_was_set(tmp_path):
    X, targets = experiments()
    model = make_learner(**QUICK).fit(X, interventions=targets)
    page = model.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"a in {model._result.interventions['a']} rows, b in" in page
