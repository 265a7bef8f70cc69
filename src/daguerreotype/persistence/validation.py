"""Validation of what a file says of a fit: types as the records declare them, shapes, ranges, an acyclic graph.

A file may come from anyone. What passes here can be asked for anything without an index out of range: some of it
goes to compiled kernels, which do not look.
"""

import types
from collections.abc import Mapping, Sequence
from collections.abc import Sequence as SequenceABC
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.typing import IntArray
from daguerreotype.data.column_scales import FORMS, ColumnScales
from daguerreotype.data.transforms import OfSomeColumns
from daguerreotype.edges.base import LocalFit
from daguerreotype.edges.interventional import GroupedModels
from daguerreotype.edges.mixed import MixedFit, MixedPredictor
from daguerreotype.edges.predictors import CurvePredictor, GamFit
from daguerreotype.noise.free_shape import RelativeDensity
from daguerreotype.operators import OrderDistribution
from daguerreotype.operators.active_set import SupportPullback
from daguerreotype.operators.k_best import RankingTree
from daguerreotype.operators.peel import PeelPullback
from daguerreotype.operators.sparsemax import SparsemaxPullback
from daguerreotype.posterior import Posterior
from daguerreotype.result import FitResult
from daguerreotype.training.train import TrainingResult

PLAIN = (bool, int, float, str)
KINDS = {"f": "f", "i": "iu", "b": "b"}  # of arrays, that stand for those of a declared one


def check_fields(record: type, parts: Mapping[str, Any]) -> None:
    """Refuse values of other types than the fields of a record have."""
    hints = get_type_hints(record)
    for name, value in parts.items():
        if name not in hints:
            raise ValueError(f"{name!r}, which no {record.__name__} has")
        if not _fits(value, hints[name]):
            raise ValueError(f"a {type(value).__name__} as {name!r} of a {record.__name__}")


def check_result(result: FitResult) -> None:
    """Refuse a result that no fit can have."""
    d, best = len(result.names), result.best
    _need(d > 0, "names of columns")
    _need(_is_order(result.columns, d), "columns")
    _need(len(result.kinds) == d, "kinds")
    _need(len(best.densities) == d, "densities")
    for density in best.densities:
        if isinstance(density, RelativeDensity):
            _need(density.heights.ndim == 1 and density.heights.size > 0, "heights of a density")
    _need(len(best.noise) in (0, d), "noise")
    _shape(best.typical, (d,), "typical")
    for scaled in (best.scaled, best.scaled.of_effects):
        _shape(scaled.centre, (d,), "centre")
        _shape(scaled.spread, (d,), "spread")
        _need(len(scaled.table.names) == d, "names of the table")
        _check_scale(scaled.transform, d)
    for seen in (best.support.seen, best.support.set_to):
        _need(seen.ndim == 2 and (seen.shape[1] == d or not seen.size), "support")
    _check_training(best.training, d)
    if result.gaps is not None:
        _shape(result.gaps.counts, (d,), "counts of gaps")
        _shape(result.gaps.depends, (d, d), "depends")
        _need(result.gaps.shares.ndim == 2 and result.gaps.shares.shape[1] == d, "shares of gaps")
    if result.posterior is not None:
        _check_posterior(result.posterior, d)


def _check_scale(scale: Any, d: int) -> None:
    """Forms that exist, for every column."""
    if isinstance(scale, OfSomeColumns):
        _need(scale.columns.ndim == 1 and _within(scale.columns, d), "columns of a scale")
        _check_scale(scale.scale, scale.columns.size)
    elif isinstance(scale, ColumnScales):
        _need(len(scale.forms) == d and set(scale.forms) <= set(FORMS), "forms")
        _need(scale.parameters.ndim == 2 and len(scale.parameters) == d, "parameters of scales")


def _check_training(training: TrainingResult, d: int) -> None:
    """An order, a graph along it, and what was seen on the way."""
    _need(_is_order(training.order, d), "order")
    _shape(training.theta, (d,), "theta")
    _need(bool(np.isfinite(training.theta).all()), "theta")
    _shape(training.edge_shares, (d, d), "edge_shares")
    if training.rows_per_node is not None:
        _shape(training.rows_per_node, (d,), "rows_per_node")
    _need(len(training.fits) == d, "fits")
    ranks = np.argsort(training.order)
    for node, fit in enumerate(training.fits):
        _check_fit(fit, node, ranks)
    history = training.history
    n = history.objective.size
    for name in ("objective", "mode_loss", "support", "tau", "hits", "misses"):
        _shape(getattr(history, name), (n,), f"{name} of the history")
    _shape(history.theta, (n, d), "theta of the history")
    _check_distribution(training.distribution, d)
    _check_models(training.models, training.fits, d)


def _check_fit(fit: LocalFit, node: int, ranks: IntArray) -> None:
    """Parents that come before their child, each once, with a number each."""
    _need(fit.parents.ndim == 1 and fit.parents.dtype.kind in "iu", f"parents of column {node}")
    _need(_within(fit.parents, ranks.size) and np.unique(fit.parents).size == fit.parents.size, "parents")
    _need(bool((ranks[fit.parents] < ranks[node]).all()), f"parents of column {node}, which form a cycle")
    for numbers, name in ((fit.weights, "weights"), (fit.norms, "norms")):
        _shape(numbers, fit.parents.shape, name)
        _need(bool(np.isfinite(numbers).all()), name)


def _check_models(models: Any, fits: Sequence[LocalFit], d: int) -> None:
    """Bases for every column, and coefficients of columns that there are."""
    if isinstance(models, GroupedModels):
        _need(models.group.shape == (d,) and _within(models.group, len(models.parts)), "groups")
        for centres in (models.centres, models.effect_centres):
            _shape(centres, (len(models.parts), d), "centres of groups")
        for number, part in enumerate(models.parts):
            _check_models(part, [fits[node] for node in np.flatnonzero(models.group == number)], d)
        return
    if not isinstance(models, CurvePredictor | MixedPredictor):
        return
    bases = models.splines if isinstance(models, CurvePredictor) else models.bases
    _need(len(models.names) == d and len(bases) == d, "bases")
    _need(type(models.stride) is int and models.stride > 0, "stride")
    for fit in fits:
        if isinstance(fit, GamFit | MixedFit):
            constant = int(isinstance(fit, MixedFit))
            _need(fit.columns.ndim == 1 and len(fit.coefficients) == constant + fit.columns.size, "coefficients")
            _need(np.array_equal(np.unique(fit.columns // models.stride), np.sort(fit.parents)), "basis columns")


def _check_distribution(distribution: OrderDistribution, d: int) -> None:
    """Orders of all columns, and a derivative that has as many."""
    m = distribution.probs.size
    _need(m > 0 and distribution.probs.shape == (m,), "probabilities of orders")
    _need(
        bool(np.isfinite(distribution.probs).all() and (distribution.probs >= 0).all()), "probabilities of orders"
    )
    _need(_are_orders(distribution.ranks, m, d), "ranks")
    if distribution.tree is not None:
        _check_tree(distribution.tree, m, d)
    pullback = distribution.pullback
    if isinstance(pullback, SparsemaxPullback):
        _check_tree(pullback.tree, m, d)
    elif isinstance(pullback, SupportPullback):
        _need(_are_orders(pullback.ranks, m, d), "ranks of the derivative")
        _need(pullback.factor.ndim == 2 and min(pullback.factor.shape) >= m, "factor of the derivative")
    elif isinstance(pullback, PeelPullback):
        _need(_is_order(pullback.nodes, d), "nodes of the derivative")
        _need(pullback.merged.ndim == 1 and pullback.merged.size + 1 >= m, "mergers of the derivative")
        _need(_within(pullback.merged, max(d - 1, 1)) and pullback.merged.size < d, "mergers of the derivative")
    else:
        _need(getattr(pullback, "n_nodes", None) == d, "the derivative")


def _check_tree(tree: RankingTree, m: int, d: int) -> None:
    """Every ranking but the first comes from an earlier one."""
    _need(_are_orders(tree.ranks, m, d), "ranks of the tree")
    _shape(tree.losses, (m,), "losses of the tree")
    _need(tree.parents.shape == (m,) and bool((tree.parents < np.arange(m)).all()), "parents of the tree")
    _need(tree.swaps.shape == (m, 2), "swaps")
    _need(_within(tree.parents[1:], m) and _within(tree.swaps[1:], d) and _within(tree.swaps + 1, d + 1), "swaps")


def _check_posterior(posterior: Posterior, d: int) -> None:
    """Matrices over all columns."""
    _need(len(posterior.names) == d, "names of the posterior")
    for name in ("sampled", "errors", "ancestors"):
        _shape(getattr(posterior, name), (d, d), f"{name} of the posterior")
    for several, name in ((posterior.edges, "edges"), (posterior.graphs, "graphs")):
        _need(several.ndim == 3 and several.shape[1:] == (d, d), f"{name} of the posterior")
    _shape(posterior.weights, (len(posterior.graphs),), "weights of the posterior")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; what stands for a part that no file holds is of any but plain."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in arguments)
    if hint is type(None) or value is None:
        return hint is type(None) and value is None
    if hint in PLAIN:
        return type(value) is hint or (hint is float and type(value) is int)
    if origin is np.ndarray:
        kind = np.dtype(get_args(arguments[1])[0]).kind
        return isinstance(value, np.ndarray) and value.dtype.kind in KINDS[kind]
    if origin in (tuple, list, SequenceABC):
        return isinstance(value, tuple | list) and all(_fits(each, arguments[0]) for each in value)
    return not isinstance(value, (*PLAIN, np.ndarray, tuple, list, dict)) or isinstance(value, RankingTree)


def _need(good: bool, what: str) -> None:
    if not good:
        raise ValueError(f"{what} that no fit has")


def _shape(array: npt.NDArray[Any], shape: tuple[int, ...], what: str) -> None:
    _need(array.shape == shape, f"{what} of shape {array.shape}")


def _within(numbers: npt.NDArray[Any], end: int) -> bool:
    return not numbers.size or bool(numbers.min() >= 0 and numbers.max() < end)


def _is_order(numbers: IntArray, d: int) -> bool:
    return numbers.shape == (d,) and np.array_equal(np.sort(numbers), np.arange(d))


def _are_orders(ranks: IntArray, m: int, d: int) -> bool:
    return ranks.shape == (m, d) and bool((np.sort(ranks, axis=1) == np.arange(d)).all())
