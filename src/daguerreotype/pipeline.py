"""A fit on one page: table -> canonical order -> scales -> train and refine -> noise -> result.

:func:`fit_table` is what ``fit``, ``fit_chunks`` and ``fit_moments`` all call; they differ in how the table is
made. :class:`Candidate` is the part that is repeated for every candidate scale that is worth it.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from daguerreotype._lib.parallel import run_together
from daguerreotype._lib.typing import IntArray
from daguerreotype.data.table import OnScale, Table
from daguerreotype.data.transforms import Scale
from daguerreotype.edges.base import HasMasses, LocalModels, offered
from daguerreotype.noise import NOISE, Density, DiscreteNoise, Mass, NoiseModel
from daguerreotype.noise.counts import CountMass
from daguerreotype.noise.free_shape import MAX_ROWS, negentropy
from daguerreotype.noise.gaussian import GaussianDensity, variance_of_nll
from daguerreotype.result import FitResult, ScaleFit
from daguerreotype.training.misfit import asks_for_another_scale
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.train import TrainingResult, keep_order, train, train_on

logger = logging.getLogger("daguerreotype")

# Nats that residuals lack of a Gaussian's entropy: from where on they are clearly not Gaussian, and may not be.
NON_GAUSSIAN, DOUBTFUL = 0.03, 0.005
# Nats per column by which a scale is clearly likelier than another: more than orders and noise models differ by.
CLEARLY = 0.1


def fit_table(table: Table, plan: Plan, run: Run, criterion: object) -> FitResult:
    """Learn a graph of the columns of ``table`` as planned, on the likeliest of the scales to try."""
    ordered = with_families(table.canonical(plan.columns), plan.noise)
    names = ordered.scale_names(plan.transform)
    candidates = [Candidate(ordered, name, plan, run, len(names)) for name in names]
    # A given order leaves nothing to search; joint edges are not those that one order would have.
    screened = len(names) > 1 and plan.operator is not None and not plan.joint
    fits = fit_promising(candidates) if screened else fit_all(candidates, run)
    best = max(fits, key=lambda fit: fit.log_likelihood)
    if criterion == "auto":
        criterion = "bic" if best.gaussian else "entropy"
        logger.info("compared orders by %s", criterion)
    return FitResult(best, plan.columns, table.names, table.named, criterion)


def fit_promising(candidates: "Sequence[Candidate]") -> list[ScaleFit]:
    """Train on the columns as they came, the first candidate, and on other scales where residuals ask for it.

    What a scale promises is its likelihood with the edges of the order that was found: that takes no search, and a
    right scale gains far more than another order would. If one is clearly likelier than columns as they came, they
    are not trained on under another noise model.
    """
    first, *others = candidates
    training = first.train()
    fits: dict[str, ScaleFit] = {}
    promised: dict[str, float] = {}
    try:
        if not training.interrupted and (first.is_doubtful(training) or asks_for_another_scale(training)):
            promised = {each.name: each.screen(training.order) for each in others}
            best = max(others, key=lambda each: promised[each.name])
            enough = first.log_likelihood(training) + CLEARLY * first.table.n_columns
            if promised[best.name] > enough:
                fits[best.name] = best.fit()
            if not fits or fits[best.name].log_likelihood < enough:
                fits[first.name] = first.finish(training)
                promised = {each.name: each.screen(fits[first.name].training.order) for each in others}
            for each in sorted(others, key=lambda each: -promised[each.name]):
                known = max(fit.log_likelihood for fit in fits.values())
                interrupted = any(fit.training.interrupted for fit in fits.values())  # ends the whole fit
                if each.name not in fits and promised[each.name] > known and not interrupted:
                    fits[each.name] = each.fit()
    except KeyboardInterrupt:
        logger.warning("interrupted while scales were compared: what was found until then is kept.")
        training = replace(training, interrupted=True)
    if not fits:
        fits[first.name] = first.finish(training)
    told = {name: f"{name} {value:.3f} (not trained)" for name, value in promised.items()}
    told |= {name: f"{name} {fit.log_likelihood:.3f}" for name, fit in fits.items()}
    chosen = max(fits, key=lambda name: fits[name].log_likelihood)
    logger.info("chose transform %r by likelihood per row: %s", chosen, ", ".join(told.values()))
    return list(fits.values())


def fit_all(candidates: "Sequence[Candidate]", run: Run) -> list[ScaleFit]:
    """Train on every scale, in threads if there are several; what is left over of them goes to each."""
    n_together = min(run.n_jobs, len(candidates))
    if n_together > 1:
        shared = [each.with_jobs(run.n_jobs // n_together) for each in candidates]
        fits = run_together(lambda i: shared[i].fit(), [each.run.cancel for each in shared], n_together)
    else:
        fits = []
        for each in candidates:
            fits.append(each.fit())
            if fits[-1].training.interrupted:
                break
    if len(fits) > 1:
        best = max(fits, key=lambda fit: fit.log_likelihood).scaled.transform.name
        compared = ", ".join(f"{fit.scaled.transform.name} {fit.log_likelihood:.3f}" for fit in fits)
        logger.info("chose transform %r by likelihood per row: %s", best, compared)
    return fits


class Candidate:
    """A scale that a table may be learned on; what was prepared for it serves every fit.

    Parameters
    ----------
    table : Table
        The columns as they came, in canonical order.
    name : str
        Of the scale to learn them on.
    plan, run : Plan, Run
        How.
    n_candidates : int
        How many scales there are.
    """

    def __init__(self, table: Table, name: str, plan: Plan, run: Run, n_candidates: int) -> None:
        self.table, self.name, self.plan = table, name, plan
        self.run = run.of_candidate(name, n_candidates, run.n_jobs)
        self._models: LocalModels | None = None

    def with_jobs(self, n_jobs: int) -> "Candidate":
        """The same for fewer threads."""
        self.run = replace(self.run, n_jobs=n_jobs)
        return self

    @cached_property
    def scale(self) -> Scale:
        """The scale, fitted to the columns."""
        return self.table.scales(self.name)[0]

    @cached_property
    def scaled(self) -> OnScale:
        """The columns on the scale."""
        return self.table.on_scale(self.scale, self.plan.standardize)

    def screen(self, order: IntArray) -> float:
        """Likelihood of the rows as they came with the edges of one order."""
        training = keep_order(order, self.scaled.table, self.plan, self.run, self._models)
        self._models = training.models
        return self.log_likelihood(training)

    def fit(self) -> ScaleFit:
        """Train on the scale; under another noise model where residuals ask for it."""
        return self.finish(self.train())

    def train(self) -> TrainingResult:
        """Train on the scale under the noise model of the plan."""
        return train(self.scaled.table, self.plan, self.run, self._models)

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
        plan, noise, scaled = self.plan, self.plan.noise, self.scaled
        if plan.families_open and not training.interrupted:
            likelier = drop_orders_of_levels(training, noise, scaled.table, plan)
            if likelier != noise:
                scaled, noise = replace(scaled, table=with_families(scaled.table, likelier)), likelier
                models = plan.constraints.prepare(plan.estimator, scaled.table)
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
        densities = fit_densities(training, noise)
        return ScaleFit(
            scaled,
            self.table.typical(),
            training,
            densities,
            gaussian=not any(each.needs_residuals for each in noise),
            log_likelihood=self.log_likelihood(training),
            noise=tuple(name_of_noise(each, density) for each, density in zip(noise, densities, strict=True)),
        )

    def log_likelihood(self, training: TrainingResult) -> float:
        """Of the rows as they came: of the table's, times both changes of scale in them, times steps of grids."""
        n = training.n_rows_used
        jacobian = self.table.mean_log_slopes(self.scaled, n) + self.table.mean_log_steps
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
