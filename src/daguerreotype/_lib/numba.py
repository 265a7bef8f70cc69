"""Compilation of numba kernels: decorators, calls by address, one cache stamp, and news of what is compiled."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.types import StarArgTuple
from numba.extending import intrinsic

logger = logging.getLogger("daguerreotype")
F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")
PACKAGE = __name__.partition(".")[0]
# What a file holds that has kernels, or tuples for them to take.
KERNELS = re.compile(rb"^@\w*kernel$|NamedTuple", re.MULTILINE)


def kernel(function: F) -> F:
    """Compile ``function`` on first call and cache it beside the source.

    Where that folder is read-only numba falls back to the user's cache folder; where that cannot be written
    either, or not any more, kernels are compiled in every process, and a warning says so. The GIL is released,
    so threads run kernels side by side. Kernels are written with plain loops over ``np.empty`` arrays: slice
    assignments and array expressions would run no faster and take several times as long to compile.
    """
    return cast(F, _cached(numba.njit(nogil=True, error_model="numpy")(function)))


def algebra_kernel(function: F) -> F:
    """:func:`kernel` for sums of products: their terms may be added in any order, which vectorises."""
    compiled = numba.njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})(function)
    return cast(F, _cached(compiled))


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
    types = tuple(cast(Any, numba).typeof(argument) for argument in arguments)
    dispatcher.compile(types)
    compiled = dispatcher.overloads[types]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


def _call_address(typing_context: Any, address: Any, *arguments: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        types = [context.get_value_type(argument) for argument in arguments]
        unpacked = [builder.extract_value(values[1], k) for k in range(len(arguments))]
        return builder.call(
            builder.inttoptr(values[0], ir.FunctionType(ir.IntType(64), types).as_pointer()), unpacked
        )

    return numba.types.int64(address, cast(Any, StarArgTuple).from_types(arguments)), lower


# Within kernels: what the kernel at an address, the first argument, returns for the others. These must have the
# types that the address was asked for. It is neither linked nor optimised again, however many kernels call it.
call_address = cast(Callable[..., int], intrinsic(_call_address))


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, numba.types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = array.meminfo.type(None)
        return array._getvalue()
    if isinstance(kind, numba.types.BaseTuple):
        for place, part in enumerate(cast(Any, kind)):
            member = _without_owner(context, builder, part, builder.extract_value(value, place))
            value = builder.insert_value(value, member, place)
    return value


def _borrow(typing_context: Any, arguments: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], values[0])

    return arguments(arguments), lower


# Within kernels: the same tuples of arrays, which nobody counts from here on. numba counts every array of a tuple
# at every call, by an atomic operation each: a quarter of the time of a search. Only for a kernel that is called
# from Python, whose arguments live as long as the call.
borrow = cast(Callable[[T], T], intrinsic(_borrow))


def _address_in(typing_context: Any, table: Any, place: Any) -> Any:
    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        start = builder.inttoptr(values[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(start, [values[1]]))

    return numba.types.int64(table, place), lower


# Within kernels: the address at a place of a table of them, as `address_table` makes one.
address_in = cast(Callable[[int, int], int], intrinsic(_address_in))
_TABLES: list[npt.NDArray[np.int64]] = []  # which stay where they are


def address_table(addresses: Sequence[int]) -> int:
    """Where a table of addresses is, for as long as the process lives."""
    _TABLES.append(np.array(addresses, dtype=np.int64))
    return int(_TABLES[-1].ctypes.data)


@cache
def _package_stamp() -> str:
    """Changes with any file of the package that has kernels, or tuples for them to take."""
    digest = sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        text = path.read_bytes()
        if path == Path(__file__) or KERNELS.search(text):
            digest.update(text)
    return digest.hexdigest()


class _PackageCache(FunctionCache):
    """numba's cache on disk, for kernels that stand for the sources of the whole package; it may fail at any time.

    numba alone looks at a kernel's own file, and lets errors of the disk end the call that compiles.
    """

    warned = False  # in this process

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _package_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before; None if there is nothing, or nothing that can be read."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (ImportError, AttributeError):  # of another version, some of whose tuples are not there any more
            self._forget()
            return None
        except Exception as error:  # a torn file may be anything to its reader
            _warn_without_cache(error)
            return None

    def _forget(self) -> None:
        """Begin anew with what is kept."""
        try:
            self.flush()  # type: ignore[no-untyped-call]
        except OSError as error:
            _warn_without_cache(error)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for other processes, if the disk will have it."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as error:
            _warn_without_cache(error)


def _cached(dispatcher: Any) -> Any:
    """The kernel with its cache on disk; without one where no folder for it can be written."""
    try:
        dispatcher._cache = _PackageCache(dispatcher.py_func)
    except (RuntimeError, OSError) as error:  # numba found no folder
        _warn_without_cache(error)
    return dispatcher


def _warn_without_cache(error: Exception) -> None:
    """One warning a process, whatever fails and how often."""
    if not _PackageCache.warned:
        _PackageCache.warned = True
        logger.warning(
            "compiled code cannot be kept on disk (%s): every process compiles it again, which makes its first "
            "fit take about a minute longer. Set the environment variable NUMBA_CACHE_DIR to a folder that can be "
            "written.",
            str(error).strip() or type(error).__name__,
        )


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
