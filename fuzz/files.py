"""Hostile files: altered and cut ones, bombs, specifications that would run code, and names that would."""

import gzip
import io
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from daguerreotype import Daguerreotype
from fuzz import kills
from fuzz.forked import Ended, run_command, run_forked
from fuzz.inputs import CODES, SPEC, check_error
from fuzz.kills import OPERATIONS, bits, learner, table
from fuzz.strategies import HOSTILE_NAMES, hold

MEGABYTE = 1 << 20
MOST_MEMORY = 600 * MEGABYTE  # that reading a hostile file of a few megabytes may take
ADDRESS_SPACE = 6000 * MEGABYTE  # where a bomb is stopped
DOCUMENTED = (ValueError, TypeError, OSError)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# Files that are altered, and the operation that makes them.
ALTERED = {
    "model.npz": "save",
    "fit.checkpoint": "fit",
    "posterior.checkpoint": "posterior",
    "bootstrap.journal": "bootstrap",
    "results/runs.jsonl": "reproduce",
}
BOMBS = ("claimed shape", "wide items", "zeros", "gzip", "endless", "deep knowledge", "long line")
METHODS = (
    'estimator = "os:system"\nsettings = { command = "touch pwned" }',
    'estimator = "subprocess:Popen"\nsettings = { args = ["touch", "pwned"] }',
    'estimator = "builtins:open"\nsettings = { file = "pwned", mode = "w" }',
    'estimator = "pathlib:Path.touch"\nsettings = { self = "pwned" }',
    'estimator = "pwned:main"\nsettings = {}',
)
PATHS = ("../../pwned", "{folder}/pwned", "a/../../../pwned", "~/pwned", "..", "con\x00cealed", "x" * 400)
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "empty": lambda array: array[:0],
    "transposed": lambda array: array.T if array.ndim > 1 else array[None, :],
    "one more": lambda array: np.concatenate([array, array[-1:]]),
    "nan": lambda array: np.full_like(array, np.nan, dtype=float),
    "huge": lambda array: np.full(array.shape, 2**62),
    "negative": lambda array: np.full(array.shape, -1),
    "complex": lambda array: np.full(array.shape, 1j),
    "text": lambda array: np.full(array.shape, "text"),
}
VALUES: tuple[Any, ...] = (None, [], -1.0, 0.5, 1e300, 2.0**70, "__class__", {"a": [[[[1]]]]})

# ------------------------------------------------------------------ cases


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """A hostile file of some kind."""
    what = draw(st.sampled_from(["bytes"] * 6 + ["members"] * 5 + ["names"] * 6 + ["bomb", "spec"]))
    share = st.floats(0, 1, width=32, exclude_max=True)
    if what == "bytes":
        edit = st.tuples(st.sampled_from(["flip", "cut", "zero", "insert"]), share, st.sampled_from([1, 64, 1000]))
        return {
            "what": what,
            "file": draw(st.sampled_from(sorted(ALTERED))),
            "edits": draw(st.lists(edit, min_size=1, max_size=3)),
        }
    if what == "members":
        array = st.tuples(share, st.sampled_from([*ARRAYS, "drop"]))
        value = st.tuples(share, st.integers(-1, len(VALUES) - 1))
        return {
            "what": what,
            "file": draw(st.sampled_from(["model.npz"] * 3 + ["fit.checkpoint", "posterior.checkpoint"])),
            "arrays": draw(st.lists(array, max_size=2)),
            "header": draw(st.lists(value, max_size=2)),
        }
    if what == "bomb":
        return {"what": what, "bomb": draw(st.sampled_from(BOMBS))}
    if what == "spec":
        return {
            "what": what,
            "method": draw(st.none() | st.sampled_from(METHODS)),
            "path": draw(st.sampled_from(PATHS)),
        }
    names = st.lists(st.sampled_from(HOSTILE_NAMES), min_size=2, max_size=4, unique=True)
    return {"what": what, "names": draw(names), "by": draw(st.sampled_from(sorted(BY)))}


def warm() -> None:
    """The same as for kills."""
    kills.warm()


def check(case: dict[str, Any]) -> str:
    """Read the file, and see what it does."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "a" / "b" / "work"
        folder.mkdir(parents=True)
        kinds = {"bytes": _bytes, "members": _members, "bomb": _bomb, "spec": _spec, "names": _names}
        word = kinds[case["what"]](case, folder)
        strays = [
            path for path in [*Path(place).rglob("*"), Path("/pwned")] if "pwned" in path.name and path.exists()
        ]
        hold(not strays, f"{case['what']}: something was run or written: {strays[:1]}")
    return word


# ------------------------------------------------------------------ altered files


@cache
def _good(name: str) -> tuple[Path, Ended]:
    """A folder with the good file, made by the operation that writes it, and how reading it ends."""
    folder = Path(tempfile.mkdtemp(prefix="good-"))
    table().to_csv(folder / "table.csv", index=False)
    (folder / "spec.toml").write_text(SPEC)
    ended = run_forked(OPERATIONS[ALTERED[name]].work, folder)
    hold(ended.code == 0 and (folder / name).is_file(), f"{name} cannot be made: {ended}")
    return folder, run_forked(_reader(name), folder, memory=ADDRESS_SPACE)


def _reader(name: str) -> Callable[[], Any]:
    """What reads a file of this name, and uses what it read."""
    return use_model if name == "model.npz" else OPERATIONS[ALTERED[name]].work


def use_model() -> Any:
    """Load a model and ask it everything."""
    model = Daguerreotype.load("model.npz")
    X = table()
    answer = bits(model)
    for question in (
        lambda: repr(model),
        lambda: model.score(X),
        lambda: model.impute(X.head(3)).table,
        lambda: model.equivalence_class(),
        lambda: model.causal_graph_,
        lambda: (model.edges_, model.columns_),
        lambda: model.sample_posterior(5),
        lambda: model.report("page.html", X),
        lambda: model.save("again.npz"),
    ):
        try:
            question()
        except DOCUMENTED as error:
            check_error(error, "a loaded model")
    return answer


def _bytes(case: dict[str, Any], folder: Path) -> str:
    """Bytes that were flipped, cut, zeroed or put in: an error that says so, or the right answer."""
    name = case["file"]
    start, good = _good(name)
    shutil.copytree(start, folder, dirs_exist_ok=True)
    whole = (folder / name).read_bytes()
    content = bytearray(whole)
    for how, share, size in case["edits"]:
        at = int(share * len(content))
        if how == "flip" and content:
            content[at] ^= 1 << (size % 8)
        elif how == "cut":
            del content[at:]
        elif how == "zero":
            content[at : at + size] = bytes(len(content[at : at + size]))
        elif how == "insert":
            content[at:at] = bytes(range(256))[:size] * (1 + size // 256)
    (folder / name).write_bytes(bytes(content))
    ended = run_forked(_reader(name), folder, memory=ADDRESS_SPACE)
    word = _judge(ended, name)
    hold(word == "refused" or ended.result == good.result, f"{name}: an altered file gives another answer")
    hold(word != "refused" or bytes(content) != whole, f"{name}: refused as it was: {ended}")
    return word


def _members(case: dict[str, Any], folder: Path) -> str:
    """An archive that is whole, with other arrays or another header: an error, or something to use."""
    name = case["file"]
    shutil.copytree(_good(name)[0], folder, dirs_exist_ok=True)
    with np.load(folder / name, allow_pickle=False) as archive:
        arrays = {member: archive[member] for member in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    for share, how in case["arrays"]:
        chosen = sorted(arrays)[int(share * len(arrays))]
        if how == "drop":
            del arrays[chosen]
        else:
            arrays[chosen] = ARRAYS[how](np.atleast_1d(arrays[chosen]))
    for share, index in case["header"]:
        places = list(_places(header))
        holder, key = places[int(share * len(places))]
        if index >= 0:
            holder[key] = VALUES[index]
        else:
            del holder[key]
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(folder / name, "wb") as file:
        np.savez(file, header=text, **arrays)
    return _judge(run_forked(_reader(name), folder, memory=ADDRESS_SPACE), name)


def _places(value: Any) -> Any:
    """Every place within JSON, as what holds it and its key."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(entries):
        yield value, key
        yield from _places(inner)


def _judge(ended: Ended, name: str) -> str:
    """A documented error or an end, within bounds of memory."""
    hold(ended.signal is None, f"{name}: {ended}")
    hold(ended.grown < MOST_MEMORY, f"{name}: takes {ended.grown // MEGABYTE} MB")
    if isinstance(ended.result, BaseException):
        check_error(ended.result, name)
        return "refused"
    hold(ended.code in CODES, f"{name}: {ended}")
    return "refused" if ended.code else "used"


# ------------------------------------------------------------------ bombs


def _bomb(case: dict[str, Any], folder: Path) -> str:
    """A small file that would take a lot of memory, or has no end: an error, or the little that it is worth."""
    bomb = case["bomb"]
    if bomb in ("claimed shape", "wide items", "zeros"):
        shutil.copytree(_good("model.npz")[0], folder, dirs_exist_ok=True)
        shape, kind = ((1,), "<U500000000") if bomb == "wide items" else ((2**33,), "<f8")
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": kind, "fortran_order": False, "shape": shape})
        size = 1200 * MEGABYTE if bomb == "zeros" else 64
        with (
            zipfile.ZipFile(folder / "model.npz", "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            archive.open("bomb.npy", "w", force_zip64=True) as member,
        ):
            member.write(head.getvalue())
            for _ in range(max(size // MEGABYTE, 1)):
                member.write(bytes(min(size, MEGABYTE)))
        return _judge(run_forked(use_model, folder, memory=ADDRESS_SPACE), f"bomb, {bomb}")
    (folder / "good.csv").write_text(table().to_csv(index=False))
    words = ["fit", "bomb.csv.gz", "--quiet", "--json", "--edges", "bic"]
    if bomb == "gzip":
        member = gzip.compress(b"1,2\n" * (MEGABYTE * 4), 9)
        (folder / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n") + member * 190)
    elif bomb == "long line":
        (folder / "bomb.csv.gz").write_bytes(gzip.compress(b"1" * (64 * MEGABYTE), 9) * 40)
    elif bomb == "endless":
        words[1] = "/dev/zero"
    else:
        (folder / "known.json").write_text('{"forbidden": ' + "[" * 100_000 + "]" * 100_000 + "}")
        words[1:2] = ["good.csv", "--knowledge", "known.json"]
    return _judge(run_command(words, folder, memory=ADDRESS_SPACE), f"bomb, {bomb}")


def _spec(case: dict[str, Any], folder: Path) -> str:
    """A specification that names a callable, or a path outside of ``--out``: nothing of it is run or written."""
    if case["method"] is not None:
        text = SPEC.replace('baseline = "empty"', case["method"])
    else:
        text = f'{SPEC}[[figures]]\nfile = {json.dumps(case["path"].format(folder=folder))}\nkind = "pareto"\n'
    (folder / "spec.toml").write_text(text)
    ended = run_command(["reproduce", "spec.toml", "--out", "results", "--quiet"], folder)
    hold(ended.code in CODES, f"spec: {ended}")
    outside = [path for path in folder.parents[1].rglob("*") if path.is_file() and "results" not in path.parts]
    hold(outside == [folder / "spec.toml"], f"spec: wrote {outside} outside of --out")
    return f"exit {ended.code}"


# ------------------------------------------------------------------ names


def _names(case: dict[str, Any], folder: Path) -> str:
    """Names that would be run, in every kind of output."""
    rng = np.random.default_rng(len(case["names"]))
    values = rng.normal(size=(40, len(case["names"])))
    values[:, 1:] += values[:, :1]
    try:
        return BY[case["by"]](pd.DataFrame(values, columns=case["names"]), folder)
    except UnicodeEncodeError as error:
        traced = error.__traceback__
        while traced is not None and "/daguerreotype/" not in traced.tb_frame.f_code.co_filename:
            traced = traced.tb_next
        hold(traced is None, f"names: {error}")
        return "no table can have such names"


def _names_by_levels(frame: pd.DataFrame, folder: Path) -> str:
    codes = np.arange(60) % frame.shape[1]
    levels = np.array(frame.columns, dtype=object)[codes]
    return _names_by_command(pd.DataFrame({"a": levels, "b": codes + np.sin(np.arange(60))}), folder)


def _names_by_command(frame: pd.DataFrame, folder: Path) -> str:
    """The verb fit prints the names, and writes them to all of its files."""
    (folder / "table.csv").write_bytes(frame.to_csv(index=False).encode())
    for words in (["--posterior", "5"], ["--json"]):
        ended = run_command(["fit", "table.csv", "--edges", "bic", "-o", "out", *words], folder)
        _check_printed(ended)
        if ended.code:
            return f"exit {ended.code}"
    json.loads(ended.out)
    _check_page(folder / "out" / "report.html")
    for name in ("graph.csv", "adjacency.csv"):
        cells = pd.read_csv(folder / "out" / name, header=None, dtype=str, keep_default_na=False)
        for cell in cells.to_numpy().ravel():
            harmless = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell) or not re.match(r"[=+\-@\t\r]", cell)
            hold(harmless, f"names: a cell of {name} is a formula: {cell!r}")
    again = run_command(["evaluate", "out/graph.csv", "out/graph.csv", "--json"], folder)
    hold(again.code in CODES, f"names: own graph.csv: {again}")
    return "written"


def _check_printed(ended: Ended) -> None:
    hold(ended.code in CODES, f"names: {ended}")
    for stream in (ended.out, ended.err):
        printed = CONTROL.search(stream.decode(errors="replace").replace("\r\n", "\n"))
        hold(printed is None, f"names: {printed and printed.group()!r} on the terminal")


class _Page(HTMLParser):
    """What a browser would run of a page: handlers and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.handlers: list[str] = []
        self.in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note handlers."""
        self.handlers += [name for name, value in attrs if name.startswith("on") or value == "x"]
        self.in_script = tag == "script"

    def handle_data(self, data: str) -> None:
        """No name is a script."""
        hold(not (self.in_script and data.startswith("alert(1)")), "names: the report runs a name")


def _check_page(page: Path) -> None:
    """No name is markup: no tag, no handler and no script comes from one."""
    text = page.read_text(encoding="utf-8", errors="surrogateescape")
    hold(text.rstrip().endswith("</html>"), "names: the report is cut off")
    read = _Page()
    read.feed(text)
    hold(not read.handlers, f"names: the report has a handler {read.handlers[:1]}")


def _names_by_converters(frame: pd.DataFrame, folder: Path) -> str:
    """Graphs as text, and back: the same names."""
    from daguerreotype.graphs import WeightedDag, from_edge_list, from_gml, to_dot, to_edge_list, to_gml

    names = tuple(frame.columns)
    word = "converted"
    try:
        graph = WeightedDag(np.triu(np.ones((len(names), len(names)), dtype=bool), 1), names)
        to_dot(graph)
    except ValueError as error:
        check_error(error, "WeightedDag")
        return "refused"
    expected = {(names[i], names[j]) for i, j in np.argwhere(graph.adjacency)}
    for to, back in ((to_gml, from_gml), (to_edge_list, from_edge_list)):
        try:
            again = back(to(graph))
        except (ValueError, TypeError) as error:
            check_error(error, to.__name__)
            word = "refused"
            continue
        pairs = {(again.names[i], again.names[j]) for i, j in np.argwhere(again.adjacency)}
        hold(pairs == expected, f"names: {to.__name__} and {back.__name__} give other names")
    return word


def _names_by_files(frame: pd.DataFrame, folder: Path) -> str:
    """Models and reports of a table with such names."""
    try:
        model = learner().fit(frame)
        model.save(folder / "model.npz")
        model.report(folder / "report.html", frame, title=str(frame.columns[0]))
    except ValueError as error:
        check_error(error, "fit, save and report")
        return "refused"
    _check_page(folder / "report.html")
    again = Daguerreotype.load(folder / "model.npz")
    hold(list(again.feature_names_in_) == list(frame.columns), "names: other names after saving")
    hold(bits(again) == bits(model), "names: other bits after saving")
    return "saved"


def _names_by_labels(frame: pd.DataFrame, folder: Path) -> str:
    """Labels of methods in the tables and figures of an experiment."""
    method = '[[methods]]\nlabel = {}\nbaseline = "empty"\ndraws = false\n'
    text = SPEC.partition("[[methods]]")[0] + '[[figures]]\nfile = "pareto"\nkind = "pareto"\n'
    text += "".join(method.format(json.dumps(name)) for name in frame.columns)
    (folder / "spec.toml").write_bytes(text.encode())
    ended = run_command(["reproduce", "spec.toml", "--out", "results"], folder)
    _check_printed(ended)
    return f"exit {ended.code}"


BY = {
    "command": _names_by_command,
    "levels": _names_by_levels,
    "converters": _names_by_converters,
    "files": _names_by_files,
    "labels": _names_by_labels,
}
