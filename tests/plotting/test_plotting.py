import itertools
import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype
from daguerreotype.graphs.dag import Dag, topological_order
from daguerreotype.metrics import shd
from daguerreotype.operators import FixedOrder, top_k_sparsemax
from daguerreotype.plotting import fit, plot_curves, plot_graph, plot_order, plot_training
from daguerreotype.plotting.effects import view_effect
from daguerreotype.plotting.fit import _logarithmic
from daguerreotype.plotting.graph import draw_view
from daguerreotype.plotting.layout import HEIGHT, _count_crossings, add_lanes, lay_out, reduce_crossings
from daguerreotype.plotting.view import shorten, view_graph
from daguerreotype.posterior import Posterior
from daguerreotype.training import Bilevel
from support.mixed import fit_mixed, mixed_table


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    cause = rng.normal(size=300)
    middle = cause**2 + 0.2 * rng.normal(size=300)
    return pd.DataFrame({"cause": cause, "middle": middle, "end": np.sin(2 * middle) + 0.2 * rng.normal(size=300)})


@pytest.fixture(scope="module")
def model(table):
    return Daguerreotype(scales="none").fit(table)


def any_dag(seed, d, density):
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < density, 1)[np.ix_(order, order)], rng


dags = st.builds(any_dag, st.integers(0, 10**6), st.integers(2, 16), st.floats(0.0, 0.6))


def laid_out(graph, rng):
    ranks = np.argsort(topological_order(Dag(graph)))
    return lay_out(graph, ranks, rng.uniform(0.5, 12.0, size=len(graph)))


def points_of(curve, n=40):
    t = np.linspace(0, 1, n)[:, None]
    weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]
    pieces = [curve[i : i + 4] for i in range(0, len(curve) - 1, 3)]
    return np.concatenate([sum(w * p for w, p in zip(weights, piece, strict=True)) for piece in pieces])


def boxes_of(layout):
    half = np.column_stack([layout.widths / 2, np.full(len(layout.widths), HEIGHT / 2)])
    return layout.centres - half, layout.centres + half


# --- layout


@given(dags)
def test_nodes_lie_apart_within_the_picture_and_edges_go_from_border_to_border_past_the_others(drawn):
    graph, rng = drawn
    layout = laid_out(graph, rng)
    low, high = boxes_of(layout)
    apart = ((low[:, None] >= high[None] - 1e-9) | (low[None] >= high[:, None] - 1e-9)).any(axis=2)
    assert apart[~np.eye(len(graph), dtype=bool)].all()
    assert (low >= -1e-9).all()
    assert (high <= layout.size + 1e-9).all()
    assert set(layout.curves) == {(int(i), int(j)) for i, j in np.argwhere(graph)}
    for (cause, effect), curve in layout.curves.items():
        points = points_of(curve)
        inside = ((points[:, None] > low + 1e-6) & (points[:, None] < high - 1e-6)).all(axis=2)
        assert not inside.any(), f"{cause, effect} runs through node {np.flatnonzero(inside.any(axis=0))}"
        assert curve[0, 0] == pytest.approx(high[cause, 0])
        assert curve[-1, 0] == pytest.approx(low[effect, 0])
        for node, point in ((cause, curve[0]), (effect, curve[-1])):
            assert low[node, 1] < point[1] < high[node, 1]
        assert (np.diff(points[:, 0]) >= -1e-9).all()


def test_an_edge_against_the_order_is_drawn_backwards():
    graph = np.array([[0, 0], [1, 0]], dtype=bool)
    layout = lay_out(graph, np.array([0, 1]), [1.0, 1.0])
    (edge,) = layout.curves
    assert edge == (1, 0)
    assert layout.curves[edge][0, 0] > layout.curves[edge][-1, 0]


@given(dags)
def test_sorting_layers_leaves_no_more_crossings_than_there_were(drawn):
    graph, _ = drawn
    linked = np.flatnonzero(graph.any(axis=0) | graph.any(axis=1))
    if linked.size == 0:
        return
    lanes = add_lanes(graph, np.argsort(topological_order(Dag(graph))), linked)

    def crossings():
        place = np.zeros(lanes.layer_of.size)
        for layer in lanes.layers:
            place[layer] = np.arange(layer.size)
        pairs = [place[ends].T for ends in lanes.segments]
        count = sum(int(((a[:, None] - a) * (b[:, None] - b) < 0).sum()) // 2 for a, b in pairs)
        assert _count_crossings(lanes, place) == count
        return count

    before = crossings()
    reduce_crossings(lanes)
    assert crossings() <= before


def test_chains_that_need_not_cross_do_not():
    graph = np.zeros((6, 6), dtype=bool)
    graph[[0, 1, 2], [5, 4, 3]] = True
    layout = lay_out(graph, np.arange(6), np.ones(6))
    heights = layout.centres[:, 1]
    assert np.argsort(heights[:3]).tolist() == np.argsort(heights[[5, 4, 3]]).tolist()


# --- graph


def edge_patches(ax, kind="edge-"):
    patches = {patch.get_gid() or "": patch for patch in ax.patches}
    return {tuple(map(int, gid.split("-")[1:])): patches[gid] for gid in patches if gid.startswith(kind)}


def heads(ax):
    return set(edge_patches(ax, "head-"))


def legend_of(ax):
    return [] if ax.get_legend() is None else [text.get_text() for text in ax.get_legend().get_texts()]


def test_width_follows_weight_and_opacity_probability():
    graph = np.triu(np.ones((4, 4), dtype=int), 1)
    rng = np.random.default_rng(0)
    weights, probabilities = rng.normal(size=(4, 4)), rng.random((4, 4))
    patches = edge_patches(plot_graph(graph, weights=weights, probabilities=probabilities))
    edges = list(patches)
    widths = [patches[edge].get_linewidth() for edge in edges]
    opacities = [patches[edge].get_alpha() for edge in edges]
    assert np.argsort(widths).tolist() == np.argsort([abs(weights[edge]) for edge in edges]).tolist()
    assert np.argsort(opacities).tolist() == np.argsort([probabilities[edge] for edge in edges]).tolist()


EITHER = np.array([[0, 0.6, 0.3, 0], [0.4, 0, 0.9, 0], [0.65, 0.1, 0, 0.2], [0, 0, 0.02, 0]])


def test_an_edge_whose_reverse_is_about_as_probable_has_no_head_and_is_counted():
    graph = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    ax = plot_graph(graph, probabilities=EITHER)
    assert set(edge_patches(ax)) == {(0, 1), (0, 2), (1, 2), (2, 3)}
    assert heads(ax) == {(1, 2), (2, 3)}
    assert legend_of(ax) == ["4 positive", "2 direction open"]
    names = list("abcd")
    named = pd.DataFrame(EITHER, index=names, columns=names).loc[names[::-1], names[::-1]]
    assert heads(plot_graph(pd.DataFrame(graph, index=names, columns=names), probabilities=named)) == heads(ax)
    with_head, without = (
        edge_patches(plot_graph(np.eye(2, k=1), probabilities=p))[0, 1].get_path().vertices[-1, 0]
        for p in ([[0, 0.9], [0.1, 0]], [[0, 0.6], [0.4, 0]])
    )
    assert without > with_head  # it reaches the box of its effect


def test_against_a_known_graph_an_open_edge_keeps_its_colour_and_loses_its_head():
    graph = np.triu(np.ones((3, 3), dtype=int), 1)
    truth = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0]])
    sure, unsure = plot_graph(graph, truth=truth), plot_graph(graph, truth=truth, probabilities=EITHER[:3, :3])
    assert heads(sure) == {(0, 1), (0, 2), (1, 2)}
    assert heads(unsure) == {(1, 2)}
    assert {patch.get_alpha() for patch in edge_patches(sure).values()} == {1.0}
    for edge, patch in edge_patches(unsure).items():
        assert to_hex(patch.get_edgecolor()) == to_hex(edge_patches(sure)[edge].get_edgecolor())
    assert legend_of(unsure) == [*legend_of(sure), "2 direction open"]


@pytest.fixture(scope="module")
def lines():
    rng = np.random.default_rng(0)
    first = rng.normal(size=300)
    return pd.DataFrame({"first": first, "second": first + rng.normal(size=300)})


def test_a_line_with_gaussian_noise_has_no_direction_and_a_curve_has_one(lines, model):
    undirected = Daguerreotype(edges="bic", scales="none").fit(lines).plot()
    assert len(edge_patches(undirected)) == 1
    assert heads(undirected) == set()
    assert legend_of(undirected)[-1] == "1 direction open"
    assert heads(model.plot()) == set(edge_patches(model.plot()))
    plain = Daguerreotype(edges="bic", scales="none", posterior=0).fit(lines).plot()
    assert heads(plain) == set(edge_patches(plain))


def test_width_follows_the_norm_where_it_is_known_and_the_legend_tells_effects_that_rise_fall_and_bend():
    graph = np.triu(np.ones((3, 3), dtype=int), 1)
    weights, norms = np.array([[0, 0.1, 3], [0, 0, -2], [0, 0, 0]]), np.array([[0, 5, 3], [0, 0, 2], [0, 0, 0]])
    ax = draw_view(replace(view_graph(graph, weights=weights), norms=norms))
    widths = {edge: patch.get_linewidth() for edge, patch in edge_patches(ax).items()}
    assert widths[0, 1] > widths[0, 2] > widths[1, 2]
    assert legend_of(ax) == ["1 positive", "1 negative", "1 nonlinear"]


def test_a_line_is_never_nonlinear_whatever_its_units():
    rng = np.random.default_rng(0)
    cause = rng.exponential(size=300)
    X = np.column_stack([1000 * cause, -cause + 0.2 * rng.exponential(size=300)])
    for standardize in (True, False):
        settings = {"noise": "free-shape", "scales": "none", "training": Bilevel(max_iter=20)}
        learner = Daguerreotype("bic", standardize=standardize, **settings)
        assert legend_of(learner.fit(X).plot()) == ["1 negative"]


def test_edges_of_equal_or_unknown_weight_are_equally_thin():
    graph = np.triu(np.ones((3, 3), dtype=int), 1)
    widest = edge_patches(plot_graph(graph, weights=[[0, 1, 5], [0, 0, 2], [0, 0, 0]]))[0, 2].get_linewidth()
    for weights in (None, 7.0 * graph, -graph):
        (width,) = {patch.get_linewidth() for patch in edge_patches(plot_graph(graph, weights=weights)).values()}
        assert width < widest


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 8))
def test_legend_counts_and_colours_agree_with_shd(seed, d):
    (guess, _), (truth, _) = any_dag(seed, d, 0.4), any_dag(seed + 1, d, 0.4)
    ax = plot_graph(guess.astype(int), truth=truth.astype(int))
    legend = ax.get_legend()
    texts = [] if legend is None else [text.get_text().split() for text in legend.get_texts()]
    counts = {word: int(number) for number, word in texts}
    assert sum(counts.values()) - counts.get("correct", 0) == shd(truth, guess)
    colours = [to_hex(patch.get_edgecolor()) for patch in edge_patches(ax).values()]
    of = {} if legend is None else dict(zip(counts, legend.get_lines(), strict=True))
    assert {word: colours.count(to_hex(line.get_color())) for word, line in of.items()} == counts
    plt.close(ax.figure)


def test_graphs_are_matched_by_name():
    guess = pd.DataFrame([[0, 1], [0, 0]], index=["a", "b"], columns=["a", "b"])
    truth = nx.DiGraph([("a", "b")])
    swapped = pd.DataFrame([[0, 0], [1, 0]], index=["b", "a"], columns=["b", "a"])
    for graph in (truth, swapped):
        assert legend_of(plot_graph(guess, truth=graph)) == ["1 correct"]
    weights = pd.DataFrame([[0, 0], [-2.0, 0]], index=["b", "a"], columns=["b", "a"])
    assert legend_of(plot_graph(guess, weights=weights)) == ["1 negative"]


def test_labels_fit_their_boxes_in_figures_and_axes_of_any_size():
    for d in (3, 60):
        names = [f"column {i}" if i % 5 else f"a name that goes on and on, with a number: {i}" for i in range(d)]
        graph = pd.DataFrame(any_dag(d, d, 2 / d)[0].astype(int), index=names, columns=names)
        figure, cramped = plt.subplots(figsize=(6, 4))
        for ax in (plot_graph(graph), plot_graph(graph, ax=cramped)):
            ax.figure.canvas.draw()
            boxes = [patch.get_window_extent() for patch in ax.patches if patch.get_zorder() == 3]
            assert len(boxes) == d
            for text, box in zip(ax.texts, boxes, strict=True):
                extent = text.get_window_extent()
                assert extent.width <= box.width + 1.5
                assert abs((extent.x0 + extent.x1) / 2 - (box.x0 + box.x1) / 2) < 1.5
        assert cramped.figure is figure


def test_names_are_shown_as_they_are():
    names = ["$\\alpha$", "a$b", "<b>", "two\nlines"]
    graph = pd.DataFrame(np.eye(4, k=1, dtype=int), index=names, columns=names)
    ax = plot_graph(graph)
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.texts] == ["$\\alpha$", "a$b", "<b>", "two lines"]
    assert not any(text.get_parse_math() for text in ax.texts)
    assert shorten("x" * 26) == "x" * 26
    short = shorten("start" + "x" * 50 + "end")
    assert (len(short), short[:5], short[-3:]) == (26, "start", "end")


def test_plots_leave_settings_backend_and_screen_alone_and_draw_in_given_axes(model, table, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("show was called"))
    before, backend = dict(mpl.rcParams), mpl.get_backend()
    _, axes = plt.subplots(1, 3)
    n_figures = len(plt.get_fignums())
    for kind, ax in zip(("graph", "training", "order"), axes.ravel(), strict=True):
        assert model.plot(kind, ax=ax) is ax
    assert len(plt.get_fignums()) == n_figures
    assert isinstance(model.plot(), mpl.axes.Axes)
    model.plot("curves", X=table)
    assert dict(mpl.rcParams) == before
    assert mpl.get_backend() == backend


def test_the_graph_of_a_fit_is_drawn_with_its_names_and_compared(model):
    ax = model.plot(truth=model.adjacency_matrix_)
    assert {text.get_text() for text in ax.texts} == {"cause", "middle", "end"}
    assert legend_of(ax) == [f"{model.adjacency_matrix_.to_numpy().sum()} correct"]


# --- training, order, curves


def test_training_shows_both_losses_and_where_refining_began(model):
    ax = plot_training(model.history_)
    objective, mode, *mark = ax.get_lines()
    np.testing.assert_array_equal(objective.get_ydata(), model.history_.objective)
    np.testing.assert_array_equal(mode.get_ydata(), model.history_.mode_loss)
    assert [line.get_xdata()[0] for line in mark] == [model.history_.refined_at + 0.5]


def test_the_heat_map_shows_how_probably_rows_precede_columns():
    distribution = top_k_sparsemax([0.3, -0.2, 0.1, 0.15], k=20)
    ax = plot_order(distribution, ["a", "b", "c", "d"])
    mode = distribution.mode
    shown = ax.images[0].get_array().filled(np.nan)
    for p, i in enumerate(mode):
        for q, j in enumerate(mode):
            by_hand = sum(distribution.probs[distribution.ranks[:, i] < distribution.ranks[:, j]])
            assert (np.isnan(shown[p, q]) and i == j) or shown[p, q] == pytest.approx(by_hand)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["abcd"[i] for i in mode]


def test_the_order_of_a_learner_is_that_of_its_posterior_sorted_by_the_learned_order(lines, model):
    ax = model.plot("order")
    shown = ax.images[0].get_array().filled(np.nan)
    order = model.causal_order_
    expected = model.posterior_.order_probabilities.loc[order, order].to_numpy()
    np.testing.assert_allclose(shown[np.triu_indices(3, 1)], expected[np.triu_indices(3, 1)])
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    assert colour_bar(ax).startswith("posterior probability that the row")
    unsampled = Daguerreotype(edges="bic", scales="none", posterior=0).fit(lines)
    assert colour_bar(unsampled.plot("order")).startswith("share of orders in which the row")


def colour_bar(ax):
    (bar,) = (other for other in ax.figure.axes if other is not ax)
    return bar.get_ylabel()


def test_a_posterior_alone_is_sorted_by_how_many_others_each_column_precedes():
    ancestors = np.array([[0, 0, 0.2], [1.0, 0, 0.5], [0.8, 0.0, 0]])
    posterior = Posterior(
        ("a", "b", "c"), True, ancestors, ancestors[None], 0 * ancestors, ancestors, ancestors[:0] > 0, np.zeros(0)
    )
    ax = plot_order(posterior, ["a", "b", "c"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "c", "a"]
    assert ax.images[0].get_array()[0, 1] == pytest.approx(0.75)


def test_curves_are_those_of_the_learner(model, table, monkeypatch):
    axes = model.plot("curves", X=table)
    assert len(axes) == int(model.adjacency_matrix_.to_numpy().sum())
    for ax in axes:
        cause, effect = ax.get_title().split(" → ")
        assert ax.get_xlabel() == cause
        line = ax.get_lines()[1]
        assert line.get_xdata()[[0, -1]].tolist() == [table[cause].min(), table[cause].max()]
        np.testing.assert_array_equal(line.get_ydata(), model.curve(cause, effect, line.get_xdata()))
    (only,) = model.plot("curves", X=table, effect="end")
    assert only.get_title().endswith(" → end")
    monkeypatch.setattr(fit, "MOST_PANELS", 1)
    (only,) = plot_curves(model, table)
    assert only.figure.get_supylabel().endswith(f"the 1 strongest of {len(axes)} edges")


# --- any kinds


@pytest.fixture(scope="module")
def people():
    return mixed_table()


@pytest.fixture(scope="module")
def mixed(people):
    return fit_mixed(people)


def panels_of(mixed, people, **settings):
    axes = mixed.plot("curves", X=people, **settings)
    return {tuple(ax.get_title().split(" → ")): ax for ax in axes}


def bar_heights(ax):
    return [[bar.get_height() for bar in bars] for bars in ax.containers]


def test_levels_have_a_bar_each_and_counts_a_point(mixed, people):
    panels = panels_of(mixed, people)
    ax, line = panels["city", "size"], panels["visits", "smoker"].get_lines()[1]
    levels = [text.get_text() for text in ax.get_xticklabels()]
    assert levels == ["<Oslo>", "Bonn", "Rome"]
    assert bar_heights(ax) == [mixed.curve("city", "size", levels).tolist()]
    assert ax.get_legend() is None
    assert line.get_marker() == "o"
    assert line.get_xdata().tolist() == list(range(people["visits"].max() + 1))
    np.testing.assert_array_equal(line.get_ydata(), mixed.curve("visits", "smoker", line.get_xdata()))


def test_effects_on_several_levels_have_lines_or_bars_for_each_with_a_legend(mixed, people):
    panels = panels_of(mixed, people)
    bars, lines = panels["smoker", "diet"], panels["dose", "diet"]
    for ax in (bars, lines):
        assert legend_of(ax) == ["meat", "plants"]
    assert np.transpose(bar_heights(bars)).tolist() == mixed.curve("smoker", "diet", [False, True]).tolist()
    drawn = [line for line in lines.get_lines() if line.get_label() in ("meat", "plants")]
    heights = mixed.curve("dose", "diet", drawn[0].get_xdata())
    np.testing.assert_array_equal(np.column_stack([line.get_ydata() for line in drawn]), heights)
    assert len({line.get_color() for line in drawn}) == 2


def test_axes_say_what_discrete_effects_are_measured_in(mixed, people):
    units = {effect: ax.get_ylabel() for (_, effect), ax in panels_of(mixed, people).items()}
    assert units == {
        "size": "standard deviations",
        "visits": "log of the mean",
        "grade": "log-odds of a higher level",
        "smoker": "log-odds of True",
        "diet": "log-odds against fish",
    }
    (only,) = panels_of(mixed, people, effect="visits").values()
    assert only.figure.get_supylabel() == "contribution,\nlog of the mean"


def test_effects_of_and_on_levels_in_no_order_have_no_sign_and_those_of_two_or_of_ordered_ones_have(mixed, people):
    ax = mixed.plot()
    words = dict(reversed(text.split(" ", 1)) for text in legend_of(ax))
    assert words["without sign"] == "3"
    names, patches = list(mixed.feature_names_in_), edge_patches(ax)
    looks = {(names[i], names[j]): to_hex(patch.get_edgecolor()) for (i, j), patch in patches.items()}
    neutral = looks["city", "size"]
    assert {edge for edge, colour in looks.items() if colour == neutral} == {
        ("city", "size"),
        ("dose", "diet"),
        ("smoker", "diet"),
    }
    fewer = people[["dose", "visits", "smoker"]].assign(smoker=lambda X: np.where(X["smoker"], "a yes", "no"))
    assert legend_of(fit_mixed(fewer).plot()) == ["1 positive", "1 negative"]


def test_of_very_many_levels_those_that_share_an_effect_share_a_bar():
    rng = np.random.default_rng(0)
    codes = np.where(rng.random(800) < 0.6, rng.integers(0, 3, 800), rng.integers(3, 70, 800))
    city = np.array([f"city {i:02}" for i in range(70)])[codes]
    X = pd.DataFrame({"city": city, "size": 2.0 * (codes == 0) - 2.0 * (codes == 1) + rng.normal(size=800)})
    m = fit_mixed(X, start=["city", "size"])
    effect = view_effect(m, 0, 1, m._result.seen)
    *own, rest = effect.levels
    assert own[:3] == ["city 00", "city 01", "city 02"]
    assert 3 <= len(own) <= 12
    pooled = [level for level in m._result.kinds_by_label["city"].levels if level not in own]
    assert rest == f"{len(pooled)} others"
    np.testing.assert_array_equal(effect.heights[:-1, 0], m.curve("city", "size", own))
    np.testing.assert_array_equal(m.curve("city", "size", pooled), np.full(len(pooled), effect.heights[-1, 0]))


REFUSED = (
    (lambda m, X: m.plot("pie"), "kind must be 'graph', 'training', 'order' or 'curves', got 'pie'"),
    (lambda m, X: m.plot("order", truth=[[0]]), "truth goes with kind='graph', got kind='order'"),
    (lambda m, X: m.plot("graph", X=X), "X goes with kind='curves', got kind='graph'"),
    (lambda m, X: m.plot("curves", X=X, effect="no"), "effect is 'no', which is no column; expected one of cause"),
    (lambda m, X: m.plot("curves", X=X, effect="cause"), "there are no edges into 'cause'"),
    (lambda m, X: m.plot("curves", X=X[["cause"]]), "(?s)feature names should match.*middle"),
    (lambda m, X: m.plot("curves", X=X, ax=plt.gca()), "curves take a figure of their own.* Leave ax out"),
    (lambda m, X: m.plot(truth=np.eye(2, k=1)), "the true graph has 2 nodes and the graph 3"),
    (lambda m, X: plot_graph([[0, 1], [1, 0]]), "has a cycle"),
    (lambda m, X: plot_graph([[0, 1], [0, 0]], weights=[1.0]), r"weights have shape \(1,\); expected \(2, 2\)"),
    (
        lambda m, X: plot_graph(np.zeros((1, 1)), probabilities=[[np.nan]]),
        "probabilities have missing or infinite",
    ),
    (lambda m, X: plot_order(m.order_distribution_, ["a"]), "got 1 names for orders of 3 columns"),
)


def test_what_cannot_be_drawn_is_refused_with_the_reason(model, table, mixed, people):
    for draw, message in REFUSED:
        with pytest.raises(ValueError, match=message):
            draw(model, table)
    fixed = Daguerreotype(scales="none", operator=FixedOrder(["cause", "middle", "end"])).fit(table)
    with pytest.raises(ValueError, match="there are no training steps to show: the order was given"):
        fixed.plot("training")
    lines = table.assign(end=2 * table["cause"] + table["end"])
    with pytest.raises(TypeError, match="fit with edges='gam'"):
        Daguerreotype(edges=LinearRegression(), scales="none").fit(lines).plot("curves", X=lines)
    with pytest.raises(ValueError, match="X has no values of 'dose', so its curves have no range"):
        mixed.plot("curves", X=people.assign(dose=np.nan))


def test_without_matplotlib_pictures_name_the_extra_and_the_report_works(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np; from daguerreotype import Daguerreotype\n"
        "from daguerreotype.operators import FixedOrder\n"
        "x = np.random.default_rng(0).normal(size=(50, 2))\n"
        "m = Daguerreotype('bic', operator=FixedOrder([0, 1]), scales='none').fit(x)\n"
        f"print(m.report({str(tmp_path / 'report.html')!r}).name)\n"
        "m.plot()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "report.html"
    assert "pip install 'daguerreotype[plot]'" in done.stderr
    assert "ImportError" in done.stderr


def test_curves_need_no_rows_also_after_a_file(tmp_path):
    rng = np.random.default_rng(0)
    cause = np.exp(rng.normal(size=200))
    X = pd.DataFrame({"dose": cause, "effect": np.log(cause) ** 2 + 0.1 * rng.normal(size=200)})
    m = Daguerreotype(posterior=0, training=Bilevel(n_restarts=0, max_iter=20)).fit(X)
    m.save(tmp_path / "model.npz")
    for learner in (m, Daguerreotype.load(tmp_path / "model.npz")):
        (ax,) = learner.plot("curves")
        assert ax.get_title() == "dose → effect"
        x = ax.lines[1].get_xdata()
        assert (x[0], x[-1]) == pytest.approx((cause.min(), cause.max()))
    m = Daguerreotype(posterior=0).fit_chunks(lambda: [X])
    with pytest.raises(ValueError, match=r"fitted without rows.*plot\('curves', X=X\)"):
        m.plot("curves")
    assert len(m.plot("curves", X=X)) == 1


def test_ticks_of_a_logarithmic_panel_do_not_collide():
    for ends in ((0.02, 900.0), (40.0, 300.0), (1.02, 1.9), (3e-7, 2e11)):
        _, ax = plt.subplots(figsize=(2.3, 2.0), layout="constrained")
        ax.plot(ends, [0.0, 1.0])
        _logarithmic(ax, *ends)
        ax.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.get_xticklabels(which="both") if text.get_text()]
        assert len(boxes) >= 2
        assert all(first.x1 < second.x0 for first, second in itertools.pairwise(boxes))
