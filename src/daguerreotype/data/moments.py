r"""What does a linear model need of a table? Its second moments, in one pass, the same to the last bit.

A sum of floats depends on the sequence of its terms, and equally good graphs are told apart by less than that. So
sums are taken here to more digits than are kept: those of a block of rows in two parts (see `blocks`), those of
all blocks as pairs of floats. Whatever the chunks and their sequence, the result rounds to the same matrix.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data import double_double as pairs
from daguerreotype.data.chunks import check_same_columns, chunk_names, chunk_values, refuse_not_finite
from daguerreotype.data.double_double import Pair
from daguerreotype.data.exact_products import BLOCK, add_cubes, add_exactly, add_plainly, panels, round_shift

KEPT = 46  # bits of the result
QUIET = np.errstate(over="ignore", invalid="ignore")  # values too large to square show in the result


class Moments:
    r"""Number of rows, means, covariances, skewness and range of columns, from chunks of rows.

    :math:`\frac1n \sum_t (x_t - \bar x)(x_t - \bar x)'`, of values less a shift near their mean, so that a mean of
    1e9 costs no digit of a variance of 1. Chunks of any size, in any sequence, give the same bits.

    Parameters
    ----------
    names : sequence of str, optional
        Column names; by default those of the first chunk, or x0, x1, ...
    exact : bool
        Whether sums are taken to more digits than are kept. Otherwise they are those of plain floats, in a
        third of the time.

    Examples
    --------
    >>> import numpy as np
    >>> from daguerreotype.data.moments import Moments
    >>> first, second = Moments().update(np.array([[1.0, 0.0], [2.0, 4.0]])), Moments()
    >>> second = second.update(np.array([[3.0, 2.0]]))
    >>> first.merge(second).covariance
    array([[0.66666667, 0.66666667],
           [0.66666667, 2.66666667]])
    """

    def __init__(self, names: Sequence[str] | None = None, *, exact: bool = True) -> None:
        self.exact = exact
        self._names = None if names is None else tuple(map(str, names))
        self.named = names is not None
        self.n_chunks = 0
        self._waiting: list[FloatArray] = []  # rows of chunks that do not fill a block yet
        self._n_waiting = self._n_summed = 0
        self._done: Moments | None = None  # the same with no rows waiting, once it was asked for
        self._shift: FloatArray = np.zeros(0)
        self._sums = Pair(np.zeros((0, 0)), np.zeros((0, 0)))  # of [x, 1]' [x, 1], x less the shift
        self._cubes: FloatArray = np.zeros(0)
        self._low: FloatArray = np.zeros(0)
        self._high: FloatArray = np.zeros(0)
        self._scratch: FloatArray = np.zeros((0, 0, 0))

    # ------------------------------------------------------------------ taking in

    @classmethod
    def from_chunks(cls, source: Any, *, names: Sequence[str] | None = None) -> Self:
        """Moments of files, of an iterable of arrays or frames, or of a dask DataFrame: see `read_source`."""
        from daguerreotype.data.streams import read_source

        return read_source(source).gather(lambda: cls(names))

    def update(self, chunk: Any) -> Self:
        """Take in rows (m, d): an array, a DataFrame, or a batch of pyarrow."""
        self._done = None
        values = chunk_values(chunk, self.n_chunks)
        self._names, self.named = check_same_columns(
            self._names, self.named, chunk_names(chunk), values.shape[1], self.n_chunks
        )
        first = 0
        while first < len(values):
            block = values[first : first + BLOCK - self._n_waiting]
            if len(block) == BLOCK:
                self._add_block(block, first)
            else:
                self._wait(block, first)
            first += len(block)
        self.n_chunks += 1
        return self

    def merge(self, other: "Moments") -> Self:
        """Take in the rows that another one has seen; it is left as it is."""
        if other.n_rows == 0:
            return self
        self._done = None
        self._names, self.named = check_same_columns(
            self._names, self.named, other.names if other.named else None, len(other.names), self.n_chunks
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
            self._sums = pairs.add(self._sums, sums)
            self._cubes = self._cubes + cubes
            self._low, self._high = np.minimum(self._low, other._low), np.maximum(self._high, other._high)
        return self

    def _wait(self, rows: FloatArray, first: int) -> None:
        """Keep a copy of rows, which begin at row ``first`` of the chunk, until they make a block."""
        if not np.isfinite(rows).all():
            refuse_not_finite(rows, self.names, self.n_chunks, first)
        self._waiting.append(np.array(rows, dtype=np.float64))
        self._n_waiting += len(rows)
        if self._n_waiting == BLOCK:
            block, self._waiting, self._n_waiting = np.concatenate(self._waiting), [], 0
            self._add_block(block, 0)

    def _begin(self, shift: FloatArray) -> None:
        """Empty sums about ``shift`` (d,)."""
        d = shift.size
        self._shift = shift
        self._sums = Pair(np.zeros((d + 1, d + 1)), np.zeros((d + 1, d + 1)))
        self._cubes, self._low, self._high = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)

    @QUIET
    def _add_block(self, rows: FloatArray, first: int) -> None:
        """Sums of at most one block of rows (m, d), which begin at row ``first`` of the chunk."""
        m, d = rows.shape
        if self._scratch.shape[1:] != (d, m):
            self._scratch = np.empty((3 if self.exact else 1, d, m))
        values, *more = self._scratch
        values[:] = rows.T
        low, high = values.min(axis=1), values.max(axis=1)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            refuse_not_finite(values.T, self.names, self.n_chunks, first)
        if self._n_summed == 0:
            self._begin(round_shift(values))
        add_cubes(values, self._shift, self._cubes)
        if self.exact:
            largest = np.maximum(np.abs(low - self._shift), np.abs(high - self._shift))
            add_exactly(self._sums, values, self._shift, largest, *more)
        else:
            values -= self._shift[:, None]
            add_plainly(self._sums.high, values)
        self._n_summed += m
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)

    def _moved(self, shift: FloatArray) -> tuple[Pair, FloatArray]:
        """Sums and cubes about another shift: of y + e, with e the difference of the shifts."""
        if np.array_equal(shift, self._shift):
            return self._sums, self._cubes
        d = shift.size
        n, sums = float(self._n_summed), self._sums[:d, d]  # of y
        e = pairs.two_sum(self._shift, -shift)
        moved = pairs.multiply(e, Pair(n, 0.0))
        new_sums = pairs.add(sums, moved)
        squares = pairs.add(
            self._sums[:d, :d], pairs.add(_outer(sums, e), pairs.add(_outer(e, sums), _outer(moved, e)))
        )
        total = Pair(np.zeros_like(self._sums.high), np.zeros_like(self._sums.high))
        for whole, part, vector in zip(total, squares, new_sums, strict=True):
            whole[:d, :d], whole[:d, d], whole[d, :d] = part, vector, vector
        total.high[d, d] = n
        diagonal = np.diagonal(self._sums.high)[:d]
        cubes = self._cubes + 3.0 * e.high * diagonal + 3.0 * e.high**2 * sums.high + n * e.high**3
        return total, cubes

    # ------------------------------------------------------------------ reading out

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
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
        mean = pairs.add(pairs.divide(done._sums[:d, d], float(done.n_rows)), Pair(done._shift, 0.0))
        return pairs.rounded(mean, 52)

    @property
    def covariance(self) -> FloatArray:
        """Covariances (d, d), divided by n."""
        done = self._finished()
        d, n = done._shift.size, float(done.n_rows)
        mean = pairs.divide(done._sums[:d, d], n)  # about the shift
        return done._read_out(pairs.negative(mean), mean)

    @property
    def second(self) -> FloatArray:
        """Second moments about zero (d, d), divided by n."""
        done = self._finished()
        d, n = done._shift.size, float(done.n_rows)
        if not done._shift.any():
            return done._read_out()
        # with y = x - c:  mean(x x') = mean(y y') + mean(y) c' + c mean(x)'
        mean, shift = pairs.divide(done._sums[:d, d], n), Pair(done._shift, np.zeros(d))
        return done._read_out(mean, shift, shift, pairs.add(mean, shift))

    @QUIET
    def _read_out(self, *vectors: Pair) -> FloatArray:
        """Sums of squares by n, plus products of the vectors, taken two and two."""
        d, n = self._shift.size, float(self.n_rows)
        matrix = np.empty((d, d))
        for part, rest in panels(d):
            columns = slice(part.start, d)
            sums = self._sums[part, columns]
            found = pairs.divide(sums, n) if self.exact else Pair(sums.high / n, 0.0)
            for left, right in zip(vectors[::2], vectors[1::2], strict=True):
                found = pairs.add(found, pairs.multiply(left[part, None], right[None, columns]))
            matrix[part, columns] = pairs.rounded(found, KEPT)
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
            own = {"_sums": Pair(*(part.copy() for part in self._sums)), "_cubes": self._cubes.copy()}
            nothing = np.zeros((0, 0, 0))
            vars(done).update(vars(self), _waiting=[], _n_waiting=0, _scratch=nothing, **own)
            done._add_block(np.concatenate(self._waiting), 0)
            done._scratch = nothing
            self._done = done
        return self._done


def _outer(a: Pair, b: Pair) -> Pair:
    """Products (d, d) of all entries of two vectors."""
    return pairs.multiply(a[:, None], b[None, :])
