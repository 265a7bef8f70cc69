import dataclasses
from hashlib import sha256
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from daguerreotype.datasets import load_sachs, sachs

# each molecule's parents as the file sachs.bif of the bnlearn repository lists them
PARENTS = {
    "Akt": {"Erk", "PKA"},
    "Erk": {"Mek", "PKA"},
    "Jnk": {"PKA", "PKC"},
    "Mek": {"PKA", "PKC", "Raf"},
    "P38": {"PKA", "PKC"},
    "PIP2": {"PIP3", "Plcg"},
    "PIP3": {"Plcg"},
    "PKA": {"PKC"},
    "PKC": set(),
    "Plcg": set(),
    "Raf": {"PKA", "PKC"},
}


@pytest.fixture(scope="module")
def observed():
    return load_sachs()


@pytest.fixture(scope="module")
def everything():
    return load_sachs(interventional=True)


def test_the_packaged_table_writes_out_as_the_published_csv_byte_for_byte(everything):
    header = "praf,pmek,plcg,PIP2,PIP3,p44/42,pakts473,PKA,PKC,P38,pjnk\n"
    rows = (",".join(map(repr, row)) + "\n" for row in everything.X.to_numpy().tolist())
    digest = sha256((header + "".join(rows)).encode()).hexdigest()
    assert digest == "fc331dcd0bc1d8765986b88cd1d23dd5a3f52e4ffc299fdf96de9d522ddf01aa"  # cdt 0.6.0
    names = ["Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk"]
    assert list(everything.X.columns) == names


def test_the_observational_rows_are_the_first_853(observed, everything):
    assert observed.X.shape == (853, 11)
    assert observed.X.equals(everything.X.iloc[:853])
    assert observed.conditions is None
    assert observed.interventions is None


@pytest.mark.parametrize("interventional", [False, True])
def test_the_graph_is_the_acyclic_consensus_of_17_edges(interventional):
    data = load_sachs(interventional=interventional)
    graph = nx.from_pandas_adjacency(data.adjacency, create_using=nx.DiGraph)
    assert {node: set(graph.predecessors(node)) for node in graph} == PARENTS
    assert nx.is_directed_acyclic_graph(graph)
    assert list(data.adjacency.index) == list(data.adjacency.columns) == list(data.X.columns)
    assert graph.number_of_edges() == 17


def test_each_row_names_its_condition_and_the_column_it_acts_on(everything):
    assert everything.X.shape == (7466, 11)
    assert len(everything.conditions) == len(everything.interventions) == 7466
    starts = np.cumsum([0, 853, 902, 911, 723, 810, 799, 848, 913])  # of the nine files, as published
    seen = [(everything.conditions[row], everything.interventions[row]) for row in starts]
    assert seen == [(name, target) for name, _, target in sachs.CONDITIONS]
    changes = everything.conditions.ne(everything.conditions.shift()).to_numpy().nonzero()[0]
    assert changes.tolist() == starts.tolist()
    assert all(target is None for target in everything.interventions[:1755])  # not NaN


def test_changing_a_loaded_table_leaves_the_next_one_as_published(observed):
    scribbled = load_sachs()
    scribbled.X.iloc[:, :] = 0.0
    scribbled.adjacency.iloc[:, :] = 0
    assert load_sachs().X.equals(observed.X)
    assert load_sachs().adjacency.equals(observed.adjacency)


def test_a_record_is_frozen_and_says_where_it_comes_from(observed, everything):
    with pytest.raises(dataclasses.FrozenInstanceError):
        observed.X = None
    for data in (observed, everything):
        assert "Science 308:523-529" in data.source
        assert f"{len(data.X)} single human T cells" in data.description
    assert (observed.name, everything.name) == ("sachs", "sachs-interventional")


def test_the_notice_names_the_origin_and_the_licence_of_the_table():
    notice = (Path(__file__).parents[2] / "NOTICE").read_text()
    for words in ("Science 308:523-529", "cdt 0.6.0", "Diviyan Kalainathan", "BMC Bioinformatics 7:43"):
        assert words in notice
