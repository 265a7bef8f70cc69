"""No row is read more often than the page on many rows says, and no more rows are held than a few chunks."""

import subprocess
import sys
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from daguerreotype.data import quantiles
from support.learners import make_learner

PAGE = Path(__file__).parents[2] / "docs" / "many-rows.md"
PASSES = [
    ({"edges": "bic"}, 1),
    ({"edges": "lars"}, 1),
    ({"edges": "bic", "scales": "log"}, 2),
    ({"edges": "gam"}, 3),
    ({"edges": "gam", "scales": "log"}, 4),
]


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(quantiles, "SIZE", 64)  # so that these rows are many for the sketch
    rng = np.random.default_rng(0)
    cause = rng.normal(size=900)
    effect = cause**2 + rng.normal(size=900)
    return pd.DataFrame({"last": effect + rng.normal(size=900), "effect": effect, "cause": cause})


def learner(settings):
    return make_learner(loss="bic", n_restarts=0, max_iter=20, **({"scales": "none"} | settings))


def test_the_page_names_these_passes():
    assert '| passes | 1; 3 for `"gam"`; 1 more for `"log"` | 0 |' in PAGE.read_text()


@pytest.mark.parametrize(("settings", "passes"), PASSES)
def test_a_function_is_called_once_for_every_pass(rows, settings, passes):
    opened, taken = [], []

    def source():
        opened.append(1)
        for chunk in np.array_split(rows.to_numpy(), 4):
            taken.append(len(chunk))
            yield chunk

    learner(settings).fit_chunks(source)
    assert len(opened) == passes
    assert sum(taken) == passes * len(rows)


def test_every_partition_is_made_once_for_every_pass(rows):
    (settings, passes), made = PASSES[2], []

    def part(number):
        made.append(number)
        return rows[300 * number : 300 * number + 300]

    with dask.config.set(scheduler="synchronous"):
        learner(settings).fit_chunks(dd.from_map(part, range(3), meta=rows[:0]))
    assert sorted(made) == sorted([0, 1, 2] * passes)


# ---------------------------------------------------------------- memory

LIMITED = """
import resource, sys
import numpy as np, pandas as pd
from pathlib import Path
from daguerreotype import Daguerreotype
from daguerreotype.training import Bilevel

small, large, room = sys.argv[1], sys.argv[2], int(sys.argv[3])
settings = {"scales": "none", "training": Bilevel(loss="bic", n_restarts=0, max_iter=20)}
learners = [Daguerreotype(edges=edges, **settings).fit_chunks(small) for edges in ("bic", "gam")]
# Imports and kernels are there from now on.
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + room
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    pd.read_csv(large)
except (MemoryError, OSError):
    print("too large to hold")
for learner in learners:
    print(learner.fit_chunks(large).adjacency_matrix_.to_numpy().tolist())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_a_csv_file_too_large_to_hold_is_learned_from(rows, tmp_path):
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    rows.to_csv(small, index=False)
    rng = np.random.default_rng(0)
    repeated = pd.concat([rows] * 1000, ignore_index=True)  # 900,000 rows, 52 MB
    repeated += 0.1 * rng.normal(size=repeated.shape)  # copies would be ties, which are spread
    repeated.to_csv(large, index=False)
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, small, large, str(40 * 2**20)],
        capture_output=True,
        text=True,
        check=False,
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    refused, *found = run.stdout.splitlines()
    assert refused == "too large to hold"
    for graph, edges in zip(found, ("bic", "gam"), strict=True):
        assert graph == str(learner({"edges": edges}).fit(repeated).adjacency_matrix_.to_numpy().tolist())
