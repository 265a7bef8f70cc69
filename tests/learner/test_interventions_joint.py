"""Joint training with rows in which columns were intervened on, held against the slow and obvious way."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from daguerreotype import Daguerreotype  # noqa: E402
from daguerreotype.edges.base import Table  # noqa: E402
from daguerreotype.edges.linear import LinearEdges  # noqa: E402
from daguerreotype.edges.mlp import MlpEdges  # noqa: E402
from daguerreotype.operators import Sparsemax, top_k_sparsemax  # noqa: E402
from daguerreotype.training import Joint  # noqa: E402
from daguerreotype.training.joint.model import JointObjective, make_model  # noqa: E402
from daguerreotype.training.objective import make_objective  # noqa: E402
from support.fits import linear_data  # noqa: E402
from support.joint import KINDS, LOSSES, SETTINGS, SmoothGates, dense_objective  # noqa: E402

D, N = 4, 30


def masked_table():
    """Column 1 was intervened on in some rows, columns 2 and 3 in others; column 0 never was."""
    values = linear_data(0, N, D)
    intervened = np.zeros((N, D), dtype=bool)
    intervened[:8, 1] = intervened[5:20, 2] = intervened[5:20, 3] = True
    values = np.where(intervened, values + 2.0, values)
    return Table(values - values.mean(axis=0), tuple("abcd"), intervened=intervened)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_objective_and_gradients_equal_those_over_all_permutations(kind, loss, rng):
    table, edges = masked_table(), KINDS[kind](**SETTINGS)
    shares, smooth = table.rows_per_node / N, make_objective(loss, 0.0)
    objective = JointObjective(make_model(table, edges, "cpu"), SmoothGates(), edges, smooth, 0.1, shares=shares)
    flat = torch.from_numpy(rng.normal(size=sum(objective.sizes)))
    objective.views(flat)["gates"].uniform_(0.1, 0.9, generator=torch.Generator().manual_seed(0))
    theta, noise = 0.3 * rng.normal(size=D), torch.from_numpy(rng.random((D, D)))
    value = objective.evaluate(theta, top_k_sparsemax(theta, 24), flat, noise, 0)

    scores, point = torch.tensor(theta, requires_grad=True), flat.clone().requires_grad_()
    views = objective.views(point)
    rows, kept = torch.tensor(table.values), torch.tensor(~table.intervened)
    settings = {"loss": loss, "edges": edges, "l2": 0.1, "kept": kept}
    dense = dense_objective(rows, scores, views, views["gates"], views["gates"], **settings)
    dense.backward()
    assert value.objective == pytest.approx(dense.item(), rel=1e-12)
    np.testing.assert_allclose(value.by_theta, scores.grad, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value.by_edges, point.grad, rtol=1e-9, atol=1e-12)


def test_a_batch_sees_the_mask_of_its_own_rows_and_may_have_none_for_a_node():
    table = masked_table()
    model = make_model(table, KINDS["mlp"](batch_size=3, dtype="float64"), "cpu")
    for step in range(20):
        rows = np.array([np.flatnonzero((table.values == row).all(axis=1))[0] for row in model.rows(step).numpy()])
        np.testing.assert_array_equal(model.counted(step).numpy(), ~table.intervened[rows])
    edges = MlpEdges(hidden=3, batch_size=2, max_iter=10, device="cpu")
    learner = Daguerreotype(
        edges=edges, scales="none", operator=Sparsemax(k=5), training=Joint(loss="nll_nv", max_iter=30)
    )
    learner.fit(table.values, interventions=table.intervened)
    assert np.isfinite(learner.history_.objective).all()


@pytest.mark.parametrize("forwards", [True, False])
def test_joint_training_orients_an_edge_that_observations_cannot(forwards, rng):
    targets = rng.choice([0, 1, -1], size=400)
    cause, effect = (0, 1) if forwards else (1, 0)
    X = rng.normal(size=(400, 2))
    X[:, cause] *= np.where(targets == cause, 1.5, 1.0)
    X[:, effect] = np.where(targets == effect, 1.5 * X[:, effect], 0.9 * X[:, cause] + 0.5 * X[:, effect])
    said = [None if target < 0 else int(target) for target in targets]
    for edges in (LinearEdges(device="cpu"), MlpEdges(hidden=5, device="cpu", max_iter=200)):
        model = Daguerreotype(edges=edges, scales="none", training="joint").fit(X, interventions=said)
        assert np.argwhere(model.adjacency_matrix_).tolist() == [[cause, effect]]
        assert model._result.interventions == {0: said.count(0), 1: said.count(1)}
