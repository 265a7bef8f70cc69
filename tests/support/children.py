"""Other processes, which find what this one finds."""

import os
import sys


def environment(*first):
    """Variables of a child that imports from the folders of this process, and before them from ``first``."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [*map(str, first), *sys.path]))}
