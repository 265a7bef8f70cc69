"""Calls of other libraries, kept silent and without trace in global state."""

import contextlib
import importlib
import io
import logging
import random
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np


def load(module: str) -> Any:
    """Import ``module`` of an extra, or say what to install."""
    try:
        with quiet():
            return importlib.import_module(module)
    except ImportError as error:
        missing = (error.name or module).split(".")[0]
        extra = "torch" if missing == "torch" else "baselines"
        raise ImportError(
            f"this baseline needs {missing}, which cannot be imported: {error}. "
            f'Run: pip install "daguerreotype[{extra}]"',
            name=missing,
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Swallow what a library prints, logs and warns of; undo what it sets in the root logger, numpy and torch."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    torch: Any = sys.modules.get("torch")
    precision = torch and torch.get_default_dtype()
    root.setLevel(logging.CRITICAL)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),  # progress bars
            warnings.catch_warnings(),
            np.printoptions(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
        torch = sys.modules.get("torch")
        if torch:
            torch.set_default_dtype(precision or torch.float32)  # gcastle sets another as it is imported


@contextlib.contextmanager
def seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed the global generators, which some libraries draw from, by ``rng``, and restore them afterwards."""
    seed = int(rng.integers(2**32))
    torch: Any = sys.modules.get("torch")
    states = random.getstate(), np.random.get_state(), torch and torch.get_rng_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if torch:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        if torch:
            torch.set_rng_state(states[2])
