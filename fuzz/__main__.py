"""Fuzzing campaign on hypothesis strategies: ``python -m fuzz --minutes 10 --seed 0 --only fits,kills``.

Each part of the campaign has a strategy for its cases and a property that must hold of every one. Batches of
cases run in processes of their own, which are ended where a case hangs. Hypothesis makes a failing case as small
as it gets and keeps it in ``--out``, from where the next campaign tries it first.
"""

import argparse
import faulthandler
import json
import os
import subprocess
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

# Before OpenMP is loaded: several threads of several processes would only wait for each other.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

PARTS = ("fits", "inputs", "kills")
BATCH = 200  # cases of one process: enough that loading the package costs little beside them
HANG = 300.0  # seconds that a case may take on a busy machine


def run_batch(name: str, seed: int, n_cases: int, out: Path) -> dict[str, Any]:
    """Try cases of one part in this process: how they ended, and the failure that hypothesis made smallest."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import seed as seeded
    from hypothesis.database import DirectoryBasedExampleDatabase

    part = import_module(f"fuzz.{name}")
    part.warm()
    words: Counter[str] = Counter()

    def try_case(case: Any) -> None:
        (out / f"{name}-{seed}.case").write_text(f"{case!r}\n")
        faulthandler.dump_traceback_later(HANG, exit=True)
        words[part.check(case)] += 1

    options = settings(
        max_examples=n_cases,
        deadline=None,
        database=DirectoryBasedExampleDatabase(out / "cases" / name),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    failure = ""
    try:
        options(seeded(seed)(given(part.cases())(try_case)))()  # a seed sets aside the database given before
    except Exception as error:
        failure = f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"
    faulthandler.cancel_dump_traceback_later()
    (out / f"{name}-{seed}.case").unlink(missing_ok=True)
    return {"words": words, "failure": failure}


def in_own_process(name: str, seed: int, n_cases: int, out: Path) -> dict[str, Any]:
    """The same in a process of its own; one that hangs or dies is a failure of the case that it was at."""
    command = [sys.executable, "-m", "fuzz", "--batch", f"{name},{seed},{n_cases}", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    try:
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        case = out / f"{name}-{seed}.case"
        at = case.read_text() if case.exists() else ""
        result = {"words": {}, "failure": f"the process ended with {done.returncode}\n{at}{done.stderr[-4000:]}"}
    if result["failure"]:
        (out / f"{name}-{seed}.txt").write_text(result["failure"] + "\n")
    return result


def main() -> int:
    """Run what the arguments say; 1 if any case failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long new batches are begun")
    parser.add_argument("--seed", type=int, default=0, help="the same seed tries the same cases")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts: some of {','.join(PARTS)}")
    parser.add_argument("--cases", default="", help="most cases by part, such as fits=20000,kills=500")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="folder for failing cases")
    parser.add_argument("--batch", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    out = given.out.resolve()
    if given.batch:
        name, seed, n_cases = given.batch.split(",")
        print(json.dumps(run_batch(name, int(seed), int(n_cases), out)))
        return 0
    names = given.only.split(",")
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: expected some of {', '.join(PARTS)}")
    most = {name: int(n) for name, _, n in (entry.partition("=") for entry in given.cases.split(",") if entry)}
    words: dict[str, Counter[str]] = {name: Counter() for name in names}
    failures: list[tuple[str, str]] = []
    until = time.monotonic() + 60 * given.minutes

    def run_part(name: str, first: int) -> None:
        """Every ``jobs``-th batch of a part, until time or cases are spent."""
        for batch in count(first, given.jobs):
            n_cases = min(BATCH, most.get(name, sys.maxsize) - BATCH * batch)
            if n_cases <= 0 or time.monotonic() >= until:
                return
            result = in_own_process(name, 1_000_000 * given.seed + batch, n_cases, out)
            words[name].update(result["words"])
            if result["failure"]:
                failures.append((name, result["failure"].splitlines()[0]))

    with ThreadPoolExecutor(given.jobs) as pool:
        shares = [pool.submit(run_part, name, first) for first in range(given.jobs) for name in names]
        for share in shares:
            share.result()
    for name in names:
        ends = ", ".join(f"{word} {n}" for word, n in words[name].most_common())
        print(f"{name:<8} {sum(words[name].values()):>8} passed   {ends}")
    for (name, text), n in Counter(failures).most_common():
        print(f"FAILED {n} x {name}: {text}")
    print(f"failing cases are in {given.out}" if failures else "nothing failed")
    return int(bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())
