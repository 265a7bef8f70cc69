import numpy as np
import pytest

from daguerreotype.operators import sparsemap, top_k_sparsemax


@pytest.fixture(params=["sparsemax", "active-set", "peel"])
def distribution(request, rng):
    theta = 0.2 * rng.normal(size=8)
    if request.param == "sparsemax":
        return top_k_sparsemax(theta, 20)
    return sparsemap(theta, method=request.param)


def test_orders_list_the_nodes_by_rank(distribution):
    for order, ranks in zip(distribution.orders, distribution.ranks, strict=True):
        assert (ranks[order] == np.arange(8)).all()


def test_the_mode_is_the_order_of_the_largest_probability(distribution):
    likeliest = np.argmax(distribution.probs.round(9))
    assert (distribution.mode == distribution.orders[likeliest]).all()
    assert distribution.probs[distribution.mode_index] >= distribution.probs.max() - 1e-9


def test_order_probabilities_are_sums_over_the_rankings(distribution):
    table = distribution.edge_order_probabilities()
    for i in range(8):
        for j in range(8):
            before = distribution.ranks[:, i] < distribution.ranks[:, j]
            assert table[i, j] == pytest.approx(distribution.probs[before].sum())


def test_one_of_two_nodes_precedes_the_other_for_sure(distribution):
    table = distribution.edge_order_probabilities()
    np.testing.assert_allclose(table + table.T, 1 - np.eye(8), atol=1e-12)


def test_entropy_is_zero_for_one_ranking_and_log_m_for_m_alike():
    assert top_k_sparsemax([0.0, 5.0]).entropy == 0.0
    assert top_k_sparsemax(np.zeros(5), 7).entropy == pytest.approx(np.log(7))


def test_the_repr_shows_the_likeliest_orders_and_how_many_more_there_are():
    text = repr(top_k_sparsemax(np.zeros(5), 7))
    assert text.splitlines()[0] == "OrderDistribution of 7 rankings of 5 nodes, entropy 1.946"
    assert text.splitlines()[1] == "  0.143  0 1 2 3 4"
    assert text.splitlines()[-1] == "  and 2 more"


def test_the_repr_of_many_nodes_is_cut():
    assert "..." in repr(top_k_sparsemax(np.arange(30.0)))
    assert "1 ranking of 30" in repr(top_k_sparsemax(np.arange(30.0)))
