"""The plan of a fit: what the settings of a learner stand for, checked before any work."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from daguerreotype._lib.checks import (
    Check,
    check_count,
    check_flag,
    check_parameters,
    check_positive,
    check_positive_int,
    check_seed,
    check_share,
    check_verbosity,
    one_of,
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
from daguerreotype.edges.price import Price
from daguerreotype.edges.registry import EDGES, make_estimator
from daguerreotype.knowledge import Knowledge
from daguerreotype.noise import DiscreteNoise, FreeShape, NoiseModel, make_noise, noise_by_column
from daguerreotype.operators.distribution import Operator
from daguerreotype.operators.registry import check_operator, make_operator, order_source
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.few_rows import fewer_parents, has_few_rows, price_of_few, restrained, tell_few_rows
from daguerreotype.training.objective import LOSSES, Objective, Smooth, make_objective
from daguerreotype.training.schedule import Schedule
from daguerreotype.training.start import make_obeying, make_start, make_temperature

# What settings may be, as far as that does not depend on the table.
SETTINGS: Mapping[str, Check] = {
    "operator": lambda value, _: check_operator(value),
    "edges": lambda value, _: make_estimator(value),
    "training": one_of("bilevel", "joint"),
    "k": check_positive_int,
    "tau": lambda value, _: make_temperature(value, 1),
    "loss": lambda value, _: make_objective(value, 1.0),
    "penalty": optional(check_positive),
    "min_gain": check_share,
    "standardize": check_flag,
    "transform": lambda value, _: check_scale(value),
    "missing": lambda value, _: check_missing(value),
    "knowledge": lambda value, _: Knowledge.of(value),
    "refine": check_flag,
    "n_restarts": check_count,
    "learning_rate": check_positive,
    "l2_theta": partial(check_positive, zero=True),
    "max_iter": check_positive_int,
    "tol": partial(check_positive, zero=True),
    "patience": check_positive_int,
    "cache_size": check_positive,
    "n_jobs": lambda value, _: count_jobs(value),
    "posterior": check_count,
    "random_state": optional(check_seed),
    "verbose": check_verbosity,
}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings that no table could be fitted with, before any row is read."""
    check_parameters(settings, SETTINGS)


@dataclass(frozen=True)
class Plan:
    """All that a fit depends on beside its table.

    Attributes
    ----------
    estimator : EdgeEstimator
        Chooses parents.
    scale_estimator : EdgeEstimator
        Chooses parents where scales of columns are compared: the same, if it can.
    price : Price
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
    transform : str
        Scales to try.
    standardize : bool
        Whether columns are scaled to variance one.
    constraints : Constraints
        What orders and edges obey.
    joint : bool
        Whether edges and ordering are trained together.
    columns : array of shape (d,)
        The order that columns take part in.
    start : array of shape (d,)
        Scores to start from, in that order.
    posterior : int
        Sweeps of the posterior in the end; 0 for none.
    """

    estimator: EdgeEstimator
    scale_estimator: EdgeEstimator
    price: Price
    objective: Objective
    noise: tuple[NoiseModel, ...]
    other_noise: tuple[NoiseModel, ...] | None
    families_open: bool
    operator: Operator | None
    schedule: Schedule
    transform: str
    standardize: bool
    constraints: Constraints
    joint: bool
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
    known = Knowledge.of(settings["knowledge"]).resolve(table.called, numbered=not table.named)
    seed = settings["random_state"]
    rng = np.random.default_rng(0 if seed is None else seed)
    max_iter = int(settings["max_iter"])
    tau = make_temperature(settings["tau"], max_iter)
    # Columns take part in an order of their own, made from the data: what breaks ties must not depend on how
    # the user happened to number them.
    columns = table.canonical_columns()
    if seed is not None:
        columns = rng.permutation(columns)
    source = order_source(settings["operator"])
    start = make_start(
        settings["init"],
        names=table.called,
        numbered=not table.named,
        variances=np.diag(table.summary.covariance),
        tau=tau(0),
        rng=rng,
        order_source=source,
        columns=columns,
    )
    if source == "given":
        known.check_order(np.argsort(start))
    known = known.take(columns)
    if few:
        most = fewer_parents(known.max_parents, known.required.sum(axis=0), table.n_rows)
        known = replace(known, max_parents=most)
    constraints = Constraints.of(
        known.allowed, known.required, known.tier, known.names, known.max_parents, known.max_children
    )
    extended = settings["penalty"] is None
    penalty = 1.0 if extended else float(settings["penalty"])
    price = Price(penalty, 1.0 if extended else 0.0, float(settings["min_gain"]))
    if few:
        price = price_of_few(price, table.n_rows, table.n_columns)
    estimator = make_estimator(
        settings["edges"], penalty=price.penalty, gamma=price.gamma, min_gain=price.min_gain, seed=seed or 0
    )
    constraints.check_estimator(estimator)
    joint, objective = _make_objective(settings, estimator, penalty)
    noise, other = _make_noise(settings, joint, table, columns)
    schedule = Schedule(
        tau=tau,
        rate=float(settings["learning_rate"]),
        l2=float(settings["l2_theta"]),
        max_iter=max_iter,
        tolerance=float(settings["tol"]),
        patience=int(settings["patience"]),
        refine=bool(settings["refine"]),
        n_restarts=int(settings["n_restarts"]),
        seed=seed or 0,
    )
    operator = make_operator(settings["operator"], settings["k"], constraints.precedence, constraints.names)
    return Plan(
        estimator=estimator,
        scale_estimator=_scale_estimator(estimator, price),
        price=price,
        objective=objective,
        noise=noise,
        other_noise=other if operator is not None and not few else None,
        families_open=isinstance(settings["noise"], str) and settings["noise"] == "auto" and operator is not None,
        operator=operator,
        schedule=schedule,
        transform=settings["transform"],
        standardize=bool(settings["standardize"]),
        constraints=constraints,
        joint=joint,
        columns=columns,
        start=make_obeying(start[columns], constraints, source, tau(0)),
        posterior=int(settings["posterior"]),
    )


def _scale_estimator(estimator: EdgeEstimator, price: Price) -> EdgeEstimator:
    """The estimator, or one of its shape that can judge columns on several scales."""
    if getattr(estimator, "compares_scales", False):
        return estimator
    like = "bic" if getattr(estimator, "from_moments", False) else "gam"
    return make_estimator(like, penalty=price.penalty, gamma=price.gamma, min_gain=price.min_gain)


def numbers_alone(settings: Mapping[str, Any]) -> str:
    """The setting that takes continuous columns alone, as one writes it; empty if all take any kind."""
    edges, loss = settings["edges"], settings["loss"]
    if settings["training"] == "joint":
        return "training='joint'"
    if not getattr(make_estimator(edges), "takes_kinds", False):
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


def joint_loss(settings: Mapping[str, Any]) -> str:
    """The name of the loss of joint training."""
    return "nll_ev" if settings["loss"] == "auto" else str(settings["loss"])


def _make_objective(settings: Mapping[str, Any], estimator: Any, penalty: float) -> tuple[bool, Objective]:
    """Whether training is joint, and its objective. Refuses parts that cannot be trained so."""
    training = settings["training"]
    if training == "bilevel":
        return False, make_objective(settings["loss"], penalty)
    if not isinstance(estimator, GradientEdges):
        names = " or ".join(f"edges={name!r}" for name, entry in EDGES.items() if entry.by_gradient)
        raise ValueError(
            f"training='joint' needs edges that are trained by gradient: {names}, got {settings['edges']!r}. "
            "Other edges are trained with training='bilevel'."
        )
    loss = joint_loss(settings) if isinstance(settings["loss"], str) else settings["loss"]
    if loss in ("bic", "entropy") or not isinstance(make_objective(loss, 0.0), Smooth):
        raise ValueError(
            f"training='joint' takes loss 'auto', 'nll_ev', 'nll_nv' or 'mse', got {settings['loss']!r}."
        )
    return True, make_objective(loss, 0.0)


def _make_noise(
    settings: Mapping[str, Any], joint: bool, table: Table, columns: IntArray
) -> tuple[tuple[NoiseModel, ...], tuple[NoiseModel, ...] | None]:
    """The noise model of every column, and those to go on with where residuals are clearly not Gaussian."""
    noise, loss = settings["noise"], settings["loss"]
    continuous = _continuous_noise(loss, joint)
    kinds = table.kinds or (Kind(),) * table.n_columns
    chosen = noise_by_column(noise, continuous, kinds, table.labels)
    if joint and any(each.needs_residuals for each in chosen):
        raise ValueError(f"training='joint' takes Gaussian noise, got noise={shown(noise)}.")
    ordered = tuple(chosen[j] for j in columns)
    automatic = isinstance(noise, str) and noise == "auto" and isinstance(loss, str) and loss == "auto"
    if not automatic or joint:
        return ordered, None
    # Entropies of numbers meet likelihoods of levels, so that their bias must not depend on the shape.
    free = FreeShape("three-spacings" if table.discrete.any() else "spacings")
    return ordered, tuple(each if isinstance(each, DiscreteNoise) else free for each in ordered)


def _continuous_noise(loss: Any, joint: bool) -> NoiseModel:
    """What the loss implies for continuous columns."""
    return make_noise(LOSSES[loss].noise if isinstance(loss, str) and not joint else "gaussian")


def check_streamable(settings: Mapping[str, Any], source: Source | None) -> bool:
    """Refuse, before any row is read, what cannot be learned without all rows; source None: without any.

    Returns whether quantiles of the columns will be needed.
    """
    check_settings(settings)
    check_streamed_kinds(settings["kinds"])
    estimator = make_estimator(settings["edges"], seed=settings["random_state"] or 0)
    how = "from moments alone" if source is None else "chunk by chunk"
    by_moments = bool(getattr(estimator, "from_moments", False))
    by_passes = bool(getattr(estimator, "from_passes", False))
    if not by_moments and not (by_passes and source is not None):
        kinds = "'bic', 'lars', 'lasso' and 'linear'" + ("" if source is None else ", and 'gam',")
        why = "needs the shapes of curves, which moments do not tell" if by_passes else "looks at single rows"
        raise ValueError(f"{type(estimator).__name__} {why}: {how} choose edges among {kinds}.")
    noise = settings["noise"]
    if isinstance(noise, Mapping):
        raise ValueError(f"noise by column needs all rows: {how} choose noise='auto' or 'gaussian'.")
    by_default = isinstance(noise, str) and noise == "auto"
    model = _continuous_noise(settings["loss"], joint=False) if by_default else make_noise(noise)
    if isinstance(model, DiscreteNoise):
        raise ValueError(f"noise={noise!r} describes discrete columns, which {how} cannot be learned about.")
    if model.needs_residuals:
        what = "loss='entropy'" if by_default else f"noise={noise!r}"
        raise ValueError(
            f"{what} looks at the residual of every row, which {how} there is none of: choose loss='bic', "
            "'nll_ev', 'nll_nv' or 'mse'."
        )
    transform = settings["transform"]
    if transform not in ("auto", "none") and (source is None or not SCALES[transform].from_ends):
        others = [repr(name) for name, entry in SCALES.items() if entry.from_ends and name != "none"]
        log = "" if source is None else f" or {', '.join(others)}"
        raise ValueError(f"transform={transform!r} needs all rows: {how} choose transform='none'{log}.")
    if source is not None and source.once and (by_passes or transform not in ("auto", "none")):
        what = f"edges={'gam'!r}" if by_passes else f"transform={transform!r}"
        raise ValueError(
            f"{what} reads the rows more than once, but an iterator ends. Give a function that returns a new "
            "iterator each time, or a path."
        )
    return by_passes
