"""Products of two causes: what the screen promises, what fits have of them, and where there are none."""

from itertools import combinations, product

import numpy as np
import pytest

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.edges import BicEdges, EdgeRules, GamEdges
from daguerreotype.edges.additive.products import screen_pairs
from support.fits import standard_table


def planted(seed, n=600, d=5):
    """Columns of which the last is the product of the first two, but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, -1] = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.normal(size=n)
    return X


def left_of(values, columns):
    return values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]


def test_the_screen_has_the_partial_correlations_of_least_squares():
    models = GamEdges().prepare(standard_table(planted(0, d=4)))
    n, d, curves = 600, 4, np.array([4, 2, 4, 1])
    columns = models.columns(models._table.values)
    stride, every = columns.shape[1] // d, np.ones(d, dtype=np.bool_)
    gains = screen_pairs(columns, columns, curves, every, every, np.ones((d, d), dtype=np.bool_), 0.0)
    told = {
        (int(y), *map(int, pair)): gain
        for y, pair, gain in zip(gains.targets, gains.pairs, gains.gains, strict=True)
    }
    places = [i * stride + np.arange(width) for i, width in enumerate(curves)]
    for (i, j), a, b in product(combinations(range(d), 2), range(2), range(2)):
        if a >= curves[i] or b >= curves[j]:
            assert not any(key[1:] == (i, j, a, b) for key in told)
            continue
        ones = np.ones((n, 1))
        both = np.hstack([ones, columns[:, places[i]], columns[:, places[j]]])
        own = left_of(columns[:, places[i][a]] * columns[:, places[j][b]], both)
        for y in set(range(d)) - {i, j}:
            line = columns[:, y * stride]
            rest = min(np.mean(left_of(line, np.hstack([ones, columns[:, places[k]]])) ** 2) for k in (i, j))
            rho = np.mean(own * line) ** 2 / np.mean(own**2) / max(rest, 1e-12)
            assert told[y, i, j, a, b] == pytest.approx(-n * np.log1p(-rho), rel=2e-3, abs=1e-2)


def test_a_planted_product_is_found_without_main_effects_and_is_what_least_squares_gives():
    for seed in range(5):
        table = standard_table(planted(seed))
        models = GamEdges(gamma=1.0).prepare(table)
        fit = models.fit(4, np.arange(4))
        assert fit.parents.tolist() == [0, 1, 2]
        assert fit.used[2] > 0
        assert [0, 1] in fit.products[:, :2].tolist()
        columns = [basis.columns(values) for basis, values in zip(models.bases, table.values.T, strict=True)]
        design = [columns[i][:, :used] for i, used in zip(fit.parents, fit.used, strict=True)]
        inner = [
            basis.columns(basis.within(values)) for basis, values in zip(models.bases, table.values.T, strict=True)
        ]
        design += [(inner[i][:, a] * inner[j][:, b])[:, None] for i, j, a, b in fit.products]
        design = np.hstack([np.ones((len(table.values), 1)), *design])
        rest = left_of(table.values[:, 4], design)
        assert fit.excess == pytest.approx(0.5 * np.log(np.mean(rest**2)), abs=1e-9)
        np.testing.assert_allclose(models.residuals(4, fit), rest, atol=1e-8)
        for predictor in (models, models.predictor()):
            np.testing.assert_allclose(
                predictor.predict(4, fit, table.values), table.values[:, 4] - rest, atol=1e-8
            )
        curves = sum(models.curve(4, fit, parent, table.values[:, parent]) for parent in fit.parents)
        assert np.std(table.values[:, 4] - rest - curves) > 0.5  # products are no part of curves


def test_gaussian_tables_have_no_products_but_for_chance():
    taken = screened = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 6)) @ (
            np.eye(6) + np.triu(rng.normal(size=(6, 6)), 1) * (rng.random((6, 6)) < 0.4)
        )
        models = GamEdges(gamma=1.0).prepare(standard_table(X))
        screened += len(models.problem.products)
        taken += sum(len(models.fit(node, np.delete(np.arange(6), node)).products) for node in range(6))
    assert screened < 50
    assert taken < 12


def test_no_product_has_a_forbidden_parent_and_required_parents_are_beside_them():
    table, d = standard_table(planted(1)), 5
    allowed, required = ~np.eye(d, dtype=np.bool_), np.zeros((d, d), dtype=np.bool_)
    allowed[1, 4], required[3, 4] = False, True
    for rules, parents in (
        (EdgeRules(allowed, required), {2, 3}),
        (EdgeRules(allowed | required, 0 * required), {2}),
    ):
        models = GamEdges(gamma=1.0).prepare(table, rules)
        of_last = slice(*models.problem.product_starts[4:6])
        assert not (models.problem.products[of_last] == 1).any()
        assert set(models.fit(4, np.array([0, 2, 3])).parents.tolist()) == parents
    allowed[1, 4] = True
    fit = GamEdges(gamma=1.0).prepare(table, EdgeRules(allowed, required)).fit(4, np.arange(4))
    assert fit.parents.tolist() == [0, 1, 2, 3]
    assert fit.used[3] > 0


def test_there_are_no_products_beside_lines_or_limits_on_parents_or_without_rows():
    table = standard_table(planted(2))
    limited = EdgeRules(~np.eye(5, dtype=np.bool_), np.zeros((5, 5), dtype=np.bool_), np.full(5, 3))
    for models in (BicEdges().prepare(table), GamEdges().prepare(table, limited)):
        assert len(models.problem.products) == 0
    assert len(GamEdges().prepare(table).problem.products) > 0
    X = planted(2)
    assert Daguerreotype(posterior=0).fit_chunks([X[:300], X[300:]]).adjacency_matrix_[:2, 4].sum() == 0


@pytest.mark.parametrize("how", ["complete", "intervened", "gaps"])
def test_products_go_through_a_whole_fit_and_into_files(how, tmp_path, rng):
    X, interventions = planted(3), None
    if how == "intervened":
        interventions = [[0] if row < 200 else None for row in range(600)]
        X[:200, 0] = 2.0 * rng.normal(size=200)
        X[:200, 4] = X[:200, 0] * X[:200, 1] + 0.5 * X[:200, 2] + 0.5 * rng.normal(size=200)
    elif how == "gaps":
        X[rng.random(X.shape) < 0.05] = np.nan
    model = Daguerreotype(posterior=0, knowledge=Knowledge(leaves=[4])).fit(X, interventions=interventions)
    assert np.flatnonzero(model.adjacency_matrix_[:, 4]).tolist() == [0, 1, 2]
    model.save(tmp_path / "model.npz")
    loaded, rows = Daguerreotype.load(tmp_path / "model.npz"), planted(4)
    assert loaded.score(rows) == pytest.approx(model.score(rows), abs=1e-12)
    assert (
        model.score(rows) > Daguerreotype("bic", posterior=0).fit(X, interventions=interventions).score(rows) + 0.3
    )
