"""Local models of tables with columns of any kind: what is found, what it weighs, how rows are predicted by it."""

from itertools import product

import numpy as np
import pytest

from daguerreotype.data import Kind
from daguerreotype.data.table import Table
from daguerreotype.edges import BicEdges, EdgeRules, GamEdges, penalty
from daguerreotype.edges.additive import local_score
from daguerreotype.edges.additive.local_score import AdditiveModels
from daguerreotype.edges.grow_shrink.discrete import eliminate_likely, fit_given
from daguerreotype.edges.grow_shrink.problem import PREDICTORS
from daguerreotype.edges.grow_shrink.tree import new_buffers
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise.base import Mass
from daguerreotype.noise.gaussian import STANDARD_ENTROPY, nll_of_variance
from support.greedy import grow_shrink

NUMBER, COUNT = Kind(), Kind("count")
BINARY = Kind("binary", levels=("no", "yes"))
ORDERED = Kind("ordinal", levels=(1, 2, 3))
LEVELS = Kind("categorical", levels=("x", "y", "z"))
DISCRETE = {"binary": BINARY, "categorical": LEVELS, "ordinal": ORDERED, "count": COUNT}
NOISES = {"binary": "bernoulli", "categorical": "categorical", "ordinal": "ordinal", "count": "counts"}


def draw_column(kind, signal, rng):
    """Values (n,) of a kind whose linear predictor is the signal."""
    if kind.name == "continuous":
        return signal + rng.normal(size=signal.size)
    if kind.name == "binary":
        return (signal + rng.logistic(size=signal.size) > 0).astype(np.float64)
    if kind.name == "ordinal":
        return np.digitize(signal + rng.logistic(size=signal.size), [-0.7, 0.7]).astype(np.float64)
    if kind.name == "categorical":
        return np.argmax(np.outer(signal, [0, 1.5, -1]) + rng.gumbel(size=(signal.size, 3)), axis=1).astype(
            np.float64
        )
    return rng.poisson(np.exp(np.clip(0.3 + 0.5 * signal, -3, 3))).astype(np.float64)


def draw_table(seed, n=300, d=5, kinds=None):
    """A table of random kinds, each column an effect of some of those before it."""
    rng = np.random.default_rng(seed)
    if kinds is None:
        kinds = [(NUMBER, BINARY, LEVELS, ORDERED, COUNT)[k] for k in rng.integers(5, size=d)]
    columns = []
    for kind in kinds:
        signal = np.zeros(n)
        for other in columns:
            if rng.random() < 0.5:
                standard = (other - other.mean()) / other.std()
                signal = signal + rng.choice([-0.8, 0.8]) * (
                    standard if rng.random() < 0.6 else np.sin(2 * standard)
                )
        columns.append(draw_column(kind, signal, rng))
    return Table(np.column_stack(columns), tuple("abcdefg"[: len(kinds)]), kinds=tuple(kinds))


@pytest.fixture(scope="module")
def table():
    return draw_table(0, kinds=(NUMBER, BINARY, LEVELS, ORDERED, COUNT, NUMBER))


@pytest.fixture(scope="module")
def models(table):
    return GamEdges().prepare(table)


def penalised(models, table, node):
    """The penalised cost of any parents of a discrete node, fitted anew, from a dict of used columns."""
    problem, costs = models.problem, {}
    buffers = new_buffers(problem)
    q = problem.families[node, PREDICTORS]

    def cost(parents):
        key = tuple(sorted(parents.items()))
        if key not in costs:
            owners, used = np.array(key, dtype=np.int64).reshape(-1, 2).T
            buffers.fit.state[0] = -1  # as if it were the first fit
            columns = models.columns_of(node, owners, used)
            buffers.fit.columns[: columns.size] = columns
            fit_given(models._addresses, problem, buffers, node, columns.size)
            dof = used.sum() * q + buffers.fit.nll[1]
            costs[key] = 2 * table.n_rows * buffers.fit.nll[0] + problem.penalty_per_dof * dof
            costs[key] += problem.penalty_per_parent * len(key)
        return costs[key]

    return cost


# ------------------------------------------------------------------ the search


def test_the_search_finds_what_a_search_with_a_fit_for_every_step_does():
    searches = differ = 0
    worst = 0.0
    for seed in range(40):
        table = draw_table(seed)
        models = GamEdges().prepare(table)
        problem = models.problem
        for node in np.flatnonzero(table.discrete):
            others = np.delete(np.arange(5), node)
            cost = penalised(models, table, node)
            expected = grow_shrink(cost, others, problem.stops)
            _, parents, used, _, _ = models.search(node, others)
            found = dict(zip(parents.tolist(), used.tolist(), strict=True))
            searches += 1
            differ += found != expected
            worst = max(worst, cost(found) - cost(expected))
    assert searches > 100
    # Candidates are screened by the score test, so that a step may be missed: in one search of a hundred, for at
    # most a few nats of all rows.
    assert differ <= 0.03 * searches
    assert worst < 6.0  # twice the nats


def test_shrinking_removes_what_backward_elimination_with_a_fit_for_every_step_does():
    for seed in range(25):
        table = draw_table(seed)
        models = GamEdges(n_knots=2).prepare(table)
        problem = models.problem
        for node in np.flatnonzero(table.discrete):
            others = np.delete(np.arange(5), node)
            buffers, scores = new_buffers(problem), np.empty(2)
            buffers.owners[:4], buffers.used[:4] = others, problem.widths[others]
            eliminate_likely(models._addresses, problem, buffers, node, 4, scores)
            found = {int(owner): int(used) for owner, used in zip(others, buffers.used, strict=False) if used}
            start = {int(owner): int(problem.widths[owner]) for owner in others}
            cost = penalised(models, table, node)
            assert found == grow_shrink(cost, [], problem.stops, start=start), (seed, node)


@pytest.mark.parametrize("edges", [GamEdges(), GamEdges(gamma=1.0), BicEdges(), GamEdges(n_knots=2, penalty=2.0)])
def test_the_score_of_a_discrete_node_is_its_penalised_likelihood(table, edges):
    models = edges.prepare(table)
    for node in np.flatnonzero(table.discrete):
        others = np.delete(np.arange(6), node)
        _, parents, used, excess, dof = models.search(node, others)
        cost = penalised(models, table, node)(dict(zip(parents.tolist(), used.tolist(), strict=True)))
        problem = models.problem
        found = (
            2 * table.n_rows * (excess - problem.offsets[node] + STANDARD_ENTROPY) + problem.penalty_per_dof * dof
        )
        assert found == pytest.approx(cost, abs=1e-6)


def test_all_ways_to_ask_for_a_score_agree_whatever_was_asked_before(table, models):
    rng, d = np.random.default_rng(0), 6
    prices = np.array([1.0, 0.5 * np.log(table.n_rows) / table.n_rows])
    fresh, fork = GamEdges().prepare(table), models.fork()

    def score(node, before):
        return models.search(node, before)[3:]

    ranks = np.array([np.argsort(rng.permutation(d)) for _ in range(5)])
    rows, nodes = np.repeat(np.arange(5), d), np.tile(np.arange(d), 5)
    for scored, row, node in zip(fresh.score_many(ranks, rows, nodes), rows, nodes, strict=True):
        before = np.flatnonzero(ranks[row] < ranks[row, node])
        fit = models.fit(node, before)
        # Counts carry the penalty of a dispersion in their excess.
        assert prices @ [fit.excess, fit.dof] == pytest.approx(prices @ scored, abs=1e-9)
        for other in (fork, fresh):
            again = other.fit(node, before)
            assert again.parents.tolist() == fit.parents.tolist()
            assert again.nll == pytest.approx(fit.nll, abs=1e-9)
            np.testing.assert_allclose(again.coefficients, fit.coefficients, atol=1e-4)
    for node in range(d):
        others = rng.permutation(np.delete(np.arange(d), node))
        moves = fresh.fit_moves(node, others)
        for q in range(d):
            assert moves.own[q] == pytest.approx(score(node, others[:q]), abs=1e-9)
        for q, other in enumerate(others):
            assert moves.before[q] == pytest.approx(score(other, others[:q]), abs=1e-9)
            assert moves.after[q] == pytest.approx(score(other, np.append(others[:q], node)), abs=1e-9)
    for start in ranks:
        order, loss = GamEdges().prepare(table).sweep(start, prices[1], np.zeros((0, 0), dtype=np.bool_))
        totals = [sum(prices @ score(node, way[:q]) for q, node in enumerate(way)) for way in (order, start)]
        assert sorted(order) == list(range(d))
        assert loss == pytest.approx(totals[0], abs=1e-9)
        assert loss <= totals[1] + 1e-9


def test_near_parents_of_discrete_nodes_are_those_whose_set_costs_no_more():
    n, d = 300, 5
    for seed in range(25):
        table = draw_table(seed)
        models = BicEdges().prepare(table)
        for node in np.flatnonzero(table.discrete):
            for base, nats in product(([], [(node + 1) % d]), (0.0, 1.5)):
                near = models.near_parents(node, np.isin(np.arange(d), base)[None, :], nats)[0]
                others = np.setdiff1d(np.arange(d), [node, *base])
                sets = np.array([np.isin(np.arange(d), [*base, *more]) for more in ([], *others[:, None])])
                here, *costs = n * models.score_parents(node, sets) @ [1.0, 0.5 * np.log(n) / n]
                for other, cost in zip(others, np.array(costs) - here, strict=True):
                    if abs(cost - nats) > 0.02:
                        assert near[other] == (cost < nats), (seed, node, base, nats, cost)


def test_parents_obey_the_rules(table):
    allowed, required = ~np.eye(6, dtype=np.bool_), np.zeros((6, 6), dtype=np.bool_)
    allowed[0, 1] = False
    required[5, 1] = required[2, 3] = True
    for edges in (GamEdges(), BicEdges(penalty=20.0)):
        models = edges.prepare(table, EdgeRules(allowed, required))
        fit = models.fit(1, np.array([2, 3, 4, 5]))
        assert 5 in fit.parents
        assert 0 not in fit.parents
        assert 2 in models.fit(3, np.array([0, 1, 2, 4])).parents
        assert np.isfinite(fit.nll)


def test_few_rows_for_each_parameter_buy_no_spline():
    rng = np.random.default_rng(0)
    number = rng.normal(size=800)
    code = np.digitize(np.abs(number) + 0.1 * rng.logistic(size=800), [0.4, 1.0]).astype(np.float64)
    values = np.column_stack([number, code])
    many, few = (
        GamEdges().prepare(Table(values[:n], ("x", "y"), kinds=(NUMBER, LEVELS))).fit(1, np.array([0]))
        for n in (800, 30)
    )
    assert many.used.tolist() == [2]
    assert few.used.sum() <= 1  # a curve has four parameters at least, and 30 rows allow three


# ------------------------------------------------------------------ numbers with parents of any kind


def test_a_number_given_levels_is_their_means_and_the_weight_is_what_these_vary():
    rng = np.random.default_rng(0)
    code = rng.integers(3, size=400).astype(np.float64)
    number = np.array([0.0, 2.0, -1.0])[code.astype(int)] + rng.normal(size=400)
    models = GamEdges().prepare(Table(np.column_stack([code, number]), ("x", "y"), kinds=(LEVELS, NUMBER)))
    fit = models.fit(1, np.array([0]))
    means = np.array([number[code == k].mean() for k in range(3)])
    np.testing.assert_allclose(models.predict(1, fit, np.array([[0.0, 0], [1.0, 0], [2.0, 0]])), means, atol=1e-10)
    rest = number - means[code.astype(int)]
    assert fit.nll == pytest.approx(nll_of_variance(np.mean(rest**2)), abs=1e-10)
    np.testing.assert_allclose(models.residuals(1, fit), rest, atol=1e-10)
    assert fit.dof == 2
    assert fit.weights.tolist() == fit.norms.tolist()
    component = models.curve(1, fit, 0, np.arange(3.0))[code.astype(int)]
    assert component.mean() == pytest.approx(0.0, abs=1e-9)
    assert fit.norms[0] == pytest.approx(component.std(), abs=1e-9)
    back = models.fit(0, np.array([1]))
    assert back.weights.tolist() == back.norms.tolist()  # two linear predictors have no one direction
    assert models.curve(0, back, 1, np.linspace(-1, 1, 7)).shape == (7, 2)


def test_a_number_given_all_kinds_is_what_least_squares_gives(table, models):
    fit = models.fit(5, np.arange(5))
    assert fit.parents.size > 1
    columns = [
        models.bases[i].columns(table.values[:, i])[:, :k] for i, k in zip(fit.parents, fit.used, strict=True)
    ]
    design = np.column_stack([np.ones(300), *columns])
    beta, *_ = np.linalg.lstsq(design, table.values[:, 5], rcond=None)
    np.testing.assert_allclose(fit.coefficients[:, 0], beta, atol=1e-9)
    rest = table.values[:, 5] - design @ beta
    assert fit.nll == pytest.approx(nll_of_variance(np.mean(rest**2)), abs=1e-9)


# ------------------------------------------------------------------ weights and curves


@pytest.mark.parametrize("effect", [NUMBER, BINARY, ORDERED, COUNT], ids=lambda kind: kind.name)
def test_the_weight_of_a_parent_with_an_order_has_the_sign_of_its_effect(effect):
    for cause, sign in product((NUMBER, BINARY, ORDERED, COUNT), (-1.0, 1.0)):
        rng = np.random.default_rng(0)
        parent = draw_column(cause, np.zeros(500), rng)
        child = draw_column(effect, sign * 1.5 * (parent - parent.mean()) / parent.std(), rng)
        table = Table(np.column_stack([parent, child]), ("x", "y"), kinds=(cause, effect))
        for edges in (GamEdges(), BicEdges()):
            fit = edges.prepare(table).fit(1, np.array([0]))
            assert np.sign(fit.weights).tolist() == [sign]
            assert fit.norms[0] > 0


def test_the_weight_of_a_line_is_its_slope():
    rng = np.random.default_rng(0)
    yes = draw_column(BINARY, np.zeros(400), rng)
    number = 3.0 * yes + rng.normal(size=400)
    models = GamEdges().prepare(Table(np.column_stack([yes, number]), ("x", "y"), kinds=(BINARY, NUMBER)))
    difference = number[yes == 1].mean() - number[yes == 0].mean()
    assert models.fit(1, np.array([0])).weights[0] == pytest.approx(difference, abs=1e-9)
    back = models.fit(0, np.array([1]))
    odds = models.predict(0, back, np.array([[0.0, 0.0], [0.0, 1.0]]))
    if back.used.sum() == 1:
        assert back.weights[0] == pytest.approx(odds[1] - odds[0], abs=1e-9)
    assert odds[1] > odds[0]


def test_rare_levels_of_a_parent_share_an_effect():
    rng = np.random.default_rng(0)
    kind = Kind("categorical", levels=tuple("abcd"))
    code = rng.integers(2, size=300).astype(np.float64)
    code[:8] = [2, 2, 2, 2, 3, 3, 3, 3]
    number = 2 * code + 0.1 * rng.normal(size=300)
    models = GamEdges().prepare(Table(np.column_stack([code, number]), ("x", "y"), kinds=(kind, NUMBER)))
    curve = models.curve(1, models.fit(1, np.array([0])), 0, np.arange(4.0))
    assert curve[2] == curve[3] != curve[1]


# ------------------------------------------------------------------ rows


def assert_rows_have_the_likelihood_of_the_fit(models, table, node):
    fit = models.fit(node, np.delete(np.arange(table.n_columns), node))
    mass = models.mass(node, fit)
    assert isinstance(mass, Mass)
    for predictor in (models, models.predictor()):
        predicted = predictor.predict(node, fit, table.values)
        nll = -mass.log_mass(table.values[:, node], predicted).mean()
        assert nll == pytest.approx(fit.nll, abs=1e-9)
    return fit, mass, predicted


def test_predictions_and_masses_give_the_training_rows_the_likelihood_of_the_fit():
    for seed, edges in product(range(4), (GamEdges(), BicEdges())):
        table = draw_table(seed, kinds=(NUMBER, BINARY, LEVELS, ORDERED, COUNT))
        models = edges.prepare(table)
        for node in np.flatnonzero(table.discrete):
            assert_rows_have_the_likelihood_of_the_fit(models, table, node)


@pytest.mark.parametrize("kind", ["ordinal", "categorical"])
def test_that_holds_with_rare_levels_and_with_some_that_no_row_has(kind):
    rng = np.random.default_rng(0)
    levels = Kind(kind, levels=tuple("abcdefg"))
    number = rng.normal(size=400)
    code = np.digitize(number + rng.logistic(size=400), [-1.0, 1.0]).astype(np.float64) * 2  # b, d, f, g: no row
    code[:3] = [5, 5, 6]  # but for these
    table = Table(np.column_stack([number, code]), ("x", "y"), kinds=(NUMBER, levels))
    # Shares of levels within their group are smoothed by half a row.
    fit, mass, predicted = assert_rows_have_the_likelihood_of_the_fit(GamEdges().prepare(table), table, 1)
    assert fit.parents.tolist() == [0]
    total = sum(np.exp(mass.log_mass(np.full(400, float(k)), predicted)) for k in range(7))
    np.testing.assert_allclose(total, 1.0, atol=1e-9)


def test_a_dispersion_counts_as_a_parameter():
    rng = np.random.default_rng(0)
    number = rng.normal(size=500)
    mean = np.exp(1 + 0.5 * number)
    fits = []
    for counts in (rng.poisson(mean), rng.poisson(mean * rng.gamma(1.0, 1.0, size=500))):
        table = Table(np.column_stack([number, counts]), ("x", "y"), kinds=(NUMBER, COUNT))
        models = BicEdges().prepare(table)
        fits.append(assert_rows_have_the_likelihood_of_the_fit(models, table, 1)[0])
        paid = models.search(1, np.array([0])).excess - fits[-1].excess  # the search pays in the likelihood
        assert paid == pytest.approx((fits[-1].dof - 1.0) * 0.5 * np.log(500) / 500)
    assert [fit.dof for fit in fits] == [1.0, 2.0]
    assert fits[0].shape[0] == 0.0 < fits[1].shape[0]


def test_bounded_evidence_is_taken_from_fewer_rows_the_same_ones_of_all_columns(monkeypatch):
    monkeypatch.setattr(penalty, "LEAST_TRUSTED", 300)
    drawn = draw_table(3, n=1000, kinds=(NUMBER, BINARY, LEVELS, ORDERED, COUNT, NUMBER))
    long, first = (
        Table(drawn.values[:n], drawn.names, kinds=drawn.kinds, families=("auto",) * 6) for n in (1000, 300)
    )
    for trust, n_rows in ((None, 1000), (2000.0, 1000), (1000.0, 600), (100.0, 300)):
        problem = AdditiveModels(long, 4, Penalty(trust=trust)).problem
        assert problem.outcomes.shape[1] == problem.rows.shape[1] == n_rows
    few, only = (AdditiveModels(table, 4, Penalty(trust=100.0)) for table in (long, first))
    # 1000 rows are worth 90.9, the first 300 of them 75.
    for node in range(6):
        others = np.delete(np.arange(6), node)
        one, other = few.fit(node, others), only.fit(node, others)
        assert one.parents.tolist() == other.parents.tolist()
        assert one.nll == pytest.approx(other.nll, abs=1e-2)  # shares of rare levels
        assert one.dof == pytest.approx(other.dof * (1000 / 11) / 75)


def test_a_long_table_is_fitted_on_its_first_rows_and_charged_for_it(monkeypatch):
    monkeypatch.setattr(local_score, "LIKELIHOOD_ROWS", 500)
    long = draw_table(3, n=2000, kinds=(NUMBER, BINARY, LEVELS, ORDERED, COUNT, NUMBER))
    models = AdditiveModels(long, 4, Penalty())
    first = AdditiveModels(Table(long.values[:500], long.names, kinds=long.kinds), 4, Penalty())
    ranks, per_dof = np.arange(6)[None, :], 0.01
    rows, nodes = np.zeros(6, dtype=np.int64), np.arange(6)
    # All nodes on the same rows, and a parameter counts four times: a sum over all rows takes it for certain.
    for node in range(6):
        others = np.delete(nodes, node)
        one, other = models.fit(node, others), first.fit(node, others)
        assert one.parents.tolist() == other.parents.tolist()
        assert one.nll == pytest.approx(
            other.nll, abs=1e-2 if long.discrete[node] else 1e-9
        )  # shares of rare levels
        assert one.dof == 4 * other.dof
        moves, expected = models.fit_moves(node, others), first.fit_moves(node, others)
        np.testing.assert_array_equal(moves.own[:, 1], 4 * expected.own[:, 1])
        np.testing.assert_array_equal(moves.after[:, 1], 4 * expected.after[:, 1])
    np.testing.assert_array_equal(
        models.score_many(ranks, rows, nodes)[:, 1], 4 * first.score_many(ranks, rows, nodes)[:, 1]
    )
    before = np.zeros((0, 0), dtype=np.bool_)
    order, total = models.sweep(nodes, per_dof, before)
    expected_order, expected_total = first.sweep(nodes, 4 * per_dof, before)
    assert order.tolist() == expected_order.tolist()
    assert total == pytest.approx(expected_total, abs=0.05)
