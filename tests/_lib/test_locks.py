"""Locks between processes: one at a time, and free again whatever becomes of the one that had it."""

import os
import signal
import subprocess
import sys

import pytest

from daguerreotype._lib.locks import InUseError, sole_use
from support.children import environment
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")

HOLDS = """
import sys
from pathlib import Path
from daguerreotype._lib.locks import sole_use
from support.waiting import never_end
with sole_use(Path(sys.argv[1])):
    Path(sys.argv[2]).touch()
    never_end()
"""


def test_a_path_is_one_user_s_at_a_time(tmp_path):
    path = tmp_path / "file"
    with sole_use(path), pytest.raises(InUseError, match="file is in use by another process"), sole_use(path):
        pass
    with sole_use(path):
        pass
    assert os.listdir(tmp_path) == []


def test_another_path_is_free(tmp_path):
    with sole_use(tmp_path / "one"), sole_use(tmp_path / "two"):
        pass


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


def test_a_folder_that_vanishes_meanwhile_is_no_error(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    with sole_use(folder / "file"):
        (folder / "file.lock").unlink()
        folder.rmdir()


def test_a_folder_that_is_not_there_is(tmp_path):
    with pytest.raises(FileNotFoundError), sole_use(tmp_path / "none" / "file"):
        pass
