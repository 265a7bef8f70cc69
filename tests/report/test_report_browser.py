"""The report in a real browser: opened from a file, without any network."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype
from daguerreotype.operators import FixedOrder, SparseMAP
from daguerreotype.report.content import collect
from daguerreotype.report.page import render
from daguerreotype.training import Bilevel
from support.mixed import ORDER, mixed_table
from support.waiting import HANG

EVIL = "<script>alert(1)</script>"
IMG = '<img src=x onerror="alert(2)">'


def missing(what):
    if os.environ.get("DAGUERREOTYPE_REQUIRE_TOOLS") == "1":
        pytest.fail(f"{what} is not there, and DAGUERREOTYPE_REQUIRE_TOOLS=1 asks for it")
    pytest.skip(f"{what} is not installed")


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        missing("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            timeout=1000 * HANG,
            executable_path=program,
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    a = rng.normal(size=120)
    b = a + rng.normal(size=120)
    columns = {EVIL: a, IMG: b, "c": b + 0.5 * a + rng.normal(size=120), "d": a - b + 2 * rng.normal(size=120)}
    X = pd.DataFrame(columns)
    # Far apart from certain: edges of both directions are probable, and some beside the learned graph.
    m = Daguerreotype(
        edges="bic", scales="none", penalty=1.0, operator=SparseMAP(tau=30.0), training=Bilevel(loss="bic")
    ).fit(X)
    return m, X


@pytest.fixture(scope="module")
def page(browser, fit, tmp_path_factory):
    m, X = fit
    names = list(X.columns)
    truth = pd.DataFrame(np.eye(4, k=1, dtype=int), index=names, columns=names)
    path = m.report(tmp_path_factory.mktemp("report") / "report.html", X, truth=truth, title=EVIL)
    return open_page(browser, path, viewport={"width": 1200, "height": 1000})


def open_page(browser, path, **settings):
    """A page that keeps in ``seen`` whatever it says, asks for or requests."""
    page = browser.new_page(**settings)
    page.set_default_timeout(1000 * HANG)
    page.seen = []
    page.on("console", lambda message: page.seen.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: page.seen.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (page.seen.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: page.seen.append(f"request: {request.url}"))
    page.goto(path.as_uri())
    page.home = f"request: {path.as_uri()}"
    return page


@pytest.fixture
def opened(browser):
    """Opens further pages, and sees that they were as quiet."""
    pages = []

    def open_further(path, **settings):
        pages.append(open_page(browser, path, **settings))
        return pages[-1]

    yield open_further
    for page in pages:
        assert page.seen == [page.home]
        page.close()


def probabilities(page, selector):
    return page.eval_on_selector_all(selector, "edges => edges.map(edge => Number(edge.dataset.probability))")


def set_threshold(page, value):
    page.locator("#threshold").fill(str(value))


@pytest.fixture(autouse=True)
def _as_opened(page):
    page.locator("#reset").click()
    yield
    assert page.seen == [page.home]  # no console message, error, dialog or request, whatever was done


def test_at_first_the_whole_learned_graph_is_shown_and_the_slider_hides_edges_and_their_rows(page, fit):
    n_edges = int(fit[0].adjacency_matrix_.to_numpy().sum())
    assert page.locator("#shown").text_content().startswith(f"{n_edges} of {n_edges} learned edges shown")
    page.locator("#missing").uncheck()
    drawn = probabilities(page, "#graph .edge")
    assert len({round(p, 3) for p in drawn if p > 0}) > 2
    for threshold in (0.0, 0.3, 0.6, 1.0):
        set_threshold(page, threshold)
        kept = sorted(p for p in drawn if p > 0 and p >= threshold - 1e-9)
        assert sorted(probabilities(page, "#graph .edge:not(.hidden)")) == kept
        assert page.locator("#edges tbody tr:visible").count() == len(kept)
        assert page.locator("#threshold-value").text_content() == f"{threshold:.2f}"


def test_edges_outside_the_learned_graph_can_be_hidden_and_the_slider_obeys_the_keyboard(page):
    set_threshold(page, 0)
    assert page.locator("#graph .edge.outside:not(.hidden)").count() > 0
    rows = page.locator("#edges tbody tr:visible")
    pairs = [frozenset(row.locator("td").all_inner_texts()[:2]) for row in rows.all()]
    assert len(pairs) == page.locator("#graph .edge:not(.hidden)").count() == len(set(pairs)) > 3
    page.locator("#others").uncheck()
    assert page.locator("#graph .edge.outside:not(.hidden)").count() == 0
    set_threshold(page, 0.5)
    page.locator("#threshold").press("ArrowRight")
    assert page.locator("#threshold-value").text_content() == "0.51"


def test_the_table_sorts_both_ways_and_says_so(page):
    set_threshold(page, 0)
    for name in ("weight", "norm", "probability", "cause"):
        head = page.locator("#edges th", has_text=name)
        column = page.locator("#edges th").all_inner_texts().index(name)
        read = f"rows => rows.map(row => row.cells[{column}].textContent)"
        seen = {}
        for _ in range(2):
            head.locator("button").press("Enter")
            cells = page.eval_on_selector_all("#edges tbody tr:not([hidden])", read)
            seen[head.get_attribute("aria-sort")] = cells
        assert set(seen) == {"ascending", "descending"}
        assert page.locator("#edges th[aria-sort='none']").count() == page.locator("#edges th").count() - 1
        if name == "cause":  # browsers sort words by locale: both ways mirror each other in groups
            up, down = (list(dict.fromkeys(cells)) for cells in (seen["ascending"], seen["descending"]))
            assert up == down[::-1]
        else:
            up, down = ([float(cell) for cell in seen[way] if cell != "–"] for way in ("ascending", "descending"))
            assert up == sorted(up)
            assert down == sorted(down, reverse=True)
        assert len(set(up)) > 1


def hovered(page, title):
    """The text that a pointer finds over the edge of this title."""
    read = None
    for edge in page.locator("#graph .edge:not(.missing):not(.outside) .reach").all():
        for share in (0.5, 0.3, 0.7, 0.15, 0.85):
            x, y = edge.evaluate(
                "(path, share) => { const p = path.getPointAtLength(share * path.getTotalLength())"
                ".matrixTransform(path.getScreenCTM()); return [p.x, p.y]; }",
                share,
            )
            page.mouse.move(x, y)
            text = page.locator("#tip").text_content()
            if text.startswith(f"{title}\n"):
                read = text
    assert read is not None
    return read


def test_hovering_an_edge_shows_weight_norm_and_both_probabilities(page, fit):
    seen = set()
    for cause, effect, values in fit[0].causal_graph_.edges(data=True):
        pair = fit[0].posterior_.pair(cause, effect)
        text = hovered(page, f"{cause} {'—' if pair.direction_open else '→'} {effect}")
        shown = {"weight": values["weight"], "norm": values["norm"], "probability": pair[0], "reverse": pair[1]}
        for name, value in shown.items():
            assert f"{name} {float(format(round(value, 6), '.3g')):g}" in text.split("\n")
        assert ("direction open" in text.split("\n")) == pair.direction_open
        seen.add(pair.direction_open)
    assert True in seen


def test_open_edges_have_no_head_and_are_counted_and_explained(page, fit):
    n_open = sum(fit[0].posterior_.pair(*edge).direction_open for edge in fit[0].causal_graph_.edges)
    page.locator("#others").uncheck()
    page.locator("#missing").uncheck()
    assert page.locator("#graph .edge.open:not(.hidden)").count() == n_open > 0
    assert page.locator("#graph .edge.open .head").count() == 0
    directed = page.locator("#graph .edge:not(.open)")
    assert directed.count() == page.locator("#graph .edge:not(.open) .head").count()
    assert f"{n_open} direction open" in page.locator("#legend li").all_text_contents()
    assert "edge whose direction is open" in page.locator("#graph-hint").text_content()
    heads = page.locator("#edges th").all_inner_texts()
    assert heads[4:7] == ["probability", "reverse", "direction"]
    words = page.locator("#edges tbody tr:visible td:nth-child(7)").all_inner_texts()
    assert words.count("open") == n_open


def test_a_learned_edge_of_no_probability_is_shown_and_probabilities_that_have_not_settled_are_warned_of(
    opened, fit, tmp_path
):
    content = collect(fit[0]) | {"caution": f"Not settled {EVIL}"}
    content["graph"]["edges"][0]["probability"] = content["graph"]["threshold"] = 0.0
    (tmp_path / "improbable.html").write_text(render(content), encoding="utf-8")
    other = opened(tmp_path / "improbable.html")
    n_edges = int(fit[0].adjacency_matrix_.to_numpy().sum())
    assert other.locator("#shown").text_content().startswith(f"{n_edges} of {n_edges} learned edges shown")
    assert other.locator("#caution").is_visible()
    assert other.locator("#caution").text_content() == f"Not settled {EVIL}"


def test_without_a_posterior_or_rows_the_page_speaks_of_none(opened, fit, tmp_path):
    m = Daguerreotype(edges="bic", scales="none", posterior=0).fit(fit[1])
    other = opened(m.report(tmp_path / "plain.html"))
    n_edges = int(m.adjacency_matrix_.to_numpy().sum())
    assert other.locator("#shown").text_content() == f"{n_edges} of {n_edges} learned edges shown"
    assert other.locator("#graph .edge:not(.hidden) .head").count() == n_edges > 0
    for part in ("#threshold", "label[for=threshold]", "#caution", "#metrics-section", "#gaps-section"):
        assert not other.locator(part).is_visible()
    assert "probability" not in other.locator("#edges th").all_inner_texts()
    assert "There are no probabilities" in other.locator("#edges-hint").text_content()
    assert other.locator("#order-hint").text_content().startswith("Share of the learned distribution over orders")
    assert other.locator("#data-summary").text_content().startswith("Left out: the report was made without the")
    other.locator("#reset").click()
    assert other.locator("#graph .edge:not(.hidden)").count() == n_edges


def test_nodes_can_be_dragged_and_moved_by_keys_and_edges_follow(page):
    node = page.locator("#graph .node", has_text="c").last
    shafts = page.locator("#graph .edge .shaft")
    before, paths = (
        node.get_attribute("transform"),
        shafts.evaluate_all("all => all.map(p => p.getAttribute('d'))"),
    )
    box = node.locator("rect").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y + 10, steps=4)
    page.mouse.up()
    dragged = node.get_attribute("transform")
    assert dragged != before
    assert shafts.evaluate_all("all => all.map(p => p.getAttribute('d'))") != paths
    node.press("ArrowRight")
    assert node.get_attribute("transform") != dragged
    page.locator("#reset").click()
    assert node.get_attribute("transform") == before
    assert shafts.evaluate_all("all => all.map(p => p.getAttribute('d'))") == paths


def test_names_that_look_like_markup_are_text_everywhere(page):
    assert page.locator("h1").text_content() == EVIL
    assert page.title() == EVIL
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    for name in (EVIL, IMG):
        assert page.locator("#columns td").filter(has_text=name).count() == 1
        assert page.locator("#graph .node title").filter(has_text=name).count() == 1
        assert page.locator("#edges td").filter(has_text=name).count() > 0


def test_the_heat_map_says_how_probable_a_pair_is(page, fit):
    m = fit[0]
    page.locator("#order").scroll_into_view_if_needed()
    box = page.locator("#order .frame").bounding_box()
    side = box["width"] / 4
    page.mouse.move(box["x"] + 2.5 * side, box["y"] + 0.5 * side)
    expected = m.posterior_.order_probabilities.loc[m.causal_order_[0], m.causal_order_[2]]
    assert page.locator("#order-hint").text_content().startswith("Posterior probability that the column")
    assert float(page.locator("#tip").text_content().rsplit(": ", 1)[1]) == pytest.approx(expected, abs=6e-3)


def test_the_page_never_scrolls_sideways(page):
    for width in (360, 800, 1600, 1200):
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture(scope="module")
def mixed():
    X = mixed_table()
    renamed = X.rename(columns={"city": IMG})
    init = [IMG if name == "city" else name for name in ORDER]
    return Daguerreotype(scales="none", operator=FixedOrder(init)).fit(renamed), renamed


def test_effects_are_drawn_as_curves_points_and_bars_with_every_level_as_text(opened, mixed, tmp_path):
    m, X = mixed
    other = opened(
        m.report(tmp_path / "mixed.html", X), viewport={"width": 360, "height": 900}, color_scheme="dark"
    )
    panels = {panel.locator("h3").text_content(): panel for panel in other.locator("#effects .panel").all()}
    assert set(panels) == {f"{cause} → {effect}" for cause, effect in m.causal_graph_.edges}
    bars = panels[f"{IMG} → size"]
    assert bars.locator(".bar").count() == 3
    labels = bars.locator("text.tick").all_text_contents()
    assert {"<Oslo>", "Bonn", "Rome", "standard deviations"} <= set(labels)
    both = panels["smoker → diet"]
    assert both.locator("rect.bar").count() == 2 * 2 + 2  # and those of the legend
    assert both.locator(".legend li").all_text_contents() == ["meat", "plants"]
    assert both.locator("text").first.text_content() == "log-odds against fish"
    assert panels["dose → diet"].locator("path.line").count() == 2
    assert panels["visits → smoker"].locator(".dot").count() == X["visits"].max() + 1
    shapes = "all => all.map(e => [e.getAttribute('d'), e.getAttribute('y')]).flat().filter(Boolean).join()"
    assert "NaN" not in other.eval_on_selector_all("#effects path, #effects rect", shapes)
    assert other.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert other.locator("img").count() == 0
    # A bar may be thinner than the axis before it.
    both.locator("svg[role=img] rect.bar").nth(1).hover(force=True)
    meat, plants = m.curve("smoker", "diet", [True])[0]
    said = [f"meat: {float(format(meat, '.3g')):g}", f"plants: {float(format(plants, '.3g')):g}"]
    assert other.locator("#tip").text_content().split("\n")[:3] == ["smoker = True", *said]


def test_effects_of_causes_whose_values_are_not_known_are_counted(opened, mixed, tmp_path):
    m, X = mixed
    other = opened(m.report(tmp_path / "mixed.html", X.assign(dose=np.nan)))
    assert other.locator("#effects .panel").count() == len(m.causal_graph_.edges) - 3
    note = other.locator("#effects-more").text_content()
    assert note.startswith("3 of causes that are numbers are left out")


def test_frequencies_of_a_bootstrap_have_a_column(opened, fit, tmp_path):
    m, X = fit
    resampled = m.bootstrap(X, n_resamples=3)
    other = opened(m.report(tmp_path / "resampled.html", bootstrap=resampled))
    heads = other.locator("#edges th").all_inner_texts()
    row = other.locator("#edges tbody tr:visible").first.locator("td").all_inner_texts()
    cell = dict(zip(heads, row, strict=True))
    frequency = resampled.edge_frequencies.loc[cell["cause"], cell["effect"]]
    assert float(cell["bootstrap"]) == pytest.approx(frequency, abs=1e-3)
    assert "share of 3 resamples" in other.locator("#edges-hint").text_content()


def test_gaps_are_counted_and_what_they_depend_on_is_said(opened, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    X = pd.DataFrame({EVIL: a, "b": a + rng.normal(size=300), "c": rng.normal(size=300)})
    X.loc[(a > 0.5) & (rng.random(300) < 0.8), "b"] = np.nan
    X.loc[:29, "c"] = np.nan
    model = Daguerreotype(edges="bic", scales="none", training=Bilevel(loss="bic")).fit(X)
    text = opened(model.report(tmp_path / "report.html", X)).locator("#gaps-section").inner_text()
    assert f"Whether b is missing depends on {EVIL}. That is taken care of." in text
    assert "nobody can tell from the table" in text


def test_the_matrix_of_the_order_is_not_cut_off_however_many_columns(opened, tmp_path):
    for d in (8, 24, 60):
        X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, d)), columns=[f"column {j}" for j in range(d)])
        m = Daguerreotype("bic", scales="none", posterior=0, operator=FixedOrder(list(X.columns))).fit(X)
        other = opened(m.report(tmp_path / f"{d}.html"), viewport={"width": 1200, "height": 900})
        box = other.locator("#order")
        hidden = box.evaluate("box => [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]")
        assert hidden == [0, 0]
        assert box.locator(".frame").bounding_box()["width"] / d >= 9.0  # pixels, or names cannot be read
