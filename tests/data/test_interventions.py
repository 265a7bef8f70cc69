"""Whatever names the columns that were intervened on, the same mask comes of it."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype.data.interventions import Targets, read_interventions

NAMES = ("dose", "response", "outcome")
MASK = np.array([[1, 0, 0], [0, 0, 0], [1, 0, 1]], dtype=bool)


def test_every_way_to_say_it_gives_the_same_mask():
    for entries in (
        ["dose", None, ["dose", "outcome"]],
        [("dose",), "", {"dose", "outcome"}],
        pd.Series(["dose", np.nan, ("dose", "outcome")]),
        [{"dose": 1.0}, pd.NA, {"outcome": None, "dose": 0}],
        MASK,
        MASK.astype(int),
        pd.DataFrame(MASK, columns=NAMES)[["outcome", "dose"]],
    ):
        assert np.array_equal(read_interventions(entries, 3, NAMES, numbered=False), MASK)
    by_position = read_interventions(pd.Series([0, np.nan, 2]), 3, ("x0", "x1", "x2"), numbered=True)
    assert np.argwhere(by_position).tolist() == [[0, 0], [2, 2]]
    for nothing in (None, [None, "", np.nan], np.zeros((3, 3), dtype=bool)):
        assert read_interventions(nothing, 3, NAMES, numbered=False) is None


def test_entries_carry_the_values_that_columns_are_set_to():
    targets = Targets(["dose", 7, ("gene", 2)])
    assert targets.of({"dose": 1.5, 7: None}) == {0: 1.5, 1: None}
    assert targets.of(("gene", 2)) == {2: None}
    assert targets.of([7.0, "dose"]) == {1: None, 0: None}


def test_an_entry_for_all_rows_names_no_row():
    with pytest.raises(ValueError, match=r"interventions names 'dos', which is no column; did you mean 'dose'\?"):
        Targets(NAMES).of("dos")
    with pytest.raises(ValueError, match=r"interventions names 'dos' in row 5, which is no column"):
        Targets(NAMES).of("dos", 4)
