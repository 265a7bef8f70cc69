"""Terminal output: tables, facts and lines of text, also where it goes to a file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from daguerreotype._lib.labels import printable

LINE = 100  # characters of a line of text


def make_screen(console: Console | None = None) -> Console:
    """Standard output; a file has no right border, so nothing is cut there."""
    console = console or Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 10_000
    console.push_render_hook(_Spelling())
    return console


class _Spelling(RenderHook):
    """Spells out what names hold for the terminal to obey, in everything that is printed."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """The same things, each with printable text alone."""
        return [_Spelled(thing) for thing in renderables]


@dataclass(frozen=True)
class _Spelled:
    """A thing to print whose text is printable; rich's own codes are styles, which come later."""

    thing: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.thing, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self.thing)


def say(console: Console, text: Text | str = "", style: str = "") -> None:
    """A line of text, indented as the tables are."""
    line = Text(text, style=style) if isinstance(text, str) else text
    console.print(Padding(line, (0, 0, 0, 2), expand=False))


def show_facts(console: Console, rows: Mapping[str, Sequence[Text]]) -> None:
    """Names on the left, what there is to say on the right."""
    grid = Table.grid(padding=(0, 2))
    for name, cells in rows.items():
        grid.add_row(Text(name, style="cyan"), *cells)
    console.print(Padding(grid, (0, 0, 0, 2), expand=False), width=min(console.width, LINE))


def make_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """An empty table; long words go on in the next line, and those ``right`` are numbers."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for column in columns:
        justify: Any = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold")
    return table


def show_files(console: Console, paths: Sequence[str]) -> None:
    """Where results were written to, one path a line."""
    say(console, "Written", style="bold")
    console.print()
    for path in paths:
        console.print(Text(f"  {path}"), soft_wrap=True)
    console.print()
