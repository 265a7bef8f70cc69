"""What is learned from rows that are never in memory together? Tables known by moments, read chunk by chunk."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from daguerreotype._lib.progress import ProgressBar
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.accumulators import Both, Mapped
from daguerreotype.data.moments import Moments
from daguerreotype.data.quantiles import OrderStatistics, QuantileSketch, between, ranks_around
from daguerreotype.data.scales import Identity, ShiftedLog, Transform
from daguerreotype.data.streamable import check_moments
from daguerreotype.data.streams import Source
from daguerreotype.edges.base import Table
from daguerreotype.pipeline import Fitted, Parts, learn_table, scale_moments


@dataclass(frozen=True)
class Summary:
    """What is known of a table beforehand: moments of its columns, and perhaps how to read its rows again."""

    names: tuple[str, ...]
    named: bool
    n_rows: int
    mean: FloatArray
    covariance: FloatArray
    skewness: FloatArray
    transform: Transform
    scaled_mean: FloatArray  # after the transform, as the next
    scaled_covariance: FloatArray
    source: Source | None = None
    sketch: QuantileSketch | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None

    @classmethod
    def of(cls, seen: Moments, **more: Any) -> "Summary":
        """From moments, all on the scale of the rows as they come unless ``more`` says otherwise."""
        known: dict[str, Any] = {
            "transform": Identity(),
            "scaled_mean": seen.mean,
            "scaled_covariance": seen.covariance,
            "low": seen.low,
            "high": seen.high,
        }
        moments = (seen.n_rows, seen.mean, seen.covariance, seen.skewness)
        return cls(seen.names, seen.named, *moments, **(known | more))

    @classmethod
    def of_covariance(
        cls, covariance: FloatArray, n_rows: int, names: tuple[str, ...] | None, mean: FloatArray | None
    ) -> "Summary":
        """From a covariance that was checked; without means they count as zero."""
        d = len(covariance)
        mean = np.zeros(d) if mean is None else mean
        labels = tuple(f"x{i}" for i in range(d)) if names is None else names
        known = (labels, names is not None, n_rows, mean, covariance, np.zeros(d))
        return cls(*known, Identity(), mean, covariance)

    def learn(
        self, standardize: bool, columns: IntArray, start: FloatArray, parts: Parts, bar: ProgressBar
    ) -> list[Fitted]:
        """The one fit of these columns, in this order."""
        centre, scale, moments = scale_moments(self.scaled_mean, self.scaled_covariance, standardize)
        table = StreamedTable(
            values=np.zeros((0, columns.size)),
            names=tuple(self.names[j] for j in columns),
            known_moments=np.ascontiguousarray(moments[np.ix_(columns, columns)]),
            summary=self,
            scaling=partial(_scale, self.transform, centre, scale, columns),
            columns=columns,
        )
        learned = learn_table(table, parts, start, lambda step: bar.update(self.transform.name, step), None)
        entropy = sum(0.5 * (np.log(2 * np.pi * fit.variance) + 1) for fit in learned.fits) + np.log(scale).sum()
        dof = sum(fit.dof for fit in learned.fits)
        logs = float(self.scaled_mean.sum()) if isinstance(self.transform, ShiftedLog) else 0.0
        likelihood = float(-entropy - logs - 0.5 * np.log(self.n_rows) / self.n_rows * dof)
        transform = self.transform
        if isinstance(transform, ShiftedLog):
            transform = ShiftedLog(transform.shift[columns])
        # Medians are not known; any value serves, since a curve looks at one column at a time.
        own = (self.mean[columns], table, centre[columns], scale[columns], learned)
        return [Fitted(transform, *own, gaussian=True, log_likelihood=likelihood)]


@dataclass(frozen=True, kw_only=True)
class StreamedTable(Table):
    """A table without values: its rows are read again for what moments do not say."""

    summary: Summary
    scaling: Callable[[FloatArray], FloatArray]
    columns: IntArray

    @property
    def n_rows(self) -> int:
        """Number of observations n, none of which is held."""
        return self.summary.n_rows

    def quantiles(self, probs: FloatArray) -> FloatArray:
        """Values (q, d) as of any table; one more pass over the rows, unless they are few."""
        known = self.summary
        assert known.sketch is not None
        assert known.source is not None
        places, share = ranks_around(probs, known.n_rows)
        ranks = np.unique(places)
        lower, upper = known.sketch.enclose(ranks)
        for rank, end in ((0, known.low), (known.n_rows - 1, known.high)):
            lower[ranks == rank] = upper[ranks == rank] = end
        found = lower
        if not np.array_equal(lower, upper):
            found = known.source.gather(partial(OrderStatistics, ranks, lower, upper)).values
        # No scale changes the order of values, so those at these ranks stay there.
        first, second = self.scaling(found)[np.searchsorted(ranks, places)]
        return between(first, second, share)

    def moments_of(self, features: Callable[[FloatArray], FloatArray], *, exact: bool = True) -> FloatArray:
        """Second moments (p, p) as of any table, by one more pass over the rows."""
        assert self.summary.source is not None
        return self.summary.source.gather(partial(_features, features, self.scaling, exact)).inner.second


def _scale(
    transform: Transform, centre: FloatArray, scale: FloatArray, columns: IntArray, values: FloatArray
) -> FloatArray:
    """Rows as they come (m, d) on the scale of the table, columns in its order."""
    scaled: FloatArray = ((transform.apply(values) - centre) / scale)[:, columns]
    return scaled


def _features(
    features: Callable[[FloatArray], FloatArray], scaling: Callable[[FloatArray], FloatArray], exact: bool
) -> Mapped[Moments]:
    """An accumulator of features of scaled rows; a function of a module, so that it can be sent to a cluster."""
    return Mapped(partial(_apply_both, features, scaling), Moments(exact=exact))


def _apply_both(
    second: Callable[[FloatArray], FloatArray], first: Callable[[FloatArray], FloatArray], values: FloatArray
) -> FloatArray:
    return second(first(values))


def _moments_and_sketch() -> Both[Moments, QuantileSketch]:
    return Both(Moments(), QuantileSketch())


def summarise(source: Source, transform: str, curves: bool, bar: ProgressBar) -> Summary:
    """Read all rows once, for "log" twice: the first pass tells how far columns must be shifted."""
    sketch = None
    if curves:
        both = source.gather(_moments_and_sketch, bar.rows)
        seen, sketch = both.first, both.second
    else:
        seen = source.gather(Moments, bar.rows)
    if seen.n_chunks == 0 or seen.n_rows == 0:
        raise ValueError("the source has no rows: at least 3 are needed, and many more to learn.")
    check_moments(seen, seen.names)
    if transform != "log":
        return Summary.of(seen, source=source, sketch=sketch)
    log = ShiftedLog.fit(np.stack([seen.low, seen.high]))
    logs = source.gather(partial(_logs, log), bar.rows).inner
    scaled = {"transform": log, "scaled_mean": logs.mean, "scaled_covariance": logs.covariance}
    return Summary.of(seen, source=source, sketch=sketch, **scaled)


def _logs(log: ShiftedLog) -> Mapped[Moments]:
    return Mapped(log.apply, Moments())
