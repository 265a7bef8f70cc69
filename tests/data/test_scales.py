import numpy as np
import pytest
from scipy import stats
from sklearn.preprocessing import PowerTransformer

from daguerreotype import Daguerreotype
from daguerreotype.data.column_scales import fit_powers
from daguerreotype.data.scales import check_scale, fit_scale
from daguerreotype.graphs import to_cpdag
from support.fits import linear_data

NAMES = ("none", "log", "yeo-johnson")


def skewed(seed=0, n=80):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.lognormal(size=n), rng.normal(size=n), -rng.exponential(size=n), 5 + rng.random(n)]
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_jacobian_is_the_derivative_of_the_transform(name):
    values = skewed()
    transform, step = fit_scale(name, values), 1e-6
    slopes = (transform.apply(values + step) - transform.apply(values - step)) / (2 * step)
    np.testing.assert_allclose(transform.log_slopes(values), np.log(slopes), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_every_transform_is_increasing_and_leaves_its_input_alone(name):
    values = np.sort(skewed(), axis=0)
    before = values.copy()
    changed = fit_scale(name, values).apply(values)
    np.testing.assert_array_equal(values, before)
    assert (np.diff(changed, axis=0) > 0).all()


def test_none_changes_nothing():
    np.testing.assert_array_equal(fit_scale("none", skewed()).apply(skewed()), skewed())


def test_log_of_clearly_positive_columns_is_their_logarithm():
    values = 1.0 + np.abs(skewed())
    np.testing.assert_allclose(fit_scale("log", values).apply(values), np.log(values))


def test_log_of_other_columns_starts_at_a_hundredth_of_their_range():
    values = skewed() - 3.0
    spread = np.ptp(values, axis=0)
    lowest = fit_scale("log", values).apply(values).min(axis=0)
    np.testing.assert_allclose(lowest[:3], np.log(0.01 * spread[:3]))


def test_log_of_unseen_values_below_all_that_were_seen_is_finite():
    transform = fit_scale("log", skewed())
    unseen = skewed().min(axis=0, keepdims=True) - 100.0
    assert np.isfinite(transform.apply(unseen)).all()
    assert np.isfinite(transform.log_slopes(unseen)).all()


def test_yeo_johnson_finds_the_powers_of_scikit_learn():
    values = skewed()
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    theirs = PowerTransformer(standardize=False).fit(standard)
    ours = fit_scale("yeo-johnson", values)
    np.testing.assert_allclose(ours.apply(values), theirs.transform(standard), rtol=1e-3, atol=1e-3)


def test_yeo_johnson_takes_skewness_away():
    values = skewed(n=400)
    before, after = stats.skew(values), stats.skew(fit_scale("yeo-johnson", values).apply(values))
    assert np.abs(before[[0, 2]]).min() > 1.0
    assert np.abs(after).max() < 0.5


def test_an_unknown_transform_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"transform must be 'none', 'log', 'yeo-johnson' or 'auto', got 'sqrt'"):
        check_scale("sqrt")


# ---------------------------------------------------------------------------- which one is chosen


@pytest.mark.parametrize("edges", ["bic", "gam"])
@pytest.mark.parametrize("seed", range(3))
def test_auto_takes_the_scale_on_which_the_data_were_made(edges, seed):
    linear = 0.5 * linear_data(seed, 400, 4)
    settings = {"edges": edges, "loss": "bic", "k": 10, "max_iter": 50, "n_restarts": 2}
    assert Daguerreotype(**settings).fit(linear).transform_ == "none"
    assert Daguerreotype(**settings).fit(np.exp(linear)).transform_ == "log"


def test_auto_gives_what_the_chosen_transform_gives_alone():
    X = np.exp(linear_data(0, 400, 4))
    settings = {"edges": "bic", "loss": "bic", "k": 10}
    auto = Daguerreotype(**settings).fit(X)
    alone = Daguerreotype(**settings, transform=auto.transform_).fit(X)
    assert auto.transform_ == "log"
    np.testing.assert_array_equal(to_cpdag(auto.adjacency_matrix_), to_cpdag(alone.adjacency_matrix_))


@pytest.mark.parametrize("name", NAMES)
def test_a_transform_that_is_asked_for_is_used(name):
    settings = {"edges": "bic", "loss": "bic", "k": 10, "max_iter": 20}
    assert Daguerreotype(**settings, transform=name).fit(skewed()).transform_ == name


def test_log_on_exponentials_learns_what_none_learns_on_the_logarithms():
    X = linear_data(2, 150, 5)
    X = 0.4 * X / X.std(axis=0)  # a range so small that the exponentials are clearly positive and not shifted
    settings = {"edges": "bic", "loss": "bic", "k": 20}
    on_log = Daguerreotype(**settings, transform="log").fit(np.exp(X))
    plain = Daguerreotype(**settings, transform="none").fit(X)
    assert on_log.loss_ == pytest.approx(plain.loss_, abs=1e-9)
    np.testing.assert_array_equal(to_cpdag(on_log.adjacency_matrix_), to_cpdag(plain.adjacency_matrix_))


@pytest.mark.parametrize("intervened", [False, True])
def test_powers_are_those_of_greatest_likelihood(intervened, rng):
    shapes = [
        np.exp(rng.normal(size=300)),
        -rng.exponential(size=300),
        rng.normal(size=300),
        rng.uniform(size=300),
    ]
    X = np.column_stack(shapes)
    out = rng.random(X.shape) < 0.2 if intervened else None
    scale = fit_powers(X, out)
    for j, column in enumerate(((X - scale.parameters[:, 1]) / scale.parameters[:, 2]).T):
        column = column if out is None else column[~out[:, j]]
        # The library's search ends where its function no longer tells neighbours apart.
        assert scale.parameters[j, 0] == pytest.approx(stats.yeojohnson_normmax(column), abs=1e-6)


def test_no_power_goes_beyond_its_bounds(rng):
    X = np.exp(4 * rng.normal(size=(300, 2))) * [1.0, -1.0]
    power = fit_powers(X).parameters[:, 0]
    np.testing.assert_allclose(power, [-3.0, 5.0], atol=1e-5)


def test_powers_of_many_columns_are_those_of_each_alone(rng):
    X = np.exp(rng.normal(size=(30_000, 5)) * np.arange(0.2, 1.2, 0.2))
    for j, power in enumerate(fit_powers(X).parameters[:, 0]):
        assert power == pytest.approx(fit_powers(X[:, [j]]).parameters[0, 0], abs=1e-9)
