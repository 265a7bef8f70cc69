"""Do names and types of polars and pyarrow tables survive in every message?"""

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.baselines.trivial import Empty

QUICK = {"edges": "bic", "transform": "none", "k": 5, "max_iter": 10, "n_restarts": 0, "posterior": 0}
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
        Daguerreotype(**QUICK).fit(make(TEXT)),
        Daguerreotype(**QUICK).fit_chunks([make(NUMBERS)]),
        Empty().fit(make(NUMBERS)),
    ):
        assert m.adjacency_matrix_.columns.tolist()[:2] == ["dose", "effect"]


def test_nulls_are_gaps_and_messages_call_them_by_name(make):
    assert Daguerreotype(**QUICK).fit(make(NULLS)).missing_.counts == {"dose": 1}
    assert Daguerreotype(**QUICK).fit_chunks([make(NULLS)]).missing_.counts == {"dose": 1}
    careful = Daguerreotype(**QUICK, missing="error")
    for learn in (careful.fit, lambda X: careful.fit_chunks([X]), Empty().fit):
        with pytest.raises(ValueError, match=r"NaN value.*'dose'"):
            learn(make(NULLS))


def test_text_is_called_by_name_and_type_where_numbers_are_asked_for(make):
    for learn in (lambda X: Daguerreotype(**QUICK).fit_chunks([X]), Empty().fit):
        with pytest.raises(ValueError, match=r"could not convert to numbers: column 'city' .*hold.* (str|obj)"):
            learn(make(TEXT))
