"""Fitted mechanisms of a graph as a joint distribution: likelihoods of columns at any values of their causes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.data.kinds import Kind
from daguerreotype.data.quantiles import Support
from daguerreotype.data.table import OnScale
from daguerreotype.edges.additive.local_score import AdditiveFit, additive, log_spread
from daguerreotype.edges.base import LocalFit, LocalModels
from daguerreotype.noise import Density, Mass
from daguerreotype.noise.free_shape import RelativeDensity
from daguerreotype.noise.gaussian import GaussianDensity

POINTS = 16  # of a cell of a grid, to know its mass by
FEWEST, MOST = 32, 192  # candidates for a number
FINE = 0.7  # standard deviations of the narrowest noise from one candidate to the next
BEYOND = 1.0  # standard deviations beyond what was seen that a number may be
MOST_COUNTS = 256  # candidates for a count
DRAWN, RARE = 256, 0.05  # rows that tell how narrow noise may be, and the share of them in which it is narrower
UNKNOWN = 0.25  # standard deviation of noise that does not say its own


@dataclass(frozen=True)
class Candidates:
    """Values that a column may have where it is missing.

    Attributes
    ----------
    values : array of shape (g,)
        As they came; codes of levels.
    causes : array of shape (g,)
        The same on the scale that the column has as a cause.
    effects : array of shape (g,)
        The same on the scale that it has as an effect, evenly spaced if they are dense.
    dense : bool
        Whether all values in between may be too.
    """

    values: FloatArray
    causes: FloatArray
    effects: FloatArray
    dense: bool


@dataclass(frozen=True)
class Mechanisms:
    """What a fit says about every column given its causes; columns in the order that they took part in.

    Attributes
    ----------
    scaled : OnScale
        How columns get onto their scales.
    models : LocalModels
        What the fits were made by.
    fits : sequence of d LocalFit
        Parents and what they contribute.
    densities : sequence of d Density or Mass
        The noise of every column.
    order : array of shape (d,)
        Causes before effects.
    support : Support
        What values columns have.
    kinds : tuple of Kind
        Those of the columns; empty if all are continuous.
    """

    scaled: OnScale
    models: LocalModels
    fits: Sequence[LocalFit]
    densities: Sequence[Density | Mass]
    order: IntArray
    support: Support
    kinds: tuple[Kind, ...] = ()

    @cached_property
    def children(self) -> list[list[int]]:
        """The columns that each one is a cause of."""
        children: list[list[int]] = [[] for _ in self.fits]
        for node, fit in enumerate(self.fits):
            for parent in fit.parents.tolist():
                children[parent].append(node)
        return children

    @cached_property
    def discrete(self) -> BoolArray:
        """Which columns (d,) have probability masses."""
        return np.array([isinstance(noise, Mass) for noise in self.densities])

    @cached_property
    def additive(self) -> bool:
        """Whether what a cause contributes does not depend on the others."""
        return isinstance(self.models, LocalModels) and self.models.can.curves

    @cached_property
    def steps(self) -> FloatArray:
        """Steps of the grids that columns are on, 0 for others."""
        steps = self.scaled.table.steps
        return np.zeros(len(self.fits)) if steps is None else steps

    def predictors(self, node: int, causes: FloatArray) -> FloatArray:
        """Linear predictors (m, q) of a column for rows (m, d) on the scale of causes."""
        if isinstance(self.models, LocalModels) and not self.models.can.predictions:
            raise TypeError(
                f"{type(self.models).__name__} cannot predict unseen rows: give it a method "
                "predict(node, fit, values) and can = Capabilities(predictions=True)."
            )
        predicted = self.models.predict(node, self.fits[node], causes)
        return predicted if predicted.ndim == 2 else predicted[:, None]

    def component(self, node: int, parent: int, values: FloatArray) -> FloatArray:
        """What a parent contributes (m, q) at values (m,) on the scale of causes, but for a constant."""
        component = self.models.curve(node, self.fits[node], parent, values)
        return component if component.ndim == 2 else component[:, None]

    def log_density(self, node: int, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Log-likelihood (m,) of outcomes (m,), numbers on the scale of effects or codes, by predictors (m, q).

        Those of a number are its mean and, where its spread depends on its causes, its log standard deviation.
        """
        noise = self.densities[node]
        if isinstance(noise, Mass):
            return noise.log_mass(outcomes, predictors)
        if predictors.shape[1] == 1:
            return noise.log_density(outcomes - predictors[:, 0])
        spread = log_spread(additive(self.fits[node]), predictors)
        return noise.log_density((outcomes - predictors[:, 0]) * np.exp(-spread)) - spread

    def log_mass(self, node: int, values: FloatArray, predictors: FloatArray) -> FloatArray:
        """Log-likelihood (m,) of values (m,) as they came: a density; on a grid the mass of their cells."""
        if self.discrete[node]:
            return self.log_density(node, values, predictors)
        effects = self.scaled.of_effects
        step = float(self.steps[node])
        if step == 0.0:
            outcomes, slopes = effects.column(node, values), effects.log_slope(node, values)
            return self.log_density(node, outcomes, predictors) + slopes
        points = (np.arange(POINTS) + 0.5) / POINTS - 0.5
        inside = np.empty((POINTS, values.size))
        for density, point in zip(inside, points, strict=True):
            there = values + point * step
            density[:] = self.log_density(node, effects.column(node, there), predictors)
            density += effects.log_slope(node, there)
        mass: FloatArray = np.logaddexp.reduce(inside) - np.log(POINTS / step)
        return mass

    # ------------------------------------------------------------------ what a missing value may be

    def candidates(self, node: int, intervened: bool = False) -> Candidates:
        """The values that a column may have; those that it was set to, where it was intervened on."""
        key = (node, intervened)
        if key not in self._candidates:
            if intervened:
                self._candidates[key] = self._listed(node, self.support.where_intervened(node))
            else:
                self._candidates[key] = self._levels(node) if self.discrete[node] else self._numbers(node)
        return self._candidates[key]

    @cached_property
    def _candidates(self) -> dict[tuple[int, bool], Candidates]:
        return {}

    def _listed(self, node: int, values: FloatArray) -> Candidates:
        """Single values."""
        causes, effects = self.scaled.column(node, values), self.scaled.of_effects.column(node, values)
        return Candidates(values, causes, effects, dense=False)

    def _levels(self, node: int) -> Candidates:
        """All levels that were seen, and counts up to somewhat more than were."""
        seen = self.support.of(node)
        if self.kinds[node].name != "count":
            return self._listed(node, seen)
        top = int(np.ceil(1.5 * seen[-1])) + 3
        return self._listed(node, np.unique(np.linspace(0, top, min(top + 1, MOST_COUNTS)).round()))

    def _numbers(self, node: int) -> Candidates:
        """Numbers from a little below to a little above what was seen, as close as the noise is narrow."""
        effects = self.scaled.of_effects
        seen = self.support.of(node)
        scaled, places = np.unique(effects.column(node, seen), return_index=True)
        low, high = (scaled[end] + sign * _tail(sign * scaled) for end, sign in ((0, -1.0), (-1, 1.0)))
        size = int(np.clip((high - low) / (FINE * self._narrowest(node)), FEWEST, MOST))
        wanted, step = np.linspace(low, high, size, retstep=True)
        values = _invert(wanted, scaled, seen[places])
        # Beyond what a scale can hold there is no value.
        with np.errstate(all="ignore"):
            reached, causes = effects.column(node, values), self.scaled.column(node, values)
            inside = np.isfinite(causes) & (np.abs(reached - wanted) < 3.0 * step)
            if seen[0] > 0.0 or seen[-1] < 0.0:  # nor on the other side of zero
                inside &= np.sign(values) == np.sign(seen[0])
            usable = np.flatnonzero(inside)
        inner = slice(int(usable[0]), int(usable[-1]) + 1)
        return Candidates(values[inner], causes[inner], wanted[inner], dense=True)

    def _narrowest(self, node: int) -> float:
        """The least standard deviation that a column has given its causes, or given one of its effects."""
        least = self._deviation(node)
        if self.additive:
            ends = self.scaled.column(node, self.support.of(node))
            for child in self.children[node]:
                if not self.discrete[child]:
                    rise = np.diff(self.component(child, node, ends)[:, 0])
                    steepest = float(np.abs(rise / np.maximum(np.diff(ends), 1e-12)).max(initial=1e-12))
                    least = min(least, self._deviation(child) / max(steepest, 1e-12))
        return max(least, 1e-6)

    def _deviation(self, node: int) -> float:
        """The standard deviation of the noise of a column, a small one where it depends on causes."""
        own = _deviation(self.densities[node])
        if self.discrete[node] or not self.has_spread(node):
            return own
        spread = log_spread(additive(self.fits[node]), self.predictors(node, self._some_rows))
        return own * float(np.exp(np.quantile(spread, RARE)))

    def has_spread(self, node: int) -> bool:
        """Whether the spread of a number depends on its causes."""
        fit = self.fits[node]
        return isinstance(fit, AdditiveFit) and not self.discrete[node] and fit.coefficients.shape[1] > 1

    @cached_property
    def _some_rows(self) -> FloatArray:
        """Rows (m, d) on the scale of causes, of values that columns have, each on its own."""
        rng = np.random.default_rng(0)
        seen = [rng.choice(self.support.of(node), DRAWN) for node in range(len(self.fits))]
        return self.scaled.apply(np.column_stack(seen))

    def number_at(self, node: int, effects: FloatArray) -> FloatArray:
        """Values (m,) as they came of a number that is ``effects`` (m,) on the scale of effects, on its grid."""
        candidates = self.candidates(node)
        values = np.interp(effects, candidates.effects, candidates.values)
        step = float(self.steps[node])
        if step > 0.0:
            first = float(self.support.of(node)[0])
            values = first + step * np.round((values - first) / step)
        return values


def _tail(quantiles: FloatArray) -> float:
    """How far beyond the largest of quantiles (k,) a value may be: as far as that is from the upper tenth."""
    ordered = np.sort(quantiles)
    upper = float(ordered[-1] - ordered[-1 - ordered.size // 10])
    return min(max(upper, 1e-3 * float(np.ptp(ordered))), BEYOND * (float(quantiles.std()) or 1.0)) or 1.0


def _deviation(noise: Density | Mass) -> float:
    """The standard deviation of noise."""
    if isinstance(noise, GaussianDensity):
        return float(np.sqrt(noise.variance))
    return noise.scale * np.pi / np.sqrt(3.0) if isinstance(noise, RelativeDensity) else UNKNOWN


def _invert(targets: FloatArray, scaled: FloatArray, values: FloatArray) -> FloatArray:
    """Values whose scaled ones are ``targets``, by interpolation between known pairs, with straight ends."""
    inverted = np.interp(targets, scaled, values)
    if scaled.size > 1:
        for end, near, beyond in ((0, 1, targets < scaled[0]), (-1, -2, targets > scaled[-1])):
            slope = (values[end] - values[near]) / (scaled[end] - scaled[near])
            inverted[beyond] = values[end] + slope * (targets[beyond] - scaled[end])
    return inverted
