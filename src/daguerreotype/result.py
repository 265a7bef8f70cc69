"""The result of a fit: frozen records of what was learned, in the user's numbering of the columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from daguerreotype._lib.labels import ColumnPlaces, plural, shown
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.completion.draws import completions, integrated
from daguerreotype.completion.mechanisms import Mechanisms
from daguerreotype.data.column_scales import ColumnScales
from daguerreotype.data.kinds import Kind, encode_values
from daguerreotype.data.missing import Gaps
from daguerreotype.data.support import Support
from daguerreotype.data.table import OnScale, mean_sum
from daguerreotype.data.transforms import Scale
from daguerreotype.edges.base import HasCurves, LocalFit, offered
from daguerreotype.edges.mixed import MixedFit
from daguerreotype.edges.predictors import GamFit, LinearPredictor
from daguerreotype.noise import Density, Mass, NoiseModel
from daguerreotype.operators import OrderDistribution
from daguerreotype.posterior import Posterior
from daguerreotype.training.history import FitHistory
from daguerreotype.training.train import TrainingResult

__all__ = ["FitHistory", "FitResult", "MissingValues", "ScaleFit"]

SETTLED = 1  # edge that comes and goes with the draws
CALM = 0.01  # nats per column and row by which they move the loss


@dataclass(frozen=True)
class ScaleFit:
    """What training on one scale led to, columns in the order that they took part in.

    Attributes
    ----------
    scaled : OnScale
        The table that was learned on, and how columns get onto its scale.
    typical : array of shape (d,)
        A row in the middle of all, as it came.
    training : TrainingResult
        What was learned.
    densities : sequence of Density or Mass
        The noise of every node; masses of discrete ones.
    noise : tuple of str
        Its name; empty in files that were saved before there were several.
    gaussian : bool
        Whether orders were compared under Gaussian noise.
    log_likelihood : float
        Of the training rows as they came, per row and less the BIC penalty: what scales are chosen by.
    noise_models : tuple of NoiseModel
        What orders were compared by; empty in a learner that was loaded.
    support : Support
        What values columns have.
    """

    scaled: OnScale
    typical: FloatArray
    training: TrainingResult
    densities: Sequence[Density | Mass]
    gaussian: bool
    log_likelihood: float
    noise: tuple[str, ...] = ()
    noise_models: tuple[NoiseModel, ...] = ()
    support: Support = field(default_factory=Support)

    def curve(self, cause: int, effect: int, values: FloatArray) -> FloatArray:
        """Contribution of one parent at values (m,) of it, codes of levels among them.

        Shape (m,): on the scale of the table for a continuous effect, log-odds for a binary one and for ordered
        levels, the logarithm of the mean for counts. Shape (m, q) for levels without an order: log-odds of the q
        groups of levels beyond the first against it, as ``CategoricalMass`` groups them.
        """
        models = offered(self.training.models, HasCurves)
        if models is None:
            raise TypeError(f"{type(self.training.models).__name__} has no curves to show: fit with edges='gam'.")
        rows = np.repeat(self.typical[None, :], values.size, axis=0)
        rows[:, cause] = values
        return models.curve(effect, self.training.fits[effect], cause, self.scaled.apply(rows)[:, cause])

    @cached_property
    def mechanisms(self) -> Mechanisms:
        """What was learned, as a distribution of rows."""
        training = self.training
        return Mechanisms(
            self.scaled,
            training.models,
            training.fits,
            self.densities,
            training.order,
            self.support,
            self.scaled.table.kinds,
        )

    def score(self, values: FloatArray, intervened: BoolArray | None = None) -> float:
        """Mean log-likelihood per row of any values (m, d), but for those that were intervened on.

        What is missing of a row, nan, is integrated out.
        """
        gaps = np.isnan(values)
        some = gaps.any(axis=1)
        out = np.zeros(gaps.shape, dtype=np.bool_) if intervened is None else intervened
        complete, total = values[~some], 0.0
        if len(complete):
            causes = self.scaled.apply(complete)
            density = np.column_stack(
                [
                    self.mechanisms.log_mass(node, complete[:, node], self.mechanisms.predictors(node, causes))
                    for node in range(values.shape[1])
                ]
            )
            total += mean_sum(density, out[~some]) * len(complete)
        if some.any():
            self._check_support()
            likelihood = integrated(self.mechanisms, values[some], gaps[some], out[some])
            total += float(likelihood.sum())
        return total / len(values)

    def draw(
        self, values: FloatArray, n_draws: int, random_state: int, intervened: BoolArray | None = None
    ) -> FloatArray:
        """Completed rows (n_draws, m, d) of rows (m, d) that are nan where a value is missing."""
        self._check_support()
        return completions(self.mechanisms, values, n_draws, np.random.default_rng(random_state), intervened)

    def _check_support(self) -> None:
        """Refuse to draw without knowing what values columns have."""
        if not self.support.seen.size:
            raise ValueError(
                "this learner was fitted without rows, or saved by an older version: it does not know what values "
                "columns have, so it cannot tell what is missing. Fit it again, on rows."
            )


def _n_coefficients(fit: LocalFit) -> float:
    """Coefficients of a fit, of estimators that have any; degrees of freedom of others."""
    if isinstance(fit, MixedFit):
        return float(fit.coefficients[1:].size)
    return float(fit.columns.size if isinstance(fit, GamFit) else fit.dof)


@dataclass(frozen=True)
class Completion:
    """How a table with gaps was completed.

    Attributes
    ----------
    n_tables : int
        Completed tables that were learned from together; 0 where expected moments were enough.
    n_rounds : int
        Rounds of drawing and learning.
    n_changed : int
        Pairs of columns that the last two graphs connect differently, but for directions that linear edges leave
        open.
    loss_change : float
        By how much the last round moved the loss, in nats per column and row.
    """

    n_tables: int
    n_rounds: int
    n_changed: int
    loss_change: float = 0.0


@dataclass(frozen=True)
class MissingValues:
    """Where values of a table were missing, and what a fit did about it.

    Attributes
    ----------
    counts : dict
        How many values are missing of each column; only columns with gaps.
    n_rows, n_complete : int
        Rows of the table, and those without gaps.
    n_dropped : int
        Rows that were left out, with ``missing="drop"``.
    n_completions : int
        Completed tables that were learned from together. 0 where none was needed: rows were dropped, or linear
        edges had the moments that EM expects.
    n_rounds : int
        Rounds of completing the table and learning again.
    n_changed : int
        Pairs of columns that the last two graphs connect differently, but for directions that linear edges leave
        open.
    loss_change : float
        By how much the last round moved the loss, in nats per column and row.
    depends_on : dict
        Columns whose gaps depend on others, and on which: there values are not missing completely at random. That
        is taken care of, but a column whose gaps depend on others may hide that they depend on itself.
    shares : array of shape (b, c)
        A map of the gaps: the share of missing values in blocks of successive rows, of each column with any.
    """

    counts: dict[Any, int]
    n_rows: int
    n_complete: int
    n_dropped: int
    n_completions: int
    n_rounds: int
    n_changed: int
    loss_change: float
    depends_on: dict[Any, list[Any]]
    shares: FloatArray = field(repr=False)

    @property
    def settled(self) -> bool:
        """Whether the last round changed next to nothing: draws alone make an edge come and go."""
        return self.n_changed <= SETTLED and self.loss_change < CALM

    def __str__(self) -> str:
        total, d = sum(self.counts.values()), len(self.counts)
        where = f"{total} missing value{plural(total)} in {d} column{plural(d)}"
        if self.n_dropped:
            return f"{where}: left out {self.n_dropped} of {self.n_rows} rows"
        if not self.n_rounds:
            return f"{where}: learned from the moments that EM expects"
        n = self.n_completions
        how = f"{n} completed table{plural(n)}" if n else "expected moments"
        moved = f"the last changed {self.n_changed} edges, and the loss of a column by {self.loss_change:.2g}"
        ended = "settled" if self.settled else f"not settled, {moved}"
        return f"{where}: {how}, {self.n_rounds} round{plural(self.n_rounds)}, {ended}"


@dataclass(frozen=True)
class FitResult:
    """What a fit found, mapped back to the columns as the user numbers them.

    Attributes
    ----------
    best : ScaleFit
        The fit on the likeliest scale.
    columns : array of shape (d,)
        The user's column that each of the fitted table is.
    names : tuple of str
        The user's columns.
    named : bool
        Whether the names are the user's.
    criterion : str or callable
        What orders were compared by.
    kinds : tuple of Kind
        The kinds of the user's columns.
    completion : Completion, optional
        How gaps of the table were filled; None without any.
    gaps : Gaps, optional
        Where values were missing, in the user's numbering of rows and columns; None if none was.
    n_dropped : int
        Rows that were left out because of that.
    posterior : Posterior, optional
        How probable edges and graphs are; None where that was not asked for, or cannot be told.
    own_names : tuple
        The user's names as they are, where they are no text.
    """

    best: ScaleFit
    columns: IntArray
    names: tuple[str, ...]
    named: bool
    criterion: Any
    kinds: tuple[Kind, ...] = ()
    completion: Completion | None = None
    gaps: Gaps | None = None
    n_dropped: int = 0
    posterior: Posterior | None = None
    own_names: tuple[Any, ...] = ()  # hashable

    @cached_property
    def place(self) -> IntArray:
        """Where each of the user's columns is in the fitted table."""
        return np.argsort(self.columns)

    @property
    def labels(self) -> list[Any]:
        """What the user calls the columns: names, or numbers without any."""
        return list(self.own_names or self.names) if self.named else list(range(len(self.names)))

    @property
    def weights(self) -> FloatArray:
        """Matrix (d, d) of the signed slope of every edge on the scale of the table, zero where there is none."""
        return self._on_edges(lambda fit: fit.weights)

    @property
    def norms(self) -> FloatArray:
        """Matrix (d, d) of the size of every edge's effect on the scale of the table, zero where there is none."""
        return self._on_edges(lambda fit: fit.norms)

    @property
    def slopes(self) -> FloatArray:
        """Matrix (d, d) of weights in the units of the columns as they came, or of their transforms."""
        of_causes, of_effects = self.best.scaled.spread[self.place], self.best.scaled.of_effects.spread[self.place]
        slopes: FloatArray = self.weights * of_effects / of_causes[:, None]
        return slopes

    def _on_edges(self, read: Callable[[LocalFit], FloatArray]) -> FloatArray:
        """Matrix (d, d) of what fits say of their parents (p,), zero where there is no edge."""
        matrix: FloatArray = np.zeros((len(self.names), len(self.names)))
        for node, fit in enumerate(self.best.training.fits):
            matrix[self.columns[fit.parents], self.columns[node]] = read(fit)
        return matrix

    @property
    def adjacency(self) -> IntArray:
        """Matrix (d, d): one where i is a parent of j."""
        adjacency: IntArray = np.zeros((len(self.names), len(self.names)), dtype=np.int64)
        for node, fit in enumerate(self.best.training.fits):
            adjacency[self.columns[fit.parents], self.columns[node]] = 1
        return adjacency

    @property
    def edge_shares(self) -> FloatArray:
        """Matrix (d, d): the share of the distribution over orders that has each edge."""
        return self.best.training.edge_shares[np.ix_(self.place, self.place)]

    @property
    def noise(self) -> tuple[str, ...]:
        """Names of the noise models of the columns."""
        known = self.best.noise or ("gaussian" if self.best.gaussian else "free-shape",) * len(self.names)
        return tuple(known[node] for node in self.place)

    @property
    def scales(self) -> tuple[str, ...]:
        """The scale of every column as an effect: the one that noise is added on."""
        return self._words(self.best.scaled.of_effects.transform)

    @property
    def cause_scales(self) -> tuple[str, ...]:
        """The scale of every column as a cause: the one that lines are straight on."""
        return self._words(self.best.scaled.transform)

    def _words(self, scale: Scale) -> tuple[str, ...]:
        """The words for the scale of every column."""
        words = scale.words if isinstance(scale, ColumnScales) else (scale.name,) * len(self.names)
        discrete = [kind.discrete for kind in self.kinds] or [False] * len(self.names)
        return tuple("none" if out else words[node] for node, out in zip(self.place, discrete, strict=True))

    @property
    def transform(self) -> str:
        """One word for the scales of all continuous columns as effects; "per column" where none fits all."""
        scale = self.best.scaled.of_effects.transform
        if not isinstance(scale, ColumnScales):
            return scale.name
        discrete = [kind.discrete for kind in self.kinds] or [False] * len(self.names)
        forms = {scale.form(int(node)) for node, out in zip(self.place, discrete, strict=True) if not out}
        return forms.pop() if len(forms) == 1 else "per column"

    @property
    def order(self) -> IntArray:
        """The most probable order (d,)."""
        return self.columns[self.best.training.order]

    @property
    def theta(self) -> FloatArray:
        """Scores (d,)."""
        return self.best.training.theta[self.place]

    @property
    def distribution(self) -> OrderDistribution:
        """The distribution over orders."""
        return self.best.training.distribution.relabelled(self.place)

    @property
    def history(self) -> FitHistory:
        """What training saw."""
        history = self.best.training.history
        return replace(history, theta=history.theta[:, self.place])

    @property
    def interventions(self) -> dict[Any, int]:
        """In how many rows each column was intervened on, by its label; only columns that were."""
        training = self.best.training
        if training.rows_per_node is None:
            return {}
        counts = (training.n_rows - training.rows_per_node)[self.place]
        return {label: int(count) for label, count in zip(self.labels, counts, strict=True) if count}

    @property
    def missing(self) -> "MissingValues | None":
        """Where values were missing, and what was done about it."""
        if self.gaps is None:
            return None
        counts = {label: int(n) for label, n in zip(self.labels, self.gaps.counts, strict=True) if n}
        depends = {
            label: [self.labels[i] for i in np.flatnonzero(self.gaps.depends[:, j])]
            for j, label in enumerate(self.labels)
            if self.gaps.depends[:, j].any()
        }
        done = self.completion or Completion(0, 0, 0)
        return MissingValues(
            counts=counts,
            n_rows=self.gaps.n_rows,
            n_complete=self.gaps.n_complete,
            n_dropped=self.n_dropped,
            n_completions=done.n_tables,
            n_rounds=done.n_rounds,
            n_changed=done.n_changed,
            loss_change=done.loss_change,
            depends_on=depends,
            shares=self.gaps.shares[:, self.gaps.counts > 0],
        )

    @property
    def n_parameters(self) -> float:
        """Parameters spent on edges: coefficients of linear and spline edges, degrees of freedom of others."""
        training = self.best.training
        if isinstance(training.models, LinearPredictor):
            return float(self.adjacency.sum())
        # The dof of splines may hold a penalty per parent beside their columns.
        return float(sum(_n_coefficients(fit) for fit in training.fits))

    @property
    def seen(self) -> FloatArray:
        """Quantiles (k, d) of what was seen of the columns, nan below those of few values; none without rows."""
        seen = self.best.support.seen
        return seen[:, self.place] if seen.size else np.zeros((0, len(self.names)))

    @property
    def has_curves(self) -> bool:
        """Whether the edges are curves that can be shown."""
        return offered(self.best.training.models, HasCurves) is not None

    def density(self, column: int) -> Density | Mass:
        """The noise of one of the user's columns, by number."""
        return self.best.densities[int(self.place[column])]

    def curve(self, cause: Any, effect: Any, values: Any) -> FloatArray:
        """What ``cause`` contributes to ``effect`` at values (m,) of it, or at levels.

        As of :meth:`ScaleFit.curve`: (m,), or (m, q) for an effect with levels in no order.
        """
        first, second = self.find(cause), self.find(effect)
        return self.component(first, second, encode_values(values, self.names[first], self.kinds[first]))

    def find(self, column: Any) -> int:
        """The number of a column that the user names."""
        place = ColumnPlaces(self.own_names or self.names, numbered=not self.named).find(column)
        if place is None:
            raise ValueError(f"{shown(column)} is no column of the fitted table; its columns are {self.labels}.")
        return place

    def component(self, cause: int, effect: int, values: FloatArray) -> FloatArray:
        """The same for columns by number, at values (m,) that are codes where the cause has levels."""
        return self.best.curve(int(self.place[cause]), int(self.place[effect]), values)

    def score(self, values: FloatArray, intervened: BoolArray | None = None) -> float:
        """Mean log-likelihood per row of values (m, d), but for those that were intervened on."""
        return self.best.score(
            values[:, self.columns], None if intervened is None else intervened[:, self.columns]
        )

    def draw(
        self, values: FloatArray, n_draws: int, random_state: int, intervened: BoolArray | None = None
    ) -> FloatArray:
        """Completed rows (n_draws, m, d) of rows (m, d) that are nan where a value is missing."""
        out = None if intervened is None else intervened[:, self.columns]
        return self.best.draw(values[:, self.columns], n_draws, random_state, out)[:, :, self.place]
