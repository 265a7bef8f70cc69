r"""Means, second and third moments of columns in one pass over chunks of rows, reproducible to the last bit.

A sum of floats depends on the sequence of its terms, and equally good graphs are told apart by less than that. So
sums are double-double numbers, to more digits than are kept: see `double_double`. Whatever the chunks and their
sequence, the result rounds to the same matrix.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from daguerreotype._lib.numba import algebra_kernel
from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.accumulators import check_same_columns, chunk_names, chunk_values, refuse_not_finite
from daguerreotype.data.double_double import (
    BLOCK,
    DoubleDouble,
    add_exact_products,
    add_products,
    panels,
    round_shift,
    two_sum,
    zeros,
)
from daguerreotype.data.streams import read_source

KEPT = 46  # bits of second moments; the last of 53 may depend on the sequence of rows
QUIET = np.errstate(over="ignore", invalid="ignore")  # values too large to square show in the result


class Moments:
    r"""Number of rows, means, covariances, skewness and range of columns, from chunks of rows.

    :math:`\frac1n \sum_t (x_t - \bar x)(x_t - \bar x)'`, of values less a shift near their mean, so that a mean of
    1e9 costs no digit of a variance of 1. Chunks of any size, in any sequence, give the same bits.

    Parameters
    ----------
    names : sequence, optional
        Column names; by default those of the first chunk, or x0, x1, ...
    exact : bool
        Whether sums are taken to more digits than are kept. Otherwise they are those of plain floats, in a
        third of the time.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.data import Moments
    >>> first, second = Moments().update(np.array([[1.0, 0.0], [2.0, 4.0]])), Moments()
    >>> second = second.update(np.array([[3.0, 2.0]]))
    >>> first.merge(second).covariance
    array([[0.66666667, 0.66666667],
           [0.66666667, 2.66666667]])
    """

    def __init__(self, names: Sequence[Hashable] | None = None, *, exact: bool = True) -> None:
        self.exact = exact
        self._names = None if names is None else tuple(names)
        self.named = names is not None
        self.n_chunks = 0
        self._waiting: list[FloatArray] = []  # rows of chunks that do not fill a block yet
        self._n_waiting = self._n_summed = 0
        self._done: Moments | None = None  # the same with no rows waiting, once it was asked for
        self._shift: FloatArray = np.zeros(0)
        self._sums = zeros(0, 0)  # of [x, 1]' [x, 1], x less the shift
        self._cubes: FloatArray = np.zeros(0)
        self._low: FloatArray = np.zeros(0)
        self._high: FloatArray = np.zeros(0)
        self._scratch: FloatArray = np.zeros((0, 0, 0))

    # ------------------------------------------------------------------ taking in

    @classmethod
    def from_chunks(cls, source: Any, *, names: Sequence[Hashable] | None = None) -> Self:
        """Moments of files, of an iterable of arrays or frames, or of a dask DataFrame: see `read_source`."""
        return read_source(source).gather(lambda: cls(names))

    def update(self, chunk: Any, number: int | None = None) -> Self:
        """Take in rows (m, d): an array, a DataFrame, or a batch of pyarrow.

        Messages call the chunk by its ``number``, by default how many were taken in before.
        """
        self._done = None
        number = self.n_chunks if number is None else number
        values = chunk_values(chunk, number)
        self._names, self.named = check_same_columns(
            self._names, self.named, chunk_names(chunk), values.shape[1], number
        )
        first = 0
        while first < len(values):
            block = values[first : first + BLOCK - self._n_waiting]
            if len(block) == BLOCK:
                self._add_block(block, first, number)
            else:
                self._wait(block, first, number)
            first += len(block)
        self.n_chunks += 1
        return self

    def merge(self, other: "Moments") -> Self:
        """Take in the rows that another one has seen; it is left as it is."""
        if other.n_rows == 0:
            return self
        self._done = None
        self._names, self.named = check_same_columns(
            self._names, self.named, other.called if other.named else None, len(other.called), self.n_chunks
        )
        for rows in other._waiting:
            self.update(rows)
            self.n_chunks -= 1
        self.n_chunks += other.n_chunks
        if other._n_summed:
            if self._n_summed == 0:
                self._begin(other._shift)
            sums, cubes = other._moved(self._shift)
            self._n_summed += other._n_summed
            self._sums = self._sums + sums
            self._cubes = self._cubes + cubes
            self._low, self._high = np.minimum(self._low, other._low), np.maximum(self._high, other._high)
        return self

    def _wait(self, rows: FloatArray, first: int, number: int) -> None:
        """Keep a copy of rows, which begin at row ``first`` of chunk ``number``, until they make a block."""
        if not np.isfinite(rows).all():
            refuse_not_finite(rows, self.names, number, first)
        self._waiting.append(np.array(rows, dtype=np.float64))
        self._n_waiting += len(rows)
        if self._n_waiting == BLOCK:
            block, self._waiting, self._n_waiting = np.concatenate(self._waiting), [], 0
            self._add_block(block, 0, number)

    def _begin(self, shift: FloatArray) -> None:
        """Empty sums about ``shift`` (d,)."""
        d = shift.size
        self._shift = shift
        self._sums = zeros(d + 1, d + 1)
        self._cubes, self._low, self._high = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)

    @QUIET
    def _add_block(self, rows: FloatArray, first: int, number: int) -> None:
        """Sums of at most one block of rows (m, d), which begin at row ``first`` of chunk ``number``."""
        m, d = rows.shape
        if self._scratch.shape[1:] != (d, m):
            self._scratch = np.empty((3 if self.exact else 1, d, m))
        values, *more = self._scratch
        values[:] = rows.T
        low, high = values.min(axis=1), values.max(axis=1)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            refuse_not_finite(values.T, self.names, number, first)
        if self._n_summed == 0:
            self._begin(round_shift(values))
        _add_cubes(values, self._shift, self._cubes)
        if self.exact:
            largest = np.maximum(np.abs(low - self._shift), np.abs(high - self._shift))
            add_exact_products(self._sums, values, self._shift, largest, *more)
        else:
            values -= self._shift[:, None]
            add_products(self._sums.high, values)
        self._n_summed += m
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)

    def _moved(self, shift: FloatArray) -> tuple[DoubleDouble, FloatArray]:
        """Sums and cubes about another shift: of y + e, with e the difference of the shifts."""
        if np.array_equal(shift, self._shift):
            return self._sums, self._cubes
        d = shift.size
        n, sums = float(self._n_summed), self._sums[:d, d]  # of y
        e = two_sum(self._shift, -shift)
        moved = e * DoubleDouble(n, 0.0)
        new_sums = sums + moved
        # sum (y + e)(y + e)' = sum y y' + (sum y) e' + e (sum y)' + n e e'
        squares = self._sums[:d, :d] + (_outer(sums, e) + (_outer(e, sums) + _outer(moved, e)))
        total = zeros(d + 1, d + 1)
        for whole, part, vector in (
            (total.high, squares.high, new_sums.high),
            (total.low, squares.low, new_sums.low),
        ):
            whole[:d, :d], whole[:d, d], whole[d, :d] = part, vector, vector
        total.high[d, d] = n
        diagonal = np.diagonal(self._sums.high)[:d]
        cubes = self._cubes + 3.0 * e.high * diagonal + 3.0 * e.high**2 * sums.high + n * e.high**3
        return total, cubes

    # ------------------------------------------------------------------ reading out

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, as text."""
        return tuple(map(str, self.called))

    @property
    def called(self) -> tuple[Hashable, ...]:
        """Column names as they were given; x0, x1, ... without any."""
        if self._names is None:
            raise ValueError("no chunk was taken in yet, so there are no columns: call update first.")
        return self._names

    @property
    def n_rows(self) -> int:
        """How many rows were taken in."""
        return self._n_summed + self._n_waiting

    @property
    def mean(self) -> FloatArray:
        """Means (d,)."""
        done = self._finished()
        d = done._shift.size
        mean = done._sums[:d, d] / float(done.n_rows) + DoubleDouble(done._shift, 0.0)
        return mean.round_to(52)

    @property
    def covariance(self) -> FloatArray:
        """Covariances (d, d), divided by n."""
        done = self._finished()
        d, n = done._shift.size, float(done.n_rows)
        mean = done._sums[:d, d] / n  # about the shift
        return done._read_out(-mean, mean)

    @property
    def second(self) -> FloatArray:
        """Second moments about zero (d, d), divided by n."""
        done = self._finished()
        d, n = done._shift.size, float(done.n_rows)
        if not done._shift.any():
            return done._read_out()
        # with y = x - c:  mean(x x') = mean(y y') + mean(y) c' + c mean(x)'
        mean, shift = done._sums[:d, d] / n, DoubleDouble(done._shift, np.zeros(d))
        return done._read_out(mean, shift, shift, mean + shift)

    @QUIET
    def _read_out(self, *vectors: DoubleDouble) -> FloatArray:
        """Sums of squares by n, plus products of the vectors, taken two and two."""
        d, n = self._shift.size, float(self.n_rows)
        matrix = np.empty((d, d))
        for part, rest in panels(d):
            columns = slice(part.start, d)
            sums = self._sums[part, columns]
            found = sums / n if self.exact else DoubleDouble(sums.high / n, 0.0)
            for left, right in zip(vectors[::2], vectors[1::2], strict=True):
                found = found + left[part, None] * right[None, columns]
            matrix[part, columns] = found.round_to(KEPT)
            matrix[rest, part] = matrix[part, rest].T
            square = np.triu(matrix[part, part])
            matrix[part, part] = square + np.triu(square, 1).T
        return matrix

    @property
    def skewness(self) -> FloatArray:
        """Third standardized moments (d,); 0 for constant columns."""
        done = self._finished()
        d, n = done._shift.size, float(done.n_rows)
        mean, square = done._sums.high[:d, d] / n, np.diagonal(done._sums.high)[:d] / n
        third = done._cubes / n - 3.0 * mean * square + 2.0 * mean**3
        scale = np.diag(self.covariance) ** 1.5
        skewness: FloatArray = np.divide(third, scale, out=np.zeros(d), where=scale > 0)
        return skewness

    @property
    def low(self) -> FloatArray:
        """Least values (d,)."""
        return self._finished()._low

    @property
    def high(self) -> FloatArray:
        """Largest values (d,)."""
        return self._finished()._high

    def _finished(self) -> "Moments":
        """The same with no rows waiting."""
        if self.n_rows == 0:
            raise ValueError("no rows were taken in yet, so there are no moments: call update first.")
        if not self._n_waiting:
            return self
        if self._done is None:
            done = Moments()
            own = {
                "_sums": DoubleDouble(self._sums.high.copy(), self._sums.low.copy()),
                "_cubes": self._cubes.copy(),
            }
            nothing = np.zeros((0, 0, 0))
            vars(done).update(vars(self), _waiting=[], _n_waiting=0, _scratch=nothing, **own)
            done._add_block(np.concatenate(self._waiting), 0, 0)  # rows that were found finite
            done._scratch = nothing
            self._done = done
        return self._done


def _outer(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Outer product (d, d) of two vectors."""
    return a[:, None] * b[None, :]


@algebra_kernel
def _add_cubes(values: FloatArray, shift: FloatArray, cubes: FloatArray) -> None:
    """Add the sums of the cubes of values (d, m) less their shift to those so far (d,)."""
    for j in range(cubes.size):
        total = 0.0
        for t in range(values.shape[1]):
            x = values[j, t] - shift[j]
            total += x * x * x
        cubes[j] += total
