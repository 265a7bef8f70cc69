"""Grow-shrink trees against a plain grow-shrink that refits by least squares at every step."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.edges.base import EdgeRules
from daguerreotype.edges.grow_shrink import search
from daguerreotype.edges.grow_shrink.problem import ROWS_PER_DOF, Products, new_problem
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees
from daguerreotype.edges.grow_shrink.shrink import eliminate
from daguerreotype.edges.grow_shrink.tree import new_buffers
from daguerreotype.edges.penalty import Penalty
from support.greedy import grow_shrink


def random_columns(rng, d, stride, n):
    """Dependent variables, each with itself and a few nonlinear columns, some of which are not in use."""
    values = rng.normal(size=(n, d)) @ np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.6) + np.eye(d))
    values += 0.4 * np.roll(values, 1, axis=1) ** 2
    widths = rng.integers(1, stride + 1, size=d)
    widths[0] = stride
    columns = np.stack([values, *(np.abs(values) ** p for p in np.arange(1, stride) / 2 + 0.7)], axis=2)
    columns -= columns.mean(0)
    columns[:, np.arange(stride) >= widths[:, None]] = 0.0
    return columns / np.maximum(columns.std(0), 1e-12), widths


def stops_of(widths, ways=(1, 4)):
    """With how many columns parents may be there: one or all, or in several ways between."""
    return np.column_stack([np.minimum(way, widths) for way in ways])


def trees_of(columns, widths, *settings, rounding=0.0, ways=(1, 4), products=None):
    n = columns.shape[0]
    flat = columns.reshape(n, -1)
    stops = stops_of(widths, ways)
    problem = new_problem(flat.T @ flat / n, widths, n, Penalty(*settings), stops=stops, products=products)
    return GrowShrinkTrees(problem._replace(rounding=np.full(widths.size, rounding)))


def variance_by_least_squares(columns, target, used, products=None):
    d = columns.shape[1]
    chosen = [columns[:, i, :size] if i < d else products[:, [i - d]] for i, size in sorted(used.items()) if size]
    y = columns[:, target, 0]
    if not chosen:
        return np.mean(y**2)
    design = np.concatenate(chosen, axis=1)
    return np.mean((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2)


def evidence_of(n, penalty=1.0, gamma=0.0, trust=np.inf):
    """How many rows of evidence n rows are."""
    return 1.0 / (1.0 / n + 1.0 / trust)


def cost_of(used, d, n, penalty=1.0, gamma=0.0, trust=np.inf, pairs=()):
    """What parents cost, by the definition of the extended BIC of so many rows of evidence.

    A product, owner d + k, costs what a parent does, and so does each of its ``pairs[k]`` that is none beside it.
    """
    own = {owner for owner, size in used.items() if size}
    members = {int(member) for owner in own if owner >= d for member in pairs[owner - d]}
    dear = penalty * np.log(evidence_of(n, trust=trust))
    return dear * sum(used.values()) + 2 * gamma * np.log(d) * len(own | members)


def slow_search(
    columns, widths, target, predecessors, *settings, rounding=0.0, ways=(1, 4), products=None, pairs=(), **more
):
    """The slow search: every option refitted by least squares, the best one taken.

    ``rounding`` is variance of the target that no parent explains; ``products`` (n, k) may be taken where both
    of ``pairs`` (k, 2) may.
    """
    n, d = columns.shape[:2]

    def cost(used):
        variance = variance_by_least_squares(columns, target, used, products) + rounding
        likelihood = evidence_of(n, *settings) * np.log(variance)
        return likelihood + cost_of(used, d, n, *settings, pairs=pairs)

    owners = [*predecessors, *(d + k for k, pair in enumerate(pairs) if np.isin(pair, predecessors).all())]
    stops, nonlinear = [*stops_of(widths, ways), *([1] for _ in pairs)], range(d, d + len(pairs))
    return grow_shrink(cost, owners, stops, room=n // ROWS_PER_DOF, nonlinear=nonlinear, **more)


@pytest.mark.parametrize(
    ("stride", "ways"), [(1, (1, 4)), (2, (1, 4)), (4, (1, 4)), (4, (1, 2, 4)), (6, (1, 2, 4, 6))]
)
def test_the_walk_chooses_what_plain_grow_shrink_chooses(stride, ways):
    penalties = [
        (0.3,),
        (1.0,),
        (2.0,),
        (1.0, 1.0),
        (0.5, 0.3),
        (0.5, 0.0, 30.0),
        (1.0, 1.0, 100.0),
        (0.7, 0.2, 1000.0),
    ]
    for seed in range(63):
        rng, penalty = np.random.default_rng(seed), penalties[seed % len(penalties)]
        d = int(rng.integers(3, 8))
        columns, widths = random_columns(rng, d, stride, int(rng.integers(30, 200)))
        rounding = 0.2 * (seed % 3)
        trees = trees_of(columns, widths, *penalty, rounding=rounding, ways=ways)
        for _ in range(4):  # later walks meet trees that earlier ones have grown
            target, *rest = rng.permutation(d)
            predecessors = np.sort(rest[: rng.integers(0, d)])
            more = {"rounding": rounding, "ways": ways}
            expected = slow_search(columns, widths, target, predecessors, *penalty, **more)
            found = trees.search(target, predecessors)
            cost = cost_of(expected, d, len(columns), *penalty)
            assert found.dof == pytest.approx(cost / (penalty[0] * np.log(evidence_of(len(columns), *penalty))))
            assert dict(zip(found.owners.tolist(), found.used.tolist(), strict=True)) == expected
            variance = variance_by_least_squares(columns, target, expected) + rounding
            assert found.excess == pytest.approx(0.5 * np.log(variance), abs=1e-9)


def draw_products(rng, columns, of_target=3):
    """Products of some pairs for every target: their pairs (p, 2), values (n, p), and the record of a search."""
    n, d = columns.shape[:2]
    pairs = [
        rng.permutation(np.setdiff1d(np.arange(d), target))[:2] for target in range(d) for _ in range(of_target)
    ]
    values = np.stack([columns[:, i, 0] * columns[:, j, 0] for i, j in pairs], axis=1)
    values -= values.mean(axis=0)
    flat, starts = columns.reshape(n, -1), of_target * np.arange(d + 1)
    moments = flat.T @ values / n, values.T @ values / n
    return np.array(pairs), values, Products(np.array(pairs), starts, *moments, np.zeros((0, len(pairs))))


@pytest.mark.parametrize(("stride", "ways"), [(2, (1, 4)), (4, (1, 2, 4))])
def test_walks_take_products_as_a_search_does_that_refits_at_every_step(stride, ways):
    penalties, taken, alone = [(0.5,), (1.0, 0.5), (0.7, 1.0, 300.0)], 0, 0
    for seed in range(45):
        rng, penalty = np.random.default_rng(seed), penalties[seed % 3]
        columns, widths = random_columns(rng, 5, stride, int(rng.integers(60, 250)))
        for target in range(2, 5):  # some of these products have effects
            columns[:, target, 0] += columns[:, target - 2, 0] * columns[:, target - 1, 0]
        columns -= columns.mean(axis=0)
        pairs, values, products = draw_products(rng, columns)
        trees = trees_of(columns, widths, *penalty, ways=ways, products=products)
        for _ in range(4):
            target, *rest = rng.permutation(5)
            predecessors = np.sort(rest[: rng.integers(0, 5)])
            own = slice(3 * target, 3 * target + 3)
            more = {"ways": ways, "products": values[:, own], "pairs": pairs[own]}
            expected = slow_search(columns, widths, target, predecessors, *penalty, **more)
            found = trees.search(target, predecessors)
            assert dict(zip(found.owners.tolist(), found.used.tolist(), strict=True)) == expected, (seed, target)
            cost = cost_of(expected, 5, len(columns), *penalty, pairs=pairs[own])
            assert found.dof == pytest.approx(cost / (penalty[0] * np.log(evidence_of(len(columns), *penalty))))
            variance = variance_by_least_squares(columns, target, expected, values[:, own])
            assert found.excess == pytest.approx(0.5 * np.log(variance), abs=1e-9)
            members = set(pairs[own][[owner - 5 for owner in expected if owner >= 5]].ravel().tolist())
            assert set(trees.parents_of(found).tolist()) == members | {owner for owner in expected if owner < 5}
            taken += bool(members)
            alone += bool(members - expected.keys())
    assert taken > 30
    assert alone > 5


@pytest.mark.parametrize("stride", [1, 2, 4])
def test_shrinking_removes_what_plain_backward_elimination_removes(stride):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        columns, widths = random_columns(rng, 6, stride, 60)
        trees = trees_of(columns, widths)
        buffers, scores = new_buffers(trees.problem), np.empty(2)
        buffers.owners[:5], buffers.used[:5] = np.arange(1, 6), widths[1:]
        eliminate(trees.problem, buffers, 0, 5, False, scores)
        found = {owner: used for owner, used in enumerate(buffers.used[:5].tolist(), 1) if used}
        start = {owner: int(widths[owner]) for owner in range(1, 6)}
        assert found == slow_search(columns, widths, 0, [], start=start)
        assert scores[0] == pytest.approx(0.5 * np.log(variance_by_least_squares(columns, 0, found)), abs=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_trees_begin_with_required_parents_and_keep_them_in_whatever_order_they_grow(seed):
    rng = np.random.default_rng(seed)
    columns, widths = random_columns(rng, 5, 2, 60)
    required = np.triu(rng.random((5, 5)) < 0.25, 1)
    allowed = ((rng.random((5, 5)) < 0.7) | required) & ~np.eye(5, dtype=bool)
    flat = columns.reshape(60, -1)
    rules = EdgeRules(allowed, required)
    trees = GrowShrinkTrees(new_problem(flat.T @ flat / 60, widths, 60, Penalty(), rules))
    for target in [*rng.permutation(5), *rng.permutation(5)]:
        before = np.flatnonzero((required[:, target] | (rng.random(5) < 0.6)) & (np.arange(5) != target))
        _, parents, used, _, _ = trees.search(int(target), before)
        must = np.flatnonzero(required[:, target])
        expected = slow_search(columns, widths, target, before[allowed[before, target]], required=must)
        assert dict(zip(parents.tolist(), used.tolist(), strict=True)) == expected


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.sampled_from([1, 3]))
def test_moves_equal_single_fits_exactly(seed, d, stride):
    rng = np.random.default_rng(seed)
    columns, widths = random_columns(rng, d, stride, 80)
    node, *others = rng.permutation(d)
    moves, single = trees_of(columns, widths).fit_moves(node, np.array(others)), trees_of(columns, widths)
    for q in range(d):
        assert tuple(moves.own[q]) == single.search(node, np.sort(others[:q]))[3:]
    for i, other in enumerate(others):
        assert tuple(moves.before[i]) == single.search(other, np.sort(others[:i]))[3:]
        assert tuple(moves.after[i]) == single.search(other, np.sort([node, *others[:i]]))[3:]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3]))
def test_what_was_asked_before_does_not_change_an_answer(seed, stride):
    """Not even where steps tie, to columns that are copies of others, or products; asking again grows none."""
    rng = np.random.default_rng(seed)
    columns, widths = random_columns(rng, 8, stride, 60)
    copies = [4, 5, 6]
    columns[:, copies], widths[copies] = columns[:, :3], widths[:3]
    orders = [rng.permutation(8) for _ in range(9)]
    questions = [(order[0], np.sort(order[1 : rng.integers(1, 9)])) for order in orders]
    *_, products = draw_products(rng, columns) if stride > 1 else (None,)
    forward, backward = (trees_of(columns, widths, products=products) for _ in range(2))
    answers = [forward.search(*question) for question in questions]
    size = int(forward._arena.size[0])
    assert [forward.search(*question)[3:] for question in questions] == [answer[3:] for answer in answers]
    assert forward._arena.size[0] == size
    for question, answer in reversed(list(zip(questions, answers, strict=True))):
        again = backward.search(*question)
        assert again[3:] == answer[3:]
        assert (again.owners == answer.owners).all()


@pytest.mark.parametrize("stride", [1, 3])
def test_the_same_parents_have_the_same_likelihood_to_the_last_bit(stride):
    rng = np.random.default_rng(4)
    columns, widths = random_columns(rng, 9, stride, 100)
    trees = trees_of(columns, widths, 0.5)
    seen = {}
    for _ in range(300):
        _, parents, used, excess, _ = trees.search(0, rng.permutation(np.arange(1, 9))[: rng.integers(0, 9)])
        key = (*parents.tolist(), *used.tolist())
        assert seen.setdefault(key, excess) == excess
    assert len(seen) > 10


@pytest.mark.parametrize("stride", [1, 3])
def test_more_variables_than_rows_give_finite_results_within_the_cap(stride):
    rng = np.random.default_rng(0)
    columns, widths = random_columns(rng, 40, stride, 12)
    trees = trees_of(columns, widths, 0.01)
    for node in range(40):
        moves = trees.fit_moves(node, np.delete(np.arange(40), node))
        for part in (moves.own, moves.before, moves.after):
            assert np.isfinite(part).all()
            assert (part[:, 1] <= 12 - 3).all()


def test_a_handful_of_rows_allows_no_parents():
    for n in (1, 2, 3):
        values = np.random.default_rng(0).normal(size=(n, 4, 1))
        found = trees_of(values, np.ones(4, dtype=np.int64)).search(0, np.arange(1, 4))
        assert (found.owners.size, found.dof) == (0, 0)
        assert np.isfinite(found.excess)


def test_a_hub_of_seventy_parents_is_recovered_from_trees_that_had_to_grow():
    rng = np.random.default_rng(2)
    causes = rng.normal(size=(2000, 70))
    hub = causes @ rng.choice([-1.0, 1.0], 70) + 0.5 * rng.normal(size=2000)
    columns = np.column_stack([hub, causes])[:, :, None]
    columns -= columns.mean(0)
    trees = trees_of(columns, np.ones(71, dtype=np.int64))
    for q in (70, 35, 70):
        found = trees.search(0, np.arange(1, q + 1))
        assert found.owners.tolist() == list(range(1, q + 1))
        used = dict(zip(found.owners, found.used, strict=True))
        assert found.excess == pytest.approx(0.5 * np.log(variance_by_least_squares(columns, 0, used)), abs=1e-9)


def test_threads_that_share_trees_get_the_answers_of_one():
    rng = np.random.default_rng(5)
    columns, widths = random_columns(rng, 30, 1, 300)
    shared, alone = trees_of(columns, widths), trees_of(columns, widths)
    orders = [rng.permutation(30) for _ in range(40)]
    answers = {}

    def work(part):
        for k in part:
            answers[k] = shared.fit_moves(orders[k][0], orders[k][1:])

    threads = [threading.Thread(target=work, args=(range(start, 40, 4),)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, order in enumerate(orders):
        expected = alone.fit_moves(order[0], order[1:])
        assert (answers[k].own == expected.own).all()
        assert (answers[k].after == expected.after).all()


def test_walks_in_pieces_are_the_walks_at_once(monkeypatch, rng):
    X = rng.normal(size=(60, 9)) @ rng.normal(size=(9, 9))
    ranks = np.array([rng.permutation(9) for _ in range(8)])
    rows, nodes = np.repeat(np.arange(8), 9), np.tile(np.arange(9), 8)
    sets = rng.random((40, 9)) < 0.3
    sets[:, 0] = False
    found = []
    for at_once in (1, 7, 10**9):
        monkeypatch.setattr(search, "TURNS", at_once)
        trees = trees_of(X, np.ones(9, dtype=np.int64))
        found.append(
            [trees.score_many(ranks, rows, nodes), trees.score_parents(0, sets), trees.near_parents(0, sets, 3.0)]
        )
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_query_of_many_walks_comes_back_to_python_after_a_few(monkeypatch, rng):
    X = rng.normal(size=(60, 5))
    asked = []

    def counting(*arguments):
        *_, nodes, _, done = arguments
        asked.append(nodes.size - done)
        return walk_many(*arguments)

    walk_many = search.walk_many
    monkeypatch.setattr(search, "walk_many", counting)
    trees = trees_of(X, np.ones(5, dtype=np.int64))
    ranks = np.array([rng.permutation(5) for _ in range(50)])
    trees.score_many(ranks, np.repeat(np.arange(50), 5), np.tile(np.arange(5), 50))
    assert max(asked) == search.TURNS
