import numpy as np
import pytest
from sklearn.base import clone

from daguerreotype.operators import FixedOrder, RandomOrder, SparseMAP, Sparsemax, sparsemap, top_k_sparsemax
from daguerreotype.operators.registry import bind_operator, read_operator


def test_an_operator_object_calls_its_function_with_its_settings(rng):
    theta = rng.normal(size=5)
    for operator, expected in (
        (Sparsemax(k=7), top_k_sparsemax(theta, 7, tau=0.5)),
        (SparseMAP(max_iter=3), sparsemap(theta, 3, tau=0.5)),
        (SparseMAP(method="peel"), sparsemap(theta, tau=0.5, method="peel")),
    ):
        made = operator(theta, 0.5)
        np.testing.assert_array_equal(made.ranks, expected.ranks)
        np.testing.assert_allclose(made.probs, expected.probs)


def test_a_name_stands_for_the_object_with_its_defaults_and_a_callable_for_itself():
    assert read_operator("sparsemax") == Sparsemax()
    assert read_operator("sparsemap") == SparseMAP()
    assert read_operator("random") == RandomOrder()
    assert bind_operator(read_operator(top_k_sparsemax)) is top_k_sparsemax
    for operator in (FixedOrder([0, 1]), RandomOrder()):  # nothing is trained
        assert bind_operator(read_operator(operator)) is None


def test_operators_and_settings_that_cannot_be_used_are_refused():
    names = r"operator must be 'sparsemax', 'sparsemap', 'random', Sparsemax\(...\), "
    cases = [
        *((operator, names) for operator in ("softmax", 3, dict, Sparsemax)),
        *((Sparsemax(k=k), "k must be") for k in (0, -3, 2.5, True)),
        (SparseMAP(max_iter=0), "max_iter must be at least 1, got 0"),
        (SparseMAP(method="exact"), "method must be 'active-set' or 'peel', got 'exact'"),
        *((Sparsemax(tau=tau), "tau must be positive and finite") for tau in (0.0, -1.0, np.nan)),
        (Sparsemax(tau=(1.0, 0.5)), r"tau must be a positive number, got \(1\.0, 0\.5\)"),
        (Sparsemax(tau="warm"), "tau must be a positive number, got 'warm'"),
    ]
    for operator, message in cases:
        with pytest.raises(ValueError, match=message):
            read_operator(operator)


def test_objects_are_copied_changed_compared_and_shown_by_their_settings():
    operator = Sparsemax(k=10, tau=(2.0, 0.1))
    copy = clone(operator)
    assert copy == operator
    assert copy is not operator
    assert repr(copy.set_params(tau=1.0)) == "Sparsemax(k=10)"
    assert copy != operator
    assert FixedOrder(np.arange(3)) == FixedOrder(np.arange(3)) != FixedOrder(np.arange(4))
    assert repr(FixedOrder(["a", "b"])) == "FixedOrder(order=['a', 'b'])"
    assert Sparsemax() != SparseMAP()
    with pytest.raises(ValueError, match="Sparsemax has no parameter 'max_iter'; it has 'k', 'tau'"):
        copy.set_params(max_iter=3)
