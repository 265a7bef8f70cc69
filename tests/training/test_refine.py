import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.edges import BicEdges, GamEdges, LarsEdges
from daguerreotype.training import Bilevel
from daguerreotype.training.objective import make_objective
from daguerreotype.training.refine import Moves, refine_order
from daguerreotype.training.scores import OrderScores
from support.fits import additive_data, least_loss, linear_data, standard_table

BIC = make_objective("bic", 1.5)
ESTIMATORS = {"bic": BicEdges(penalty=1.5), "gam": GamEdges(penalty=1.5), "lars": LarsEdges()}


def scores_of(values, estimator="bic"):
    n, d = values.shape
    return OrderScores(ESTIMATORS[estimator].prepare(standard_table(values)), BIC, n_rows=n, d=d)


def refined(order, scores, **settings):
    moves = Moves(np.asarray(order))
    refine_order(moves, scores, **settings)
    return moves.best, moves.best_loss


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_single_move_improves_a_refined_order(estimator):
    scores = scores_of(linear_data(3, 150, 8), estimator)
    order, loss = refined(np.arange(8)[::-1], scores)
    assert sorted(order) == list(range(8))
    for at, node in enumerate(order):
        assert scores.move_losses(int(node), np.delete(order, at)).min() >= loss - 1e-8


def test_restarts_never_find_worse_and_sometimes_better():
    gains = []
    for seed in range(12):
        scores = scores_of(linear_data(seed, 100, 9))
        start = np.arange(9)[::-1]
        gains.append(refined(start, scores)[1] - refined(start, scores, n_restarts=8)[1])
    assert min(gains) >= 0
    assert max(gains) > 1e-4


def test_other_numbers_for_the_columns_give_the_same_order_under_other_numbers(rng):
    values = linear_data(5, 150, 7)
    numbers = rng.permutation(7)  # column i was column numbers[i]
    start = rng.permutation(7)
    first, _ = refined(start, scores_of(values), n_restarts=4)
    second, _ = refined(np.argsort(numbers)[start], scores_of(values[:, numbers]), n_restarts=4)
    np.testing.assert_array_equal(numbers[second], first)


# ---------------------------------------------------------------------------- against the optimum


def test_what_is_learned_is_the_optimum_over_all_orders_or_close_to_it():
    gaps = []
    for problem in range(20):
        d, edges = 5 + problem % 5, ("bic", "gam")[problem % 2]
        values = (linear_data, additive_data)[problem // 2 % 2](problem, 200, d)
        settings = {"penalty": 1.5, "trust": None, "scales": "none", "training": Bilevel(loss="bic")}
        learned = Daguerreotype(edges=edges, **settings).fit(values).loss_
        optimum = least_loss(ESTIMATORS[edges].prepare(standard_table(values)), BIC, d, 200)
        gaps.append(learned - optimum)
    assert min(gaps) > -1e-9
    assert np.mean(np.array(gaps) < 1e-9) >= 0.75
    assert max(gaps) < 0.03  # nats per row
    assert np.mean(gaps) < 0.004
