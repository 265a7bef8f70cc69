"""The learner with edges that are trained by gradient: joint and bilevel, killed and resumed."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("torch")

from daguerreotype import Daguerreotype
from daguerreotype.edges.linear import LinearEdges
from daguerreotype.edges.mlp import MlpEdges
from daguerreotype.operators import SparseMAP, Sparsemax
from daguerreotype.training import Bilevel, Joint
from support.learners import make_learner

QUICK = {"scales": "none", "refine": False, "loss": "nll_ev", "k": 10, "max_iter": 60}


def chain(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 1.5 * x + rng.normal(size=n)
    return np.column_stack([y, 1.5 * y + rng.normal(size=n), x])


@pytest.mark.parametrize("training", ["joint", "bilevel"])
def test_every_gradient_configuration_gives_a_dag_that_respects_its_order(training):
    for edges, operator in product((LinearEdges(), MlpEdges(hidden=5, max_iter=40)), ("sparsemax", "sparsemap")):
        settings = QUICK | ({"max_iter": 3} if isinstance(edges, MlpEdges) else {})
        model = make_learner(training=training, edges=edges, operator=operator, **settings).fit(chain())
        ranks = np.argsort(model.causal_order_)
        for i, j in np.argwhere(model.adjacency_matrix_):
            assert ranks[i] < ranks[j]
        assert np.isfinite(model.score(chain(seed=1)))


def test_joint_training_on_the_raw_scale_recovers_a_chain():
    model = Daguerreotype(edges="linear", standardize=False, scales="none", training="joint").fit(chain(2000))
    assert model.adjacency_matrix_.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]


def test_joint_training_refuses_edges_without_a_gradient_and_losses_that_it_cannot_differentiate():
    with pytest.raises(ValueError, match=r"training='joint' needs edges that are trained by gradient.*got 'gam'"):
        Daguerreotype(training="joint").fit(chain())
    with pytest.raises(ValueError, match="takes loss 'nll_ev', 'nll_nv' or 'mse', got 'bic'"):
        Daguerreotype(edges="linear", training=Joint(loss="bic")).fit(chain())


def test_the_papers_gradient_configurations_can_be_asked_for():
    for operator, edges, training in product(("sparsemax", "sparsemap"), ("linear", "mlp"), ("joint", "bilevel")):
        model = Daguerreotype.paper(operator, edges, training)
        expected = {"bilevel": 0.01, "joint": 0.001 if operator == "sparsemax" else 0.01}[training]
        if (edges, training) == ("mlp", "joint"):
            expected /= 10
        assert isinstance(model.training, {"joint": Joint, "bilevel": Bilevel}[training])
        assert model.edges.pruning == pytest.approx(expected)
        slow = (operator, edges, training) == ("sparsemap", "mlp", "bilevel")
        of_paper = {"sparsemax": Sparsemax(), "sparsemap": SparseMAP()}[operator]
        assert model.operator == (SparseMAP(method="peel") if slow else of_paper)
        rate = 0.1 if training == "bilevel" else 0.01
        assert (model.training.learning_rate, model.training.loss) == (rate, "nll_ev")
        assert (model.edges.learning_rate, model.edges.keep, model.edges.warm_up) == (rate, "last", False)
        converged = Daguerreotype.paper(operator, edges, training, fits="converged", random_state=3)
        entry = {"linear": LinearEdges, "mlp": MlpEdges}[edges]
        assert converged.edges == entry(pruning=model.edges.pruning, random_state=3)
        assert converged.training.learning_rate == 0.1
