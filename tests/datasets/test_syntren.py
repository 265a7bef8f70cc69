"""SynTReN from a folder, and from a server on loopback that has small files in place of the published ones."""

import io
import socket
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from daguerreotype.datasets import load_syntren, syntren

# The published files may lie in a folder beside the checkout; they are not part of the repository.
SHARED = Path(__file__).parents[3] / "shared" / "data"
TABLE = np.arange(12.0).reshape(4, 3)
GRAPH = np.triu(np.ones((3, 3)), 1)


def as_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


FILES = {"syntren/data1.npy": as_npy(TABLE), "syntren/DAG1.npy": as_npy(GRAPH)}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path.removeprefix("/home/"))
        self.send_response(200 if content else 404)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, small_files):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.files, httpd.asked = dict(FILES), []
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setattr(syntren, "BASE_URL", f"http://127.0.0.1:{httpd.server_port}/home/")
        yield httpd
        httpd.shutdown()
        thread.join()


@pytest.fixture
def nobody(monkeypatch):
    """An address at which nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        address = f"http://127.0.0.1:{closed_again.getsockname()[1]}/home/"
    monkeypatch.setattr(syntren, "BASE_URL", address)
    return address


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.delenv("DAGUERREOTYPE_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache" / "daguerreotype"


@pytest.fixture
def small_files(monkeypatch):
    sums = {name: sha256(content).hexdigest() for name, content in FILES.items()}
    monkeypatch.setattr(syntren, "_checksums", lambda: sums)


def files_under(folder):
    return sorted(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file())


def test_a_good_file_is_downloaded_once_and_then_read_from_the_cache(server, cache):
    first, second = load_syntren(1), load_syntren(1)
    np.testing.assert_array_equal(first.X, TABLE)
    np.testing.assert_array_equal(first.adjacency, GRAPH)
    assert second.X.equals(first.X)
    assert server.asked == ["/home/syntren/data1.npy", "/home/syntren/DAG1.npy"]
    assert files_under(cache) == ["syntren/DAG1.npy", "syntren/data1.npy"]


def test_a_file_that_is_missing_or_has_the_wrong_checksum_is_refused_and_not_kept(server, cache):
    server.files["syntren/data1.npy"] = as_npy(TABLE + 1.0)
    with pytest.raises(ValueError, match=r"http://127.*data1.npy is not the published file.*DAGUERREOTYPE_DATA"):
        load_syntren(1)
    del server.files["syntren/data1.npy"]
    with pytest.raises(ConnectionError, match=r"data1.npy: 404"):
        load_syntren(1)
    assert files_under(cache) == []


def test_a_cached_file_that_was_cut_off_is_downloaded_again(server, cache):
    load_syntren(1)
    (cache / "syntren" / "data1.npy").write_bytes(FILES["syntren/data1.npy"][:100])
    np.testing.assert_array_equal(load_syntren(1).X, TABLE)
    assert server.asked.count("/home/syntren/data1.npy") == 2


def test_a_folder_of_the_users_comes_before_the_variable_and_that_before_the_cache(
    server, cache, tmp_path, monkeypatch
):
    monkeypatch.setenv("DAGUERREOTYPE_DATA", "")  # as if it were unset
    for number, named in enumerate((None, "variable", "argument")):
        if named == "variable":
            monkeypatch.setenv("DAGUERREOTYPE_DATA", str(tmp_path / named))
        load_syntren(1, data_home=tmp_path / named if named == "argument" else None)
        assert files_under(cache if named is None else tmp_path / named) == sorted(FILES)
        assert len(server.asked) == 2 * number + 2


def test_no_network_tells_the_address_the_folder_and_the_variable(nobody, cache):
    with pytest.raises(ConnectionError) as caught:
        load_syntren(1)
    message = str(caught.value)
    assert message.startswith(f"cannot download {nobody}syntren/data1.npy: ")
    assert f"put it at {str(cache / 'syntren' / 'data1.npy')!r}" in message
    assert "pass that folder as data_home or set the environment variable DAGUERREOTYPE_DATA to it" in message
    assert files_under(cache) == []


def test_a_network_that_does_not_exist_is_refused():
    for network in (0, 11, 2.5, "3"):
        with pytest.raises(ValueError, match=rf"network={network!r} is not a SynTReN network: give 1 to 10, or"):
            load_syntren(network)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no benchmark data beside the checkout")
def test_all_ten_networks_are_the_published_files(nobody):
    networks = load_syntren(data_home=SHARED)
    assert [data.name for data in networks] == [f"syntren-{k}" for k in range(1, 11)]
    for k, data in enumerate(networks, start=1):
        np.testing.assert_array_equal(data.X, np.load(SHARED / "syntren" / f"data{k}.npy"))
        np.testing.assert_array_equal(data.adjacency, np.load(SHARED / "syntren" / f"DAG{k}.npy"))
        assert data.X.shape == (500, 20)
        assert list(data.X.columns) == [f"G{j}" for j in range(1, 21)]
        assert list(data.adjacency.index) == list(data.adjacency.columns) == list(data.X.columns)
        assert nx.is_directed_acyclic_graph(nx.from_pandas_adjacency(data.adjacency, nx.DiGraph))
    assert repr(networks[0]) == "Dataset('syntren-1': 500 rows, 20 columns, 24 edges)"
    assert networks[0].description.startswith("Network 1 of ten")
    assert "BMC Bioinformatics 7:43" in networks[0].source
