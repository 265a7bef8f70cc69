"""A fit on one page: the stages from a table to a result.

:func:`fit_table` is what ``fit``, ``fit_chunks`` and ``fit_moments`` all call; they differ in how the table is
made. Each stage takes the state of the fit to the next. Interruption is dealt with here alone: what was found
before the stage that Ctrl-C ends is kept, or the best that its first search had found.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib.metadata import version

import numpy as np

from daguerreotype._lib.store import digest
from daguerreotype.data.scales import ColumnScales
from daguerreotype.data.table import OnScale, Table
from daguerreotype.edges.base import searchable
from daguerreotype.missing.rounds import MissingRounds
from daguerreotype.operators import OrderDistribution
from daguerreotype.posterior import Posterior
from daguerreotype.posterior.parent_sets import Evidence, UnknownEvidenceError
from daguerreotype.posterior.sample import Effort, sample_posterior, short_effort
from daguerreotype.result import FitResult, ScaleFit
from daguerreotype.training.checkpoint import NOT_SAVED, Stage
from daguerreotype.training.choices import choose_noise, choose_scales, log_likelihood, with_families
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.scores import OrderScores
from daguerreotype.training.search import Interrupted, State, TrainingResult, search

logger = logging.getLogger("daguerreotype")

LEARN: tuple[Callable[[State], State], ...] = (search, choose_noise, choose_scales)
ROUNDS = 3  # of completing a table by draws, and choosing noise and scales for what these led to


def fit_table(table: Table, plan: Plan, run: Run) -> FitResult:
    """Learn a graph of the columns of ``table`` as planned, on the likeliest of the scales to try."""
    with run.cancel.at_once():
        ordered = with_families(table.canonical(plan.columns), plan.noise)
        check_resumed(ordered, plan, run)
        state = begin(ordered, plan, run)
    learn = LEARN if state.rounds is None else (learn_from_draws,)
    for stage in (*learn, add_posterior):
        try:
            state = stage(state)
        except KeyboardInterrupt as interrupt:
            state = kept(state, interrupt)
            logger.warning("interrupted: the best until then is kept.")
            break
    if run.cancel.answered() and not state.found.interrupted:
        logger.warning("interrupted at the end of the fit: what was found is kept.")
        state = as_interrupted(state)
    return result_of(state, table, ordered)


def begin(table: Table, plan: Plan, run: Run) -> State:
    """Before any training: columns on the scale that was asked for, or as they came."""
    if table.missing is not None:
        unscaled = OnScale(ColumnScales.as_measured(d := table.n_columns), np.zeros(d), np.ones(d), table)
        return State(plan, run, table, unscaled, plan.noise, rounds=MissingRounds(table, plan, run))
    if table.may_change_scale(plan.scales):
        run = run.called("none")
    return State.begin(table, plan, run)


def learn_from_draws(state: State) -> State:
    """Complete a table by draws from what was learned and learn again, in short rounds, until the graph settles.

    Then learn from the draws of the last rounds as from any table, with all choices of noise and scales. If these
    turn out to be others than draws were made by, there are rounds with these, and the choices are made again.
    """
    rounds: MissingRounds = state.rounds
    rounds.start()
    if not rounds.exact and not rounds.scales_first:
        rounds.settle()
    for choice in range(ROUNDS):
        best = begin(rounds.completed(), state.plan, state.run)
        for stage in LEARN:
            best = stage(best)
        has_other_choices = rounds.take(best)
        drawn_blindly = rounds.scales_first and choice == 0
        if not (has_other_choices or drawn_blindly):
            break
        rounds.redraw()
        rounds.settle()
    else:
        best = rounds.finish()
    if rounds.exact:
        rounds.settle_moments()
        best = rounds.finish()
    return replace(best, rounds=rounds)


def add_posterior(state: State) -> State:
    """Add a short posterior, if it was asked for and can be had.

    Where single fits are all that an estimator has, and refining was too much for them, so is this.
    """
    plan, training, scores = state.plan, state.found, state.found.scores
    if not plan.posterior or scores is None:
        return state
    if not (plan.schedule.refine or scores.quick or searchable(scores.models) is not None):
        return state
    effort = short_effort(scores, plan.posterior)
    settings = {"order": training.order.tolist(), "loss": training.loss}
    stage = state.run.stage("posterior", asdict(effort) | settings)
    try:
        posterior = posterior_of(training, scores, effort, seed=0, n_jobs=state.run.n_jobs, stage=stage)
    except UnknownEvidenceError as error:
        logger.info("no probabilities: %s", error)
        return state
    state = replace(state, posterior=posterior)
    return as_interrupted(state) if posterior.interrupted else state


def posterior_of(
    training: TrainingResult,
    scores: OrderScores,
    effort: Effort,
    *,
    seed: int,
    n_jobs: int = 1,
    stage: Stage = NOT_SAVED,
    progress: Callable[[float], None] = lambda done: None,
) -> Posterior:
    """The posterior around the order that training found."""
    some_rows = training.table is not None and bool(training.table.discrete.any())
    return sample_posterior(
        Evidence(scores, some_rows),
        training.order,
        effort,
        fixed=training.order_given,
        seed=seed,
        n_jobs=n_jobs,
        stage=stage,
        progress=progress,
    )


def kept(state: State, interrupt: KeyboardInterrupt) -> State:
    """What Ctrl-C leaves: what there was before the stage, or the best that its search had found."""
    if state.training is None:
        if state.rounds is not None:
            state = replace(state.rounds.finish_early(interrupt), rounds=state.rounds)
        elif isinstance(interrupt, Interrupted):
            state = interrupt.state
        else:  # there is nothing to keep
            raise interrupt
    return as_interrupted(state)


def as_interrupted(state: State) -> State:
    """The same, which says that it is not all that was asked for."""
    return replace(state, training=replace(state.found, interrupted=True))


def result_of(state: State, table: Table, ordered: Table) -> FitResult:
    """What was learned of a table, which was put in canonical order, in the user's numbering of the columns."""
    criterion = state.plan.loss
    if isinstance(criterion, str) and criterion == "auto":
        criterion = "bic" if state.gaussian else "entropy"
        logger.info("compared orders by %s", criterion)
    with state.run.cancel.held():
        best = ScaleFit.of(state, log_likelihood(state), ordered.support)
    completion = None if state.rounds is None else state.rounds.completion()
    result = FitResult(
        best,
        state.plan.columns,
        table.names,
        table.named,
        criterion,
        completion=completion,
    )
    return result if state.posterior is None else replace(result, posterior=result.labelled(state.posterior))


def check_resumed(table: Table, plan: Plan, run: Run) -> None:
    """Refuse to go on from the file of another fit.

    Data are known by their digests, the operator by its distribution at the start. With more steps than before a
    run is trained on.
    """
    if run.checkpoint is None:
        return
    schedule, operator, theta = plan.schedule, plan.operator, plan.constraints.project(plan.start)
    order = plan.constraints.sort(theta)
    start = OrderDistribution.of_order(order) if operator is None else operator(theta, schedule.tau)
    settings = {
        "version": version("daguerreotype"),
        "edges": type(plan.estimator).__name__,
        **{f"edges.{name}": value for name, value in vars(plan.estimator).items() if name != "device"},
        **{name: getattr(schedule, name) for name in ("tau", "rate", "l2", "tolerance", "patience")},
        **{name: repr(getattr(plan, name)) for name in ("objective", "noise", "scales", "standardize", "joint")},
        **plan.constraints.settings(),
        "columns": list(map(str, table.names)),
        "digest of data": digest(table.values),
        **({} if table.intervened is None else {"digest of interventions": digest(table.intervened)}),
        "digest of scores at the start": digest(theta),
        "digest of orders at the start": digest(start.probs, start.ranks),
    }
    run.checkpoint.stage("fit", settings, strict=True).keep(lambda: ({}, {}), always=True)
