"""Registry of noise models, and what the argument ``noise`` stands for, column by column."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daguerreotype._lib.labels import listed, shown
from daguerreotype._lib.registry import Registry, load
from daguerreotype.data.kinds import Kind
from daguerreotype.noise.base import Density, DiscreteNoise, LikeliestFamily, Mass, NoiseModel, NoiseOfMasses
from daguerreotype.noise.free_shape import FreeShape
from daguerreotype.noise.gaussian import Gaussian, GaussianDensity, GaussianOnGrid


@dataclass(frozen=True)
class NoiseEntry:
    """A noise model under its name.

    Attributes
    ----------
    make : callable
        Makes it.
    help : str
        What it is for, in one line.
    kinds : tuple of str
        Kinds of columns that it can describe; models of residuals describe continuous ones alone.
    """

    make: Callable[..., NoiseModel]
    help: str
    kinds: tuple[str, ...] = ("continuous",)


def _discrete(location: str, name: str, help: str, *kinds: str) -> NoiseEntry:
    """Family of discrete columns, imported when it is asked for: its kernels need numba."""
    return NoiseEntry(lambda: load(f"daguerreotype.noise.{location}")(name), help, kinds)


NOISE: Registry[NoiseEntry] = Registry(
    "noise",
    {
        "gaussian": NoiseEntry(Gaussian, "normal noise; needs nothing but second moments"),
        "free-shape": NoiseEntry(FreeShape, "noise of any shape; looks at the residual of every row"),
        "bernoulli": _discrete("categorical:Categorical", "bernoulli", "two levels, by their log-odds", "binary"),
        "categorical": _discrete(
            "categorical:Categorical",
            "categorical",
            "levels without an order: multinomial logit",
            "categorical",
            "ordinal",
            "binary",
        ),
        "ordinal": _discrete("ordinal:Ordinal", "ordinal", "levels with an order: proportional odds", "ordinal"),
        "counts": _discrete(
            "counts:Counts", "counts", "Poisson, or negative binomial where counts spread more", "count"
        ),
        "poisson": _discrete("counts:Counts", "poisson", "counts whose variance is their mean", "count"),
        "negative-binomial": _discrete(
            "counts:Counts", "negative-binomial", "counts that spread more than Poisson's", "count"
        ),
    },
)


def make_noise(noise: Any) -> NoiseModel:
    """The noise model behind a name or an object."""
    if isinstance(noise, str) and noise in NOISE:
        return NOISE[noise].make()
    if isinstance(noise, NoiseModel) and not isinstance(noise, type):
        return noise
    raise ValueError(
        f"noise must be 'auto', one of {NOISE.listed()}, a dict of these by column, or an object with "
        f"needs_residuals, max_rows, nll and fit, got {shown(noise)}."
    )


def open_noise(kind: Kind) -> NoiseModel:
    """What discrete columns of a kind have by default: whichever family is likeliest, where there are several.

    Ordered levels may be described better without their order, counts as whole numbers that vary like any others.
    """
    usual = make_noise(kind.noise)
    more = GaussianOnGrid() if kind.counts else make_noise("categorical") if kind.name == "ordinal" else None
    if isinstance(usual, DiscreteNoise) and isinstance(more, DiscreteNoise):
        return LikeliestFamily((usual, more))
    return usual


def family_of(noise: NoiseModel) -> str:
    """What edges that weigh noise themselves know a noise model by: a registered name, "auto", or nothing."""
    if isinstance(noise, LikeliestFamily):
        return "auto"
    if isinstance(noise, DiscreteNoise):
        return noise.name
    if isinstance(noise, FreeShape):
        return "auto" if noise.doubt > -np.inf else "free-shape"
    return ""


def name_of(noise: NoiseModel, density: Density | Mass) -> str:
    """What a noise model is called that led to this distribution of a node."""
    if isinstance(noise, NoiseOfMasses):
        return noise.name_of(density)
    if isinstance(noise, FreeShape) and isinstance(density, GaussianDensity):
        return "gaussian"
    names = {entry.make: name for name, entry in NOISE.items()}
    return names.get(type(noise), type(noise).__name__)


def noise_by_column(
    noise: Any, continuous: NoiseModel, kinds: Sequence[Kind], labels: Sequence[Any]
) -> tuple[NoiseModel, ...]:
    """The noise model of every column.

    Parameters
    ----------
    noise : "auto", a name, an object, or a dict of them by column
        A single one holds for all columns of the kinds that it can describe.
    continuous : NoiseModel
        What continuous columns have by default; discrete ones have `open_noise`.
    kinds : sequence of d Kind
        Those of the columns; empty if all are continuous.
    labels : sequence of d
        What the user calls them.
    """
    kinds = kinds or [Kind()] * len(labels)
    chosen = [open_noise(kind) if kind.discrete else continuous for kind in kinds]
    if isinstance(noise, str) and noise == "auto":
        return tuple(chosen)
    if isinstance(noise, Mapping):
        unknown = [label for label in noise if label not in labels]
        if unknown:
            raise ValueError(f"noise names {listed(unknown)}, which is no column; columns are {listed(labels)}.")
        for j, label in enumerate(labels):
            if label in noise and noise[label] != "auto":
                if kinds[j].name not in _kinds_of(noise[label]):
                    kinds_for = [f"kinds={{{label!r}: {kind!r}}}" for kind in _kinds_of(noise[label])]
                    raise ValueError(
                        f"noise {noise[label]!r} cannot describe {label!r}, which is {kinds[j]}: choose "
                        f"{listed(_names_for(kinds[j].name))}, or say {' or '.join(kinds_for)}."
                    )
                chosen[j] = make_noise(noise[label])
        return tuple(chosen)
    model = make_noise(noise)
    fitting = [kind.name in _kinds_of(noise) for kind in kinds]
    if not any(fitting):
        raise ValueError(
            f"noise={noise!r} can describe none of the columns: they are {listed(kinds, quote=False)}."
        )
    return tuple(model if fits else default for fits, default in zip(fitting, chosen, strict=True))


def in_words(noise: Mapping[Any, str]) -> str:
    """How many columns have which noise, the most frequent first.

    >>> in_words({"age": "gaussian", "sex": "bernoulli", "dose": "gaussian"})
    'gaussian (2), bernoulli (1)'
    """
    return ", ".join(f"{name} ({count})" for name, count in Counter(noise.values()).most_common())


def _kinds_of(noise: Any) -> tuple[str, ...]:
    """Kinds of columns that a noise model, by name or as an object, can describe."""
    make_noise(noise)
    return NOISE[noise].kinds if isinstance(noise, str) else ("continuous",)


def _names_for(kind: str) -> list[str]:
    return [name for name, entry in NOISE.items() if kind in entry.kinds]
