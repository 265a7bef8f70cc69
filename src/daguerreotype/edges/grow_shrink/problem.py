"""The penalised regression problem that grow-shrink searches solve, in second moments."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from daguerreotype._lib.bits import as_bits
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import EdgeRules
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise.free_shape import GaussianSpacings, gaussian_spacings

TOLERANCE = 1e-10  # share of a column's variance below which what is left of it is rounding noise
ROWS_PER_DOF = 10  # rows for each parameter of a search with nonlinear parents; with fewer they fit noise
LIKELIHOOD, PREDICTORS, SHAPES = 0, 1, 2  # columns of `Problem.families`
GAUSSIAN = -1  # family of a target whose likelihood is made from moments; others are numbers of kernels
FIRST, LAST, OWN, OPEN = 0, 1, 2, 3  # columns of `Problem.places`
# Places in what is weighed of a number: the scale; how many columns spread has; nats per row that the shape gains;
# whether anything but a Gaussian of one spread suggested itself; nats per row that all this gains over a Gaussian
# of one spread on the scale of the table; the scale that alone is to be judged, nan for any; coefficients of the
# mean, then of spread, and its columns.
SCALE, N_SPREAD, GAIN, DOUBTFUL, OVER, ONLY, HEAD = 0, 1, 2, 3, 4, 5, 6


class Problem(NamedTuple):
    """Data of  n log(variance) + penalty_per_dof * columns + penalty_per_parent * parents,  to be minimised.

    Each variable, the *owner*, has ``stride`` consecutive columns of the moment matrix, of which the first
    ``widths[owner]`` are in use: the variable itself, then (for splines) its nonlinear basis columns from smooth
    to rough; or the dummies of its levels. A parent has as many of them as one of its ``stops`` says. Discrete
    targets have  2 n nll  in the place of  n log(variance).

    A *product* is one column of two variables that a search for one target may take; owner d + k stands for the
    k-th product of that target, wherever owners are told by numbers.

    A *target* is a variable on one scale: the first d are the variables as they are as parents, the other e are
    variables on other scales, with one more column each. What is said of targets has shape (d + e,).

    Attributes
    ----------
    moments : array of shape (c, c), c = d * stride + e + p
        Second moments of all columns, owner by owner, columns not in use being zero; then those of other scales,
        then those of products.
    blocks : array of shape (c, stride)
        The diagonal blocks of ``moments``: each column with the columns of its owner.
    limits : array of shape (c,)
        Conditional variance at which a column counts as spanned by others.
    responses, variables : arrays of shape (d + e,)
        The column of each target, and the variable that it is.
    scales : array of shape (d + 1,)
        Where the other scales of each variable begin and end among the targets.
    widths : array of shape (d,)
        How many columns each owner has.
    lines : array of shape (d,)
        With how many of them it can be a parent at least: one, a line, or all the dummies of its levels.
    stops : array of shape (d, s)
        How many of them it may have, ascending, from ``lines`` to ``widths``.
    products : array of shape (p, 2)
        The two variables of every product.
    product_starts : array of shape (d + 1,)
        Where the products of each variable as a target begin and end.
    n_rows : float
        Rows of evidence n that the observations are worth, times how often each is there.
    penalty_per_dof : float
        Cost of one degree of freedom, penalty * log(n), as often as each is there; so is the other cost.
    penalty_per_parent : float
        Cost of a parent beside its columns, 2 gamma log(d): the extended BIC.
    max_dof : int
        Degrees of freedom one target may spend, so that its variance stays positive.
    max_nonlinear_dof : int
        Degrees of freedom up to which a step may add nonlinear columns: BIC does not hold where rows are few
        for each.
    allowed : array of shape (d, words), or empty
        Set of bits: parents that each target may have.
    required : array of shape (d, d), or empty
        Whether i is always a parent of j.
    max_parents : array of shape (d,), or empty
        How many parents each variable may have.
    families : array of shape (d + e, 3)
        LIKELIHOOD of a target: GAUSSIAN, or which of the kernels maximises that of a discrete one; and how many
        linear PREDICTORS it has, and further parameters or SHAPES: cutpoints, a dispersion.
    starts : array of shape (d, q + k + 1), or empty
        Linear predictors of discrete targets without parents, their further parameters, and the nats of all rows
        that one of these must gain to be used, side by side.
    features : array of shape (d * stride, m), or empty
        All columns, each by itself, in the rows that discrete targets are fitted on.
    outcomes : array of shape (d, m), or empty
        Codes and counts of the discrete targets in these rows.
    codes : array of shape (d, m), or empty
        Codes of owners that have few different values: rows of the same codes have the same features.
    n_codes : array of shape (d,)
        How many codes an owner has; 0 for those that are not coded.
    offsets : array of shape (d + e,)
        Nats per row that a target loses whatever its parents.
    rounding : array of shape (d + e,)
        Variance that each target has beside what parents leave of it: that of spreading its ties.
    share : float
        Rows of evidence of the table for each of those that fits are made from. Degrees of freedom are multiplied
        by it, as a likelihood per row then counts for that many rows more.
    rows : array of shape (c + d + s, m), or empty
        All columns in the rows that numbers are weighed by; then numbers on the scale of the table, and on s other
        scales, with their ties spread.
    other_scales : array of shape (s, c + 2)
        Variables on the other scales: covariances with all columns, their variances, and the nats per row that are
        added to make likelihoods comparable.
    places : array of shape (d + e, 4)
        FIRST and LAST of the other scales of a target's variable, the OWN one of the target, -1 for that of the
        table, and what is OPEN to be weighed.
    usual : GaussianSpacings
        What spacings of Gaussian rows are.
    copies : int
        How often each observation is among ``rows``.
    """

    moments: FloatArray
    blocks: FloatArray
    limits: FloatArray
    responses: IntArray
    variables: IntArray
    scales: IntArray
    widths: IntArray
    lines: IntArray
    stops: IntArray
    products: IntArray
    product_starts: IntArray
    n_rows: float
    penalty_per_dof: float
    penalty_per_parent: float
    max_dof: int
    max_nonlinear_dof: int
    allowed: IntArray
    required: BoolArray
    max_parents: IntArray
    families: IntArray
    starts: FloatArray
    features: FloatArray
    outcomes: IntArray
    codes: IntArray
    n_codes: IntArray
    offsets: FloatArray
    rounding: FloatArray
    share: float
    rows: FloatArray
    other_scales: FloatArray
    places: IntArray
    usual: GaussianSpacings
    copies: int


@dataclass(frozen=True)
class OtherScales:
    """Variables on other scales than they have as parents, variable by variable.

    Attributes
    ----------
    variables : array of shape (e,)
        Which they are, ascending.
    with_columns : array of shape (c, e)
        Their second moments with all columns.
    variances : array of shape (e,)
        Their variances.
    offsets : array of shape (e,)
        Nats per row that are added to make likelihoods comparable: those of the change of scale, and its penalty.
    rounding : array of shape (e,)
        Variance of spreading their ties.
    walked : array of shape (e,)
        On which of them parents are searched for too: the others are only tried on parents.
    """

    variables: IntArray
    with_columns: FloatArray
    variances: FloatArray
    offsets: FloatArray
    rounding: FloatArray
    walked: BoolArray

    def joined(self, more: "OtherScales") -> "OtherScales":
        """These, then more of them."""
        pairs = [(getattr(self, part.name), getattr(more, part.name)) for part in fields(self)]
        return OtherScales(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def take(self, chosen: BoolArray | IntArray) -> "OtherScales":
        """Some of them."""
        return OtherScales(
            self.variables[chosen],
            self.with_columns[:, chosen],
            self.variances[chosen],
            self.offsets[chosen],
            self.rounding[chosen],
            self.walked[chosen],
        )


class Products(NamedTuple):
    """Products of two variables that searches for a number may take, target by target.

    Attributes
    ----------
    variables : array of shape (p, 2)
        Which two each is of.
    starts : array of shape (d + 1,)
        Where those of each target begin and end.
    with_columns : array of shape (c, p)
        Their second moments with all columns.
    moments : array of shape (p, p)
        Those among each other.
    with_scales : array of shape (s, p)
        Those with variables on other scales.
    """

    variables: IntArray
    starts: IntArray
    with_columns: FloatArray
    moments: FloatArray
    with_scales: FloatArray

    @classmethod
    def none(cls, d: int, n_columns: int, n_scales: int) -> "Products":
        """No product of d variables that have so many columns, and are on so many other scales."""
        variables, starts = np.zeros((0, 2), dtype=np.int64), np.zeros(d + 1, dtype=np.int64)
        return cls(variables, starts, np.zeros((n_columns, 0)), np.zeros((0, 0)), np.zeros((n_scales, 0)))


class Weighing(NamedTuple):
    """Rows that numbers are weighed by, beside second moments.

    Attributes
    ----------
    columns : array of shape (m, c)
        All columns in these rows.
    products : array of shape (m, p)
        Products in these rows.
    numbers : array of shape (m, d)
        Variables on the scale of the table, their ties spread.
    rescaled : array of shape (m, s)
        Variables on other scales, their ties spread.
    open : array of shape (d,)
        What may be weighed of each; see `weigh`.
    copies : int
        How often each observation is among these rows.
    """

    columns: FloatArray
    products: FloatArray
    numbers: FloatArray
    rescaled: FloatArray
    open: IntArray
    copies: int


def new_problem(
    moments: FloatArray,
    widths: IntArray,
    n_rows: int,
    penalty: Penalty,
    rules: EdgeRules | None = None,
    rounding: FloatArray | None = None,
    rescaled: OtherScales | None = None,
    copies: int = 1,
    share: float = 1.0,
    stops: IntArray | None = None,
    products: Products | None = None,
    weighing: Weighing | None = None,
) -> Problem:
    """The problem of numbers of one moment matrix. Every problem has the same array types.

    Parameters
    ----------
    moments : array of shape (d * stride,) * 2
        Second moments of all columns; variable i owns the columns from ``i * stride``, itself first.
    widths : array of shape (d,)
        How many of its columns each variable uses in a search; the others must be zero. The widest uses all.
    n_rows : int
        Number of observations.
    penalty : Penalty
        What parents cost.
    rules : EdgeRules, optional
        Parents to leave out, those to begin with and never remove, and how many there may be.
    rounding : array of shape (d,), optional
        Variance that each target has beside what parents leave of it.
    rescaled : OtherScales, optional
        Scales that variables may have beside those that they have as parents: the likeliest counts.
    copies : int
        How often each observation is there. Likelihoods are sums over all these rows, and penalties grow with
        them.
    share : float
        Rows of evidence of the table for each of those that fits are made from.
    stops : array of shape (d, s), optional
        How many columns a parent may have, ascending; by default one or all.
    products : Products, optional
        What targets may have beside their parents' curves; not where parents are limited in number.
    weighing : Weighing, optional
        Rows that numbers are weighed by.
    """
    d, stride = widths.size, int(widths.max())
    if rounding is not None and rounding.any():
        # A column has its ties spread as a cause too, where it is a line: else the two directions of a straight
        # edge would not fit alike, and the coarser column would look like the effect.
        spread = np.zeros(len(moments))
        spread[: d * stride : stride] = rounding
        moments, rounding = moments + np.diag(spread), None
    if rescaled is None:
        nothing = np.zeros(0)
        none_at_all = nothing.astype(np.int64), np.zeros((len(moments), 0)), nothing, nothing, nothing
        rescaled = OtherScales(*none_at_all, nothing.astype(np.bool_))
    if stops is None:
        stops = np.column_stack([np.ones(d, dtype=np.int64), widths])
    if products is None:
        products = Products.none(d, len(moments), rescaled.variables.size)
    walked = rescaled.take(rescaled.walked)
    e, first = walked.variables.size, d * stride
    ones, empty = np.ones(d + e, dtype=np.int64), np.zeros((0, 0))
    none = empty.astype(np.int64)
    nodes = np.arange(d)
    diagonal = moments[:first, :first].reshape(d, stride, d, stride)[nodes, :, nodes, :]  # (d, stride, stride)
    alone = np.zeros((e + len(products.variables), stride))
    alone[:, 0] = np.concatenate([walked.variances, np.diag(products.moments)])
    moments = _joined(moments, walked, products, rescaled.walked)
    scales = np.column_stack(
        [
            rescaled.with_columns.T,
            np.zeros((rescaled.variables.size, e)),
            products.with_scales,
            rescaled.variances + rescaled.rounding,
            rescaled.offsets,
        ]
    )
    starts = np.searchsorted(rescaled.variables, np.arange(d + 1))
    variables = np.concatenate([nodes, walked.variables])
    own = np.concatenate([np.full(d, -1), np.flatnonzero(rescaled.walked)])
    what = np.zeros(d, dtype=np.int64) if weighing is None else weighing.open
    rows: FloatArray = empty
    usual, times = GaussianSpacings(0, 0.0, 0.0), 1
    if weighing is not None:
        room = np.zeros((len(weighing.columns), e))
        parts = weighing.columns, room, weighing.products, weighing.numbers, weighing.rescaled
        rows = np.ascontiguousarray(np.hstack(parts).T)
        times = weighing.copies
        usual = gaussian_spacings(rows.shape[1] // times)
    words = (d + int(np.diff(products.starts).max(initial=0))) // 64 + 1  # of sets of owners
    allowed = none if rules is None else as_bits(rules.allowed.T, words)
    required = rules.required if rules is not None and rules.anything_required else np.zeros((0, 0))
    return Problem(
        moments=moments,
        blocks=np.concatenate([diagonal.reshape(first, stride), alone]),
        limits=TOLERANCE * np.diag(moments),
        responses=np.concatenate([nodes * stride, first + np.arange(e)]),
        variables=variables,
        scales=d + np.searchsorted(walked.variables, np.arange(d + 1)),
        widths=np.ascontiguousarray(widths, dtype=np.int64),
        n_rows=copies * penalty.evidence(n_rows),
        penalty_per_dof=copies * penalty.per_dof(n_rows),
        penalty_per_parent=copies * penalty.per_parent(d),
        max_dof=max(n_rows - 3, 0),
        max_nonlinear_dof=n_rows // ROWS_PER_DOF,
        allowed=allowed,
        required=np.ascontiguousarray(required, dtype=np.bool_),
        max_parents=np.array(
            [] if rules is None or rules.max_parents is None else rules.max_parents, dtype=np.int64
        ),
        lines=stops[:, 0].copy(),
        stops=np.ascontiguousarray(stops, dtype=np.int64),
        products=np.ascontiguousarray(products.variables),
        product_starts=products.starts,
        families=np.tile([GAUSSIAN, 1, 0], (d + e, 1)),
        starts=empty,
        features=empty,
        outcomes=none,
        codes=none,
        n_codes=0 * ones[:d],
        offsets=np.concatenate([np.zeros(d), walked.offsets]),
        rounding=np.concatenate([np.zeros(d) if rounding is None else rounding, walked.rounding]),
        share=float(share),
        rows=rows,
        other_scales=np.ascontiguousarray(scales),
        places=np.column_stack([starts[variables], starts[variables + 1], own, what[variables]]),
        usual=usual,
        copies=times,
    )


def _joined(moments: FloatArray, walked: OtherScales, products: Products, is_walked: BoolArray) -> FloatArray:
    """Second moments of all columns, of other scales that walks go on, and of products."""
    if not walked.variables.size and not len(products.variables):
        return np.ascontiguousarray(moments, dtype=np.float64)
    with_scales = products.with_scales[is_walked]
    joined = [
        [moments, walked.with_columns, products.with_columns],
        [walked.with_columns.T, np.diag(walked.variances), with_scales],
        [products.with_columns.T, with_scales.T, products.moments],
    ]
    return np.ascontiguousarray(np.block(joined))
