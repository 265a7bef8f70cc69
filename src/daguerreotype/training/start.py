"""Scores that training starts from, and the temperature by step."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from daguerreotype._lib.checks import check_temperature
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.training.constraints import Constraints

GAP = 0.1  # score gap, in units of tau, between neighbours of an order that theta is made from


def order_to_theta(order: IntArray, tau: float) -> FloatArray:
    """Scores that sort into ``order``, close enough for the distribution to reach its neighbours."""
    theta = np.empty(order.size)
    theta[order] = GAP * tau * (np.arange(order.size) - 0.5 * (order.size - 1))
    return theta


def make_temperature(tau: Any, max_iter: int) -> Callable[[int], float]:
    """Temperature by iteration: a constant, a pair (first, last) annealed geometrically, or a callable."""
    if callable(tau):
        return lambda iteration: check_temperature(tau(iteration))
    if isinstance(tau, Sequence) and not isinstance(tau, str):
        if len(tau) != 2:
            raise ValueError(f"tau must be a number, a pair (first, last) or a callable, got {tau!r}.")
        first, last = map(check_temperature, tau)
        steps = max(max_iter - 1, 1)
        return lambda iteration: float(first * (last / first) ** (min(iteration, steps) / steps))
    constant = check_temperature(tau)
    return lambda iteration: constant


def make_start(
    init: Any,
    *,
    names: Sequence[str],
    variances: FloatArray,
    tau: float,
    rng: np.random.Generator,
    order_source: str,
    columns: IntArray | None = None,
) -> FloatArray:
    """Scores (d,) to start from, one per column; a random order is drawn from ``columns`` as they are listed."""
    d = len(names)
    if order_source == "drawn":
        return order_to_theta(rng.permutation(np.arange(d) if columns is None else columns), tau)
    if isinstance(init, str):
        if order_source == "given":
            raise ValueError(f"operator='fixed' needs the order: init=[...] with all columns, got init={init!r}.")
        if init == "zeros":
            return np.zeros(d)
        if init == "variances":
            centred: FloatArray = variances - np.median(variances)
            return centred
        raise ValueError(f"init must be 'zeros', 'variances', an order or an array of scores, got {init!r}.")
    listed = list(init)
    if len(listed) != d:
        raise ValueError(f"init has {len(listed)} entries, but the table has {d} columns.")
    order = _as_order(listed, names)
    if order is not None:
        return order_to_theta(order, tau)
    scores = np.asarray(listed, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("init holds scores that are not finite.")
    return scores


def make_obeying(theta: FloatArray, constraints: Constraints, order_source: str, tau: float) -> FloatArray:
    """The start moved to scores that obey: projected, or a random order of those that do."""
    if constraints.precedence is not None and order_source == "drawn":
        return order_to_theta(constraints.precedence.extension(theta), tau)
    return constraints.project(theta)


def _as_order(listed: list[Any], names: Sequence[str]) -> IntArray | None:
    """Positions of an order given by names or by all whole numbers 0 to d - 1; None if it is neither."""
    if any(isinstance(entry, str) for entry in listed):
        unknown = [entry for entry in listed if entry not in names]
        if unknown or len(set(listed)) < len(listed):
            raise ValueError(
                f"init must name each column once; {unknown[:3] if unknown else 'some names'} "
                f"{'are no columns' if unknown else 'occur twice'}."
            )
        return np.array([names.index(entry) for entry in listed], dtype=np.int64)
    whole = all(isinstance(entry, int | np.integer) for entry in listed)
    if whole and sorted(listed) == list(range(len(listed))):
        return np.array(listed, dtype=np.int64)
    return None
