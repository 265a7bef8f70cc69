"""Campaign: cases of all parts in turn, a journal to go on from, and a file for each failure."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from daguerreotype._lib.journal import decode_line, encode_line
from fuzz.part import case_of
from fuzz.shrink import kind, shrink
from fuzz.workers import FAILED, Job, Outcome, run_cases


class Campaign:
    """A run over cases of several parts.

    Parameters
    ----------
    parts : dict
        Parts by name.
    seed : int
        Every case depends on it, on the name of its part, and on its number.
    journal : path or None
        File that every case is added to as it ends; cases in it are not tried again.
    out : path
        Folder for files of failing cases.
    n_workers : int
        Cases at a time.
    n_shrunk : int
        Failures of one kind that are made smaller; the rest are only listed.
    """

    def __init__(
        self,
        parts: Mapping[str, Any],
        seed: int,
        journal: Path | None,
        out: Path,
        n_workers: int,
        n_shrunk: int = 3,
    ) -> None:
        self.parts, self.seed, self.journal, self.out, self.n_workers = dict(parts), seed, journal, out, n_workers
        self.n_shrunk = n_shrunk
        self.tried: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.words: Counter[tuple[str, str]] = Counter()
        self.kinds: Counter[tuple[str, str]] = Counter()
        self.failures: list[tuple[Job, Outcome]] = []
        self._done: set[tuple[str, int]] = set()
        if journal is not None and journal.exists():
            self._read(journal)

    def _read(self, journal: Path) -> None:
        """Count the cases of an earlier run; a line that was torn by a kill is a case to try again."""
        for line in journal.read_bytes().split(b"\n")[:-1]:
            record = decode_line(line)
            if record is not None and record["seed"] == self.seed:
                self._count(record["part"], record["k"], Outcome(record["verdict"], record["word"]))

    def _count(self, part: str, k: int, outcome: Outcome) -> None:
        self._done.add((part, k))
        self.tried[part] += 1
        if outcome.verdict == FAILED:
            self.failed[part] += 1
            self.kinds[part, kind(outcome)] += 1
        else:
            self.words[part, outcome.word] += 1

    def run(self, minutes: float, most: Mapping[str, int]) -> None:
        """Try cases for so long, and of a part no more than ``most`` says of it; then shrink what failed."""
        run_cases(self._jobs(minutes, most), self.parts, self.n_workers, self._note)
        for job, outcome in self._worth_shrinking():
            self._write(job, *self._shrunk(job, outcome))

    def _jobs(self, minutes: float, most: Mapping[str, int]) -> Iterator[Job]:
        """Cases of the parts in turn, those that are done left out."""
        until = time.monotonic() + 60.0 * minutes
        numbers = dict.fromkeys(self.parts, 0)
        while numbers:
            # The part that is furthest behind its share comes next, so that all end together.
            name = min(numbers, key=lambda each: numbers[each] / most.get(each, 1000))
            k = numbers[name]
            numbers[name] += 1
            if k >= most.get(name, 10**9):
                del numbers[name]
            elif (name, k) not in self._done:
                if time.monotonic() >= until:
                    return
                yield name, k, case_of(self.parts[name], name, self.seed, k)

    def _note(self, job: Job, outcome: Outcome) -> None:
        name, k, _ = job
        self._count(name, k, outcome)
        if outcome.verdict == FAILED:
            self.failures.append((job, outcome))
        if self.journal is not None:
            record = {"seed": self.seed, "part": name, "k": k, "verdict": outcome.verdict, "word": outcome.word}
            with open(self.journal, "ab") as file:
                file.write(encode_line(record))

    def _worth_shrinking(self) -> Iterator[tuple[Job, Outcome]]:
        """The first few failures of each kind."""
        seen: Counter[tuple[str, str]] = Counter()
        for job, outcome in self.failures:
            seen[job[0], kind(outcome)] += 1
            if seen[job[0], kind(outcome)] <= self.n_shrunk:
                yield job, outcome

    def _shrunk(self, job: Job, outcome: Outcome) -> tuple[dict[str, Any], Outcome]:
        name, k, case = job
        part = self.parts[name]

        def tried(candidate: dict[str, Any]) -> Outcome:
            found: list[Outcome] = []
            run_cases(iter([(name, k, candidate)]), self.parts, 1, lambda _, each: found.append(each))
            return found[0]

        # What hangs takes the whole of its time at every step.
        return shrink(case, outcome, part.simpler, tried, most=20 if outcome.word.startswith("hangs") else 200)

    def _write(self, job: Job, case: dict[str, Any], outcome: Outcome) -> None:
        """A failing case as a file of its own, which ``--replay`` takes."""
        self.out.mkdir(parents=True, exist_ok=True)
        name, k, drawn = job
        record = {
            "part": name,
            "seed": self.seed,
            "k": k,
            "failure": outcome.word,
            "case": case,
            "drawn": drawn,
            "text": outcome.text,
        }
        (self.out / f"{name}-{self.seed}-{k}.json").write_text(json.dumps(record, indent=1) + "\n")

    def summary(self) -> str:
        """Tried, passed and failed by part, how cases ended, and what failed."""
        lines = [f"{'part':<8} {'tried':>8} {'passed':>8} {'failed':>8}"]
        for name in self.parts:
            tried, failed = self.tried[name], self.failed[name]
            lines.append(f"{name:<8} {tried:>8} {tried - failed:>8} {failed:>8}")
            ends = [f"{word} {n}" for (part, word), n in self.words.most_common() if part == name]
            if ends:
                lines.append(f"         {', '.join(ends)}")
        for (name, what), n in self.kinds.most_common():
            lines.append(f"{n:>6} x {name}: {what}")
        return "\n".join(lines)
