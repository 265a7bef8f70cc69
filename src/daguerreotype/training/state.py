"""How far a fit has come: its table on its scales, and what training found."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated

import numpy as np

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.scales import ColumnScales
from daguerreotype.data.table import OnScale, Table
from daguerreotype.edges.base import Capabilities, LocalFit, LocalModels
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise import Density, Mass, NoiseModel
from daguerreotype.noise.base import NoiseOfMasses
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.noise.gaussian import GaussianDensity, variance_of_nll
from daguerreotype.noise.registry import family_of
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.plan import Plan
from daguerreotype.training.run import FitHistory, Run
from daguerreotype.training.scores import OrderScores, spread_residuals


def _no_edges() -> IntArray:
    return np.zeros((0, 2), dtype=np.int64)


@saved
@dataclass(frozen=True)
class TrainingResult:
    """An ordering, the distribution around it, and the edges of its mode."""

    theta: Annotated[FloatArray, Shape("d", finite=True)]
    distribution: OrderDistribution
    order: Annotated[IntArray, Shape("d", order=True)]
    fits: Annotated[list[LocalFit], Shape("d")]
    models: LocalModels
    loss: float
    history: FitHistory
    interrupted: bool
    n_rows: int
    rows_per_node: Annotated[IntArray | None, Shape("d")] = None  # rows that count for each node, where not all do
    holds_rows: bool = True  # whether residuals of the training rows can be had
    table: Table | None = None  # what was learned from
    order_given: bool = False  # or drawn, and not learned
    # Cause and effect (w, 2) of edges that were left out as too weak, and what share of the effect each explains.
    weak: Annotated[IntArray, Shape("weak", 2, least=0, below="d")] = field(default_factory=_no_edges)
    weak_shares: Annotated[FloatArray, Shape("weak", finite=True)] = field(default_factory=partial(np.zeros, 0))
    scores: OrderScores | None = field(default=None, repr=False, compare=False)  # what orders lose; not in files

    def as_saved(self) -> "TrainingResult":
        """What a file holds: of the models, what predicts without the table."""
        models = self.models.predictor() if isinstance(self.models, LocalModels) else self.models
        return replace(self, models=models, table=None, scores=None)

    @property
    def can(self) -> Capabilities:
        """What the models can do; nothing where a file could not hold them."""
        return self.models.can if isinstance(self.models, LocalModels) else Capabilities()

    def check_saved(self) -> None:
        """Refuse parents that do not come before their child, or twice."""
        ranks = np.argsort(self.order)
        for node, fit in enumerate(self.fits):
            if (ranks[fit.parents] >= ranks[node]).any() or np.unique(fit.parents).size < fit.parents.size:
                raise ValueError(f"parents of column {node}, which form a cycle")

    def residuals(self) -> list[FloatArray | None] | None:
        """Residuals of every node, its ties spread, on the first rows that count for it; None if not to be had.

        Discrete nodes have none. Of several completed tables they are those of the first.
        """
        if not (self.can.residuals and self.holds_rows):
            return None
        dither = None if self.table is None or self.can.untied else self.table.dither_by_node
        discrete = np.zeros(len(self.fits)) if self.table is None else self.table.discrete
        rows = np.full(len(self.fits), self.n_rows) if self.rows_per_node is None else self.rows_per_node
        rows = np.minimum(rows, MAX_ROWS)
        return [
            None
            if discrete[node]
            else spread_residuals(self.models.residuals(node, fit)[: rows[node]], node, dither)
            for node, fit in enumerate(self.fits)
        ]

    def _by_residuals(self, node: int, model: NoiseModel) -> bool:
        """Whether the likelihood of a node is that of its residuals, and not that of its fit."""
        return model.needs_residuals and isinstance(self.models, LocalModels) and not self.models.weighs(node)

    def densities(self, noise: Sequence[NoiseModel]) -> list[Density | Mass]:
        """The noise of every node under the model that orders were compared by; Gaussian without residuals."""
        on_scales = any(fit.scale >= 0 for fit in self.fits)  # whose likelihoods are not of this scale
        wanted = on_scales or any(model.needs_residuals for model in noise)
        residuals = (self.residuals() if wanted else None) or [None] * len(noise)
        densities: list[Density | Mass] = []
        for node, (fit, model, remainder) in enumerate(zip(self.fits, noise, residuals, strict=True)):
            if isinstance(model, NoiseOfMasses):
                densities.append(self.models.mass(node, fit))
            elif remainder is not None and (model.needs_residuals or fit.scale >= 0):
                densities.append(model.fit(remainder))
            else:
                densities.append(GaussianDensity(float(variance_of_nll(fit.nll))))
        return densities

    @property
    def prepared(self) -> LocalModels:
        """The estimator with what it needs of the table, which a final fit may have replaced in ``models``."""
        return self.models if self.scores is None else self.scores.models

    @property
    def n_rows_used(self) -> int:
        """How many rows of each node, at most, its likelihood is taken from: the first ones that count for it."""
        by_rows = self.holds_rows and self.can.residuals
        return min(self.n_rows, MAX_ROWS) if by_rows else self.n_rows

    def log_likelihood(self, noise: Sequence[NoiseModel], penalty: Penalty) -> float:
        """Log-likelihood per row of the fitted model on the training table, less the BIC penalty.

        Where not all rows count for a node, its mechanism does in those that do.
        """
        nll = np.array([fit.nll for fit in self.fits])
        looked_at = [node for node, model in enumerate(noise) if self._by_residuals(node, model)]
        residuals = (self.residuals() if looked_at else None) or [None] * nll.size
        for node in looked_at:
            remainder = residuals[node]
            if remainder is not None:
                nll[node] = noise[node].nll(remainder)
        rows = np.full(nll.size, self.n_rows) if self.rows_per_node is None else self.rows_per_node
        evidence, dof = penalty.evidence(rows), np.array([fit.dof for fit in self.fits])
        return -float(np.sum(rows / self.n_rows * (nll + 0.5 * np.log(evidence) / evidence * dof)))


@dataclass(frozen=True)
class State:
    """How far a fit has come: a table on its scales, and what was learned of it. Stages go from one to the next.

    Attributes
    ----------
    plan, run : Plan, Run
        What is to be learned, and how it is carried out.
    table : Table
        The columns as they came, in canonical order.
    scaled : OnScale
        The same on the scales that they are learned on.
    noise : tuple of d NoiseModel
        What orders are compared under.
    training : TrainingResult or None
        The order that was found last, and its graph.
    """

    plan: Plan
    run: Run
    table: Table
    scaled: OnScale
    noise: tuple[NoiseModel, ...]
    training: TrainingResult | None = None

    @classmethod
    def begin(cls, table: Table, plan: Plan, run: Run, noise: tuple[NoiseModel, ...] | None = None) -> "State":
        """Before any training, with the other scales that columns may be on where these are open."""
        noise = plan.noise if noise is None else noise
        table = with_families(table, noise)
        by_rows = plan.estimator.can.scales and table.known_summary is None and table.missing is None
        is_open, evidence = by_rows and table.may_change_scale(plan.scales), plan.penalty.evidence(table.n_rows)
        scales = table.scales_of_causes(evidence) if is_open else table.scales_of(plan.scales)
        scaled = table.on_scale(scales, plan.standardize)
        if is_open:
            n_fitted = plan.penalty.enough(min(table.n_rows, MAX_ROWS)) if table.discrete.any() else None
            scaled = table.with_other_scales(scaled, evidence, n_fitted)
        return cls(plan, run, table, scaled, noise)

    @classmethod
    def before_draws(cls, table: Table, plan: Plan, run: Run) -> "State":
        """Before the missing values of a table are drawn: as it came."""
        d = table.n_columns
        unscaled = OnScale(ColumnScales.as_measured(d), np.zeros(d), np.ones(d), table)
        return cls(plan, run, table, unscaled, plan.noise)

    @property
    def trained(self) -> TrainingResult:
        """The order that was found last, where there is one."""
        assert self.training is not None
        return self.training

    def log_likelihood(self) -> float:
        """Of the rows as they came: of the table's, times the change of scale in them, times steps of grids."""
        jacobian = self.table.mean_log_slopes(self.scaled, self.trained.n_rows_used) + self.table.mean_log_steps
        rescaled = self.scaled.table.rescaled
        price = 0.0 if rescaled is None else rescaled.price
        return self.trained.log_likelihood(self.noise, self.plan.penalty) + jacobian - price

    @property
    def gaussian(self) -> bool:
        """Whether orders are compared under Gaussian noise."""
        return not any(model.needs_residuals for model in self.noise)


def with_families(table: Table, noise: Sequence[NoiseModel]) -> Table:
    """The table with the names of the noise models of its columns."""
    return replace(table, families=tuple(map(family_of, noise)))


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search, with the best that it had found."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state


def ended(state: State) -> State:
    """What a search ended with; raised if it was interrupted."""
    if state.trained.interrupted:
        raise Interrupted(state)
    return state
