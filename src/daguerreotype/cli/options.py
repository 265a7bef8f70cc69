"""Which options do several verbs share, and which words do they take?"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Edges(StrEnum):
    """Short names of the edge estimators."""

    GAM = "gam"
    BIC = "bic"
    LARS = "lars"
    LASSO = "lasso"
    LINEAR = "linear"
    MLP = "mlp"


class Operator(StrEnum):
    """Short names of the operators that need nothing but a table."""

    SPARSEMAX = "sparsemax"
    SPARSEMAP = "sparsemap"
    SPARSEMAP_PEEL = "sparsemap-peel"
    RANDOM = "random"


class Transform(StrEnum):
    """Short names of the changes of scale."""

    AUTO = "auto"
    NONE = "none"
    LOG = "log"
    YEO_JOHNSON = "yeo-johnson"


READING = "Reading the table"


def _one_character(value: str | None) -> str | None:
    """A delimiter, by itself or by its name."""
    delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(value or "", value)
    if delimiter is not None and len(delimiter) != 1:
        raise typer.BadParameter(f"{value!r} is not one character, 'tab' or 'space'.")
    return delimiter


EdgesOption = Annotated[
    Edges,
    typer.Option(
        metavar="NAME",
        help="How parents are chosen. gam: smooth effects of any shape; bic: linear, the fastest for many "
        "columns; lars: as in the paper; lasso; linear and mlp: trained by gradient (needs torch).",
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
