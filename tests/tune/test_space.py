"""Which values may a setting take, and how does a learner take them on?"""

from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from daguerreotype import Daguerreotype, baselines
from daguerreotype.edges import BicEdges, GamEdges, LarsEdges, LassoEdges
from daguerreotype.tune import default_space
from daguerreotype.tune.space import (
    Choice,
    Range,
    check_learner,
    check_names,
    read_space,
    round_to_one_digit,
    with_settings,
)
from support.tuning import Thresholded

numbers = st.floats(1e-6, 1e6)


@given(numbers)
def test_rounding_leaves_the_nearest_number_of_one_digit(value):
    oracle = Context(prec=1, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(value))
    assert round_to_one_digit(value) == float(oracle)


@given(st.lists(st.floats(1e-6, 1e-1), min_size=1, max_size=5))
def test_the_mean_of_a_range_is_rounded_and_stays_within_it(values):
    mean = Range(1e-6, 0.07, True).mean(values)
    expected = round_to_one_digit(sum(values) / len(values))
    assert mean == min(expected, 0.07)


@given(st.lists(st.integers(3, 42), min_size=1, max_size=5))
def test_the_mean_of_whole_numbers_is_one(values):
    mean = Range(3, 42, False).mean(values)
    assert isinstance(mean, int)
    assert 3 <= mean <= 42
    assert mean in (42, round_to_one_digit(sum(values) / len(values)))


def test_of_choices_the_most_frequent_is_taken_and_of_equals_the_first_listed():
    choice = read_space({"edges": ["gam", None, "bic"]})["edges"]
    assert choice.mean(["bic", None, "bic"]) == "bic"
    assert choice.mean(["bic", None]) is None


def test_a_choice_that_no_database_can_hold_goes_by_its_name():
    choice = Choice((1, 1.0, True, None, "1", LassoEdges(0.5)))
    assert choice.labels == [1, 1.0, True, None, "1", "LassoEdges(alpha=0.5)"]
    for option, label in zip(choice.options, choice.labels, strict=True):
        assert repr(choice.value(label)) == repr(option)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ([], r"space\['a'\] is an empty list: expected at least one choice"),
        (3, r"space\['a'\] is 3: expected \(low, high, 'log'\), \(low, high, 'linear'\) or a list of choices"),
        ((1, 2, "lin"), r"is \(1, 2, 'lin'\): expected"),
        ((1,), r"is \(1,\): expected"),
        ((0.0, float("inf")), "inf.*expected"),
        ((False, 2), "False.*expected"),
        ((2, 2), "goes from 2 to 2: expected the lower number first"),
        ((0, 1, "log"), r'begins at 0: a "log" range needs numbers above 0'),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(spec, text):
    with pytest.raises(ValueError, match=text):
        read_space({"a": spec})


def test_an_empty_space_is_refused():
    with pytest.raises(ValueError, match="space is empty: expected settings"):
        read_space({})


@pytest.mark.parametrize(
    ("edges", "names"),
    [
        ("bic", ["penalty"]),
        ("gam", ["penalty"]),
        (BicEdges(), ["edges.penalty"]),
        (GamEdges(), ["edges.penalty"]),
        ("lars", ["learning_rate"]),
        (LarsEdges(), ["learning_rate"]),
        ("lasso", ["learning_rate", "edges.alpha"]),
        ("linear", ["learning_rate", "edges.pruning", "edges.learning_rate"]),
        ("mlp", ["learning_rate", "edges.pruning", "edges.learning_rate"]),
    ],
)
def test_every_estimator_has_a_usual_space_of_its_own_settings(edges, names):
    learner = Daguerreotype(edges=edges)
    space = default_space(learner)
    assert list(space) == names
    check_names(learner, read_space(space))


def test_rates_and_pruning_have_the_ranges_of_the_paper():
    space = default_space(Daguerreotype.paper(edges="linear"))
    assert space["learning_rate"] == space["edges.learning_rate"] == (1e-4, 1e-1, "log")
    assert space["edges.pruning"] == (1e-6, 1e-1, "log")


@pytest.mark.parametrize("learner", [Daguerreotype(edges=Ridge()), baselines.get("boss"), Thresholded()])
def test_a_learner_without_a_usual_space_asks_for_one(learner):
    with pytest.raises(ValueError, match=r"there is no usual space for .*: give one, .*Its settings are "):
        default_space(learner)


def test_settings_reach_the_learner_and_the_estimator_within_it_and_leave_the_original_alone():
    learner = Daguerreotype(edges=LassoEdges(0.1))
    changed = with_settings(learner, {"edges.alpha": 0.3, "k": 7})
    assert (changed.edges, changed.k) == (LassoEdges(0.3), 7)
    assert (learner.edges, learner.k) == (LassoEdges(0.1), 100)


def test_settings_reach_a_regressor_and_an_object_that_is_no_dataclass():
    ridge, gam = Ridge(alpha=1.0), GamEdges(n_knots=4, penalty=3.0)
    assert with_settings(Daguerreotype(edges=ridge), {"edges.alpha": 2.0}).edges.alpha == 2.0
    changed = with_settings(Daguerreotype(edges=gam), {"edges.n_knots": 2}).edges
    assert (changed.n_knots, changed.penalty) == (2, 3.0)
    assert (ridge.alpha, gam.n_knots) == (1.0, 4)


@pytest.mark.parametrize(("penalty", "expected"), [(None, (1.0, 1.0)), (3.0, (3.0, 0.0))])
def test_an_estimator_known_by_its_short_name_is_made_as_the_learner_would_make_it(penalty, expected):
    changed = with_settings(Daguerreotype(edges="gam"), {"edges.n_knots": 2, "penalty": penalty})
    assert changed.edges.n_knots == 2
    assert (changed.edges.penalty, changed.edges.gamma) == expected
    assert changed.edges.min_gain == changed.min_gain


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rate", "space has 'rate', but the learner has no setting 'rate'; it has 'cache_size', 'edges'"),
        ("edges.beta", "space has 'edges.beta', but LassoEdges has no setting 'beta'; it has 'alpha'"),
        ("k.more", "space has 'k.more', but int has no setting 'more'; it has none"),
    ],
)
def test_a_setting_that_nobody_has_is_refused(name, text):
    with pytest.raises(ValueError, match=text):
        check_names(Daguerreotype(edges="lasso"), [name])


def test_what_is_no_estimator_is_refused():
    with pytest.raises(TypeError, match=r"learner is the class Daguerreotype: .* Write Daguerreotype\(\)"):
        check_learner(Daguerreotype)
    with pytest.raises(TypeError, match="learner is a dict without fit: expected a scikit-learn estimator"):
        check_learner({})


@pytest.mark.parametrize("learner", [None, np.array([{}]), Daguerreotype])
def test_what_is_no_learner_has_no_space(learner):
    with pytest.raises(TypeError, match="learner is "):
        default_space(learner)
