"""What pages name exists: functions behind equations, public names, files behind links, tables of results."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
THEORY = (DOCS / "theory.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "daguerreotype"
PLACE = re.compile(r"`(daguerreotype[\w.]*):([\w.]+)`")
PUBLIC = ["", "data", "operators", "edges", "graphs", "metrics", "simulate", "datasets", "plotting", "report"]
PUBLIC += ["bootstrap", "baselines"]
TORCH = r"\.torch\.|LinearEdges|MlpEdges|\.gradient\.|\.joint\.|edges\.(linear|mlp)"


def named(module, path):
    """The object that ``module:path`` stands for."""
    for library, pattern in {"torch": TORCH, "matplotlib": "plotting"}.items():
        if re.search(pattern, f"{module}.{path}"):
            pytest.importorskip(library)
    target = import_module(module)
    for name in path.split("."):
        target = getattr(target, name)
    return target


def sections():
    """Number of each equation, and the text up to the next one."""
    parts = re.split(r"\*\*Eq\. (\d+)", THEORY.split("## Past the paper")[0])
    return dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))


def test_every_equation_of_the_paper_has_a_place_that_exists():
    assert list(sections()) == list(range(1, 16))
    for number, text in sections().items():
        assert PLACE.search(text) or number == 15, number  # which is eq. 5 again
    for place in sorted(set(PLACE.findall(THEORY))):
        assert named(*place) is not None, place


def test_docstrings_number_equations_as_the_theory_page_does():
    modules = {number: {module for module, _ in PLACE.findall(text)} for number, text in sections().items()}
    checked = 0
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for number in re.findall(r"\(eq\. (\d+)", path.read_text(encoding="utf-8")):
            users = {"daguerreotype.learner", "daguerreotype.training.settings"}  # they repeat what training says
            assert module in modules[int(number)] or module in users, f"{module} speaks of eq. {number}"
            checked += 1
    assert checked >= 7


def test_the_reference_shows_every_public_name():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    targets = re.findall(r"^::: ([\w.]+)$", pages, re.MULTILINE)
    documented = {id(named(*target.rsplit(".", 1))) for target in targets}
    for package in PUBLIC:
        module = import_module(f"daguerreotype.{package}".rstrip("."))
        public = [getattr(module, name, None) for name in module.__all__ if name != "__version__"]
        missing = [thing for thing in public if callable(thing) and id(thing) not in documented]
        assert not missing, module.__name__


def test_every_method_of_the_learner_is_on_its_page():
    """The page leaves out what has no docstring of its own."""
    from daguerreotype import Daguerreotype

    own = {name for name in vars(Daguerreotype) if not name.startswith("_")}
    assert {"score", "curve", "plot", "report", "save", "load", "bootstrap", "sample_posterior", "impute"} <= own
    assert all(vars(Daguerreotype)[name].__doc__ for name in own)


def test_links_of_pages_outside_the_site_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
            assert target.startswith("https://") or (ROOT / target).exists(), (page, target)


def test_tables_of_the_notebook_are_there_and_every_table_is_on_a_page():
    """All but those of sweeps, which are too long to be shown: claims sum them up."""
    shown = set()
    for page in (DOCS / "notebook").glob("*.md"):
        for target in re.findall(r"\]\(\.\./(results/[^)]+)\)", page.read_text(encoding="utf-8")):
            assert (DOCS / target).is_file(), (page.name, target)
            shown.add(target.split("/")[1])
    assert {folder.name for folder in (DOCS / "results").iterdir()} - {"authors-code"} <= shown
