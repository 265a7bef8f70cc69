"""Training with an operator that begins where it ended: same means, same bits after a resume, its own mode."""

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.operators import project_permutahedron, sparsemap
from daguerreotype.operators.sparse_map import SparseMap, WarmSparseMap
from daguerreotype.training.checkpoint import Checkpoint
from daguerreotype.training.warm_start import OperatorSteps, restore_distribution, save_distribution
from support.fits import linear_data

SETTINGS = {"transform": "none", "refine": False, "posterior": 0, "max_iter": 60, "tol": 0.0, "patience": 60}
TRAININGS = {"bilevel": {"edges": "bic"}, "joint": {"edges": "linear", "training": "joint"}}


def fit(path=None, operator="sparsemap-warm", training="bilevel", **changes):
    if training == "joint":
        pytest.importorskip("torch")
    X = linear_data(3, 200, 9)
    return Daguerreotype(operator, **SETTINGS | TRAININGS[training] | changes).fit(X, resume=path)


def assert_same(found, expected):
    for name in ("theta_", "adjacency_matrix_", "weights_", "causal_order_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for part in ("probs", "ranks"):
        np.testing.assert_array_equal(
            getattr(found.order_distribution_, part), getattr(expected.order_distribution_, part)
        )
    np.testing.assert_array_equal(found.history_.objective, expected.history_.objective)
    # Sums over rankings, in the order in which local fits were first met.
    np.testing.assert_allclose(found.edge_shares_, expected.edge_shares_, atol=1e-15)


def test_every_step_has_the_mean_of_a_cold_one(rng):
    orders, theta = OperatorSteps(WarmSparseMap(1000)), rng.normal(size=12)
    for tau in np.linspace(2.0, 0.5, 40):
        found = orders(theta, tau)
        np.testing.assert_allclose(found.mean_ranks + 1, project_permutahedron(theta / tau), atol=1e-9)
        theta = theta + 0.05 * rng.normal(size=12)


def test_an_operator_without_a_past_leaves_nothing_to_save(rng):
    orders = OperatorSteps(SparseMap(100))
    orders(rng.normal(size=4), 1.0)
    assert orders.last is None
    assert save_distribution("last", orders.last) == {}
    assert restore_distribution("last", {}) is None


def test_what_was_saved_goes_on_to_the_same_bits(rng):
    warm = WarmSparseMap(1000)
    orders = OperatorSteps(warm)
    for _ in range(5):
        last = orders(rng.normal(size=7), 1.0)
    again = restore_distribution("last", save_distribution("last", last))
    theta = rng.normal(size=7)
    ours, theirs = warm.go_on(theta, 1.0, again), warm.go_on(theta, 1.0, last)
    np.testing.assert_array_equal(ours.probs, theirs.probs)
    np.testing.assert_array_equal(ours.ranks, theirs.ranks)
    weights = rng.normal(size=len(last))
    np.testing.assert_array_equal(again.vjp(weights), last.vjp(weights))


@pytest.mark.parametrize("training", TRAININGS)
def test_a_fit_that_goes_on_from_a_checkpoint_ends_as_one_that_never_stopped(training, tmp_path, monkeypatch):
    whole = fit(training=training)
    for n_steps in (1, 23, 59):
        path = tmp_path / f"{n_steps}.npz"
        fit(path, training=training, max_iter=n_steps)
        assert_same(fit(path, training=training), whole)
    assert_same(fit(tmp_path / "59.npz", training=training), whole)  # a run that is at its end
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    assert_same(fit(tmp_path / "often.npz", training=training), whole)


@pytest.mark.parametrize("training", TRAININGS)
def test_the_order_is_the_mode_of_the_distribution(training):
    model = fit(training=training)
    assert model.order_distribution_.mode.tolist() == list(model.causal_order_)
    np.testing.assert_allclose(
        model.order_distribution_.mean_ranks, sparsemap(model.theta_, 100).mean_ranks, atol=1e-8
    )


def test_it_asks_for_fewer_local_fits():
    warm, cold = (fit(operator=operator).history_.misses[-1] for operator in ("sparsemap-warm", "sparsemap"))
    assert warm < cold / 2


def test_a_checkpoint_of_the_cold_operator_is_refused(tmp_path):
    fit(tmp_path / "fit.npz", operator="sparsemap", max_iter=5)
    with pytest.raises(ValueError, match="warm_start was None and is now True"):
        fit(tmp_path / "fit.npz")


def test_orders_obey_what_is_known():
    model = fit(knowledge={"tiers": [[3, 5], [0, 1, 2, 4, 6, 7, 8]]})
    orders = model.order_distribution_.orders
    assert {tuple(sorted(order[:2])) for order in orders.tolist()} == {(3, 5)}


def test_refining_trains_on_from_the_new_order():
    model = fit(refine=True, n_restarts=1)
    assert model.order_distribution_.mode.tolist() == list(model.causal_order_)
