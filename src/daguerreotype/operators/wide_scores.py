r"""Exact-arithmetic active-set method for SparseMAP: scores that break a partial order by far.

Where scores :math:`\eta = \theta / \tau` obey a partial order, wide gaps can be closed (see ``saturation``). Where
they break it they stay wide, and doubles cannot hold both :math:`\eta` and the mean ranking :math:`\mu`. So scores
are whole numbers of any length here, multiples of :math:`2^{-64}`: inner products with rankings are exact, and so
is the search for the next ranking. Only small differences of products are ever turned into doubles.

They are small for this reason. All rankings that :math:`\mu` averages maximise
:math:`\langle \eta - \mu, r \rangle` over the rankings that obey. For any two rankings and any mean, by the
rearrangement inequality,

.. math:: \langle \mu, r - r' \rangle \le \beta = d (d^2 - 1) / 6 ,

so a ranking whose :math:`\langle \eta, r \rangle` is below that of another by more than :math:`\beta` carries
nothing. The method starts from a ranking that maximises :math:`\langle \eta, r \rangle`, the reference. Whatever
is better aligned with :math:`\eta - \mu` than the active rankings are has a product within a few :math:`\beta` of
the reference's. That is the invariant. Weights follow from products relative to the reference's: adding a constant
to all of them changes nothing, since weights sum to one.

For many nodes local search may find a ranking more than :math:`\beta` above the reference only later. None of the
active ones carries anything then, and the method starts anew from that one. Every such start is from a larger
product, and iterations are counted on: it ends.

What is turned into doubles is as small as under moderate scores, and as exact. Python's loops are slower than
kernels by far, but training never comes here: it projects its scores on the partial order.
"""

from collections.abc import Iterator

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.operators.active_set import append_to_factor, settle, solve_lower, unit_scale
from daguerreotype.operators.linear_extension import ENUMERABLE, LONGEST
from daguerreotype.operators.saturation import SMALL

WIDE = 2 * SMALL  # span of scores over tau: scores that obey are below it, as they are or with closed gaps
BITS = 64  # scores are multiples of 2**-BITS
TIE_BITS = 33  # residuals that differ by less than 2**-TIE_BITS are tied
PROGRESS = 1e-14  # what an iteration must gain, over d cubed, to count as one that comes closer


def is_wide(eta: FloatArray) -> bool:
    """Whether scores over tau, closed gaps of up to d squared in all aside, have too wide a span for doubles."""
    return bool(np.ptp(eta) - eta.size**2 > WIDE)


def decompose_wide(
    scores: FloatArray,
    tau: float,
    max_iter: int,
    before: BoolArray,
    initial: IntArray,
    shares: FloatArray,
) -> tuple[int, FloatArray, IntArray, FloatArray]:
    """Active rankings, weights and factor as ``active_set.decompose`` returns them, all in sorted coordinates.

    ``scores`` (d,) are those of nodes in an order that obeys ``before`` (d, d). ``initial`` (w, d) are rankings to
    begin with, with weights ``shares`` (w,): zero for those that do not obey.
    """
    d = scores.size
    eta = _whole_numbers(scores, tau)
    followers = before.tolist()
    beta = (d * (d * d - 1) // 6) << BITS
    active = _ActiveRankings(d, capacity=d + 2 + len(initial))

    reference = _best_ranking(eta, followers, [list(range(d))])
    candidates = [
        (share, row) for share, row in zip(shares.tolist(), initial.tolist(), strict=True) if share > 0.0
    ]
    reference = max([reference, *(row for _, row in candidates)], key=lambda row: _product(eta, row))
    base = _product(eta, reference)
    for share, row in candidates:
        product = _product(eta, row) - base
        if product >= -beta:
            active.append(row, product, share)
    iterations = 0
    if active.m == 0:
        active.append(reference, 0, 1.0)
        iterations = 1
    active.settle()

    # Every iteration comes closer, or starts from a larger product. Where rounding makes that untrue for more
    # iterations than there are rankings to exchange, it is as close as it gets.
    stalled, closest = 0, np.inf
    while iterations < max_iter and stalled <= d + 1:
        distance = active.half_squared_distance()
        stalled = 0 if distance < closest - PROGRESS * d**3 else stalled + 1
        closest = min(closest, distance)
        for ranking in _better_rankings(active.residual(eta), followers, active.rankings()):
            product = _product(eta, ranking) - base
            if product > beta:
                base += product
                product, stalled, closest = 0, 0, np.inf
                active.m = 0
            if active.append(ranking, product, 0.0 if active.m else 1.0):
                break  # else it gains too little to tell it from a combination of the others: the next
        else:
            break
        iterations += 1
        active.settle()
    return active.m, active.weights, active.ranks, active.factor


class _ActiveRankings:
    """Rankings, their products with eta relative to that of the reference, weights and Cholesky factor."""

    def __init__(self, d: int, capacity: int) -> None:
        self.m = 0
        self.scale = float(unit_scale(d))
        self.ranks = np.empty((capacity, d), dtype=np.int64)
        self.units = np.empty((capacity, d))
        self.factor = np.empty((capacity, capacity))
        self.products, self.half_products, self.half_ones = np.empty((3, capacity))
        self.weights, self.proposal = np.empty((2, capacity))

    def append(self, ranking: list[int], product: int, weight: float) -> bool:
        """Add a ranking, unless it depends on the others; whether it was added."""
        m, d = self.m, len(ranking)
        self.ranks[m] = ranking
        self.units[m] = (self.ranks[m] - 0.5 * (d - 1)) * self.scale
        if not append_to_factor(self.factor, self.units, m):
            return False
        self.products[m] = product / (1 << BITS) * self.scale**2
        self.half_products[m], self.half_ones[m], self.weights[m] = self.products[m], 1.0, weight
        self.m += 1
        solve_lower(self.factor, self.m, m, self.half_products)
        solve_lower(self.factor, self.m, m, self.half_ones)
        return True

    def settle(self) -> None:
        """Move the weights to the minimiser on the hull of the rankings; some may leave."""
        self.weights[: self.m] /= self.weights[: self.m].sum()
        self.m = settle(
            self.m,
            self.ranks,
            self.units,
            self.factor,
            self.products,
            self.half_products,
            self.half_ones,
            self.weights,
            self.proposal,
        )

    def mean(self) -> FloatArray:
        """Mean ranking (d,)."""
        mean: FloatArray = self.weights[: self.m] @ self.ranks[: self.m]
        return mean

    def half_squared_distance(self) -> float:
        """Half the squared distance of the mean from eta, but for a constant."""
        centred = self.mean() - 0.5 * (self.ranks.shape[1] - 1)
        return float(0.5 * centred @ centred - self.weights[: self.m] @ self.products[: self.m] / self.scale**2)

    def residual(self, eta: list[int]) -> list[int]:
        """Scores less the mean ranking, in multiples of 2**-TIE_BITS, so that tied entries are equal."""
        shift = BITS - TIE_BITS
        half = 1 << (shift - 1)
        mean = (self.mean() * 2.0**BITS).tolist()  # a power of two: no digit is lost
        return [(score - int(rank) + half) >> shift for score, rank in zip(eta, mean, strict=True)]

    def rankings(self) -> list[list[int]]:
        """The active rankings, the last first."""
        rows: list[list[int]] = self.ranks[: self.m][::-1].tolist()
        return rows


def _whole_numbers(scores: FloatArray, tau: float) -> list[int]:
    """Scores over tau as multiples of 2**-BITS; no size overflows."""
    over, under = tau.as_integer_ratio()
    numbers = []
    for score in scores.tolist():
        digits, power = score.as_integer_ratio()
        numbers.append((digits * under << BITS) // (power * over))
    return numbers


def _product(keys: list[int], ranking: list[int]) -> int:
    """Inner product, exact."""
    return sum(key * rank for key, rank in zip(keys, ranking, strict=True))


# ------------------------------------------------------------------ linear extensions, as in linear_extension.py


def _better_rankings(keys: list[int], before: list[list[bool]], rankings: list[list[int]]) -> Iterator[list[int]]:
    """Rankings that obey and are better aligned with the keys than all of these; none if none is found."""
    best = max(_product(keys, ranking) for ranking in rankings)
    slack = len(keys) ** 2  # more than the rounding of the keys
    return (ranking for ranking in _candidates(keys, before, rankings) if _product(keys, ranking) > best + slack)


def _best_ranking(keys: list[int], before: list[list[bool]], rankings: list[list[int]]) -> list[int]:
    """The ranking that is best aligned with the keys; for many nodes the best that is found."""
    return max(_candidates(keys, before, rankings), key=lambda ranking: _product(keys, ranking))


def _candidates(keys: list[int], before: list[list[bool]], rankings: list[list[int]]) -> Iterator[list[int]]:
    """For few nodes the best ranking; else those where local search ends, from these and two built greedily."""
    d = len(keys)
    if d <= ENUMERABLE:
        yield _inverse(_enumerate(keys, before))
        return
    for ranking in rankings:
        yield _inverse(_descend(keys, _inverse(ranking), before))
    reversed_order = [list(row) for row in zip(*before, strict=True)]
    yield _inverse(_descend(keys, _build(keys, before), before))
    yield _inverse(_descend(keys, _build([-key for key in keys], reversed_order)[::-1], before))


def _inverse(permutation: list[int]) -> list[int]:
    """The ranking of an order, or the order of a ranking."""
    inverse = [0] * len(permutation)
    for position, node in enumerate(permutation):
        inverse[node] = position
    return inverse


def _enumerate(keys: list[int], before: list[list[bool]]) -> list[int]:
    """The best order, by dynamic programming over the sets of nodes that can come first, as bits."""
    d = len(keys)
    needs = [sum(1 << i for i in range(d) if before[i][j]) for j in range(d)]
    layer: dict[int, tuple[int, list[int]]] = {0: (0, [])}  # best score and order of each set of one size
    for size in range(d):
        larger: dict[int, tuple[int, list[int]]] = {}
        for members, (score, order) in layer.items():
            for i in range(d):
                if not (members >> i) & 1 and needs[i] & members == needs[i]:
                    extended, value = members | (1 << i), score + size * keys[i]
                    if extended not in larger or value > larger[extended][0]:
                        larger[extended] = value, [*order, i]
        layer = larger
    return layer[(1 << d) - 1][1]


def _build(keys: list[int], before: list[list[bool]]) -> list[int]:
    """An order from the front, least key first of those that may come next."""
    d = len(keys)
    waiting = [sum(before[i][j] for i in range(d)) for j in range(d)]
    order: list[int] = []
    left = set(range(d))
    while left:
        chosen = min((i for i in left if waiting[i] == 0), key=lambda i: (keys[i], i))
        left.remove(chosen)
        order.append(chosen)
        for i in left:
            waiting[i] -= before[chosen][i]
    return order


def _descend(keys: list[int], order: list[int], before: list[list[bool]]) -> list[int]:
    """Exchange neighbouring segments of the order until none gains. Sums are exact: no order is met twice."""
    for _ in range(len(order) + 100):  # far more than it takes
        moved = [_exchange_segments(keys, order, before, middle) for middle in range(1, len(order))]
        if not any(moved):
            break
    return order


def _exchange_segments(keys: list[int], order: list[int], before: list[list[bool]], middle: int) -> bool:
    """Make the best exchange of two segments that meet at one position, if any gains; whether one did.

    One of them is a single node and the other of any length, or both are short.
    """
    d = len(order)
    best, bounds = 0, None
    left, stop = 0, d
    for first in range(middle - 1, -1, -1):
        node, size = order[first], middle - first
        left += keys[node]
        reach = d if size == 1 else middle + (LONGEST if size <= LONGEST else 1)
        right = 0
        for last in range(middle, min(stop, reach)):
            other = order[last]
            if before[node][other]:
                stop = last  # and so for all longer segments on the left
                break
            right += keys[other]
            gain = (last + 1 - middle) * left - size * right
            if gain > best:
                best, bounds = gain, (first, last + 1)
        if stop == middle:
            break
    if bounds is None:
        return False
    first, end = bounds
    order[first:end] = order[middle:end] + order[first:middle]
    return True
