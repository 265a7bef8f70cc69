import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.training.schedule import ApproximateConvergence


def stops_at(objectives, tolerance, patience):
    """How many objectives are taken in before training stops; None if it goes on."""
    stopping = ApproximateConvergence(tolerance, patience)
    return next((step for step, value in enumerate(objectives, start=1) if stopping.update(value)), None)


def test_training_goes_on_while_the_objective_falls():
    assert stops_at(-np.arange(100.0), tolerance=1e-3, patience=2) is None


def test_a_flat_objective_stops_training_after_patience_further_steps():
    assert stops_at(np.ones(100), tolerance=1e-3, patience=7) == 8


def test_steps_that_improve_by_less_than_the_tolerance_add_up():
    assert stops_at(1.0 - 4e-4 * np.arange(100), tolerance=1e-3, patience=5) is None
    assert stops_at(1.0 - 1e-4 * np.arange(100), tolerance=1e-3, patience=5) == 6


def test_the_tolerance_is_relative_to_large_objectives_and_absolute_for_small_ones():
    assert stops_at(1000.0 - 0.5 * np.arange(50), tolerance=1e-3, patience=1) == 2
    assert stops_at(0.01 - 0.002 * np.arange(50), tolerance=1e-3, patience=1) is None


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
