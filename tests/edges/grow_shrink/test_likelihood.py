"""Maximum likelihood of discrete targets: the same maxima as those of a general optimiser, from any start."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.data import Kind
from daguerreotype.data.table import Table
from daguerreotype.edges.additive import local_score
from daguerreotype.edges.additive.local_score import AdditiveModels
from daguerreotype.edges.grow_shrink.discrete import fit_given
from daguerreotype.edges.grow_shrink.problem import PREDICTORS
from daguerreotype.edges.grow_shrink.tree import new_buffers
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise.newton import RIDGE
from support.likelihoods import best_nll

N = 300
KINDS = {
    "bernoulli": Kind("binary", levels=(0, 1)),
    "categorical": Kind("categorical", levels=tuple("abc")),
    "ordinal": Kind("ordinal", levels=(1, 2, 3, 4)),
    "poisson": Kind("count"),
    "negative-binomial": Kind("count"),
    "counts": Kind("count"),
}
ORACLES = {"bernoulli": "softmax", "categorical": "softmax", "ordinal": "ordered"}
families = pytest.mark.parametrize("family", KINDS)
# Columns before the target: a number, three levels, few ordered levels, a count.
PARENTS = (Kind(), Kind("categorical", levels=tuple("xyz")), Kind("ordinal", levels=(0, 1, 2)), Kind("count"))


def draw(family, signal, rng):
    """Outcomes (n,) whose linear predictor is the signal."""
    if family == "bernoulli":
        return signal + rng.logistic(size=signal.size) > 0.5
    if family == "categorical":
        return np.argmax(np.outer(signal, [0.0, 1.0, -1.0]) + rng.gumbel(size=(signal.size, 3)), axis=1)
    if family == "ordinal":
        return np.digitize(signal + rng.logistic(size=signal.size), [-1.0, 0.5, 1.5])
    mean = np.exp(0.5 + 0.5 * signal)
    return rng.poisson(mean if family == "poisson" else mean * rng.gamma(1.5, 1 / 1.5, signal.size))


def table_of(family, seed=0, n=N):
    """Parents of all kinds, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    number, level, place = rng.normal(size=n), rng.integers(3, size=n), rng.integers(3, size=n)
    count = rng.poisson(2.0, size=n)
    signal = np.sin(2 * number) + 0.5 * number + 0.7 * (level == 1) - 0.4 * place + 0.3 * np.log1p(count)
    values = np.column_stack([number, level, place, count, draw(family, signal, rng)]).astype(np.float64)
    return Table(
        values,
        tuple("abcde"),
        kinds=(*PARENTS, KINDS[family]),
        families=("", "categorical", "ordinal", "counts", family),
    )


class Engine:
    """Fits of the last column of a table on any of the others, and nothing searched for."""

    def __init__(self, table, *, compressed=True, penalty=1.0):
        self.models = AdditiveModels(table, 4, Penalty(penalty))
        problem = self.models.problem
        self.problem = problem if compressed else problem._replace(n_codes=0 * problem.n_codes)
        self.target = table.n_columns - 1
        self.buffers = new_buffers(self.problem)

    def fit(self, parents, used=None, *, cold=True):
        """Columns, coefficients and nuisances; ``nll`` is then that of the fit."""
        if cold:
            self.buffers.fit.state[0] = -1
        parents = np.array(parents, dtype=np.int64)
        used = self.problem.widths[parents] if used is None else np.array(used)
        fit, columns = self.buffers.fit, self.models.columns_of(self.target, parents, used)
        m = columns.size
        fit.columns[:m] = columns
        fit_given(self.models._addresses, self.problem, self.buffers, self.target, m)
        return columns, fit.coefficients[: m + 1].copy(), fit.nuisance.copy()

    @property
    def nll(self):
        return float(self.buffers.fit.nll[0])

    @property
    def outcomes(self):
        return self.problem.outcomes[self.target]


def nll_of_outcomes(family, outcomes, parent=None, n_levels=None, parent_kind=None):
    """The engine's maximum for outcomes given one parent, a number unless it has a kind; and the engine."""
    parent = np.linspace(-1, 1, len(outcomes)) if parent is None else parent
    kind = KINDS[family] if n_levels is None else Kind(KINDS[family].name, levels=tuple(range(n_levels)))
    parent_kind = parent_kind or Kind()
    values = np.column_stack([parent, outcomes]).astype(np.float64)
    own = {"categorical": "categorical", "binary": "bernoulli", "count": "counts"}.get(parent_kind.name, "")
    engine = Engine(Table(values, ("x", "y"), kinds=(parent_kind, kind), families=(own, family)))
    engine.fit([0], [1] if own != "categorical" else None)
    return engine.nll, engine


# ------------------------------------------------------------------ the same maxima as an optimiser's


@families
def test_the_maximum_is_that_of_a_general_optimiser(family):
    engine, none, line = Engine(table_of(family)), [], [1]
    whole = (none, none), ([0], line), ([0], None), ([1], None), ([2], line), ([2], None), ([3], None)
    for parents, used in (*whole, ([0, 1, 3], [1, 2, 1])):
        columns, *_ = engine.fit(parents, used)
        expected = best_nll(ORACLES.get(family, family), engine.outcomes, engine.problem.features[columns].T)
        assert engine.nll == pytest.approx(expected, abs=1e-6), parents


@families
def test_rows_that_agree_are_put_together_without_loss(family):
    together, apart = (Engine(table_of(family), compressed=compressed) for compressed in (True, False))
    for parents in ([], [1], [1, 2]):
        together.fit(parents)
        apart.fit(parents)
        assert together.nll == pytest.approx(apart.nll, abs=1e-10)
        np.testing.assert_allclose(together.buffers.fit.residuals, apart.buffers.fit.residuals, atol=1e-5)
        np.testing.assert_allclose(together.buffers.fit.information, apart.buffers.fit.information, atol=1e-6)


@families
def test_a_fit_is_the_same_from_any_start_even_from_one_that_a_parent_determined(family):
    rng = np.random.default_rng(1)
    codes = rng.integers(2, size=N)
    values = np.column_stack([codes, rng.normal(size=N) + codes, codes if family == "bernoulli" else 2 * codes])
    kinds = (Kind("binary", levels=(0, 1)), Kind(), KINDS[family])
    determined = Table(values.astype(np.float64), ("x", "z", "y"), kinds=kinds, families=("bernoulli", "", family))
    starts = [([0, 1, 2, 3], [1]), ([], [0, 3]), ([0], [2, 3]), ([3], [])]
    for table, pairs in ((table_of(family), starts), (determined, [([0], [1])])):
        engine = Engine(table)
        for before, parents in pairs:
            engine.fit(parents)
            cold = engine.nll
            engine.fit(before)
            engine.fit(parents, cold=False)
            assert engine.nll == pytest.approx(cold, abs=1e-9)


@families
def test_a_fit_from_near_its_maximum_whose_hessian_serves_for_several_steps_is_as_exact(family, rng):
    engine = Engine(table_of(family))
    columns, *_ = engine.fit([0, 1, 2, 3])
    fit, q = engine.buffers.fit, engine.problem.families[engine.target, PREDICTORS]
    expected, maximum = engine.nll, fit.coefficients[1 : columns.size + 1, :q].copy()
    for distance in 10.0 ** np.arange(-5, 0):
        fit.start[columns, :q] = maximum + distance * rng.normal(size=maximum.shape)
        engine.fit([0, 1, 2, 3], cold=False)
        assert engine.nll == pytest.approx(expected, abs=1e-10)
        np.testing.assert_allclose(fit.coefficients[1 : columns.size + 1, :q], maximum, atol=1e-4)


@families
def test_residuals_are_the_derivatives_of_the_likelihood(family):
    engine = Engine(table_of(family))
    columns, *_ = engine.fit([0, 1])
    # At the maximum no column that takes part has a score, but for what the small ridge leaves.
    q = engine.problem.families[engine.target, PREDICTORS]
    residuals = engine.buffers.fit.residuals[:, :q]
    scores = engine.problem.features[columns] @ residuals
    np.testing.assert_allclose(scores, 0.0, atol=0.1)
    np.testing.assert_allclose(residuals.sum(axis=0), 0.0, atol=1e-3)
    assert (
        np.abs(engine.problem.features[2 * engine.problem.blocks.shape[1]] @ residuals).max() > 1.0
    )  # of one that does not


@given(
    st.sampled_from(["bernoulli", "categorical", "ordinal", "poisson", "negative-binomial"]),
    st.integers(20, 60),
    st.integers(0, 2**31),
)
def test_small_tables_have_the_maximum_of_a_general_optimiser(family, n, seed):
    rng = np.random.default_rng(seed)
    levels = {"bernoulli": 2, "categorical": 3, "ordinal": 3}.get(family)
    outcomes = rng.integers(levels, size=n) if levels else rng.negative_binomial(1.0, 0.4, size=n)
    if levels:
        outcomes[:levels] = np.arange(levels)
    parent = rng.normal(size=n)
    found, engine = nll_of_outcomes(family, outcomes, parent, levels)
    design = engine.problem.features[:1].T
    expected = best_nll(ORACLES.get(family, family), engine.outcomes, design, RIDGE)  # few rows feel it
    assert found == pytest.approx(expected, abs=1e-6)


# ------------------------------------------------------------------ where the maximum lies far out


@families
def test_what_a_parent_determines_is_next_to_certain_and_finite(family):
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=N)
    outcomes = codes if family == "bernoulli" else 2 * codes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, engine = nll_of_outcomes(family, outcomes, codes, None, Kind("binary", levels=(0, 1)))
    fit = engine.buffers.fit
    assert np.isfinite(fit.coefficients).all()
    assert np.isfinite(fit.residuals).all()
    if family in ORACLES:
        assert 0 <= found < 0.005
    else:  # a Poisson count of mean two is no certainty
        assert found == pytest.approx(best_nll("poisson", outcomes, codes[:, None]), abs=1e-3)


def test_a_number_that_separates_levels_leaves_nothing_to_chance():
    parent = np.random.default_rng(0).normal(size=N)
    for family, cuts in (("bernoulli", [0.0]), ("categorical", [-0.5, 0.5]), ("ordinal", [-1.0, 0.0, 1.0])):
        found, engine = nll_of_outcomes(family, np.digitize(parent, cuts), parent)
        assert 0 <= found < 0.1
        assert np.abs(engine.buffers.fit.coefficients).max() < 1e3


@pytest.mark.parametrize("family", ["categorical", "ordinal"])
def test_a_level_that_one_row_has_is_fitted(family):
    rng = np.random.default_rng(0)
    outcomes = rng.integers(2, size=N)
    outcomes[17] = 2
    found, engine = nll_of_outcomes(family, outcomes, rng.normal(size=N), 3)
    expected = best_nll(ORACLES[family], engine.outcomes, engine.problem.features[:1].T, RIDGE)
    assert engine.outcomes.max() == 2
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "ordinal"])
def test_a_target_that_is_constant_in_the_rows_looked_at_is_certain_there(family, monkeypatch):
    monkeypatch.setattr(local_score, "LIKELIHOOD_ROWS", 200)
    outcomes = np.where(np.arange(N) < 250, 1, 0)
    found, engine = nll_of_outcomes(family, outcomes, np.random.default_rng(0).normal(size=N))
    assert 0 <= found < 1e-6
    assert np.isfinite(engine.buffers.fit.coefficients).all()


def test_an_ordered_level_that_no_row_has_goes_with_the_one_below():
    rng = np.random.default_rng(0)
    outcomes = rng.choice([1, 2, 4], size=N)
    found, engine = nll_of_outcomes("ordinal", outcomes, rng.normal(size=N), 6)
    assert sorted(np.unique(engine.outcomes)) == [0, 1, 2]
    compact = np.searchsorted([1, 2, 4], outcomes)
    assert found == pytest.approx(best_nll("ordered", compact, engine.problem.features[:1].T), abs=1e-6)


@pytest.mark.parametrize("family", ["categorical", "ordinal"])
def test_a_level_that_only_rows_beyond_those_looked_at_have_does_no_harm(family, monkeypatch):
    monkeypatch.setattr(local_score, "LIKELIHOOD_ROWS", 200)
    rng = np.random.default_rng(0)
    parent = rng.normal(size=N)
    outcomes = np.digitize(parent + rng.logistic(size=N), [0.0, 1.0])
    codes = np.where(outcomes == 2, 3, outcomes)
    codes[280:] = 2  # which no row before has
    found, engine = nll_of_outcomes(family, codes, parent, 4)
    seen = outcomes[:200]
    assert engine.outcomes.size == 200
    expected = best_nll(ORACLES[family], seen, engine.problem.features[:1].T)
    assert found == pytest.approx(expected, abs=1e-6)


# ------------------------------------------------------------------ counts of all sizes


def test_large_counts_and_counts_that_are_nearly_all_zero_have_their_maximum():
    rng = np.random.default_rng(0)
    parent, few = rng.normal(size=N), np.zeros(N, dtype=np.int64)
    large = rng.negative_binomial(2, 2 / (2 + np.exp(4 + parent)))
    large[3] = 5000
    few[[5, 50, 150]] = [1, 2, 1]
    for family in ("poisson", "negative-binomial", "counts"):
        for outcomes in (few, large):
            found, engine = nll_of_outcomes(family, outcomes, parent)
            expected = best_nll(family, outcomes, engine.problem.features[:1].T)
            assert found == pytest.approx(expected, abs=1e-5 * max(1.0, abs(expected)))
    assert engine.buffers.fit.nuisance[0] > 0.1


def test_poisson_counts_are_given_no_dispersion_and_others_are():
    rng = np.random.default_rng(0)
    parent = rng.normal(size=1000)
    mean = np.exp(1 + 0.5 * parent)
    _, poisson = nll_of_outcomes("counts", rng.poisson(mean), parent)
    _, spread = nll_of_outcomes("counts", rng.poisson(mean * rng.gamma(2, 0.5, 1000)), parent)
    assert poisson.buffers.fit.nuisance[0] == 0.0
    assert poisson.buffers.fit.nll[1] == 0.0
    assert spread.buffers.fit.nuisance[0] == pytest.approx(0.5, abs=0.15)
    assert spread.buffers.fit.nll[1] == 1.0


def test_a_dispersion_must_be_worth_what_a_parameter_costs():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=N), rng.negative_binomial(8, 0.8, size=N)]).astype(np.float64)
    table = Table(values, ("x", "y"), kinds=(Kind(), Kind("count")), families=("", "counts"))
    paid = {}
    for penalty in (0.5, 1.0, 4.0):
        engine = Engine(table, penalty=penalty)
        engine.fit([])
        poisson, free = (
            best_nll(family, engine.outcomes, values[:, :0]) for family in ("poisson", "negative-binomial")
        )
        worth = N * (poisson - free) > 0.5 * engine.problem.penalty_per_dof
        paid[penalty] = worth
        assert (engine.buffers.fit.nuisance[0] > 0) == worth
    assert paid == {0.5: True, 1.0: True, 4.0: False}
