import numpy as np
import pytest
from scipy.stats import multivariate_normal

from daguerreotype.data.missing import IncompleteRows, fit_normal


def rows_with_gaps(seed=0, n=120, d=4, share=0.25):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    values[rng.random((n, d)) < share] = np.nan
    return values


def log_likelihood(values, mean, covariance):
    """Of what is seen, row by row."""
    total = 0.0
    for row in values:
        seen = ~np.isnan(row)
        if seen.any():
            total += multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).logpdf(row[seen])
    return float(total)


def naive_expectation(values, mean, covariance):
    """The moments that are expected of all rows, by the textbook, a row at a time."""
    d = len(mean)
    total, products = np.zeros(d), np.zeros((d, d))
    for row in values:
        seen, gaps = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        filled, spread = row.copy(), np.zeros((d, d))
        onto = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, gaps)]).T
        filled[gaps] = mean[gaps] + onto @ (row[seen] - mean[seen])
        rest = covariance[np.ix_(gaps, gaps)] - onto @ covariance[np.ix_(seen, gaps)]
        spread[np.ix_(gaps, gaps)] = rest
        total += filled
        products += np.outer(filled, filled) + spread
    mean = total / len(values)
    return mean, products / len(values) - np.outer(mean, mean)


def test_one_step_expects_what_the_textbook_does():
    values = rows_with_gaps()
    mean, covariance = np.nanmean(values, axis=0), np.diag(np.nanvar(values, axis=0)) + 0.1
    found = IncompleteRows(values).expected(mean, np.linalg.inv(covariance))
    expected = naive_expectation(values, mean, covariance)
    np.testing.assert_allclose(found.mean, expected[0], rtol=1e-10)
    np.testing.assert_allclose(found.covariance, expected[1], rtol=1e-9, atol=1e-10)


def test_at_the_end_no_parameter_makes_what_is_seen_likelier():
    values = rows_with_gaps(n=40, d=3)
    found = fit_normal(values)

    def likelihood(parameters):
        factor = np.zeros((3, 3))
        factor[np.tril_indices(3)] = parameters[3:]
        return log_likelihood(values, parameters[:3], factor @ factor.T)

    best = np.concatenate([found.mean, np.linalg.cholesky(found.covariance)[np.tril_indices(3)]])
    slopes = [(likelihood(best + step) - likelihood(best - step)) / 2e-4 for step in 1e-4 * np.eye(best.size)]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-3)


def test_draws_leave_what_is_seen_and_have_the_moments_that_are_expected():
    values = rows_with_gaps(n=4000)
    fit = fit_normal(values)
    rows = IncompleteRows(values)
    drawn = rows.draw(fit.mean, fit.precision, np.random.default_rng(0))
    seen = ~np.isnan(values)
    np.testing.assert_array_equal(drawn[seen], values[seen])
    scale = np.sqrt(np.diag(fit.covariance))
    assert np.abs((np.cov(drawn.T) - fit.covariance) / np.outer(scale, scale)).max() < 0.03
    # A value that is missing alone varies by its precision about what the others say.
    precision = fit.precision
    away = (np.where(seen, values, 0.0) - fit.mean) * seen @ precision
    residuals = ((drawn - fit.mean) * np.diag(precision) + away) / np.sqrt(np.diag(precision))
    assert residuals[~seen & ((~seen).sum(axis=1) == 1)[:, None]].std() == pytest.approx(1.0, abs=0.05)


def test_a_column_that_is_constant_where_it_is_seen_has_no_variance_and_leaves_the_others_alone():
    values = rows_with_gaps(n=300)
    constant = np.where(np.arange(300) % 3 == 0, np.nan, 2.0)
    found, alone = fit_normal(np.column_stack([values, constant])), fit_normal(values)
    assert found.mean[-1] == pytest.approx(2.0)
    assert not found.covariance[-1].any()
    np.testing.assert_allclose(found.covariance[:-1, :-1], alone.covariance, atol=1e-6)
