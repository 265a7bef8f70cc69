"""Residuals of some rows are enough: longer tables are judged by as many, shorter ones by all."""

import numpy as np
import pytest
from scipy import stats

from daguerreotype import Daguerreotype
from daguerreotype.data.scales import ColumnScales
from daguerreotype.data.table import OnScale, Table
from daguerreotype.edges import BicEdges, GamEdges
from daguerreotype.edges.base import Capabilities, LocalFit, LocalModels
from daguerreotype.edges.predictors import first_residuals
from daguerreotype.noise import FreeShape
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.training import Bilevel
from daguerreotype.training.objective import PenalizedLikelihood
from daguerreotype.training.scores import LocalFits
from support.learners import make_learner

LONG = MAX_ROWS + 5000


def centred_table(rng, n):
    cause = rng.normal(size=n)
    effect = np.sin(2 * cause) + 0.3 * rng.normal(size=n)
    values = np.column_stack([effect, cause])
    return Table(values - values.mean(axis=0), ("effect", "cause"))


def test_first_residuals_are_those_of_all_rows_cut_short(rng):
    table = centred_table(rng, LONG)
    for estimator in (BicEdges(), GamEdges()):
        models = estimator.prepare(table)
        fit = models.fit(0, np.array([1]))
        everywhere = table.values[:, 0] - models.predict(0, fit, table.values)
        residuals = first_residuals(models, table, 0, fit)
        assert residuals.shape == (MAX_ROWS,)
        np.testing.assert_allclose(residuals, everywhere[:MAX_ROWS], atol=1e-12)
        np.testing.assert_allclose(models.residuals(0, fit)[:MAX_ROWS], residuals, atol=1e-12)
        assert isinstance(estimator, BicEdges) or models.residuals(0, fit).size == MAX_ROWS


class RawColumns(LocalModels):
    """Models without parents, whose residuals are the columns."""

    can = Capabilities(residuals=True)

    def __init__(self, values):
        self.values = values

    def fit(self, node, predecessors):
        return LocalFit.gaussian(np.array([], dtype=int), np.array([]), self.values[:, node].var(), 3.0)

    def residuals(self, node, fit):
        return self.values[:, node]


def test_the_likelihood_of_a_long_column_is_that_of_its_first_rows_at_their_penalty(rng):
    models = RawColumns(rng.laplace(size=(LONG, 2)))
    fits = LocalFits(models, PenalizedLikelihood(2.0), n_rows=LONG, d=2, noise=(FreeShape(),) * 2)
    terms = fits.terms_of([0, 1], [models.fit(node, None) for node in (0, 1)])
    expected = [FreeShape().excess(column[:MAX_ROWS]) for column in models.values.T]
    np.testing.assert_array_equal(terms[:, 0], expected)
    np.testing.assert_allclose(terms[:, 1], 2.0 * np.log(MAX_ROWS) / (2 * MAX_ROWS) * 3)


def test_a_long_table_of_noise_that_is_not_gaussian_shows_its_direction_in_any_sequence_of_rows(rng):
    cause = rng.uniform(-1, 1, size=LONG)
    X = np.column_stack([cause + rng.uniform(-1, 1, size=LONG), cause])
    learner = Daguerreotype(edges="bic", noise="free-shape", scales="none", training=Bilevel(n_restarts=0))
    model = learner.fit(X)
    assert model.adjacency_matrix_.tolist() == [[0, 0], [1, 0]]
    weights, loss = model.weights_, model.loss_
    again = learner.fit(X[rng.permutation(LONG)])
    assert np.array_equal(again.weights_, weights)
    assert again.loss_ == loss


@pytest.mark.parametrize("share_set", [0.0, 0.4])
def test_slopes_of_a_long_table_are_those_of_the_rows_that_entropies_are_of(rng, share_set):
    n, scale = 2 * MAX_ROWS, np.array([0.5, 2.0])
    values, intervened = rng.lognormal(size=(n, 2)), np.zeros((n, 2), dtype=np.bool_)
    intervened[:, 1] = rng.random(n) < share_set
    expected = 0.0
    for j in range(2):
        counted = np.flatnonzero(~intervened[:, j])
        slopes = -np.log(values[counted[:MAX_ROWS], j]) - np.log(scale[j])
        expected += counted.size / n * slopes.mean()
    table = Table(values, ("a", "b"), intervened=intervened if share_set else None)
    scaled = OnScale(ColumnScales(("log", "log"), np.zeros((2, 3))), np.zeros(2), scale, table)
    assert table.mean_log_slopes(scaled, MAX_ROWS) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("share_set", [0.0, 0.4])
def test_the_likelihood_of_a_long_table_is_that_of_its_distribution(rng, share_set):
    n = 2 * MAX_ROWS
    logs = rng.normal(size=n)
    X = np.exp(np.column_stack([logs, 0.8 * logs + 0.6 * rng.normal(size=n)]))
    was_set = np.column_stack([np.zeros(n), rng.random(n) < share_set]).astype(np.bool_)
    X[was_set[:, 1], 1] = rng.lognormal(size=was_set.sum())
    fixed = {"edges": "bic", "operator": "fixed", "start": [0, 1], "loss": "bic", "scales": "log"}
    model = make_learner(**fixed).fit(X, interventions=was_set if share_set else None)
    expected = stats.norm(scale=1.0).entropy() + (1 - share_set) * stats.norm(scale=0.6).entropy()
    assert model._result.log_likelihood == pytest.approx(-expected, abs=0.03)
