r"""Draws of missing values from fitted mechanisms, by Gibbs sampling on grids of candidates.

A missing value of column j has density proportional to :math:`p(x_j | pa_j) \prod_c p(x_c | pa_c)` over the
columns c that j is a cause of: its parents and its children inform it. That is computed at candidates for the
value. Of levels and counts these are all there are; of numbers the logarithm is taken to be straight in between.
"""

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.missing.mechanisms import Candidates, Mechanisms
from daguerreotype.noise.gaussian import GaussianDensity

ROWS = 2**13  # looked at together, so that memory holds a few of their candidates' tables


class MissingSampler:
    """Rows with missing values, and what these may be.

    Parameters
    ----------
    mechanisms : Mechanisms
        The graph that values come from.
    values : array of shape (m, d)
        Rows as they came; what stands where a value is missing is where draws start from.
    missing : array of shape (m, d)
        Where values are missing.
    intervened : array of shape (m, d), optional
        Where columns were set to their values: their causes say nothing about these.

    Attributes
    ----------
    values : array of shape (m, d)
        The rows with the latest draws.
    """

    def __init__(
        self,
        mechanisms: Mechanisms,
        values: FloatArray,
        missing: BoolArray,
        intervened: BoolArray | None = None,
    ) -> None:
        self.mechanisms, self.missing = mechanisms, missing
        self.intervened = np.zeros(missing.shape, dtype=np.bool_) if intervened is None else intervened
        self.values: FloatArray = np.array(values, dtype=np.float64)
        if np.isnan(self.values).any():
            middle = [seen[seen.size // 2] for seen in map(mechanisms.support.of, range(missing.shape[1]))]
            self.values = np.where(np.isnan(self.values), middle, self.values)
        self._causes = mechanisms.scaled.apply(self.values)
        self._effects = mechanisms.scaled.of_effects.apply(self.values)
        self._predictors = [mechanisms.predictors(node, self._causes) for node in range(missing.shape[1])]
        self._parts: dict[tuple[int, int], FloatArray] = {}  # what a parent contributes to a child now

    def sweep(self, rng: np.random.Generator) -> None:
        """Draw every missing value anew, given all other values of its row; causes before effects."""
        for node in self.mechanisms.order.tolist():
            self._draw(node, self.mechanisms.children[node], rng)

    def fill_forwards(self, rng: np.random.Generator) -> None:
        """Draw every missing value from its causes alone: a start for sweeps."""
        for node in self.mechanisms.order.tolist():
            self._draw(node, [], rng)

    def log_likelihood(self, rng: np.random.Generator) -> FloatArray:
        r"""Logarithm (m,) of an unbiased estimate of the likelihood of what is seen of each row.

        Missing values are drawn one after the other, causes first. A value is drawn given its causes and those
        seen effects of it that have no missing cause later on, and the row's weight is multiplied by the integral
        of what it is drawn from: single missing values, and those far from each other, are integrated without any
        noise.
        """
        mechanisms, total = self.mechanisms, np.zeros(len(self.values))
        rank = np.argsort(mechanisms.order)
        # The last missing cause of each column, -1 without any: there its likelihood can be told.
        last = np.full(self.missing.shape, -1)
        for node, fit in enumerate(mechanisms.fits):
            for parent in fit.parents[np.argsort(rank[fit.parents])].tolist():
                last[self.missing[:, parent], node] = parent
        seen = ~self.missing & ~self.intervened
        for node in mechanisms.order.tolist():
            children = mechanisms.children[node]
            waits = np.array([seen[:, child] & (last[:, child] == node) for child in children], dtype=np.bool_)
            total += self._draw(node, children, rng, waits.reshape(len(children), len(self.values)))
            whole = seen[:, node] & (last[:, node] < 0)
            total[whole] += mechanisms.log_mass(node, self.values[whole, node], self._predictors[node][whole])
        return total

    # ------------------------------------------------------------------ one column

    def _draw(
        self, node: int, children: list[int], rng: np.random.Generator, counted: BoolArray | None = None
    ) -> FloatArray:
        """Draw the missing values of one column; logarithms (m,) of the integrals of what they are drawn from.

        ``counted`` (c, m) says in which rows which of the children count; in all by default.
        """
        integrals = np.zeros(len(self.values))
        for intervened in (False, True):
            rows = np.flatnonzero(self.missing[:, node] & (self.intervened[:, node] == intervened))
            for first in range(0, rows.size, ROWS):
                part = rows[first : first + ROWS]
                candidates = self.mechanisms.candidates(node, intervened)
                weights = self._log_weights(node, part, candidates, children, not intervened, counted)
                drawn, integrals[part] = pick(candidates, weights, rng)
                if candidates.dense:
                    drawn = self.mechanisms.number_at(node, drawn)
                self._set(node, part, drawn)
        return integrals

    def _log_weights(
        self,
        node: int,
        rows: IntArray,
        candidates: Candidates,
        children: list[int],
        own: bool,
        counted: BoolArray | None,
    ) -> FloatArray:
        """Log density (r, g) of some rows at the candidates, but for what does not depend on them."""
        size = candidates.values.size
        if own:
            outcomes = candidates.effects if candidates.dense else candidates.values
            predictors = self._predictors[node][rows]
            noise = self.mechanisms.densities[node]
            if isinstance(noise, GaussianDensity) and predictors.shape[1] == 1:
                weights = _gaussian(outcomes - predictors, noise.variance)
            else:
                weights = self.mechanisms.log_density(
                    node, np.tile(outcomes, rows.size), np.repeat(predictors, size, axis=0)
                ).reshape(rows.size, size)
        else:
            weights = np.full((rows.size, size), -np.log(size))
        for place, child in enumerate(children):
            informative = ~self.intervened[rows, child]
            if counted is not None:
                informative = counted[place, rows]
            if informative.all():
                weights += self._of_child(child, node, rows, candidates, counted is not None)
            elif informative.any():
                weights[informative] += self._of_child(
                    child, node, rows[informative], candidates, counted is not None
                )
        return weights

    def _of_child(self, child: int, node: int, rows: IntArray, candidates: Candidates, exact: bool) -> FloatArray:
        """Log density (r, g) of one column at the candidates for one of its causes; ``exact``: masses on grids."""
        mechanisms, size = self.mechanisms, candidates.values.size
        if mechanisms.additive:
            without = self._predictors[child][rows] - self._part(child, node)[rows]  # (r, q)
            curve = mechanisms.component(child, node, candidates.causes)  # (g, q)
            noise = mechanisms.densities[child]
            if isinstance(noise, GaussianDensity) and not exact and without.shape[1] == 1:
                remainder = self._effects[rows, child] - without[:, 0]
                return _gaussian(remainder[:, None] - curve[:, 0], noise.variance)
            predictors: FloatArray = (without[:, None] + curve).reshape(rows.size * size, -1)
        else:
            causes = np.repeat(self._causes[rows], size, axis=0)
            causes[:, node] = np.tile(candidates.causes, rows.size)
            predictors = mechanisms.predictors(child, causes)
        if exact:
            values = np.repeat(self.values[rows, child], size)
            return mechanisms.log_mass(child, values, predictors).reshape(rows.size, size)
        scaled = self.values if mechanisms.discrete[child] else self._effects
        outcomes = np.repeat(scaled[rows, child], size)
        return mechanisms.log_density(child, outcomes, predictors).reshape(rows.size, size)

    def _part(self, child: int, node: int) -> FloatArray:
        """What a column contributes (m, q) to one of its children in all rows."""
        if (child, node) not in self._parts:
            self._parts[child, node] = self.mechanisms.component(child, node, self._causes[:, node])
        return self._parts[child, node]

    def _set(self, node: int, rows: IntArray, values: FloatArray) -> None:
        """Put values into some rows of a column, and into what its children are predicted to be."""
        mechanisms = self.mechanisms
        causes = mechanisms.scaled.column(node, values)
        if mechanisms.additive:
            for child in mechanisms.children[node]:
                part, new = self._part(child, node), mechanisms.component(child, node, causes)
                self._predictors[child][rows] += new - part[rows]
                part[rows] = new
        self.values[rows, node], self._causes[rows, node] = values, causes
        self._effects[rows, node] = mechanisms.scaled.of_effects.column(node, values)
        if not mechanisms.additive:
            for child in mechanisms.children[node]:
                self._predictors[child][rows] = mechanisms.predictors(child, self._causes[rows])


def _gaussian(residuals: FloatArray, variance: float) -> FloatArray:
    """Log density of normal residuals of any shape; overwrites them."""
    np.square(residuals, out=residuals)
    residuals *= -0.5 / variance
    residuals -= 0.5 * np.log(2.0 * np.pi * variance)
    return residuals


def pick(candidates: Candidates, weights: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draws (r,) by log densities (r, g) at candidates, and the logarithms (r,) of the densities' integrals.

    Of dense candidates, on the scale of effects, where log densities are straight from one to the next; else one
    of the values.
    """
    top = weights.max(axis=1, keepdims=True)
    shifted = weights - top
    heights = np.exp(shifted)
    at, within = rng.random((2, len(weights)))
    if not candidates.dense:
        sums = np.cumsum(heights, axis=1)
        place = (sums < at[:, None] * sums[:, -1:]).sum(axis=1)
        chosen = candidates.values[np.minimum(place, candidates.values.size - 1)]
        return chosen, np.log(sums[:, -1]) + top[:, 0]
    rise = np.diff(shifted, axis=1)
    change = np.diff(heights, axis=1)
    flat = np.abs(rise) < 1e-6
    # The mean of an exponential over a cell whose logarithm rises so much.
    mass = np.where(flat, heights[:, :-1], change / np.where(flat, 1.0, rise))
    sums = np.cumsum(mass, axis=1)
    place = np.minimum((sums < at[:, None] * sums[:, -1:]).sum(axis=1), mass.shape[1] - 1)
    rows = np.arange(len(weights))
    slope = rise[rows, place]
    steep = np.abs(slope) >= 1e-6
    safe = np.where(steep, slope, 1.0)
    # From the higher end, so that nothing overflows.
    falls = np.abs(safe)
    share = -np.log1p(-within * -np.expm1(-falls)) / falls
    share = np.where(steep, np.where(safe > 0.0, 1.0 - share, share), within)
    step = candidates.effects[1] - candidates.effects[0]
    drawn = candidates.effects[place] + share * step
    # The sum over an even grid is the integral of a smooth density to many more digits than straight lines give.
    integral = heights.sum(axis=1) - 0.5 * (heights[:, 0] + heights[:, -1])
    return drawn, np.log(integral * step) + top[:, 0]
