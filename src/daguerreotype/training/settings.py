"""The settings of a learner: what no table could be fitted with is refused before any row is read."""

from collections.abc import Mapping
from typing import Any

from daguerreotype._lib.checks import (
    Check,
    check_count,
    check_flag,
    check_parameters,
    check_positive,
    check_seed,
    check_share,
    check_temperature,
    check_trust,
    check_verbosity,
    optional,
)
from daguerreotype._lib.parallel import count_jobs
from daguerreotype.data.kinds import Kind, check_names, read_given
from daguerreotype.data.missing import check_missing
from daguerreotype.data.scales import SCALES, check_scale
from daguerreotype.data.streams import Source
from daguerreotype.edges.registry import make_estimator
from daguerreotype.knowledge import Knowledge
from daguerreotype.noise import DiscreteNoise, make_noise
from daguerreotype.operators.registry import read_operator
from daguerreotype.training.methods import read_training
from daguerreotype.training.objective import LOSSES, noise_of_loss

NUMBERS: Mapping[str, Check] = {
    "penalty": optional(check_positive),
    "trust": optional(check_trust),
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
    check_temperature(getattr(read_operator(settings["operator"]), "tau", 1.0))
    read_training(settings["training"])
    count_jobs(settings["n_jobs"])
    check_parameters(settings, NUMBERS)


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
    model = noise_of_loss(read_training(settings["training"]).loss) if by_default else make_noise(noise)
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
