import numpy as np
import pytest

from daguerreotype.data.table import Table
from daguerreotype.operators import FixedOrder, RandomOrder, Sparsemax, top_k_sparsemax
from daguerreotype.training.methods import make_start

NAMES = ("age", "dose", "diet", "outcome")
TABLE = Table(np.array([[1.0], [-1.0]]) * np.sqrt([3.0, 1.0, 2.0, 10.0]), NAMES, named=True)


def start(given, operator=None, seed=0, tau=1.0, columns=None):
    return make_start(
        given,
        Sparsemax() if operator is None else operator,
        TABLE,
        tau=tau,
        rng=np.random.default_rng(seed),
        columns=np.arange(4) if columns is None else columns,
    )


def sorted_names(theta):
    return [NAMES[j] for j in np.argsort(theta, kind="stable")]


# ---------------------------------------------------------------------------- where theta starts


def test_zeros_tie_all_columns():
    np.testing.assert_array_equal(start("zeros"), np.zeros(4))


def test_variances_start_at_the_columns_variances_less_their_median():
    np.testing.assert_allclose(start("variances"), [0.5, -1.5, -0.5, 7.5])


@pytest.mark.parametrize("order", [["diet", "age", "outcome", "dose"], [2, 0, 3, 1], np.array([2, 0, 3, 1])])
def test_an_order_by_names_or_whole_numbers_is_what_the_scores_sort_into(order):
    assert sorted_names(start(order)) == ["diet", "age", "outcome", "dose"]


def test_the_neighbours_of_a_given_order_carry_mass_from_the_start():
    for tau in (0.01, 1.0, 50.0):
        distribution = top_k_sparsemax(start([2, 0, 3, 1], tau=tau), 100, tau=tau)
        assert len(distribution) > 1
        np.testing.assert_array_equal(distribution.mode, [2, 0, 3, 1])


@pytest.mark.parametrize("scores", [[0.5, -1.0, 2.0, 0.0], np.array([3.0, 2.0, 1.0, 0.0]), [2, 0.0, 0, 1]])
def test_floats_are_scores(scores):
    np.testing.assert_array_equal(start(scores), np.asarray(scores, dtype=float))


NO_ORDERS = [
    ([0, 1, 1, 2], r" holds 1 more than once: an order has each of the 4 columns once"),
    (np.array([1, 2, 3, 4]), r" holds (np.int64\()?4\)?, which is no column: an order"),
    ([0, 1, 2, -1], r" holds -1, which is no column"),
    ([False, True, 2, 3], r" holds False, which is no column"),
    ([0, 1, 2, None], r" holds None, which is no column"),
    (["age", "dose", "diet", "income"], r" holds 'income', which is no column: an order has"),
    (["age", "dose", "diet", "age"], r" holds 'age' more than once: an order has"),
    ([0, 1], " has 2 entries, but the table has 4 columns"),
]


def test_what_is_no_order_is_refused_rather_than_taken_for_scores():
    for broken, why in NO_ORDERS:
        with pytest.raises(ValueError, match="start" + why):
            start(broken)
        with pytest.raises(ValueError, match="order" + why):
            start("zeros", FixedOrder(broken))
    with pytest.raises(ValueError, match=r"order holds 0\.5, which is no column: an order .* by position\.$"):
        start("zeros", FixedOrder([0.5, -1.0, 2.0, 0.0]))
    with pytest.raises(TypeError, match="order must be an order of all columns, got 'zeros'"):
        start("zeros", FixedOrder("zeros"))


def test_what_is_neither_order_nor_scores_is_refused():
    message = "start must be 'zeros', 'variances', an order of all columns, or a float"
    for given in (3, None, {"age": 1}, np.eye(4), [0.5, 1.0, "age", None]):
        with pytest.raises(TypeError, match=message):
            start(given)
    with pytest.raises(ValueError, match=f"{message} for each, .* got 'ones'"):
        start("ones")
    with pytest.raises(ValueError, match="start holds scores that are not finite"):
        start([0.0, np.nan, 1.0, 2.0])


def test_a_random_order_follows_the_seed_and_the_listing_of_the_columns_not_their_numbers():
    listed = np.array([3, 1, 0, 2])
    renumber = np.array([2, 3, 1, 0])  # column i is called renumber[i] elsewhere
    theta = start("zeros", RandomOrder(), seed=5, columns=listed)
    np.testing.assert_array_equal(start("zeros", RandomOrder(), seed=5, columns=listed), theta)
    np.testing.assert_array_equal(start("zeros", RandomOrder(), seed=5, columns=renumber[listed])[renumber], theta)
    assert len({tuple(sorted_names(start("zeros", RandomOrder(), seed=seed))) for seed in range(30)}) > 10
