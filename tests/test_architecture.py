"""The house in figures, which may not grow; imports point one way, and extras are imported where they are used."""

import ast
from pathlib import Path

import pytest

from support.house import FILES, ROOT, SOURCE, figures, imported, longest_chain, part_of, parts, tree_of

# What is aimed at stands behind what is true. `python tests/support/house.py` prints what is counted.
LIMITS = {
    "code lines": 24_680,  # 20,000
    "files": 198,
    "longest chain of imports between parts": 11,
    "most imports of one module": 15,
    "files of a default fit": 66,  # 55
    "functions of a default fit": 460,  # 320
    "frames from fit to the Adam loop": 3,
    "constructor parameters": 16,
    "fitted attributes": 17,  # 16
    "lines of tests": 27_720,  # 23,000
    "words of the manual": 16_000,  # without the notebook
}
# Names that say nothing of what they hold. `left` is the opposite of `right`, and no word for what remains.
SAY_NOTHING = {"each", "found", "some", "told", "known", "others"}
HEAVY = ("torch", "matplotlib", "dask", "distributed", "optuna", "castle", "dagma", "causallearn", "lingam")
# The only module that imports an extra as it loads; it is itself imported where it is used.
MAY_NEED = {SOURCE / "plotting" / "backend.py"}
# What makes replacements, and what opens files of locks, which hold nothing.
MAY_WRITE = {SOURCE / "_lib" / "files.py"}


def test_the_house_does_not_grow():
    assert {name: count for name, count in figures().items() if count > LIMITS[name]} == {}


def test_imports_of_parts_point_one_way():
    """So that a part can be read, and tested, without those above it."""
    assert longest_chain()
    graph = parts()
    for path in FILES:
        below = {part_of(file) for file in imported(path)}
        assert part_of(path) != "_lib" or below <= {"_lib"}, f"{path} of the private machinery imports {below}"
    assert not graph["operators"] | graph["knowledge"], "the ground needs nothing of the package"


def test_the_map_names_every_part():
    page = (ROOT / "docs" / "architecture.md").read_text()
    for path in FILES:
        part = part_of(path)
        assert part == "__init__" or f"`{part}/" in page or f"`{part}.py`" in page, f"{part} is not on the map"


def test_extras_are_imported_where_they_are_used_and_not_at_the_top_of_a_module():
    for path in FILES:
        for node in tree_of(path).body if path not in MAY_NEED else []:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & set(HEAVY), f"{path} imports {names} as it loads"


def test_a_file_opens_with_a_noun_phrase_not_with_a_question():
    for path in FILES:
        first = (ast.get_docstring(tree_of(path)) or "").split("\n")[0]
        assert first, f"{path}: a file says in its first line what it holds"
        assert "?" not in first, path


def test_names_say_what_they_hold():
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.id if stored else getattr(node, "arg" if isinstance(node, ast.arg) else "name", None)
            assert name not in SAY_NOTHING, f"{path}, line {node.lineno}: {name!r}: say what it is"


def test_protocols_of_estimators_are_all_in_one_file():
    for path in FILES:
        if part_of(path) == "edges" and path != SOURCE / "edges" / "base.py":
            assert "(Protocol)" not in path.read_text(), f"{path} defines a protocol"


def test_no_methods_are_set_on_objects():
    for path in FILES:
        for call in calls_in(path):
            setting = getattr(call.func, "id", None) == "setattr"
            assert not (setting and part_of(path) in ("edges", "training", "persistence")), path


def test_files_are_written_by_replacement_alone():
    """So that no kill leaves half a page, and no two processes mix theirs."""
    for path in FILES:
        for call in calls_in(path) if path not in MAY_WRITE else []:
            problem = writes(call)
            assert problem is None, f"{path}, line {call.lineno}: {problem}: use _lib/files.py"


def calls_in(path):
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]


def writes(call):
    """What a call writes that should be replaced; None if it writes nothing."""
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    values = [
        each.value for each in (*call.args, *(kw.value for kw in call.keywords)) if isinstance(each, ast.Constant)
    ]
    modes = [mode for mode in values if isinstance(mode, str)]
    if name in ("write_text", "write_bytes", "to_parquet"):
        return name
    if name == "open" and any(set(mode) <= set("wxbt+") and set(mode) & set("wx") for mode in modes):
        return "opens a file for writing"
    if name in ("to_csv", "savefig") and (getattr(call.args[0], "id", None) if call.args else None) != "file":
        return f"{name} is for a file of `replaced`"
    return None


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("open(path, 'w')", "opens a file for writing"),
        ("path.open(mode='xb')", "opens a file for writing"),
        ("path.write_text('a')", "write_text"),
        ("frame.to_csv(path)", "to_csv is for a file of `replaced`"),
        ("frame.to_csv(file)", None),
        ("open(path, 'rb')", None),
    ],
)
def test_what_writes_a_file_is_known(code, problem):
    assert writes(ast.parse(code).body[0].value) == problem


def test_a_module_that_is_imported_counts_once_however_it_is_named(tmp_path):
    path = tmp_path / "user.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "import daguerreotype.data.kinds\n"
        "from daguerreotype.data.kinds import Kind, KINDS\n"
        "from daguerreotype.edges import registry\n"
        "if TYPE_CHECKING:\n"
        "    from daguerreotype.learner import Daguerreotype\n"
        "def later():\n"
        "    from daguerreotype.noise import NOISE\n"
    )
    names = {str(Path(file).relative_to(SOURCE)) for file in imported(path, types=False)}
    assert names == {"data/kinds.py", "edges/registry.py", "noise/__init__.py"}
    assert SOURCE / "learner.py" in set(imported(path))
