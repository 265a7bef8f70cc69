"""The result of a fit: a frozen record of what was learned, in the user's numbering of the columns."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from daguerreotype._lib.labels import ColumnPlaces, label, listed, shown
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.kinds import Kind, encode_values
from daguerreotype.data.missing import Gaps
from daguerreotype.data.quantiles import Support
from daguerreotype.data.table import OnScale
from daguerreotype.graphs.dag import is_open
from daguerreotype.missing.draws import completions, mean_log_likelihood
from daguerreotype.missing.imputation import Completion, Imputation, MissingValues, make_imputation
from daguerreotype.missing.mechanisms import Mechanisms
from daguerreotype.noise import Density, Mass
from daguerreotype.posterior import Posterior
from daguerreotype.training.run import FitHistory
from daguerreotype.training.state import TrainingResult

if TYPE_CHECKING:
    import pandas as pd

    from daguerreotype.data.scales import ColumnScales
    from daguerreotype.edges.base import LocalFit
    from daguerreotype.operators import OrderDistribution

__all__ = ["FitHistory", "FitResult", "MissingValues"]


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
    scaled : OnScale
        The table that was learned on, on the likeliest scale, and how columns get onto it.
    typical : array of shape (d,)
        A row in the middle of all, as it came.
    training : TrainingResult
        What was learned, columns in the order that they took part in; so are densities and noise.
    densities : sequence of Density or Mass
        The noise of every node; masses of discrete ones.
    noise_names : tuple of str
        Its name.
    log_likelihood : float
        Of the training rows as they came, per row and less the BIC penalty: what scales are chosen by.
    support : Support
        What values columns have.
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

    scaled: OnScale
    typical: Annotated[FloatArray, Shape("d")]
    training: TrainingResult
    densities: Annotated[Sequence[Density | Mass], Shape("d")]
    noise_names: Annotated[tuple[str, ...], Shape("d")]
    log_likelihood: float
    support: Support
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
        of_causes, of_effects = self.scaled.spread[self.place], self.scaled.of_effects.spread[self.place]
        slopes: FloatArray = self.weights * of_effects / of_causes[:, None]
        return slopes

    def named_matrix(self, matrix: Any) -> Any:
        """A matrix (d, d) as users get it: a DataFrame if columns have names."""
        return label(matrix, self.labels if self.named else None)

    def labelled(self, posterior: Posterior) -> Posterior:
        """A posterior by node, in the user's columns."""
        return posterior.taken(self.place, tuple(self.labels), self.named)

    def _on_edges(self, read: "Callable[[LocalFit], FloatArray]") -> FloatArray:
        """Matrix (d, d) of what fits say of their parents (p,), zero where there is no edge."""
        matrix: FloatArray = np.zeros((len(self.names), len(self.names)))
        for node, fit in enumerate(self.training.fits):
            matrix[self.columns[fit.parents], self.columns[node]] = read(fit)
        return matrix

    @property
    def adjacency(self) -> IntArray:
        """Matrix (d, d): one where i is a parent of j."""
        return self._on_edges(lambda fit: np.ones(fit.parents.size)).astype(np.int64)

    @property
    def noise(self) -> tuple[str, ...]:
        """Names of the noise models of the columns."""
        return tuple(self.noise_names[node] for node in self.place)

    @property
    def scales(self) -> tuple[str, ...]:
        """The scale of every column as an effect: the one that noise is added on."""
        return self._words(self.scaled.of_effects.scales)

    @property
    def cause_scales(self) -> tuple[str, ...]:
        """The scale of every column as a cause: the one that lines are straight on."""
        return self._words(self.scaled.scales)

    def _words(self, scales: "ColumnScales") -> tuple[str, ...]:
        """The words for the scale of every column."""
        words = scales.words
        discrete = [kind.discrete for kind in self.kinds] or [False] * len(self.names)
        return tuple("none" if out else words[node] for node, out in zip(self.place, discrete, strict=True))

    @property
    def transform(self) -> str:
        """One word for the scales of all continuous columns as effects; "per column" where none fits all."""
        scales = self.scaled.of_effects.scales
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

    def weak_edge_table(self) -> "pd.DataFrame":
        """Edges that were left out as too weak, those first that explain most."""
        import pandas as pd

        causes, effects = self.columns[self.training.weak].T
        labels, likely = self.labels, np.full(causes.size, np.nan)
        if self.posterior is not None:
            likely = self.posterior.probabilities[causes, effects]
        table = pd.DataFrame(
            {
                "cause": pd.Series([labels[i] for i in causes], dtype=object),
                "effect": pd.Series([labels[j] for j in effects], dtype=object),
                "explains": self.training.weak_shares,
                "probability": likely,
            }
        )
        return table.sort_values("explains", ascending=False, ignore_index=True, kind="stable")

    def _units(self) -> tuple[list[str], list[str]]:
        """What slopes are measured in, of every column as a cause and as an effect: ``log(wage)``."""
        causes = [_on_scale(*column) for column in zip(map(str, self.names), self.cause_scales, strict=True)]
        effects = [_on_scale(*column) for column in zip(map(str, self.names), self.scales, strict=True)]
        for column, kind in enumerate(self.kinds):
            if kind.discrete and self.noise[column] != "gaussian":
                what = "log mean" if kind.name == "count" else "log-odds"
                effects[column] = f"{what} of {self.names[column]}"
        return causes, effects

    def column_table(self) -> "pd.DataFrame":
        """What columns were taken for, by their labels."""
        import pandas as pd

        d = len(self.names)
        missing = np.zeros(d) if self.gaps is None else self.gaps.counts / self.gaps.n_rows
        training = self.training
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
        """Why a column is of its kind, its values, what its gaps depend on, and what it has as an effect."""
        kind = self.kinds[column]
        notes = [kind.reason] if kind.reason else []
        if kind.levels:
            notes.append(f"levels {listed(kind.levels, quote=False)}")
        if kind.step and not kind.discrete:
            notes.append(f"rounded to steps of {kind.step:g}")
        if self.gaps is not None and self.gaps.depends[:, column].any():
            causes = [str(self.names[i]) for i in np.flatnonzero(self.gaps.depends[:, column])]
            notes.append(f"missing or not depending on {listed(causes, quote=False)}")
        names = [str(self.names[i]) for i in self.columns]
        notes += self.training.fits[self.place[column]].notes(names)
        return "; ".join(notes)

    @property
    def order(self) -> IntArray:
        """The most probable order (d,)."""
        return self.columns[self.training.order]

    @property
    def theta(self) -> FloatArray:
        """Scores (d,) of the user's columns."""
        return self.training.theta[self.place]

    @property
    def distribution(self) -> "OrderDistribution":
        """The distribution over orders of the user's columns."""
        return self.training.distribution.relabelled(self.place)

    @property
    def history(self) -> FitHistory:
        """What training saw, step by step, with the scores of the user's columns."""
        history = self.training.history
        return replace(history, theta=history.theta[:, self.place])

    @property
    def interventions(self) -> dict[Any, int]:
        """In how many rows each column was intervened on, by its label; only columns that were."""
        training = self.training
        if training.rows_per_node is None:
            return {}
        counts = (training.n_rows - training.rows_per_node)[self.place]
        return {label: int(count) for label, count in zip(self.labels, counts, strict=True) if count}

    @property
    def missing(self) -> "MissingValues | None":
        """Where values were missing, and what was done about it."""
        if self.gaps is None:
            return None
        return MissingValues.of(self.labels, self.gaps, self.n_dropped, self.completion)

    @property
    def kinds_by_label(self) -> dict[Any, Kind]:
        """The kind of every column, by its label."""
        return dict(zip(self.labels, self.kinds, strict=True))

    @property
    def seen(self) -> FloatArray:
        """Quantiles (k, d) of what was seen of the columns, nan below those of few values; none without rows."""
        seen = self.support.seen
        return seen[:, self.place] if seen.size else np.zeros((0, len(self.names)))

    @property
    def has_curves(self) -> bool:
        """Whether the edges are curves that can be shown."""
        return self.training.can.curves

    def density(self, column: int) -> Density | Mass:
        """The noise of one of the user's columns, by number."""
        return self.densities[int(self.place[column])]

    def curve(self, cause: Any, effect: Any, values: Any) -> FloatArray:
        """What ``cause`` contributes to ``effect`` at values (m,) of it, or at levels: :meth:`component`."""
        first, second = self.find(cause), self.find(effect)
        return self.component(first, second, encode_values(values, self.names[first], self.kinds[first]))

    def find(self, column: Any) -> int:
        """The number of a column that the user names."""
        place = ColumnPlaces(self.names, numbered=not self.named).find(column)
        if place is None:
            raise ValueError(f"{shown(column)} is no column of the fitted table; its columns are {self.labels}.")
        return place

    def component(self, cause: int, effect: int, values: FloatArray) -> FloatArray:
        """Contribution of one parent at values (m,) of it, codes of levels among them; columns by number.

        Shape (m,): on the scale of the table for a continuous effect, log-odds for a binary one and for ordered
        levels, the logarithm of the mean for counts, or their mean if they are Gaussian. Shape (m, q) for levels
        without an order: log-odds of the q groups of levels beyond the first against it, as ``CategoricalMass``
        groups them.
        """
        models, parent, node = self.training.models, int(self.place[cause]), int(self.place[effect])
        if not self.has_curves:
            raise TypeError(f"{type(models).__name__} has no curves to show: fit with edges='gam'.")
        rows = np.repeat(self.typical[None, :], values.size, axis=0)
        rows[:, parent] = values
        curve = models.curve(node, self.training.fits[node], parent, self.scaled.apply(rows)[:, parent])
        mean_alone = curve.ndim == 1 or isinstance(self.densities[node], Mass)
        return curve if mean_alone else curve[:, 0]

    @cached_property
    def mechanisms(self) -> Mechanisms:
        """What was learned, as a distribution of rows."""
        training, kinds = self.training, self.scaled.table.kinds
        return Mechanisms(
            self.scaled, training.models, training.fits, self.densities, training.order, self.support, kinds
        )

    def score(self, values: FloatArray, intervened: BoolArray | None = None) -> float:
        """Mean log-likelihood per row of values (m, d), but for those that were intervened on.

        What is missing of a row, nan, is integrated out.
        """
        out = None if intervened is None else intervened[:, self.columns]
        return mean_log_likelihood(self.mechanisms, values[:, self.columns], out)

    def impute(
        self, X: Any, values: FloatArray, n_draws: int, random_state: int, intervened: BoolArray | None
    ) -> Imputation:
        """The rows ``X``, whose values (m, d) are nan where one is missing, completed by draws."""
        return make_imputation(X, values, self.draw(values, n_draws, random_state, intervened), self.kinds)

    def draw(
        self, values: FloatArray, n_draws: int, random_state: int, intervened: BoolArray | None = None
    ) -> FloatArray:
        """Completed rows (n_draws, m, d) of rows (m, d) that are nan where a value is missing."""
        out = None if intervened is None else intervened[:, self.columns]
        drawn = completions(self.mechanisms, values[:, self.columns], n_draws, random_state, out)
        return drawn[:, :, self.place]
