"""One model of a table on one scale: trained, and trained on under other noise where residuals ask for it."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from daguerreotype._lib.typing import BoolArray, IntArray
from daguerreotype.data.column_scales import ColumnScales
from daguerreotype.data.table import OnScale, Table
from daguerreotype.data.transforms import Scale
from daguerreotype.edges.base import HasMasses, offered
from daguerreotype.noise import NOISE, Density, DiscreteNoise, Mass, NoiseModel
from daguerreotype.noise.counts import CountMass
from daguerreotype.noise.free_shape import MAX_ROWS, negentropy
from daguerreotype.noise.gaussian import GaussianDensity, variance_of_nll
from daguerreotype.posterior.evidence import ADDITIVE, Evidence
from daguerreotype.posterior.likeliest import likeliest_graphs
from daguerreotype.result import ScaleFit
from daguerreotype.training.child_limits import order_along
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.scale_choice import scale_prices
from daguerreotype.training.train import TrainingResult, prepare, train, train_again, train_around, train_on

logger = logging.getLogger("daguerreotype")

CHILD_ROUNDS = 5  # of looking for a likelier graph around the order of the last, where children are limited
# Nats that residuals lack of a Gaussian's entropy: from where on they are clearly not Gaussian, and may not be.
NON_GAUSSIAN, DOUBTFUL = 0.03, 0.005


class Candidate:
    """A scale that a table may be learned on.

    Parameters
    ----------
    table : Table
        The columns as they came, in canonical order.
    scale : Scale
        What to learn them on.
    plan, run : Plan, Run
        How.
    effects : ColumnScales, optional
        The scales of columns as effects, if these are others than they have as causes.
    """

    def __init__(
        self, table: Table, scale: Scale, plan: Plan, run: Run, effects: ColumnScales | None = None
    ) -> None:
        self.table, self.scale, self.plan, self.run, self.effects = table, scale, plan, run, effects

    @cached_property
    def scaled(self) -> OnScale:
        """The columns on the scale."""
        scaled = self.table.on_scale(self.scale, self.plan.standardize)
        if self.effects is None:
            return scaled
        return self.table.with_effects(scaled, self.table.on_scale(self.effects, self.plan.standardize))

    def fit(self) -> ScaleFit:
        """Train on the scale; under another noise model where residuals ask for it."""
        return self.finish(self.train())

    def train(self) -> TrainingResult:
        """Train on the scale under the noise model of the plan."""
        return train(self.scaled.table, self.plan, self.run)

    def train_on(self, found: TrainingResult) -> TrainingResult:
        """Go on from an order that was found otherwise."""
        models = prepare(self.scaled.table, self.plan, self.run)
        return train_on(found, self.plan.noise, self.scaled.table, self.plan, self.run, models)

    def train_again(self, order: IntArray, noise: Sequence[NoiseModel], n_restarts: int = 0) -> TrainingResult:
        """An order as good as any near one that was found, under given noise."""
        return train_again(order, noise, self.scaled.table, self.plan, self.run, n_restarts)

    def is_doubtful(self, training: TrainingResult) -> bool:
        """Whether the residuals may not be Gaussian.

        A discrete effect that is taken for the cause of a number may hide the number's shape, so that in such
        tables the columns themselves are looked at too.
        """
        if self.plan.other_noise is None:
            return False
        table = self.scaled.table
        hidden = table.discrete.any() and shape_of_columns(table) >= NON_GAUSSIAN
        return bool(training.negentropy >= DOUBTFUL or hidden)

    def finish(self, training: TrainingResult) -> ScaleFit:
        """Go on under another noise model where residuals ask for it, and put together what was learned."""
        try:
            training, noise, scaled = self._under_other_noise(training)
        except KeyboardInterrupt:
            logger.warning("interrupted while noise models were compared: the order that was found is kept.")
            training, noise, scaled = replace(training, interrupted=True), self.plan.noise, self.scaled
        training = self.with_few_children(training)
        with self.run.cancel.held():
            densities = fit_densities(training, noise)
            return ScaleFit(
                scaled,
                self.table.typical(),
                training,
                densities,
                gaussian=not any(each.needs_residuals for each in noise),
                log_likelihood=self.log_likelihood(training),
                noise=tuple(name_of_noise(each, density) for each, density in zip(noise, densities, strict=True)),
                noise_models=tuple(noise),
            )

    def _under_other_noise(
        self, training: TrainingResult
    ) -> tuple[TrainingResult, tuple[NoiseModel, ...], OnScale]:
        """What is found under the noise models that residuals ask for, these, and the table as they take it."""
        plan, noise, scaled = self.plan, self.plan.noise, self.scaled
        if plan.families_open and not training.interrupted:
            with self.run.cancel.at_once():
                likelier = drop_orders_of_levels(training, noise, scaled.table, plan)
            if likelier != noise:
                scaled, noise = replace(scaled, table=with_families(scaled.table, likelier)), likelier
                models = prepare(scaled.table, plan, self.run)
                training = train_on(training, noise, scaled.table, plan, self.run, models)
        if plan.other_noise is not None and not training.interrupted and self.is_doubtful(training):
            free = tuple(
                each if isinstance(each, DiscreteNoise) else other
                for each, other in zip(noise, plan.other_noise, strict=True)
            )
            found = train_on(training, free, scaled.table, plan, self.run)
            # Residuals of a wrong order mix noises, which hides their shape: a better order may show it.
            if max(training.negentropy, found.negentropy) >= NON_GAUSSIAN:
                training, noise = found, free
            elif found.interrupted:
                training = replace(training, interrupted=True)
        return training, noise, scaled

    def with_few_children(self, training: TrainingResult) -> TrainingResult:
        """Another graph where that is likelier: orders are compared as if children were not limited.

        Only for losses that say how likely graphs are; under others the order stays. So it does where its graph
        obeys by itself: a limit that closes nothing changes nothing.
        """
        scores, quick = training.scores, training.scores is not None and training.scores.quick
        unlimited = self.plan.constraints.max_children is None
        if unlimited or scores is None or training.order_given or training.interrupted:
            return training
        if not (quick or self.plan.schedule.refine) or not isinstance(scores.objective, ADDITIVE):
            return training
        if not scores.closes_edges(training.order):
            return training
        order, loss = training.order, training.loss
        try:
            for _ in range(CHILD_ROUNDS):
                found = self._likeliest_order(scores, order)
                if found is None:
                    break
                knowing = scores.knowing(found[1])
                lower = knowing.graph_of(found[0])[1]
                if not lower < loss:
                    break
                scores, order, loss = knowing, found[0], lower
            return training if scores is training.scores else train_around(training, order, scores, self.plan)
        except KeyboardInterrupt:
            logger.warning("interrupted while children were limited: the order that was found is kept.")
            return replace(training, interrupted=True)

    def _likeliest_order(self, scores: OrderScores, order: IntArray) -> tuple[IntArray, BoolArray] | None:
        """An order of the likeliest graph that chains from an order meet, and that graph; None if none obeys."""
        precedence = self.plan.constraints.precedence
        before = None if precedence is None else precedence.before
        for graph in likeliest_graphs(Evidence(scores, bool(self.scaled.table.discrete.any())), order):
            along = order_along(graph, before, order)
            if along is not None:
                return along, graph
        return None

    def log_likelihood(self, training: TrainingResult) -> float:
        """Of the rows as they came: of the table's, times both changes of scale in them, times steps of grids."""
        n = training.n_rows_used
        jacobian = self.table.mean_log_slopes(self.scaled, n) + self.table.mean_log_steps
        if self.effects is not None:
            penalty = float(scale_prices(self.effects, n).sum())
        else:
            penalty = 0.5 * np.log(n) / n * self.scale.n_parameters
        return float(training.log_likelihood() + jacobian - penalty)


def shape_of_columns(table: Table) -> float:
    """How far the median continuous column is from Gaussian, its ties spread, in nats per row."""
    untied = table.values if table.dither is None else table.values + table.dither
    return float(np.median([negentropy(untied[:MAX_ROWS, j]) for j in np.flatnonzero(~table.discrete)] or [0.0]))


def with_families(table: Table, noise: Sequence[NoiseModel]) -> Table:
    """The table with the names of the noise models of its discrete columns."""
    if not table.discrete.any():
        return table
    return replace(table, families=tuple(each.name if isinstance(each, DiscreteNoise) else "" for each in noise))


def drop_orders_of_levels(
    training: TrainingResult, noise: tuple[NoiseModel, ...], table: Table, plan: Plan
) -> tuple[NoiseModel, ...]:
    """The noise models, but those of levels whose order does not help to predict them from their causes."""
    ordered = [node for node, each in enumerate(noise) if each == DiscreteNoise("ordinal")]
    if not ordered:
        return noise
    free = tuple(DiscreteNoise("categorical") if node in ordered else each for node, each in enumerate(noise))
    models = plan.constraints.prepare(plan.estimator, with_families(table, free))
    ranks = np.argsort(training.order)
    chosen = list(noise)
    for node in ordered:
        before = np.flatnonzero(ranks < ranks[node])
        if plan.constraints.rules is not None:
            before = before[plan.constraints.rules.allowed[before, node]]
        if plan.constraints.max_children is not None:  # other causes may have no room for it
            before = training.fits[node].parents
        costs = [
            fit.nll + 0.5 * np.log(table.n_rows) / table.n_rows * fit.dof
            for fit in (training.fits[node], models.fit(node, before))
        ]
        if costs[1] < costs[0]:
            chosen[node] = free[node]
    return tuple(chosen)


def name_of_noise(noise: NoiseModel, density: Density | Mass) -> str:
    """What ``noise_`` calls it."""
    if isinstance(density, CountMass):
        return "poisson" if density.dispersion == 0.0 else "negative-binomial"
    if isinstance(noise, DiscreteNoise):
        return noise.name
    names = {entry.make: name for name, entry in NOISE.items()}
    return names.get(type(noise), type(noise).__name__)


def fit_densities(training: TrainingResult, noise: Sequence[NoiseModel]) -> list[Density | Mass]:
    """The noise of every node under the model that orders were compared by; Gaussian without residuals."""
    wanted = any(each.needs_residuals for each in noise)
    residuals = (training.residuals() if wanted else None) or [None] * len(noise)
    masses = offered(training.models, HasMasses)
    densities: list[Density | Mass] = []
    for node, (fit, each, left) in enumerate(zip(training.fits, noise, residuals, strict=True)):
        if isinstance(each, DiscreteNoise):
            if masses is None:
                raise TypeError(
                    f"{type(training.models).__name__} takes discrete columns, but does not say how likely they "
                    "are: give it a method mass(node, fit) that returns an object with "
                    "log_mass(outcomes, predictors)."
                )
            densities.append(masses.mass(node, fit))
        elif left is not None and each.needs_residuals:
            densities.append(each.fit(left))
        else:
            densities.append(GaussianDensity(float(variance_of_nll(fit.nll))))
    return densities
