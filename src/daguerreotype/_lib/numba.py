"""Decorators of numba kernels, which compile once, stay cached on disk and keep their types for mypy."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile ``function`` on first call and cache it beside the source.

    Where that folder is read-only numba falls back to the user's cache folder. The GIL is released,
    so threads run kernels side by side. Kernels are written with plain loops over ``np.empty`` arrays: slice
    assignments and array expressions would run no faster and take several times as long to compile.
    """
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def algebra_kernel(function: F) -> F:
    """:func:`kernel` for sums of products: their terms may be added in any order, which vectorises."""
    return cast(
        F, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})(function)
    )
