import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype import Daguerreotype
from daguerreotype.metrics import evaluate, r2_sortability, var_sortability
from daguerreotype.operators import FixedOrder, Sparsemax
from daguerreotype.report.content import collect
from daguerreotype.report.page import render, to_json
from daguerreotype.training import Bilevel

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    a = rng.normal(size=400)
    b = 1.5 * a + rng.normal(size=400)
    return pd.DataFrame(
        {EVIL: a, "b & c": b, "</title>": 2 * b - a + rng.normal(size=400), "alone": 10 * rng.normal(size=400)}
    )


@pytest.fixture(scope="module")
def model(table):
    return Daguerreotype(edges="bic", scales="none", operator=Sparsemax(tau=4.0)).fit(table)


@pytest.fixture(scope="module")
def truth(table):
    names = list(table.columns)
    return pd.DataFrame(np.eye(4, k=1, dtype=int), index=names, columns=names)


class Reader(HTMLParser):
    """Elements and the text of script elements, as a browser's parser sees them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self.attributes, self.inside = [], [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data


def data_of(page):
    return json.loads(Reader(page).scripts[0])


@given(st.text() | st.sampled_from(["</script><!--&\u2028\u2029"]))
def test_any_text_survives_the_way_into_the_page_and_adds_no_element(text):
    content = {"title": text, "names": [text], text: 1}
    page = render(content)
    assert data_of(page) == content
    assert not set("<>&\u2028\u2029") & set(to_json(content))
    assert Reader(page).tags == Reader(render({"title": "", "names": []})).tags


def test_the_page_refers_to_nothing_outside_itself(model, table, tmp_path):
    page = model.report(tmp_path / "report.html", table, title=EVIL).read_text(encoding="utf-8")
    reader = Reader(page)
    assert {value for _, name, value in reader.attributes if name in ("src", "href")} == {"data:,"}
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|innerHTML|eval\(", page)
    (policy,) = (value for _, name, value in reader.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_every_probable_pair_is_there_once_and_the_threshold_shows_the_learned_graph(model):
    content = collect(model)
    names, edges = content["names"], content["graph"]["edges"]
    probabilities, adjacency = np.asarray(model.edge_probabilities_), np.asarray(model.adjacency_matrix_)
    either = np.triu(probabilities + probabilities.T, 1)
    pairs = [tuple(sorted((edge["cause"], edge["effect"]))) for edge in edges]
    assert sorted(pairs) == sorted(tuple(pair) for pair in np.argwhere(either >= 0.01))
    assert any(edge["reverse"] >= 0.01 for edge in edges if edge["learned"])  # which is no edge of its own
    for edge in edges:
        pair = edge["cause"], edge["effect"]
        assert edge["probability"] == pytest.approx(probabilities[pair], abs=1e-6)
        assert edge["reverse"] == pytest.approx(probabilities[pair[::-1]], abs=1e-6)
        assert edge["open"] == model.posterior_.pair(names[pair[0]], names[pair[1]]).direction_open
        assert edge["learned"] == bool(adjacency[pair])
        assert (edge["weight"] is None) == (edge["norm"] is None) == (not edge["learned"])
        if edge["learned"]:
            assert edge["weight"] == pytest.approx(np.asarray(model.weights_)[pair], rel=1e-5)
            assert edge["norm"] == pytest.approx(np.asarray(model._result.norms)[pair], rel=1e-5)
        else:
            assert edge["probability"] >= edge["reverse"]
        assert not edge["learned"] or edge["probability"] >= content["graph"]["threshold"]
    assert names == list(model.feature_names_in_)


def with_chains(model, edges):
    """The same learner, whose chains saw these probabilities (chains, d, d)."""
    learner = Daguerreotype()
    vars(learner).update(vars(model))
    seen = np.array(edges)
    posterior = replace(model.posterior_, sampled=seen.mean(axis=0), edges=seen, covered=False)
    learner._keep(replace(model._result, posterior=posterior))
    return learner


def test_a_pair_outside_the_learned_graph_is_one_edge_in_its_likelier_direction(model):
    adjacency = np.asarray(model.adjacency_matrix_)
    alone = list(model.feature_names_in_).index("alone")
    assert not adjacency[alone].any()
    likely = np.where(adjacency, 1.0, 0.0)
    linked = [node for node in range(4) if node != alone]
    for node, forward, backward in zip(linked, (0.1, 0.004, 0.004), (0.2, 0.007, 0.005), strict=True):
        likely[alone, node], likely[node, alone] = forward, backward
    graph = collect(with_chains(model, [likely]))["graph"]
    outside = {(e["cause"], e["effect"]): e["open"] for e in graph["edges"] if not e["learned"]}
    assert outside == {(linked[0], alone): True, (linked[1], alone): True}
    assert graph["threshold"] == 1.0


def test_the_facts_tell_of_probabilities_and_a_note_warns_where_they_have_not_settled(model):
    content = collect(model)
    assert dict(content["facts"])["probabilities"] == str(model.posterior_)
    assert content["caution"] == ""
    apart = np.stack([np.full((4, 4), 0.1), np.full((4, 4), 0.4)]) * ~np.eye(4, dtype=bool)
    caution = collect(with_chains(model, apart))["caution"]
    assert caution.startswith("Probabilities have not settled: 2 chains differ by up to 0.30, effective sample")
    bagged = replace(model.posterior_, edges=apart, covered=False, n_bagged=8)
    assert bagged.caution.startswith(
        "Probabilities have not settled: halves of the resamples differ by up to 0.30"
    )


def test_without_a_posterior_nothing_is_called_probable_and_the_order_is_that_of_the_distribution(table):
    learner = Daguerreotype(edges="bic", scales="none", operator=Sparsemax(tau=4.0))
    for sweeps in (200, 0):
        m = learner.set_params(posterior=sweeps).fit(table)
        content = collect(m)
        order = content["order"]
        precedes = np.asarray(
            m.posterior_.order_probabilities if sweeps else m.order_distribution_.edge_order_probabilities()
        )
        assert order["posterior"] == bool(sweeps)
        rebuilt = np.triu(np.full_like(precedes, order["usual"]), 1)
        for i, j, p in order["unusual"]:
            rebuilt[i, j] = p
        rebuilt += np.tril(1 - rebuilt.T, -1)
        np.testing.assert_allclose(rebuilt, precedes[np.ix_(order["nodes"], order["nodes"])], atol=2e-6)
        assert order["nodes"] == [list(table.columns).index(name) for name in m.causal_order_]
    assert dict(content["facts"])["probabilities"] == "none, graphs were not sampled"
    assert content["graph"]["threshold"] is None
    assert len(content["graph"]["edges"]) == int(m.adjacency_matrix_.to_numpy().sum()) > 0
    for edge in content["graph"]["edges"]:
        assert edge["probability"] is edge["reverse"] is None
        assert edge["open"] is False


def test_a_known_graph_adds_verdicts_missing_edges_and_metrics(model, truth):
    content = collect(model, truth=truth)
    scores = evaluate(truth, model.adjacency_matrix_, model.causal_order_)
    metrics = dict(content["metrics"])
    assert metrics["SHD"] == scores["shd"]
    assert metrics["F1"] == pytest.approx(scores["f1"], rel=1e-5)
    verdicts = [edge["verdict"] for edge in content["graph"]["edges"] if edge["verdict"]]
    assert len(verdicts) - verdicts.count("correct") == scores["shd"]


def test_the_summary_agrees_with_pandas_and_the_metrics(model, table, truth):
    summary = collect(model, table, truth=truth)["data"]
    for column, name in zip(summary["columns"], table.columns, strict=True):
        values = table[name]
        skew = ((values - values.mean()) ** 3).mean() / values.std(ddof=0) ** 3
        expected = (values.mean(), values.std(ddof=0), skew, values.min(), values.max(), 0)
        numbers = tuple(column[number] for number in ("mean", "sd", "skew", "min", "max", "missing"))
        assert numbers == pytest.approx(expected, rel=1e-5)
    assert summary["score"] == model.score(table)
    assert summary["var_sortability"] == var_sortability(table, truth)
    assert summary["r2_sortability"] == r2_sortability(table, truth)
    assert summary["graph"] == "known"
    assert summary["warnings"][0].startswith("Var-sortability is ")
    (warning,) = collect(model, table)["data"]["warnings"]  # without a known graph
    assert warning.startswith("The variances of the columns range from")


def test_missing_values_are_counted_and_the_rows_scored_by_what_is_seen(model, table):
    holes = table.copy()
    holes.iloc[:5, 1] = np.nan
    summary = collect(model, holes)["data"]
    assert [column["missing"] for column in summary["columns"]] == [0, 5, 0, 0]
    assert (summary["n_rows"], summary["n_complete"]) == (400, 395)
    assert summary["score"] == pytest.approx(model.score(holes), rel=1e-6)
    assert summary["refused"] is None
    assert summary["var_sortability"] is not None


def test_a_constant_or_empty_column_is_described_without_nan(model, table):
    flat = table.copy()
    flat.iloc[:, 0], flat.iloc[:, 1] = 1.0, np.nan
    content = collect(model, flat)
    constant, empty, *_ = content["data"]["columns"]
    assert [constant[number] for number in ("mean", "sd", "min", "max", "skew", "missing")] == [
        1,
        0,
        1,
        1,
        None,
        0,
    ]
    assert (constant["kind"], constant["noise"], constant["reason"]) == ("continuous", "gaussian", "numbers")
    assert empty["mean"] is None
    to_json(content)


def test_bootstrap_frequencies_are_matched_by_name(model, table):
    names = list(table.columns)[::-1]
    frequencies = pd.DataFrame(np.arange(16).reshape(4, 4) / 16, index=names, columns=names)
    content = collect(model, bootstrap=SimpleNamespace(edge_frequencies=frequencies, n_resamples=7))
    for edge in content["graph"]["edges"]:
        cause, effect = (content["names"][edge[end]] for end in ("cause", "effect"))
        assert edge["frequency"] == frequencies.loc[cause, effect]
    assert content["resamples"] == 7
    with pytest.raises(
        TypeError, match="bootstrap is a dict without edge_frequencies; expected what the learner's"
    ):
        collect(model, bootstrap={})


def test_settings_are_shown_as_given_without_addresses_in_memory(table):
    def own_loss(variance, dof, n_rows):
        return math.log(variance)

    m = Daguerreotype(edges="bic", scales="none", operator=Sparsemax(k=7), training=Bilevel(loss=own_loss)).fit(
        table
    )
    settings = dict(collect(m)["settings"])
    assert settings["operator"] == "Sparsemax(k=7)"
    assert settings["training"] == "Bilevel(loss=own_loss)"
    assert not any("0x" in value for value in settings.values())


def test_a_fit_of_an_array_with_a_given_order_has_a_report_which_is_always_the_same(table, tmp_path):
    X = table.to_numpy()
    m = Daguerreotype(edges="bic", scales="none", operator=FixedOrder([0, 1, 2, 3])).fit(X)
    first, second = (m.report(tmp_path / name, X).read_text(encoding="utf-8") for name in ("a.html", "b.html"))
    assert first == second
    content = data_of(first)
    assert content["names"] == ["0", "1", "2", "3"]
    assert content["training"] is None


def test_what_no_report_can_be_made_of_is_refused(model, table, tmp_path):
    for change, message in (
        (lambda X: X.drop(columns="alone"), "(?s)feature names should match.*alone"),
        (lambda X: X.iloc[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            collect(model, change(table))
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere.* for the report"):
        model.report(tmp_path / "nowhere" / "report.html")
    with pytest.raises(TypeError, match="title must be a text, got b'graph'"):
        model.report(tmp_path / "page.html", title=b"graph")
