"""A fit on one page: table -> canonical order -> scales -> train and refine -> noise -> result.

:func:`fit_table` is what ``fit``, ``fit_chunks`` and ``fit_moments`` all call; they differ in how the table is
made. :class:`Candidate` is the part that is repeated for every candidate scale that is worth it.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np

from daguerreotype.candidate import Candidate, with_families
from daguerreotype.data.table import Table
from daguerreotype.data.transforms import Identity
from daguerreotype.edges.base import JudgesParents, offered
from daguerreotype.gap_rounds import GapRounds
from daguerreotype.operators import OrderDistribution
from daguerreotype.posterior import Posterior
from daguerreotype.posterior.evidence import Evidence, UnknownEvidenceError
from daguerreotype.posterior.sample import Effort, sample_posterior, short_effort
from daguerreotype.result import Completion, FitResult, ScaleFit
from daguerreotype.training.checkpoint import Stage, describe_run
from daguerreotype.training.misfit import asks_for_another_scale
from daguerreotype.training.order_scores import OrderScores
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.scale_choice import ScaleChoice, choose_scales, logarithms_of
from daguerreotype.training.train import TrainingResult, prepare, train, train_on
from daguerreotype.training.warm_start import warm_settings

logger = logging.getLogger("daguerreotype")

# Nats per column by which a scale is clearly likelier than another: more than orders and noise models differ by.
CLEARLY = 0.3
ROUNDS = 3  # of choosing scales for an order, and an order for scales


def fit_table(table: Table, plan: Plan, run: Run, criterion: object) -> FitResult:
    """Learn a graph of the columns of ``table`` as planned, on the likeliest of the scales to try."""
    with run.cancel.at_once():
        ordered = with_families(table.canonical(plan.columns), plan.noise)
    _check_resumed(ordered, plan, run)
    completion = None
    if ordered.gaps is None:
        best = fit_complete(ordered, plan, run)
    else:
        best, completion = fit_gaps(ordered, plan, run)
    if criterion == "auto":
        criterion = "bic" if best.gaussian else "entropy"
        logger.info("compared orders by %s", criterion)
    best = replace(best, support=ordered.support)
    own = table.own_names
    result = FitResult(
        best, plan.columns, table.names, table.named, criterion, completion=completion, own_names=own
    )
    result = with_posterior(result, plan, run)
    if run.cancel.answered() and not result.best.training.interrupted:
        logger.warning("interrupted at the end of the fit: what was found is kept.")
        result = replace(result, best=as_interrupted(result.best))
    return result


def _check_resumed(table: Table, plan: Plan, run: Run) -> None:
    """Refuse to go on from the file of another fit."""
    if run.checkpoint is None:
        return
    schedule, operator, theta = plan.schedule, plan.operator, plan.constraints.project(plan.start)
    order = plan.constraints.sort(theta)
    start = OrderDistribution.of_order(order) if operator is None else operator(theta, schedule.tau(0))
    settings = {"rate": schedule.rate, "l2": schedule.l2, "loss": repr(plan.objective), "noise": repr(plan.noise)}
    settings |= {"transform": repr(plan.transform), "standardize": plan.standardize, "joint": plan.joint}
    settings |= {} if operator is None else warm_settings(operator)
    settings |= plan.constraints.settings()
    known = describe_run(table, plan.estimator, start, theta, schedule.tau, **settings)
    run.checkpoint.stage("fit", known, strict=True).keep({}, {})


def as_interrupted(fit: ScaleFit) -> ScaleFit:
    """The same, which says that it is not all that was asked for."""
    return replace(fit, training=replace(fit.training, interrupted=True))


def with_posterior(result: FitResult, plan: Plan, run: Run) -> FitResult:
    """What was found with a short posterior, if asked for and to be had; and without what only training needs.

    Where single fits are all that an estimator has, and refining was too much for them, so is this.
    """
    training, posterior = result.best.training, None
    scores = training.scores
    quick = scores is not None and (scores.quick or offered(scores.models, JudgesParents) is not None)
    if plan.posterior and not training.interrupted and scores is not None and (quick or plan.schedule.refine):
        effort = short_effort(scores, plan.posterior)
        try:
            told = {"order": training.order.tolist(), "loss": training.loss}
            stage = run.stage("posterior", asdict(effort) | told)
            posterior = result_posterior(result, scores, effort, seed=0, n_jobs=run.n_jobs, stage=stage)
            training = replace(training, interrupted=posterior.interrupted)
        except UnknownEvidenceError as error:
            logger.info("no probabilities: %s", error)
        except KeyboardInterrupt:
            logger.warning("interrupted while probabilities were worked out: there are none.")
            training = replace(training, interrupted=True)
    # The cache of a search may be large, and its run has a display.
    kept = None if training.scores is None else training.scores.again(Run())
    best = replace(result.best, training=replace(training, scores=kept))
    return replace(result, best=best, posterior=posterior)


def result_posterior(
    result: FitResult,
    scores: OrderScores,
    effort: Effort,
    *,
    seed: int,
    n_jobs: int = 1,
    stage: Stage | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> Posterior:
    """The posterior around what was found, in the user's numbering of the columns."""
    training = result.best.training
    some_rows = training.table is not None and bool(training.table.discrete.any())
    found = sample_posterior(
        Evidence(scores, some_rows),
        training.order,
        effort,
        fixed=training.order_given,
        seed=seed,
        n_jobs=n_jobs,
        stage=stage,
        progress=progress,
    )
    return found.taken(result.place, tuple(result.labels), result.named)


def fit_complete(table: Table, plan: Plan, run: Run) -> ScaleFit:
    """Learn from a table without gaps, its rows and columns in canonical order."""
    if table.may_change_scale(plan.transform):
        return fit_auto(table, plan, run)
    return Candidate(table, table.scale(plan.transform), plan, run).fit()


def fit_gaps(table: Table, plan: Plan, run: Run) -> tuple[ScaleFit, Completion]:
    """Complete a table by draws from what was learned and learn again, in short rounds, until the graph settles.

    Then learn from the draws of the last rounds as from any table, with all choices of scales and noise. If these
    turn out to be others than draws were made by, there are rounds with these, and the choices are made again.
    """
    rounds = GapRounds(table, plan, run)
    try:
        rounds.start()
        if not rounds.exact and not rounds.scales_first:
            rounds.settle()
        for choice in range(ROUNDS):
            best = fit_complete(rounds.completed(), plan, run)
            others = rounds.take(best)
            drawn_blindly = rounds.scales_first and choice == 0
            if best.training.interrupted or not (others or drawn_blindly):
                break
            rounds.redraw_from(best)
            rounds.settle()
        else:
            best = rounds.finish()
        if rounds.exact and not best.training.interrupted:
            rounds.settle_moments()
            best = rounds.finish()
    except KeyboardInterrupt:
        if not rounds.found_something:
            raise
        logger.warning("interrupted while the table was completed: what was found until then is kept.")
        best = rounds.finish(interrupted=True)
    return best, rounds.completion()


def fit_auto(table: Table, plan: Plan, run: Run) -> ScaleFit:
    """Train on columns as they came; on other scales, each column on its own, where residuals ask for it.

    Residuals that only have another shape ask for another noise model, and are looked at again under that. If
    other scales make noise Gaussian and are clearly likelier, columns as they came are not tried under another
    noise model.
    """
    first = Candidate(table, Identity(), plan, run.called("none"))
    training = first.train()
    fits: list[ScaleFit] = []
    try:
        if training.interrupted or not asks_for_another_scale(training):
            fits.append(first.finish(training))
            training = fits[0].training
            if training.interrupted or fits[0].gaussian:
                return fits[0]
        scaled = fit_own_scales(first, training)
        enough = first.log_likelihood(training) + CLEARLY * table.n_columns
        if not fits and not any(fit.gaussian and fit.log_likelihood > enough for fit in scaled):
            ended = any(fit.training.interrupted for fit in scaled)
            fits.append(first.finish(replace(training, interrupted=ended)))
        fits += scaled
    except KeyboardInterrupt:
        logger.warning("interrupted while scales were compared: what was found until then is kept.")
        return as_interrupted(fits[0]) if fits else first.finish(replace(training, interrupted=True))
    best = max(fits, key=lambda fit: fit.log_likelihood)
    if any(fit.training.interrupted for fit in fits):  # another might have been best
        best = as_interrupted(best)
    if len(fits) > 1:
        told = ", ".join(f"{fit.scaled.of_effects.transform.name} {fit.log_likelihood:.3f}" for fit in fits)
        logger.info("chose scales by likelihood per row: %s", told)
    return best


def fit_own_scales(first: "Candidate", training: TrainingResult) -> list[ScaleFit]:
    """Train on the scales that suit the order, and again while other orders ask for others; none: as they came.

    The search may judge a column on another scale wherever its parents make that likelier. In the end every column
    has one scale as an effect, and the order is learned once more with these. Where most turn out to be
    logarithms, those of all columns are tried too: that is one choice in place of many.
    """
    table, plan, run = first.table, first.plan, first.run.called("scales")
    chosen: ScaleChoice | None = None
    for _ in range(ROUNDS):
        with run.cancel.at_once():
            choice = choose_scales(table, training, plan)
        if choice.same_as(chosen) or (chosen is None and not choice.effects.surprise.any()):
            break
        before = training.order
        training = search_scales(choice, table, training if chosen is not None else None, plan, run)
        chosen = choice
        if training.interrupted:  # in the middle of a search that judges columns on several scales at once
            raise KeyboardInterrupt
        if np.array_equal(training.order, before):  # which would choose the same again
            break
    if chosen is None:
        return []
    candidate = Candidate(table, chosen.causes, plan, run, chosen.effects)
    fits = [candidate.finish(candidate.train_on(training) if plan.knows_two_scales else training)]
    logarithms, numbers = logarithms_of(table), np.flatnonzero(~table.discrete)
    most = np.mean([chosen.effects.form(column) == "log" for column in numbers]) > 0.5
    if most and not fits[0].training.interrupted and not chosen.effects.same_as(logarithms):
        run = first.run.called("log")
        fits.append(Candidate(table, logarithms, plan, run, logarithms).fit())
    return fits


def search_scales(
    choice: ScaleChoice, table: Table, found: TrainingResult | None, plan: Plan, run: Run
) -> TrainingResult:
    """Train where effects are on the likeliest of several scales; from an order that was found, if any."""
    by_scores = plan.knows_two_scales and not any(each.needs_residuals for each in plan.noise)
    scaled = choice.prepared(table, plan) if by_scores else table.on_scale(choice.causes, plan.standardize)
    if found is None or plan.joint:
        return train(scaled.table, plan, run)
    models = prepare(scaled.table, plan, run)
    return train_on(found, plan.noise, scaled.table, plan, run, models)
