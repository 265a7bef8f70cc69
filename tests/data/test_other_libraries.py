"""Do names and types of polars and pyarrow tables survive in every message?"""

import numpy as np
import pytest

from daguerreotype.baselines.sortnregress import Empty
from support.learners import make_learner

QUICK = {"edges": "bic", "scales": "none", "k": 5, "max_iter": 10, "n_restarts": 0, "posterior": 0}
DOSE = np.random.default_rng(0).normal(size=50)
NUMBERS = {"dose": DOSE.tolist(), "effect": (DOSE + np.random.default_rng(1).normal(size=50)).tolist()}
NULLS = {**NUMBERS, "dose": [None, *NUMBERS["dose"][1:]]}
TEXT = {**NUMBERS, "city": ["Bonn", "Oslo"] * 25}


@pytest.fixture(params=["polars", "pyarrow"])
def make(request):
    library = pytest.importorskip(request.param)
    return library.DataFrame if request.param == "polars" else library.table


def test_names_come_out_as_they_went_in(make):
    for m in (
        make_learner(**QUICK).fit(make(TEXT)),
        make_learner(**QUICK).fit_chunks([make(NUMBERS)]),
        Empty().fit(make(NUMBERS)),
    ):
        assert m.adjacency_matrix_.columns.tolist()[:2] == ["dose", "effect"]


def test_nulls_are_gaps_and_messages_call_them_by_name(make):
    assert make_learner(**QUICK).fit(make(NULLS)).missing_.counts == {"dose": 1}
    dropping = make_learner(missing="drop", **QUICK).fit_chunks([make(NULLS)])
    assert dropping.missing_.counts == {"dose": 1}
    careful = make_learner(missing="error", **QUICK)
    for learn in (careful.fit, lambda X: careful.fit_chunks([X]), Empty().fit):
        with pytest.raises(ValueError, match=r"NaN value.*'dose'"):
            learn(make(NULLS))


def test_text_is_called_by_name_and_type_where_numbers_are_asked_for(make):
    for learn in (lambda X: make_learner(**QUICK).fit_chunks([X]), Empty().fit):
        with pytest.raises(ValueError, match=r"could not convert to numbers: column 'city' .*hold.* (str|obj)"):
            learn(make(TEXT))
