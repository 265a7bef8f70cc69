"""Imports point one way, extras are imported where they are used, and every part of the house is known."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "daguerreotype"
# From the ground up. A part may import what stands in a layer below its own, or to its left within it.
LAYERS = [
    ("_lib",),
    ("operators", "graphs", "knowledge", "data"),
    ("noise", "metrics", "simulate", "datasets"),
    ("edges",),
    ("training",),
    ("completion", "posterior", "result", "candidate", "gap_rounds", "pipeline", "bagging", "paper", "imputation"),
    ("persistence", "bootstrap", "plotting", "report"),
    ("learner",),
    ("baselines", "tune", "experiments"),
    ("cli",),
]
RANK = {part: rank for rank, part in enumerate(part for layer in LAYERS for part in layer)}
HEAVY = ("torch", "matplotlib", "dask", "distributed", "optuna", "castle", "dagma", "causallearn", "lingam")
# The only module that imports an extra as it loads; it is itself imported where it is used.
MAY_NEED = {SOURCE / "plotting" / "backend.py"}
# What makes replacements, and what opens files of locks, which hold nothing.
MAY_OPEN_FOR_WRITING = {SOURCE / "_lib" / "replacement.py", SOURCE / "experiments" / "store.py"}
FILES = sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(tree: ast.AST, top_level_only: bool = False):
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import: write the full name"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_there_are_at_most_nine_layers_above_the_private_one():
    assert len(LAYERS) <= 10


def test_every_part_has_its_place():
    parts = {part_of(path) for path in FILES} - {"__init__"}
    assert parts == set(RANK), "add a new part to LAYERS, and to the map in docs/architecture.md"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    part = part_of(path)
    for module in imported_modules(ast.parse(path.read_text())):
        head, _, rest = module.partition(".")
        other = rest.split(".")[0]
        if head == "daguerreotype" and other in RANK and part in RANK:
            assert RANK[other] <= RANK[part], f"{path.name} of {part} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_extras_are_imported_where_they_are_used_and_not_at_the_top_of_a_module(path):
    if path not in MAY_NEED:
        for module in imported_modules(ast.parse(path.read_text()), top_level_only=True):
            assert module.split(".")[0] not in HEAVY, f"{path.name} imports {module} at module level"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_opens_with_a_noun_phrase_not_with_a_question(path):
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0]
    assert first, "a file says in its first line what it holds"
    assert "?" not in first


def test_protocols_of_estimators_are_all_in_one_file():
    for path in FILES:
        if part_of(path) == "edges" and path != SOURCE / "edges" / "base.py":
            assert "(Protocol)" not in path.read_text(), f"{path.name} defines a protocol"


def test_no_methods_are_set_on_objects_and_nothing_hangs_on_the_end_of_a_name():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr"
            assert not (called and part_of(path) in ("edges", "training", "persistence")), path


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_are_written_by_replacement_alone(path):
    """So that no kill leaves half a page, and no two processes mix theirs."""
    if path in MAY_OPEN_FOR_WRITING:
        return
    for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", None))
        assert name not in ("write_text", "write_bytes", "to_parquet"), f"line {call.lineno}: {name}"
        modes = [each.value for each in (*call.args, *(kw.value for kw in call.keywords)) if _is_text(each)]
        written = name == "open" and any(set(mode) <= set("wxbt+") and set(mode) & set("wx") for mode in modes)
        assert not written, f"line {call.lineno} opens a file for writing: use _lib/replacement.py"
        if name in ("to_csv", "savefig"):
            target = getattr(call.args[0], "id", None) if call.args else None
            assert target == "file", f"line {call.lineno}: {name} is for a file of _lib/replacement.replaced"


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
