"""Compilation of numba kernels: decorators, calls by address, one cache stamp, and news of what is compiled."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import event
from numba.core.types import StarArgTuple
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., object])
PACKAGE = __name__.partition(".")[0]
# Kernels that the first fit with default settings compiles, those inside others counted too.
DEFAULT_FIT_KERNELS = 99
# What a file holds that has kernels, or tuples for them to take.
KERNELS = re.compile(rb"^@\w*kernel$|NamedTuple", re.MULTILINE)


def kernel(function: F) -> F:
    """Compile ``function`` on first call and cache it beside the source.

    Where that folder is read-only numba falls back to the user's cache folder. The GIL is released,
    so threads run kernels side by side. Kernels are written with plain loops over ``np.empty`` arrays: slice
    assignments and array expressions would run no faster and take several times as long to compile.
    """
    return cast(F, _stamped(numba.njit(cache=True, nogil=True, error_model="numpy")(function)))


def algebra_kernel(function: F) -> F:
    """:func:`kernel` for sums of products: their terms may be added in any order, which vectorises."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})(function)
    return cast(F, _stamped(compiled))


def subkernel(function: F) -> F:
    """Part of the kernels that call it, which alone can: it has no entry from Python, and no cache of its own.

    numba compiles it once, and links and optimises it once more into each caller; a literal argument makes
    another copy. What is large and has several callers is better called by :func:`call_address`.
    """
    njit = cast(Any, numba.njit)
    return cast(F, njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def address_of(function: Callable[..., int], *arguments: object) -> int:
    """Address of a kernel that returns an integer, compiled for arguments of the types of these."""
    dispatcher = cast(Any, function)
    types = tuple(cast(Any, numba).typeof(each) for each in arguments)
    dispatcher.compile(types)
    compiled = dispatcher.overloads[types]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


def _call_address(typing_context: Any, address: Any, *arguments: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        types = [context.get_value_type(each) for each in arguments]
        unpacked = [builder.extract_value(values[1], k) for k in range(len(arguments))]
        return builder.call(
            builder.inttoptr(values[0], ir.FunctionType(ir.IntType(64), types).as_pointer()), unpacked
        )

    return numba.types.int64(address, cast(Any, StarArgTuple).from_types(arguments)), lower


# Within kernels: what the kernel at an address, the first argument, returns for the others. These must have the
# types that the address was asked for. It is neither linked nor optimised again, however many kernels call it.
call_address = cast(Callable[..., int], intrinsic(_call_address))


@cache
def _package_stamp() -> str:
    """Changes with any file of the package that has kernels, or tuples for them to take."""
    digest = sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        text = path.read_bytes()
        if path == Path(__file__) or KERNELS.search(text):
            digest.update(text)
    return digest.hexdigest()


def _stamped(dispatcher: Any) -> Any:
    """Let the cache of a kernel stand for the sources of the whole package; numba looks at its own file alone."""
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        file._source_stamp = (file._source_stamp, _package_stamp())
    return dispatcher


class Compilation(event.Listener):
    """What numba compiles for this package, and how long that takes; what comes from the cache does not count.

    Attributes
    ----------
    count : int
        Kernels compiled so far.
    seconds : float
        Time that this took, by the clock.
    """

    def __init__(self, on_kernel: Callable[[int], None]) -> None:
        self.count, self.seconds = 0, 0.0
        self._on_kernel, self._depth, self._since = on_kernel, 0, 0.0

    def on_start(self, event: Any) -> None:
        """A kernel begins, maybe within another."""
        if self._depth == 0:
            self._since = perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """A kernel is done."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._since
        if event.data["dispatcher"].py_func.__module__.partition(".")[0] == PACKAGE:
            self.count += 1
            self._on_kernel(self.count)


@contextmanager
def compiling(on_kernel: Callable[[int], None]) -> Iterator[Compilation]:
    """Tell ``on_kernel`` after every kernel that is compiled in here how many there were."""
    with event.install_listener("numba:compile", Compilation(on_kernel)) as listener:
        yield listener
