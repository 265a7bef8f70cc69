"""Rounds of stochastic EM: complete a table by draws from what was learned, and learn again, until it settles."""

import logging
from dataclasses import replace

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.moments import Summary
from daguerreotype.data.table import Table
from daguerreotype.edges.additive.estimators import BicEdges, GamEdges
from daguerreotype.edges.additive.local_score import AdditiveModels
from daguerreotype.metrics import shd_cpdag
from daguerreotype.missing.draws import Completer
from daguerreotype.missing.imputation import CALM, Completion
from daguerreotype.missing.mechanisms import Mechanisms
from daguerreotype.noise import Gaussian
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.search import search
from daguerreotype.training.state import Interrupted, State, TrainingResult, with_families

logger = logging.getLogger("daguerreotype")

LEAST_ROUNDS, MOST_ROUNDS = 3, 6
MOST_EXACT = 30  # rounds without draws, which are short
CUBIC = 2  # knots of the curves that a start is made of
MOSTLY_STRAIGHT = 0.15  # share of edges that bend, up to which a start is made of lines: these extrapolate better
SKEWED = 1.0  # skewness from which on logarithms may be what to draw from
SETTLED = 1e-4  # of correlations from one round to the next
ENOUGH = 2**13  # rows that rounds are made of
AFFORDABLE = 3e8  # operations of one step of EM for the moments of curves


class MissingRounds:
    """A table with missing values, what was learned from its completed tables so far, and how that came about.

    Parameters
    ----------
    table : Table
        With missing values, rows and columns in canonical order.
    plan, run : Plan, Run
        How to learn.

    Attributes
    ----------
    state : State or None
        What was learned last, on which scales and under which noise; None before.
    scales_first : bool
        Whether columns are so skewed that scales must be found before anything can be drawn.
    exact : bool
        Whether moments that are expected are all that is learned from: linear edges under normal noise.
    """

    def __init__(self, table: Table, plan: Plan, run: Run) -> None:
        assert table.missing is not None
        self.table, self.plan, self.run = table, plan, run
        self._several = plan.estimator.can.copies and not plan.joint
        plain = not table.discrete.any() and table.intervened is None and plan.scales in ("auto", "none")
        normal = all(isinstance(noise, Gaussian) for noise in plan.noise)
        self.scales_first = plan.scales == "auto" and are_skewed(table)
        self.exact = plain and normal and plan.estimator.can.from_moments
        self.exact = self.exact and not self.scales_first
        features = (table.missing.mean() * (CUBIC + 2) * table.n_columns) ** 3 * table.n_rows
        self._plain, self._curves_affordable = plain, features < AFFORDABLE
        # The first rows of long tables tell what to draw the others from.
        self._first_rows = table if self.exact else table.rows(limit=ENOUGH)
        self.completer = Completer(self._first_rows, self._several)
        self._summary: Summary | None = None
        self.state: State | None = None
        self._latest: Mechanisms | None = None  # what draws were made from
        self.n_rounds, self.n_changed, self.loss_change, self.n_completions = 0, 0, 0.0, 0

    # ------------------------------------------------------------------ before any graph is known

    def start(self) -> None:
        """Learn a first graph, and draw from it what is missing."""
        alone = self.run.called("first draws")
        if self.exact:
            with self.run.cancel.at_once():
                self._summary = self.table.summary
                self.completer.start_normal(self._summary)
            return
        if self.scales_first or not self._plain:
            with self.run.cancel.at_once():
                self.completer.start()
            if self.scales_first:
                return
            begun = State.begin(self.completer.latest(), self.plan, alone)
        else:
            begun = State.begin(self._first_rows, self._first_plan(BicEdges()), alone)
            if self._curves_affordable and self._bend(begun):
                begun = State.begin(self._first_rows, self._first_plan(GamEdges(CUBIC)), alone)
            self.completer.forget()
        self._begin_with(search(begun))

    def _begin_with(self, first: State) -> None:
        """Draw from a first graph what is missing."""
        self._redraw(first)
        self.state = replace(first, plan=self.plan, run=self.run, noise=self.plan.noise)

    def _bend(self, lines: State) -> bool:
        """Whether many edges of a table that was completed by lines bend all the same."""
        start = self.plan.constraints.sort(self.plan.start)
        straight = search(lines, start, n_restarts=self.plan.training.n_restarts, briefly=True)
        with self.run.cancel.at_once():
            self.completer.redraw(self._mechanisms(straight), n_sweeps=2)
        curves = State.begin(self.completer.latest(), self._first_plan(GamEdges(CUBIC), 1.0), lines.run)
        training = search(curves, straight.trained.order, briefly=True).trained
        assert isinstance(training.models, AdditiveModels)
        return training.models.nonlinear_share(training.fits) > MOSTLY_STRAIGHT

    def _first_plan(self, edges: GamEdges | BicEdges, factor: float | None = None) -> Plan:
        """The plan of a first graph, on columns as they came.

        Moments are those that EM expects, which look like more evidence than there is: edges cost more.
        """
        penalty, seen = self.plan.penalty, (~np.isnan(self._first_rows.values)).astype(np.float64)
        if factor is None:
            factor = 1.0 / np.sqrt(float((seen.T @ seen).mean()) / len(seen))
        edges.penalty, edges.gamma = factor * penalty.penalty, factor * penalty.gamma
        edges.trust = penalty.trust
        noise = (Gaussian(),) * self.table.n_columns
        scales = "none" if self.plan.scales == "auto" else self.plan.scales
        return replace(self.plan, estimator=edges, noise=noise, joint=False, scales=scales)

    # ------------------------------------------------------------------ rounds

    def completed(self) -> Table:
        """The table to learn from: the draws of the last rounds, or expected moments.

        Of a long table, whose first rows rounds are made of, all rows are drawn from what these led to.
        """
        if self._first_rows is not self.table and self._latest is not None:
            noise = self.plan.noise if self.state is None else self.state.noise
            whole = Completer(with_families(self.table, noise), self._several)
            with self.run.cancel.at_once():
                for _ in range(whole.n_redraws):
                    whole.redraw(self._latest)
            self.n_completions = whole.n_kept
            return whole.all()
        self.n_completions = self.completer.n_kept
        table = self.completer.all()
        return table if self._summary is None else replace(table, known_summary=self._summary)

    def _on(self, table: Table, plan: Plan | None = None) -> State:
        """A completed table on the scales, and with the noise, of what was learned last."""
        assert self.state is not None
        return State.begin(table, self.plan if plan is None else plan, self.run, self.state.noise)

    def settle(self) -> None:
        """Draw and learn in turns, until the graph and its loss stay the same."""
        for number in range(MOST_ROUNDS):
            if self._learn_again(self._on(self.completer.latest())) and number + 1 >= LEAST_ROUNDS:
                break
            self.redraw()

    def settle_moments(self) -> None:
        """Expect moments and learn in turns, until both stay the same."""
        for _ in range(MOST_EXACT):
            assert self._summary is not None
            same, before = self._learn_again(self._on(self.completed())), self._summary
            self._summary = self._expected(before)
            scale = np.sqrt(np.diag(before.covariance))
            change = np.abs(self._summary.covariance - before.covariance) / (scale[:, None] * scale)
            if same and change.max() < SETTLED:
                break

    def _expected(self, before: Summary) -> Summary:
        """The moments that are expected by what was learned; those that were saved, after a resume."""
        assert self.state is not None
        stage = self.run.stage("moments", {})
        saved = stage.load()
        if saved is not None:
            return replace(before, mean=saved[0]["mean"], covariance=saved[0]["covariance"])
        with self.run.cancel.at_once():
            expected = self.completer.expected(self._mechanisms(self.state), before)
        stage.keep(lambda: ({"mean": expected.mean, "covariance": expected.covariance}, {}), always=True)
        return expected

    def _learn_again(self, begun: State) -> bool:
        """Learn from the latest draws; whether the graph is the one before, and as likely."""
        assert self.state is not None
        before = self.state.trained
        self.state = search(begun, before.order, briefly=True)
        self.n_rounds += 1
        self.n_changed = edges_apart(before, self.state.trained)
        self.loss_change = abs(self.state.trained.loss - before.loss) / len(before.fits)
        text = "round %d of completing the table: %d edges changed, the loss of a column by %.4f"
        logger.info(text, self.n_rounds, self.n_changed, self.loss_change)
        return self.n_changed == 0 and self.loss_change < CALM

    def redraw(self) -> None:
        """Draw what is missing from what was learned last."""
        assert self.state is not None
        self._redraw(self.state)

    def _redraw(self, state: State) -> None:
        self._latest = self._mechanisms(state)
        stage = self.run.stage("draws", {})
        saved = stage.load()
        if saved is not None:
            self.completer.restore(*saved)
            return
        with self.run.cancel.at_once():
            self.completer.redraw(self._latest)
        stage.keep(self.completer.state, always=True)

    def _mechanisms(self, state: State) -> Mechanisms:
        table, training = self.completer.table, state.trained
        densities = training.densities(state.noise)
        return Mechanisms(
            state.scaled, training.models, training.fits, densities, training.order, table.support, table.kinds
        )

    # ------------------------------------------------------------------ what was chosen with all draws

    def take(self, best: State) -> bool:
        """Go on from what all draws led to; whether it has other scales or noise than these were made by."""
        if self.state is None:
            same = _choices(best) == (self.plan.noise, None)
        else:
            same = _choices(best) == _choices(self.state)
            self.n_changed = edges_apart(self.state.trained, best.trained)
        self.state = best
        self.completer.table = with_families(self._first_rows, best.noise)
        if not same:  # moments are those of normal columns as they came
            self._summary, self.exact = None, False
        return not same

    def finish(self) -> State:
        """What was learned last, with a distribution around its order."""
        assert self.state is not None
        state = search(self._on(self.completed()), self.state.trained.order)
        self.n_changed = edges_apart(self.state.trained, state.trained)
        return state

    def finish_early(self, interrupt: KeyboardInterrupt) -> State:
        """What was learned last, or is known of a first graph, on all draws; raises if there is none."""
        if self.state is None:
            if not isinstance(interrupt, Interrupted):
                raise interrupt
            if self.completer.n_kept:
                self.state = interrupt.state
            else:
                self._begin_with(interrupt.state)
        assert self.state is not None
        as_it_is = replace(self.plan, operator=None)  # an order that is not to be searched for any more
        state = search(self._on(self.completed(), as_it_is), self.state.trained.order, briefly=True)
        return replace(state, plan=self.plan)

    def completion(self) -> Completion:
        """How the table was completed."""
        exact = self._summary is not None
        return Completion(0 if exact else self.n_completions, self.n_rounds, self.n_changed, self.loss_change)


def _choices(state: State) -> tuple[object, ...]:
    """Noise, and scales where these are open, but for parameters, which move a little with the draws."""
    scales, is_open = state.scaled.of_effects.scales, state.scaled.table.rescaled is not None
    return state.noise, None if scales.measured or not is_open else scales.names


def edges_apart(first: TrainingResult, second: TrainingResult) -> int:
    """How many pairs of columns two graphs connect differently, up to directions that linear edges leave open."""
    graphs = np.zeros((2, len(first.fits), len(first.fits)), dtype=np.int64)
    for graph, training in zip(graphs, (first, second), strict=True):
        for node, fit in enumerate(training.fits):
            graph[fit.parents, node] = 1
    return shd_cpdag(*graphs)


def _skewness(column: FloatArray) -> float:
    """The third standardized moment of a column (n,)."""
    centred = column - column.mean()
    return float(np.mean(centred**3) / np.mean(centred**2) ** 1.5)


def are_skewed(table: Table) -> bool:
    """Whether a continuous column is positive, and far less skewed on the scale of logarithms."""
    values = table.values
    for j in np.flatnonzero((np.nanmin(values, axis=0) > 0.0) & ~table.discrete).tolist():
        column = values[~np.isnan(values[:, j]), j]
        came, logarithms = map(_skewness, (column, np.log(column)))
        if came > SKEWED and abs(logarithms) < 0.5 * came:
            return True
    return False
