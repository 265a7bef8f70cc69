"""Does what is no table of observations get an error in the user's words?"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from daguerreotype import Daguerreotype
from daguerreotype.data import read_table
from daguerreotype.metrics import var_sortability
from daguerreotype.operators import project_permutahedron

ROWS = np.random.default_rng(0).normal(size=(40, 2))
FRAME = pd.DataFrame(ROWS, columns=["a", "b"])


@pytest.mark.parametrize(
    ("X", "error", "text"),
    [
        (FRAME.assign(when=pd.date_range("2024", periods=40)), ValueError, "'when' .holds dates.. Turn dates"),
        (FRAME.assign(t=pd.to_timedelta(range(40), "h")), ValueError, "nothing can be learned from column 't'"),
        (FRAME.assign(id=[f"id{i}" for i in range(40)]), ValueError, "'id' .names rows: a different text in each"),
        (FRAME[["a"]], ValueError, "1 column.*at least 2 are needed"),
        (FRAME[:0], ValueError, "0 rows; at least 3 are needed"),
        (FRAME.set_axis(["a", "a"], axis=1), ValueError, "'a' occurs more than once"),
        (FRAME.assign(a=np.inf), ValueError, "infinite values: 'a' .40."),
        (ROWS + 1j, ValueError, "Complex data not supported"),
        (FRAME.assign(c=[[1]] * 40), ValueError, "'c' holds values that are neither numbers nor text"),
        (sparse.csr_matrix(ROWS), TypeError, "X is a sparse matrix, which is not supported: give X.toarray"),
        (None, TypeError, "X is a NoneType: expected a DataFrame, or an array or a list of rows"),
        ("table.csv", TypeError, "X is a str: expected a DataFrame"),
        ({"a": [1.0], "b": [2.0]}, TypeError, "X is a dict: expected a DataFrame"),
        (iter(ROWS), TypeError, "expected a DataFrame, or an array or a list of rows"),
    ],
    ids=[
        "dates",
        "times",
        "ids",
        "one",
        "empty",
        "twice",
        "inf",
        "complex",
        "lists",
        "sparse",
        "none",
        "path",
        "dict",
        "iterator",
    ],
)
def test_what_is_no_table_is_refused_in_words(X, error, text):
    with pytest.raises(error, match=text):
        Daguerreotype(edges="bic").fit(X)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-300, 1e200])
def test_columns_too_large_or_small_for_floats_are_refused_chunk_by_chunk_too(size):
    rows = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 1.0, size]
    with pytest.raises(ValueError, match="variance of column 'x2' is too large or too small for floats"):
        Daguerreotype(edges="bic").fit_chunks([rows[:20], rows[20:]])


def test_a_path_that_no_file_can_have_is_refused():
    for name in ("a\0b.csv", "\ud800.csv"):
        with pytest.raises(ValueError, match="path must be the path of a file, but no file can be called"):
            read_table(name)


def test_complex_numbers_are_refused():
    for refuse in (
        lambda: project_permutahedron(np.ones(3) * 1j),
        lambda: var_sortability(ROWS * 1j, np.eye(2, k=1)),
    ):
        with pytest.raises(ValueError, match="must be real numbers, but they are complex"):
            refuse()
