"""The verb ``simulate``: a random graph, and data from it."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from daguerreotype._lib.files import write_csv
from daguerreotype._lib.labels import label
from daguerreotype._lib.progress import show_status
from daguerreotype.cli import options
from daguerreotype.cli.terminal import make_screen, say, show_files

Graph = StrEnum("Graph", options.choices(("SF", "ER", "BP")))  # type: ignore[misc]
Mechanism = StrEnum("Mechanism", options.choices(("linear", "logistic", "poisson", "mlp", "mim", "gp", "gp-add")))  # type: ignore[misc]
Noise = StrEnum("Noise", options.choices(("gaussian", "exponential", "gumbel", "uniform", "laplace")))  # type: ignore[misc]


def simulate(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder that data.csv and truth.csv go to.")
    ] = Path(),
    graph: Annotated[
        Graph,
        typer.Option(metavar="KIND", case_sensitive=False, help="SF: scale-free; ER: Erdős-Rényi; BP: bipartite."),
    ] = Graph("SF"),
    columns: Annotated[int, typer.Option("--columns", "-d", metavar="D", min=2, help="Number of variables.")] = 10,
    edges: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            min=0.0,
            show_default="2 D, fewer for few columns",
            help="Expected number of edges in all.",
        ),
    ] = None,
    mechanism: Annotated[
        Mechanism,
        typer.Option(
            metavar="NAME",
            help="linear, logistic, poisson, mlp, mim (multiple indices), gp (Gaussian process of the causes), "
            "gp-add (one for each).",
        ),
    ] = Mechanism("linear"),
    noise: Annotated[
        Noise, typer.Option(metavar="NAME", help="gaussian, exponential, gumbel, uniform or laplace.")
    ] = Noise("gaussian"),
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", min=1, help="Number of rows.")] = 1000,
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Bring all columns to mean 0 and variance 1.")
    ] = False,
    seed: options.SeedOption = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Draw a random graph, and data from it: data.csv and truth.csv.

    Then: daguerreotype fit data.csv --truth truth.csv
    """
    paths = [out / "data.csv", out / "truth.csv"]
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise typer.BadParameter(
            f"{' and '.join(there)} would be replaced. Choose another folder, or add --force.", param_hint="--out"
        )
    with show_status(quiet) as status:
        import pandas as pd

        from daguerreotype.simulate import simulate_dag, simulate_data

        status(f"drawing {rows} rows of {columns} columns")
        most = (0.1 if graph == "BP" else 0.25) * columns * (columns - 1)  # leaves room in every family
        n_edges = min(2 * columns, most) if edges is None else edges
        adjacency = simulate_dag(columns, n_edges, graph.value, random_state=seed)
        truth = label(adjacency, [f"x{j}" for j in range(columns)])
        drawn = simulate_data(
            truth, rows, mechanism=mechanism.value, noise=noise.value, standardize=standardize, random_state=seed
        )
        out.mkdir(parents=True, exist_ok=True)
        write_csv(paths[0], pd.DataFrame(drawn.X), index=False)
        write_csv(paths[1], truth)
    if as_json:
        content = {
            "files": list(map(str, paths)),
            "columns": columns,
            "edges": int(adjacency.sum()),
            "graph": graph.value,
            "settings": drawn.settings,
        }
        typer.echo(json.dumps(content, indent=2))
        return
    console = make_screen()
    console.print()
    kind = f"{noise.value} noise" if mechanism not in ("logistic", "poisson") else "no noise term"
    say(console, f"{rows} rows of {columns} columns, {adjacency.sum()} edges, {mechanism.value}, {kind}")
    console.print()
    show_files(console, list(map(str, paths)))
