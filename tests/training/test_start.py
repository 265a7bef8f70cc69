import numpy as np
import pytest

from daguerreotype.operators import top_k_sparsemax
from daguerreotype.operators.registry import order_source
from daguerreotype.training.start import make_start, make_temperature

NAMES = ("age", "dose", "diet", "outcome")


def start(init, operator="sparsemax", seed=0, tau=1.0, columns=None):
    return make_start(
        init,
        names=NAMES,
        variances=np.array([3.0, 1.0, 2.0, 10.0]),
        tau=tau,
        rng=np.random.default_rng(seed),
        order_source=order_source(operator),
        columns=columns,
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


@pytest.mark.parametrize("operator", ["sparsemax", "fixed"])
@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ([0, 1, 1, 2], r"init holds 1 more than once: as an order init has each of the 4 columns once"),
        (np.array([1, 2, 3, 4]), r"init holds (np.int64\()?4\)?, which is no column: as an order"),
        ([0, 1, 2, -1], r"init holds -1, which is no column"),
        ([False, True, 2, 3], r"init holds False, which is no column"),
        ([0, 1, 2, None], r"init holds None, which is no column"),
    ],
    ids=["repeated", "from one", "negative", "truth values", "none"],
)
def test_whole_numbers_that_are_no_order_are_refused_rather_than_scores(broken, why, operator):
    with pytest.raises(ValueError, match=why):
        start(broken, operator)


def test_a_fixed_order_cannot_be_scores():
    with pytest.raises(ValueError, match=r"init holds 0\.5, which is no column: as an order .* by position\.$"):
        start([0.5, -1.0, 2.0, 0.0], "fixed")


@pytest.mark.parametrize("init", [3, None, {"age": 1}, np.eye(4), [0.5, 1.0, "age", None]], ids=str)
def test_what_is_neither_order_nor_scores_is_refused(init):
    with pytest.raises(TypeError, match=r"init must be 'zeros', 'variances', an order of all columns, or a float"):
        start(init)


def test_a_random_order_follows_the_seed_and_the_listing_of_the_columns_not_their_numbers():
    listed = np.array([3, 1, 0, 2])
    renumber = np.array([2, 3, 1, 0])  # column i is called renumber[i] elsewhere
    theta = start("zeros", "random", seed=5, columns=listed)
    np.testing.assert_array_equal(start("zeros", "random", seed=5, columns=listed), theta)
    np.testing.assert_array_equal(start("zeros", "random", seed=5, columns=renumber[listed])[renumber], theta)
    assert len({tuple(sorted_names(start("zeros", "random", seed=seed))) for seed in range(30)}) > 10


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (
            "ones",
            r"init must be 'zeros', 'variances', an order of all columns, or a float for each, .* got 'ones'",
        ),
        ([0.0, 1.0], r"init has 2 entries, but the table has 4 columns"),
        (["age", "dose", "diet", "income"], r"init holds 'income', which is no column: as an order init has"),
        (["age", "dose", "diet", "age"], r"init holds 'age' more than once: as an order init has"),
        ([0.0, np.nan, 1.0, 2.0], r"init holds scores that are not finite"),
    ],
)
def test_a_bad_start_is_refused_with_what_is_wrong(init, message):
    with pytest.raises(ValueError, match=message):
        start(init)


def test_a_fixed_order_must_be_given():
    with pytest.raises(ValueError, match=r"operator='fixed' needs the order: init=\[\.\.\.\] with all columns"):
        start("zeros", "fixed")


# ---------------------------------------------------------------------------- temperature


def test_a_number_is_the_temperature_of_every_step():
    tau = make_temperature(0.3, 100)
    assert [tau(0), tau(50), tau(99)] == [0.3, 0.3, 0.3]


def test_a_pair_is_annealed_geometrically_from_the_first_to_the_last_step():
    tau = make_temperature((4.0, 0.25), 5)
    np.testing.assert_allclose([tau(step) for step in range(5)], [4.0, 2.0, 1.0, 0.5, 0.25])
    assert tau(1000) == pytest.approx(0.25)
    assert make_temperature((4.0, 0.25), 1)(0) == 4.0


def test_a_callable_is_asked_at_every_step():
    assert make_temperature(lambda step: 1.0 / (1 + step), 100)(3) == 0.25


@pytest.mark.parametrize("tau", [0.0, -1.0, np.inf, np.nan, (1.0, 0.0), (-1.0, 1.0)])
def test_a_temperature_that_is_not_positive_and_finite_is_refused(tau):
    with pytest.raises(ValueError, match=r"tau must be positive and finite"):
        make_temperature(tau, 10)


def test_a_callable_that_gives_no_temperature_is_refused_when_asked():
    with pytest.raises(ValueError, match=r"tau must be positive and finite, got 0\.0"):
        make_temperature(lambda step: 0.0, 10)(0)


@pytest.mark.parametrize(
    ("tau", "message"),
    [
        ((1.0, 0.5, 0.1), r"tau must be a number, a pair \(first, last\) or a callable"),
        ("warm", r"tau must be a positive number, got 'warm'"),
    ],
)
def test_what_is_no_temperature_is_refused(tau, message):
    with pytest.raises(ValueError, match=message):
        make_temperature(tau, 10)
