"""Fingerprints tell runs apart by what matters, and say how two runs differ."""

import numpy as np
import pytest

from daguerreotype._lib.fingerprint import differences, digest


@pytest.mark.parametrize(
    "other",
    [
        [np.arange(6.0).reshape(3, 2)],
        [np.arange(6).reshape(2, 3)],
        [np.arange(6.0).reshape(2, 3) + np.eye(2, 3)],
        [np.arange(6.0).reshape(2, 3), np.zeros(0)],
        [],
    ],
    ids=["shape", "type", "values", "number of arrays", "none"],
)
def test_a_digest_tells_arrays_apart_by_shape_type_values_and_number(other):
    assert digest(np.arange(6.0).reshape(2, 3)) != digest(*other)


def test_a_digest_does_not_hang_on_the_layout_in_memory():
    table = np.arange(6.0).reshape(2, 3)
    assert digest(table) == digest(np.asfortranarray(table)) == digest(np.hstack([table, table])[:, :3])


def test_runs_that_agree_have_no_differences():
    assert differences({"k": 10}, {"k": 10}) == ""


def test_differences_name_what_was_and_is_and_spare_the_reader_digests():
    saved, given = {"k": 10, "digest of data": "a1", "tau": 1.0}, {"tau": 1.0, "digest of data": "b2", "seed": 3}
    assert differences(saved, given) == "k was 10 and is now None; data differ; seed was None and is now 3"
