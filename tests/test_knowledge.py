"""What a user can say about a graph, how it is read, and what is refused with which words."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, Knowledge, KnowledgeError
from daguerreotype.edges import LocalFit
from daguerreotype.edges.additive.estimators import BicEdges
from daguerreotype.edges.base import Capabilities, EdgeEstimator, LocalModels
from daguerreotype.operators import RandomOrder, top_k_sparsemax
from support.learners import make_learner

NAMES = ("age", "dose", "diet", "gene_1", "gene_2", "outcome")
QUICK = {"edges": "bic", "scales": "none", "max_iter": 10, "n_restarts": 1}
REQUIRED = {"required": [("age", "outcome")]}


@pytest.fixture
def table(rng):
    """A chain from the first column to the last."""
    values = rng.normal(size=(200, len(NAMES)))
    for j in range(1, len(NAMES)):
        values[:, j] += values[:, j - 1]
    return pd.DataFrame(values, columns=NAMES)


def fit(table, known, **settings):
    return make_learner(knowledge=known, **QUICK | settings).fit(table)


def edges_of(matrix):
    return {(NAMES[i], NAMES[j]) for i, j in np.argwhere(matrix)}


def assert_refused(known, message, names=NAMES):
    with pytest.raises(ValueError, match=re.escape(message)):
        Knowledge(**known).resolve(names)


# ------------------------------------------------------------------ reading


def test_knowledge_is_equal_by_content_and_cannot_be_changed():
    one = Knowledge(forbidden=[("a", "b")], tiers=[["a"], ["b", "c"]])
    other = Knowledge(forbidden=(["a", "b"],), tiers=(("a",), ("b", "c")))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Knowledge(forbidden=[("b", "a")], tiers=[["a"], ["b", "c"]])
    assert repr(one) == "Knowledge(forbidden=(('a', 'b'),), tiers=(('a',), ('b', 'c')))"
    with pytest.raises(AttributeError):
        one.roots = ("a",)


def test_knowledge_of_nothing_is_false_and_allows_everything():
    assert not Knowledge()
    assert not Knowledge(max_parents={})
    resolved = Knowledge().resolve(NAMES)
    assert edges_of(~resolved.allowed) == {(name, name) for name in NAMES}
    assert not resolved.required.any()


def test_files_dicts_and_what_is_printed_say_the_same_as_arguments(tmp_path):
    known = Knowledge(
        forbidden=[("age", "dose")],
        required=[("dose", "outcome")],
        tiers=[["age"], ["gene_*"]],
        roots=["age"],
        leaves=["outcome"],
        max_parents={"age": 2, "gene_*": 1},
    )
    (tmp_path / "known.toml").write_text(
        'forbidden = [["age", "dose"]]\nrequired = [["dose", "outcome"]]\ntiers = [["age"], ["gene_*"]]\n'
        'roots = ["age"]\nleaves = ["outcome"]\n[max_parents]\nage = 2\n"gene_*" = 1\n'
    )
    assert Knowledge.of(str(tmp_path / "known.toml")) == known
    for each in (known, *(Knowledge(max_parents=limit) for limit in (3, 0, {"a": 2, "b_*": 0}, {0: 1}))):
        (tmp_path / "known.json").write_text(json.dumps(each.to_dict()))
        assert Knowledge.of(tmp_path / "known.json") == Knowledge.of(each.to_dict()) == eval(repr(each)) == each
        assert each


def test_a_column_goes_by_its_own_limit_and_else_by_the_least_that_matches_it():
    known = Knowledge(max_parents={"age": 4, "*": 3, "gene_*": 1, "gene_2": 2}).resolve(NAMES)
    assert known.max_parents.tolist() == [4, 3, 3, 1, 2, 3]
    assert known.take(np.array([4, 0])).max_parents.tolist() == [2, 4]
    assert Knowledge(max_parents=2).resolve(NAMES).max_parents.tolist() == [2] * 6
    assert Knowledge(max_parents={5: 1}).resolve(["x0"] * 6, numbered=True).max_parents.tolist() == [5] * 5 + [1]
    limited, named = Knowledge(max_parents={"age": 0}), Knowledge(roots=["age"])
    assert np.array_equal(limited.resolve(NAMES).allowed, named.resolve(NAMES).allowed)


def test_a_pattern_stands_for_all_columns_that_match_and_pairs_none_with_itself():
    resolved = Knowledge(forbidden=[("gene_*", "gene_?")], roots=["d*"]).resolve(NAMES)
    into_roots = {(name, root) for name in NAMES for root in ("dose", "diet") if name != root}
    expected = {("gene_1", "gene_2"), ("gene_2", "gene_1")} | into_roots | {(name, name) for name in NAMES}
    assert edges_of(~resolved.allowed) == expected


def test_a_name_that_a_column_bears_is_that_column_and_no_pattern():
    names = ("x[1]", "x1", "x*", "x2")
    resolved = Knowledge(required=[("x[1]", "x*")]).resolve(names)
    assert [(names[i], names[j]) for i, j in np.argwhere(resolved.required)] == [("x[1]", "x*")]


def test_columns_without_names_are_given_by_position_and_numbers_may_be_names():
    resolved = Knowledge(required=[(0, 2)], tiers=[[2], [1]]).resolve(("x0", "x1", "x2"), numbered=True)
    assert np.argwhere(resolved.required).tolist() == [[0, 2]]
    assert resolved.tier.tolist() == [-1, 1, 0]
    assert Knowledge(roots=[7]).resolve(("7", "5")).allowed.tolist() == [[False, True], [False, False]]


# ------------------------------------------------------------------ refusals


def test_what_cannot_be_read_is_refused_with_what_was_expected():
    for known, message in (
        ({"roots": "age"}, "roots is 'age': expected a list of columns"),
        ({"tiers": ["age"]}, "tiers is 'age': expected lists of columns"),
        ({"tiers": 3}, "tiers is 3: expected a list of lists of columns, from earliest to latest"),
        ({"forbidden": ["ab"]}, "forbidden holds 'ab': expected a list of pairs (cause, effect)"),
        ({"required": [("a", "b", "c")]}, "required holds ('a', 'b', 'c'): expected a list of pairs"),
        ({"forbidden": [("age", "age")]}, "forbidden has an edge from 'age' to itself"),
        ({"leaves": [None]}, "leaves holds None: expected a list of columns, by name or position"),
        ({"leaves": [True]}, "leaves holds True"),
        ({"max_parents": -1}, "max_parents must be at least 0, got -1"),
        ({"max_parents": True}, "max_parents must be a whole number of at least 0, got True"),
        ({"max_parents": "dose"}, "max_parents must be a whole number of at least 0, got 'dose'"),
        ({"max_parents": {"dose": 1.5}}, "max_parents of 'dose' must be a whole number of at least 0, got 1.5"),
        ({"max_parents": ["dose"]}, "max_parents holds 'dose': expected a whole number, or a dict"),
    ):
        assert_refused(known, message)


def test_contradictions_are_refused_with_the_pair_or_the_cycle():
    for known, message in (
        ({"roots": ["agee"]}, "roots names 'agee', which is no column; did you mean 'age'?"),
        ({"leaves": ["x"]}, "leaves names 'x', which is no column; the columns are 'age', 'dose', 'diet'"),
        ({"tiers": [["prot_*"]]}, "tiers has the pattern 'prot_*', but no column matches it"),
        ({"roots": [9]}, "roots names '9', which is no column"),
        ({"max_parents": {"does": 1}}, "max_parents names 'does', which is no column; did you mean 'dose'?"),
        ({"tiers": [["gene_*"], ["gene_2"]]}, "column 'gene_2' is in tiers 1 and 2"),
        (
            {"required": [("age", "dose")], "forbidden": [("age", "*")]},
            "the edge 'age' -> 'dose' is both required and forbidden",
        ),
        ({"required": [("age", "dose")], "roots": ["dose"]}, "'age' -> 'dose' is required, but 'dose' is a root"),
        ({"required": [("age", "dose")], "leaves": ["a*"]}, "'age' -> 'dose' is required, but 'age' is a leaf"),
        (
            {"max_parents": 1, "required": [("age", "dose"), ("diet", "dose")]},
            "'dose' has 2 required parents, 'age', 'diet', but max_parents allows 1. Drop some of these edges, or "
            "raise the limit.",
        ),
        (
            {"required": [("outcome", "age")], "tiers": [["age"], ["outcome"]]},
            "required edges and tiers form a cycle: 'age' before 'outcome' -> 'age'. Drop one",
        ),
        (
            {"required": [("age", "dose"), ("dose", "diet"), ("diet", "age"), ("age", "outcome")]},
            "required edges form a cycle: 'age' -> 'dose' -> 'diet' -> 'age'. Drop one of them",
        ),
        (
            {"required": [("outcome", "diet"), ("diet", "age")], "tiers": [["age"], ["dose"], ["outcome"]]},
            "required edges and tiers form a cycle: 'age' before 'outcome' -> 'diet' -> 'age'. Drop one",
        ),
        ({"required": [("gene_*", "gene_*")]}, "required edges form a cycle: 'gene_1' -> 'gene_2' -> 'gene_1'"),
    ):
        assert_refused(known, message)


def test_a_position_beyond_the_table_is_refused(rng):
    with pytest.raises(KnowledgeError, match="roots names column 3, but the columns go from 0 to 2"):
        Daguerreotype(knowledge={"roots": [3]}).fit(rng.normal(size=(30, 3)))


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path):
    for name, text, message in (
        ("known.yaml", "", "must end in .toml or .json"),
        ("known.json", "{", "known.json: Expecting"),
        ("known.toml", "tiers = [", "known.toml: "),
        ("known.json", "[]", "expected a table with keys such as forbidden"),
        ("known.json", "[" * 10**5, "nested deeper than any knowledge"),
        ("known.json", '{"teirs": []}', "'teirs' is no kind of knowledge: expected some of forbidden, required"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(KnowledgeError, match=message):
            Knowledge.of(tmp_path / name)


def test_what_is_no_knowledge_is_refused(table):
    with pytest.raises(TypeError, match=r"knowledge is a list: expected Knowledge\(...\), a dict"):
        Daguerreotype(knowledge=[("age", "dose")]).fit(table)


# ------------------------------------------------------------------ the learner


def test_the_learner_takes_knowledge_in_every_form(table, tmp_path):
    known = {"forbidden": [["age", "dose"], ["dose", "age"]]}
    (tmp_path / "known.json").write_text(json.dumps(known))
    assert {("age", "dose"), ("dose", "age")} & set(fit(table, None).causal_graph_.edges)
    for form in (Knowledge(**known), known, tmp_path / "known.json"):
        assert not {("age", "dose"), ("dose", "age")} & set(fit(table, form).causal_graph_.edges)


def test_tiers_turn_the_edges_that_the_data_leave_open(table):
    model = fit(table, Knowledge(tiers=[[name] for name in reversed(NAMES)]))
    assert model.causal_order_ == list(reversed(NAMES))
    assert ("dose", "age") in model.causal_graph_.edges


def test_what_is_known_is_the_same_whatever_the_order_of_the_columns(table):
    known = Knowledge(required=[("outcome", "gene_1")], tiers=[["outcome"], ["age"]], leaves=["gene_2"])
    first = fit(table, known, random_state=None)
    second = fit(table[["gene_2", "age", "outcome", "dose", "gene_1", "diet"]], known, random_state=None)
    assert set(first.causal_graph_.edges) == set(second.causal_graph_.edges)


def test_a_fixed_order_that_breaks_knowledge_is_refused_with_the_pair(table):
    with pytest.raises(
        KnowledgeError, match="the fixed order puts 'diet' before 'outcome', but knowledge says that 'outcome'"
    ):
        fit(table, {"tiers": [["outcome"], ["diet"]]}, operator="fixed", start=list(NAMES))


def test_random_orders_obey(table):
    known = {"tiers": [["outcome", "gene_*"], ["age"]], "required": [("diet", "outcome")]}
    orders = []
    for seed in range(10):
        order = fit(table, known, random_state=seed, operator=RandomOrder(), posterior=0).causal_order_
        assert max(map(order.index, ("outcome", "gene_1", "gene_2"))) < order.index("age")
        assert order.index("diet") < order.index("outcome")
        orders.append(tuple(order))
    assert len(set(orders)) > 5


def test_scores_to_start_from_are_moved_to_the_nearest_that_obey(table):
    start = {"start": [5.0, 4.0, 3.0, 2.0, 1.0, 0.0], "max_iter": 1, "refine": False}
    assert fit(table, REQUIRED, **start).theta_.tolist() == [2.5, 4.0, 3.0, 2.0, 1.0, 2.5]


def deaf(theta, tau):
    """An operator that knows of no precedence."""
    return top_k_sparsemax(theta, 5, tau=tau)


def listening(theta, tau, precedence=None):
    """An operator that asks for it."""
    return top_k_sparsemax(theta, 5, tau=tau, precedence=precedence)


def test_an_operator_gets_the_precedence_if_it_asks_and_is_refused_if_it_disobeys(table):
    ranks = fit(table, REQUIRED, operator=listening).order_distribution_.ranks
    assert (ranks[:, 0] < ranks[:, 5]).all()
    message = "returned a ranking with 'outcome' before 'age'.* Give it a parameter precedence"
    with pytest.raises(ValueError, match=message):
        fit(table, REQUIRED, operator=deaf)


class OwnEdges(EdgeEstimator):
    """An estimator that was written before knowledge was thought of, but has fast moves."""

    def prepare(self, table):
        return BicEdges().prepare(table)


class ForgetfulEdges(OwnEdges):
    """Promises to keep required parents, and does not."""

    can = Capabilities(rules=True)

    def prepare(self, table, rules=None):
        return BicEdges(penalty=1.0 if rules is None else 100.0).prepare(table)


class StubbornModels(LocalModels):
    """Chooses the first column whatever it is asked about."""

    def fit(self, node, predecessors):
        return LocalFit(np.array([0]), np.ones(1), 1.0, 1.0)


class StubbornEdges(EdgeEstimator):
    def prepare(self, table):
        return StubbornModels()


def test_an_estimator_that_cannot_keep_edges_or_breaks_its_promise_is_refused(table):
    message = r"requires the edge 'age' -> 'outcome', but OwnEdges .* let prepare\(table, rules\) keep"
    with pytest.raises(TypeError, match=message):
        fit(table, REQUIRED, edges=OwnEdges())
    with pytest.raises(ValueError, match="the edge estimator left out 'age' as a parent of 'outcome'"):
        fit(table, REQUIRED, edges=ForgetfulEdges())
    with pytest.raises(ValueError, match=r"the edge estimator chose '.*' as a parent of '.*', against knowledge"):
        fit(table, {"forbidden": [("*", "*")]}, edges=StubbornEdges())


def test_an_estimator_of_ones_own_obeys_forbidden_edges_and_tiers_without_help(table):
    known = Knowledge(forbidden=[("age", "dose"), ("dose", "age"), ("diet", "*")], tiers=[["outcome"], ["gene_*"]])
    own, ours = (fit(table, known, penalty=1.0, edges=edges).causal_graph_.edges for edges in (OwnEdges(), "bic"))
    assert set(own) == set(ours)
    assert not any(cause == "diet" for cause, _ in own)


def test_training_does_not_go_on_from_a_checkpoint_under_other_knowledge(table, tmp_path):
    first, second = ({"forbidden": [("age", name)]} for name in ("dose", "diet"))
    for _ in range(2):
        make_learner(knowledge=first, **QUICK).fit(table, resume=tmp_path / "fit")
    with pytest.raises(ValueError, match="constraints differ"):
        make_learner(knowledge=second, **QUICK).fit(table, resume=tmp_path / "fit")
