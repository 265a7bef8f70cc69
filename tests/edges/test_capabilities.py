"""Capabilities: what estimators and their models say they can do is what they have methods for."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype
from daguerreotype.data.table import Table
from daguerreotype.edges import (
    EDGES,
    Capabilities,
    EdgeEstimator,
    LocalModels,
    RegressorEdges,
    SearchableModels,
    make_estimator,
)
from daguerreotype.edges.interventional import GroupedModels, prepare_by_group
from support.fits import linear_data

METHODS = {
    "joint": "fit_from",
    "batches": "fit_many",
    "residuals": "residuals",
    "predictions": "predict",
    "curves": "curve",
}


def table(intervened=None):
    values = linear_data(0, 60, 3)
    return Table(values - values.mean(axis=0), tuple("abc"), intervened=intervened)


@pytest.fixture(params=[*EDGES, "regressor"])
def estimator(request):
    if request.param in ("linear", "mlp"):
        pytest.importorskip("torch")
    return RegressorEdges(LinearRegression()) if request.param == "regressor" else make_estimator(request.param)


def test_models_have_the_methods_that_they_speak_of_and_no_others(estimator):
    models = estimator.prepare(table())
    for capability, method in METHODS.items():
        own = getattr(type(models), method) is not getattr(LocalModels, method)
        assert getattr(models.can, capability) == own, capability
    assert models.can.search == isinstance(models, SearchableModels)
    if models.can.search:
        for method in set(vars(SearchableModels)) - {"__doc__", "__module__", "fit_moves"}:  # made of scores
            assert getattr(type(models), method) is not getattr(SearchableModels, method), method
    if estimator.can.kinds:
        assert type(models).mass is not LocalModels.mass
    assert not estimator.can.scales or models.can.search
    assert estimator.can.rules  # all of the package keep required parents


def test_models_by_group_can_do_what_those_of_their_groups_can(estimator):
    intervened = np.zeros((60, 3), dtype=bool)
    intervened[:20, 1] = True
    models = prepare_by_group(table(intervened), estimator.prepare)
    assert isinstance(models, GroupedModels)
    assert models.can == estimator.prepare(table()).can
    for capability, method in METHODS.items():  # fits of many fall back on single ones
        own = getattr(GroupedModels, method) is not getattr(LocalModels, method)
        assert own or not getattr(models.can, capability)


def test_an_estimator_that_is_derived_from_nothing_is_told_what_to_derive_from():
    class Own:
        def prepare(self, table):
            raise AssertionError

    with pytest.raises(TypeError, match=r"edges is a Own, which has prepare but is no EdgeEstimator: derive .*"):
        Daguerreotype(edges=Own()).fit(linear_data(0, 30, 3))


def test_models_that_are_derived_from_nothing_are_told_what_to_derive_from():
    class Own(EdgeEstimator):
        can = Capabilities(residuals=True)

        def prepare(self, table):
            return object()

    with pytest.raises(
        TypeError, match=r"Own.prepare returned a object, which is no LocalModels: derive its class"
    ):
        Daguerreotype(edges=Own()).fit(linear_data(0, 60, 3))


def test_what_is_promised_and_not_there_is_named():
    class Own(LocalModels):
        can = Capabilities(residuals=True)

    with pytest.raises(TypeError, match=r"Own has no residuals\(node, fit\): give it one"):
        Own().residuals(0, None)
    with pytest.raises(TypeError, match=r"has no prepare\(table\)"):
        EdgeEstimator().prepare(table())
    with pytest.raises(TypeError, match="edges is a int: expected one of 'gam'"):
        make_estimator(3)
