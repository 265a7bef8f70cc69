import shutil

import networkx as nx
import numpy as np
import pytest

from daguerreotype.datasets import load_syntren, syntren


@pytest.fixture(autouse=True)
def unset_variable(monkeypatch):
    monkeypatch.delenv("DAGUERREOTYPE_DATA", raising=False)


@pytest.fixture(autouse=True)
def no_download(monkeypatch):
    def refuse(name, *, base_url):
        raise AssertionError(f"{name} was about to be downloaded")

    monkeypatch.setattr(syntren, "_fetch", refuse)


@pytest.fixture
def published(tmp_path, shared):
    shutil.copytree(shared / "syntren", tmp_path / "syntren", copy_function=shutil.copyfile)
    return tmp_path


def test_all_ten_networks_are_the_published_files(shared):
    networks = load_syntren(data_home=shared)
    assert [data.name for data in networks] == [f"syntren-{k}" for k in range(1, 11)]
    for k, data in enumerate(networks, start=1):
        np.testing.assert_array_equal(data.X, np.load(shared / "syntren" / f"data{k}.npy"))
        np.testing.assert_array_equal(data.adjacency, np.load(shared / "syntren" / f"DAG{k}.npy"))
        assert data.X.shape == (500, 20)
        assert list(data.X.columns) == [f"G{j}" for j in range(1, 21)]
        assert list(data.adjacency.index) == list(data.adjacency.columns) == list(data.X.columns)
        assert nx.is_directed_acyclic_graph(nx.from_pandas_adjacency(data.adjacency, nx.DiGraph))
    assert repr(networks[0]) == "Dataset('syntren-1': 500 rows, 20 columns, 24 edges)"
    assert networks[0].description.startswith("Network 1 of ten")
    assert "BMC Bioinformatics 7:43" in networks[0].source


def test_data_home_comes_before_the_environment_variable(published, tmp_path_factory, shared, monkeypatch):
    (published / "syntren" / "DAG2.npy").write_bytes(b"spoilt")
    monkeypatch.setenv("DAGUERREOTYPE_DATA", str(published))
    load_syntren(2, data_home=shared)
    with pytest.raises(ValueError, match=r"DAG2\.npy' is not the published file"):
        load_syntren(2, data_home=tmp_path_factory.mktemp("empty"))


def test_an_empty_environment_variable_counts_as_unset(shared, monkeypatch):
    monkeypatch.setenv("DAGUERREOTYPE_DATA", "")
    monkeypatch.chdir(shared)  # an empty path would be the working directory
    with pytest.raises(AssertionError, match=r"syntren/data1.npy was about to be downloaded"):
        load_syntren(1)


@pytest.mark.parametrize("name", ["data5.npy", "DAG5.npy"])
def test_a_file_that_was_changed_is_refused_by_name(name, published):
    path = published / "syntren" / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    expected = (
        rf"{name}' is not the published file: its SHA-256 is \w{{64}}, expected \w{{64}}. Replace it by https"
    )
    with pytest.raises(ValueError, match=expected):
        load_syntren(5, data_home=published)


def test_a_network_and_a_folder_that_do_not_exist_are_refused(tmp_path, monkeypatch):
    for network in (0, 11, 2.5, "3"):
        with pytest.raises(
            ValueError, match=rf"network={network!r} is not a SynTReN network: give 1 to 10, or None"
        ):
            load_syntren(network)
    nowhere = r"names '.*nowhere', which is not a folder. Give the folder"
    with pytest.raises(ValueError, match=f"data_home {nowhere}"):
        load_syntren(1, data_home=tmp_path / "nowhere")
    monkeypatch.setenv("DAGUERREOTYPE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=f"variable DAGUERREOTYPE_DATA {nowhere}"):
        load_syntren(1)
