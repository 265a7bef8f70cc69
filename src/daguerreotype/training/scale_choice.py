"""Choice of a scale for every column: the one on which noise is added to what the parents in an order contribute.

Each continuous column is regressed, on every scale of its family, on its predecessors in the order. Two
likelihoods of the values as they came are compared. Under noise of *any shape* a wrong scale loses, because its
noise depends on what parents contribute; but a column without parents has the same likelihood on every scale, and
others nearly so. Among scales that this cannot tell apart, *Gaussian* noise decides.
"""

from dataclasses import dataclass, replace

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.column_scales import FORMS, ColumnScales, family, fit_logarithms
from daguerreotype.data.table import OnScale, OtherColumns, Table
from daguerreotype.edges.base import HasScales, LocalModels, PricesLines, offered
from daguerreotype.noise.free_shape import excess_entropy
from daguerreotype.noise.gaussian import LEAST_VARIANCE
from daguerreotype.training.plan import Plan
from daguerreotype.training.train import TrainingResult

ENOUGH = 2**13  # rows that tell scales apart; longer tables are judged by their first ones
UNTOLD = 0.5  # times 1 / sqrt(n) nats per row: less than that does not tell scales apart
# Nats per row by which a plain logarithm must be likelier than the measured scale; scales that are fitted to the
# column by twice that. Some tables are exactly as likely on several: y = x + e with both exponential is x = y U on
# the scale of logarithms, with uniform U.
AS_MEASURED = 0.03
PROMISING = 2  # scales of a column, by either likelihood, that are looked at more closely
BASES = 2  # sets of scales that causes are tried on beside the measured ones


@dataclass(frozen=True)
class ScaleChoice:
    """Scales that suit an order.

    Attributes
    ----------
    causes, effects : ColumnScales
        The scale of every column as a cause, and as an effect.
    columns : array of shape (e,)
        Columns that another scale would suit as effects of other parents, ascending.
    others : ColumnScales
        These e scales.
    loss : float
        Negative log-likelihood per row of the table as it came, noise having any shape, with all prices.
    """

    causes: ColumnScales
    effects: ColumnScales
    columns: IntArray
    others: ColumnScales
    loss: float

    def same_as(self, other: "ScaleChoice | None") -> bool:
        """Whether columns have the same scales."""
        return other is not None and self.causes.same_as(other.causes) and self.effects.same_as(other.effects)

    def prepared(self, table: Table, plan: Plan) -> OnScale:
        """The table as it came on the scales of causes, its columns on those of effects and others beside it."""
        scaled = table.on_scale(self.causes, plan.standardize)
        moved = self.causes.unlike(self.effects)
        columns = np.concatenate([moved, self.columns])
        order = np.argsort(columns, kind="stable")
        forms = (*self.effects.take(moved).forms, *self.others.forms)
        parameters = np.concatenate([self.effects.parameters[moved], self.others.parameters])
        scales, columns = ColumnScales(forms, parameters).take(order), columns[order]
        prices = scale_prices(scales, table.n_rows) - scale_prices(self.causes, table.n_rows)[columns]
        others = table.other_columns(scaled, columns, scales, prices, ENOUGH)
        return replace(scaled, table=replace(scaled.table, others=others))


def choose_scales(table: Table, training: TrainingResult, plan: Plan) -> ScaleChoice:
    """The scales that suit the order that training found, of columns of a table as they came.

    Causes are as they were measured, on the scale of logarithms, or on the scales that they have as effects,
    whichever is likelier.
    """
    some = table.one_copy().first(ENOUGH)
    candidates = candidates_of(table)
    best = judge_scales(some, candidates, ColumnScales.as_measured(table.n_columns), training, plan)
    if best.effects.same_as(best.causes):
        return best
    tried = logarithms_of(table)
    for _ in range(BASES):
        changed = judge_scales(some, candidates, tried, training, plan)
        best = min(best, changed, key=lambda choice: choice.loss)
        if best.effects.same_as(tried) or best.effects.same_as(best.causes):
            break
        tried = best.effects
    return best if plan.knows_two_scales else replace(best, causes=best.effects)


def logarithms_of(table: Table) -> ColumnScales:
    """The scale of logarithms for every continuous column."""
    numbers = np.flatnonzero(~table.discrete)
    logarithms = fit_logarithms(table.all_values[:, numbers])
    return ColumnScales.as_measured(table.n_columns).replaced(numbers, logarithms)


def judge_scales(
    table: Table, tried: "Candidates", causes: ColumnScales, training: TrainingResult, plan: Plan
) -> ScaleChoice:
    """The scales of effects that suit the order that training found, where causes are on given ones."""
    scaled = table.on_scale(causes, plan.standardize)
    columns, candidates = tried.but(causes)
    prices = scale_prices(causes, table.n_rows)
    others = table.other_columns(
        scaled, columns, candidates, scale_prices(candidates, table.n_rows) - prices[columns], ENOUGH
    )
    priors = AS_MEASURED * (candidates.surprise - causes.surprise[columns])
    models = _prepare(plan, replace(scaled.table, others=others), training)
    rules, ranks = plan.constraints.rules, np.argsort(training.order)
    effects, rivals, loss = causes, [], float(prices.sum()) - table.mean_log_slopes(scaled, ENOUGH)
    for node in range(table.n_columns):
        allowed = np.arange(table.n_columns) != node
        if rules is not None:
            allowed &= rules.allowed[:, node]
        before, everyone = np.flatnonzero(allowed & (ranks < ranks[node])), np.flatnonzero(allowed)
        judge = _Judge(models, scaled.table, others, node, plan)
        if table.discrete[node]:
            loss += judge.gaussian(-1, before)
            continue
        places = judge.promising(np.flatnonzero(columns == node), before)
        free, gaussian = np.array([judge.losses(place, before) for place in places]).T
        likely = free - np.concatenate([[0.0], priors[places[1:]]])
        told = likely <= likely.min() + UNTOLD / np.sqrt(table.n_rows)
        best = int(np.argmin(np.where(told, gaussian, np.inf)))
        loss += free[best]
        if best > 0:
            effects = effects.replaced([node], candidates.take([places[best]]))
        none = before[:0] if rules is None else rules.required_parents(node)
        contexts = [[judge.gaussian(place, some) for place in places] for some in (none, everyone)]
        rivals += sorted({places[int(np.argmin(each))] for each in (*contexts, gaussian)} - {places[best], -1})
    return ScaleChoice(causes, effects, columns[rivals], candidates.take(rivals), loss)


class _Judge:
    """Losses of one node on its scales, in nats per row of the values on their current scale."""

    def __init__(self, models: HasScales, table: Table, others: OtherColumns, node: int, plan: Plan) -> None:
        self.models, self.table, self.others, self.node = models, table, others, node
        rows = table.n_rows if table.rows_per_node is None else int(table.rows_per_node[node])
        self.price = 0.5 * plan.price.per_dof(rows) / rows

    def promising(self, places: IntArray, predecessors: IntArray) -> list[int]:
        """The node's own scale, and those others that may suit it, by fits on the parents that it has there."""
        fit = self.models.fit_on(-1, self.node, predecessors)
        own = self.models.residuals_on(-1, self.node, fit)[:ENOUGH]
        columns = self.models.regressors(self.node, fit, ENOUGH)
        outcomes = self._values(places)[: own.size]
        columns, outcomes = columns - columns.mean(axis=0), outcomes - outcomes.mean(axis=0)
        left = outcomes - columns @ np.linalg.lstsq(columns, outcomes)[0] if columns.size else outcomes
        assert self.others.first_offsets is not None
        offsets = self.others.first_offsets[places]
        free = offsets + [
            excess_entropy(each + self._dither(int(place), own.size), "three-spacings")
            for place, each in zip(places, left.T, strict=True)
        ]
        gaussian = offsets + 0.5 * np.log(np.maximum(left.var(axis=0), LEAST_VARIANCE))
        near = [np.argsort(losses)[:PROMISING] for losses in (free, gaussian)]
        return [-1, *sorted({int(places[i]) for i in np.concatenate(near)})]

    def _values(self, places: IntArray) -> FloatArray:
        """The node on other scales (m, p), in the rows that count for it."""
        values: FloatArray = self.others.values[:, places]
        return values if self.table.intervened is None else values[~self.table.intervened[:, self.node]]

    def losses(self, place: int, predecessors: IntArray) -> tuple[float, float]:
        """What the node loses under noise of any shape, and under Gaussian noise."""
        fit = self.models.fit_on(place, self.node, predecessors)
        residuals = self.models.residuals_on(place, self.node, fit)[:ENOUGH]
        assert self.others.first_offsets is not None
        priced = self.price * fit.dof + (self.others.first_offsets[place] if place >= 0 else 0.0)
        entropy = excess_entropy(residuals + self._dither(place, residuals.size), "three-spacings")
        return entropy + priced, fit.excess + self.price * fit.dof

    def gaussian(self, place: int, predecessors: IntArray) -> float:
        """What the node loses under Gaussian noise."""
        excess, dof = self.models.score_on(place, self.node, predecessors)
        return excess + self.price * dof

    def _dither(self, place: int, n_rows: int) -> FloatArray | float:
        dither = self.table.dither if place < 0 else self.others.dither
        if dither is None:
            return 0.0
        column = dither[:, self.node if place < 0 else place]
        if self.table.intervened is not None:
            column = column[~self.table.intervened[:, self.node]]
        spread: FloatArray = column[:n_rows]
        return spread


@dataclass(frozen=True)
class Candidates:
    """Scales that columns may have: columns (e,), ascending, and the scales of these."""

    columns: IntArray
    scales: ColumnScales

    def but(self, current: ColumnScales) -> tuple[IntArray, ColumnScales]:
        """The same without the scale that each column has."""
        own = current.take(self.columns)
        others = self.scales.unlike(own)
        return self.columns[others], self.scales.take(others)


def candidates_of(table: Table) -> Candidates:
    """The scales that the columns of a table as it came may have."""
    columns: list[int] = []
    forms: list[str] = []
    parameters: list[FloatArray] = []
    for node in np.flatnonzero(~table.discrete).tolist():
        found = family(table.all_values[:, node])
        columns += [node] * (1 + len(found.forms))
        forms += ["none", *found.forms]
        parameters += [np.zeros(3), *found.parameters]
    return Candidates(np.array(columns, dtype=np.int64), ColumnScales(tuple(forms), np.array(parameters)))


def scale_prices(scales: ColumnScales, n_rows: int) -> FloatArray:
    """Nats per row (d,) that scales cost: BIC's price of their parameters, and the preference for none."""
    parameters = np.array([FORMS[form].n_parameters for form in scales.forms], dtype=np.float64)
    prices: FloatArray = 0.5 * np.log(n_rows) / n_rows * parameters + AS_MEASURED * scales.surprise
    return prices


def _prepare(plan: Plan, table: Table, training: TrainingResult) -> HasScales:
    """Local models that judge columns on other scales, with the price of lines that training had."""
    models: LocalModels = plan.constraints.prepare(plan.scale_estimator, table)
    known, found = offered(models, PricesLines), offered(training.models, PricesLines)
    if known is not None and found is not None:
        models = known.with_bent_share(found.bent_share) or models
    scaling = offered(models, HasScales)
    assert scaling is not None
    return scaling
