"""Effects and noise in the report: what the panels hold, whatever the kinds of columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype
from daguerreotype.operators import FixedOrder
from daguerreotype.report import content as content_module
from daguerreotype.report.content import collect
from daguerreotype.report.page import to_json
from support.mixed import ORDER, fit_mixed, mixed_table


@pytest.fixture(scope="module")
def table():
    return mixed_table()


@pytest.fixture(scope="module")
def model(table):
    return fit_mixed(table)


def panels_of(content):
    names = content["names"]
    return {(names[panel["cause"]], names[panel["effect"]]): panel for panel in content["effects"]["panels"]}


def test_every_edge_has_a_panel_with_the_curve_of_the_learner(model, table):
    panels = panels_of(collect(model, table))
    assert set(panels) == set(model.causal_graph_.edges)
    for (cause, effect), panel in panels.items():
        values = model._result.kinds_by_label[cause].levels or panel["values"]
        heights = model.curve(cause, effect, list(values))
        shown = np.transpose(panel["heights"])
        np.testing.assert_allclose(shown, heights.reshape(shown.shape), rtol=1e-5, atol=1e-9)
        assert panel["levels"] == [str(level) for level in model._result.kinds_by_label[cause].levels]
        assert len(panel["lines"]) == (0 if shown.shape[1] == 1 else shown.shape[1])
    assert panels["dose", "diet"]["lines"] == ["meat", "plants"]
    assert {panel["shape"] for panel in panels.values()} == {"line", "points", "bars"}
    assert panels["visits", "smoker"]["unit"] == "log-odds of True"


def test_the_surest_and_then_the_strongest_come_first_and_the_rest_is_counted(model, table, monkeypatch):
    monkeypatch.setattr(content_module, "MOST_EFFECTS", 3)
    content = collect(model, table)["effects"]
    norms = sorted(model._result.norms[model.adjacency_matrix_.to_numpy() == 1], reverse=True)
    assert [panel["norm"] for panel in content["panels"]] == pytest.approx(norms[:3], rel=1e-5)
    assert (content["more"], content["without_range"]) == (len(norms) - 3, 0)


def test_without_rows_effects_are_drawn_over_what_was_seen_and_causes_without_values_are_counted(
    model, table, tmp_path
):
    model.save(tmp_path / "model.npz")
    for learner in (model, Daguerreotype.load(tmp_path / "model.npz")):
        panels = panels_of(collect(learner))
        assert set(panels) == set(model.causal_graph_.edges)
        assert panels["dose", "size"]["values"][-1] == pytest.approx(table["dose"].max())
    content = collect(model, table.assign(dose=np.nan))
    assert not any(cause == "dose" for cause, _ in panels_of(content))
    assert content["effects"]["without_range"] == 3
    to_json(content)


def test_edges_without_curves_have_no_effects(table):
    numbers = table[["dose", "size"]]
    trees = Daguerreotype(edges=LinearRegression(), scales="none").fit(numbers)
    assert collect(trees, numbers)["effects"] is None
    lines = collect(fit_mixed(table, edges="bic"), table)["effects"]
    assert lines["panels"]


def test_logarithms_are_drawn_on_a_logarithmic_axis():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=300)
    X = np.exp(np.column_stack([cause, np.sin(cause) + 0.3 * rng.normal(size=300)]))
    m = Daguerreotype(scales="log", operator=FixedOrder([0, 1])).fit(X)
    (panel,) = collect(m, X)["effects"]["panels"]
    assert panel["logarithmic"]
    ratios = np.diff(np.log(panel["values"]))
    np.testing.assert_allclose(ratios, ratios[0])


def test_a_narrow_range_far_from_zero_keeps_its_values():
    rng = np.random.default_rng(0)
    cause = 1e9 + rng.random(300)
    X = np.column_stack([cause, np.sin(6 * (cause - 1e9)) + 0.1 * rng.normal(size=300)])
    m = Daguerreotype(scales="none", operator=FixedOrder([0, 1])).fit(X)
    (panel,) = collect(m, X)["effects"]["panels"]
    assert len(set(panel["values"])) == len(panel["values"])


def test_noise_is_shown_by_column_and_in_the_facts_where_it_differs_and_edges_tell_whether_they_have_a_sign(
    model, table
):
    content = collect(model, table)
    assert [column["noise"] for column in content["data"]["columns"]] == [
        model.columns_["noise"][name] for name in ORDER
    ]
    facts = dict(content["facts"])
    names, edges = content["names"], content["graph"]["edges"]
    signless = {(names[edge["cause"]], names[edge["effect"]]) for edge in edges if not edge["signed"]}
    assert signless == {("city", "size"), ("dose", "diet"), ("smoker", "diet")}
    assert facts["noise"] == "gaussian (2), categorical (2), poisson (1), ordinal (1), bernoulli (1)"
    alike = Daguerreotype(noise="gaussian", operator=FixedOrder(["dose", "size"])).fit(table[["dose", "size"]])
    assert "noise" not in dict(collect(alike)["facts"])


def test_levels_that_look_like_markup_stay_text(table):
    evil = pd.DataFrame({"a": np.where(table["smoker"], "</script><b>", "&<!--"), "size": table["size"]})
    evil["size"] += 3.0 * table["smoker"]
    m = Daguerreotype(scales="none", operator=FixedOrder(["a", "size"])).fit(evil)
    content = collect(m, evil)
    assert sorted(content["effects"]["panels"][0]["levels"]) == ["&<!--", "</script><b>"]
    assert not set("<>&") & set(to_json(content))
