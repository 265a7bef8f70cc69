"""What pages name exists: functions behind equations, public names, files behind links."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THEORY = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "daguerreotype"
PLACE = re.compile(r"`(daguerreotype[\w.]*):([\w.]+)`")
PUBLIC = ["", "data", "operators", "edges", "graphs", "metrics", "simulate", "datasets", "plotting", "report"]
PUBLIC += ["bootstrap", "baselines"]
NUMBER = re.compile(r"\*\*Eq\. (\d+)")


def named(module, path):
    """The object that ``module:path`` stands for."""
    found = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def sections():
    """Number of each equation, and the text up to the next one."""
    parts = NUMBER.split(THEORY.split("## Past the paper")[0])
    return dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))


@pytest.mark.parametrize("place", sorted(set(PLACE.findall(THEORY))), ids=":".join)
def test_the_place_of_an_equation_exists(place):
    if place[0].startswith(("daguerreotype.edges", "daguerreotype.training.joint.train")):
        pytest.importorskip("torch")
    assert named(*place) is not None


def test_every_equation_of_the_paper_has_its_place():
    assert list(sections()) == list(range(1, 16))
    for number, text in sections().items():
        assert PLACE.search(text) or number == 15, number  # which is eq. 5 again


def test_docstrings_number_equations_as_the_theory_page_does():
    modules = {number: {module for module, _ in PLACE.findall(text)} for number, text in sections().items()}
    checked = 0
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for number in re.findall(r"\(eq\. (\d+)", path.read_text(encoding="utf-8")):
            expected = "daguerreotype.training.bilevel" if module == "daguerreotype.learner" else module
            assert expected in modules[int(number)], f"{module} speaks of eq. {number}"
            checked += 1
    assert checked >= 7


def documented():
    """Objects that the API reference shows."""
    for page in (ROOT / "docs" / "api").glob("*.md"):
        for target in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            if ".torch." in target or target.split(".")[-1] in {"LinearEdges", "MlpEdges"}:
                pytest.importorskip("torch")
            if ".plotting." in target:
                pytest.importorskip("matplotlib")
            module, name = target.rsplit(".", 1)
            yield named(module, name)


def test_the_reference_shows_every_public_name():
    shown = {id(each) for each in documented()}
    for package in PUBLIC:
        module = import_module(f"daguerreotype.{package}".rstrip("."))
        missing = [name for name in module.__all__ if name != "__version__" and hasattr(module, name)]
        missing = [name for name in missing if id(getattr(module, name)) not in shown]
        assert not [name for name in missing if callable(getattr(module, name))], module.__name__


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_pages_outside_the_site_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_every_method_of_the_learner_is_on_its_page():
    """The page leaves out what has no docstring of its own."""
    from daguerreotype import Daguerreotype

    own = {name for name in vars(Daguerreotype) if not name.startswith("_")}
    assert {"score", "curve", "plot", "report", "save", "load", "bootstrap", "posterior", "impute"} <= own
    assert all(vars(Daguerreotype)[name].__doc__ for name in own)
