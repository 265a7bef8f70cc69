"""Files that are replaced in one step, by any number of writers, and CSV that spreadsheets open safely."""

import csv
import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype._lib.files import as_text, as_written, check_place, replace_text, replaced, write_csv


def test_many_writers_of_one_path_all_succeed_and_readers_see_whole_files(tmp_path):
    path = tmp_path / "file"
    replace_text(path, "0" * 100_000)

    def write(number):
        replace_text(path, str(number % 10) * 100_000)
        return set(path.read_text())

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(write, range(80)))
    assert all(len(letters) == 1 for letters in seen)
    assert os.listdir(tmp_path) == ["file"]


def test_a_writer_that_dies_leaves_the_old_file_and_what_it_left_is_removed_in_the_end(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    dead = replaced(path)
    dead.__enter__().write(b"half")
    (partial,) = set(tmp_path.iterdir()) - {path}
    assert path.read_text() == "old"
    replace_text(path, "new")
    assert partial.exists()  # its writer may live
    os.utime(partial, (0, 0))
    replace_text(path, "newer")
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(TypeError), replaced(path) as file:
        file.write(b"new" + None)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as root every file may be written to
    with pytest.raises(PermissionError) as caught:
        replace_text(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_new_files_have_the_mode_that_open_gives_and_old_ones_keep_theirs(tmp_path):
    before = os.umask(0o027)
    try:
        replace_text(tmp_path / "file", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    (tmp_path / "file").chmod(0o604)
    replace_text(tmp_path / "file", "newer")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o604


def test_a_link_stays_a_link_a_pipe_is_written_to_and_a_name_may_be_as_long_as_any(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    replace_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").read_text() == "new"
    reading, writing = os.pipe()
    replace_text(Path(f"/dev/fd/{writing}"), "new")
    os.close(writing)
    with open(reading) as file:
        assert file.read() == "new"
    replace_text(tmp_path / "folder" / ("é" * 127), "new")
    assert sorted(os.listdir(tmp_path / "folder")) == ["file", "é" * 127]


def test_a_place_can_be_checked_without_changing_anything(tmp_path):
    check_place(tmp_path / "new")
    (tmp_path / "old").write_text("old")
    check_place(tmp_path / "old")
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "old"
    with pytest.raises(NotADirectoryError):
        check_place(tmp_path / "old" / "file")
    with pytest.raises(IsADirectoryError):
        check_place(tmp_path)
    check_place(Path("/dev/null"))


def test_an_error_of_the_disk_names_the_file_that_was_asked_for_and_no_other(tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(OSError, match="No space left") as full, replaced(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(full.value) == f"[Errno {errno.ENOSPC}] No space left on device: {str(path)!r}"
    with pytest.raises(FileNotFoundError) as missing, replaced(tmp_path / "no" / "page.html"):
        pass
    assert str(missing.value).endswith(f": {str(tmp_path / 'no' / 'page.html')!r}")


DANGEROUS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''-x"]


def test_no_cell_begins_as_a_formula_does(tmp_path):
    path = tmp_path / "matrix.csv"
    for name in DANGEROUS:
        write_csv(path, pd.DataFrame([[0, name], [1.5, "y"]], index=[name, "b"], columns=[name, "c"]))
        with open(path, newline="", encoding="utf-8") as file:
            (_, column, _), (row, _, cell), _ = csv.reader(file)
        assert column == row == cell == f"'{name}"


def test_numbers_and_ordinary_names_are_written_as_they_are(tmp_path):
    path = tmp_path / "table.csv"
    frame = pd.DataFrame({"-1": [-1.5, 2.0], "'quoted'": ["+3e5", "a=b"], "7": [None, "x"]})
    write_csv(path, frame, index=False)
    assert path.read_text() == frame.to_csv(index=False)


@given(st.text(alphabet="'=+-@\t\r\nａ1ab＝", max_size=6))
def test_names_come_back_as_they_were(name):
    assert as_written(as_text(name)) == name
