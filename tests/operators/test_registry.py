import numpy as np
import pytest

from daguerreotype.operators import sparsemap, top_k_sparsemax
from daguerreotype.operators.registry import OPERATORS, make_operator, order_source


@pytest.mark.parametrize(("name", "function"), [("sparsemax", top_k_sparsemax), ("sparsemap", sparsemap)])
def test_a_name_stands_for_the_operator_with_k_filled_in(name, function, rng):
    theta = rng.normal(size=5)
    made, direct = make_operator(name, 7)(theta, 0.5), function(theta, 7, tau=0.5)
    np.testing.assert_array_equal(made.ranks, direct.ranks)
    np.testing.assert_allclose(made.probs, direct.probs)


@pytest.mark.parametrize("name", ["fixed", "random"])
def test_orders_that_are_not_learned_need_no_operator(name):
    assert make_operator(name, 10) is None


def test_an_order_is_learned_wherever_there_is_an_operator_and_else_given_or_drawn():
    sources = {name: order_source(name) for name in OPERATORS}
    assert sources["fixed"] == "given"
    assert sources["random"] == "drawn"
    for name, source in sources.items():
        assert (source == "learned") == (make_operator(name, 10) is not None)
    assert order_source(top_k_sparsemax) == "learned"


def test_a_callable_is_the_operator():
    def own(theta, tau):
        return top_k_sparsemax(theta, 2, tau=tau)

    assert make_operator(own, 10) is own


@pytest.mark.parametrize("operator", ["softmax", 3, dict])
def test_an_unknown_operator_is_refused_with_what_there_is(operator):
    with pytest.raises(
        ValueError,
        match=r"operator must be 'sparsemax', 'sparsemap', 'sparsemap-peel', 'sparsemap-warm', 'fixed', ",
    ):
        make_operator(operator, 10)


@pytest.mark.parametrize("k", [0, -3, 2.5, True])
def test_k_must_be_a_positive_whole_number(k):
    with pytest.raises(ValueError, match=r"k must be"):
        make_operator("sparsemax", k)
