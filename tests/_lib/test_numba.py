"""Kernels are compiled once, cached on disk while no source of a kernel changes, and told of as they compile."""

import os
import shutil
import subprocess
import sys
from errno import ENOSPC
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache

import daguerreotype
from daguerreotype._lib.numba import (
    _PackageCache,
    address_of,
    call_address,
    compiling,
    kernel,
    subkernel,
)

KERNEL = """
from daguerreotype._lib.numba import kernel

@kernel
def first(values):
    return values[0]
"""
CALL = (
    "import numpy as np\n"
    "from daguerreotype.example import first\n"
    "first(np.zeros(2))\n"
    "print(sum(first.stats.cache_hits.values()), sum(first.stats.cache_misses.values()))"
)
FIT = (
    "from daguerreotype import Daguerreotype\n"
    "from daguerreotype._lib.numba import compiling\n"
    "from daguerreotype.datasets import load_sachs\n"
    "counts = []\n"
    "with compiling(counts.append):\n"
    "    Daguerreotype().fit(load_sachs().X.iloc[:300, :5])\n"
    "print(len(counts))"
)


@pytest.fixture
def installed(tmp_path):
    """A copy of the package, and a kernel more, as an installation of its own, with an empty user cache."""
    target = tmp_path / "install" / "daguerreotype"
    shutil.copytree(Path(daguerreotype.__file__).parent, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "example.py").write_text(KERNEL)
    return target


def child(code, installed, tmp_path):
    environment = os.environ | {
        "PYTHONPATH": str(installed.parent),
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home" / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop("NUMBA_CACHE_DIR", None)
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )


def hits_and_misses(installed, tmp_path):
    return tuple(map(int, child(CALL, installed, tmp_path).stdout.split()))


def test_another_process_takes_compiled_kernels_from_beside_the_source_until_a_file_of_kernels_changes(
    installed, tmp_path
):
    assert hits_and_misses(installed, tmp_path) == (0, 1)
    assert list((installed / "__pycache__").glob("*.nbc"))
    with (installed / "learner.py").open("a") as source:  # has no kernels
        source.write("# changed\n")
    assert hits_and_misses(installed, tmp_path) == (1, 0)
    with (installed / "operators" / "precedence.py").open("a") as source:  # has others
        source.write("# changed\n")
    assert hits_and_misses(installed, tmp_path) == (0, 1)


def test_where_the_install_folder_takes_no_files_the_users_cache_folder_does(installed, tmp_path):
    # A file in the place of the cache folder keeps even root from writing there.
    (installed / "__pycache__").write_text("")
    assert hits_and_misses(installed, tmp_path) == (0, 1)
    assert hits_and_misses(installed, tmp_path) == (1, 0)
    assert list((tmp_path / "home" / "cache").rglob("*.nbc"))


def test_where_no_folder_takes_files_kernels_are_compiled_without_a_cache_and_one_warning(installed, tmp_path):
    (installed / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")  # not a folder
    done = child(CALL, installed, tmp_path)
    assert done.stdout.split() == ["0", "1"]  # compiled, and kept nowhere
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
    assert "cannot be kept on disk" in done.stderr


def test_a_cache_that_fails_later_on_costs_one_warning_and_no_result(monkeypatch, tmp_path):
    # Collected here: how other tests, and libraries that they load, left the logger must not matter.
    messages = []
    logger = SimpleNamespace(warning=lambda text, *values: messages.append(text % values))
    monkeypatch.setitem(kernel.__globals__, "logger", logger)
    for case, (method, error) in enumerate(
        (
            ("save_overload", OSError(ENOSPC, "No space left on device")),
            ("save_overload", FileNotFoundError(2, "No such file or directory")),
            ("load_overload", EOFError("Ran out of input")),
            ("load_overload", PermissionError(13, "Permission denied")),
        )
    ):

        def fail(*_, error=error):
            raise error

        messages.clear()
        with monkeypatch.context() as patch:
            patch.setattr(FunctionCache, method, fail)
            patch.setattr(_PackageCache, "warned", False)
            first, second = new_kernels(tmp_path / str(case), patch)
            values = np.array([3.0, 4.0])
            assert (first(values), second(values)) == (3.0, 4.0)
        (message,) = messages
        assert str(error) in message
        assert "NUMBA_CACHE_DIR" in message


def new_kernels(folder, patch):
    """Two kernels that nobody has compiled before, for they are kept in a folder of their own.

    Both are made before one is called: numba takes the folder from its settings when a kernel is made, and reads
    all settings anew when it compiles after a change of the environment.
    """
    patch.setattr(numba.config, "CACHE_DIR", str(folder))

    def first(values):
        return values[0]

    def second(values):
        return values[1]

    return kernel(first), kernel(second)


@kernel
def count_up(values, step):
    for i in range(values.size):
        values[i] += step
    return int(values.size)


@subkernel
def twice(address, values, step):
    return call_address(address, values, step) + call_address(address, values, step)


@kernel
def four_times(address, values, step):
    return twice(address, values, step) + twice(address, values, step)


def test_a_kernel_called_by_its_address_does_what_it_does_when_called_by_name():
    values = np.zeros(3)
    address = address_of(count_up, values, 1)
    assert four_times(address, values, 2) == 12
    assert values.tolist() == [8.0, 8.0, 8.0]
    assert address_of(count_up, values, 5) == address
    assert count_up(values, 1) == 3
    assert len(count_up.signatures) == 1


def test_compilation_tells_of_every_kernel_once_and_of_none_that_is_ready(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # nothing is ready yet

    def add(values):
        return values[0] + 1

    def call(values):
        return inner(values) + 1

    inner = subkernel(add)
    add.__module__ = call.__module__ = "daguerreotype.example"
    counts = []
    with compiling(counts.append):
        outer = kernel(call)
        assert outer(np.zeros(2)) == 2
        assert counts == [1, 2]
        assert outer(np.zeros(2)) == 2
        count_up(np.zeros(2), 1)  # of another package
    assert counts == [1, 2]


@pytest.mark.slow
def test_a_second_process_compiles_no_kernel_of_a_default_fit():
    for _ in range(3):  # the first may find none compiled, and other processes write to the same cache
        done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
        if done.stdout == "0\n":
            return
    pytest.fail(f"compiled {done.stdout} the third time")
