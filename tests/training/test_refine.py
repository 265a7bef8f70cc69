import logging

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.edges import BicEdges, GamEdges, LarsEdges
from daguerreotype.training.objective import make_objective
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.refine import refine_order
from support.fits import additive_data, least_loss, linear_data, standard_table

BIC = make_objective("bic", 1.5)
ESTIMATORS = {"bic": BicEdges(penalty=1.5), "gam": GamEdges(penalty=1.5), "lars": LarsEdges()}


def scores_of(values, estimator="bic"):
    n, d = values.shape
    return OrderScores(ESTIMATORS[estimator].prepare(standard_table(values)), BIC, n_rows=n, d=d)


def refined(order, scores, **settings):
    order, loss, *_ = refine_order(np.asarray(order), scores, **settings)
    return order, loss


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_single_move_improves_a_refined_order(estimator):
    scores = scores_of(linear_data(3, 150, 8), estimator)
    order, loss = refined(np.arange(8)[::-1], scores)
    assert sorted(order) == list(range(8))
    for at, node in enumerate(order):
        assert scores.move_losses(int(node), np.delete(order, at)).min() >= loss - 1e-8


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_refined_order_loses_what_is_told_and_no_more_than_the_start(estimator, rng):
    scores = scores_of(linear_data(4, 150, 7), estimator)
    for _ in range(5):
        start = rng.permutation(7)
        order, loss = refined(start, scores)
        assert loss == pytest.approx(scores.loss_of(order), abs=1e-9)
        assert loss <= scores.loss_of(start)


def test_restarts_never_find_worse_and_sometimes_better():
    gains = []
    for seed in range(12):
        scores = scores_of(linear_data(seed, 100, 9))
        start = np.arange(9)[::-1]
        gains.append(refined(start, scores)[1] - refined(start, scores, n_restarts=8)[1])
    assert min(gains) >= 0
    assert max(gains) > 1e-4


def test_the_start_is_left_as_it_was():
    start = np.arange(6)[::-1].copy()
    refined(start, scores_of(linear_data(0, 100, 6)), n_restarts=2)
    np.testing.assert_array_equal(start, np.arange(6)[::-1])


def test_other_numbers_for_the_columns_give_the_same_order_under_other_numbers(rng):
    values = linear_data(5, 150, 7)
    numbers = rng.permutation(7)  # column i was column numbers[i]
    start = rng.permutation(7)
    first, _ = refined(start, scores_of(values), n_restarts=4)
    second, _ = refined(np.argsort(numbers)[start], scores_of(values[:, numbers]), n_restarts=4)
    np.testing.assert_array_equal(numbers[second], first)


def test_progress_hears_losses_that_never_rise():
    heard = []
    _, loss = refined(np.arange(9)[::-1], scores_of(linear_data(1, 100, 9)), n_restarts=4, progress=heard.append)
    assert len(heard) > 1
    assert (np.diff(heard) <= 0).all()
    assert heard[-1] == loss


class Interrupted:
    """LARS models, during whose fit number ``at`` somebody presses Ctrl-C."""

    def __init__(self, values, at):
        self.models, self.left = LarsEdges().prepare(standard_table(values)), at

    def fit(self, node, predecessors):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.models.fit(node, predecessors)


def test_ctrl_c_keeps_the_best_order_so_far_and_says_so(caplog):
    values, start = linear_data(5, 100, 8), np.arange(8)[::-1]
    losses = []
    for at in (20, 150, 10_000):
        scores = OrderScores(Interrupted(values, at), BIC, n_rows=100, d=8)
        with caplog.at_level(logging.WARNING, "daguerreotype"):
            caplog.clear()
            order, loss, interrupted = refine_order(start, scores)
        assert interrupted == (at < 10_000)
        assert ("the best order so far is kept" in caplog.text) == (at < 10_000)
        assert loss == pytest.approx(scores_of(values, "lars").loss_of(order))
        losses.append(loss)
    assert losses[0] == scores_of(values, "lars").loss_of(start)  # not one sweep was finished
    assert losses[0] > losses[1] > losses[2]


# ---------------------------------------------------------------------------- against the optimum


def test_what_is_learned_is_the_optimum_over_all_orders_or_close_to_it():
    gaps = []
    for problem in range(20):
        d, edges = 5 + problem % 5, ("bic", "gam")[problem % 2]
        values = (linear_data, additive_data)[problem // 2 % 2](problem, 200, d)
        learned = Daguerreotype(edges=edges, loss="bic", penalty=1.5, transform="none").fit(values).loss_
        optimum = least_loss(ESTIMATORS[edges].prepare(standard_table(values)), BIC, d, 200)
        gaps.append(learned - optimum)
        print(f"{edges} d={d}: optimum {optimum:.4f}, learned {learned:.4f}, gap {gaps[-1]:.5f}")  # noqa: T201
    assert min(gaps) > -1e-9
    assert np.mean(np.array(gaps) < 1e-9) >= 0.75
    assert max(gaps) < 0.03  # nats per row
    assert np.mean(gaps) < 0.004
