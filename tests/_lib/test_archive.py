"""Archives that come from anyone: whole ones come back, and none takes more memory than its size allows."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

from daguerreotype._lib import archive as module
from daguerreotype._lib.archive import UnreadableError, read_archive, write_archive
from support.memory import at_most

MIB = 2**20
LITTLE = 32 * MIB


@pytest.fixture
def path(tmp_path):
    return tmp_path / "archive.npz"


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def start(shape, descr, by_columns=False):
    """The beginning of an array that promises such numbers, and has none."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"shape": shape, "descr": descr, "fortran_order": by_columns})
    return file.getvalue()


def pack(path, members, header=b"{}", kind=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("header.npy", npy(np.frombuffer(header, np.uint8)))
        for name, content in members:
            archive.writestr(name, content)


def test_arrays_and_header_come_back(path):
    arrays = {
        "float": np.arange(6.0).reshape(2, 3),
        "by columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "empty": np.zeros((0, 3)),
        "single": np.array(3, dtype=np.int32),
        "truth": np.array([True, False]),
    }
    for compress in (False, True):
        write_archive(path, arrays, {"a": [1, "é"]}, compress=compress)
        read, header = read_archive(path)
        assert header == {"a": [1, "é"]}
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(read[name], array)
            assert read[name].dtype == array.dtype
            assert read[name].flags.writeable


def test_arrays_that_shrink_to_nothing_are_written_so_that_they_can_be_read(path, monkeypatch):
    monkeypatch.setattr(module, "MIB", 1)
    write_archive(path, {"zeros": np.zeros(100_000)}, {}, compress=True)
    assert path.stat().st_size > 800_000
    assert not read_archive(path)[0]["zeros"].any()


BOMBS = (
    [("zeros.npy", npy(np.zeros(300 * MIB, np.uint8)))],  # more than the file can hold
    [(f"{i}.npy", npy(np.zeros(30 * MIB, np.uint8))) for i in range(10)],
    [("a.npy", start((2**33,), "<f8"))],  # a shape without numbers
    [("a.npy", start((1,), "<U800000000"))],
    [("a.npy", start((4,), "|V800000000"))],
    [("a.npy", start((-1,), "<f8") + bytes(8))],
    [("a.npy", start((3,), "<f8") + bytes(16))],  # too few numbers
    [("a.npy", npy(np.array([{}], dtype=object)))],
    [("a.npy", b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b"{" * 1000)],  # a long start
    [("a.npy", b"\x93NUMPY\x03\x00" + bytes(100))],  # another version
    [("a.py", b"import os")],
    [("a.npy", npy(np.zeros(1)))] * 2,
)
HEADERS = (b"[" * 100_000, b"[]", b"{", b" " * (17 * MIB) + b"{}")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_bombs_and_headers_that_nobody_wrote_are_refused_before_they_are_unpacked(path):
    for members, header in [*((bomb, b"{}") for bomb in BOMBS), *(([], header) for header in HEADERS)]:
        pack(path, members, header)
        with at_most(LITTLE), pytest.raises(UnreadableError):
            read_archive(path)


def test_other_ways_of_packing_are_refused(path):
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        pack(path, [], kind=kind)
        with pytest.raises(UnreadableError, match="packed in a way"):
            read_archive(path)


def test_a_long_header_comes_back(path):
    words = {"names": ["x" * 1000] * 20_000}
    write_archive(path, {}, words, compress=True)
    assert read_archive(path)[1] == json.loads(json.dumps(words))


def test_devices_pipes_and_folders_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path.__class__("/dev/zero")):
        with pytest.raises(UnreadableError, match="is a device or a pipe"):
            read_archive(path)
    with pytest.raises(OSError, match="directory"):
        read_archive(tmp_path)
