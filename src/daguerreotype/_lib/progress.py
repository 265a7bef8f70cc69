"""How does a person see that a long fit is moving? One bar, drawn by rich, or nothing at all."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

NARROW = 100  # columns of a terminal, below which some of what a bar shows must go


@dataclass(frozen=True)
class Progress:
    """What a display is told of one training step."""

    phase: Literal["train", "refine", "resume"]
    objective: float
    support: int
    hit_rate: float


class ProgressBar:
    """Shows objective, support size and cache hits while training; silent unless ``verbose``."""

    def __init__(self, verbose: int, max_iter: int) -> None:
        self.verbose, self.max_iter = verbose, max_iter
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if self.verbose:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            console = Console(stderr=True)
            narrow = console.width < NARROW
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(10 if narrow else 40),
                MofNCompleteColumn(),
                *([] if narrow else [TimeElapsedColumn()]),
                TextColumn("{task.fields[seen]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
                console=console,
                transient=console.is_terminal,  # elsewhere the last state is all that is ever shown
                expand=True,
            )
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, name: str, progress: Progress) -> None:
        """Take in one training step of the model called ``name``."""
        if self._bar is None:
            return
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=self.max_iter, seen="")
        seen = (
            f"objective {progress.objective:.4f}, {progress.support} orders, {progress.hit_rate:.0%} cache hits "
            f"({progress.phase})"
        )
        self._bar.update(self._tasks[name], advance=1, seen=seen)

    def rows(self, count: int) -> None:
        """Take in that ``count`` more rows were read."""
        if self._bar is None:
            return
        if "rows" not in self._tasks:
            self._tasks["rows"] = self._bar.add_task("rows read", total=None, seen="")
        self._bar.update(self._tasks["rows"], advance=count)
