"""Choices that residuals ask for: another noise model, and a scale for every column.

*Noise.* Residuals that are not Gaussian ask for noise of any shape; levels whose order does not help to predict
them from their causes lose it.

*Scales.* On the right scale noise is added to what parents contribute, and does not depend on it. On a wrong one
residuals are wider where fitted values are large, or small, or far from the middle; or a few rows outweigh all
others, so that edges are missed. Then each continuous column is regressed, on every scale of its family, on its
predecessors in the order. Two likelihoods of the values as they came are compared. Under noise of *any shape* a
wrong scale loses, because its noise depends on what parents contribute; but a column without parents has the same
likelihood on every scale, and others nearly so. Among scales that this cannot tell apart, *Gaussian* noise
decides.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.scales import ColumnScales, family
from daguerreotype.data.table import OnScale, RescaledColumns, Table
from daguerreotype.edges.base import SearchableModels, searchable
from daguerreotype.noise import DiscreteNoise, NoiseModel, make_noise
from daguerreotype.noise.free_shape import MAX_ROWS, excess_entropy, negentropy
from daguerreotype.noise.gaussian import LEAST_VARIANCE
from daguerreotype.training.plan import Plan
from daguerreotype.training.search import prepare, search
from daguerreotype.training.state import State, TrainingResult

logger = logging.getLogger("daguerreotype")

# Negentropy thresholds (nats per row): above the first, residuals are non-Gaussian; above the second, other noise
# is tried.
NON_GAUSSIAN, DOUBTFUL = 0.03, 0.005
CLEARLY = 0.3  # nats per column by which a scale is clearly likelier: more than orders and noise models differ by
ROUNDS = 3  # of choosing scales for an order, and an order for scales
ENOUGH = 2**13  # rows that tell scales apart; longer tables are judged by their first ones
UNTOLD = 0.5  # times 1 / sqrt(n) nats per row: less than that does not tell scales apart
# Nats per row by which a plain logarithm must be likelier than the measured scale; scales that are fitted to the
# column by twice that. Some tables are exactly as likely on several: y = x + e with both exponential is x = y U on
# the scale of logarithms, with uniform U.
AS_MEASURED = 0.03
PROMISING = 2  # scales of a column, by either likelihood, that are looked at more closely
BASES = 2  # sets of scales that causes are tried on beside the measured ones


CHANCE = 1e-3  # of one false sign in a table
LEAST_SHARE = 0.005  # of the variance of absolute residuals, below which nothing can be gained
SKEWED = 3.0  # skewness; that of an exponential column is 2


# ------------------------------------------------------------------ noise


def choose_noise(state: State) -> State:
    """Go on under other noise models where residuals ask for them; not where they ask for another scale first."""
    if has_open_scales(state) and asks_for_another_scale(state.trained):
        return state
    return with_noise_of_residuals(state)


def with_noise_of_residuals(state: State) -> State:
    """The same order, and what is found from there, under the noise models that residuals ask for."""
    plan = state.plan
    if plan.families_open:
        with state.run.cancel.at_once():
            likelier = drop_orders_of_levels(state)
        if likelier != state.noise:
            scaled = replace(state.scaled, table=with_families(state.scaled.table, likelier))
            state = replace(state, scaled=scaled, noise=likelier)
            models = prepare(scaled.table, plan, state.run)
            state = search(state, state.trained.order, models=models)
    if plan.other_noise is None or not _is_doubtful(state):
        return state
    free = tuple(
        model if isinstance(model, DiscreteNoise) else other
        for model, other in zip(state.noise, plan.other_noise, strict=True)
    )
    freed = search(replace(state, noise=free), state.trained.order, models=state.trained.prepared)
    # Residuals of a wrong order mix noises, which hides their shape: a better order may show it.
    return freed if max(state.trained.negentropy, freed.trained.negentropy) >= NON_GAUSSIAN else state


def _is_doubtful(state: State) -> bool:
    """Whether the residuals may not be Gaussian.

    A discrete effect that is taken for the cause of a number may hide the number's shape, so that in such
    tables the columns themselves are looked at too.
    """
    table = state.scaled.table
    return state.trained.negentropy >= DOUBTFUL or (
        bool(table.discrete.any()) and _negentropy_of_columns(table) >= NON_GAUSSIAN
    )


def _negentropy_of_columns(table: Table) -> float:
    """How far the median continuous column is from Gaussian, its ties spread, in nats per row."""
    untied = table.values if table.dither is None else table.values + table.dither
    return float(np.median([negentropy(untied[:MAX_ROWS, j]) for j in np.flatnonzero(~table.discrete)] or [0.0]))


def with_families(table: Table, noise: Sequence[NoiseModel]) -> Table:
    """The table with the names of the noise models of its discrete columns."""
    if not table.discrete.any():
        return table
    names = tuple(model.name if isinstance(model, DiscreteNoise) else "" for model in noise)
    return replace(table, families=names)


def drop_orders_of_levels(state: State) -> tuple[NoiseModel, ...]:
    """The noise models, but those of levels whose order does not help to predict them from their causes."""
    training, noise, table, plan = state.trained, state.noise, state.scaled.table, state.plan
    ordered = [node for node, model in enumerate(noise) if model == make_noise("ordinal")]
    if not ordered:
        return noise
    free = tuple(make_noise("categorical") if node in ordered else model for node, model in enumerate(noise))
    models = plan.constraints.prepare(plan.estimator, with_families(table, free))
    ranks = np.argsort(training.order)
    chosen = list(noise)
    for node in ordered:
        before = np.flatnonzero(ranks < ranks[node])
        if plan.constraints.rules is not None:
            before = before[plan.constraints.rules.allowed[before, node]]
        costs = [
            fit.nll + 0.5 * np.log(table.n_rows) / table.n_rows * fit.dof
            for fit in (training.fits[node], models.fit(node, before))
        ]
        if costs[1] < costs[0]:
            chosen[node] = free[node]
    return tuple(chosen)


# ------------------------------------------------------------------ scales


def has_open_scales(state: State) -> bool:
    """Whether the scales of columns are to be found out, and these are as they came."""
    return state.table.may_change_scale(state.plan.scales) and state.scaled.scales.measured


def choose_scales(state: State) -> State:
    """The likeliest of what is found on columns as they came, and on other scales, each column on its own.

    Residuals that only have another shape ask for another noise model, and are looked at again under that. If
    other scales make noise Gaussian and are clearly likelier, columns as they came are not tried under another
    noise model.
    """
    if not has_open_scales(state):
        return state
    waits = asks_for_another_scale(state.trained) and state.noise == state.plan.noise  # with other noise models
    if not waits and state.gaussian:
        return state
    states = search_own_scales(state)
    enough = log_likelihood(state) + CLEARLY * state.table.n_columns
    if not waits:
        states.insert(0, state)
    elif not any(other.gaussian and log_likelihood(other) > enough for other in states):
        states.insert(0, with_noise_of_residuals(state))
    likelihoods = [log_likelihood(other) for other in states]
    if len(states) > 1:
        names = [other.scaled.of_effects.scales.name for other in states]
        shown = ", ".join(f"{name} {likelihood:.3f}" for name, likelihood in zip(names, likelihoods, strict=True))
        logger.info("chose scales by likelihood per row: %s", shown)
    return states[int(np.argmax(likelihoods))]


def search_own_scales(state: State) -> list[State]:
    """Train on the scales that suit the order, and again while other orders ask for others; none: as they came.

    The search may judge a column on another scale wherever its parents make that likelier. In the end every column
    has one scale as an effect, and the order is learned once more with these. Where most turn out to be
    logarithms, those of all columns are tried too: that is one choice in place of many.
    """
    table, plan, run, training = state.table, state.plan, state.run.called("scales"), state.trained
    chosen: ScaleChoice | None = None
    for _ in range(ROUNDS):
        with run.cancel.at_once():
            choice = find_scales(table, training, plan)
        if choice.same_as(chosen) or (chosen is None and not choice.effects.surprise.any()):
            break
        before = training.order
        training = _search_on(choice, replace(state, run=run), None if chosen is None else before)
        chosen = choice
        if np.array_equal(training.order, before):  # which would choose the same again
            break
    if chosen is None:
        return []
    own = State.begin(table, plan, run, chosen.causes, chosen.effects)
    own = search(own, training.order) if plan.knows_two_scales else replace(own, training=training)
    states = [with_noise_of_residuals(own)]
    logarithms, numbers = logarithms_of(table), np.flatnonzero(~table.discrete)
    most = np.mean([chosen.effects.plain_name(column) == "log" for column in numbers]) > 0.5
    if most and not chosen.effects.same_as(logarithms):
        begun = State.begin(table, plan, state.run.called("log"), logarithms, logarithms)
        states.append(with_noise_of_residuals(search(begun)))
    return states


def _search_on(choice: "ScaleChoice", state: State, order: IntArray | None) -> TrainingResult:
    """Train where effects are on the likeliest of several scales; from an order that was found, if any."""
    table, plan = state.table, state.plan
    by_scores = plan.knows_two_scales and not any(model.needs_residuals for model in plan.noise)
    scaled = choice.prepared(table, plan) if by_scores else table.on_scale(choice.causes, plan.standardize)
    return search(replace(state, scaled=scaled, noise=plan.noise), None if plan.joint else order).trained


def log_likelihood(state: State) -> float:
    """Of the rows as they came: of the table's, times both changes of scale in them, times steps of grids."""
    training, table = state.trained, state.table
    jacobian = table.mean_log_slopes(state.scaled, training.n_rows_used) + table.mean_log_steps
    scales, n = state.scaled.of_effects.scales, training.n_rows_used
    chosen = table.may_change_scale(state.plan.scales)
    penalties = scale_penalties(scales, n) if chosen else 0.5 * np.log(n) / n * scales.n_parameters
    return float(training.log_likelihood() + jacobian - penalties.sum())


def asks_for_another_scale(training: TrainingResult) -> bool:
    """Whether any continuous column shows a sign; also where residuals cannot be had."""
    residuals, table = training.residuals(), training.table
    if residuals is None or table is None:
        return True
    numbers = np.flatnonzero(~table.discrete)
    values = table.values[:, numbers]
    skewness = np.mean(values**3, axis=0) / np.mean(values**2, axis=0) ** 1.5
    if np.any(np.abs(skewness) > SKEWED):
        return True
    return any(
        _spread_depends(_fitted(training, node, residuals[node]), residuals[node], numbers.size)
        for node in numbers.tolist()
        if training.fits[node].parents.size
    )


def _fitted(training: TrainingResult, node: int, residuals: FloatArray) -> FloatArray:
    """Fitted values (m,) of a node in the rows of its residuals, but for a constant."""
    table = training.table
    assert table is not None
    column = table.values[:, node]
    if table.intervened is not None:
        column = column[~table.intervened[:, node]]
    dither = 0.0 if table.dither_by_node is None else table.dither_by_node[node][: residuals.size]
    fitted: FloatArray = column[: residuals.size] + dither - residuals
    return fitted


def _spread_depends(fitted: FloatArray, residuals: FloatArray, n_columns: int) -> bool:
    """Whether fitted values and their distance from the middle explain more of absolute residuals than chance.

    Of m rows times that share is distributed as chi squared with two degrees of freedom if nothing depends: it
    exceeds t with probability exp(-t / 2).
    """
    wide, near = _standard(np.abs(residuals)), _standard(fitted)
    far = _standard(np.abs(fitted - fitted.mean()))
    first, second, both = (float(np.mean(a * b)) for a, b in ((wide, near), (wide, far), (near, far)))
    share = (first**2 + second**2 - 2.0 * first * second * both) / max(1.0 - both**2, 1e-12)
    return bool(share > max(2.0 * np.log(n_columns / CHANCE) / residuals.size, LEAST_SHARE))


def _standard(values: FloatArray) -> FloatArray:
    """Values less their mean, in standard deviations; zeros if they are all the same."""
    centred: FloatArray = values - values.mean()
    spread = float(np.sqrt(np.mean(centred**2)))
    return centred / spread if spread > 0.0 else centred


@dataclass(frozen=True)
class ScaleChoice:
    """Scales that suit an order.

    Attributes
    ----------
    causes, effects : ColumnScales
        The scale of every column as a cause, and as an effect.
    columns : array of shape (e,)
        Columns that another scale would suit as effects of other parents, ascending.
    rivals : ColumnScales
        These e scales.
    loss : float
        Negative log-likelihood per row of the table as it came, noise having any shape, with all penalties.
    """

    causes: ColumnScales
    effects: ColumnScales
    columns: IntArray
    rivals: ColumnScales
    loss: float

    def same_as(self, other: "ScaleChoice | None") -> bool:
        """Whether columns have the same scales."""
        return other is not None and self.causes.same_as(other.causes) and self.effects.same_as(other.effects)

    def prepared(self, table: Table, plan: Plan) -> OnScale:
        """The table as it came on the scales of causes, its columns on those of effects and rivals beside it."""
        scaled = table.on_scale(self.causes, plan.standardize)
        moved = self.causes.unlike(self.effects)
        columns = np.concatenate([moved, self.columns])
        order = np.argsort(columns, kind="stable")
        names = (*self.effects.take(moved).names, *self.rivals.names)
        parameters = np.concatenate([self.effects.parameters[moved], self.rivals.parameters])
        scales, columns = ColumnScales(names, parameters).take(order), columns[order]
        penalties = scale_penalties(scales, table.n_rows) - scale_penalties(self.causes, table.n_rows)[columns]
        rescaled = table.rescaled_columns(scaled, columns, scales, penalties, ENOUGH)
        return replace(scaled, table=replace(scaled.table, rescaled=rescaled))


def find_scales(table: Table, training: TrainingResult, plan: Plan) -> ScaleChoice:
    """The scales that suit the order that training found, of columns of a table as they came.

    Causes are as they were measured, on the scale of logarithms, or on the scales that they have as effects,
    whichever is likelier.
    """
    sample = table.rows(limit=ENOUGH)
    candidates = candidates_of(table)
    best = judge_scales(sample, candidates, ColumnScales.as_measured(table.n_columns), training, plan)
    if best.effects.same_as(best.causes):
        return best
    tried = logarithms_of(table)
    for _ in range(BASES):
        changed = judge_scales(sample, candidates, tried, training, plan)
        best = min(best, changed, key=lambda choice: choice.loss)
        if best.effects.same_as(tried) or best.effects.same_as(best.causes):
            break
        tried = best.effects
    return best if plan.knows_two_scales else replace(best, causes=best.effects)


def logarithms_of(table: Table) -> ColumnScales:
    """The scale of logarithms for every continuous column."""
    numbers = np.flatnonzero(~table.discrete)
    logarithms = ColumnScales.fit("log", table.all_values[:, numbers])
    return ColumnScales.as_measured(table.n_columns).replaced(numbers, logarithms)


def judge_scales(
    table: Table, tried: "Candidates", causes: ColumnScales, training: TrainingResult, plan: Plan
) -> ScaleChoice:
    """The scales of effects that suit the order that training found, where causes are on given ones."""
    scaled = table.on_scale(causes, plan.standardize)
    columns, candidates = tried.but(causes)
    penalties = scale_penalties(causes, table.n_rows)
    rescaled = table.rescaled_columns(
        scaled, columns, candidates, scale_penalties(candidates, table.n_rows) - penalties[columns], ENOUGH
    )
    priors = AS_MEASURED * (candidates.surprise - causes.surprise[columns])
    models = _prepare(plan, replace(scaled.table, rescaled=rescaled))
    rules, ranks = plan.constraints.rules, np.argsort(training.order)
    effects, rivals, loss = causes, [], float(penalties.sum()) - table.mean_log_slopes(scaled, ENOUGH)
    for node in range(table.n_columns):
        allowed = np.arange(table.n_columns) != node
        if rules is not None:
            allowed &= rules.allowed[:, node]
        before, everyone = np.flatnonzero(allowed & (ranks < ranks[node])), np.flatnonzero(allowed)
        judge = _Judge(models, scaled.table, rescaled, node, plan)
        if table.discrete[node]:
            loss += judge.gaussian(-1, before)
            continue
        places = judge.promising(np.flatnonzero(columns == node), before)
        free, gaussian = np.array([judge.losses(place, before) for place in places]).T
        likely = free - np.concatenate([[0.0], priors[places[1:]]])
        likeliest = likely <= likely.min() + UNTOLD / np.sqrt(table.n_rows)
        best = int(np.argmin(np.where(likeliest, gaussian, np.inf)))
        loss += free[best]
        if best > 0:
            effects = effects.replaced([node], candidates.take([places[best]]))
        none = before[:0] if rules is None else rules.required_parents(node)
        contexts = [[judge.gaussian(place, predecessors) for place in places] for predecessors in (none, everyone)]
        chosen = {places[int(np.argmin(losses))] for losses in (*contexts, gaussian)}
        rivals += sorted(chosen - {places[best], -1})
    return ScaleChoice(causes, effects, columns[rivals], candidates.take(rivals), loss)


class _Judge:
    """Losses of one node on its scales, in nats per row of the values on their current scale."""

    def __init__(
        self, models: SearchableModels, table: Table, rescaled: RescaledColumns, node: int, plan: Plan
    ) -> None:
        self.models, self.table, self.rescaled, self.node = models, table, rescaled, node
        rows = table.n_rows if table.rows_per_node is None else int(table.rows_per_node[node])
        self.penalty = 0.5 * plan.penalty.per_dof(rows) / rows

    def promising(self, places: IntArray, predecessors: IntArray) -> list[int]:
        """The node's own scale, and those others that may suit it, by fits on the parents that it has there."""
        fit = self.models.fit_on(-1, self.node, predecessors)
        own = self.models.residuals_on(-1, self.node, fit)[:ENOUGH]
        columns = self.models.regressors(self.node, fit, ENOUGH)
        outcomes = self._values(places)[: own.size]
        columns, outcomes = columns - columns.mean(axis=0), outcomes - outcomes.mean(axis=0)
        remainders = outcomes - columns @ np.linalg.lstsq(columns, outcomes)[0] if columns.size else outcomes
        assert self.rescaled.first_offsets is not None
        offsets = self.rescaled.first_offsets[places]
        free = offsets + [
            excess_entropy(remainder + self._dither(int(place), own.size), "three-spacings")
            for place, remainder in zip(places, remainders.T, strict=True)
        ]
        gaussian = offsets + 0.5 * np.log(np.maximum(remainders.var(axis=0), LEAST_VARIANCE))
        near = [np.argsort(losses)[:PROMISING] for losses in (free, gaussian)]
        return [-1, *sorted({int(places[i]) for i in np.concatenate(near)})]

    def _values(self, places: IntArray) -> FloatArray:
        """The node on other scales (m, p), in the rows that count for it."""
        values: FloatArray = self.rescaled.values[:, places]
        return values if self.table.intervened is None else values[~self.table.intervened[:, self.node]]

    def losses(self, place: int, predecessors: IntArray) -> tuple[float, float]:
        """What the node loses under noise of any shape, and under Gaussian noise."""
        fit = self.models.fit_on(place, self.node, predecessors)
        residuals = self.models.residuals_on(place, self.node, fit)[:ENOUGH]
        assert self.rescaled.first_offsets is not None
        penalty = self.penalty * fit.dof + (self.rescaled.first_offsets[place] if place >= 0 else 0.0)
        entropy = excess_entropy(residuals + self._dither(place, residuals.size), "three-spacings")
        return entropy + penalty, fit.excess + self.penalty * fit.dof

    def gaussian(self, place: int, predecessors: IntArray) -> float:
        """What the node loses under Gaussian noise."""
        excess, dof = self.models.score_on(place, self.node, predecessors)
        return excess + self.penalty * dof

    def _dither(self, place: int, n_rows: int) -> FloatArray | float:
        dither = self.table.dither if place < 0 else self.rescaled.dither
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
        unlike = self.scales.unlike(own)
        return self.columns[unlike], self.scales.take(unlike)


def candidates_of(table: Table) -> Candidates:
    """The scales that the columns of a table as it came may have."""
    columns: list[int] = []
    names: list[str] = []
    parameters: list[FloatArray] = []
    for node in np.flatnonzero(~table.discrete).tolist():
        scales = family(table.all_values[:, node])
        columns += [node] * (1 + len(scales.names))
        names += ["none", *scales.names]
        parameters += [np.zeros(3), *scales.parameters]
    return Candidates(np.array(columns, dtype=np.int64), ColumnScales(tuple(names), np.array(parameters)))


def scale_penalties(scales: ColumnScales, n_rows: int) -> FloatArray:
    """Nats per row (d,) that scales cost: BIC's penalty on their parameters, and the preference for none."""
    bic = 0.5 * np.log(n_rows) / n_rows
    penalties: FloatArray = bic * scales.n_parameters + AS_MEASURED * scales.surprise
    return penalties


def _prepare(plan: Plan, table: Table) -> SearchableModels:
    """Local models that judge columns on other scales."""
    models = searchable(plan.constraints.prepare(plan.scale_estimator, table))
    assert models is not None
    return models
