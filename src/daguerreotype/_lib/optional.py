"""Libraries of extras, or an error with the command that installs them.

``from daguerreotype._lib.optional import torch`` imports torch when the importing module loads, not before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch as torch

NEEDED = {"torch": "edges='linear' and edges='mlp' are trained by gradient and need torch."}


def __getattr__(name: str) -> Any:
    if name not in NEEDED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return require(name, NEEDED[name], extra=name)


def require(module: str, why: str, *, extra: str = "", package: str = "") -> Any:
    """The module, or an ImportError that says why it is needed and which extra or other package brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        what = package or f"'daguerreotype[{extra}]'"
        raise ImportError(f"{why} Run: pip install {what}", name=module) from error
