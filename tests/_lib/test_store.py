"""Work that is gone on with: fingerprints tell runs apart, locks keep others out, journals survive kills."""

import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from daguerreotype._lib.store import InUseError, Journal, differences, digest, sole_use
from support.children import environment
from support.waiting import wait_until


def test_a_digest_tells_arrays_apart_by_shape_type_values_and_number_and_not_by_layout():
    table = np.arange(6.0).reshape(2, 3)
    others = ([table.reshape(3, 2)], [table.astype(int)], [table + np.eye(2, 3)], [table, np.zeros(0)], [])
    assert len({digest(table), *(digest(*arrays) for arrays in others)}) == 6
    assert digest(table) == digest(np.asfortranarray(table)) == digest(np.hstack([table, table])[:, :3])


def test_differences_name_what_was_and_is_and_spare_the_reader_digests():
    assert differences({"k": 10}, {"k": 10}) == ""
    saved, given = {"k": 10, "digest of data": "a1", "tau": 1.0}, {"tau": 1.0, "digest of data": "b2", "seed": 3}
    assert differences(saved, given) == "k was 10 and is now None; data differ; seed was None and is now 3"


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")

HOLDS = """
import sys
from pathlib import Path
from daguerreotype._lib.store import sole_use
from support.waiting import never_end
with sole_use(Path(sys.argv[1])):
    Path(sys.argv[2]).touch()
    never_end()
"""


def test_a_path_is_one_user_s_at_a_time(tmp_path):
    path = tmp_path / "file"
    with (
        sole_use(path),
        sole_use(tmp_path / "another"),
        pytest.raises(InUseError, match="file is in use by another process"),
        sole_use(path),
    ):
        pass
    with sole_use(path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_process_that_is_killed_leaves_the_path_free(tmp_path):
    path, begun = tmp_path / "file", tmp_path / "begun"
    with subprocess.Popen([sys.executable, "-c", HOLDS, path, begun], env=environment()) as child:
        try:
            wait_until(begun.exists, lambda: child.poll() is None)
            with pytest.raises(InUseError), sole_use(path):
                pass
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
    with sole_use(path):
        pass
    assert os.listdir(tmp_path) == ["begun"]


def test_a_folder_that_vanishes_meanwhile_is_no_error_and_one_that_is_not_there_is(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    with sole_use(folder / "file"):
        (folder / "file.lock").unlink()
        folder.rmdir()
    with pytest.raises(FileNotFoundError), sole_use(folder / "file"):
        pass


# ---------------------------------------------------------------------------- journals


def journal(path, **settings):
    return Journal(path, "fruit", {"seed": 1, **settings})


def test_records_come_back_to_whoever_reads_each_once(tmp_path):
    mine, theirs = journal(tmp_path / "fruit"), journal(tmp_path / "fruit")
    assert mine.read() == []
    mine.append({"apple": [1, "é"]})
    assert theirs.read() == [{"apple": [1, "é"]}]
    theirs.append({"pear": 2.5})
    assert theirs.read() == [{"pear": 2.5}]
    assert mine.read() == journal(tmp_path / "fruit").read() == [{"apple": [1, "é"]}, {"pear": 2.5}]


def test_a_journal_cut_anywhere_has_the_whole_records_before_and_goes_on(tmp_path, caplog):
    path, records = tmp_path / "fruit", [{"apple": 1}, {"pear": 2}]
    for record in records:
        journal(path).append(record)
    content = path.read_bytes()
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    for size in range(len(content)):
        path.write_bytes(content[:size])
        kept = records[: max(0, sum(end < size for end in ends) - 1)]
        again = journal(path)
        assert again.read() == kept
        again.append({"plum": 3})
        whole = journal(path).read()  # a record that lacked nothing but the end of its line is whole by now
        assert whole in ([*kept, {"plum": 3}], [*records[: len(kept) + 1], {"plum": 3}])
    path.write_bytes(content.replace(b'"pear":2', b'"pear":3'))
    assert journal(path).read() == [{"apple": 1}]
    assert "skipped a damaged line" in caplog.text


def test_many_processes_append_to_one_journal(tmp_path):
    code = (
        "import sys; from daguerreotype._lib.store import Journal\n"
        "for i in range(50): Journal(sys.argv[1], 'fruit', {'seed': 1}).append({'number': i, 'of': sys.argv[2]})"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path / "fruit", name], env=environment())
        for name in "abc"
    ]
    assert [child.wait() for child in children] == [0, 0, 0]
    records = journal(tmp_path / "fruit").read()
    assert {(record["of"], record["number"]) for record in records} == {
        (name, i) for name in "abc" for i in range(50)
    }
    assert len(records) == 150


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "fruit"
    journal(path).append({"apple": 1})
    with pytest.raises(ValueError, match="holds fruit of other work: seed was 1 and is now 2"):
        journal(path, seed=2).read()
    with pytest.raises(ValueError, match="does not hold vegetables"):
        Journal(path, "vegetables", {"seed": 1}).read()
    for content in (b"a,b\n1,2\n", b"a,b", b"\n"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="does not hold fruit"):
            journal(path).read()
        assert path.read_bytes() == content


def test_a_full_disk_is_told_once_and_the_next_record_takes_the_others_along(tmp_path, monkeypatch, caplog):
    path, write = tmp_path / "fruit", os.write
    mine = journal(path)
    mine.append({"apple": 1})
    before = path.read_bytes()

    def fill_up(file, data):
        write(file, data[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fill_up)
        mine.append({"pear": 2})
        mine.append({"plum": 3})
    assert path.read_bytes() == before
    assert [record.getMessage().startswith("cannot add to") for record in caplog.records] == [True]
    mine.append({"fig": 4})
    assert journal(path).read() == [{"apple": 1}, {"pear": 2}, {"plum": 3}, {"fig": 4}]
