"""Columns that were rounded: ties neither tell causes from effects nor make a table likelier."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.training import Bilevel

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
    found = Daguerreotype().fit(X).adjacency_matrix_
    return found[first, 1 - first] == 1 and found.sum() == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("how", ROUNDED)
def test_the_cause_of_a_smooth_effect_is_found_whatever_was_rounded(how, shape):
    right = sum(is_right(ROUNDED[how](*pair(shape, seed)), seed) for seed in range(10))
    assert right >= 9


@pytest.mark.parametrize("shape", ["bend", "wave"])
def test_the_cause_of_a_large_effect_is_found_on_the_scale_that_it_is_smooth_on(shape):
    right = 0
    for seed in range(10):
        x, y = pair(shape, seed)
        right += is_right((x, np.round(np.exp(0.6 * y + 5))), seed)
    assert right >= 9


@pytest.mark.parametrize("how", ROUNDED)
@pytest.mark.parametrize("loss", ["bic", "entropy"])
def test_rounded_columns_are_scored_as_masses(how, loss):
    x, y = pair("bend", 3)
    x, y = to_step(x, 0.5), ROUNDED[how](x, y)[1]
    X = np.column_stack([x, y if "effect" in how else to_step(y, 0.5)])
    m = Daguerreotype(training=Bilevel(loss=loss)).fit(X[:700])
    assert -20.0 < m.score(X[700:]) < 0.0


def test_a_rounded_copy_is_scored_as_a_mass(rng):
    x = np.round(4 * rng.normal(size=600))
    X = np.column_stack([x, 2 * x + 1, rng.normal(size=600)])
    X[rng.integers(600, size=60), 1] += 2.0
    m = Daguerreotype(scales="none", training=Bilevel(loss="entropy")).fit(X[:400])
    # No more than the third column, a density, and the first can say.
    assert m.score(X[400:]) < 0.0


def test_likelihoods_of_scales_count_the_step_of_a_grid(rng):
    X = np.column_stack([np.round(10 * rng.normal(size=300)), rng.normal(size=300)])
    best = [Daguerreotype(scales="none").fit(X * unit)._result.best.log_likelihood for unit in (1.0, 4.0)]
    # A mass has no unit: only the second column, which is a density, knows of it.
    assert best[0] - best[1] == pytest.approx(np.log(4.0))


@pytest.mark.parametrize("edges", ["gam", "bic", "lars"])
def test_shuffled_rows_and_renumbered_columns_of_rounded_tables_give_the_same(edges, rng):
    x, y = pair("bend", 0, n=300)
    X = np.column_stack([to_step(x, 0.5), np.round(2 * y), rng.normal(size=300) + x])
    first = Daguerreotype(edges=edges).fit(X)
    rows, columns = rng.permutation(300), np.array([2, 0, 1])
    second = Daguerreotype(edges=edges).fit(X[rows][:, columns])
    assert second.loss_ == first.loss_
    assert second._result.best.log_likelihood == first._result.best.log_likelihood
    np.testing.assert_array_equal(second.adjacency_matrix_, first.adjacency_matrix_[np.ix_(columns, columns)])


def test_a_saved_learner_of_rounded_columns_scores_the_same(tmp_path):
    X = np.column_stack(ROUNDED["both to a quarter of their spread"](*pair("bend", 1)))
    m = Daguerreotype().fit(X)
    m.save(tmp_path / "model.npz")
    assert Daguerreotype.load(tmp_path / "model.npz").score(X) == m.score(X)


def test_interventions_on_rounded_columns_fit(rng):
    x, y = pair("bend", 2, n=400)
    X = np.column_stack([to_step(x, 0.25), np.round(2 * y)])
    X[:100, 1] = 3.0
    m = Daguerreotype().fit(X, interventions=[1] * 100 + [None] * 300)
    assert m.adjacency_matrix_[0, 1] == 1
    assert np.isfinite(m.loss_)


def test_variance_that_rounding_adds_is_paid_for_by_no_parent(rng):
    cause = rng.normal(size=2000)
    effect = np.round(cause)  # all of it but the rounding is explained
    m = Daguerreotype(edges="bic", scales="none", standardize=False, training=Bilevel(loss="bic")).fit(
        np.column_stack([cause, effect])
    )
    fit = m._result.best.training.fits[int(m._result.place[1])]
    assert fit.variance >= 1 / 12


@pytest.mark.parametrize("edges", ["gam", "bic"])
def test_chunks_of_rounded_columns_lead_to_the_same_fit(edges, rng):
    X = np.column_stack([to_step(each, 0.5) for each in pair("bend", 4, n=600)] + [rng.normal(size=600)])
    held = Daguerreotype(edges=edges, scales="none", training=Bilevel(loss="bic")).fit(X)
    read = Daguerreotype(edges=edges, training=Bilevel(loss="bic")).fit_chunks(
        np.array_split(X[rng.permutation(600)], 3)
    )
    assert read.loss_ == held.loss_
    np.testing.assert_array_equal(read.adjacency_matrix_, held.adjacency_matrix_)
    assert read.score(X) == pytest.approx(held.score(X), abs=1e-12)


@pytest.mark.parametrize("transform", ["auto", "none", "log", "yeo-johnson"])
@pytest.mark.parametrize("interventions", [None, [None] * 280 + ["sun"] * 20])
def test_a_column_with_many_zeros_has_a_place_on_every_scale(transform, interventions):
    rng = np.random.default_rng(3)
    rain = np.where(rng.random(300) < 0.4, 0.0, rng.exponential(size=300))
    X = pd.DataFrame({"rain": rain, "sun": rng.normal(size=300)})
    model = Daguerreotype(scales=transform).fit(X, interventions=interventions)
    assert -6.0 < model.score(X) < 0.0
