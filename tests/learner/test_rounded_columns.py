"""Columns that were rounded: ties neither tell causes from effects nor make a table likelier."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.training import Bilevel
from support.learners import make_learner

SHAPES = {
    "bend": lambda x: x + 0.5 * x**2,
    "threshold": lambda x: 2 * np.tanh(2 * x),
    "wave": lambda x: 2 * np.sin(2 * x),
}
ROUNDED = {
    "effect to a quarter of its spread": lambda x, y: (x, to_step(y, 0.25 * y.std())),
    "both to a quarter of their spread": lambda x, y: (to_step(x, 0.25 * x.std()), to_step(y, 0.25 * y.std())),
    "cause to a quarter of its spread": lambda x, y: (to_step(x, 0.25 * x.std()), y),
    "effect to whole numbers": lambda x, y: (x, np.round(4 * y) + 100),
}


def to_step(values, step):
    return np.round(values / step) * step


def pair(shape, seed, n=1000):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, SHAPES[shape](x) + 0.5 * rng.normal(size=n)


def is_right(columns, seed):
    """Whether defaults find the first column to be the cause of the second, wherever they stand."""
    first = seed % 2
    X = np.column_stack(columns[::-1] if first else columns)
    adjacency = Daguerreotype(posterior=0).fit(X).adjacency_matrix_
    return adjacency[first, 1 - first] == 1 and adjacency.sum() == 1


@pytest.mark.parametrize("how", ROUNDED)
def test_the_cause_of_a_smooth_effect_is_found_whatever_was_rounded(how):
    for shape in SHAPES:
        assert sum(is_right(ROUNDED[how](*pair(shape, seed)), seed) for seed in range(10)) >= 9


def test_the_cause_of_a_large_effect_is_found_on_the_scale_that_it_is_smooth_on():
    for shape in ("bend", "wave"):
        pairs = (pair(shape, seed) for seed in range(10))
        assert sum(is_right((x, np.round(np.exp(0.6 * y + 5))), seed) for seed, (x, y) in enumerate(pairs)) >= 9


def test_rounded_columns_are_scored_as_masses():
    x, y = pair("bend", 3)
    x = to_step(x, 0.5)
    for effect in (to_step(y, 0.5), to_step(y, 0.25 * y.std()), np.round(4 * y) + 100):
        for loss in ("bic", "entropy"):
            X = np.column_stack([x, effect])
            m = Daguerreotype(posterior=0, training=Bilevel(loss=loss)).fit(X[:700])
            assert -20.0 < m.score(X[700:]) < 0.0


def test_masses_of_a_rounded_column_sum_to_one_given_its_cause(rng):
    cause = rng.normal(size=600)
    X = np.column_stack([cause, to_step(cause + 0.5 * rng.normal(size=600), 0.25)])
    grid = np.arange(-8.0, 8.1, 0.25)
    for settings in ({"edges": "gam"}, {"edges": "bic", "loss": "entropy"}):
        model = make_learner(operator="fixed", start=[0, 1], scales="none", posterior=0, **settings).fit(X)
        masses = [np.exp(model.score([[0.7, value]], interventions=[0])) for value in grid]
        assert sum(masses) == pytest.approx(1.0, abs=0.01)


def test_a_rounded_copy_is_scored_as_a_mass(rng):
    x = np.round(4 * rng.normal(size=600))
    X = np.column_stack([x, 2 * x + 1, rng.normal(size=600)])
    X[rng.integers(600, size=60), 1] += 2.0
    m = Daguerreotype(scales="none", training=Bilevel(loss="entropy")).fit(X[:400])
    # No more than the third column, a density, and the first can say.
    assert m.score(X[400:]) < 0.0


def test_likelihoods_of_scales_count_the_step_of_a_grid(rng):
    X = np.column_stack([np.round(10 * rng.normal(size=300)), rng.normal(size=300)])
    best = [Daguerreotype(scales="none").fit(X * unit)._result.log_likelihood for unit in (1.0, 4.0)]
    # A mass has no unit: only the second column, which is a density, knows of it.
    assert best[0] - best[1] == pytest.approx(np.log(4.0))


def test_shuffled_rows_and_renumbered_columns_of_rounded_tables_give_the_same(rng):
    x, y = pair("bend", 0, n=300)
    X = np.column_stack([to_step(x, 0.5), np.round(2 * y), rng.normal(size=300) + x])
    rows, columns = rng.permutation(300), np.array([2, 0, 1])
    for edges in ("gam", "bic", "lars"):
        first, second = (Daguerreotype(edges=edges).fit(table) for table in (X, X[rows][:, columns]))
        assert second.loss_ == first.loss_
        assert second._result.log_likelihood == first._result.log_likelihood
        np.testing.assert_array_equal(second.adjacency_matrix_, first.adjacency_matrix_[np.ix_(columns, columns)])


def test_variance_that_rounding_adds_is_paid_for_by_no_parent(rng):
    cause = rng.normal(size=2000)
    effect = np.round(cause)  # all of it but the rounding is explained
    m = Daguerreotype(edges="bic", scales="none", standardize=False, training=Bilevel(loss="bic")).fit(
        np.column_stack([cause, effect])
    )
    fit = m._result.training.fits[int(m._result.place[1])]
    rest = np.var(effect - np.polyval(np.polyfit(cause, effect, 1), cause))
    assert fit.variance == pytest.approx(rest + 1 / 12, rel=0.02)  # the mean square of a uniform step


def test_a_column_with_many_zeros_has_a_place_on_every_scale():
    rng = np.random.default_rng(3)
    rain = np.where(rng.random(300) < 0.4, 0.0, rng.exponential(size=300))
    X = pd.DataFrame({"rain": rain, "sun": rng.normal(size=300)})
    for scale in ("auto", "none", "log", "yeo-johnson"):
        for interventions in (None, [None] * 280 + ["sun"] * 20):
            model = Daguerreotype(scales=scale).fit(X, interventions=interventions)
            assert -6.0 < model.score(X) < 0.0
