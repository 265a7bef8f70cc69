import numpy as np
import pytest

from daguerreotype.operators import sparsemap, top_k_sparsemax


@pytest.mark.parametrize("operator", ["sparsemax", "active-set", "peel"])
def test_orders_mode_and_order_probabilities_are_read_off_the_rankings(operator, rng):
    theta = 0.2 * rng.normal(size=8)
    distribution = top_k_sparsemax(theta, 20) if operator == "sparsemax" else sparsemap(theta, method=operator)
    ranks, probs = distribution.ranks, distribution.probs
    assert all((row[order] == np.arange(8)).all() for order, row in zip(distribution.orders, ranks, strict=True))
    assert (distribution.mode == distribution.orders[np.argmax(probs.round(9))]).all()
    assert probs[distribution.mode_index] >= probs.max() - 1e-9
    table = distribution.edge_order_probabilities()
    for i in range(8):
        for j in range(8):
            assert table[i, j] == pytest.approx(probs[ranks[:, i] < ranks[:, j]].sum())


def test_entropy_is_zero_for_one_ranking_and_log_m_for_m_alike():
    assert top_k_sparsemax([0.0, 5.0]).entropy == 0.0
    assert top_k_sparsemax(np.zeros(5), 7).entropy == pytest.approx(np.log(7))


def test_the_repr_shows_the_likeliest_orders_and_how_many_more_there_are():
    lines = repr(top_k_sparsemax(np.zeros(5), 7)).splitlines()
    assert lines[:2] == ["OrderDistribution of 7 rankings of 5 nodes, entropy 1.946", "  0.143  0 1 2 3 4"]
    assert lines[-1] == "  and 2 more"
    many = repr(top_k_sparsemax(np.arange(30.0)))
    assert "..." in many
    assert "1 ranking of 30" in many
