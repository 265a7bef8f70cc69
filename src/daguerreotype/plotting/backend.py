"""Names of matplotlib that pictures are drawn with, or an error that says how to install it."""

from daguerreotype._lib.imports import require

require(
    "matplotlib.pyplot",
    "pictures are drawn with matplotlib, which is not installed; the HTML report needs none.",
    extra="plot",
)

from matplotlib import pyplot as pyplot  # noqa: E402
from matplotlib.axes import Axes as Axes  # noqa: E402
from matplotlib.font_manager import FontProperties as FontProperties  # noqa: E402
from matplotlib.lines import Line2D as Line2D  # noqa: E402
from matplotlib.patches import FancyBboxPatch as FancyBboxPatch  # noqa: E402
from matplotlib.patches import PathPatch as PathPatch  # noqa: E402
from matplotlib.patches import Polygon as Polygon  # noqa: E402
from matplotlib.path import Path as Path  # noqa: E402
from matplotlib.text import Text as Text  # noqa: E402
from matplotlib.textpath import text_to_path as text_to_path  # noqa: E402
from matplotlib.ticker import MaxNLocator as MaxNLocator  # noqa: E402
