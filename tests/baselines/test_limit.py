"""A method that runs too long, fails or dies is reported as that."""

from pathlib import Path

import numpy as np
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.baselines import TimeLimitError
from daguerreotype.experiments.method import warm_up
from daguerreotype.operators import FixedOrder
from support.fits import linear_data
from support.waiting import HANG

X = linear_data(0, 40, 3)


@pytest.fixture
def ending(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from support.ending_methods import Ending

    return Ending


def test_a_method_past_its_limit_is_ended_and_the_error_names_method_limit_and_size(ending):
    with pytest.raises(
        TimeLimitError,
        match=r"Ending did not finish within time_limit=0\.5 seconds on 40 rows and 3 columns\. Raise time_limit",
    ):
        ending(end="late", time_limit=0.5).fit(X)
    assert issubclass(TimeLimitError, TimeoutError)


def test_within_its_limit_a_method_finds_what_it_finds_without_one(ending, capfd):
    free, limited = ending(random_state=4).fit(X), ending(random_state=4, time_limit=HANG).fit(X)
    assert np.array_equal(free.adjacency_matrix_, limited.adjacency_matrix_)
    assert np.array_equal(free.weights_, limited.weights_)
    assert limited.fit_seconds_ >= 0
    assert capfd.readouterr().out == "a library that talks\n"  # of the free one; the child's is kept apart


def test_a_method_that_dies_is_reported_with_its_exit_code(ending):
    with pytest.raises(RuntimeError, match=r"Ending ended with exit code 9: "):
        ending(end="death", time_limit=HANG).fit(X)


def test_a_warm_up_imports_libraries_and_leaves_the_learner_as_it_was(ending, monkeypatch):
    loaded = []
    monkeypatch.setattr(ending, "load_libraries", lambda self: loaded.append(self.end))
    warm_up(ending(end="well"))
    assert loaded == ["well"]
    for edges in ("gam", "mlp"):
        learner = Daguerreotype(edges=edges, verbose=1, operator=FixedOrder([1, 0, 2]))
        before = learner.get_params()
        warm_up(learner)
        assert learner.get_params() == before
        assert not hasattr(learner, "adjacency_matrix_")


def test_a_graph_with_a_cycle_or_an_edge_against_its_order_is_never_handed_out(ending):
    with pytest.raises(RuntimeError, match=r"Ending returned a graph with the cycle x0 -> x1 -> x0; expected"):
        ending(end="cycle").fit(X)
    with pytest.raises(RuntimeError, match=r"Ending returned an edge against its own causal order"):
        ending(end="against its order").fit(X)
