"""Scales of single columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.data.column_scales import FORMS, ColumnScales, family, in_words
from daguerreotype.data.kinds import Kind
from daguerreotype.data.table import Table
from daguerreotype.data.transforms import Identity

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "with zeros": lambda rng, n: np.round(3 * rng.exponential(size=n)),
    "negative": lambda rng, n: -rng.lognormal(size=n),
    "shares": lambda rng, n: rng.beta(0.5, 0.5, size=n),
    "heavy tails": lambda rng, n: rng.standard_t(1.5, size=n),
    "far away": lambda rng, n: 1e6 + rng.normal(size=n),
    "tiny": lambda rng, n: 1e-9 * rng.lognormal(size=n),
}


def repeated(column, scales):
    return np.repeat(column[:, None], len(scales.forms), axis=1)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_scale_of_a_family_is_finite_and_increasing_and_has_its_slope(shape, seed):
    column = SHAPES[shape](np.random.default_rng(seed), 60)
    scales = family(column)
    values = repeated(np.unique(column), scales)
    on_scale = scales.apply(values)
    assert np.isfinite(on_scale).all()
    assert np.isfinite(scales.log_slopes(values)).all()
    assert (np.diff(on_scale, axis=0) > 0).all()
    # Between neighbours that are not too close there is a point that has the slope of the line through both.
    far = np.diff(values[:, 0]) > 1e-3 * column.std()
    slopes = np.diff(on_scale, axis=0) / np.diff(values, axis=0)
    inside = [scales.log_slopes(values[:-1] + share * np.diff(values, axis=0)) for share in np.linspace(0, 1, 21)]
    assert (np.log(slopes) <= np.max(inside, axis=0) + 1e-2)[far].all()
    assert (np.log(slopes) >= np.min(inside, axis=0) - 1e-2)[far].all()


def test_the_plain_logarithm_is_for_positive_columns_alone(rng):
    assert "log" in family(rng.lognormal(size=50)).forms
    assert "log" not in family(rng.normal(size=50)).forms
    assert "shifted log" in family(rng.normal(size=50)).forms


def test_values_beyond_those_that_were_seen_are_on_every_scale(rng):
    scales = family(rng.lognormal(size=50))
    values = repeated(np.array([-1e9, 1e9]), scales)
    assert np.isfinite(scales.apply(values)).all()
    assert np.isfinite(scales.log_slopes(values)).all()


def test_scales_have_words_and_one_name_if_one_fits_all():
    forms = ("none", "log", "shifted log", "mirrored log", "logit", "asinh")
    parameters = np.zeros((6, 3))
    parameters[2:, 0], parameters[4:, 1] = [-2.5, 9.0, 0.0, 1.0], [1.0, 2.0]
    scales = ColumnScales(forms, parameters)
    assert scales.words == ("none", "log", "log(x - 2.5)", "-log(9 - x)", "logit(0, 1)", "asinh((x - 1) / 2)")
    assert scales.name == "per column"
    assert scales.take([1, 2]).name == "log"
    assert scales.take([0]).name == "none"
    assert scales.surprise.tolist() == [0.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    assert scales.n_parameters == 0 + 0 + 1 + 1 + 2 + 2
    assert set(FORMS) == {*forms, "yeo-johnson"}


def test_scales_are_replaced_column_by_column():
    measured = ColumnScales.as_measured(3)
    changed = measured.replaced([2, 0], ColumnScales(("log", "logit"), np.array([[1.0, 0, 0], [0.0, 1.0, 0.0]])))
    assert changed.forms == ("logit", "none", "log")
    assert changed.unlike(measured).tolist() == [0, 2]
    assert changed.same_as(changed.replaced([1], measured.take([1])))
    assert measured.forms == ("none",) * 3


def test_scales_in_words_name_columns_only_where_they_differ():
    number, level = Kind("continuous", ""), Kind("binary", "", (False, True))
    kinds = {"a": number, "b": number, "c": level}
    assert in_words({"a": "none", "b": "none", "c": "none"}, kinds) == "as measured"
    assert in_words({"a": "log", "b": "log", "c": "none"}, kinds) == "log"
    assert in_words({"a": "none", "b": "log", "c": "none"}, kinds) == "log (b), as measured (a)"


@pytest.mark.parametrize("told", [False, True])
def test_offsets_make_likelihoods_on_all_scales_comparable(rng, told):
    values = np.column_stack([rng.lognormal(size=4000), rng.normal(size=4000)])
    out = np.zeros(values.shape, dtype=np.bool_)
    out[:1000, 0] = told
    values[:1000, 0] *= 3.0 if told else 1.0
    table = Table(values, ("a", "b"), intervened=out if told else None).canonical(np.arange(2))
    scaled = table.on_scale(Identity(), True)
    logarithm = ColumnScales(("log",), np.zeros((1, 3)))
    others = table.other_columns(scaled, np.array([0]), logarithm, np.zeros(1), 500)
    counted = ~table.intervened[:, 0] if told else np.ones(4000, dtype=np.bool_)
    logs = np.log(table.values[counted, 0])
    np.testing.assert_allclose(others.values[counted, 0], (logs - logs.mean()) / logs.std(), atol=1e-12)
    # log(dy / dz) = log(1 / x) - log(spread of y) + log(spread of z)
    expected = -(-logs - np.log(logs.std()) + np.log(scaled.spread[0]))
    assert others.offsets[0] == pytest.approx(expected.mean())
    assert others.first_offsets[0] == pytest.approx(expected[:500].mean())
