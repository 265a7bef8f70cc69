"""The result of a fit: frozen records of what was learned, in the user's numbering of the columns."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from daguerreotype._lib.checks import check_positive_int, check_seed
from daguerreotype._lib.labels import ColumnPlaces, listed, shown
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.kinds import Kind, encode_values
from daguerreotype.data.missing import Gaps
from daguerreotype.data.quantiles import Support
from daguerreotype.data.scales import ColumnScales
from daguerreotype.data.table import OnScale, mean_sum
from daguerreotype.edges.base import LocalFit
from daguerreotype.graphs.dag import is_open
from daguerreotype.missing.draws import completions, integrated
from daguerreotype.missing.imputation import Completion, Imputation, MissingValues, make_imputation
from daguerreotype.missing.mechanisms import Mechanisms
from daguerreotype.noise import NOISE, Density, DiscreteNoise, Mass, NoiseModel
from daguerreotype.noise.counts import CountMass
from daguerreotype.operators import OrderDistribution
from daguerreotype.posterior import Posterior
from daguerreotype.training.run import FitHistory, Run
from daguerreotype.training.search import State, TrainingResult

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FitHistory", "FitResult", "MissingValues", "ScaleFit"]


@saved
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
        Its name.
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
    typical: Annotated[FloatArray, Shape("d")]
    training: TrainingResult
    densities: Annotated[Sequence[Density | Mass], Shape("d")]
    gaussian: bool
    log_likelihood: float
    noise: Annotated[tuple[str, ...], Shape("d")]
    noise_models: tuple[NoiseModel, ...] = ()
    support: Support = field(default_factory=Support)

    @classmethod
    def of(cls, state: State, log_likelihood: float, support: Support) -> "ScaleFit":
        """What the stages of a fit led to, without the search's cache and display, which may be large."""
        training, noise = state.found, state.noise
        densities = training.densities(noise)
        scores = None if training.scores is None else replace(training.scores, run=Run())
        return cls(
            state.scaled,
            state.table.typical(),
            replace(training, scores=scores),
            densities,
            gaussian=state.gaussian,
            log_likelihood=log_likelihood,
            noise=tuple(_name_of(model, density) for model, density in zip(noise, densities, strict=True)),
            noise_models=noise,
            support=support,
        )

    def as_saved(self) -> "ScaleFit":
        """What a file holds: not what training needs alone."""
        return replace(self, noise_models=())

    def curve(self, cause: int, effect: int, values: FloatArray) -> FloatArray:
        """Contribution of one parent at values (m,) of it, codes of levels among them.

        Shape (m,): on the scale of the table for a continuous effect, log-odds for a binary one and for ordered
        levels, the logarithm of the mean for counts. Shape (m, q) for levels without an order: log-odds of the q
        groups of levels beyond the first against it, as ``CategoricalMass`` groups them.
        """
        models = self.training.models
        if not self.training.can.curves:
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
        missing = np.isnan(values)
        incomplete = missing.any(axis=1)
        out = np.zeros(missing.shape, dtype=np.bool_) if intervened is None else intervened
        complete, total = values[~incomplete], 0.0
        if len(complete):
            causes = self.scaled.apply(complete)
            density = np.column_stack(
                [
                    self.mechanisms.log_mass(node, complete[:, node], self.mechanisms.predictors(node, causes))
                    for node in range(values.shape[1])
                ]
            )
            total += mean_sum(density, out[~incomplete]) * len(complete)
        if incomplete.any():
            self._check_support()
            likelihood = integrated(self.mechanisms, values[incomplete], missing[incomplete], out[incomplete])
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
                "this learner was fitted without rows: it does not know what values columns have, so it cannot "
                "tell what is missing. Fit it again, on rows."
            )


def _name_of(noise: NoiseModel, density: Density | Mass) -> str:
    """What ``columns_`` calls it."""
    if isinstance(density, CountMass):
        return "poisson" if density.dispersion == 0.0 else "negative-binomial"
    if isinstance(noise, DiscreteNoise):
        return noise.name
    names = {entry.make: name for name, entry in NOISE.items()}
    return names.get(type(noise), type(noise).__name__)


def _on_scale(name: str, words: str) -> str:
    """A column on its scale.

    >>> _on_scale("wage", "none"), _on_scale("wage", "log(x + 2)"), _on_scale("wage", "yeo-johnson(0.5)")
    ('wage', 'log(wage + 2)', 'yeo-johnson(0.5) of wage')
    """
    if words == "none":
        return name
    if words == "log":
        return f"log({name})"
    placed = re.sub(r"\bx\b", lambda _: name, words)
    return placed if placed != words else f"{words} of {name}"


@saved
@dataclass(frozen=True)
class FitResult:
    """What a fit found, mapped back to the columns as the user numbers them.

    Attributes
    ----------
    best : ScaleFit
        The fit on the likeliest scale.
    columns : array of shape (d,)
        The user's column that each of the fitted table is.
    names : tuple
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
    """

    best: ScaleFit
    columns: Annotated[IntArray, Shape("d", order=True)]
    names: Annotated[tuple[Any, ...], Shape("d", filled=True, labels=True)]  # hashable
    named: bool
    criterion: Any
    kinds: Annotated[tuple[Kind, ...], Shape("d")] = ()
    completion: Completion | None = None
    gaps: Gaps | None = None
    n_dropped: int = 0
    posterior: Posterior | None = None

    @cached_property
    def place(self) -> IntArray:
        """Where each of the user's columns is in the fitted table."""
        return np.argsort(self.columns)

    @property
    def labels(self) -> list[Any]:
        """What the user calls the columns: names, or numbers without any."""
        return list(self.names) if self.named else list(range(len(self.names)))

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

    def labelled(self, posterior: Posterior) -> Posterior:
        """A posterior by node, in the user's columns."""
        return posterior.taken(self.place, tuple(self.labels), self.named)

    def _on_edges(self, read: Callable[[LocalFit], FloatArray]) -> FloatArray:
        """Matrix (d, d) of what fits say of their parents (p,), zero where there is no edge."""
        matrix: FloatArray = np.zeros((len(self.names), len(self.names)))
        for node, fit in enumerate(self.best.training.fits):
            matrix[self.columns[fit.parents], self.columns[node]] = read(fit)
        return matrix

    @property
    def adjacency(self) -> IntArray:
        """Matrix (d, d): one where i is a parent of j."""
        return self._on_edges(lambda fit: np.ones(fit.parents.size)).astype(np.int64)

    @property
    def edge_shares(self) -> FloatArray:
        """Matrix (d, d): the share of the distribution over orders that has each edge."""
        return self.best.training.edge_shares[np.ix_(self.place, self.place)]

    @property
    def noise(self) -> tuple[str, ...]:
        """Names of the noise models of the columns."""
        return tuple(self.best.noise[node] for node in self.place)

    @property
    def scales(self) -> tuple[str, ...]:
        """The scale of every column as an effect: the one that noise is added on."""
        return self._words(self.best.scaled.of_effects.scales)

    @property
    def cause_scales(self) -> tuple[str, ...]:
        """The scale of every column as a cause: the one that lines are straight on."""
        return self._words(self.best.scaled.scales)

    def _words(self, scales: ColumnScales) -> tuple[str, ...]:
        """The words for the scale of every column."""
        words = scales.words
        discrete = [kind.discrete for kind in self.kinds] or [False] * len(self.names)
        return tuple("none" if out else words[node] for node, out in zip(self.place, discrete, strict=True))

    @property
    def transform(self) -> str:
        """One word for the scales of all continuous columns as effects; "per column" where none fits all."""
        scales = self.best.scaled.of_effects.scales
        discrete = [kind.discrete for kind in self.kinds] or [False] * len(self.names)
        names = {scales.plain_name(int(node)) for node, out in zip(self.place, discrete, strict=True) if not out}
        return names.pop() if len(names) == 1 else "per column"

    def edge_table(self) -> "pd.DataFrame":
        """What is known of every edge: the surest first, then the strongest."""
        import pandas as pd

        labels, units = self.labels, self._units()
        causes, effects = np.nonzero(self.adjacency)
        norms = self.norms[causes, effects]
        likely: FloatArray = np.full((len(labels), len(labels)), np.nan)
        if self.posterior is not None:
            likely = self.posterior.probabilities
        forward, backward = likely[causes, effects], likely[effects, causes]
        # Sums of probabilities miss 1 by rounding, which must not decide what comes first.
        near, near_reverse = np.round(forward, 9), np.round(backward, 9)
        is_unsure = is_open(near, near_reverse) if self.posterior is not None else [None] * len(causes)
        table = pd.DataFrame(
            {
                "cause": pd.Series([labels[i] for i in causes], dtype=object),
                "effect": pd.Series([labels[j] for j in effects], dtype=object),
                "weight": self.weights[causes, effects],
                "norm": norms,
                "slope": self.slopes[causes, effects],
                "unit": [f"{units[1][j]} per {units[0][i]}" for i, j in zip(causes, effects, strict=True)],
                "probability": forward,
                "reverse_probability": backward,
                "direction_open": is_unsure,
            }
        )
        ranked: pd.DataFrame = table.iloc[np.lexsort((-norms, -np.nan_to_num(near)))]
        return ranked.reset_index(drop=True)

    def _units(self) -> tuple[list[str], list[str]]:
        """What slopes are measured in, of every column as a cause and as an effect: ``log(wage)``."""
        causes = [_on_scale(*each) for each in zip(map(str, self.names), self.cause_scales, strict=True)]
        effects = [_on_scale(*each) for each in zip(map(str, self.names), self.scales, strict=True)]
        for column, kind in enumerate(self.kinds):
            if kind.discrete:
                what = "log mean" if kind.name == "count" else "log-odds"
                effects[column] = f"{what} of {self.names[column]}"
        return causes, effects

    def column_table(self) -> "pd.DataFrame":
        """What columns were taken for, by their labels."""
        import pandas as pd

        d = len(self.names)
        missing = np.zeros(d) if self.gaps is None else self.gaps.counts / self.gaps.n_rows
        training = self.best.training
        rows = np.full(d, training.n_rows) if training.rows_per_node is None else training.rows_per_node
        return pd.DataFrame(
            {
                "kind": [kind.name for kind in self.kinds],
                "scale": list(self.scales),
                "cause_scale": list(self.cause_scales),
                "noise": list(self.noise),
                "missing": missing,
                "intervened": training.n_rows - rows[self.place],
                "notes": [self._notes(column) for column in range(d)],
            },
            index=pd.Index(self.labels),
        )

    def _notes(self, column: int) -> str:
        """Why a column is of its kind, what its values are, and what its gaps depend on."""
        kind = self.kinds[column]
        notes = [kind.reason] if kind.reason else []
        if kind.levels:
            notes.append(f"levels {listed(kind.levels, quote=False)}")
        if kind.step and not kind.discrete:
            notes.append(f"rounded to steps of {kind.step:g}")
        if self.gaps is not None and self.gaps.depends[:, column].any():
            others = [str(self.names[i]) for i in np.flatnonzero(self.gaps.depends[:, column])]
            notes.append(f"missing or not depending on {listed(others, quote=False)}")
        return "; ".join(notes)

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
            **vars(done),
            depends_on=depends,
        )

    @property
    def kinds_by_label(self) -> dict[Any, Kind]:
        """The kind of every column, by its label."""
        return dict(zip(self.labels, self.kinds, strict=True))

    @property
    def seen(self) -> FloatArray:
        """Quantiles (k, d) of what was seen of the columns, nan below those of few values; none without rows."""
        seen = self.best.support.seen
        return seen[:, self.place] if seen.size else np.zeros((0, len(self.names)))

    @property
    def has_curves(self) -> bool:
        """Whether the edges are curves that can be shown."""
        return self.best.training.can.curves

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
        place = ColumnPlaces(self.names, numbered=not self.named).find(column)
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

    def impute(
        self, X: Any, values: FloatArray, n_draws: int, random_state: int, intervened: BoolArray | None
    ) -> Imputation:
        """The rows ``X``, whose values (m, d) are nan where one is missing, completed by draws."""
        check_positive_int(n_draws, "n_draws")
        draws = self.draw(values, n_draws, check_seed(random_state), intervened)
        return make_imputation(X, values, draws, self.kinds)
