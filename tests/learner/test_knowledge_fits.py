"""Guaranteed, not preferred: no fit of any kind ever breaks what is known."""

import numpy as np
import pytest

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.operators import RandomOrder
from support.learners import make_learner

pytest.importorskip("torch")
from knowledge import EDGES, OPERATORS, draw_case, violations

N_FITS, GROUPS = 360, 12


@pytest.mark.parametrize("group", range(GROUPS))
def test_no_ranking_no_graph_and_no_edge_probability_breaks_knowledge(group):
    for seed in range(100_000 + group, 100_000 + N_FITS, GROUPS):
        case = draw_case(seed)
        model = make_learner(knowledge=Knowledge(**case.known), **case.settings).fit(case.X)
        assert violations(model, case.known) == [], f"seed {seed}: {case.name}"


def test_the_random_cases_hold_all_kinds_of_knowledge_and_learners():
    cases = [draw_case(seed) for seed in range(100_000, 100_000 + N_FITS)]
    for kind in ("forbidden", "required", "tiers", "roots", "leaves", "max_parents"):
        assert sum(bool(case.known.get(kind)) for case in cases) > N_FITS / 10
    names = ", ".join(case.name for case in cases)
    assert all(name in names for name in [*EDGES, *OPERATORS, "joint"])


def test_a_violation_would_be_seen():
    case = draw_case(100_000)
    model = Daguerreotype(edges="bic", scales="none", operator=RandomOrder()).fit(case.X)
    first, second = (int(j) for j in model.causal_order_[:2])
    free = {"forbidden": [], "required": [], "roots": [], "leaves": []}
    assert violations(model, free) == []
    assert f"{first} stands before {second}" in violations(model, free | {"tiers": [[second], [first]]})
    assert f"{second} -> {first} is missing" in violations(model, free | {"required": [(second, first)]})
    cause, effect = np.argwhere(model.adjacency_matrix_)[0].tolist()
    for limits in ({"forbidden": [(cause, effect)]}, {"roots": [effect]}, {"leaves": [cause]}):
        assert f"{cause} -> {effect} is there" in violations(model, free | limits)
    assert "max_parents is broken" in violations(model, free | {"max_parents": 0})
