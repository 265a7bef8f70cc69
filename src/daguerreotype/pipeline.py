"""A fit on one page: the stages from a table to a result.

:func:`fit_table` is what ``fit``, ``fit_chunks`` and ``fit_moments`` all call; they differ in how the table is
made. Each stage takes the state of the fit to the next. Interruption is dealt with here alone: what was found
before the stage that Ctrl-C ends is kept, or the best that its first search had found.
"""

import logging
from dataclasses import asdict, replace

from daguerreotype.data.table import Table
from daguerreotype.edges.base import searchable
from daguerreotype.missing.rounds import MissingRounds
from daguerreotype.noise import name_of
from daguerreotype.posterior import Posterior
from daguerreotype.posterior.decide import decide, leave_out_weak, likelier_order
from daguerreotype.posterior.parent_sets import UnknownEvidenceError
from daguerreotype.posterior.sample import draw_graphs, short_effort
from daguerreotype.result import FitResult
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.search import search
from daguerreotype.training.state import Interrupted, State

logger = logging.getLogger("daguerreotype")

# Of completing a table by draws, and learning from them with all choices; of searching where the posterior leads.
ROUNDS = 3


def fit_table(table: Table, plan: Plan, run: Run) -> FitResult:
    """Learn a graph of the columns of ``table`` as planned, on the likeliest of the scales to try."""
    with run.cancel.at_once():
        ordered = table.canonical(plan.columns)
        if run.checkpoint is not None:  # the file of another fit is refused
            run.stage("fit", plan.settings(ordered), strict=True).keep(lambda: ({}, {}), always=True)
        if ordered.missing is None:
            state, rounds = State.begin(ordered, plan, run), None
        else:
            state, rounds = State.before_draws(ordered, plan, run), MissingRounds(ordered, plan, run)
    posterior = None
    try:
        state = search(state) if rounds is None else learn_from_draws(rounds, state)
        state, posterior = with_posterior(state)
        if posterior is not None and posterior.interrupted:
            state = as_interrupted(state)
    except KeyboardInterrupt as interrupt:
        state = kept(state, rounds, interrupt)
        logger.warning("interrupted: the best until then is kept.")
    if run.cancel.answered() and not state.trained.interrupted:
        logger.warning("interrupted at the end of the fit: what was found is kept.")
        state = as_interrupted(state)
    with run.cancel.held():
        state = leave_out_weak(decide(state, posterior))
    return result_of(state, posterior, rounds, table, ordered)


def learn_from_draws(rounds: MissingRounds, state: State) -> State:
    """Complete a table by draws from what was learned and learn again, in short rounds, until the graph settles.

    Then learn from the draws of the last rounds as from any table, with all choices of noise and scales. If these
    turn out to be others than draws were made by, there are rounds with these, and the choices are made again.
    """
    rounds.start()
    if not rounds.exact and not rounds.scales_first:
        rounds.settle()
    for choice in range(ROUNDS):
        best = search(State.begin(rounds.completed(), state.plan, state.run))
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
    return best


def with_posterior(state: State) -> tuple[State, Posterior | None]:
    """A short posterior around what was learned; where it meets a better graph, the search goes on from that."""
    for _ in range(ROUNDS):
        posterior = short_posterior(state)
        better = None if posterior is None or posterior.interrupted else likelier_order(state, posterior)
        if better is None:
            break
        logger.info("the posterior met a better graph: the search goes on from it")
        state = search(state, better, models=state.trained.prepared)
    return state, posterior


def short_posterior(state: State) -> Posterior | None:
    """A short posterior around what was learned, if it was asked for and can be had.

    Where single fits are all that an estimator has, and refining was too much for them, so is this.
    """
    plan, training, scores = state.plan, state.trained, state.trained.scores
    if not plan.posterior or scores is None:
        return None
    if not (plan.training.refine or scores.quick or searchable(scores.models) is not None):
        return None
    effort = short_effort(scores, plan.posterior)
    settings = {"order": training.order.tolist(), "loss": training.loss}
    stage = state.run.stage("posterior", asdict(effort) | settings)
    try:
        return draw_graphs(training, scores, effort, n_jobs=state.run.n_jobs, stage=stage)
    except UnknownEvidenceError as error:
        logger.info("no probabilities: %s", error)
        return None


def kept(state: State, rounds: MissingRounds | None, interrupt: KeyboardInterrupt) -> State:
    """What Ctrl-C leaves: what there was before the stage, or the best that its search had found."""
    if state.training is None:
        if rounds is not None:
            state = rounds.finish_early(interrupt)
        elif isinstance(interrupt, Interrupted):
            state = interrupt.state
        else:  # there is nothing to keep
            raise interrupt
    return as_interrupted(state)


def as_interrupted(state: State) -> State:
    """The same, which says that it is not all that was asked for."""
    return replace(state, training=replace(state.trained, interrupted=True))


def result_of(
    state: State, posterior: Posterior | None, rounds: MissingRounds | None, table: Table, ordered: Table
) -> FitResult:
    """What was learned of a table, which was put in canonical order, in the user's numbering of the columns."""
    plan, training, criterion = state.plan, state.trained, state.plan.training.loss
    if isinstance(criterion, str) and criterion == "auto":
        criterion = "bic" if state.gaussian else "entropy"
        logger.info("compared orders by %s", criterion)
    with state.run.cancel.held():
        densities, likelihood = training.densities(state.noise), state.log_likelihood()
    # The search's cache and display may be large.
    scores = None if training.scores is None else replace(training.scores, run=Run())
    result = FitResult(
        scaled=state.scaled,
        typical=state.table.typical(),
        training=replace(training, scores=scores),
        densities=densities,
        noise_names=tuple(name_of(model, density) for model, density in zip(state.noise, densities, strict=True)),
        log_likelihood=likelihood,
        support=ordered.support,
        columns=plan.columns,
        names=table.names,
        named=table.named,
        criterion=criterion,
        completion=None if rounds is None else rounds.completion(),
    )
    return result if posterior is None else replace(result, posterior=result.labelled(posterior))
