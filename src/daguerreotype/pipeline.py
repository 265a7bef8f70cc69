"""What does learning on one scale of measurement lead to, and how likely does it make the rows?"""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from daguerreotype._lib.parallel import Interruption, quiet_pool
from daguerreotype._lib.progress import ProgressBar
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.moments import Moments
from daguerreotype.data.scales import Transform, centre_and_scale, fit_transforms
from daguerreotype.edges.base import EdgeEstimator, HasCurves, HasPredictions, Table
from daguerreotype.training.bilevel import Operator
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.learn import Learned, Progress, Schedule, learn, order_to_theta
from daguerreotype.training.objective import Loss

# Nats that residuals lack of a Gaussian's entropy: from where on they are clearly not Gaussian, and may not be.
NON_GAUSSIAN, DOUBTFUL = 0.03, 0.005


@dataclass(frozen=True)
class Parts:
    """What the settings of a learner stand for."""

    estimator: EdgeEstimator
    loss: Loss
    non_gaussian_loss: Loss | None  # to go on with where residuals turn out not to be Gaussian
    operator: Operator | None
    schedule: Schedule
    standardize: bool
    joint_loss: str | None = None  # train edges and ordering together, under this loss
    constraints: Constraints = FREE  # what orders and edges obey
    resume: Path | None = None


@dataclass(frozen=True)
class Fitted:
    """What one candidate transform led to, and how likely it makes the data."""

    transform: Transform
    typical: FloatArray  # median of every column as it came
    table: Table
    centre: FloatArray
    scale: FloatArray
    learned: Learned
    gaussian: bool
    log_likelihood: float

    def curve(self, cause: int, effect: int, values: FloatArray) -> FloatArray:
        """Contribution (m,) of one parent at values (m,) of it, on the scale of the table."""
        models = self.learned.models
        if not isinstance(models, HasCurves):
            raise TypeError(f"{type(models).__name__} has no curves to show: fit with edges='gam'.")
        rows = np.repeat(self.typical[None, :], values.size, axis=0)
        rows[:, cause] = values
        scaled = (self.transform.apply(rows) - self.centre) / self.scale
        return models.curve(effect, self.learned.fits[effect], cause, scaled[:, cause])

    def score(self, values: FloatArray, excluded: BoolArray | None = None) -> float:
        """Mean log-likelihood per row of unseen values (m, d), columns as in training, but for excluded values."""
        models = self.learned.models
        if not isinstance(models, HasPredictions):
            raise TypeError(
                f"{type(models).__name__} cannot predict unseen rows: give it a method predict(node, fit, values)."
            )
        scaled = (self.transform.apply(values) - self.centre) / self.scale
        density = self.transform.log_slopes(values) - np.log(self.scale)  # (m, d)
        for node, fit in enumerate(self.learned.fits):
            residual = scaled[:, node] - models.predict(node, fit, scaled)
            density[:, node] -= 0.5 * (np.log(2 * np.pi * fit.variance) + residual**2 / fit.variance)
        return _mean_sum(density, excluded)


def learn_scales(
    values: FloatArray,
    names: Sequence[str],
    start: FloatArray,
    transform: str,
    parts: Parts,
    bar: ProgressBar,
    excluded: BoolArray | None = None,
) -> list[Fitted]:
    """One fit per candidate scale: a single one, or all for "auto".

    Values that are ``excluded`` (n, d), because they were set from outside, say nothing about their column's
    scale or causes. Threads go to several candidates first; what is left over goes to each of them.
    """

    def learn_one(candidate: Transform, interruption: Interruption) -> Fitted:
        table, centre, scale = _to_table(candidate.apply(values), names, parts.standardize, excluded)

        def told(step: Progress) -> None:
            interruption.check()
            bar.update(candidate.name, step)

        file = _file_of(parts.resume, candidate, len(candidates))
        learned = learn_table(table, parts, start, told, file, interruption)
        other = parts.non_gaussian_loss
        trained = parts.operator is not None and not learned.interrupted
        shape = learned.negentropy() if other is not None and trained else 0.0
        gaussian = shape < DOUBTFUL
        if not gaussian and other is not None:
            # From the order found so far, which is near: without restarts.
            schedule = replace(parts.schedule, n_restarts=0)
            theta = order_to_theta(learned.order, schedule.tau(0))
            found = learn(
                table,
                parts.estimator,
                other,
                parts.operator,
                theta,
                schedule,
                told,
                learned.models,
                constraints=parts.constraints,
                interruption=interruption,
            )
            # Residuals of a wrong order mix noises, which hides their shape: a better order may show it.
            gaussian = max(shape, found.negentropy()) < NON_GAUSSIAN
            learned = learned if gaussian else found
        # Likelihood of the rows as they came: of the table's, times both changes of scale in the same rows.
        jacobian = _mean_log_slopes(candidate, scale, values, excluded, learned.looked_at)
        price = 0.5 * np.log(learned.looked_at) / learned.looked_at * candidate.n_parameters
        likelihood = learned.log_likelihood() + jacobian - price
        return Fitted(candidate, typical, table, centre, scale, learned, gaussian, likelihood)

    typical = np.median(values, axis=0)
    candidates = fit_transforms(transform, values, excluded)
    n_jobs = parts.schedule.n_jobs
    n_together = min(n_jobs, len(candidates))
    if n_together > 1:
        parts = replace(parts, schedule=replace(parts.schedule, n_jobs=n_jobs // n_together))
        return _learn_together(learn_one, candidates, n_together)
    fits = []
    for candidate in candidates:
        fits.append(learn_one(candidate, Interruption()))
        if fits[-1].learned.interrupted:  # Ctrl-C ends the whole fit, not one candidate
            break
    return fits


def _learn_together(
    learn_one: Callable[[Transform, Interruption], Fitted], candidates: Sequence[Transform], n_threads: int
) -> list[Fitted]:
    """One fit per candidate, several at a time; on Ctrl-C those that have begun, as far as they got."""
    interruptions = [Interruption() for _ in candidates]
    fits: dict[int, Fitted] = {}

    def keep(place: int) -> None:
        fits[place] = learn_one(candidates[place], interruptions[place])

    runs = []
    with quiet_pool(n_threads) as pool:
        try:
            for place in range(len(candidates)):
                runs.append(pool.submit(keep, place))  # one by one: Ctrl-C may come in between
            wait(runs, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            for interruption in interruptions:
                interruption.ring()
        pool.shutdown(cancel_futures=True)
    for run in runs:
        if not (run.cancelled() or isinstance(run.exception(), KeyboardInterrupt)):
            run.result()  # its error, if it had one
    if not fits:
        raise KeyboardInterrupt
    return [fits[place] for place in sorted(fits)]


def learn_table(
    table: Table,
    parts: Parts,
    start: FloatArray,
    told: Callable[[Progress], None],
    checkpoint: Path | None,
    interruption: Interruption | None = None,
) -> Learned:
    """Train the ordering alone, or together with the edges."""
    if parts.joint_loss is None or parts.operator is None:
        return learn(
            table,
            parts.estimator,
            parts.loss,
            parts.operator,
            start,
            parts.schedule,
            told,
            checkpoint=checkpoint,
            constraints=parts.constraints,
            interruption=interruption,
        )
    from daguerreotype.training.joint.fine_tune import learn_joint  # needs torch

    return learn_joint(
        table,
        parts.estimator,
        parts.loss,
        parts.joint_loss,
        parts.operator,
        start,
        parts.schedule,
        told,
        checkpoint,
        parts.constraints,
    )


def _file_of(resume: Path | None, transform: Transform, n_candidates: int) -> Path | None:
    """The checkpoint of one candidate: the file itself if there is only one."""
    if resume is None or n_candidates == 1:
        return resume
    return resume.with_name(f"{resume.name}.{transform.name}")


def canonical_columns(covariance: FloatArray, skewness: FloatArray) -> IntArray:
    """Columns in an order that neither renumbering them nor shuffling the rows changes.

    By how strongly they correlate with all others; two columns alone always tie, and their skewness tells
    them apart.
    """
    scale = np.sqrt(np.diag(covariance))
    strength = np.abs(covariance / (scale[:, None] * scale)).sum(axis=0)
    # The same sum in another sequence differs in its last digits.
    order: IntArray = np.lexsort([skewness.round(9), strength.round(9)])
    return order


def canonical_rows(values: FloatArray, excluded: BoolArray | None = None) -> IntArray:
    """Rows in an order that shuffling them does not change: rounding must not break ties among orders.

    Sorted, then mixed by a fixed permutation: an estimator that splits rows as they come must not get sorted ones.
    """
    rows = np.argsort(values[:, 0], kind="stable")
    if np.any(np.diff(values[rows, 0]) == 0):
        keys = values.T[::-1]
        rows = np.lexsort(keys if excluded is None else np.concatenate([excluded.T, keys]))
    mixed: IntArray = rows[np.random.default_rng(0).permutation(rows.size)]
    return mixed


def _to_table(
    values: FloatArray, names: Sequence[str], standardize: bool, excluded: BoolArray | None
) -> tuple[Table, FloatArray, FloatArray]:
    """Centred (and scaled) columns, with the centre and scale that were taken out."""
    moments = None
    if excluded is None:
        seen = Moments().update(values)
        centre, scale, moments = scale_moments(seen.mean, seen.covariance, standardize)
    else:
        centre, scale = centre_and_scale(values, excluded)
        if not standardize:
            scale = np.ones(values.shape[1])
    scaled = np.ascontiguousarray((values - centre) / scale)
    return Table(scaled, tuple(names), moments, excluded), centre, scale


def scale_moments(
    mean: FloatArray, covariance: FloatArray, standardize: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centre (d,) and scale (d,) of a table's columns, and its second moments (d, d) without them."""
    scale = np.sqrt(np.diag(covariance)) if standardize else np.ones(mean.size)
    return mean, scale, covariance / (scale[:, None] * scale)


def _mean_log_slopes(
    transform: Transform, scale: FloatArray, values: FloatArray, excluded: BoolArray | None, looked_at: int
) -> float:
    """Mean over rows of the log slopes of both changes of scale; the first that count for a column are enough."""
    if excluded is None:
        return _mean_sum(transform.log_slopes(values[:looked_at]) - np.log(scale), None)
    counted = np.cumsum(~excluded, axis=0)  # (n, d)
    # What is looked at stands for all that counts.
    weights = np.maximum(counted[-1] / looked_at, 1.0)
    slopes = transform.log_slopes(values) - np.log(scale)
    return _mean_sum(weights * slopes, excluded | (counted > looked_at))


def _mean_sum(density: FloatArray, excluded: BoolArray | None) -> float:
    """Mean over rows of the sum over columns (m, d), but for excluded values."""
    counted = density if excluded is None else np.where(excluded, 0.0, density)
    return float(np.mean(counted.sum(axis=1)))
