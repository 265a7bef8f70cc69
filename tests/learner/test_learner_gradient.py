"""The learner with edges that are trained by gradient: joint and bilevel, killed and resumed."""

import signal
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

pytest.importorskip("torch")

from daguerreotype import Daguerreotype
from daguerreotype.edges.linear import LinearEdges
from daguerreotype.edges.mlp import MlpEdges
from daguerreotype.operators import SparseMAP, Sparsemax
from daguerreotype.training import Bilevel, Joint
from support.children import environment
from support.learners import make_learner

QUICK = {"scales": "none", "refine": False, "loss": "nll_ev", "k": 10, "max_iter": 60}


def chain(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 1.5 * x + rng.normal(size=n)
    return np.column_stack([y, 1.5 * y + rng.normal(size=n), x])


@pytest.mark.parametrize("operator", ["sparsemax", "sparsemap"])
@pytest.mark.parametrize("edges", [LinearEdges(), MlpEdges(hidden=5, max_iter=40)], ids=["linear", "mlp"])
@pytest.mark.parametrize("training", ["joint", "bilevel"])
def test_every_gradient_configuration_gives_a_dag_that_respects_its_order(operator, edges, training):
    settings = QUICK | ({"max_iter": 3} if isinstance(edges, MlpEdges) else {})
    model = make_learner(training=training, edges=edges, operator=operator, **settings).fit(chain())
    assert nx.is_directed_acyclic_graph(model.causal_graph_)
    ranks = np.argsort(model.causal_order_)
    for i, j in np.argwhere(model.adjacency_matrix_):
        assert ranks[i] < ranks[j]
        assert 0 < model._result.edge_shares[i, j] <= 1
    assert np.isfinite(model.score(chain(seed=1)))


def test_joint_training_on_the_raw_scale_recovers_a_chain():
    model = Daguerreotype(edges="linear", standardize=False, scales="none", training="joint").fit(chain(2000))
    assert model.adjacency_matrix_.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]


def test_joint_training_refuses_edges_that_have_no_gradient():
    with pytest.raises(ValueError, match=r"training='joint' needs edges that are trained by gradient.*got 'gam'"):
        Daguerreotype(training="joint").fit(chain())


def test_joint_training_refuses_a_loss_that_it_cannot_differentiate():
    with pytest.raises(ValueError, match="takes loss 'nll_ev', 'nll_nv' or 'mse', got 'bic'"):
        Daguerreotype(edges="linear", training=Joint(loss="bic")).fit(chain())


@pytest.mark.parametrize("edges", ["linear", "mlp"])
@pytest.mark.parametrize("training", ["joint", "bilevel"])
@pytest.mark.parametrize("operator", ["sparsemax", "sparsemap"])
def test_the_papers_gradient_configurations_can_be_asked_for(operator, edges, training):
    model = Daguerreotype.paper(operator, edges, training)
    expected = {"bilevel": 0.01, "joint": 0.001 if operator == "sparsemax" else 0.01}[training]
    if (edges, training) == ("mlp", "joint"):
        expected /= 10
    assert isinstance(model.training, {"joint": Joint, "bilevel": Bilevel}[training])
    assert model.edges.pruning == pytest.approx(expected)
    slow = (operator, edges, training) == ("sparsemap", "mlp", "bilevel")
    assert model.operator == (
        SparseMAP(method="peel") if slow else {"sparsemax": Sparsemax(), "sparsemap": SparseMAP()}[operator]
    )
    rate = 0.1 if training == "bilevel" else 0.01
    assert (model.training.learning_rate, model.training.loss) == (rate, "nll_ev")
    assert (model.edges.learning_rate, model.edges.keep, model.edges.warm_up) == (rate, "last", False)
    converged = Daguerreotype.paper(operator, edges, training, fits="converged", random_state=3)
    entry = {"linear": LinearEdges, "mlp": MlpEdges}[edges]
    assert converged.edges == entry(pruning=model.edges.pruning, random_state=3)
    assert converged.training.learning_rate == 0.1


def fit_hundred_steps(training, path=None):
    X = np.random.default_rng(0).normal(size=(200, 8)).cumsum(axis=1)
    settings = QUICK | {"k": 30, "max_iter": 100, "tol": 0.0, "patience": 100, "learning_rate": 0.01}
    return make_learner(training=training, edges="linear", operator="sparsemax", **settings).fit(X, resume=path)


KILLED = """
import os, signal, sys
from daguerreotype.training import Joint, checkpoint
from test_learner_gradient import fit_hundred_steps

def due(self, steps=[0]):
    steps[0] += 1
    if steps[0] == 53:
        os.kill(os.getpid(), signal.SIGKILL)
    return True

checkpoint.Checkpoint.due = due
fit_hundred_steps(*sys.argv[1:])
"""


@pytest.mark.parametrize("training", ["joint", "bilevel"])
def test_a_fit_killed_in_the_middle_and_resumed_ends_as_one_that_was_not(training, tmp_path):
    path = tmp_path / "fit.npz"
    run = subprocess.run(
        [sys.executable, "-c", KILLED, training, path],
        env=environment(Path(__file__).parent),
        capture_output=True,
        text=True,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert path.exists()
    whole, resumed = fit_hundred_steps(training), fit_hundred_steps(training, path)
    assert len(whole.history_) == len(resumed.history_) == 100
    np.testing.assert_array_equal(resumed.theta_, whole.theta_)
    np.testing.assert_array_equal(resumed.weights_, whole.weights_)
    np.testing.assert_array_equal(resumed._result.edge_shares, whole._result.edge_shares)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    path = tmp_path / "fit.npz"
    model = make_learner(edges="bic", **QUICK)
    model.fit(chain(), resume=path)
    with pytest.raises(ValueError, match="checkpoint of another training run: data differ"):
        model.fit(chain(seed=1), resume=path)
