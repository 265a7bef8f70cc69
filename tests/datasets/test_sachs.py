import dataclasses
import doctest
import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import daguerreotype
from daguerreotype.datasets import dataset, load_sachs, sachs

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
BORDERS = (853, 1755, 2666, 3389, 4199, 4998, 5846, 6759)


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


def test_the_columns_carry_their_names_from_the_first_row_to_the_last(everything):
    names = ["Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk"]
    assert list(everything.X.columns) == names
    assert everything.X.iloc[0].tolist() == [
        26.4,
        13.2,
        8.82,
        18.3,
        58.8,
        6.61,
        17.0,
        414.0,
        17.0,
        44.9,
        40.0,
    ]
    assert everything.X.iloc[-1].tolist() == [30.5, 1.01, 7.3, 173.0, 22.9, 6.61, 13.7, 890.0, 1.0, 1.0, 1.65]


def test_the_observational_rows_are_the_first_853(observed, everything):
    assert observed.X.shape == (853, 11)
    assert observed.X.equals(everything.X.iloc[:853])
    assert observed.conditions is None
    assert observed.interventions is None


def test_the_observational_rows_and_the_graph_are_those_of_the_benchmark_files(observed, shared):
    names = json.loads((shared / "sachs" / "names.json").read_text())
    np.testing.assert_array_equal(observed.X[names], np.load(shared / "sachs" / "data.npy"))
    np.testing.assert_array_equal(observed.adjacency.loc[names, names], np.load(shared / "sachs" / "dag.npy"))


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
    starts = [0, *BORDERS]
    seen = [(everything.conditions[row], everything.interventions[row]) for row in starts]
    assert seen == [(name, target) for name, _, target in sachs.CONDITIONS]
    changes = everything.conditions.ne(everything.conditions.shift()).to_numpy().nonzero()[0]
    assert changes.tolist() == starts


def test_a_row_without_a_target_says_none_and_not_nan(everything):
    untouched = everything.interventions[:1755]
    assert all(target is None for target in untouched)
    assert set(everything.interventions[1755:]) == {"Akt", "PKC", "PIP2", "Mek", "PKA"}


@pytest.mark.parametrize("border", BORDERS)
def test_the_levels_shift_where_one_condition_gives_way_to_the_next(border, everything):
    levels, window = np.log(everything.X.to_numpy()), 150

    def shift(row):
        before, after = levels[row - window : row], levels[row : row + window]
        return np.sum((before.mean(0) - after.mean(0)) ** 2 / (before.var(0) + after.var(0)))

    around = range(border - 75, border + 75)
    assert abs(max(around, key=shift) - border) <= 5


def test_the_description_is_right_about_mek_and_erk_under_u0126(everything):
    means = np.log(everything.X).groupby(everything.conditions).mean()
    blocked, control = means.loc["anti-CD3/CD28 + U0126"], means.loc["anti-CD3/CD28"]
    assert blocked["Mek"] > control["Mek"]
    assert blocked["Erk"] < control["Erk"]


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


@pytest.mark.parametrize("module", [dataset, sachs])
def test_the_examples_in_the_docstrings_hold(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_table_is_read_from_a_zipped_package(tmp_path):
    package = Path(daguerreotype.__file__).parent
    staged = tmp_path / "staged" / "daguerreotype"
    for name in ("datasets", "_lib"):
        shutil.copytree(package / name, staged / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package / "__init__.py", staged / "__init__.py")
    archive = shutil.make_archive(str(tmp_path / "package"), "zip", staged.parent)
    code = (
        f"import sys; sys.path.insert(0, {archive!r})\n"
        "from daguerreotype.datasets import load_sachs, syntren\n"
        "print(syntren.__file__, len(syntren._checksums()), load_sachs())"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith(archive)
    assert shown.endswith(" 20 Dataset('sachs': 853 rows, 11 columns, 17 edges)\n")


def test_the_notice_names_the_origin_and_the_licence_of_the_table():
    notice = (Path(__file__).parents[2] / "NOTICE").read_text()
    for words in ("Science 308:523-529", "cdt 0.6.0", "Diviyan Kalainathan", "BMC Bioinformatics 7:43"):
        assert words in notice
