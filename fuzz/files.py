"""Hostile files: altered and cut ones, bombs, specifications that would run code, and names that would."""

import gzip
import io
import json
import re
import shutil
import tempfile
import traceback
import zipfile
import zlib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype import Daguerreotype
from fuzz import kills
from fuzz.forked import Ended, run_command, run_forked
from fuzz.inputs import SPEC
from fuzz.kills import OPERATIONS, bits, table
from fuzz.part import BrokenError, Case, without_each

seconds = 300.0
MEGABYTE = 1 << 20
MOST_MEMORY = 600 * MEGABYTE  # that reading a hostile file of a few megabytes may take
ADDRESS_SPACE = 6000 * MEGABYTE  # where a bomb is stopped
DOCUMENTED = (ValueError, TypeError, OSError)
CODES = {0, 2, 3, 4, 5}


# ------------------------------------------------------------------ cases

# Files that are altered, and the operation that makes them.
ALTERED = {
    "model.npz": "save",
    "fit.checkpoint": "fit",
    "posterior.checkpoint": "posterior",
    "bagged.checkpoint": "bagged",
    "bootstrap.journal": "bootstrap",
    "results/runs.jsonl": "reproduce",
}
BOMBS = (
    "wide array",
    "long array",
    "claimed shape",
    "wide items",
    "gzip",
    "endless",
    "deep knowledge",
    "long line",
)
NAMES = {
    "escape": "\x1b[2J\x1b[31mred",
    "title": "\x1b]0;owned\x07",
    "bell": "\x07\x08bell",
    "c1": "\x9b31mred",
    "script": "<script>alert(1)</script>",
    "close": "</script><img src=x onerror=alert(1)>",
    "attribute": "\" onmouseover='alert(1)' x=\"",
    "formula": "=cmd|'/c calc'!A1",
    "plus": "+1+1",
    "minus": "-2+3",
    "at": "@SUM(A1)",
    "tex": "\\input{/etc/passwd} $x$ {y} ^2 ~ a_b & 50% #1",
    "dot": 'a" -> "b"; evil [label="x',
    "brackets": "]; evil [x=1",
    "up": "../../up",
    "absolute": "/pwned",
    "bidi": "\u202egnp.exe",
    "nothing": "\u200b",
    "letters": "Größe 名前",
    "long": "a" * 10_000,
    "lines": "two\nlines",
    "return": "back\rover",
    "tab": "tab\tname",
    "blank": " ",
    "number": "0",
    "nan": "nan",
    "shell": "$(touch pwned) `touch pwned`",
    "percent": "%s%n{0.__class__}",
    "option": "--out",
    "quote": 'it\'s "so", yes;no',
    "nul": "nul\x00name",
    "surrogate": "\ud800",
    "pattern": "*",
    "backslash": "a\\nb\\",
}
CALLABLES = (
    'estimator = "os:system"\nsettings = { command = "touch pwned" }',
    'estimator = "os:mkdir"\nsettings = { path = "pwned" }',
    'estimator = "subprocess:Popen"\nsettings = { args = ["touch", "pwned"] }',
    'estimator = "subprocess:check_call"\nsettings = { args = ["touch", "pwned"] }',
    'estimator = "builtins:open"\nsettings = { file = "pwned", mode = "w" }',
    'estimator = "pathlib:Path.touch"\nsettings = { self = "pwned" }',
    'estimator = "shutil:copyfile"\nsettings = { src = "spec.toml", dst = "pwned" }',
    'estimator = "pwned:main"\nsettings = {}',
)
PATHS = (
    "../../pwned",
    "../pwned",
    "{folder}/pwned",
    "a/../../../pwned",
    "~/pwned",
    "..",
    "con\x00cealed",
    "x" * 400,
)


def warm() -> None:
    """The same as for kills."""
    kills.warm()


def draw(rng: np.random.Generator) -> Case:
    """A hostile file of some kind."""
    what = str(rng.choice(["bytes", "members", "bomb", "spec", "names"], p=[0.35, 0.25, 0.05, 0.05, 0.3]))
    case: Case = {"what": what, "seed": int(rng.integers(2**31))}
    if what == "bytes":
        case["file"] = str(rng.choice(sorted(ALTERED)))
        case["edits"] = [_draw_edit(rng) for _ in range(int(rng.integers(1, 4)))]
    elif what == "members":
        case["file"] = str(
            rng.choice(["model.npz", "model.npz", "model.npz", "fit.checkpoint", "posterior.checkpoint"])
        )
        case["changes"] = [
            {"at": float(rng.random()), "how": str(rng.choice(CHANGES))} for _ in range(int(rng.integers(1, 3)))
        ]
    elif what == "bomb":
        case["bomb"] = str(rng.choice(BOMBS))
    elif what == "spec":
        if rng.random() < 0.5:
            case["method"] = str(rng.choice(CALLABLES))
        else:
            case["path"] = str(rng.choice(PATHS))
    else:
        case["names"] = [
            str(each) for each in rng.choice(sorted(NAMES), size=int(rng.integers(2, 5)), replace=False)
        ]
        case["by"] = str(rng.choice(["command", "levels", "converters", "files", "labels"]))
    return case


def _draw_edit(rng: np.random.Generator) -> Case:
    how = str(rng.choice(["flip", "cut", "zero", "insert", "repeat"], p=[0.4, 0.2, 0.15, 0.15, 0.1]))
    size = int(rng.choice([1, 4, 64, 1000]))
    return {"how": how, "at": float(rng.random()), "size": size, "bit": int(rng.integers(8))}


def simpler(case: Case) -> Iterator[Case]:
    """Fewer edits, fewer names."""
    for key in ("edits", "changes", "names"):
        for fewer in without_each(case.get(key, [])):
            if fewer:
                yield case | {key: fewer}


def run(case: Case) -> str:
    """Read the file, and see what it does."""
    kills.save_often()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "a" / "b" / "work"
        folder.mkdir(parents=True)
        word = {"bytes": _bytes, "members": _members, "bomb": _bomb, "spec": _spec, "names": _names}[case["what"]](
            case, folder
        )
        strays = [path for path in Path(place).rglob("*") if "pwned" in path.name]
        _hold(not strays, f"{case['what']}: something was run or written: {strays[:1]}")
        _hold(not Path("/pwned").exists(), "something was written to another folder")
    return word


# ------------------------------------------------------------------ altered bytes

_made: dict[str, Path] = {}


def _make(name: str) -> Path:
    """A folder with the good file, made once in every worker by the operation that writes it."""
    if name not in _made:
        folder = Path(tempfile.mkdtemp(prefix="good-"))
        table().to_csv(folder / "table.csv", index=False)
        (folder / "spec.toml").write_text(SPEC)
        ended = run_forked(OPERATIONS[ALTERED[name]].work, folder)
        _hold(ended.code == 0 and _find(folder, name).is_file(), f"{name} cannot be made: {_end(ended)}")
        _made[name] = folder
        _good[name] = run_forked(_reader(name), folder, memory=ADDRESS_SPACE)
    return _made[name]


def _find(folder: Path, name: str) -> Path:
    """The file: a checkpoint of several scales has the name of its scale behind its own."""
    found = sorted(path for path in folder.glob(f"{name}*") if not path.name.endswith(".lock"))
    return found[0] if found else folder / name


_good: dict[str, Ended] = {}


def _reader(name: str) -> Callable[[], Any]:
    """What reads a file of this name, and uses what it read."""
    return _use_model if name == "model.npz" else OPERATIONS[ALTERED[name]].work


def _use_model() -> Any:
    """Load a model and ask it everything."""
    model = Daguerreotype.load("model.npz")
    X = table()
    found = bits(model)
    for question in (
        lambda: repr(model),
        lambda: model.score(X),
        lambda: model.impute(X.head(3)).table,
        lambda: model.equivalence_class(),
        lambda: model.causal_graph_,
        lambda: model.posterior(5),
        lambda: model.report("page.html", X),
        lambda: model.save("again.npz"),
    ):
        try:
            question()
        except DOCUMENTED as error:
            if isinstance(error, np.linalg.LinAlgError | UnicodeError):
                raise
    return found


def _bytes(case: Case, folder: Path) -> str:
    """Bytes that were flipped, cut, zeroed or put in: an error that says so, or the right answer."""
    start = _make(case["file"])
    shutil.copytree(start, folder, dirs_exist_ok=True)
    path = _find(folder, case["file"])
    content = bytearray(path.read_bytes())
    for edit in case["edits"]:
        content = _edited(content, edit)
    path.write_bytes(bytes(content))
    ended = run_forked(_reader(case["file"]), folder, memory=ADDRESS_SPACE)
    unchanged = bytes(content) == _find(start, case["file"]).read_bytes()
    return _judge(ended, _good[case["file"]], case["file"], unchanged)


def _edited(content: bytearray, edit: Case) -> bytearray:
    at = int(edit["at"] * len(content))
    size = edit["size"]
    if edit["how"] == "flip" and content:
        content[min(at, len(content) - 1)] ^= 1 << edit["bit"]
    elif edit["how"] == "cut":
        return content[:at]
    elif edit["how"] == "zero":
        content[at : at + size] = bytes(len(content[at : at + size]))
    elif edit["how"] == "insert":
        content[at:at] = bytes(range(256))[:size] * (1 + size // 256)
    elif edit["how"] == "repeat":
        content[at:at] = content[at : at + size]
    return content


def _judge(ended: Ended, good: Ended, name: str, unchanged: bool = False) -> str:
    """A documented error, or what the good file gives; within bounds of memory."""
    _hold(ended.signal is None, f"{name}: {_end(ended)}")
    _hold(ended.grown < MOST_MEMORY, f"{name}: takes {ended.grown // MEGABYTE} MB")
    if ended.code == 0:
        # A store skips damaged lines, and says so; the runs of those are made again.
        same = ended.result == good.result
        _hold(same, f"{name}: an altered file gives another answer")
        return "right"
    _hold(not unchanged, f"{name}: refused as it was: {_end(ended)}")
    if isinstance(ended.result, BaseException):
        _check_error(ended.result, name)
    else:
        _hold(ended.code in CODES, f"{name}: {_end(ended)}")
    return "refused"


def _check_error(error: BaseException, name: str) -> None:
    documented = isinstance(error, DOCUMENTED) and not isinstance(error, np.linalg.LinAlgError | UnicodeError)
    _hold(documented, f"{name}: {type(error).__name__}: {error}")
    text = str(error)
    _hold(bool(text.strip()) and "\n" not in text, f"{name}: an error without a text in one piece: {text!r}")


# ------------------------------------------------------------------ altered members

CHANGES = (
    "drop",
    "empty",
    "transpose",
    "one more",
    "nan",
    "huge",
    "negative",
    "integers",
    "complex",
    "text",
    "header key",
    "header value",
    "header list",
    "header number",
    "header text",
    "header deep",
)


def _members(case: Case, folder: Path) -> str:
    """An archive that is whole, with other arrays or another header: an error, or something to use."""
    start = _make(case["file"])
    shutil.copytree(start, folder, dirs_exist_ok=True)
    path = _find(folder, case["file"])
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays.pop("header").tobytes())
    rng = np.random.default_rng(case["seed"])
    for change in case["changes"]:
        arrays, header = _changed(arrays, header, change["how"], change["at"], rng)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path.with_name("made.npz"), header=text, **arrays)
    path.with_name("made.npz").replace(path)
    ended = run_forked(_reader(case["file"]), folder, memory=ADDRESS_SPACE)
    _hold(ended.signal is None, f"{case['file']}: {_end(ended)}")
    _hold(ended.grown < MOST_MEMORY, f"{case['file']}: takes {ended.grown // MEGABYTE} MB")
    if isinstance(ended.result, BaseException):
        _check_error(ended.result, case["file"])
        return "refused"
    return "used"


def _changed(
    arrays: dict[str, Any], header: Any, how: str, at: float, rng: np.random.Generator
) -> tuple[dict[str, Any], Any]:
    """One array, or one place in the header, made something else."""
    if not how.startswith("header"):
        names = sorted(arrays)
        if not names:
            return arrays, header
        name = names[int(at * len(names))]
        array = arrays[name]
        if how == "drop":
            return {key: value for key, value in arrays.items() if key != name}, header
        flat = np.atleast_1d(array)
        made: dict[str, Callable[[], Any]] = {
            "empty": lambda: flat[:0],
            "transpose": lambda: array.T if array.ndim > 1 else flat[None, :],
            "one more": lambda: np.concatenate([flat, flat[-1:]]),
            "nan": lambda: np.full_like(array, np.nan, dtype=float),
            "huge": lambda: np.full(array.shape, 2**62),
            "negative": lambda: np.full(array.shape, -1),
            "integers": lambda: np.zeros(array.shape, dtype=np.int64),
            "complex": lambda: np.full(array.shape, 1j),
            "text": lambda: np.full(array.shape, "text"),
        }
        return arrays | {name: made[how]()}, header
    places = list(_places(header))
    parent, key = places[int(at * len(places))]
    if how == "header key":
        if isinstance(parent, dict):
            parent[f"{key}_"] = parent.pop(key)
        else:
            del parent[key]
    else:
        parent[key] = {
            "header value": None,
            "header list": [],
            "header number": float(rng.choice([-1.0, 0.5, 1e300, 2**70])),
            "header text": "__class__",
            "header deep": {"a": [[[[1]]]]},
        }[how]
    return arrays, header


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place within JSON, as what holds it and its key."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(entries):
        yield value, key
        yield from _places(inner)


# ------------------------------------------------------------------ bombs


def _zeros(gigabytes: float) -> bytes:
    """A raw deflate stream of zeros: one block that is the same however often it is repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packer.compress(bytes(MEGABYTE))
    packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(16 * MEGABYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    end = zlib.compressobj(9, zlib.DEFLATED, -15)
    return block * int(gigabytes * 64) + end.compress(b"") + end.flush()


def _zip_bomb(path: Path, name: str, head: bytes, size: int) -> None:
    """Add a member that is said to hold ``head`` and zeros, ``size`` bytes in all, which take little room."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = start + _zeros(size / (1 << 30))
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_STORED
        archive.writestr(info, packed)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.file_size = size
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x03\x04", 0, content.rfind(packed[:64]) + 1)
    content[at + 8 : at + 10] = (8).to_bytes(2, "little")
    content[at + 22 : at + 26] = min(size, 2**32 - 2).to_bytes(4, "little")
    path.write_bytes(bytes(content))


def _array_head(shape: tuple[int, ...], kind: str) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
    return out.getvalue()


def _bomb(case: Case, folder: Path) -> str:
    """A small file that would take a lot of memory, or has no end: an error, or the little that it is worth."""
    bomb = case["bomb"]
    if bomb in ("wide array", "long array", "claimed shape", "wide items"):
        shutil.copytree(_make("model.npz"), folder, dirs_exist_ok=True)
        path = folder / "model.npz"
        if bomb == "claimed shape":
            _replace_member(path, _array_head((2**33,), "<f8") + bytes(64))
        elif bomb == "wide items":
            _replace_member(path, _array_head((1,), "<U500000000") + bytes(64))
        else:
            size = 3 << 30
            shape = (size // 8,) if bomb == "long array" else (4, size // 32)
            _zip_bomb(path, "bomb.npy", _array_head(shape, "<f8"), size)
        ended = run_forked(_use_model, folder, memory=ADDRESS_SPACE)
        return _defused(ended, bomb)
    (folder / "good.csv").write_text(table().to_csv(index=False))
    words = ["fit", "bomb.csv", "--quiet", "--json", "--edges", "bic"]
    if bomb == "gzip":
        member = gzip.compress(b"1,2\n" * (MEGABYTE * 4), 9)
        (folder / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n") + member * 190)
        words[1] = "bomb.csv.gz"
    elif bomb == "endless":
        words[1] = "/dev/zero"
    elif bomb == "long line":
        (folder / "bomb.csv.gz").write_bytes(gzip.compress(b"1" * (64 * MEGABYTE), 9) * 40)
        words[1] = "bomb.csv.gz"
    else:
        (folder / "known.json").write_text('{"forbidden": ' + "[" * 100_000 + "]" * 100_000 + "}")
        words[1:2] = ["good.csv", "--knowledge", "known.json"]
    return _defused(run_command(words, folder, memory=ADDRESS_SPACE), bomb)


def _replace_member(path: Path, content: bytes) -> None:
    """Put an array in the place of one that a model has."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    name = max((each for each in members if each != "header.npy"), key=lambda each: len(members[each]))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, old in members.items():
            archive.writestr(each, content if each == name else old)


def _defused(ended: Ended, bomb: str) -> str:
    _hold(ended.signal is None, f"bomb, {bomb}: {_end(ended)}")
    _hold(ended.grown < MOST_MEMORY, f"bomb, {bomb}: takes {ended.grown // MEGABYTE} MB")
    if isinstance(ended.result, BaseException):
        _check_error(ended.result, f"bomb, {bomb}")
    else:
        _hold(ended.code in CODES, f"bomb, {bomb}: {_end(ended)}")
    return "defused"


# ------------------------------------------------------------------ specifications


def _spec(case: Case, folder: Path) -> str:
    """A specification that names a callable, or a path outside of ``--out``: nothing of it is run or written."""
    text = SPEC
    if "method" in case:
        text = text.replace('baseline = "empty"', case["method"])
    else:
        path = json.dumps(case["path"].format(folder=folder))
        text += f'[[figures]]\nfile = {path}\nkind = "pareto"\n'
    (folder / "spec.toml").write_text(text)
    (folder / "pwned.py").write_text("def main():\n    raise SystemExit\n")
    (folder / "pwned.py").rename(folder / "module.py")
    before = {str(path) for path in folder.parents[2].rglob("*")}
    ended = run_command(["reproduce", "spec.toml", "--out", "results", "--quiet"], folder)
    _hold(ended.code in CODES, f"spec: {_end(ended)}")
    after = {str(path) for path in folder.parents[2].rglob("*")} - before
    outside = [each for each in after if not each.startswith(str(folder / "results"))]
    _hold(not outside, f"spec: wrote {outside[:1]} outside of --out")
    return f"exit {ended.code}"


# ------------------------------------------------------------------ names

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _names(case: Case, folder: Path) -> str:
    """Names that terminals, browsers, spreadsheets, TeX or shells would run, in every kind of output."""
    names = [NAMES[name] for name in case["names"]]
    rng = np.random.default_rng(case["seed"])
    values = rng.normal(size=(40, len(names)))
    values[:, 1:] += values[:, :1]
    by: dict[str, Callable[[], str]] = {
        "command": lambda: _names_by_command(names, pd.DataFrame(values, columns=names), folder),
        "levels": lambda: _names_by_command(["a", "b"], _levels(names, rng), folder),
        "converters": lambda: _names_by_converters(names, folder),
        "files": lambda: _names_by_files(pd.DataFrame(values, columns=names), folder),
        "labels": lambda: _names_by_labels(names, folder),
    }
    try:
        return by[case["by"]]()
    except UnicodeEncodeError as error:
        if any("/daguerreotype/" in frame.filename for frame in traceback.extract_tb(error.__traceback__)):
            raise
        return "no table can have such names"


def _levels(names: list[str], rng: np.random.Generator) -> pd.DataFrame:
    codes = rng.integers(len(names), size=60)
    return pd.DataFrame({"a": np.array(names, dtype=object)[codes], "b": codes + rng.normal(size=60)})


def _names_by_command(names: list[str], frame: pd.DataFrame, folder: Path) -> str:
    """The verb fit prints the names, and writes them to all of its files."""
    try:
        text = frame.to_csv(index=False).encode()
    except UnicodeEncodeError:
        return "cannot be written"
    (folder / "table.csv").write_bytes(text)
    for words in (["--json"], ["--posterior", "5"]):
        ended = run_command(["fit", "table.csv", "--edges", "bic", "-o", "out", *words], folder)
        _hold(ended.code in CODES, f"names: {_end(ended)}")
        for stream in (ended.out, ended.err):
            found = CONTROL.search(stream.decode(errors="replace").replace("\r\n", "\n"))
            _hold(found is None, f"names: {found and found.group()!r} on the terminal")
        if ended.code:
            return f"exit {ended.code}"
    if words[0] == "--json":
        json.loads(ended.out)
    _check_page(folder / "out" / "report.html")
    for name in ("graph.csv", "adjacency.csv"):
        cells = pd.read_csv(folder / "out" / name, header=None, dtype=str, keep_default_na=False)
        for cell in cells.to_numpy().ravel():
            harmless = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell) or not re.match(r"[=+\-@\t\r]", cell)
            _hold(bool(harmless), f"names: a cell of {name} is a formula: {cell!r}")
    outside = [path for path in folder.iterdir() if path.name not in ("table.csv", "out")]
    _hold(not outside, f"names: wrote {outside[:1]} outside of --out")
    again = run_command(["evaluate", "out/graph.csv", "out/graph.csv", "--json"], folder)
    _hold(again.code in CODES, f"names: own graph.csv: {_end(again)}")
    return "written"


class _Page(HTMLParser):
    """What a browser would run of a page: handlers, addresses, and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.handlers: list[str] = []
        self.scripts: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note handlers, and what is loaded."""
        self.handlers += [name for name, value in attrs if name.startswith("on") or value == "x"]
        self._in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        """A script ends."""
        self._in_script = False

    def handle_data(self, data: str) -> None:
        """Note scripts."""
        if self._in_script:
            self.scripts.append(data)


def _check_page(page: Path) -> None:
    """No name is markup: no tag, no handler and no script comes from one."""
    text = page.read_text(encoding="utf-8", errors="surrogateescape")
    _hold(text.rstrip().endswith("</html>"), "names: the report is cut off")
    read = _Page()
    read.feed(text)
    _hold(not read.handlers, f"names: the report has a handler {read.handlers[:1]}")
    _hold(not any(script.startswith("alert(1)") for script in read.scripts), "names: the report runs a name")


def _names_by_converters(names: list[str], folder: Path) -> str:
    """Graphs as text, and back: the same names."""
    from daguerreotype.graphs import WeightedDag, from_dot, from_edge_list, from_gml, to_dot, to_edge_list, to_gml

    d = len(names)
    try:
        graph = WeightedDag(np.triu(np.ones((d, d), dtype=bool), 1), tuple(names))
    except ValueError as error:
        _check_error(error, "WeightedDag")
        return "refused"
    word = "converted"
    for to, back in ((to_dot, from_dot), (to_gml, from_gml), (to_edge_list, from_edge_list)):
        try:
            again = back(to(graph))
        except (ValueError, TypeError) as error:
            _check_error(error, to.__name__)
            word = "refused"
            continue
        pairs = {(again.names[i], again.names[j]) for i, j in np.argwhere(again.adjacency)}
        expected = {(names[i], names[j]) for i, j in np.argwhere(graph.adjacency)}
        _hold(pairs == expected, f"names: {to.__name__} and {back.__name__} give other names")
    return word


def _names_by_files(frame: pd.DataFrame, folder: Path) -> str:
    """Models and reports of a table with such names."""
    model = Daguerreotype(edges="bic", max_iter=5, n_restarts=0, posterior=5)
    try:
        model.fit(frame)
    except ValueError as error:
        _check_error(error, "fit")
        return "refused"
    try:
        model.save(folder / "model.npz")
        model.report(folder / "report.html", frame, title=str(frame.columns[0]))
    except ValueError as error:
        _check_error(error, "save and report")
        return "refused"
    _check_page(folder / "report.html")
    again = Daguerreotype.load(folder / "model.npz")
    _hold(list(again.feature_names_in_) == list(frame.columns), "names: other names after saving")
    _hold(bits(again) == bits(model), "names: other bits after saving")
    return "saved"


def _names_by_labels(names: list[str], folder: Path) -> str:
    """Labels of methods in the tables and figures of an experiment."""
    methods = "".join(
        f'[[methods]]\nlabel = {json.dumps(name)}\nbaseline = "empty"\ndraws = false\n' for name in names
    )
    text = SPEC.partition("[[methods]]")[0] + '[[figures]]\nfile = "pareto"\nkind = "pareto"\n' + methods
    try:
        (folder / "spec.toml").write_text(text, encoding="utf-8")
    except UnicodeEncodeError:
        return "cannot be written"
    ended = run_command(["reproduce", "spec.toml", "--out", "results"], folder)
    _hold(ended.code in CODES, f"labels: {_end(ended)}")
    for stream in (ended.out, ended.err):
        found = CONTROL.search(stream.decode(errors="replace"))
        _hold(found is None, f"labels: {found and found.group()!r} on the terminal")
    if ended.code:
        return f"exit {ended.code}"
    tex = (folder / "results" / "spec" / "table.tex").read_text()
    _hold("\\input{/etc" not in tex, "labels: TeX would read a file")
    return "written"


# ------------------------------------------------------------------ words


def _end(ended: Ended) -> str:
    return kills._end(ended)


def _hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise BrokenError(otherwise)
