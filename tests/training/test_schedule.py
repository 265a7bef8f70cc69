import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.training.schedule import ApproximateConvergence


def stops_at(objectives, tolerance, patience):
    """How many objectives are taken in before training stops; None if it goes on."""
    stopping = ApproximateConvergence(tolerance, patience)
    return next((step for step, value in enumerate(objectives, start=1) if stopping.update(value)), None)


@pytest.mark.parametrize("first", [np.inf, np.nan])
def test_an_objective_that_is_not_finite_does_not_count_as_the_best(first):
    assert stops_at([first, 5.0, 4.0, 3.0, 2.0], tolerance=1e-3, patience=2) is None


@given(
    values=st.lists(st.floats(-10, 10), min_size=1, max_size=40),
    tolerance=st.sampled_from([0.0, 1e-3, 0.1]),
    patience=st.integers(1, 6),
)
def test_it_stops_when_none_of_the_last_patience_steps_beat_the_best_before(values, tolerance, patience):
    best, waited, expected = values[0], 0, None
    for step, value in enumerate(values[1:], start=2):
        if value < best - tolerance * max(abs(best), 1.0):
            best, waited = value, 0
        else:
            waited += 1
        if waited == patience:
            expected = step
            break
    assert stops_at(values, tolerance, patience) == expected
