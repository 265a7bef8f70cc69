"""Kills at random points of every long operation, two processes on one path, full disks and read-only folders."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype import Daguerreotype
from fuzz.forked import Child, Ended, run_forked
from fuzz.inputs import SPEC
from fuzz.part import BrokenError, Case

seconds = 300.0
LEAST_ROOM = 1000  # bytes: what a command says goes to a file, too
FAST = {"max_iter": 30, "n_restarts": 3, "posterior": 40}
SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "KILL": signal.SIGKILL}
DONE, BAD_FILE, INTERRUPTED = 0, 3, 130  # exit codes of the command line


# ------------------------------------------------------------------ long operations


def table(seed: int = 0, gaps: float = 0.0) -> pd.DataFrame:
    """A small table; with other seeds another one."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, 60))
    frame = pd.DataFrame({"a": a, "b": np.sin(2 * a) + 0.3 * b, "c": c, "d": c**2 + a + 0.3 * rng.normal(size=60)})
    return frame.where(rng.random(frame.shape) >= gaps)


def bits(model: Daguerreotype) -> dict[str, Any]:
    """What a fit found, to the last bit."""
    return {
        "interrupted": model.interrupted_,
        "weights": np.asarray(model.weights_).tobytes(),
        "theta": model.theta_.tobytes(),
        "loss": model.loss_,
        "probabilities": None if model.posterior_ is None else model.posterior_.probabilities.tobytes(),
    }


def command(*arguments: str) -> None:
    """The command line."""
    from daguerreotype.cli.main import app

    app(list(arguments), prog_name="daguerreotype")


def fit() -> Any:
    """A fit with a checkpoint."""
    return bits(Daguerreotype(**FAST).fit(table(), resume="fit.checkpoint"))


def fit_gaps() -> Any:
    """Rounds of a table with gaps, with a checkpoint."""
    return bits(Daguerreotype(**FAST | {"edges": "bic"}).fit(table(gaps=0.1), resume="fit.checkpoint"))


def _fitted_whole() -> Daguerreotype:
    """A fit to go on from: what Ctrl-C left of one would be another, which files of the whole one refuse."""
    model = Daguerreotype(**FAST | {"edges": "bic"}).fit(table())
    if model.interrupted_:
        raise KeyboardInterrupt
    return model


def posterior() -> Any:
    """A long posterior."""
    model = _fitted_whole()
    return model.posterior(n_sweeps=3000, resume="posterior.checkpoint").probabilities.tobytes()


def bagged() -> Any:
    """An average of posteriors of resamples."""
    model = _fitted_whole()
    return model.posterior(n_sweeps=20, bagged=3, resume="bagged.checkpoint").probabilities.tobytes()


def bootstrap() -> Any:
    """A bootstrap with a journal."""
    found = Daguerreotype(**FAST | {"edges": "bic"}).bootstrap(table(), 6, resume="bootstrap.journal")
    return np.asarray(found.edge_frequencies).tobytes()


def save() -> Any:
    """Models that take each other's place."""
    model = Daguerreotype(**FAST | {"edges": "bic"}).fit(table())
    for _ in range(5):
        model.save("model.npz")
    return bits(Daguerreotype.load("model.npz")) | {"interrupted": model.interrupted_}


def report() -> Any:
    """A report in the place of another."""
    model = Daguerreotype(**FAST).fit(table())
    model.report("report.html", table())
    return bits(model)


def fit_command() -> None:
    """The verb fit, with all that it writes."""
    command("fit", "table.csv", "--edges", "bic", "-o", "out", "--quiet", "--json")


def bootstrap_command() -> None:
    """The verb fit with a bootstrap."""
    command("fit", "table.csv", "--edges", "bic", "--bootstrap", "3", "-o", "out", "--quiet", "--json")


def reproduce() -> None:
    """An experiment with a store of runs."""
    command("reproduce", "spec.toml", "--out", "results", "--seeds", "2", "--quiet")


def simulate() -> None:
    """A simulated table in a folder."""
    command("simulate", "--columns", "4", "--rows", "30", "--out", "made", "--force")


def tune() -> Any:
    """A study in a database."""
    from daguerreotype.tune import tune_table

    learner = Daguerreotype(edges="bic", max_iter=5, n_restarts=0, posterior=0)
    found = tune_table(
        learner, table(), criterion="bic", space={"penalty": (0.5, 2.0)}, n_trials=3, storage="sqlite:///study.db"
    )
    return sorted(found.best_params) if hasattr(found, "best_params") else None


@dataclass(frozen=True)
class Operation:
    """Something that takes a while and leaves files.

    Attributes
    ----------
    work : callable
        What is done, in the folder of the case.
    old : callable or None
        What was done there before, so that there are files to be replaced.
    is_command : bool
        Whether it is a verb, whose exit code counts.
    resumes : bool
        Whether it goes on from a file, and two at a time may refuse each other.
    """

    work: Callable[[], Any]
    old: Callable[[], Any] | None = None
    is_command: bool = False
    resumes: bool = False


def _old_model() -> None:
    Daguerreotype(**FAST | {"edges": "bic"}).fit(table(1)).save("model.npz")


def _old_report() -> None:
    Daguerreotype(**FAST).fit(table(1)).report("report.html")


def _old_out() -> None:
    table(1).to_csv("table.csv", index=False)
    with contextlib.suppress(SystemExit):
        fit_command()


OPERATIONS = {
    "fit": Operation(fit, resumes=True),
    "fit with gaps": Operation(fit_gaps, resumes=True),
    "posterior": Operation(posterior, resumes=True),
    "bagged": Operation(bagged, resumes=True),
    "bootstrap": Operation(bootstrap, resumes=True),
    "save": Operation(save, _old_model),
    "report": Operation(report, _old_report),
    "fit command": Operation(fit_command, _old_out, is_command=True),
    "bootstrap command": Operation(bootstrap_command, _old_out, is_command=True),
    "reproduce": Operation(reproduce, is_command=True, resumes=True),
    "simulate": Operation(simulate, is_command=True),
    "tune": Operation(tune, resumes=True),
}


# ------------------------------------------------------------------ cases


def warm() -> None:
    """Run every operation once before workers are forked."""
    import matplotlib

    matplotlib.use("agg")
    Daguerreotype(**FAST).fit(table())
    Daguerreotype(**FAST | {"edges": "bic"}).fit(table(gaps=0.1))
    with tempfile.TemporaryDirectory() as folder:
        Daguerreotype(**FAST).fit(table()).report(Path(folder) / "report.html", table())
    import daguerreotype.cli.main
    import daguerreotype.tune.search  # noqa: F401


def draw(rng: np.random.Generator) -> Case:
    """An operation, and what happens to it."""
    case: Case = {"operation": str(rng.choice(sorted(OPERATIONS)))}
    case["what"] = str(rng.choice(["kill", "two", "full", "read-only", "import"], p=[0.74, 0.1, 0.09, 0.06, 0.01]))
    if case["what"] == "kill":
        case["signal"] = str(rng.choice(["INT", "TERM", "KILL"], p=[0.4, 0.2, 0.4]))
        # Half at a point of time, half right before something is done to a file.
        case["at"] = {"share": float(rng.random())} if rng.random() < 0.5 else {"event": int(rng.integers(40))}
    elif case["what"] == "full":
        case["size"] = float(rng.random())
    return case


def simpler(case: Case) -> Iterator[Case]:
    """Earlier kills."""
    event = case.get("at", {}).get("event", 0)
    for earlier in range(event):
        yield case | {"at": {"event": earlier}}


def save_often() -> None:
    """As if the clock struck at every step: in this worker a state is saved whenever one can be."""
    from daguerreotype.training.checkpoint import Checkpoint

    Checkpoint.due = lambda self: True  # type: ignore[method-assign]


def run(case: Case) -> str:
    """Do something to an operation, look at the files, and let it come to its end."""
    save_often()
    if case["what"] == "import":
        return _import_without_cache()
    name = case["operation"]
    operation, known = OPERATIONS[name], _reference(case["operation"])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        shutil.copytree(known.start, folder)
        if case["what"] == "kill":
            word = _kill(case, operation, known, folder)
        elif case["what"] == "two":
            word = _two(operation, known, folder)
        else:
            word = _no_room(case, operation, known, folder)
        _check_whole(folder, known, exact=case.get("signal") != "INT")
        again = run_forked(operation.work, folder)
        _hold(again.code == DONE, f"{name}: the next run ends with {_end(again)}")
        _hold(_same(again, known), f"{name}: the next run ends with other bits")
        _check_whole(folder, known, exact=True)
        left = [path.name for path in folder.rglob("*") if ".partial" in path.name]
        _hold(not left, f"{name}: left {left[:1]} behind")
    return word


# ------------------------------------------------------------------ what an operation ends with if nothing happens


@dataclass(frozen=True)
class Reference:
    """An operation that nothing happened to.

    Attributes
    ----------
    start : path
        The folder before.
    ended : Ended
        The child.
    old, new : dict
        Digests of files before and after, by path.
    largest : int
        Bytes of the largest file after.
    n_events : int
        How often something was done to a file.
    """

    start: Path
    ended: Ended
    old: dict[str, str]
    new: dict[str, str]
    largest: int
    n_events: int


_references: dict[str, Reference] = {}


def _reference(name: str) -> Reference:
    """The operation without a kill, done once in every worker."""
    if name not in _references:
        operation = OPERATIONS[name]
        place = Path(tempfile.mkdtemp(prefix="reference-"))
        os.chmod(place, 0o755)
        start, end = place / "start", place / "end"
        start.mkdir()
        if operation.old is not None:
            ended = run_forked(operation.old, start)
            _hold(ended.code == DONE, f"{name}: what was there before cannot be made: {_end(ended)}")
        table().to_csv(start / "table.csv", index=False)
        (start / "spec.toml").write_text(SPEC)
        shutil.copytree(start, end)
        counted = run_forked(lambda: _counting(operation.work, end), end)
        shutil.rmtree(end)
        shutil.copytree(start, end)
        ended = run_forked(operation.work, end)
        _hold(ended.code == DONE, f"{name}: fails without a kill: {_end(ended)}")
        largest = max(path.stat().st_size for path in end.rglob("*") if path.is_file())
        events = counted.result if isinstance(counted.result, int) else 40
        _references[name] = Reference(start, ended, _digests(start), _digests(end), largest, max(events, 1))
    return _references[name]


def _counting(work: Callable[[], Any], folder: Path) -> int:
    """How often ``work`` does something to a file in ``folder``."""
    n = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal n
        n += _touches(event, arguments, folder)

    sys.addaudithook(hook)
    with contextlib.suppress(SystemExit):
        work()
    return n


def _touches(event: str, arguments: tuple[Any, ...], folder: Path) -> bool:
    """Whether an audited event changes a file in the folder, which is the working directory."""
    if event == "open":
        path, mode, flags = arguments
        if not (
            isinstance(path, str) and (flags & (os.O_WRONLY | os.O_RDWR) or (mode and set(mode) & set("wax+")))
        ):
            return False
        return not os.path.isabs(path) or path.startswith(str(folder))
    return event in ("os.rename", "os.remove", "os.mkdir", "os.truncate", "sqlite3.connect")


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


# ------------------------------------------------------------------ what happens


def _kill(case: Case, operation: Operation, known: Reference, folder: Path) -> str:
    """A signal at some point, and what the child makes of it."""
    number, at = SIGNALS[case["signal"]], case["at"]
    if "event" in at:
        child = Child(lambda: _struck(operation.work, folder, at["event"] % known.n_events, number), folder)
    else:
        child = Child(operation.work, folder)
        time.sleep(at["share"] * known.ended.seconds)
        child.send(number)
    ended = child.wait()
    if number != signal.SIGINT:
        late = ended.code == DONE and _same(ended, known)
        _hold(ended.signal == number or late, f"{case['operation']}: SIG{case['signal']} leads to {_end(ended)}")
        return "too late" if late else "killed"
    return _interrupted(case["operation"], operation, known, ended)


def _struck(work: Callable[[], Any], folder: Path, which: int, number: int) -> Any:
    """Do the work; right before something is done to a file for the n-th time, a signal comes."""
    n = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal n
        if _touches(event, arguments, folder):
            n += 1
            if n == which + 1:
                os.kill(os.getpid(), number)

    sys.addaudithook(hook)
    return work()


def _interrupted(name: str, operation: Operation, known: Reference, ended: Ended) -> str:
    """Ctrl-C ends an operation early, and it says so; or it came too late, and nothing is different."""
    if operation.is_command:
        if ended.code == INTERRUPTED:
            said = (
                b"interrupted" in (ended.err + ended.out).lower() or b"aborted" in (ended.err + ended.out).lower()
            )
            _hold(said, f"{name}: interrupted, but says nothing")
            return "interrupted"
        _hold(ended.code == DONE, f"{name}: Ctrl-C leads to {_end(ended)}")
        _hold(_same(ended, known), f"{name}: interrupted without saying so")
        return "too late"
    if isinstance(ended.result, KeyboardInterrupt):
        return "interrupted"
    _hold(ended.code == DONE, f"{name}: Ctrl-C leads to {_end(ended)}")
    if isinstance(ended.result, dict) and ended.result["interrupted"]:
        return "interrupted"
    if isinstance(ended.result, bytes):  # a posterior or bootstrap ends with what there is
        return "ended"
    _hold(_same(ended, known), f"{name}: interrupted without saying so")
    return "too late"


def _two(operation: Operation, known: Reference, folder: Path) -> str:
    """Two processes at once on one path: both come to the right end, or one says that the other is at it."""
    children = [Child(operation.work, folder), Child(operation.work, folder)]
    ended = [child.wait() for child in children]
    refused = 0
    for each in ended:
        if each.code == DONE:
            _hold(_same(each, known), "two at once: other bits than alone")
            continue
        _hold(operation.resumes, f"two at once: {_end(each)}")
        named = each.code == BAD_FILE or isinstance(each.result, ValueError | OSError)
        _hold(named and "process" in _text(each), f"two at once: {_end(each)}")
        refused += 1
    _hold(refused < 2, "two at once: both refused")
    return "one refused" if refused else "both done"


def _no_room(case: Case, operation: Operation, known: Reference, folder: Path) -> str:
    """No room on the disk, or a folder in which nothing can be written: a refusal, or a warning and the result."""
    if case["what"] == "full":
        ended = run_forked(operation.work, folder, file_size=max(LEAST_ROOM, int(case["size"] * known.largest)))
    else:
        for path in [folder, *folder.rglob("*")]:
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        ended = run_forked(operation.work, folder, powerless=True)
        for path in [folder, *folder.rglob("*")]:
            os.chmod(path, 0o755 if path.is_dir() else 0o644)
    name = f"{case['operation']}, {case['what']}"
    if ended.code == DONE:
        _hold(_same(ended, known), f"{name}: other bits")
        return "done without room"
    if operation.is_command:
        _hold(ended.code == BAD_FILE, f"{name}: {_end(ended)}")
    else:
        _hold(isinstance(ended.result, OSError | ValueError), f"{name}: {_end(ended)}")
    return "refused"


def _import_without_cache() -> str:
    """Nothing but the imports, in a new process that can keep no compiled code."""
    import daguerreotype

    source = str(Path(daguerreotype.__file__).parents[1])
    code = (
        "from daguerreotype.operators import top_k_sparsemax\n"
        "from daguerreotype import Daguerreotype\n"
        "print('imported')\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "source"
        shutil.copytree(source, copied, ignore=shutil.ignore_patterns("__pycache__"))
        # Files in the place of folders keep even a superuser from writing there.
        for path in [copied, *copied.rglob("*/")]:
            (path / "__pycache__").write_text("")
        home = Path(folder) / "home"
        home.write_text("")
        variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        variables |= {"HOME": str(home), "PYTHONPATH": str(copied), "XDG_CACHE_HOME": str(home)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=variables, timeout=200, check=False
        )
    _hold("imported" in done.stdout, f"import without a cache: {done.stderr.strip().splitlines()[-1:]}")
    return "imported"


# ------------------------------------------------------------------ properties


def _check_whole(folder: Path, known: Reference, *, exact: bool) -> None:
    """Every file is whole; where nothing was interrupted politely, it is the old one or the new one."""
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if not path.is_file() or ".partial" in name or path.name.endswith((".lock", "-journal", "-wal", "-shm")):
            continue
        _hold(_is_whole(path), f"{path.name} is not whole")
        fixed = path.suffix in (".csv", ".dot", ".tex", ".md") or name == "out/model.npz"
        if exact and fixed and name in known.new:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            _hold(digest in (known.old.get(name), known.new[name]), f"{path.name} is neither old nor new")


def _is_whole(path: Path) -> bool:
    """Whether a file has its end."""
    content = path.read_bytes()
    if path.suffix == ".npz" or ".checkpoint" in path.name:
        try:
            with zipfile.ZipFile(path) as archive:
                return archive.testzip() is None
        except zipfile.BadZipFile:
            return False
    if path.suffix == ".db":
        if not content:
            return True  # made, and not used yet
        connection = sqlite3.connect(path)
        try:
            return connection.execute("pragma integrity_check").fetchone() == ("ok",)
        finally:
            connection.close()
    ends = {".html": b"</html>", ".png": b"IEND\xaeB`\x82", ".svg": b"</svg>", ".csv": b"\n", ".dot": b"}"}
    end = ends.get(path.suffix)
    return end is None or (content if end == b"\n" else content.rstrip()).endswith(end)


def _same(ended: Ended, known: Reference) -> bool:
    """Whether a child ended with the same result; a verb prints it."""
    return ended.result == known.ended.result and _untimed(ended.out) == _untimed(known.ended.out)


def _untimed(out: bytes) -> bytes:
    """What was printed, without seconds that something took."""
    return re.sub(rb'"seconds[^,}]*|\d+(\.\d+)? ?(s|ms)\b', b"", out)


def _text(ended: Ended) -> str:
    return f"{ended.result} {ended.err.decode(errors='replace')}"


def _end(ended: Ended) -> str:
    """How a child ended, in words."""
    if ended.signal is not None:
        return f"signal {ended.signal}"
    if isinstance(ended.result, BaseException):
        return f"{type(ended.result).__name__}: {ended.result}"
    return f"exit {ended.code}: {ended.err.decode(errors='replace').strip()[-300:]}"


def _hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise BrokenError(otherwise)
