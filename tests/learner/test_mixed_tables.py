"""A person's use of tables of any kind: text, booleans, counts, ordered categories, rounded numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.operators import FixedOrder
from daguerreotype.training import Bilevel
from support.learners import edge_of, make_learner

QUICK = {"scales": "none", "k": 10, "max_iter": 20, "n_restarts": 0}
EDGES = {("dose", "sick"), ("city", "sick"), ("sick", "visits"), ("visits", "cost"), ("dose", "grade")}
KINDS = {
    "dose": "continuous",
    "city": "categorical",
    "sick": "binary",
    "visits": "count",
    "cost": "continuous",
    "grade": "ordinal",
}


def clinic(n=600, seed=0):
    """A table of six columns whose graph is ``EDGES``."""
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=n)
    city = rng.choice(["Bonn", "Oslo", "Rome"], n)
    odds = 1.5 * dose + pd.Series(city).map({"Bonn": 1.5, "Oslo": 0.0, "Rome": -1.5}).to_numpy()
    sick = odds + rng.logistic(size=n) > 0
    visits = rng.poisson(np.exp(0.3 + 1.2 * sick))
    cost = np.round(3.0 * np.log1p(visits) + rng.normal(size=n), 1)
    places = np.digitize(dose**3 - 2 * dose + 0.7 * rng.logistic(size=n), [-1.0, 0.0, 1.0])
    grade = pd.Categorical.from_codes(places, ["low", "fair", "good", "top"], ordered=True)
    return pd.DataFrame({"dose": dose, "city": city, "sick": sick, "visits": visits, "cost": cost, "grade": grade})


def edges_of(learner):
    return set(learner.causal_graph_.edges)


def where_set(table, rows_by_column):
    """The table of booleans that says in which rows columns were intervened on."""
    intervened = pd.DataFrame(False, index=table.index, columns=table.columns)
    for column, rows in rows_by_column.items():
        intervened.iloc[rows, intervened.columns.get_loc(column)] = True
    return intervened


@pytest.fixture(scope="module")
def table():
    return clinic()


@pytest.fixture(scope="module")
def fitted(table):
    return Daguerreotype(scales="none").fit(table)


# ------------------------------------------------------------------ what is learned


def test_kinds_noise_and_edges_are_found(fitted):
    columns, edges = fitted.columns_, edges_of(fitted)
    assert columns["kind"].to_dict() == KINDS
    noise = {"dose": columns["noise"]["cost"], "cost": "gaussian"}  # continuous columns share theirs
    noise |= {"city": "categorical", "sick": "bernoulli", "visits": "poisson", "grade": "ordinal"}
    assert columns["noise"].to_dict() == noise
    assert set(map(frozenset, edges)) == set(map(frozenset, EDGES))
    assert {("city", "sick"), ("dose", "sick"), ("sick", "visits")} <= edges


def test_the_score_is_the_sum_of_what_single_columns_are_likely(fitted, table):
    # Where all other columns were intervened on, one alone has a likelihood.
    everywhere = range(len(table))
    parts = [
        fitted.score(table, interventions=where_set(table, {name: everywhere for name in table if name != column}))
        for column in table
    ]
    assert fitted.score(table) == pytest.approx(sum(parts), abs=1e-9)
    assert all(np.isfinite(parts))
    assert max(parts[1:4]) < 0  # masses


def test_held_out_rows_have_a_score_near_that_of_the_training_rows_and_counts_of_any_size_have_one(fitted, table):
    assert fitted.score(clinic(seed=1)) == pytest.approx(fitted.score(table), abs=0.2)
    wrong = clinic(seed=1)
    wrong["visits"] = np.random.default_rng(0).permutation(wrong["visits"])
    assert fitted.score(wrong) < fitted.score(clinic(seed=1)) - 0.1
    far = table.head(3).assign(visits=[0, 300, 100_000], dose=[-50.0, 0.0, 50.0])
    assert np.isfinite(fitted.score(far))


def test_a_saved_learner_of_interventions_is_the_same(table, tmp_path):
    intervened = where_set(table, {"visits": range(50), "city": range(40, 90)})
    learner = make_learner(**QUICK).fit(table, interventions=intervened)
    learner.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(loaded.weights_, learner.weights_)
    pd.testing.assert_frame_equal(loaded.columns_, learner.columns_)
    np.testing.assert_array_equal(loaded._result.norms, learner._result.norms)
    assert loaded._result.kinds_by_label == learner._result.kinds_by_label
    assert loaded.score(table) == pytest.approx(learner.score(table), abs=1e-12)
    for cause, effect in learner.causal_graph_.edges:
        values = table[cause].to_list()[:5]
        np.testing.assert_array_equal(loaded.curve(cause, effect, values), learner.curve(cause, effect, values))


# ------------------------------------------------------------------ what is known


def test_tiers_forbidden_and_required_edges_are_obeyed(table):
    useless = [("grade", "city"), ("cost", "sick"), ("cost", "city"), ("grade", "visits"), ("grade", "cost")]
    assert not set(useless) & edges_of(make_learner(**QUICK).fit(table))
    tiers = [["cost", "grade"], ["visits", "sick"], ["dose", "city"]]
    knowledge = Knowledge(tiers=tiers, forbidden=[("visits", "sick")], required=useless)
    learner = make_learner(knowledge=knowledge, **QUICK).fit(table)
    edges = edges_of(learner)
    tier = {name: place for place, names in enumerate(tiers) for name in names}
    assert all(tier[cause] <= tier[effect] for cause, effect in edges)
    assert ("visits", "sick") not in edges
    assert set(useless) <= edges
    assert np.isfinite(learner.score(table))
    assert all(learner.causal_graph_.edges[edge]["norm"] > 0 for edge in useless)


def test_rows_in_which_a_level_was_set_say_nothing_about_its_causes(table):
    rng = np.random.default_rng(5)
    rows = np.arange(300)
    set_at_random = table.copy()
    set_at_random.loc[rows, "sick"] = rng.random(300) < 0.5
    visits = rng.poisson(np.exp(0.3 + 1.2 * set_at_random.loc[rows, "sick"]))
    set_at_random.loc[rows, "visits"] = visits
    set_at_random.loc[rows, "cost"] = np.round(3.0 * np.log1p(visits) + rng.normal(size=300), 1)
    informed = make_learner(**QUICK).fit(set_at_random, interventions=where_set(table, {"sick": rows}))
    untold = make_learner(**QUICK).fit(set_at_random)
    alone = make_learner(**QUICK).fit(table.loc[300:])
    assert informed._result.interventions == {"sick": 300}
    assert {("dose", "sick"), ("city", "sick"), ("sick", "visits")} <= edges_of(informed)
    slope = edge_of(informed, "dose", "sick").slope
    assert slope == pytest.approx(edge_of(alone, "dose", "sick").slope, rel=1e-3)
    assert edge_of(untold, "dose", "sick").slope < 0.8 * slope


def test_levels_that_no_row_has_which_counts_for_an_effect_do_no_harm(table):
    # Where dose was not set, Rome, middling grades and counts beyond one do not occur.
    seen = table.copy()
    late = np.arange(300, 600)
    seen.loc[late, "city"] = np.where(late % 2, "Bonn", "Oslo")
    seen.loc[late, "visits"] = late % 2
    seen.loc[late, "grade"] = np.where(late % 3, "low", "good")
    intervened = where_set(table, {"dose": range(300)} | dict.fromkeys(("city", "visits", "grade"), late))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = make_learner(knowledge={"required": [("city", "dose"), ("grade", "dose")]}, **QUICK)
        learner.fit(seen, interventions=intervened)
    assert np.isfinite(learner.score(table))
    assert np.isfinite(learner.curve("city", "dose", ["Bonn", "Oslo", "Rome"])).all()


# ------------------------------------------------------------------ what must not matter


def test_threads_rows_and_the_numbering_of_columns_do_not_matter(table):
    columns = np.random.default_rng(0).permutation(table.columns)
    plain, *variants = (
        Daguerreotype(n_jobs=jobs, posterior=0, training=Bilevel(n_restarts=2)).fit(X)
        for jobs, X in ((1, table), (2, table), (1, table.sample(frac=1.0, random_state=0)), (1, table[columns]))
    )
    for other in variants:
        assert edges_of(other) == edges_of(plain)
        assert other.loss_ == pytest.approx(plain.loss_, abs=1e-9)
        assert other.columns_["noise"].to_dict() == plain.columns_["noise"].to_dict()
        weights = other.weights_.loc[list(table), list(table)]
        np.testing.assert_allclose(weights, plain.weights_, atol=1e-4)


def test_how_levels_are_called_does_not_matter(table, fitted):
    renamed = table.assign(city=table["city"].map({"Bonn": "c", "Oslo": "a", "Rome": "b"}))
    other = Daguerreotype(scales="none").fit(renamed)
    assert edges_of(other) == edges_of(fitted)
    assert other.score(renamed) == pytest.approx(fitted.score(table), abs=1e-5)


# ------------------------------------------------------------------ settings


def test_every_setting_learns_from_any_table(table):
    for settings in (
        {"noise": {"visits": "poisson"}},
        {"noise": {"visits": "negative-binomial", "grade": "categorical"}},
        {"noise": "gaussian"},
        {"edges": "bic"},
        {"operator": "sparsemap"},
        {"operator": "fixed", "start": ["grade", "cost", "visits", "sick", "city", "dose"]},
        {"loss": "bic"},
        {"loss": "entropy"},
        {"refine": False},
        {"penalty": None},
        {"random_state": 3},
        {"scales": "auto"},
        {"standardize": False},
        {"kinds": {"visits": "continuous", "grade": "categorical"}},
    ):
        learner = make_learner(**(QUICK | settings)).fit(table)
        order = list(learner.causal_order_)
        assert order == settings.get("start", order)
        assert all(order.index(cause) < order.index(effect) for cause, effect in edges_of(learner))
        skeleton = set(map(frozenset, edges_of(learner)))
        assert {frozenset(("sick", "visits")), frozenset(("visits", "cost"))} <= skeleton
        assert np.isfinite(learner.score(clinic(seed=2)))
        assert np.isfinite(learner.loss_)
        if isinstance(settings.get("noise"), dict):
            assert {name: learner.columns_["noise"][name] for name in settings["noise"]} == settings["noise"]
        if settings.get("loss") == "entropy":
            assert learner.columns_["noise"]["cost"] == "free-shape"


def test_ordered_levels_whose_order_does_not_help_are_described_without_it():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=800)
    middle = np.abs(cause) + 0.2 * rng.normal(size=800) < 0.7
    codes = np.where(middle, 1, np.where(rng.random(800) < 0.5, 0, 2))  # both ends for the same causes
    effect = pd.Categorical.from_codes(codes, ["low", "middle", "high"], ordered=True)
    X = pd.DataFrame({"cause": cause, "effect": effect})
    required = {"knowledge": {"required": [("cause", "effect")]}}
    assert make_learner(**QUICK, **required).fit(X).columns_["noise"]["effect"] == "categorical"
    given = make_learner(noise={"effect": "ordinal"}, **QUICK, **required).fit(X)
    assert given.columns_["noise"]["effect"] == "ordinal"


# ------------------------------------------------------------------ any table

SIZE = 120


def odd_tables():
    rng = np.random.default_rng(0)
    x = rng.normal(size=SIZE)
    number = 2 * x + rng.normal(size=SIZE)
    yes = x + rng.logistic(size=SIZE) > 0
    city = rng.choice(list("abc"), SIZE)
    count = rng.poisson(np.exp(0.5 * x))
    rare = np.where(np.arange(SIZE) == 7, "once", city)
    outlier = np.where(np.arange(SIZE) == 3, 1e6, number)
    many = pd.DataFrame({f"b{j}": rng.random(SIZE) < 0.3 + 0.1 * j for j in range(5)})
    return {
        "ties": {"x": x, "y": np.repeat(number[: SIZE // 4], 4)},
        "rounding": {"x": np.round(x, 1), "y": np.round(number, 0)},
        "booleans": {"x": x, "y": yes},
        "categories": {"x": number, "y": city, "z": yes},
        "duplicated rows": {"x": np.tile(x[:30], 4), "y": np.tile(yes[:30], 4), "z": np.tile(city[:30], 4)},
        "outliers": {"x": x, "y": outlier, "z": yes, "w": np.where(np.arange(SIZE) == 9, 4000, count)},
        "atom at zero": {"x": x, "y": np.where(number > 0, number, 0.0), "z": city},
        "rare level": {"x": x, "y": rare, "z": yes},
        "rare level in order": {
            "x": x,
            "y": pd.Categorical(np.where(rare == "once", "z", "a" + pd.Series(city)), ordered=True),
        },
        "unused category": {"x": x, "y": pd.Categorical(city, ["a", "b", "c", "never"])},
        "unused ordered category": {"x": x, "y": pd.Categorical(city, ["a", "none", "b", "c", "z"], ordered=True)},
        "all binary": many,
        "copies of levels": {"x": city, "y": np.where(city == "a", "p", "q"), "z": x},
        "separation": {"x": x, "y": x > 0, "z": np.digitize(x, [-1, 0, 1])},
        "nearly all zero": {"x": x, "y": np.where(np.arange(SIZE) < 3, 5, 0), "z": count},
        "many levels": {"x": x, "y": rng.choice(list("abcdefghijkl"), SIZE), "z": yes},
        "few rows": {"x": x[:20], "y": yes[:20], "z": city[:20]},
    }


@pytest.mark.parametrize("name", odd_tables())
def test_whatever_the_table_the_result_is_a_graph_along_its_order_with_a_score(name):
    X = pd.DataFrame(odd_tables()[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = Daguerreotype(training=Bilevel(max_iter=20, n_restarts=1)).fit(X)
        score = learner.score(X)
    place = {column: i for i, column in enumerate(learner.causal_order_)}
    assert sorted(place) == sorted(X)
    assert all(place[cause] < place[effect] for cause, effect in edges_of(learner))
    assert np.isfinite(score)
    assert np.isfinite(learner.loss_)
    assert np.isfinite(learner.weights_).all(axis=None)
    assert ((learner.weights_ != 0) == (learner.adjacency_matrix_ == 1)).all(axis=None)
    assert ((learner._result.norms > 0) == (learner.adjacency_matrix_ == 1)).all(axis=None)
    assert list(learner._result.kinds_by_label) == list(X) == list(learner.columns_["noise"].to_dict())


# ------------------------------------------------------------------ directions of pairs


def rounded_effect(rng):
    cause = rng.uniform(-2, 2, 1000)
    return cause, np.round(cause**3 / 2 + rng.normal(size=1000))


def curved_bernoulli(rng):
    cause = rng.normal(size=1000)
    return cause, 3 * np.sin(2 * cause) + rng.logistic(size=1000) > 0


def poisson(rng):
    cause = rng.normal(size=1000)
    return cause, rng.poisson(np.exp(0.5 + 0.8 * cause))


@pytest.mark.parametrize("pair", [rounded_effect, curved_bernoulli, poisson])
def test_causes_of_pairs_are_told_from_effects(pair):
    right = 0
    for seed in range(10):
        cause, effect = pair(np.random.default_rng(seed))
        X = pd.DataFrame({"effect": effect, "cause": cause})
        model = Daguerreotype(posterior=0, training=Bilevel(max_iter=20)).fit(X)
        right += edges_of(model) == {("cause", "effect")}
    assert right >= 9


def test_a_level_that_others_determine_is_an_effect_like_any_other(rng):
    infection, tumour = rng.random(400) < 0.2, rng.random(400) < 0.1
    tumour &= ~infection  # so that one of both is their sum
    X = pd.DataFrame({"infection": infection, "tumour": tumour, "either": infection | tumour})
    model = Daguerreotype().fit(X)
    assert model.adjacency_matrix_["either"].sum() == 2
    assert np.isfinite(model.score(X))


def test_a_straight_effect_on_a_level_is_a_line_however_steep():
    for seed in (0, 5, 9):
        rng = np.random.default_rng(seed)
        dose = rng.normal(size=1000)
        X = pd.DataFrame({"dose": dose, "cured": rng.random(1000) < 1 / (1 + np.exp(-3 * dose))})
        settings = {"operator": FixedOrder(["dose", "cured"]), "posterior": 0}
        curved, straight = (Daguerreotype(edges=edges, **settings).fit(X).loss_ for edges in ("gam", "bic"))
        assert curved == pytest.approx(straight, abs=1e-9)
