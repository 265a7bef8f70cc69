"""The plan of a fit: what the settings of a learner stand for, given its table."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from daguerreotype._lib.store import digest
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.penalty import Penalty
from daguerreotype.edges.registry import make_estimator
from daguerreotype.noise import FreeShape, NoiseModel, noise_by_column
from daguerreotype.noise.free_shape import CHANCE
from daguerreotype.operators import OrderDistribution
from daguerreotype.operators.registry import FixedOrder, bind_operator, read_operator
from daguerreotype.training.constraints import Constraints, known_constraints
from daguerreotype.training.few_rows import has_few_rows, penalty_of_few, restrained, tell_few_rows
from daguerreotype.training.methods import Bilevel, Joint, make_obeying, make_start, read_training
from daguerreotype.training.objective import Objective, make_objective, noise_of_loss
from daguerreotype.training.settings import check_settings

if TYPE_CHECKING:
    from daguerreotype.edges.base import EdgeEstimator
    from daguerreotype.operators.distribution import Operator


@dataclass(frozen=True)
class Plan:
    """All that a fit depends on beside its table.

    Attributes
    ----------
    estimator : EdgeEstimator
        Chooses parents.
    penalty : Penalty
        What parents cost, and how much evidence rows are.
    min_gain : float
        Share of what is left of an effect below which an edge is weak, and left out in the end.
    objective : Objective
        How local fits add up.
    noise : tuple of d NoiseModel
        What each column is likely under given its parents.
    operator : callable or None
        From scores to orderings; None keeps the order of the start.
    training : Bilevel or Joint
        The numbers of training.
    joint : bool
        Whether edges and ordering are trained together.
    tau : float
        Temperature of the operator.
    seed : int
        Of all that is drawn.
    scales : str
        Scales to try.
    standardize : bool
        Whether columns are scaled to variance one.
    constraints : Constraints
        What orders and edges obey.
    columns : array of shape (d,)
        The order that columns take part in.
    start : array of shape (d,)
        Scores to start from, in that order.
    posterior : int
        Sweeps of the posterior in the end; 0 for none.
    """

    estimator: "EdgeEstimator"
    penalty: Penalty
    min_gain: float
    objective: Objective
    noise: tuple[NoiseModel, ...]
    operator: "Operator | None"
    training: Bilevel | Joint
    joint: bool
    tau: float
    seed: int
    scales: str
    standardize: bool
    constraints: Constraints
    columns: IntArray
    start: FloatArray
    posterior: int = 0

    def settings(self, table: Table) -> dict[str, Any]:
        """What a fit of a table depends on, by name, for its checkpoint; with more steps a run is trained on.

        Data are known by their digests, the operator by its distribution at the start.
        """
        theta = self.constraints.project(self.start)
        if self.operator is None:
            orders = OrderDistribution.of_order(self.constraints.sort(theta))
        else:
            orders = self.operator(theta, self.tau)
        return {
            "version": version("daguerreotype"),
            "edges": type(self.estimator).__name__,
            **{f"edges.{name}": value for name, value in vars(self.estimator).items() if name != "device"},
            "tau": self.tau,
            **{name: getattr(self.training, name) for name in ("learning_rate", "l2", "tol", "patience")},
            **{
                name: repr(getattr(self, name))
                for name in ("objective", "noise", "scales", "standardize", "joint")
            },
            **self.constraints.settings(),
            "columns": list(map(str, table.names)),
            "digest of data": digest(table.values),
            **({} if table.intervened is None else {"digest of interventions": digest(table.intervened)}),
            "digest of scores at the start": digest(theta),
            "digest of orders at the start": digest(orders.probs, orders.ranks),
        }


def make_plan(settings: Mapping[str, Any], table: Table) -> Plan:
    """The plan for one table, from the settings of a learner by name."""
    check_settings(settings)
    few = has_few_rows(settings, table)
    if few:
        settings = restrained(settings)
        tell_few_rows(table.n_rows)
    operator, training = read_operator(settings["operator"]), read_training(settings["training"])
    seed, tau = settings["random_state"], float(getattr(operator, "tau", 1.0))
    rng = np.random.default_rng(0 if seed is None else seed)
    # Columns take part in an order of their own, made from the data: what breaks ties must not depend on how
    # the user happened to number them.
    columns = table.canonical_columns()
    if seed is not None:
        columns = rng.permutation(columns)
    start = make_start(training.start, operator, table, tau=tau, rng=rng, columns=columns)
    order = np.argsort(start) if isinstance(operator, FixedOrder) else None
    constraints = known_constraints(settings["knowledge"], table, columns, order, few)
    extended = settings["penalty"] is None
    factor = 1.0 if extended else float(settings["penalty"])
    penalty = Penalty(factor, 1.0 if extended else 0.0, settings["trust"])
    if few:
        penalty = penalty_of_few(penalty, table.n_rows, table.n_columns)
    estimator = make_estimator(settings["edges"], **vars(penalty), seed=seed or 0)
    penalty = replace(penalty, trust=getattr(estimator, "trust", None))  # which orders and graphs go by as well
    constraints.check_estimator(estimator)
    if isinstance(training, Joint):
        training.check_edges(settings["edges"], estimator)
    noise = _make_noise(settings["noise"], training, estimator, table, columns)
    bound = bind_operator(operator, constraints.precedence, constraints.names)
    return Plan(
        estimator=estimator,
        penalty=penalty,
        min_gain=float(settings["min_gain"]),
        objective=make_objective(training.loss, 0.0 if training.joint else factor),
        noise=noise,
        operator=bound,
        training=training,
        joint=training.joint,
        tau=tau,
        seed=seed or 0,
        scales=settings["scales"],
        standardize=bool(settings["standardize"]),
        constraints=constraints,
        columns=columns,
        start=make_obeying(start[columns], constraints, operator, tau),
        posterior=int(settings["posterior"]),
    )


def _make_noise(
    noise: Any, training: Bilevel | Joint, estimator: "EdgeEstimator", table: Table, columns: IntArray
) -> tuple[NoiseModel, ...]:
    """The noise model of every column.

    Left open, a number has any shape that gains more than chance, but for edges that need no rows, or are trained
    together with the order: these are straight, or smooth, and Gaussian.
    """
    continuous = noise_of_loss(training.loss)
    automatic = isinstance(training.loss, str) and training.loss == "auto"
    if automatic and table.holds_rows and not (training.joint or estimator.can.from_moments):
        continuous = FreeShape(CHANCE)
    chosen = noise_by_column(noise, continuous, table.kinds, table.labels)
    if isinstance(training, Joint):
        training.check_noise(noise, chosen)
    return tuple(chosen[j] for j in columns)
