"""Is matplotlib there? If not, what must be installed? The one place from which pictures take it."""

try:
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.font_manager import FontProperties
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path
    from matplotlib.text import Text
    from matplotlib.textpath import text_to_path
except ImportError as error:
    raise ImportError(
        "pictures are drawn with matplotlib, which is not installed. "
        'Run: pip install "daguerreotype[plot]"; the HTML report needs no matplotlib.'
    ) from error

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
