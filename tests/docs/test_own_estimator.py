"""The estimator of the tutorial keeps the contract that all built-in ones keep."""

import inspect
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contracts import test_edges
from daguerreotype import Daguerreotype
from daguerreotype.edges.base import EdgeEstimator, HasPredictions, HasResiduals, LocalModels

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_estimator.py"))
CONTRACT = {
    name: test
    for name, test in vars(test_edges).items()
    if name.startswith("test_") and list(inspect.signature(test).parameters) == ["estimator"]
    if "prepare_with" not in inspect.getsource(test)  # of estimators that keep required parents
}


@pytest.mark.parametrize("name", CONTRACT)
def test_the_example_keeps_the_contract(name):
    CONTRACT[name](EXAMPLE["NearestNeighbourEdges"]())


def test_there_is_a_contract_to_keep():
    assert len(CONTRACT) >= 8


def test_the_example_offers_what_the_page_says():
    estimator = EXAMPLE["NearestNeighbourEdges"]()
    assert isinstance(estimator, EdgeEstimator)
    models = estimator.prepare(test_edges.planted_table())
    assert isinstance(models, LocalModels)
    assert isinstance(models, HasResiduals)
    assert isinstance(models, HasPredictions)


def test_required_edges_are_refused_with_the_advice_that_the_page_gives():
    learner = Daguerreotype(edges=EXAMPLE["NearestNeighbourEdges"](), knowledge={"required": [("rain", "yield")]})
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["rain", "yield"])
    with pytest.raises(TypeError, match=r"'rain' -> 'yield'.*give it a method prepare_with\(table, rules\)"):
        learner.fit(table)
