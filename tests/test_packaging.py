"""What is declared for installing agrees with what is tried."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TRIED = ("plot", "tune", "parquet", "distributed")  # extras of `make test-minimum`


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def lowest(requirement):
    name, version = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()
    return canonical(name), version


def pins(file):
    lines = (ROOT / file).read_text().splitlines()
    found = (re.match(r"([\w.-]+)==([\w.+]+)", line) for line in lines)
    return {canonical(match[1]): match[2] for match in found if match}


def test_the_lowest_versions_that_are_declared_are_those_that_are_tried():
    declared = PROJECT["dependencies"] + [
        each for extra in TRIED for each in PROJECT["optional-dependencies"][extra]
    ]
    tried = pins("constraints-minimum.txt")
    for name, version in map(lowest, declared):
        padded = (version + ".0.0").split(".")[:3]
        assert (tried[name] + ".0.0").split(".")[:3] == padded, f"{name}>={version}, but {tried[name]} is tried"


def test_the_lock_file_has_every_dependency_with_hashes_and_no_address():
    text = (ROOT / "requirements-dev.lock").read_text()
    locked = pins("requirements-dev.lock")
    for requirement in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]:
        name = canonical(re.match(r"[\w.-]+", requirement)[0])
        assert name in locked or name == "daguerreotype", f"{name} is not locked: run make lock"
    assert text.count("--hash=sha256:") >= len(locked)
    assert "://" not in text
    constraints = pins("constraints.txt")
    assert {name: version for name, version in constraints.items() if name in locked} == {
        name: locked[name] for name in constraints if name in locked
    }


def test_the_tests_that_the_makefile_names_are_there():
    named = re.findall(r"\btests/[\w/.]+", (ROOT / "Makefile").read_text())
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]
