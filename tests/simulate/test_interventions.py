import networkx as nx
import numpy as np
import pandas as pd
import pytest

from daguerreotype.simulate import simulate_dag, simulate_data

CHAIN = pd.DataFrame(np.eye(3, k=1), columns=["dose", "response", "outcome"])
MECHANISMS = ["linear", "logistic", "poisson", "mlp", "mim", "gp", "gp-add"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_intervention_leaves_all_but_the_descendants_of_its_target_as_they_were(mechanism):
    truth = simulate_dag(9, 14, "ER", random_state=0)
    graph = nx.from_numpy_array(truth, create_using=nx.DiGraph)
    target = max(graph, key=lambda node: len(nx.descendants(graph, node)) * len(nx.ancestors(graph, node)))
    plain, changed = (
        simulate_data(truth, 60, mechanism=mechanism, interventions=what, random_state=1)
        for what in (None, {target: 5.0})
    )
    moved = {target} | nx.descendants(graph, target)
    others = [node for node in graph if node not in moved]
    assert (changed.X[:, target] == 5.0).all()
    assert np.array_equal(plain.X[:, others], changed.X[:, others])
    child = next(iter(graph.successors(target)))
    assert not np.array_equal(plain.X[:, child], changed.X[:, child])


def test_an_intervention_without_a_value_cuts_the_target_from_its_parents_but_not_from_its_children():
    seen, done = (
        simulate_data(CHAIN, 5000, noise_scale=[1, 0.5, 1], interventions=what, random_state=0)
        for what in (None, {"response": None})
    )
    assert seen.X.corr().loc["dose", "response"] ** 2 > 0.5
    assert abs(done.X.corr().loc["dose", "response"]) < 4 / np.sqrt(5000)
    assert np.isclose(done.X["response"].std(), 0.5, rtol=0.05)
    slope = np.polyfit(done.X["response"], done.X["outcome"], 1)[0]
    assert np.isclose(slope, done.weights.loc["response", "outcome"], atol=0.15)
    pd.testing.assert_frame_equal(seen.weights, done.weights)


def test_rows_are_intervened_on_one_by_one():
    entries = [None, "response", ["dose", "response"], {"response": 7.0, "dose": None}, (), {"outcome": -1}]
    plain = simulate_data(CHAIN, 6, random_state=0)
    drawn = simulate_data(CHAIN, 6, interventions=entries, random_state=0)
    w = drawn.weights
    noise = plain.X.copy()
    noise["response"] -= w.loc["dose", "response"] * plain.X["dose"]
    noise["outcome"] -= w.loc["response", "outcome"] * plain.X["response"]
    expected = plain.X["dose"] * w.loc["dose", "response"] + noise["response"]
    expected[[1, 2]] = noise["response"][[1, 2]]
    expected[3] = 7.0
    assert np.allclose(drawn.X["dose"], plain.X["dose"])
    assert np.allclose(drawn.X["response"], expected)
    outcome = expected * w.loc["response", "outcome"] + noise["outcome"]
    outcome[5] = -1.0
    assert np.allclose(drawn.X["outcome"], outcome)


def test_a_tuple_that_names_a_column_is_one_target():
    names = [("gene", 1), ("gene", 2)]
    graph = nx.DiGraph([names])
    drawn = simulate_data(graph, 2, interventions=[("gene", 2), None], random_state=0)
    assert drawn.settings["interventions"] == [{"('gene', 2)": None}, None]


def test_a_bad_intervention_is_refused_in_the_names_of_the_user():
    unknown, value = "which is no column", "give a finite number, or None for noise alone."
    cases = [
        ({"age": 1.0}, f"names 'age', {unknown}; the columns are 'dose', 'response', 'outcome'."),
        (
            [None, ["dose", "age"], None],
            f"names 'age' in row 2, {unknown}; the columns are 'dose', 'response', 'o",
        ),
        ([None, "does", None], f"names 'does' in row 2, {unknown}; did you mean 'dose'?"),
        ([True, None, None], "holds True in row 1, which does not say which column"),
        ([None, {"dose": np.nan}, None], "sets 'dose' to nan in row 2: give a finite number"),
        ([None], "has 1 entries for n=3 rows: give one entry for each row"),
        ({"dose": np.inf}, f"sets 'dose' to inf: {value}"),
        ({"dose": "high"}, f"sets 'dose' to 'high': {value}"),
    ]
    for interventions, message in cases:
        with pytest.raises(ValueError) as error:
            simulate_data(CHAIN, 3, interventions=interventions, random_state=0)
        assert f"interventions {message}" in str(error.value)
    for interventions in ("dose", 1, {"dose"}):
        with pytest.raises(TypeError, match=r"give a mapping from columns to values .* one entry for each row"):
            simulate_data(CHAIN, 4, interventions=interventions, random_state=0)
