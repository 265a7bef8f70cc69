"""Hypothesis strategies of tables, knowledge and bad values; the tests share them.

A table is drawn as a description of plain values, which hypothesis can make smaller: what is left of it keeps its
values.
"""

import datetime
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from hypothesis import strategies as st

MOST_ROWS = 80
NUMBERS = ("normal", "skewed", "heavy", "rounded", "ties", "count", "binary")
STRANGE = ("nearly-constant", "copy", "mirror", "sum", "constant")
LEVELS = ("truth", "text", "ordered")


class BrokenError(AssertionError):
    """A property that does not hold; the text says which."""


def hold(holds: object, otherwise: str) -> None:
    """Refuse a case of which a property does not hold."""
    if not holds:
        raise BrokenError(otherwise)


# ------------------------------------------------------------------ tables


def columns(kinds: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """One column: how it is measured, what it depends on, and what is wrong with it."""
    rarely = st.integers(0, 9).map(lambda k: k == 9)
    return st.fixed_dictionaries(
        {
            "kind": st.sampled_from(kinds),
            "causes": st.sets(st.integers(0, 11), max_size=4).map(sorted),
            "exponent": rarely.flatmap(
                lambda odd: st.sampled_from([-300, -100, -12, 3, 18, 100, 300] if odd else [0])
            ),
            "shift": rarely.flatmap(lambda odd: st.sampled_from([-1.0, 10.0, 1e6, 1e12] if odd else [0.0])),
            "outlier": rarely.flatmap(lambda odd: st.sampled_from([1e2, 1e6, -1e12, 1e100] if odd else [None])),
        }
    )


@st.composite
def tables(draw: st.DrawFn, *, missing: bool = True) -> dict[str, Any]:
    """A random table: most are ordinary, some are mixed, some are strange."""
    kinds = draw(st.sampled_from([NUMBERS, NUMBERS, NUMBERS + LEVELS, NUMBERS + LEVELS + STRANGE]))
    return {
        "seed": draw(st.integers(0, 2**31)),
        "rows": draw(st.sampled_from([30, 50, MOST_ROWS, 15, 8, 4])),
        "columns": draw(st.lists(columns(kinds), min_size=2, max_size=8)),
        "missing": draw(st.sampled_from([0.0] * 8 + [0.02, 0.3])) if missing else 0.0,
        "repeats": draw(st.sampled_from([1] * 9 + [2])),
        "container": draw(st.sampled_from(["frame", "frame", "array", "fortran", "list", "float32"])),
    }


def make_frame(table: dict[str, Any]) -> pd.DataFrame:
    """The table that a description stands for."""
    signals: list[Any] = []
    values: dict[str, Any] = {}
    for number, column in enumerate(table["columns"]):
        rng = np.random.default_rng([table["seed"], number])
        signal = rng.normal(size=MOST_ROWS)
        for cause in column["causes"]:
            shape = (lambda x: 1.5 * x, np.sin, lambda x: x**2 - 1, lambda x: -0.5 * x)[rng.integers(4)]
            if cause < number:
                signal = signal + shape(signals[cause])
        signals.append(signal)
        values[f"c{number}"] = _measured(column, signals, rng)[: table["rows"]]
    frame = pd.DataFrame(values)
    hidden = np.random.default_rng(table["seed"]).random((MOST_ROWS, frame.shape[1]))[: len(frame)]
    frame = frame.where(hidden >= table["missing"])
    return pd.concat([frame] * table["repeats"], ignore_index=True)


def _measured(column: dict[str, Any], signals: list[Any], rng: np.random.Generator) -> Any:
    """Values of the last column as its kind measures them."""
    kind, signal, before = column["kind"], signals[-1], signals[:-1]
    codes = np.digitize(signal, [-0.7, 0.4])
    levels = np.array(["low", "mid", "high"])
    if kind == "text":
        return levels[codes].astype(object)
    if kind == "ordered":
        return pd.Categorical(levels[codes], categories=list(levels), ordered=True)
    if kind == "truth":
        return signal > 0
    almost = np.full(MOST_ROWS, 3.0)
    almost[0] = 4.0
    values = {
        "skewed": lambda: np.exp(signal),
        "heavy": lambda: signal * np.exp(2 * np.abs(rng.normal(size=MOST_ROWS))),
        "rounded": lambda: np.round(signal, int(rng.integers(3))),
        "ties": lambda: np.where(signal > 0, 1.5, 0.25) + 0.5 * (signal > 1),
        "count": lambda: rng.poisson(np.exp(np.clip(signal, -5, 4))).astype(float),
        "binary": lambda: (signal > 0).astype(float),
        "nearly-constant": lambda: almost,
        "constant": lambda: np.full(MOST_ROWS, 0.1),
        "copy": lambda: before[-1] if before else signal,
        "mirror": lambda: -before[0] if before else signal,
        "sum": lambda: np.sum(before, axis=0) if before else signal,
    }.get(kind, lambda: signal)()
    if column["outlier"] is not None:
        values = np.where(np.arange(MOST_ROWS) == 1, column["outlier"], values)
    with np.errstate(over="ignore"):
        return (values + column["shift"]) * 10.0 ** column["exponent"]


def contain(frame: pd.DataFrame, container: str) -> Any:
    """The frame as users may have it; levels need a frame."""
    if container == "frame" or any(not pd.api.types.is_float_dtype(kind) for kind in frame.dtypes):
        return frame
    values = frame.to_numpy()
    if container == "float32":
        with np.errstate(over="ignore", under="ignore"):
            return values.astype(np.float32)
    if container == "fortran":
        return np.asfortranarray(values)
    return values.tolist() if container == "list" else values


def knowledge(n_columns: int) -> st.SearchStrategy[dict[str, Any]]:
    """Something that is known of columns c0, c1, ...; some of it contradicts itself."""
    name = st.integers(0, n_columns - 1).map(lambda number: f"c{number}")
    pairs = st.lists(st.tuples(name, name).filter(lambda pair: pair[0] != pair[1]), max_size=2 * n_columns)
    limit = st.integers(0, 3)
    return st.fixed_dictionaries(
        {},
        optional={
            "forbidden": pairs,
            "required": pairs.map(lambda drawn: drawn[:3]),
            "tiers": st.permutations([f"c{number}" for number in range(n_columns)]).map(
                lambda order: [order[: n_columns // 2], order[n_columns // 2 :]]
            ),
            "roots": st.lists(name, max_size=1),
            "leaves": st.lists(name, max_size=1),
            "max_parents": limit | st.dictionaries(name, limit, max_size=2),
        },
    )


# ------------------------------------------------------------------ bad values


def small_frame(rows: int = 30) -> pd.DataFrame:
    """A good table of three columns."""
    rng = np.random.default_rng(0)
    rain, soil = rng.normal(size=(2, rows))
    return pd.DataFrame({"rain": rain, "soil": soil, "yield": rain + soil + rng.normal(size=rows)})


def _raise(*_: Any, **__: Any) -> None:
    raise ValueError("raised by a function of the user")


# By name, so that a case can be read; made anew for every case.
BAD_VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "half": lambda: 0.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "huge": lambda: 10**30,
    "complex": lambda: 1j,
    "decimal": lambda: decimal.Decimal("0.5"),
    "empty text": lambda: "",
    "text": lambda: "no such thing",
    "surrogate": lambda: "\ud800",
    "nul": lambda: "a\x00b",
    "bytes": lambda: b"gam",
    "date": lambda: datetime.date(2020, 1, 1),
    "object": object,
    "class": lambda: dict,
    "function": lambda: lambda *_: None,
    "raising function": lambda: _raise,
    "module": lambda: np,
    "generator": lambda: iter(range(3)),
    "random generator": lambda: np.random.default_rng(0),
    "empty list": list,
    "list": lambda: [0, 1, 1],
    "list of texts": lambda: ["rain", "rain", "hail"],
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "pair": lambda: (1.0, -1.0),
    "dict": lambda: {"hail": 1},
    "empty dict": dict,
    "set": lambda: {"rain"},
    "array": lambda: np.zeros(3),
    "no columns": lambda: np.zeros((5, 0)),
    "one row": lambda: np.arange(3.0)[None, :],
    "cube": lambda: np.zeros((3, 3, 3)),
    "array of nan": lambda: np.full((30, 3), np.nan),
    "array of inf": lambda: np.where(small_frame() > 2, np.inf, small_frame()),
    "array of objects": lambda: np.array([[object()] * 3] * 10),
    "array of complex": lambda: small_frame().to_numpy() * 1j,
    "structured array": lambda: np.zeros(5, dtype=[("a", float), ("b", float)]),
    "wide integers": lambda: [[10**400, 1, 2]] * 10,
    "asymmetric": lambda: np.triu(np.ones((3, 3))),
    "negative covariance": lambda: -np.eye(3),
    "cycle": lambda: [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "series": lambda: small_frame()["rain"],
    "empty frame": pd.DataFrame,
    "repeated names": lambda: small_frame().set_axis(["a", "a", "b"], axis=1),
    "mixed names": lambda: small_frame().set_axis(["a", 1, None], axis=1),
    "two levels of names": lambda: small_frame().set_axis(
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), axis=1
    ),
    "dates": lambda: small_frame().assign(soil=pd.date_range("2020", periods=30)),
    "lists in cells": lambda: small_frame().assign(soil=[[1]] * 30),
    "numbers and texts": lambda: small_frame().assign(soil=[1.0, "a"] * 15),
    "one category": lambda: small_frame().assign(soil=pd.Categorical(["a"] * 30)),
    "cyclic graph": lambda: nx.cycle_graph(3, create_using=nx.DiGraph),
    "folder": lambda: ".",
    "path": lambda: Path("no-such-file"),
}
