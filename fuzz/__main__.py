"""Command line of the fuzzing campaign: ``python -m fuzz --minutes 10 --seed 0 --only fits,kills``."""

import argparse
import json
import os
import sys
from pathlib import Path

# Before OpenMP is loaded: several threads of several processes would only wait for each other.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from fuzz.campaign import Campaign
from fuzz.part import case_of
from fuzz.parts import PARTS, load
from fuzz.workers import FAILED, Outcome, run_cases


def main() -> int:
    """Run what the arguments say; 1 if any case failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to go on; failures are shrunk after")
    parser.add_argument("--seed", type=int, default=0, help="the same seed tries the same cases")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts: some of {','.join(PARTS)}")
    parser.add_argument("--cases", default="", help="most cases by part, such as fits=20000,kills=500")
    parser.add_argument("--resume", type=Path, help="journal of cases; those in it are not tried again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="cases at a time")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="folder for failing cases")
    parser.add_argument("--shrink", type=int, default=3, help="failures of one kind to make smaller")
    parser.add_argument("--case", metavar="PART:K", help="try this case alone")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="try the case in this file alone")
    given = parser.parse_args()
    if given.case or given.replay:
        return _try_one(given.case, given.replay, given.seed)
    names = given.only.split(",")
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: expected some of {', '.join(PARTS)}")
    most = {name: int(n) for name, _, n in (each.partition("=") for each in given.cases.split(",") if each)}
    journal = None if given.resume is None else given.resume.resolve()
    campaign = Campaign(load(names), given.seed, journal, given.out.resolve(), given.jobs, given.shrink)
    try:
        campaign.run(given.minutes, most)
    except KeyboardInterrupt:
        print("interrupted; failures were not shrunk", file=sys.stderr)
    print(campaign.summary())
    if campaign.failures:
        print(f"failing cases are in {given.out}; try one again with --replay FILE")
    return int(campaign.failed.total() > 0)


def _try_one(which: str | None, file: Path | None, seed: int) -> int:
    """Try one case, and print it with all that there is to say of it."""
    if file is not None:
        record = json.loads(file.read_text())
        name, k, case = record["part"], record["k"], record["case"]
        parts = load([name])
    else:
        name, _, number = (which or "").partition(":")
        parts, k = load([name]), int(number)
        case = case_of(parts[name], name, seed, k)
    print(json.dumps(case, indent=1))
    outcomes: list[Outcome] = []
    run_cases(iter([(name, k, case)]), parts, 1, lambda _, outcome: outcomes.append(outcome))
    print(f"{outcomes[0].verdict}: {outcomes[0].word}\n{outcomes[0].text}")
    return int(outcomes[0].verdict == FAILED)


if __name__ == "__main__":
    raise SystemExit(main())
