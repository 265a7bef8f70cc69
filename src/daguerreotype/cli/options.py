"""Options that several verbs share, the words that they take, and the files that they name."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daguerreotype._lib.progress import Status
from daguerreotype.data.scales import SCALES
from daguerreotype.edges.registry import EDGES
from daguerreotype.operators.registry import OPERATORS

if TYPE_CHECKING:
    import pandas as pd

    from daguerreotype.data.readers import Input
    from daguerreotype.knowledge import Knowledge


def choices(names: Iterable[str]) -> dict[str, str]:
    """Members of the enumeration by which Typer checks, completes and lists the words that an option takes."""
    return {name: name for name in names}


Edges = StrEnum("Edges", choices(EDGES))  # type: ignore[misc]
Operator = StrEnum(  # type: ignore[misc]
    "Operator", choices(name for name, entry in OPERATORS.items() if entry.order != "given")
)
Transform = StrEnum("Transform", choices(("auto", *SCALES)))  # type: ignore[misc]
READING = "Reading the table"


def _described(registry: Mapping[str, Any], names: Iterable[str]) -> str:
    """What the parts are for, in one line each."""
    return "; ".join(f"{name}: {registry[name].help}" for name in names if name in registry) + "."


def _one_character(value: str | None) -> str | None:
    """A delimiter, by itself or by its name."""
    delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(value or "", value)
    if delimiter is not None and len(delimiter) != 1:
        raise typer.BadParameter(f"{value!r} is not one character, 'tab' or 'space'.")
    return delimiter


DataArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Table with one numeric column per variable: CSV, Parquet, or - for CSV on standard input. "
        "Without it: the Sachs protein network.",
    ),
]
EdgesOption = Annotated[
    Edges,
    typer.Option(
        metavar="NAME",
        help=f"How parents are chosen. {_described(EDGES, EDGES)}",
    ),
]
OperatorOption = Annotated[
    Operator,
    typer.Option(
        metavar="NAME",
        help=f"How scores become orders. {_described(OPERATORS, Operator)}",
    ),
]
TransformOption = Annotated[
    Transform,
    typer.Option(
        metavar="NAME",
        help=f"Change of scale of every column; auto keeps the likeliest. {_described(SCALES, SCALES)}",
    ),
]
KnowledgeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="TOML or JSON file with what is known: forbidden, required, tiers, roots, leaves.",
    ),
]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same result.")]
TruthOption = Annotated[
    Path | None,
    typer.Option(
        metavar="GRAPH.csv",
        show_default=False,
        help="Known graph to compare with: a list with columns cause and effect, or a 0/1 matrix with a row "
        "per cause and a column per effect.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")]
DropOption = Annotated[
    list[str],
    typer.Option(
        "--drop",
        metavar="COLUMN",
        show_default=False,
        rich_help_panel=READING,
        help="Leave a column out; repeatable.",
    ),
]
DropNonNumericOption = Annotated[
    bool,
    typer.Option("--drop-non-numeric", rich_help_panel=READING, help="Leave out columns that hold no numbers."),
]
DropMissingOption = Annotated[
    bool, typer.Option("--drop-missing", rich_help_panel=READING, help="Leave out rows with empty cells.")
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        callback=_one_character,
        show_default="detected",
        rich_help_panel=READING,
        help="What separates the cells of a text file; 'tab' and 'space' are understood.",
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        show_default="detected",
        rich_help_panel=READING,
        help="Whether the first line names the columns.",
    ),
]


def read_table(status: Status, data: Path | None, *reading: Any) -> "Input":
    """The table at ``data``, or that of Sachs, read as `Reading` says; its notes are shown."""
    from daguerreotype.cli.inputs import read_input
    from daguerreotype.data.readers import Reading

    table = read_input(data, Reading(*reading))
    for note in table.notes:
        status.note(f"note: {note}")
    return table


def read_truth(truth: Path | None, task: "Input") -> "pd.DataFrame | None":
    """The graph to compare with: of a file, or the one that ships with the table."""
    from daguerreotype.data.graph_files import read_graph

    return task.known if truth is None else read_graph(truth, tuple(task.table.columns))


def read_knowledge(path: Path | None) -> "Knowledge | None":
    """What is known, of a file if there is one."""
    from daguerreotype.knowledge import Knowledge

    return None if path is None else Knowledge.from_file(path)
