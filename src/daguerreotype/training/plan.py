"""The plan of a fit: what the settings of a learner stand for, checked before any work."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daguerreotype._lib.checks import (
    Check,
    check_count,
    check_flag,
    check_parameters,
    check_positive,
    check_seed,
    check_share,
    check_temperature,
    check_verbosity,
    optional,
)
from daguerreotype._lib.labels import shown
from daguerreotype._lib.parallel import count_jobs
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.kinds import Kind, check_names, read_given
from daguerreotype.data.missing import check_missing
from daguerreotype.data.scales import SCALES, check_scale
from daguerreotype.data.streams import Source
from daguerreotype.data.table import Table
from daguerreotype.edges.base import EdgeEstimator
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.penalty import Penalty
from daguerreotype.edges.registry import EDGES, make_estimator
from daguerreotype.knowledge import Knowledge
from daguerreotype.noise import DiscreteNoise, FreeShape, NoiseModel, make_noise, noise_by_column
from daguerreotype.operators.distribution import Operator
from daguerreotype.operators.registry import FixedOrder, bind_operator, read_operator
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.few_rows import fewer_parents, has_few_rows, price_of_few, restrained, tell_few_rows
from daguerreotype.training.methods import Bilevel, Joint, read_training
from daguerreotype.training.objective import LOSSES, Objective, make_objective
from daguerreotype.training.schedule import Schedule
from daguerreotype.training.start import make_obeying, make_start

NUMBERS: Mapping[str, Check] = {
    "penalty": optional(check_positive),
    "min_gain": check_share,
    "posterior": check_count,
    "standardize": check_flag,
    "random_state": optional(check_seed),
    "verbose": check_verbosity,
}


def read_part(name: str, value: Any) -> Any:
    """The operator or the training of a learner, as an object with its settings."""
    return (read_operator if name == "operator" else read_training)(value)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings that no table could be fitted with, before any row is read."""
    make_estimator(settings["edges"])
    check_scale(settings["scales"])
    check_missing(settings["missing"])
    Knowledge.of(settings["knowledge"])
    read_operator(settings["operator"])
    read_training(settings["training"])
    count_jobs(settings["n_jobs"])
    check_parameters(settings, NUMBERS)


@dataclass(frozen=True)
class Plan:
    """All that a fit depends on beside its table.

    Attributes
    ----------
    estimator : EdgeEstimator
        Chooses parents.
    scale_estimator : EdgeEstimator
        Chooses parents where scales of columns are compared: the same, if it can.
    price : Penalty
        What parents cost.
    objective : Objective
        How local fits add up.
    noise : tuple of d NoiseModel
        What each column is likely under given its parents.
    other_noise : tuple of d NoiseModel, or None
        What to go on with where residuals turn out not to be like ``noise``.
    families_open : bool
        Whether ordered levels may turn out to be described better without their order.
    operator : callable or None
        From scores to orderings; None keeps the order of the start.
    schedule : Schedule
        All numbers of training.
    scales : str
        Scales to try.
    standardize : bool
        Whether columns are scaled to variance one.
    constraints : Constraints
        What orders and edges obey.
    joint : bool
        Whether edges and ordering are trained together.
    loss : str or callable
        What orders are compared by, as the user says it.
    columns : array of shape (d,)
        The order that columns take part in.
    start : array of shape (d,)
        Scores to start from, in that order.
    posterior : int
        Sweeps of the posterior in the end; 0 for none.
    """

    estimator: EdgeEstimator
    scale_estimator: EdgeEstimator
    price: Penalty
    objective: Objective
    noise: tuple[NoiseModel, ...]
    other_noise: tuple[NoiseModel, ...] | None
    families_open: bool
    operator: Operator | None
    schedule: Schedule
    scales: str
    standardize: bool
    constraints: Constraints
    joint: bool
    loss: Any
    columns: IntArray
    start: FloatArray
    posterior: int = 0

    @property
    def knows_two_scales(self) -> bool:
        """Whether the estimator can judge a column on another scale than it has as a cause."""
        return self.scale_estimator is self.estimator


def make_plan(settings: Mapping[str, Any], table: Table) -> Plan:
    """The plan for one table, from the settings of a learner by name."""
    check_settings(settings)
    few = has_few_rows(settings, table)
    if few:
        settings = restrained(settings)
        tell_few_rows(table.n_rows)
    known = Knowledge.of(settings["knowledge"]).resolve(table.names, numbered=not table.named)
    operator, training = read_operator(settings["operator"]), read_training(settings["training"])
    seed = settings["random_state"]
    rng = np.random.default_rng(0 if seed is None else seed)
    tau = check_temperature(getattr(operator, "tau", 1.0))
    # Columns take part in an order of their own, made from the data: what breaks ties must not depend on how
    # the user happened to number them.
    columns = table.canonical_columns()
    if seed is not None:
        columns = rng.permutation(columns)
    start = make_start(
        training.start,
        operator,
        names=table.names,
        numbered=not table.named,
        variances=np.diag(table.summary.covariance),
        tau=tau,
        rng=rng,
        columns=columns,
    )
    if isinstance(operator, FixedOrder):
        known.check_order(np.argsort(start))
    known = known.take(columns)
    if few:
        most = fewer_parents(known.max_parents, known.required.sum(axis=0), table.n_rows)
        known = replace(known, max_parents=most)
    constraints = Constraints.of(known.allowed, known.required, known.tier, known.names, known.max_parents)
    extended = settings["penalty"] is None
    penalty = 1.0 if extended else float(settings["penalty"])
    price = Penalty(penalty, 1.0 if extended else 0.0, float(settings["min_gain"]))
    if few:
        price = price_of_few(price, table.n_rows, table.n_columns)
    estimator = make_estimator(
        settings["edges"], penalty=price.penalty, gamma=price.gamma, min_gain=price.min_gain, seed=seed or 0
    )
    constraints.check_estimator(estimator)
    if training.joint:
        _check_joint(settings["edges"], estimator)
    noise, other = _make_noise(settings["noise"], training, table, columns)
    schedule = Schedule(
        tau=tau,
        rate=float(training.learning_rate),
        l2=float(training.l2),
        max_iter=int(training.max_iter),
        tolerance=float(training.tol),
        patience=int(training.patience),
        refine=bool(training.refine),
        n_restarts=int(training.n_restarts),
        seed=seed or 0,
    )
    bound = bind_operator(operator, constraints.precedence, constraints.names)
    judge = estimator  # of columns on several scales: one of the same shape where it cannot itself
    if not estimator.can.scales:
        like = "bic" if estimator.can.from_moments else "gam"
        judge = make_estimator(like, penalty=price.penalty, gamma=price.gamma, min_gain=price.min_gain)
    return Plan(
        estimator=estimator,
        scale_estimator=judge,
        price=price,
        objective=make_objective(training.loss, 0.0 if training.joint else penalty),
        noise=noise,
        other_noise=other if bound is not None and not few else None,
        families_open=isinstance(settings["noise"], str) and settings["noise"] == "auto" and bound is not None,
        operator=bound,
        schedule=schedule,
        scales=settings["scales"],
        standardize=bool(settings["standardize"]),
        constraints=constraints,
        joint=training.joint,
        loss=training.loss,
        columns=columns,
        start=make_obeying(start[columns], constraints, operator, tau),
        posterior=int(settings["posterior"]),
    )


def numbers_alone(settings: Mapping[str, Any]) -> str:
    """The setting that takes continuous columns alone, as one writes it; empty if all take any kind."""
    edges, training = settings["edges"], read_training(settings["training"])
    loss = training.loss
    if training.joint:
        return "training='joint'"
    if not make_estimator(edges).can.kinds:
        return f"edges={edges!r}" if isinstance(edges, str) else f"edges={type(edges).__name__}(...)"
    if isinstance(loss, str) and loss in LOSSES:
        return "" if LOSSES[loss].takes_kinds else f"loss={loss!r}"
    return "" if isinstance(loss, str) else "a loss of your own"


def check_streamed_kinds(kinds: Any) -> None:
    """Refuse discrete kinds, before any row is read."""
    if isinstance(kinds, str) and kinds == "auto":
        return
    if not isinstance(kinds, Mapping):
        read_given(kinds, (), numbered=False)
    check_names(kinds)
    for column, kind in kinds.items():
        name = kind.name if isinstance(kind, Kind) else kind
        if name != "continuous":
            raise ValueError(
                f"kinds says that {column!r} is {name}, but without all rows in memory columns are continuous: "
                "leave it out, or call fit."
            )


def _check_joint(edges: Any, estimator: EdgeEstimator) -> None:
    """Refuse edges that cannot be trained jointly."""
    if not isinstance(estimator, GradientEdges):
        names = " or ".join(f"edges={name!r}" for name, entry in EDGES.items() if entry.by_gradient)
        raise ValueError(
            f"training='joint' needs edges that are trained by gradient: {names}, got {edges!r}. "
            "Other edges are trained with training='bilevel'."
        )


def _make_noise(
    noise: Any, training: Bilevel | Joint, table: Table, columns: IntArray
) -> tuple[tuple[NoiseModel, ...], tuple[NoiseModel, ...] | None]:
    """The noise model of every column, and those to go on with where residuals are clearly not Gaussian."""
    kinds = table.kinds or (Kind(),) * table.n_columns
    chosen = noise_by_column(noise, _continuous_noise(training), kinds, table.labels)
    if training.joint and any(model.needs_residuals for model in chosen):
        raise ValueError(f"training='joint' takes Gaussian noise, got noise={shown(noise)}.")
    ordered = tuple(chosen[j] for j in columns)
    automatic = all(isinstance(setting, str) and setting == "auto" for setting in (noise, training.loss))
    if not automatic:
        return ordered, None
    # Entropies of numbers meet likelihoods of levels, so that their bias must not depend on the shape.
    free = FreeShape("three-spacings" if table.discrete.any() else "spacings")
    return ordered, tuple(model if isinstance(model, DiscreteNoise) else free for model in ordered)


def _continuous_noise(training: Bilevel | Joint) -> NoiseModel:
    """What the loss implies for continuous columns."""
    return make_noise(LOSSES[training.loss].noise if isinstance(training.loss, str) else "gaussian")


def check_streamable(settings: Mapping[str, Any], source: Source | None) -> bool:
    """Refuse, before any row is read, what cannot be learned without all rows; source None: without any.

    Returns whether quantiles of the columns will be needed.
    """
    check_settings(settings)
    check_streamed_kinds(settings["kinds"])
    estimator = make_estimator(settings["edges"], seed=settings["random_state"] or 0)
    how = "from moments alone" if source is None else "chunk by chunk"
    by_moments, by_passes = estimator.can.from_moments, estimator.can.from_passes
    if not by_moments and not (by_passes and source is not None):
        kinds = "'bic', 'lars', 'lasso' and 'linear'" + ("" if source is None else ", and 'gam',")
        why = "needs the shapes of curves, which moments do not tell" if by_passes else "looks at single rows"
        raise ValueError(f"{type(estimator).__name__} {why}: {how} choose edges among {kinds}.")
    noise = settings["noise"]
    if isinstance(noise, Mapping):
        raise ValueError(f"noise by column needs all rows: {how} choose noise='auto' or 'gaussian'.")
    by_default = isinstance(noise, str) and noise == "auto"
    model = _continuous_noise(read_training(settings["training"])) if by_default else make_noise(noise)
    if isinstance(model, DiscreteNoise):
        raise ValueError(f"noise={noise!r} describes discrete columns, which {how} cannot be learned about.")
    if model.needs_residuals:
        what = "loss='entropy'" if by_default else f"noise={noise!r}"
        raise ValueError(
            f"{what} looks at the residual of every row, which {how} there is none of: choose loss='bic', "
            "'nll_ev', 'nll_nv' or 'mse'."
        )
    scales = settings["scales"]
    if scales not in ("auto", "none") and (source is None or not SCALES[scales].from_ends):
        streamed = [repr(name) for name, entry in SCALES.items() if entry.from_ends and name != "none"]
        log = "" if source is None else f" or {', '.join(streamed)}"
        raise ValueError(f"scales={scales!r} needs all rows: {how} choose scales='none'{log}.")
    if source is not None and source.once and (by_passes or scales not in ("auto", "none")):
        what = f"edges={'gam'!r}" if by_passes else f"scales={scales!r}"
        raise ValueError(
            f"{what} reads the rows more than once, but an iterator ends. Give a function that returns a new "
            "iterator each time, or a path."
        )
    return by_passes
