"""Knowledge within training: caches, moves, restarts and joint edges know no others than those that obey."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.edges.additive.estimators import BicEdges
from daguerreotype.edges.base import EdgeRules, LocalModels, Table
from daguerreotype.edges.lasso import LarsEdges
from daguerreotype.operators import Precedence, top_k_sparsemax
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.objective import PenalizedLikelihood
from daguerreotype.training.refine import Moves, refine_order
from daguerreotype.training.scores import OrderScores, allowed_keys, short_lists
from support.rankings import all_rankings

D = 5
seeds = st.integers(0, 2**32 - 1)


def random_constraints(rng, d=D):
    order = rng.permutation(d)
    upwards = np.argsort(order)[:, None] < np.argsort(order)[None, :]
    required = (rng.random((d, d)) < 0.2) & upwards
    allowed = ((rng.random((d, d)) < 0.6) | required) & ~np.eye(d, dtype=bool)
    tiers = np.sort(rng.integers(0, 3, size=d))[np.argsort(order)]
    tiers[rng.random(d) < 0.5] = -1
    return Constraints.of(allowed, required, tiers)


def random_table(rng, d=D):
    values = rng.normal(size=(60, d)) @ (np.eye(d) + np.triu(rng.normal(size=(d, d)), 1))
    values = values[:, rng.permutation(d)] - values.mean(axis=0)
    return Table(values - values.mean(axis=0), tuple(f"x{j}" for j in range(d)))


def scores_of(estimator, table, constraints, *, fast=True):
    models = constraints.prepare(estimator, table)
    objective = PenalizedLikelihood(penalty=1.0)
    return OrderScores(
        models, objective, n_rows=table.n_rows, d=table.n_columns, constraints=constraints, moves_obey=fast
    )


def obeying_orders(constraints, d=D):
    pairs = [] if constraints.precedence is None else np.argwhere(constraints.precedence.before).tolist()
    return [np.argsort(ranks) for ranks in all_rankings(d, pairs)]


class Asked(LocalModels):
    """Models that remember what they were asked."""

    def __init__(self, models):
        self.models, self.requests = models, []

    def fit(self, node, predecessors):
        self.requests.append((node, predecessors))
        return self.models.fit(node, predecessors)


def test_knowledge_that_says_nothing_makes_no_constraints():
    nothing = Constraints.of(~np.eye(3, dtype=bool), np.zeros((3, 3), dtype=bool), np.array([-1, 2, 2]))
    assert nothing == FREE
    theta = np.array([2.0, 1.0, 3.0])
    assert nothing.project(theta) is theta
    assert nothing.sort(theta).tolist() == [1, 0, 2]
    assert nothing.settings() == {}


@given(seeds)
def test_keys_are_equal_where_the_predecessors_that_may_be_parents_are(seed):
    rng = np.random.default_rng(seed)
    allowed = (rng.random((D, D)) < rng.random()) & ~np.eye(D, dtype=bool)
    ranks = np.array([rng.permutation(D) for _ in range(30)])
    member, target = rng.integers(2**64, size=(2, D), dtype=np.uint64)
    keys = allowed_keys(ranks, member, target, *short_lists(allowed))
    known = {}
    for s in range(30):
        for node in range(D):
            usable = np.flatnonzero(allowed[:, node] & (ranks[s] < ranks[s, node]))
            expected = target[node] ^ np.bitwise_xor.reduce(member[usable], initial=np.uint64(0))
            assert keys[s, node] == expected
            known.setdefault((node, tuple(usable)), set()).add(int(keys[s, node]))
    assert all(len(each) == 1 for each in known.values())


@settings(max_examples=25)
@given(seeds)
def test_models_are_asked_about_allowed_predecessors_with_all_required_ones_among_them(seed):
    rng = np.random.default_rng(seed)
    constraints, table = random_constraints(rng), random_table(rng)
    scores = scores_of(LarsEdges(), table, constraints)
    scores.fits.models = asked = Asked(scores.models)
    theta = constraints.project(rng.normal(size=D))
    scores.losses(top_k_sparsemax(theta, 30, tau=20.0, precedence=constraints.precedence))
    refine_order(Moves(constraints.sort(theta)), scores, n_restarts=2)
    assert asked.requests
    if constraints.rules is not None:
        for node, predecessors in asked.requests:
            assert constraints.rules.allowed[predecessors, node].all()
            assert np.isin(constraints.rules.required_parents(node), predecessors).all()


def test_nodes_that_may_not_be_each_others_parents_swap_without_a_new_fit(rng):
    allowed = ~np.eye(D, dtype=bool)
    allowed[0, 1] = allowed[1, 0] = False
    scores = scores_of(LarsEdges(), random_table(rng), Constraints(EdgeRules(allowed, np.zeros_like(allowed))))
    first = scores.loss_of(np.array([2, 0, 1, 3, 4]))
    misses = scores.fits.misses
    assert scores.loss_of(np.array([2, 1, 0, 3, 4])) == pytest.approx(first)
    assert scores.fits.misses == misses


@settings(max_examples=25)
@given(seeds, st.sampled_from([BicEdges, LarsEdges]), st.booleans())
def test_moves_lose_what_the_moved_order_loses_and_everything_where_it_disobeys(seed, edges, fast):
    rng = np.random.default_rng(seed)
    constraints, table = random_constraints(rng), random_table(rng)
    scores = scores_of(edges(), table, constraints, fast=fast)
    legal = {tuple(order) for order in obeying_orders(constraints)}
    order = np.array(min(legal))
    for node in range(D):
        others = order[order != node]
        losses = scores.move_losses(node, others)
        for q in range(D):
            moved = np.insert(others, q, node)
            if tuple(moved) in legal:
                assert losses[q] == pytest.approx(scores.loss_of(moved))
            else:
                assert losses[q] == np.inf


@settings(max_examples=25)
@given(seeds)
def test_refining_with_restarts_ends_in_an_order_that_obeys_and_no_move_improves(seed):
    rng = np.random.default_rng(seed)
    constraints, table = random_constraints(rng), random_table(rng)
    scores = scores_of(BicEdges(), table, constraints)
    legal = obeying_orders(constraints)
    start = legal[rng.integers(len(legal))]
    moves = Moves(start)
    refine_order(moves, scores, n_restarts=5)
    order, loss = moves.best, moves.best_loss
    assert any((order == each).all() for each in legal)
    assert loss == pytest.approx(scores.loss_of(order))
    for node in range(D):
        assert scores.move_losses(node, order[order != node]).min() >= loss - 1e-9


def test_required_gates_are_open_cost_nothing_and_leave_the_others_alone():
    torch = pytest.importorskip("torch")
    from daguerreotype.edges.gradient.descent import BernoulliGates
    from daguerreotype.training.joint.model import RequiredGates

    required = torch.tensor([[False, True], [False, False]])
    parameters, noise = torch.full((2, 2), 0.1), torch.full((2, 2), 0.9)
    plain = BernoulliGates()
    gates = RequiredGates(plain, required)
    (drawn, slope), (others, slopes) = gates.draw(parameters, noise), plain.draw(parameters, noise)
    assert (drawn[0, 1], slope[0, 1]) == (1, 0)
    assert gates.most_probable(parameters)[0, 1] == 1
    assert gates.expected_open(parameters)[0, 1] == gates.open_slope(parameters)[0, 1] == 0
    for ours, theirs in (
        (drawn, others),
        (slope, slopes),
        (gates.expected_open(parameters), plain.expected_open(parameters)),
        (gates.open_slope(parameters), plain.open_slope(parameters)),
        (gates.most_probable(parameters), plain.most_probable(parameters)),
        (gates.start((2, 2), "cpu", torch.float32), plain.start((2, 2), "cpu", torch.float32)),
    ):
        assert (ours[~required] == theirs[~required]).all()


@pytest.mark.parametrize("pruning", [0.0, 100.0])
def test_joint_edges_obey_whatever_a_gate_costs(pruning, rng):
    pytest.importorskip("torch")
    from daguerreotype.edges.linear import LinearEdges
    from daguerreotype.operators import Sparsemax
    from support.joint import train

    required, allowed = np.zeros((D, D), dtype=bool), ~np.eye(D, dtype=bool)
    required[4, 0] = True
    allowed[[1, 2], [2, 1]] = False
    constraints = Constraints(EdgeRules(allowed, required), Precedence([(4, 0)], D))
    found = train(
        random_table(rng),
        LinearEdges(pruning=pruning),
        partial(Sparsemax(20), precedence=constraints.precedence),
        np.arange(D, dtype=float),
        tau=lambda step: 5.0,
        l2=0.0,
        max_iter=30,
        gates_held=5,
        constraints=constraints,
    )
    assert found.theta[4] <= found.theta[0]
    assert found.gates[4, 0] == 1
    assert found.weights[4, 0] != 0
    assert not found.gates[~allowed].any()
    assert found.gates.sum() == (allowed.sum() if pruning == 0 else 1)
