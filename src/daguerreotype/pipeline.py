"""A fit on one page: table -> canonical order -> scales -> train and refine -> noise -> result.

:func:`fit_table` is what ``fit``, ``fit_chunks`` and ``fit_moments`` all call; they differ in how the table is
made. :func:`fit_on_scale` is the part that is repeated for every candidate scale.
"""

import logging

import numpy as np

from daguerreotype._lib.parallel import run_together
from daguerreotype.data.table import Table
from daguerreotype.data.transforms import Scale
from daguerreotype.noise import Density, NoiseModel
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
    ordered = table.canonical(plan.columns)
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
    if plan.other_noise is not None and not training.interrupted:
        shape = training.negentropy()
        if shape >= DOUBTFUL:
            found = train_on(training, plan.other_noise, scaled.table, plan, run)
            # Residuals of a wrong order mix noises, which hides their shape: a better order may show it.
            if max(shape, found.negentropy()) >= NON_GAUSSIAN:
                training, noise = found, plan.other_noise
    # Likelihood of the rows as they came: of the table's, times both changes of scale in the same rows, and times
    # the steps of grids.
    n = training.n_rows_used
    jacobian = table.mean_log_slopes(scaled, n) + table.mean_log_steps
    penalty = 0.5 * np.log(n) / n * scale.n_parameters
    likelihood = training.log_likelihood() + jacobian - penalty
    densities = fit_densities(training, noise)
    return ScaleFit(scaled, table.typical(), training, densities, not noise.needs_residuals, likelihood)


def fit_densities(training: TrainingResult, noise: NoiseModel) -> list[Density]:
    """The noise of every node under the model that orders were compared by; Gaussian without residuals."""
    residuals = training.residuals() if noise.needs_residuals else None
    if residuals is None:
        return [GaussianDensity(float(variance_of_nll(fit.nll))) for fit in training.fits]
    return [noise.fit(each) for each in residuals]
