import pytest

from daguerreotype.experiments import Store, make_plan, read_spec
from support.waiting import HANG

SPEC = """
title = "chains"
repeats = {repeats}
time_limit = {time_limit}

[[problems]]
data = "simulated"
label = "d = {{d}}"
settings = {{ n = 30, edges_per_node = 1.0 }}
vary = {{ d = {sizes} }}

[[figures]]
file = "curves"
kind = "curves"
x = "setting"
panels = "d"

[[figures]]
file = "pareto"
kind = "pareto"

{methods}
"""
METHOD = """
[[methods]]
label = "{label}"
estimator = "support.estimators:{cls}"
settings = {{ {settings} }}
"""


def method(cls, label=None, **settings):
    written = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
    return METHOD.format(cls=cls, label=label or cls, settings=written)


def write(*methods, repeats=2, time_limit=HANG, sizes=(4,)):
    return SPEC.format(repeats=repeats, time_limit=time_limit, sizes=list(sizes), methods="".join(methods))


@pytest.fixture
def spec_text():
    """Text of a spec: of methods written by `method`."""
    return write


@pytest.fixture
def written():
    """A method of tests/support/estimators.py as TOML."""
    return method


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs.jsonl")


@pytest.fixture
def log(tmp_path):
    """A file that estimators write their fits to."""
    path = tmp_path / "log"
    path.touch()
    return path


@pytest.fixture
def planned(store):
    """Runs of a spec, planned on the store."""

    def make(text, name="chains"):
        return make_plan(read_spec(text, name, trust=True), store=store)

    return make
