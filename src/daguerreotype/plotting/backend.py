"""Names of matplotlib that pictures are drawn with, or an error that says how to install it."""

from daguerreotype._lib.optional import require

require(
    "matplotlib.pyplot",
    "pictures are drawn with matplotlib, which is not installed; the HTML report needs none.",
    extra="plot",
)

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.font_manager import FontProperties  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon  # noqa: E402
from matplotlib.path import Path  # noqa: E402
from matplotlib.text import Text  # noqa: E402
from matplotlib.textpath import text_to_path  # noqa: E402

__all__ = [
    "Axes",
    "FancyBboxPatch",
    "FontProperties",
    "Line2D",
    "Path",
    "PathPatch",
    "Polygon",
    "Text",
    "plt",
    "text_to_path",
]
