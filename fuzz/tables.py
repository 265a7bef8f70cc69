"""Random tables, each made from a short description that can lose rows and columns one by one."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from fuzz.part import Case

MOST_ROWS = 80
KINDS = {
    "normal": 8,
    "skewed": 3,
    "heavy": 2,
    "rounded": 3,
    "ties": 2,
    "count": 3,
    "binary": 3,
    "truth": 1,
    "text": 2,
    "ordered": 2,
    "nearly-constant": 1,
    "copy": 1,
    "mirror": 1,
    "sum": 1,
    "constant": 1,
}
NUMBERS = ("normal", "skewed", "heavy", "rounded", "ties", "count", "binary", "nearly-constant", "copy", "mirror")
LEVELS = ("truth", "text", "ordered")
RARE = ("copy", "mirror", "sum", "constant", "nearly-constant")
Values: TypeAlias = Any


def draw_table(rng: np.random.Generator) -> Case:
    """A description of a random table: most are ordinary, some are not."""
    d = int(rng.choice([2, 3, 4, 5, 6, 8, 12], p=[0.15, 0.2, 0.25, 0.2, 0.1, 0.06, 0.04]))
    n = int(rng.choice([4, 8, 15, 30, 50, MOST_ROWS], p=[0.04, 0.08, 0.18, 0.3, 0.25, 0.15]))
    flavour = str(rng.choice(["numbers", "same", "mixed", "strange"], p=[0.35, 0.25, 0.25, 0.15]))
    weights = dict(KINDS)
    for kind in RARE:
        weights[kind] = 2 if flavour == "strange" else 0
    for kind in LEVELS:
        weights[kind] = weights[kind] if flavour in ("mixed", "strange") else 0
    kinds = list(weights)
    probs = np.array([weights[kind] for kind in kinds], dtype=float)
    one = str(rng.choice(["normal", "skewed", "rounded", "ties", "count", "binary", "text", "heavy"]))
    columns: list[Case] = []
    for number in range(d):
        kind = one if flavour == "same" else str(rng.choice(kinds, p=probs / probs.sum()))
        column: Case = {"id": number, "kind": kind}
        column["causes"] = [int(i) for i in range(number) if rng.random() < 0.4]
        if rng.random() < (0.5 if flavour == "strange" else 0.1):
            column["exponent"] = int(rng.choice([-300, -160, -100, -12, -3, 3, 9, 18, 100, 160, 300]))
        if rng.random() < 0.1:
            column["shift"] = float(rng.choice([-1.0, 10.0, 1e6, 1e12]))
        if rng.random() < (0.3 if flavour == "strange" else 0.03):
            column["outlier"] = float(rng.choice([1e2, 1e6, -1e12, 1e100]))
        columns.append(column)
    table: Case = {"seed": int(rng.integers(2**31)), "rows": n, "columns": columns}
    if rng.random() < 0.15:
        table["gaps"] = float(rng.choice([0.02, 0.1, 0.3]))
    if rng.random() < 0.05:
        table["repeats"] = int(rng.choice([2, 3]))
    table["container"] = str(
        rng.choice(["frame", "array", "fortran", "list", "float32"], p=[0.5, 0.3, 0.1, 0.05, 0.05])
    )
    return table


def make_frame(table: Case) -> pd.DataFrame:
    """The table that a description stands for; what is left of it after shrinking keeps its values."""
    n = table["rows"]
    signals: dict[int, Values] = {}
    columns: dict[str, Values] = {}
    for column in table["columns"]:
        rng = np.random.default_rng([table["seed"], column["id"]])
        noise = rng.normal(size=MOST_ROWS)
        signal = noise.copy()
        for cause in column["causes"]:
            if cause in signals:
                signal += _effect(rng)(signals[cause])
        signals[column["id"]] = signal
        values = _values(column, signal, signals, rng)[:n]
        columns[f"c{column['id']}"] = values
    frame = pd.DataFrame(columns)
    if "gaps" in table:
        for column in table["columns"]:
            rng = np.random.default_rng([table["seed"], column["id"], 1])
            hidden = rng.random(MOST_ROWS)[:n] < table["gaps"]
            frame[f"c{column['id']}"] = frame[f"c{column['id']}"].where(~hidden)
    if "repeats" in table:
        frame = pd.concat([frame] * table["repeats"], ignore_index=True)
    return frame


def _effect(rng: np.random.Generator) -> Callable[[Values], Values]:
    shapes: list[Callable[[Values], Values]] = [lambda x: 1.5 * x, np.sin, lambda x: x**2 - 1, lambda x: -0.5 * x]
    return shapes[rng.integers(len(shapes))]


def _values(column: Case, signal: Values, signals: dict[int, Values], rng: np.random.Generator) -> Values:
    """Values of one column as its kind measures them."""
    kind = column["kind"]
    others = [signals[each] for each in sorted(signals) if each != column["id"]]
    if kind in ("text", "ordered"):
        codes = np.digitize(signal, [-0.7, 0.4])
        levels = np.array(["low", "mid", "high"])
        if kind == "text":
            return levels[codes].astype(object)
        return pd.Categorical(levels[codes], categories=list(levels), ordered=True)
    if kind == "truth":
        return signal > 0
    if kind in ("copy", "mirror", "sum") and others:
        values = {"copy": others[-1], "mirror": -others[0], "sum": np.sum(others, axis=0)}[kind]
    elif kind == "skewed":
        values = np.exp(signal)
    elif kind == "heavy":
        values = signal * np.exp(2 * np.abs(rng.normal(size=MOST_ROWS)))
    elif kind == "rounded":
        values = np.round(signal, int(rng.integers(3)))
    elif kind == "ties":
        values = np.where(signal > 0, 1.5, 0.25) + 0.5 * (signal > 1)
    elif kind == "count":
        values = rng.poisson(np.exp(np.clip(signal, -5, 4))).astype(float)
    elif kind == "binary":
        values = (signal > 0).astype(float)
    elif kind == "nearly-constant":
        values = np.full(MOST_ROWS, 3.0)
        values[0] = 4.0
    elif kind == "constant":
        values = np.full(MOST_ROWS, 0.1)
    else:
        values = signal
    if "outlier" in column:
        values = values.copy()
        values[1] = column["outlier"]
    with np.errstate(over="ignore"):
        return (values + column.get("shift", 0.0)) * 10.0 ** column.get("exponent", 0)


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


def simpler_tables(table: Case) -> Iterator[Case]:
    """Fewer rows and columns, then plainer ones."""
    for rows in (5, 10, 20, 40, table["rows"] // 2, table["rows"] - 5, table["rows"] - 1):
        if 3 <= rows < table["rows"]:
            yield table | {"rows": rows}
    columns = table["columns"]
    if len(columns) > 2:
        for index in range(len(columns)):
            yield table | {"columns": columns[:index] + columns[index + 1 :]}
    for key in ("gaps", "repeats"):
        if key in table:
            yield {name: value for name, value in table.items() if name != key}
    if table["container"] != "frame":
        yield table | {"container": "frame"}
    for index, column in enumerate(columns):
        for key in ("exponent", "shift", "outlier"):
            if key in column:
                plain = {name: value for name, value in column.items() if name != key}
                yield table | {"columns": [*columns[:index], plain, *columns[index + 1 :]]}
        if column["causes"]:
            yield table | {"columns": [*columns[:index], column | {"causes": []}, *columns[index + 1 :]]}
        if column["kind"] != "normal":
            yield table | {"columns": [*columns[:index], column | {"kind": "normal"}, *columns[index + 1 :]]}
