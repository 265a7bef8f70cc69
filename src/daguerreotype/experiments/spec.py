"""Specification of an experiment: a TOML file, read and checked before any work."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import resources
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

from daguerreotype._lib.checks import check_file_name, check_positive, check_positive_int, check_text
from daguerreotype._lib.files import read_words
from daguerreotype.baselines import available
from daguerreotype.experiments.method import (
    KNOWN_MEASURES,
    LEFT_OUT,
    SOURCES,
    Method,
)
from daguerreotype.experiments.problems import DataSource
from daguerreotype.learner import Daguerreotype
from daguerreotype.paper import paper_settings

MEASURES = ("shd", "sid", "f1", "n_edges", "seconds")
FIGURES = {"pareto": (), "curves": ("x",), "graphs": ()}  # kind -> what it must name
TOP = {"title", "repeats", "time_limit", "measures", "published", "problems", "methods", "figures", "quick"}
OF_PROBLEM = {"label", "data", "settings", "vary", "tags"}
OF_METHOD = {"label", *SOURCES, "settings", "unset", "vary", "draws", "where", "left_out"}
OF_PAPER = signature(Daguerreotype.paper).parameters.keys() - {"changes"}  # those are settings
OF_FIGURE = {
    "file",
    "kind",
    "x",
    "panels",
    "measures",
    "methods",
    "leave_out",
    "log_x",
    "log_y",
    "published",
}
OF_QUICK = {"repeats", "time_limit", "leave_out", "vary"}


@dataclass(frozen=True)
class Spec:
    """An experiment.

    Attributes
    ----------
    name : str
        Of the file that it comes from; results go to a folder of this name.
    title : str
        What it shows, in a line.
    problems, methods : tuple
        All that are compared, with every value of what is varied.
    repeats : int
        How many seeds, networks or draws.
    time_limit : float or None
        Seconds that one run may take.
    measures : tuple of str
        Columns of the table: names of `metrics.evaluate`, seconds, wall_seconds, n_iter, and rankings with mass:
        n_rankings at the end, mean_rankings and max_rankings over all steps.
    published : str
        Which published table has numbers for the labels; "" for none.
    figures : tuple of dict
        What is drawn.
    """

    name: str
    title: str
    problems: tuple[DataSource, ...]
    methods: tuple[Method, ...]
    repeats: int = 10
    time_limit: float | None = 600.0
    measures: tuple[str, ...] = MEASURES
    published: str = ""
    figures: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)

    def resized(self, *, repeats: int | None = None, time_limit: float | None = None) -> "Spec":
        """The same with another number of repeats, or another limit of time; None changes nothing."""
        return replace(
            self,
            repeats=self.repeats if repeats is None else check_positive_int(repeats, "repeats"),
            time_limit=self.time_limit if time_limit is None else check_positive(time_limit, "time_limit"),
        )


def shipped() -> list[str]:
    """Names of the experiments that come with the package."""
    folder = resources.files("daguerreotype.experiments").joinpath("specs")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def load_spec(name: str, *, quick: bool = False, trust: bool = False) -> Spec:
    """The experiment ``name`` of the package, or that of a TOML file.

    Parameters
    ----------
    name : str
        One of `shipped`, or a path that ends in ``.toml``.
    quick : bool
        Take the changes of the table ``quick``, which make it a matter of minutes.
    trust : bool
        Let the file name any class to import and run.
    """
    check_text(name, "name")
    if name.endswith(".toml"):
        path = Path(name)
        return read_spec(read_words(path), path.stem, quick=quick, folder=path.parent, trust=trust)
    if name not in shipped():
        raise ValueError(
            f"there is no experiment {name!r}: choose one of {', '.join(shipped())}, or give a file that ends in "
            ".toml."
        )
    source = resources.files("daguerreotype.experiments").joinpath("specs", f"{name}.toml")
    return read_spec(source.read_text(encoding="utf-8"), name, quick=quick)


def read_spec(
    text: str, name: str, *, quick: bool = False, folder: Path | None = None, trust: bool = False
) -> Spec:
    """The experiment that the TOML ``text`` describes; see docs/comparisons.md for what it may say."""
    check_text(text, "text")
    check_file_name(name, "the name of the experiment, which its folder gets,")
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"experiment {name!r} is not valid TOML: {error}.") from error
    _check_names(content, TOP, f"experiment {name!r}")
    changes = content.pop("quick", {})
    _check_names(changes, OF_QUICK, f"[quick] of {name!r}")
    left_out = set(changes.get("leave_out", []))
    changes = changes if quick else {}
    vary = changes.get("vary", {})
    problems = tuple(p for entry in content.get("problems", []) for p in _problems(entry, vary, folder))
    methods = tuple(m for entry in content.get("methods", []) for m in _methods(entry, vary, trust))
    strange = sorted(left_out - {problem.label for problem in problems} - {method.label for method in methods})
    if strange:
        raise ValueError(f"[quick] of {name!r} leaves out {strange[0]!r}, which is neither problem nor method.")
    if quick:
        problems = tuple(problem for problem in problems if problem.label not in left_out)
        methods = tuple(method for method in methods if method.label not in left_out)
    if not problems or not methods:
        raise ValueError(
            f"experiment {name!r} has {len(problems)} problems and {len(methods)} methods; give both."
        )
    for problem in problems:
        problem.check()
    for method in methods:
        for varied in method.where:
            if not any(varied in problem.varied for problem in problems):
                raise ValueError(
                    f"method {method.label!r} is run where {varied!r} is given, which no problem varies."
                )
    spec = Spec(
        name=name,
        title=content.get("title", name),
        problems=problems,
        methods=methods,
        repeats=check_positive_int(content.get("repeats", 10), "repeats"),
        time_limit=check_positive(content.get("time_limit", 600.0), "time_limit"),
        measures=_measures(content.get("measures", MEASURES), name),
        published=content.get("published", ""),
        figures=tuple(_figure(entry, name) for entry in content.get("figures", [])),
    )
    return spec.resized(repeats=changes.get("repeats"), time_limit=changes.get("time_limit"))


def _problems(entry: dict[str, Any], vary: Mapping[str, Any], folder: Path | None) -> Iterator[DataSource]:
    """A problem for every combination of what it varies."""
    _check_names(entry, OF_PROBLEM, f"problem {entry.get('label', entry.get('data'))!r}")
    data = str(entry.get("data", ""))
    tags, settings = entry.get("tags", {}), entry.get("settings", {})
    for varied in _combinations(entry.get("vary", {}), vary):
        label = _filled(str(entry.get("label", data)), tags | varied)
        yield DataSource(label, data, settings | varied, tags | varied, str((folder or Path()).resolve()))


def _filled(label: str, values: Mapping[str, Any]) -> str:
    """The label with what is varied in the place of its name in braces; all other braces are text."""
    return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), label)


def _methods(entry: dict[str, Any], vary: Mapping[str, Any], trust: bool) -> Iterator[Method]:
    """A method for every combination of what it varies."""
    _check_names(entry, OF_METHOD, f"method {entry.get('label')!r}")
    sources = [source for source in SOURCES if source in entry]
    if len(sources) != 1 or "label" not in entry:
        raise ValueError(f"method {entry.get('label')!r} needs a label and one of {', '.join(SOURCES)}.")
    source, label = sources[0], str(entry["label"])
    # TOML has no word for None
    name, settings = entry[source], entry.get("settings", {}) | dict.fromkeys(entry.get("unset", []))
    if source == "paper":
        _check_names(name, OF_PAPER, f"paper of method {label!r}")
        with suppress(ImportError):  # of torch, which its runs will miss
            paper_settings(**{"operator": None, "edges": None, "training": None} | name)
    elif source == "learner":
        name, settings = None, name | settings
    elif source == "baseline" and name not in available():
        raise ValueError(f"method {label!r}: unknown baseline {name!r}; choose one of {', '.join(available())}.")
    elif source == "estimator":
        _check_estimator(name, label, trust)
    for varied in _combinations(entry.get("vary", {}), vary):
        yield Method(
            label=_filled(label, varied),
            source=source,
            name=name,
            settings=settings | varied,
            varied=varied,
            draws=bool(entry.get("draws", True)),
            where=entry.get("where", {}),
            left_out=str(entry.get("left_out", LEFT_OUT)),
        )


def _check_estimator(name: Any, label: str, trust: bool) -> None:
    """Refuse what is no class, and one that is vouched for by nothing but the file."""
    if not isinstance(name, str) or ":" not in name:
        raise ValueError(f"method {label!r}: estimator is {name!r}; expected 'package.module:Class'.")
    if not trust:
        raise ValueError(
            f"method {label!r}: estimator = {name!r} names code that would be imported and run. If you trust the "
            "whole file, add --trust, in Python trust=True."
        )


def _figure(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """A figure, checked."""
    _check_names(entry, OF_FIGURE, f"a figure of {name!r}")
    if entry.get("kind") not in FIGURES or "file" not in entry:
        raise ValueError(f"a figure of {name!r} needs a file and a kind out of {', '.join(FIGURES)}; got {entry}.")
    check_file_name(entry["file"], f"file of a figure of {name!r}")
    _measures([*entry.get("measures", []), *entry.get("log_y", [])], name)
    for needed in FIGURES[entry["kind"]]:
        if needed not in entry:
            raise ValueError(f"figure {entry['file']!r} of {name!r} needs {needed!r}.")
    return entry


def _measures(names: Sequence[str], experiment: str) -> tuple[str, ...]:
    """Columns of a table, checked."""
    for name in names:
        if name not in KNOWN_MEASURES:
            raise ValueError(
                f"experiment {experiment!r} measures {name!r}; choose among {', '.join(KNOWN_MEASURES)}."
            )
    return tuple(names)


def _combinations(vary: Mapping[str, Sequence[Any]], instead: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination of values, those of ``instead`` where it has the name."""
    lists = {name: list(instead.get(name, values)) for name, values in vary.items()}
    for values in product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def _check_names(entry: Mapping[str, Any], allowed: set[str], what: str) -> None:
    """Refuse names that would be ignored."""
    unknown = [name for name in entry if name not in allowed]
    if unknown:
        raise ValueError(f"{what} has {', '.join(map(repr, unknown))}; it may have {', '.join(sorted(allowed))}.")
