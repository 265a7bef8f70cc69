"""Values in messages: one line each, however long they are."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype._lib.checks import check_count, check_flag, check_positive
from daguerreotype._lib.labels import WIDEST, shown


@pytest.mark.parametrize(
    "value", [pd.DataFrame(np.zeros((30, 3))), np.zeros((9, 9)), "a\nb" * 100, list(range(999))]
)
def test_a_value_is_shown_on_one_line_of_bounded_length(value):
    assert "\n" not in shown(value)
    assert len(shown(value)) <= WIDEST + 3


@pytest.mark.parametrize("check", [check_count, check_positive, check_flag])
def test_an_error_about_a_table_in_the_place_of_a_number_is_one_line(check):
    with pytest.raises((ValueError, TypeError), match="patience must be") as caught:
        check(pd.DataFrame(np.zeros((30, 3))), "patience")
    assert "\n" not in str(caught.value)
