"""Options that several verbs share, the words that they take, and the files that they name."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from daguerreotype._lib.progress import Status
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
Operator = StrEnum("Operator", choices(OPERATORS))  # type: ignore[misc]
Training = StrEnum("Training", choices(("bilevel", "joint")))  # type: ignore[misc]
# Those of data.scales, in their words: importing them would take a second.
SCALES = {
    "none": "columns as they are",
    "log": "logarithms, shifted where a column is not positive",
    "yeo-johnson": "powers that make each column look most Gaussian",
}
Missing = StrEnum("Missing", choices(("auto", "error", "drop")))  # type: ignore[misc]
P = ParamSpec("P")
_reading = partial(typer.Option, rich_help_panel="Reading the table")


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
        help="Table with one column per variable, of numbers or of text: CSV, Parquet, or - for CSV on standard "
        "input. Without it: the Sachs protein network.",
    ),
]
EdgesOption = Annotated[
    Edges, typer.Option(metavar="NAME", help=f"How parents are chosen. {_described(EDGES, EDGES)}")
]
OperatorOption = Annotated[
    Operator, typer.Option(metavar="NAME", help=f"How scores become orders. {_described(OPERATORS, OPERATORS)}")
]
TrainingOption = Annotated[
    Training,
    typer.Option(
        metavar="NAME",
        help="How they are learned. bilevel: edges of every order on their own; joint: one set of edges for all, "
        "for linear and mlp edges only.",
    ),
]
ScalesOption = Annotated[
    str,  # the learner knows all that are registered
    typer.Option(
        metavar="NAME",
        help="Change of scale of all columns; auto finds the likeliest of each. "
        + "; ".join(f"{name}: {what}" for name, what in SCALES.items())
        + ".",
    ),
]
KnowledgeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="TOML or JSON file with what is known: forbidden, required, tiers, roots, leaves, max_parents.",
    ),
]
MaxParentsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        show_default=False,
        help="How many causes a column may have at most, in place of what the file of --knowledge says of it.",
    ),
]
KindOption = Annotated[
    list[str],
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        show_default=False,
        help="How a column is measured, where types and values do not tell: continuous, count, binary, ordinal or "
        "categorical; repeatable.",
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


def read_table(
    status: Status,
    data: Path | None,
    interventions: str | None = None,
    kinds: Mapping[str, str] | None = None,
    numbers_alone: bool = False,
    complete: bool = False,
    *,
    drop: Annotated[list[str], _reading("--drop", metavar="COLUMN", help="Leave a column out; repeatable.")] = [],  # noqa: B006
    missing: Annotated[
        Missing,
        _reading(
            "--missing",
            help="Rows with empty cells: learn from them, leave them out, or refuse. Other methods cannot "
            "learn from them.",
        ),
    ] = Missing("auto"),
    delimiter: Annotated[
        str | None,
        _reading(
            metavar="CHAR",
            callback=_one_character,
            show_default="detected",
            help="What separates the cells of a text file; 'tab' and 'space' are understood.",
        ),
    ] = None,
    header: Annotated[
        bool | None,
        _reading(
            "--header/--no-header", show_default="detected", help="Whether the first line names the columns."
        ),
    ] = None,
) -> "Input":
    """The table at ``data``, or that of Sachs, read as the options say; its notes are shown.

    Columns of text are levels, unless ``kinds`` say otherwise or ``numbers_alone`` are asked for. Rows with empty
    cells are refused, unless asked for otherwise, where the table must be ``complete``.
    """
    from daguerreotype.cli.inputs import read_input
    from daguerreotype.data.readers import Reading

    kept = "error" if complete and missing.value == "auto" else missing.value
    reading = Reading(drop, kept, delimiter, header, interventions, kinds or {}, numbers_alone)
    table = read_input(data, reading)
    for note in table.notes:
        status.note(f"note: {note}")
    return table


def read_kinds(texts: Iterable[str]) -> dict[str, str]:
    """Kinds by column, of texts such as age=count."""
    from daguerreotype.data.kinds import check_names

    kinds: dict[str, str] = {}
    for text in texts:
        column, equals, kind = text.rpartition("=")
        if not (column and equals):
            raise typer.BadParameter(f"{text!r} is not COLUMN=KIND, such as age=count.", param_hint="--kind")
        try:
            check_names({column: kind})
        except ValueError as error:
            raise typer.BadParameter(str(error).removeprefix("kinds says that "), param_hint="--kind") from None
        kinds[column] = kind
    return kinds


def with_reading(verb: Callable[P, None]) -> Callable[P, None]:
    """Declare the options of `read_table` where ``verb`` takes ``**reading``."""
    signature = inspect.signature(verb)
    *own, _ = signature.parameters.values()
    options = inspect.signature(read_table).parameters.values()
    shared = [option for option in options if option.kind is option.KEYWORD_ONLY]
    verb.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    return verb


def read_truth(truth: Path | None, task: "Input") -> "pd.DataFrame | None":
    """The graph to compare with: of a file, or the one that ships with the table."""
    from daguerreotype.graphs.files import read_graph

    return task.graph if truth is None else read_graph(truth, tuple(task.table.columns))


def read_knowledge(path: Path | None, max_parents: int | None = None) -> "Knowledge | None":
    """What is known, of a file if there is one, with the limit of the option in place of that of the file."""
    from daguerreotype.knowledge import Knowledge

    knowledge = None if path is None else Knowledge.of(path)
    if max_parents is None:
        return knowledge
    return replace(knowledge or Knowledge(), max_parents=max_parents)
