"""Imports point one way: operators <- edges <- training <- model <- experiments, tune, report <- cli."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "daguerreotype"

LEAVES = {"arrays", "archive", "record_lines"}
MAY_IMPORT = {
    "operators": set(),
    "graphs": LEAVES,
    "metrics": LEAVES | {"graphs"},
    "simulate": LEAVES | {"graphs"},
    "datasets": LEAVES | {"graphs"},
    "result": LEAVES | {"operators"},
    "moments": LEAVES | {"columns", "operators"},
    "edges": LEAVES | {"operators", "result", "moments"},
    "training": LEAVES | {"operators", "result", "edges"},
    "baselines": LEAVES | {"operators", "result", "edges", "graphs", "columns"},
    "knowledge": LEAVES,
    "interventions": LEAVES,
    "settings": LEAVES | {"edges", "knowledge"},
    "records": LEAVES | {"operators", "result", "edges", "training", "transforms", "fitted"},
    "persistence": LEAVES | {"fitted", "records", "settings"},
    "columns": LEAVES,
    "transforms": LEAVES,
    "fitted": LEAVES | {"edges", "training", "transforms", "progress", "moments"},
    "streamable": LEAVES | {"edges", "columns", "moments"},
    "streamed": LEAVES | {"edges", "transforms", "fitted", "progress", "moments", "streamable"},
    "progress": {"training"},
    "fitted_learner": LEAVES
    | {"columns", "fitted", "bootstrap", "interventions", "persistence", "plotting", "report"},
    "model": LEAVES
    | {"operators", "edges", "training", "knowledge", "settings", "columns", "fitted", "fitted_learner"}
    | {"progress", "paper", "interventions", "moments", "streamable", "streamed"},
    "bootstrap": LEAVES | {"operators"},
    "paper": {"edges"},
    "tune": LEAVES | {"bootstrap", "operators", "edges", "metrics", "simulate", "model"},
    "plotting": LEAVES | {"graphs", "operators", "result"},
    "experiments": LEAVES
    | {"model", "baselines", "bootstrap", "datasets", "edges", "graphs", "metrics", "operators", "paper"}
    | {"plotting", "simulate"},
    "report": LEAVES | {"graphs", "metrics", "plotting", "result"},
    "arrays": set(),
    "archive": set(),
    "record_lines": set(),
}
# The only modules that import torch or matplotlib as they load; they are themselves imported where they are used.
MAY_NEED_MATPLOTLIB = {SOURCE / "plotting" / "needs_matplotlib.py"}
MAY_NEED_TORCH = {SOURCE / "operators" / "torch.py", SOURCE / "edges" / "needs_torch.py"}
HEAVY = ("torch", "matplotlib", "dask", "distributed", "optuna", "castle", "dagma", "causallearn", "lingam")


def files():
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported_modules(tree: ast.AST, top_level_only: bool = False):
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import: write the full name"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    part = part_of(path)
    if part not in MAY_IMPORT:  # the top of the house (package root, cli) may see everything
        return
    allowed = MAY_IMPORT[part] | {part}
    for module in imported_modules(ast.parse(path.read_text())):
        if module.startswith("daguerreotype."):
            assert module.split(".")[1] in allowed, f"{path.name} of {part} imports {module}"


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_extras_are_imported_where_they_are_used_and_not_at_the_top_of_a_module(path):
    if path in MAY_NEED_TORCH | MAY_NEED_MATPLOTLIB:
        return
    for module in imported_modules(ast.parse(path.read_text()), top_level_only=True):
        assert module.split(".")[0] not in HEAVY, f"{path.name} imports {module} at module level"
