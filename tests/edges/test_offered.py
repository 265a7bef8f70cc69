"""Capabilities of local models: what a composite offers is what all its parts do."""

import numpy as np
import pytest

from daguerreotype.data.table import Table
from daguerreotype.edges import BicEdges, GamEdges, LarsEdges
from daguerreotype.edges.base import (
    CanFork,
    Composite,
    HasBatchFits,
    HasCurves,
    HasMoves,
    HasPredictions,
    HasPredictor,
    HasQuickScores,
    HasResiduals,
    HasSweeps,
    LocalModels,
    offered,
)
from daguerreotype.edges.interventional import GroupedModels, prepare_by_group
from support.fits import linear_data

CAPABILITIES = (
    CanFork,
    HasBatchFits,
    HasCurves,
    HasMoves,
    HasPredictions,
    HasPredictor,
    HasQuickScores,
    HasResiduals,
)
ESTIMATORS = {"bic": BicEdges(), "gam": GamEdges(), "lars": LarsEdges()}
whats = pytest.mark.parametrize("what", CAPABILITIES, ids=lambda what: what.__name__)


def table():
    values = linear_data(0, 60, 3)
    intervened = np.zeros(values.shape, dtype=bool)
    intervened[:20, 1] = True
    return Table(values - values.mean(axis=0), tuple("abc"), intervened=intervened)


class Bare:
    """Models that can do nothing but fit."""

    def fit(self, node, predecessors):
        raise AssertionError("nobody asked for a fit")


def grouped(*parts):
    return GroupedModels(parts, np.arange(len(parts)), np.zeros((len(parts), len(parts))))


@whats
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_models_by_group_offer_what_those_of_the_whole_table_do(estimator, what):
    plain = ESTIMATORS[estimator].prepare(Table(table().values, table().names))
    composite = prepare_by_group(table(), ESTIMATORS[estimator].prepare)
    assert isinstance(composite, Composite)
    assert len(composite.parts) == 2
    assert offered(composite, what) is (None if offered(plain, what) is None else composite)
    assert offered(plain, what) in (None, plain)


def test_capabilities_tell_estimators_apart():
    models = [each.prepare(Table(table().values, table().names)) for each in ESTIMATORS.values()]
    for what in (CanFork, HasCurves, HasMoves, HasQuickScores):
        found = {offered(each, what) is not None for each in models}
        assert found == {True, False}


@whats
def test_one_part_that_cannot_is_enough_for_a_composite_not_to(what):
    able = GamEdges().prepare(Table(table().values, table().names))
    assert (offered(grouped(able, able), what) is None) == (offered(able, what) is None)
    assert offered(grouped(able, Bare()), what) is None
    assert offered(grouped(Bare(), able), what) is None


@whats
def test_a_composite_of_composites_asks_all_the_way_down(what):
    able = GamEdges().prepare(Table(table().values, table().names))
    inner, spoiled = grouped(able, able), grouped(able, Bare())
    assert (offered(grouped(inner, able), what) is None) == (offered(able, what) is None)
    assert offered(grouped(inner, spoiled), what) is None


def test_a_composite_does_not_offer_what_it_has_no_method_for():
    able = BicEdges().prepare(Table(table().values, table().names))
    assert offered(able, HasSweeps) is able
    assert offered(grouped(able, able), HasSweeps) is None


def test_all_models_offer_to_fit():
    bare = Bare()
    composite = grouped(bare, bare)
    assert offered(bare, LocalModels) is bare
    assert offered(composite, LocalModels) is composite
    assert offered(object(), LocalModels) is None
