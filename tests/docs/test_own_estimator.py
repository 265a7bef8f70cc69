"""The estimator of the tutorial keeps the contract that all built-in ones keep."""

import inspect
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contracts import test_edges
from daguerreotype import Daguerreotype

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_estimator.py"))
CONTRACT = {
    name: test
    for name, test in vars(test_edges).items()
    if name.startswith("test_") and list(inspect.signature(test).parameters) == ["estimator"]
    if name != test_edges.test_required_parents_are_kept_whatever_the_data_say.__name__  # which it cannot
}


def test_the_example_keeps_the_contract():
    assert len(CONTRACT) >= 6
    for test in CONTRACT.values():
        test(EXAMPLE["NearestNeighbourEdges"]())


def test_the_example_can_do_what_the_page_says():
    models = EXAMPLE["NearestNeighbourEdges"]().prepare(test_edges.planted_table())
    assert models.can.residuals
    assert models.can.predictions


def test_required_edges_are_refused_with_the_advice_that_the_page_gives():
    learner = Daguerreotype(edges=EXAMPLE["NearestNeighbourEdges"](), knowledge={"required": [("rain", "yield")]})
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["rain", "yield"])
    with pytest.raises(TypeError, match=r"'rain' -> 'yield'.*let prepare\(table, rules\) keep rules.required"):
        learner.fit(table)
