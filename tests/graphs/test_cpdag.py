"""Equivalence classes against the enumeration of every DAG on up to five nodes."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype import Daguerreotype
from daguerreotype.graphs import as_dag, consistent_extension, equivalence_class, to_cpdag

NUMBER_OF_DAGS = {1: 1, 2: 3, 3: 25, 4: 543, 5: 29281}  # Robinson 1973
NUMBER_OF_CLASSES = {1: 1, 2: 2, 3: 11, 4: 185, 5: 8782}  # Gillispie and Perlman 2001


def all_simple_graphs(d, marks):
    """Every graph with, for each pair of nodes, one of the marks (entry ij, entry ji)."""
    pairs = list(combinations(range(d), 2))
    choices = np.array(list(product(marks, repeat=len(pairs))), dtype=bool)
    choices = choices.reshape(len(marks) ** len(pairs), len(pairs), 2)
    graphs = np.zeros((len(choices), d, d), dtype=bool)
    for column, (i, j) in enumerate(pairs):
        graphs[:, i, j], graphs[:, j, i] = choices[:, column, 0], choices[:, column, 1]
    return graphs


def all_dags(d):
    graphs = all_simple_graphs(d, [(0, 0), (1, 0), (0, 1)])
    walks = graphs.astype(np.int64)
    for _ in range(d - 1):
        walks = (walks @ graphs > 0).astype(np.int64)
    return graphs[~walks.any(axis=(1, 2))]  # no walk of d edges: no cycle


def skeleton(graphs):
    return graphs | graphs.swapaxes(-1, -2)


def v_structures(directed, adjacent):
    """[..., a, b, c]: a -> b <- c with a and c not adjacent."""
    apart = ~adjacent & ~np.eye(adjacent.shape[-1], dtype=bool)
    a_to_b, c_to_b = directed[..., :, :, None], directed.swapaxes(-1, -2)[..., None, :, :]
    return a_to_b & c_to_b & apart[..., :, None, :]


def class_keys(dags):
    features = (skeleton(dags), v_structures(dags, skeleton(dags)))
    return [row.tobytes() for row in np.hstack([x.reshape(len(dags), -1) for x in features])]


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_the_cpdag_holds_the_edges_of_all_dags_of_the_class_and_extends_to_one_of_them(d):
    dags = all_dags(d)
    assert len(dags) == NUMBER_OF_DAGS[d]
    classes = {}
    for dag, key in zip(dags, class_keys(dags), strict=True):
        classes.setdefault(key, []).append(dag)
    assert len(classes) == NUMBER_OF_CLASSES[d]
    # Of five nodes there are 8782 classes: every sixteenth will do.
    for key, members in list(classes.items())[:: 16 if d == 5 else 1]:
        union = np.any(members, axis=0)
        assert all((to_cpdag(member) == union).all() for member in members)
        extension = consistent_extension(union)
        assert class_keys(as_dag(extension).adjacency[None]) == [key]


@pytest.mark.parametrize("d", [2, 3, 4])
def test_a_partially_directed_graph_is_extended_exactly_when_some_dag_extends_it(d):
    dags = all_dags(d)
    structures = v_structures(dags, skeleton(dags))
    outcomes = set()
    for pdag in all_simple_graphs(d, [(0, 0), (1, 0), (0, 1), (1, 1)]):
        directed = pdag & ~pdag.T
        fits = (
            (skeleton(dags) == skeleton(pdag)).all(axis=(1, 2))
            & (structures == v_structures(directed, skeleton(pdag))).all(axis=(1, 2, 3))
            & (dags | ~directed).all(axis=(1, 2))
        )
        outcomes.add(bool(fits.any()))
        if fits.any():
            assert (consistent_extension(pdag) == dags[fits]).all(axis=(1, 2)).any()
        else:
            with pytest.raises(ValueError, match="no DAG extends the graph: its edges among"):
                consistent_extension(pdag)
    assert outcomes == ({True, False} if d > 2 else {True})


@given(st.integers(6, 30), st.floats(0, 1), st.integers(0, 10**6))
def test_extending_the_class_of_a_larger_dag_stays_in_the_class(random_dag, d, density, seed):
    dag = random_dag(np.random.default_rng(seed), d, density)
    cpdag = to_cpdag(dag)
    extension = as_dag(consistent_extension(cpdag)).adjacency
    assert class_keys(extension[None]) == class_keys(dag[None])
    assert (to_cpdag(extension) == cpdag).all()
    found = equivalence_class(dag)
    assert {*found.compelled} == {(i, j) for i, j in np.argwhere(cpdag) if not cpdag[j, i]}
    assert sorted(map(list, found.compelled + found.reversible)) == np.argwhere(dag).tolist()


def test_a_learner_tells_its_class_by_name():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    both = a + b + rng.normal(size=500)
    X = pd.DataFrame({"both": both, "a": a, "b": b, "c": rng.normal(size=500)})
    X["d"] = X["c"] + rng.normal(size=500)
    model = Daguerreotype(edges="bic", scales="none").fit(X)
    found = model.equivalence_class()
    assert found.compelled == [("a", "both"), ("b", "both")]
    assert [set(edge) for edge in found.reversible] == [{"c", "d"}]
    np.testing.assert_array_equal(to_cpdag(model), to_cpdag(model.adjacency_matrix_))


def test_graphs_without_a_class_or_an_extension_are_refused():
    with pytest.raises(ValueError, match="the graph has an edge from 1 to itself; expected none"):
        consistent_extension([[0, 1], [1, 1]])
    ring = np.roll(np.eye(4, dtype=int), 1, axis=1)
    with pytest.raises(ValueError, match="no DAG extends the graph: its edges among 0, 1, 2, 3 force"):
        consistent_extension(ring + ring.T)
    with pytest.raises(TypeError, match="the graph is a Daguerreotype that is not fitted"):
        to_cpdag(Daguerreotype())
