"""Rounds of stochastic EM: complete a table by draws from what was learned, and learn again, until it settles."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.candidate import Candidate, fit_densities, with_families
from daguerreotype.completion.completer import Completer
from daguerreotype.completion.linear import expected_summary
from daguerreotype.completion.mechanisms import Mechanisms
from daguerreotype.data.column_scales import ColumnScales
from daguerreotype.data.gaussian_em import GappyRows
from daguerreotype.data.table import Summary, Table
from daguerreotype.data.transforms import Identity, Scale
from daguerreotype.edges.base import LocalFit, PricesLines, offered
from daguerreotype.edges.bic import BicEdges
from daguerreotype.edges.gam import GamEdges
from daguerreotype.graphs import to_cpdag
from daguerreotype.noise import Gaussian, NoiseModel
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.result import CALM, Completion, ScaleFit
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import Run
from daguerreotype.training.train import TrainingResult, train_again

logger = logging.getLogger("daguerreotype")

LEAST_ROUNDS, MOST_ROUNDS = 3, 6
MOST_EXACT = 30  # rounds without draws, which are short
CUBIC = 2  # knots of the curves that a start is made of
MOSTLY_STRAIGHT = 0.15  # share of edges that bend, up to which a start is made of lines: these extrapolate better
SKEWED = 1.0  # skewness from which on logarithms may be what to draw from
SETTLED = 1e-4  # of correlations from one round to the next
ENOUGH = 2**13  # rows that rounds are made of
AFFORDABLE = 3e8  # operations of one step of EM for the moments of curves


class GapRounds:
    """A table with gaps, what was learned from its completed tables so far, and how that came about.

    Parameters
    ----------
    table : Table
        With gaps, rows and columns in canonical order.
    plan, run : Plan, Run
        How to learn.

    Attributes
    ----------
    scales_first : bool
        Whether columns are so skewed that scales must be found before anything can be drawn.
    exact : bool
        Whether moments that are expected are all that is learned from: linear edges under normal noise.
    """

    def __init__(self, table: Table, plan: Plan, run: Run) -> None:
        assert table.gaps is not None
        self.table, self.plan, self.run = table, plan, run
        self._several = bool(getattr(plan.estimator, "takes_copies", False)) and not plan.joint
        plain = not table.discrete.any() and table.intervened is None and plan.transform in ("auto", "none")
        normal = all(isinstance(noise, Gaussian) for noise in plan.noise)
        self.scales_first = plan.transform == "auto" and are_skewed(table)
        self.exact = plain and normal and bool(getattr(plan.estimator, "from_moments", False))
        self.exact = self.exact and not self.scales_first
        features = (table.gaps.mean() * (CUBIC + 2) * table.n_columns) ** 3 * table.n_rows
        self._plain, self._curves_affordable = plain, features < AFFORDABLE
        # The first rows of long tables tell what to draw the others from.
        self._some = table if self.exact else table.head(ENOUGH)
        self.completer = Completer(self._some, self._several, MAX_ROWS)
        self._summary: Summary | None = None
        self._scale: Scale = Identity()
        self._effects: ColumnScales | None = None
        self._noise: tuple[NoiseModel, ...] = plan.noise
        self._training: TrainingResult | None = None
        self._latest: Mechanisms | None = None  # what draws were made from
        self.n_rounds, self.n_changed, self.loss_change, self.n_tables = 0, 0, 0.0, 0

    # ------------------------------------------------------------------ before any graph is known

    def start(self) -> None:
        """Learn a first graph, and draw from it what is missing."""
        alone = self.run.called("first draws")
        if self.exact:
            with self.run.cancel.at_once():
                self._summary = self.table.summary
                self.completer.start_normal(self._summary)
            return
        if self.scales_first:
            with self.run.cancel.at_once():
                self.completer.start()
            return
        if self._plain:
            plan = self._first_plan(BicEdges())
            candidate = Candidate(self._some, Identity(), plan, alone)
            if self._curves_affordable and self._bend(candidate):
                plan = self._first_plan(GamEdges(CUBIC))
                candidate = Candidate(self._some, Identity(), plan, alone)
            self.completer.forget()
        else:
            with self.run.cancel.at_once():
                self.completer.start()
            plan, completed = self.plan, self.completer.latest()
            self._scale = completed.scale(plan.transform)
            candidate = Candidate(completed, self._scale, plan, alone)
        self._training = candidate.train()
        self._redraw(candidate, plan.noise)
        if self._training.interrupted:
            raise KeyboardInterrupt

    def _bend(self, lines: Candidate) -> bool:
        """Whether many edges of a table that was completed by lines bend all the same."""
        start = self.plan.constraints.sort(self.plan.start)
        self._training = lines.train_again(start, lines.plan.noise, self.plan.schedule.n_restarts)
        with self.run.cancel.at_once():
            self.completer.redraw(self._mechanisms(lines, lines.plan.noise), n_sweeps=2)
        plan = self._first_plan(GamEdges(CUBIC), 1.0)
        completed = Candidate(self.completer.latest(), Identity(), plan, lines.run)
        training = completed.train_again(self._training.order, lines.plan.noise)
        models = offered(training.models, PricesLines)
        assert models is not None
        return models.share_of_bends(training.fits) > MOSTLY_STRAIGHT

    def _first_plan(self, edges: GamEdges | BicEdges, dearer: float | None = None) -> Plan:
        """The plan of a first graph.

        Moments are those that EM expects, which look like more evidence than there is: edges cost more.
        """
        price, seen = self.plan.price, (~np.isnan(self._some.values)).astype(np.float64)
        if dearer is None:
            dearer = 1.0 / np.sqrt(float((seen.T @ seen).mean()) / len(seen))
        edges.penalty, edges.gamma = dearer * price.penalty, dearer * price.gamma
        edges.min_gain = dearer * price.min_gain
        return replace(self.plan, estimator=edges, noise=(Gaussian(),) * self.table.n_columns, joint=False)

    # ------------------------------------------------------------------ rounds

    def completed(self) -> Table:
        """The table to learn from: the draws of the last rounds, or expected moments.

        Of a long table, whose first rows rounds are made of, all rows are drawn from what these led to.
        """
        if self._some is not self.table and self._latest is not None:
            whole = Completer(with_families(self.table, self._noise), self._several, MAX_ROWS)
            with self.run.cancel.at_once():
                for _ in range(whole.n_redraws):
                    whole.redraw(self._latest)
            self.n_tables = whole.n_kept
            return whole.all()
        self.n_tables = self.completer.n_kept
        table = self.completer.all()
        return table if self._summary is None else replace(table, known_summary=self._summary)

    def settle(self) -> None:
        """Draw and learn in turns, until the graph and its loss stay the same."""
        for number in range(MOST_ROUNDS):
            candidate = Candidate(self.completer.latest(), self._scale, self.plan, self.run, self._effects)
            if self._learn_again(candidate) and number + 1 >= LEAST_ROUNDS:
                break
            self._redraw(candidate, self._noise)

    def settle_moments(self) -> None:
        """Expect moments and learn in turns, until both stay the same."""
        rows = GappyRows(self.table.values)
        for _ in range(MOST_EXACT):
            assert self._summary is not None
            candidate = Candidate(self.completed(), Identity(), self.plan, self.run)
            same = self._learn_again(candidate)
            before = self._summary
            self._summary = self._expected(rows, candidate, before)
            scale = np.sqrt(np.diag(before.covariance))
            change = np.abs(self._summary.covariance - before.covariance) / (scale[:, None] * scale)
            if same and change.max() < SETTLED:
                break

    def _expected(self, rows: GappyRows, candidate: Candidate, before: Summary) -> Summary:
        """The moments that are expected by what was learned; those that were saved, after a resume."""
        stage = self.run.stage("moments", {})
        saved = None if stage is None else stage.load()
        if saved is not None:
            return replace(before, mean=saved[0]["mean"], covariance=saved[0]["covariance"])
        with self.run.cancel.at_once():
            found = expected_summary(rows, self._mechanisms(candidate, self._noise), before)
        if stage is not None:
            stage.keep({"mean": found.mean, "covariance": found.covariance}, {})
        return found

    def _learn_again(self, candidate: Candidate) -> bool:
        """Learn from the latest draws; whether the graph is the one before, and as likely."""
        before = self._training
        assert before is not None
        self._training = candidate.train_again(before.order, self._noise)
        if self._training.interrupted:
            raise KeyboardInterrupt
        self.n_rounds += 1
        self.n_changed = edges_apart(before.fits, self._training.fits)
        self.loss_change = abs(self._training.loss - before.loss) / len(before.fits)
        told = "round %d of completing the table: %d edges changed, the loss of a column by %.4f"
        logger.info(told, self.n_rounds, self.n_changed, self.loss_change)
        return self.n_changed == 0 and self.loss_change < CALM

    def _redraw(self, candidate: Candidate, noise: Sequence[NoiseModel]) -> None:
        self._redraw_from(self._mechanisms(candidate, noise))

    def _redraw_from(self, mechanisms: Mechanisms) -> None:
        self._latest = mechanisms
        stage = self.run.stage("draws", {})
        saved = None if stage is None else stage.load()
        if saved is not None:
            self.completer.restore(*saved)
            return
        with self.run.cancel.at_once():
            self.completer.redraw(mechanisms)
        if stage is not None:
            stage.keep(*self.completer.state())

    def _mechanisms(self, candidate: Candidate, noise: Sequence[NoiseModel]) -> Mechanisms:
        assert self._training is not None
        return self.completer.mechanisms(candidate.scaled, self._training, fit_densities(self._training, noise))

    # ------------------------------------------------------------------ what was chosen with all draws

    def take(self, fit: ScaleFit) -> bool:
        """Go on from a fit to all draws; whether it has other scales or noise than these were made by."""
        effects = fit.scaled.effects
        changed = None if effects is None else effects.transform
        assert changed is None or isinstance(changed, ColumnScales)
        same = fit.noise_models == self._noise and _same(fit.scaled.transform, self._scale)
        same = same and _same(changed, self._effects)
        if self._training is not None:
            self.n_changed = edges_apart(self._training.fits, fit.training.fits)
        self._training, self._noise = fit.training, fit.noise_models
        self._scale, self._effects = fit.scaled.transform, changed
        self.completer.table = with_families(self._some, self._noise)
        if not same:  # moments are those of normal columns as they came
            self._summary, self.exact = None, False
        return not same

    def redraw_from(self, fit: ScaleFit) -> None:
        """Draw what is missing from a fit."""
        self._redraw_from(self.completer.mechanisms(fit.scaled, fit.training, fit.densities))

    @property
    def found_something(self) -> bool:
        """Whether there is a graph to keep, and a table to make it of."""
        return self._training is not None and self.completer.n_kept > 0

    def finish(self, interrupted: bool = False) -> ScaleFit:
        """Put together what was learned, with a distribution around its order."""
        assert self._training is not None
        candidate = Candidate(self.completed(), self._scale, self.plan, self.run, self._effects)
        if interrupted:
            training = train_again(
                self._training.order, self._noise, candidate.scaled.table, self._as_it_is, self.run
            )
            return candidate.finish(replace(training, interrupted=True))
        fit = candidate.finish(candidate.train_on(self._training))
        self.n_changed = edges_apart(self._training.fits, fit.training.fits)
        return fit

    @property
    def _as_it_is(self) -> Plan:
        """The plan for an order that is not to be searched for any more."""
        return replace(self.plan, operator=None)

    def completion(self) -> Completion:
        """How the table was completed."""
        exact = self._summary is not None
        return Completion(0 if exact else self.n_tables, self.n_rounds, self.n_changed, self.loss_change)


def edges_apart(first: Sequence[LocalFit], second: Sequence[LocalFit]) -> int:
    """How many pairs of columns two graphs connect differently, up to directions that linear edges leave open."""
    one, other = (to_cpdag(_adjacency(fits)) for fits in (first, second))
    differ = one != other
    return int(np.triu(differ | differ.T).sum())


def _adjacency(fits: Sequence[LocalFit]) -> IntArray:
    """Matrix (d, d) of the edges of fits."""
    adjacency: IntArray = np.zeros((len(fits), len(fits)), dtype=np.int64)
    for node, fit in enumerate(fits):
        adjacency[fit.parents, node] = 1
    return adjacency


def _same(first: Scale | None, second: Scale | None) -> bool:
    """Whether two changes of scale are the same, but for parameters, which move a little with the draws."""
    if isinstance(first, ColumnScales) and isinstance(second, ColumnScales):
        return first.forms == second.forms
    return first == second


def _skewness(column: FloatArray) -> float:
    """The third standardized moment of a column (n,)."""
    centred = column - column.mean()
    return float(np.mean(centred**3) / np.mean(centred**2) ** 1.5)


def are_skewed(table: Table) -> bool:
    """Whether a continuous column is positive, and far less skewed on the scale of logarithms."""
    values = table.values
    for j in np.flatnonzero((np.nanmin(values, axis=0) > 0.0) & ~table.discrete).tolist():
        column = values[~np.isnan(values[:, j]), j]
        came, logarithms = (_skewness(each) for each in (column, np.log(column)))
        if came > SKEWED and abs(logarithms) < 0.5 * came:
            return True
    return False
