"""Which values may a setting take, and how does a learner take them on?"""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from daguerreotype import Daguerreotype, baselines
from daguerreotype.edges import BicEdges, GamEdges, LarsEdges, LassoEdges
from daguerreotype.operators import Sparsemax
from daguerreotype.tune import default_space
from daguerreotype.tune.space import Range, read_space, space_for, with_settings
from support.tuning import Thresholded


def test_the_mean_of_a_range_has_one_digit_and_stays_within_it():
    for values, expected in (([0.03, 0.0394], 0.03), ([0.0352], 0.04), ([0.068], 0.07), ([0.098], 0.07)):
        assert Range(1e-6, 0.07, True).mean(values) == expected
    for values, expected in (([3, 4], 4), ([25, 28], 30), ([41, 40], 40), ([42], 40), ([96], 42)):
        mean = Range(3, 42, False).mean(values)
        assert (mean, type(mean)) == (expected, int)


def test_of_choices_the_most_frequent_is_taken_and_of_equals_the_first_listed():
    choice = read_space({"edges": ["gam", None, "bic"]})["edges"]
    assert choice.mean(["bic", None, "bic"]) == "bic"
    assert choice.mean(["bic", None]) is None


def test_a_space_that_makes_no_sense_is_refused():
    for spec, text in (
        ([], r"space\['a'\] is an empty list: expected at least one choice"),
        (3, r"space\['a'\] is 3: expected \(low, high, 'log'\), \(low, high, 'linear'\) or a list of choices"),
        ((1, 2, "lin"), r"is \(1, 2, 'lin'\): expected"),
        ((1,), r"is \(1,\): expected"),
        ((0.0, float("inf")), "inf.*expected"),
        ((False, 2), "False.*expected"),
        ((2, 2), "goes from 2 to 2: expected the lower number first"),
        ((0, 1, "log"), r'begins at 0: a "log" range needs numbers above 0'),
    ):
        with pytest.raises(ValueError, match=text):
            read_space({"a": spec})
    with pytest.raises(ValueError, match="space is empty: expected settings"):
        read_space({})
    with pytest.raises(TypeError, match="space is 3: expected a dict"):
        read_space(3)


def test_every_estimator_has_a_usual_space_of_its_own_settings():
    for edges, names in (
        ("bic", ["penalty"]),
        ("gam", ["penalty"]),
        (BicEdges(), ["edges.penalty"]),
        (GamEdges(), ["edges.penalty"]),
        ("lars", ["training.learning_rate"]),
        (LarsEdges(), ["training.learning_rate"]),
        ("lasso", ["training.learning_rate", "edges.alpha"]),
        ("linear", ["training.learning_rate", "edges.pruning", "edges.learning_rate"]),
        ("mlp", ["training.learning_rate", "edges.pruning", "edges.learning_rate"]),
    ):
        assert list(space_for(Daguerreotype(edges=edges), None)) == names


def test_rates_and_pruning_have_the_ranges_of_the_paper():
    space = default_space(Daguerreotype.paper(edges="linear"))
    assert space["training.learning_rate"] == space["edges.learning_rate"] == (1e-4, 1e-1, "log")
    assert space["edges.pruning"] == (1e-6, 1e-1, "log")


def test_a_learner_without_a_usual_space_asks_for_one():
    for learner in (Daguerreotype(edges=Ridge()), baselines.get("boss"), Thresholded()):
        with pytest.raises(ValueError, match=r"there is no usual space for .*: give one, .*Its settings are "):
            default_space(learner)


def test_settings_reach_the_learner_and_the_estimator_within_it_and_leave_the_original_alone():
    learner = Daguerreotype(edges=LassoEdges(0.1))
    changed = with_settings(learner, {"edges.alpha": 0.3, "operator.k": 7})
    assert (changed.edges, changed.operator) == (LassoEdges(0.3), Sparsemax(k=7))
    assert (learner.edges, learner.operator) == (LassoEdges(0.1), "sparsemax")


def test_settings_reach_a_regressor_and_an_object_that_is_no_dataclass():
    ridge, gam = Ridge(alpha=1.0), GamEdges(n_knots=4, penalty=3.0)
    assert with_settings(Daguerreotype(edges=ridge), {"edges.alpha": 2.0}).edges.alpha == 2.0
    changed = with_settings(Daguerreotype(edges=gam), {"edges.n_knots": 2}).edges
    assert (changed.n_knots, changed.penalty) == (2, 3.0)
    assert (ridge.alpha, gam.n_knots) == (1.0, 4)


def test_an_estimator_known_by_its_short_name_is_made_as_the_learner_would_make_it():
    for penalty, expected in ((None, (1.0, 1.0)), (3.0, (3.0, 0.0))):
        changed = with_settings(Daguerreotype(edges="gam"), {"edges.n_knots": 2, "penalty": penalty})
        assert changed.edges.n_knots == 2
        assert (changed.edges.penalty, changed.edges.gamma) == expected
        assert changed.edges.trust == changed.trust


def test_a_setting_that_is_of_nothing_is_refused():
    for name, text in (
        ("rate", "space has 'rate', but the learner has no setting 'rate'; it has '"),
        ("edges.beta", "space has 'edges.beta', but LassoEdges has no setting 'beta'; it has 'alpha'"),
        ("min_gain.more", "space has 'min_gain.more', but float has no setting 'more'; it has none"),
    ):
        with pytest.raises(ValueError, match=text):
            space_for(Daguerreotype(edges="lasso"), {name: [1]})


def test_what_is_no_learner_is_refused():
    for learner, text in (
        (Daguerreotype, r"learner is the class Daguerreotype: .* Write Daguerreotype\(\)"),
        ({}, "learner is a dict without fit: expected a scikit-learn estimator"),
        (None, "learner is "),
        (np.array([{}]), "learner is "),
    ):
        with pytest.raises(TypeError, match=text):
            default_space(learner)
