"""Numbers with decimal commas or separated thousands are told from other text, and from each other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.data.number_formats import DECIMAL, THOUSANDS, parse_numbers


@pytest.mark.parametrize("cells", [["1,5", "x"], ["1,23,4"], ["12,34.5"], [","], ["2024-01-01"], [None, None]])
def test_text_that_is_no_number_in_any_format_is_left_alone(cells):
    assert parse_numbers([pd.Series(cells, name="a", dtype="str")], (DECIMAL, THOUSANDS))[0] == {}


@pytest.mark.parametrize(("decimal_first", "expected"), [(True, 1.234), (False, 1234.0)])
def test_a_comma_that_could_be_both_is_what_the_rest_of_the_file_makes_of_it(decimal_first, expected):
    doubtful, plain = pd.Series(["1,234", None], name="a", dtype="str"), pd.Series(["0,5"], name="b", dtype="str")
    formats = (DECIMAL, THOUSANDS) if decimal_first else (THOUSANDS, DECIMAL)
    found, _ = parse_numbers([doubtful], formats)
    np.testing.assert_array_equal(found["a"], [expected, np.nan])
    found, chosen = parse_numbers([doubtful, plain], formats)
    assert (chosen, found["a"][0], found["b"][0]) == ("decimal commas", 1.234, 0.5)


@given(
    values=st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), min_size=1, max_size=6),
    group=st.sampled_from(["", ".", " ", "'", "\u202f"]),
)
def test_numbers_with_decimal_commas_are_read_back_whatever_groups_their_digits(values, group):
    written = [f"{x:,.3f}".replace(",", "_").replace(".", ",").replace("_", group) for x in values]
    found, _ = parse_numbers([pd.Series(written, name="a", dtype="str")], [DECIMAL])
    assert found["a"].tolist() == values
