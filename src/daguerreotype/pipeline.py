"""A fit on one page: table -> canonical order -> scales -> train and refine -> noise -> result.

:func:`fit_table` is what ``fit``, ``fit_chunks`` and ``fit_moments`` all call; they differ in how the table is
made. :func:`fit_on_scale` is the part that is repeated for every candidate scale.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daguerreotype._lib.parallel import run_together
from daguerreotype.data.table import Table
from daguerreotype.data.transforms import Scale
from daguerreotype.edges.base import HasMasses, offered
from daguerreotype.noise import NOISE, Density, DiscreteNoise, Mass, NoiseModel
from daguerreotype.noise.counts import CountMass
from daguerreotype.noise.gaussian import GaussianDensity, variance_of_nll
from daguerreotype.result import FitResult, ScaleFit
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.train import TrainingResult, train, train_on

logger = logging.getLogger("daguerreotype")

# Nats that residuals lack of a Gaussian's entropy: from where on they are clearly not Gaussian, and may not be.
NON_GAUSSIAN, DOUBTFUL = 0.03, 0.005


def fit_table(table: Table, plan: Plan, run: Run, criterion: object) -> FitResult:
    """Learn a graph of the columns of ``table`` as planned, on the likeliest of the scales to try.

    Threads go to several scales first; what is left over goes to each of them.
    """
    ordered = with_families(table.canonical(plan.columns), plan.noise)
    scales = ordered.scales(plan.transform)
    n_together = min(run.n_jobs, len(scales))
    runs = [run.of_candidate(scale.name, len(scales), run.n_jobs // n_together) for scale in scales]
    if n_together > 1:
        tokens = [each.cancel for each in runs]
        fits = run_together(lambda i: fit_on_scale(ordered, scales[i], plan, runs[i]), tokens, n_together)
    else:
        fits = []
        for scale, own in zip(scales, runs, strict=True):
            fits.append(fit_on_scale(ordered, scale, plan, own))
            if fits[-1].training.interrupted:  # Ctrl-C ends the whole fit, not one candidate
                break
    best = max(fits, key=lambda fit: fit.log_likelihood)
    if len(fits) > 1:
        compared = ", ".join(f"{each.scaled.transform.name} {each.log_likelihood:.3f}" for each in fits)
        logger.info("chose transform %r by likelihood per row: %s", best.scaled.transform.name, compared)
    if criterion == "auto":
        criterion = "bic" if best.gaussian else "entropy"
        logger.info("compared orders by %s", criterion)
    return FitResult(best, plan.columns, table.names, table.named, criterion)


def fit_on_scale(table: Table, scale: Scale, plan: Plan, run: Run) -> ScaleFit:
    """Train on the columns as they are on one scale; under another noise model where residuals ask for it."""
    scaled = table.on_scale(scale, plan.standardize)
    training, noise = train(scaled.table, plan, run), plan.noise
    if plan.families_open and not training.interrupted:
        likelier = drop_orders_of_levels(training, noise, scaled.table, plan)
        if likelier != noise:
            scaled, noise = replace(scaled, table=with_families(scaled.table, likelier)), likelier
            models = plan.constraints.prepare(plan.estimator, scaled.table)
            training = train_on(training, noise, scaled.table, plan, run, models)
    if plan.other_noise is not None and not training.interrupted:
        shape = training.negentropy()
        if shape >= DOUBTFUL:
            free = tuple(
                each if isinstance(each, DiscreteNoise) else other
                for each, other in zip(noise, plan.other_noise, strict=True)
            )
            found = train_on(training, free, scaled.table, plan, run)
            # Residuals of a wrong order mix noises, which hides their shape: a better order may show it.
            if max(shape, found.negentropy()) >= NON_GAUSSIAN:
                training, noise = found, free
    # Likelihood of the rows as they came: of the table's, times both changes of scale in the same rows, and times
    # the steps of grids.
    n = training.n_rows_used
    jacobian = table.mean_log_slopes(scaled, n) + table.mean_log_steps
    penalty = 0.5 * np.log(n) / n * scale.n_parameters
    likelihood = training.log_likelihood() + jacobian - penalty
    densities = fit_densities(training, noise)
    gaussian = not any(each.needs_residuals for each in noise)
    names = tuple(name_of_noise(each, density) for each, density in zip(noise, densities, strict=True))
    return ScaleFit(scaled, table.typical(), training, densities, gaussian, likelihood, names)


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
