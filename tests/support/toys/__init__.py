"""A toy of every kind of part, a file each, whose import registers it, as a package of somebody else's would."""

from importlib import import_module
from pathlib import Path

for _path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    import_module(f"{__name__}.{_path.stem}")
