"""Grids that columns were rounded to, and ties spread over their cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.data.columns import distinct, grid_step
from daguerreotype.data.interventions import read_interventions
from daguerreotype.data.scales import ColumnScales
from daguerreotype.data.table import Table
from daguerreotype.data.ties import untie
from daguerreotype.noise import FreeShape

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "uniform": lambda rng, n: rng.uniform(-2.0, 2.0, size=n),
    "two humps": lambda rng, n: rng.normal(size=n) + 3.0 * rng.choice([-1, 1], size=n),
}
ALL = np.arange(1)
AS_MEASURED = ColumnScales.as_measured(2)
LOGARITHMS = ColumnScales(("log", "log"), np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]))


def rounded(values, step):
    return np.round(values / step) * step


def step_of(column):
    return grid_step(*distinct(np.sort(column)))


def spread(column, **more):
    """The column with its ties spread, in a table with another that has none; None if nothing was spread."""
    found = untie(np.column_stack([column, np.linspace(0.0, 1.0, column.size)]), ALL, **more)
    return None if found is None else found[0][:, 0]


@given(
    st.sampled_from([1.0, 2.0, 0.25, 0.1, 0.01, 1 / 3, 7.5]),
    st.sampled_from([0.0, 1.0, -300.0, 12345.0]),
    st.data(),
)
def test_a_grid_is_known_by_its_step_wherever_it_begins(step, start, data):
    seed = data.draw(st.integers(0, 100))
    column = start + rounded(np.random.default_rng(seed).normal(size=300) * 20 * step, step)
    assert step_of(column) == pytest.approx(step, rel=1e-6)


def test_values_of_two_digits_are_on_no_grid_and_spread_over_the_cells_between_their_neighbours(rng):
    column = np.array([float(f"{value:.2g}") for value in np.exp(3 * rng.normal(size=800))])
    assert np.unique(column).size < column.size
    assert step_of(column) == 0.0
    moved = spread(column)
    np.testing.assert_allclose(moved, column, rtol=0.1)  # a long tail widens no other cell
    assert np.unique(moved).size > 790


@pytest.mark.parametrize("shape", SHAPES)
def test_values_that_do_not_repeat_are_on_no_grid_and_stay_where_they_are(shape, rng):
    column = SHAPES[shape](rng, 500)
    assert step_of(column) == 0.0
    assert spread(column) is None


def test_rows_that_repeat_as_a_whole_and_a_few_values_that_occur_twice_make_no_ties(rng):
    values = rng.normal(size=(500, 3))
    assert untie(values[rng.integers(500, size=500)], np.arange(3)) is None
    values[:4, 0] = values[4:8, 0]
    assert untie(values, np.arange(3)) is None


def test_a_table_of_few_distinct_rows_has_ties(rng):
    column = rounded(rng.normal(size=300), 0.5)
    untied, steps = untie(np.column_stack([column, 2.0 * column]), np.arange(2))
    assert np.unique(untied[:, 0]).size == 300
    np.testing.assert_allclose(steps, [0.5, 1.0])


def test_values_on_a_grid_are_spread_over_one_step(rng):
    column = rounded(rng.normal(size=2000), 0.5)
    offsets = spread(column) - column
    assert np.all(np.abs(offsets) <= 0.25)
    assert np.var(offsets) == pytest.approx(0.5**2 / 12, rel=0.1)
    np.testing.assert_array_equal(rounded(spread(column), 0.5), column)


def test_an_atom_is_no_denser_than_a_uniform_column_of_two_standard_deviations(rng):
    column = rng.exponential(size=1000)
    column[:400] = 0.0
    offsets = spread(column) - column
    spread_of_most = np.subtract(*np.quantile(column, [0.75, 0.25])) / 1.349
    assert np.ptp(offsets[:400]) == pytest.approx(0.4 * 2 * min(spread_of_most, column.std()), rel=0.02)
    assert offsets[:400].min() >= 0.0  # beyond the least value a logarithm may end
    np.testing.assert_array_equal(offsets[400:], 0.0)


def test_a_heavy_value_on_a_fine_grid_is_an_atom(rng):
    column = np.round(5.0 * rng.exponential(size=1000), 1)
    column[:500] = 0.0
    offsets = spread(column) - column
    assert np.ptp(offsets[:500]) > 2.0
    assert np.abs(offsets[column > 1.0]).max() <= 0.05


def test_values_that_were_set_neither_make_ties_nor_are_spread(rng):
    values = rng.normal(size=(300, 2))
    values[:100, 0] = 1.0
    intervened = read_interventions([0] * 100 + [None] * 200, 300, ("a", "b"), numbered=True)
    assert untie(values, np.arange(2), left_out=intervened) is None
    values[100:, 0] = rounded(values[100:, 0], 0.5)
    untied, steps = untie(values, np.arange(2), left_out=intervened)
    np.testing.assert_array_equal(untied[:100], values[:100])
    np.testing.assert_allclose(steps, [0.5, 0.0])


def test_steps_that_are_known_are_taken(rng):
    column = rng.integers(0, 3, size=200) * 4.0  # of a grid of 2, say
    found = untie(column[:, None], ALL, np.array([2.0]))
    assert np.abs(found[0][:, 0] - column).max() <= 1.0
    np.testing.assert_array_equal(found[1], [2.0])


@given(
    st.sampled_from(sorted(SHAPES)), st.floats(0.02, 3.0), st.integers(0, 20), st.sampled_from([100, 400, 1500])
)
def test_rounding_does_not_lower_an_entropy_and_a_mass_is_at_most_one(shape, step, seed, n):
    column = SHAPES[shape](np.random.default_rng(seed), n)
    noise = FreeShape()
    onto_grid = rounded(column, step * column.std())
    if np.unique(onto_grid).size < 2:
        return
    untied, found_step = spread(onto_grid), step_of(onto_grid)
    if untied is None:  # all values still differ
        return
    nll = noise.nll(untied)
    slack = 3.0 / np.sqrt(n)  # estimates from n rows are not exact
    assert nll >= noise.nll(column) - slack
    if found_step > 0.0:
        assert nll - np.log(found_step) >= -slack


@pytest.mark.parametrize("scale", [AS_MEASURED, LOGARITHMS])
def test_dither_is_the_spreading_of_the_columns_as_they_came_on_the_scale_of_the_table(scale, rng):
    values = np.column_stack([rng.exponential(size=400) + 0.1, np.round(4 * rng.exponential(size=400))])
    table = Table(values, ("a", "b")).canonical(np.arange(2))
    scaled = table.on_scale(scale, True)
    expected = scaled.apply(table.untied) - scaled.table.values
    np.testing.assert_allclose(scaled.table.dither, expected, atol=1e-12)
    np.testing.assert_array_equal(scaled.table.dither[:, 0], 0.0)
    exact = scale.measured  # one step of a grid has a variance of its own
    variance = 1 / 12 / scaled.spread[1] ** 2 if exact else np.mean(expected[:, 1] ** 2)
    np.testing.assert_allclose(scaled.table.rounding[1], variance)
    np.testing.assert_allclose(variance, np.mean(expected[:, 1] ** 2), rtol=0.1)
    assert table.mean_log_steps == 0.0


def test_slopes_of_a_scale_are_those_at_the_spread_values(rng):
    values = np.round(4 * rng.exponential(size=(400, 2))) + 1.0
    table = Table(values, ("a", "b")).canonical(np.arange(2))
    scaled = table.on_scale(LOGARITHMS, True)
    expected = scaled.log_slopes(table.untied).sum(axis=1).mean()
    assert table.mean_log_slopes(scaled, 400) == pytest.approx(expected)
