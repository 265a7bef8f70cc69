"""The paper's settings give the paper's rows, with LARS and with gradient edges."""

from pathlib import Path

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.datasets import load_sachs, load_syntren
from daguerreotype.metrics import shd, sid
from daguerreotype.operators import SparseMAP
from daguerreotype.training import Bilevel

# benchmark files may lie in a folder beside the checkout; they are not part of the repository
SHARED = Path(__file__).parents[2] / "shared" / "data"
SACHS = {"sparsemax": (13.8, 51.7), "sparsemap": (14.4, 49.6)}  # SHD, SID
SYNTREN = {"sparsemax": (77.9, 103.0), "sparsemap": (78.7, 116.0)}


def mean_distances(runs):
    return np.mean([(shd(true, learned), sid(true, learned)) for true, learned in runs], axis=0)


@pytest.mark.parametrize("operator", SACHS)
def test_sachs_comes_out_near_the_published_row(operator):
    data = load_sachs()
    fits = [Daguerreotype.paper(operator, random_state=seed).fit(data.X) for seed in range(10)]
    found_shd, found_sid = mean_distances([(data.adjacency, fit.adjacency_matrix_) for fit in fits])
    print(f"Sachs {operator}: SHD {found_shd:.1f}, SID {found_sid:.1f}; published {SACHS[operator]}")  # noqa: T201
    assert found_shd == pytest.approx(SACHS[operator][0], abs=2)
    assert found_sid == pytest.approx(SACHS[operator][1], abs=6)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no benchmark data beside the checkout")
@pytest.mark.parametrize("operator", SYNTREN)
def test_syntren_comes_out_near_the_published_row(operator):
    networks = load_syntren(data_home=SHARED)
    fits = [Daguerreotype.paper(operator).fit(data.X) for data in networks]
    found_shd, found_sid = mean_distances(
        [(data.adjacency, fit.adjacency_matrix_) for data, fit in zip(networks, fits, strict=True)]
    )
    print(f"SynTReN {operator}: SHD {found_shd:.1f}, SID {found_sid:.1f}; published {SYNTREN[operator]}")  # noqa: T201
    assert found_shd == pytest.approx(SYNTREN[operator][0], abs=12)
    assert found_sid == pytest.approx(SYNTREN[operator][1], abs=35)


# Neural rows: there the converged way, with 15 and 39 edges, is farthest from what was published.
@pytest.mark.parametrize(
    ("training", "published"),
    [("bilevel", (13.5, 50.9, 7.1)), ("joint", (14.7, 50.7, 8.6))],
    ids=["bilevel", "joint"],
)
def test_gradient_edges_in_the_authors_manner_come_out_near_the_published_row(training, published):
    pytest.importorskip("torch")
    data = load_sachs()
    graph = Daguerreotype.paper("sparsemax", "mlp", training, random_state=0).fit(data.X).adjacency_matrix_
    assert shd(data.adjacency, graph) == pytest.approx(published[0], abs=2)
    assert sid(data.adjacency, graph) == pytest.approx(published[1], abs=9)
    assert np.count_nonzero(graph) == pytest.approx(published[2], abs=2)


def test_the_paper_settings_are_those_of_its_appendix_and_the_rate_that_of_the_authors_script():
    learner = Daguerreotype.paper("sparsemap", training__max_iter=7)
    assert (learner.edges, learner.scales, learner.standardize) == ("lars", "none", True)
    assert learner.operator == SparseMAP(max_iter=100, tau=1.0)
    ends = {"max_iter": 7, "tol": 1e-5, "patience": 50}
    assert learner.training == Bilevel(
        learning_rate=0.1, l2=0.0005, start="zeros", loss="nll_ev", refine=False, **ends
    )


def test_slow_edges_take_the_sparsemap_that_asks_for_fewer_fits():
    X = load_sachs().X
    peeled, active = (
        Daguerreotype.paper("sparsemap").set_params(operator=SparseMAP(method=method)).fit(X)
        for method in ("peel", "active-set")
    )
    assert peeled.history_.misses[-1] < active.history_.misses[-1] / 3
    pytest.importorskip("torch")
    assert Daguerreotype.paper("sparsemap", "mlp").operator == SparseMAP(method="peel")
    assert Daguerreotype.paper("sparsemap", "mlp", "joint").operator == SparseMAP()
    assert Daguerreotype.paper().training.learning_rate == 0.05
