"""A person's use of tables of any kind: text, booleans, counts, ordered categories, rounded numbers."""

import warnings

import networkx as nx
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
    assert {name: kind.name for name, kind in fitted._result.kinds_by_label.items()} == KINDS
    assert fitted.columns_["noise"].to_dict() == {
        "dose": fitted.columns_["noise"]["cost"],  # continuous columns share theirs
        "city": "categorical",
        "sick": "bernoulli",
        "visits": "poisson",
        "cost": "gaussian",
        "grade": "ordinal",
    }
    skeleton = {frozenset(edge) for edge in edges_of(fitted)}
    assert skeleton == {frozenset(edge) for edge in EDGES}
    assert {("city", "sick"), ("dose", "sick"), ("sick", "visits")} <= edges_of(fitted)


def test_weights_have_signs_and_norms_have_none(fitted):
    weights, norms = fitted.weights_, fitted._result.norms
    assert weights.loc["dose", "sick"] > 0
    assert weights.loc["sick", "visits"] > 0
    assert weights.loc["city", "sick"] == edge_of(fitted, "city", "sick").norm > 0
    assert ((norms > 0) == (fitted.adjacency_matrix_.to_numpy() == 1)).all()
    assert ((weights != 0) == (fitted.adjacency_matrix_ == 1)).all(axis=None)
    flipped = Daguerreotype(scales="none").fit(clinic().assign(sick=lambda table: ~table["sick"]))
    assert flipped.weights_.loc["dose", "sick"] == pytest.approx(-weights.loc["dose", "sick"], rel=1e-4)


def test_the_curve_of_levels_has_one_value_for_each(fitted, table):
    curve = fitted.curve("city", "sick", ["Bonn", "Oslo", "Rome"])
    assert curve.shape == (3,)
    assert curve[0] > curve[1] > curve[2]
    shares = table["city"].value_counts(normalize=True).sort_index().to_numpy()
    assert curve @ shares == pytest.approx(0.0, abs=1e-9)
    assert fitted.causal_graph_.edges["city", "sick"]["norm"] == pytest.approx(
        np.sqrt(curve**2 @ shares), abs=1e-9
    )
    assert np.diff(fitted.curve("sick", "visits", [False, True])) > 0


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


def test_held_out_rows_have_a_score_near_that_of_the_training_rows(fitted, table):
    assert fitted.score(clinic(seed=1)) == pytest.approx(fitted.score(table), abs=0.2)
    wrong = clinic(seed=1)
    wrong["visits"] = np.random.default_rng(0).permutation(wrong["visits"])
    assert fitted.score(wrong) < fitted.score(clinic(seed=1)) - 0.1


def test_counts_of_any_size_are_scored(fitted, table):
    far = table.head(3).assign(visits=[0, 300, 100_000], dose=[-50.0, 0.0, 50.0])
    assert np.isfinite(fitted.score(far))


@pytest.mark.parametrize(
    "interventions", [{}, {"visits": range(50), "city": range(40, 90)}], ids=["observed", "intervened"]
)
def test_a_saved_learner_is_the_same(table, interventions, tmp_path):
    learner = make_learner(**QUICK).fit(table, interventions=where_set(table, interventions))
    learner.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(loaded.weights_, learner.weights_)
    np.testing.assert_array_equal(loaded._result.norms, learner._result.norms)
    assert edges_of(loaded) == edges_of(learner)
    assert loaded.columns_["noise"].to_dict() == learner.columns_["noise"].to_dict()
    assert loaded._result.kinds_by_label == learner._result.kinds_by_label
    assert loaded.score(table) == pytest.approx(learner.score(table), abs=1e-12)
    if ("sick", "visits") in edges_of(learner):
        values = [False, True]
        np.testing.assert_array_equal(
            loaded.curve("sick", "visits", values), learner.curve("sick", "visits", values)
        )


def test_edges_are_counted_over_resamples(table):
    found = make_learner(**QUICK).bootstrap(table, 3)
    frequencies = found.edge_frequencies
    assert frequencies.loc["sick", "visits"] + frequencies.loc["visits", "sick"] == 1.0
    assert found.failures == {}
    assert nx.is_directed_acyclic_graph(found.consensus_graph)


# ------------------------------------------------------------------ what is known


def test_tiers_forbidden_and_required_edges_are_obeyed(table):
    knowledge = Knowledge(
        tiers=[["cost", "grade"], ["visits", "sick"], ["dose", "city"]],
        forbidden=[("visits", "sick")],
        required=[("grade", "city"), ("cost", "sick")],
    )
    learner = make_learner(knowledge=knowledge, **QUICK).fit(table)
    edges = edges_of(learner)
    tier = {"cost": 0, "grade": 0, "visits": 1, "sick": 1, "dose": 2, "city": 2}
    assert all(tier[cause] <= tier[effect] for cause, effect in edges)
    assert ("visits", "sick") not in edges
    assert {("grade", "city"), ("cost", "sick")} <= edges
    assert np.isfinite(learner.score(table))
    assert learner.causal_graph_.edges["grade", "city"]["norm"] > 0


def test_an_edge_without_a_use_stays_if_it_is_required(table):
    for cause, effect in [("city", "grade"), ("cost", "city"), ("grade", "visits"), ("grade", "cost")]:
        plain = make_learner(**QUICK).fit(table)
        assert (cause, effect) not in edges_of(plain)
        learner = make_learner(knowledge={"required": [(cause, effect)]}, **QUICK).fit(table)
        assert (cause, effect) in edges_of(learner)


def test_rows_in_which_a_level_was_set_say_nothing_about_its_causes(table):
    rng = np.random.default_rng(5)
    rows = np.arange(300)
    set_at_random = table.copy()
    set_at_random.loc[rows, "sick"] = rng.random(300) < 0.5
    visits = rng.poisson(np.exp(0.3 + 1.2 * set_at_random.loc[rows, "sick"]))
    set_at_random.loc[rows, "visits"] = visits
    set_at_random.loc[rows, "cost"] = np.round(3.0 * np.log1p(visits) + rng.normal(size=300), 1)
    told = make_learner(**QUICK).fit(set_at_random, interventions=where_set(table, {"sick": rows}))
    untold = make_learner(**QUICK).fit(set_at_random)
    alone = make_learner(**QUICK).fit(table.loc[300:])
    assert told._result.interventions == {"sick": 300}
    assert {("dose", "sick"), ("city", "sick"), ("sick", "visits")} <= edges_of(told)
    slope = edge_of(told, "dose", "sick").slope
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


def test_a_column_that_is_constant_in_the_rows_that_count_for_another_is_refused(table):
    constant = table.copy()
    constant.loc[300:, "city"] = "Bonn"
    intervened = where_set(table, {"dose": range(300), "city": range(300, 600)})
    with pytest.raises(ValueError, match="column 'city' is constant in the 300 rows in which 'dose' was not"):
        make_learner(**QUICK).fit(constant, interventions=intervened)


# ------------------------------------------------------------------ what must not matter


def test_threads_rows_and_the_numbering_of_columns_do_not_matter(table):
    plain = Daguerreotype(training=Bilevel(n_restarts=2)).fit(table)
    rng = np.random.default_rng(0)
    others = [
        Daguerreotype(n_jobs=2, training=Bilevel(n_restarts=2)).fit(table),
        Daguerreotype(training=Bilevel(n_restarts=2)).fit(table.sample(frac=1.0, random_state=0)),
        Daguerreotype(training=Bilevel(n_restarts=2)).fit(table[rng.permutation(table.columns)]),
    ]
    for other in others:
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


@pytest.mark.parametrize(
    "settings",
    [
        {"noise": {"visits": "poisson"}},
        {"noise": {"visits": "negative-binomial", "grade": "categorical"}},
        {"noise": "gaussian"},
        {"edges": "bic"},
        {"operator": "sparsemap"},
        {"loss": "bic"},
        {"loss": "entropy"},
        {"refine": False},
        {"penalty": None},
        {"random_state": 3},
        {"scales": "auto"},
        {"standardize": False},
        {"kinds": {"visits": "continuous", "grade": "categorical"}},
    ],
    ids=str,
)
def test_every_setting_learns_from_any_table(table, settings):
    learner = make_learner(**(QUICK | settings)).fit(table)
    assert nx.is_directed_acyclic_graph(learner.causal_graph_)
    assert {frozenset(("sick", "visits")), frozenset(("visits", "cost"))} <= {
        frozenset(edge) for edge in edges_of(learner)
    }
    assert np.isfinite(learner.score(clinic(seed=2)))
    assert np.isfinite(learner.loss_)
    if isinstance(settings.get("noise"), dict):
        assert {name: learner.columns_["noise"][name] for name in settings["noise"]} == settings["noise"]
    if settings.get("loss") == "entropy":
        assert learner.columns_["noise"]["cost"] == "free-shape"


def test_a_given_order_is_kept(table):
    order = ["grade", "cost", "visits", "sick", "city", "dose"]
    learner = make_learner(operator="fixed", start=order, **QUICK).fit(table)
    assert list(learner.causal_order_) == order
    assert all(order.index(cause) < order.index(effect) for cause, effect in edges_of(learner))
    assert np.isfinite(learner.score(table))


def test_ordered_levels_whose_order_does_not_help_are_described_without_it():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=800)
    middle = np.abs(cause) + 0.2 * rng.normal(size=800) < 0.7
    codes = np.where(middle, 1, np.where(rng.random(800) < 0.5, 0, 2))  # both ends for the same causes
    effect = pd.Categorical.from_codes(codes, ["low", "middle", "high"], ordered=True)
    X = pd.DataFrame({"cause": cause, "effect": effect})
    known = {"knowledge": {"required": [("cause", "effect")]}}
    assert make_learner(**QUICK, **known).fit(X).columns_["noise"]["effect"] == "categorical"
    given = make_learner(noise={"effect": "ordinal"}, **QUICK, **known).fit(X)
    assert given.columns_["noise"]["effect"] == "ordinal"


def test_edges_that_take_numbers_refuse_text_by_name(table):
    with pytest.raises(ValueError, match=r"'city'.*edges='lars'|edges='lars'.*'city'"):
        Daguerreotype(edges="lars").fit(table)


def test_noise_that_does_not_fit_a_column_is_refused_by_its_name(table):
    with pytest.raises(
        ValueError, match=r"noise 'poisson' cannot describe 'sick', which is binary \(dtype bool\)"
    ):
        Daguerreotype(noise={"sick": "poisson"}).fit(table)
    with pytest.raises(ValueError, match="noise names 'visit', which is no column"):
        Daguerreotype(noise={"visit": "poisson"}).fit(table)


# ------------------------------------------------------------------ any table

SIZE = 120


def _odd_tables():
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
        "integers": {"x": np.round(20 * x).astype(int), "y": np.round(5 * number).astype(int)},
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
        "two columns": {"x": yes, "y": count},
        "all binary": many,
        "all categorical": {name: rng.choice(list("abcd"), SIZE) for name in "xyz"},
        "copies of levels": {"x": city, "y": np.where(city == "a", "p", "q"), "z": x},
        "separation": {"x": x, "y": x > 0, "z": np.digitize(x, [-1, 0, 1])},
        "nearly all zero": {"x": x, "y": np.where(np.arange(SIZE) < 3, 5, 0), "z": count},
        "more columns than levels": {f"c{j}": rng.choice(list("ab"), SIZE) for j in range(9)} | {"x": x},
        "many levels": {"x": x, "y": rng.choice(list("abcdefghijkl"), SIZE), "z": yes},
        "few rows": {"x": x[:20], "y": yes[:20], "z": city[:20]},
    }


@pytest.mark.parametrize("name", _odd_tables())
def test_whatever_the_table_the_result_is_a_graph_along_its_order_with_a_score(name):
    X = pd.DataFrame(_odd_tables()[name])
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
    assert list(learner._result.kinds_by_label) == list(X) == list(learner.columns_["noise"].to_dict())


# ------------------------------------------------------------------ directions of pairs


def rounded_effect(rng):
    cause = rng.uniform(-2, 2, 1000)
    return cause, np.round(cause**3 / 2 + rng.normal(size=1000))


def bent_bernoulli(rng):
    cause = rng.normal(size=1000)
    return cause, 3 * np.sin(2 * cause) + rng.logistic(size=1000) > 0


def poisson(rng):
    cause = rng.normal(size=1000)
    return cause, rng.poisson(np.exp(0.5 + 0.8 * cause))


@pytest.mark.parametrize("pair", [rounded_effect, bent_bernoulli, poisson])
def test_causes_of_pairs_are_told_from_effects(pair):
    right = 0
    for seed in range(10):
        cause, effect = pair(np.random.default_rng(seed))
        X = pd.DataFrame({"effect": effect, "cause": cause})
        right += edges_of(Daguerreotype(training=Bilevel(max_iter=20)).fit(X)) == {("cause", "effect")}
    assert right >= 9


def test_a_level_that_others_determine_is_an_effect_like_any_other(rng):
    infection, tumour = rng.random(400) < 0.2, rng.random(400) < 0.1
    tumour &= ~infection  # so that one of both is their sum
    X = pd.DataFrame({"infection": infection, "tumour": tumour, "either": infection | tumour})
    model = Daguerreotype().fit(X)
    assert model.adjacency_matrix_["either"].sum() == 2
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("seed", [0, 5, 9])
def test_a_straight_effect_on_a_level_is_a_line_however_steep(seed):
    rng = np.random.default_rng(seed)
    dose = rng.normal(size=1000)
    X = pd.DataFrame({"dose": dose, "cured": rng.random(1000) < 1 / (1 + np.exp(-3 * dose))})
    curved, straight = (
        Daguerreotype(edges=edges, operator=FixedOrder(["dose", "cured"])).fit(X) for edges in ("gam", "bic")
    )
    assert curved.loss_ == pytest.approx(straight.loss_, abs=1e-9)
