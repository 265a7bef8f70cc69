"""Kills at random points of every long operation, and altered files to go on from."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from daguerreotype import Daguerreotype
from daguerreotype.training import Bilevel
from fuzz.forked import Child, Ended, command
from fuzz.inputs import SPEC, check_error
from fuzz.strategies import hold

SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "KILL": signal.SIGKILL}
DONE, BAD_FILE, INTERRUPTED = 0, 3, 130  # exit codes of the command line

# ------------------------------------------------------------------ long operations


def table(seed: int = 0, missing: float = 0.0) -> pd.DataFrame:
    """A small table; with other seeds another one."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, 60))
    frame = pd.DataFrame({"a": a, "b": np.sin(2 * a) + 0.3 * b, "c": c, "d": c**2 + a + 0.3 * rng.normal(size=60)})
    return frame.where(rng.random(frame.shape) >= missing)


def learner(edges: str = "bic") -> Daguerreotype:
    """A learner that takes a moment."""
    return Daguerreotype(edges=edges, training=Bilevel(max_iter=30, n_restarts=3), posterior=40)


def bits(model: Daguerreotype) -> dict[str, Any]:
    """What a fit leaves, to the last bit."""
    return {
        "interrupted": model.interrupted_,
        "weights": np.asarray(model.weights_).tobytes(),
        "theta": model.theta_.tobytes(),
        "p": None if model.posterior_ is None else model.posterior_.probabilities.tobytes(),
    }


def _fitted() -> Daguerreotype:
    """A fit to go on from: what Ctrl-C left of one would be another, which files of the whole one refuse."""
    model = learner().fit(table())
    if model.interrupted_:
        raise KeyboardInterrupt
    return model


def _save() -> Any:
    model = learner().fit(table())
    for _ in range(5):
        model.save("model.npz")
    return bits(Daguerreotype.load("model.npz")) | {"interrupted": model.interrupted_}


def _fit_command(*more: str) -> None:
    command("fit", "table.csv", "--edges", "bic", "-o", "out", "--quiet", "--json", *more)


def _old_out() -> None:
    table(1).to_csv("table.csv", index=False)
    with contextlib.suppress(SystemExit):
        _fit_command()


@dataclass(frozen=True)
class Operation:
    """Something that takes a while and leaves files.

    ``old`` was done there before, so that there are files to be replaced; ``resumes`` is the file that it goes on
    from. The exit code of a command counts.
    """

    work: Callable[[], Any]
    old: Callable[[], Any] | None = None
    resumes: str = ""
    is_command: bool = False


OPERATIONS = {
    "fit": Operation(lambda: bits(learner("gam").fit(table(), resume="fit.checkpoint")), resumes="fit.checkpoint"),
    "fit, missing": Operation(
        lambda: bits(learner().fit(table(missing=0.1), resume="fit.checkpoint")), resumes="fit.checkpoint"
    ),
    "posterior": Operation(
        lambda: _fitted().sample_posterior(3000, resume="posterior.checkpoint").probabilities.tobytes(),
        resumes="posterior.checkpoint",
    ),
    "bootstrap": Operation(
        lambda: np.asarray(learner().bootstrap(table(), 6, resume="boot.checkpoint").edge_frequencies).tobytes(),
        resumes="boot.checkpoint",
    ),
    "save": Operation(_save, lambda: learner().fit(table(1)).save("model.npz")),
    "fit command": Operation(_fit_command, _old_out, is_command=True),
    "bootstrap command": Operation(lambda: _fit_command("--bootstrap", "3"), _old_out, is_command=True),
    "reproduce": Operation(
        lambda: command("reproduce", "spec.toml", "--out", "results", "--seeds", "2", "--quiet"),
        resumes="results/runs.jsonl",
        is_command=True,
    ),
}

# ------------------------------------------------------------------ cases


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """An operation, and what happens to it."""
    name = draw(st.sampled_from(sorted(OPERATIONS)))
    case: dict[str, Any] = {"operation": name, "share": draw(st.floats(0, 1, width=16, exclude_max=True))}
    if OPERATIONS[name].resumes and draw(st.integers(0, 3)) == 3:
        return case | {"edit": draw(st.sampled_from(["flip", "cut", "zero", "insert"]))}
    case["signal"] = draw(st.sampled_from(["INT", "KILL", "INT", "KILL", "TERM"]))
    # Right before something is done to a file, or at a point of time; that may be before a command has begun.
    at_event = OPERATIONS[name].is_command or draw(st.booleans())
    return case | {"event": draw(st.integers(0, 39)) if at_event else None}


def warm() -> None:
    """Run what operations load once."""
    import matplotlib

    matplotlib.use("agg")
    learner("gam").fit(table())
    with tempfile.TemporaryDirectory() as folder:
        learner().fit(table(missing=0.1)).report(Path(folder) / "report.html", table())
    import daguerreotype.cli.main  # noqa: F401
    from daguerreotype.training.checkpoint import Checkpoint

    # As if the clock struck at every step: in this process a state is saved whenever one can be.
    Checkpoint.due = lambda self: True  # type: ignore[method-assign]


def check(case: dict[str, Any]) -> str:
    """Do something to an operation, look at the files, and let it come to its end."""
    name = case["operation"]
    operation, whole = OPERATIONS[name], reference(name)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        shutil.copytree(whole.start, folder)
        if "edit" in case:
            return _altered(case, operation, whole, folder)
        word = _kill(case, operation, whole, folder)
        _check_files(folder, whole, exact=case["signal"] != "INT")
        for path in folder.rglob("*.partial"):
            os.utime(path, (0, 0))  # as if its writer had been dead for long
        again = Child(operation.work, folder).wait()
        hold(again.code == DONE, f"{name}: the next run ends with {again}")
        hold(_same(again, whole), f"{name}: the next run ends with other bits")
        _check_files(folder, whole, exact=True)
        partial = [path.name for path in folder.rglob("*") if ".partial" in path.name]
        hold(not partial, f"{name}: left {partial[:1]} behind")
    return word


@dataclass(frozen=True)
class Reference:
    """An operation that nothing happened to: its folder before and after, its end, digests, events."""

    start: Path
    end: Path
    ended: Ended
    old: dict[str, str]
    new: dict[str, str]
    n_events: int


@cache
def reference(name: str) -> Reference:
    """The operation without a kill, done once in every process."""
    operation = OPERATIONS[name]
    place = Path(tempfile.mkdtemp(prefix="reference-"))
    start, end = place / "start", place / "end"
    start.mkdir()
    if operation.old is not None:
        ended = Child(operation.old, start).wait()
        hold(ended.code == DONE, f"{name}: what was there before cannot be made: {ended}")
    table().to_csv(start / "table.csv", index=False)
    (start / "spec.toml").write_text(SPEC)
    shutil.copytree(start, end)
    counted = Child(lambda: _struck(operation.work, end), end).wait()
    shutil.rmtree(end)
    shutil.copytree(start, end)
    ended = Child(operation.work, end).wait()
    hold(ended.code == DONE, f"{name}: fails without a kill: {ended}")
    return Reference(start, end, ended, _digests(start), _digests(end), max(counted.result, 1))


def _struck(work: Callable[[], Any], folder: Path, which: int = -1, number: int = 0) -> Any:
    """Do the work; right before a file in the folder is changed for the n-th time, a signal comes.

    Without one, how often a file is changed.
    """
    n = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal n
        touches = event in ("os.rename", "os.remove", "os.mkdir", "os.truncate")
        if event == "open":
            path, mode, flags = arguments
            written = bool(flags & (os.O_WRONLY | os.O_RDWR)) or bool(mode and set(mode) & set("wax+"))
            inside = isinstance(path, str) and (not os.path.isabs(path) or path.startswith(str(folder)))
            touches = written and inside
        n += touches
        if touches and n == which + 1:
            os.kill(os.getpid(), number)

    sys.addaudithook(hook)
    if which >= 0:
        return work()
    with contextlib.suppress(SystemExit):
        work()
    return n


def _digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# ------------------------------------------------------------------ what happens


def _kill(case: dict[str, Any], operation: Operation, whole: Reference, folder: Path) -> str:
    """A signal at some point, and what the child makes of it."""
    name, number = case["operation"], SIGNALS[case["signal"]]
    if case["event"] is not None:
        child = Child(lambda: _struck(operation.work, folder, case["event"] % whole.n_events, number), folder)
    else:
        child = Child(operation.work, folder)
        time.sleep(case["share"] * whole.ended.seconds)
        child.send(number)
    ended = child.wait()
    done = ended.code == DONE and _same(ended, whole)
    if number != signal.SIGINT:
        hold(ended.signal == number or done, f"{name}: SIG{case['signal']} leads to {ended}")
        return "too late" if done else "killed"
    if ended.code == INTERRUPTED and operation.is_command:
        words = (ended.err + ended.out).lower()
        hold(b"interrupted" in words or b"aborted" in words, f"{name}: interrupted, but says nothing")
        return "interrupted"
    if isinstance(ended.result, KeyboardInterrupt) and not operation.is_command:
        return "interrupted"
    hold(ended.code == DONE, f"{name}: Ctrl-C leads to {ended}")
    if isinstance(ended.result, dict) and ended.result["interrupted"]:
        return "interrupted"
    if isinstance(ended.result, bytes):  # a posterior or bootstrap ends with what there is
        return "ended"
    hold(done, f"{name}: interrupted without saying so")
    return "too late"


def _altered(case: dict[str, Any], operation: Operation, whole: Reference, folder: Path) -> str:
    """The file to go on from has bytes flipped, cut off, zeroed or put in: an error, or the right answer."""
    path = folder / operation.resumes
    shutil.copytree(whole.end, folder, dirs_exist_ok=True)
    content = bytearray(path.read_bytes())
    at = int(case["share"] * len(content))
    if case["edit"] == "flip":
        content[at] ^= 16
    elif case["edit"] == "cut":
        del content[at:]
    elif case["edit"] == "zero":
        content[at : at + 64] = bytes(len(content[at : at + 64]))
    else:
        content[at:at] = bytes(range(64))
    path.write_bytes(content)
    ended = Child(operation.work, folder).wait()
    name = f"altered {operation.resumes}"
    hold(ended.signal is None, f"{name}: {ended}")
    if isinstance(ended.result, BaseException):
        check_error(ended.result, name)
    if ended.code == DONE:
        hold(_same(ended, whole), f"{name}: gives another answer")
        return "right in spite of it"
    hold(ended.code == BAD_FILE or not operation.is_command, f"{name}: {ended}")
    return "refused"


# ------------------------------------------------------------------ properties


def _check_files(folder: Path, whole: Reference, *, exact: bool) -> None:
    """Every file is whole; where nothing was interrupted politely, it is the old one or the new one."""
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if not path.is_file() or ".partial" in name or path.suffix == ".lock":
            continue
        hold(_is_whole(path), f"{path.name} is not whole")
        fixed = path.suffix in (".csv", ".dot", ".tex", ".md") or name == "out/model.npz"
        if exact and fixed and name in whole.new:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            hold(digest in (whole.old.get(name), whole.new[name]), f"{path.name} is neither old nor new")


def _is_whole(path: Path) -> bool:
    """Whether a file has its end."""
    content = path.read_bytes()
    if content[:2] == b"PK":
        try:
            with zipfile.ZipFile(path) as archive:
                return archive.testzip() is None
        except zipfile.BadZipFile:
            return False
    ends = {".html": b"</html>", ".png": b"IEND\xaeB`\x82", ".svg": b"</svg>", ".csv": b"\n", ".dot": b"}"}
    end = ends.get(path.suffix)
    return end is None or (content if end == b"\n" else content.rstrip()).endswith(end)


def _same(ended: Ended, whole: Reference) -> bool:
    """Whether a child ended with the same result; a verb prints it, and the seconds that it took."""
    untimed = [re.sub(rb'"seconds[^,}]*|\d+(\.\d+)? ?(s|ms)\b', b"", end.out) for end in (ended, whole.ended)]
    return ended.result == whole.ended.result and untimed[0] == untimed[1]
