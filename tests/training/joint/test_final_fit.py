"""The final fit of the learned order, and the manner of the paper's authors that it is a part of."""

from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from daguerreotype import Daguerreotype, Knowledge  # noqa: E402
from daguerreotype.edges import GradientEdges  # noqa: E402
from daguerreotype.edges.linear import LinearEdges  # noqa: E402
from daguerreotype.edges.mlp import MlpEdges  # noqa: E402
from daguerreotype.edges.penalty import Penalty  # noqa: E402
from daguerreotype.training.constraints import FREE  # noqa: E402
from daguerreotype.training.joint.search import fit_edges_of  # noqa: E402
from daguerreotype.training.objective import make_objective  # noqa: E402
from daguerreotype.training.run import Run  # noqa: E402
from support.fits import linear_data, standard_table  # noqa: E402

ORDER = np.array([2, 0, 4, 1, 3])


def parents_of(found):
    """Whether i is a parent of j (d, d)."""
    return np.column_stack([np.isin(np.arange(len(found.fits)), fit.parents) for fit in found.fits])


def final_fit(table, edges, loss="nll_ev", order=ORDER):
    """The final fit of one order without a learner around it."""
    objective = make_objective(loss, 0.0)
    plan = SimpleNamespace(objective=objective, constraints=FREE, estimator=edges, penalty=Penalty())
    return fit_edges_of(order, table, edges.for_final_fit(), plan, Run(), ())


def plain_descent(x, order, edges, parameters, predict):
    """The authors' final fit as one would write it: autograd, one sample of the gates, the last state."""
    d = x.shape[1]
    ranks = torch.from_numpy(np.argsort(order))
    precedes = (ranks[:, None] < ranks).to(x.dtype)
    gates = torch.full((d, d), 0.5, dtype=x.dtype)
    generator = torch.Generator()
    generator.manual_seed(edges.random_state)
    if predict is network:
        parameters["input"].uniform_(
            -1 / (d * edges.hidden**0.5), 1 / (d * edges.hidden**0.5), generator=generator
        )
    best, waited = np.inf, 0
    for step in range(edges.max_iter):
        leaves = {name: each.clone().requires_grad_() for name, each in parameters.items()}
        open_share = gates.clone().requires_grad_()
        drawn = (torch.rand((d, d), generator=generator, dtype=x.dtype) < gates).to(x.dtype)
        z = drawn + open_share - open_share.detach()
        left = (x - predict(x, leaves, z * precedes)).square().mean(0)
        decay = sum(leaves[name].square().mean() for name in ("weights", "input", "output") if name in leaves)
        loss = 0.5 * d * left.mean().log() + edges.pruning * (open_share * precedes).sum() + edges.l2 * decay
        value = loss.item()
        if not np.isfinite(best) or value < best - edges.tol * max(abs(best), 1.0):
            best, waited = value, 0
        else:
            waited += 1
        if waited >= edges.patience or step == edges.max_iter - 1:  # the state that was last looked at
            break
        loss.backward()
        parameters = {name: (each - edges.learning_rate * each.grad).detach() for name, each in leaves.items()}
        gates = (gates - edges.learning_rate * open_share.grad).clamp(0, 1)
    return parameters, ((gates > 0.5) & (precedes > 0)).numpy()


def lines(x, parameters, gates):
    return x @ (parameters["weights"] * gates)


def network(x, parameters, gates):
    inputs = torch.einsum("ni,ij,ijh->njh", x, gates, parameters["input"]) + parameters["hidden_bias"]
    hidden = torch.nn.functional.leaky_relu(inputs, 0.01)
    return (hidden * parameters["output"]).sum(2) + parameters["output_bias"]


def test_the_final_fit_of_lines_is_that_of_plain_descent_by_autograd():
    table = standard_table(linear_data(3, 200, 5))
    edges = LinearEdges.as_published(pruning=0.02, dtype="float64", random_state=4)
    found = final_fit(table, edges)
    x = torch.from_numpy(table.values)
    start = {"weights": torch.zeros((5, 5), dtype=torch.float64)}
    parameters, opened = plain_descent(x, ORDER, edges.for_final_fit(), start, lines)
    assert 0 < opened.sum() < 10
    np.testing.assert_array_equal(parents_of(found), opened)
    for node, fit in enumerate(found.fits):
        np.testing.assert_allclose(fit.weights, parameters["weights"].numpy()[fit.parents, node], rtol=1e-8)


def test_the_final_fit_of_networks_is_that_of_plain_descent_by_autograd():
    table = standard_table(linear_data(3, 100, 5))
    edges = MlpEdges.as_published(pruning=0.02, dtype="float64", random_state=4, hidden=4, learning_rate=0.3)
    edges = replace(edges, final_fit={**edges.final_fit, "max_iter": 300})
    found = final_fit(table, edges)
    x = torch.from_numpy(table.values)
    shapes = {"input": (5, 5, 4), "hidden_bias": (5, 4), "output": (5, 4), "output_bias": (5,)}
    start = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes.items()}
    parameters, opened = plain_descent(x, ORDER, edges.for_final_fit(), start, network)
    assert 0 < opened.sum() < 10
    np.testing.assert_array_equal(parents_of(found), opened)
    for node, fit in enumerate(found.fits):
        if fit.parents.size:
            expected = parameters["input"].numpy()[fit.parents, node]
            np.testing.assert_allclose(fit.input_weights[:-1], expected, rtol=1e-6, atol=1e-9)


def test_the_loss_is_that_of_the_weights_as_they_were_left():
    x = linear_data(3, 200, 5)
    table = standard_table(x)
    found = final_fit(table, LinearEdges.as_published(dtype="float64"))
    left = []
    for node, fit in enumerate(found.fits):
        left.append(np.mean((table.values[:, node] - table.values[:, fit.parents] @ fit.weights) ** 2))
    assert found.loss == pytest.approx(2.5 * np.log(np.mean(left)))


def test_fits_that_keep_the_best_model_have_the_weights_of_ridge_regression_on_its_parents():
    table = standard_table(linear_data(3, 200, 5))
    edges = LinearEdges(final_fit={"max_iter": 300}, dtype="float64", l2=0.0)
    for node, fit in enumerate(final_fit(table, edges).fits):
        x = table.values[:, fit.parents]
        np.testing.assert_allclose(fit.weights, np.linalg.lstsq(x, table.values[:, node])[0], atol=1e-8)


def test_an_objective_without_derivatives_has_its_edges_fitted_by_likelihood():
    table = standard_table(linear_data(3, 200, 5))
    edges = LinearEdges.as_published(dtype="float64")
    assert parents_of(final_fit(table, edges, loss=lambda variance, dof, n: variance + 0.01 * dof)).any()


@pytest.mark.parametrize("kind", [LinearEdges, MlpEdges])
def test_training_has_other_steps_than_the_final_fit(kind):
    bilevel, joint = kind.as_published(), kind.as_published("joint", pruning=0.5)
    assert (bilevel.optimizer, bilevel.max_iter, bilevel.learning_rate) == ("sgd", 200, 0.1)
    assert (joint.optimizer, joint.pruning, joint.learning_rate) == ("adam", 0.5, 0.01)
    for edges, patience in ((bilevel, 75), (joint, 50)):
        edges.check()
        final = edges.for_final_fit()
        assert (final.optimizer, final.max_iter, final.patience, final.final_fit) == ("sgd", 1000, patience, None)
        assert (final.learning_rate, final.pruning) == (edges.learning_rate, edges.pruning)
    assert kind().for_final_fit() is None


def test_a_final_fit_of_settings_that_there_are_not_is_refused_before_any_work():
    for final, message in (
        ({"steps": 3}, r"final_fit must hold settings of LinearEdges by name, such as .*'steps'"),
        (1000, "final_fit must hold settings of LinearEdges by name"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"final_fit": None}, "final_fit must hold settings"),
    ):
        with pytest.raises(ValueError, match=message):
            Daguerreotype(edges=LinearEdges(final_fit=final)).fit(linear_data(0))


QUICK = {"operator__k": 5, "training__max_iter": 3}
SMALL = {"hidden": 3, "max_iter": 20, "final_fit": {"optimizer": "sgd", "max_iter": 30}}


def published(edges, training, seed=0, **changes):
    """The paper's learner, with fewer steps."""
    learner = Daguerreotype.paper("sparsemax", edges, training, random_state=seed, **(QUICK | changes))
    if edges == "mlp":
        learner.edges = replace(learner.edges, **SMALL)
    return learner


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["linear", "mlp"]),
    st.sampled_from(["bilevel", "joint"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1000),
)
def test_final_fits_obey_knowledge_and_the_order(edges, training, intervene, limit, seed):
    rng = np.random.default_rng(seed)
    X = linear_data(seed, 60, 5).round(1)
    first, second, third, _ = rng.permutation(5)[:4].tolist()
    limits = {"max_parents": 1} if limit else {}
    known = Knowledge(required=[(first, second)], forbidden=[(second, third)], **limits)
    intervened = None
    if intervene:
        intervened = np.zeros(X.shape, dtype=bool)
        intervened[:20, first] = True
    model = published(edges, training, seed, knowledge=known).fit(X, interventions=intervened)
    graph = model.adjacency_matrix_ != 0
    assert graph[first, second]
    assert not graph[second, third]
    if limit:
        assert graph.sum(axis=0).max() <= 1
    assert nx.is_directed_acyclic_graph(nx.DiGraph(graph))
    ranks = np.argsort(model.causal_order_)
    assert all(ranks[i] < ranks[j] for i, j in np.argwhere(graph))
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("training", ["bilevel", "joint"])
def test_a_published_fit_does_not_depend_on_how_columns_are_ordered_or_rows_are_shuffled(training):
    X = linear_data(1, 150, 6)
    model = published("linear", training, training__max_iter=20).fit(X)
    rows, columns = np.random.default_rng(0).permutation(150), np.random.default_rng(1).permutation(6)
    other = published("linear", training, training__max_iter=20).fit(X[rows][:, columns])
    np.testing.assert_array_equal(
        (model.adjacency_matrix_ != 0)[np.ix_(columns, columns)], other.adjacency_matrix_ != 0
    )


def test_ctrl_c_in_the_final_fit_keeps_the_edges_so_far(monkeypatch, caplog):
    from daguerreotype.training.joint import train

    steps = []
    step = train._step

    def interrupt(*arguments):
        steps.append(0)
        if len(steps) == 40:
            raise KeyboardInterrupt
        step(*arguments)

    monkeypatch.setattr(train, "_step", interrupt)
    model = published("linear", "bilevel").fit(linear_data(1, 150, 5))
    assert model.interrupted_
    assert len(steps) == 40
    assert nx.is_directed_acyclic_graph(model.causal_graph_)


def test_the_mean_of_squares_costs_less_than_their_sum():
    edges = GradientEdges(l2=0.5)
    assert edges.penalty_of_squares(4, 4) == 0.5
    assert replace(edges, l2_norm="mean").penalty_of_squares(4, 4) == 0.5 / 16
