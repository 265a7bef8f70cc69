import os
import signal

# Before OpenMP is loaded, here and in child processes: where every core is busy already, its threads spin while
# they wait for each other. OpenBLAS keeps two, so that tests of limits have something to limit.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy as np
import pytest
from hypothesis import settings

collect_ignore = ["support/toys"]  # which would be registered as doctests are looked for

settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")

# A shell that starts tests in the background has them, and all they start, ignore Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


AGAIN = 40  # tests of which a second run takes one


def pytest_addoption(parser):
    parser.addoption("--again", type=int, metavar="SEED", help=f"one test in {AGAIN}, in an order of their own")


def pytest_collection_modifyitems(config, items):
    """For a second run: what tests leave behind, or need of those before them, shows in another order."""
    seed = config.getoption("again")
    if seed is not None:
        drawn = np.random.default_rng(seed).permutation(len(items))[: len(items) // AGAIN]
        items[:] = [items[place] for place in drawn]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def random_dag():
    def draw(rng, d, density):
        upper = np.triu(rng.random((d, d)) < density, 1)
        order = rng.permutation(d)
        return upper[np.ix_(order, order)]

    return draw


@pytest.fixture
def write(tmp_path):
    """Writes a file, and tells where it is."""

    def written(text, name="file.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written
