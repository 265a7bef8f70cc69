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


@pytest.fixture
def table(rng):
    """A chain from the first column to the last."""
    values = rng.normal(size=(200, len(NAMES)))
    for j in range(1, len(NAMES)):
        values[:, j] += values[:, j - 1]
    return pd.DataFrame(values, columns=NAMES)


def edges_of(matrix):
    return {(NAMES[i], NAMES[j]) for i, j in np.argwhere(matrix)}


# ------------------------------------------------------------------ reading


def test_knowledge_is_equal_by_content_whatever_it_was_listed_in():
    one = Knowledge(forbidden=[("a", "b")], tiers=[["a"], ["b", "c"]])
    other = Knowledge(forbidden=(["a", "b"],), tiers=(("a",), ("b", "c")))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Knowledge(forbidden=[("b", "a")], tiers=[["a"], ["b", "c"]])
    assert repr(one) == "Knowledge(forbidden=[('a', 'b')], tiers=[['a'], ['b', 'c']])"
    assert eval(repr(one)) == one


def test_knowledge_cannot_be_changed_afterwards():
    with pytest.raises(AttributeError):
        Knowledge().roots = ("a",)


def test_knowledge_of_nothing_is_false_and_allows_everything():
    assert not Knowledge()
    resolved = Knowledge().resolve(NAMES)
    assert edges_of(~resolved.allowed) == {(name, name) for name in NAMES}
    assert not resolved.required.any()


def test_limits_are_one_number_or_numbers_by_column():
    for limit, shown in ((3, "3"), (0, "0"), ({"a": 2, "b_*": 0}, "{'a': 2, 'b_*': 0}"), ({0: 1}, "{0: 1}")):
        known = Knowledge(max_parents=limit)
        assert known
        assert repr(known) == f"Knowledge(max_parents={shown})"
        assert eval(repr(known)) == known
        assert Knowledge.from_dict(known.to_dict()) == known
        assert Knowledge.from_dict(json.loads(json.dumps(known.to_dict()))) == known
        assert hash(known) == hash(eval(repr(known)))
    assert not Knowledge(max_parents={})


def test_a_column_goes_by_its_own_limit_and_else_by_the_least_that_matches_it():
    known = Knowledge(max_parents={"age": 4, "*": 3, "gene_*": 1, "gene_2": 2}).resolve(NAMES)
    assert known.max_parents.tolist() == [4, 3, 3, 1, 2, 3]
    assert known.take(np.array([4, 0])).max_parents.tolist() == [2, 4]
    assert Knowledge(max_parents={5: 1}).resolve(["x0"] * 6, numbered=True).max_parents.tolist() == [5] * 5 + [1]


def test_no_parents_make_a_root():
    limited = Knowledge(max_parents={"age": 0}).resolve(NAMES)
    named = Knowledge(roots=["age"]).resolve(NAMES)
    assert np.array_equal(limited.allowed, named.allowed)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"max_parents": -1}, "max_parents is -1: expected a whole number, 0 or more."),
        (
            {"max_parents": True},
            "max_parents is True: expected a whole number, or a dict of whole numbers by column.",
        ),
        ({"max_parents": 1.5}, "max_parents is 1.5: expected a whole number, or a dict"),
        ({"max_parents": "dose"}, "max_parents is 'dose': expected a whole number, or a dict"),
        (
            {"max_parents": {"dose": "many"}},
            "max_parents of 'dose' is 'many': expected a whole number, 0 or more.",
        ),
        ({"max_parents": ["dose"]}, "max_parents is ['dose']: expected a whole number, or a dict"),
        ({"max_parents": {"does": 1}}, "max_parents names 'does', which is no column; did you mean 'dose'?"),
        (
            {"max_parents": 1, "required": [("age", "dose"), ("diet", "dose")]},
            "'dose' has 2 required parents, 'age', 'diet', but max_parents allows 1. Drop some of these edges, or "
            "raise the limit.",
        ),
        (
            {"max_parents": {"dose": 0}, "required": [("age", "dose")]},
            "'dose' has 1 required parents, 'age', but max_parents allows 0.",
        ),
    ],
)
def test_limits_that_cannot_be_are_told(known, expected):
    with pytest.raises(KnowledgeError, match=re.escape(expected)):
        Knowledge(**known).resolve(NAMES)


def test_files_and_dicts_say_the_same_as_arguments(tmp_path):
    known = Knowledge(
        forbidden=[("age", "dose")],
        required=[("dose", "outcome")],
        tiers=[["age"], ["gene_*"]],
        roots=["age"],
        leaves=["outcome"],
        max_parents={"age": 2, "gene_*": 1},
    )
    (tmp_path / "known.json").write_text(json.dumps(known.to_dict()))
    (tmp_path / "known.toml").write_text(
        'forbidden = [["age", "dose"]]\nrequired = [["dose", "outcome"]]\ntiers = [["age"], ["gene_*"]]\n'
        'roots = ["age"]\nleaves = ["outcome"]\n[max_parents]\nage = 2\n"gene_*" = 1\n'
    )
    assert Knowledge.from_file(tmp_path / "known.json") == known
    assert Knowledge.from_file(str(tmp_path / "known.toml")) == known
    assert Knowledge.from_dict(known.to_dict()) == known


def test_a_pattern_stands_for_all_columns_that_match_and_pairs_none_with_itself():
    resolved = Knowledge(forbidden=[("gene_*", "gene_?")], roots=["d*"]).resolve(NAMES)
    into_roots = {(name, root) for name in NAMES for root in ("dose", "diet") if name != root}
    expected = {("gene_1", "gene_2"), ("gene_2", "gene_1")} | into_roots | {(name, name) for name in NAMES}
    assert edges_of(~resolved.allowed) == expected


def test_a_name_that_a_column_bears_is_that_column_and_no_pattern():
    names = ("x[1]", "x1", "x*", "x2")
    resolved = Knowledge(required=[("x[1]", "x*")]).resolve(names)
    assert [(names[i], names[j]) for i, j in np.argwhere(resolved.required)] == [("x[1]", "x*")]


def test_columns_without_names_are_given_by_position():
    resolved = Knowledge(required=[(0, 2)], tiers=[[2], [1]]).resolve(("x0", "x1", "x2"), numbered=True)
    assert np.argwhere(resolved.required).tolist() == [[0, 2]]
    assert resolved.tier.tolist() == [-1, 1, 0]


def test_numbers_are_names_where_a_frame_has_numbers_for_names():
    assert Knowledge(roots=[7]).resolve(("7", "5")).allowed.tolist() == [[False, True], [False, False]]


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"roots": "age"}, "roots is 'age': expected a list of columns"),
        ({"tiers": ["age"]}, "tiers is 'age': expected lists of columns"),
        ({"tiers": 3}, "tiers is 3: expected a list of lists of columns, from earliest to latest"),
        ({"forbidden": ["ab"]}, r"forbidden holds 'ab': expected a list of pairs \(cause, effect\)"),
        ({"required": [("a", "b", "c")]}, r"required holds \('a', 'b', 'c'\): expected a list of pairs"),
        ({"leaves": [None]}, "leaves holds None: expected a list of columns, by name or position"),
        ({"leaves": [True]}, "leaves holds True"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_expected(known, message):
    with pytest.raises(KnowledgeError, match=message):
        Knowledge(**known)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"roots": ["agee"]}, "roots names 'agee', which is no column; did you mean 'age'?"),
        ({"leaves": ["x"]}, "leaves names 'x', which is no column; the columns are 'age', .* and 1 more"),
        ({"tiers": [["prot_*"]]}, r"tiers has the pattern 'prot_\*', but no column matches it"),
        ({"roots": [9]}, "roots names '9', which is no column"),
        ({"forbidden": [("age", "age")]}, "forbidden has an edge from 'age' to itself"),
        ({"tiers": [["gene_*"], ["gene_2"]]}, "column 'gene_2' is in tiers 1 and 2"),
        (
            {"required": [("age", "dose")], "forbidden": [("age", "*")]},
            "the edge 'age' -> 'dose' is both required and forbidden",
        ),
        ({"required": [("age", "dose")], "roots": ["dose"]}, "'age' -> 'dose' is required, but 'dose' is a root"),
        ({"required": [("age", "dose")], "leaves": ["a*"]}, "'age' -> 'dose' is required, but 'age' is a leaf"),
        (
            {"required": [("outcome", "age")], "tiers": [["age"], ["outcome"]]},
            "'outcome' -> 'age' is required, but the tiers put 'age' before 'outcome'",
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
    ],
)
def test_contradictions_are_refused_with_the_pair_or_the_cycle(known, message, table):
    with pytest.raises(KnowledgeError, match=message):
        Daguerreotype(knowledge=known).fit(table)


def test_a_position_beyond_the_table_is_refused(rng):
    with pytest.raises(KnowledgeError, match="roots names column 3, but the columns go from 0 to 2"):
        Daguerreotype(knowledge={"roots": [3]}).fit(rng.normal(size=(30, 3)))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("known.yaml", "", "must end in .toml or .json"),
        ("known.json", "{", "known.json: Expecting"),
        ("known.toml", "tiers = [", "known.toml: "),
        ("known.json", "[]", "expected a table with keys such as forbidden"),
        ("known.json", '{"teirs": []}', "'teirs' is no kind of knowledge: expected some of forbidden, required"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_name(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(KnowledgeError, match=message):
        Knowledge.from_file(tmp_path / name)


def test_what_is_no_knowledge_is_refused(table):
    with pytest.raises(TypeError, match=r"knowledge is a list: expected Knowledge\(...\), a dict"):
        Daguerreotype(knowledge=[("age", "dose")]).fit(table)


# ------------------------------------------------------------------ the learner


@pytest.mark.parametrize("form", ["object", "dict", "path"])
def test_the_learner_takes_knowledge_in_every_form(form, table, tmp_path):
    known = {"forbidden": [["age", "dose"], ["dose", "age"]]}
    (tmp_path / "known.json").write_text(json.dumps(known))
    given = {"object": Knowledge(**known), "dict": known, "path": tmp_path / "known.json"}[form]
    graph = make_learner(knowledge=given, **QUICK).fit(table).causal_graph_
    free = make_learner(**QUICK).fit(table).causal_graph_
    assert {("age", "dose"), ("dose", "age")} & set(free.edges)
    assert not {("age", "dose"), ("dose", "age")} & set(graph.edges)


def test_tiers_turn_the_edges_that_the_data_leave_open(table):
    backwards = [[name] for name in reversed(NAMES)]
    model = make_learner(knowledge=Knowledge(tiers=backwards), **QUICK).fit(table)
    assert model.causal_order_ == list(reversed(NAMES))
    assert ("dose", "age") in model.causal_graph_.edges


def test_an_edge_against_the_data_is_there_if_required(table):
    free = make_learner(**QUICK).fit(table)
    assert ("age", "outcome") not in free.causal_graph_.edges
    model = make_learner(knowledge={"required": [("age", "outcome")]}, **QUICK).fit(table)
    assert ("age", "outcome") in model.causal_graph_.edges
    assert model.edge_probabilities_.loc["age", "outcome"] == pytest.approx(1)


def test_what_is_known_is_the_same_whatever_the_order_of_the_columns(table):
    known = Knowledge(required=[("outcome", "gene_1")], tiers=[["outcome"], ["age"]], leaves=["gene_2"])
    first = make_learner(knowledge=known, random_state=None, **QUICK).fit(table)
    shuffled = table[["gene_2", "age", "outcome", "dose", "gene_1", "diet"]]
    second = make_learner(knowledge=known, random_state=None, **QUICK).fit(shuffled)
    assert set(first.causal_graph_.edges) == set(second.causal_graph_.edges)


def test_a_fixed_order_that_breaks_knowledge_is_refused_with_the_pair(table):
    learner = make_learner(
        operator="fixed", start=list(NAMES), knowledge={"tiers": [["outcome"], ["diet"]]}, **QUICK
    )
    with pytest.raises(
        KnowledgeError, match="the fixed order puts 'diet' before 'outcome', but knowledge says that 'outcome'"
    ):
        learner.fit(table)


def test_random_orders_obey(table):
    known = {"tiers": [["outcome", "gene_*"], ["age"]], "required": [("diet", "outcome")]}
    orders = []
    for seed in range(10):
        learner = Daguerreotype(
            edges="bic", knowledge=known, scales="none", random_state=seed, operator=RandomOrder()
        )
        order = learner.fit(table).causal_order_
        assert max(map(order.index, ("outcome", "gene_1", "gene_2"))) < order.index("age")
        assert order.index("diet") < order.index("outcome")
        orders.append(tuple(order))
    assert len(set(orders)) > 5


def test_scores_to_start_from_are_moved_to_the_nearest_that_obey(table):
    scores = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    learner = make_learner(start=scores, knowledge={"required": [("age", "outcome")]}, **QUICK)
    theta = learner.set_params(training__max_iter=1, training__refine=False).fit(table).theta_
    assert theta.tolist() == [2.5, 4.0, 3.0, 2.0, 1.0, 2.5]


def deaf(theta, tau):
    """An operator that knows of no precedence."""
    return top_k_sparsemax(theta, 5, tau=tau)


def listening(theta, tau, precedence=None):
    """An operator that asks for it."""
    return top_k_sparsemax(theta, 5, tau=tau, precedence=precedence)


def test_an_operator_that_disobeys_is_refused_with_the_pair_and_the_way_out(table):
    learner = make_learner(operator=deaf, knowledge={"required": [("age", "outcome")]}, **QUICK)
    message = "returned a ranking with 'outcome' before 'age'.* Give it a parameter precedence"
    with pytest.raises(ValueError, match=message):
        learner.fit(table)


def test_an_operator_that_asks_for_the_precedence_gets_it(table):
    model = make_learner(operator=listening, knowledge={"required": [("age", "outcome")]}, **QUICK).fit(table)
    ranks = model.order_distribution_.ranks
    assert (ranks[:, 0] < ranks[:, 5]).all()


class OwnEdges(EdgeEstimator):
    """An estimator that was written before knowledge was thought of, but has fast moves."""

    def prepare(self, table):
        return BicEdges().prepare(table)


def test_an_estimator_that_cannot_keep_edges_is_refused_with_the_method_to_add(table):
    learner = make_learner(knowledge={"required": [("age", "outcome")]}, **{**QUICK, "edges": OwnEdges()})
    with pytest.raises(
        TypeError, match=r"requires the edge 'age' -> 'outcome', but OwnEdges .* let prepare\(table, rules\) keep"
    ):
        learner.fit(table)


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


def test_an_estimator_that_breaks_its_promise_is_found_out(table):
    learner = make_learner(knowledge={"required": [("age", "outcome")]}, **{**QUICK, "edges": ForgetfulEdges()})
    with pytest.raises(ValueError, match="the edge estimator left out 'age' as a parent of 'outcome'"):
        learner.fit(table)
    known = Knowledge(forbidden=[("*", "*")])
    with pytest.raises(ValueError, match=r"the edge estimator chose '.*' as a parent of '.*', against knowledge"):
        make_learner(knowledge=known, **{**QUICK, "edges": StubbornEdges()}).fit(table)


def test_an_estimator_of_ones_own_obeys_forbidden_edges_and_tiers_without_help(table):
    known = Knowledge(forbidden=[("age", "dose"), ("dose", "age"), ("diet", "*")], tiers=[["outcome"], ["gene_*"]])
    own = make_learner(knowledge=known, penalty=1.0, **{**QUICK, "edges": OwnEdges()}).fit(table)
    ours = make_learner(knowledge=known, penalty=1.0, **QUICK).fit(table)
    assert set(own.causal_graph_.edges) == set(ours.causal_graph_.edges)
    assert not any(cause == "diet" for cause, _ in own.causal_graph_.edges)


def test_training_does_not_go_on_from_a_checkpoint_under_other_knowledge(table, tmp_path):
    file = tmp_path / "checkpoint"
    make_learner(knowledge={"forbidden": [("age", "dose")]}, **QUICK).fit(table, resume=file)
    make_learner(knowledge={"forbidden": [("age", "dose")]}, **QUICK).fit(table, resume=file)
    with pytest.raises(ValueError, match="constraints differ"):
        make_learner(knowledge={"forbidden": [("age", "diet")]}, **QUICK).fit(table, resume=file)
