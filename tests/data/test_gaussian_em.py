import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from daguerreotype.data.gap_patterns import CompleteRows, GapPatterns, SplitRows
from daguerreotype.data.gaussian_em import GappyRows, NormalFit, fit_normal
from daguerreotype.data.moments import Moments
from daguerreotype.data.streams import read_source


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
    found = GappyRows(values).expected(mean, np.linalg.inv(covariance))
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


def test_of_columns_that_end_one_after_the_other_the_maximum_has_a_closed_form():
    rng = np.random.default_rng(1)
    first = rng.normal(size=200)
    second = 0.7 * first + rng.normal(size=200)
    second[120:] = np.nan
    slope, constant = np.polyfit(first[:120], second[:120], 1)
    rest = np.mean((second[:120] - constant - slope * first[:120]) ** 2)
    found = fit_normal(np.column_stack([first, second]))
    assert found.mean[1] == pytest.approx(constant + slope * first.mean(), abs=1e-5)
    assert found.covariance[1, 1] == pytest.approx(rest + slope**2 * first.var(), rel=1e-5)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 0.5))
def test_no_step_makes_what_is_seen_less_likely(seed, share):
    values = rows_with_gaps(seed, n=40, d=3, share=share)
    values = values[~np.isnan(values).all(axis=1)]
    if np.any((~np.isnan(values)).sum(axis=0) < 5):
        return
    rows = GappyRows(values)
    fit = NormalFit(np.nanmean(values, axis=0), np.diag(np.nanvar(values, axis=0)))
    before = -np.inf
    for _ in range(5):
        now = log_likelihood(values, fit.mean, fit.covariance)
        assert now >= before - 1e-6
        fit, before = rows.expected(fit.mean, fit.precision), now


def test_draws_leave_what_is_seen_and_have_the_moments_that_are_expected():
    values = rows_with_gaps(n=4000)
    fit = fit_normal(values)
    rows = GappyRows(values)
    drawn = rows.draw(fit.mean, fit.precision, np.random.default_rng(0))
    seen = ~np.isnan(values)
    np.testing.assert_array_equal(drawn[seen], values[seen])
    scale = np.sqrt(np.diag(fit.covariance))
    assert np.abs((np.cov(drawn.T) - fit.covariance) / np.outer(scale, scale)).max() < 0.03


@pytest.mark.parametrize("cuts", [[], [50], [7, 8, 300]])
def test_rows_in_chunks_have_the_moments_of_all_rows(cuts):
    values = rows_with_gaps(n=520)
    values = values[~np.isnan(values).all(axis=1)][:500]
    values[:200, [0, 2]] = 1.0, np.nan  # a pattern with many rows among those with few
    gathered = SplitRows(Moments(), GapPatterns())
    for chunk in np.split(values, cuts):
        gathered.update(chunk)
    found, expected = gathered.gaps.fit_normal(gathered.inner), fit_normal(values)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-6)
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-5)
    assert gathered.n_rows == 500
    np.testing.assert_array_equal(gathered.gaps.counts, np.isnan(values).sum(axis=0))
    seen = (~np.isnan(values)).astype(float)
    np.testing.assert_array_equal(gathered.gaps.seen_together(gathered.inner.n_rows), seen.T @ seen)


def test_parts_merge_to_what_one_would_have_seen():
    values = rows_with_gaps(n=400)
    parts = [SplitRows(Moments(), GapPatterns()).update(part) for part in np.array_split(values, 5)]
    merged = SplitRows(Moments(), GapPatterns())
    for part in parts:
        merged.merge(part)
    found, expected = merged.gaps.fit_normal(merged.inner), fit_normal(values)
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-5)


def test_a_column_that_is_constant_where_it_is_seen_has_no_variance_and_leaves_the_others_alone():
    values = rows_with_gaps(n=300)
    constant = np.where(np.arange(300) % 3 == 0, np.nan, 2.0)
    found, alone = fit_normal(np.column_stack([values, constant])), fit_normal(values)
    assert found.mean[-1] == pytest.approx(2.0)
    assert not found.covariance[-1].any()
    np.testing.assert_allclose(found.covariance[:-1, :-1], alone.covariance, atol=1e-6)


def test_means_far_from_zero_cost_no_digits_of_the_variances():
    values = np.round(rows_with_gaps(n=400) * 2**16) / 2**16
    far = 2.0**35 * np.array([1.0, -1.0, 0.0, 1.0, 2.0])[: values.shape[1]]
    merged, moved = (SplitRows(Moments(), GapPatterns()) for _ in range(2))
    for part in np.array_split(values, 3):
        merged.merge(SplitRows(Moments(), GapPatterns()).update(part))
        moved.merge(SplitRows(Moments(), GapPatterns()).update(part + far))
    near, apart = (each.gaps.fit_normal(each.inner) for each in (merged, moved))
    np.testing.assert_allclose(apart.covariance, near.covariance, atol=1e-5)


def test_rows_without_gaps_are_taken_in_as_ever_to_the_last_bit():
    values = np.random.default_rng(0).normal(size=(300, 3))
    split = SplitRows(Moments(), GapPatterns()).update(values)
    np.testing.assert_array_equal(split.inner.covariance, Moments().update(values).covariance)
    assert split.gaps.n_rows == 0


def test_a_source_can_leave_out_rows_with_gaps_and_counts_them():
    values = rows_with_gaps(n=300)
    source = CompleteRows(read_source([values[:100], values[100:]]))
    found = source.gather(Moments)
    complete = ~np.isnan(values).any(axis=1)
    assert found.n_rows == complete.sum()
    assert source.n_left_out == 300 - complete.sum()
    np.testing.assert_array_equal(source.counts, np.isnan(values).sum(axis=0))
