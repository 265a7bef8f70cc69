"""Sources of data sets with a known graph: Sachs, SynTReN, simulated ones, and files."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from daguerreotype._lib.labels import label
from daguerreotype._lib.store import plain_setting
from daguerreotype.data import read_table
from daguerreotype.datasets import Dataset, load_sachs, load_syntren
from daguerreotype.graphs.files import read_graph
from daguerreotype.simulate import simulate_dag, simulate_data

NETWORKS = 10  # of SynTReN


@dataclass(frozen=True)
class DataSource:
    """One of the problems of a spec, a kind of table; repeat r of an experiment takes the r-th table of the kind.

    Attributes
    ----------
    label : str
        What tables and figures call it.
    data : {"sachs", "syntren", "simulated", "files"}
        Where tables come from. Of "sachs" and "files" there is one, whatever the repeat; repeat r of "syntren" is
        network 1 + r mod 10; a "simulated" one is drawn with seed r.
    settings : dict
        Arguments of the source, see `simulated` and `from_files`.
    varied : dict
        Those of them that differ among the problems of an experiment, and tags: what figures have on their axes.
    folder : str
        Where relative paths start.
    """

    label: str
    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    varied: Mapping[str, Any] = field(default_factory=dict)
    folder: str = "."

    @property
    def one_table(self) -> bool:
        """Whether all repeats have the same table."""
        return self.data in ("sachs", "files")

    def load(self, repeat: int, data_home: str | None = None) -> Dataset:
        """The table and graph of one repeat."""
        if self.data == "sachs":
            return load_sachs()
        if self.data == "syntren":
            return load_syntren(1 + repeat % NETWORKS, data_home=data_home)
        if self.data == "simulated":
            return simulated(repeat, **self.settings)
        return from_files(Path(self.folder), **self.settings)

    def recipe(self, repeat: int) -> dict[str, Any] | None:
        """All that a drawn table follows from but the graph, defaults included; None where values are given."""
        if self.data != "simulated":
            return None
        asked = inspect.signature(simulated).bind(repeat, **self.settings)
        asked.apply_defaults()
        recipe: dict[str, Any] = plain_setting(asked.arguments)
        return recipe

    def check(self) -> None:
        """Refuse settings that the source does not have."""
        with_settings: dict[str, Callable[..., Any]] = {"simulated": simulated, "files": from_files}
        sources = ("sachs", "syntren", *with_settings)
        if self.data not in sources:
            raise ValueError(
                f"problem {self.label!r} has data {self.data!r}; choose one of {', '.join(map(repr, sources))}."
            )
        source = with_settings.get(self.data)
        parameters = [] if source is None else list(inspect.signature(source).parameters)[1:]
        unknown = [name for name in self.settings if name not in parameters]
        if unknown:
            raise ValueError(
                f"problem {self.label!r} sets {', '.join(map(repr, unknown))}; {self.data!r} data know "
                f"{', '.join(map(repr, parameters)) or 'no settings'}."
            )


def simulated(
    seed: int,
    d: int = 20,
    n: int = 1000,
    graph: str = "SF",
    edges_per_node: float = 2.0,
    mechanism: str = "linear",
    noise: str = "gaussian",
    weights: Any = ((-2.0, -0.5), (0.5, 2.0)),
    noise_scale: float = 1.0,
    standardize: bool = False,
) -> Dataset:
    """Draw a random graph with ``edges_per_node`` d edges, then ``n`` rows of it, both with one seed."""
    adjacency = simulate_dag(d, edges_per_node * d, graph, random_state=seed)
    truth = label(adjacency, [f"x{j}" for j in range(d)])
    drawn = simulate_data(
        truth,
        n,
        mechanism=mechanism,
        noise=noise,
        weights=weights,
        noise_scale=noise_scale,
        standardize=standardize,
        random_state=seed,
    )
    return Dataset("simulated", pd.DataFrame(drawn.X), truth)


def from_files(folder: Path, table: str, truth: str) -> Dataset:
    """A table, and its graph: columns cause and effect, or a 0/1 matrix with names; any files that fit reads."""
    X = read_table(folder / table)
    return Dataset(table, X, read_graph(folder / truth, tuple(X.columns)))
