"""Registry of scales of measurement, and what the argument ``transform`` stands for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daguerreotype._lib.labels import shown
from daguerreotype._lib.registry import Registry, load

if TYPE_CHECKING:  # the registry alone needs none of them
    from daguerreotype._lib.typing import BoolArray, FloatArray
    from daguerreotype.data.transforms import Scale


@dataclass(frozen=True)
class ScaleEntry:
    """A scale under its name.

    Attributes
    ----------
    fit : str or callable
        From columns (n, d), and where they were intervened on (n, d) or None, to the fitted scale; as
        ``package.module:name`` it is imported when it is asked for.
    help : str
        What it is for, in one line.
    from_ends : bool
        Whether the least and largest values of every column are enough to fit it, so that rows may be streamed.
    """

    fit: "str | Callable[[FloatArray, BoolArray | None], Scale]"
    help: str
    from_ends: bool = False


SCALES: Registry[ScaleEntry] = Registry(
    "transform",
    {
        "none": ScaleEntry("daguerreotype.data.transforms:Identity.fit", "columns as they are", from_ends=True),
        "log": ScaleEntry(
            "daguerreotype.data.column_scales:fit_logarithms",
            "logarithms, shifted where a column is not positive",
            from_ends=True,
        ),
        "yeo-johnson": ScaleEntry(
            "daguerreotype.data.column_scales:fit_powers", "powers that make each column look most Gaussian"
        ),
    },
)


def check_scale(name: object) -> None:
    """Refuse what is no name of a scale."""
    if not (isinstance(name, str) and (name == "auto" or name in SCALES)):
        raise ValueError(f"transform must be {SCALES.listed()} or 'auto', got {shown(name)}.")


def fit_scale(name: str, values: "FloatArray", intervened: "BoolArray | None" = None) -> "Scale":
    """The scale of a name; values intervened on (n, d) have no say."""
    fit = SCALES[name].fit
    return (load(fit) if isinstance(fit, str) else fit)(values, intervened)
