"""The house in figures: ``python tests/support/house.py`` prints them, and tests/test_architecture.py bounds them.

What is counted is what is there: the imports of the sources, and the calls of one default fit of five columns.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "daguerreotype"
FILES = sorted(SOURCE.rglob("*.py"))
MANUAL = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "api").glob("*.md")]


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text())


def code_lines(path: Path) -> int:
    """Lines of a file that are neither blank nor comment nor docstring."""
    documented: set[int] = set()
    for node in ast.walk(tree_of(path)):
        documents = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documents and ast.get_docstring(node, clean=False) is not None:
            documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(path.read_text().splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" and i not in documented for i, line in lines)


# ---------------------------------------------------------------------- imports


def imported(path: Path, *, types: bool = True) -> Iterator[Path]:
    """Files of the package that a file imports anywhere in it; with ``types`` for type checkers too."""
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types:
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import: write the full name"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (file for name in names if (file := file_of(name)) is not None and file != path)


def file_of(name: str) -> Path | None:
    """The file that an import of ``package.module.name`` runs last; None for other packages."""
    parts = name.split(".")
    if parts[0] != SOURCE.name:
        return None
    for end in range(len(parts), 0, -1):
        module = SOURCE.joinpath(*parts[1:end])
        for file in (module.with_suffix(".py"), module / "__init__.py"):
            if end > 1 and file.exists():
                return file
    return SOURCE / "__init__.py"


def part_of(path: Path) -> str:
    """The part that a file belongs to: its folder, or itself."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def parts() -> dict[str, set[str]]:
    """The parts that each part imports, without the private machinery, which all do."""
    graph: dict[str, set[str]] = {part_of(path): set() for path in FILES if part_of(path)[0] != "_"}
    for path in FILES:
        part = part_of(path)
        if part in graph:
            graph[part] |= {part_of(file) for file in imported(path)} & graph.keys() - {part}
    return graph


def longest_chain() -> list[str]:
    """The longest chain of parts of which each imports the next; an error if they import one another."""
    graph = parts()

    @cache
    def chain_from(part: str, *above: str) -> tuple[str, ...]:
        assert part not in above, f"{' imports '.join((*above, part))}: imports of parts point one way"
        below = (chain_from(imported_part, *above, part) for imported_part in sorted(graph[part]))
        return (part, *max(below, key=len, default=()))

    return list(max(map(chain_from, sorted(graph)), key=len))


def most_imports() -> tuple[int, str]:
    """How many files of the package the file imports that imports most, and which one that is."""
    return max((len(set(imported(path, types=False))), str(path.relative_to(SOURCE))) for path in FILES)


# ---------------------------------------------------------------------- one default fit


class Trace:
    """The functions of the package that one default fit of five columns enters.

    Attributes
    ----------
    functions : set of (file, line, name)
        Lambdas and comprehensions belong to the functions that they are in.
    above_adam : list of str
        The functions between ``fit`` and the one in which Adam steps, both left out.
    learner : Daguerreotype
        The fitted one.
    """

    def __init__(self) -> None:
        import pandas as pd

        from daguerreotype import Daguerreotype
        from daguerreotype.datasets import load_sachs

        X = pd.DataFrame(load_sachs().X).iloc[:300, :5]
        Daguerreotype().fit(X)  # imports and compiles what is not there yet
        self.functions: set[tuple[str, int, str]] = set()
        self.above_adam: list[str] = []
        self.learner: Any = Daguerreotype()
        before = sys.getprofile()
        sys.setprofile(self._enter)
        try:
            self.learner.fit(X)
        finally:
            sys.setprofile(before)

    def _enter(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SOURCE)) or code.co_name.startswith("<"):
            return
        self.functions.add((code.co_filename, code.co_firstlineno, code.co_qualname))
        if code.co_qualname.startswith("Adam.") and not self.above_adam:
            names: list[str] = []
            above = frame.f_back
            while above is not None and above.f_code.co_qualname != "Daguerreotype.fit":
                if above.f_code.co_filename.startswith(str(SOURCE)):
                    names.append(above.f_code.co_qualname)
                above = above.f_back
            if above is not None:
                self.above_adam = names[:0:-1]

    @property
    def files(self) -> int:
        """How many files they are in."""
        return len({file for file, _, _ in self.functions})

    @property
    def attributes(self) -> list[str]:
        """Names of what the fit leaves for users."""
        return [name for name in dir(self.learner) if name.endswith("_") and name[0] != "_"]


def figures() -> dict[str, int]:
    """All of them by name."""
    from daguerreotype import Daguerreotype

    trace = Trace()
    return {
        "code lines": sum(map(code_lines, FILES)),
        "files": len(FILES),
        "longest chain of imports between parts": len(longest_chain()),
        "most imports of one module": most_imports()[0],
        "files of a default fit": trace.files,
        "functions of a default fit": len(trace.functions),
        "frames from fit to the Adam loop": len(trace.above_adam),
        "constructor parameters": len(inspect.signature(Daguerreotype).parameters),
        "fitted attributes": len(trace.attributes),
        "lines of tests": sum(len(path.read_text().splitlines()) for path in (ROOT / "tests").rglob("*.py")),
        "words of the manual": sum(len(path.read_text().split()) for path in MANUAL),
    }


if __name__ == "__main__":
    for name, count in figures().items():
        print(f"{count:>7,}  {name}")  # noqa: T201
    print("\nlongest chain:", " > ".join(longest_chain()))  # noqa: T201
    print("most imports:", most_imports()[1])  # noqa: T201
